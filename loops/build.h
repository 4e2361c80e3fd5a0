/* Constructors of indices, values and statements of loops. */
#ifndef TSR_LOOPS_BUILD_H
#define TSR_LOOPS_BUILD_H

#include "loops/loops.h"

/* Indices are folded and kept as sums in one form (ix_linear of loops/linear.h), constant values are
 * folded by op_eval, neutral terms go. Arguments of an op have its dtype. `args` are copied; `ixs`
 * must live as long as the value. */
const Ix *ix_size(Arena *arena, Size size);
const Ix *ix_const(const Program *program, int64_t value);
const Ix *ix_iter(Arena *arena, IterVar iter);
const Ix *ix_add(Program *program, const Ix *a, const Ix *b);
const Ix *ix_mul(Program *program, const Ix *a, const Ix *b);
/* Requires: IX_MIN or IX_MAX. */
const Ix *ix_binary(Program *program, IxKind kind, const Ix *a, const Ix *b);
static inline const Ix *ix_plus(Program *program, const Ix *ix, int64_t n)
{
	return ix_add(program, ix, ix_const(program, n));
}
static inline const Ix *ix_times(Program *program, const Ix *ix, int64_t n)
{
	return ix_mul(program, ix, ix_const(program, n));
}
/* a*n + b */
static inline const Ix *ix_times_plus(Program *program, const Ix *a, int64_t n, const Ix *b)
{
	return ix_add(program, ix_times(program, a, n), b);
}
static inline const Ix *ix_minus(Program *program, const Ix *a, const Ix *b)
{
	return ix_add(program, a, ix_times(program, b, -1));
}
/* An integer value as an index; that of a VALUE_INDEX is the index again. */
const Ix *ix_value(Arena *arena, const Value *value);
/* Of a buffer of i4 an i8, of u4 an u8. Requires: a buffer of the program. */
const Value *value_load(Program *program, BufferId buffer, const Ix *ix);
const Value *value_const(Arena *arena, Dtype dtype, Scalar constant);
static inline const Value *value_number(Arena *arena, Dtype dtype, double number)
{
	return value_const(arena, dtype, scalar_of(dtype, number));
}
/* The caller may change what is in it. */
static inline Value *value_copy(Arena *arena, const Value *value)
{
	Value *copy = ARENA_NEW(arena, Value);
	*copy = *value;
	return copy;
}
bool value_is_zero(const Value *value); /* a constant 0 */
/* Requires: as many arguments as the operation has, each of `dtype`. */
const Value *value_op(Arena *arena, Op op, Dtype dtype, const Value *const *args, uint32_t nargs);
/* a OP b in the type of both. */
static inline const Value *value_binary(Arena *arena, Op op, const Value *a, const Value *b)
{
	return value_op(arena, op, a->dtype, (const Value *[]){a, b}, 2);
}
/* i32: 0 where the fast path of an operation is the same. Requires: `call` is that operation. */
const Value *value_far(Arena *arena, const Value *call);
/* To i4 an i8 of its range, to u4 an u8. */
const Value *value_cast(Arena *arena, Dtype dtype, const Value *value);
/* `yes` where the condition is true, else `no`, in the type of both. */
static inline const Value *value_where(Arena *arena, const Value *is, const Value *yes,
				       const Value *no)
{
	const Value *args[] = {value_cast(arena, yes->dtype, is), yes, no};
	return value_op(arena, OP_WHERE, yes->dtype, args, 3);
}
/* The comparison or logic operation, 0 or 1, that a value is but for its type; NULL: it is none. */
const Value *value_truth(const Value *value);
/* A sum of small integers as a sum of floats, exactly; NULL: it is none. */
const Value *value_exact_float(Arena *arena, Dtype dtype, const Value *value);
/* Requires: a value of f32 or f64. */
const Value *value_key(Arena *arena, const Value *value);
/* Requires: a local of the kernel, and as many indices as it has axes. */
const Value *value_local(Arena *arena, const Kernel *kernel, LocalId local, const Ix *const *ixs,
			 uint32_t nixs);
/* Requires: a type whose elements have whole bytes. */
const Value *value_index(Arena *arena, Dtype dtype, const Ix *ix);
const Value *value_scalar(Arena *arena, Dtype dtype, uint32_t scalar);

/* A block under construction. */
typedef struct Body {
	VEC(const Stmt *) stmts;
} Body;
/* The statements so far as a block, which shares their memory: what is pushed later does not belong to it. */
Block body_block(const Body *body);
/* Appends the block's statements. */
void body_append(Arena *arena, Body *body, Block block);
/* A block of one statement. */
Block block_one(Arena *arena, const Stmt *stmt);
/* What is returned as Stmt * the caller may change until it stands in a block. */
Stmt *stmt_for(Arena *arena, IterVar iter, const Ix *lo, const Ix *hi, Block body);
/* A loop of a kind over [0, extent). */
Stmt *stmt_loop(Program *program, LoopKind kind, IterVar iter, int64_t extent, Block body);
/* A copy with another body. */
Stmt *stmt_with(Arena *arena, const Stmt *stmt, Block body);
Stmt *stmt_step(Arena *arena, const Stmt *loop, int64_t step); /* the same loop with a step */
const Stmt *stmt_if(Arena *arena, const Cond *conds, uint32_t nconds, Block body);
const Stmt *stmt_if_one(Arena *arena, Cond cond, Block body);
/* Declares a local, with a value or (NULL) without; sets it, or with `acc` adds to it. */
Stmt *stmt_local(Arena *arena, LocalId local, const Value *value);
Stmt *stmt_set(Arena *arena, LocalId local, Op acc, const Value *value);
/* a VALUE_LOCAL */
Stmt *stmt_set_at(Arena *arena, const Value *element, Op acc, const Value *value);
/* Into a buffer of i4 or u4: the byte of the elements ix and ix + 1, ix even, as a u8. */
Stmt *stmt_store(Arena *arena, BufferId buffer, const Ix *ix, Op acc, const Value *value);
/* The same of any value: it is converted to the buffer's type; to a type of storage its wide type adds. */
Stmt *stmt_store_as(Program *program, BufferId buffer, const Ix *ix, Op acc, const Value *value);
/* An asynchronous copy of a load; commits what was begun; waits until at most `pending` commits are on their
 * way. */
Stmt *stmt_async(Arena *arena, BufferId buffer, const Ix *ix, const Value *load);
const Stmt *stmt_commit(Arena *arena);
const Stmt *stmt_wait(Arena *arena, int64_t pending);
/* All threads of a block meet, or of all blocks of a cluster. */
const Stmt *stmt_barrier(Arena *arena, bool cluster);
/* Asks for the line of the element; `near`: into the first cache. */
const Stmt *stmt_prefetch(Arena *arena, BufferId buffer, const Ix *ix, bool near);
/* 0 <= ix < hi */
const Stmt *stmt_check(Program *program, const Ix *ix, const Ix *hi, CheckId check);

#endif
