/* Repairs of operands whose axes are not those that a specification, or gather, says.
 *
 * In the order in which they are tried: letters that were meant as one axis each; a `->` or `|`
 * that is missing between axes of two rows; two operands the other way round; `...` for a row that
 * is not written. What a repair mends is not reported again.
 */
#include "infer/solver.h"

#include <ctype.h>
#include <string.h>

enum { WHOLE = -1, PLACES = 64 /* that are compared */ };

/* ---- what was mended ---- */

/* The bit of an operand; those behind the 62nd share one. */
static uint64_t bit_of(int32_t arg)
{
	return arg < 0 ? 1 : (uint64_t)2 << (arg < 62 ? arg : 62);
}

void mend(Solver *s, const Con *con, int32_t arg)
{
	s->mended[con->node] |= arg == WHOLE ? UINT64_MAX : bit_of(arg);
	PUSH(s->arena, s->mended_at, con->span);
}

/* Was a repair offered at the same place, of another copy of an `iterate`? */
static bool place_mended(const Solver *s, Span span)
{
	size_t last = s->mended_at.n < PLACES ? 0 : s->mended_at.n - PLACES;
	for (size_t i = s->mended_at.n; i-- > last;) {
		Span at = s->mended_at.at[i];
		if (at.file == span.file && at.start == span.start && at.end == span.end)
			return true;
	}
	return false;
}

/* The operand of this constraint, or the whole operation */
static bool operand_mended(const Solver *s, const Con *con)
{
	return con->node != NODE_NONE && (s->mended[con->node] & bit_of(con->arg));
}

/* Has the row its axes from a use that is to be mended? */
static bool row_mended(const Solver *s, const RowTerm *row)
{
	for (RowVarId id = row->var;
	     id != NONE;) { /* falls: solved variables to follow: no circles */
		const RowVar *var = &s->vars.at[id];
		if (var->why != NONE && operand_mended(s, &s->cons.at[var->why]))
			return true;
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return false;
}

bool is_mended(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	const Node *node = con->node == NODE_NONE ? NULL : &s->graph->nodes.at[con->node];
	bool operand = node && con->arg >= 0 && (uint32_t)con->arg < node->nargs &&
		       s->mended[node->args[con->arg]];
	bool mended = operand || operand_mended(s, con) || row_mended(s, &con->a) ||
		      row_mended(s, &con->b) || place_mended(s, con->span);
	s->nerrors += mended;
	return mended;
}

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
static bool suggest_split(Solver *s, const Con *con, const SpecTensor *written, uint32_t at)
{
	const SpecRow *all = &written->rows[ROW_OUTPUT];
	if (all->var_at >= 0 || con->row == ROW_OUTPUT || written->rows[con->row].written ||
	    (con->row == ROW_BATCH && written->rows[ROW_INPUT].written) || at == 0 ||
	    !splits(s, con, at, all->naxes))
		return false;
	const char *sign = con->row == ROW_BATCH ? "|" : "->";
	bool last = at == all->naxes;
	Span gap = {all->axes[0].span.file, all->axes[at - 1].span.end,
		    last ? all->axes[at - 1].span.end : all->axes[at].span.start};
	diag_fix(s->diags, gap, arena_printf(s->arena, " %s%s", sign, last ? "" : " "),
		 "the axes would fit with '%s' behind the first%s", sign,
		 at == 1 ? "" : arena_printf(s->arena, " %u", at));
	return true;
}

/* "nk" is one axis where a specification has a comma or a sign; letters were meant where the tensor
 * has an axis for each. */
static bool suggest_letters(Solver *s, const Con *con, const SpecTensor *written, uint32_t n)
{
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
		s->diags, axis->span, apart,
		"names have any length where a specification has a ',' or a sign: '%s' is one axis",
		axis->letter);
	return true;
}

