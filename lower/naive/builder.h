/* Private to lower/naive/: a program and a kernel under construction.
 *
 *   program.c    the routines: what each needs, where it is, in which order it is computed
 *   builder.c    a kernel's frame: iterators, locals, loops around a body
 *   value.c      what a node is at an index: a load, or an expression (lower/gen/expression.h)
 *   operation.c  the loops of an operation: stores, sums, scattered sums; reshape, argmax
 *   along.c      what goes along an axis: cumulate, sort
 *   assign.c     steps of a routine: the right side, then the target takes it in
 */
#ifndef TSR_LOWER_NAIVE_BUILDER_H
#define TSR_LOWER_NAIVE_BUILDER_H

#include "loops/frame.h"
#include "lower/gen/expression.h"
#include "lower/naive/naive.h"

typedef VEC(KernelId) KernelIds;

typedef struct Naive {
	Tables tables;
	/* by NodeId: where its elements are in the routine at hand; BUFFER_NONE: nowhere, an
	 * element is an expression of its index */
	BufferId *buffers;
	bool *needed;  /* by NodeId */
	NodeId *nodes; /* those, ascending */
	uint32_t nnodes;
	KernelIds kernels; /* of the routine */
	uint32_t loop;	   /* of the program, that the kernel at hand is in */
} Naive;

/* A kernel under construction. */
typedef struct Builder {
	Naive *naive;
	Tables *t;
	Program *program;
	Arena *arena;
	Sym name;
	Span span;
	KernelFrame frame;
	Body top;
	Body *holds;	   /* initialisers: takes a local for each node that is an expression */
	SharedValues held; /* ... those that it has */
} Builder;

/* ---- kernel.c ---- */

/* A kernel of that name without statements, made of what stands at `span`; build_end adds it to the
 * routine. */
Builder build_new(Naive *naive, Sym name, Span span);
/* Appends the kernel to the routine. */
void build_end(Builder *b);
static inline IterVar build_iter(Builder *b, const char *name)
{
	return frame_iter(&b->frame, name);
}
static inline LocalId build_local(Builder *b, const char *name, Dtype dtype)
{
	return frame_local(&b->frame, name, dtype, NULL, 0);
}
static inline const Value *build_read(const Builder *b, LocalId local)
{
	return frame_element(&b->frame, local, NULL);
}
const Ix *build_const(const Builder *b, int64_t value);
void build_add(const Builder *b, Body *body, const Stmt *stmt);
/* The body in a loop over [0, extent). */
void build_wrap(const Builder *b, Body *body, IterVar iter, Size extent);
static inline const Stmt *build_store(const Builder *b, BufferId to, const Ix *at, Op acc,
				      const Value *value)
{
	return stmt_store_as(b->program, to, at, acc, value);
}
/* Appends `for e in 0..n` around what the caller puts into the body, whose index it is. */
const Ix *build_flat(Builder *b, IterVar *e);
void build_wrap_flat(Builder *b, IterVar e, Size n, Body *body);
/* to[e] = constant for every element. */
void build_fill(Builder *b, BufferId to, Scalar constant);

/* ---- value.c ---- */

/* The element at an index an axis: a load, or the expression; `element_flat` by its place in
 * storage order; `element_expression` even of one that has a buffer. */
const Value *element_at(Builder *b, NodeId node, const Ix *const *axes);
const Value *element_flat(Builder *b, NodeId node, const Ix *at);
const Value *element_expression(Builder *b, NodeId node, const Ix *const *axes);
/* Values of operands for expressions, whose locals are set in `locals`. */
NodeReader build_reader(Builder *b, Body *locals);
/* The place in storage order. */
const Ix *storage_index(const Builder *b, NodeId node, const Ix *const *axes);

/* ---- operation.c ---- */

/* to[...] = the node: elements that no point reaches stay as they are, and what is added up is added to what is
 * there. Before it, whole_fill makes all elements `neutral` where that is needed, reached_fill those that the
 * projection reaches. */
void operation_emit(Builder *b, NodeId node, BufferId to);
void whole_fill(Builder *b, NodeId node, BufferId to, Scalar neutral);
void reached_fill(Builder *b, NodeId node, BufferId to, Scalar neutral);
/* Where the projection writes, and nowhere else: to[i] ACC= from[i]. */
void reached_emit(Builder *b, NodeId node, BufferId from, BufferId to, Op acc);
Scalar operation_neutral(const Node *node);

/* ---- along.c ---- */

/* to[...] = the node, whole. */
void along_cumulate(Builder *b, NodeId node, BufferId to);
void along_sort(Builder *b, NodeId node, BufferId to);

/* ---- assign.c ---- */

/* The kernels of a step. */
void assignment_emit(Naive *naive, NodeId node);

#endif
