/* What a routine takes, computes and gives: the nodes that its results need, followed from them
 * over operands and targets of assignments, in the order of their ids, which is the order of the
 * program. So is `init`, from the initialisers of the parameters that the routines use.
 */
#include <string.h>

#include "frontend/carried.h"
#include "frontend/build.h"
#include "frontend/differentiable.h"
#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/packed_result.h"

static void reach_add(Build *b, Reach *reach, NodeId id)
{
	if (b->reached[id] == reach->mark)
		return;
	b->reached[id] = reach->mark;
	PUSH(b->arena, reach->nodes, id);
}

bool reach_has(const Build *b, const Reach *reach, NodeId id)
{
	return id < b->nreached && b->reached[id] == reach->mark;
}

/* What sets a tensor of a loop; what ends the loops that a node is in. */
static void reach_loop(Build *b, Reach *reach, NodeId id)
{
	const Carried *carried = graph_carried(b->graph, id);
	if (carried) {
		if (carried->first != NODE_NONE)
			reach_add(b, reach, carried->first);
		if (carried->step != NODE_NONE)
			reach_add(b, reach, carried->step);
		NodeId at = carried->tensor;
		while ((at = graph_next_write(b->graph, carried, at)) != NODE_NONE) /* rises */
			reach_add(b, reach, at++);
	}
	for (uint32_t loop = graph_node(b->graph, id)->loop; loop;
	     loop = b->graph->loops.at[loop].parent)
		if (b->graph->loops.at[loop].until != NODE_NONE)
			reach_add(b, reach, b->graph->loops.at[loop].until);
}

/* Rules of what a gradient may go through: of results that are reached, in front of what it is taken of. */
static bool reach_rules(Build *b, Reach *reach, NodeId last)
{
	size_t before = reach->nodes.n;
	for (size_t i = 0; i < b->rules.n; i++) {
		NodeId rule = b->rules.at[i].rule;
		const Node *node = graph_node(b->graph, rule);
		for (uint32_t k = 0; rule < last && k < graph_rule_results(b->graph, node); k++)
			if (reach_has(b, reach, node->args[k]))
				reach_add(b, reach, rule);
	}
	return reach->nodes.n > before;
}

/* With rules in front of `last`. */
static void reach_all(Build *b, Reach *reach, NodeId last)
{
	size_t next = 0;
	do { /* falls: rules that are not reached */
		for (; next < reach->nodes.n; next++) {
			const Node *node = graph_node(b->graph, reach->nodes.at[next]);
			for (uint32_t k = 0; k < node->nargs; k++)
				reach_add(b, reach, node->args[k]);
			if (node->target != NODE_NONE)
				reach_add(b, reach, node->target);
			if (node->kind == NODE_GRADIENT && node->args[0] > last)
				last = node->args[0];
			reach_loop(b, reach, reach->nodes.at[next]);
		}
	} while (reach_rules(b, reach, last));
}

static Reach reach_of(Build *b, const NodeId *roots, size_t nroots, NodeId last)
{
	Reach reach = {.mark = ++b->nreaches};
	if (b->nreached < b->graph->nodes.n) {
		b->nreached = 2 * b->graph->nodes.n;
		b->reached = ARENA_ARRAY(b->arena, uint32_t, b->nreached);
	}
	for (size_t i = 0; i < nroots; i++)
		reach_add(b, &reach, roots[i]);
	reach_all(b, &reach, last);
	b->work += reach.nodes.n;
	return reach;
}

Reach reach_from(Build *b, const NodeId *roots, size_t nroots)
{
	return reach_of(b, roots, nroots, 0);
}

Reach reach_with_rules(Build *b, NodeId root) { return reach_of(b, &root, 1, NODE_NONE); }

/* ---- what a routine takes and gives ---- */

static void sort_ids(NodeId *ids, size_t n)
{
	for (size_t gap = n / 2; gap > 0; gap /= 2) {
		for (size_t i = gap; i < n; i++) {
			NodeId id = ids[i];
			size_t k = i;
			for (; k >= gap && ids[k - gap] > id; k -= gap)
				ids[k] = ids[k - gap];
			ids[k] = id;
		}
	}
}

static NodeId *pick(Build *b, const Reach *reach, NodeKind kind, uint32_t *n)
{
	NodeId *picked = ARENA_ARRAY(b->arena, NodeId, reach->nodes.n);
	for (size_t i = 0; i < reach->nodes.n; i++) {
		if (graph_node(b->graph, reach->nodes.at[i])->kind == kind)
			picked[(*n)++] = reach->nodes.at[i];
	}
	return picked;
}

