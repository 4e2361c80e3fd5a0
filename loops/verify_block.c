/* Threads of a block and their barriers.
 *
 * The walk keeps what was touched since the last barrier: by threads in loops of a block, or by all of them
 * outside. A loop is walked twice, so that its end meets its beginning; what stands in a loop or behind a
 * condition may not run, and takes no barrier's word for what is in front.
 *
 * Threads of one loop of a block are apart by loop_is_of_threads; here loops meet each other. Two loops of one
 * iteration are the first thread's, and never meet. Copies that are asynchronous are on their way until their group is
 * awaited and a barrier follows, and meet whatever touches them in rounds before. Any others do not meet where the
 * index says the round of a loop, in one round of the loops around that, and in rings, `ring[(k % 2)*n + a]` and
 * `ring[((k + 1) % 2)*n + b]`, with a and b below n, in one round of all loops around.
 */
#include "loops/verify_block.h"

#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/digits.h"
#include "loops/fragment.h"
#include "loops/linear.h"
#include "loops/walk.h"

typedef struct Touch {
	ElementAccess access;
	const Stmt *by; /* the loop of a block; NULL: all threads */
	uint32_t round;
	const Stmt *
		loop; /* the innermost of those whose rounds follow each other, in its round `turn` */
	uint32_t turn, around; /* around: the round of the loops around that */
	bool async, arrived;
	uint32_t groups; /* of copies, that ended since; its own is the first */
} Touch;

typedef VEC(Touch) TouchList;

typedef struct Meet {
	Program *program;
	const Kernel *kernel;
	Arena *arena;
	IterRange *ranges, *snapshot;
	BufferUses uses;
	TouchList touched;
	VEC(const Cond *) conds; /* that hold where the walk is */
	const Stmt *by;
	uint32_t round, rounds,
		events; /* events: barriers, and what ends or awaits groups of copies */
	const Stmt *loop;
	uint32_t turn, around;
	const Stmt *stmt, *found;
} Meet;

/* ---- two accesses ---- */

/* Two accesses to a buffer, the earlier one first. */
typedef struct Pair {
	const Touch *first, *second;
} Pair;

/* How much further the index is in the round of the second access; false: not known. */
static bool moved(const Meet *m, const Pair *pair, const Ix *ix, int64_t *by)
{
	const Touch *a = pair->first, *b = pair->second;
	*by = 0;
	if (a->round == b->round)
		return true;
	if (!a->async || a->loop != b->loop || !a->loop || a->loop->step != 1)
		return false;
	Size stride = ix_stride(m->program, ix, a->loop->iter);
	bool known = size_is_const(m->program->sizes, stride, by);
	*by *= (int64_t)b->turn - (int64_t)a->turn;
	return known;
}

/* Are they remainders of one number, of indices that differ by what is none of its multiples, each in its round? */
static bool remainders_differ(const Meet *m, const Pair *pair, const Ix *a, const Ix *b)
{
	const Sizes *sizes = m->program->sizes;
	int64_t n, offset, by;
	if (a->kind != IX_MOD || b->kind != IX_MOD || !ix_same(a->b, b->b) ||
	    a->b->kind != IX_SIZE || !size_is_const(sizes, a->b->size, &n) || n < 1)
		return false;
	const Ix *minus = ix_const(m->program, -1);
	Linear between =
		ix_linear(m->program, ix_add(m->program, b->a, ix_mul(m->program, a->a, minus)));
	return between.terms.n == 0 && size_is_const(sizes, between.offset, &offset) &&
	       moved(m, pair, b->a, &by) && (offset + by) % n != 0;
}

