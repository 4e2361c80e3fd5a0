/* Records events and what each role knows of them: see mbarrier_log.h. */
#include "loops/mbarrier_log.h"

#include <string.h>

void mbarrier_log_clear(MbarrierLog *log)
{
	arena_reset(log->arena);
	memset(&log->events, 0, sizeof log->events);
	memset(&log->completions, 0, sizeof log->completions);
	log->nroles = 0;
}

static const Buffer *buffer_of(const MbarrierLog *log, BufferId id)
{
	return &log->program->buffers.at[id];
}

int64_t mbarrier_ring(const MbarrierLog *log, BufferId mbarrier)
{
	int64_t n;
	bool known =
		size_is_const(log->program->sizes, buffer_of(log, mbarrier)->elements, &n);
	return known ? n : 0;
}

static bool *new_known(const MbarrierLog *log) { return ARENA_ARRAY(log->arena, bool, EVENTS_MOST); }

static void join(const MbarrierLog *log, bool *to, const bool *from)
{
	for (size_t i = 0; i < log->events.n; i++)
		to[i] |= from[i];
}

int mbarrier_role(MbarrierLog *log, const Stmt *loop, int64_t threads)
{
	for (int i = 0; i < log->nroles; i++) {
		const Role *role = &log->roles[i];
		if (role->first == loop->threads && role->threads == threads)
			return i;
		if (loop->threads < role->first + role->threads &&
		    role->first < loop->threads + threads)
			fault_note(&log->fault, loop,
				   "loops of a block that share some of their threads");
	}
	if (log->nroles == ROLES_MOST)
		fault_note(&log->fault, loop,
			   "more loops of a block of different threads than are looked at");
	if (log->fault.rule)
		return NOBODY;
	log->roles[log->nroles] = (Role){loop->threads, threads, 0, new_known(log)};
	return log->nroles++;
}

/* ---- events ---- */

/* Do they touch an element that one of them stores? */
static bool meet(const Event *a, const Event *b)
{
	return a->kind != EVENT_WAIT && b->kind != EVENT_WAIT && a->buffer == b->buffer &&
	       a->at.lo <= b->at.hi && b->at.lo <= a->at.hi &&
	       (a->kind == EVENT_COPY || b->kind == EVENT_COPY);
}

static bool add_event(MbarrierLog *log, const Stmt *stmt, Event event)
{
	const bool *known = log->roles[event.role].known;
	for (size_t i = 0; i < log->events.n; i++)
		if (meet(&event, &log->events.at[i]) && !known[i])
			fault_note(&log->fault, stmt,
				   event.kind == EVENT_READ
					   ? "a product of what may not have been copied"
					   : "a copy to what may still be read or copied to");
	if (log->events.n == EVENTS_MOST)
		fault_note(&log->fault, stmt, "more copies and products than are looked at");
	if (!log->fault.rule)
		PUSH(log->arena, log->events, event);
	return !log->fault.rule;
}

/* ---- completions ---- */

/* NULL: nobody has arrived there yet, nor told bytes. */
static Completion *find_completion(const MbarrierLog *log, BufferId mbarrier, int64_t visit)
{
	for (size_t i = 0; i < log->completions.n; i++)
		if (log->completions.at[i].mbarrier == mbarrier &&
		    log->completions.at[i].visit == visit)
			return &log->completions.at[i];
	return NULL;
}

/* Made where there is none yet; NULL, with a fault: there are too many. */
static Completion *completion_of(MbarrierLog *log, const Stmt *stmt, int64_t visit)
{
	Completion *found = find_completion(log, stmt->mbarrier, visit);
	if (found)
		return found;
	if (log->completions.n == COMPLETIONS_MOST) {
		fault_note(&log->fault, stmt, "more completions than are looked at");
		return NULL;
	}
	PUSH(log->arena, log->completions,
	     ((Completion){.mbarrier = stmt->mbarrier, .visit = visit, .known = new_known(log)}));
	return &log->completions.at[log->completions.n - 1];
}

static bool is_complete(const MbarrierLog *log, const Completion *c)
{
	return c && c->arrived == buffer_of(log, c->mbarrier)->arrivals && c->bytes == c->expected;
}

void mbarrier_copy(MbarrierLog *log, int role, const Stmt *copy, int64_t visit, Interval elements)
{
	Event event = {.kind = EVENT_COPY,
		       .buffer = copy->buffer,
		       .at = elements,
		       .role = role,
		       .mbarrier = copy->mbarrier,
		       .visit = visit};
	if (!add_event(log, copy, event))
		return;
	Completion *c = completion_of(log, copy, visit);
	if (c)
		c->bytes += (elements.hi + 1 - elements.lo) *
			    (int64_t)dtype_bytes(buffer_of(log, copy->buffer)->dtype);
}

