/* What is checked of gradients when the routines are known: those that are made in one walk together (Group).
 *
 *   a node on the way that has no rule, or that a rule of the file does not let through    an error
 *   a node on the way of which a step has written an operand since                         an error
 *   what does not depend on x                                                              a gradient of 0: a warning
 */
#include <ctype.h>
#include <string.h>

#include "frontend/carried.h"
#include "frontend/differentiable.h"
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/nodes.h"
#include "frontend/rule.h"

/* Gradients that routines use, of one tensor in one direction; or a tangent, as often as it is asked for. */
typedef struct Group {
	const Graph *graph;
	NodeId y, c;
	NodeId behind;	    /* of y and the direction the last */
	VEC(NodeId) of, to; /* gradients, and what each is taken with respect to */
	VEC(NodeId) writes; /* steps before gradients are made, in order */
	bool *reached, *path;
	uint64_t *
		made; /* by node: a gradient's operations, of the first of those that are made together */
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

/* Are steps gone through backwards, so that what they hold is stored? */
static bool goes_back(const Group *group)
{
	return graph_node(group->graph, group->of.at[0])->kind == NODE_GRADIENT;
}

/* `how`: "through ..." or "with respect to ...". */
static void refuse_path(Build *b, const Group *group, Span span, const char *how)
{
	diag(b->diags, E0913, span, "a %s %s is not supported yet",
	     goes_back(group) ? "gradient" : "tangent", how);
	diag_note(b->diags, graph_node(b->graph, group->of.at[0])->span, "the %s",
		  goes_back(group) ? "gradient" : "tangent");
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
	return path[carried->step] || (graph_writes_carried(graph, carried->step) &&
				       carried->first != NODE_NONE && path[carried->first]);
}

/* What of the steps that set the tensor gradients cannot go through; NULL: they can. */
static const char *steps_lack(Build *b, const Group *group, NodeId id)
{
	const Carried *carried = graph_carried(b->graph, id);
	uint32_t number = graph_set_in(b->graph, carried);
	const GraphLoop *loop = &b->graph->loops.at[number];
	if (graph_loop_in(b->graph, graph_node(b->graph, group->y)->loop, number))
		return comes_from_steps(b, group, carried)
			       ? "through the steps of scan before this one"
			       : NULL;
	if (!group->path[id])
		return NULL;
	return loop->most || !goes_back(group) ? NULL
					       : "through as many steps of scan as a scalar says";
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Does the text have the name as a word? */
static bool names(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || !is_word(at[-1])) && !is_word(at[n]))
			return true;
	return false;
}

/* What the number of its steps is called, or may be where the count is compared with it. */
static const char *step_name(const GraphLoop *loop, const char *count)
{
	static const char *const free[] = {"i", "j", "t", "step"};
	uint32_t at = 0;
	if (memcmp(&loop->name_span, &loop->span, sizeof loop->span) != 0)
		return loop->name;
	while (at + 1 < sizeof free / sizeof *free && names(count, free[at]))
		at++;
	return free[at];
}

/* Of steps that nothing bounds: what would. */
static void suggest_most(Build *b, const Node *node)
{
	const Carried *carried = node->carried ? &b->graph->carried.at[node->carried - 1] : NULL;
	const GraphLoop *loop = &b->graph->loops.at[carried ? graph_set_in(b->graph, carried) : 0];
	if (!carried || loop->most)
		return;
	const char *count = source_text(b->sources, b->arena, loop->count_span);
	const char *step = step_name(loop, count);
	diag_note(
		b->diags, loop->count_span,
		"scan(n, ..., %s) until (%s%s + 1 >= %s) has one, with a size or a number n that this does not pass, where it is above 0; "
		"%sjvp stores nothing and goes through any number",
		step, loop->until == NODE_NONE ? "" : "... || ", step, count,
		loop->until == NODE_NONE
			? "it gives the number of its steps too: let (h, made) = ...; "
			: "");
}

/* Gradients go by a written rule to its operands alone, and tangents do not; false after an error. */
static bool check_rule(Build *b, const Group *group, NodeId id)
{
	const AppliedRule *of = b->rules.at;
	while (of->rule != id) /* falls: each rule is of one application */
		of++;
	const Node *first = graph_node(b->graph, group->of.at[0]);
	bool tangent = !goes_back(group) && group->path[id];
	NodeId result = rule_lacks(b, of, group->to.at, group->to.n);
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
	bool is = false;
	for (size_t i = 0; i < group->to.n; i++)
		is |= group->to.at[i] == id;
	return is && group->reached[id] && node_is_own(graph_node(group->graph, id));
}

/* Of such a tensor: what names it as it is here. */
static void suggest_kept(Build *b, const Group *group, NodeId id)
{
	if (is_own_variable(group, id))
		diag_note(
			b->diags, graph_node(b->graph, group->of.at[0])->span,
			"'let u = %s' before this names what it is here, and a gradient with respect to u is made",
			graph_node(b->graph, id)->name);
}

