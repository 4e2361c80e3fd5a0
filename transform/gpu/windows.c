/* Operands of products that are read at windows of a tensor, so that TMA copies these as rows.
 *
 *   x[n*200704 + oh*7168 + kh*3584 + ow*128 + kw*64 + c - 3648]
 *   if 0 <= oh*2 + kh - 1 && oh*2 + kh - 1 < 56 && 0 <= ow*2 + kw - 1 && ow*2 + kw - 1 < 56
 *
 * Each loop of the rows, n, oh and ow, is an axis of windows. Along those with conditions an element is where these say,
 * oh*2 + kh - 1: windows begin at -1, 2 apart, and kh is behind that. Along others the loops of the sum belong to the axis with
 * whose stride they move, and the tensor is as long as what is read of it. The innermost loops of the sum lie side by side;
 * what is left of the index is 0.
 */
#include "base/size_order.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "transform/gpu/tensor.h"

typedef struct Windows {
	Program *program;
	const WindowOperand *of;
	TmaTensor *t;
	const Ix *rest;	 /* of the index, without the axes so far */
	bool batch;	 /* the outermost loop has an axis of its own, with nothing behind */
	uint32_t nconds; /* that say where axes are */
	int64_t most;	 /* that is read behind where a window begins */
} Windows;

static bool is_const(const Windows *w, Size size, int64_t *n)
{
	return size_is_const(w->program->sizes, size, n);
}

/* The loop of the sum in front of its line, or of the batch, that has the iterator, and how long it is. */
static bool is_behind(const Windows *w, IterVar iter, int64_t *extent)
{
	const LoopGroup *groups[] = {&w->of->taps, w->of->batch};
	for (int g = 0; g < 2; g++)
		for (uint32_t i = 0; i < groups[g]->n; i++)
			if (groups[g]->loops[i]->iter == iter)
				return is_const(w, groups[g]->loops[i]->hi->size, extent);
	return false;
}

/* Where an element is along an axis: step * row + at + low, at from 0 to `last`. */
typedef struct AxisPlace {
	int64_t step, low, last;
	const Ix *at;
} AxisPlace;

/* Of an index that is a sum of multiples of the row's loop and of loops behind. */
static bool place_of(const Windows *w, const Ix *ix, IterVar row, AxisPlace *place)
{
	Linear sum = ix_linear(w->program, ix);
	int64_t coef, extent;
	*place = (AxisPlace){0};
	if (!is_const(w, sum.offset, &place->low) ||
	    !is_const(w, ix_stride(w->program, ix, row), &place->step) || place->step < 1 ||
	    place->step > WINDOW_STEPS)
		return false;
	for (size_t i = 0; i < sum.terms.n; i++) {
		const LinearTerm *term = &sum.terms.at[i];
		if (term->atom->kind != IX_ITER || !is_const(w, term->coef, &coef))
			return false;
		if (term->atom->iter == row)
			continue;
		if (!is_behind(w, term->atom->iter, &extent) || extent < 1 ||
		    __builtin_mul_overflow(coef, extent - 1, &coef))
			return false;
		place->low += coef < 0 ? coef : 0;
		place->last += coef < 0 ? -coef : coef;
	}
	const Ix *at = ix_without(w->program, ix, row);
	place->at = at ? ix_plus(w->program, at, -place->low) : NULL;
	return place->at;
}

/* What is at least 0, or less than a size, where the condition holds. */
static const Ix *held_by(const Windows *w, const Cond *cond, bool *upper)
{
	*upper = cond->kind == COND_LT;
	if (*upper)
		return cond->b->kind == IX_SIZE ? cond->a : NULL;
	bool from_zero = cond->kind == COND_LE && cond->a->kind == IX_SIZE &&
			 size_is(w->program->sizes, cond->a->size, 0);
	return from_zero ? cond->b : NULL;
}

