/* Closing rules for rows. What bounds an open row is found in bounds.c. */
#include "base/size_order.h"
#include "base/size_program.h"
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/rows.h"
#include "infer/trail.h"

static void give_axes(Solver *s, const char *rule, const Spot *spot, uint32_t lead, uint32_t trail,
		      bool open)
{
	const RowVar *old = &s->vars.at[spot->var];
	Sym name = old->name;
	Span span = old->span;
	RowTerm term = {.var = NONE, .nlead = lead, .ntrail = trail, .pinned = lead > 0};
	term.lead = ARENA_ARRAY(s->arena, CellId, lead + trail + 1);
	term.trail = term.lead + lead;
	for (uint32_t i = 0; i < lead + trail; i++)
		term.lead[i] = cell_new(s, NULL, SPAN_NONE);
	close_note(s, rule, spot);
	if (open) {
		term.var = rowvar_new(s, name, span);
		s->vars.at[spot->var].must = false;
	}
	rowvar_solve(s, spot->var, term, NONE, rule);
}

static void open_conflict(Solver *s, const Spot *spot)
{
	Conflict *c = conflict_new(s, CONFLICT_OPEN_ROW, NONE);
	c->node = spot->node;
	c->row = spot->row;
}

/* ---- the rules ---- */

static bool is_shaped(const RowVar *var) { return var->shaped; }

/* Those that a rule is about: without any it needs no bounds, which take passes over the program. */
static Spots open_rows_of(Solver *s, bool (*holds)(const RowVar *var))
{
	Spots open = open_rows(s);
	size_t n = 0;
	for (size_t i = 0; i < open.n; i++) {
		if (holds(&s->vars.at[open.at[i].var]))
			open.at[n++] = open.at[i];
	}
	open.n = n;
	return open;
}

/* Gives all leaves their axes whose uses have some; false where none is left that waits for what
 * others get. Rows from `first` on are what is left of rows that took some already. */
static bool take_axes(Solver *s, const char *rule, RowVarId first)
{
	Spots open = open_rows_of(s, rowvar_is_leaf);
	if (open.n == 0)
		return false;
	const RowBound *bounds = row_bounds(s);
	bool any = false, wait = false;
	for (size_t i = 0; i < open.n; i++) {
		const Spot *spot = &open.at[i];
		const RowBound *b = &bounds[spot->var];
		if (spot->var >= first)
			continue;
		wait |= b->any && !b->known;
		if (!b->known || (b->lead + b->trail == 0 && b->open))
			continue;
		give_axes(s, rule, spot, b->lead, b->trail, b->open);
		any = true;
	}
	propagate(s);
	return any && wait;
}

/* A leaf that meets none but leaves takes the axes of these: so many of them in a row. */
enum { LEAVES_IN_A_ROW = 64 };

void close_leaf_rows(Solver *s, const char *rule)
{
	RowVarId first = (RowVarId)s->vars.n;
	for (int i = 0; i < LEAVES_IN_A_ROW && !solver_stops(s); i++)
		if (!take_axes(s, rule, first))
			return;
}

/* The variables in equations between shifted rows, which decide them: by RowVarId. */
static bool *shifted_vars(Solver *s)
{
	FlatRow a, b;
	bool *shifted = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_ROW_EQ || con->done)
			continue;
		row_flatten(s, &con->a, &a);
		row_flatten(s, &con->b, &b);
		if (a.var != NONE && b.var != NONE)
			shifted[a.var] = shifted[b.var] = true;
	}
	return shifted;
}

void close_total_rows(Solver *s, const char *rule)
{
	Spots open = open_rows_of(s, is_shaped);
	if (open.n == 0)
		return;
	const RowBound *bounds = row_bounds(s);
	const bool *shifted = shifted_vars(s);
	for (size_t i = 0; i < open.n; i++) {
		const Spot *spot = &open.at[i];
		if (spot->row != ROW_OUTPUT && !bounds[spot->var].any && !shifted[spot->var])
			give_axes(s, rule, spot, 0, 0, false);
	}
}

/* The variables in products whose size is known, which decide them: by RowVarId. */
static bool *given_vars(Solver *s)
{
	FlatRow f;
	bool *given = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		bool decides = con->kind == CON_PRODUCT && con->arg < 0 &&
			       cell_known(s, con->cells[0]);
		for (uint32_t k = 0; decides && k < con->nrows; k++) {
			row_flatten(s, &con->rows[k], &f);
			if (f.var != NONE)
				given[f.var] = true;
		}
	}
	return given;
}

void close_unused_rows(Solver *s, const char *rule)
{
	Spots open = open_rows_of(s, rowvar_is_leaf);
	if (open.n == 0)
		return;
	const RowBound *bounds = row_bounds(s);
	const bool *shifted = shifted_vars(s), *given = given_vars(s);
	const bool *above = rows_above_reshapes(s), *growing = rows_above_bounded(s, bounds);
	for (size_t i = 0; i < open.n; i++) {
		const RowVar *var = &s->vars.at[open.at[i].var];
		if (var->shaped || bounds[open.at[i].var].any || given[open.at[i].var])
			continue;
		if (var->param && var->must)
			open_conflict(s, &open.at[i]);
		else if (!shifted[open.at[i].var] && !above[open.at[i].var] &&
			 !growing[open.at[i].var]) {
			s->vars.at[open.at[i].var].guessed = true;
			give_axes(s, rule, &open.at[i], 0, 0, false);
		}
	}
}

