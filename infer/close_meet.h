/* Known totals that hang together: their open sizes, and the search for them (close_meet.c,
 * close_search.c). */
#ifndef TSR_INFER_CLOSE_MEET_H
#define TSR_INFER_CLOSE_MEET_H

#include "infer/close.h"

enum { MOST_OPEN = 256, MOST_TRIES = 1 << 20 };

typedef struct Open {
	CellId cell; /* a root */
	Size size;   /* as tried now, or SIZE_BAD */
	bool is_result, is_factor, listed;
} Open;

typedef VEC(int64_t) Divisors;

typedef struct Choice {
	Spot spot;
	uint32_t open; /* its place among the open sizes */
	ConId con;
	Divisors sizes; /* to try, in order */
} Choice;

typedef struct Meet {
	Solver *s;
	Open open[MOST_OPEN];
	uint32_t nopen;
	VEC(ConId) totals; /* products with open axes */
	VEC(ConId) ties;   /* relations of several open sizes */
	VEC(uint32_t) edges;
	VEC(Choice) choices;
	uint32_t looked; /* at entries of occurrence lists */
	uint32_t nknown; /* totals that are known */
	bool fails;	 /* too large */
	bool waits;	 /* something that is not here may give sizes */
	bool cut;	 /* not all sizes were tried */
	bool symbolic;	 /* a size that is known has dims: whether it divides may depend on them */
	bool too_many;	 /* more axes would have broadcast than may */
	uint32_t ones;	 /* axes that may */
	uint32_t trail[MOST_OPEN],
		ntrail; /* places that have sizes, in the order in which they got them */
} Meet;

/* The place of the cell, or MOST_OPEN. A cell's slot is trusted only where its place has it. */
static inline uint32_t place_of(const Meet *m, CellId root)
{
	uint32_t slot = m->s->cells.at[root].slot;
	return slot < m->nopen && m->open[slot].cell == root ? slot : MOST_OPEN;
}

/* Tries sizes for all choices. True where all have one that everything else allows: they stand in
 * `open` then. */
bool meet_solve(Meet *m);
/* Takes back all but the first `to` sizes. */
void meet_take_back(Meet *m, uint32_t to);
/* The factors of known totals, in the order in which they are chosen, with the sizes to try. */
void meet_list_choices(Meet *m);

#endif