static bool are_in_a_ring(const Meet *m, const Pair *pair)
{
	const ElementAccess *a = &pair->first->access, *b = &pair->second->access;
	Linear first = ix_linear(m->program, a->ix), second = ix_linear(m->program, b->ix);
	for (size_t i = 0; i < first.terms.n; i++)
		for (size_t k = 0; k < second.terms.n; k++) {
			Size coef = first.terms.at[i].coef;
			if (size_same(coef, second.terms.at[k].coef) &&
			    remainders_differ(m, pair, first.terms.at[i].atom,
					      second.terms.at[k].atom) &&
			    linear_is_below(m->program->sizes, a->ranges, &first, i, coef) &&
			    linear_is_below(m->program->sizes, b->ranges, &second, k, coef))
				return true;
		}
	return false;
}

/* Are they in two rounds of one loop, and does their index say which? */
static bool index_says_round(const Meet *m, const Touch *a, const Touch *b)
{
	return a->loop && a->loop == b->loop && a->around == b->around && a->turn != b->turn &&
	       digits_are_alike(m->program, m->kernel, &a->access, &b->access) &&
	       digits_say_iter(m->program, m->kernel, &a->access, a->loop->iter);
}

/* Is it a loop of one iteration, and of one thread? */
static bool is_of_one_thread(const Meet *m, const Touch *touch)
{
	const Stmt *by = touch->by;
	int64_t n;
	return by && size_is_const(m->program->sizes, by->hi->size, &n) && n == 1 &&
	       by->body.stmts[0]->loop != LOOP_BLOCK && !block_has_warp_loops(&by->body);
}

static bool may_meet(const Meet *m, const Touch *a, const Touch *b)
{
	if (a->access.buffer != b->access.buffer || (!a->access.stores && !b->access.stores) ||
	    (a->by == b->by && a->round == b->round) ||
	    (is_of_one_thread(m, a) && is_of_one_thread(m, b)))
		return false;
	return !are_in_a_ring(m, &(Pair){a, b}) && !index_says_round(m, a, b);
}

/* ---- the walk ---- */

static void touch(Meet *m, BufferId buffer, const Ix *ix, bool stores, bool async)
{
	size_t n = m->kernel->niters + 1;
	const Buffer *of = &m->program->buffers.at[buffer];
	bool stored = false;
	if (of->swizzled || of->arrivals) /* mbarriers.h */
		return;
	for (size_t i = 0; i < m->uses.n; i++)
		stored |= m->uses.at[i].buffer == buffer && m->uses.at[i].stored;
	if (!stored)
		return;
	if (!m->snapshot) {
		m->snapshot = ARENA_ARRAY(m->arena, IterRange, n);
		for (size_t i = 0; i < n; i++)
			m->snapshot[i] = m->ranges[i];
	}
	ElementAccess access = {buffer, stores, ix, m->snapshot, NULL, (uint32_t)m->conds.n, 0};
	const Cond **conds = ARENA_ARRAY(m->arena, const Cond *, m->conds.n + 1);
	for (size_t i = 0; i < m->conds.n; i++)
		conds[i] = m->conds.at[i];
	access.conds = conds;
	Touch own = {access, m->by, m->round, m->loop, m->turn, m->around, async, false, 0};
	for (size_t i = 0; i < m->touched.n && !m->found; i++)
		if (may_meet(m, &m->touched.at[i], &own))
			m->found = m->stmt;
	PUSH(m->arena, m->touched, own);
}

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		touch(of, value->buffer, value->ix, false, false);
}

static void see_stmt(Meet *m, const Stmt *stmt)
{
	m->stmt = stmt;
	stmt_each_value(stmt, see_value, m);
	if (stmt->kind == LOOP_STORE)
		touch(m, stmt->buffer, stmt->ix, true, stmt->async);
}

static void walk_block(Meet *m, const Block *block);

/* Two rounds follow each other; copies that are awaited rounds later meet those too. */
static uint32_t turns_of(const Stmt *loop)
{
	int64_t turns = 2;
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		if (stmt->kind == LOOP_WAIT && stmt->pending + 3 > turns)
			turns = stmt->pending + 3;
	}
	return (uint32_t)turns;
}

