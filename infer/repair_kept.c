/* The repair of operands without a place for an axis: s / sum("i, j => i", s), gate .* experts.
 *
 * Axes meet from the right, so what is left of the sum meets other axes than those it came from. A
 * 0 in the result keeps the place of an axis that is reduced. It is offered where each axis of the
 * operand would then meet one of its size, through operations on the sum and numbers alone. A
 * tensor whose axes are the first ones of the other's gets such zeros by a sum of its own.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"

#include <string.h>

enum { LETTERS = 26 };

static bool is_number(const Node *node)
{
	return node->kind == NODE_NUMBER || node->kind == NODE_SIZE || node->kind == NODE_SCALAR;
}

/* Is it a specification of one operand that stands in the program, not one that a form such as to_batch(x) is? */
static bool is_written_sum(const Node *node)
{
	return node->kind == NODE_SPEC && node->nargs == 1 &&
	       node->spec->span.start != node->span.start;
}

/* The sum that the tensor is computed from, element by element, or NODE_NONE. */
static NodeId sum_below(const Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	while (node->kind == NODE_POINTWISE || node->kind == NODE_CAST) { /* falls: the id */
		NodeId below = NODE_NONE;
		for (uint32_t i = 0; i < node->nargs; i++) {
			if (is_number(&s->graph->nodes.at[node->args[i]]))
				continue;
			if (below != NODE_NONE && below != node->args[i])
				return NODE_NONE;
			below = node->args[i];
		}
		if (below == NODE_NONE)
			return NODE_NONE;
		id = below;
		node = &s->graph->nodes.at[id];
	}
	return is_written_sum(node) ? id : NODE_NONE;
}

/* The size of an axis, as `leaf` writes it where it is that one. */
static Size written(Solver *s, CellId cell, const Leaf *leaf)
{
	bool same = leaf && cell_root(s, cell) == cell_root(s, leaf->cell);
	return same ? leaf->size : cell_value(s, cell);
}

/* The axes as they are written, with a 0 for each axis of `wanted` that none of them fits, from the
 * left; NULL where some fit nowhere, or a 0 would stand inside a row variable. */
static const char *kept_text(Blame *b, const Spec *spec, const SpecRow *row, const FlatRow *axes,
			     const FlatRow *wanted, const Leaf *leaf)
{
	Solver *s = b->s;
	uint32_t n = axes->nlead + axes->ntrail, nwanted = wanted->nlead + wanted->ntrail, i = 0;
	uint32_t var = row->var_at < 0 ? n : (uint32_t)row->var_at, nvar = n - row->naxes;
	const char *text = "", *between = spec->single_letters ? "" : ", ";
	bool zero = false;
	for (uint32_t k = 0; k < nwanted; k++) {
		bool fits = i < n && size_same(written(s, flat_at(axes, i), leaf),
					       written(s, flat_at(wanted, k), leaf));
		bool inside = i > var && i < var + nvar;
		if (!fits && (inside || (zero && spec->single_letters))) /* 00 is one index */
			return NULL;
		const SpecAxis *axis = i < var ? &row->axes[i] : &row->axes[i - nvar];
		const char *piece = !fits ? "0"
				    : i < var || i >= var + nvar
					    ? source_text(b->diags->sources, s->arena, axis->span)
					    : row_name(s, row->var);
		if (!(fits && inside))
			text = arena_printf(s->arena, "%s%s%s", text, *text ? between : "", piece);
		zero = !fits;
		i += fits;
	}
	return i == n ? text : NULL;
}

static bool is_closed(const FlatRow *f) { return f->var == NONE; }

/* Are the first axes of `b` those of `a`? */
static bool begins(Solver *s, const FlatRow *a, const FlatRow *b, const Leaf *leaf)
{
	bool same =
		is_closed(a) && is_closed(b) && flat_naxes(a) > 0 && flat_naxes(a) <= flat_naxes(b);
	for (uint32_t i = 0; same && i < flat_naxes(a); i++)
		same = !size_is_bad(cell_value(s, flat_at(b, i))) &&
		       size_same(written(s, flat_at(a, i), leaf), written(s, flat_at(b, i), leaf));
	return same;
}

