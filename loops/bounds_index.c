/* Indices of kernels as sizes of the prover (bounds_prove.h), and whether they stay in an extent.
 *
 * An iterator is a symbol, and so is what a kernel reads as an index: the same one for the same
 * value while nothing changes it. What is read from a buffer of integers is within the axis that a check
 * of an earlier kernel compared all of it with. Indices of numbers alone need no prover.
 */
#include "loops/bounds_walk.h"
#include "loops/walk.h"

WalkScope walk_open(const Walk *w) { return (WalkScope){prover_open(w->prover), w->reads.n}; }

void walk_close(Walk *w, WalkScope scope)
{
	w->reads.n = scope.reads;
	prover_close(w->prover, scope.prover);
}

/* SIZE_BAD: it may be anything. */
static Size extent_of_read(const Walk *w, const Value *value)
{
	if (value->kind == VALUE_LOAD && !w->known.stored[value->buffer])
		return w->known.checked[value->buffer];
	return value->kind == VALUE_SCALAR ? w->known.scalars[value->scalar] : SIZE_BAD;
}

static Size fresh_read(Walk *w, const Value *value)
{
	Prover *p = w->prover;
	Sizes *sizes = prover_sizes(p);
	Size extent = extent_of_read(w, value), read = prover_symbol(p);
	if (size_is_bad(extent) && dtype_is_unsigned(value->dtype))
		return read;
	if (size_is_bad(extent))
		return size_sub(sizes, read, prover_symbol(p));
	prover_assume(p, size_plus(sizes, size_sub(sizes, extent, read), -1));
	return read;
}

typedef struct Steady {
	const BoundsReads *known;
	bool steady;
} Steady;

static void see_steady(void *of, const Value *value)
{
	Steady *s = of;
	if (value->kind == VALUE_LOAD && s->known->stored[value->buffer])
		s->steady = false;
	if (value->kind == VALUE_LOCAL && (value->nixs || s->known->set[value->local]))
		s->steady = false;
}

/* Does nothing change it while the kernel runs? */
static bool is_steady(const Walk *w, const Value *value)
{
	Steady s = {&w->known, true};
	value_each(value, see_steady, &s);
	return s.steady;
}

static Size read_value(Walk *w, const Value *value)
{
	for (size_t i = 0; i < w->reads.n; i++)
		if (value_same(w->reads.at[i].value, value))
			return w->reads.at[i].size;
	Size size = fresh_read(w, value);
	if (is_steady(w, value)) {
		PUSH(w->arena, w->reads, ((Read){value, size}));
		prover_note(w->prover, bounds_read_key(w->program, w->kernel, &w->known, value));
	}
	return size;
}

/* Is it the number that it is made from? */
static bool is_widened(const Value *value)
{
	if (value->kind != VALUE_CAST)
		return false;
	Dtype from = value->args[0]->dtype;
	return dtype_is_integer(value->dtype) && dtype_is_integer(from) &&
	       dtype_bytes(value->dtype) > dtype_bytes(from);
}

static Size size_of_value(Walk *w, const Value *value)
{
	if (is_widened(value))
		return size_of_value(w, value->args[0]);
	if (value->kind == VALUE_CONST && dtype_is_integer(value->dtype))
		return prover_number(w->prover, value->constant.i);
	if (value->kind == VALUE_INDEX && value->dtype == DTYPE_I64)
		return walk_size(w, value->ix);
	if (value->kind == VALUE_LOCAL && value->nixs == 0 && !size_is_bad(w->locals[value->local]))
		return w->locals[value->local];
	return read_value(w, value);
}

Size walk_size(Walk *w, const Ix *ix)
{
	Prover *p = w->prover;
	Sizes *sizes = prover_sizes(p);
	if (ix->kind == IX_SIZE)
		return prover_size(p, ix->size);
	if (ix->kind == IX_ITER)
		return w->iters[ix->iter];
	if (ix->kind == IX_VALUE)
		return size_of_value(w, ix->value);
	Size a = walk_size(w, ix->a), b = walk_size(w, ix->b);
	switch (ix->kind) {
	case IX_ADD: return size_add(sizes, a, b);
	case IX_MUL: return size_mul(sizes, a, b);
	case IX_DIV: return prover_floor(p, a, b);
	case IX_MOD: return prover_rest(p, a, b);
	case IX_MIN: return prover_min(p, a, b);
	default: return prover_max(p, a, b);
	}
}

Range walk_range(const Walk *w, const Ix *ix)
{
	Range r = {0}, a, b;
	if (ix->kind == IX_ITER)
		return w->ranges[ix->iter];
	if (ix->kind == IX_SIZE && size_is_const(w->program->sizes, ix->size, &r.least))
		return (Range){true, r.least, r.least};
	if (ix->kind != IX_ADD && ix->kind != IX_MUL)
		return r;
	a = walk_range(w, ix->a);
	b = walk_range(w, ix->b);
	if (!a.known || !b.known)
		return r;
	if (ix->kind == IX_ADD)
		r.known = !__builtin_add_overflow(a.least, b.least, &r.least) &&
			  !__builtin_add_overflow(a.most, b.most, &r.most);
	else
		r.known = a.least >= 0 && b.least >= 0 &&
			  !__builtin_mul_overflow(a.least, b.least, &r.least) &&
			  !__builtin_mul_overflow(a.most, b.most, &r.most);
	return r;
}

/* By numbers alone: most indices of registers. */
static bool is_plainly_inside(const Walk *w, const Ix *ix, Size extent)
{
	int64_t n;
	Range r = walk_range(w, ix);
	return r.known && r.least >= 0 && size_is_const(w->program->sizes, extent, &n) &&
	       r.most < n;
}

bool walk_inside(Walk *w, const Ix *ix, Size extent)
{
	Prover *p = w->prover;
	Sizes *sizes = prover_sizes(p);
	if (is_plainly_inside(w, ix, extent))
		return true;
	WalkScope scope = walk_open(w);
	Size at = walk_size(w, ix), last = size_plus(sizes, prover_size(p, extent), -1);
	bool shown = prover_shows(p, at) && prover_shows(p, size_sub(sizes, last, at));
	walk_close(w, scope);
	return shown;
}
