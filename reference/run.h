/* Private to reference/: a routine that runs. */
#ifndef TSR_REFERENCE_RUN_H
#define TSR_REFERENCE_RUN_H

#include "infer/infer.h"
#include "reference/element.h"

typedef struct Run {
	const RefCall *call;
	const Inference *inference;
	const Graph *graph;
	const Routine *routine;
	Rules rules;
	uint64_t seed;	    /* of `init` */
	RefTensor *tensors; /* by NodeId; without elements: not computed, or not needed any more */
	NodeId *order;	    /* operations, as they run */
	uint32_t norder;
	uint32_t *readers;  /* by NodeId: operations that are still to read it */
	int64_t elements;   /* that are held */
	RefResult *result;
	bool exact;    /* what was computed has no error from there on; unknown elements are NAN */
	int64_t *dims; /* by DimId: the call's, and the step that each loop is in */
} Run;

static inline const Node *run_node(const Run *run, NodeId id)
{
	return graph_node(run->graph, id);
}

/* The tensor of a node; an assignment's is that of its target. */
RefTensor *run_tensor(Run *run, NodeId id);
int64_t run_size(const Run *run, Size size);
int64_t run_elements(const Run *run, NodeId id);
/* false: it would be too much, and the result says so. */
bool run_reserve(Run *run, RefTensor *tensor, NodeId id);
void run_release(Run *run, RefTensor *tensor);

/* reference.c: a run of nothing yet; the operation and what it needs that is not `seen`, at the end of the order; all
 * of the order; guards of the routine's dims; all but the result is freed. Points and elements that operations visit,
 * in all steps of the loops that they are in. */
Run *run_new(const RefCall *call, const Routine *routine);
void run_add(Run *run, bool *seen, NodeId id);
int64_t run_steps(const Run *run, const NodeId *order, uint32_t n);
void run_compute(Run *run);
void run_check_guards(Run *run);
void run_end(Run *run);

/* ---- walk.c: the points of a projection ---- */

/* Where an operand is read, or the result written. */
typedef struct Position {
	const RefTensor *tensor;
	int64_t element, *steps; /* at this point, and elements of one step of each iterator */
	struct PositionGuard *guards;
	uint32_t nguards;
	struct PositionRead *reads; /* indices that are read */
	uint32_t nreads;
} Position;

typedef struct Walk {
	Run *run;
	NodeId id;
	const Node *node;
	const Proj *proj;
	const Piece *piece;
	int64_t *extents, *at; /* by IterId */
	Position result;
	Position *args; /* of those that are present */
	Arena *arena;
} Walk;

typedef void (*Visit)(Walk *walk, void *of);
/* Every point of every piece in order. Of the result's iterators alone: as if nothing were
 * reduced. */
void walk_points(Run *run, NodeId id, Visit visit, void *of);
void walk_elements(Run *run, NodeId id, Visit visit, void *of);
/* The points of the only piece, element by element, some reduced iterators innermost in the order given. */
void walk_in_order(Run *run, NodeId id, const uint32_t *last, uint32_t n, Visit visit, void *of);
/* One point of each line of what goes along an axis, at the beginning of the line. */
void walk_lines(Run *run, NodeId id, Visit visit, void *of);
/* The element; -1: a guarded index is outside. */
int64_t walk_position(const Walk *walk, const Position *position);
/* How many points there are: INT64_MAX where that is more. */
int64_t walk_count(const Run *run, NodeId id);

/* ---- leaf.c, operation.c ---- */

/* Fill all elements: of a node without operands, from what the run was given; of a stream, from its seed,
 * an operand that has been computed; of a parameter, from its initialiser. Requires: `out` is of the
 * node's shape. */
void leaf_fill(Run *run, NodeId id, RefTensor *out);
void stream_fill(Run *run, NodeId id, RefTensor *out);
void param_fill(Run *run, NodeId id, RefTensor *out);
/* The operation's result into elements of its own; false after a failed check. */
bool operation_fill(Run *run, NodeId id, RefTensor *out);
/* in_order.c: bit for bit, where the order of the operation's additions is known, and so are the bits
 * of what is added; false: nothing is done. */
bool operation_add_in_order(Run *run, NodeId id, RefTensor *out);
/* Are an operand's elements of a type that is computed in `dtype`, are their bits known, and is none
 * infinite or no number? */
bool operand_is_exact(const Run *run, NodeId arg, Dtype dtype);
/* along.c: of what goes along an axis. */
bool along_fill(Run *run, NodeId id, RefTensor *out);
/* The target takes the operation in: see docs/language.md, section 8. */
bool operation_assign(Run *run, NodeId id);

#endif