/* Is it an operation, or a step that writes a tensor, on the way? */
static bool is_gone_through(const Group *group, NodeId id)
{
	NodeId own = graph_writes_carried(group->graph, id) ? graph_node(group->graph, id)->target
							    : node_sets_own(group->graph, id);
	return group->path[id] ? graph_node(group->graph, id)->nargs > 0
			       : group->reached[id] && own != NODE_NONE && group->path[own];
}

/* Which gradient is not made, in words that refuse_path takes; NULL: the node lacks nothing. */
static const char *lacks(Build *b, const Group *group, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	if (group->reached[id] && node->kind == NODE_ZEROS && node->carried)
		return steps_lack(b, group, id);
	if (is_own_variable(group, id))
		return "with respect to a tensor that steps of a routine write";
	return is_gone_through(group, id) ? node_lacks_gradient(b->graph, id) : NULL;
}

/* What the node reads is still there; false after an error. */
static bool check_operands(Build *b, const Group *group, NodeId id, bool ruled)
{
	NodeId step = written_since(group, id, ruled);
	Span span = graph_node(b->graph, id)->span;
	if (step == NODE_NONE)
		return true;
	refuse_path(b, group, span, "through what reads a tensor that a step then writes");
	diag_note(b->diags, graph_node(b->graph, step)->span, "the step");
	if (node_sets_own(b->graph, step) != NODE_NONE)
		diag_note(b->diags, span,
			  "what 'let old = ...' names before the step stays as it is, and has one");
	return false;
}

/* `ruled`: it is a rule's. False after an error. */
static bool check_node(Build *b, const Group *group, NodeId id, bool ruled)
{
	const Node *node = graph_node(b->graph, id);
	const char *how = lacks(b, group, id);
	if (node->kind == NODE_RULE && group->reached[id] && !check_rule(b, group, id))
		return false;
	if ((ruled || is_gone_through(group, id)) && !check_operands(b, group, id, ruled))
		return false;
	if (how) {
		refuse_path(b, group, node->span, how);
		suggest_most(b, node);
		suggest_kept(b, group, id);
	}
	return !how;
}

/* False after an error. */
static bool check_path(Build *b, const Group *group)
{
	NodeId rule = NODE_NONE; /* its first node; those up to it are its own */
	for (NodeId id = group->y + 1; id-- > 0;) {
		const Node *node = graph_node(b->graph, id);
		if (node->kind == NODE_RULE && group->reached[id])
			rule = node->args[0];
		if (!check_node(b, group, id, id > rule))
			return false;
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
		*made +=
			(group->path[id] ? 2 + 2 * group->made[id] : 0) * times_made(b->graph, id) +
			(graph_node(b->graph, id)->loop ? times_made(b->graph, id) : 0);
	b->work += group->y + *made * (LIMIT_WORK / LIMIT_NODES);
}

static bool reaches(const Build *b, NodeId y, NodeId x)
{
	bool *reached, *path;
	gradient_paths(b->graph, b->arena, y, &x, 1, &reached, &path);
	return x <= y && reached[x];
}

/* Is it one tensor, or are both copies of one (anew.h)? */
static bool is_of_one(const Graph *graph, NodeId a, NodeId b)
{
	Sym name = graph_node(graph, a)->name;
	return a == b || (name && name == graph_node(graph, b)->name);
}

/* Is the gradient added to another where it stands, behind several `backward`, which is not 0 everywhere? */
static bool adds_to_another(Build *b, NodeId of)
{
	const Node *gradient = graph_node(b->graph, of);
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (node->kind != NODE_GRADIENT || id == of ||
		    !is_of_one(b->graph, node->args[1], gradient->args[1]) ||
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

/* Those of `first`, which are done by that. */
static Group group_from(Build *b, NodeId first, bool *done)
{
	const Node *one = graph_node(b->graph, first);
	Group group = {.graph = b->graph, .y = one->args[0], .c = node_direction(one)};
	group.behind = group.c != NODE_NONE && group.c > group.y ? group.c : group.y;
	for (NodeId id = first; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (!node_kind_differentiates(node->kind) || !node->used ||
		    !gradients_go_together(one, node))
			continue;
		done[id] = true;
		PUSH(b->arena, group.of, id);
		PUSH(b->arena, group.to, node->args[1]);
	}
	return group;
}

void gradients_check(Build *b)
{
	bool *done = ARENA_ARRAY(b->arena, bool, b->graph->nodes.n + 1);
	uint64_t *made = ARENA_ARRAY(b->arena, uint64_t, b->graph->nodes.n + 1);
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (!node_kind_differentiates(node->kind) || !node->used || done[id])
			continue;
		Group group = group_from(b, id, done);
		group.made = made;
		check_group(b, &group);
		if (!limits_hold(b, node->span))
			return;
	}
}
