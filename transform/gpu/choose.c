/* The tile of a product: the one that takes the least time, as a row of the GPU says it.
 *
 * With `units` blocks, of which a multiprocessor has n in all, and `together` of them at a time,
 *
 *   time    = start + floor(n / together) * wave(together) + wave(n % together)
 *   wave(c) = steps * max(alone, share * c) + end * c
 *
 * and, where the sum goes in slices, each a block's (split.c), the time of a launch, and that of the result as often as
 * there are slices, and once more; of a cluster's blocks (cluster.c) nothing, as their tile has its own times. Where
 * warpgroups multiply factors that are split (high_low.c) each operand takes a launch, and is read once and stored twice.
 *
 * Dims that are known at run time only are taken for `unknown`. What a schedule asks for is taken as it is:
 * `tile i 64 8, j 128 8; block k 16` is a block's rows and columns with those of a thread, and how many steps
 * of the sum are shared at a time; `cluster k 8` lets blocks of clusters have slices of it; `tile i 128 16, j 256 256;
 * block k 64` is by warpgroups.
 */
#include <math.h>

#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/tile.h"

enum { SPLIT_PRODUCTS = 3, SPLIT_ACCESSES = 3 }; /* of the operands' parts; of each element, to make them */

typedef struct Choose {
	const Transform *t;
	const GpuTarget *gpu;
	const Kernel *kernel;
	const Product *product;
	ScheduleClause *sides, *steps, *cluster; /* that are asked for */
	int64_t rows, columns, sum;    /* extents, about */
	double batch;		       /* members */
	bool by_groups;		       /* may warpgroups multiply the operands? */
	GroupSum group;		       /* ... the loops of the sum then */
} Choose;

/* Of an operand that has the numbers of a format of 16 bits. */
static bool is_of(const ProductOperand *operand, Dtype dtype)
{
	const Value *value = operand->value;
	return value->kind == VALUE_CAST && value->args[0]->dtype == dtype;
}

TensorUse product_tensor(const Transform *t, const Product *product)
{
	static const Dtype dtypes[] = {[MATRIX_BF16] = DTYPE_BF16, [MATRIX_F16] = DTYPE_F16};
	const LowerOptions *options = t->options;
	TensorUse use = {.op = MATRIX_TF32, .used = options->f32_matmul != F32_IEEE};
	if (product->set->value->dtype != DTYPE_F32)
		return (TensorUse){0};
	use.split = options->f32_matmul == F32_3XTF32;
	for (MatrixOp op = MATRIX_BF16; op <= MATRIX_F16; op++)
		if (options->tensor_cores && is_of(&product->row_operand, dtypes[op]) &&
		    is_of(&product->column_operand, dtypes[op]))
			use = (TensorUse){.op = op, .used = true};
	use.used = use.used && options->gpu->matrix_tiles[use.op].n > 0;
	use.promote = options->promote >= 0 ? options->promote : use.split ? options->gpu->cut : 0;
	return use;
}

static Dtype dtype_of(const Choose *c) { return c->product->set->value->dtype; }

static GpuTiles tiles_of(const Choose *c)
{
	const TensorUse *tensor = &c->product->tensor;
	if (dtype_of(c) == DTYPE_F64)
		return c->gpu->tiles_64;
	return tensor->used ? c->gpu->matrix_tiles[tensor->op] : c->gpu->tiles;
}

/* Do the sums of a thread fit into its registers, twice where they are added up twice? */
static bool has_registers(const Choose *c, const GpuTile *tile)
{
	const TensorUse *tensor = &c->product->tensor;
	int64_t sums = tile->thread_rows * tile->thread_columns / WARP;
	return !tensor->used || sums * (tensor->promote ? 2 : 1) <= c->gpu->registers;
}

static int64_t extent_of(const Choose *c, const LoopGroup *group)
{
	return size_at_dims(c->t->program, group->extent, c->gpu->unknown);
}

