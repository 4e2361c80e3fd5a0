/* The guards that others do not imply, and errors for those that can never hold.
 *
 * Equations come first: each is solved for a dim, which it replaces in everything else (the latest
 * that it can replace). Then a guard that holds for all values follows from the others, as does one
 * that repeats or weakens another. A guard that holds for no value is an error, and so are two
 * that exclude each other: the sum of two inequalities is negative, or two multiples are too near.
 */
#include "infer/solver.h"

#include "infer/trace.h"

typedef struct Reducer {
	Solver *s;
	const Sources *sources;
	const Guards *found;
	bool *kept;
	Guards simple;	     /* what is kept, with dims replaced; and what replaced dims must be */
	VEC(uint32_t) index; /* of those in found, or NONE */
	Size *dims;	     /* by DimId: what replaces it */
	uint32_t *from;	     /* by DimId: the guard that says so, plus 1 */
	uint32_t ndims;
} Reducer;

enum { COMPARED = 400 }; /* guards kept that a new one is compared with */

/* ---- one guard ---- */

bool guard_holds(const Sizes *sizes, const Guard *g)
{
	switch (g->kind) {
	case GUARD_EQ: return size_same(g->a, g->b);
	case GUARD_GE: return size_ge(sizes, g->a, g->b);
	case GUARD_DIVIDES: return size_divides(sizes, g->b, g->a);
	}
	return false;
}

/* Has a the same remainder by p for all values, and which? */
static bool remainder_of(Solver *s, Size a, int64_t p, int64_t *rest)
{
	int64_t *zeros = ARENA_ARRAY(s->arena, int64_t, sizes_ndims(s->sizes) + 1);
	if (size_is_bad(a) || !size_eval(s->sizes, a, zeros, rest))
		return false;
	Size varying = size_plus(s->sizes, a, -*rest);
	*rest = (*rest % p + p) % p;
	return size_divides(s->sizes, size_const(s->sizes, p), varying);
}

static bool never_divides(Solver *s, Size a, Size b)
{
	int64_t by, rest;
	return size_is_const(s->sizes, b, &by) && by > 1 && remainder_of(s, a, by, &rest) &&
	       rest != 0;
}

/* 2*n = 2*m + 1 */
static bool never_equal(Solver *s, Size a, Size b)
{
	Size difference = size_sub(s->sizes, a, b);
	int64_t rest;
	if (sizes_differ(s->sizes, a, b))
		return true;
	for (int64_t p = 2; p <= 16; p++) {
		if (remainder_of(s, difference, p, &rest) && rest != 0)
			return true;
	}
	return false;
}

static bool never_holds(Solver *s, const Guard *g)
{
	switch (g->kind) {
	case GUARD_EQ: return never_equal(s, g->a, g->b);
	case GUARD_GE: return size_ge(s->sizes, g->b, size_plus(s->sizes, g->a, 1));
	case GUARD_DIVIDES: return never_divides(s, g->a, g->b);
	}
	return false;
}

/* ---- two guards ---- */

/* a - b, or b - a: at least 0 where g holds (a GE has one sign, an equation both). */
static Size slack(Solver *s, const Guard *g, bool turned)
{
	return turned ? size_sub(s->sizes, g->b, g->a) : size_sub(s->sizes, g->a, g->b);
}

static bool below_zero(Solver *s, Size x, Size y)
{
	return size_ge(s->sizes, size_const(s->sizes, -1), size_add(s->sizes, x, y));
}

static bool too_near(Solver *s, const Guard *g, const Guard *k)
{
	int64_t x, y, distance;
	if (!size_is_const(s->sizes, g->b, &x) || !size_is_const(s->sizes, k->b, &y) ||
	    !size_is_const(s->sizes, size_sub(s->sizes, g->a, k->a), &distance))
		return false;
	while (y != 0) {
		int64_t rest = x % y;
		x = y;
		y = rest;
	}
	return x > 1 && distance % x != 0;
}

/* Can g and k never hold together? */
static bool exclude(Solver *s, const Guard *g, const Guard *k)
{
	if (g->kind == GUARD_DIVIDES || k->kind == GUARD_DIVIDES)
		return g->kind == k->kind && too_near(s, g, k);
	for (int i = 0; i <= (g->kind == GUARD_EQ); i++) {
		for (int j = 0; j <= (k->kind == GUARD_EQ); j++) {
			if (below_zero(s, slack(s, g, i), slack(s, k, j)))
				return true;
		}
	}
	return false;
}

/* Does k imply g? */
static bool implies(const Sizes *sizes, const Guard *k, const Guard *g)
{
	Sizes *table = (Sizes *)sizes;
	int64_t x, y;
	if (k->kind != g->kind)
		return false;
	if (size_same(k->a, g->a) && size_same(k->b, g->b))
		return true;
	if (g->kind == GUARD_GE)
		return size_ge(sizes, size_sub(table, g->a, g->b), size_sub(table, k->a, k->b));
	return g->kind == GUARD_DIVIDES && size_same(k->a, g->a) &&
	       size_is_const(sizes, k->b, &x) && size_is_const(sizes, g->b, &y) && y != 0 &&
	       x % y == 0;
}

