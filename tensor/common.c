/* Equal tensors are one: what is written twice is computed once, as if it had a name.
 *
 * Of equal tensors (equal.h) the first stands for all. What reads the others reads the first instead, where
 * that saves a sum or a function (WORTH); what is cheap stays where it is, to be computed inside its users.
 * What follows a sum element by element goes with it, so that it still ends that sum's kernel.
 *
 * Invariant: a node and the one that stands for it have the same bits whenever both are computed.
 * A tensor of margins of its own stays: its readers are padded.
 */
#include <string.h>

#include "tensor/equal.h"
#include "tensor/passes.h"

enum { WORTH = 16 };

typedef struct Common {
	TensorProgram *program;
	const NodeId *same; /* by NodeId: the first that is equal */
	uint32_t *cost;	    /* of its elements, from tensors that are computed anyway */
} Common;

/* ---- what is worth it ---- */

static bool is_as_large(const Common *common, NodeId a, NodeId b)
{
	return size_same(shape_elements(common->program->sizes, tensor_shape(common->program, a)),
			 shape_elements(common->program->sizes, tensor_shape(common->program, b)));
}

/* Of a node that others could read instead of computing it again. */
static uint32_t cost_of(const Common *common, NodeId id)
{
	const Node *node = tensor_node(common->program, id);
	const Proj *proj = tensor_proj(common->program, id);
	if (!proj)
		return 0;
	bool stored = proj_reduces(proj) || node_is_copy(node);
	uint32_t cost = stored ? WORTH : node_cost(node);
	for (uint32_t i = 0; i < node->nargs && cost < WORTH; i++) {
		const Proj *arg = tensor_proj(common->program, node->args[i]);
		if (node_is_copy(tensor_node(common->program, node->args[i])))
			continue; /* its readers stay where they are */
		if (arg && (!proj_reduces(arg) || is_as_large(common, node->args[i], id)))
			cost += common->cost[node->args[i]];
	}
	return cost;
}

/* ---- the graph ---- */

static bool is_read_instead(const Common *common, NodeId id)
{
	return common->same[id] != id && common->cost[id] >= WORTH;
}

static NodeId *read_instead(const Common *common, const NodeId *nodes, uint32_t n)
{
	NodeId *read = ARENA_ARRAY(common->program->arena, NodeId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		read[i] = is_read_instead(common, nodes[i]) ? common->same[nodes[i]] : nodes[i];
	return read;
}

static bool reads_other(const Node *before, const Node *after)
{
	return memcmp(before->args, after->args, before->nargs * sizeof *before->args) != 0;
}

static void rewire(const Common *common)
{
	TensorProgram *program = common->program;
	Graph *graph = ARENA_NEW(program->arena, Graph);
	*graph = *program->graph;
	graph->nodes.at = ARENA_ARRAY(program->arena, Node, graph->nodes.n + 1);
	graph->routines.at = ARENA_ARRAY(program->arena, Routine, graph->routines.n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		Node *node = &graph->nodes.at[id];
		*node = program->graph->nodes.at[id];
		node->args = read_instead(common, node->args, node->nargs);
		if (tensor_proj(program, id) && reads_other(&program->graph->nodes.at[id], node))
			PUSH(program->arena, program->made, id);
	}
	for (size_t i = 0; i < graph->routines.n; i++) {
		Routine *routine = &graph->routines.at[i];
		*routine = program->graph->routines.at[i];
		routine->outputs = read_instead(common, routine->outputs, routine->noutputs);
	}
	Inference *inference = ARENA_NEW(program->arena, Inference);
	*inference = *program->inference;
	inference->graph = program->graph = graph;
	program->inference = inference;
}

/* For messages: a schedule may name what is not computed. */
static void describe(const Common *common, NodeId id)
{
	TensorProgram *program = common->program;
	const Node *node = tensor_node(program, id), *to = tensor_node(program, common->same[id]);
	if (!node->name)
		return;
	PUSH(program->arena, program->equals, ((TensorEqual){node->name, to->name, to->span}));
}

bool common_tensors(TensorProgram *program)
{
	size_t n = program->graph->nodes.n;
	bool any = false;
	Common common = {.program = program,
			 .same = equal_tensors(program, false),
			 .cost = ARENA_ARRAY(program->scratch, uint32_t, n + 1)};
	for (NodeId id = 0; id < n; id++) {
		common.cost[id] = cost_of(&common, id);
		if (!is_read_instead(&common, id))
			continue;
		describe(&common, id);
		any = true;
	}
	if (any)
		rewire(&common);
	return any;
}
