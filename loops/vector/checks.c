/* Loops that check what is read, whole vectors at a time:
 *
 *   for i in 0..n                                 local greatest : u32 = 0
 *     check 0 <= int(x[i]) < size, check 0   ->   for i in 0..n
 *                                                   greatest max= u32(x[i])
 *                                                 if 0 < n
 *                                                   check 0 <= int(greatest) < size, check 0
 *
 * Where n is known to be more than 0 the condition is left out. An integer below 0 is a large one without sign.
 * Of 8 bytes the least and the greatest are both looked at.
 *
 * Legal where the loop does nothing else: a check that fails ends the kernel, whichever it is.
 */
#include "base/size_order.h"
#include "loops/frame.h"
#include "loops/walk.h"
#include "loops/vector/vector.h"

const char *checks_refused(const Vectoring *t, const Stmt *loop)
{
	const Stmt *check = block_only(loop->body);
	if (loop->kind != LOOP_FOR || loop->loop != LOOP_SERIAL || !check ||
	    check->kind != LOOP_CHECK)
		return "it is no plain loop of one check";
	if (check->ix->kind != IX_VALUE || !dtype_is_integer(check->ix->value->dtype))
		return "what it checks is not read";
	bool from_0 = check->lo->kind == IX_SIZE && size_is(t->program->sizes, check->lo->size, 0);
	return from_0 ? NULL : "it does not check from 0 on";
}

/* A local that meets the value in every iteration, and begins with 0, which is inside. */
static const Value *meets(Vectoring *t, Op op, const Value *value, Body *before, Body *inside)
{
	Program *program = t->program;
	const char *name = op == OP_MAX ? "greatest" : "least";
	LocalId local = kernel_add_local(t->program, t->kernel, (KernelLocal){.name = sym_cstr(program->symbols, name), .dtype = value->dtype});
	const Value *zero = value_number(program->arena, value->dtype, 0);
	PUSH(program->arena, before->stmts, stmt_local(program->arena, local, zero));
	PUSH(program->arena, inside->stmts, stmt_set(program->arena, local, op, value));
	return value_local(program->arena, t->kernel, local, NULL, 0);
}

static void check(Vectoring *t, const Stmt *as, const Value *value, Body *to)
{
	Stmt *copy = ARENA_NEW(t->program->arena, Stmt);
	*copy = *as;
	copy->ix = ix_value(t->program->arena, value);
	PUSH(t->program->arena, to->stmts, copy);
}

/* Is there an iteration, whatever the dims are? */
static bool runs(const Program *program, const Stmt *loop)
{
	return loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
	       size_ge(program->sizes, loop->hi->size,
		       size_plus(program->sizes, loop->lo->size, 1));
}

void checks(Vectoring *t, const Stmt *loop, Body *to)
{
	Arena *arena = t->program->arena;
	const Stmt *each = loop->body.stmts[0];
	const Value *value = each->ix->value;
	bool long_one = dtype_bytes(value->dtype) > 4;
	Body inside = {0}, behind = {0};
	if (!long_one && value->dtype != DTYPE_U32)
		value = value_cast(arena, DTYPE_U32, value_cast(arena, DTYPE_I32, value));
	check(t, each, meets(t, OP_MAX, value, to, &inside), &behind);
	if (long_one)
		check(t, each, meets(t, OP_MIN, value, to, &inside), &behind);
	PUSH(arena, to->stmts, stmt_with(arena, loop, body_block(&inside)));
	if (runs(t->program, loop)) {
		body_append(arena, to, body_block(&behind));
		return;
	}
	Cond any = {COND_LT, loop->lo, loop->hi};
	PUSH(arena, to->stmts, stmt_if_one(arena, any, body_block(&behind)));
}
