/* What inference finds: a shape for every node, an index map for every operation, and the guards
 * under which they hold.
 *
 *   Inference := Shape for every node, Proj for every operation, captured sizes, guards
 *   Shape     := three rows of axes; storage order is batch, output, input, row-major
 *   Proj      := iterators (each with an extent), pieces
 *   Piece     := the iterators that it runs over, and an index per axis for the result and each operand
 *   Index     := sum of coef * iterator + offset | the value of an operand
 *
 * Most operations have one piece. A concatenated axis couples several iterators into one factor of
 * the product space, run one after another: each combination is a piece, and an operand that has no
 * place in a piece is absent from it.
 */
#ifndef TSR_INFER_INFER_H
#define TSR_INFER_INFER_H

#include "base/size.h"
#include "frontend/graph.h"

typedef struct Axis {
	Size size;
	Sym label;    /* NULL: none */
	bool stretch; /* the broadcasting 1: size is the constant 1, written as a literal or inserted */
} Axis;

/* Broadcasting inserts axes behind the first `lead` axes: they align with a longer row from its
 * left, the others from its right. 0 for shapes as written; more only where a row variable had axes
 * before it. */
typedef struct Row {
	Axis *axes;
	uint32_t n;
	uint32_t lead;
	uint32_t gap; /* after errors: axes that are not known stand before axis gap - 1 */
} Row;

typedef struct Shape {
	Row rows[ROW_KINDS];
} Shape;

/* ---- projections ---- */

typedef uint32_t IterId; /* index into proj.iters */

typedef struct Iter {
	Sym name;     /* the letter, or i0, i1, ... */
	Size extent;
	bool reduced; /* not mentioned by the result */
	Span span;    /* where the axis was written, or the operation */
} Iter;

typedef struct IndexTerm {
	IterId iter;
	int64_t coef; /* not 0 */
} IndexTerm;

typedef struct Index {
	IndexTerm *terms; /* in the order of the iterators' first mention */
	uint32_t nterms;
	Size offset;
	bool guarded;     /* a padded read: outside [0, size of the axis) the step is skipped */
	/* >= 0: the index is the integer that this operand holds at the access of its own (no terms; the
	 * operand has no such index itself). `guarded` where the mode is SKIPPED. */
	int32_t gather;
	IndexMode mode;
} Index;

/* One index per axis, in storage order: batch, output, input. */
typedef struct Access {
	bool present;
	Index *axes;
	uint32_t naxes;
} Access;

typedef struct Piece {
	IterId *iters; /* loops of this piece, outermost first: the result's, then the reduced ones */
	uint32_t niters;
	Access result;
	Access *args; /* nargs of the node */
} Piece;

/* A factor of the product space: one iterator, or several that run one after another. */
typedef struct Factor {
	IterId *iters;
	uint32_t niters;
} Factor;

typedef struct Proj {
	Iter *iters;
	uint32_t niters;
	Factor *factors;
	uint32_t nfactors;
	Piece *pieces;
	uint32_t npieces;
	uint32_t nargs;
	bool injective;  /* different points of the product space write different cells (no reduction) */
	bool surjective; /* every cell of the result is written */
	/* lowering's alone: pieces write cells of their own, and all steps of a cell are in its
	 * piece */
	bool disjoint;
	bool clear;      /* the result must be filled with `neutral` first (a reduction, or not surjective) */
	/* RESHAPE, UNIFORMS: element k of the operand, in storage order, is read once, and elements
	 * k*width to k*width + width - 1 of the result are written from it; no pieces. */
	bool linear;
	int64_t width;
} Proj;

/* The iterators of what goes along an axis: that of the result, which no operand mentions, and that
 * of the operand, which is reduced. Requires a node with `along`. UINT32_MAX: there is none, and one
 * iteration is all. */
typedef struct AlongIters {
	IterId to, from;
} AlongIters;
AlongIters proj_along(const Proj *proj);
/* Does an index of the access mention the iterator? */
bool access_mentions(const Access *access, IterId iter);
/* The first term of the iterator among the indices of so many axes, no more than there are; NULL: there is none. */
const IndexTerm *access_term(const Access *access, uint32_t naxes, IterId iter);

/* ---- margins ---- */

/* Elements that padded reads reach beyond an axis. SIZE_BAD: not known for all dims. */
typedef struct Margin {
	Size before, after;
} Margin;

/* Of one tensor, for the reads that its reduction's neutral element would stand in for. */
typedef struct Margins Margins;
struct Margins {
	Op reduce;
	Margin *axes; /* in storage order */
	Margins *next;
};

/* ---- guards ---- */

