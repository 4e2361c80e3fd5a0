/* Two elements a byte, from a byte for each.
 *
 *   for b in 0..n/2:             to[2*b] = from[2*b] % 16 + 16 * (from[2*b + 1] % 16)
 *   for b in n/2..ceil(n/2):     to[2*b] = from[2*b] % 16
 */
#include "loops/pack_halves.h"

#include "base/size_order.h"

/* The lower half of an element, as i32. */
static const Value *half(Program *program, BufferId from, const Ix *at)
{
	Arena *arena = program->arena;
	const Value *args[2] = {
		value_cast(arena, DTYPE_I32, value_load(program, from, at)),
		value_const(arena, DTYPE_I32, scalar_of(DTYPE_I32, 16))};
	return value_op(arena, OP_MOD, DTYPE_I32, args, 2);
}

static const Value *both_halves(Program *program, BufferId from, const Ix *at)
{
	Arena *arena = program->arena;
	const Value *scaled[2] = {half(program, from, ix_plus(program, at, 1)),
				  value_const(arena, DTYPE_I32, scalar_of(DTYPE_I32, 16))};
	const Value *args[2] = {half(program, from, at),
				value_op(arena, OP_MUL, DTYPE_I32, scaled, 2)};
	return value_op(arena, OP_ADD, DTYPE_I32, args, 2);
}

static void pack_from(Program *program, BufferId from, BufferId to, IterVar iter, Size lo, Size hi,
		      bool both, Body *body)
{
	Arena *arena = program->arena;
	const Ix *at = ix_times(program, ix_iter(arena, iter), 2);
	const Value *value = both ? both_halves(program, from, at) : half(program, from, at);
	Body inner = {0};
	PUSH(arena, inner.stmts,
	     stmt_store(arena, to, at, OP_NONE, value_cast(arena, DTYPE_U8, value)));
	PUSH(arena, body->stmts,
	     stmt_for(arena, iter, ix_size(arena, lo), ix_size(arena, hi), body_block(&inner)));
}

void body_pack_halves(Program *program, BufferId from, BufferId to, const IterVar iters[2], Body *body)
{
	Sizes *sizes = program->sizes;
	Size n = program->buffers.at[to].elements, whole = size_floor(sizes, n, 2);
	if (!size_is(sizes, whole, 0))
		pack_from(program, from, to, iters[0], size_const(sizes, 0), whole, true, body);
	if (!size_divides(sizes, size_const(sizes, 2), n))
		pack_from(program, from, to, iters[1], whole, size_ceil(sizes, n, 2), false, body);
}