/* ---- texts ---- */

static const char *claim_text(Arena *arena, const Sizes *sizes, const Guard *g)
{
	const char *a = size_text(arena, sizes, g->a), *b = size_text(arena, sizes, g->b);
	int64_t most;
	if (g->kind == GUARD_GE && size_is_const(sizes, g->a, &most))
		return arena_printf(arena, "%s must be at most %s", b, a);
	switch (g->kind) {
	case GUARD_EQ: return arena_printf(arena, "%s must equal %s", a, b);
	case GUARD_GE: return arena_printf(arena, "%s must be at least %s", a, b);
	case GUARD_DIVIDES: return arena_printf(arena, "%s must be a multiple of %s", a, b);
	}
	return "";
}

static const char *guard_text(const Reducer *r, Arena *arena, const Guard *g)
{
	const char *text = claim_text(arena, r->s->sizes, g);
	if (span_is_none(g->span) || !r->sources)
		return text;
	Place place = source_place(r->sources, g->span.file, g->span.start);
	return arena_printf(arena, "%s (%s:%u)", text, place.path, place.line);
}

/* The equations that replaced dims of g. */
static void note_replaced(const Reducer *r, const Guard *g, const Guard *simple)
{
	Solver *s = r->s;
	if (size_same(simple->a, g->a) && size_same(simple->b, g->b))
		return;
	for (DimId d = 0; d < r->ndims; d++) {
		bool used = size_uses_dim(s->sizes, g->a, d) || size_uses_dim(s->sizes, g->b, d);
		if (r->from[d] && used)
			diag_note(s->diags, r->found->at[r->from[d] - 1].span,
				  "%s must equal %s because of this", sizes_dim(s->sizes, d)->name,
				  size_text(s->arena, s->sizes, r->dims[d]));
	}
}

static void blame_never(const Reducer *r, const Guard *g, const Guard *simple)
{
	static const char *const verbs[] = {[GUARD_EQ] = "can never equal",
					    [GUARD_GE] = "is never at least",
					    [GUARD_DIVIDES] = "is never a multiple of"};
	Solver *s = r->s;
	blame_at(s, E0401, g->span, "%s %s %s", size_text(s->arena, s->sizes, g->a), verbs[g->kind],
		 size_text(s->arena, s->sizes, g->b));
	if (!s->diags)
		return;
	if (!span_is_none(g->other))
		diag_note(s->diags, g->other, "the other size is written here");
	note_replaced(r, g, simple);
}

static void blame_pair(const Reducer *r, const Guard *g, const Guard *simple, size_t other)
{
	Solver *s = r->s;
	uint32_t index = r->index.at[other];
	const Guard *k = index == NONE ? &r->simple.at[other] : &r->found->at[index];
	blame_at(s, E0401, g->span, "%s here, and %s: never both",
		 claim_text(s->arena, s->sizes, g), claim_text(s->arena, s->sizes, k));
	if (!s->diags)
		return;
	diag_note(s->diags, k->span, "%s because of this", claim_text(s->arena, s->sizes, k));
	note_replaced(r, g, simple);
}

/* ---- equations ---- */

/* Is g an equation that says what this dim is? a - b = sign * dim + rest */
static bool solve_for(const Reducer *r, const Guard *g, DimId dim, Size *by)
{
	Sizes *sizes = r->s->sizes;
	int64_t sign;
	Size *one = ARENA_ARRAY(r->s->arena, Size, r->ndims + 1);
	for (DimId d = 0; d < r->ndims; d++)
		one[d] = size_plus(sizes, size_dim(sizes, d), d == dim);
	Size difference = size_sub(sizes, g->a, g->b);
	Size step = size_sub(sizes, size_substitute(sizes, difference, one), difference);
	if (!size_is_const(sizes, step, &sign) || (sign != 1 && sign != -1))
		return false;
	*by = size_sub(sizes, size_dim(sizes, dim), size_scale(sizes, difference, sign));
	return !size_is_bad(*by) && !size_uses_dim(sizes, *by, dim);
}

/* Makes an equation replace a dim, in what is replaced already too; one that loses nothing of
 * what is known of the dim, if there is one. */
