/* Gradients: their nodes, and what is checked of them when the routines are known. */
#include <string.h>

#include "frontend/differentiable.h"
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/nodes.h"
#include "frontend/written.h"

/* ---- operands ---- */

/* What a gradient is taken with respect to: a tensor that has a place in the program. */
static NodeId variable(Build *b, Value value)
{
	if (value.kind != VALUE_NUMBER && value.kind != VALUE_SIZE)
		return gradient_variable(b, value);
	diag(b->diags, E0258, value.span,
	     "a gradient is taken with respect to a tensor, and this is %s",
	     value_describe(&value));
	return NODE_NONE;
}

static Value gradient_node(Build *b, const AstExpr *call, NodeId y, Value x, NodeId c)
{
	NodeId to = variable(b, x);
	if (to == NODE_NONE)
		return value_error();
	NodeId id = gradient_make(
		b, &(Gradient){NODE_GRADIENT, y, to, c, call->span, call->args[1]->span, x.span});
	return value_node(id, call->span);
}

/* One for each tensor of a tuple, or for the one. */
static Value gradients(Build *b, const AstExpr *call, NodeId y, NodeId c)
{
	Value x = eval(b, call->args[2]);
	if (x.kind == VALUE_ERROR || y == NODE_NONE)
		return value_error();
	if (x.kind != VALUE_TUPLE)
		return gradient_node(b, call, y, x, c);
	Value *items = ARENA_ARRAY(b->arena, Value, x.nitems + 1);
	for (uint32_t i = 0; i < x.nitems; i++) {
		items[i] = gradient_node(b, call, y, x.items[i], c);
		if (items[i].kind == VALUE_ERROR)
			return items[i];
	}
	return value_results(items, x.nitems, call->span);
}

static NodeId of_what(Build *b, const AstExpr *call)
{
	return gradient_operand(b, eval(b, call->args[1]));
}

Value gradient_of(Build *b, const AstExpr *call)
{
	return gradients(b, call, of_what(b, call), NODE_NONE);
}

static Value eval_at(Build *b, const AstExpr *expr)
{
	Value value = eval(b, expr);
	if (value.kind != VALUE_ERROR)
		value.span = expr->span;
	return value;
}

/* The direction, in the wide type of what it has the shape of, as it is here: a copy of a tensor that a step has written. */
static NodeId direction(Build *b, Value value, NodeId like)
{
	NodeId c = value_to_node(b, value), copied = NODE_NONE;
	if (c == NODE_NONE || like == NODE_NONE)
		return NODE_NONE;
	c = node_cast(b, c, dtype_wide(node_dtype(b, like)), value.span);
	for (NodeId id = c + 1; id < b->graph->nodes.n && copied == NODE_NONE; id++)
		if (graph_node(b->graph, id)->target == c)
			copied = node_pointwise(b, OP_ID, &c, &value.span, 1, value.span,
						value.span);
	return copied == NODE_NONE ? c : copied;
}

Value gradient_product(Build *b, const AstExpr *call)
{
	NodeId y = of_what(b, call), c = direction(b, eval_at(b, call->args[3]), y);
	return c == NODE_NONE ? value_error() : gradients(b, call, y, c);
}

/* How y moves where one tensor does. */
static NodeId tangent(Build *b, const AstExpr *call, NodeId y, Value x, Value t)
{
	NodeId to = variable(b, x), c = direction(b, t, to);
	if (c == NODE_NONE)
		return c;
	return gradient_make(
		b, &(Gradient){NODE_TANGENT, y, to, c, call->span, call->args[1]->span, x.span});
}

