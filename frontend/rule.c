/* Written rules of gradients: fn f(x, y) = E adjoint (c) = (EX, EY).
 *
 *   r = E's value	which no gradient goes through
 *   c		of r's shape: it stands for the gradient with respect to r
 *   RULE		r..., c..., x..., EX...: each EX has the shape of its x
 *
 * Who takes gradients goes from r to the x of its RULE, with EX made once more for the gradient that there is in place of c
 * (tensor/adjoint_written.c); where none is taken, RULE is no result's operand. Only floats count: what else is given to
 * the function has no gradient, and what the rule says of it is not used.
 */
#include "frontend/carried.h"
#include "frontend/rule.h"

#include "frontend/differentiable.h"
#include "frontend/nodes.h"

/* ---- the declaration ---- */

void rule_declare(Build *b, const AstStmt *fn, Scope *names)
{
	for (uint32_t i = 0; i < fn->rule->nnames; i++)
		scope_declare(b, names, fn->rule->names[i], value_error());
	if (fn->nparams == 0)
		diag(b->diags, E0269, fn->rule->span,
		     "a rule says the gradients of tensors, and '%s' takes none", fn->name.sym);
}

/* ---- an application ---- */

static bool counts(const Build *b, const Value *value)
{
	return value->kind == VALUE_TENSOR && dtype_is_float(node_dtype(b, value->node));
}

/* No gradient goes through it. */
static NodeId copy_of(Build *b, NodeId id, Span span)
{
	NodeId copy = node_pointwise(b, OP_ID, &id, &span, 1, span, span);
	graph_node(b->graph, copy)->stops = true;
	return copy;
}

/* What stands for the gradient with respect to a result. */
static NodeId given_for(Build *b, NodeId result, Span span)
{
	return node_cast(b, copy_of(b, result, span), dtype_wide(node_dtype(b, result)), span);
}

static bool check_results(Build *b, const Applied *applied)
{
	const AstRule *rule = applied->fn->rule;
	const Value *value = &applied->value;
	bool tuple = value->kind == VALUE_TUPLE;
	uint32_t n = tuple ? value->nitems : 1;
	if (n != rule->nnames) {
		diag(b->diags, E0269, rule->names[0].span,
		     "the rule names %u gradient%s, and '%s' gives %u result%s", rule->nnames,
		     rule->nnames == 1 ? "" : "s", applied->fn->name.sym, n, n == 1 ? "" : "s");
		diag_note(b->diags, applied->fn->expr->span, "what it gives");
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		const Value *item = tuple ? &value->items[i] : value;
		if (item->kind == VALUE_TENSOR || item->kind == VALUE_NUMBER ||
		    item->kind == VALUE_SIZE)
			continue;
		diag(b->diags, E0269, rule->names[i].span,
		     "a gradient is of a tensor, and '%s' gives %s here", applied->fn->name.sym,
		     value_describe(item));
		return false;
	}
	return true;
}

static bool check_operands(Build *b, const Applied *applied)
{
	for (uint32_t i = 0; i < applied->fn->nparams; i++) {
		if (applied->operands[i].kind != VALUE_TUPLE)
			continue;
		diag(b->diags, E0269, applied->operands[i].span,
		     "a function with a rule takes tensors one by one, and this is a tuple");
		diag_note(b->diags, applied->fn->rule->span, "the rule");
		return false;
	}
	return true;
}

/* The results behind the rule, and, in the scope at hand, the gradients with respect to them. */
static Value name_results(Build *b, Ruled *ruled)
{
	const AstRule *rule = ruled->applied->fn->rule;
	Value value = ruled->applied->value;
	bool tuple = value.kind == VALUE_TUPLE;
	Value *items = ARENA_ARRAY(b->arena, Value, rule->nnames + 1);
	for (uint32_t i = 0; i < rule->nnames; i++) {
		items[i] = tuple ? value.items[i] : value;
		if (!counts(b, &items[i]))
			continue;
		items[i].node = copy_of(b, items[i].node, items[i].span);
		graph_node(b->graph, items[i].node)->ruled = true;
		PUSH(b->arena, ruled->results, items[i].node);
	}
	for (uint32_t i = 0; i < rule->nnames; i++) {
		Value c = value_integer(0, rule->names[i].span);
		if (counts(b, &items[i])) {
			c = value_node(given_for(b, items[i].node, rule->names[i].span),
				       rule->names[i].span);
			PUSH(b->arena, ruled->given, c.node);
		}
		scope_declare(b, b->at.scope, rule->names[i], c);
	}
	if (!tuple)
		return items[0];
	value.items = items;
	return value;
}

static bool take_gradient(Build *b, Ruled *ruled, const Value *operand, Value gradient)
{
	if (!counts(b, operand))
		return true;
	NodeId id = value_to_node(b, gradient);
	if (id == NODE_NONE)
		return false;
	id = node_cast(b, id, dtype_wide(node_dtype(b, operand->node)), gradient.span);
	PUSH(b->arena, ruled->operands, operand->node);
	PUSH(b->arena, ruled->gradients, id);
	PUSH(b->arena, ruled->places[0], operand->span);
	PUSH(b->arena, ruled->places[1], gradient.span);
	return true;
}

/* One for each tensor of the function. */
static bool take_gradients(Build *b, Ruled *ruled, const Value *value)
{
	const AstStmt *fn = ruled->applied->fn;
	bool tuple = value->kind == VALUE_TUPLE, good = true;
	uint32_t n = tuple ? value->nitems : 1;
	if (n != fn->nparams) {
		diag(b->diags, E0269, fn->rule->expr->span,
		     "the rule gives %u gradient%s, and '%s' takes %u tensor%s", n,
		     n == 1 ? "" : "s", fn->name.sym, fn->nparams, fn->nparams == 1 ? "" : "s");
		diag_note(b->diags, fn->params[0].name.span,
			  "each of them has one, in their order");
		return false;
	}
	for (uint32_t i = 0; i < n && good; i++)
		good = take_gradient(b, ruled, &ruled->applied->operands[i],
				     tuple ? value->items[i] : *value);
	return good;
}

