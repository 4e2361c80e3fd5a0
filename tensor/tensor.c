/* The passes over the tensor program, and what they share. */
#include "base/size_eval.h"
#include "infer/dump.h"
#include "sums/sums.h"
#include "tensor/passes.h"

#include <string.h>

const TensorPass tensor_passes[TENSOR_PASSES] = {
	[TENSOR_BOUNDS] = {"bounds", unchecked_indices},
	[TENSOR_RECOMPUTE] = {"recompute", recompute_tables},
	[TENSOR_ADJOINT] = {"adjoint", adjoint_gradients},
	[TENSOR_SORTED] = {"sorted", sorted_elements},
	[TENSOR_REASSOCIATE] = {"reassociate", reassociate_products},
	[TENSOR_TWO_STAGE] = {"two_stage", two_stage_reductions},
	[TENSOR_MATERIALIZE] = {"materialize", materialize_operands},
	[TENSOR_SHIFTS] = {"shifts", read_shifts},
	[TENSOR_GATHER] = {"gather", gather_windows},
	[TENSOR_PERMUTE] = {"permute", permute_concatenations},
	[TENSOR_COMMON] = {"common", common_tensors},
};

TensorProgram *tensor_program(const Inference *inference, Arena *arena)
{
	TensorProgram *program = ARENA_NEW(arena, TensorProgram);
	*program = (TensorProgram){.graph = inference->graph,
				   .inference = inference,
				   .sizes = inference->sizes,
				   .arena = arena};
	return program;
}

const TensorProgram *tensor_run(const TensorProgram *program, int pass)
{
	TensorProgram *next = ARENA_NEW(program->arena, TensorProgram);
	*next = *program;
	next->scratch = arena_new();
	memset(&next->made, 0, sizeof next->made);
	next->merged = pass == TENSOR_COMMON ? program : NULL;
	next->tagged = pass == TENSOR_RECOMPUTE ? program : NULL;
	next->changed = tensor_passes[pass].run(next);
	arena_free(next->scratch);
	next->scratch = NULL;
	return next;
}

const TensorProgram *tensor_run_all(const Inference *inference, Arena *arena)
{
	const TensorProgram *program = tensor_program(inference, arena);
	for (int pass = 0; pass < TENSOR_PASSES; pass++) {
		program = tensor_run(program, pass);
		tensor_verify(program);
	}
	return program;
}

void tensor_verify(const TensorProgram *program)
{
	const char *why = program->merged ? equal_tensors_refused(program->merged, program) : NULL;
	if (why)
		BUG("tensors that are said to be equal: %s", why);
	why = program->tagged ? recompute_refused(program->tagged, program) : NULL;
	if (why)
		BUG("what is computed again: %s", why);
	infer_verify_projections(program->inference, program->made.at, program->made.n);
}

void tensor_dump(FILE *out, const TensorProgram *program)
{
	if (program->changed)
		infer_dump_proj(out, program->inference);
	else
		fputs("(unchanged)\n", out);
}

void tensor_own_tables(TensorProgram *program, Graph **graph, Inference **inference)
{
	Arena *arena = program->arena;
	size_t n = program->graph->nodes.n;
	*graph = ARENA_NEW(arena, Graph);
	**graph = *program->graph;
	(*graph)->nodes.at = ARENA_ARRAY(arena, Node, n + 1);
	memcpy((*graph)->nodes.at, program->graph->nodes.at, n * sizeof(Node));
	(*graph)->nodes.cap = n;
	*inference = ARENA_NEW(arena, Inference);
	**inference = *program->inference;
	(*inference)->graph = *graph;
	(*inference)->projs = ARENA_ARRAY(arena, Proj *, n + 1);
	memcpy((*inference)->projs, program->inference->projs, n * sizeof(Proj *));
	program->graph = *graph;
	program->inference = *inference;
}

double tensor_guess(const TensorProgram *program, Size size)
{
	uint32_t n = sizes_ndims(program->sizes);
	int64_t *dims = ARENA_ARRAY(program->scratch, int64_t, n + 1), value;
	for (DimId d = 0; d < n; d++) {
		int64_t least = sizes_dim(program->sizes, d)->at_least;
		dims[d] = least > SUM_ASSUMED ? least : SUM_ASSUMED;
	}
	return size_eval(program->sizes, size, dims, &value) && value >= 0 ? (double)value
									 : SUM_ASSUMED;
}

uint32_t node_cost(const Node *node)
{
	bool computes = node->kind == NODE_POINTWISE || node->kind == NODE_SPEC;
	return computes ? op_cost(node->op) : node->kind == NODE_COMPOSE;
}

bool node_is_copy(const Node *node)
{
	return node->kind == NODE_SPEC && node->op == OP_ID && node->reduce == OP_NONE;
}

Op node_reduce_op(const Node *node)
{
	bool reduces = node->kind == NODE_SPEC || node->kind == NODE_BLOCK ||
		       node->kind == NODE_SCATTER;
	return reduces && node->reduce != OP_NONE ? node->reduce : OP_ADD;
}