/* Behind the last round nothing of the first one may be on its way. */
static void walk_rounds(Meet *m, const Stmt *loop)
{
	uint32_t round = m->round, around = m->around, turn = m->turn, turns = turns_of(loop);
	const Stmt *outer = m->loop;
	for (m->turn = 0; m->turn < turns; m->turn++) {
		m->loop = loop;
		m->around = round;
		m->round = ++m->rounds;
		walk_block(m, &loop->body);
	}
	for (size_t i = 0; i < m->touched.n && !m->found; i++) {
		const Touch *left = &m->touched.at[i];
		if (left->async && left->loop == loop && left->turn == 0)
			m->found = loop;
	}
	m->round = round;
	m->around = around;
	m->turn = turn;
	m->loop = outer;
}

/* Copies that have not come are so behind a barrier, too. */
static void walk_barrier(Meet *m)
{
	size_t left = 0;
	for (size_t i = 0; i < m->touched.n; i++)
		if (m->touched.at[i].async && !m->touched.at[i].arrived)
			m->touched.at[left++] = m->touched.at[i];
	m->touched.n = left;
	m->events++;
}

static void walk_groups(Meet *m, const Stmt *stmt)
{
	for (size_t i = 0; i < m->touched.n; i++) {
		Touch *touched = &m->touched.at[i];
		touched->groups += stmt->kind == LOOP_COMMIT;
		touched->arrived |= stmt->kind == LOOP_WAIT && touched->groups > stmt->pending;
	}
	m->events++;
}

/* Is the body run, and once: of an iteration of the grid, or of a cluster? */
static bool is_run_once(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && (stmt->loop == LOOP_GRID || stmt->loop == LOOP_CLUSTER);
}

static void walk_for(Meet *m, const Stmt *stmt)
{
	bool threads = stmt->loop == LOOP_BLOCK && !m->by, once = is_run_once(stmt);
	m->ranges[stmt->iter] = iter_range(m->program, stmt);
	m->ranges[stmt->iter].open = !once;
	m->snapshot = NULL;
	m->by = threads ? stmt : m->by;
	if (m->by || once)
		walk_block(m, &stmt->body);
	else
		walk_rounds(m, stmt);
	m->by = threads ? NULL : m->by;
	m->snapshot = NULL;
}

/* What was touched in front is so too behind what may not have run. */
static void walk_stmt(Meet *m, const Stmt *stmt)
{
	TouchList before = {0};
	uint32_t events = m->events;
	see_stmt(m, stmt);
	if (stmt->kind == LOOP_BARRIER)
		walk_barrier(m);
	if (stmt->kind == LOOP_COMMIT || stmt->kind == LOOP_WAIT)
		walk_groups(m, stmt);
	bool may = stmt->body.n > 0 && !m->by && stmt->loop != LOOP_BLOCK && !is_run_once(stmt);
	for (size_t i = 0; may && i < m->touched.n; i++)
		PUSH(m->arena, before, m->touched.at[i]);
	size_t outside = m->conds.n;
	for (uint32_t i = 0; i < stmt->nconds; i++)
		PUSH(m->arena, m->conds, &stmt->conds[i]);
	if (stmt->kind == LOOP_FOR)
		walk_for(m, stmt);
	else
		walk_block(m, &stmt->body);
	m->conds.n = outside;
	for (size_t i = 0; m->events != events && i < before.n; i++)
		PUSH(m->arena, m->touched, before.at[i]);
}

static void walk_block(Meet *m, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !m->found; i++)
		walk_stmt(m, block->stmts[i]);
}

const Stmt *block_meeting(Program *program, const Kernel *kernel)
{
	Meet m = {.program = program, .kernel = kernel, .arena = arena_new()};
	m.ranges = ARENA_ARRAY(m.arena, IterRange, kernel->niters + 1);
	m.uses = kernel_buffers(m.arena, kernel);
	walk_block(&m, &kernel->body);
	arena_free(m.arena);
	return m.found;
}
