/* Copies of boxes, products of warpgroups and mbarriers: that no place in shared memory is stored to while it is read or
 * stored to by others, that nothing is read before it is there, and that no thread waits for ever.
 *
 * The loop over rounds is walked as it would run, statement after statement, for each number of rounds up to twice the
 * ring and two more: places depend on a round by its remainder in a ring alone, completions by its number
 * (verify_mbarriers_use.c), so that later rounds relate to each other as these do. The walk keeps events (copies, products, waits) and, for the threads of each loop
 * of a block, which events these know to be over: their own, those of copies whose completion they have awaited, and
 * what those knew who arrived there. Two events that meet in a place have to be in an order that the second one's
 * threads know. What a wait waits for stands in front of it in the text: some thread can always go on, the one that is
 * first in the text. An mbarrier tells even from odd completions only, so that none may follow the next but one before
 * all who wait have seen it.
 */
#include "loops/mbarriers.h"

#include <string.h>

#include "loops/group.h"
#include "loops/interval.h"
#include "loops/walk.h"

/* Limits of the walk, far above what products need. */
enum {
	RING_MOST = 32,
	EVENTS_MOST = 4096,
	COMPLETIONS_MOST = 1024,
	ROLES_MOST = 8,
	STEPS_MOST = 1 << 18,
	NOBODY = -1,
	ROUNDS_MORE = 2
};

typedef enum EventKind { EVENT_COPY, EVENT_READ, EVENT_WAIT } EventKind;

typedef struct Event {
	EventKind kind;
	BufferId buffer; /* COPY, READ: at these elements */
	Interval at;
	int role;
	bool pending; /* READ: its product may still run */
	int64_t group;
	BufferId mbarrier; /* COPY, WAIT */
	int64_t visit;
} Event;

/* Of one mbarrier. */
typedef struct Completion {
	BufferId mbarrier;
	int64_t visit, arrived, expected, bytes;
	bool *known; /* by event, to those who have arrived */
} Completion;

/* Threads of a block that run the same loops. */
typedef struct Role {
	int64_t first, threads, groups; /* groups: of products */
	bool *known;			/* by event */
} Role;

/* What a loop of a warpgroup is, in every round the same. */
typedef struct KnownNest {
	const Stmt *loop, *row;
	GroupNest nest;
} KnownNest;

typedef struct Rounds {
	Program *program;
	const Kernel *kernel;
	Arena *arena;	/* of the walk for one number of rounds */
	Arena *scratch; /* of all of them */
	Interval *iters;
	VEC(Event) events;
	VEC(Completion) completions;
	VEC(KnownNest) nests;
	Role roles[ROLES_MOST];
	int nroles;
	int role;	    /* of the loop of a block around; NOBODY */
	int64_t iterations; /* of the loops of a block around */
	const Stmt *row;    /* the outermost of them */
	int64_t rounds;	    /* that the loop over them makes */
	bool in_rounds;
	uint32_t conds;
	int64_t steps; /* statements so far, for all numbers of rounds */
	const Stmt *at;
	const char *rule;
} Rounds;

static void fail(Rounds *r, const Stmt *at, const char *rule)
{
	if (r->rule)
		return;
	r->at = at;
	r->rule = rule;
}

static const Buffer *buffer_of(const Rounds *r, BufferId id) { return &r->program->buffers.at[id]; }

