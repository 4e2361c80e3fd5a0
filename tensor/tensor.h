/* The typed tensor program: the graph with its shapes and projections, between inference and
 * lowering, and the passes that make another one from it.
 *
 *   program := graph: Graph, inference: Inference        shapes, projections and margins by node
 *
 * Invariant: inference->graph is the graph, args come before the nodes that read them, and every
 * projection that a pass has made is well formed, stays inside its axes and writes each element as
 * often as it says (tensor_verify). A pass makes new tables; it changes none that it was given.
 */
#ifndef TSR_TENSOR_TENSOR_H
#define TSR_TENSOR_TENSOR_H

#include "infer/infer.h"

/* A tensor that is not computed, since what reads it reads an equal one. */
typedef struct TensorEqual {
	Sym name, instead; /* instead: NULL: it has no name */
	Span span;	   /* of the other */
} TensorEqual;

/* What is computed again for a gradient rather than kept: elements of so many products at most, in rows of so many at
 * least. steps 0: nothing is. */
typedef struct TensorAgain {
	int64_t steps, row;
} TensorAgain;

typedef struct TensorProgram {
	const Graph *graph;
	const Inference *inference;
	Sizes *sizes;
	Arena *arena;	      /* what passes make lives as long as it */
	Arena *scratch;	      /* as long as a pass */
	bool changed;	      /* the last pass has changed something */
	const struct TensorProgram
		*merged;  /* what `common` made it of; NULL: the last pass is another */
	const struct TensorProgram *tagged; /* what `recompute` made it of, likewise */
	VEC(NodeId) made; /* by the last pass: nodes that it gave a projection, or other operands */
	VEC(TensorEqual) equals;
	TensorAgain again;
} TensorProgram;

/* The program as inference has left it, of which nothing is computed again; it belongs to `arena`. */
TensorProgram *tensor_program(const Inference *inference, Arena *arena);

/* A pass: each says at its file's head what it makes of what. */
typedef struct TensorPass {
	const char *name; /* of its stage, which says what it makes (driver/pipeline.c) */
	bool (*run)(TensorProgram *program); /* false: it has changed nothing */
} TensorPass;

/* In the order in which they run. */
enum {
	TENSOR_BOUNDS,
	TENSOR_RECOMPUTE,
	TENSOR_ADJOINT,
	TENSOR_SORTED,
	TENSOR_REASSOCIATE,
	TENSOR_TWO_STAGE,
	TENSOR_MATERIALIZE,
	TENSOR_SHIFTS,
	TENSOR_GATHER,
	TENSOR_PERMUTE,
	TENSOR_COMMON,
	TENSOR_PASSES
};
extern const TensorPass tensor_passes[TENSOR_PASSES];

/* What pass number `pass` makes of a program, which stays as it is. */
const TensorProgram *tensor_run(const TensorProgram *program, int pass);
/* All of them, verified. */
const TensorProgram *tensor_run_all(const Inference *inference, Arena *arena);
/* Checkers that share no code with the passes, of index maps over the nodes that the last pass made, and
 * of what `common` calls equal: a violation is a BUG. */
void tensor_verify(const TensorProgram *program);
/* Why a tensor that is read in the place of another may not be equal to it, or a program differs otherwise from the one
 * that `common` made it of; NULL: each is shown to be equal (verify_equal.c). */
const char *equal_tensors_refused(const TensorProgram *before, const TensorProgram *after);
/* Why what `recompute` says to compute again may not be, or a program differs otherwise from the one that it made it of;
 * NULL: it may (verify_recompute.c). */
const char *recompute_refused(const TensorProgram *before, const TensorProgram *after);
/* What is computed again and why, or `(unchanged)`. Requires: the last pass is `recompute`. */
void recompute_dump(FILE *out, const TensorProgram *program);
/* The index maps of all operations, or `(unchanged)`. */
void tensor_dump(FILE *out, const TensorProgram *program);

static inline const Node *tensor_node(const TensorProgram *program, NodeId id)
{
	return &program->graph->nodes.at[id];
}
static inline const Shape *tensor_shape(const TensorProgram *program, NodeId id)
{
	return &program->inference->shapes[id];
}
static inline const Proj *tensor_proj(const TensorProgram *program, NodeId id)
{
	return program->inference->projs[id];
}

/* About how much a size is, where work is counted: a dim that is not known counts as SUM_ASSUMED. */
double tensor_guess(const TensorProgram *program, Size size);
/* About how many instructions an element of the node's own operation takes. */
uint32_t node_cost(const Node *node);
/* What the node's elements are added up with; the sum, where it reduces nothing. */
Op node_reduce_op(const Node *node);
/* Is it a copy of an operand, as materialize.c makes them? */
bool node_is_copy(const Node *node);

/* ---- facts about projections (proj.c) ---- */

/* One piece, every result axis is one iterator of its own or index 0, and every iterator of the
 * result is there: the result's index gives the iterators. */
bool proj_is_plain(const Proj *proj);
/* The same, or pieces that go over all elements in steps, each over elements of its own (gather_windows.c)? */
bool proj_computes_elements(const Proj *proj);
/* Is an iterator reduced? */
bool proj_reduces(const Proj *proj);
/* Has an axis bounds that an index may leave: of any tensor, of the result? */
bool proj_is_guarded(const Proj *proj);
/* May one of its indices be outside? One that is not there has none. */
bool access_is_guarded(const Access *access);
bool proj_writes_guarded(const Proj *proj);
bool proj_same_access(const Access *a, const Access *b);
/* Does operand `arg` have the result's own index? Requires: arg is an operand of the node. */
bool proj_is_identity(const Piece *piece, uint32_t arg);
/* How often operand `arg`, of that shape, is evaluated: the iterations of the pieces that it is in, but for those outside of
 * it, as far as these are counted. Requires: arg is an operand of the node. */
Size proj_arg_space(Sizes *sizes, const Proj *proj, uint32_t arg, const Shape *shape);

#endif