/* Is there a direction for each tensor? */
static bool check_directions(Build *b, const Value *x, const Value *t)
{
	uint32_t n = x->kind == VALUE_TUPLE ? x->nitems : 1;
	uint32_t given = t->kind == VALUE_TUPLE ? t->nitems : 1;
	if (x->kind == VALUE_ERROR || t->kind == VALUE_ERROR)
		return false;
	if (n == given)
		return true;
	diag(b->diags, E0222, t->span, "jvp wants a direction for each tensor: %u, and here %s %u",
	     n, given == 1 ? "is" : "are", given);
	diag_note(b->diags, x->span, "the tensors");
	return false;
}

Value gradient_tangent(Build *b, const AstExpr *call)
{
	NodeId y = of_what(b, call), sum = NODE_NONE;
	Value x = eval_at(b, call->args[2]), t = eval_at(b, call->args[3]);
	if (!check_directions(b, &x, &t) || y == NODE_NONE)
		return value_error();
	for (uint32_t i = 0; i < (x.kind == VALUE_TUPLE ? x.nitems : 1); i++) {
		NodeId one = tangent(b, call, y, x.kind == VALUE_TUPLE ? x.items[i] : x,
				     t.kind == VALUE_TUPLE ? t.items[i] : t);
		if (one == NODE_NONE)
			return value_error();
		Span spans[2] = {call->span, call->span};
		sum = sum == NODE_NONE ? one
				       : node_pointwise(b, OP_ADD, (NodeId[]){sum, one}, spans, 2,
							call->span, call->span);
	}
	return value_node(sum, call->span);
}

/* Is the tensor made by an operation behind the first `before` nodes: the value of an expression that nothing else
 * reads? */
static bool is_own(const Build *b, NodeId id, size_t before)
{
	const Node *node = graph_node(b->graph, id);
	return id >= before && !node->ruled &&
	       (node->kind == NODE_SPEC || node->kind == NODE_POINTWISE);
}

Value gradient_stop(Build *b, const AstExpr *call)
{
	size_t before = b->graph->nodes.n;
	NodeId x = eval_node(b, call->args[1]);
	if (x == NODE_NONE)
		return value_error();
	node_settle(b, x, DTYPE_NONE);
	if (is_own(b, x, before)) {
		graph_node(b->graph, x)->stops = true;
		return value_node(x, call->span);
	}
	NodeId id = node_pointwise(b, OP_ID, &x, &call->args[1]->span, 1, call->span,
				   call->args[0]->span);
	if (id != NODE_NONE)
		graph_node(b->graph, id)->stops = true;
	return value_node(id, call->span);
}

Value gradient_recompute(Build *b, const AstExpr *call)
{
	uint32_t outer = b->recomputes;
	if (outer == 0)
		b->recomputes = ++b->nrecomputes;
	Value value = eval(b, call->args[1]);
	b->recomputes = outer;
	return value;
}

/* ---- what is checked ---- */

/* The gradients that routines use of the same tensor. */
typedef struct Group {
	const Graph *graph;
	NodeId y, c;
	NodeId behind;	    /* of y and the direction the last */
	VEC(NodeId) of, to; /* gradients, and what each is taken with respect to */
	VEC(NodeId) writes; /* steps before gradients are made, in order */
	bool *reached, *path;
	uint64_t *made; /* by node: a gradient's operations, of the first of those that are made together */
} Group;

/* Which one it is, where a step for many calls it p. */
static void note_parameter(Build *b, const Node *x, Span span)
{
	if (x->kind == NODE_PARAM && x->name &&
	    strcmp(source_text(b->sources, b->arena, span), x->name) != 0)
		diag_note(
			b->diags, span,
			"it is the parameter '%s' here: for p in params(y) except (\"%s\") leaves it out",
			x->name, x->name);
}