/* "a, b, c" */
static const char *first_letters(Solver *s, uint32_t n)
{
	const char *text = "a";
	for (uint32_t i = 1; i < n; i++)
		text = arena_printf(s->arena, "%s, %c", text, (char)('a' + i));
	return text;
}

static const char *zeros(Solver *s, const char *text, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		text = arena_printf(s->arena, "%s, 0", text);
	return text;
}

/* x / sum("n | i => n", x): batch axes that became output axes. */
static bool suggest_bar(Blame *b, NodeId sum, NodeId other, const Leaf *leaf)
{
	Solver *s = b->s;
	const Spec *spec = s->graph->nodes.at[sum].spec;
	FlatRow axes, batch, out;
	row_flatten(s, &s->rows[sum][ROW_OUTPUT], &axes);
	row_flatten(s, &s->rows[other][ROW_BATCH], &batch);
	row_flatten(s, &s->rows[other][ROW_OUTPUT], &out);
	if (spec->result.rows[ROW_BATCH].written || spec->result.rows[ROW_INPUT].written ||
	    flat_naxes(&axes) != flat_naxes(&batch) || !begins(s, &axes, &batch, leaf) ||
	    !is_closed(&out) || (spec->single_letters && flat_naxes(&out) > 1))
		return false;
	const char *text = source_text(b->diags->sources, s->arena, spec->result.span);
	text = arena_printf(s->arena, "%s |%s", text, flat_naxes(&out) ? " 0" : "");
	diag_fix(b->diags, spec->result.span,
		 zeros(s, text, flat_naxes(&out) ? flat_naxes(&out) - 1 : 0),
		 "'|' stands behind batch axes; 0 keeps the place of an axis that is reduced");
	return true;
}

/* g .* e where the axes of g are the first ones of e. */
static bool suggest_lead(Blame *b, const Con *con, int32_t arg, NodeId other, const Leaf *leaf)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[con->node];
	const Node *operand = &s->graph->nodes.at[node->args[arg]];
	FlatRow own, wanted, batch, in;
	row_flatten(s, &s->rows[node->args[arg]][ROW_OUTPUT], &own);
	row_flatten(s, &s->rows[other][ROW_OUTPUT], &wanted);
	row_flatten(s, &s->rows[node->args[arg]][ROW_BATCH], &batch);
	row_flatten(s, &s->rows[node->args[arg]][ROW_INPUT], &in);
	if (con->row != ROW_OUTPUT || !operand->name || flat_naxes(&own) == flat_naxes(&wanted) ||
	    flat_naxes(&own) > LETTERS || !begins(s, &own, &wanted, leaf))
		return false;
	const char *letters = first_letters(s, flat_naxes(&own));
	const char *rows = arena_printf(s->arena, "%s%s", flat_naxes(&batch) ? "... | " : "",
					flat_naxes(&in) ? "... -> " : "");
	diag_fix(b->diags, node->arg_spans[arg],
		 arena_printf(s->arena, "sum(\"%s%s => %s%s\", %s)", rows, letters, rows,
			      zeros(s, letters, flat_naxes(&wanted) - flat_naxes(&own)),
			      source_text(b->diags->sources, s->arena, node->arg_spans[arg])),
		 "axes meet from the right: a 0 behind those of '%s' lets them meet the first ones",
		 operand->name);
	return true;
}

/* x of the text of to_output(x), where the call is all of it; NULL: it is none. */
static const char *to_output_operand(Arena *arena, const char *text)
{
	static const char call[] = "to_output(";
	if (strncmp(text, call, strlen(call)) != 0)
		return NULL;
	const char *operand = text + strlen(call), *at = operand;
	for (int depth = 1; *at && depth > 0; at++)
		depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
	return *at ? NULL : arena_strndup(arena, operand, (size_t)(at - operand) - 1);
}

const char *to_batch_text(const Blame *b, Span span, uint32_t n)
{
	const char *text = source_text(b->diags->sources, b->s->arena, span);
	const char *moved = n == 1 ? to_output_operand(b->s->arena, text) : NULL;
	if (moved)
		return moved;
	for (uint32_t i = 0; i < n; i++)
		text = arena_printf(b->s->arena, "to_batch(%s)", text);
	return text;
}

