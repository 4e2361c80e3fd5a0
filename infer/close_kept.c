/* The rows of its operand that a reshape keeps: `sum("... | s, g => ... | g", reshape(x))` reshapes
 * each member of x's batch, where the elements of one fill the axes that are written.
 */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/rows.h"
#include "infer/trail.h"

/* The elements of some rows: of the sizes that are known, and whether others are open. */
typedef struct Elements {
	Size known;
	bool open;
} Elements;

/* Those of the node's rows but one. */
static Elements elements_beside(Solver *s, NodeId id, RowKind row)
{
	FlatRow f;
	Elements e = {.known = size_const(s->sizes, 1)};
	for (int k = 0; k < ROW_KINDS; k++) {
		if ((RowKind)k == row)
			continue;
		row_flatten(s, &s->rows[id][k], &f);
		e.open |= f.var != NONE;
		for (uint32_t i = 0; i < flat_naxes(&f); i++) {
			CellId cell = flat_at(&f, i);
			e.open |= !cell_known(s, cell);
			if (cell_known(s, cell))
				e.known = size_mul(s->sizes, e.known, cell_value(s, cell));
		}
	}
	return e;
}

/* Does a specification read the row as a row variable? */
static bool is_read_as_variable(Solver *s, RowVarId var)
{
	FlatRow f;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		const Node *node = con->kind == CON_ROW_EQ ? &s->graph->nodes.at[con->node] : NULL;
		if (!node || !node->spec || con->arg < 0 ||
		    node->spec->operands[con->arg].rows[con->row].var_at < 0)
			continue;
		row_flatten(s, &con->a, &f);
		if (f.var == var)
			return true;
	}
	return false;
}

/* May the open row of a reshape be that of its operand? */
static bool fits(Solver *s, const Spot *spot, FlatRow *kept)
{
	const Node *node = &s->graph->nodes.at[spot->node];
	FlatRow own;
	if (node->kind != NODE_RESHAPE || spot->row == ROW_OUTPUT)
		return false;
	row_flatten(s, &s->rows[spot->node][spot->row], &own);
	row_flatten(s, &s->rows[node->args[0]][spot->row], kept);
	if (own.var != spot->var || flat_naxes(&own) > 0 || kept->var != NONE ||
	    flat_naxes(kept) == 0)
		return false;
	Elements of = elements_beside(s, node->args[0], spot->row);
	Elements in = elements_beside(s, spot->node, spot->row);
	if (of.open || size_is_bad(of.known) || size_is_bad(in.known))
		return false;
	return in.open ? close_fills_axis(s, of.known, in.known) : size_same(of.known, in.known);
}

/* In the order of the program: what one reshape keeps is known where the next one reads it. */
void close_kept_rows(Solver *s, const char *rule)
{
	Spots open = open_rows(s);
	const RowBound *bounds = NULL;
	for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
		const Spot *spot = &open.at[i];
		FlatRow kept;
		if (!s->vars.at[spot->var].shaped || !fits(s, spot, &kept))
			continue;
		bounds = bounds ? bounds : row_bounds(s);
		if (bounds[spot->var].any || !is_read_as_variable(s, spot->var))
			continue;
		uint32_t n = flat_naxes(&kept);
		RowTerm term = {.var = NONE, .ntrail = n};
		term.trail = ARENA_ARRAY(s->arena, CellId, n);
		for (uint32_t k = 0; k < n; k++)
			term.trail[k] = flat_at(&kept, k);
		close_note(s, rule, spot);
		rowvar_solve(s, spot->var, term, NONE, rule);
		propagate(s);
		bounds = NULL;
	}
}
