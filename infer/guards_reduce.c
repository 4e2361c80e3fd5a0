/* The guards that others do not imply, and errors for those that can never hold.
 *
 * Equations come first: each is solved for a dim, which it replaces in everything else
 * (replaced.c). Then a guard that holds for all values follows from the others, as does one
 * that follows from those that are kept (base/size_system.h). A guard that holds for no value is an
 * error, and so are guards that exclude each other, however many it takes.
 */
#include "base/size_eval.h"
#include "base/size_order.h"
#include "infer/cells.h"
#include "infer/guards.h"
#include "infer/replaced.h"
#include "infer/trace.h"
#include "infer/trail.h"

typedef struct Reducer {
	Solver *s;
	const Sources *sources;
	const Guards *found;
	bool *kept;
	Guards simple;	     /* what is kept, with dims replaced; and what replaced dims must be */
	VEC(uint32_t) index; /* of those in found, or NONE */
	VEC(SizeFact) facts; /* what those in simple say */
	SizeSystem *system;
	Replaced *replaced;
	uint32_t *from; /* by DimId: the guard that says what replaces it, plus 1 */
	int64_t *zeros; /* by DimId */
	bool *used;	/* by fact: of the last proof */
	uint32_t ndims;
} Reducer;

/* ---- one guard ---- */

/* Has a the same remainder by p for all values, and which? */
static bool remainder_of(const Reducer *r, Size a, int64_t p, int64_t *rest)
{
	Sizes *sizes = r->s->sizes;
	if (size_is_bad(a) || !size_eval(sizes, a, r->zeros, rest))
		return false;
	Size varying = size_plus(sizes, a, -*rest);
	*rest = (*rest % p + p) % p;
	return size_divides(sizes, size_const(sizes, p), varying);
}

static bool never_divides(const Reducer *r, Size a, Size b)
{
	int64_t by, rest;
	return size_is_const(r->s->sizes, b, &by) && by > 1 && remainder_of(r, a, by, &rest) &&
	       rest != 0;
}

/* 2*n = 2*m + 1 */
static bool never_equal(const Reducer *r, Size a, Size b)
{
	Size difference = size_sub(r->s->sizes, a, b);
	int64_t rest;
	if (sizes_differ(r->s->sizes, a, b))
		return true;
	for (int64_t p = 2; p <= 16; p++) {
		if (remainder_of(r, difference, p, &rest) && rest != 0)
			return true;
	}
	return false;
}

/* Is b a number that the dim a is never as large as? */
static bool beyond_dims(const Sizes *sizes, Size a, Size b)
{
	DimId dim;
	int64_t least;
	return size_is_dim(sizes, a, &dim) && size_is_const(sizes, b, &least) && least > DIM_MOST;
}

static bool never_holds(const Reducer *r, const Guard *g)
{
	Sizes *sizes = r->s->sizes;
	switch (g->kind) {
	case GUARD_EQ:
		return never_equal(r, g->a, g->b) || beyond_dims(sizes, g->a, g->b) ||
		       beyond_dims(sizes, g->b, g->a);
	case GUARD_GE:
		return size_ge(sizes, g->b, size_plus(sizes, g->a, 1)) ||
		       beyond_dims(sizes, g->a, g->b);
	case GUARD_DIVIDES: return never_divides(r, g->a, g->b);
	}
	return false;
}

/* ---- several guards ---- */

/* As few as possible of the facts in `used` that exclude g. */
static void shrink(Reducer *r, const Guard *g, bool *used)
{
	size_t n = r->facts.n, m;
	SizeFact *some = ARENA_ARRAY(r->s->arena, SizeFact, n + 1);
	for (size_t without = 0; without < n; without++) {
		if (!used[without])
			continue;
		m = 0;
		for (size_t i = 0; i < n; i++) {
			if (used[i] && i != without)
				some[m++] = r->facts.at[i];
		}
		used[without] = !size_system_excludes(r->system, some, m, guard_fact(g), NULL);
	}
}

static bool guard_uses(const Solver *s, const Guard *g, DimId d)
{
	return size_uses_dim(s->sizes, g->a, d) || size_uses_dim(s->sizes, g->b, d);
}

/* ---- guards that cannot hold ---- */