static void measure(Choose *c)
{
	GpuTiles tiles = tiles_of(c);
	bool groups = false;
	for (int64_t i = 0; i < tiles.n; i++)
		groups |= tiles.at[i].group;
	c->by_groups = groups && group_sum(c->t->program, c->product, &c->group);
	c->rows = extent_of(c, &c->product->rows);
	c->columns = extent_of(c, &c->product->columns);
	c->sum = extent_of(c, &c->product->sum);
	c->batch = 1;
	for (uint32_t i = 0; i < c->product->batch.n; i++)
		c->batch *= (double)size_at_dims(
			c->t->program, c->product->batch.loops[i]->hi->size, c->gpu->unknown);
}

/* Elements of the result; -1: not known. */
static int64_t elements_of(const Choose *c)
{
	const Stmt *store = product_store(c->product);
	const Program *program = c->t->program;
	int64_t n;
	return size_is_const(program->sizes, program->buffers.at[store->buffer].elements, &n) ? n
											      : -1;
}

/* Does the sum's outermost loop move both factors? */
static bool both_are_cut(const Product *p)
{
	IterVar iter = p->sum.loops[0]->iter;
	return value_uses_iter(p->row_operand.value, iter) &&
	       value_uses_iter(p->column_operand.value, iter);
}

/* Of a sum of known length, to blocks of a cluster, whose shared memory their sums take half of at most. */
static bool may_be_cluster(const Choose *c, const TileWanted *w, bool whole)
{
	int64_t all;
	const Product *p = c->product;
	return whole && size_is_const(c->t->program->sizes, p->sum.extent, &all) &&
	       !w->tile->group && w->tile->rows % w->slices == 0 && both_are_cut(p) &&
	       2 * tile_bytes(w->tile, dtype_of(c)) <= c->gpu->shared_most;
}

/* Does each of the slices have rounds, and several of them? */
static bool fills_slices(const Choose *c, const TileWanted *w)
{
	int64_t steps = w->tile->steps, rounds = (c->sum + steps - 1) / steps;
	int64_t each = (rounds + w->slices - 1) / w->slices;
	return c->sum / w->slices >= c->gpu->slice_steps * steps && each * (w->slices - 1) < rounds;
}

/* A sum may go in so many slices where its order is free, of a result of known size. Those that TMA copies are whole ones. */
static bool may_split(const Choose *c, const TileWanted *w)
{
	const GpuTile *tile = w->tile;
	const LoopGroup *sum = &c->product->sum;
	bool whole = slice_steps(c->t->program->sizes, sum, w->slices, tile->steps).whole;
	if (!c->t->options->tensor_cores || !fills_slices(c, w))
		return false;
	return w->cluster ? may_be_cluster(c, w, whole)
			  : elements_of(c) > 0 && (whole || !tile->group);
}

static double blocks_of(const Choose *c, const GpuTile *tile)
{
	return c->batch * ceil((double)c->rows / (double)tile->rows) *
	       ceil((double)c->columns / (double)tile->columns);
}

/* Each line that warpgroups add up begins a round of its own. */
static int64_t rounds_of(const Choose *c, const GpuTile *tile)
{
	Program *program = c->t->program;
	if (!tile->group)
		return c->sum / tile->steps + (c->sum % tile->steps != 0);
	return size_at_dims(program, group_sum_rounds(program, &c->group, tile->steps),
			    c->gpu->unknown);
}

static double wave(const Choose *c, const TileWanted *w, double blocks)
{
	const GpuTile *tile = w->tile;
	double steps = ceil((double)rounds_of(c, tile) / (double)w->slices);
	steps *= c->product->tensor.split ? SPLIT_PRODUCTS : 1;
	return blocks > 0 ? steps * fmax(tile->alone, tile->share * blocks) + tile->end * blocks
			  : 0;
}

