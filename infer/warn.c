/* Warnings of a finished solution: sizes and rows that nothing determines, and dims that meet. */
#include "base/size_eval.h"
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/warn.h"

#include <inttypes.h>
#include <string.h>

#include "infer/blame.h"
#include "infer/text.h"
#include "infer/trace.h"

/* Was the size taken from nowhere? A fixed index of what is computed says it: `=> 0` is one
 * element. */
static bool is_default(const Solver *s, const Cell *c)
{
	if (c->why.kind != WHY_RULE || c->why.from != NONE)
		return false;
	const Con *con = c->why.con == NONE ? NULL : &s->cons.at[c->why.con];
	return !con || con->kind != CON_AT_LEAST || con->arg >= 0;
}

/* Is it an axis of the result whose cells are met as indices say? */
static bool spec_axis_is_bracketed(const Node *node, Sym letter)
{
	const SpecAxis *axis = spec_axis_of(&node->spec->result, letter);
	return axis && axis->bracketed;
}

/* A letter of operands that the result leaves out; NULL: none, or several. */
static Sym left_out(const Spec *spec)
{
	Sym found = NULL;
	for (uint32_t i = 0; i < spec->noperands; i++)
		for (RowKind kind = 0; kind < ROW_KINDS; kind++)
			for (uint32_t k = 0; k < spec->operands[i].rows[kind].naxes; k++) {
				const SpecAxis *axis = &spec->operands[i].rows[kind].axes[k];
				if (axis->kind != SPEC_LETTER || axis->letter == found ||
				    spec_axis_of(&spec->result, axis->letter))
					continue;
				if (found)
					return NULL;
				found = axis->letter;
			}
	return found;
}

static void warn_open_letter(Solver *s, const LetterCell *l, Diags *diags)
{
	Sym other = left_out(s->graph->nodes.at[l->node].spec);
	diag(diags, W0302, l->span,
	     "only the result has '%s', and nothing gives it a size: it is %s", l->letter,
	     cell_size_text(s, l->cell));
	if (other)
		diag_fix(diags, l->span, other, "did you mean '%s', which the result leaves out?",
			 other);
}

static void warn_letters(Solver *s, Diags *diags)
{
	bool *warned = ARENA_ARRAY(s->arena, bool, s->cells.n + 1);
	for (size_t i = 0; i < s->letters.n; i++) {
		const LetterCell *l = &s->letters.at[i];
		const Cell *c = cell_at(s, l->cell);
		bool *once = &warned[cell_root(s, l->cell)], chosen = is_default(s, c);
		if (*once)
			continue;
		if (l->only_result && s->graph->nodes.at[l->node].used)
			*once = warn_result_letter(s, l, chosen, diags);
		if (*once || !chosen)
			continue;
		*once = l->only_result || c->may_be_empty || cell_is_leaf(c);
		if (l->only_result && spec_axis_is_bracketed(&s->graph->nodes.at[l->node], l->letter))
			diag(diags, E0254, l->span,
			     "nothing says how many elements '[%s]' has: 'with (%s = ...)' does",
			     l->letter, l->letter);
		else if (l->only_result)
			warn_open_letter(s, l, diags);
		else if (*once)
			diag(diags, W0301, l->span, "'%s' is %s because nothing determines it",
			     l->letter, cell_size_text(s, l->cell));
	}
}

static void warn_axes(Solver *s, Diags *diags)
{
	for (size_t i = 0; i < s->events.n; i++) {
		const Spot *spot = &s->events.at[i].spot;
		if (spot->cell == NONE || spot->node == NODE_NONE || s->events.at[i].stage < 5)
			continue;
		const Cell *c = cell_at(s, spot->cell);
		const Node *node = &s->graph->nodes.at[spot->node];
		bool result =
			node->kind == NODE_POINTWISE || node->kind == NODE_COMPOSE || node->carried;
		if (result && strcmp(s->events.at[i].rule, "factors") != 0)
			continue; /* of operands that are all 1 */
		if (is_default(s, c) && !c->is_index && !c->param && !c->name)
			diag(diags, W0301, node->span,
			     "%s axis %u of %s is %s because nothing determines it",
			     row_kind_text(spot->row), spot->axis + 1,
			     tensor_text(s, spot->node, -1), cell_size_text(s, spot->cell));
	}
}

static bool has_batch_rest(const SpecTensor *tensor)
{
	const SpecRow *row = &tensor->rows[ROW_BATCH];
	return row->var_at >= 0 && strcmp(row->var, row_kind_text(ROW_BATCH)) == 0;
}

