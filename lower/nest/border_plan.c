/* Which loops of kernels that write windows out are cut, and where (nest/border.c): each into single
 * iterations at its ends, as far as windows reach beyond the axis there, and what is between.
 */
#include <string.h>

#include "loops/linear.h"
#include "lower/gen/node_facts.h"
#include "lower/nest/forms.h"

const Value *nest_written_out(Nest *nest)
{
	Gen *gen = nest->gen;
	size_t n = nest->proj->niters + 1;
	const Ix **by_iter = ARENA_ARRAY(gen->arena, const Ix *, n);
	memcpy(by_iter, nest->by_iter, (n - 1) * sizeof *by_iter);
	gen->root = nest->root;
	gen->in_line = true;
	gen->borders.n = 0;
	gen->shared.n = 0; /* what is read beyond an axis is another value in each part of a loop */
	const Value *value = window_value(gen, nest->node, nest->piece, by_iter);
	gen->shared.n = 0;
	gen->in_line = false;
	nest->borders = gen->borders.at;
	nest->nborders = gen->borders.n;
	return value;
}

/* Single iterations at the ends of a loop, at most. */
enum { BORDER_MOST = 8 };

typedef struct Ends {
	int64_t first, last; /* iterations in front and behind */
	bool whole;	     /* each as one part, not one by one */
} Ends;

/* An index that is `step` times the loop's iterator, and a number; false: it is another. */
static bool is_shifted(Program *program, const Ix *ix, const Loop *loop, int64_t *step, Size *by)
{
	Linear sum = ix_linear(program, ix);
	*by = sum.offset;
	return sum.terms.n == 1 && sum.terms.at[0].atom->kind == IX_ITER &&
	       sum.terms.at[0].atom->iter == loop->var &&
	       size_is_const(program->sizes, sum.terms.at[0].coef, step) && *step > 0;
}

/* How many of the numbers 0, step, 2*step, ... are below n. */
static int64_t steps_below(int64_t n, int64_t step) { return n > 0 ? (n + step - 1) / step : 0; }

static Ends ends_of(const Nest *nest, const Loop *loop)
{
	Program *program = nest->gen->program;
	Sizes *sizes = program->sizes;
	Ends ends = {0};
	for (size_t i = 0; i < nest->nborders; i++) {
		const Bounded *index = &nest->borders[i];
		Size by;
		int64_t step, before, beyond;
		if (!is_shifted(program, index->ix, loop, &step, &by))
			continue;
		Size end = size_add(sizes, by, size_scale(sizes, loop->extent, step));
		if (!size_is_const(sizes, by, &before) ||
		    !size_is_const(sizes, size_sub(sizes, end, index->size), &beyond))
			continue;
		int64_t first = steps_below(-before, step), last = beyond > 0 ? beyond / step : 0;
		ends.first = first > ends.first ? first : ends.first;
		ends.last = last > ends.last ? last : ends.last;
	}
	return ends;
}

/* Of a loop, if they leave an inside. Single iterations, if copies of the body are few: else either end is one
 * part. `copies`: that loops inside it make; those that it makes, too. */
static Ends ends_to_cut(const Nest *nest, const Loop *loop, int64_t *copies)
{
	Ends ends = ends_of(nest, loop);
	int64_t all = ends.first + ends.last, n;
	bool known = size_is_const(nest->gen->program->sizes, loop->extent, &n);
	ends.whole = all > BORDER_MOST || *copies * (all + 1) > WINDOW_FEW;
	int64_t parts = ends.whole ? 3 : all + 1;
	if (all == 0 || *copies * parts > WINDOW_FEW || (known && n <= all))
		return (Ends){0};
	*copies *= parts;
	return ends;
}

static void push_part(const Nest *nest, LoopCut *cut, Size first, Size end)
{
	PUSH(nest->gen->arena, cut->parts, ((LoopPart){first, end}));
}

/* The inside begins at a whole vector where rows do, so that what is stored is in one line. */
static void push_inside(const Nest *nest, const Loop *loop, LoopPart inside, LoopCut *cut)
{
	Sizes *sizes = nest->gen->program->sizes;
	int64_t n, first,
		line = nest_target(nest)->line_bytes / (int64_t)dtype_bytes(nest->value->dtype);
	bool last = loop == &nest->loops[nest->nresult - 1];
	bool known = size_is_const(sizes, loop->extent, &n) &&
		     size_is_const(sizes, inside.first, &first);
	cut->inside = cut->parts.n;
	if (last && known && first > 0 && first < line && n % line == 0 && n > 2 * line) {
		Size whole = size_const(sizes, line);
		push_part(nest, cut, inside.first, whole);
		inside.first = whole;
	}
	push_part(nest, cut, inside.first, inside.end);
}

static LoopCut cut_of(const Nest *nest, const Loop *loop, Ends ends)
{
	Sizes *sizes = nest->gen->program->sizes;
	Size front = size_const(sizes, ends.first);
	Size back = size_plus(sizes, loop->extent, -ends.last);
	LoopCut cut = {0};
	for (int64_t i = 0, by = ends.whole ? ends.first : 1; i < ends.first; i += by)
		push_part(nest, &cut, size_const(sizes, i), size_const(sizes, i + by));
	push_inside(nest, loop, (LoopPart){front, back}, &cut);
	for (int64_t i = 0, by = ends.whole ? ends.last : 1; i < ends.last; i += by) {
		Size at = size_plus(sizes, back, i);
		push_part(nest, &cut, at, size_plus(sizes, at, by));
	}
	return cut;
}

const LoopCut *nest_plan_borders(const Nest *nest)
{
	if (nest->nborders == 0)
		return NULL;
	bool gpu = nest->gen->lower->options->gpu;
	LoopCut *cuts = ARENA_ARRAY(nest->gen->arena, LoopCut, nest->nresult + 1);
	int64_t copies = 1;
	for (uint32_t i = nest->nresult; i-- > 0;) {
		const Loop *loop = &nest->loops[i];
		Ends ends = gpu ? (Ends){0} : ends_to_cut(nest, loop, &copies);
		cuts[i] = cut_of(nest, loop, ends);
	}
	return cuts;
}
