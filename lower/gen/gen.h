/* A kernel under construction: its iterators and locals, what is asked of it and what was chosen, and
 * values of nodes at given indices. Values are built without statements, so that they can be looked
 * at before anything is decided; what they share is set by statements that an emitter makes.
 */
#ifndef TSR_LOWER_GEN_H
#define TSR_LOWER_GEN_H

#include "loops/frame.h"
#include "lower/gen/expression.h"
#include "lower/gen/lowering.h"

/* A value that others read several times: a local, and what it is set to once a statement is made
 * of it. */
typedef struct SharedLocal {
	LocalId local;
	const Value *value;
	Span span; /* of the operation */
} SharedLocal;

typedef VEC(SharedLocal) SharedLocals;

/* An index that is outside of its axis unless 0 <= ix < size. */
typedef struct Bounded {
	const Ix *ix;
	Size size; /* elements of the axis */
} Bounded;

/* Values of an iterator in the part of its loop that is being made: first <= iterator < end, and
 * 0 <= iterator < extent. */
typedef struct PartRange {
	bool known;
	Size first, end, extent;
} PartRange;

typedef struct Gen {
	Lower *lower;
	Program *program;
	Arena *arena;
	KernelFrame frame; /* while it is planned: locals of values that are looked at */
	Body top;
	SharedLocals *locals_of; /* the present body: values used more than once are its locals */
	SharedValues shared;	 /* what these are */
	bool in_line;		 /* they are no locals */
	bool looks;		 /* nothing of it stays (NestLook): no tensor gets its name */
	bool emits;		 /* it is planned: statements are made of it */
	const Schedule *asked;	 /* the lower's; NULL: nothing is */
	Sym name;		 /* the kernel's */
	Span span;
	VEC(ScheduleEntry) made; /* what was chosen, a nest each */
	uint32_t entry;		 /* of these, the one of the nest at hand */
	VEC(BufferId) buffers;	 /* that are declared for it while it is planned */
	NodeId root;		 /* whose nest it is; NODE_NONE: none's, so far */
	NodeId bound;		 /* a reduction whose value is at hand */
	const Value *bound_value;
	NodeId inside; /* is computed where the nest reads it, not loaded (inline_producer.c) */
	const Ix *row; /* of the present element, counted from the row block's block on */
	struct SeenList *seen; /* collects what is read; NULL: nothing does */
	VEC(Bounded) borders;  /* of windows, which are taken to be inside (window_value.c) */
	const PartRange *ranges; /* by IterVar; NULL: nothing is known yet */
	bool clamps;		 /* reads of windows stay inside */
} Gen;

typedef struct StoreTarget {
	BufferId buffer;
	Op acc; /* OP_NONE: set */
} StoreTarget;

static inline const Stmt *gen_store(Gen *gen, StoreTarget to, const Ix *at, const Value *value)
{
	return stmt_store_as(gen->program, to.buffer, at, to.acc, value);
}

static inline ScheduleEntry *gen_entry(const Gen *gen) { return &gen->made.at[gen->entry]; }
/* What is asked of the nest at hand; NULL: nothing. */
ScheduleClause *gen_asked(const Gen *gen, Choice choice);
/* Writes down what was chosen for it. */
ScheduleClause *gen_make(Gen *gen, Choice choice, bool off);
/* Adds an operand to what was chosen for it, once. */
void gen_make_operand(Gen *gen, Choice choice, BufferId operand);
/* Is the operand among those that are asked for, or are all? */
bool gen_asks_operand(const Gen *gen, Choice choice, BufferId operand);
/* Begins the next nest of the kernel. */
void gen_nest(Gen *gen);
/* A kernel's beginning and end; the beginning in the memory of `program`, which is the lower's
 * or a copy of it. */
