/* The loops that fill the copy of a picture: along each axis what is in front of the picture, the
 * picture, and what is behind it, between bounds that are computed where several axes of the copy
 * make one of the picture. A picture that is read nowhere else is computed as it is copied
 * (inline_producer.c), what is not cheap where each element is copied once and rows stay rows.
 */
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/pad.h"

/* The picture's index along an axis, without one axis of the copy (NULL: whole). */
static const Ix *index_at(const Pad *p, uint32_t axis, const CopyAxis *without)
{
	Program *program = p->program;
	const Ix *at = ix_size(program->arena, pad_first(p, axis));
	for (uint32_t d = 0; d < p->ndims; d++) {
		const CopyAxis *dim = &p->dims[d];
		if (dim->axis != axis || dim == without)
			continue;
		const Ix *coef = ix_const(program, dim->term ? dim->term->coef : 1);
		at = ix_add(program, at, ix_mul(program, ix_iter(program->arena, dim->var), coef));
	}
	return at;
}

/* The first place along the axis of the copy for which the picture's index is at least `size`. */
static const Ix *first_at(const Pad *p, const CopyAxis *dim, Size size)
{
	Program *program = p->program;
	int64_t coef = dim->term ? dim->term->coef : 1;
	const Ix *rest = ix_times(program, index_at(p, dim->axis, dim), -1);
	const Ix *top = ix_add(
		program, ix_size(program->arena, size_plus(program->sizes, size, coef - 1)), rest);
	const Ix *place = ix_binary(program, IX_DIV, top, ix_const(program, coef));
	place = ix_binary(program, IX_MAX, place, zero_ix(p->nest->gen));
	return ix_binary(program, IX_MIN, place, ix_size(program->arena, dim->extent));
}

/* Does the copy read elements of the picture several times, or at every call what the state
 * holds? */
static bool reads_again(const Pad *p)
{
	Sizes *sizes = p->program->sizes;
	bool again = p->nest->proj->npieces > 1 ||
		     p->program->buffers.at[p->load->buffer].kind == BUFFER_PACKED;
	for (uint32_t a = 0; a < p->access->naxes && !again; a++) {
		Size reads = size_const(sizes, 1);
		for (uint32_t d = 0; d < p->ndims; d++)
			if (p->dims[d].axis == a && p->dims[d].term)
				reads = size_mul(sizes, reads, p->dims[d].extent);
		Size size = shape_axis(lower_shape(p->nest->gen->lower, pad_picture(p)), a)->size;
		again = !size_ge(sizes, size, reads);
	}
	return again;
}

/* Are neighbours in the copy neighbours in the picture? */
static bool goes_by_rows(const Pad *p, const Ix *const *axes)
{
	const CopyAxis *last = &p->dims[p->ndims - 1];
	Size by = ix_stride(p->program, flat_index(p->nest->gen, pad_picture(p), axes), last->var);
	return size_is(p->program->sizes, by, 1);
}

static const Value *picture_value(const Pad *p)
{
	Gen *gen = p->nest->gen;
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, p->access->naxes + 1);
	for (uint32_t a = 0; a < p->access->naxes; a++)
		axes[a] = index_at(p, a, NULL);
	bool again = reads_again(p) || !goes_by_rows(p, axes);
	const Value *value = nest_inlined_producer_at(p->nest, p->load, axes, again);
	nest_note_inlined_producer(p->nest, p->load, value);
	return value == p->load ? node_value(gen, pad_picture(p), axes) : value;
}

/* Loops one after another. */
typedef VEC(CopyLoops) LoopList;

static LoopList fill_from(Pad *p, uint32_t d, bool inside);

static void add_loop(Pad *p, LoopList *list, uint32_t d, const Ix *lo, const Ix *hi, bool inside)
{
	Gen *gen = p->nest->gen;
	p->dims[d].var =
		gen_iter(gen, p->dims[d].term ? p->nest->proj->iters[p->dims[d].term->iter].name
					      : sym_cstr(p->program->symbols, "at"));
	if (ix_same(lo, hi))
		return;
	LoopList inner = fill_from(p, d + 1, inside);
	PUSH(gen->arena, *list,
	     ((CopyLoops){.var = p->dims[d].var,
			  .lo = lo,
			  .hi = hi,
			  .inner = inner.at,
			  .ninner = (uint32_t)inner.n}));
}

/* Is it the place along this axis of the copy that decides whether there is an element of the
 * picture? */
static bool decides(const Pad *p, uint32_t d)
{
	for (uint32_t later = d + 1; later < p->ndims; later++)
		if (p->dims[later].axis == p->dims[d].axis)
			return false;
	if (p->margins)
		return !margin_is_none(p->nest->gen->lower, &p->margins->axes[p->dims[d].axis]);
	return !p->dims[d].term || p->access->axes[p->dims[d].axis].guarded;
}

/* The loops over the copy's axes from d on. */
static LoopList fill_from(Pad *p, uint32_t d, bool inside)
{
	Gen *gen = p->nest->gen;
	LoopList list = {0};
	if (d == p->ndims) {
		const Ix *to = zero_ix(gen);
		for (uint32_t i = 0; i < p->ndims; i++)
			to = ix_add(p->program, to,
				    ix_mul(p->program, ix_iter(gen->arena, p->dims[i].var),
					   ix_size(gen->arena, p->dims[i].stride)));
		const Value *zero = value_number(gen->arena, p->load->dtype, 0);
		const Value *value = inside ? picture_value(p) : zero;
		PUSH(gen->arena, list, ((CopyLoops){.at = to, .value = value}));
		return list;
	}
	const CopyAxis *dim = &p->dims[d];
	const Ix *lo = zero_ix(gen), *hi = ix_size(gen->arena, dim->extent);
	if (inside && decides(p, d)) {
		Size size = shape_axis(lower_shape(gen->lower, pad_picture(p)), dim->axis)->size;
		const Ix *from = first_at(p, dim, size_const(p->program->sizes, 0));
		const Ix *to = ix_binary(p->program, IX_MAX, from, first_at(p, dim, size));
		add_loop(p, &list, d, lo, from, false);
		add_loop(p, &list, d, from, to, true);
		add_loop(p, &list, d, to, hi, false);
	} else {
		add_loop(p, &list, d, lo, hi, inside);
	}
	return list;
}

OperandCopy pad_copy(Pad *p)
{
	LoopList all = fill_from(p, 0, true);
	return (OperandCopy){p->buffer, all.at, (uint32_t)all.n};
}