static int64_t constant(const Rounds *r, Size size)
{
	int64_t n;
	return size_is_const(r->program->sizes, size, &n) ? n : 0;
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

static bool has_rounds(Block block) { return block_find(block, is_of_rounds, NULL); }

static bool has_groups(Block block) { return block_find(block, is_group, NULL); }

/* ---- events ---- */

static bool add_event(Rounds *r, const Stmt *stmt, Event event)
{
	const bool *known = r->roles[r->role].known;
	for (size_t i = 0; i < r->events.n; i++) {
		const Event *other = &r->events.at[i];
		bool meet = event.kind != EVENT_WAIT && other->kind != EVENT_WAIT &&
			    other->buffer == event.buffer && other->at.lo <= event.at.hi &&
			    event.at.lo <= other->at.hi &&
			    (event.kind == EVENT_COPY || other->kind == EVENT_COPY);
		if (meet && !known[i])
			fail(r, stmt,
			     event.kind == EVENT_READ
				     ? "a product of what may not have been copied"
				     : "a copy to what may still be read or copied to");
	}
	if (r->events.n == EVENTS_MOST)
		fail(r, stmt, "more copies and products than are looked at");
	event.role = r->role;
	if (!r->rule)
		PUSH(r->arena, r->events, event);
	return !r->rule;
}

static bool *new_known(const Rounds *r) { return ARENA_ARRAY(r->arena, bool, EVENTS_MOST); }

static void join(const Rounds *r, bool *to, const bool *from)
{
	for (size_t i = 0; i < r->events.n; i++)
		to[i] |= from[i];
}

/* NULL: there is none yet. */
static Completion *find_completion(const Rounds *r, BufferId mbarrier, int64_t visit)
{
	for (size_t i = 0; i < r->completions.n; i++)
		if (r->completions.at[i].mbarrier == mbarrier &&
		    r->completions.at[i].visit == visit)
			return &r->completions.at[i];
	return NULL;
}

/* Made where there is none yet; NULL, with a fault: there are too many. */
static Completion *completion_of(Rounds *r, const Stmt *stmt, int64_t visit)
{
	Completion *found = find_completion(r, stmt->mbarrier, visit);
	if (found)
		return found;
	if (r->completions.n == COMPLETIONS_MOST) {
		fail(r, stmt, "more completions than are looked at");
		return NULL;
	}
	PUSH(r->arena, r->completions,
	     ((Completion){.mbarrier = stmt->mbarrier, .visit = visit, .known = new_known(r)}));
	return &r->completions.at[r->completions.n - 1];
}

static bool is_complete(const Rounds *r, const Completion *c)
{
	return c->arrived == buffer_of(r, c->mbarrier)->arrivals && c->bytes == c->expected;
}

/* Which one it is; false, with a fault: that is not one number, or a condition is around. */
static bool visit_of(Rounds *r, const Stmt *stmt, int64_t *visit)
{
	Interval at;
	bool known = ix_interval(r->program, stmt->visit, r->iters, &at) && at.lo == at.hi;
	if (r->role == NOBODY || r->conds || !r->in_rounds)
		fail(r, stmt, "an mbarrier that not all threads of a loop come to, in each round");
	else if (!known || at.lo > EVENTS_MOST || !buffer_of(r, stmt->mbarrier)->arrivals)
		fail(r, stmt, "a completion without a number, or of no mbarrier");
	*visit = at.lo;
	return !r->rule;
}

/* Elements of the mbarrier: completions that are told from each other. */
static int64_t ring_of(const Rounds *r, BufferId mbarrier)
{
	return constant(r, buffer_of(r, mbarrier)->elements);
}

/* ---- statements ---- */

static int64_t box_of(const Stmt *stmt)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < stmt->naxes; i++)
		n *= stmt->axes[i].box;
	return n;
}

static void walk_copy(Rounds *r, const Stmt *stmt)
{
	int64_t visit, elements = box_of(stmt);
	const Buffer *to = buffer_of(r, stmt->buffer);
	Event event = {.kind = EVENT_COPY, .buffer = stmt->buffer, .mbarrier = stmt->mbarrier};
	if (!visit_of(r, stmt, &visit))
		return;
	if (!ix_interval(r->program, stmt->ix, r->iters, &event.at) || event.at.lo != event.at.hi ||
	    event.at.lo < 0 || event.at.lo + elements > constant(r, to->elements) ||
	    event.at.lo % SWIZZLED_ELEMENTS != 0 || !to->swizzled)
		fail(r, stmt, "a box that is not copied to a place in a swizzled buffer");
	if (r->iterations != 1)
		fail(r, stmt, "a box that several threads copy");
	event.at.hi = event.at.lo + elements - 1;
	event.visit = visit;
	if (r->rule || !add_event(r, stmt, event))
		return;
	Completion *c = completion_of(r, stmt, visit);
	if (c)
		c->bytes += elements * (int64_t)dtype_bytes(to->dtype);
}

