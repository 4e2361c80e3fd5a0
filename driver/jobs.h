/* What a command line asks for, as kinds and paths. */
#ifndef TSR_DRIVER_JOBS_H
#define TSR_DRIVER_JOBS_H

#include "driver/options.h"

typedef struct Job {
	const char *kind, *path;
} Job;
typedef VEC(Job) Jobs;

/* so, obj and c bring their header. Reports kinds that there are not yet; ends the process where a
 * word is none. */
Jobs jobs_plan(const Options *options, Diags *diags);
/* The last stage that the options and jobs need; ends the process where a word is no stage. */
int jobs_last_stage(const Options *options, const Jobs *jobs);
/* Writes all of them, or none after an error; says on stderr what -v, -### and --time-report ask
 * for. Requires: the stages that they show have run. */
void jobs_run(const Options *options, Session *session, const Jobs *jobs);

/* Milliseconds of a clock that is never set; only differences mean something. */
double now_ms(void);

#endif
