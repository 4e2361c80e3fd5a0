/* Two elements a byte, from a byte for each.
 *
 *   for b in 0..n/2:             to[2*b] = from[2*b] % 16 + 16 * (from[2*b + 1] % 16)
 *   for b in n/2..ceil(n/2):     to[2*b] = from[2*b] % 16
 *
 * Of a run [first, end) the bytes from first/2 to ceil(end/2).
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

/* The bytes from lo to hi, of a run those of it. */
static void pack_from(Program *program, BufferId from, BufferId to, const Stmt *bytes, bool both,
		      Body *body)
{
	Arena *arena = program->arena;
	const Ix *at = ix_times(program, ix_iter(arena, bytes->iter), 2);
	const Value *value = both ? both_halves(program, from, at) : half(program, from, at);
	Body inner = {0};
	PUSH(arena, inner.stmts,
	     stmt_store(arena, to, at, OP_NONE, value_cast(arena, DTYPE_U8, value)));
	PUSH(arena, body->stmts,
	     stmt_for(arena, bytes->iter, bytes->lo, bytes->hi, body_block(&inner)));
}

/* The byte that the element is in. */
static const Ix *byte_of(Program *program, const Ix *at)
{
	return ix_binary(program, IX_DIV, at, ix_const(program, 2));
}

static Stmt bytes_of(Program *program, const HalvesRun *run, IterVar iter, Size lo, Size hi)
{
	Stmt bytes = {.iter = iter,
		      .lo = ix_size(program->arena, lo),
		      .hi = ix_size(program->arena, hi)};
	if (run) {
		const Ix *first = byte_of(program, run->first);
		const Ix *end = byte_of(program, ix_plus(program, run->end, 1));
		bytes.lo = size_is(program->sizes, lo, 0)
				   ? first
				   : ix_binary(program, IX_MAX, bytes.lo, first);
		bytes.hi = ix_binary(program, IX_MIN, bytes.hi, end);
	}
	return bytes;
}

void body_pack_halves(Program *program, BufferId from, BufferId to, const HalvesRun *run,
		      const IterVar iters[2], Body *body)
{
	Sizes *sizes = program->sizes;
	Size n = program->buffers.at[to].elements, whole = size_floor(sizes, n, 2);
	Stmt pairs = bytes_of(program, run, iters[0], size_const(sizes, 0), whole);
	Stmt last = bytes_of(program, run, iters[1], whole, size_ceil(sizes, n, 2));
	if (!size_is(sizes, whole, 0))
		pack_from(program, from, to, &pairs, true, body);
	if (!size_divides(sizes, size_const(sizes, 2), n))
		pack_from(program, from, to, &last, false, body);
}

void body_unpack_halves(Program *program, BufferId from, BufferId to, const HalvesRun *run,
			IterVar iter, Body *body)
{
	Arena *arena = program->arena;
	const Ix *e = ix_iter(arena, iter), *n = ix_size(arena, program->buffers.at[to].elements);
	const Ix *lo = ix_times(program, byte_of(program, run->first), 2);
	const Ix *end = ix_times(program, byte_of(program, ix_plus(program, run->end, 1)), 2);
	Body inner = {0};
	PUSH(arena, inner.stmts, stmt_store(arena, to, e, OP_NONE, value_load(program, from, e)));
	PUSH(arena, body->stmts,
	     stmt_for(arena, iter, lo, ix_binary(program, IX_MIN, n, end), body_block(&inner)));
}
