/* What an open size waits for, before a closing rule may choose it.
 *
 * Sizes go from operands to results (edges: res refines opnd), through relations, and between the
 * two products of a total. The walks below follow these from one open size to others, and see each
 * once. They decide nothing. */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/rows.h"

typedef VEC(CellId) Walk;

static void walk_start(Solver *s, Walk *walk, CellId cell)
{
	s->walks++;
	cell = cell_root(s, cell);
	s->cells.at[cell].walk = s->walks;
	PUSH(s->arena, *walk, cell);
}

static void walk_to(Solver *s, Walk *walk, CellId cell)
{
	cell = cell == NONE ? cell : cell_root(s, cell);
	if (cell == NONE || cell_known(s, cell) || s->cells.at[cell].walk == s->walks)
		return;
	s->cells.at[cell].walk = s->walks;
	PUSH(s->arena, *walk, cell);
}

bool is_read_by_open(Solver *s, CellId cell)
{
	for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
		if (o->kind != OCC_EDGE || s->edges.at[o->id].dead)
			continue;
		CellId res = cell_root(s, s->edges.at[o->id].res);
		if (res != cell && !cell_known(s, res))
			return true;
	}
	return false;
}

/* ---- what else may give a size ---- */

bool row_may_give(Solver *s, const Edge *edge)
{
	FlatRow f;
	const Con *con = edge->con == NONE ? NULL : &s->cons.at[edge->con];
	const Node *node = con && con->node != NODE_NONE ? &s->graph->nodes.at[con->node] : NULL;
	for (uint32_t i = 0; node && i < node->nargs; i++) {
		row_flatten(s, &s->rows[node->args[i]][con->row], &f);
		if ((int32_t)i != con->arg && s->graph->nodes.at[node->args[i]].nargs > 0 &&
		    f.var != NONE && !rowvar_is_leaf(&s->vars.at[f.var]))
			return true;
	}
	return false;
}

/* Can the size come through this edge, from an operand that the walk has not seen? */
static bool edge_may_give(Solver *s, const Edge *edge)
{
	const Cell *opnd = cell_at(s, edge->opnd);
	return !edge->dead && opnd->walk != s->walks && size_is_bad(opnd->value);
}

/* ... from this constraint: one that ties it to other sizes, and no total that waits itself. */
static bool con_may_give(Solver *s, const Con *con)
{
	return !con->done && con->kind >= CON_AFFINE &&
	       (con->kind != CON_PRODUCT || con->arg < 0 || cell_known(s, con->cells[0]));
}

/* Walks from a size to the results that read it: all that these have may come from this size
 * alone. */
bool gets_size_above(Solver *s, CellId cell)
{
	Walk walk = {0};
	walk_start(s, &walk, cell);
	for (size_t i = 0; i < walk.n; i++) { /* falls: cells not seen yet */
		for (const Occ *o = s->cells.at[walk.at[i]].occs.first; o; o = o->next) {
			if (o->kind == OCC_EDGE && !s->edges.at[o->id].dead &&
			    cell_root(s, s->edges.at[o->id].opnd) == walk.at[i])
				walk_to(s, &walk, s->edges.at[o->id].res);
		}
	}
	for (size_t i = 1; i < walk.n; i++) {
		if (s->cells.at[walk.at[i]].bound_kind != BOUND_NONE)
			return true;
		for (const Occ *o = s->cells.at[walk.at[i]].occs.first; o; o = o->next) {
			const Edge *edge = o->kind == OCC_EDGE ? &s->edges.at[o->id] : NULL;
			if (!edge && con_may_give(s, &s->cons.at[o->id]))
				return true;
			if (edge && cell_root(s, edge->res) == walk.at[i] &&
			    (edge_may_give(s, edge) || row_may_give(s, edge)))
				return true;
		}
	}
	return false;
}

/* ---- what it is made of ---- */

static void walk_to_factors(Solver *s, Walk *walk, const Con *con)
{
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			walk_to(s, walk, flat_at(&f, i));
	}
}

/* Is it, or what it is made of, a size of a parameter, or of any leaf? */
static bool is_of(Solver *s, CellId cell, bool param)
{
	Walk walk = {0};
	walk_start(s, &walk, cell);
	for (size_t i = 0; i < walk.n; i++) { /* falls: cells not seen yet */
		const Cell *c = &s->cells.at[walk.at[i]];
		if (c->param || (!param && cell_is_leaf(c)))
			return true;
		for (const Occ *o = c->occs.first; o; o = o->next) {
			const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
			const Edge *edge = con ? NULL : &s->edges.at[o->id];
			uint32_t n = con ? con->ncells : 1;
			bool axes = con && con->kind == CON_PRODUCT && !con_is_written_product(con);
			if (con ? con->kind < CON_AFFINE || axes ||
					    cell_root(s, con->cells[0]) != walk.at[i]
				: cell_root(s, edge->res) != walk.at[i])
				continue;
			if (con)
				walk_to_factors(s, &walk, con);
			for (uint32_t k = 0; k < n; k++)
				walk_to(s, &walk, con ? con->cells[k] : edge->opnd);
		}
	}
	return false;
}

