/* Guards that mention the number of a loop's step: what must hold in all steps, said before the first.
 *
 * A routine checks its sizes once, and i goes from 0 to n - 1. A relation a >= b holds in every
 * step where it holds in the last one, if a - b falls with i, or in the first one, if it grows.
 * That i < n in every step is known, and no guard.
 */
#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_dims.h"
#include "infer/generate.h"
#include "infer/guards.h"
#include "infer/trail.h"

/* Dims of steps stand behind all others. */
bool counts_steps(const Solver *s, Size a)
{
	DimId last;
	return size_last_dim(s->sizes, a, &last) && sizes_dim(s->sizes, last)->kind == DIM_STEP;
}

static bool mentions(const Solver *s, const Guard *g, DimId dim)
{
	return size_uses_dim(s->sizes, g->a, dim) || size_uses_dim(s->sizes, g->b, dim);
}

static Size with_step(Solver *s, Size a, DimId step, Size value)
{
	uint32_t n = sizes_ndims(s->sizes);
	Size *dims = ARENA_ARRAY(s->arena, Size, n + 1);
	if (size_is_bad(a) || size_is_bad(value) || !size_uses_dim(s->sizes, a, step))
		return size_is_bad(value) ? value : a;
	for (DimId d = 0; d < n; d++)
		dims[d] = d == step ? value : size_dim(s->sizes, d);
	return size_substitute(s->sizes, a, dims);
}

static bool varies(Solver *s, const Guard *g, const GraphLoop *loop)
{
	Conflict *c = conflict_new(s, CONFLICT_STEP, NONE);
	c->span = g->span;
	c->number = loop - s->graph->loops.at;
	return false;
}

/* Is it more, or as much, in each step than in the first? */
static bool grows(Solver *s, Size a, DimId step)
{
	Size coef, rest;
	Size more = size_sub(s->sizes, a, with_step(s, a, step, size_const(s->sizes, 0)));
	if (!size_is_bad(more) && size_only_adds(s->sizes, more))
		return true;
	return size_split(s->sizes, a, size_dim(s->sizes, step), &coef, &rest) &&
	       !size_uses_dim(s->sizes, coef, step) &&
	       size_ge(s->sizes, coef, size_const(s->sizes, 0));
}

/* The step in which a >= b is hardest to meet; SIZE_BAD: none is known to be. */
static Size hardest_step(Solver *s, const Guard *g, const GraphLoop *loop)
{
	Size more = size_sub(s->sizes, g->a, g->b);
	if (grows(s, more, loop->step))
		return size_const(s->sizes, 0);
	if (!grows(s, size_scale(s->sizes, more, -1), loop->step))
		return SIZE_BAD;
	return size_plus(s->sizes, size_as_number(s, loop->count), -1);
}

/* Sizes are numbers, and one step does not fit. */
static bool never_fits(Solver *s, const Guard *g, const GraphLoop *loop, Size step)
{
	int64_t a, b;
	if (!size_is_const(s->sizes, g->a, &a) || !size_is_const(s->sizes, g->b, &b) || a >= b)
		return false;
	Conflict *c = conflict_sizes(s, CONFLICT_STEP_NEVER, NONE, step, SIZE_BAD);
	c->span = g->span;
	c->number = loop - s->graph->loops.at;
	c->guard = *g;
	return true;
}

bool guard_over_steps(Solver *s, Guard *g)
{
	if (size_is_bad(g->a) || size_is_bad(g->b) ||
	    (!counts_steps(s, g->a) && !counts_steps(s, g->b)))
		return true;
	for (size_t i = s->graph->loops.n; i-- > 1;) {
		const GraphLoop *loop = &s->graph->loops.at[i];
		if (size_is_bad(g->a) || size_is_bad(g->b))
			return true;
		if (!mentions(s, g, loop->step))
			continue;
		Size step = g->kind == GUARD_GE ? hardest_step(s, g, loop) : SIZE_BAD;
		if (size_is_bad(step))
			return varies(s, g, loop);
		g->a = with_step(s, g->a, loop->step, step);
		g->b = with_step(s, g->b, loop->step, step);
		if (never_fits(s, g, loop, step))
			return false;
	}
	return true;
}

void guards_of_steps(Solver *s, Inference *inference)
{
	for (size_t i = 1; i < s->graph->loops.n; i++) {
		const GraphLoop *loop = &s->graph->loops.at[i];
		Size count = size_as_number(s, loop->count);
		Guard g = {.kind = GUARD_GE,
			   .a = count,
			   .b = size_plus(s->sizes, size_dim(s->sizes, loop->step), 1),
			   .span = loop->count_span,
			   .other = SPAN_NONE,
			   .given = true};
		g.text = guard_claim_text(inference->graph->arena, s->sizes, &g);
		PUSH(inference->graph->arena, inference->guards, g);
	}
}

static bool uses_step(const Solver *s, Size size, const GraphLoop **of)
{
	for (size_t i = 1; counts_steps(s, size) && i < s->graph->loops.n; i++) {
		*of = &s->graph->loops.at[i];
		if (size_uses_dim(s->sizes, size, (*of)->step))
			return true;
	}
	return false;
}

void check_steps(Solver *s, const Inference *inference)
{
	const GraphLoop *loop;
	for (NodeId id = 0; id < s->graph->nodes.n && s->graph->loops.n > 1; id++) {
		const Node *node = &s->graph->nodes.at[id];
		const Shape *shape = &inference->shapes[id];
		for (uint32_t i = 0, n = shape_naxes(shape); node->used && i < n; i++) {
			if (!uses_step(s, shape_axis(shape, i)->size, &loop))
				continue;
			Conflict *c = conflict_sizes(s, CONFLICT_STEP_SIZE, NONE,
						     shape_axis(shape, i)->size, SIZE_BAD);
			c->span = node->span;
			c->number = loop - s->graph->loops.at;
			return;
		}
	}
}