/* A tensor without the axis that a concatenation joins: `stack` makes one of it. */
static bool suggest_stack(Solver *s, const Con *con, const SpecTensor *written, uint32_t n)
{
	const SpecRow *row = &written->rows[con->row];
	if (n > 0 || s->graph->nodes.at[con->node].kind != NODE_BLOCK || row->naxes != 1 ||
	    row->var_at >= 0 || row->axes->kind != SPEC_LETTER)
		return false;
	diag_fix(s->diags, s->graph->nodes.at[con->node].arg_spans[con->arg],
		 arena_printf(s->arena, "stack(%s, %s)", row_kind_text(con->row),
			      source_text(s->diags->sources, s->arena,
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
static bool suggest_exchange(Solver *s, const Con *con, const Spec *spec)
{
	const Node *node = &s->graph->nodes.at[con->node];
	const Sources *sources = s->diags->sources;
	for (uint32_t i = 0, k = (uint32_t)con->arg; i < node->nargs; i++) {
		Span a = node->arg_spans[i < k ? i : k], b = node->arg_spans[i < k ? k : i];
		if (i == k || node->args[i] == node->args[k] || a.file != b.file ||
		    a.end > b.start || span_is_none(a) ||
		    !tensor_fits(s, &spec->operands[i], node->args[k]) ||
		    !tensor_fits(s, &spec->operands[k], node->args[i]))
			continue;
		diag_fix(
			s->diags, span_join(a, b),
			arena_printf(s->arena, "%s%s%s", source_text(sources, s->arena, b),
				     source_text(sources, s->arena, (Span){a.file, a.end, b.start}),
				     source_text(sources, s->arena, a)),
			"the axes would fit with these operands the other way round");
		mend(s, con, (int32_t)i);
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

static void suggest_rest(Solver *s, const Con *con, const Spec *spec, const SpecTensor *operand)
{
	if (con->row == ROW_OUTPUT || operand->rows[con->row].written ||
	    rest_is_taken(spec, operand, con->row))
		return;
	Span at = {operand->span.file, operand->span.start, operand->span.start};
	if (con->row == ROW_BATCH)
		diag_fix(s->diags, at, "... | ",
			 "a row that is not written is empty: '... |' stands for any batch axes");
	else if (!operand->rows[ROW_BATCH].written)
		diag_fix(s->diags, at, "... -> ",
			 "a row that is not written is empty: '... ->' stands for any input axes");
}

/* gather(w, ids) with w : [4 | 24 -> 48]: the axis that is indexed is the leftmost output axis. */
static void suggest_table(Solver *s, const Con *con)
{
	const Node *table = &s->graph->nodes.at[operand_of(s, con)];
	const ShapeDecl *shape = table->shape;
	const DeclRow *rows = shape ? shape->rows : NULL;
	diag_note(
		s->diags, s->graph->nodes.at[con->node].op_span,
		"'gather' indexes the leftmost output axis of its table, which has no batch axes");
	if (!shape || rows[ROW_BATCH].naxes != 1 || rows[ROW_BATCH].var_at >= 0 ||
	    rows[ROW_OUTPUT].naxes == 0 || rows[ROW_OUTPUT].var_at >= 0 ||
	    rows[ROW_INPUT].var_at >= 0 || (table->kind != NODE_PARAM && table->kind != NODE_INPUT))
		return;
	const char *text[ROW_KINDS];
	for (RowKind k = 0; k < ROW_KINDS; k++) {
		const DeclRow *row = &rows[k];
		text[k] = row->naxes == 0 ? ""
					  : source_text(s->diags->sources, s->arena,
							span_join(row->axes[0].span,
								  row->axes[row->naxes - 1].span));
	}
	diag_fix(s->diags, shape->span,
		 arena_printf(s->arena, "[%s%s%s, %s]", text[ROW_INPUT],
			      *text[ROW_INPUT] ? " -> " : "", text[ROW_BATCH], text[ROW_OUTPUT]),
		 "the axes would fit with the batch axis as the first output axis");
	mend(s, con, WHOLE);
}

void suggest_rows(Solver *s, ConId id, uint32_t n)
{
	const Con *con = &s->cons.at[id];
	const Node *node = &s->graph->nodes.at[con->node];
	if (!s->diags || con->arg < 0)
		return;
	if (node->kind == NODE_GATHER && con->arg == 0 && con->row == ROW_BATCH)
		suggest_table(s, con);
	if (!node->spec)
		return;
	const SpecTensor *operand = &node->spec->operands[con->arg];
	if (suggest_letters(s, con, operand, n) || suggest_stack(s, con, operand, n) ||
	    suggest_split(s, con, operand, n) ||
	    suggest_exchange(s, con, node->spec))
		mend(s, con, con->arg);
	else
		suggest_rest(s, con, node->spec, operand);
}
