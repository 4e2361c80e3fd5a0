/* From schedules that were made to texts of schedules that differ from the best in one clause. */
#ifndef TSR_TUNE_CANDIDATES_H
#define TSR_TUNE_CANDIDATES_H

#include "schedule/schedule.h"

typedef struct Candidate {
	const char *what; /* "h, y: tile i 8, j 64": the kernels and their clause, for people */
	const char *text; /* of a .sched */
	bool complete;	  /* it says everything, and no policy adds to it */
	uint32_t change;  /* of candidates_of: which; equal where two texts have the same change */
	/* the change that asks for the word alone: where that is refused, so is this; NO_CHANGE: none */
	uint32_t any;
} Candidate;
#define NO_CHANGE UINT32_MAX
typedef VEC(Candidate) Candidates;

/* What changes are made of. */
typedef struct CandidatesFrom {
	const Program *policy, *best;
	int threads; /* that code is timed with; 1: nothing is cut for threads otherwise than in `best` */
} CandidatesFrom;

/* Each clause of `best` off, with each of its numbers halved and doubled, with each other name of its
 * kernel; tiles of other rows and columns that fill the registers; for several threads, loops in other
 * numbers of parts; each word that is not there. Kernels whose clauses, sizes and strides are the same
 * change together. Each change comes twice, complete and as what differs from the policy's alone, of which
 * the policy chooses the rest. Those of kernels with little work come last. */
Candidates candidates_of(Arena *arena, const CandidatesFrom *from);
/* Two of these changes at once, by their numbers: every pair but of one word of one kernel, those of the first
 * numbers first. */
Candidates candidates_pairs(Arena *arena, const CandidatesFrom *from, const uint32_t *changes,
			    size_t n);
/* All that was made for `best`, and off what `policy` has beside that; NULL: nothing is off. */
const char *candidates_whole(Arena *arena, const Program *policy, const Program *best);

#endif