static void walk_arrive(Rounds *r, const Stmt *stmt)
{
	int64_t visit, ring = ring_of(r, stmt->mbarrier);
	if (!visit_of(r, stmt, &visit) || visit < 0)
		return;
	for (size_t i = 0; i < r->events.n; i++) {
		const Event *e = &r->events.at[i];
		if (e->kind == EVENT_WAIT && e->mbarrier == stmt->mbarrier &&
		    e->visit == visit - ring && !r->roles[r->role].known[i])
			fail(r, stmt,
			     "an arrival before all have seen the completion a ring before");
	}
	const Completion *before = find_completion(r, stmt->mbarrier, visit - ring);
	if (visit >= ring && (!before || !is_complete(r, before)))
		fail(r, stmt, "an arrival at an mbarrier before the completion a ring before");
	Completion *c = completion_of(r, stmt, visit);
	if (!c)
		return;
	c->arrived += r->iterations;
	c->expected += stmt->bytes * r->iterations;
	join(r, c->known, r->roles[r->role].known);
	if (c->arrived > buffer_of(r, stmt->mbarrier)->arrivals)
		fail(r, stmt, "more arrivals than an mbarrier awaits");
}

static void walk_await(Rounds *r, const Stmt *stmt)
{
	int64_t visit;
	if (!visit_of(r, stmt, &visit) || visit < 0)
		return;
	const Completion *c = find_completion(r, stmt->mbarrier, visit);
	const Completion *next =
		find_completion(r, stmt->mbarrier, visit + ring_of(r, stmt->mbarrier));
	if (!c || !is_complete(r, c))
		fail(r, stmt, "a wait for what does not come before it");
	if (next && next->arrived)
		fail(r, stmt, "a wait for a completion that the next one may have followed");
	if (r->rule ||
	    !add_event(r, stmt,
		       (Event){.kind = EVENT_WAIT, .mbarrier = stmt->mbarrier, .visit = visit}))
		return;
	bool *known = r->roles[r->role].known;
	join(r, known, c->known);
	for (size_t i = 0; i < r->events.n; i++) {
		const Event *e = &r->events.at[i];
		known[i] |= e->kind != EVENT_READ && e->mbarrier == stmt->mbarrier &&
			    e->visit == visit && (e->kind == EVENT_COPY || i + 1 == r->events.n);
	}
}

static void set_range(Rounds *r, const Stmt *loop)
{
	Interval lo, hi;
	bool known = ix_interval(r->program, loop->lo, r->iters, &lo) &&
		     ix_interval(r->program, loop->hi, r->iters, &hi);
	r->iters[loop->iter] = known ? (Interval){lo.lo, hi.hi - 1} : (Interval){0, INT32_MAX};
}

/* The iterators of the loops that hold each other from one on are 0. */
static void set_zero(Rounds *r, const Stmt *loop)
{
	for (const Stmt *s = loop; s && s->kind == LOOP_FOR;
	     s = s->body.n == 1 ? s->body.stmts[0] : NULL)
		r->iters[s->iter] = (Interval){0, 0};
}

static const char *find_nest(Rounds *r, const Stmt *loop, GroupNest *nest)
{
	for (size_t i = 0; i < r->nests.n; i++)
		if (r->nests.at[i].loop == loop && r->nests.at[i].row == r->row) {
			*nest = r->nests.at[i].nest;
			return NULL;
		}
	const char *rule = group_nest(r->program, r->kernel, r->row, loop, nest);
	if (!rule)
		PUSH(r->scratch, r->nests, ((KnownNest){loop, r->row, *nest}));
	return rule;
}

static void walk_group(Rounds *r, const Stmt *stmt)
{
	GroupNest nest;
	const char *rule = r->row ? find_nest(r, stmt, &nest)
				  : "a loop of a warpgroup outside of the threads of a block";
	if (r->conds && !rule)
		rule = "a product that not all threads of a warpgroup come to";
	if (rule) {
		fail(r, stmt, rule);
		return;
	}
	Role *role = &r->roles[r->role];
	int64_t rows = r->iters[r->row->iter].hi + 1, k = matrix_row(nest.nest.op)->k * nest.steps;
	const int64_t elements[] = {rows * matrix_row(nest.nest.op)->m * k, nest.columns * k};
	set_zero(r, r->row);
	set_zero(r, stmt);
	for (int i = 0; i < 2; i++) {
		const Value *load = nest.nest.set->value->args[i]->args[0];
		Event event = {.kind = EVENT_READ,
			       .buffer = load->buffer,
			       .pending = true,
			       .group = role->groups};
		if (!ix_interval(r->program, load->ix, r->iters, &event.at))
			fail(r, stmt, "a product at places that are not known");
		event.at.hi = event.at.lo + elements[i] - 1; /* as group_nest has shown */
		if (r->rule || !add_event(r, stmt, event))
			return;
	}
	role->groups++;
}

