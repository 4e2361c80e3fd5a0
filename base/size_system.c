/* Relations between sizes as a system of linear rows over the integers. What it does not refute
 * and leaves one dim finitely many values is tried (size_finite.c).
 *
 *   row := sum of coef * column + constant  = 0  |  >= 0
 *
 * A column is a monomial of the sizes (n, n*m, floor(n/2)) or the quotient that makes a fact "b
 * divides a" an equation. What is known of every column by itself are rows too: its least value,
 * and for floors and quotients the numerator.
 *
 * Equations are used up first, each for a column that it has once; where it has none, columns are
 * replaced by sums of columns, as in Euclid's algorithm, until it does. Then Fourier and Motzkin's
 * method removes one column at a time, the one that makes the fewest rows. Every row is
 * divided by the common divisor of its coefficients: an equation whose constant it does not divide
 * has no solution, the constant of an inequality is rounded. A row without columns that is false is
 * the proof; each row carries the facts that it came from.
 *
 * Only facts that share columns with the question, directly or through others, are looked at.
 * Rows, columns, facts and the work of all questions are bounded: beyond a bound rows are left out,
 * which can only make fewer proofs.
 */
#include "base/size_system.h"

#include <string.h>

#include "base/integer.h"
#include "base/size_finite.h"
#include "base/size_order.h"
#include "base/size_poly.h"

enum { ROWS = 192, COLUMNS = 64, SEEN = 1024, FACTS = 62, GOAL = 63 };
enum { WORK_LIMIT = 40000000, FINITE_LIMIT = 4000000 };
#define FRESH UINT32_MAX

typedef struct Row {
	int64_t at[COLUMNS];
	int64_t constant;
	uint64_t from; /* a bit per fact taken */
	bool equation;
} Row;

struct SizeSystem {
	Sizes *sizes;
	int64_t work; /* left */
	FiniteWork finite;
	/* of one question */
	bool links;   /* exact quotients are what they say */
	bool proved;
	uint64_t proof;
	uint32_t nrows, ncolumns;
	uint32_t monos[COLUMNS];
	uint32_t taken[SEEN]; /* by fact: its bit, or FRESH */
	Row rows[ROWS];
};

SizeSystem *size_system_new(Sizes *sizes, Arena *arena)
{
	SizeSystem *s = ARENA_NEW(arena, SizeSystem);
	s->sizes = sizes;
	s->work = WORK_LIMIT;
	s->finite = (FiniteWork){FINITE_LIMIT, ARENA_ARRAY(arena, int64_t, sizes_ndims(sizes) + 1)};
	return s;
}

/* ---- rows ---- */

/* Divides by the common divisor. False when the row says nothing more. */
static bool normalize(SizeSystem *s, Row *row)
{
	int64_t by = 0;
	for (uint32_t i = 0; i < s->ncolumns; i++)
		by = greatest_divisor(row->at[i], by);
	bool fails = by == 0 ? row->constant < 0 || (row->equation && row->constant > 0)
			     : row->equation && row->constant % by != 0;
	if (fails && !s->proved) {
		s->proved = true;
		s->proof = row->from;
	}
	if (fails || by == 0)
		return false;
	for (uint32_t i = 0; i < s->ncolumns; i++)
		row->at[i] /= by;
	row->constant = divide_down(row->constant, by);
	return true;
}

/* Of two inequalities that differ in their constants the stronger stays. */
static void put(SizeSystem *s, Row *row)
{
	s->work -= 4 * s->ncolumns;
	if (!normalize(s, row))
		return;
	for (uint32_t i = 0; i < s->nrows; i++) {
		Row *other = &s->rows[i];
		if (other->equation || row->equation ||
		    memcmp(other->at, row->at, sizeof row->at) != 0)
			continue;
		if (row->constant < other->constant)
			*other = *row;
		return;
	}
	s->work -= s->nrows;
	if (s->nrows < ROWS)
		s->rows[s->nrows++] = *row;
}

/* to = f * x + g * y; false on overflow */
static bool combine(const SizeSystem *s, Row *to, const Row *x, int64_t f, const Row *y, int64_t g)
{
	int64_t a, b;
	bool over = __builtin_mul_overflow(x->constant, f, &a);
	over |= __builtin_mul_overflow(y->constant, g, &b);
	Row sum = {.from = x->from | y->from, .equation = x->equation && y->equation};
	over |= __builtin_add_overflow(a, b, &sum.constant);
	for (uint32_t i = 0; i < s->ncolumns; i++) {
		over |= __builtin_mul_overflow(x->at[i], f, &a);
		over |= __builtin_mul_overflow(y->at[i], g, &b);
		over |= __builtin_add_overflow(a, b, &sum.at[i]);
		over |= sum.at[i] > COEF_CAP || sum.at[i] < -COEF_CAP;
	}
	*to = sum;
	return !over;
}

