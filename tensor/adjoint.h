/* Gradients and tangents as operations, private to tensor/.
 *
 *   adjoint of a node   the gradient of y with respect to it, in its shape: the sum of what its readers give
 *   what a reader gives its own adjoint under the reader's projection with the slots of result and operand
 *                       exchanged, times the derivative of the reader's operation
 *   tangent of a node   how it moves where x does, in its shape: the sum of what its operands give
 *   what it is given    by an operand: the operand's tangent under its own projection, times the same derivative
 *
 * So a rule is written once: of operand `arg`, adjoint_given() is what is there, and adjoint_give() takes what it makes of it, at
 * each point, to where it goes.
 */
#ifndef TSR_TENSOR_ADJOINT_H
#define TSR_TENSOR_ADJOINT_H

#include "frontend/differentiable.h"
#include "tensor/accesses.h"
#include "tensor/rebuild.h"

struct Steps;
struct LoopRange;

/* Gradients of one tensor in one direction, while they become operations. All numbers of nodes and loops are old ones
 * but those in `of`, `value`, `stored` and `loop_now`. */
typedef struct Adjoint {
	Rebuild *g;
	bool forward; /* tangents stand for adjoints */
	/* by node: its adjoint so far, a new number, of the node's shape or one number for all elements; NODE_NONE:
	 * nothing was given yet */
	NodeId *of;
	NodeId *again; /* by node: what is computed again in its place, a new number; NODE_NONE: nothing is */
	bool *computed_again; /* by number of a recompute(E) */
	NodeId behind;	      /* an old number: the last node before all that is made */
	const bool *path; /* by node: it depends on what gradients are taken with respect to */
	bool *chosen; /* by node: its adjoint is 0 where `where` takes the other side, whatever the node is there */
	/* by node: what has its value where operations are made now, and its values in all steps of a loop, or NODE_NONE
	 * (adjoint_values.c) */
	NodeId *value, *stored;
	NodeId *counts; /* by loop that ends early: the number of steps that it made, as it ran last where operations are made now */
	const bool *ruled; /* by node: a written rule has it, and nothing forward */
	NodeId *copies;	    /* by node: NODE_NONE, outside of adjoint_values.c */
	const struct LoopRange *ranges; /* by loop */
	uint32_t *loop_now; /* by loop: where what is made for its nodes runs */
	uint32_t least;	    /* ... or in this loop: y is computed in it */
	struct Steps *steps; /* of a loop, that are gone through */
	/* the reader that gives: */
	NodeId id;
	const Node *node;
	const Proj *proj;
} Adjoint;

/* A tensor of a new number, and which of its elements a point of a product space reads. */
typedef struct Read {
	NodeId node;
	const Access *access;
} Read;

/* The points of the reader's product space, or those of its result alone, as a shape. */
typedef struct Space {
	Shape shape;
	const Access *own; /* the element of such a tensor that belongs to a point */
} Space;

/* What an operand is given at points of the reader's first pieces: an operation in the operand's shape. */
typedef struct Part {
	Node node;
	const PieceAccesses *pieces;
	uint32_t npieces;
	const NodeId *args; /* new numbers */
	uint32_t nargs;
} Part;

/* ---- adjoint_make.c ---- */

/* What is like the reader, of that kind and type, and no assignment. */
Node adjoint_plain(const Adjoint *a, NodeKind kind, Op op, Dtype dtype);
/* A projection of iterators of the reader's. */
Proj *adjoint_proj(const Adjoint *a, const Shape *shape, const PieceAccesses *pieces,
		   uint32_t npieces, uint32_t nargs);
/* A node of these operands, in the innermost of the loops that they and the reader are in. */
NodeId adjoint_add_node(const Adjoint *a, Node node, const Shape *shape, Proj *proj,
			const NodeId *args, uint32_t nargs);
/* Elements of one shape, one by one, of two operands at most; one number stands for all of them. */
NodeId adjoint_over_shape(const Adjoint *a, Node node, const Shape *shape, const NodeId *args,
			  uint32_t nargs);
