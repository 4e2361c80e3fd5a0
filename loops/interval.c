/* Arithmetic of intervals over indices: see interval.h. */
#include "loops/interval.h"

#include "loops/walk.h"

/* By a positive number, rounded down; what that leaves. */
static int64_t quotient(int64_t a, int64_t by) { return a / by - (a % by < 0); }

static int64_t rest(int64_t a, int64_t by) { return a % by + (a % by < 0 ? by : 0); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static bool multiply(Interval a, Interval b, Interval *result)
{
	int64_t p[4];
	if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) ||
	    __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
	    __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
		return false;
	*result = (Interval){least(least(p[0], p[1]), least(p[2], p[3])),
			     most(most(p[0], p[1]), most(p[2], p[3]))};
	return true;
}

/* By a positive number. */
static bool divide(bool remainder, Interval a, Interval b, Interval *result)
{
	if (b.lo != b.hi || b.lo <= 0)
		return false;
	Interval quotients = {quotient(a.lo, b.lo), quotient(a.hi, b.lo)};
	if (!remainder)
		*result = quotients;
	else if (quotients.lo == quotients.hi)
		*result = (Interval){rest(a.lo, b.lo), rest(a.hi, b.lo)};
	else
		*result = (Interval){0, b.lo - 1};
	return true;
}

static bool combine(IxKind kind, Interval a, Interval b, Interval *result)
{
	switch (kind) {
	case IX_ADD:
		return !__builtin_add_overflow(a.lo, b.lo, &result->lo) &&
		       !__builtin_add_overflow(a.hi, b.hi, &result->hi);
	case IX_MUL: return multiply(a, b, result);
	case IX_DIV:
	case IX_MOD: return divide(kind == IX_MOD, a, b, result);
	case IX_MIN: *result = (Interval){least(a.lo, b.lo), least(a.hi, b.hi)}; return true;
	case IX_MAX: *result = (Interval){most(a.lo, b.lo), most(a.hi, b.hi)}; return true;
	default: return false;
	}
}

static bool is_zero(Interval a) { return a.lo == 0 && a.hi == 0; }

bool ix_interval(const Program *program, const Ix *ix, const Interval *iters, Interval *result)
{
	Interval a, b;
	if (ix->kind == IX_ITER) {
		*result = iters[ix->iter];
		return true;
	}
	if (ix->kind == IX_SIZE) {
		bool constant = size_is_const(program->sizes, ix->size, &result->lo);
		result->hi = result->lo;
		return constant;
	}
	if (ix->kind == IX_VALUE)
		return false;
	bool first = ix_interval(program, ix->a, iters, &a),
	     second = ix_interval(program, ix->b, iters, &b);
	*result = (Interval){0, 0};
	if (ix->kind == IX_MUL && ((first && is_zero(a)) || (second && is_zero(b))))
		return true;
	if (ix->kind == IX_MOD && !first && second && b.lo == b.hi && b.lo > 0) {
		*result = (Interval){0, b.lo - 1};
		return true;
	}
	return first && second && combine(ix->kind, a, b, result);
}

/* A loop that ends somewhere: at a number that no other is added to, or multiplied by, without an overflow that shows. */
static const int64_t anywhere = INT64_MAX;

typedef struct Ranges {
	const Program *program;
	Interval *iters;
	bool *seen;
} Ranges;

static void take_range(Ranges *r, IterVar iter, Interval range)
{
	Interval *all = &r->iters[iter];
	if (r->seen[iter])
		range = (Interval){least(all->lo, range.lo), most(all->hi, range.hi)};
	*all = range;
	r->seen[iter] = true;
}

static void see_loop(void *of, const Stmt *stmt)
{
	Ranges *r = of;
	Interval lo, hi;
	if (stmt->kind != LOOP_FOR)
		return;
	bool begins = ix_interval(r->program, stmt->lo, r->iters, &lo);
	bool ends = ix_interval(r->program, stmt->hi, r->iters, &hi);
	Interval range = {begins ? lo.lo : -anywhere, ends ? hi.hi - 1 : anywhere};
	take_range(r, stmt->iter, (Interval){range.lo, most(range.lo, range.hi)});
	if (stmt->nslots)
		take_range(r, stmt->slot, (Interval){0, anywhere});
}

Interval *kernel_intervals(Arena *arena, const Program *program, const Kernel *kernel)
{
	Ranges r = {program, ARENA_ARRAY(arena, Interval, kernel->niters + 1),
		    ARENA_ARRAY(arena, bool, kernel->niters + 1)};
	block_each(kernel->body, see_loop, &r);
	return r.iters;
}