/* ---- columns ---- */

static bool add_size(SizeSystem *s, Row *row, Size a, int64_t factor);

static void put_least(SizeSystem *s, uint32_t column, Size size)
{
	Row row = {0};
	int64_t least;
	if (!size_least(s->sizes, size, &least))
		return;
	row.at[column] = 1;
	row.constant = -least;
	put(s, &row);
}

/* num - den*q = 0; of a floor 0 <= num - den*q < den; of a quotient by a size q <= num, as that is
 * not 0 */
static void put_quotient(SizeSystem *s, uint32_t column, const Atom *atom)
{
	Row row = {0};
	int64_t den = 1, least;
	bool exact = atom->kind == ATOM_QUOTIENT, number = atom_divisor(s->sizes, atom, &den);
	bool positive = size_least(s->sizes, atom->num, &least) && least >= 0 &&
			size_least(s->sizes, atom->den, &least) && least >= 0;
	if ((exact && !s->links) || !(number || positive) || !add_size(s, &row, atom->num, 1))
		return;
	row.at[column] -= den;
	row.equation = exact && number;
	Row upper = row;
	put(s, &row);
	if (exact)
		return;
	for (uint32_t i = 0; i < COLUMNS; i++)
		upper.at[i] = -upper.at[i];
	upper.constant = den - 1 - upper.constant;
	put(s, &upper);
}

static uint32_t find_column(const SizeSystem *s, uint32_t mono)
{
	uint32_t i = 0;
	while (i < s->ncolumns && (s->monos[i] != mono || mono == FRESH))
		i++;
	return i;
}

/* COLUMNS where there is no room. */
static uint32_t column_of(SizeSystem *s, uint32_t mono)
{
	uint32_t at = find_column(s, mono);
	if (at < s->ncolumns || at == COLUMNS)
		return at;
	s->monos[s->ncolumns++] = mono;
	if (mono == FRESH)
		return at;
	Term term = {1, mono, 0};
	put_least(s, at, size_intern(s->sizes, &term, 1));
	const Mono *m = mono_at(s->sizes, mono);
	if (m->degree == 1 && atom_at(s->sizes, m->factors[0].atom)->kind != ATOM_DIM) {
		Atom atom = *atom_at(s->sizes, m->factors[0].atom);
		put_quotient(s, at, &atom);
	}
	return at;
}

/* row += factor * a; false on overflow, or where there is no room for a column */
static bool add_size(SizeSystem *s, Row *row, Size a, int64_t factor)
{
	for (uint32_t i = 0; i < poly_at(s->sizes, a)->n; i++) {
		Term term = poly_at(s->sizes, a)->terms[i];
		int64_t coef;
		uint32_t at = term.mono == 0 ? 0 : column_of(s, term.mono);
		if (at == COLUMNS || __builtin_mul_overflow(term.coef, factor, &coef))
			return false;
		int64_t *to = term.mono == 0 ? &row->constant : &row->at[at];
		if (__builtin_add_overflow(*to, coef, to))
			return false;
	}
	return true;
}

/* ---- facts ---- */

/* Does a mention a column, itself or in the numerator of a quotient? */
static bool mentions(const SizeSystem *s, Size a)
{
	const Poly *poly = poly_at(s->sizes, a);
	int64_t den;
	for (uint32_t i = 0; i < poly->n; i++) {
		uint32_t id = poly->terms[i].mono;
		const Mono *mono = mono_at(s->sizes, id);
		if (id == 0)
			continue;
		const Atom *atom = atom_at(s->sizes, mono->factors[0].atom);
		if (find_column(s, id) < s->ncolumns ||
		    (mono->degree == 1 && atom_divisor(s->sizes, atom, &den) &&
		     mentions(s, atom->num)))
			return true;
	}
	return false;
}

/* a - b - more, with a relation to 0 */
static void put_difference(SizeSystem *s, Size a, Size b, int64_t more, Row row)
{
	row.constant = -more;
	if (add_size(s, &row, a, 1) && add_size(s, &row, b, -1))
		put(s, &row);
}