/* Where what is made for nodes of a loop runs, a new number. */
static inline uint32_t adjoint_loop(const Adjoint *a, uint32_t loop)
{
	return a->loop_now[loop] > a->least ? a->loop_now[loop] : a->least;
}
/* Is it one number, which stands for all elements of an adjoint? */
bool adjoint_is_uniform(const Adjoint *a, NodeId node);
/* The access of a tensor without axes. */
const Access *adjoint_no_axes(const Adjoint *a);
/* One number of a type. */
Read adjoint_number(const Adjoint *a, double number, Dtype dtype);
/* What is given, a node of a new number; 0 where that is NODE_NONE. */
NodeId adjoint_or_zero(const Adjoint *a, NodeId given, Dtype dtype);
/* What the reader reads as operand `arg`, what it makes, and its adjoint, or the operand's tangent. Requires: one piece. */
Read adjoint_operand(const Adjoint *a, uint32_t arg);
Read adjoint_result(const Adjoint *a);
Read adjoint_given(const Adjoint *a, uint32_t arg);
Space adjoint_result_space(const Adjoint *a);
/* All iterators of the first piece, the reduced ones too, in the order in which operand 0 has them. */
Space adjoint_whole_space(const Adjoint *a);
/* An operation at each point of the space, of floats but where `op` gives truth. */
Read adjoint_apply(const Adjoint *a, const Space *space, Op op, const Read *args, uint32_t nargs);
/* The place of a point in the order of these iterators, an i32; of the reduced ones of the first piece. */
Read adjoint_offsets(const Adjoint *a, const IterId *iters, uint32_t n);
Read adjoint_place(const Adjoint *a);
/* The reader's projection with one of its pieces alone. Requires: it has that one. */
const Proj *adjoint_piece(const Adjoint *a, uint32_t number);
/* Of a node of a new number. */
Dtype adjoint_dtype(const Adjoint *a, NodeId node);
/* One number, the same at each point. Requires: the node has no axes. */
Read adjoint_alone(const Adjoint *a, NodeId node);
/* An operation element by element on nodes of a shape, or of one number. */
NodeId adjoint_elementwise(const Adjoint *a, Op op, const Shape *shape, const NodeId *args,
			   uint32_t nargs);
/* A node like `like`, of these operands, in a shape: elements `result` of it, at each point of the reader's first
 * piece. Requires: OPERANDS_MOST operands at most. */
NodeId adjoint_node(const Adjoint *a, const Node *like, const Shape *shape, const Access *result,
		    const Read *args, uint32_t nargs);
/* A node's adjoint in its shape, also where one number stood for all of it. */
void adjoint_spread(const Adjoint *a, NodeId id);
/* A tensor of a shape whose elements are all one number, a node of a new number. */
NodeId adjoint_fill(const Adjoint *a, const Shape *shape, NodeId number);

/* ---- adjoint_give.c ---- */

/* What is there of operand `arg`. Requires: an operand of the reader. */
NodeId adjoint_from(const Adjoint *a, uint32_t arg);
/* Operand `arg` is given that at each point, which is added up where several points read one element; of tangents the
 * reader is, where several points write one. Requires: one piece. */
void adjoint_give(const Adjoint *a, uint32_t arg, Read read);
/* Operand `arg`, or the reader, is given an operation. */
void adjoint_give_part(const Adjoint *a, uint32_t arg, const Part *part);
/* Operand `arg`, or the reader, is given a node of a new number. Requires: the node has its shape, or is one number. */
void adjoint_add(const Adjoint *a, uint32_t arg, NodeId node);
/* The reader's operation again, of what is given for operand 0: tangents of what moves elements. */
void adjoint_again(const Adjoint *a);
/* Operand `arg` is given the product of these under the exchanged projection: the reader's adjoint and its other
 * operands, or the adjoint alone. Requires: without `others`, an operation that copies or adds up one operand. */
void adjoint_exchange(const Adjoint *a, uint32_t arg, bool others);

/* ---- adjoint_recompute.c ---- */

/* The new number of a node that the reader reads, or of itself: of what is computed again where both are of one recompute(E), and
 * of what holds its value in the step of a loop that is gone through. Requires: a node up to the reader. */
NodeId adjoint_now(const Adjoint *a, NodeId id);

#endif
