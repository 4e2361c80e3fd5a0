/* Gradients against differences of what they are gradients of, both computed by the reference.
 *
 *   f(h)   = sum(c .* y) where x + h*t stands for x, a direction t of -1, 0 and 1, all else as it was
 *   slope  = (f(h) - f(-h)) / 2h            expected: sum(gradient .* t)
 *   a tangent: x moves along what it is taken along, and c is -1, 0 and 1
 *   a kink : slope and bend (f(h) + f(-h) - 2 f(0)) / h do not go on as those of a smooth function do at h / 2
 *
 * All floats are computed as if they were f64, exactly but for the last places of long double, so steps are small and
 * differences good to ten digits. A whole tensor is moved at a time; where that disagrees, halves of it, down to an
 * element. `stop` holds what it held. A difference that the last places of what is on the way may make is none: those of
 * 1 - sigmoid(43), where the sigmoid is 1 but for these.
 */
#include "verify/slope.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/held.h"
#include "frontend/differentiable.h"

/* elements that are moved alone; how often all are; runs of the reference for each */
enum { ALONE_MOST = 8, WHOLE_TIMES = 2, RUNS = 5 };
#define STEP 0x1p-20L

/* ---- one direction ---- */

typedef struct Direction {
	const GradientMade *of;
	int64_t from, to; /* elements of x that move; of a tangent, of y that count */
	uint64_t seed;
} Direction;

const RefTensor *slope_held(const Differences *check, NodeId id)
{
	NodeId target = graph_node(check->graph, id)->target;
	return &check->base->nodes[target == NODE_NONE ? id : target];
}

bool slope_like(const GradientMade *a, const GradientMade *b)
{
	return a->forward == b->forward && a->c == b->c &&
	       (a->forward ? a->x == b->x : a->y == b->y);
}

static int sign_of(const Direction *d, int64_t at)
{
	const uint64_t key[] = {d->seed, (uint64_t)at};
	return d->to - d->from == 1 || XXH64(key, sizeof key, 0) % 2 ? 1 : -1;
}

static long double held_at(const RefTensor *tensor, int64_t i)
{
	return tensor->elements[tensor->n == 1 ? 0 : i].x;
}

static long double sum_of_one(const Differences *check, const Direction *d, const GradientMade *of,
			      const RefTensor *y)
{
	const RefTensor *c = of->c == NODE_NONE ? NULL : slope_held(check, of->c);
	long double sum = 0;
	if (of->forward)
		for (int64_t i = d->from; i < d->to; i++)
			sum += sign_of(d, i) * y->elements[i].x;
	for (int64_t i = 0; i < y->n && !of->forward; i++)
		sum += (c ? held_at(c, i) : 1) * y->elements[i].x;
	return sum;
}

/* Of all results; NAN: not known. */
static long double sum_along(const Differences *check, const Direction *d, const RefTensor *given,
			     const RefResult *result)
{
	long double sum = 0;
	for (uint32_t i = 0; i <= d->of->others; i++) {
		const GradientMade *of = d->of + i;
		const RefTensor *y = given[of->y].elements ? &given[of->y]
				     : result->nodes	   ? &result->nodes[of->y]
							   : NULL;
		sum += y ? sum_of_one(check, d, of, y) : NAN;
	}
	return sum;
}

/* How far an element of x moves where the step is 1. */
static long double step_of(const Differences *check, const Direction *d, int64_t i)
{
	if (d->of->forward)
		return held_at(slope_held(check, d->of->c), i);
	return i < d->from || i >= d->to ? 0 : sign_of(d, i);
}

/* The loop that the node is in, or that goes on from what it assigns; 0: none. */
static uint32_t outermost(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	const Carried *carried =
		graph_carried(graph, node->target == NODE_NONE ? id : node->target);
	uint32_t inner = carried ? graph_set_in(graph, carried) : 0,
		 loop = inner ? inner : node->loop;
	while (graph->loops.at[loop].parent) /* falls: outwards */
		loop = graph->loops.at[loop].parent;
	return loop;
}

/* All of a loop runs again, as what it holds is that of its last step; false: it was marked. */
static bool mark_loop(const Graph *graph, uint32_t loop, bool *marked, bool *moves)
{
	if (!loop || marked[loop])
		return false;
	marked[loop] = true;
	for (NodeId id = 0; id < graph->nodes.n; id++)
		moves[id] |= outermost(graph, id) == loop;
	return true;
}

/* A rule is of each of its function's tensors alone, whatever the others are computed from. */
static bool stands_still(const Differences *check, const GradientMade *of, NodeId id)
{
	bool other = false;
	for (size_t i = 0; i < check->graph->gradients.n && of->gives && id != of->x; i++) {
		const GradientMade *made = &check->graph->gradients.at[i];
		other |= made->gives && made->x == id && slope_like(made, of);
	}
	return other;
}