/* The equations that replaced dims of g, and of the others in `used`. */
static void add_settled(const Reducer *r, Conflict *c, const Guard *g, const bool *used)
{
	Solver *s = r->s;
	for (DimId d = 0; d < r->ndims; d++) {
		bool uses = guard_uses(s, g, d);
		for (size_t i = 0; used && i < r->simple.n; i++)
			uses |= used[i] && r->index.at[i] != NONE &&
				guard_uses(s, &r->found->at[r->index.at[i]], d);
		if (!r->from[d] || !uses)
			continue;
		SettledDim settled = {d, replaced_now(r->replaced, size_dim(s->sizes, d)),
				      r->found->at[r->from[d] - 1].span};
		PUSH(s->arena, c->settled, settled);
	}
}

static void never_conflict(const Reducer *r, const Guard *g)
{
	Conflict *c = conflict_new(r->s, CONFLICT_NEVER, NONE);
	c->span = g->span;
	c->guard = *g;
	add_settled(r, c, g, NULL);
}

/* g, and the others that it cannot hold together with. */
static void several_conflict(Reducer *r, const Guard *g, const Guard *simple, bool *used)
{
	Solver *s = r->s;
	Conflict *c = conflict_new(s, CONFLICT_NEVER_ALL, NONE);
	c->span = g->span;
	c->guard = *g;
	shrink(r, simple, used);
	for (size_t i = 0; i < r->simple.n; i++) {
		uint32_t index = r->index.at[i];
		if (used[i])
			PUSH(s->arena, c->others,
			     index == NONE ? r->simple.at[i] : r->found->at[index]);
	}
	if (c->others.n == 0)
		c->kind = CONFLICT_NEVER;
	add_settled(r, c, g, c->others.n == 0 ? NULL : used);
}

/* ---- reduction ---- */

static Guard guard_replaced(const Reducer *r, const Guard *g)
{
	Guard simple = *g;
	simple.a = replaced_now(r->replaced, g->a);
	simple.b = replaced_now(r->replaced, g->b);
	return size_is_bad(simple.a) || size_is_bad(simple.b) ? *g : simple;
}

static void put(Reducer *r, Guard simple, uint32_t index)
{
	PUSH(r->s->arena, r->simple, simple);
	PUSH(r->s->arena, r->index, index);
	PUSH(r->s->arena, r->facts, guard_fact(&simple));
	if (index != NONE)
		r->kept[index] = true;
}

/* Keeps a guard unless it follows from others; an error when it contradicts them. */
static void consider(Reducer *r, uint32_t index, bool only_solvable)
{
	const Guard *g = &r->found->at[index];
	if (r->kept[index])
		return;
	Guard simple = guard_replaced(r, g);
	if (never_holds(r, &simple)) {
		never_conflict(r, g);
		return;
	}
	if (guard_holds(r->s->sizes, &simple))
		return;
	DimId dim;
	if (g->kind == GUARD_EQ && replaced_by_equation(r->replaced, simple.a, simple.b, &dim)) {
		r->from[dim] = index + 1;
		r->kept[index] = true;
		return;
	}
	if (only_solvable)
		return;
	SizeFact fact = guard_fact(&simple);
	if (size_system_implies(r->system, r->facts.at, r->facts.n, fact))
		return;
	if (size_system_excludes(r->system, r->facts.at, r->facts.n, fact, r->used))
		several_conflict(r, g, &simple, r->used);
	else
		put(r, simple, index);
}

/* What replaces a dim must be as large as the dim: known of it, and checked where dims come in. */
static void consider_dims(Reducer *r)
{
	Sizes *sizes = r->s->sizes;
	for (DimId d = 0; d < r->ndims; d++) {
		Size least = size_const(sizes, sizes_dim(sizes, d)->at_least);
		if (!r->from[d])
			continue;
		Size now = replaced_now(r->replaced, size_dim(sizes, d));
		if (size_is_bad(now) || size_ge(sizes, now, least))
			continue;
		const Guard *g = &r->found->at[r->from[d] - 1];
		Guard floor = {.kind = GUARD_GE,
			       .a = now,
			       .b = least,
			       .span = g->span,
			       .other = SPAN_NONE};
		if (never_holds(r, &floor))
			never_conflict(r, g);
		else
			put(r, floor, NONE);
	}
}

