/* The GPUs that code can be made for: a row each. Limits are those of NVIDIA's programming guide for the
 * compute capability; 256 threads a block leave every multiprocessor several blocks to change between.
 * The shared memory of a block is that of the device with the least that runs the code, which is 8.6, 8.9 or 12.0 unless
 * the code is for one compute capability alone; that of a multiprocessor is the GPU's own. */
#include "target/gpu.h"

#include <string.h>

/* Fitted to times measured on an H100: f32, both operands as they lie, edges guarded. */
static const GpuTile tiles[] = {
	{128, 128, 8, 8, 16, 2, 2.07, 1.631, 1.547, .29, false},
	{64, 128, 8, 8, 16, 3, 2.45, .423, .826, .01, false},
	{64, 64, 8, 4, 16, 5, 1.94, .553, .417, .10, false},
	{32, 64, 4, 4, 16, 6, 2.00, .333, .239, .02, false},
	{16, 64, 4, 4, 16, 10, 2.08, .275, .123, .04, false},
};

/* ... of f64, which multiprocessors multiply at half the rate of f32: none was measured. */
static const GpuTile tiles_64[] = {
	{64, 64, 8, 4, 16, 4, 1.94, .83, .834, .20, false},
	{32, 64, 4, 4, 16, 5, 2.00, .50, .478, .04, false},
	{16, 64, 4, 4, 16, 7, 2.08, .41, .246, .08, false},
};

/* Of f32 by clusters of eight blocks, which wait for each other. */
static const GpuTile cluster_tile = {16, 64, 4, 4, 16, 10, 3.12, .253, .177, .05, false};

/* Of two bytes an element, a warp's tile where others have a thread's. The last two were measured on an H100; the others
 * take 2 us, and each step of a block the time of its multiplications at 3.3 TFLOP/s on a multiprocessor, or of
 * its bytes at 115 GB/s alone, and its result at 40 GB/s. */
#define TILES_16                                                       \
	{128, 128, 64, 64, 32, 2, 2.0, .318, .318, 1.64, false},       \
		{64, 64, 32, 32, 32, 5, 2.0, .081, .079, .41, false},  \
		{32, 64, 16, 32, 32, 3, 1.40, .123, .078, .24, false}, \
	{                                                              \
		16, 64, 16, 16, 32, 3, 1.44, .091, .060, .21, false    \
	}
static const GpuTile tiles_16[] = {TILES_16};

/* ... of which the last four, by warpgroups, were measured on an H100. Another warp copies. */
static const GpuTile tiles_16_groups[] = {
	TILES_16,
	{128, 64, 16, 64, 64, 1, 1.74, .208, .137, .84, true},
	{128, 128, 16, 128, 64, 1, 1.78, .287, .246, 1.01, true},
	{128, 192, 16, 192, 64, 1, 1.58, .429, .429, 1.45, true},
	{128, 256, 16, 256, 64, 1, 1.37, .576, .576, 1.82, true},
};

/* Of tf32, by the same rules at half the rate. */
#define TILES_TF32                                                    \
	{64, 128, 32, 64, 16, 2, 2.0, .159, .159, .82, false},        \
		{64, 64, 32, 32, 16, 4, 2.0, .081, .079, .41, false}, \
	{                                                             \
		16, 64, 16, 16, 32, 6, 2.0, .130, .089, .10, false    \
	}
static const GpuTile tiles_tf32[] = {TILES_TF32};

/* ... and by warpgroups, where a step of 32 is as much work, and as many bytes, as one of 64 of two bytes. */
static const GpuTile tiles_tf32_groups[] = {
	TILES_TF32,
	{128, 64, 16, 64, 32, 1, 1.74, .208, .137, .84, true},
	{128, 128, 16, 128, 32, 1, 1.78, .287, .246, 1.01, true},
	{128, 192, 16, 192, 32, 1, 1.58, .429, .429, 1.45, true},
	{128, 256, 16, 256, 32, 1, 1.37, .576, .576, 1.82, true},
};

static const GpuAttention attention[] = {{64, 64, 8, 4, 64}, {32, 32, 4, 4, 128}};
static const GpuAttention attention_16[] = {{64, 64, 16, 64, 64}, {64, 32, 16, 32, 128}};

