/* A sum over a small window as one expression, where it is computed inside an elementwise kernel.
 *
 *   sum("y, x =+[1, 1] b => y, x", u) at [y, x], b of 3:   u[y, x - 1] + u[y, x] + u[y, x + 1]
 *
 * Terms are added in the order of the steps. One whose index is outside of its axis is left out.
 * While loops are made, gen.ranges says which part of each loop is at hand, and from this follows
 * for most terms whether they are inside; else a term is chosen by its index, and read at the
 * nearest one that is inside. Without ranges, as a nest is looked at, all are taken to be inside,
 * and gen.borders gets the indices that may not be.
 */
#include "base/size_order.h"
#include "loops/linear.h"
#include "lower/gen/gen.h"

/* What an index is, as far as is known. */
typedef struct Known {
	bool outside;
	bool from_0, below; /* at least 0; below the size of the axis */
} Known;

/* Least and greatest value of an index in the parts of loops at hand, or in whole loops; false:
 * they do not follow. */
static bool extremes(Gen *gen, const Ix *ix, bool whole, Size *least, Size *most)
{
	Sizes *sizes = gen->program->sizes;
	Linear sum = ix_linear(gen->program, ix);
	*least = *most = sum.offset;
	for (size_t i = 0; i < sum.terms.n; i++) {
		const LinearTerm *term = &sum.terms.at[i];
		int64_t coef;
		if (term->atom->kind != IX_ITER || !size_is_const(sizes, term->coef, &coef) ||
		    !gen->ranges[term->atom->iter].known)
			return false;
		const PartRange *range = &gen->ranges[term->atom->iter];
		Size first = whole ? size_const(sizes, 0) : range->first;
		Size last = size_plus(sizes, whole ? range->extent : range->end, -1);
		first = size_mul(sizes, first, term->coef);
		last = size_mul(sizes, last, term->coef);
		*least = size_add(sizes, *least, coef > 0 ? first : last);
		*most = size_add(sizes, *most, coef > 0 ? last : first);
	}
	return true;
}

static Known known_of(Gen *gen, const Bounded *index)
{
	Sizes *sizes = gen->program->sizes;
	Size least, most, zero = size_const(sizes, 0), last = size_plus(sizes, index->size, -1);
	Known known = {0};
	if (!gen->ranges) {
		PUSH(gen->arena, gen->borders, *index);
		return (Known){.from_0 = true, .below = true};
	}
	for (int whole = 0; whole < 2; whole++) {
		if (!extremes(gen, index->ix, whole, &least, &most))
			return known;
		known.from_0 |= size_ge(sizes, least, zero);
		known.below |= size_ge(sizes, last, most);
		known.outside |= size_ge(sizes, size_const(sizes, -1), most) ||
				 size_ge(sizes, least, index->size);
	}
	return known;
}

/* The value where `a op b` holds, else `otherwise`. */
static const Value *where(Gen *gen, Op op, const Ix *const ixs[2], const Value *value,
			  const Value *otherwise)
{
	const Value *ends[] = {value_index(gen->arena, DTYPE_I64, ixs[0]),
			       value_index(gen->arena, DTYPE_I64, ixs[1])};
	const Value *test = value_op(gen->arena, op, DTYPE_I64, ends, 2);
	return value_where(gen->arena, test, value, otherwise);
}

/* An index of a term that may be outside. */
typedef struct Open {
	Bounded index;
	Known known;
} Open;

static const Value *where_inside(Gen *gen, const Open *open, const Value *value,
				 const Value *otherwise)
{
	const Ix *size = ix_size(gen->arena, open->index.size);
	if (!open->known.from_0)
		value = where(gen, OP_GE, (const Ix *[]){open->index.ix, zero_ix(gen)}, value,
			      otherwise);
	if (!open->known.below)
		value = where(gen, OP_LT, (const Ix *[]){open->index.ix, size}, value, otherwise);
	return value;
}

/* The term of one step; NULL: it is outside. */
static const Value *term(Gen *gen, NodeId id, const Piece *piece, const Ix *const *by_iter,
			 const Value *neutral)
{
	const Shape *shape = lower_shape(gen->lower, lower_node(gen->lower, id)->args[0]);
	const Access *read = &piece->args[0];
	VEC(Open) open = {0};
	for (uint32_t axis = 0; axis < read->naxes; axis++) {
		const Index *index = &read->axes[axis];
		if (!index->guarded)
			continue;
		Open at = {.index = {access_index(gen, id, piece, index, by_iter),
				     shape_axis(shape, axis)->size}};
		at.known = known_of(gen, &at.index);
		if (at.known.outside)
			return NULL;
		if (!at.known.from_0 || !at.known.below)
			PUSH(gen->lower->scratch, open, at);
	}
	gen->clamps = open.n > 0;
	const Value *value = piece_value(gen, id, piece, by_iter);
	gen->clamps = false;
	for (size_t i = 0; i < open.n; i++)
		value = where_inside(gen, &open.at[i], value, neutral);
	return value;
}

/* Gives the reduced iterators their values in a step; false: there is no such step. */
static bool set_step(Gen *gen, const Proj *proj, const Piece *piece, int64_t step,
		     const Ix **by_iter)
{
	for (uint32_t i = piece->niters; i-- > 0;) {
		const Iter *iter = &proj->iters[piece->iters[i]];
		int64_t extent = 1;
		if (!iter->reduced)
			continue;
		size_is_const(gen->program->sizes, iter->extent, &extent);
		by_iter[piece->iters[i]] = ix_const(gen->program, step % extent);
		step /= extent;
	}
	return step == 0;
}

const Value *window_value(Gen *gen, NodeId id, const Piece *piece, const Ix **by_iter)
{
	const Node *node = lower_node(gen->lower, id);
	const Proj *proj = lower_proj(gen->lower, id);
	Op reduce = node_reduce_op(node);
	const Value *neutral =
		value_const(gen->arena, node->dtype, op_neutral(reduce, node->dtype));
	const Value *sum = NULL;
	for (int64_t step = 0; set_step(gen, proj, piece, step, by_iter); step++) {
		const Value *next = term(gen, id, piece, by_iter, neutral);
		if (next)
			sum = sum ? value_binary(gen->arena, reduce, sum, next) : next;
	}
	return sum ? sum : neutral;
}
