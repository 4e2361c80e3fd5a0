/* The value of an index. Most are sums of multiples of iterators once sizes are numbers, and a loop
 * asks for them again and again: that form is made when an index is first met, and kept.
 */
#include <inttypes.h>

#include "base/integer.h"
#include "codegen/interp.h"

enum { MOST_TERMS = 8, CACHED = 1 << 12 };

/* constant + sum of coef * iterator; or no such sum, and is evaluated node by node. */
typedef struct Affine {
	const Ix *of;
	bool is_one;
	uint32_t n;
	int64_t constant;
	struct {
		int64_t coef;
		IterVar iter;
	} terms[MOST_TERMS];
} Affine;

struct InterpIndexes {
	Affine *cached[CACHED]; /* by a hash of the node's address; the last one met stays */
};

InterpIndexes *interp_indexes_new(Arena *arena) { return ARENA_ARRAY(arena, InterpIndexes, 1); }

void interp_indexes_forget(InterpIndexes *indexes)
{
	for (uint32_t i = 0; i < CACHED; i++)
		if (indexes->cached[i])
			indexes->cached[i]->of = NULL;
}

static int64_t quotient(int64_t a, int64_t b)
{
	if (b <= 0)
		BUG("an index is divided by %" PRId64, b);
	return divide_down(a, b);
}

static int64_t combine(IxKind kind, int64_t a, int64_t b)
{
	switch (kind) {
	case IX_ADD: return a + b;
	case IX_MUL: return a * b;
	case IX_DIV: return quotient(a, b);
	case IX_MOD: return a - quotient(a, b) * b;
	case IX_MIN: return a < b ? a : b;
	case IX_MAX: return a > b ? a : b;
	default: BUG("an index of kind %d", (int)kind);
	}
}

static bool add_term(Affine *sum, int64_t coef, IterVar iter)
{
	uint32_t i = 0;
	while (i < sum->n && sum->terms[i].iter != iter)
		i++;
	if (i == MOST_TERMS)
		return false;
	if (i == sum->n)
		sum->terms[sum->n++].iter = iter;
	return !__builtin_add_overflow(sum->terms[i].coef, coef, &sum->terms[i].coef);
}

/* sum += factor * other; false: too much for one. */
static bool add_multiple(Affine *sum, int64_t factor, const Affine *other)
{
	int64_t product;
	bool fits = !__builtin_mul_overflow(factor, other->constant, &product) &&
		    !__builtin_add_overflow(sum->constant, product, &sum->constant);
	for (uint32_t i = 0; i < other->n && fits; i++)
		fits = !__builtin_mul_overflow(factor, other->terms[i].coef, &product) &&
		       add_term(sum, product, other->terms[i].iter);
	return fits;
}

static bool make(Interp *in, const Ix *ix, Affine *out);

static bool make_node(Interp *in, const Ix *ix, Affine *out)
{
	Affine a = {.n = 0}, b = {.n = 0};
	if (!make(in, ix->a, &a) || !make(in, ix->b, &b))
		return false;
	if (ix->kind == IX_ADD)
		return add_multiple(out, 1, &a) && add_multiple(out, 1, &b);
	if (ix->kind == IX_MUL && a.n == 0)
		return add_multiple(out, a.constant, &b);
	if (ix->kind == IX_MUL && b.n == 0)
		return add_multiple(out, b.constant, &a);
	if (a.n + b.n > 0)
		return false;
	out->constant = combine(ix->kind, a.constant, b.constant);
	return true;
}

/* Requires that out is 0. */
static bool make(Interp *in, const Ix *ix, Affine *out)
{
	switch (ix->kind) {
	case IX_VALUE: return false;
	case IX_SIZE: out->constant = interp_size(in, ix->size); return true;
	case IX_ITER: return add_term(out, 1, ix->iter);
	default: return make_node(in, ix, out);
	}
}

static const Affine *affine_of(Interp *in, const Ix *ix)
{
	Affine **cached = &in->indexes->cached[((uintptr_t)ix >> 4) % CACHED];
	if (*cached && (*cached)->of == ix)
		return *cached;
	if (!*cached)
		*cached = ARENA_ARRAY(in->arena, Affine, 1);
	**cached = (Affine){.of = ix};
	(*cached)->is_one = make(in, ix, *cached);
	return *cached;
}

int64_t interp_ix(Interp *in, const Ix *ix)
{
	switch (ix->kind) {
	case IX_SIZE: return interp_size(in, ix->size);
	case IX_ITER: return in->iters[ix->iter];
	case IX_VALUE: return interp_value(in, ix->value).i;
	default: break;
	}
	const Affine *sum = affine_of(in, ix);
	if (!sum->is_one)
		return combine(ix->kind, interp_ix(in, ix->a), interp_ix(in, ix->b));
	int64_t at = sum->constant;
	for (uint32_t i = 0; i < sum->n; i++)
		at += sum->terms[i].coef * in->iters[sum->terms[i].iter];
	return at;
}
