/* tsrc --tune: a schedule that is found by measuring. What is done with it is an ordinary
 * compilation with that schedule.
 *
 *   text of a schedule -candidates.h-> texts -trial.h, in children-> shared objects
 *   two shared objects -measure.h, in a child-> how much faster the one is
 *   what was faster -search.c-> the best text so far, told by report.h
 *
 * Times are those of one thread, in its processor time, or of several, by the clock, of random inputs. A candidate that is timed
 * has given the numbers of the policy's code before: bit for bit where its sums add in the same order
 * and the same tensors are computed inside others, else as near as --verify=run asks for.
 */
#ifndef TSR_TUNE_TUNE_H
#define TSR_TUNE_TUNE_H

#include "driver/session.h"

/* Sizes of symbolic dims to time at. */
typedef struct TuneSizes {
	const Define *at;
	size_t n;
} TuneSizes;

typedef struct TuneRequest {
	const SessionOptions *session; /* of the compilation; takes no schedule */
	const char *input;	       /* path of the program */
	double seconds;
	int threads;		/* that code runs on, from 1 */
	const TuneSizes *sizes; /* each is timed */
	size_t nsizes;		/* 0: the program has no symbolic dims */
	bool terminal;		/* one line of progress is written over the last */
} TuneRequest;

typedef struct TuneResult {
	const char *
		text; /* a schedule; NULL: the policy's is the best, or errors prevented the search */
	bool complete; /* ... which is taken without a policy */
} TuneResult;

/* Prints a line for each candidate that the policy's schedule has with so many threads; tries none. Errors of the program
 * are diagnostics of the session, which has read it. */
void tune_list(Session *session, int threads, FILE *out);
/* Searches for so many seconds, until no candidate is left, or until SIGINT or SIGTERM arrives, which
 * ends the search alone; progress is told on stderr. Texts are the arena's. Errors are diagnostics
 * of the session, which has read the program. Requires: temporary_guard was called; the process has
 * one thread. */
TuneResult tune_search(Session *session, const TuneRequest *request, Arena *arena);

#endif
