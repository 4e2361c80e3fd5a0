/* Sizes that several relations determine together: a^b of 6 with a = 2*b is 4 and 2.
 *
 * A relation alone is solved for one unknown (relate.c). When the queues are empty, relations that
 * were looked at and have more unknowns are taken with all that share unknowns with them, directly
 * or through others, and are eliminated as linear equations:
 *
 *   row := sum of coefficient * cell = size       coefficients are integers, sizes are expressions
 *
 * What one row says of one cell alone is forced, in whatever order the constraints came: the
 * queues were empty. A row that no sizes solve is an error, with the relations that it was made
 * of. Systems of more than MOST cells are left as they are, and so are those for which nothing is
 * left of the program's MOST_WORK: an elimination costs the cube of the cells, and each relation
 * that changes asks for one. */
#include "infer/affine.h"
#include "infer/cells.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/solver.h"
#include "infer/trail.h"

#include <string.h>

enum { MOST = 512, MOST_LOOKED_AT = 8192, MOST_WORK = 1 << 26 };

typedef struct Equation {
	int64_t *at; /* by column */
	Size right;
	uint64_t from[MOST / 64]; /* a bit per relation */
} Equation;

typedef struct System {
	Solver *s;
	CellId cells[MOST]; /* the columns: roots */
	ConId cons[MOST];
	uint32_t ncells, ncons;
	Equation *rows;
	uint32_t looked; /* at entries of occurrence lists */
	bool fails;	 /* too large */
} System;

static bool is_from(const Equation *row, uint32_t relation)
{
	return row->from[relation / 64] >> relation % 64 & 1;
}

/* The factors of a written product less `*open`, the only one that is not known, or NONE; false
 * where their product is no number, or several are not known. */
static bool read_factors(Solver *s, const Con *con, int64_t *factor, CellId *open)
{
	FlatRow f = {0};
	Size known = size_const(s->sizes, 1);
	uint32_t nopen = 0;
	*open = NONE;
	if (con->kind == CON_PRODUCT)
		row_flatten(s, &con->rows[0], &f);
	uint32_t n = con->kind == CON_PRODUCT ? f.nlead + f.ntrail : 2;
	for (uint32_t i = 0; i < n; i++) {
		CellId cell = con->kind == CON_PRODUCT ? flat_at(&f, i) : con->cells[1 + i];
		bool given = cell_known(s, cell);
		known = given ? size_mul(s->sizes, known, cell_value(s, cell)) : known;
		*open = given ? *open : cell_root(s, cell);
		nopen += !given;
	}
	return nopen < 2 && size_is_const(s->sizes, known, factor);
}

static bool is_product(const Con *con)
{
	return con->kind == CON_MUL || con_is_written_product(con);
}

static bool is_linear(Solver *s, const Con *con)
{
	int64_t factor;
	CellId open;
	switch (con->kind) {
	case CON_AFFINE:
		return con->axis->mark != MARK_VALID_FLOOR && con->axis->mark != MARK_PADDED_CEIL;
	case CON_CONCAT:
	case CON_ADD: return true;
	default: return is_product(con) && read_factors(s, con, &factor, &open);
	}
}

void linear_touch(Solver *s, ConId id)
{
	Con *con = &s->cons.at[id];
	uint32_t open = 0;
	if (con->done || con->stale || con->kind < CON_AFFINE ||
	    (con->kind == CON_PRODUCT && !con_is_written_product(con)))
		return;
	for (uint32_t i = 0; i < con->ncells; i++)
		open += con->cells[i] != NONE && !cell_known(s, con->cells[i]);
	if (open < 2 && con->kind != CON_PRODUCT)
		return;
	con->stale = true;
	PUSH(s->arena, s->stale, id);
}

/* ---- what belongs together ---- */

static void system_add(System *y, ConId id)
{
	Con *con = &y->s->cons.at[id];
	if (con->done || con->round == y->s->rounds || !is_linear(y->s, con))
		return;
	con->round = y->s->rounds;
	if (y->ncons == MOST)
		y->fails = true;
	else
		y->cons[y->ncons++] = id;
}

static uint32_t column_of(System *y, CellId cell)
{
	for (uint32_t i = 0; i < y->ncells; i++) {
		if (y->cells[i] == cell)
			return i;
	}
	if (y->ncells == MOST) {
		y->fails = true;
		return 0;
	}
	y->cells[y->ncells] = cell;
	for (const Occ *o = y->s->cells.at[cell].occs.first; o && !y->fails; o = o->next) {
		y->fails = ++y->looked > MOST_LOOKED_AT || ++y->s->eliminated > MOST_WORK;
		if (o->kind == OCC_CON)
			system_add(y, o->id);
	}
	return y->ncells++;
}

