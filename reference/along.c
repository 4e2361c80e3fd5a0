/* What goes along an axis: each line whole, in the order of its elements.
 *
 * A line that is sorted has at each place an element whose value exact arithmetic gives; with
 * errors in the line, each place is as far from that as the greatest of them. Which element it is,
 * is known where no neighbour may change places with it.
 */
#include <stdlib.h>

#include "base/held.h"
#include "reference/run.h"

typedef struct Lines {
	AlongIters along;
	RefTensor *out;
	int64_t n, kept;	/* elements of a line of the operand, and of the result */
	RefElement *elements;	/* of the line at hand */
	int64_t *order, *spare; /* SORT: the places of its elements, in order */
} Lines;

static void read_line(const Walk *walk, Lines *l)
{
	const Position *from = &walk->args[0];
	int64_t step = l->along.from == UINT32_MAX ? 0 : from->steps[l->along.from];
	for (int64_t i = 0; i < l->n; i++)
		l->elements[i] = from->tensor->elements[from->element + i * step];
}

static RefElement *element_to(const Walk *walk, const Lines *l, int64_t i)
{
	int64_t step = l->along.to == UINT32_MAX ? 0 : walk->result.steps[l->along.to];
	return &l->out->elements[walk->result.element + i * step];
}

static void cumulate(Walk *walk, void *of)
{
	Lines *l = of;
	const Node *node = walk->node;
	Dtype from = walk->args[0].tensor->dtype, dtype = node->dtype;
	Fold fold;
	read_line(walk, l);
	fold_start(&fold, node->reduce, dtype);
	for (int64_t i = 0; i < l->n; i++) {
		int64_t at = node->along.reverse ? l->n - 1 - i : i;
		RefElement term = element_convert(l->elements[at], from, dtype);
		if (node->along.exclusive)
			*element_to(walk, l, at) = fold_end(&fold, node->reduce, dtype);
		fold_add(&fold, node->reduce, dtype, &term);
		if (!node->along.exclusive)
			*element_to(walk, l, at) = fold_end(&fold, node->reduce, dtype);
	}
}

/* ---- cumulate, in a given order ---- */

/* A running sum or product of floats, rounded at each step. */
typedef struct Running {
	bool single, product; /* f32, else f64 */
	double acc, before;   /* of the run at hand, and of all before it */
} Running;

static double combine(const Running *r, double a, double b)
{
	if (r->single)
		return r->product ? (double)((float)a * (float)b) : (double)((float)a + (float)b);
	return r->product ? a * b : a + b;
}

static void cumulate_in_order(Walk *walk, void *of)
{
	Lines *l = of;
	const Node *node = walk->node;
	const SumOrder *order = &walk->run->call->sums[walk->id]->order;
	bool runs = order->form == SUM_IN_RUNS && l->n > order->turn_most;
	int64_t size = runs ? order->run : l->n;
	double neutral = node->reduce == OP_MUL;
	Running r = {.single = node->dtype == DTYPE_F32,
		     .product = node->reduce == OP_MUL,
		     .acc = neutral};
	read_line(walk, l);
	for (int64_t i = 0; i < l->n; i++) {
		int64_t at = node->along.reverse ? l->n - 1 - i : i;
		if (i > 0 && i % size == 0) {
			r.before = i == size ? r.acc : combine(&r, r.before, r.acc);
			r.acc = neutral;
		}
		double next = combine(&r, r.acc, (double)l->elements[at].x);
		double own = node->along.exclusive ? r.acc : next;
		*element_to(walk, l, at) =
			element_exact(i < size ? own : combine(&r, r.before, own));
		r.acc = next;
	}
}

/* Do all bits of a cumulation follow from its order and its operand? */
static bool has_order(const Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	const SumMade *sum = run->call->sums ? run->call->sums[id] : NULL;
	return sum && (node->reduce == OP_ADD || node->reduce == OP_MUL) &&
	       (node->dtype == DTYPE_F32 || node->dtype == DTYPE_F64) &&
	       operand_is_exact(run, node->args[0], node->dtype);
}

/* ---- sort ---- */

static bool is_before(const Walk *walk, const RefElement *a, const RefElement *b)
{
	if (isnan(a->x) || isnan(b->x))
		return !isnan(a->x);
	return walk->node->along.descending ? a->x > b->x : a->x < b->x;
}

/* Merges neighbouring runs of `width` until there is one. */
static void merge_sort(const Walk *walk, Lines *l)
{
	for (int64_t i = 0; i < l->n; i++)
		l->order[i] = i;
	for (int64_t width = 1; width < l->n; width *= 2) {
		for (int64_t lo = 0; lo < l->n; lo += 2 * width) {
			int64_t mid = lo + width < l->n ? lo + width : l->n;
			int64_t hi = mid + width < l->n ? mid + width : l->n, a = lo, b = mid;
			for (int64_t i = lo; i < hi; i++) {
				bool second = a == mid ||
					      (b < hi && is_before(walk, &l->elements[l->order[b]],
								   &l->elements[l->order[a]]));
				l->spare[i] = l->order[second ? b++ : a++];
			}
		}
		int64_t *made = l->spare;
		l->spare = l->order;
		l->order = made;
	}
}

/* May the elements at two places of the order change places? */
static bool may_swap(const Lines *l, int64_t i, int64_t k, double error)
{
	if (i < 0 || k >= l->n)
		return false;
	long double a = l->elements[l->order[i]].x, b = l->elements[l->order[k]].x;
	return error > 0 && !(fabsl(a - b) > 2 * (long double)error);
}

static void sort(Walk *walk, void *of)
{
	Lines *l = of;
	double error = 0;
	read_line(walk, l);
	for (int64_t i = 0; i < l->n; i++)
		error = l->elements[i].error > error ? l->elements[i].error : error;
	merge_sort(walk, l);
	for (int64_t i = 0; i < l->kept; i++) {
		RefElement *to = element_to(walk, l, i);
		*to = l->elements[l->order[i]];
		to->error = error;
		if (!walk->node->along.ids)
			continue;
		bool moves = may_swap(l, i - 1, i, error) || may_swap(l, i, i + 1, error);
		*to = (RefElement){
			.x = l->order[i], .error = moves ? (double)l->n : 0, .jumps = moves};
	}
}

/* ---- all lines ---- */

bool along_fill(Run *run, NodeId id, RefTensor *out)
{
	const Proj *proj = run->inference->projs[id];
	Lines l = {.along = proj_along(proj), .out = out, .n = 1, .kept = 1};
	if (l.along.from != UINT32_MAX)
		l.n = run_size(run, proj->iters[l.along.from].extent);
	if (l.along.to != UINT32_MAX)
		l.kept = run_size(run, proj->iters[l.along.to].extent);
	l.elements = held_alloc((size_t)l.n + 1, sizeof *l.elements);
	l.order = held_alloc((size_t)l.n + 1, sizeof *l.order);
	l.spare = held_alloc((size_t)l.n + 1, sizeof *l.spare);
	bool good = l.elements && l.order && l.spare;
	if (good && run_node(run, id)->kind == NODE_SORT)
		walk_lines(run, id, sort, &l);
	else if (good)
		walk_lines(run, id, has_order(run, id) ? cumulate_in_order : cumulate, &l);
	else
		run->result->outcome = REF_TOO_MUCH;
	held_free(l.elements);
	held_free(l.order);
	held_free(l.spare);
	return good;
}
