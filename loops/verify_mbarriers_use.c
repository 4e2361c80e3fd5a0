/* What threads kept from each other by mbarriers touch, statement by statement: the buffers that are theirs nothing else
 * touches, and places depend on a round by its remainder in a ring alone, completions by its number. So rounds that
 * follow relate to each other as those of twice a ring do, which verify_mbarriers.c walks. Of a block that takes turns
 * both depend on the round and the turn by turn*rounds + round alone. */
#include "base/size_order.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/mbarriers.h"
#include "loops/walk.h"

typedef struct Uses {
	Program *program;
	int64_t period;
	const Stmt *rounds; /* the loop over them; NULL: outside */
	const Stmt *turns;  /* the loop of a grid whose blocks take turns; NULL: none do */
	bool group;	    /* in a loop of a warpgroup */
	const Stmt *stmt;   /* at hand */
	LoopsFault fault;
} Uses;

static void fail(Uses *u, const char *rule) { fault_note(&u->fault, u->stmt, rule); }

static bool is_theirs(const Uses *u, BufferId id)
{
	const Buffer *buffer = &u->program->buffers.at[id];
	return buffer->swizzled || buffer->arrivals;
}

/* ---- rounds ---- */

/* By turns as by all rounds of one? */
static bool moves_by_turns(const Uses *u, const Ix *ix, Size stride)
{
	if (!u->turns)
		return true;
	Size turn = ix_stride(u->program, ix, u->turns->slot);
	return !size_is_bad(turn) && u->rounds->hi->kind == IX_SIZE &&
	       size_same(turn, size_mul(u->program->sizes, stride, u->rounds->hi->size));
}

static bool moves_steadily(const Uses *u, const Ix *ix)
{
	int64_t by;
	Size stride = ix_stride(u->program, ix, u->rounds->iter);
	return size_is_const(u->program->sizes, stride, &by) && moves_by_turns(u, ix, stride);
}

static bool is_remainder(const Uses *u, const Ix *ix)
{
	int64_t n;
	return ix->kind == IX_MOD && ix->b->kind == IX_SIZE &&
	       size_is_const(u->program->sizes, ix->b->size, &n) && n > 0 && u->period % n == 0 &&
	       moves_steadily(u, ix->a);
}

/* Has it the same number again `period` rounds later? */
static bool is_periodic(const Uses *u, const Ix *ix)
{
	bool turns = u->turns && ix_uses(ix, u->turns->slot);
	if (!u->rounds)
		return !turns;
	if ((!ix_uses(ix, u->rounds->iter) && !turns) || is_remainder(u, ix))
		return true;
	return ix->kind != IX_ITER && ix->kind != IX_VALUE && is_periodic(u, ix->a) &&
	       is_periodic(u, ix->b);
}

static void check_place(Uses *u, const Ix *ix)
{
	if (!is_periodic(u, ix))
		fail(u, "a place that is not the same again after each ring of rounds");
}

/* ---- turns ---- */

/* Of what is no place of theirs. */
static void check_index(Uses *u, const Ix *ix)
{
	if (u->turns && ix && ix_uses(ix, u->turns->slot))
		fail(u, "the number of a turn in what is not of a ring");
}

static void check_indices(Uses *u, const Ix *const *ixs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		check_index(u, ixs[i]);
}

/* All that a statement has but its value and, of a copy, its place. */
static void check_turns(Uses *u, const Stmt *stmt)
{
	check_index(u, stmt->lo);
	check_index(u, stmt->hi);
	check_index(u, stmt->kind == LOOP_COPY ? NULL : stmt->ix);
	check_indices(u, stmt->ixs, stmt->nixs);
	for (uint32_t i = 0; i < stmt->nconds; i++)
		check_indices(u, (const Ix *[]){stmt->conds[i].a, stmt->conds[i].b}, 2);
	for (uint32_t i = 0; i < stmt->naxes; i++)
		check_index(u, stmt->axes[i].at);
	check_index(u, stmt->window);
}

/* ---- statements ---- */

static void see_value(void *of, const Value *value)
{
	Uses *u = of;
	if (value->kind != VALUE_LOAD || !is_theirs(u, value->buffer)) {
		check_index(u, value->ix);
		check_indices(u, value->ixs, value->nixs);
		return;
	}
	if (!u->group)
		fail(u, "a swizzled buffer, or an mbarrier, that is read as any other");
	check_place(u, value->ix);
}

static void check_stmt(Uses *u, const Stmt *stmt)
{
	bool stores = stmt->kind == LOOP_STORE || stmt->kind == LOOP_PREFETCH;
	u->stmt = stmt;
	if (stores && is_theirs(u, stmt->buffer))
		fail(u, "a swizzled buffer, or an mbarrier, that is stored to as any other");
	if (stmt->kind == LOOP_COPY)
		check_place(u, stmt->ix);
	else if (stmt->value)
		value_each(stmt->value, see_value, u);
	check_turns(u, stmt);
	if (stmt->visit && u->rounds &&
	    !(ix_moves_by(u->program, stmt->visit, u->rounds->iter, 1) &&
	      moves_by_turns(u, stmt->visit, size_const(u->program->sizes, 1))))
		fail(u, "a completion that is not the next one in each round");
}

static void check_block(Uses *u, Block block)
{
	for (uint32_t i = 0; i < block.n && !u->fault.rule; i++) {
		const Stmt *stmt = block.stmts[i];
		Uses around = *u;
		check_stmt(u, stmt);
		u->group |= is_group_loop(stmt);
		if (!u->rounds && stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL)
			u->rounds = stmt;
		if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_GRID && stmt->nslots)
			u->turns = stmt;
		check_block(u, stmt->body);
		u->group = around.group;
		u->rounds = around.rounds;
	}
}

LoopsFault mbarrier_use_fault(Program *program, const Kernel *kernel, int64_t period)
{
	Uses u = {.program = program, .period = period, .fault = {.kernel = kernel}};
	check_block(&u, kernel->body);
	return u.fault;
}