/* What kernels in front take that split the operands. */
static double split_time(const Choose *c, const TileWanted *w)
{
	Program *program = c->t->program;
	double time = 0;
	for (int i = 0; i < 2 && w->tile->group && c->product->tensor.split; i++) {
		Size elements = high_low_elements(program, c->product, i == 0);
		double n = (double)size_at_dims(program, elements, c->gpu->unknown);
		time += c->gpu->slices_start + SPLIT_ACCESSES * n * c->gpu->slices_element;
	}
	return time;
}

static double time_of(const Choose *c, const TileWanted *w)
{
	double slices = (double)w->slices;
	double n = ceil(slices * blocks_of(c, w->tile) / (double)c->gpu->processors);
	double together = (double)w->tile->together, waves = floor(n / together);
	double time =
		w->tile->start + waves * wave(c, w, together) + wave(c, w, n - waves * together);
	if (w->slices > 1 && !w->cluster)
		time += c->gpu->slices_start +
			(slices + 1) * (double)elements_of(c) * c->gpu->slices_element *
				(double)(dtype_bytes(dtype_of(c)) / dtype_bytes(DTYPE_F32));
	return time + split_time(c, w);
}

static Sym name_of(const Choose *c, const LoopGroup *group)
{
	return c->kernel->iters[group_iter(group)].name;
}

static ScheduleClause *asked(const Choose *c, Choice choice)
{
	return kernel_asked(c->t, c->kernel, choice);
}

static bool slices_are_asked(const Choose *c)
{
	return asks_on(c->steps) && c->steps->items.n && c->steps->items.at[0].n > 1;
}

/* A cluster is the policy's where nothing else is asked for. */
static bool cluster_is_asked(const Choose *c, const TileWanted *w)
{
	if (!w->cluster)
		return !asks_on(c->cluster);
	return !asks_off(c->cluster) && (asks_on(c->cluster) || !asks_on(c->sides)) &&
	       !slices_are_asked(c) && asks_name(c->cluster, 0, name_of(c, &c->product->sum)) &&
	       asks_numbers(c->cluster, 0, &w->slices, 1);
}

/* Without a number of slices there is one beside a tile that is asked for, and any number else. */
static bool is_asked(const Choose *c, const TileWanted *w)
{
	const GpuTile *tile = w->tile;
	const int64_t steps[] = {tile->steps, w->slices};
	const int64_t rows[] = {tile->rows, tile->thread_rows};
	const int64_t columns[] = {tile->columns, tile->thread_columns};
	return asks_name(c->sides, 0, name_of(c, &c->product->rows)) &&
	       asks_name(c->sides, 1, name_of(c, &c->product->columns)) &&
	       asks_numbers(c->sides, 0, rows, 2) && asks_numbers(c->sides, 1, columns, 2) &&
	       asks_name(c->steps, 0, name_of(c, &c->product->sum)) &&
	       asks_numbers(c->steps, 0, steps, w->cluster ? 1 : 2) && cluster_is_asked(c, w) &&
	       (slices_are_asked(c) || w->cluster || w->slices == 1 || !asks_on(c->sides));
}

