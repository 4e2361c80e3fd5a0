/* The stages of a compilation, from text to loops, as a table. Each makes one data structure from
 * the one before; each can be verified and printed. `--dump`, `--stop`, `--emit`, `--time-report`
 * and the completion know no other list. */
#ifndef TSR_DRIVER_PIPELINE_H
#define TSR_DRIVER_PIPELINE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct Session Session;

typedef struct Stage {
	const char *name, *phase, *makes;
	void (*run)(Session *session);		/* NULL: another view of what its phase makes */
	void (*verify)(const Session *session); /* a violation is a BUG; NULL: none */
	void (*dump)(FILE *out, Session *session);
	bool read; /* with SessionOptions.from, its dump is read back */
} Stage;

extern const Stage pipeline[];
extern const int pipeline_length;

/* The place of a stage, or of shapes:N, in the pipeline; -1: there is none of that name. */
int stage_index(const char *name);
/* "shapes:3", the solution after step 3 of the solver: 3; 0: it is something else. */
int stage_step(const char *name);
/* Makes what the stage `from` of the session's options makes, from its text. */
void stage_read(Session *session);
/* Prints it, `shapes:N` too. Requires: the stage has run. */
void stage_dump(FILE *out, Session *session, const char *name);

#endif
