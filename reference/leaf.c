/* Tensors without operands, and streams of random numbers, which docs/language.md (section 5)
 * defines: element i of a stream is word i mod 4 of the hash of block i div 4, under the key (seed
 * low, seed high, hash of the place low, high).
 */
#include <string.h>
#include <xxhash.h>

#include "base/element.h"
#include "base/threefry.h"
#include "reference/run.h"

static RefElement element_of(Dtype dtype, Scalar value)
{
	if (dtype == DTYPE_U4X32)
		return (RefElement){.w = {value.w[0], value.w[1], value.w[2], value.w[3]}};
	return element_exact(dtype_is_float(dtype) ? (long double)value.f : (long double)value.i);
}

static RefElement element_read(Dtype dtype, const void *bytes, int64_t at)
{
	return element_of(dtype, scalar_read(dtype, bytes, at));
}

static RefElement element_of_integer(Dtype dtype, int64_t value)
{
	return element_convert(element_exact((long double)value), DTYPE_I64, dtype);
}

/* ---- numbers ---- */

static int64_t size_of(const Run *run, const SizeExpr *expr)
{
	switch (expr->kind) {
	case SX_NUMBER:
	case SX_FIXED: return expr->number;
	case SX_DIM: return run->dims[expr->dim];
	case SX_CAPTURE: return run_size(run, run->inference->captures[expr->capture]);
	default: break;
	}
	int64_t a = size_of(run, expr->a), b = size_of(run, expr->b);
	switch (expr->kind) {
	case SX_ADD: return a + b;
	case SX_SUB: return a - b;
	case SX_MUL: return a * b;
	case SX_CEIL: REQUIRE(b > 0); return a > 0 ? (a + b - 1) / b : a / b;
	default: REQUIRE(b != 0 && a % b == 0); return a / b;
	}
}

static RefElement number(const Node *node)
{
	if (node->is_integer)
		return element_of_integer(node->dtype, node->integer);
	return element_convert(element_exact(node->number), DTYPE_F64, node->dtype);
}

static RefElement scalar(const Run *run, const Node *node)
{
	if (node->dtype == DTYPE_U4X32) /* the seed of `init` */
		return element_of_integer(DTYPE_U4X32, (int64_t)run->seed);
	Dtype dtype = run->routine->scalars[node->scalar_index].dtype;
	return element_convert(element_of(dtype, run->call->scalars[node->scalar_index]), dtype,
			       node->dtype);
}

static const void *given_bytes(const Run *run, NodeId id)
{
	for (size_t i = 0; i < run->graph->params.n; i++)
		if (run->graph->params.at[i] == id)
			return run->call->params[i];
	for (uint32_t i = 0; i < run->routine->ninputs; i++)
		if (run->routine->inputs[i] == id)
			return run->call->inputs[i];
	BUG("a routine reads what it does not take");
}

void leaf_fill(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	bool given = node->kind == NODE_INPUT || node->kind == NODE_PARAM;
	const void *bytes = given			? given_bytes(run, id)
			    : node->kind == NODE_CONST ? node->data->bytes
						       : NULL;
	RefElement same = element_exact(0);
	if (node->kind == NODE_NUMBER)
		same = number(node);
	else if (node->kind == NODE_SIZE)
		same = element_of_integer(node->dtype, size_of(run, node->size_expr));
	else if (node->kind == NODE_SCALAR)
		same = scalar(run, node);
	else
		REQUIRE(bytes || node->kind == NODE_ZEROS || node->kind == NODE_RANGE ||
			node->kind == NODE_OFFSETS);
	bool counts = node->kind == NODE_RANGE || node->kind == NODE_OFFSETS;
	for (int64_t i = 0; i < out->n; i++)
		out->elements[i] = bytes    ? element_read(node->dtype, bytes, i)
				   : counts ? element_of_integer(node->dtype, i)
					    : same;
}

/* ---- streams ---- */

static uint64_t hash_of(Sym place) { return XXH64(place, strlen(place), 0); }

static RefElement apply(Op op, RefElement a, RefElement b)
{
	static const Rules rules = {0};
	return element_op(&rules, op, DTYPE_F32, (const RefElement[]){a, b});
}

/* sqrt(-2 log(1 - u)) times the cosine or the sine of 2 pi v. */
static RefElement normal(float u, float v, Op function)
{
	long double turn = 6.28318530717958647692528676655900577L;
	RefElement whole = {.x = turn, .error = (double)fabsl(turn - (float)turn)};
	RefElement log =
		apply(OP_LOG, apply(OP_SUB, element_exact(1), element_exact(u)), element_exact(0));
	RefElement radius = apply(OP_SQRT, apply(OP_MUL, log, element_exact(-2)), element_exact(0));
	RefElement angle = apply(OP_MUL, element_exact(v), whole);
	return apply(OP_MUL, radius, apply(function, angle, element_exact(0)));
}

static RefElement stream_element(const Node *node, uint64_t seed, int64_t i)
{
	uint64_t key = hash_of(node->place), first = (uint64_t)i / 2 * 2;
	if (!node->normal)
		return element_exact(threefry_uniform(threefry_word(seed, key, (uint64_t)i)));
	return normal(threefry_uniform(threefry_word(seed, key, first)),
		      threefry_uniform(threefry_word(seed, key, first + 1)),
		      i % 2 ? OP_SIN : OP_COS);
}

void stream_fill(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	const RefElement *words = run_tensor(run, node->args[0])->elements;
	uint64_t seed = words->w[0] | (uint64_t)words->w[1] << 32;
	for (int64_t i = 0; i < out->n; i++)
		out->elements[i] = element_is_unknown(words) ? element_unknown()
							     : stream_element(node, seed, i);
}

/* ---- what parameters start with ---- */

static int64_t fan_in(const Run *run, NodeId id)
{
	const Row *row = &run->inference->shapes[id].rows[ROW_INPUT];
	int64_t product = 1;
	for (uint32_t i = 0; i < row->n; i++)
		product *= run_size(run, row->axes[i].size);
	return product;
}

/* Uniform in +-1/sqrt(fan-in), computed in the parameter's type. */
static RefElement uniform(const Run *run, NodeId id, int64_t i)
{
	const Node *node = run_node(run, id);
	Dtype wide = dtype_wide(node->dtype);
	float u = threefry_uniform(threefry_word(run->seed, hash_of(node->name), (uint64_t)i));
	RefElement bound = element_exact(1 / sqrtl((long double)fan_in(run, id)));
	bound.error = (double)fabsl(bound.x) * 2 * element_unit(wide); /* a root and a quotient */
	bound = element_rounded(wide, (2 * (long double)u - 1) * bound.x, bound.error);
	return element_convert(bound, wide, node->dtype);
}

void param_fill(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	bool random = node->init == INIT_UNIFORM && run->inference->shapes[id].rows[ROW_INPUT].n;
	double value = node->init == INIT_CONSTANT ? node->init_value : 0;
	for (int64_t i = 0; i < out->n; i++)
		out->elements[i] =
			random ? uniform(run, id, i)
			       : element_convert(element_exact(value), DTYPE_F64, node->dtype);
}