bool close_fills_axis(Solver *s, Size total, Size known)
{
	SizeOp *ops;
	int64_t constant;
	bool dims = false;
	Size rest = size_is(s->sizes, known, 0) ? SIZE_BAD : size_div(s->sizes, total, known);
	size_t n = size_is_bad(rest) ? 0 : size_program(s->arena, s->sizes, rest, &ops);
	for (size_t i = 0; i < n; i++) {
		dims |= ops[i].code == SIZE_DIM;
		if (ops[i].code == SIZE_DIV && ops[i - 1].code != SIZE_CONST)
			return false;
	}
	return dims || size_is_const(s->sizes, rest, &constant) ||
	       size_is_const(s->sizes, total, &constant);
}

/* Which row of a product is this? That of a row variable alone: the row of the result that has
 * it. */
static RowKind product_row(Solver *s, const Con *con, uint32_t index)
{
	FlatRow f;
	if (con->nrows == ROW_KINDS)
		return stored_rows[index];
	row_flatten(s, &con->rows[index], &f);
	RowVarId var = f.var;
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[con->node][k], &f);
		if (f.var == var)
			return (RowKind)k;
	}
	return ROW_OUTPUT;
}

/* Follows the one size that an operand's product lacks from its total, and is it whole? */
static bool total_solves(Solver *s, const Con *con, Size total)
{
	FlatRow f;
	Size rest = size_const(s->sizes, con->number);
	CellId open = NONE;
	for (uint32_t k = 0; k < con->nrows; k++) {
		row_flatten(s, &con->rows[k], &f);
		if (f.var != NONE)
			return false;
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = flat_at(&f, i);
			if (!cell_known(s, cell) && open != NONE)
				return false;
			if (cell_known(s, cell))
				rest = size_mul(s->sizes, rest, cell_value(s, cell));
			else
				open = cell;
		}
	}
	total = required_multiple(s, total, rest);
	return open != NONE && !hangs_on_total(s, open) && size_divides(s->sizes, rest, total) &&
	       axis_may_be(s, open, size_div(s->sizes, total, rest));
}

/* A reshape's axes are known and its total hangs on a size that would be guessed: may they be
 * all? */
static bool axes_are_all(Solver *s, CellId total, Size known)
{
	if (cell_known(s, total) || size_is(s->sizes, known, 0) || size_is(s->sizes, known, 1))
		return false;
	for (const Occ *o = cell_at(s, total)->occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (con && con->kind == CON_PRODUCT && con->arg >= 0 &&
		    cell_root(s, con->cells[0]) == cell_root(s, total))
			return total_solves(s, con, known);
	}
	return false;
}

/* Of the rows of one product that are still open, the one of kind output, or the only one, takes
 * what is left of a known total. False when no row is open, or the total is not known. */
static bool close_total(Solver *s, const char *rule, ConId id)
{
	FlatRow f;
	const Con *con = &s->cons.at[id];
	Spot spot = {.node = NODE_NONE, .cell = NONE, .var = NONE};
	Size known = size_const(s->sizes, 1);
	bool unknown = false;
	for (uint32_t k = 0; k < con->nrows; k++) {
		row_flatten(s, &con->rows[k], &f);
		RowKind row = f.var == NONE ? ROW_BATCH : product_row(s, con, k);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			unknown |= !cell_known(s, flat_at(&f, i));
			if (!unknown)
				known = size_mul(s->sizes, known, cell_value(s, flat_at(&f, i)));
		}
		if (f.var != NONE && (spot.var == NONE || row == ROW_OUTPUT))
			spot = (Spot){con->node, row, 0, NONE, f.var};
	}
	if (spot.var != NONE && !unknown && axes_are_all(s, con->cells[0], known)) {
		give_axes(s, rule, &spot, 0, 0, false);
		propagate(s);
		close_total(s, rule, id); /* falls: open rows */
		return !solver_stops(s);
	}
	if (spot.var == NONE || !cell_known(s, con->cells[0]))
		return false;
	Size total = required_multiple(s, cell_value(s, con->cells[0]), known);
	bool fits = unknown || size_same(known, total) || !close_fills_axis(s, total, known);
	give_axes(s, rule, &spot, 0, fits ? 0 : 1, false);
	propagate(s);
	return !solver_stops(s);
}

void close_total_row(Solver *s, const char *rule)
{
	for (ConId id = 0; id < s->cons.n; id++) {
		if (s->cons.at[id].kind == CON_PRODUCT && s->cons.at[id].arg < 0)
			close_total(s, rule, id);
	}
}