static void put_fact(SizeSystem *s, const SizeFact *fact, uint32_t bit)
{
	Row row = {.from = (uint64_t)1 << bit, .equation = fact->kind != FACT_GE};
	int64_t by;
	if (fact->kind != FACT_DIVIDES) {
		put_difference(s, fact->a, fact->b, 0, row);
	} else if (size_is_const(s->sizes, fact->b, &by) && by > 0) {
		uint32_t at = column_of(s, FRESH);
		if (at == COLUMNS)
			return;
		row.at[at] = -by;
		put_difference(s, fact->a, size_const(s->sizes, 0), 0, row);
	}
}

/* Puts what is near the columns that are there. Measure: facts not taken. */
static void put_near(SizeSystem *s, const SizeFact *facts, size_t n)
{
	uint32_t *taken = s->taken, count = 0;
	bool more = true;
	n = n < SEEN ? n : SEEN;
	for (size_t i = 0; i < n; i++)
		taken[i] = FRESH;
	while (more && count < FACTS && !s->proved) {
		more = false;
		for (size_t i = 0; i < n && count < FACTS; i++) {
			s->work -= 2;
			if (taken[i] != FRESH ||
			    !(mentions(s, facts[i].a) || mentions(s, facts[i].b)))
				continue;
			taken[i] = count++;
			put_fact(s, &facts[i], taken[i]);
			more = true;
		}
	}
}

/* ---- elimination ---- */

static int64_t magnitude(int64_t a)
{
	return a < 0 ? -a : a;
}

/* The equation and column with the smallest coefficient; false: no equation is left. */
static bool find_equation(const SizeSystem *s, uint32_t *row, uint32_t *column)
{
	int64_t best = INT64_MAX;
	for (uint32_t r = 0; r < s->nrows; r++) {
		for (uint32_t i = 0; s->rows[r].equation && i < s->ncolumns; i++) {
			int64_t size = magnitude(s->rows[r].at[i]);
			if (size == 0 || size >= best)
				continue;
			best = size;
			*row = r;
			*column = i;
		}
	}
	return best < INT64_MAX;
}

/* x in the place of column c, where c = x - the sum of times[j] * column j: both run over all
 * integers. False on overflow. */
static bool replace_column(const SizeSystem *s, Row *row, uint32_t c, const int64_t *times)
{
	bool over = false;
	for (uint32_t j = 0; j < s->ncolumns; j++) {
		int64_t part;
		over |= __builtin_mul_overflow(times[j], row->at[c], &part);
		over |= __builtin_sub_overflow(row->at[j], part, &row->at[j]);
		over |= row->at[j] > COEF_CAP || row->at[j] < -COEF_CAP;
	}
	return !over;
}

/* Leaves the equation with coefficients from 0 to that of c, which is above 0. */
static void reduce_equation(SizeSystem *s, Row *equation, uint32_t c)
{
	int64_t times[COLUMNS] = {0};
	uint32_t n = s->nrows;
	for (uint32_t j = 0; j < s->ncolumns; j++)
		times[j] = j == c ? 0 : divide_down(equation->at[j], equation->at[c]);
	s->nrows = 0;
	for (uint32_t i = 0; i < n; i++) {
		Row row = s->rows[i];
		if (replace_column(s, &row, c, times))
			put(s, &row);
	}
	if (replace_column(s, equation, c, times))
		put(s, equation);
}

/* Measure: equations, and the smallest coefficient in one. */
static void use_equations(SizeSystem *s)
{
	uint32_t r, column;
	while (!s->proved && s->work > 0 && find_equation(s, &r, &column)) {
		Row equation = s->rows[r], sum;
		s->rows[r] = s->rows[--s->nrows];
		s->work -= (int64_t)s->nrows * s->ncolumns;
		if (equation.at[column] < 0)
			combine(s, &equation, &equation, -1, &equation, 0);
		int64_t a = equation.at[column];
		if (a > 1) {
			reduce_equation(s, &equation, column);
			continue;
		}
		uint32_t n = s->nrows;
		s->nrows = 0;
		for (uint32_t i = 0; i < n; i++) {
			Row row = s->rows[i];
			if (row.at[column] == 0)
				put(s, &row);
			else if (combine(s, &sum, &row, 1, &equation, -row.at[column]))
				put(s, &sum);
		}
	}
}