static void warn_zero(Build *b, const Group *group, size_t i)
{
	const Node *gradient = graph_node(b->graph, group->of.at[i]);
	diag(b->diags, W0205, gradient->arg_spans[1],
	     "this gradient is 0: what it is taken of does not depend on this");
	note_parameter(b, graph_node(b->graph, group->to.at[i]), gradient->arg_spans[1]);
	diag_note(b->diags, gradient->arg_spans[0], "what it is taken of");
	for (NodeId id = group->y + 1; id-- > 0;) {
		const Node *node = graph_node(b->graph, id);
		for (uint32_t arg = 0; group->reached[id] && arg < node->nargs; arg++) {
			bool *on, *path;
			if (node_passes_gradient(b->graph, id, arg))
				continue;
			gradient_paths(b->graph, b->arena, node->args[arg], &group->to.at[i], 1,
				       &on, &path);
			if (path[node->args[arg]]) {
				diag_note(b->diags, node->span, "no gradient goes through this");
				return;
			}
		}
	}
}

static bool refuse_path(Build *b, const Group *group, Span span, const char *through)
{
	diag(b->diags, E0913, span, "a gradient through %s is not supported yet", through);
	diag_note(b->diags, graph_node(b->graph, group->of.at[0])->span, "the gradient");
	return false;
}

/* The first routine that computes it; NULL: an initialiser does. */
static const Routine *routine_of(const Graph *graph, NodeId id)
{
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].norder; i++)
			if (graph->routines.at[r].order[i] == id)
				return &graph->routines.at[r];
	return NULL;
}

static bool is_step(const Graph *graph, NodeId id)
{
	NodeId target = graph_node(graph, id)->target;
	return target != NODE_NONE && !graph_node(graph, target)->carried;
}

/* Steps of the routine before what the gradient is taken of, and its direction, are there, but what loops set. */
static void find_writes(Build *b, Group *group)
{
	const Routine *routine = routine_of(b->graph, group->of.at[0]);
	for (uint32_t i = 0; routine && i < routine->norder && routine->order[i] < group->behind;
	     i++)
		if (is_step(b->graph, routine->order[i]))
			PUSH(b->arena, group->writes, routine->order[i]);
}

/* The first of them that writes an operand of the node, which would be read again as it is then; NODE_NONE: none does. A
 * copy of a routine's own tensor is not read again, as each of its versions is one by itself;
 * but where it is a rule's (`ruled`). */
static NodeId written_since(const Group *group, NodeId id, bool ruled)
{
	const Node *node = graph_node(group->graph, id);
	bool copies =
		node->kind == NODE_POINTWISE && node->op == OP_ID && !node->recomputes && !ruled;
	for (size_t i = 0; i < group->writes.n; i++)
		for (uint32_t arg = 0; group->writes.at[i] > id && arg < node->nargs; arg++)
			if (graph_node(group->graph, group->writes.at[i])->target ==
				    node->args[arg] &&
			    !(copies &&
			      node_sets_own(group->graph, group->writes.at[i]) != NODE_NONE))
				return group->writes.at[i];
	return NODE_NONE;
}

/* Does a step before the one that y is computed in set the tensor by what gradients are taken with respect to? */
static bool comes_from_steps(Build *b, const Group *group, const Carried *carried)
{
	const Graph *graph = b->graph;
	uint32_t loop = graph_set_in(graph, carried);
	bool *reached, *path;
	NodeId last = (NodeId)graph->nodes.n;
	while (!graph_loop_in(graph, graph_node(graph, --last)->loop, loop)) /* falls */
		;
	gradient_paths(graph, b->arena, last, group->to.at, group->to.n, &reached, &path);
	b->work += last;
	return path[carried->step];
}

/* Are the steps gone through backwards, so that what they hold is stored? */
static bool is_back(const Build *b, const Group *group)
{
	bool back = false;
	for (size_t i = 0; i < group->of.n; i++)
		back |= graph_node(b->graph, group->of.at[i])->kind == NODE_GRADIENT;
	return back;
}

