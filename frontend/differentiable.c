/* Which operands count in a gradient, and which operations have none yet. */
#include "frontend/differentiable.h"

static bool is_float(const Graph *graph, NodeId id)
{
	return dtype_is_float(graph_node(graph, id)->dtype);
}

/* Is the function constant between steps in this argument? */
static bool is_step_function(Op op, uint32_t arg)
{
	switch (op) {
	case OP_SIGN:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: return true;
	case OP_RELU_GATE:
	case OP_SAT01_GATE:
	case OP_WHERE: return arg == 0;
	case OP_COPYSIGN: return arg == 1;
	default: return op_gives_truth(op);
	}
}

bool node_passes_gradient(const Graph *graph, NodeId id, uint32_t arg)
{
	const Node *node = graph_node(graph, id);
	if (node->stops || !is_float(graph, id) || !is_float(graph, node->args[arg]))
		return false;
	switch (node->kind) {
	case NODE_POINTWISE:
	case NODE_SPEC: return !is_step_function(node->op, arg);
	case NODE_GRADIENT:
	case NODE_TANGENT: return arg != 1; /* it depends on x as operand 0 does */
	case NODE_ARGMAX:
	case NODE_UNIFORMS:
	case NODE_RANDOM: return false;
	default: return !node_kind_indexes(node->kind) || arg == 0;
	}
}

const char *node_lacks_gradient(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	switch (node->kind) {
	case NODE_ZEROS:
		return node->carried ? "steps of scan" : "a tensor that steps of a routine write";
	default: return NULL;
	}
}

void gradient_paths(const Graph *graph, Arena *arena, NodeId y, const NodeId *to, size_t nto,
		    bool **reached, bool **path)
{
	*reached = ARENA_ARRAY(arena, bool, y + 1);
	*path = ARENA_ARRAY(arena, bool, y + 1);
	(*reached)[y] = true;
	for (NodeId id = y + 1; id-- > 0;) {
		const Node *node = graph_node(graph, id);
		for (uint32_t arg = 0; (*reached)[id] && arg < node->nargs; arg++)
			(*reached)[node->args[arg]] |= node_passes_gradient(graph, id, arg);
	}
	for (size_t i = 0; i < nto; i++)
		if (to[i] <= y)
			(*path)[to[i]] = (*reached)[to[i]];
	for (NodeId id = 0; id <= y; id++) {
		const Node *node = graph_node(graph, id);
		for (uint32_t arg = 0; (*reached)[id] && arg < node->nargs; arg++)
			(*path)[id] |=
				(*path)[node->args[arg]] && node_passes_gradient(graph, id, arg);
	}
}