/* The results from which a reshape's total follows: by NodeId the last such reshape, or 0. */
static NodeId *reshape_sources(const Solver *s)
{
	const Graph *graph = s->graph;
	NodeId *sources = ARENA_ARRAY(s->arena, NodeId, graph->nodes.n + 1);
	for (NodeId id = (NodeId)graph->nodes.n;
	     id-- > 0;) { /* operands stand before their results */
		const Node *node = &graph->nodes.at[id];
		NodeId of = node_width(node->kind) ? id : sources[id];
		for (uint32_t i = 0; of && i < node->nargs; i++)
			sources[node->args[i]] = sources[node->args[i]] ? sources[node->args[i]] : of;
	}
	return sources;
}

/* given: the product of the reshape's operand. */
static void close_source(Solver *s, const char *rule, NodeId id, ConId given)
{
	FlatRow f;
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[id][k], &f);
		Spot spot = {id, (RowKind)k, 0, NONE, f.var};
		if (f.var != NONE && !rowvar_is_leaf(&s->vars.at[f.var]))
			give_axes(s, rule, &spot, 0, 0, false);
	}
	propagate(s);
	close_least_of(s, rule, id, given);
}

/* In the order of the program, so a reshape has its axes before what is computed from it is
 * closed. */
void close_reshaped(Solver *s, const char *rule)
{
	/* by NodeId: the product of a reshape's own axes; its operand's stands before it */
	ConId *total = ARENA_ARRAY(s->arena, ConId, s->graph->nodes.n + 1);
	NodeId *sources = reshape_sources(s);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind == CON_PRODUCT && con->arg < 0 && con->node != NODE_NONE)
			total[con->node] = id;
	}
	for (NodeId id = 0; id < s->graph->nodes.n && !solver_stops(s); id++) {
		bool reshape = node_width(s->graph->nodes.at[id].kind) > 0;
		while (reshape && close_total(s, rule, total[id]))
			; /* falls: open rows of the reshape */
		if (reshape)
			close_given_total(s, "factors", total[id]);
		if (sources[id])
			close_source(s, rule, id, total[sources[id]] - 1);
	}
}

/* The longest first: what is least for a shorter one may be too little for a longer. */
void close_shifted_rows(Solver *s, const char *rule)
{
	(void)rule;
	VEC(ConId) waiting = {0};
	for (ConId id = 0; id < s->cons.n; id++) {
		if (s->cons.at[id].kind == CON_ROW_EQ && !s->cons.at[id].done)
			PUSH(s->arena, waiting, id);
	}
	for (uint32_t least = waiting.n > 0 ? ROW_LIMIT + 1 : 0; least-- > 0;) {
		for (size_t i = 0; i < waiting.n && !solver_stops(s); i++) {
			if (row_equal_close(s, waiting.at[i], least))
				propagate(s);
		}
	}
}

/* Rows of results that no open leaf makes, then the rows of leaves that these bound. Falls: open
 * rows of results; new ones only come from rows that had to grow, and rows stop at ROW_LIMIT. */
static void close_settled_rows(Solver *s, const char *rule)
{
	for (bool any = true; any && !solver_stops(s);) {
		any = false;
		Spots open = open_rows(s);
		const bool *leaves = rows_of_leaves(s);
		for (size_t i = 0; i < open.n; i++) {
			if (leaves[open.at[i].var] || s->vars.at[open.at[i].var].solved)
				continue;
			give_axes(s, rule, &open.at[i], 0, 0, false);
			any = true;
		}
		propagate(s);
		close_leaf_rows(s, "leaf-row");
	}
}

static bool is_needed(const RowVar *var) { return var->param && var->must && !var->made; }

/* Those of parameters of which no use knows where they end. */
static void open_conflicts(Solver *s)
{
	Spots open = open_rows_of(s, is_needed);
	const RowBound *bounds = open.n > 0 ? row_bounds(s) : NULL;
	for (size_t i = 0; i < open.n; i++)
		if (!bounds[open.at[i].var].known)
			open_conflict(s, &open.at[i]);
}

/* Falls: each round closes all open rows of results; new ones only come from rows that had to
 * grow. */
void close_result_rows(Solver *s, const char *rule)
{
	close_settled_rows(s, rule);
	for (bool any = true; any && !solver_stops(s);) {
		any = false;
		Spots open = open_rows(s);
		open_conflicts(s);
		for (size_t i = 0; i < open.n; i++) {
			const RowVar *var = &s->vars.at[open.at[i].var];
			if (var->solved || var->parent != open.at[i].var)
				continue;
			if (rowvar_is_leaf(var))
				continue;
			give_axes(s, rule, &open.at[i], 0, 0, false);
			any = true;
		}
		propagate(s);
	}
}

void close_last_rows(Solver *s, const char *rule)
{
	for (Spots open = open_rows(s); open.n > 0 && !solver_stops(s); open = open_rows(s)) {
		const RowBound *bounds = row_bounds(s);
		for (size_t i = 0; i < open.n; i++) {
			const RowBound *b = &bounds[open.at[i].var];
			if (!s->vars.at[open.at[i].var].solved)
				give_axes(s, rule, &open.at[i], b->lead, b->trail, false);
		}
		propagate(s);
	}
}
