/* Work that may fail deep inside, where nothing can return an error: memory runs out
 * (base/arena.h), or a BUG shows (base/diag.h). Under trap_run such a failure ends that work and
 * nothing else: what the work still holds is freed, and the caller is told. Without a trap a
 * failure prints a message and ends the process.
 *
 *   trap_run(&holder, work, arg, &failure)   arenas, blocks, files and children that the work
 *                                            takes are listed in the holder until they are freed
 *   holder_end(&holder)                      frees what work that succeeded has left there
 *
 * A trap counts for the thread that set it. Traps nest: a failure ends the innermost one.
 */
#ifndef TSR_BASE_TRAP_H
#define TSR_BASE_TRAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum FailureKind {
	FAILURE_NONE,
	FAILURE_MEMORY, /* none left, or more than is allowed */
	FAILURE_STACK,	/* the thread's stack is too small for the work */
	FAILURE_BUG	/* a fault of the compiler; the text begins with FILE:LINE */
} FailureKind;

typedef struct Failure {
	FailureKind kind;
	char text[2000];
} Failure;

/* One thing that is freed after a failure: the first member of it, or a record of it. */
typedef struct Held Held;
struct Held {
	Held *next, **at; /* at: NULL where it is in no list */
	void (*end)(Held *held);
};

/* All zero: it holds nothing. Requires: one thread at a time uses it. */
typedef struct Holder {
	Held *first; /* the newest */
} Holder;

/* Runs work(arg). False after a failure, which is then in *failure: all that the work had taken
 * and not freed is freed, newest first; what the holder held before is still there. */
bool trap_run(Holder *holder, void (*work)(void *arg), void *arg, Failure *failure);
/* Frees all that it holds, newest first. */
void holder_end(Holder *holder);

/* Ends the work of the innermost trap, or the process, with the message that failure_print writes
 * and its status. The text is copied. */
_Noreturn void trap_fail(FailureKind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void trap_vfail(FailureKind kind, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* The message that tells users of it. */
void failure_print(FILE *out, const Failure *failure);
/* The exit status of a program that ends with it: 3 for a bug, else 1. */
int failure_status(const Failure *failure);

/* Lists the thing with the innermost trap's holder; where there is no trap it is nobody's, and has
 * to be freed by whoever took it. `end` must not fail. */
void held_list(Held *held, void (*end)(Held *held));
/* Takes it off its list, if it is on one. Requires: no other thread uses the holder. */
void held_unlist(Held *held);
/* The thing has moved in memory: its neighbours are told. */
void held_moved(Held *held);
/* The innermost trap's; NULL: there is no trap. */
const Holder *trap_holder(void);

#endif
