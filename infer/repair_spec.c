/* Repairs of operands whose axes are not those that a specification, or gather, says.
 *
 * In the order in which they are tried: letters that were meant as one axis each; a `->` or `|`
 * that is missing between axes of two rows; two operands the other way round; `...` for a row that
 * is not written. What a repair mends is not reported again.
 */
#include "infer/blame.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <ctype.h>
#include <string.h>

enum { WHOLE = -1 };

/* ---- rows ---- */

static NodeId operand_of(const Solver *s, const Con *con)
{
	return s->graph->nodes.at[con->node].args[con->arg];
}

static uint32_t flatten(Solver *s, NodeId node, RowKind row, FlatRow *flat)
{
	row_flatten(s, &s->rows[node][row], flat);
	return flat->nlead + flat->ntrail;
}

/* Has the operand's row its axes from this specification, so that nothing else is known of it? */
static bool is_own(const Solver *s, const Con *con, RowKind row)
{
	for (RowVarId id = s->rows[operand_of(s, con)][row].var;
	     id != NONE;) { /* falls: as above */
		const RowVar *var = &s->vars.at[id];
		const Con *why = var->why == NONE ? NULL : &s->cons.at[var->why];
		if (why && why->node == con->node && why->arg == con->arg)
			return true;
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return false;
}

/* May the first `at` of n axes that stand in one row be those of row `first` of the operand, and
 * the others its output axes? */
static bool splits(Solver *s, const Con *con, uint32_t at, uint32_t n)
{
	FlatRow out, row;
	NodeId operand = operand_of(s, con);
	uint32_t nout = flatten(s, operand, ROW_OUTPUT, &out);
	bool batch = con->row == ROW_BATCH;
	if (batch && flatten(s, operand, ROW_INPUT, &row) > 0)
		return false;
	if (batch && is_own(s, con, ROW_OUTPUT))
		return at <= n;
	return out.var == NONE && at + nout == n && (batch || nout > 0);
}

/* "i, o" for a tensor of one input and one output axis: a `->` is missing; "b, o": a `|`. */
static bool suggest_split(Blame *b, const Con *con, const SpecTensor *written, uint32_t at)
{
	Solver *s = b->s;
	const SpecRow *all = &written->rows[ROW_OUTPUT];
	if (all->var_at >= 0 || con->row == ROW_OUTPUT || written->rows[con->row].written ||
	    (con->row == ROW_BATCH && written->rows[ROW_INPUT].written) || at == 0 ||
	    !splits(s, con, at, all->naxes))
		return false;
	const char *sign = con->row == ROW_BATCH ? "|" : "->";
	bool last = at == all->naxes;
	Span gap = {all->axes[0].span.file, all->axes[at - 1].span.end,
		    last ? all->axes[at - 1].span.end : all->axes[at].span.start};
	diag_fix(b->diags, gap, arena_printf(s->arena, " %s%s", sign, last ? "" : " "),
		 "the axes would fit with '%s' behind the first%s", sign,
		 at == 1 ? "" : arena_printf(s->arena, " %u", at));
	return true;
}

/* "nk" is one axis where a specification has a comma or a sign; letters were meant where the tensor
 * has an axis for each. */
static bool suggest_letters(Blame *b, const Con *con, const SpecTensor *written, uint32_t n)
{
	Solver *s = b->s;
	const SpecRow *row = &written->rows[con->row];
	const SpecAxis *axis = row->axes;
	if (n < 2 || row->naxes != 1 || row->var_at >= 0 || axis->kind != SPEC_LETTER ||
	    strlen(axis->letter) != n)
		return false;
	const char *apart = "";
	for (uint32_t i = 0; i < n; i++) {
		if (!isalpha((unsigned char)axis->letter[i]))
			return false;
		apart = arena_printf(s->arena, "%s%s%c", apart, i ? ", " : "", axis->letter[i]);
	}
	diag_fix(
		b->diags, axis->span, apart,
		"names have any length where a specification has a ',' or a sign: '%s' is one axis",
		axis->letter);
	return true;
}

/* "from" is four axes where a specification has neither a comma nor a sign. */
static void note_letters(Blame *b, const Spec *spec, const SpecRow *row, uint32_t n)
{
	const SpecAxis *first = row->axes;
	if (!spec->single_letters || row->naxes < 2 || row->naxes <= n)
		return;
	const SpecAxis *last = &row->axes[row->naxes - 1];
	if (first->kind == SPEC_LETTER && last->kind == SPEC_LETTER &&
	    last->span.end - first->span.start == row->naxes)
		diag_note(b->diags, span_join(first->span, last->span),
			  "each letter is an axis where a specification has no ',' and no sign: "
			  "this is %u",
			  row->naxes);
}

/* A tensor without the axis that a concatenation joins: `stack` makes one of it. */
static bool suggest_stack(Blame *b, const Con *con, const SpecTensor *written, uint32_t n)
{
	Solver *s = b->s;
	const SpecRow *row = &written->rows[con->row];
	if (n > 0 || s->graph->nodes.at[con->node].kind != NODE_BLOCK || row->naxes != 1 ||
	    row->var_at >= 0 || row->axes->kind != SPEC_LETTER)
		return false;
	diag_fix(b->diags, s->graph->nodes.at[con->node].arg_spans[con->arg],
		 arena_printf(s->arena, "stack(%s, %s)", row_kind_text(con->row),
			      source_text(b->diags->sources, s->arena,
					  s->graph->nodes.at[con->node].arg_spans[con->arg])),
		 "'stack' makes it one of 1");
	return true;
}

/* ---- operands ---- */

static bool tensor_fits(Solver *s, const SpecTensor *written, NodeId node)
{
	bool fits = true;
	for (RowKind k = 0; k < ROW_KINDS; k++) {
		const SpecRow *row = &written->rows[k];
		FlatRow has;
		uint32_t n = flatten(s, node, k, &has);
		fits &= has.var == NONE && (row->var_at < 0 ? n == row->naxes : n >= row->naxes);
	}
	return fits;
}

/* Two operands that would each fit in the other's place. */
static bool suggest_exchange(Blame *b, const Con *con, const Spec *spec)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[con->node];
	const Sources *sources = b->diags->sources;
	for (uint32_t i = 0, k = (uint32_t)con->arg; i < node->nargs; i++) {
		Span x = node->arg_spans[i < k ? i : k], y = node->arg_spans[i < k ? k : i];
		if (i == k || node->args[i] == node->args[k] || x.file != y.file ||
		    x.end > y.start || span_is_none(x) ||
		    !tensor_fits(s, &spec->operands[i], node->args[k]) ||
		    !tensor_fits(s, &spec->operands[k], node->args[i]))
			continue;
		diag_fix(
			b->diags, span_join(x, y),
			arena_printf(s->arena, "%s%s%s", source_text(sources, s->arena, y),
				     source_text(sources, s->arena, (Span){x.file, x.end, y.start}),
				     source_text(sources, s->arena, x)),
			"the axes would fit with these operands the other way round");
		mend(b, con, (int32_t)i);
		return true;
	}
	return false;
}