static void note(const Choose *c, const TileWanted *wanted)
{
	const GpuTile *tile = wanted->tile;
	Program *program = c->t->program;
	Arena *arena = program->arena;
	ScheduleEntry entry = {.name = c->kernel->name, .span = c->kernel->span};
	const LoopGroup *groups[] = {&c->product->rows, &c->product->columns, &c->product->sum};
	for (int i = 0; i < 3; i++)
		PUSH(arena, entry.loops, name_of(c, groups[i]));
	PUSH(arena, entry.operands, c->product->row_operand.name);
	PUSH(arena, entry.operands, c->product->column_operand.name);
	if (tile || says_off(c->sides))
		entry_make(arena, &entry, CHOICE_TILE, !tile);
	if (tile) {
		ScheduleClause *made = entry_clause(&entry, CHOICE_TILE);
		clause_add(arena, made, name_of(c, &c->product->rows),
			   (int64_t[]){tile->rows, tile->thread_rows}, 2);
		clause_add(arena, made, name_of(c, &c->product->columns),
			   (int64_t[]){tile->columns, tile->thread_columns}, 2);
		made = entry_make(arena, &entry, CHOICE_BLOCK, false);
		clause_add(arena, made, name_of(c, &c->product->sum),
			   (int64_t[]){tile->steps, wanted->slices},
			   (wanted->slices > 1 && !wanted->cluster) || slices_are_asked(c) ? 2 : 1);
		if (wanted->cluster)
			clause_add(arena, entry_make(arena, &entry, CHOICE_CLUSTER, false),
				   name_of(c, &c->product->sum), &wanted->slices, 1);
		made = entry_make(arena, &entry, CHOICE_STAGE, false);
		clause_add(arena, made, c->product->row_operand.name, NULL, 0);
		clause_add(arena, made, c->product->column_operand.name, NULL, 0);
	}
	if (says_off(c->cluster))
		entry_make(arena, &entry, CHOICE_CLUSTER, true);
	PUSH(arena, program->made->entries, entry);
}

/* Of few rows or columns: does a part of the smallest tile have elements that is worth it beside a thread for each, or have these
 * threads long sums and leave processors idle? */
static bool few_pay(const Choose *c)
{
	GpuTiles tiles = tiles_of(c);
	const GpuTile *least = &tiles.at[0];
	for (int64_t i = 1; i < tiles.n; i++)
		least = tiles.at[i].rows * tiles.at[i].columns < least->rows * least->columns
				? &tiles.at[i]
				: least;
	double elements = c->batch * (double)c->rows * (double)c->columns;
	double places = blocks_of(c, least) * (double)(least->rows * least->columns);
	double threads = (double)(c->gpu->processors * c->gpu->threads);
	return elements * c->gpu->tile_few >= places ||
	       (elements < threads && c->sum >= c->gpu->tile_long);
}

static bool pays(const Choose *c, const TileWanted *wanted)
{
	int64_t least = c->gpu->tile_least;
	bool many = c->rows >= least && c->columns >= least;
	return c->sum >= least && (many || (wanted->alone && few_pay(c)));
}

static bool fits_group(const Choose *c, int64_t slices)
{
	return c->by_groups && group_fits(c->t->program, c->product, &c->group, slices);
}

/* Is a tile by warpgroups asked for, which the operands do not fit? */
static bool asks_unfit_group(const Choose *c, TileWanted wanted)
{
	GpuTiles tiles = tiles_of(c);
	for (int64_t i = 0; i < tiles.n; i++) {
		wanted.tile = &tiles.at[i];
		wanted.slices = 1;
		if (wanted.tile->group && is_asked(c, &wanted) && !fits_group(c, 1))
			return true;
	}
	return false;
}

/* Why there is none of those that are asked for. */
static const char *no_tile(const Choose *c, const TileWanted *wanted)
{
	Arena *arena = c->t->program->arena;
	if (asks_unfit_group(c, *wanted))
		return "a tile by warpgroups has operands that TMA copies: elements of one axis side by side, "
		       "those of the others a multiple of 16 bytes apart, or windows of such a tensor with "
		       "channels side by side; of f32 along the sum, with --f32-matmul=tf32; or with 3xtf32 of "
		       "f32 that are read unpadded, at sums of multiples of one row, or column, and one step";
	const char *text = "a GPU has tiles of";
	GpuTiles tiles = tiles_of(c);
	for (int64_t i = 0; i < tiles.n; i++) {
		const GpuTile *tile = &tiles.at[i];
		text = arena_printf(arena, "%s%s %lld %lld, %lld %lld", text, i ? " or" : "",
				    (long long)tile->rows, (long long)tile->thread_rows,
				    (long long)tile->columns, (long long)tile->thread_columns);
	}
	return text;
}

