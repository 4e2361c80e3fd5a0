/* What the checker can say about sizes: proved by the normal form, or held against examples.
 *
 * An example is a value for every dim under which all guards hold. Candidates are small and spread
 * out, then bent towards the guards that name a dim by itself. A statement that the normal form
 * does not decide is false when an example contradicts it; one whose numbers do not fit says
 * nothing, since a routine refuses such dims; nor does one of sizes that are too large themselves.
 */
#include "base/size_eval.h"
#include "base/size_order.h"
#include "infer/check.h"

enum { CANDIDATES = 400, SAMPLES = 24, ROUNDS = 3, GUARD_STEPS = 200000 };

static uint32_t mix(uint32_t a, uint32_t b)
{
	uint32_t x = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA6Bu;
	x ^= x >> 15;
	x *= 0x2C1B3C6Du;
	return x ^ x >> 13;
}

static int64_t candidate(const Dim *dim, uint32_t d, uint32_t t)
{
	uint32_t r = mix(t, d);
	int64_t small = r % 13;
	switch (t % 4) {
	case 0: return dim->at_least + t / 4; /* all alike, from the least */
	case 1: return dim->at_least + small;
	case 2: return dim->at_least + (small << (r >> 8) % 6);
	default: return dim->at_least + r % 97;
	}
}

static bool guard_holds(const Checker *c, const Guard *guard, const int64_t *values)
{
	int64_t a, b;
	if (!size_eval(c->sizes, guard->a, values, &a) ||
	    !size_eval(c->sizes, guard->b, values, &b))
		return false;
	switch (guard->kind) {
	case GUARD_EQ: return a == b;
	case GUARD_GE: return a >= b;
	case GUARD_DIVIDES: return b > 0 && a % b == 0;
	}
	return false;
}

/* Where a guard names a dim by itself, gives it a value that meets the guard. */
static void bend(const Checker *c, const Guard *guard, int64_t *values)
{
	DimId dim;
	int64_t a, b;
	if (guard->kind == GUARD_EQ && size_is_dim(c->sizes, guard->b, &dim) &&
	    size_eval(c->sizes, guard->a, values, &a)) {
		values[dim] = a;
		return;
	}
	if (!size_is_dim(c->sizes, guard->a, &dim) || !size_eval(c->sizes, guard->b, values, &b))
		return;
	if (guard->kind == GUARD_EQ)
		values[dim] = b;
	else if (guard->kind == GUARD_GE && values[dim] < b)
		values[dim] = b;
	else if (guard->kind == GUARD_DIVIDES && b > 0)
		values[dim] -= values[dim] % b;
}

static bool is_admissible(const Checker *c, const int64_t *values)
{
	for (uint32_t d = 0; d < sizes_ndims(c->sizes); d++)
		if (values[d] < sizes_dim(c->sizes, d)->at_least || values[d] > DIM_MOST)
			return false;
	for (uint32_t g = 0; g < c->inference->guards.n; g++)
		if (!guard_holds(c, &c->inference->guards.at[g], values))
			return false;
	return true;
}

static void make_samples(Checker *c)
{
	uint32_t ndims = sizes_ndims(c->sizes);
	c->sampled = true;
	c->samples = ARENA_ARRAY(c->arena, int64_t *, SAMPLES);
	int64_t *values = ARENA_ARRAY(c->arena, int64_t, ndims);
	uint32_t enough = GUARD_STEPS / ((uint32_t)c->inference->guards.n + 1) + SAMPLES;
	for (uint32_t t = 0; t < CANDIDATES && t < enough && c->nsamples < SAMPLES; t++) {
		for (uint32_t d = 0; d < ndims; d++)
			values[d] = candidate(sizes_dim(c->sizes, d), d, t);
		for (int round = 0; round < ROUNDS; round++)
			for (uint32_t g = 0; g < c->inference->guards.n; g++)
				bend(c, &c->inference->guards.at[g], values);
		if (!is_admissible(c, values))
			continue;
		c->samples[c->nsamples++] = values;
		values = ARENA_ARRAY(c->arena, int64_t, ndims);
		if (ndims == 0)
			break;
	}
}

