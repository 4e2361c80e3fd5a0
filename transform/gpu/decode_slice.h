/* Slices of keys on their way to loops: what decode.c and decode_slice.c share. */
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
	int64_t keys, rows;
	Lanes of_keys, of_values;
	BufferId parts, totals_parts, seen, weights;	/* shared */
	BufferId tops, totals, sums;		/* temporaries */
	LocalId next_keys, next_values;
	IterVar slice;
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

/* Where the slice has something of a row; the number of the row among those of all heads and slices. */
static inline const Ix *row_of_all(const Slices *p, const Ix *slice)
{
	const Ix *at = slice;
	for (uint32_t i = 0; i < p->d->nbatch; i++) {
		const Ix *size = sized(&p->g, p->d->batch[i]->hi->size);
		at = plus(&p->g, ix_mul(p->g.program, at, size),
			  iter(&p->g, p->d->batch[i]->iter));
	}
	return at_line(p, at, p->rows, row_of(p));
}

/* What a block does with a slice, in the iterators of the slice and the batch. Requires: all of `slices` is set but what is on
 * its way. */
Block decode_slice(Slices *slices);

#endif
