/* Random schedules of a program that was compiled: every word of schedule.def. */
#ifndef TSR_TEST_FUZZ_DRAW_H
#define TSR_TEST_FUZZ_DRAW_H

#include "schedule/schedule.h"
#include "test/fuzz/programs.h"

/* A clause that was drawn: it is not in the schedule that the program has. */
typedef struct DrawnClause {
	Sym kernel;
	ScheduleClause clause;
} DrawnClause;

typedef struct DrawnSchedule {
	const char *text; /* of a .sched */
	bool complete;	  /* it says everything, for --policy=none; else the policy chooses the rest */
	VEC(DrawnClause) clauses;
} DrawnSchedule;

/* One to three clauses, each of any word, with the names of its kernel and numbers of any size: alone, or
 * among those that the program has, which a complete schedule needs. Half of them are of words that their
 * kernel has, with another name or number. Words that were made seldom, by their counts, come often; NULL: all
 * come as often. */
DrawnSchedule schedule_draw(Arena *arena, Choices *choices, const Program *program,
			    const int64_t *made_before);
/* Is the clause among what was made of the kernels of its name? */
bool drawn_is_made(const DrawnClause *drawn, const Program *program);
/* The word of a choice. */
const char *choice_word(Choice choice);

#endif
