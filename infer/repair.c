/* Repairs of pointwise operands: what would fit if rows or axes changed places.
 *
 * In the order in which they are tried, the simpler first: `.T`, or none, where the sizes of the
 * input row are those that the output row should have and the other way round; two axes of one row,
 * as a `permute` that is written out; the 0 of a sum (repair_kept.c); `*` for `.*`.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"

enum { LETTERS = 26 };

/* A row of the operand; false unless it is closed. */
static bool closed_row(Solver *s, const Con *con, RowKind row, FlatRow *opnd)
{
	NodeId operand = s->graph->nodes.at[con->node].args[con->arg];
	row_flatten(s, &s->rows[operand][row], opnd);
	return opnd->var == NONE;
}

static bool same_sizes(Solver *s, const FlatRow *a, const FlatRow *b)
{
	bool same = flat_naxes(a) == flat_naxes(b);
	for (uint32_t i = 0; same && i < flat_naxes(a); i++) {
		Size x = cell_value(s, flat_at(a, i));
		same = !size_is_bad(x) && size_same(x, cell_value(s, flat_at(b, i)));
	}
	return same;
}

/* The tensor whose rows the operand should have: the other one of two, else the result. */
static NodeId wanted_of(Solver *s, const Con *con)
{
	const Node *node = &s->graph->nodes.at[con->node];
	return node->nargs == 2 ? node->args[con->arg == 0] : con->node;
}

static bool suggest_transpose(Blame *b, const Con *con, const Node *operand)
{
	Solver *s = b->s;
	FlatRow in, out, own_in, own_out;
	NodeId wanted = wanted_of(s, con);
	bool turned = operand->kind == NODE_TRANSPOSE && !operand->name;
	Sym name = turned ? s->graph->nodes.at[operand->args[0]].name : operand->name;
	row_flatten(s, &s->rows[wanted][ROW_INPUT], &in);
	row_flatten(s, &s->rows[wanted][ROW_OUTPUT], &out);
	if (!name || !closed_row(s, con, ROW_INPUT, &own_in) ||
	    !closed_row(s, con, ROW_OUTPUT, &own_out) || flat_naxes(&own_in) == 0 ||
	    !same_sizes(s, &in, &own_out) || !same_sizes(s, &out, &own_in))
		return false;
	if (turned)
		diag_fix(b->diags, con->span, name, "the sizes would fit without '.T'");
	else
		diag_fix(b->diags, con->span, arena_printf(s->arena, "%s.T", name),
			 "the sizes would fit with the rows of '%s' changing places", name);
	mend_row(b, con->node, ROW_INPUT);
	mend_row(b, con->node, ROW_OUTPUT);
	return true;
}

/* "... | " or "... -> ", where the operand has such axes. */
static const char *rest_text(Solver *s, NodeId operand, RowKind row)
{
	FlatRow f;
	row_flatten(s, &s->rows[operand][row], &f);
	if (flat_naxes(&f) == 0)
		return "";
	return row == ROW_BATCH ? "... | " : "... -> ";
}

static void letters(char *to, uint32_t n, uint32_t i, uint32_t j)
{
	for (uint32_t k = 0; k < n; k++)
		to[k] = (char)('a' + (k == i ? j : k == j ? i : k));
	to[n] = '\0';
}

static void suggest_permute(Blame *b, const Con *con, const Node *operand, uint32_t i, uint32_t j)
{
	Solver *s = b->s;
	NodeId id = s->graph->nodes.at[con->node].args[con->arg];
	char before[LETTERS + 1], after[LETTERS + 1];
	FlatRow f;
	row_flatten(s, &s->rows[id][con->row], &f);
	letters(before, flat_naxes(&f), 0, 0);
	letters(after, flat_naxes(&f), i, j);
	const char *batch = rest_text(s, id, ROW_BATCH), *in = rest_text(s, id, ROW_INPUT);
	diag_fix(b->diags, con->span,
		 arena_printf(s->arena, "permute(\"%s%s%s => %s%s%s\", %s)", batch, in, before,
			      batch, in, after, operand->name),
		 "the sizes would fit with output axes %u and %u of '%s' changing places", i + 1,
		 j + 1, operand->name);
}

/* Two axes of the operand that would each fit in the other's place, the rest fitting as it is. */
static bool suggest_axes(Blame *b, const Con *con, const Node *operand)
{
	Solver *s = b->s;
	FlatRow res, own;
	uint32_t at[2], n = 0;
	row_flatten(s, &s->rows[con->node][con->row], &res);
	if (con->row != ROW_OUTPUT || !operand->name || !closed_row(s, con, con->row, &own) ||
	    flat_naxes(&res) != flat_naxes(&own) || flat_naxes(&own) > LETTERS)
		return false;
	for (uint32_t i = 0; i < flat_naxes(&own); i++) {
		Size want = cell_value(s, flat_at(&res, i)), have = cell_value(s, flat_at(&own, i));
		if (size_same(want, have) || cell_stretches(s, flat_at(&own, i)))
			continue;
		if (n == 2 || size_is_bad(want) || size_is_bad(have))
			return false;
		at[n++] = i;
	}
	if (n < 2 ||
	    !size_same(cell_value(s, flat_at(&res, at[0])), cell_value(s, flat_at(&own, at[1]))) ||
	    !size_same(cell_value(s, flat_at(&res, at[1])), cell_value(s, flat_at(&own, at[0]))))
		return false;
	suggest_permute(b, con, operand, at[0], at[1]);
	mend_row(b, con->node, con->row);
	return true;
}

/* w .* x where the input axes of w are the output axes of x: `*` would compose them. */
static void suggest_product(Blame *b, const Con *con)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[con->node];
	FlatRow in, out;
	if (node->op != OP_MUL || node->nargs != 2)
		return;
	row_flatten(s, &s->rows[node->args[0]][ROW_INPUT], &in);
	row_flatten(s, &s->rows[node->args[1]][ROW_OUTPUT], &out);
	if (in.var != NONE || out.var != NONE || flat_naxes(&in) == 0 || !same_sizes(s, &in, &out))
		return;
	diag_fix(b->diags, node->op_span, "*", "'.*' multiplies pointwise; write '*' to compose");
	mend_row(b, con->node, con->row);
}

bool is_pointwise_operand(const Solver *s, ConId id)
{
	const Con *con = id == NONE ? NULL : &s->cons.at[id];
	return con && con->kind == CON_ROW_LE && con->arg >= 0 &&
	       s->graph->nodes.at[con->node].kind == NODE_POINTWISE;
}

void suggest_operand(Blame *b, ConId id)
{
	Solver *s = b->s;
	if (!is_pointwise_operand(s, id))
		return;
	const Con *con = &s->cons.at[id];
	const Node *operand =
		&s->graph->nodes.at[s->graph->nodes.at[con->node].args[con->arg]];
	if (!suggest_transpose(b, con, operand) && !suggest_axes(b, con, operand) &&
	    !suggest_kept(b, con, NULL))
		suggest_product(b, con);
}