/* "... | 0 => ...": of an operand they are batch axes, and of the result, where no bar stands behind, output axes. */
static void suggest_batch_rest(const Solver *s, const ResultRow *row, Diags *diags)
{
	const Spec *spec = s->graph->nodes.at[row->node].spec;
	const SpecRow *output = &spec->result.rows[ROW_OUTPUT];
	if (spec->result.rows[ROW_BATCH].written || output->var != row->name || output->naxes > 0)
		return;
	for (uint32_t i = 0; i < spec->noperands; i++)
		if (has_batch_rest(&spec->operands[i])) {
			diag_fix(diags, row->span, "... |", "batch axes stay with a '|' behind");
			return;
		}
}

/* A row variable of a result alone that nothing gave an axis. */
static void warn_result_rows(Solver *s, Diags *diags)
{
	FlatRow f;
	for (size_t i = 0; i < s->result_rows.n; i++) {
		const ResultRow *row = &s->result_rows.at[i];
		row_flatten(s, &(RowTerm){.var = row->var}, &f);
		RowVarId last = rowvar_root(s, row->var);
		/* falls: solved variables to follow */
		while (s->vars.at[last].solved && s->vars.at[last].value.var != NONE)
			last = rowvar_root(s, s->vars.at[last].value.var);
		if (f.nlead + f.ntrail > 0 || !s->vars.at[last].rule)
			continue;
		diag(diags, W0302, row->span,
		     "only the result has '%s', and nothing gives it axes: it is empty",
		     row_name(s, row->name));
		suggest_batch_rest(s, row, diags);
	}
}

/* The use that gave a row its axes; NONE: no use did. */
static ConId giving_use(const Solver *s, NodeId node, RowVarId id)
{
	while (id != NONE) { /* falls: solved variables to follow */
		const RowVar *var = &s->vars.at[id];
		if (var->why != NONE &&
		    (s->cons.at[var->why].node > node || s->cons.at[var->why].written))
			return var->why;
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return NONE;
}

static uint32_t most_axes(Solver *s, const Node *node, int row)
{
	FlatRow f;
	uint32_t most = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		row_flatten(s, &s->rows[node->args[i]][row], &f);
		most = f.nlead + f.ntrail > most ? f.nlead + f.ntrail : most;
	}
	return most;
}

/* A parameter that takes input axes which no tensor beside it has: `(a + {b}) * x` gives them to b
 * where a has none to meet the axes of x. */
static void warn_taken(Solver *s, const Node *node, Diags *diags)
{
	FlatRow f;
	NodeId taker = NODE_NONE;
	bool others = false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		const Node *operand = &s->graph->nodes.at[node->args[i]];
		row_flatten(s, &s->rows[node->args[i]][ROW_INPUT], &f);
		bool open = operand->kind == NODE_PARAM && operand->like == NODE_NONE &&
			    operand->shape->rows[ROW_INPUT].open;
		others |= !open && operand->kind != NODE_NUMBER && operand->kind != NODE_SIZE;
		if (f.nlead + f.ntrail > 0 && !open)
			return;
		if (f.nlead + f.ntrail > 0)
			taker = node->args[i];
	}
	if (!others || taker == NODE_NONE)
		return;
	row_flatten(s, &s->rows[taker][ROW_INPUT], &f);
	diag(diags, W0304, s->graph->nodes.at[taker].name_span,
	     "a later use gives '%s' input axes, %s, that what stands beside it has not",
	     s->graph->nodes.at[taker].name, flat_text(s, &f));
	diag_note(diags, node->op_span,
		  "here; was '.*' meant for '*' in that use? A written shape takes no axes");
}

/* Does a step repeat what it reads along a tensor that it does not give its axes: one number, or
 * one that an earlier step has given axes? */
static bool fills_target(Solver *s, const Node *node, bool *given)
{
	uint32_t most = 0;
	if (node->target == NODE_NONE)
		return false;
	for (int k = 0; k < ROW_KINDS; k++)
		most += most_axes(s, node, k);
	bool fills = most == 0 || given[node->target];
	given[node->target] |= most > 0;
	return fills;
}

/* Axes that are written for a result, and that none of its operands has. */
static void tell_unmade(Solver *s, const Con *con, NodeId id, const FlatRow *f, Diags *diags)
{
	const Node *node = &s->graph->nodes.at[id];
	diag(diags, E0310, con->span,
	     "the %s axes of '%s' are said to be %s here, and no operand of it has as many",
	     row_kind_text(con->row), con->written->name, flat_text(s, f));
	diag_note(diags, node->op_span, "it is computed here");
	for (uint32_t i = 0; i < node->nargs; i++) {
		const Node *operand = &s->graph->nodes.at[node->args[i]];
		if (operand->name && !span_is_none(operand->name_span))
			diag_note(diags, operand->name_span, "'%s' is declared here",
				  operand->name);
	}
}