/* The column that makes the fewest rows; false: no column is left. */
static bool find_column_to_remove(const SizeSystem *s, uint32_t *column)
{
	int64_t best = INT64_MAX;
	for (uint32_t i = 0; i < s->ncolumns; i++) {
		int64_t above = 0, below = 0;
		for (uint32_t r = 0; r < s->nrows; r++) {
			above += s->rows[r].at[i] > 0;
			below += s->rows[r].at[i] < 0;
		}
		if (above + below == 0 || above * below - above - below >= best)
			continue;
		best = above * below - above - below;
		*column = i;
	}
	return best < INT64_MAX;
}

/* The rows without the column, and each that bounds it from below with each that does from above.
 * Measure: columns. */
static void remove_columns(SizeSystem *s)
{
	uint32_t c;
	while (!s->proved && s->work > 0 && find_column_to_remove(s, &c)) {
		Row old[ROWS], sum;
		uint32_t n = s->nrows;
		s->work -= (int64_t)n * s->ncolumns;
		memcpy(old, s->rows, n * sizeof *old);
		s->nrows = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (old[i].at[c] == 0)
				put(s, &old[i]);
		}
		for (uint32_t i = 0; i < n && s->work > 0; i++) {
			for (uint32_t k = 0; k < n && old[i].at[c] > 0; k++) {
				int64_t by = greatest_divisor(old[i].at[c], old[k].at[c]);
				if (old[k].at[c] < 0 &&
				    combine(s, &sum, &old[i], -old[k].at[c] / by, &old[k],
					    old[i].at[c] / by))
					put(s, &sum);
			}
		}
	}
}

/* ---- questions ---- */

static void start(SizeSystem *s, bool links)
{
	s->links = links;
	s->proved = false;
	s->proof = 0;
	s->nrows = s->ncolumns = 0;
}

static bool solve(SizeSystem *s, const SizeFact *facts, size_t n)
{
	put_near(s, facts, n);
	use_equations(s);
	remove_columns(s);
	return s->proved;
}

bool size_system_excludes(SizeSystem *s, const SizeFact *facts, size_t n, SizeFact goal, bool *used)
{
	start(s, true);
	put_fact(s, &goal, GOAL);
	bool proved = s->work > 0 && solve(s, facts, n);
	bool excluded = proved || size_finite_excludes(s->sizes, facts, n < SEEN ? n : SEEN, goal,
						       used, &s->finite);
	for (size_t i = proved ? 0 : SEEN; used && excluded && i < n; i++)
		used[i] = i < SEEN && s->taken[i] != FRESH && (s->proof >> s->taken[i] & 1);
	return excluded;
}

/* a > b; or a = q*b + r with 0 < r < b */
static bool put_denial(SizeSystem *s, SizeFact goal)
{
	int64_t by;
	if (goal.kind != FACT_DIVIDES) {
		put_difference(s, goal.b, goal.a, 1, (Row){0});
		return true;
	}
	if (!size_is_const(s->sizes, goal.b, &by) || by < 2)
		return false;
	uint32_t q = column_of(s, FRESH), r = column_of(s, FRESH);
	Row row = {.equation = true}, least = {.constant = -1}, most = {.constant = by - 1};
	row.at[q] = -by;
	row.at[r] = -1;
	least.at[r] = 1;
	most.at[r] = -1;
	put(s, &least);
	put(s, &most);
	put_difference(s, goal.a, size_const(s->sizes, 0), 0, row);
	return true;
}

/* Does what the goal divides differ by a multiple of it from what it, or a multiple of it,
 * divides? */
static bool fact_divides(const SizeSystem *s, const SizeFact *facts, size_t n, SizeFact goal)
{
	for (size_t i = 0; i < n; i++) {
		if (facts[i].kind == FACT_DIVIDES && size_divides(s->sizes, goal.b, facts[i].b) &&
		    size_divides(s->sizes, goal.b, size_sub(s->sizes, goal.a, facts[i].a)))
			return true;
	}
	return false;
}

bool size_system_implies(SizeSystem *s, const SizeFact *facts, size_t n, SizeFact goal)
{
	SizeFact turned = {goal.kind, goal.b, goal.a};
	bool implied = s->work > 0;
	int64_t by;
	if (goal.kind == FACT_DIVIDES && !size_is_const(s->sizes, goal.b, &by))
		return implied && fact_divides(s, facts, n, goal);
	for (int side = 0; side <= (goal.kind == FACT_EQ) && implied; side++) {
		start(s, goal.kind != FACT_DIVIDES);
		implied = put_denial(s, side ? turned : goal) && solve(s, facts, n);
	}
	return implied;
}
