/* The work of loops, about, where its formula would be long.
 *
 * Tiles of 16, 4 and 1 rows are loops over 0..16*floor(n/16), ..4*floor(n/4) and ..n, whose work is
 * a sum of products of floors. Floors left away, what they cut off is nothing, and a polynomial of
 * few terms is left, without those that are small beside one of more dims:
 *
 *   work    := term + ..                 769*floor(n/16)*m + 200*(floor(n/4) - 4*floor(n/16))*m
 *   term    := number * dim * ..         about 49*m*n
 *
 * It decides how many chunks there are, which is a matter of powers of two. What the dims have in
 * common is taken out, and each product is capped before the next one, so that nothing overflows.
 *
 * The rows behind whole blocks, `for first in 64*floor(s/64)..s step 64`, are what a floor cuts off:
 * inside such a loop, of one round, floor(s/64) is (s - rows)/64, and `rows` is one more dim.
 */
#include <math.h>

#include "base/size_program.h"
#include "loops/work.h"

enum { DEGREE = 6, TERMS = 12, STACK = 32, LIKELY = 32 };

typedef struct Term {
	double by;
	uint32_t degree;
	DimId dims[DEGREE]; /* ascending */
} Term;

typedef struct Poly {
	Term at[TERMS];
	uint32_t n;
	bool bad; /* too many terms, or a quotient by what is no number */
} Poly;

/* Loops whose work is wanted, and the one over what is left behind blocks that is around. */
typedef struct Rough {
	Program *program;
	bool inside; /* of the loop over what is left */
	Size rows;   /* that are left; SIZE_BAD: no such loop was met */
	Poly extent; /* of all */
	int64_t block;
} Rough;

static Poly number(double by)
{
	return (Poly){.at = {{.by = by}}, .n = 1};
}

static bool same_dims(const Term *a, const Term *b)
{
	bool same = a->degree == b->degree;
	for (uint32_t i = 0; i < a->degree && same; i++)
		same = a->dims[i] == b->dims[i];
	return same;
}

static void add_term(Poly *sum, const Term *term)
{
	for (uint32_t i = 0; i < sum->n; i++)
		if (same_dims(&sum->at[i], term)) {
			sum->at[i].by += term->by;
			return;
		}
	sum->bad = sum->bad || sum->n == TERMS;
	if (!sum->bad)
		sum->at[sum->n++] = *term;
}

static Poly sum_of(const Poly *a, const Poly *b, double by)
{
	Poly sum = *a;
	sum.bad = a->bad || b->bad;
	for (uint32_t i = 0; i < b->n; i++) {
		Term term = b->at[i];
		term.by *= by;
		add_term(&sum, &term);
	}
	return sum;
}

/* false: the degree is too high. */
static bool times(Term *a, const Term *b)
{
	uint32_t i = 0, j = 0;
	Term all = {.by = a->by * b->by};
	if (a->degree + b->degree > DEGREE)
		return false;
	while (i < a->degree || j < b->degree) { /* falls: dims that are left */
		bool first = j == b->degree || (i < a->degree && a->dims[i] <= b->dims[j]);
		all.dims[all.degree++] = first ? a->dims[i++] : b->dims[j++];
	}
	*a = all;
	return true;
}

static Poly product_of(const Poly *a, const Poly *b)
{
	Poly product = {.bad = a->bad || b->bad};
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < b->n; j++) {
			Term term = a->at[i];
			product.bad = product.bad || !times(&term, &b->at[j]);
			add_term(&product, &term);
		}
	return product;
}

static Poly quotient_of(const Poly *a, const Poly *b)
{
	Poly quotient = *a;
	quotient.bad = a->bad || b->bad || b->n != 1 || b->at[0].degree > 0 || b->at[0].by == 0;
	for (uint32_t i = 0; i < a->n && !quotient.bad; i++)
		quotient.at[i].by /= b->at[0].by;
	return quotient;
}

static Poly one_dim(DimId dim)
{
	return (Poly){.at = {{.by = 1, .degree = 1, .dims = {dim}}}, .n = 1};
}

/* The dim behind all others. */
static Poly left_rows(const Rough *r)
{
	return one_dim((DimId)sizes_ndims(r->program->sizes));
}

static bool is_zero(const Poly *poly)
{
	bool zero = !poly->bad;
	for (uint32_t i = 0; i < poly->n; i++)
		zero = zero && poly->at[i].by == 0;
	return zero;
}

/* floor(a/b), where it counts the blocks before what is left: the rows of these. */
static Poly rows_of(const Rough *r, const Poly *a, const Poly *b)
{
	Poly beyond = sum_of(a, &r->extent, -1), left = left_rows(r);
	bool blocks = r->inside && b->n == 1 && b->at[0].degree == 0 &&
		      b->at[0].by == (double)r->block && is_zero(&beyond);
	return blocks ? sum_of(a, &left, -1) : *a;
}

static Poly of_two(const Rough *r, SizeCode code, const Poly *a, const Poly *b)
{
	Poly rows;
	switch (code) {
	case SIZE_FLOOR: rows = rows_of(r, a, b); return quotient_of(&rows, b);
	case SIZE_ADD: return sum_of(a, b, 1);
	case SIZE_SUB: return sum_of(a, b, -1);
	case SIZE_MUL: return product_of(a, b);
	default: return quotient_of(a, b);
	}
}