static void refuse_words_out(Build *b, const Routine *routine, uint32_t i)
{
	if (node_dtype(b, routine->outputs[i]) == DTYPE_U4X32)
		diag(b->diags, E0242, routine->output_spans[i],
		     "'%s' is random words, which stand inside expressions alone: "
		     "uint4x32_to_uniform(...) makes numbers of them",
		     routine->output_names[i]);
}

/* The routine with bytes for results of which two elements share one; roots are its results first. */
static NodeIds pack_results(Build *b, Routine *routine, const NodeId *roots, size_t nroots)
{
	NodeIds all = {0};
	NodeId *outputs = ARENA_ARRAY(b->arena, NodeId, routine->noutputs);
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		outputs[i] = packed_result(b, routine->outputs[i], routine->output_spans[i]);
		PUSH(b->arena, all, outputs[i]);
	}
	for (size_t i = 0; i < nroots; i++)
		PUSH(b->arena, all, roots[i]);
	routine->outputs = outputs;
	return all;
}

static void fill_routine(Build *b, Routine *routine, const NodeId *roots, size_t nroots)
{
	Reach reach = reach_from(b, roots, nroots);
	sort_ids(reach.nodes.at, reach.nodes.n);
	routine->order = reach.nodes.at;
	routine->norder = (uint32_t)reach.nodes.n;
	routine->inputs = pick(b, &reach, NODE_INPUT, &routine->ninputs);
	routine->params = pick(b, &reach, NODE_PARAM, &routine->nparams);
}

void routine_add(Build *b, Routine routine, const NodeId *roots, size_t nroots)
{
	for (uint32_t i = 0; i < routine.noutputs; i++)
		refuse_words_out(b, &routine, i);
	NodeIds all = pack_results(b, &routine, roots, nroots);
	fill_routine(b, &routine, all.at, all.n);
	name_index_set(b->arena, &b->routines, routine.name, (uint32_t)b->graph->routines.n);
	PUSH(b->arena, b->graph->routines, routine);
}

/* ---- `forward`, and what nothing uses ---- */

static void add_forward(Build *b)
{
	Sym name = sym_cstr(b->symbols, "forward");
	Routine routine = {.name = name, .span = b->output_spans.at[0], .outputs = b->outputs.at,
			   .output_names = b->output_names.at, .output_spans = b->output_spans.at,
			   .noutputs = (uint32_t)b->outputs.n};
	if (!routine_name_is_free(b, (Name){name, routine.span}))
		return;
	routine_add(b, routine, b->outputs.at, b->outputs.n);
	Routine *all = b->graph->routines.at;
	size_t n = b->graph->routines.n;
	Routine forward = all[n - 1];
	memmove(all + 1, all, (n - 1) * sizeof *all);
	all[0] = forward;
}

static void mark_used(Build *b, const Routine *routine)
{
	for (uint32_t k = 0; k < routine->norder; k++)
		graph_node(b->graph, routine->order[k])->used = true;
}

/* The parameters that an initialiser reads are used. */
static void mark_read(Build *b, NodeId id)
{
	Reach reach = reach_from(b, &id, 1);
	for (size_t i = 0; i < reach.nodes.n; i++)
		graph_node(b->graph, reach.nodes.at[i])->used = true;
}

/* The initialisers of the parameters that some routine uses, and of those that they read, which stand
 * before them. */
static void add_init(Build *b)
{
	NodeIds roots = {0};
	for (size_t i = b->graph->params.n; i-- > 0;) {
		const Node *param = graph_node(b->graph, b->graph->params.at[i]);
		if (param->used && param->init == INIT_EXPRESSION) {
			PUSH(b->arena, roots, param->initial);
			mark_read(b, param->initial);
		}
	}
	Routine *init = &b->graph->init;
	init->name = sym_cstr(b->symbols, "init");
	init->nscalars = 1;
	init->scalars = ARENA_NEW(b->arena, ScalarArg);
	*init->scalars = (ScalarArg){
		sym_cstr(b->symbols, "seed"), SPAN_NONE, DTYPE_I64, SPAN_NONE, DIM_NONE, SPAN_NONE};
	fill_routine(b, init, roots.at, roots.n);
	mark_used(b, init);
}

void routines_finish(Build *b)
{
	if (b->outputs.n)
		add_forward(b);
	for (size_t i = 0; i < b->graph->routines.n; i++)
		mark_used(b, &b->graph->routines.at[i]);
	add_init(b);
	if (b->graph->routines.n == 0) {
		diag(b->diags, W0203, SPAN_NONE,
		     "the program has no output and no routine: there is "
		     "nothing to run");
		return;
	}
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (node->kind == NODE_INPUT && !node->used)
			diag(b->diags, W0201, node->name_span, "no routine uses the input '%s'",
			     node->name);
	}
}
