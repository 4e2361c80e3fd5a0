/* Dims that equations replace. What replaces a dim is settled when it is asked for, and kept: so a
 * chain of n equations is n substitutions, not n*n. */
#include "infer/replaced.h"

#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_program.h"

#include <stdlib.h>

struct Replaced {
	Sizes *sizes;
	Arena *arena;
	Size *dims;	   /* by DimId: what replaces it, else the dim itself */
	Size *self;	   /* by DimId: the dim; one is another while it is substituted */
	bool *gone;	   /* by DimId: it is replaced */
	uint32_t *settled; /* by DimId: how many dims were replaced when it was settled */
	uint32_t ndims, nreplaced;
};

Replaced *replaced_new(Sizes *sizes, Arena *arena)
{
	Replaced *r = ARENA_NEW(arena, Replaced);
	*r = (Replaced){.sizes = sizes, .arena = arena, .ndims = sizes_ndims(sizes)};
	r->dims = ARENA_ARRAY(arena, Size, r->ndims + 1);
	r->self = ARENA_ARRAY(arena, Size, r->ndims + 1);
	r->gone = ARENA_ARRAY(arena, bool, r->ndims + 1);
	r->settled = ARENA_ARRAY(arena, uint32_t, r->ndims + 1);
	for (DimId d = 0; d < r->ndims; d++)
		r->self[d] = r->dims[d] = size_dim(sizes, d);
	return r;
}

typedef VEC(DimId) Dims;

static void add_dims(const Replaced *r, Dims *dims, Size a)
{
	SizeOp *ops;
	size_t n = size_program(r->arena, r->sizes, a, &ops);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].code == SIZE_DIM)
			PUSH(r->arena, *dims, (DimId)ops[i].arg);
	}
}

static bool unsettled(const Replaced *r, DimId dim)
{
	return r->gone[dim] && r->settled[dim] != r->nreplaced;
}

/* Replaces the dims that were replaced since in what replaces the dims of a. What replaces a dim
 * uses only dims that are replaced later, so this ends: each round settles a dim, or goes to later
 * ones. */
static void settle(const Replaced *r, Size a)
{
	Dims work = {0};
	add_dims(r, &work, a);
	while (work.n > 0) {
		DimId dim = work.at[work.n - 1];
		size_t before = work.n;
		if (unsettled(r, dim)) {
			Dims used = {0};
			add_dims(r, &used, r->dims[dim]);
			for (size_t i = 0; i < used.n; i++) {
				if (unsettled(r, used.at[i]))
					PUSH(r->arena, work, used.at[i]);
			}
		}
		if (work.n > before)
			continue;
		work.n--;
		if (!unsettled(r, dim))
			continue;
		Size now = size_substitute(r->sizes, r->dims[dim], r->dims);
		if (!size_is_bad(now))
			r->dims[dim] = now;
		r->settled[dim] = r->nreplaced;
	}
}

/* a with one dim replaced. */
static Size substitute_one(const Replaced *r, Size a, DimId dim, Size by)
{
	Size own = r->self[dim];
	r->self[dim] = by;
	Size now = size_substitute(r->sizes, a, r->self);
	r->self[dim] = own;
	return now;
}

/* difference = sign * dim + rest = 0: is that so, and what is dim? */
static bool solve_for(const Replaced *r, Size difference, DimId dim, Size *by)
{
	Sizes *sizes = r->sizes;
	int64_t sign;
	Size next = size_plus(sizes, r->self[dim], 1);
	Size step = size_sub(sizes, substitute_one(r, difference, dim, next), difference);
	if (!size_is_const(sizes, step, &sign) || (sign != 1 && sign != -1))
		return false;
	*by = size_sub(sizes, r->self[dim], size_scale(sizes, difference, sign));
	return !size_is_bad(*by) && !size_uses_dim(sizes, *by, dim);
}

static int by_last(const void *a, const void *b)
{
	DimId x = *(const DimId *)a, y = *(const DimId *)b;
	return (x < y) - (x > y);
}

Size replaced_now(const Replaced *r, Size a)
{
	settle(r, a);
	return size_substitute(r->sizes, a, r->dims);
}

/* The dims of both sizes, the last first, each once; false: one of them is replaced. */
static bool dims_of(const Replaced *r, Size a, Size b, Dims *dims)
{
	Dims all = {0};
	add_dims(r, &all, a);
	add_dims(r, &all, b);
	if (all.n > 0)
		qsort(all.at, all.n, sizeof *all.at, by_last);
	for (size_t i = 0; i < all.n; i++) {
		if (r->gone[all.at[i]])
			return false;
		if (i == 0 || all.at[i] != all.at[i - 1])
			PUSH(r->arena, *dims, all.at[i]);
	}
	return true;
}

bool replaced_by_equation(Replaced *r, Size a, Size b, DimId *dim)
{
	Size by = SIZE_BAD, now, difference = size_sub(r->sizes, a, b);
	Dims dims = {0};
	bool lossless = false;
	if (size_is_bad(difference) || !dims_of(r, a, b, &dims))
		return false;
	for (size_t i = 0; i < dims.n && !lossless; i++) {
		DimId d = dims.at[i];
		if (!solve_for(r, difference, d, &now))
			continue;
		lossless = size_ge(r->sizes, now,
				   size_const(r->sizes, sizes_dim(r->sizes, d)->at_least));
		if (lossless || size_is_bad(by)) {
			*dim = d;
			by = now;
		}
	}
	if (size_is_bad(by))
		return false;
	r->dims[*dim] = by;
	r->gone[*dim] = true;
	r->nreplaced++;
	return true;
}