typedef enum GuardKind { GUARD_EQ, GUARD_GE, GUARD_DIVIDES } GuardKind;

/* EQ: a == b; GE: a >= b; DIVIDES: a is a multiple of b. Checked at the entry of a routine, in this
 * order. */
typedef struct Guard {
	GuardKind kind;
	Size a, b;
	Span span;        /* what asks for it */
	Span other;       /* the other place, or SPAN_NONE */
	const char *text; /* for people: "n must be a multiple of 2 (conv_net.tsr:12: axis 2*oh)" */
	uint32_t leaf;	  /* of a size that is written otherwise: the solver's leaf and one more, or 0 */
	uint32_t steps;	  /* how far that is from the other size (infer/trace.h) */
	uint32_t
		product; /* that axes have so many elements: the solver's constraint and one more, or 0 */
	bool given; /* by how a loop counts: a fact, which nothing checks */
	const char *as; /* GE: what a is in the program: "a stride"; NULL: a size */
	uint32_t
		relation; /* EQ: that a computed size is another: the solver's constraint and one more, or 0 */
} Guard;

typedef struct InferOptions {
	uint64_t shuffle; /* not 0: permute the constraints by this seed */
} InferOptions;

/* What the letters of one node's specification stand for, in any order. The solver lists at least
 * those that are the size of no axis by themselves: kernel letters, strided letters, parts of
 * `a^b`. */
typedef struct LetterSize {
	Sym letter;
	Size size;
} LetterSize;

typedef struct LetterSizes {
	LetterSize *at;
	uint32_t n;
} LetterSizes;

typedef struct Trace Trace; /* the derivation: infer/trace.h */

typedef struct Inference {
	const Graph *graph;
	Sizes *sizes;
	Shape *shapes;   /* by NodeId */
	Proj **projs;    /* by NodeId; NULL for leaves */
	Margins **margins; /* by NodeId: a list; NULL where no padded read needs any */
	LetterSizes *letters; /* by NodeId; NULL where there are none */
	Size *captures;  /* by CaptureId */
	VEC(Guard) guards;
	Trace *trace;
	bool complete; /* false: after errors, see infer_partial */
} Inference;

/* Solves sizes, derives projections, collects guards. NULL after errors (in diags).
 * Ensures: every used node has a closed shape, every used operation a projection. */
Inference *infer_run(const Graph *graph, Arena *perm, Diags *diags, const InferOptions *options);

/* As infer_run, but never NULL. After errors it is not complete and has what was solved until then:
 * shapes in which sizes may be SIZE_BAD and rows may have a gap, captures and letters likewise; no
 * guards, and projections of some operations at most. Of dumps only shapes may be asked of it. */
Inference *infer_partial(const Graph *graph, Arena *perm, Diags *diags,
			 const InferOptions *options);

/* The independent checker: shares no code with the solver (infer/check.c). Reads only the graph and
 * the result. Aborts with BUG on the first thing that does not hold; with a report, writes one line
 * an item. */
void infer_verify(const Inference *inference, FILE *report);
/* The part of it that asks nothing of specifications, over some nodes, whose projections passes
 * have made: well formed, inside all axes, and as many writes as they say. */
void infer_verify_projections(const Inference *inference, const NodeId *nodes, size_t n);

/* "[b | i -> o]" without the parts whose row is empty. */
void shape_print(FILE *out, const Sizes *sizes, const Shape *shape);
/* The same as a string of the arena. */
const char *shape_text(Arena *arena, const Sizes *sizes, const Shape *shape);
/* The axes in storage order (batch, output, input); returns how many. */
uint32_t shape_naxes(const Shape *shape);
/* Requires: i < shape_naxes(shape). */
const Axis *shape_axis(const Shape *shape, uint32_t i);
/* Are the axes in storage order of the same sizes, of whichever rows they are? */
bool shape_same_sizes(const Shape *a, const Shape *b);
/* The value of a size as written, once captured sizes are known. */
Size infer_size(const Inference *inference, const SizeExpr *expr);
/* The product of all sizes. */
Size shape_elements(Sizes *sizes, const Shape *shape);

/* Those of a tensor for one reduction; NULL: there are none. */
const Margins *infer_margins(const Inference *inference, NodeId node, Op reduce);

/* Adds what an operation reads beyond its operands, once its projection is there
 * (infer/margins.c). */
void margins_add(const Inference *inference, NodeId node, Arena *perm);
/* Internal to infer/: derives one operation's projection from ground shapes (infer/project.c).
 * NULL after an error (in diags). */
Proj *proj_derive(const Inference *inference, NodeId node, Arena *perm, Diags *diags);

#endif
