/* Copies of boxes, products of warpgroups and mbarriers: that no place in shared memory is stored to while it is read or
 * stored to by others, that nothing is read before it is there, and that no thread waits for ever.
 *
 * The loop over rounds is walked as it would run, statement after statement, for each number of rounds up to twice the
 * ring and two more: places depend on a round by its remainder in a ring alone, completions by its number
 * (verify_mbarriers_use.c), so that later rounds relate to each other as these do. Where blocks take turns, rounds are
 * counted through all turns, and so many turns are walked that their rounds fill the ring twice, too. What the walk comes
 * to is recorded as events, with what each role knows of them, and that log says what is wrong (mbarrier_log.h). What a
 * wait waits for stands in front of it in the text: some thread can always go on, the one that is first in the text.
 */
#include "loops/group.h"
#include "loops/mbarrier_log.h"
#include "loops/mbarriers.h"
#include "loops/walk.h"

/* RING_MOST, STEPS_MOST: limits, far above what products need. */
enum { RING_MOST = 32, STEPS_MOST = 1 << 18, ROUNDS_MORE = 2 };

/* What a loop of a warpgroup is, in every round the same. */
typedef struct KnownNest {
	const Stmt *loop, *row;
	GroupNest nest;
} KnownNest;

typedef struct Walk {
	MbarrierLog log; /* of the walk for one number of rounds */
	Program *program;
	const Kernel *kernel;
	Arena *scratch; /* of all walks */
	Interval *iters;
	VEC(KnownNest) nests;
	int role;	    /* of the loop of a block around; NOBODY */
	int64_t iterations; /* of the loops of a block around */
	const Stmt *row;    /* the outermost of them */
	int64_t rounds;	    /* that the loop over them makes */
	int64_t turns, turn; /* of the block: how many there are, 1 without any; at hand */
	bool takes_turns;
	bool in_rounds;
	uint32_t conds;
	int64_t steps; /* statements so far, of all walks */
} Walk;

static void fail(Walk *w, const Stmt *at, const char *rule) { fault_note(&w->log.fault, at, rule); }

static const Buffer *buffer_of(const Walk *w, BufferId id) { return &w->program->buffers.at[id]; }

static int64_t constant(const Walk *w, Size size)
{
	int64_t n;
	return size_is_const(w->program->sizes, size, &n) ? n : 0;
}

/* ---- what stands where ---- */

static bool is_of_rounds(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_COPY || stmt->kind == LOOP_ARRIVE || stmt->kind == LOOP_AWAIT ||
	       (stmt->kind == LOOP_WAIT && stmt->products) || is_group_loop(stmt);
}

static bool is_group(const void *of, const Stmt *stmt)
{
	(void)of;
	return is_group_loop(stmt);
}

static bool is_turn(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_GRID && stmt->nslots > 0;
}

static bool has_rounds(Block block) { return block_find(block, is_of_rounds, NULL); }

static bool has_groups(Block block) { return block_find(block, is_group, NULL); }

/* ---- copies and completions ---- */

/* Which one it is; false, with a fault: that is not one number, or a condition is around. */
static bool visit_of(Walk *w, const Stmt *stmt, int64_t *visit)
{
	Interval at;
	bool known = ix_interval(w->program, stmt->visit, w->iters, &at) && at.lo == at.hi;
	if (w->role == NOBODY || w->conds || !w->in_rounds)
		fail(w, stmt, "an mbarrier that not all threads of a loop come to, in each round");
	else if (!known || at.lo > EVENTS_MOST || !buffer_of(w, stmt->mbarrier)->arrivals)
		fail(w, stmt, "a completion without a number, or of no mbarrier");
	*visit = at.lo;
	return !w->log.fault.rule;
}

/* Are these elements, whose first one is at one place, in the swizzled buffer, from a whole swizzle on? */
static bool fits(const Walk *w, const Stmt *copy, Interval first, int64_t elements)
{
	const Buffer *to = buffer_of(w, copy->buffer);
	return first.lo == first.hi && first.lo >= 0 &&
	       first.lo + elements <= constant(w, to->elements) &&
	       first.lo % group_swizzle(to->dtype) == 0 && to->swizzled;
}

