/* One guard: whether it holds by itself, and what it says. */
#include "base/size_order.h"
#include "infer/guards.h"

#include <inttypes.h>
#include <string.h>

/* Is a a number that the dim b is never larger than? */
static bool above_dims(const Sizes *sizes, Size a, Size b)
{
	DimId dim;
	int64_t most;
	return size_is_dim(sizes, b, &dim) && size_is_const(sizes, a, &most) && most >= DIM_MOST;
}

bool guard_holds(const Sizes *sizes, const Guard *g)
{
	switch (g->kind) {
	case GUARD_EQ: return size_same(g->a, g->b);
	case GUARD_GE: return size_ge(sizes, g->a, g->b) || above_dims(sizes, g->a, g->b);
	case GUARD_DIVIDES: return size_divides(sizes, g->b, g->a);
	}
	return false;
}

SizeFact guard_fact(const Guard *g)
{
	static const FactKind kinds[] = {
		[GUARD_EQ] = FACT_EQ, [GUARD_GE] = FACT_GE, [GUARD_DIVIDES] = FACT_DIVIDES};
	return (SizeFact){kinds[g->kind], g->a, g->b};
}

const char *guard_claim_text(Arena *arena, Sizes *sizes, const Guard *g)
{
	const char *a = size_text(arena, sizes, g->a), *b = size_text(arena, sizes, g->b);
	int64_t most;
	if (g->kind == GUARD_EQ && size_is_const(sizes, g->a, &most))
		return arena_printf(arena, "%s must equal %s", b, a);
	if (g->kind == GUARD_GE && size_is_const(sizes, g->a, &most))
		return arena_printf(arena, "%s must be at most %s", b, a);
	if (g->kind == GUARD_GE && size_is_const(sizes, g->b, &most) && a[0] == '-' &&
	    !strchr(a, '+')) /* -n is at least -2 */
		return arena_printf(arena, "%s must be at most %" PRId64,
				    size_text(arena, sizes, size_scale(sizes, g->a, -1)), -most);
	switch (g->kind) {
	case GUARD_EQ: return arena_printf(arena, "%s must equal %s", a, b);
	case GUARD_GE: return arena_printf(arena, "%s must be at least %s", a, b);
	case GUARD_DIVIDES: return arena_printf(arena, "%s must be a multiple of %s", a, b);
	}
	return "";
}

const char *guard_text(Arena *arena, const Sources *sources, Sizes *sizes, const Guard *g)
{
	const char *text = guard_claim_text(arena, sizes, g);
	if (g->as)
		text = arena_printf(arena, "%s, as %s", text, g->as);
	if (span_is_none(g->span) || !sources)
		return text;
	Place place = source_place(sources, g->span.file, g->span.start);
	if (g->kind == GUARD_GE && !span_is_none(g->other)) {
		Place axis = source_place(sources, g->other.file, g->other.start);
		return arena_printf(arena, "%s (%s:%u, of an axis of %s:%u)", text, place.path,
				    place.line, axis.path, axis.line);
	}
	return arena_printf(arena, "%s (%s:%u)", text, place.path, place.line);
}