/* The completion a ring before is there, and all who wait for it have seen it. */
static void check_before(MbarrierLog *log, const Role *role, const Stmt *arrive, int64_t before)
{
	for (size_t i = 0; i < log->events.n; i++) {
		const Event *e = &log->events.at[i];
		if (e->kind == EVENT_WAIT && e->mbarrier == arrive->mbarrier &&
		    e->visit == before && !role->known[i])
			fault_note(&log->fault, arrive,
				   "an arrival before all have seen the completion a ring before");
	}
	if (before >= 0 && !is_complete(log, find_completion(log, arrive->mbarrier, before)))
		fault_note(&log->fault, arrive,
			   "an arrival at an mbarrier before the completion a ring before");
}

void mbarrier_arrive(MbarrierLog *log, int role, const Stmt *arrive, int64_t visit, int64_t threads)
{
	const Role *own = &log->roles[role];
	check_before(log, own, arrive, visit - mbarrier_ring(log, arrive->mbarrier));
	Completion *c = completion_of(log, arrive, visit);
	if (!c)
		return;
	c->arrived += threads;
	c->expected += arrive->bytes * threads;
	join(log, c->known, own->known);
	if (c->arrived > buffer_of(log, arrive->mbarrier)->arrivals)
		fault_note(&log->fault, arrive, "more arrivals than an mbarrier awaits");
}

/* The role knows now of the completion's copies, of what those knew who arrived, and of this wait, the last event. */
static void learn(MbarrierLog *log, bool *known, const Completion *c)
{
	join(log, known, c->known);
	for (size_t i = 0; i < log->events.n; i++) {
		const Event *e = &log->events.at[i];
		known[i] |= e->kind == EVENT_COPY && e->mbarrier == c->mbarrier &&
			    e->visit == c->visit;
	}
	known[log->events.n - 1] = true;
}

void mbarrier_await(MbarrierLog *log, int role, const Stmt *await, int64_t visit)
{
	const Completion *c = find_completion(log, await->mbarrier, visit);
	const Completion *next = find_completion(log, await->mbarrier,
						 visit + mbarrier_ring(log, await->mbarrier));
	Event event = {
		.kind = EVENT_WAIT, .role = role, .mbarrier = await->mbarrier, .visit = visit};
	if (!is_complete(log, c))
		fault_note(&log->fault, await, "a wait for what does not come before it");
	if (next) /* others went on to it */
		fault_note(&log->fault, await,
			   "a wait for a completion that the next one may have followed");
	if (!log->fault.rule && add_event(log, await, event))
		learn(log, log->roles[role].known, c);
}

/* ---- products ---- */

void mbarrier_read(MbarrierLog *log, int role, const Stmt *product, BufferId buffer, Interval at)
{
	add_event(log, product,
		  (Event){.kind = EVENT_READ,
			  .buffer = buffer,
			  .at = at,
			  .role = role,
			  .pending = true,
			  .group = log->roles[role].groups});
}

void mbarrier_commit(MbarrierLog *log, int role) { log->roles[role].groups++; }

void mbarrier_wait(MbarrierLog *log, int role, int64_t pending)
{
	Role *own = &log->roles[role];
	for (size_t i = 0; i < log->events.n; i++) {
		Event *e = &log->events.at[i];
		if (e->kind != EVENT_READ || e->role != role || e->group >= own->groups - pending)
			continue;
		e->pending = false;
		own->known[i] = true;
	}
}

bool mbarrier_has_pending(const MbarrierLog *log, int role)
{
	bool any = false;
	for (size_t i = 0; i < log->events.n; i++)
		any |= log->events.at[i].pending && log->events.at[i].role == role;
	return any;
}

/* ---- all roles ---- */

void mbarrier_barrier(MbarrierLog *log)
{
	bool *all = new_known(log);
	for (int i = 0; i < log->nroles; i++)
		join(log, all, log->roles[i].known);
	for (int i = 0; i < log->nroles; i++)
		join(log, log->roles[i].known, all);
}

void mbarrier_end(MbarrierLog *log, const Stmt *at)
{
	for (size_t i = 0; i < log->events.n; i++) {
		const Event *e = &log->events.at[i];
		bool known = false;
		for (int k = 0; k < log->nroles; k++)
			known |= log->roles[k].known[i];
		if (e->kind != EVENT_WAIT && !known)
			fault_note(&log->fault, at,
				   e->kind == EVENT_COPY ? "a copy that nobody waits for"
							 : "a product that nobody waits for");
	}
}
