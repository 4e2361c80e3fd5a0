/* A loop nest: its loops, indices and values as they are so far. nest_plan.h decides what becomes of
 * it, nest/emit.h makes its code. All memory is the program's arena. */
#ifndef TSR_LOWER_NEST_H
#define TSR_LOWER_NEST_H

#include "loops/dependence.h"
#include "lower/gen/gen.h"
#include "sums/sums.h"

typedef struct Loop {
	IterVar var;
	IterId iter;
	Size extent;
	Size own; /* the part of the extent that is of no batch axis of the result */
	bool reduced;
} Loop;

/* An index that may leave its axis: nothing is read or written, and nothing added, unless 0 <=
 * index < size. */
typedef struct Guarded {
	const Index *index;
	Size size; /* elements of the axis */
} Guarded;

typedef VEC(Guarded) GuardedList;

/* An operand that is read from a copy (pack_operand.c, pad.c). */
typedef struct PackedOperandLoad {
	BufferId buffer;
	Size *strides; /* by IterId; NULL: it is read where it is */
	Size offset;   /* of the element at iterators of 0 */
} PackedOperandLoad;

/* Loops that copy an operand, outermost first, or part of them: `value` into buffer[at]. */
typedef struct CopyLoops {
	IterVar var;
	const Ix *lo, *hi;
	struct CopyLoops *inner;
	uint32_t ninner;
	const Ix *at;
	const Value *value; /* NULL: these are loops around others */
} CopyLoops;

typedef struct OperandCopy {
	BufferId buffer;
	CopyLoops *loops;
	uint32_t nloops; /* one after another */
} OperandCopy;

/* Loops that are one: `step` iterations of the inner iterator are one of the outer, which is 0. */
typedef struct Merged {
	IterId outer, inner;
	Size step;
} Merged;

typedef struct Nest {
	Gen *gen;
	NodeId node; /* whose projection the loops follow */
	NodeId root; /* what is stored: the node, or what finishes its sum */
	StoreTarget target;
	const Proj *proj;
	const Piece *piece;
	Loop *loops; /* outermost first */
	uint32_t nloops;
	uint32_t nresult;   /* the first ones, of the result */
	bool independent;   /* these loops store no element twice, and read none of them */
	bool scattered;	    /* elements of a sum are met from several places of the loops */
	bool carries;	    /* its sums go on with what the result holds (gen/row_block_place.h) */
	bool batched;	    /* the result has batch axes, of whatever extents */
	uint64_t
		reader_steps; /* by IterId: loops of the result that are steps of the sum which reads it (compute_at.c) */
	const struct Tile *
		inner_tile; /* of a sum that may be computed in the steps of this one; NULL: there is none */
	const Ix **by_iter; /* by IterId: the iterator's value; 0 where the extent is 1 */
	int64_t *phases;    /* by IterId: elements along it in a step (nest/phases.c); NULL: one */
	VEC(Merged) merged; /* (collapse.c) */
	GuardedList guards;
	const Ix **element; /* the result's index, an axis each */
	const Ix *at;	 /* the same as an element of the target */
	SharedLocals inner; /* that the value reads */
	const Bounded
		*borders; /* indices of windows in the value that may be outside (window_value.c) */
	size_t nborders;
	bool in_line;	 /* what it shares is part of it instead, as one value in several places */
	const Value *value;    /* of the operands: what is stored or added */
	SharedLocals epilogue; /* only looked at: what the root computes from the finished sum */
	const Value *finished;
	PackedOperandLoad packed_operand[2]; /* by the load's place in the value */
	VEC(OperandCopy) copies;	     /* that are made before, in this order */
} Nest;

/* The loops of a node as nothing has changed them, for a decision that is made before its kernel:
 * no kernel, buffer, name or entry of the schedule comes of them. They last as long as the
 * routine. */
typedef struct NestLook {
	Program program; /* a copy, with the memory of the routine */
	Gen gen;
	Nest nest;
} NestLook;

/* Looks at what the node's kernel `name` would compute into the target for a piece of the
 * projection of its nest (plan.reduction or itself). Requires that the projection has the piece. */
void nest_look_at(NestLook *look, Lower *lower, NodeId root, uint32_t piece, Sym name,
		  StoreTarget target);
