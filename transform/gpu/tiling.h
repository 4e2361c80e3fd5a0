/* A product on its way to tiles: what tile.c, copy.c and tiling.c share. */
#ifndef TSR_TRANSFORM_GPU_TILING_H
#define TSR_TRANSFORM_GPU_TILING_H

#include "loops/rewrite.h"
#include "transform/gpu/tile.h"

enum { QUAD = 4, STAGES = 2 };

/* One operand on its way: from the buffers to what is shared. */
typedef struct Side {
	const ProductOperand *operand;
	const LoopGroup *group;
	IterVar tile;	    /* of the grid */
	int64_t width;	    /* rows or columns of the tile */
	int64_t threads[2]; /* that copy: along rows and steps, or steps and rows */
	int64_t times;	    /* fours that each of them copies */
	int64_t chunk;	    /* elements of an asynchronous copy */
	int64_t pitch; /* from one step to the next in what is shared, or from one row or column */
	bool rows;     /* or columns */
	bool steps_contiguous; /* neighbours in what is shared are steps */
	bool wide;	       /* reads are of four elements */
	BufferId shared;
	LocalId next; /* on its way, in the shared type where that is the element's own, else in the sums' */
	const char *name; /* of what is shared, behind the kernel's */
	/* of each of its loops where a thread's places are in it, found once for all rounds */
	LocalId places[PRODUCT_LOOPS];
	bool has_places;
} Side;

typedef struct Tiling {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	uint32_t routine;
	const Product *product;
	const GpuTile *tile;
	const GpuTarget *gpu;
	Side rows, columns;
	LocalId sums;  /* acc of each thread, or warp */
	LocalId parts; /* ... that are not added yet; or the sums */
	IterVar k,
		round; /* of the loop over the sum: steps; with copies that are asynchronous rounds */
	int64_t shared_most; /* bytes of a block, so that as many fit on a multiprocessor as the tile says */
	int64_t stages; /* that are shared */
	int64_t turns,
		raster;	 /* by warpgroups: blocks that take turns, and the order of tiles; 0 */
	IterVar turn;	 /* where they do */
	int64_t cluster; /* blocks that each have a slice of the sum; 0 */
	IterVar slice;
	bool async;
	bool has_registers; /* threads have some for two ways of copying */
	/* copies are so where 16 bytes of elements divide these sizes, which the kernel asks; else threads copy */
	Size whole[2];
	int64_t by[2]; /* ... so many elements */
	uint32_t nwholes;
	GroupSum sum; /* by warpgroups */
	BufferId full,
		empty; /* by warpgroups: mbarriers of stages that have come, and that may be filled again */
	BufferId boxes; /* ... of the result on their way, where it is stored in boxes */
	bool has_boxes;
	Body body;
} Tiling;

/* Along a side: the first of some elements that are read at once, and which of them. Along the sum: the first step of a
 * round, a step in it and which element from there on. `unit`: how many such elements there are, at multiples of as
 * many. An element that is no iterator is the only one. */
typedef struct TilePlace {
	const Ix *along, *along_element, *round, *step, *step_element;
	int64_t unit;
	const Ix *thread[3]; /* that copies: along the two axes of threads, and which time */
	bool open; /* places behind the last one of the side are asked for, and not read */
} TilePlace;

/* A factor at a place, where all conditions hold. */
typedef struct Taken {
	const Value *value;
	const Cond *conds;
	uint32_t nconds;
} Taken;

static inline const Ix *number(const Tiling *g, int64_t n) { return ix_const(g->program, n); }

static inline const Ix *iter(const Tiling *g, IterVar i) { return ix_iter(g->arena, i); }

static inline const Ix *plus(const Tiling *g, const Ix *a, const Ix *b)
{
	return ix_add(g->program, a, b);
}

static inline const Ix *times(const Tiling *g, const Ix *a, int64_t n)
{
	return ix_mul(g->program, a, number(g, n));
}

static inline const Ix *sized(const Tiling *g, Size size) { return ix_size(g->arena, size); }

/* Of the sums: f32, or f64. */
static inline Dtype tiling_dtype(const Tiling *g)
{
	return g->product && g->product->set ? g->product->set->value->dtype : DTYPE_F32;
}

