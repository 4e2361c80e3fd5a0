/* A kernel with its buffers moved to where it touches them: kernel -> kernel, and a base for each
 * buffer.
 *
 * The base of a buffer is the constant part of the first index that the kernel uses it at. Every
 * index of that buffer is lowered by its base, and the caller passes the address of that element
 * instead of the first: kernels that differ in a layer's place in a stacked array become equal.
 * A base that may be negative stays in the index, so that no pointer lies before its array, and so does an odd
 * one of two elements a byte, and that of a shared buffer, which is no argument.
 */
#include "codegen/kernel_use.h"

#include "base/pointer_map.h"
#include "base/size_order.h"
#include "loops/build.h"
#include "loops/linear.h"

typedef struct Moved {
	Size base;
	const Ix *from, *to;
} Moved;

typedef struct Move {
	Program program; /* the given one's tables; new indices lie in our arena */
	PointerMap bases, values, indices;
	VEC(KernelBase) list;
	VEC(Moved) moved; /* what `indices` counts, from 1 */
} Move;

static const Value *move_value(Move *m, const Value *value);
static Block move_block(Move *m, Block block);

/* What is read inside an index. */
static const Ix *move_reads(Move *m, const Ix *ix)
{
	if (!ix || !ix->reads)
		return ix;
	if (ix->kind == IX_VALUE) {
		const Value *value = move_value(m, ix->value);
		return value == ix->value ? ix : ix_value(m->program.arena, value);
	}
	const Ix *a = move_reads(m, ix->a), *b = move_reads(m, ix->b);
	if (a == ix->a && b == ix->b)
		return ix;
	Ix *copy = ARENA_NEW(m->program.arena, Ix);
	*copy = *ix;
	copy->a = a;
	copy->b = b;
	copy->reads = a->reads || b->reads;
	return copy;
}

static Size base_of(Move *m, BufferId buffer, const Ix *ix)
{
	Sizes *sizes = m->program.sizes;
	uint64_t *at = pointer_map_at(&m->bases, &m->program.buffers.at[buffer]);
	if (!*at) {
		Size base = ix_linear(&m->program, ix).offset;
		Size zero = size_const(sizes, 0);
		const Buffer *to = &m->program.buffers.at[buffer];
		bool in_word = dtype_is_packed(to->dtype) && size_content(sizes, base) % 8 != 0;
		if (!size_ge(sizes, base, zero) || to->shared || in_word)
			base = zero;
		PUSH(m->program.arena, m->list, ((KernelBase){buffer, base}));
		*at = m->list.n;
	}
	return m->list.at[*at - 1].base;
}

/* The index of an access. What was one index for several accesses at one base stays one. */
static const Ix *move_access(Move *m, BufferId buffer, const Ix *ix)
{
	const Ix *to = move_reads(m, ix);
	Size base = base_of(m, buffer, to);
	if (size_is(m->program.sizes, base, 0))
		return to;
	uint64_t *at = pointer_map_at(&m->indices, ix);
	if (*at && size_same(m->moved.at[*at - 1].base, base))
		return m->moved.at[*at - 1].to;
	Size back = size_scale(m->program.sizes, base, -1);
	to = ix_add(&m->program, to, ix_size(m->program.arena, back));
	PUSH(m->program.arena, m->moved, ((Moved){base, ix, to}));
	*at = m->moved.n;
	return to;
}

static const Ix *const *move_ixs(Move *m, const Ix *const *ixs, uint32_t n)
{
	const Ix **copy = ARENA_ARRAY(m->program.arena, const Ix *, n + 1);
	bool same = true;
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = move_reads(m, ixs[i]);
		same = same && copy[i] == ixs[i];
	}
	return same ? ixs : copy;
}

static const Value *move_value(Move *m, const Value *value)
{
	uint64_t known = *pointer_map_at(&m->values, value);
	if (known)
		return (const Value *)(uintptr_t)known;
	Value next = *value;
	for (uint32_t i = 0; i < value->nargs; i++)
		next.args[i] = move_value(m, value->args[i]);
	next.ix = value->kind == VALUE_LOAD ? move_access(m, value->buffer, value->ix)
					    : move_reads(m, value->ix);
	next.ixs = move_ixs(m, value->ixs, value->nixs);
	bool same = next.ix == value->ix && next.ixs == value->ixs;
	for (uint32_t i = 0; i < value->nargs; i++)
		same = same && next.args[i] == value->args[i];
	const Value *to = value;
	if (!same) {
		Value *copy = ARENA_NEW(m->program.arena, Value);
		*copy = next;
		to = copy;
	}
	*pointer_map_at(&m->values, value) = (uint64_t)(uintptr_t)to;
	return to;
}

static const Cond *move_conds(Move *m, const Cond *conds, uint32_t n)
{
	Cond *copy = ARENA_ARRAY(m->program.arena, Cond, n + 1);
	for (uint32_t i = 0; i < n; i++)
		copy[i] =
			(Cond){conds[i].kind, move_reads(m, conds[i].a), move_reads(m, conds[i].b)};
	return copy;
}

static const Stmt *move_stmt(Move *m, const Stmt *stmt)
{
	Stmt *copy = ARENA_NEW(m->program.arena, Stmt);
	*copy = *stmt;
	copy->lo = move_reads(m, stmt->lo);
	copy->hi = move_reads(m, stmt->hi);
	copy->conds = move_conds(m, stmt->conds, stmt->nconds);
	copy->ixs = move_ixs(m, stmt->ixs, stmt->nixs);
	if (stmt->value)
		copy->value = move_value(m, stmt->value);
	bool access = stmt->kind == LOOP_STORE || stmt->kind == LOOP_PREFETCH;
	copy->ix = access ? move_access(m, stmt->buffer, stmt->ix) : move_reads(m, stmt->ix);
	copy->body = move_block(m, stmt->body);
	return copy;
}

static Block move_block(Move *m, Block block)
{
	const Stmt **stmts = ARENA_ARRAY(m->program.arena, const Stmt *, block.n + 1);
	for (uint32_t i = 0; i < block.n; i++)
		stmts[i] = move_stmt(m, block.stmts[i]);
	return (Block){stmts, block.n};
}

KernelBases kernel_move(const Program *program, Kernel *kernel, Arena *arena)
{
	Move m = {.program = *program};
	m.program.arena = arena;
	m.bases.arena = m.values.arena = m.indices.arena = arena;
	kernel->body = move_block(&m, kernel->body);
	return (KernelBases){m.list.at, m.list.n};
}
