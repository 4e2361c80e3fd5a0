/* Parameters that are copied into panels once, when the state is packed, instead of at every call,
 * and constants that are so while compiling (prepack_const.c).
 *
 *   state := parameters | stamp | packed_w | packed_v | ...      all multiples of 64 bytes
 *
 * A contraction may read such a copy where no routine assigns to the parameter and every size of
 * the copy is known. The panels (tile/pack.c) depend on the columns, the sum and the machine alone,
 * never on how many rows there are: one copy serves all kernels that read the parameter alike,
 * whichever routine they are in. A copy keeps the parameter's type of storage; bytes may be moved
 * by 128 (tile/groups.c). Its kernels are those of Program.pack.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/linear.h"
#include "lower/tile/copies.h"
#include "lower/tile/plan.h"

enum { MOST_ELEMENTS = 1 << 30 };

/* ---- whether ---- */

/* Does the loop move the operand by a number of elements that is known? (*moves: by more than 0) */
static bool is_known(const Planner *p, const Loop *loop, const Ix *at, bool *moves)
{
	Size by = ix_stride(p->program, at, loop->var);
	int64_t n;
	if (size_is_bad(by) || !tile_is_const(p, by, &n))
		return false;
	*moves = n != 0;
	return true;
}

/* Is every part of the index moved by a loop of the nest, from a place that is known? */
static bool is_of_loops(const Planner *p, const Ix *at)
{
	const Nest *nest = p->tile->nest;
	Linear linear = ix_linear(p->program, at);
	int64_t first;
	if (!tile_is_const(p, linear.offset, &first))
		return false; /* a dim chooses it, or the step of a loop */
	for (size_t t = 0; t < linear.terms.n; t++) {
		bool found = false;
		for (uint32_t i = 0; i < nest->nloops && !found; i++)
			found = linear.terms.at[t].atom->kind == IX_ITER &&
				linear.terms.at[t].atom->iter == nest->loops[i].var;
		if (!found)
			return false;
	}
	return true;
}

/* Elements of the copy; 0: they are not known, or very many. */
static int64_t elements_of(const Planner *p, const Ix *at)
{
	const Nest *nest = p->tile->nest;
	int64_t elements = 1, extent;
	for (uint32_t i = 0; i < nest->nloops && elements > 0; i++) {
		const Loop *loop = &nest->loops[i];
		bool moves;
		if (!is_known(p, loop, at, &moves))
			return 0;
		if (!moves && !loop->reduced)
			continue;
		if (!tile_is_const(p, loop->extent, &extent) || extent > MOST_ELEMENTS / elements)
			return 0;
		elements *= extent;
	}
	return elements;
}

static int64_t least_elements(const Planner *p)
{
	return tile_known_steps(p, p->target->prepack_steps) < p->target->prepack_steps
		       ? p->target->prepack_few
		       : p->target->prepack_elements;
}

/* Can there be a copy? Each of its elements is another one of the parameter. */
static bool may_stay(const Planner *p, const Ix *at, const Buffer *buffer)
{
	int64_t elements, all;
	if (!p->program->options.prepack || p->tile->nest->nloops > PACKED_LOOPS ||
	    !is_of_loops(p, at) || !buffer_stays(p->program, buffer))
		return false;
	elements = elements_of(p, at);
	return elements > 0 && tile_is_const(p, buffer->elements, &all) && elements <= all &&
	       (elements >= least_elements(p) || asks_on(p->prepacks));
}

bool prepack_suits(const Lower *lower, BufferId id)
{
	const Buffer *buffer = &lower->program->buffers.at[id];
	return buffer_stays(lower->program, buffer) && prepack_suits_size(lower, buffer->elements);
}

bool prepack_suits_size(const Lower *lower, Size size)
{
	int64_t elements;
	return lower->options->prepack && size_is_const(lower->sizes, size, &elements) &&
	       elements >= lower->target->prepack_elements && elements <= MOST_ELEMENTS;
}

static bool may_prepack(const Planner *p, int load)
{
	const Lower *lower = p->tile->nest->gen->lower;
	const Buffer *buffer = &p->program->buffers.at[p->sum.from.at[load]];
	Sym name = lower_identifier(lower, buffer->name);
	return !lower->packing && !asks_off(p->prepacks) && !asks_on(p->packs) &&
	       asks_name(p->prepacks, 0, name) && may_stay(p, p->sum.at.at[load], buffer);
}

bool tile_may_prepack(const Planner *p, int load)
{
	Dtype dtype = p->program->buffers.at[p->sum.from.at[load]].dtype;
	return may_prepack(p, load) &&
	       (!dtype_is_packed(dtype) || asks_on(p->prepacks)); /* a copy has bytes */
}

bool tile_may_prepack_words(const Planner *p, int load)
{
	return tile_fits_words(p, load) && may_prepack(p, load);
}