/* ---- rows ---- */

static void add_term(System *y, Equation *row, CellId cell, int64_t factor)
{
	Solver *s = y->s;
	Size value = cell_value(s, cell);
	if (!size_is_bad(value))
		row->right = size_sub(s->sizes, row->right, size_scale(s->sizes, value, factor));
	else
		row->at[column_of(y, cell_root(s, cell))] += factor;
	y->fails |= size_is_bad(row->right);
}

static void add_affine(System *y, Equation *row, const Con *con)
{
	Solver *s = y->s;
	const SpecAxis *axis = con->axis;
	Size zero = size_const(s->sizes, 0);
	bool valid = axis->kernel && axis->mark == MARK_VALID;
	row->right = affine_in(s->sizes, axis, zero, valid ? zero : SIZE_BAD);
	add_term(y, row, con->cells[1], -axis->stride);
	if (valid)
		add_term(y, row, con->cells[2], -axis->dilation);
}

static void add_row(System *y, Equation *row, uint32_t i)
{
	Solver *s = y->s;
	const Con *con = &s->cons.at[y->cons[i]];
	int64_t factor;
	CellId open;
	row->right = size_const(s->sizes, con->number);
	row->from[i / 64] |= (uint64_t)1 << i % 64;
	if (con->kind == CON_AFFINE) {
		add_affine(y, row, con);
	} else if (is_product(con)) {
		read_factors(s, con, &factor, &open);
		row->right = size_const(s->sizes, open == NONE ? factor : 0);
		if (open != NONE)
			add_term(y, row, open, -factor);
	} else {
		for (uint32_t part = 1; part < con->ncells; part++)
			add_term(y, row, con->cells[part], -1);
	}
	add_term(y, row, con->cells[0], 1);
}