/* `a * b` of a number a, and to_batch(a) of what has no axis to move: without it a stays as it is. */
static void suggest_unrepeated(Blame *b, const Con *use, RowKind row, Diags *diags)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[use->node];
	if (node->kind == NODE_COMPOSE && row == ROW_INPUT) {
		if (!suggest_turned(b, node))
			diag_fix(diags, node->op_span, ".*",
				 "'*' composes; write '.*' to multiply pointwise");
		return;
	}
	const char *text = source_text(diags->sources, s->arena, node->span);
	if (node->nargs == 1 && row == ROW_OUTPUT && strncmp(text, "to_batch(", 9) == 0)
		diag_fix(diags, node->span,
			 source_text(diags->sources, s->arena, node->arg_spans[0]),
			 "it has no output axis to move, and fits as it is");
}

/* Is an operand a number that a specification gives axes, as many as are asked for? */
static bool spreads_number(const Solver *s, const Node *node)
{
	bool spreads = false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		const Node *operand = &s->graph->nodes.at[node->args[i]];
		const Node *of = operand->kind == NODE_SPEC && operand->nargs == 1
					 ? &s->graph->nodes.at[operand->args[0]]
					 : operand;
		spreads |= of != operand && (of->kind == NODE_NUMBER || of->kind == NODE_SIZE ||
					     of->kind == NODE_SCALAR);
	}
	return spreads;
}

/* Axes that a use gives to a result beyond those of its operands. */
static void warn_repeated(Solver *s, Diags *diags)
{
	FlatRow f;
	bool *given = ARENA_ARRAY(s->arena, bool, s->graph->nodes.n + 1);
	Blame *b = blame_new(s, NULL, diags);
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		if (node->like != NODE_NONE || fills_target(s, node, given) ||
		    spreads_number(s, node))
			continue;
		for (int k = 0; k < ROW_KINDS && node->kind == NODE_POINTWISE; k++) {
			row_flatten(s, &s->rows[id][k], &f);
			uint32_t most = most_axes(s, node, k), n = f.nlead + f.ntrail;
			ConId use = n > most ? giving_use(s, id, s->rows[id][k].var) : NONE;
			if (use == NONE)
				continue;
			if (s->cons.at[use].written) {
				tell_unmade(s, &s->cons.at[use], id, &f, diags);
				continue;
			}
			diag(diags, W0304, s->cons.at[use].span,
			     "this use makes %s repeat along %s axes that its operands do not have: its %s "
			     "axes are %s",
			     tensor_text(s, id, -1), row_kind_text((RowKind)k),
			     row_kind_text((RowKind)k), flat_text(s, &f));
			blame_sites(b, s->cons.at[use].node);
			diag_note(diags,
				  span_is_none(node->name_span) ? node->span : node->name_span,
				  "%s is computed here", tensor_text(s, id, -1));
			if (k == ROW_BATCH)
				warn_batch_givers(s, id, s->cons.at[use].node, most, diags);
			bool composed =
				k == ROW_INPUT && most == 0 &&
				s->graph->nodes.at[s->cons.at[use].node].kind == NODE_COMPOSE;
			if (composed ||
			    most_axes(s, node, ROW_INPUT) + most_axes(s, node, ROW_OUTPUT) == 0)
				suggest_unrepeated(b, &s->cons.at[use], (RowKind)k, diags);
		}
		if (node->kind == NODE_POINTWISE)
			warn_taken(s, node, diags);
	}
}

/* a * b adds up along input axes of a that b does not have, as if b were repeated along them. */
static void warn_summed(Solver *s, Diags *diags)
{
	FlatRow a, b;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		if (node->kind != NODE_COMPOSE || node->like != NODE_NONE)
			continue;
		row_flatten(s, &s->rows[node->args[0]][ROW_INPUT], &a);
		row_flatten(s, &s->rows[node->args[1]][ROW_OUTPUT], &b);
		bool sums = false;
		for (uint32_t i = b.npinned;
		     i + b.nlead + b.ntrail < a.nlead + a.ntrail + b.npinned; i++)
			sums |= !cell_stretches(s, flat_at(&a, i));
		if (!sums)
			continue;
		diag(diags, W0305, node->op_span,
		     "%s has input axes %s, and %s has only output axes %s: the others are added up",
		     tensor_text(s, id, 0), flat_text(s, &a), tensor_text(s, id, 1),
		     flat_text(s, &b));
		diag_note(diags, node->op_span,
			  "'.*' scales; a sum over axes of one operand is a specification");
	}
}

