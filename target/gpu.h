/* GPUs that code is made for: their limits, and the numbers that their loops are chosen by. */
#ifndef TSR_TARGET_GPU_H
#define TSR_TARGET_GPU_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "target/matrix.h"

/* What a block computes of a product: `rows` x `columns` elements, a thread `thread_rows` x `thread_columns` of
 * them, `steps` of the sum at a time. The rest says how long it takes, in microseconds: `start` in all, and of
 * the blocks that one multiprocessor has at a time each step of the sum `alone`, or `share` for each of them
 * where that is more, and `end` behind all steps. */
typedef struct GpuTile {
	int64_t rows, columns, thread_rows, thread_columns, steps;
	int64_t together; /* blocks that fit on a multiprocessor */
	double start, alone, share, end;
	bool group; /* by warpgroups, a warp 16 rows and all columns, from what TMA copies */
} GpuTile;

typedef struct GpuTiles {
	const GpuTile *at;
	int64_t n;
} GpuTiles;

/* What a block computes of attention: `rows` rows, `keys` keys at a time, a thread so many of both of the scores. */
typedef struct GpuAttention {
	int64_t rows, keys, thread_rows, thread_keys;
	int64_t depth; /* elements of a query, key or value, at most, for which threads have registers */
} GpuAttention;

typedef struct GpuTarget {
	const char *name;     /* "sm_90a": what nvrtc calls it */
	int64_t threads_most; /* of a block */
	int64_t shared_usual; /* bytes of shared memory that a block has without being asked for */
	int64_t shared_most; /* ... that it has when asked for, on every device that runs the code */
	int64_t shared_processor; /* of all blocks on a multiprocessor, each of which takes `shared_each` more */
	int64_t shared_each;
	int64_t blocks_most;  /* of a grid along its first axis */
	int64_t line_bytes;   /* of the second cache */
	int64_t cluster_most; /* blocks that run together and reach each other's shared memory; 0: none do */
	int64_t next_lines; /* that a thread fetches of parameters while the grid in front ends, at most */
	int64_t next_blocks; /* of a grid that lets the next one begin at once, at most; 0: none begins before the one in front ends */
	int64_t threads;      /* that a block of independent iterations gets */
	int64_t warp;	      /* threads that run one instruction together */
	int64_t statements;   /* of a thread, that kernels are joined up to: registers end */
	int64_t row_threads,
		row_least, /* of a block that shares a sum; ... a short one: as many terms at least */
		row_short, /* elements of rows that are joined though fewer than processors, at most */
		row_loads, /* wide accesses of a row that a lane makes before it adds, at most, and */
		row_vectors; /* ... sums that a thread has of as many vectors, where warps have a row each */
	int64_t column_threads, /* that share a column of a sum, of a block of `warp` columns */
		column_least,	/* ... rows of it, and of a slice, at least */
		slices_most;	/* of the rows */
	int64_t cumulate_least, /* places of a line that is cumulated by more than one thread, at least; */
		cumulate_rounds; /* ... rounds of its threads that a slice has */
	int64_t waves;		/* blocks for each processor that slices are made for */
	int64_t processors; /* that run blocks */
	int64_t raster; /* tiles of rows that are made for each of columns, so that what they read stays in the cache */
	GpuTiles tiles;	    /* of f32 products by threads */
	GpuTiles tiles_64;  /* ... of f64 */
	GpuTiles matrix_tiles
		[MATRIX_COUNT]; /* by matrix instructions; none: the GPU has not that one */
	int64_t registers; /* of sums, and of what is on its way to them, that a thread may have */
	/* of products of few tiles: slices of a sum at most, steps of the tile in each at least; microseconds that a
	 * kernel which adds them, or one which splits factors, takes to start, and for an element that it reads or
	 * writes */
	int64_t slices_of_products, slice_steps;
	double slices_start, slices_element;
	/* ... by clusters of the most blocks: their tile, with times of such a block, and rows of the result, at most */
	const GpuTile *cluster_tile;
	int64_t cluster_rows;
	double cluster_slack; /* ... of the time that slices of another kernel are expected to take */
	int64_t cut; /* terms of split operands that tensor cores add up before their cut sums lose more than f32's */
	const GpuAttention
		*attention; /* in f32, the one to take first; the last has the most depth */
	int64_t nattention;
	const GpuAttention *
		attention_16; /* by matrix instructions of two bytes an element, a warp where others have a thread */
	int64_t nattention_16;
	int64_t decode_keys,   /* of a slice of attention of few rows, at most, */
		decode_rows,   /* ... and rows, of whose sums a thread has its part; */
		decode_slices; /* ... slices that a thread reads before it adds up what they have */
	/* ... blocks on a multiprocessor; microseconds that slices take to start, or clusters, with all behind them, and a key */
	int64_t decode_together;
	double decode_start, decode_cluster_start, decode_key;
	int64_t packed_few; /* bytes of a function of parameters, which it may have for good, whatever it is made of */
	int64_t tile_least; /* rows and columns, and steps of a sum, from which on tiles pay */
	double tile_few; /* ... of fewer, elements that a tile has room for beside each, at most; */
	int64_t tile_long; /* ... or steps of a sum, where there are fewer elements than threads */
	int64_t unknown;      /* what a size is taken for that is known at run time only */
	int64_t ptx;	      /* the first version of PTX that has it, 70 for 7.0 */
} GpuTarget;

/* What --target takes behind "cuda": "", or ":NAME". NULL: there is no GPU of that name. */
const GpuTarget *gpu_find(const char *word);
/* The names, a blank between. */
void gpu_list(FILE *out);

#endif
