/* The checker of the tensor graph: the invariants that graph.h states, and those that infer and
 * lower rely on. A failure is a compiler bug, never the user's error.
 */
#include "frontend/build.h"
#include "frontend/specs.h"

#define CHECK(id, cond)                                            \
	((cond) ? (void)0                                          \
		: BUG("graph: node %%%u (%s): %s", (unsigned)(id), \
		      node_kind_name(graph_node(graph, id)), #cond))

static void check_operands(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	CHECK(id, node->nargs == 0 || (node->args && node->arg_spans));
	for (uint32_t i = 0; i < node->nargs; i++)
		CHECK(id, node->args[i] < id);
}

static void check_count(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	switch (node->kind) {
	case NODE_POINTWISE: CHECK(id, (int)node->nargs == op_arity(node->op)); break;
	case NODE_CAST:
	case NODE_TRANSPOSE:
	case NODE_ARGMAX:
	case NODE_CUMULATE:
	case NODE_SORT:
	case NODE_UNIFORMS:
	case NODE_RANDOM:
	case NODE_JOINED:
	case NODE_RESHAPE: CHECK(id, node->nargs == 1); break;
	case NODE_COMPOSE: CHECK(id, node->nargs == 2); break;
	case NODE_GATHER:
	case NODE_SCATTER: CHECK(id, node->nargs >= 2); break;
	case NODE_SLICE: CHECK(id, node->nargs == 1 || node->nargs == 2); break;
	case NODE_GRADIENT: CHECK(id, node->nargs == 2 || node->nargs == 3); break;
	case NODE_TANGENT: CHECK(id, node->nargs == 3); break;
	case NODE_RULE:
		CHECK(id, node->nargs >= 4 && node->nargs % 2 == 0);
		CHECK(id, graph_node(graph, node->args[0])->ruled);
		break;
	case NODE_SPEC: CHECK(id, node->nargs >= 1 && node->nargs <= OPERANDS_MOST); break;
	case NODE_BLOCK:
	case NODE_STACK: CHECK(id, node->nargs >= 1); break;
	default: CHECK(id, node->nargs == 0); break;
	}
}

static void check_contents(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	bool has_spec = node->kind == NODE_SPEC || node->kind == NODE_BLOCK ||
			node->kind == NODE_ARGMAX || node->kind == NODE_CUMULATE ||
			node->kind == NODE_SORT || node->kind == NODE_JOINED;
	bool may_have = node->kind == NODE_GATHER || node->kind == NODE_SCATTER;
	has_spec = has_spec || (may_have && node->spec);
	CHECK(id, (node->spec != NULL) == has_spec);
	CHECK(id, node->kind != NODE_ARGMAX || node->reduce == OP_MAX || node->reduce == OP_MIN);
	CHECK(id, node->kind != NODE_SCATTER || (has_spec && node->reduce != OP_NONE));
	CHECK(id, (node->along.letter != NULL) ==
			  (node->kind == NODE_CUMULATE || node->kind == NODE_SORT));
	CHECK(id, !has_spec || node->spec->noperands == node->nargs);
	CHECK(id, node->kind != NODE_SPEC || node->nargs > 1 || node->op == OP_ID);
	CHECK(id, node->kind != NODE_INPUT || (node->shape && node->name));
	CHECK(id, node->kind != NODE_PARAM || (node->shape && node->name));
	CHECK(id, node->kind != NODE_RANDOM || node->place);
	CHECK(id, node->like == NODE_NONE ||
			  (node->like < id && graph_node(graph, node->like)->kind == NODE_PARAM));
	CHECK(id, node->kind != NODE_PARAM || node->init != INIT_EXPRESSION ||
			  graph_node(graph, node->initial)->target == id);
	CHECK(id, node->kind != NODE_CONST || (node->shape && node->data && node->data->bytes));
	CHECK(id,
	      node->kind == NODE_SLICE || (node->kind == NODE_SIZE || node->kind == NODE_RANGE) ==
						  (node->size_expr != NULL));
}

/* Operands of one dtype, widened where the operation computes; a result of the dtype that it
 * gives. */
static void check_dtypes(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	CHECK(id, node->dtype < DTYPE_COUNT);
	bool moved = node->kind == NODE_BLOCK || node->kind == NODE_STACK || node->permutes ||
		     (node->kind == NODE_POINTWISE && node->op == OP_ID);
	bool moves = node->kind == NODE_SPEC && node->nargs == 1 && spec_only_moves(node->spec);
	bool computed = node->kind == NODE_POINTWISE || node->kind == NODE_SPEC ||
			node->kind == NODE_COMPOSE;
	for (uint32_t i = 0; i < node->nargs; i++) {
		Dtype dtype = graph_node(graph, node->args[i])->dtype;
		Dtype first = graph_node(graph, node->args[0])->dtype;
		CHECK(id, !moved || dtype == node->dtype);
		CHECK(id, !computed || dtype_wide(dtype) == dtype_wide(first));
		CHECK(id, !computed || moved || node->dtype == dtype_wide(node->dtype) ||
				  (moves && dtype == node->dtype));
	}
	for (uint32_t i = 1; node_kind_indexes(node->kind) && i < node->nargs; i++)
		CHECK(id, dtype_is_integer(graph_node(graph, node->args[i])->dtype));
	if (node->target == NODE_NONE)
		return;
	Dtype target = graph_node(graph, node->target)->dtype;
	CHECK(id, node->dtype == target || dtype_join(node->dtype, target) == dtype_wide(target));
}

static void check_use(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	for (uint32_t i = 0; node->used && i < node->nargs; i++)
		CHECK(id, graph_node(graph, node->args[i])->used);
	if (node->target != NODE_NONE) {
		CHECK(id, node->target < id);
		CHECK(id, !node->used || graph_node(graph, node->target)->used);
	}
}

static void check_routine(const Graph *graph, const Routine *routine)
{
	for (uint32_t i = 0; i < routine->norder; i++) {
		NodeId id = routine->order[i];
		CHECK(id, i == 0 || routine->order[i - 1] < id);
		CHECK(id, graph_node(graph, id)->used);
	}
	for (uint32_t i = 0; i < routine->ninputs; i++)
		CHECK(routine->inputs[i],
		      graph_node(graph, routine->inputs[i])->kind == NODE_INPUT);
	for (uint32_t i = 0; i < routine->nparams; i++)
		CHECK(routine->params[i],
		      graph_node(graph, routine->params[i])->kind == NODE_PARAM);
}

void graph_verify(const Graph *graph)
{
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		check_operands(graph, id);
		check_count(graph, id);
		check_contents(graph, id);
		check_dtypes(graph, id);
		check_use(graph, id);
	}
	for (size_t i = 0; i < graph->binds.n; i++) {
		const Bind *bind = &graph->binds.at[i];
		REQUIRE(bind->node < graph->nodes.n && graph_node(graph, bind->node)->spec);
		REQUIRE((bind->size != NULL) != (bind->capture != CAPTURE_NONE));
	}
	for (size_t i = 0; i < graph->routines.n; i++)
		check_routine(graph, &graph->routines.at[i]);
	check_routine(graph, &graph->init);
}
