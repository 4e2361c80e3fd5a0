/* What each kind of operation gives to its operands. */
#include "infer/project.h"
#include "tensor/adjoint_rules.h"

bool adjoint_counts(const Adjoint *a, uint32_t arg)
{
	return a->path[a->node->args[arg]] &&
	       node_passes_gradient(a->g->program->graph, a->id, arg);
}

/* ---- all kinds ---- */

/* What was read at places is added up there. */
static void give_gathered_from(const Adjoint *a)
{
	Read places[OPERANDS_MOST];
	for (uint32_t i = 1; i < a->node->nargs; i++)
		places[i - 1] = adjoint_operand(a, i);
	adjoint_scattered(a, &a->proj->pieces[0].args[0], places, a->node->nargs - 1,
			  a->node->mode);
}

/* The same elements in storage order. */
static void give_reshaped(const Adjoint *a)
{
	NodeId given = a->of[a->id];
	Node node = adjoint_plain(a, NODE_RESHAPE, OP_NONE, adjoint_dtype(a, given));
	Proj *proj = ARENA_NEW(a->g->program->arena, Proj);
	*proj = (Proj){
		.nargs = 1, .linear = true, .injective = true, .surjective = true, .width = 1};
	adjoint_add(a, 0,
		    adjoint_add_node(a, node, tensor_shape(a->g->program, a->node->args[0]), proj,
				     &given, 1));
}

static void give_exchanged(const Adjoint *a, bool others)
{
	for (uint32_t arg = 0; arg < a->node->nargs; arg++)
		if (adjoint_counts(a, arg))
			adjoint_exchange(a, arg, others);
}

static bool is_fold(const Node *node)
{
	bool adds = node->reduce == OP_ADD || node->reduce == OP_NONE;
	return !adds || (node->kind == NODE_SPEC && node->nargs > 1 && node->op != OP_MUL);
}

/* Does it treat one number for all elements as what it is? */
static bool takes_uniform(NodeKind kind)
{
	return kind == NODE_POINTWISE || kind == NODE_CAST || kind == NODE_COMPOSE ||
	       kind == NODE_SPEC || kind == NODE_TRANSPOSE || kind == NODE_BLOCK ||
	       kind == NODE_STACK;
}

bool adjoint_mark(const Adjoint *a, NodeId id)
{
	bool changed = !a->chosen[id];
	a->chosen[id] = true;
	return changed;
}

bool adjoint_mark_operands(const Adjoint *a, NodeId id)
{
	const Graph *graph = a->g->program->graph;
	const Node *node = graph_node(graph, id);
	bool rule = node->kind == NODE_RULE, changed = false;
	bool where =
		(node->kind == NODE_POINTWISE || node->kind == NODE_SPEC) && node->op == OP_WHERE;
	bool chosen = a->chosen[id] || where;
	uint32_t results = rule ? graph_rule_results(graph, node) : 0,
		 end = rule ? results + node->nargs / 2 : node->nargs;
	for (uint32_t i = 0; i < results; i++)
		chosen |= a->chosen[node->args[i]];
	for (uint32_t i = 2 * results; i < end && chosen && !a->forward; i++)
		changed |= adjoint_mark(a, node->args[i]);
	return changed;
}

/* Has it one operand besides places, which it moves or adds up elements of? */
static bool moves_elements(const Node *node)
{
	switch (node->kind) {
	case NODE_GATHER:
	case NODE_RESHAPE:
	case NODE_JOINED: return true;
	case NODE_SCATTER:
	case NODE_CUMULATE: return node->reduce == OP_ADD;
	case NODE_SLICE: return node->nargs > 1;
	default: return false;
	}
}

void adjoint_rule(const Adjoint *a)
{
	adjoint_mark_operands(a, a->id);
	if (!a->forward && (!takes_uniform(a->node->kind) || proj_writes_guarded(a->proj)))
		adjoint_spread(a, a->id);
	if (a->forward && moves_elements(a->node)) {
		adjoint_again(a);
		return;
	}
	switch (a->node->kind) {
	case NODE_POINTWISE: adjoint_of_elementwise(a); break;
	case NODE_CAST: adjoint_give(a, 0, adjoint_given(a, 0)); break;
	case NODE_COMPOSE: give_exchanged(a, true); break;
	case NODE_SPEC:
	case NODE_BLOCK:
		if (is_fold(a->node))
			adjoint_of_fold(a);
		else
			give_exchanged(a, a->node->kind == NODE_SPEC);
		break;
	case NODE_TRANSPOSE:
	case NODE_STACK: give_exchanged(a, false); break;
	case NODE_SLICE:
		if (a->node->nargs > 1)
			give_gathered_from(a);
		else
			give_exchanged(a, false);
		break;
	case NODE_GATHER: give_gathered_from(a); break;
	case NODE_SCATTER: adjoint_of_fold(a); break;
	case NODE_CUMULATE: adjoint_of_cumulated(a); break;
	case NODE_SORT: adjoint_of_sorted(a); break;
	case NODE_RESHAPE:
	case NODE_JOINED: give_reshaped(a); break;
	default: BUG("a gradient through %s", node_kind_name(a->node));
	}
}
