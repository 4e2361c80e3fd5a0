/* In a child process: one shared object beside another. */
#ifndef TSR_TUNE_MEASURE_H
#define TSR_TUNE_MEASURE_H

#include "tune/tune.h"

typedef struct Measure {
	Arena *arena;
	const TuneRequest *request;
	const char *
		policy; /* path of the policy's code, whose numbers are right; NULL: they are not compared */
	const char *best, *it; /* paths of the code that is the best so far, and of the candidate */
	double tolerance; /* 0: numbers must agree bit for bit; else relative to the greatest of an array */
	bool whole; /* all pairs are timed, also where the first ones show that it is slower */
	double seconds; /* by the clock, after which no further pair begins; 0: any number */
} Measure;

enum { MEASURE_PAIRS = 15 }; /* the most that are timed */
/* Statuses of measure_run beside 0. */
enum { MEASURE_FAILED = 5, MEASURE_DIFFERS };

typedef struct Measured {
	double times; /* how many times as fast the candidate is: the median of the pairs */
	double won;   /* the part of the pairs in which it was faster */
	int pairs;
	double seconds; /* of one call of each routine at each size, by the best so far: processor
			 * time of one thread, or by the clock */
} Measured;

/* Runs every routine at all sizes, compares, times pairs in turn and prints a Measured. Status
 * MEASURE_FAILED, with a line why, where it cannot run, MEASURE_DIFFERS, with a line where, where
 * numbers differ. */
int measure_run(const Measure *measure, FILE *out);
/* The Measured that it printed; false: there is none. */
bool measure_read(const char *text, Measured *measured);
/* Faster, beyond what noise explains. */
bool measure_is_faster(const Measured *measured);

#endif