static void walk_copy(Walk *w, const Stmt *stmt)
{
	int64_t visit, elements = box_elements(stmt);
	Interval at;
	if (!visit_of(w, stmt, &visit))
		return;
	if (!ix_interval(w->program, stmt->ix, w->iters, &at) || !fits(w, stmt, at, elements))
		fail(w, stmt, "a box that is not copied to a place in a swizzled buffer");
	if (w->iterations != 1)
		fail(w, stmt, "a box that several threads copy");
	at.hi = at.lo + elements - 1;
	if (!w->log.fault.rule)
		mbarrier_copy(&w->log, w->role, stmt, visit, at);
}

/* Nothing is below completion 0. */
static void walk_completion(Walk *w, const Stmt *stmt)
{
	int64_t visit;
	if (!visit_of(w, stmt, &visit) || visit < 0)
		return;
	if (stmt->kind == LOOP_ARRIVE)
		mbarrier_arrive(&w->log, w->role, stmt, visit, w->iterations);
	else
		mbarrier_await(&w->log, w->role, stmt, visit);
}

/* ---- products ---- */

/* The iterators of the loops that hold each other from one on are 0. */
static void set_zero(Walk *w, const Stmt *loop)
{
	for (const Stmt *s = loop; s && s->kind == LOOP_FOR; s = block_only(s->body))
		w->iters[s->iter] = (Interval){0, 0};
}

static const char *find_nest(Walk *w, const Stmt *loop, GroupNest *nest)
{
	for (size_t i = 0; i < w->nests.n; i++)
		if (w->nests.at[i].loop == loop && w->nests.at[i].row == w->row) {
			*nest = w->nests.at[i].nest;
			return NULL;
		}
	const char *rule = group_nest(w->program, w->kernel, w->row, loop, nest);
	if (!rule)
		PUSH(w->scratch, w->nests, ((KnownNest){loop, w->row, *nest}));
	return rule;
}

/* So many elements of an operand, as group_nest has shown, from where all loops are 0 on. */
static void read_operand(Walk *w, const Stmt *stmt, const Value *operand, int64_t elements)
{
	const Value *load = group_load(operand);
	Interval at;
	if (!ix_interval(w->program, load->ix, w->iters, &at))
		fail(w, stmt, "a product at places that are not known");
	at.hi = at.lo + elements - 1;
	if (!w->log.fault.rule)
		mbarrier_read(&w->log, w->role, stmt, load->buffer, at);
}

static void walk_group(Walk *w, const Stmt *stmt)
{
	GroupNest nest;
	const char *rule = w->row ? find_nest(w, stmt, &nest)
				  : "a loop of a warpgroup outside of the threads of a block";
	if (w->conds && !rule)
		rule = "a product that not all threads of a warpgroup come to";
	if (rule) {
		fail(w, stmt, rule);
		return;
	}
	int64_t rows = (w->iters[w->row->iter].hi + 1) * matrix_row(nest.nest.op)->m;
	int64_t k = matrix_row(nest.nest.op)->k * nest.steps;
	set_zero(w, w->row);
	set_zero(w, stmt);
	read_operand(w, stmt, nest.nest.set->value->args[0], rows * k);
	read_operand(w, stmt, nest.nest.set->value->args[1], nest.columns * k);
	mbarrier_commit(&w->log, w->role);
}

static void walk_wait(Walk *w, const Stmt *stmt)
{
	if (!stmt->products)
		return;
	if (w->role == NOBODY || w->conds)
		fail(w, stmt, "a wait for products that not all threads of a warpgroup come to");
	else
		mbarrier_wait(&w->log, w->role, stmt->pending);
}

/* ---- loops ---- */

static void walk_block(Walk *w, const Block *block);

