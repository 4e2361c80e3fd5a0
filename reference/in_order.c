/* Sums of floats in a given order, bit for bit (sums/sums.h says what the orders are).
 *
 * Bits are known where every operand's are, which its elements say with an error of 0, and a term is
 * an operand, or a product of two of the type that is added in. Points come element by element, so one
 * element is at hand at a time, with the partial sums that it has.
 */
#include <math.h>
#include <string.h>

#include "reference/run.h"

enum { LANES_MOST = 128, LOGS = 7 };

typedef struct Element {
	int64_t at;			   /* -1: none */
	double acc[LANES_MOST];		   /* in turn: the first */
	double half[LOGS][LANES_MOST / 2]; /* of what is left, by the logarithm of its lanes */
	double total[LANES_MOST];	   /* of the parts so far */
	double rest;
	int64_t part;
	bool begun;
} Element;

typedef struct Adding {
	const SumMade *sum;
	RefTensor *out;
	bool single; /* f32, else f64 */
	bool fused;
	bool known;	/* is the last loop's extent a number? */
	int64_t extent; /* of the last loop */
	Element element;
} Adding;

static double plus(const Adding *a, double x, double y)
{
	return a->single ? (double)((float)x + (float)y) : x + y;
}

/* sum += x * y */
static double add_product(const Adding *a, double sum, double x, double y)
{
	if (a->fused)
		return a->single ? (double)fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
	return plus(a, sum, a->single ? (double)((float)x * (float)y) : x * y);
}

/* Elements from, from + 1, ... of n, a power of two, in pairs, in pairs of pairs. */
static double in_pairs(const Adding *a, const double *from, int64_t n, int64_t step)
{
	if (n == 1)
		return from[0];
	return plus(a, in_pairs(a, from, n / 2, step),
		    in_pairs(a, from + n / 2 * step, n / 2, step));
}

/* ---- the end of an element ---- */

static int64_t left_from(const Adding *a, int64_t by) { return a->extent / by * by; }

static double end_lanes(Adding *a)
{
	const SumOrder *o = &a->sum->order;
	Element *c = &a->element;
	int64_t at = left_from(a, o->lanes), lanes = o->lanes;
	bool has = !a->known || a->extent >= lanes;
	for (int64_t l = 0; o->wide && l < lanes; l++)
		c->acc[l] = in_pairs(a, c->acc + l, o->wide / lanes, lanes);
	for (lanes /= 2; lanes >= o->least; lanes /= 2) {
		bool part = o->halves && a->known && ((a->extent - at) & lanes);
		const double *half = c->half[__builtin_ctzll((unsigned long long)lanes)];
		for (int64_t l = 0; l < lanes; l++) {
			double both = has ? plus(a, c->acc[l], c->acc[l + lanes]) : 0;
			c->acc[l] = part ? (has ? plus(a, both, half[l]) : half[l]) : both;
		}
		at += part ? lanes : 0;
		has |= part;
	}
	bool rest = !a->known || at < a->extent;
	double sum = has ? in_pairs(a, c->acc, o->least, 1) : 0;
	return !rest ? sum : has ? plus(a, sum, c->rest) : c->rest;
}

static void end_part(Adding *a)
{
	const SumOrder *o = &a->sum->order;
	Element *c = &a->element;
	for (int64_t r = 0; r < o->rows; r++) {
		c->total[r] = plus(a, c->total[r], c->acc[r]);
		c->acc[r] = 0;
	}
}

static double end_parts(Adding *a)
{
	const SumOrder *o = &a->sum->order;
	bool parts = !size_is_bad(o->nparts);
	if (parts)
		end_part(a);
	double sum = in_pairs(a, parts ? a->element.total : a->element.acc, o->rows, 1);
	bool rest = !a->known || a->extent % o->rows > 0;
	return rest ? plus(a, sum, a->element.rest) : sum;
}

static void end_element(Adding *a)
{
	SumForm form = a->sum->order.form;
	if (a->element.at < 0)
		return;
	double sum = form == SUM_IN_LANES   ? end_lanes(a)
		     : form == SUM_IN_PARTS ? end_parts(a)
					    : a->element.acc[0];
	a->out->elements[a->element.at] = element_exact(sum);
}

/* ---- one term ---- */

