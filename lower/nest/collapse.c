/* Two neighbouring loops are one where every access steps from the end of an inner round to the
 * start of the next: its stride for the outer iterator is its stride for the inner one times the
 * inner extent.
 *
 *   for i in 0..n: for j in 0..5: y[i*5 + j] = x[i*5 + j]      is      for j in 0..n*5: y[j] = x[j]
 *
 * The outer iterator becomes 0 and the inner one takes both extents. Loops of guarded indices stay,
 * and so do those that an operand is gathered by which may be read where it lies: y[k, j] += x[i] *
 * w[ids[k], i, j].
 */
#include "lower/nest/collapse.h"

#include "base/size_dims.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/nest.h"

static bool atom_hides(const LoopPair *pair, const Ix *atom)
{
	return atom->kind != IX_ITER && atom->kind != IX_VALUE &&
	       (ix_uses(atom, pair->outer) || ix_uses(atom, pair->inner));
}

void loop_pair_see_index(LoopPair *pair, const Ix *ix)
{
	Sizes *sizes = pair->program->sizes;
	Size outer = size_const(sizes, 0), inner = outer;
	Linear linear = ix_linear(pair->program, ix);
	for (size_t i = 0; i < linear.terms.n; i++) {
		const LinearTerm *term = &linear.terms.at[i];
		if (term->atom->kind == IX_VALUE)
			loop_pair_see_value(pair, term->atom->value);
		if (atom_hides(pair, term->atom))
			pair->separate = true;
		if (term->atom->kind == IX_ITER && term->atom->iter == pair->outer)
			outer = term->coef;
		if (term->atom->kind == IX_ITER && term->atom->iter == pair->inner)
			inner = term->coef;
	}
	if (!size_same(outer, size_mul(sizes, inner, pair->extent)))
		pair->separate = true;
}

void loop_pair_see_value(LoopPair *pair, const Value *value)
{
	if (value->ix)
		loop_pair_see_index(pair, value->ix);
	for (uint32_t i = 0; i < value->nargs && !pair->separate; i++)
		loop_pair_see_value(pair, value->args[i]);
}

void loop_pair_see_shared(LoopPair *pair, const SharedLocals *shared)
{
	for (size_t i = 0; i < shared->n && !pair->separate; i++)
		loop_pair_see_value(pair, shared->at[i].value);
}

bool nest_is_of_args(const Nest *nest)
{
	bool known = true;
	for (uint32_t i = 0; i < nest->nloops && known; i++)
		known = size_is_of_args(nest->gen->program->sizes, nest->loops[i].extent);
	return known;
}

bool nest_is_guarded(const Nest *nest, const Loop *loop)
{
	for (size_t g = 0; g < nest->guards.n; g++)
		if (nest_guard_mentions(nest, &nest->guards.at[g], loop->iter))
			return true;
	for (size_t i = 0; i < nest->nborders; i++)
		if (ix_uses(nest->borders[i].ix, loop->var))
			return true;
	return false;
}

static bool are_one(Nest *nest, const Loop *outer, const Loop *inner)
{
	LoopPair pair = {nest->gen->program, outer->var, inner->var, inner->extent, false};
	if (outer->reduced != inner->reduced || nest_is_guarded(nest, outer) ||
	    nest_is_guarded(nest, inner))
		return false;
	loop_pair_see_index(&pair, nest->at);
	loop_pair_see_shared(&pair, &nest->inner);
	loop_pair_see_shared(&pair, &nest->epilogue);
	if (!pair.separate)
		loop_pair_see_value(&pair, nest->value);
	if (!pair.separate)
		loop_pair_see_value(&pair, nest->finished);
	return !pair.separate && !nest_gathers_otherwise(nest, outer, inner);
}

bool nest_collapse(Nest *nest)
{
	for (uint32_t i = 0; i + 1 < nest->nloops; i++) {
		Loop *outer = &nest->loops[i], *inner = &nest->loops[i + 1];
		if (!are_one(nest, outer, inner))
			continue;
		nest->by_iter[outer->iter] = zero_ix(nest->gen);
		PUSH(nest->gen->arena, nest->merged,
		     ((Merged){outer->iter, inner->iter, inner->extent}));
		inner->extent = size_mul(nest->gen->program->sizes, outer->extent, inner->extent);
		inner->own = size_mul(nest->gen->program->sizes, outer->own, inner->own);
		nest->nresult -= !outer->reduced;
		for (uint32_t k = i; k + 1 < nest->nloops; k++)
			nest->loops[k] = nest->loops[k + 1];
		nest->nloops--;
		return true;
	}
	return false;
}