/* The same nest once more as it began, under the same names. */
void nest_look_again(NestLook *look, const Nest *nest);

static inline const Target *nest_target(const Nest *nest) { return nest->gen->lower->target; }
/* The number that a size is; `otherwise` where it is none. */
static inline int64_t nest_known(const Nest *nest, Size size, int64_t otherwise)
{
	int64_t n;
	return size_is_const(nest->gen->program->sizes, size, &n) ? n : otherwise;
}

/* Loops, guards and values of a nest whose node, root, target, projection and piece are filled
 * in. */
void nest_set_up(Nest *nest);
/* The same for the loops of the result alone, and without a value. */
void nest_set_up_result(Nest *nest);
/* The result's index, the operands' value and its shared locals over the iterators as by_iter has
 * them. */
void nest_values(Nest *nest);
/* What would be stored of the finished sum, at the iterators as they are: to be looked at, with locals that
 * are nobody's. */
const Value *nest_look_stored(const Nest *nest, const Value *sum, SharedLocals *shared);
/* The root's value from the finished sum, and locals that it reads. */
const Value *nest_finished(Nest *nest, const Value *sum, SharedLocals *shared);
/* What the reduction starts from. */
const Value *nest_neutral(const Nest *nest);
/* The position of the innermost loop that a guarded index mentions; -1: none. */
int nest_guard_position(const Nest *nest, const Guarded *guard);
/* Does the guarded index, or the place where it is read, depend on the iterator? */
bool nest_guard_mentions(const Nest *nest, const Guarded *guard, IterId iter);
/* What an index has of an iterator; NULL: nothing. */
const IndexTerm *nest_term_of(const Index *index, IterId iter);
/* Are the extents known from dims that the caller passes, so that a temporary may have the size of any? */
bool nest_is_of_args(const Nest *nest);
/* Does a guarded index mention the loop? */
bool nest_is_guarded(const Nest *nest, const Loop *loop);
/* Is it the bounds of that loop that keep the index inside, where loops from first_cut on may be
 * cut? */
bool nest_bounds_loop(const Nest *nest, const Guarded *guard, uint32_t first_cut);
/* NULL: no loop has the name (nest/names.c). */
Loop *nest_loop_named(const Nest *nest, Sym name);

/* nest/facts.c: what the order of additions is decided from; memory is the routine's. */
SumFacts nest_facts(const Nest *nest, Op reduce);
/* Where what it computes reads its target, beside adding to it. */
ReadPlace nest_reads_target(const Nest *nest);
/* Adds what a schedule can name of the nest to what was made. */
void nest_note_names(const Nest *nest);
/* Writes down in which order the reduction adds, the loops being nested as they are. */
void nest_note_sum(const Nest *nest, Op reduce, SumOrder order);
/* ... in which order sums do that are written out in the value. */
void nest_note_windows(const Nest *nest);

/* Builds indices and values again for the loops as they are, after neighbours are merged, where
 * what the value reads has changed. */
void nest_rebuild(Nest *nest);

/* An element of a copy at the iterators as by_iter has them. */
const Ix *nest_packed_operand_ix(const Nest *nest, const PackedOperandLoad *packed_operand);

/* What a load of the nest's value is where it is copied: what computes it, or the load
 * (inline_producer.c). `again`: it is copied several times. */
const Value *nest_inlined_producer(Nest *nest, const Value *load, bool again);
/* The same at other indices than the nest's, an axis each. */
const Value *nest_inlined_producer_at(Nest *nest, const Value *load, const Ix *const *axes,
				      bool again);
/* What computes a load of the nest's value, where that is decided. */
const Value *nest_producer(Nest *nest, const Value *load);
/* Writes down that a load is computed where it is copied or read, if the value is another. */
void nest_note_inlined_producer(Nest *nest, const Value *load, const Value *value);
/* From here on the nest computes what is behind the load where it reads it. */
void nest_inline_producer(Nest *nest, const Value *load);

/* Does an operand that may be computed where it is read gather by these two loops otherwise than the loop that they
 * would be one as goes? */
bool nest_gathers_otherwise(Nest *nest, const Loop *outer, const Loop *inner);

/* Merges two neighbouring loops that every access walks through as one; false: there are none. The
 * nest's loops change, and its values are to be built again. */
bool nest_collapse(Nest *nest);

#endif