static void walk_wait(Rounds *r, const Stmt *stmt)
{
	if (r->role == NOBODY || r->conds) {
		fail(r, stmt, "a wait for products that not all threads of a warpgroup come to");
		return;
	}
	Role *role = &r->roles[r->role];
	for (size_t i = 0; i < r->events.n; i++) {
		Event *e = &r->events.at[i];
		if (e->kind != EVENT_READ || e->role != r->role ||
		    e->group >= role->groups - stmt->pending)
			continue;
		e->pending = false;
		role->known[i] = true;
	}
}

static bool has_pending(const Rounds *r, int role)
{
	bool any = false;
	for (size_t i = 0; i < r->events.n; i++)
		any |= r->events.at[i].pending && r->events.at[i].role == role;
	return any;
}

static void walk_barrier(Rounds *r)
{
	bool *all = new_known(r);
	for (int i = 0; i < r->nroles; i++)
		join(r, all, r->roles[i].known);
	for (int i = 0; i < r->nroles; i++)
		join(r, r->roles[i].known, all);
}

/* ---- loops ---- */

static void walk_block(Rounds *r, const Block *block);

/* The role of the threads from the first one on; a new one where there is none. */
static int role_of(Rounds *r, const Stmt *loop, int64_t threads)
{
	for (int i = 0; i < r->nroles; i++) {
		const Role *role = &r->roles[i];
		if (role->first == loop->threads && role->threads == threads)
			return i;
		if (loop->threads < role->first + role->threads &&
		    role->first < loop->threads + threads)
			fail(r, loop, "loops of a block that share some of their threads");
	}
	if (r->nroles == ROLES_MOST)
		fail(r, loop, "more loops of a block of different threads than are looked at");
	if (r->rule)
		return NOBODY;
	r->roles[r->nroles] = (Role){loop->threads, threads, 0, new_known(r)};
	return r->nroles++;
}

static void walk_threads(Rounds *r, const Stmt *loop)
{
	const Stmt *inner = loop;
	int64_t n = 1;
	for (;; inner = inner->body.stmts[0]) {
		set_range(r, inner);
		n *= r->iters[inner->iter].hi + 1;
		if (inner->body.n != 1 || inner->body.stmts[0]->kind != LOOP_FOR ||
		    inner->body.stmts[0]->loop != LOOP_BLOCK)
			break;
	}
	bool rounds = has_rounds(inner->body), warps = block_has_warp_loops(&inner->body);
	for (int i = 0; i < r->nroles && warps && !has_groups(inner->body); i++)
		if (r->roles[i].first == loop->threads && has_pending(r, i))
			fail(r, loop, "sums of products that may not be done");
	if (!rounds || r->rule)
		return;
	r->role = role_of(r, loop, block_is_of_warps(&inner->body) ? n * WARP : n);
	r->iterations = n;
	r->row = loop;
	if (r->role != NOBODY)
		walk_block(r, &inner->body);
	r->role = NOBODY;
	r->row = NULL;
}

/* Once for each round, or for each place of a loop that is written out. */
static void walk_times(Rounds *r, const Stmt *loop, int64_t times)
{
	for (int64_t i = 0; i < times && !r->rule; i++) {
		r->iters[loop->iter] = (Interval){i, i};
		walk_block(r, &loop->body);
	}
}

static void walk_rounds(Rounds *r, const Stmt *loop)
{
	bool counts = loop->lo->kind == IX_SIZE && size_is(r->program->sizes, loop->lo->size, 0) &&
		      loop->step == 1 && loop->loop == LOOP_SERIAL;
	if (!counts || r->in_rounds || r->conds) {
		fail(r, loop, "rounds that do not count from 0 by one");
		return;
	}
	r->in_rounds = true;
	walk_times(r, loop, r->rounds);
	r->in_rounds = false;
}

