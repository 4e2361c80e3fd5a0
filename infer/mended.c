/* What repairs that were offered mend, so that it is not told again. */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"

enum { WHOLE = -1, PLACES = 64 /* that are compared */ };

/* The bit of an operand; those behind the 62nd share one. */
static uint64_t bit_of(int32_t arg) { return arg < 0 ? 1 : (uint64_t)2 << (arg < 62 ? arg : 62); }

void mend(Blame *b, const Con *con, int32_t arg)
{
	Solver *s = b->s;
	b->mended[con->node] |= arg == WHOLE ? UINT64_MAX : bit_of(arg);
	PUSH(s->arena, b->mended_at, con->span);
}

/* Was a repair offered at the same place, of another copy of an `iterate`? */
static bool place_mended(const Blame *b, Span span)
{
	size_t last = b->mended_at.n < PLACES ? 0 : b->mended_at.n - PLACES;
	for (size_t i = b->mended_at.n; i-- > last;) {
		Span at = b->mended_at.at[i];
		if (at.file == span.file && at.start == span.start && at.end == span.end)
			return true;
	}
	return false;
}

/* The operand of this constraint, or the whole operation */
static bool operand_mended(const Blame *b, const Con *con)
{
	return con->node != NODE_NONE && (b->mended[con->node] & bit_of(con->arg));
}

/* Has the row its axes from a use that is to be mended? */
static bool row_mended(const Blame *b, const RowTerm *row)
{
	const Solver *s = b->s;
	for (RowVarId id = row->var;
	     id != NONE;) { /* falls: solved variables to follow: no circles */
		const RowVar *var = &s->vars.at[id];
		if (var->why != NONE && operand_mended(b, &s->cons.at[var->why]))
			return true;
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return false;
}

bool is_mended(Blame *b, ConId id)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[id];
	const Node *node = con->node == NODE_NONE ? NULL : &s->graph->nodes.at[con->node];
	bool operand = node && con->arg >= 0 && (uint32_t)con->arg < node->nargs &&
		       b->mended[node->args[con->arg]];
	bool mended = operand || operand_mended(b, con) || row_mended(b, &con->a) ||
		      row_mended(b, &con->b) || place_mended(b, con->span);
	return mended;
}

void mend_row(Blame *b, NodeId node, RowKind row)
{
	Solver *s = b->s;
	FlatRow f;
	row_flatten(s, &s->rows[node][row], &f);
	for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
		PUSH(s->arena, b->mended_cells, flat_at(&f, i));
}

static bool cell_mended(Blame *b, CellId cell)
{
	Solver *s = b->s;
	for (size_t i = 0; i < b->mended_cells.n && cell != NONE; i++) {
		if (cell_root(s, b->mended_cells.at[i]) == cell_root(s, cell))
			return true;
	}
	return false;
}

bool is_follow_on(Blame *b, const Conflict *c)
{
	if (b->mended_cells.n == 0)
		return false;
	if (cell_mended(b, c->cells[0]) || cell_mended(b, c->cells[1]))
		return true;
	const Con *con = c->con == NONE ? NULL : &b->s->cons.at[c->con];
	bool relation = con && con->kind > CON_CELL_EQ;
	for (uint32_t i = 0; relation && i < con->ncells; i++) {
		if (cell_mended(b, con->cells[i]))
			return true;
	}
	return false;
}