static Poly of_size(const Rough *r, Size size)
{
	Poly stack[STACK], bad = {.bad = true};
	Program *program = r->program;
	SizeOp *ops;
	size_t n = size_program(program->arena, program->sizes, size, &ops), depth = 0;
	for (size_t i = 0; i < n; i++) {
		bool leaf = ops[i].code == SIZE_CONST || ops[i].code == SIZE_DIM;
		if (leaf && depth == STACK)
			return bad;
		if (ops[i].code == SIZE_CONST)
			stack[depth++] = number((double)ops[i].arg);
		else if (leaf)
			stack[depth++] = one_dim((DimId)ops[i].arg);
		else {
			depth--;
			stack[depth - 1] =
				of_two(r, ops[i].code, &stack[depth - 1], &stack[depth]);
		}
	}
	return depth == 1 ? stack[0] : bad;
}

static Poly trips_of(const Rough *r, const Stmt *loop)
{
	Size lo, hi;
	if (!loop_bounds(r->program, loop, &lo, &hi))
		return of_size(r, loop_trips(r->program, loop));
	Poly from = of_size(r, lo), to = of_size(r, hi), step = number((double)loop->step);
	Poly rounds = sum_of(&to, &from, -1);
	return quotient_of(&rounds, &step);
}

/* Is the loop such a one, the only one of its kind? */
static bool is_left(const Rough *r, const Stmt *loop, Size *lo, Size *hi)
{
	return !r->inside && loop_of_rest(r->program, loop, lo, hi) &&
	       (size_is_bad(r->rows) ||
		size_same(r->rows, size_sub(r->program->sizes, *hi, *lo)));
}

static Poly of_block(Rough *r, Block block);

static Poly of_loop(Rough *r, const Stmt *loop)
{
	Size lo, hi;
	if (is_left(r, loop, &lo, &hi)) {
		r->rows = size_sub(r->program->sizes, hi, lo);
		r->extent = of_size(r, hi);
		r->block = loop->step;
		r->inside = true;
		Poly round = of_block(r, loop->body);
		r->inside = false;
		return round;
	}
	Poly inside = of_block(r, loop->body), trips = trips_of(r, loop);
	return product_of(&inside, &trips);
}

static Poly of_block(Rough *r, Block block)
{
	Poly work = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		Poly one = stmt->kind == LOOP_FOR ? of_loop(r, stmt)
			   : stmt->body.n	  ? of_block(r, stmt->body)
						  : number((double)stmt_cost(stmt));
		work = sum_of(&work, &one, 1);
	}
	return work;
}

/* ---- as an index ---- */

/* Terms of a whole number each, at least 1; those of none are gone. */
static void round_up(Poly *poly, int64_t most)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < poly->n; i++) {
		Term term = poly->at[i];
		double by = ceil(term.by - 1e-6);
		if (by < 1)
			continue;
		term.by = by < (double)most ? by : (double)most;
		poly->at[n++] = term;
	}
	poly->n = n;
}

static bool take_out(Term *term, DimId dim)
{
	uint32_t at = 0;
	while (at < term->degree && term->dims[at] != dim)
		at++;
	if (at == term->degree)
		return false;
	term->degree--;
	for (uint32_t i = at; i < term->degree; i++)
		term->dims[i] = term->dims[i + 1];
	return true;
}

/* Has the term all dims of another one, and more? */
static bool covers(const Term *term, const Term *other)
{
	Term rest = *term;
	for (uint32_t i = 0; i < other->degree; i++)
		if (!take_out(&rest, other->dims[i]))
			return false;
	return rest.degree > 0;
}

/* Without terms that are small beside one of more dims, of LIKELY each. */
static void drop_small(Poly *poly)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < poly->n; i++) {
		bool small = false;
		for (uint32_t k = 0; k < poly->n; k++)
			small |= covers(&poly->at[k], &poly->at[i]) &&
				 poly->at[i].by <= LIKELY * poly->at[k].by;
		if (!small)
			poly->at[n++] = poly->at[i];
	}
	poly->n = n;
}

static bool all_have(const Poly *poly, DimId dim)
{
	for (uint32_t i = 0; i < poly->n; i++) {
		Term term = poly->at[i];
		if (!take_out(&term, dim))
			return false;
	}
	return poly->n > 0;
}

/* Takes out what all terms have in common. */
static Term common_of(Poly *poly)
{
	Term common = {.by = 1};
	for (uint32_t i = 0; poly->n > 0 && i < poly->at[0].degree;) {
		DimId dim = poly->at[0].dims[i];
		if (!all_have(poly, dim)) {
			i++;
			continue;
		}
		for (uint32_t k = 0; k < poly->n; k++)
			take_out(&poly->at[k], dim);
		common.dims[common.degree++] = dim;
	}
	return common;
}

/* Times the term's dims, capped before each: at most 2^30 times 2^31. */
static const Ix *times_dims(const Rough *r, const Ix *ix, const Term *term, const Ix *most)
{
	Program *program = r->program;
	for (uint32_t i = 0; i < term->degree; i++) {
		bool left = term->dims[i] == sizes_ndims(program->sizes);
		Size dim = left ? r->rows : size_dim(program->sizes, term->dims[i]);
		ix = ix_mul(program, ix_least(program, ix, most), ix_size(program->arena, dim));
	}
	return ix;
}

const Ix *rough_work(Program *program, Block block)
{
	Rough r = {.program = program, .rows = SIZE_BAD};
	Poly poly = of_block(&r, block);
	if (poly.bad)
		return NULL;
	round_up(&poly, WORK_CAP);
	drop_small(&poly);
	Term common = common_of(&poly);
	const Ix *most = ix_const(program, WORK_CAP);
	const Ix *work = ix_const(program, 0);
	for (uint32_t i = 0; i < poly.n; i++) {
		int64_t by = (int64_t)poly.at[i].by;
		const Ix *term = ix_const(program, by);
		term = times_dims(&r, term, &poly.at[i], most);
		work = ix_add(program, work, poly.n > 1 ? ix_least(program, term, most) : term);
	}
	return times_dims(&r, work, &common, most);
}