static inline const Value *zero(const Tiling *g)
{
	return value_const(g->arena, tiling_dtype(g), (Scalar){.f = 0});
}

static inline Block loop_of(const Tiling *g, LoopKind kind, IterVar i, int64_t n, Block body)
{
	return block_one(g->arena, stmt_loop(g->program, kind, i, n, body));
}

static inline Block if_below(const Tiling *g, const Ix *a, const Ix *end, Block body)
{
	return block_one(g->arena, stmt_if_one(g->arena, (Cond){COND_LT, a, end}, body));
}

static inline void add(const Tiling *g, Body *body, Block block)
{
	body_append(g->arena, body, block);
}

static inline void add_barrier(const Tiling *g, Body *body)
{
	PUSH(g->arena, body->stmts, stmt_barrier(g->arena, false));
}

/* tiling.c: another iterator, and another local of the sums' type, of the kernel; an element of a local. */
IterVar tiling_iter(Tiling *g, const char *name);
LocalId tiling_local(Tiling *g, KernelLocal local);
const Value *tiling_element(const Tiling *g, LocalId local, const Ix *const *ixs);
/* Statements in terms of other iterators. */
Block tiling_rewrite(const Tiling *g, const Ix **iters, Block block);
/* Does the operand go through the loops of its side as through one? Then places behind the last one are held to
 * it; else they are not read. */
bool tiling_is_held(const Tiling *g, const Side *side);
/* The operand's factor at a place; `last`: where there is such a step. */
Taken tiling_take(const Tiling *g, const Side *side, const TilePlace *place, bool last);
/* The element of the shared type that the factor is, or is cast from; NULL: it is computed. */
const Value *tiling_element_as_it_is(const Tiling *g, const Side *side, const Value *factor);
/* May the lanes access at once all that the value reads; all that statements do? */
typedef struct TilingLanes {
	IterVar iter;
	int64_t n;
} TilingLanes;
bool tiling_value_is_wide(const Tiling *g, const Value *value, TilingLanes lanes);
bool tiling_block_is_wide(const Tiling *g, Block block, TilingLanes lanes);
/* Is the size a multiple of four? */
bool tiling_by_four(const Tiling *g, Size extent);

/* copy.c: iterators of the loops in a copy. */
typedef struct CopyIters {
	IterVar outer, inner, time, lane;
} CopyIters;
CopyIters tiling_copy_iters(Tiling *g);
/* Of a side, by which threads and how it is copied, with what is shared and what is on its way. */
Side tiling_side(Tiling *g, bool rows);
void tiling_finish_side(Tiling *g, Side *side);
/* Declares what is on its way. */
void tiling_declare_next(const Tiling *g, Body *body, const Side *side);
/* What one stage of a side has in shared memory. */
int64_t tiling_stage_elements(const Tiling *g, const Side *side);
/* Where a place along the side is in what is shared. */
const Ix *tiling_shared(const Tiling *g, const Side *side, const Ix *const *stage_step,
			const Ix *along);
/* next = the steps from k on, or, of the `last` ones, as far as there are any; shared[stage] = next */
Block tiling_load(Tiling *g, const Side *side, const Ix *k, bool last);
Block tiling_store(Tiling *g, const Side *side, const Ix *stage);

/* mma_sums.c, mma.c: the sums of a tile by matrix instructions; the steps of a stage added to them; what was added since
 * the last time to f32 sums, where that many rounds are over (`round` NULL: in any case). */
void mma_sums(Tiling *g);
Block mma_steps(Tiling *g, const Ix *stage);
Block mma_promote(Tiling *g, const Ix *round);

/* tile.c: does the sum fill whole rounds, whatever the sizes are? */
bool tiling_is_whole(const Tiling *g);
/* A place in the tile as one of all rows, or columns. */
const Ix *tiling_side_at(const Tiling *g, const Side *side, const Ix *in_tile);
/* The loops of the grid, of one thread each: the batch, tiles of rows and of columns. */
Block tiling_grid(const Tiling *g, Block body);
/* sums += rows * columns at so many steps of a stage; SIZE_BAD: at all that are shared. */
Block tiling_add_steps(Tiling *g, const Ix *stage, Size steps);

#endif