#define COUNT(list) (sizeof list / sizeof *list)
#define LIST(list)                \
	{                         \
		list, COUNT(list) \
	}
/* What is taken to be alike on all of them, as times of an H100 say. A thread for each element has two loads for a multiplication,
 * or for four of neighbours (tile_few). Rasters of 4 to 16 took the same time. A row's attention by a cluster of eight took 3.0 us
 * with 128 keys, and 6.6 with 1024; slices of the grid start as much sooner as a tile of a product does that is none of a cluster,
 * and two blocks have registers. */
#define ALIKE                                                                                      \
	.threads_most = 1024, .shared_usual = 48 << 10, .shared_each = 1 << 10,                    \
	.blocks_most = INT32_MAX, .line_bytes = 128, .threads = 256, .warp = 32, .statements = 48, \
	.row_threads = 256, .row_least = 64, .row_short = 4096, .row_loads = 8, .row_vectors = 8,  \
	.column_threads = 8, .column_least = 64, .slices_most = 64, .waves = 4, .raster = 8,       \
	.cumulate_least = 32, .cumulate_rounds = 4, .tiles = LIST(tiles),                          \
	.tiles_64 = LIST(tiles_64), .registers = 128, .slices_of_products = 32, .slice_steps = 4,  \
	.slices_start = 1.2, .slices_element = 4 / 3.5e6, .cluster_tile = &cluster_tile,           \
	.cluster_rows = 64, .cluster_slack = 1.1, .cut = 64, .attention = attention,               \
	.nattention = COUNT(attention), .attention_16 = attention_16,                              \
	.nattention_16 = COUNT(attention_16), .decode_keys = 64, .decode_rows = 8,                 \
	.decode_slices = 16, .decode_together = 2, .decode_start = 2.49 - (3.12 - 2.08),           \
	.decode_cluster_start = 2.49, .decode_key = .0321, .packed_few = 1 << 20,                  \
	.tile_least = 16, .tile_few = 4, .tile_long = 1024, .unknown = 1024
#define SHARED(most, processor) .shared_most = (most) << 10, .shared_processor = (processor) << 10
/* Every GPU with clusters runs them of eight blocks. From 768 blocks on, those that wait take the places of those in front. */
#define CLUSTERS .cluster_most = 8, .next_lines = 4, .next_blocks = 768
#define MATRIX(of_16, of_tf32) .matrix_tiles = {LIST(of_16), LIST(of_16), LIST(of_tf32)}

static const GpuTarget gpus[] = {
	{.name = "sm_80",
	 ALIKE,
	 SHARED(99, 164),
	 MATRIX(tiles_16, tiles_tf32),
	 .processors = 108,
	 .ptx = 70},
	{.name = "sm_90",
	 ALIKE,
	 SHARED(99, 228),
	 MATRIX(tiles_16, tiles_tf32),
	 .processors = 132,
	 .ptx = 80,
	 CLUSTERS},
	{.name = "sm_90a",
	 ALIKE,
	 SHARED(227, 228),
	 MATRIX(tiles_16_groups, tiles_tf32_groups),
	 .processors = 132,
	 .ptx = 80,
	 CLUSTERS},
	{.name = "sm_100",
	 ALIKE,
	 SHARED(99, 228),
	 MATRIX(tiles_16, tiles_tf32),
	 .processors = 148,
	 .ptx = 86,
	 CLUSTERS},
	{.name = "sm_120",
	 ALIKE,
	 SHARED(99, 100),
	 MATRIX(tiles_16, tiles_tf32),
	 .processors = 170,
	 .ptx = 87,
	 CLUSTERS},
};
enum { NGPUS = sizeof gpus / sizeof *gpus };

const GpuTarget *gpu_find(const char *word)
{
	if (!*word)
		return &gpus[0];
	for (int i = 0; *word == ':' && i < NGPUS; i++)
		if (strcmp(gpus[i].name, word + 1) == 0)
			return &gpus[i];
	return NULL;
}

void gpu_list(FILE *out)
{
	for (int i = 0; i < NGPUS; i++)
		fprintf(out, "%s%s", i ? " " : "", gpus[i].name);
}