static const char *no_cluster(const Choose *c)
{
	return !c->gpu->cluster_most
		       ? "a GPU has clusters from sm_90 on"
		       : "2, 4 or 8 blocks of a cluster have slices of the same length of a "
			 "sum of known length, of tiles by threads or warps of 64 rows or "
			 "fewer, not under --fp=strict";
}

/* Is the tile, in so many slices, the best so far? */
static void take_better(const Choose *c, TileWanted *best, const TileWanted *wanted)
{
	const GpuTile *tile = wanted->tile;
	bool fits = !tile->group || fits_group(c, wanted->slices);
	if (fits && (wanted->slices == 1 || may_split(c, wanted)) && is_asked(c, wanted) &&
	    (!best->tile || time_of(c, wanted) < time_of(c, best)))
		*best = *wanted;
}

static void try_slices(const Choose *c, TileWanted *best, const GpuTile *tile)
{
	TileWanted wanted = *best;
	wanted.tile = tile;
	wanted.cluster = false;
	for (wanted.slices = 1; wanted.slices <= c->gpu->slices_of_products; wanted.slices++)
		take_better(c, best, &wanted);
	wanted.cluster = true;
	for (wanted.slices = 2; asks_on(c->cluster) && wanted.slices <= c->gpu->cluster_most;
	     wanted.slices *= 2)
		take_better(c, best, &wanted);
}

/* Clusters were measured in f32. Where all of them run at once they took less time than slices that another kernel adds up,
 * of which less was expected. */
static void try_clusters(const Choose *c, TileWanted *best)
{
	const GpuTarget *gpu = c->gpu;
	TileWanted wanted = *best;
	wanted.tile = gpu->cluster_tile;
	wanted.slices = gpu->cluster_most;
	wanted.cluster = true;
	double places = (double)(gpu->processors * wanted.tile->together);
	double slack = best->slices > 1 && !best->cluster ? gpu->cluster_slack : 1;
	if (wanted.slices && !c->product->tensor.used && dtype_of(c) == DTYPE_F32 &&
	    c->rows <= gpu->cluster_rows &&
	    blocks_of(c, wanted.tile) * (double)wanted.slices <= places && may_split(c, &wanted) &&
	    is_asked(c, &wanted) && (!best->tile || time_of(c, &wanted) < slack * time_of(c, best)))
		*best = wanted;
}

void gpu_tile_choose(const Transform *t, const Kernel *kernel, TileWanted *wanted)
{
	Choose c = {.t = t, .gpu = t->options->gpu, .kernel = kernel, .product = wanted->product};
	measure(&c);
	c.sides = asked(&c, CHOICE_TILE);
	c.steps = asked(&c, CHOICE_BLOCK);
	c.cluster = asked(&c, CHOICE_CLUSTER);
	bool open = asks_on(c.sides) || (!asks_off(c.sides) && pays(&c, wanted));
	GpuTiles tiles = tiles_of(&c);
	wanted->tile = NULL;
	wanted->slices = 1;
	for (int64_t i = 0; open && i < tiles.n; i++)
		if (has_registers(&c, &tiles.at[i]))
			try_slices(&c, wanted, &tiles.at[i]);
	if (open)
		try_clusters(&c, wanted);
	if (!wanted->tile && asks_on(c.sides))
		c.sides->refused = no_tile(&c, wanted);
	if (!wanted->tile && asks_on(c.steps))
		c.steps->refused =
			"a second number is how many slices the sum goes in, each of several rounds, "
			"where the result's size is known, not under --fp=strict; by warpgroups they "
			"are of the same length";
	if (!(wanted->tile && wanted->cluster) && asks_on(c.cluster) && !c.cluster->refused)
		c.cluster->refused = no_cluster(&c);
	note(&c, wanted);
}