/* Where conditions say that an element is along the row's axis, NULL: there are none of it; below which size it is, SIZE_BAD:
 * below none; whether it is at least 0. */
typedef struct Held {
	const Ix *place;
	Size below;
	bool from_zero, wrong;
	uint32_t n; /* conditions */
} Held;

static void hold(const Windows *w, Held *held, const Cond *cond)
{
	bool upper;
	const Ix *place = held_by(w, cond, &upper);
	bool again = upper ? !size_is_bad(held->below) : held->from_zero;
	held->wrong |= !place || again || (held->place && !ix_same(held->place, place));
	held->place = place;
	held->from_zero |= !upper;
	if (upper && place)
		held->below = cond->b->size;
}

static Held held_along(const Windows *w, IterVar row)
{
	Held held = {.below = SIZE_BAD};
	const ProductOperand *operand = w->of->operand;
	for (uint32_t i = 0; i < operand->nconds && !held.wrong; i++) {
		const Cond *cond = &operand->conds[i];
		if (!ix_uses(cond->a, row) && !ix_uses(cond->b, row))
			continue;
		hold(w, &held, cond);
		held.n++;
	}
	return held;
}

/* So many times the unit, 1 or more; 0: it is no multiple. */
static int64_t times_of(const Windows *w, Size size, Size unit)
{
	int64_t n;
	Size times = size_is_bad(size) || size_is_bad(unit)
			     ? SIZE_BAD
			     : size_div(w->program->sizes, size, unit);
	return is_const(w, times, &n) && n > 0 ? n : 0;
}

/* row * step + the loops behind that are still in the index and move along the axis of that stride; how many are. */
static const Ix *place_along(const Windows *w, IterVar row, int64_t step, Size stride, uint32_t *n)
{
	Program *program = w->program;
	const LoopGroup *groups[] = {&w->of->taps, w->of->batch};
	const Ix *place = ix_times(program, ix_iter(program->arena, row), step);
	*n = 0;
	for (int g = 0; g < 2; g++)
		for (uint32_t i = 0; i < groups[g]->n; i++) {
			IterVar iter = groups[g]->loops[i]->iter;
			int64_t by = times_of(w, ix_stride(program, w->rest, iter), stride);
			*n += by > 0;
			if (by > 0)
				place = ix_add(
					program, place,
					ix_times(program, ix_iter(program->arena, iter), by));
		}
	return place;
}

/* Without conditions: steps as short as some loop behind has it, else 1. */
static const Ix *place_found(const Windows *w, IterVar row)
{
	Size moves = ix_stride(w->program, w->rest, row);
	uint32_t n;
	for (int64_t step = 1; step <= WINDOW_STEPS; step++) {
		Sizes *sizes = w->program->sizes;
		Size stride = size_is_bad(moves) ? SIZE_BAD
						 : size_div(sizes, moves, size_const(sizes, step));
		const Ix *place = place_along(w, row, step, stride, &n);
		if (n > 0)
			return place;
	}
	return ix_iter(w->program->arena, row);
}

/* Takes what moves along the axis of the side's loop out of the index. */
static bool take_axis(Windows *w, uint32_t i, const Held *held)
{
	const Stmt *loop = w->of->side->loops[i];
	Program *program = w->program;
	Sizes *sizes = program->sizes;
	AxisPlace p;
	Size moves = ix_stride(program, w->rest, loop->iter), windows = loop->hi->size;
	if (size_is_bad(moves) || !place_of(w, held->place, loop->iter, &p) ||
	    (p.low < 0 && !held->from_zero))
		return false;
	Size stride = size_div(sizes, moves, size_const(sizes, p.step)), extent = held->below;
	if (size_is_bad(extent))
		extent = size_plus(sizes, size_scale(sizes, size_plus(sizes, windows, -1), p.step),
				   p.low + p.last + 1);
	if (size_is_bad(stride) || size_is_bad(extent) ||
	    !tma_is_aligned(program, w->of->element.dtype, stride))
		return false;
	w->rest = ix_minus(program, w->rest,
			   ix_mul(program, held->place, ix_size(program->arena, stride)));
	w->most = p.last > w->most ? p.last : w->most;
	w->t->axes[w->of->side->n - i] =
		(TensorAxis){p.at, extent, stride, 1, windows, p.low, p.step};
	return true;
}

