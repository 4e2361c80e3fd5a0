/* Warnings of a finished solution: sizes and rows that nothing determines. */
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
		if (!l->only_result && s->graph->nodes.at[l->node].used)
			warn_step_letter(s, l, diags);
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
	diag_note(
		diags, node->op_span,
		"it is computed here, and nothing repeats to fit a written shape; a specification makes axes: "
		"sum(\" => i\", a) with (i = n)");
	for (uint32_t i = 0; i < node->nargs; i++) {
		const Node *operand = &s->graph->nodes.at[node->args[i]];
		if (operand->name && !span_is_none(operand->name_span))
			diag_note(diags, operand->name_span, "'%s' is declared here",
				  operand->name);
	}
}

/* Is it computed of numbers, sizes and scalars alone? `numbers`: of the nodes before it. */
static bool is_of_numbers(const Node *node, const bool *numbers)
{
	bool leaf = node->kind == NODE_NUMBER || node->kind == NODE_SIZE ||
		    node->kind == NODE_SCALAR,
	     all = node->kind == NODE_POINTWISE && node->target == NODE_NONE;
	for (uint32_t i = 0; i < node->nargs; i++)
		all = all && numbers[node->args[i]];
	return leaf || all;
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
	bool *given = ARENA_ARRAY(s->arena, bool, s->graph->nodes.n + 1),
	     *numbers = ARENA_ARRAY(s->arena, bool, s->graph->nodes.n + 1);
	Blame *b = blame_new(s, NULL, diags);
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		numbers[id] = is_of_numbers(node, numbers);
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
				if (!numbers[id])
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
}
