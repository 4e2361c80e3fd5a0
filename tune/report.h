/* What a search tells on stderr. */
#ifndef TSR_TUNE_REPORT_H
#define TSR_TUNE_REPORT_H

#include "tune/tune.h"

typedef struct Report {
	bool terminal;
	double start, seconds; /* of the search: when it began, and how long it may take */
	int threads;
	int candidates;	       /* that were looked at: the sum of the next seven */
	int refused, known, differs, crashed, late, slower, faster;
	const char *first_crash, *first_difference; /* what they changed; NULL: none did */
	double times; /* how many times as fast the best is as the policy's */
} Report;

/* The policy's code takes so long, a call of each routine at each size: processor time of one thread, or
 * by the clock. */
void report_start(const Report *report, double seconds);
/* Where the search stands, on a terminal alone. */
void report_progress(const Report *report);
/* A candidate is the best from now on. */
void report_faster(Report *report, const char *what);
/* The search has ended, by a signal or not. */
void report_end(const Report *report, bool signalled);

#endif
