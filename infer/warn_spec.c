/* Warnings of specifications that compute something, where often a slip was made: letters of the
 * result alone, letters of one operand alone, rows that are left out, a concat that does more than
 * put operands one after another.
 *
 * A specification is looked at once, however often the function that it stands in is applied. What
 * is of one element, or none, repeats nothing and adds nothing up; a letter that `with` gives a
 * size is meant.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/warn.h"

#include <stb/stb_ds.h>
#include <string.h>

typedef struct SpecWarner {
	Solver *s;
	Diags *diags;
	NodeId id;
	const Node *node;
	const Spec *spec;
} SpecWarner;

typedef struct SeenSpan {
	uint64_t key;
	char value;
} SeenSpan;

/* ---- letters ---- */

static bool is_bound(const Solver *s, NodeId id, Sym letter)
{
	for (uint32_t b = s->first_bind[id]; b != NONE; b = s->next_bind[b]) {
		if (s->graph->binds.at[b].letter == letter && s->graph->binds.at[b].size)
			return true;
	}
	return false;
}

static bool is_several(Solver *s, CellId cell)
{
	int64_t size;
	return !size_is_const(s->sizes, cell_value(s, cell), &size) || size > 1;
}

/* ---- letters of the result alone ---- */

static const Namesake *namesake_of(const Solver *s, const LetterCell *l)
{
	const Namesake *all = s->graph->namesakes.at;
	size_t from = 0, to = s->graph->namesakes.n, n = to;
	while (from < to) { /* falls: those that may be the node's first */
		size_t middle = from + (to - from) / 2;
		if (all[middle].node < l->node)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < n && all[from].node == l->node; from++) {
		if (all[from].letter == l->letter)
			return &all[from];
	}
	return NULL;
}

static void note_size(Solver *s, const LetterCell *l, const Node *node, Diags *diags)
{
	if (node->target != NODE_NONE) /* a step has no `with` */
		diag_note(diags, node->span, "'%s' is %s here", l->letter,
			  cell_size_text(s, l->cell));
	else
		diag_note(diags, node->span, "'%s' is %s here; 'with (%s = ...)' says what is meant",
			  l->letter, cell_size_text(s, l->cell), l->letter);
}

/* In a step, or in the steps of a loop; `axis` has the letter. */
static void suggest_place(Solver *s, const LetterCell *l, const SpecAxis *axis, Diags *diags)
{
	const Spec *spec = s->graph->nodes.at[l->node].spec;
	long long offset = axis && axis->kind == SPEC_AFFINE && !axis->kernel ? axis->offset : 0;
	const char *place = arena_printf(s->arena, "%lld + %s", offset, l->letter);
	if (spec->single_letters)
		diag_note(diags, l->span, "between commas, '%s' is the place that it says", place);
	else
		diag_fix(diags, l->span, place, "'%s' is the place that it says", place);
}

/* "i, k => i" in steps k: every k is added up in each of them. */
void warn_step_letter(Solver *s, const LetterCell *l, Diags *diags)
{
	const Graph *graph = s->graph;
	const Node *node = &graph->nodes.at[l->node];
	const Namesake *same = namesake_of(s, l);
	const GraphLoop *loop = NULL;
	const SpecAxis *axis = NULL;
	uint32_t operands = 0;
	for (uint32_t i = 0; same && i < node->spec->noperands; i++) {
		const SpecAxis *has = spec_axis_of(&node->spec->operands[i], l->letter);
		operands += has != NULL;
		axis = has ? has : axis;
	}
	for (size_t i = 1; i < graph->loops.n && operands == 1; i++)
		if (span_same(graph->loops.at[i].name_span, same->span))
			loop = &graph->loops.at[i];
	if (!loop || spec_tensor_has(&node->spec->result, l->letter) ||
	    is_bound(s, l->node, l->letter) ||
	    !size_same(size_as_number(s, loop->count), cell_value(s, l->cell)))
		return;
	diag(diags, W0310, l->span,
	     "'%s' is a letter, along which all is added up, and not the step '%s'", l->letter,
	     l->letter);
	diag_note(diags, same->span, "'%s' is declared here", l->letter);
	suggest_place(s, l, axis, diags);
}