static void make_rule(Build *b, const Ruled *ruled)
{
	const NodeIds *lists[] = {&ruled->results, &ruled->given, &ruled->operands,
				  &ruled->gradients};
	const AstRule *rule = ruled->applied->fn->rule;
	NodeIds all = {0};
	VEC(Span) spans = {0};
	for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
		for (size_t i = 0; i < lists[l]->n; i++) {
			PUSH(b->arena, all, lists[l]->at[i]);
			PUSH(b->arena, spans,
			     l < 2 ? graph_node(b->graph, lists[l]->at[i])->span
				   : ruled->places[l - 2].at[i]);
		}
	NodeId id = node_new(b, NODE_RULE, rule->span, rule->span);
	node_set_args(b, id, all.at, spans.at, (uint32_t)all.n);
	graph_node(b->graph, id)->dtype = DTYPE_F32;
	PUSH(b->arena, b->rules, ((AppliedRule){id, b->at.site, ruled->applied->fn}));
}

bool rule_open(Build *b, const Applied *applied, Ruled *ruled)
{
	*ruled = (Ruled){.applied = applied,
			 .value = applied->value,
			 .scope = b->at.scope,
			 .place = b->place};
	if (!applied->fn->rule || applied->value.kind == VALUE_ERROR)
		return false;
	if (!check_results(b, applied) || !check_operands(b, applied)) {
		ruled->value = value_error();
		return false;
	}
	b->at.scope = scope_new(b, b->at.scope);
	b->at.rule = applied->fn;
	b->place = sym_printf(b->symbols, "%s.adjoint", b->place ? b->place : "");
	ruled->value = name_results(b, ruled);
	return true;
}

Value rule_close(Build *b, Ruled *ruled, Value gradients)
{
	b->at.scope = ruled->scope;
	b->at.rule = NULL;
	b->place = ruled->place;
	if (gradients.kind == VALUE_ERROR || !take_gradients(b, ruled, &gradients))
		return value_error();
	if (ruled->results.n == 0 || ruled->operands.n == 0)
		return ruled->applied->value;
	make_rule(b, ruled);
	return ruled->value;
}

/* ---- what is checked of gradients ---- */

static bool is_operand(const Graph *graph, const Node *rule, NodeId id)
{
	uint32_t m = graph_rule_results(graph, rule);
	bool is = false;
	for (uint32_t i = 2 * m; i < m + rule->nargs / 2; i++)
		is |= rule->args[i] == id;
	return is;
}

static bool is_of_body(const Graph *graph, const AppliedRule *of, NodeId id)
{
	uint32_t site = graph_node(graph, id)->site;
	while (site > of->site) /* falls: outwards */
		site = graph->sites.at[site].parent;
	return site == of->site;
}

/* Does operand `arg` lead to what gradients are taken with respect to, past the operands of the rule? */
static bool leads(const Graph *graph, const AppliedRule *of, const bool *path, NodeId id,
		  uint32_t arg)
{
	const Node *rule = graph_node(graph, of->rule);
	NodeId operand = graph_node(graph, id)->args[arg];
	return path[operand] && !(is_operand(graph, rule, operand) && is_of_body(graph, of, id));
}

static bool depends(const Graph *graph, const AppliedRule *of, const bool *path, NodeId id)
{
	const Node *node = graph_node(graph, id);
	const Carried *carried = graph_carried(graph, id);
	bool any = path[id];
	for (uint32_t i = 0; i < node->nargs; i++)
		any |= node_passes_gradient(graph, id, i) && leads(graph, of, path, id, i);
	if (carried && carried->step != NODE_NONE)
		any |= path[carried->step] || (carried->first != NODE_NONE && path[carried->first]);
	NodeId at = id;
	while (carried && (at = graph_next_write(graph, carried, at)) != NODE_NONE) /* rises */
		any |= path[at++];
	return any;
}

/* What depends on it, of all that stands in front of the rule's results. */
static void find_dependent(const Graph *graph, const AppliedRule *of, bool *path)
{
	NodeId end = graph_node(graph, of->rule)->args[0];
	for (bool more = true; more;) { /* falls: nodes that are not on it, as loops lead back */
		more = false;
		for (NodeId id = 0; id < end; id++) {
			const Node *node = graph_node(graph, id);
			bool was = path[id];
			path[id] = depends(graph, of, path, id);
			more |= path[id] != was && graph->carried.n > 0;
			for (uint32_t i = 0; path[id] && i < graph_rule_results(graph, node); i++)
				path[node->args[i]] = true;
		}
	}
}

NodeId rule_lacks(Build *b, const AppliedRule *of, const NodeId *to, size_t nto)
{
	const Graph *graph = b->graph;
	const Node *rule = graph_node(graph, of->rule);
	bool *path = ARENA_ARRAY(b->arena, bool, graph->nodes.n);
	for (size_t i = 0; i < nto; i++)
		if (to[i] < of->rule)
			path[to[i]] = true;
	find_dependent(graph, of, path);
	b->work += of->rule;
	for (uint32_t i = 0; i < graph_rule_results(graph, rule); i++)
		if (leads(graph, of, path, rule->args[i], 0))
			return graph_node(graph, rule->args[i])->args[0];
	return NODE_NONE;
}