static void set_range(Walk *w, const Stmt *loop)
{
	Interval lo, hi;
	bool known = ix_interval(w->program, loop->lo, w->iters, &lo) &&
		     ix_interval(w->program, loop->hi, w->iters, &hi);
	w->iters[loop->iter] = known ? (Interval){lo.lo, hi.hi - 1} : (Interval){0, INT32_MAX};
}

/* The innermost of the loops of a block that hold each other from this one on; `n`: iterations of all of them. */
static const Stmt *innermost(Walk *w, const Stmt *loop, int64_t *n)
{
	*n = 1;
	for (;; loop = loop->body.stmts[0]) {
		set_range(w, loop);
		*n *= w->iters[loop->iter].hi + 1;
		if (loop->body.n != 1 || loop->body.stmts[0]->kind != LOOP_FOR ||
		    loop->body.stmts[0]->loop != LOOP_BLOCK)
			return loop;
	}
}

static const char not_done[] = "sums of products that may not be done";

static void walk_threads(Walk *w, const Stmt *loop)
{
	int64_t n;
	const Stmt *inner = innermost(w, loop, &n);
	bool elements = block_has_warp_loops(&inner->body) && !has_groups(inner->body);
	for (int i = 0; i < w->log.nroles && elements; i++)
		if (w->log.roles[i].first == loop->threads && mbarrier_has_pending(&w->log, i))
			fail(w, loop, not_done);
	if ((!has_rounds(inner->body) && !w->takes_turns) || w->log.fault.rule)
		return;
	w->role = mbarrier_role(&w->log, loop, block_is_of_warps(&inner->body) ? n * WARP : n);
	w->iterations = n;
	w->row = loop;
	if (w->role != NOBODY)
		walk_block(w, &inner->body);
	w->role = NOBODY;
	w->row = NULL;
}

/* From a round on once for each, or for each place of a loop that is written out. */
static void walk_times(Walk *w, const Stmt *loop, int64_t from, int64_t times)
{
	for (int64_t i = from; i < from + times && !w->log.fault.rule; i++) {
		w->iters[loop->iter] = (Interval){i, i};
		walk_block(w, &loop->body);
	}
}

static void walk_rounds(Walk *w, const Stmt *loop)
{
	bool counts = loop->lo->kind == IX_SIZE && size_is(w->program->sizes, loop->lo->size, 0) &&
		      loop->step == 1 && loop->loop == LOOP_SERIAL;
	if (!counts || w->in_rounds || w->conds) {
		fail(w, loop, "rounds that do not count from 0 by one");
		return;
	}
	w->in_rounds = true;
	walk_times(w, loop, w->turn * w->rounds, w->rounds);
	w->in_rounds = false;
}

static void walk_unrolled(Walk *w, const Stmt *loop)
{
	if (loop->loop != LOOP_UNROLL || has_groups(loop->body))
		fail(w, loop, "copies in a loop that is not written out");
	walk_times(w, loop, 0, loop->hi->kind == IX_SIZE ? constant(w, loop->hi->size) : 0);
}

/* The iterator of turns stays 0: rounds are counted through all of them. */
static void walk_grid(Walk *w, const Stmt *loop)
{
	w->takes_turns = loop->nslots > 0;
	int64_t turns = w->takes_turns ? w->turns : 1;
	for (w->turn = 0; w->turn < turns && !w->log.fault.rule; w->turn++)
		walk_block(w, &loop->body);
}

static void walk_for(Walk *w, const Stmt *loop)
{
	bool elements = is_warp_loop(loop) || block_has_warp_loops(&loop->body);
	if (w->role != NOBODY && elements && !has_groups((Block){&loop, 1}) &&
	    mbarrier_has_pending(&w->log, w->role))
		fail(w, loop, not_done);
	if (is_group_loop(loop))
		walk_group(w, loop);
	else if (loop->loop == LOOP_BLOCK && w->role == NOBODY)
		walk_threads(w, loop);
	else if (loop->loop == LOOP_GRID)
		walk_grid(w, loop);
	else if (!has_rounds(loop->body))
		return;
	else if (w->role == NOBODY)
		walk_rounds(w, loop);
	else
		walk_unrolled(w, loop);
}