/* The texts name no size: a function is told once, however many it has. */
bool warn_result_letter(Solver *s, const LetterCell *l, bool chosen, Diags *diags)
{
	const Node *node = &s->graph->nodes.at[l->node];
	const Namesake *same = namesake_of(s, l);
	if (!l->only_result || is_bound(s, l->node, l->letter))
		return false;
	if (same && same->size && size_same(size_as_number(s, same->size), cell_value(s, l->cell)))
		return true;
	if (same) {
		diag(diags, W0310, l->span,
		     "'%s' is a letter, which only this result has, and not the %s '%s'", l->letter,
		     same->size ? "size" : "scalar", l->letter);
		diag_note(diags, same->span, "'%s' is declared here", l->letter);
		note_size(s, l, node, diags);
		if (node->target != NODE_NONE && same->place)
			suggest_place(s, l, NULL, diags);
		return true;
	}
	const SpecAxis *axis = spec_axis_of(&node->spec->result, l->letter);
	if (node->target != NODE_NONE)
		return false; /* a step repeats along what it assigns to */
	if (axis && axis->bracketed)
		return false; /* indices say which of its cells are met */
	if (!chosen && is_several(s, l->cell)) {
		diag(diags, W0306, l->span,
		     "only the result has '%s': it is the same all along it, as far as a use asks for",
		     l->letter);
		note_size(s, l, node, diags);
	}
	return !chosen;
}

/* ---- letters of one operand alone ---- */

static bool is_in_another(const SpecWarner *w, uint32_t operand, Sym letter)
{
	for (uint32_t i = 0; i < w->spec->noperands && !w->node->joins; i++) {
		if (i != operand && spec_tensor_has(&w->spec->operands[i], letter))
			return true;
	}
	return spec_tensor_has(&w->spec->result, letter);
}

static CellId axis_cell(const SpecWarner *w, uint32_t operand, int k, uint32_t axis)
{
	FlatRow f;
	const SpecRow *row = &w->spec->operands[operand].rows[k];
	row_flatten(w->s, &w->s->rows[w->node->args[operand]][k], &f);
	uint32_t n = f.nlead + f.ntrail;
	if (n < row->naxes)
		return NONE;
	bool before = row->var_at < 0 || axis < (uint32_t)row->var_at;
	return flat_at(&f, before ? axis : axis + n - row->naxes);
}

static bool adds_axis(const SpecWarner *w, uint32_t operand, int k, uint32_t axis)
{
	CellId cell = axis_cell(w, operand, k, axis);
	return cell != NONE && is_several(w->s, cell);
}

/* Letters that nothing but the operand has: no other one of a product, and not the result. */
static const SpecAxis *added_axis(const SpecWarner *w, uint32_t operand, int k, uint32_t i)
{
	const SpecTensor *tensor = &w->spec->operands[operand];
	const SpecAxis *axis = &tensor->rows[k].axes[i];
	bool added = axis->kind == SPEC_LETTER && spec_axis_of(tensor, axis->letter) == axis &&
		     !is_in_another(w, operand, axis->letter) &&
		     !is_bound(w->s, w->id, axis->letter) && adds_axis(w, operand, k, i);
	return added ? axis : NULL;
}

/* Such a letter of an operand behind this one, of the same size: the same letter was meant, perhaps. */
static void suggest_same(const SpecWarner *w, uint32_t operand, const SpecAxis *axis, CellId cell)
{
	for (uint32_t other = operand + 1; other < w->spec->noperands; other++)
		for (int k = 0; k < ROW_KINDS; k++)
			for (uint32_t i = 0; i < w->spec->operands[other].rows[k].naxes; i++) {
				const SpecAxis *same = added_axis(w, other, k, i);
				if (!same ||
				    !size_same(cell_value(w->s, cell),
					       cell_value(w->s, axis_cell(w, other, k, i))))
					continue;
				diag_fix(w->diags, same->span, axis->letter,
					 "it would meet '%s' of operand %u, of the same size",
					 same->letter, other + 1);
				return;
			}
}

static void tell_added(const SpecWarner *w, uint32_t operand, const SpecAxis *axis, CellId cell)
{
	if (w->node->joins)
		diag(w->diags, W0308, axis->span,
		     "the result has no '%s': this operand is added up along it", axis->letter);
	else
		diag(w->diags, W0307, axis->span,
		     "only this operand has '%s': it is added up along it by itself", axis->letter);
	diag_note(w->diags, w->spec->operands[operand].span, "this operand");
	if (!w->node->joins)
		suggest_same(w, operand, axis, cell);
}