typedef enum Relation { REL_EQUAL, REL_GE, REL_DIVIDES } Relation;

static bool relation_fails(Relation relation, int64_t a, int64_t b)
{
	switch (relation) {
	case REL_EQUAL: return a != b;
	case REL_GE: return a < b;
	case REL_DIVIDES: return b <= 0 || a % b != 0;
	}
	return true;
}

/* May a size be bad because what the check computes passes a bound? That says nothing. */
static bool is_beyond(const Checker *c)
{
	return sizes_nbeyond(c->sizes) > c->nbeyond;
}

static bool holds_on_samples(Checker *c, Relation relation, Size a, Size b, const Size *positive,
			     uint32_t n)
{
	if (size_is_bad(a) || size_is_bad(b))
		return is_beyond(c);
	if (!c->sampled)
		make_samples(c);
	c->ntested++;
	for (uint32_t s = 0; s < c->nsamples; s++) {
		const int64_t *values = c->samples[s];
		int64_t x, y, p;
		bool vacuous =
			!size_eval(c->sizes, a, values, &x) || !size_eval(c->sizes, b, values, &y);
		for (uint32_t i = 0; i < n && !vacuous; i++)
			vacuous = !size_eval(c->sizes, positive[i], values, &p) || p < 1;
		if (!vacuous && relation_fails(relation, x, y))
			return false;
	}
	return true;
}

bool holds_equal(Checker *c, Size a, Size b)
{
	if (size_same(a, b) && !size_is_bad(a)) {
		c->nproved++;
		return true;
	}
	return holds_on_samples(c, REL_EQUAL, a, b, NULL, 0);
}

bool holds_ge_where(Checker *c, Size a, Size b, const Size *positive, uint32_t n)
{
	if (!size_is_bad(a) && !size_is_bad(b) && size_ge(c->sizes, a, b)) {
		c->nproved++;
		return true;
	}
	return holds_on_samples(c, REL_GE, a, b, positive, n);
}

bool holds_ge(Checker *c, Size a, Size b) { return holds_ge_where(c, a, b, NULL, 0); }

bool holds_size(Checker *c, Size a)
{
	int64_t value;
	if (size_is_bad(a))
		return is_beyond(c);
	if (size_is_const(c->sizes, a, &value))
		return value >= 0;
	if (!c->sampled)
		make_samples(c);
	c->ntested++;
	for (uint32_t s = 0; s < c->nsamples; s++)
		if (size_eval(c->sizes, a, c->samples[s], &value)
			    ? value < 0
			    : !size_overflows(c->sizes, a, c->samples[s]))
			return false;
	return true;
}

bool holds_divides(Checker *c, Size b, Size a)
{
	return holds_on_samples(c, REL_DIVIDES, a, b, NULL, 0);
}

Size check_size_expr(Checker *c, const SizeExpr *expr)
{
	switch (expr->kind) {
	case SX_NUMBER:
	case SX_FIXED: return size_const(c->sizes, expr->number);
	case SX_DIM: return size_dim(c->sizes, expr->dim);
	case SX_CAPTURE: return c->inference->captures[expr->capture];
	case SX_ADD:
		return size_add(c->sizes, check_size_expr(c, expr->a), check_size_expr(c, expr->b));
	case SX_SUB:
		return size_sub(c->sizes, check_size_expr(c, expr->a), check_size_expr(c, expr->b));
	case SX_MUL:
		return size_mul(c->sizes, check_size_expr(c, expr->a), check_size_expr(c, expr->b));
	case SX_DIV:
		return size_div(c->sizes, check_size_expr(c, expr->a), check_size_expr(c, expr->b));
	case SX_CEIL: return size_ceil(c->sizes, check_size_expr(c, expr->a), expr->b->number);
	}
	return SIZE_BAD;
}