static bool replace_dim(Reducer *r, const Guard *g, uint32_t index)
{
	Sizes *sizes = r->s->sizes;
	DimId dim = r->ndims;
	Size by = SIZE_BAD, now;
	for (DimId d = r->ndims; d-- > 0;) {
		bool used = size_uses_dim(sizes, g->a, d) || size_uses_dim(sizes, g->b, d);
		if (!used || !solve_for(r, g, d, &now))
			continue;
		Size least = size_const(sizes, sizes_dim(sizes, d)->at_least);
		bool lossless = size_ge(sizes, now, least);
		if (dim == r->ndims || lossless) {
			dim = d;
			by = now;
		}
		if (lossless)
			break;
	}
	if (dim == r->ndims)
		return false;
	Size *one = ARENA_ARRAY(r->s->arena, Size, r->ndims + 1);
	for (DimId d = 0; d < r->ndims; d++)
		one[d] = d == dim ? by : size_dim(sizes, d);
	for (DimId d = 0; d < r->ndims; d++) {
		now = size_substitute(sizes, r->dims[d], one);
		if (size_uses_dim(sizes, r->dims[d], dim) && !size_is_bad(now))
			r->dims[d] = now;
	}
	r->from[dim] = index + 1;
	return true;
}

/* ---- reduction ---- */

static Guard replaced(const Reducer *r, const Guard *g)
{
	Guard simple = *g;
	simple.a = size_substitute(r->s->sizes, g->a, r->dims);
	simple.b = size_substitute(r->s->sizes, g->b, r->dims);
	return size_is_bad(simple.a) || size_is_bad(simple.b) ? *g : simple;
}

static void put(Reducer *r, Guard simple, uint32_t index)
{
	PUSH(r->s->arena, r->simple, simple);
	PUSH(r->s->arena, r->index, index);
	if (index != NONE)
		r->kept[index] = true;
}

/* Keeps a guard unless it follows from others; an error when it contradicts them. */
static void consider(Reducer *r, uint32_t index, bool only_solvable)
{
	const Guard *g = &r->found->at[index];
	Guard simple = replaced(r, g);
	if (r->kept[index])
		return;
	if (never_holds(r->s, &simple)) {
		blame_never(r, g, &simple);
		return;
	}
	if (guard_holds(r->s->sizes, &simple))
		return;
	if (g->kind == GUARD_EQ && replace_dim(r, &simple, index)) {
		r->kept[index] = true;
		return;
	}
	if (only_solvable)
		return;
	for (size_t i = 0; i < r->simple.n && i < COMPARED; i++) {
		if (implies(r->s->sizes, &r->simple.at[i], &simple))
			return;
		if (exclude(r->s, &simple, &r->simple.at[i])) {
			blame_pair(r, g, &simple, i);
			return;
		}
	}
	put(r, simple, index);
}

/* What replaces a dim must be as large as the dim: known of it, and checked where dims come in. */
static void consider_dims(Reducer *r)
{
	Sizes *sizes = r->s->sizes;
	for (DimId d = 0; d < r->ndims; d++) {
		Size least = size_const(sizes, sizes_dim(sizes, d)->at_least);
		if (!r->from[d] || size_ge(sizes, r->dims[d], least))
			continue;
		const Guard *g = &r->found->at[r->from[d] - 1];
		Guard floor = {GUARD_GE, r->dims[d], least, g->span, SPAN_NONE, NULL};
		if (never_holds(r->s, &floor))
			blame_never(r, g, &floor);
		else
			put(r, floor, NONE);
	}
}

/* A weaker guard that came before a stronger one goes. */
static void drop_weaker(Reducer *r)
{
	Guards *simple = &r->simple;
	for (size_t i = 0; i < simple->n && simple->n <= COMPARED; i++) {
		const Guard *g = &simple->at[i];
		if (g->kind == GUARD_EQ || r->index.at[i] == NONE)
			continue;
		for (size_t j = i + 1; j < simple->n && r->kept[r->index.at[i]]; j++)
			r->kept[r->index.at[i]] = !implies(r->s->sizes, &simple->at[j], g);
	}
}

void guards_reduce(Solver *s, Inference *inference, const Guards *found)
{
	Reducer r = {.s = s,
		     .sources = inference->trace->sources,
		     .found = found,
		     .ndims = sizes_ndims(s->sizes)};
	r.kept = ARENA_ARRAY(s->arena, bool, found->n + 1);
	r.dims = ARENA_ARRAY(s->arena, Size, r.ndims + 1);
	r.from = ARENA_ARRAY(s->arena, uint32_t, r.ndims + 1);
	for (DimId d = 0; d < r.ndims; d++)
		r.dims[d] = size_dim(s->sizes, d);
	for (uint32_t i = 0; i < found->n && s->nerrors == 0; i++) {
		if (found->at[i].kind == GUARD_EQ)
			consider(&r, i, true);
	}
	if (s->nerrors == 0)
		consider_dims(&r);
	for (int equations = 1; equations >= 0; equations--) {
		for (uint32_t i = 0; i < found->n && s->nerrors == 0; i++) {
			if ((found->at[i].kind == GUARD_EQ) == (equations == 1))
				consider(&r, i, false);
		}
	}
	drop_weaker(&r);
	Arena *arena = inference->graph->arena;
	for (uint32_t i = 0; i < found->n && s->nerrors == 0; i++) {
		if (!r.kept[i])
			continue;
		Guard g = found->at[i];
		g.text = guard_text(&r, arena, &g);
		PUSH(arena, inference->guards, g);
	}
}
