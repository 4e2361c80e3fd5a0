/* Slices of keys on their way to loops: what decode.c, decode_cluster.c and decode_slice.c share. */
#ifndef TSR_TRANSFORM_GPU_DECODE_SLICE_H
#define TSR_TRANSFORM_GPU_DECODE_SLICE_H

#include "transform/gpu/decode.h"
#include "transform/gpu/tiling.h"

/* Threads that read elements of keys, or values: groups of lanes, each `width` elements of every so many-th key. */
typedef struct Lanes {
	int64_t width, lanes, groups, times;
} Lanes;

typedef struct Slices {
	Tiling g; /* of the kernel of the slices */
	const GpuTarget *gpu;
	const Decode *d;
	const Segment *s;
	DecodeCut cut;
	int64_t rows;
	Lanes of_keys, of_values;
	BufferId parts, totals_parts, seen, weights;	/* shared */
	BufferId tops, totals, sums;		/* temporaries, or shared by a cluster */
	BufferId top;				/* of a cluster, shared: of each row in the slice at hand */
	LocalId next_keys, next_values;
	LocalId own_tops, own_totals, own_sums; /* of a cluster: a thread's, of the slices so far */
	IterVar slice, round; /* of a cluster: the block, and how many slices it had before */
} Slices;

/* The number of the row, from the iterators of these loops. */
static inline const Ix *row_of(const Slices *p)
{
	const Ix *row = number(&p->g, 0);
	for (uint32_t i = 0; i < p->d->nrows; i++) {
		const Ix *size = sized(&p->g, p->d->rows[i]->hi->size);
		row = plus(&p->g, ix_mul(p->g.program, row, size),
			   iter(&p->g, p->d->rows[i]->iter));
	}
	return row;
}

static inline const Ix *at_line(const Slices *p, const Ix *line, int64_t n, const Ix *at)
{
	return plus(&p->g, times(&p->g, line, n), at);
}

static inline void push(const Slices *p, Body *body, const Stmt *stmt)
{
	PUSH(p->g.arena, body->stmts, stmt);
}

static inline const Value *read(const Slices *p, LocalId local)
{
	return value_local(p->g.arena, p->g.kernel, local, NULL, 0);
}

static inline const Value *constant(const Slices *p, double x)
{
	return value_number(p->g.arena, DTYPE_F32, x);
}

static inline LocalId scalar(Slices *p, Body *body, const char *name, const Value *first)
{
	LocalId local = tiling_local(&p->g, (KernelLocal){.name = name});
	push(p, body, stmt_local(p->g.arena, local, first));
	return local;
}

static inline const Value *loaded(const Slices *p, BufferId buffer, const Ix *at)
{
	return value_load(p->g.program, buffer, at);
}

static inline const Value *binary(const Slices *p, Op op, const Value *a, const Value *b)
{
	return value_binary(p->g.arena, op, a, b);
}

static inline const Value *exponent(const Slices *p, const Value *value)
{
	return value_op(p->g.arena, OP_EXP, DTYPE_F32, &value, 1);
}

/* What a block of a cluster has of all rows: so many elements of each, and no multiple of them. */
static inline int64_t block_elements(const Slices *p, int64_t each) { return p->rows * each + QUAD; }

/* Where a slice, or a block of a cluster, has the `at`-th of so many elements of the row. */
static inline const Ix *place_of(const Slices *p, const Ix *slice, int64_t each, const Ix *at)
{
	const Ix *all = slice, *own = at_line(p, row_of(p), each, at);
	if (p->cut.blocks)
		return at_line(p, slice, block_elements(p, each), own);
	for (uint32_t i = 0; i < p->d->nbatch; i++) {
		const Ix *size = sized(&p->g, p->d->batch[i]->hi->size);
		all = plus(&p->g, ix_mul(p->g.program, all, size),
			   iter(&p->g, p->d->batch[i]->iter));
	}
	return at_line(p, all, p->rows * each, own);
}

/* decode_slice.c: what a block does with a slice, in the iterators of the slice and the batch: what it comes to is stored, or
 * of a cluster left to decode_merge. Requires: all of `slices` is set but what is on its way. */
Block decode_slice(Slices *slices);
/* ... what all groups of threads have of a row's column, or of its total, in their order. */
LocalId slice_sum(Slices *slices, Body *body, const Ix *column);
LocalId slice_total(Slices *slices, Body *body);
/* ... what is subtracted from scores: the greatest of them, or 0 where that is -inf. */
const Value *slice_base(const Slices *slices, const Value *top);
/* ... loops over the rows, which all threads go through. */
Block slice_rows(const Slices *slices, Block body);

/* decode_cluster.c: adds the slice to what the block has of those before. */
Block decode_merge(Slices *slices);
/* ... what the blocks of a cluster do: the slices of all segments, and `last` behind them, in the grid's iterators, of which each
 * block has some columns. */
Block decode_cluster(Slices *all, Block last);

#endif