/* What of the steps that set the tensor gradients cannot go through; NULL: they can. */
static const char *steps_lack(Build *b, const Group *group, NodeId id)
{
	const Carried *carried = graph_carried(b->graph, id);
	uint32_t number = graph_set_in(b->graph, carried);
	const GraphLoop *loop = &b->graph->loops.at[number];
	if (graph_loop_in(b->graph, graph_node(b->graph, group->y)->loop, number))
		return comes_from_steps(b, group, carried) ? "the steps of scan before this one"
							   : NULL;
	if (!group->path[id])
		return NULL;
	return loop->most || !is_back(b, group) ? NULL : "as many steps of scan as a scalar says";
}

/* Of steps that nothing bounds: what would. */
static void suggest_most(Build *b, const Node *node)
{
	const Carried *carried = node->carried ? &b->graph->carried.at[node->carried - 1] : NULL;
	const GraphLoop *loop = &b->graph->loops.at[carried ? graph_set_in(b->graph, carried) : 0];
	if (!carried || loop->most)
		return;
	diag_note(
		b->diags, loop->count_span,
		"scan(n, ..., i) until (i + 1 >= %s) has one, with a size or a number n that this does not pass, where it is above 0",
		source_text(b->sources, b->arena, loop->count_span));
}

/* Gradients go by a written rule to its operands alone, and tangents do not; false after an error. */
static bool check_rule(Build *b, const Group *group, NodeId id)
{
	const WrittenRule *of = b->written.at;
	while (of->rule != id) /* falls: each rule is of one application */
		of++;
	const Node *first = graph_node(b->graph, group->of.at[0]);
	bool tangent = first->kind == NODE_TANGENT && group->path[id];
	NodeId result = written_lacks(b, of, group->to.at, group->to.n);
	if (!tangent && result == NODE_NONE)
		return true;
	if (tangent)
		diag(b->diags, E0270, first->span,
		     "a tangent would go through '%s', of which a rule says the gradients alone",
		     of->fn->name.sym);
	else
		diag(b->diags, E0270, graph_node(b->graph, result)->span,
		     "'%s' has a rule, which gives gradients to its tensors alone, and this depends on "
		     "what a gradient is with respect to by another way",
		     of->fn->name.sym);
	diag_note(b->diags, of->fn->rule->span, "the rule");
	if (!tangent)
		diag_note(b->diags, first->span, "the gradient");
	return false;
}

/* Is it a routine's own tensor, which holds one thing after another, that gradients are taken with respect to? */
static bool is_own_variable(const Group *group, NodeId id)
{
	const Node *node = graph_node(group->graph, id);
	bool is = false;
	for (size_t i = 0; i < group->to.n; i++)
		is |= group->to.at[i] == id;
	return is && node->kind == NODE_ZEROS && !node->carried && group->reached[id];
}

/* False after an error. */
static bool check_path(Build *b, const Group *group)
{
	NodeId ruled = NODE_NONE; /* from here on nodes are a rule's */
	for (NodeId id = group->y + 1; id-- > 0;) {
		const Node *node = graph_node(b->graph, id);
		NodeId own = node_sets_own(b->graph, id);
		bool counts = group->path[id]
				      ? node->nargs > 0
				      : group->reached[id] && own != NODE_NONE && group->path[own];
		const char *lacks = counts ? node_lacks_gradient(b->graph, id) : NULL;
		if (is_own_variable(group, id))
			lacks = "a tensor that steps of a routine write";
		if (group->reached[id] && node->kind == NODE_ZEROS && node->carried)
			lacks = steps_lack(b, group, id);
		if (node->kind == NODE_RULE && group->reached[id]) {
			ruled = node->args[0];
			if (!check_rule(b, group, id))
				return false;
		}
		ruled = id == ruled ? NODE_NONE : ruled;
		NodeId step = counts || ruled != NODE_NONE
				      ? written_since(group, id, ruled != NODE_NONE)
				      : NODE_NONE;
		if (step != NODE_NONE) {
			refuse_path(b, group, node->span,
				    "what reads a tensor that a step then writes");
			diag_note(b->diags, graph_node(b->graph, step)->span, "the step");
			if (node_sets_own(b->graph, step) != NODE_NONE)
				diag_note(
					b->diags, node->span,
					"what 'let old = ...' names before the step stays as it is, and has one");
			return false;
		}
		if (lacks) {
			refuse_path(b, group, node->span, lacks);
			suggest_most(b, node);
			return false;
		}
	}
	return true;
}