/* What products add to, which may not be done, begins anew. */
static void walk_local(Walk *w, const Stmt *stmt)
{
	for (int i = 0; i < w->log.nroles; i++)
		if (w->kernel->locals[stmt->local].role == ROLE_ACCUMULATOR &&
		    mbarrier_has_pending(&w->log, i))
			fail(w, stmt, not_done);
}

static void walk_barrier(Walk *w, const Stmt *stmt)
{
	if (w->takes_turns)
		fail(w, stmt, "a barrier of a block that takes turns");
	else
		mbarrier_barrier(&w->log);
}

static void walk_if(Walk *w, const Stmt *stmt)
{
	w->conds++;
	walk_block(w, &stmt->body);
	w->conds--;
}

static void walk_stmt(Walk *w, const Stmt *stmt)
{
	if (++w->steps > STEPS_MOST)
		fail(w, stmt, "more rounds and statements than are looked at");
	switch (stmt->kind) {
	case LOOP_FOR: walk_for(w, stmt); break;
	case LOOP_IF: walk_if(w, stmt); break;
	case LOOP_COPY: walk_copy(w, stmt); break;
	case LOOP_ARRIVE:
	case LOOP_AWAIT: walk_completion(w, stmt); break;
	case LOOP_WAIT: walk_wait(w, stmt); break;
	case LOOP_LOCAL: walk_local(w, stmt); break;
	case LOOP_BARRIER: walk_barrier(w, stmt); break;
	default: break;
	}
}

static void walk_block(Walk *w, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !w->log.fault.rule; i++)
		walk_stmt(w, block->stmts[i]);
}

/* ---- kernels ---- */

/* The longest ring; with a fault: it is too long. */
static int64_t ring_most(Walk *w, const BufferUses *uses)
{
	int64_t most = 0;
	for (size_t i = 0; i < uses->n; i++) {
		BufferId id = uses->at[i].buffer;
		int64_t ring = buffer_of(w, id)->arrivals ? mbarrier_ring(&w->log, id) : 0;
		most = ring > most ? ring : most;
	}
	if (most > RING_MOST)
		fail(w, w->kernel->body.stmts[0], "a ring of more mbarriers than are looked at");
	return most;
}

/* With as many turns as fill the ring twice, two at least: what follows the last round of one and what comes before
 * the first one of the next. */
static void walk_kernel(Walk *w, int64_t rounds, int64_t most)
{
	mbarrier_log_clear(&w->log);
	w->rounds = rounds;
	w->turns = 2 + most / (rounds ? rounds : 1);
	w->iters = ARENA_ARRAY(w->log.arena, Interval, w->kernel->niters + 1);
	walk_block(w, &w->kernel->body);
	mbarrier_end(&w->log, w->kernel->body.stmts[0]);
}

LoopsFault mbarrier_fault(Program *program, const Kernel *kernel)
{
	Walk w = {.log = {.program = program, .arena = arena_new(), .fault = {.kernel = kernel}},
		  .program = program,
		  .kernel = kernel,
		  .scratch = arena_new(),
		  .role = NOBODY};
	BufferUses uses = kernel_buffers(w.scratch, kernel);
	int64_t ring = ring_most(&w, &uses), most = 2 * ring + ROUNDS_MORE;
	LoopsFault use = mbarrier_use_fault(program, kernel, ring);
	if (use.rule)
		fail(&w, use.stmt, use.rule);
	bool any = has_rounds(kernel->body) || block_find(kernel->body, is_turn, NULL);
	for (int64_t n = 0; any && n <= most && !w.log.fault.rule; n++)
		walk_kernel(&w, n, most);
	arena_free(w.scratch);
	arena_free(w.log.arena);
	return w.log.fault;
}
