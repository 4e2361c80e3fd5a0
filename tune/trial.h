/* What is done with a candidate, each in a child process: it may crash or hang. */
#ifndef TSR_TUNE_TRIAL_H
#define TSR_TUNE_TRIAL_H

#include "codegen/subprocess.h"
#include "tune/candidates.h"
#include "tune/measure.h"
#include "tune/tune.h"

/* The status of a child that compiles: 0, 1 where the schedule is refused, or */
enum { TRIAL_KNOWN = 4 }; /* its loops have been tried */

/* Hashes of loops, an stb_ds table. */
typedef struct TrialKnown {
	uint64_t key;
	bool value;
} TrialKnown;

typedef struct Trials {
	Arena *arena;
	const TuneRequest *request;
	const char *source; /* of the program */
	const char *dir;    /* temporary: what children leave */
	TrialKnown *known;
} Trials;

/* A candidate on its way. */
typedef struct Trial {
	const Trials *of;
	uint32_t number;	    /* from 0, the policy's */
	const Candidate *candidate; /* text NULL: the policy alone */
	Child child;
	bool late; /* it was ended by its limit */
} Trial;

/* What a child that compiles has said. */
typedef struct TrialCode {
	uint64_t loops, bits; /* equal bits: the same numbers, bit for bit */
	double tolerance;     /* of numbers added in another order */
} TrialCode;

/* The session of a candidate, with the program. NULL: no memory. */
Session *trial_session(const Trials *trials, const Candidate *candidate);
/* Path of the shared object of that number. */
const char *trial_path(const Trials *trials, uint32_t number);
/* Starts a child that compiles it. */
void trial_compile(Trial *trial);
/* false: its words are none. */
bool trial_code(const ChildResult *result, TrialCode *code);
/* Starts a child that times it. */
void trial_measure(Trial *trial, const Measure *measure);

/* How children are waited for. */
typedef struct Watch {
	int signals;	 /* a descriptor that SIGINT and SIGTERM can be read from */
	double deadline; /* of now_seconds; INFINITY: none */
	bool stopped;	 /* a signal has come, or the deadline: children were ended */
} Watch;

/* Waits until all have ended; those that take longer than `limit` seconds are ended, all where the watch is
 * stopped. Results are in the order of the trials. */
void trials_wait(Watch *watch, Trial *trials, size_t n, double limit, ChildResult *results);
double now_seconds(void);

#endif