Gen gen_new(Lower *lower, Sym name, Span span);
Gen gen_new_in(Lower *lower, Program *program, Sym name, Span span);
/* A copy for values that are only looked at: nothing that is added to it reaches `gen`. */
Gen gen_look(const Gen *gen);
/* A copy that a kernel is emitted with, which has the iterators and choices that are planned, and no locals. */
Gen gen_emit(const Gen *planned);
/* What was chosen for it goes into the schedule that was made; the kernel itself is the caller's. */
Kernel kernel_finish(Gen *gen);
/* A temporary of the kernel, called PREFIX_OF. Requires: the kernel is planned, not emitted. Of a nest that is only
 * looked at it is one of the look's program, and nobody else's. */
BufferId gen_temporary(Gen *gen, const char *prefix, const char *of, Buffer buffer);
/* Adds a buffer to those that were declared for the kernel. */
void gen_owns(Gen *gen, BufferId buffer);
static inline IterVar gen_iter(Gen *gen, const char *name)
{
	return frame_iter(&gen->frame, name);
}
/* A single local; one of n elements; the value of a single one. */
static inline LocalId gen_local(Gen *gen, const char *name, Dtype dtype)
{
	return frame_local(&gen->frame, name, dtype, NULL, 0);
}
static inline LocalId gen_lanes(Gen *gen, const char *name, Dtype dtype, int64_t n)
{
	return frame_local(&gen->frame, name, dtype, &n, 1);
}
static inline const Value *gen_local_value(const Gen *gen, LocalId local)
{
	return frame_element(&gen->frame, local, NULL);
}
/* A local of these extents that begins with a value; the value of a single one. */
LocalId gen_declare(Gen *gen, Body *body, const char *name, const Value *start,
		    const int64_t *extents, uint32_t rank);
const Value *gen_let(Gen *gen, Body *body, const char *name, const Value *value);
/* Starts a body whose shared values are its own, and appends the statements that set them. */
void gen_enter(Gen *gen, SharedLocals *shared);
void gen_set_shared(Gen *gen, Body *body, const SharedLocals *shared);
/* A block of one statement; of a loop over [0, extent), of a kind or one that is no number, or over [lo, hi) in steps. */
Block block_of(Gen *gen, const Stmt *stmt);
Block gen_loop(Gen *gen, LoopKind kind, IterVar iter, int64_t extent, Block body);
Block gen_over(Gen *gen, IterVar iter, Size extent, Block body);
Block gen_steps(Gen *gen, IterVar iter, const Ix *lo, const Ix *hi, int64_t step, Block body);
void gen_append(Gen *gen, Body *body, Block block);
/* The value at an index an axis: a load, or what computes it. */
const Value *node_value(Gen *gen, NodeId node, const Ix *const *axes);
/* The same, computed even where the node has a buffer. */
const Value *node_compute(Gen *gen, NodeId node, const Ix *const *axes);
/* Values of operands for expressions; locals are of the present body. */
NodeReader gen_reader(Gen *gen);
/* The operands combined in one piece, iterators replaced by `by_iter`. */
const Value *piece_value(Gen *gen, NodeId node, const Piece *piece, const Ix *const *by_iter);
const Ix **access_indices(Gen *gen, NodeId node, const Piece *piece, const Access *access,
			  const Ix *const *by_iter);
/* One index; of one that is read the integer as it is, wherever that lies. */
const Ix *access_index(Gen *gen, NodeId node, const Piece *piece, const Index *index,
		       const Ix *const *by_iter);
/* The sum of a window of a piece that is written out, at the iterators of its result; its other iterators are set.
 * (window_value.c) */
const Value *window_value(Gen *gen, NodeId node, const Piece *piece, const Ix **by_iter);
/* The index into the row-major array of a tensor. */
const Ix *flat_index(Gen *gen, NodeId node, const Ix *const *axes);
const Ix *gen_const(const Gen *gen, int64_t value);
const Ix *zero_ix(Gen *gen);

/* The statement where ix < n. */
const Stmt *stmt_below(Gen *gen, const Ix *ix, Size n, Body *body);
/* Loops over the axes of a shape; returns the index an axis. Axes of size 1 have no loop. */
const Ix **shape_indices(Gen *gen, const Shape *shape, IterVar *vars);
/* The body in these loops, at the kernel's end. */
void wrap_shape(Gen *gen, const Shape *shape, const IterVar *vars, Body *body);

#endif
