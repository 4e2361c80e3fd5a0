/* Gradients by written rules (frontend/rule.c), and what is left when all gradients are made.
 *
 *   adjoint(x) += EX, made once more with adjoint(r) for what stands for it
 *   behind the last gradient there are no rules, and r is what the function gives
 *
 * Of the nodes between r and the rule those are made again that depend on what stands for the adjoint, loops as a whole;
 * the others are there.
 */
#include "tensor/adjoint_loops.h"
#include "tensor/adjoint_rules.h"
#include "tensor/passes.h"

/* ---- a rule's nodes again ---- */

static const Graph *old_graph(const Adjoint *a) { return a->g->program->graph; }

const bool *adjoint_ruled(const Graph *graph, Arena *arena)
{
	bool *ruled = ARENA_ARRAY(arena, bool, graph->nodes.n + 1);
	NodeId first = NODE_NONE; /* of the outermost rule that the node is in */
	for (NodeId id = (NodeId)graph->nodes.n; id-- > 0;) {
		const Node *node = graph_node(graph, id);
		if (node->kind == NODE_RULE && node->args[0] < first)
			first = node->args[0];
		ruled[id] = first != NODE_NONE;
		first = id == first ? NODE_NONE : first;
	}
	return ruled;
}

/* What stands for a node that the rule reads: a copy of it, or itself. */
static NodeId operand_of(const Adjoint *a, NodeId id)
{
	return a->copies[id] != NODE_NONE ? a->copies[id] : adjoint_now(a, id);
}

static bool reads_copy(const Adjoint *a, NodeId id)
{
	const Node *node = graph_node(old_graph(a), id);
	bool reads = false;
	for (uint32_t i = 0; i < node->nargs; i++)
		reads |= a->copies[node->args[i]] != NODE_NONE;
	return reads;
}

/* The loop right in the rule's that the node is in, or sets a tensor for; 0: none. */
static uint32_t inner_loop(const Adjoint *a, NodeId id)
{
	const Graph *graph = old_graph(a);
	const Node *node = graph_node(graph, id);
	const Carried *carried =
		graph_carried(graph, node->target == NODE_NONE ? id : node->target);
	uint32_t set = carried ? graph_set_in(graph, carried) : 0;
	uint32_t loop = graph_loop_in(graph, node->loop, set) ? node->loop : set;
	bool inside = loop != a->node->loop && graph_loop_in(graph, loop, a->node->loop);
	return inside ? adjoint_loop_right_in(graph, loop, a->node->loop) : 0;
}

static bool loop_reads_copy(const Adjoint *a, uint32_t loop)
{
	bool reads = false;
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++)
		reads |= inner_loop(a, id) == loop && reads_copy(a, id);
	return reads;
}

static void copy_nodes(const Adjoint *a, NodeId first)
{
	for (NodeId id = first; id < a->id; id++) {
		uint32_t inner = inner_loop(a, id);
		if (inner && id == a->ranges[inner].last && loop_reads_copy(a, inner))
			adjoint_copy_loop(a, inner, a->copies);
		else if (!inner && a->copies[id] == NODE_NONE && reads_copy(a, id))
			a->copies[id] = adjoint_copy_of(a, id, operand_of);
	}
}

/* ---- what the rule gives ---- */

/* The adjoints of results, which some may have none of; false: none has. */
static bool take_results(const Adjoint *a, uint32_t m)
{
	bool any = false;
	for (uint32_t i = 0; i < m; i++)
		any |= a->of[a->node->args[i]] != NODE_NONE;
	for (uint32_t i = 0; any && i < m; i++) {
		NodeId result = a->node->args[i], given = a->node->args[m + i];
		Dtype dtype = tensor_node(a->g->program, given)->dtype;
		a->of[result] = adjoint_or_zero(a, a->of[result], dtype);
		adjoint_spread(a, result);
		a->copies[given] = a->of[result];
	}
	return any;
}

/* In a loop there is another in each step, and a tensor that stands twice moves at both places. */
bool adjoint_rule_is_seen(const Graph *graph, const Node *rule)
{
	uint32_t m = graph_rule_results(graph, rule);
	bool seen = !rule->loop;
	for (uint32_t i = 2 * m; i < m + rule->nargs / 2; i++)
		for (uint32_t k = 2 * m; k < i; k++)
			seen &= rule->args[i] != rule->args[k];
	return seen;
}

/* For who compares what is given with differences. */
static void record(const Adjoint *a, uint32_t arg, uint32_t m, NodeId gradient)
{
	const Rebuild *g = a->g;
	GradientMade made = {.x = g->now[a->node->args[arg]],
			     .gradient = gradient,
			     .span = a->node->arg_spans[arg + a->node->nargs / 2 - m],
			     .gives = true};
	if (!adjoint_rule_is_seen(old_graph(a), a->node) || a->least)
		return;
	for (uint32_t i = 0; i < m; i++) {
		made.y = g->now[a->node->args[i]];
		made.c = a->of[a->node->args[i]];
		made.others = m - 1 - i;
		PUSH(g->program->arena, g->graph->gradients, made);
		made.span = SPAN_NONE;
	}
}

void adjoint_written(const Adjoint *a)
{
	uint32_t m = graph_rule_results(old_graph(a), a->node), n = a->node->nargs / 2 - m;
	adjoint_mark_operands(a, a->id);
	if (!take_results(a, m))
		return;
	copy_nodes(a, a->node->args[0]);
	for (uint32_t arg = 2 * m; arg < 2 * m + n; arg++) {
		NodeId gradient = operand_of(a, a->node->args[arg + n]);
		if (!adjoint_counts(a, arg))
			continue;
		adjoint_add(a, arg, gradient);
		record(a, arg, m, gradient);
	}
	for (NodeId id = a->node->args[0]; id < a->id; id++)
		a->copies[id] = NODE_NONE;
}

/* ---- when all gradients are made ---- */

bool adjoint_has_rules(const Graph *graph)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (graph_node(graph, id)->ruled)
			return true;
	return false;
}

/* The result has its name, if it has none. */
static void name_as(const Rebuild *g, NodeId id, const Node *result)
{
	Node *node = graph_node(g->graph, id);
	if (node->name || !result->name || node->kind == NODE_NUMBER)
		return;
	node->name = result->name;
	node->name_span = result->name_span;
}

/* A result stands where its body does, and not once more. */
static void order_once(Routine *routine)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < routine->norder; i++)
		if (n == 0 || routine->order[i] > routine->order[n - 1])
			routine->order[n++] = routine->order[i];
	routine->norder = n;
}

void adjoint_drop_rules(TensorProgram *program)
{
	Rebuild g = rebuild_start(program);
	const Graph *old = program->graph;
	for (NodeId id = 0; id < old->nodes.n; id++) {
		const Node *node = graph_node(old, id);
		bool result = node->ruled;
		Node same = rebuild_renumbered(&g, id);
		if (!result && node->kind != NODE_RULE) {
			rebuild_same(&g, id, &same, program->inference->projs[id]);
			continue;
		}
		g.now[id] = same.args[0];
		if (result)
			name_as(&g, same.args[0], node);
	}
	rebuild_gradients(&g, old);
	size_t nmade = 0;
	for (size_t i = 0; i < program->made.n; i++)
		if (!graph_node(old, program->made.at[i])->ruled)
			program->made.at[nmade++] = g.now[program->made.at[i]];
	program->made.n = nmade;
	rebuild_end(&g);
	for (size_t i = 0; i < g.graph->routines.n; i++)
		order_once(&g.graph->routines.at[i]);
	order_once(&g.graph->init);
}
