/* Loops that are gone through as one: where each of them is at a place in all, and what goes through them so. */
#include "transform/gpu/tile.h"

bool operand_goes_as_one(Program *program, const ProductOperand *operand, const LoopGroup *group)
{
	OneLoop one = {program, group->loops, group->n, 0};
	one_loop_value(&one, operand->value);
	for (uint32_t i = 0; i < operand->nconds; i++) {
		one_loop_ix(&one, operand->conds[i].a);
		one_loop_ix(&one, operand->conds[i].b);
	}
	return one.first == 0;
}

void group_put(Program *program, const Ix **iters, const LoopGroup *group, const Ix *at)
{
	const Ix *none = ix_const(program, 0);
	for (uint32_t i = 0; i < group->n; i++)
		iters[group->loops[i]->iter] = i + 1 < group->n ? none : at;
}

const Ix *ix_divided(Program *program, IxKind kind, const Ix *a, Size by)
{
	if (!size_is(program->sizes, by, 1))
		return ix_binary(program, kind, a, ix_size(program->arena, by));
	return kind == IX_DIV ? a : ix_const(program, 0);
}

void group_put_each(Program *program, const Ix **iters, const LoopGroup *group, const Ix *at,
		    int64_t unit)
{
	Sizes *sizes = program->sizes;
	Size inside = size_const(sizes, 1);
	for (uint32_t i = group->n; i-- > 0;) {
		bool innermost = i + 1 == group->n;
		Size extent = group->loops[i]->hi->size;
		if (innermost)
			extent = size_div(sizes, extent, size_const(sizes, unit));
		const Ix *own = ix_divided(program, IX_DIV, at, inside);
		own = i ? ix_divided(program, IX_MOD, own, extent) : own;
		iters[group->loops[i]->iter] =
			innermost ? ix_mul(program, own, ix_const(program, unit)) : own;
		inside = size_mul(sizes, inside, extent);
	}
}