/* By node: does a routine give it out? */
static const bool *results_of(Solver *s)
{
	bool *results = ARENA_ARRAY(s->arena, bool, s->graph->nodes.n + 1);
	for (size_t i = 0; i < s->graph->routines.n; i++) {
		const Routine *routine = &s->graph->routines.at[i];
		for (uint32_t k = 0; k < routine->noutputs; k++)
			results[routine->outputs[k]] = true;
	}
	return results;
}

/* NumPy's x.T as a result: here the only row is another one, and no element moves. */
static void warn_turned(Solver *s, Diags *diags)
{
	const bool *results = results_of(s);
	FlatRow batch, in, out;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		if (node->kind != NODE_TRANSPOSE || !results[id])
			continue;
		row_flatten(s, &s->rows[node->args[0]][ROW_BATCH], &batch);
		row_flatten(s, &s->rows[node->args[0]][ROW_INPUT], &in);
		row_flatten(s, &s->rows[node->args[0]][ROW_OUTPUT], &out);
		if (flat_naxes(&in) > 0 || flat_naxes(&out) != 2)
			continue;
		const char *rows = flat_naxes(&batch) ? "... | " : "";
		diag(diags, W0311, node->span,
		     "%s has no input axes: '.T' makes %s such and moves no element",
		     tensor_text(s, id, 0), flat_text(s, &out));
		diag_fix(diags, node->span,
			 arena_printf(s->arena, "permute(\"%sij => %sji\", %s)", rows, rows,
				      source_text(diags->sources, s->arena, node->arg_spans[0])),
			 "the order of axes is changed by permute");
	}
}

static bool is_required(const Graph *graph, Span span)
{
	bool required = false;
	for (size_t i = 0; i < graph->requires.n; i++) {
		Span r = graph->requires.at[i].span;
		required |= r.file == span.file && r.start == span.start && r.end == span.end;
	}
	return required;
}

/* Where the functions are applied in which a written size has another name. */
static void warn_sites(Blame *b, const Guard *g)
{
	Solver *s = b->s;
	ConId con = g->leaf ? meeting_of(s, s->leaves.at[g->leaf - 1].cell) : NONE;
	if (con != NONE)
		blame_sites(b, s->cons.at[con].node);
}

static void warn_two_dims(Blame *blame, const Guard *g, DimId a, DimId b)
{
	const Sizes *sizes = blame->inference->sizes;
	Diags *diags = blame->diags;
	const Dim *x = sizes_dim(sizes, a), *y = sizes_dim(sizes, b);
	diag(diags, W0401, g->span,
	     "'%s' and '%s' meet here: they must be equal when the "
	     "program runs",
	     y->name, x->name);
	warn_sites(blame, g);
	diag_note(diags, x->span, "'%s' is declared here", x->name);
	diag_note(diags, y->span, "'%s' is declared here", y->name);
	diag_note(diags, g->span, "'require %s == %s' says that it is meant", y->name, x->name);
}

static void warn_number(Blame *b, const Guard *g, DimId dim, int64_t n)
{
	Diags *diags = b->diags;
	const Dim *d = sizes_dim(b->inference->sizes, dim);
	diag(diags, W0401, g->span,
	     "'%s' meets %" PRId64 " here: it must be %" PRId64 " when the program runs", d->name,
	     n, n);
	warn_sites(b, g);
	diag_note(diags, d->span, "'%s' is declared here", d->name);
	diag_note(diags, g->span, "'require %s == %" PRId64 "' says that it is meant", d->name, n);
}

/* Does an operation want a dim to be equal to another, or to a number? */
static bool is_meeting(const Inference *inference, const Guard *g)
{
	const Sizes *sizes = inference->sizes;
	DimId dim;
	int64_t n;
	bool left = size_is_dim(sizes, g->a, &dim), right = size_is_dim(sizes, g->b, &dim);
	return g->kind == GUARD_EQ && !is_required(inference->graph, g->span) &&
	       ((left && right) || (left && size_is_const(sizes, g->b, &n)) ||
		(right && size_is_const(sizes, g->a, &n)));
}

static void warn_meeting(const Inference *inference, Diags *diags, const Guard *g)
{
	const Sizes *sizes = inference->sizes;
	Blame *blame = blame_new(inference->trace->solver, inference, diags);
	DimId a, b;
	int64_t n;
	bool left = size_is_dim(sizes, g->a, &a), right = size_is_dim(sizes, g->b, &b);
	if (left && right)
		warn_two_dims(blame, g, a, b);
	else if (left && size_is_const(sizes, g->b, &n))
		warn_number(blame, g, a, n);
	else if (right && size_is_const(sizes, g->a, &n))
		warn_number(blame, g, b, n);
	explain_meeting(blame, g);
}