/* Those with conditions, or those without. */
static bool take_axes(Windows *w, bool held_ones)
{
	const LoopGroup *side = w->of->side;
	for (uint32_t i = 0; i < side->n; i++) {
		Held held = held_along(w, side->loops[i]->iter);
		if ((held.place != NULL || held.wrong) != held_ones)
			continue;
		if (!held_ones)
			held.place = w->batch && i == 0
					     ? ix_iter(w->program->arena, side->loops[i]->iter)
					     : place_found(w, side->loops[i]->iter);
		if (held.wrong || !take_axis(w, i, &held))
			return false;
		w->nconds += held.n;
	}
	return true;
}

/* Is what is left the innermost loop of the line alone? */
static bool is_line(const Windows *w)
{
	const LoopGroup *line = &w->of->line;
	const Ix *rest = w->rest;
	if (!ix_moves_by(w->program, rest, group_iter(line), 1))
		return false;
	for (uint32_t i = 0; i < line->n && rest; i++)
		rest = ix_without(w->program, rest, line->loops[i]->iter);
	return rest && rest->kind == IX_SIZE && size_is(w->program->sizes, rest->size, 0);
}

/* Behind the others there is one whose windows begin side by side and are read where they do: with one of them, if need be. */
static bool has_last(const Windows *w)
{
	TmaTensor *t = w->t;
	const Ix *none = ix_const(w->program, 0);
	const TensorAxis *last = &t->axes[t->n - 1];
	if (last->step == 1 && last->low == 0 && ix_same(last->at, none))
		return true;
	if (t->n == TENSOR_AXES_MOST)
		return false;
	Size one = size_const(w->program->sizes, 1);
	t->axes[t->n++] = (TensorAxis){none, one, last->stride, 1, one, 0, 1};
	return true;
}

/* Are the lines of neighbours along the innermost axis apart? Whether a driver makes a map where they are not is not known. */
static bool has_lines(const Windows *w)
{
	const TensorAxis *axes = w->t->axes;
	return size_ge(w->program->sizes, axes[1].stride, axes[0].extent);
}

/* The axes of all loops of the side, the innermost first: where conditions say what moves along one, it moves along no other. */
static bool find_axes(Windows *w, bool batch)
{
	w->rest = w->of->element.ix;
	w->batch = batch;
	w->nconds = 0;
	w->most = 0;
	w->t->n = 1 + w->of->side->n;
	return take_axes(w, true) && take_axes(w, false) && w->nconds == w->of->operand->nconds &&
	       is_line(w) && has_lines(w) && has_last(w) &&
	       window_map_fits(w->program->sizes, w->t->axes, w->t->n) &&
	       w->most <= window_most(w->t->n) && tma_fits_buffer(w->program, w->t);
}

bool tma_windows(Program *program, const WindowOperand *of, TmaTensor *t)
{
	int64_t n;
	Size one = size_const(program->sizes, 1);
	Windows w = {.program = program, .of = of, .t = t};
	OneLoop line = {program, of->line.loops, of->line.n, 0};
	one_loop_ix(&line, of->element.ix);
	if (line.first != 0 || of->side->n >= TENSOR_AXES_MOST ||
	    !is_const(&w, of->line.extent, &n))
		return false;
	*t = (TmaTensor){.buffer = of->element.buffer, .along_first = true, .windows = true};
	t->axes[0] = (TensorAxis){.extent = of->line.extent, .stride = one};
	return find_axes(&w, true) || find_axes(&w, false);
}