/* All steps that write a routine's own tensor are made again, as it holds what the last has left; false: it was marked. */
static bool mark_own(const Graph *graph, NodeId id, bool *moves)
{
	NodeId own = node_sets_own(graph, id);
	if (own == NODE_NONE || moves[own])
		return false;
	for (NodeId step = own; step < graph->nodes.n; step++)
		moves[step] |= step == own || graph_node(graph, step)->target == own;
	return true;
}

/* What is held where x moves: without elements where it is to be computed again. */
static RefTensor *where_moved(const Differences *check, const GradientMade *of)
{
	size_t n = check->graph->nodes.n;
	RefTensor *given = held_alloc(n + 1, sizeof *given);
	bool *moves = held_alloc(n + 1, sizeof *moves);
	bool *marked = held_alloc(check->graph->loops.n + 1, sizeof *marked);
	REQUIRE(given && moves && marked);
	moves[of->x] = true;
	for (NodeId id = 0; id < n; id++) {
		const Node *node = graph_node(check->graph, id);
		for (uint32_t i = 0; i < node->nargs && id != of->x; i++)
			moves[id] |= moves[node->args[i]] && !node->stops &&
				     !stands_still(check, of, id);
		if (moves[id] && mark_loop(check->graph, outermost(check->graph, id), marked, moves))
			id = 0; /* falls: loops that stand still */
		if (moves[id] && id != of->x && mark_own(check->graph, id, moves))
			id = 0; /* falls: tensors that stand still */
	}
	moves[of->x] = true;
	for (NodeId id = 0; id < n; id++)
		if (!moves[id])
			given[id] = check->base->nodes[id];
	held_free(marked);
	held_free(moves);
	return given;
}

/* sum(c .* y) where x is moved by h along the direction; NAN: not known. */
static long double moved(const Differences *check, const Direction *d, long double h)
{
	const RefTensor *x = slope_held(check, d->of->x);
	NodeId *wanted = held_alloc(d->of->others + 1, sizeof *wanted);
	RefPart part = check->part;
	RefTensor own = *x, *given = where_moved(check, d->of);
	own.elements = held_alloc((size_t)x->n + 1, sizeof *own.elements);
	REQUIRE(own.elements && wanted);
	for (uint32_t i = 0; i <= d->of->others; i++)
		wanted[i] = d->of[i].y;
	memcpy(own.elements, x->elements, (size_t)x->n * sizeof *x->elements);
	for (int64_t i = 0; i < x->n; i++)
		own.elements[i].x += h * step_of(check, d, i);
	given[d->of->x] = own;
	part.given = given;
	part.last = NODE_NONE;
	part.wanted = wanted;
	part.nwanted = d->of->others + 1;
	RefResult *result = reference_part(&check->ref, &part);
	long double sum = sum_along(check, d, given, result);
	reference_free(result);
	held_free(wanted);
	held_free(own.elements);
	held_free(given);
	return sum;
}

/* The gradient along the direction; `size`: of its terms. */
static long double expected(const Differences *check, const Direction *d, long double *size)
{
	const RefTensor *gradient = slope_held(check, d->of->gradient);
	long double sum = 0;
	*size = 0;
	for (int64_t i = d->from; i < d->to; i++) {
		long double element = held_at(gradient, i);
		sum += sign_of(d, i) * element;
		*size += fabsl(element);
	}
	return sum;
}

/* Is it the slope over a much shorter step, too? */
static bool is_slope(const Differences *check, const Direction *d, long double slope)
{
	long double h = STEP / 4096, finer = (moved(check, d, h) - moved(check, d, -h)) / (2 * h);
	return fabsl(finer - slope) <= 1e-2L * fabsl(slope) + 1e-9L;
}

/* How far the last places of all on the way may move a slope: of each as far as its gradient says; of tangents that is
 * not known. */
static long double rounding(const Differences *check, const GradientMade *of)
{
	long double sum = 0;
	for (size_t i = 0; i < check->graph->gradients.n && !of->forward; i++) {
		const GradientMade *made = &check->graph->gradients.at[i];
		const RefTensor *x = slope_held(check, made->x),
				*gradient = slope_held(check, made->gradient);
		bool held = slope_like(made, of) && x->elements && gradient->elements;
		for (int64_t k = 0; held && k < x->n; k++) {
			long double term = fabsl(held_at(gradient, k) * x->elements[k].x);
			sum += isnan(term) ? 0 : term;
		}
	}
	return sum * LDBL_EPSILON / STEP;
}

