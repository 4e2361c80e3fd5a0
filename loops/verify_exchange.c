/* What threads of a warp read of each other: `other[row, lane] = part[row, lane] + part[row, (lane + 16) % 32]`.
 *
 * All threads of the warp run such an assignment, in loops of a block and loops that are unrolled
 * alone, and what is read is not set in the same nest: each reads what there was before it,
 * whatever runs when. An operation of it has all its arguments.
 */
#include "loops/verify_block.h"

#include "loops/fragment.h"
#include "loops/walk.h"

typedef struct Exchange {
	const Kernel *kernel;
	bool *set; /* by LocalId: in the nest */
	bool any, wrong;
} Exchange;

static bool is_exchanged(const Exchange *e, const Value *value)
{
	return value->kind == VALUE_LOCAL &&
	       is_of_warp(&e->kernel->locals[value->local], value->ixs);
}

static void see_value(void *of, const Value *value)
{
	Exchange *e = of;
	if (!is_exchanged(e, value))
		return;
	const KernelLocal *local = &e->kernel->locals[value->local];
	e->any = true;
	e->wrong |= local->extent[local->nthreads - 1] != WARP || e->set[value->local] ||
		    local->role != ROLE_NONE;
}

static void see_ixs(Exchange *e, const Ix *const *ixs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ix_each_value(ixs[i], see_value, e);
}

/* Does the value read others somewhere in it? Notes what is wrong with that. */
static bool reads_others(Exchange *e, const Value *value)
{
	bool before = e->any;
	e->any = false;
	value_each(value, see_value, e);
	bool reads = e->any;
	e->any |= before;
	return reads;
}

/* The value, or an argument of it, is what others have; none of what these are made of. */
static bool is_plain(Exchange *e, const Value *value)
{
	if (is_exchanged(e, value))
		return true;
	if (value->kind != VALUE_OP || value->op == OP_WHERE)
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_exchanged(e, value->args[i]) && reads_others(e, value->args[i]))
			return false;
	return true;
}

static bool reads_in_indices(Exchange *e, const Stmt *stmt)
{
	const Ix *ixs[] = {stmt->lo, stmt->hi, stmt->ix};
	bool before = e->any;
	e->any = false;
	for (size_t i = 0; i < sizeof ixs / sizeof *ixs; i++)
		if (ixs[i])
			ix_each_value(ixs[i], see_value, e);
	see_ixs(e, stmt->ixs, stmt->nixs);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		ix_each_value(stmt->conds[i].a, see_value, e);
		ix_each_value(stmt->conds[i].b, see_value, e);
	}
	bool reads = e->any;
	e->any = before;
	return reads;
}

/* `all`: do all threads of the warp run the block as often? The first statement that is wrong. */
static const Stmt *search(Exchange *e, const Block *block, bool all)
{
	const Stmt *found = NULL;
	for (uint32_t i = 0; i < block->n && !found; i++) {
		const Stmt *stmt = block->stmts[i];
		bool reads = stmt->value && reads_others(e, stmt->value);
		bool assigns = stmt->kind == LOOP_SET && all && stmt->acc == OP_NONE;
		bool inside = stmt->kind == LOOP_FOR &&
			      (stmt->loop == LOOP_BLOCK || stmt->loop == LOOP_UNROLL);
		if (reads_in_indices(e, stmt) || (reads && !(assigns && is_plain(e, stmt->value))))
			return stmt;
		found = e->wrong ? stmt : search(e, &stmt->body, all && inside);
	}
	return found;
}

static void note_set(void *of, const Stmt *stmt)
{
	Exchange *e = of;
	if (stmt->kind == LOOP_SET)
		e->set[stmt->local] = true;
}

/* Each nest of loops of a block. */
static const Stmt *nests(Exchange *e, Arena *arena, const Block *block)
{
	const Stmt *found = NULL;
	for (uint32_t i = 0; i < block->n && !found; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt->kind != LOOP_FOR || stmt->loop != LOOP_BLOCK) {
			found = nests(e, arena, &stmt->body);
			continue;
		}
		e->set = ARENA_ARRAY(arena, bool, e->kernel->nlocals + 1);
		block_each(stmt->body, note_set, e);
		found = search(e, &stmt->body, true);
	}
	return found;
}

const Stmt *warp_exchange_fault(const Kernel *kernel)
{
	Arena *arena = arena_new();
	Exchange e = {.kernel = kernel};
	const Stmt *found = nests(&e, arena, &kernel->body);
	arena_free(arena);
	return found;
}