/* ---- elimination ---- */

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b != 0) { /* falls: the magnitude of b */
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

/* row * f - by * g, so that column c is 0 */
static void clear_column(System *y, Equation *row, const Equation *by, uint32_t c)
{
	Sizes *sizes = y->s->sizes;
	int64_t common = common_divisor(row->at[c], by->at[c]);
	int64_t f = by->at[c] / common, g = row->at[c] / common;
	y->s->eliminated += y->ncells;
	y->fails |= y->s->eliminated > MOST_WORK;
	for (uint32_t i = 0; i < y->ncells; i++) {
		int64_t a, b;
		y->fails |= __builtin_mul_overflow(row->at[i], f, &a) ||
			    __builtin_mul_overflow(by->at[i], g, &b) ||
			    __builtin_sub_overflow(a, b, &row->at[i]);
	}
	row->right =
		size_sub(sizes, size_scale(sizes, row->right, f), size_scale(sizes, by->right, g));
	for (uint32_t i = 0; i < MOST / 64; i++)
		row->from[i] |= by->from[i];
	y->fails |= size_is_bad(row->right);
}

static void eliminate(System *y)
{
	uint32_t used = 0;
	for (uint32_t c = 0; c < y->ncells && used < y->ncons; c++) {
		uint32_t pivot = used;
		while (pivot < y->ncons && y->rows[pivot].at[c] == 0) /* falls: rows */
			pivot++;
		if (pivot == y->ncons)
			continue;
		Equation row = y->rows[pivot];
		y->rows[pivot] = y->rows[used];
		y->rows[used] = row;
		for (uint32_t r = 0; r < y->ncons && !y->fails; r++) {
			if (r != used && y->rows[r].at[c] != 0)
				clear_column(y, &y->rows[r], &row, c);
		}
		used++;
	}
}

/* ---- what rows say ---- */

static Conflict *system_conflict(System *y, const Equation *row)
{
	Solver *s = y->s;
	ConId last = 0;
	for (uint32_t i = 0; i < y->ncons; i++) {
		s->cons.at[y->cons[i]].done = true;
		if (is_from(row, i) && y->cons[i] > last)
			last = y->cons[i];
	}
	for (uint32_t i = 0; i < y->ncells; i++)
		cell_at(s, y->cells[i])->broken = true;
	Conflict *c = conflict_new(s, CONFLICT_SYSTEM, last);
	for (uint32_t i = 0; i < y->ncons; i++) {
		if (is_from(row, i))
			PUSH(s->arena, c->cons, y->cons[i]);
	}
	return c;
}

/* The first relation of the program that has the cell. */
static ConId con_of(const System *y, CellId cell)
{
	ConId found = NONE;
	for (uint32_t i = 0; i < y->ncons; i++) {
		const Con *con = &y->s->cons.at[y->cons[i]];
		for (uint32_t k = 0; k < con->ncells && y->cons[i] < found; k++) {
			if (con->cells[k] != NONE && cell_root(y->s, con->cells[k]) == cell)
				found = y->cons[i];
		}
	}
	return found;
}

/* factor * cell = right. True where that gave a size. */
static bool solve_equation(System *y, const Equation *row, CellId cell, int64_t factor)
{
	Solver *s = y->s;
	Size right = factor < 0 ? size_scale(s->sizes, row->right, -1) : row->right;
	int64_t by = factor < 0 ? -factor : factor, value;
	ConId con = con_of(y, cell);
	if (size_is_const(s->sizes, right, &value) && (value < 0 || value % by != 0)) {
		int64_t common = common_divisor(value, by);
		Conflict *c = system_conflict(y, row);
		c->cells[0] = cell;
		c->use = con;
		c->number = value / common;
		c->divisor = by / common;
		return false;
	}
	cell_set(s, cell, size_div(s->sizes, right, size_const(s->sizes, by)),
		 (Why){WHY_SYSTEM, con, NONE, s->cons.at[con].span, NULL});
	return true;
}

/* Has a relation of the row a size that was told to be wrong? What follows from it is no news. */
static bool is_broken(const System *y, const Equation *row)
{
	bool is = false;
	for (uint32_t i = 0; i < y->ncons; i++) {
		const Con *con = &y->s->cons.at[y->cons[i]];
		for (uint32_t k = 0; is_from(row, i) && k < con->ncells; k++)
			is |= con->cells[k] != NONE && cell_at(y->s, con->cells[k])->broken;
	}
	return is;
}

static bool read_equation(System *y, const Equation *row)
{
	Solver *s = y->s;
	uint32_t column = 0, n = 0;
	if (is_broken(y, row))
		return false;
	for (uint32_t c = 0; c < y->ncells; c++) {
		if (row->at[c] != 0) {
			column = c;
			n++;
		}
	}
	if (n == 1)
		return solve_equation(y, row, y->cells[column], row->at[column]);
	if (n == 0 && sizes_differ(s->sizes, row->right, size_const(s->sizes, 0)))
		system_conflict(y, row);
	return false;
}

/* What more relations than sizes say depends on which are taken first: they are, in the order of
 * the program. */
static void sort_cons(System *y)
{
	for (uint32_t i = 1; i < y->ncons; i++) {
		ConId id = y->cons[i];
		uint32_t at = i;
		for (; at > 0 && y->cons[at - 1] > id; at--) /* falls: at */
			y->cons[at] = y->cons[at - 1];
		y->cons[at] = id;
	}
}

/* What belongs to the relation: its system has `ncells` columns then. */
static bool system_collect(System *y, ConId id)
{
	system_add(y, id);
	for (uint32_t i = 0; i < y->ncons && !y->fails; i++) { /* falls: relations not taken */
		int64_t columns[MOST] = {0};
		Equation row = {.at = columns};
		add_row(y, &row, i);
	}
	sort_cons(y);
	return !y->fails;
}

static bool solve_with(Solver *s, ConId id, Arena *rows)
{
	System *y = ARENA_NEW(rows, System);
	y->s = s;
	if (!system_collect(y, id))
		return false;
	uint32_t width = y->ncells;
	y->rows = ARENA_ARRAY(rows, Equation, y->ncons);
	y->ncells = y->looked = 0;
	for (uint32_t i = 0; i < y->ncons; i++) {
		y->rows[i].at = ARENA_ARRAY(rows, int64_t, width);
		add_row(y, &y->rows[i], i);
	}
	eliminate(y);
	bool any = false;
	size_t conflicts = s->conflicts.n;
	for (uint32_t i = 0; i < y->ncons && !y->fails && s->conflicts.n == conflicts; i++)
		any |= read_equation(y, &y->rows[i]);
	return any;
}

bool linear_run(Solver *s)
{
	bool any = false;
	s->rounds++;
	for (size_t i = 0; i < s->stale.n; i++) {
		Con *con = &s->cons.at[s->stale.at[i]];
		con->stale = false;
		if (con->round == s->rounds)
			continue;
		Arena *rows = arena_new();
		any |= solve_with(s, s->stale.at[i], rows);
		arena_free(rows);
	}
	s->stale.n = 0;
	return any;
}