/* A weaker guard that came before stronger ones goes. */
static void drop_weaker(Reducer *r)
{
	SizeFact nothing = {FACT_GE, size_const(r->s->sizes, 0), size_const(r->s->sizes, 0)};
	for (size_t i = 0; i < r->simple.n; i++) {
		SizeFact fact = r->facts.at[i];
		if (fact.kind == FACT_EQ || r->index.at[i] == NONE)
			continue;
		r->facts.at[i] = nothing;
		if (size_system_implies(r->system, r->facts.at, r->facts.n, fact))
			r->kept[r->index.at[i]] = false;
		else
			r->facts.at[i] = fact;
	}
}

/* ---- routines ---- */

/* A routine checks the guards whose dims it has: does one that has those of g have those of the fact? */
static bool known_with(const Solver *s, const Guard *fact, const Guard *g)
{
	for (DimId d = 0; d < sizes_ndims(s->sizes); d++)
		if (guard_uses(s, fact, d) && !guard_uses(s, g, d))
			return false;
	return true;
}

/* `init`, where it computes something, is a routine too. */
static bool has_several_routines(const Graph *graph)
{
	bool computes = false;
	for (size_t i = 0; i < graph->params.n; i++)
		computes |= graph->nodes.at[graph->params.at[i]].init == INIT_EXPRESSION;
	return graph->routines.n + computes > 1;
}

/* Of several routines one may lack dims of the guards that g follows from: it stays where those of its own
 * dims do not imply it. */
static void keep_for_others(Reducer *r)
{
	SizeFact *facts = ARENA_ARRAY(r->s->arena, SizeFact, r->found->n + 1);
	for (size_t i = 0; i < r->found->n; i++) {
		const Guard *g = &r->found->at[i];
		size_t n = 0;
		if (r->kept[i] || size_is_bad(g->a) || size_is_bad(g->b) ||
		    guard_holds(r->s->sizes, g))
			continue;
		for (size_t k = 0; k < r->found->n; k++)
			if (r->kept[k] && known_with(r->s, &r->found->at[k], g))
				facts[n++] = guard_fact(&r->found->at[k]);
		r->kept[i] = !size_system_implies(r->system, facts, n, guard_fact(g));
	}
}

/* Of written sizes that meet the same other one, that which is nearest to it says the place. */
static Guard guard_nearest(const Guards *found, Guard g)
{
	for (size_t i = 0; i < found->n; i++) {
		const Guard *other = &found->at[i];
		if (g.leaf && other->leaf && other->kind == g.kind && other->steps < g.steps &&
		    size_same(other->a, g.a) && size_same(other->b, g.b))
			g = *other;
	}
	return g;
}

void guards_reduce(Solver *s, Inference *inference, const Guards *found)
{
	Reducer r = {.s = s,
		     .sources = inference->trace->sources,
		     .found = found,
		     .system = size_system_new(s->sizes, s->arena),
		     .replaced = replaced_new(s->sizes, s->arena),
		     .ndims = sizes_ndims(s->sizes)};
	r.kept = ARENA_ARRAY(s->arena, bool, found->n + 1);
	r.from = ARENA_ARRAY(s->arena, uint32_t, r.ndims + 1);
	r.zeros = ARENA_ARRAY(s->arena, int64_t, r.ndims + 1);
	r.used = ARENA_ARRAY(s->arena, bool, found->n + r.ndims + 1);
	for (uint32_t i = 0; i < found->n && !solver_failed(s); i++) {
		if (found->at[i].kind == GUARD_EQ)
			consider(&r, i, true);
	}
	if (!solver_failed(s))
		consider_dims(&r);
	for (int equations = 1; equations >= 0; equations--) {
		for (uint32_t i = 0; i < found->n && !solver_failed(s); i++) {
			if ((found->at[i].kind == GUARD_EQ) == (equations == 1))
				consider(&r, i, false);
		}
	}
	drop_weaker(&r);
	if (has_several_routines(s->graph) && !solver_failed(s))
		keep_for_others(&r);
	Arena *arena = inference->graph->arena;
	for (uint32_t i = 0; i < found->n && !solver_failed(s); i++) {
		if (!r.kept[i])
			continue;
		Guard g = guard_nearest(found, found->at[i]);
		g.text = guard_text(arena, r.sources, s->sizes, &g);
		PUSH(arena, inference->guards, g);
	}
}