/* May the slope and the gradient be as far apart as they are although both are right? */
static bool drowns(const Differences *check, const GradientMade *of, const Slopes *slopes,
		   long double within)
{
	long double most = rounding(check, of);
	return most > within && !(fabsl(slopes->of - slopes->by_gradient) > most);
}

static Verdict look(const Differences *check, const Direction *d, Slopes *found)
{
	long double f[2][2], slope[2], bend[2], size, here = moved(check, d, 0),
						      g = expected(check, d, &size);
	for (int half = 0; half < 2; half++) {
		long double h = half ? STEP / 2 : STEP;
		f[half][0] = moved(check, d, h);
		f[half][1] = moved(check, d, -h);
		slope[half] = (f[half][0] - f[half][1]) / (2 * h);
		bend[half] = (f[half][0] + f[half][1] - 2 * here) / h;
	}
	*found = (Slopes){slope[1], g};
	long double within = check->task->tolerance * (size + fabsl(slope[1])) +
			     1e-12L * (1 + fabsl(here)); /* the last places of f over h */
	if (!isfinite(slope[0]) || !isfinite(slope[1]) || fabsl(slope[0] - slope[1]) > within ||
	    fabsl(bend[0] - 2 * bend[1]) > within)
		return UNKNOWN;
	if (fabsl(slope[1] - g) <= within)
		return AGREES;
	if (!is_slope(check, d, slope[1]) || drowns(check, d->of, found, within))
		return UNKNOWN;
	return WRONG; /* also where g is no number */
}

/* ---- a gradient and a tangent ---- */

/* The sum of products, where one number stands for all elements; *size: of the terms. */
static long double dot(const RefTensor *a, const RefTensor *b, long double *size)
{
	long double sum = 0;
	for (int64_t i = 0; i < (a->n > b->n ? a->n : b->n); i++) {
		long double term = held_at(a, i) * held_at(b, i);
		sum += term;
		*size += fabsl(term);
	}
	return sum;
}

Verdict slope_transposed(const Differences *check, const GradientMade *gradient,
			 const GradientMade *tangent, Slopes *found)
{
	RefElement one = {.x = 1};
	const RefTensor number = {&one, 1, DTYPE_F64};
	const RefTensor *c = gradient->c == NODE_NONE ? &number : slope_held(check, gradient->c),
			*t = slope_held(check, tangent->c), *slope = slope_held(check, gradient->gradient),
			*moved = slope_held(check, tangent->gradient);
	long double size = 0;
	if (!c->elements || !t->elements || !slope->elements || !moved->elements)
		return UNKNOWN;
	*found = (Slopes){dot(c, moved, &size), dot(slope, t, &size)};
	if (!isfinite(size))
		return UNKNOWN;
	return fabsl(found->of - found->by_gradient) <= check->task->tolerance * size + 1e-12L
		       ? AGREES
		       : WRONG;
}

/* ---- one gradient ---- */

static void narrow_down(const Differences *check, Direction d, Found *found)
{
	Slopes slopes;
	while (d.to - d.from > 1) { /* falls */
		Direction half = d;
		half.to = d.from + (d.to - d.from) / 2;
		if (look(check, &half, &slopes) != WRONG)
			half = (Direction){d.of, half.to, d.to, d.seed};
		d = half;
	}
	found->element = d.from;
	found->verdict = WRONG;
	look(check, &d, &found->slopes);
}

static bool look_along(const Differences *check, const Direction *d, Found *found)
{
	Verdict verdict = look(check, d, &found->slopes);
	found->looked++;
	found->unknown += verdict == UNKNOWN;
	if (verdict == WRONG)
		narrow_down(check, *d, found);
	return verdict != WRONG;
}

Found slope_look_at(const Differences *check, const GradientMade *of)
{
	Found found = {.verdict = AGREES};
	const RefTensor *x = slope_held(check, of->forward ? of->y : of->x),
			*gradient = slope_held(check, of->gradient);
	int64_t alone = GRADIENT_STEPS / RUNS / (check->base->steps + 1);
	if (!x->elements || !gradient->elements || x->n == 0)
		return found;
	for (uint64_t i = 0; i < ALONE_MOST && (int64_t)i < x->n && (int64_t)i < alone; i++) {
		int64_t at = x->n <= ALONE_MOST
				     ? (int64_t)i
				     : (int64_t)(XXH64(&i, sizeof i, 1) % (uint64_t)x->n);
		if (!look_along(check, &(Direction){of, at, at + 1, 0}, &found))
			return found;
	}
	for (uint64_t i = 0; i < WHOLE_TIMES && x->n > 1; i++)
		if (!look_along(check, &(Direction){of, 0, x->n, i}, &found))
			return found;
	return found;
}