bool is_of_param(Solver *s, CellId cell) { return is_of(s, cell, true); }

bool is_of_leaf(Solver *s, CellId cell) { return is_of(s, cell, false); }

/* Is the total known, or is it that of a reshape that has axes already? */
static bool total_is_given(Solver *s, ConId id)
{
	Side made;
	const Con *con = &s->cons.at[id];
	if (cell_known(s, con->cells[0]) || con->arg < 0)
		return cell_known(s, con->cells[0]);
	return read_side(s, id + 1, &made) && !size_is(s->sizes, made.known, 1);
}

/* The open factors of the product that are sizes of leaves: 0 where none is a parameter's. */
static uint32_t factors_said(Solver *s, ConId product, CellId *cells)
{
	Side side;
	uint32_t nparams = 0, n = 0;
	if (!total_is_given(s, product) || !read_side(s, product, &side))
		return 0;
	for (uint32_t i = 0; i < side.n; i++) {
		nparams += is_of_param(s, side.open[i].cell);
		if (is_of_leaf(s, side.open[i].cell))
			cells[n++] = side.open[i].cell;
	}
	return nparams > 0 ? n : 0;
}

bool total_says_params(Solver *s, ConId product)
{
	CellId cells[MOST_FACTORS];
	return factors_said(s, product, cells) > 0;
}

/* To the open sizes that broadcast into those of the walk. */
static void walk_down(Solver *s, Walk *walk)
{
	for (size_t i = 0; i < walk->n; i++) { /* falls: cells not seen yet */
		for (const Occ *o = s->cells.at[walk->at[i]].occs.first; o; o = o->next) {
			if (o->kind == OCC_EDGE && !s->edges.at[o->id].dead &&
			    cell_root(s, s->edges.at[o->id].res) == walk->at[i])
				walk_to(s, walk, s->edges.at[o->id].opnd);
		}
	}
}

bool *said_by_totals(Solver *s)
{
	Walk walk = {0};
	VEC(CellId) factors = {0};
	CellId cells[MOST_FACTORS];
	bool *said = ARENA_ARRAY(s->arena, bool, s->cells.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		bool open = con->kind == CON_PRODUCT && !con->done;
		uint32_t n = open ? factors_said(s, id, cells) : 0;
		for (uint32_t i = 0; i < n; i++)
			PUSH(s->arena, factors, cells[i]);
	}
	s->walks++;
	for (size_t i = 0; i < factors.n; i++)
		walk_to(s, &walk, factors.at[i]);
	walk_down(s, &walk);
	for (size_t i = 0; i < walk.n; i++)
		said[walk.at[i]] = true;
	return said;
}

/* The sizes from which a total follows: those of a reshape's operand, or the factors as written. */
static void walk_total(Solver *s, Walk *walk, CellId total)
{
	for (const Occ *o = cell_at(s, total)->occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (con && con->kind == CON_PRODUCT &&
		    (con->arg >= 0 || con_is_written_product(con)) &&
		    cell_root(s, con->cells[0]) == cell_root(s, total))
			walk_to_factors(s, walk, con);
	}
}

bool hangs_on_total(Solver *s, CellId cell)
{
	Walk walk = {0};
	walk_start(s, &walk, cell);
	for (size_t i = 0; i < walk.n; i++) { /* falls: cells not seen yet */
		for (const Occ *o = s->cells.at[walk.at[i]].occs.first; o; o = o->next) {
			const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
			const Edge *edge = con ? NULL : &s->edges.at[o->id];
			if (edge && cell_root(s, edge->res) == walk.at[i])
				walk_to(s, &walk, edge->opnd);
			if (!con || con->kind < CON_AFFINE || con->done)
				continue;
			if (con->kind != CON_PRODUCT && cell_root(s, con->cells[0]) == walk.at[i]) {
				for (uint32_t k = 1; k < con->ncells; k++)
					walk_to(s, &walk, con->cells[k]);
			} else if (con->kind == CON_PRODUCT && con->arg < 0) {
				if (cell_known(s, con->cells[0]))
					return true;
				walk_total(s, &walk, con->cells[0]);
			}
		}
	}
	return false;
}
