/* What threads that mbarriers order do with shared memory, event by event, and which events each of them knows to be over.
 *
 * An event is a copy of a box, a read of an operand by a product, or a wait for a completion. A role is the threads of one
 * loop of a block, which do the same. Two events that meet in a place, one of them a copy, must be in an order that the
 * role of the second one knows. A role knows of
 *
 *   its own reads             behind a wait for their products
 *   the copies of a completion, and what each role knew that arrived there      behind a wait for the completion
 *   all that any role knows   behind a barrier
 *
 * Element e of a ring of R mbarriers takes completions e, e + R, e + 2*R, ... in turn:
 *
 *   open v    arrivals are counted, bytes are told and come
 *     |         v is complete: N have arrived, all bytes that were told have come
 *   open v+R  who awaits v goes on; the first arrival at v+R needs all waits for v to be over
 *     |         v+R is complete
 *   open v+2R
 *
 * A wait reads a bit that is another one of v and of v + R, but the same of v and of v + 2*R, so that a wait that is not
 * over when v + R completes may last for ever: hence the rule of arrivals. */
#ifndef TSR_LOOPS_MBARRIER_LOG_H
#define TSR_LOOPS_MBARRIER_LOG_H

#include "loops/interval.h"
#include "loops/verify.h"

/* Limits, far above what products need. */
enum { EVENTS_MOST = 4096, COMPLETIONS_MOST = 1024, ROLES_MOST = 8, NOBODY = -1 };

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

typedef struct Role {
	int64_t first, threads, groups; /* groups: of products */
	bool *known;			/* by event */
} Role;

typedef struct MbarrierLog {
	const Program *program;
	Arena *arena;
	VEC(Event) events;
	VEC(Completion) completions;
	Role roles[ROLES_MOST];
	int nroles;
	LoopsFault fault;
} MbarrierLog;

/* Without events; the fault, if there is one, stays. What was in log->arena is lost. */
void mbarrier_log_clear(MbarrierLog *log);
/* Of the threads that a loop of a block has, which is a new one where none has these; NOBODY, with a fault: there is none. */
int mbarrier_role(MbarrierLog *log, const Stmt *loop, int64_t threads);
/* Elements of a ring: completions that are told from each other. */
int64_t mbarrier_ring(const MbarrierLog *log, BufferId mbarrier);

/* Events of a role. Copies count for completion `visit`, an arrival `threads` times; `elements` are of the buffer.
 * Requires: the role is one that mbarrier_role has given since the log was cleared, here and below. */
void mbarrier_copy(MbarrierLog *log, int role, const Stmt *copy, int64_t visit, Interval elements);
void mbarrier_arrive(MbarrierLog *log, int role, const Stmt *arrive, int64_t visit,
		     int64_t threads);
void mbarrier_await(MbarrierLog *log, int role, const Stmt *await, int64_t visit);
/* An operand of the group of products that is being made. Requires: mbarrier_commit ends the group. */
void mbarrier_read(MbarrierLog *log, int role, const Stmt *product, BufferId buffer, Interval at);
/* Requires: mbarrier_read of all operands. */
void mbarrier_commit(MbarrierLog *log, int role);
/* Until at most so many groups of the role's products are under way. */
void mbarrier_wait(MbarrierLog *log, int role, int64_t pending);
void mbarrier_barrier(MbarrierLog *log);

/* Are products of the role under way? */
bool mbarrier_has_pending(const MbarrierLog *log, int role);
/* Behind the last statement, or any other where nothing may be under way. */
void mbarrier_end(MbarrierLog *log, const Stmt *at);

#endif
