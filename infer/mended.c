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
		if (span_same(at, span))
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

/* ---- rows that were told ---- */

/* Was or will a message be of this use? What an operand has at least is found when its row has been settled by that, and more. */
static bool is_told(const Blame *b, ConId id)
{
	const Solver *s = b->s;
	bool told = false;
	for (size_t i = 0; i < b->told.n; i++)
		told |= b->told.at[i] == id;
	for (size_t i = 0; i < s->conflicts.n && b->conflict->kind == CONFLICT_RANKS; i++)
		told |= s->conflicts.at[i].kind == CONFLICT_USE_AXES &&
			s->conflicts.at[i].use == id;
	return told;
}

static bool settled_by_told(const Blame *b, const RowTerm *row)
{
	const Solver *s = b->s;
	bool told = false;
	for (RowVarId id = row->var; id != NONE && !told;) { /* falls, as above */
		const RowVar *var = &s->vars.at[id];
		told = var->why != NONE && is_told(b, var->why);
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return told;
}

static uint32_t axes_of(Solver *s, const RowTerm *row)
{
	FlatRow f;
	row_flatten(s, row, &f);
	return f.nlead + f.ntrail;
}

/* The operand of a constraint; NODE_NONE: it is of none. */
static NodeId operand_of(const Graph *graph, const Con *con)
{
	const Node *node = con->node == NODE_NONE ? NULL : &graph->nodes.at[con->node];
	bool has = node && con->arg >= 0 && (uint32_t)con->arg < node->nargs;
	return has ? node->args[con->arg] : NODE_NONE;
}

/* Of an operand that the reader has twice, or that two applications of a function make? */
static bool is_same_mistake(const Blame *b, const Con *con, const Con *other)
{
	Solver *s = b->s;
	NodeId x = operand_of(s->graph, con), y = operand_of(s->graph, other);
	if (x == NODE_NONE || y == NODE_NONE || con->row != other->row)
		return false;
	bool same = x == y ? con->node == other->node
			   : span_same(s->graph->nodes.at[x].span, s->graph->nodes.at[y].span);
	return same && axes_of(s, &con->a) == axes_of(s, &other->a) &&
	       axes_of(s, &con->b) == axes_of(s, &other->b);
}

bool is_told_of_rows(Blame *b, ConId id)
{
	const Con *con = &b->s->cons.at[id];
	bool told = settled_by_told(b, &con->a) || settled_by_told(b, &con->b);
	for (size_t i = 0; i < b->told.n && !told; i++)
		told = is_same_mistake(b, con, &b->s->cons.at[b->told.at[i]]);
	PUSH(b->s->arena, b->told, id);
	return told;
}

/* ---- constraints ---- */

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