/* How often a node of a loop is made again: in each loop around it, with what it holds in all steps. */
static uint64_t times_made(const Graph *graph, NodeId id)
{
	uint64_t times = 1;
	for (uint32_t loop = graph_node(graph, id)->loop; loop; loop = graph->loops.at[loop].parent)
		times = times < LIMIT_WORK ? 2 * times : times;
	return times;
}

/* About two operations for each on the way, and for each that gradients on the way are made of. */
static void count_made(Build *b, const Group *group)
{
	uint64_t *made = &group->made[group->of.at[0]];
	for (NodeId id = 0; id <= group->y && *made < LIMIT_WORK; id++)
		*made += (group->path[id] ? 2 + 2 * group->made[id] : 0) *
				 times_made(b->graph, id) +
			 (graph_node(b->graph, id)->loop ? times_made(b->graph, id) : 0);
	b->work += group->y + *made * (LIMIT_WORK / LIMIT_NODES);
}

static NodeId direction_of(const Node *gradient)
{
	return gradient->nargs > 2 ? gradient->args[2] : NODE_NONE;
}

static bool reaches(const Build *b, NodeId y, NodeId x)
{
	bool *reached, *path;
	gradient_paths(b->graph, b->arena, y, &x, 1, &reached, &path);
	return x <= y && reached[x];
}

/* Is the gradient added to another where it stands, behind several `backward`, which is not 0 everywhere? */
static bool adds_to_another(Build *b, NodeId of)
{
	const Node *gradient = graph_node(b->graph, of);
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (node->kind != NODE_GRADIENT || id == of || node->args[1] != gradient->args[1] ||
		    memcmp(&node->span, &gradient->span, sizeof node->span) != 0)
			continue;
		b->work += node->args[0];
		if (reaches(b, node->args[0], node->args[1]))
			return true;
	}
	return false;
}

static void check_group(Build *b, Group *group)
{
	gradient_paths(b->graph, b->arena, group->y, group->to.at, group->to.n, &group->reached,
		       &group->path);
	count_made(b, group);
	find_writes(b, group);
	bool good = check_path(b, group);
	for (size_t i = 0; good && i < group->of.n; i++)
		if ((group->to.at[i] > group->y || !group->reached[group->to.at[i]]) &&
		    !adds_to_another(b, group->of.at[i]))
			warn_zero(b, group, i);
}

void gradients_check(Build *b)
{
	bool *done = ARENA_ARRAY(b->arena, bool, b->graph->nodes.n + 1);
	uint64_t *made = ARENA_ARRAY(b->arena, uint64_t, b->graph->nodes.n + 1);
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *first = graph_node(b->graph, id);
		Group group = {.graph = b->graph, .made = made};
		if (!node_kind_differentiates(first->kind) || !first->used || done[id])
			continue;
		group.y = group.behind = first->args[0];
		group.c = direction_of(first);
		if (group.c != NODE_NONE && group.c > group.behind)
			group.behind = group.c;
		for (NodeId other = id; other < b->graph->nodes.n; other++) {
			const Node *node = graph_node(b->graph, other);
			if (!node_kind_differentiates(node->kind) || !node->used ||
			    node->args[0] != group.y || direction_of(node) != group.c)
				continue;
			done[other] = true;
			PUSH(b->arena, group.of, other);
			PUSH(b->arena, group.to, node->args[1]);
		}
		check_group(b, &group);
		if (!limits_hold(b, first->span))
			return;
	}
}