/* The partial sum that a step of the last loop is added to. */
static double *sum_of_lanes(Adding *a, int64_t step)
{
	const SumOrder *o = &a->sum->order;
	int64_t at = left_from(a, o->lanes), wide = o->wide ? left_from(a, o->wide) : 0;
	if (step < at)
		return &a->element.acc[step % (step < wide ? o->wide : o->lanes)];
	for (int64_t lanes = o->lanes / 2; o->halves && a->known && lanes >= o->least; lanes /= 2) {
		if (!((a->extent - at) & lanes))
			continue;
		if (step < at + lanes)
			return &a->element.half[__builtin_ctzll((unsigned long long)lanes)]
					       [step - at];
		at += lanes;
	}
	return &a->element.rest;
}

static double *sum_of_parts(Adding *a, int64_t step)
{
	const SumOrder *o = &a->sum->order;
	if (step >= left_from(a, o->rows))
		return &a->element.rest;
	if (!size_is_bad(o->nparts) && step / o->part_rows > a->element.part) {
		end_part(a);
		a->element.part = step / o->part_rows;
	}
	return &a->element.acc[step % o->rows];
}

static int64_t step_of(const Adding *a, const Walk *walk)
{
	int64_t step = 0;
	for (uint32_t i = a->sum->niters - a->sum->last; i < a->sum->niters; i++)
		step = step * walk->extents[a->sum->iters[i]] + walk->at[a->sum->iters[i]];
	return step;
}

static void begin(Adding *a, const Walk *walk, int64_t element)
{
	end_element(a);
	a->element = (Element){.at = element};
	a->extent = 1;
	for (uint32_t i = a->sum->niters - a->sum->last; i < a->sum->niters; i++)
		a->extent *= walk->extents[a->sum->iters[i]];
}

static void add_term(Walk *walk, void *of)
{
	Adding *a = of;
	double x[2] = {0, 1};
	int64_t element = walk_position(walk, &walk->result);
	if (element < 0)
		return;
	if (element != a->element.at)
		begin(a, walk, element);
	for (uint32_t i = 0; i < walk->node->nargs; i++) {
		int64_t at = walk_position(walk, &walk->args[i]);
		if (at < 0)
			return;
		x[i] = (double)walk->args[i].tensor->elements[at].x;
	}
	int64_t step = step_of(a, walk);
	SumForm form = a->sum->order.form;
	double *sum = form == SUM_IN_LANES   ? sum_of_lanes(a, step)
		      : form == SUM_IN_PARTS ? sum_of_parts(a, step)
					     : &a->element.acc[0];
	*sum = walk->node->nargs == 1 ? plus(a, *sum, x[0]) : add_product(a, *sum, x[0], x[1]);
}

/* ---- whether ---- */

bool operand_is_exact(const Run *run, NodeId arg, Dtype dtype)
{
	const RefTensor *tensor = run_tensor((Run *)run, arg);
	if (dtype_wide(tensor->dtype) != dtype)
		return false;
	for (int64_t i = 0; i < tensor->n; i++)
		if (tensor->elements[i].error != 0 || !isfinite(tensor->elements[i].x))
			return false;
	return true;
}

static bool has_order(const Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	const Proj *proj = run->inference->projs[id];
	const SumMade *sum = run->call->sums ? run->call->sums[id] : NULL;
	bool product = node->kind == NODE_COMPOSE ||
		       (node->kind == NODE_SPEC && node->nargs == 2 && node->op == OP_MUL);
	bool plain = node->kind == NODE_SPEC && node->nargs == 1 &&
		     (node->op == OP_ID || node->op == OP_NONE);
	return sum && sum->reduce == OP_ADD && sum->order.group == 1 && !sum->order.scattered &&
	       (product || plain) && node->nargs <= 2 && node->target == NODE_NONE &&
	       proj->npieces == 1 && !proj->linear;
}

/* Terms that are all outside give the neutral element, as elements without terms do. */
bool operation_add_in_order(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	Dtype dtype = node->dtype;
	if (!has_order(run, id) || (dtype != DTYPE_F32 && dtype != DTYPE_F64))
		return false;
	for (uint32_t i = 0; i < node->nargs; i++)
		if (!operand_is_exact(run, node->args[i], dtype))
			return false;
	const SumMade *sum = run->call->sums[id];
	int64_t n;
	Adding a = {.sum = sum,
		    .out = out,
		    .single = dtype == DTYPE_F32,
		    .fused = run->call->fused,
		    .known = size_is_const(run->inference->sizes, sum->extent, &n),
		    .element = {.at = -1}};
	for (int64_t i = 0; i < out->n; i++)
		out->elements[i] = element_exact(0);
	walk_in_order(run, id, sum->iters, sum->niters, add_term, &a);
	end_element(&a);
	return true;
}