static void warn_added(const SpecWarner *w, uint32_t operand)
{
	const SpecTensor *tensor = &w->spec->operands[operand];
	for (int k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++) {
			const SpecAxis *axis = added_axis(w, operand, k, i);
			if (axis)
				tell_added(w, operand, axis, axis_cell(w, operand, k, i));
		}
}

/* ---- what a concat repeats ---- */

static void tell_repeated(const SpecWarner *w, uint32_t operand, const char *name, Span span)
{
	diag(w->diags, W0308, w->spec->operands[operand].span,
	     "this operand has no '%s': it is repeated along it", name);
	diag_note(w->diags, span, "the result has it here");
}

static bool has_row(const SpecTensor *tensor, Sym var)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		if (tensor->rows[k].var_at >= 0 && tensor->rows[k].var == var)
			return true;
	}
	return false;
}

/* An operand that lacks the batch's `...` is one for all members, as a class token is. */
static void warn_repeated_row(const SpecWarner *w, uint32_t operand, int k)
{
	FlatRow f;
	const SpecTensor *tensor = &w->spec->operands[operand];
	const SpecRow *row = &w->spec->result.rows[k];
	row_flatten(w->s, &w->s->rows[w->id][k], &f);
	uint32_t n = f.nlead + f.ntrail;
	if (k != ROW_BATCH && row->var_at >= 0 && n > row->naxes && !has_row(tensor, row->var))
		tell_repeated(w, operand, row_name(w->s, row->var), row->span);
	for (uint32_t i = 0; i < row->naxes && n >= row->naxes; i++) {
		const SpecAxis *axis = &row->axes[i];
		bool before = row->var_at < 0 || i < (uint32_t)row->var_at;
		CellId cell = flat_at(&f, before ? i : i + n - row->naxes);
		if (axis->kind == SPEC_LETTER && !spec_tensor_has(tensor, axis->letter) &&
		    !is_bound(w->s, w->id, axis->letter) && is_several(w->s, cell))
			tell_repeated(w, operand, axis->letter, axis->span);
	}
}

/* ---- rows that are left out ---- */

static bool result_has_axes(const SpecWarner *w)
{
	FlatRow f;
	uint32_t n = 0;
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(w->s, &w->s->rows[w->id][k], &f);
		n += f.nlead + f.ntrail;
	}
	return n > 0;
}

/* `...` has the name of its row's kind. A result without axes leaves out all there is. */
static void warn_rows(const SpecWarner *w)
{
	FlatRow f;
	for (uint32_t operand = 0; operand < w->spec->noperands; operand++) {
		for (int k = 0; k < ROW_KINDS; k++) {
			const SpecRow *row = &w->spec->operands[operand].rows[k];
			row_flatten(w->s, &w->s->rows[w->node->args[operand]][k], &f);
			uint32_t n = f.nlead + f.ntrail;
			if (row->var_at < 0 || strcmp(row->var, row_kind_text((RowKind)k)) != 0 ||
			    has_row(&w->spec->result, row->var) || n <= row->naxes)
				continue;
			diag(w->diags, W0309, row->span,
			     "the result has no '...': the %s axes under it are added up, %s",
			     row_kind_text((RowKind)k), flat_text(w->s, &f));
			return;
		}
	}
}

/* ---- all of them ---- */

static bool is_new(SeenSpan **seen, Span span)
{
	uint64_t key = (uint64_t)span.file << 32 | span.start;
	bool fresh = hmgeti(*seen, key) < 0;
	hmput(*seen, key, 1);
	return fresh;
}

static void warn_spec(const SpecWarner *w)
{
	bool product = w->node->kind == NODE_SPEC && w->node->op == OP_MUL &&
		       w->spec->noperands > 1 && w->node->target == NODE_NONE;
	for (uint32_t i = 0; i < w->spec->noperands; i++) {
		if (product || w->node->joins)
			warn_added(w, i);
		for (int k = 0; k < ROW_KINDS && w->node->joins; k++)
			warn_repeated_row(w, i, k);
	}
	if (result_has_axes(w))
		warn_rows(w);
}

void warn_specs(Solver *s, Diags *diags)
{
	SeenSpan *seen = NULL;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		bool computes = node->kind == NODE_SPEC || node->kind == NODE_BLOCK;
		if (!node->used || !computes || node->permutes || !is_new(&seen, node->spec->span))
			continue;
		SpecWarner w = {s, diags, id, node, node->spec};
		warn_spec(&w);
	}
	hmfree(seen);
}