/* Does `...` of that row stand at another operand already, whose axes it has? */
static bool rest_is_taken(const Spec *spec, const SpecTensor *operand, RowKind row)
{
	for (uint32_t i = 0; i < spec->noperands; i++) {
		const SpecRow *other = &spec->operands[i].rows[row];
		if (&spec->operands[i] != operand && other->var_at >= 0 &&
		    strcmp(other->var, row_kind_text(row)) == 0)
			return true;
	}
	return false;
}

static void suggest_rest(Blame *b, const Con *con, const Spec *spec, const SpecTensor *operand)
{
	if (con->row == ROW_OUTPUT || operand->rows[con->row].written ||
	    rest_is_taken(spec, operand, con->row))
		return;
	Span at = {operand->span.file, operand->span.start, operand->span.start};
	if (con->row == ROW_BATCH)
		diag_fix(b->diags, at, "... | ",
			 "a row that is not written is empty: '... |' stands for any batch axes");
	else if (!operand->rows[ROW_BATCH].written)
		diag_fix(b->diags, at, "... -> ",
			 "a row that is not written is empty: '... ->' stands for any input axes");
}

/* gather(w, ids) with w : [4 | 24 -> 48]: the axis that is indexed is the leftmost output axis. */
static void suggest_table(Blame *b, const Con *con)
{
	Solver *s = b->s;
	const Node *table = &s->graph->nodes.at[operand_of(s, con)];
	const ShapeDecl *shape = table->shape;
	const DeclRow *rows = shape ? shape->rows : NULL;
	diag_note(
		b->diags, s->graph->nodes.at[con->node].op_span,
		"'gather' indexes the leftmost output axis of its table, which has no batch axes");
	if (!shape || rows[ROW_BATCH].naxes != 1 || rows[ROW_BATCH].var_at >= 0 ||
	    rows[ROW_OUTPUT].naxes == 0 || rows[ROW_OUTPUT].var_at >= 0 ||
	    rows[ROW_INPUT].var_at >= 0 || (table->kind != NODE_PARAM && table->kind != NODE_INPUT))
		return;
	const char *text[ROW_KINDS];
	for (RowKind k = 0; k < ROW_KINDS; k++) {
		const DeclRow *row = &rows[k];
		text[k] = row->naxes == 0 ? ""
					  : source_text(b->diags->sources, s->arena,
							span_join(row->axes[0].span,
								  row->axes[row->naxes - 1].span));
	}
	diag_fix(b->diags, shape->span,
		 arena_printf(s->arena, "[%s%s%s, %s]", text[ROW_INPUT],
			      *text[ROW_INPUT] ? " -> " : "", text[ROW_BATCH], text[ROW_OUTPUT]),
		 "the axes would fit with the batch axis as the first output axis");
	mend(b, con, WHOLE);
}

void suggest_rows(Blame *b, ConId id, uint32_t n)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[id];
	const Node *node = &s->graph->nodes.at[con->node];
	if (con->arg < 0)
		return;
	if (node->kind == NODE_GATHER && !node->spec && con->arg == 0 && con->row == ROW_BATCH)
		suggest_table(b, con);
	if (!node->spec)
		return;
	const SpecTensor *operand = &node->spec->operands[con->arg];
	note_letters(b, node->spec, &operand->rows[con->row], n);
	if (suggest_letters(b, con, operand, n) || suggest_stack(b, con, operand, n) ||
	    suggest_split(b, con, operand, n) || suggest_exchange(b, con, node->spec))
		mend(b, con, con->arg);
	else
		suggest_rest(b, con, node->spec, operand);
}