static bool same_place(const Guard *g, const Guard *h)
{
	return g->span.file == h->span.file && g->span.start == h->span.start &&
	       g->span.end == h->span.end;
}

/* A slip as often as an intention. Of several at one place the first is the warning. */
static void warn_dims(const Inference *inference, Diags *diags)
{
	const Guard *all = inference->guards.at;
	size_t n = inference->guards.n;
	for (size_t i = 0; i < n; i++) {
		bool told = all[i].given || !is_meeting(inference, &all[i]);
		for (size_t k = 0; k < i && !told; k++)
			told = same_place(&all[k], &all[i]) && is_meeting(inference, &all[k]);
		if (told)
			continue;
		warn_meeting(inference, diags, &all[i]);
		for (size_t k = i + 1; k < n; k++) {
			if (same_place(&all[k], &all[i]) && is_meeting(inference, &all[k]))
				diag_note(diags, all[k].span, "%s and %s meet here too",
					  size_text(diags->arena, inference->sizes, all[k].a),
					  size_text(diags->arena, inference->sizes, all[k].b));
		}
	}
}

/* ---- checks that leave a dim one value ---- */

enum { TRIED_DIMS = 3 };
static const int64_t tried[] = {1, 2, 3, 4, 6, 12};
enum { TRIED = sizeof tried / sizeof *tried };

static bool guard_is_met(const Sizes *sizes, const Guard *g, const int64_t *values)
{
	int64_t a, b;
	if (!size_eval(sizes, g->a, values, &a) || !size_eval(sizes, g->b, values, &b))
		return false;
	switch (g->kind) {
	case GUARD_EQ: return a == b;
	case GUARD_GE: return a >= b;
	case GUARD_DIVIDES: return b != 0 && a % b == 0;
	}
	return false;
}

/* The dim that is 1 wherever the guard holds, of dims that are not 0; NONE: there is none. `values`
 * is by DimId. */
static DimId dim_of_one(const Solver *s, const Guard *g, int64_t *values)
{
	DimId dims[TRIED_DIMS];
	uint32_t n = 0, cases = 1, met = 0, ones[TRIED_DIMS] = {0};
	for (DimId d = 0; d < sizes_ndims(s->sizes); d++) {
		if (!size_uses_dim(s->sizes, g->a, d) && !size_uses_dim(s->sizes, g->b, d))
			continue;
		if (n == TRIED_DIMS)
			return NONE;
		dims[n++] = d;
		cases *= TRIED;
	}
	for (uint32_t at = 0; at < cases; at++) {
		for (uint32_t i = 0, rest = at; i < n; i++, rest /= TRIED)
			values[dims[i]] = tried[rest % TRIED];
		if (!guard_is_met(s->sizes, g, values))
			continue;
		met++;
		for (uint32_t i = 0; i < n; i++)
			ones[i] += values[dims[i]] == 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (met > 0 && ones[i] == met)
			return dims[i];
	}
	return NONE;
}

static void warn_ones(Solver *s, const Inference *inference, Diags *diags)
{
	int64_t *values = ARENA_ARRAY(s->arena, int64_t, sizes_ndims(s->sizes) + 1);
	for (size_t i = 0; i < inference->guards.n; i++) {
		const Guard *g = &inference->guards.at[i];
		DimId d = dim_of_one(s, g, values);
		bool told = g->kind == GUARD_EQ &&
			    (size_is(s->sizes, g->a, 1) || size_is(s->sizes, g->b, 1));
		if (d == NONE || told || g->given || is_required(inference->graph, g->span))
			continue;
		const Dim *dim = sizes_dim(s->sizes, d);
		diag(diags, W0402, g->span, "this holds only where '%s' is 1: %s", dim->name,
		     g->text);
		diag_note(diags, dim->span, "'%s' is declared here", dim->name);
		diag_note(diags, g->span, "'require %s == 1' says that it is meant", dim->name);
	}
}

void warn_chosen(const Inference *inference, Diags *diags)
{
	Solver *s = inference->trace->solver;
	warn_letters(s, diags);
	warn_result_rows(s, diags);
	warn_axes(s, diags);
	warn_repeated(s, diags);
	warn_summed(s, diags);
	warn_turned(s, diags);
	warn_specs(s, diags);
	warn_dims(inference, diags);
	warn_ones(s, inference, diags);
}