static void walk_for(Rounds *r, const Stmt *loop)
{
	bool elements = is_warp_loop(loop) || block_has_warp_loops(&loop->body);
	if (r->role != NOBODY && elements && !has_groups((Block){&loop, 1}) &&
	    has_pending(r, r->role))
		fail(r, loop, "sums of products that may not be done");
	if (is_group_loop(loop)) {
		walk_group(r, loop);
	} else if (loop->loop == LOOP_BLOCK && r->role == NOBODY) {
		walk_threads(r, loop);
	} else if (!has_rounds(loop->body)) {
		return;
	} else if (loop->loop == LOOP_GRID) {
		walk_block(r, &loop->body);
	} else if (r->role == NOBODY) {
		walk_rounds(r, loop);
	} else {
		int64_t n = loop->hi->kind == IX_SIZE ? constant(r, loop->hi->size) : 0;
		if (loop->loop != LOOP_UNROLL || has_groups(loop->body))
			fail(r, loop, "copies in a loop that is not written out");
		walk_times(r, loop, n);
	}
}

static void walk_stmt(Rounds *r, const Stmt *stmt)
{
	if (++r->steps > STEPS_MOST)
		fail(r, stmt, "more rounds and statements than are looked at");
	switch (stmt->kind) {
	case LOOP_FOR: walk_for(r, stmt); break;
	case LOOP_IF:
		r->conds++;
		walk_block(r, &stmt->body);
		r->conds--;
		break;
	case LOOP_COPY: walk_copy(r, stmt); break;
	case LOOP_ARRIVE: walk_arrive(r, stmt); break;
	case LOOP_AWAIT: walk_await(r, stmt); break;
	case LOOP_WAIT:
		if (stmt->products)
			walk_wait(r, stmt);
		break;
	case LOOP_BARRIER: walk_barrier(r); break;
	default: break;
	}
}

static void walk_block(Rounds *r, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !r->rule; i++)
		walk_stmt(r, block->stmts[i]);
}

/* Behind the last statement nothing is on its way. */
static void check_end(Rounds *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		const Event *e = &r->events.at[i];
		bool known = false;
		for (int k = 0; k < r->nroles; k++)
			known |= r->roles[k].known[i];
		if (e->kind != EVENT_WAIT && !known)
			fail(r, r->kernel->body.stmts[0],
			     e->kind == EVENT_COPY ? "a copy that nobody waits for"
						   : "a product that nobody waits for");
	}
}

/* The longest ring; with a fault: it is too long. */
static int64_t ring_most(Rounds *r, const BufferUses *uses)
{
	int64_t most = 0;
	for (size_t i = 0; i < uses->n; i++) {
		const Buffer *buffer = buffer_of(r, uses->at[i].buffer);
		int64_t ring = buffer->arrivals ? constant(r, buffer->elements) : 0;
		most = ring > most ? ring : most;
	}
	if (most > RING_MOST)
		fail(r, r->kernel->body.stmts[0], "a ring of more mbarriers than are looked at");
	return most;
}

static void walk_kernel(Rounds *r, int64_t rounds)
{
	arena_reset(r->arena);
	memset(&r->events, 0, sizeof r->events);
	memset(&r->completions, 0, sizeof r->completions);
	r->nroles = 0;
	r->rounds = rounds;
	r->iters = ARENA_ARRAY(r->arena, Interval, r->kernel->niters + 1);
	walk_block(r, &r->kernel->body);
	check_end(r);
}

const Stmt *mbarrier_fault(Program *program, const Kernel *kernel, const char **rule)
{
	Rounds r = {.program = program,
		    .kernel = kernel,
		    .arena = arena_new(),
		    .scratch = arena_new(),
		    .role = NOBODY};
	BufferUses uses = kernel_buffers(r.scratch, kernel);
	bool any = has_rounds(kernel->body);
	int64_t ring = ring_most(&r, &uses), most = 2 * ring + ROUNDS_MORE;
	const Stmt *use = mbarrier_use_fault(program, kernel, ring, rule);
	if (use)
		fail(&r, use, *rule);
	for (int64_t n = 0; any && n <= most && !r.rule; n++)
		walk_kernel(&r, n);
	arena_free(r.scratch);
	arena_free(r.arena);
	*rule = r.rule;
	return r.at;
}
