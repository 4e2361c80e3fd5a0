/* Passes that make several nodes of one, each by a rewrite of its own: sorted elements, products of
 * several operands, reductions, and elementwise operations over a short last axis.
 *
 * Nodes are inserted, so all get new numbers (tensor/rebuild.h).
 */
#include "tensor/split.h"
#include "tensor/accesses.h"
#include "tensor/passes.h"

#include <string.h>

Proj *split_proj(const TensorProgram *program, const Proj *old, const Access *result,
		 const Access *const *args, uint32_t nargs)
{
	PieceAccesses piece = {result, args};
	return accesses_proj(program->arena, old, &piece, 1, nargs);
}

/* ---- nodes ---- */

static Node with_args(const Rebuild *g, const Node *of, const NodeId *args, uint32_t nargs)
{
	Node node = *of;
	node.args = ARENA_ARRAY(g->program->arena, NodeId, nargs);
	memcpy(node.args, args, nargs * sizeof *args);
	node.nargs = nargs;
	node.arg_spans = NULL;
	node.spec = NULL;
	return node;
}

NodeId split_first(Rebuild *g, const Node *node, const char *prefix, const NodeId *args,
		   uint32_t nargs, Shape shape, Proj *proj)
{
	Node first = with_args(g, node, args, nargs);
	first.name =
		sym_printf(g->graph->symbols, "%s_%s", prefix, node->name ? node->name : "sum");
	first.target = first.packs = NODE_NONE;
	first.acc = OP_NONE;
	first.clear = false;
	return rebuild_make(g, first, shape, proj);
}

void split_last(Rebuild *g, NodeId id, const Node *node, const NodeId *args, uint32_t nargs,
		Proj *proj)
{
	Node last = with_args(g, node, args, nargs);
	rebuild_same(g, id, &last, proj);
	PUSH(g->program->arena, g->program->made, g->now[id]);
}

static bool materialize_add(Rebuild *g, NodeId id, Node *node)
{
	Proj *proj = materialize_args(g, id, node);
	if (proj == tensor_proj(g->program, id))
		return false;
	rebuild_same(g, id, node, proj);
	PUSH(g->program->arena, g->program->made, g->now[id]);
	return true;
}

/* Makes of a node, whose own references are new numbers, several; false: it stays one. */
typedef struct SplitRewrite {
	bool (*may)(const Node *node); /* is it one of those that are looked at? */
	bool (*add)(Rebuild *g, NodeId id, Node *node);
} SplitRewrite;

static void add_old(Rebuild *g, const SplitRewrite *rewrite, NodeId id)
{
	Node node = rebuild_renumbered(g, id);
	if (g->initial[id] || !rewrite->may(&node) || !rewrite->add(g, id, &node))
		rebuild_same(g, id, &node, g->program->inference->projs[id]);
}

/* ---- all of them ---- */

/* Is there a node that it may be for? */
static bool may_split(const Graph *graph, const SplitRewrite *rewrite)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (rewrite->may(&graph->nodes.at[id]))
			return true;
	return false;
}

static bool split_nodes(TensorProgram *program, const SplitRewrite *rewrite)
{
	const Graph *old = program->graph;
	if (!may_split(old, rewrite))
		return false;
	Rebuild g = rebuild_start(program);
	for (NodeId id = 0; id < old->nodes.n; id++)
		add_old(&g, rewrite, id);
	if (program->made.n == 0)
		return false;
	rebuild_end(&g);
	return true;
}

/* ---- the passes ---- */

static bool is_sort_node(const Node *node) { return node->kind == NODE_SORT; }
static bool is_product_of_several(const Node *node)
{
	return node->kind == NODE_SPEC && node->nargs >= 3;
}
static bool is_of_one(const Node *node) { return node->kind == NODE_SPEC && node->nargs == 1; }
static bool is_elementwise(const Node *node) { return node->kind == NODE_POINTWISE; }

static bool product_add(Rebuild *g, NodeId id, Node *node)
{
	return reassociate_add(g, id, node) || many_add(g, id, node);
}

bool sorted_elements(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_sort_node, sorted_add});
}

bool reassociate_products(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_product_of_several, product_add});
}

bool two_stage_reductions(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_of_one, two_stage_add});
}

bool materialize_operands(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_elementwise, materialize_add});
}
