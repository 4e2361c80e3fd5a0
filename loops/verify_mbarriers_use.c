/* What threads kept from each other by mbarriers touch, statement by statement: the buffers that are theirs nothing else
 * touches, and places depend on a round by its remainder in a ring alone, completions by its number. So rounds that
 * follow relate to each other as those of twice a ring do, which verify_mbarriers.c walks. */
#include "base/size_order.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/mbarriers.h"
#include "loops/walk.h"

typedef struct Uses {
	Program *program;
	int64_t period;
	const Stmt *rounds; /* the loop over them; NULL: outside */
	bool group;	    /* in a loop of a warpgroup */
	const Stmt *stmt;   /* at hand */
	const Stmt *at;
	const char *rule;
} Uses;

static void fail(Uses *u, const char *rule)
{
	if (u->rule)
		return;
	u->at = u->stmt;
	u->rule = rule;
}

static bool is_theirs(const Uses *u, BufferId id)
{
	const Buffer *buffer = &u->program->buffers.at[id];
	return buffer->swizzled || buffer->arrivals;
}

/* ---- rounds ---- */

static bool moves_steadily(const Uses *u, const Ix *ix)
{
	int64_t by;
	Size stride = ix_stride(u->program, ix, u->rounds->iter);
	return !size_is_bad(stride) && size_is_const(u->program->sizes, stride, &by);
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
	if (!u->rounds || !ix_uses(ix, u->rounds->iter) || is_remainder(u, ix))
		return true;
	return ix->kind != IX_ITER && ix->kind != IX_VALUE && is_periodic(u, ix->a) &&
	       is_periodic(u, ix->b);
}

static void check_place(Uses *u, const Ix *ix)
{
	if (!is_periodic(u, ix))
		fail(u, "a place that is not the same again after each ring of rounds");
}

/* ---- statements ---- */

static void see_load(void *of, const Value *value)
{
	Uses *u = of;
	if (value->kind != VALUE_LOAD || !is_theirs(u, value->buffer))
		return;
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
		value_each(stmt->value, see_load, u);
	if (stmt->visit && u->rounds && !ix_moves_by(u->program, stmt->visit, u->rounds->iter, 1))
		fail(u, "a completion that is not the next one in each round");
}

static void check_block(Uses *u, Block block)
{
	for (uint32_t i = 0; i < block.n && !u->rule; i++) {
		const Stmt *stmt = block.stmts[i];
		Uses around = *u;
		check_stmt(u, stmt);
		u->group |= is_group_loop(stmt);
		if (!u->rounds && stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL)
			u->rounds = stmt;
		check_block(u, stmt->body);
		u->group = around.group;
		u->rounds = around.rounds;
	}
}

const Stmt *mbarrier_use_fault(Program *program, const Kernel *kernel, int64_t period,
			       const char **rule)
{
	Uses u = {.program = program, .period = period};
	check_block(&u, kernel->body);
	*rule = u.rule;
	return u.at;
}
