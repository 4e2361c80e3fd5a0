/* The repair of a sum that lost the place of its axis: s / sum("i, j => i", s).
 *
 * Axes meet from the right, so what is left of the sum meets other axes than those it came from. A
 * 0 in the result keeps the place of an axis that is reduced. It is offered where each axis of the
 * operand would then meet one of its size, through operations on the sum and numbers alone.
 */
#include "infer/trace.h"

#include <string.h>

static bool is_number(const Node *node)
{
	return node->kind == NODE_NUMBER || node->kind == NODE_SIZE || node->kind == NODE_SCALAR;
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
	return node->kind == NODE_SPEC && node->nargs == 1 ? id : NODE_NONE;
}

/* The size of an axis, as `leaf` writes it where it is that one. */
static Size written(Solver *s, CellId cell, const Leaf *leaf)
{
	bool same = leaf && cell_root(s, cell) == cell_root(s, leaf->cell);
	return same ? leaf->size : cell_value(s, cell);
}

/* The axes as they are written, with a 0 for each axis of `wanted` that none of them fits, from the
 * left; NULL where some fit nowhere, or a 0 would stand inside a row variable. */
static const char *row_text(Solver *s, const Spec *spec, const SpecRow *row, const FlatRow *axes,
			    const FlatRow *wanted, const Leaf *leaf)
{
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
					    ? source_text(s->diags->sources, s->arena, axis->span)
					    : arena_printf(s->arena, "..%s..", row->var);
		if (!(fits && inside))
			text = arena_printf(s->arena, "%s%s%s", text, *text ? between : "", piece);
		zero = !fits;
		i += fits;
	}
	return i == n ? text : NULL;
}

static bool suggest_for(Solver *s, const Con *con, NodeId operand, NodeId other, const Leaf *leaf)
{
	NodeId sum = sum_below(s, operand);
	if (sum == NODE_NONE)
		return false;
	FlatRow axes, wanted;
	const Spec *spec = s->graph->nodes.at[sum].spec;
	const SpecRow *row = &spec->result.rows[con->row];
	row_flatten(s, &s->rows[sum][con->row], &axes);
	row_flatten(s, &s->rows[other][con->row], &wanted);
	uint32_t n = axes.nlead + axes.ntrail;
	if (axes.var != NONE || wanted.var != NONE || n == 0 || row->naxes == 0 || n < row->naxes ||
	    n >= wanted.nlead + wanted.ntrail)
		return false;
	const char *text = row_text(s, spec, row, &axes, &wanted, leaf);
	if (text)
		diag_fix(s->diags, row->span, text,
			 "axes meet from the right: 0 keeps the place of an axis that is reduced");
	return text != NULL;
}

bool suggest_kept(Solver *s, const Con *con, const Leaf *leaf)
{
	const Node *node = &s->graph->nodes.at[con->node];
	NodeId own = node->args[con->arg];
	NodeId other = node->nargs == 2 ? node->args[con->arg == 0] : con->node;
	return suggest_for(s, con, own, other, leaf) ||
	       (node->nargs == 2 && suggest_for(s, con, other, own, leaf));
}

void explain_meeting(Solver *s, const Guard *g)
{
	if (!s->diags || g->leaf == 0)
		return;
	const Leaf *leaf = &s->leaves.at[g->leaf - 1];
	ConId con = meeting_of(s, leaf->cell);
	Origin origin = origin_near(s, leaf->cell);
	if (!span_is_none(origin.span))
		diag_note(s->diags, origin.span, "%s comes from here",
			  size_text(s->arena, s->sizes, cell_value(s, leaf->cell)));
	if (is_pointwise_operand(s, con))
		suggest_kept(s, &s->cons.at[con], leaf);
}