/* x + b where b : [n] has the axes that are the batch of x : [n | 4]. */
static bool suggest_member(Blame *b, const Con *con, int32_t arg, NodeId other, const Leaf *leaf)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[con->node];
	FlatRow own, batch, wanted;
	row_flatten(s, &s->rows[node->args[arg]][ROW_OUTPUT], &own);
	row_flatten(s, &s->rows[node->args[arg]][ROW_BATCH], &batch);
	row_flatten(s, &s->rows[other][ROW_BATCH], &wanted);
	uint32_t n = flat_naxes(&own);
	if (con->row != ROW_OUTPUT || n == 0 || n > BATCH_MEANT || n != flat_naxes(&wanted) ||
	    batch.var != NONE || flat_naxes(&batch) > 0 || !begins(s, &own, &wanted, leaf))
		return false;
	diag_fix(b->diags, node->arg_spans[arg], to_batch_text(b, node->arg_spans[arg], n),
		 "batch axes meet batch axes: they are declared before a '|', or made by to_batch");
	return true;
}

static bool suggest_for(Blame *b, const Con *con, NodeId operand, NodeId other, const Leaf *leaf)
{
	Solver *s = b->s;
	NodeId sum = sum_below(s, operand);
	if (sum == NODE_NONE)
		return false;
	FlatRow axes, wanted;
	const Spec *spec = s->graph->nodes.at[sum].spec;
	const SpecRow *row = &spec->result.rows[con->row];
	row_flatten(s, &s->rows[sum][con->row], &axes);
	row_flatten(s, &s->rows[other][con->row], &wanted);
	uint32_t n = axes.nlead + axes.ntrail;
	if (con->row == ROW_OUTPUT && suggest_bar(b, sum, other, leaf))
		return true;
	if (axes.var != NONE || wanted.var != NONE || n == 0 || !row->written || n < row->naxes ||
	    n >= wanted.nlead + wanted.ntrail)
		return false;
	const char *text = kept_text(b, spec, row, &axes, &wanted, leaf);
	if (text)
		diag_fix(b->diags, row->span, text,
			 "axes meet from the right: 0 keeps the place of an axis that is reduced");
	return text != NULL;
}

bool suggest_kept(Blame *b, const Con *con, const Leaf *leaf)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[con->node];
	NodeId own = node->args[con->arg];
	NodeId other = node->nargs == 2 ? node->args[con->arg == 0] : con->node;
	return suggest_for(b, con, own, other, leaf) ||
	       (node->nargs == 2 && suggest_for(b, con, other, own, leaf)) ||
	       (node->nargs == 2 && (suggest_member(b, con, con->arg, other, leaf) ||
				     suggest_member(b, con, con->arg == 0, own, leaf) ||
				     suggest_lead(b, con, con->arg, other, leaf) ||
				     suggest_lead(b, con, con->arg == 0, own, leaf)));
}

/* w * reshape(x), whose batch axes would have to be 1: a specification has one more. */
void suggest_batch(Blame *b, CellId cell)
{
	Solver *s = b->s;
	const Why *why = &cell_at(s, cell)->why;
	const Con *con = why->kind == WHY_RELATION ? &s->cons.at[why->con] : NULL;
	FlatRow batch, out, in;
	if (!con || con->kind != CON_PRODUCT || con->arg < 0 ||
	    s->graph->nodes.at[con->node].kind != NODE_RESHAPE ||
	    !size_is(s->sizes, cell_value(s, cell), 1))
		return;
	row_flatten(s, &s->rows[con->node][ROW_BATCH], &batch);
	row_flatten(s, &s->rows[con->node][ROW_OUTPUT], &out);
	row_flatten(s, &s->rows[con->node][ROW_INPUT], &in);
	if (flat_naxes(&batch) + flat_naxes(&in) > 0 || flat_naxes(&out) == 0 ||
	    flat_naxes(&out) > LETTERS)
		return;
	const char *letters = first_letters(s, flat_naxes(&out));
	Span span = s->graph->nodes.at[con->node].span;
	const char *text = source_text(b->diags->sources, s->arena, span);
	diag_fix(
		b->diags, span,
		arena_printf(s->arena, "sum(\"n | %s => n | %s\", %s)", letters, letters, text),
		"'reshape' has the axes that its use asks for: a specification asks for a batch axis");
}
