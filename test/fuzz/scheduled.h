/* A program under a schedule: is it right, or refused with a reason? */
#ifndef TSR_TEST_FUZZ_SCHEDULED_H
#define TSR_TEST_FUZZ_SCHEDULED_H

#include "driver/session.h"
#include "test/fuzz/draw.h"

typedef struct ScheduledProgram {
	SessionOptions options; /* without a schedule */
	const char *text;
	size_t size;
	Arena *arena;
	int64_t steps; /* of the reference, for a call */
	bool again;    /* also: what was made asks for itself, with no policy at work */
	/* what else is asked of what was made; NULL: nothing. False: it is wrong, and the report says why */
	bool (*more)(Session *session, FILE *report);
} ScheduledProgram;

typedef enum Scheduled { SCHEDULED_MADE, SCHEDULED_REFUSED, SCHEDULED_WRONG } Scheduled;

/* Requires: the program compiles without a schedule.
 *
 * MADE: every clause was made, the numbers are within the bounds of the reference, and sums of terms with known
 * bits have the bits of the order that was written down. REFUSED: with one of the codes of schedules, or
 * because the loops take more memory than allowed, and a reason in words. Else the report has the program,
 * its options, the schedule and what is wrong. The session, which is the caller's to close, has what was
 * made. */
Scheduled scheduled_try(const ScheduledProgram *program, const DrawnSchedule *drawn, FILE *report,
			Session **session);

#endif
