/* Child processes whose words are caught: as, ld, cc, and a fork of the compiler itself. They end
 * with it (base/temporary.h). */
#ifndef TSR_CODEGEN_SUBPROCESS_H
#define TSR_CODEGEN_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct ChildResult {
	bool ran;	  /* false: it could not be started */
	int status;	  /* exit status; 128 + signal after a signal */
	const char *text; /* what it wrote to stderr and stdout, the first 64 KiB; or why it did not
			     start */
} ChildResult;

typedef struct Child {
	long pid; /* 0: it could not be started */
	int words; /* the pipe that it writes to */
	const char *why; /* it did not start */
} Child;

/* argv[0] is looked up in PATH; what the program makes for a while it makes in `dir`. */
ChildResult child_run(Arena *arena, const char *const *argv, const char *dir);
/* Runs work(arg) in a fork; its result is the exit status. Nothing that it changes in memory
 * remains. */
ChildResult child_fork(Arena *arena, int (*work)(void *arg), void *arg);
/* The same in two halves: children between them run at the same time. Every child that was started
 * must be ended. */
Child child_start(Arena *arena, int (*work)(void *arg), void *arg);
ChildResult child_end(Arena *arena, const Child *child);
/* For a child's work: from here on it takes at most so much more memory, and so much processor time
 * in all, or what it was allowed before where that is less. Beyond, allocations fail and SIGXCPU
 * ends it. */
void child_limit(uint64_t bytes, uint64_t seconds);
/* The end of a program that is a child's work: as exit, without exit handlers. */
_Noreturn void child_leave(int status);
/* Waits until one of n children has something to say or has ended: its index.
 * Requires: 0 < n <= 64. */
size_t child_any(const Child *children, size_t n);
/* How many CPUs this process may use. Ensures: 1 to 64, as child_any takes. */
size_t child_places(void);

#endif
