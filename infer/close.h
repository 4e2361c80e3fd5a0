/* Closing rules: what bounds that which is open, and what each rule decides. */
#ifndef TSR_INFER_CLOSE_H
#define TSR_INFER_CLOSE_H

#include "infer/solver.h"

/* ---- bounds.c ---- */

/* How many axes an open row may have beyond those that it has, by the results that refine it. */
typedef struct RowBound {
	bool any;   /* some use bounds it, or may yet */
	bool known; /* some use does: lead and trail are the least that one has */
	bool open;  /* some use may still grow */
	uint32_t lead, trail;
} RowBound;

/* Of all open rows, by RowVarId. */
RowBound *row_bounds(Solver *s);
/* Behind the constraints of all operands that make one row of a result, of which `id` is the
 * first; behind `id`, where it is another constraint. */
ConId row_makers_end(const Solver *s, ConId id);
/* By RowVarId: the rows that have at least the axes of the open row of a reshape, which gets them
 * later; the open rows that are leaves', or are made of such. */
bool *rows_above_reshapes(Solver *s);
bool *rows_of_leaves(Solver *s);
/* By RowVarId: the rows that have at least the axes of an open row to which other uses give
 * some. */
bool *rows_above_bounded(Solver *s, const RowBound *bounds);

/* ---- close_waits.c: what an open size waits for ---- */

/* Does a size that is open itself read this one? It may still become a bound. */
bool is_read_by_open(Solver *s, CellId cell);
/* Does one that may have its size, directly or through others, from elsewhere? */
bool gets_size_above(Solver *s, CellId cell);
/* Would choosing the size choose one of a parameter, which nothing else determines? */
bool is_of_param(Solver *s, CellId cell);
/* Would choosing the size choose one of a leaf? */
bool is_of_leaf(Solver *s, CellId cell);
/* Is the total of the product known, or has its reshape axes already, and is an open factor the size
 * of a parameter? It follows from the total, or nothing says what it is, also where it meets a
 * literal 1. */
bool total_says_params(Solver *s, ConId product);
/* The factors of such products that are sizes of leaves, and what broadcasts into them: by root. */
bool *said_by_totals(Solver *s);
/* Does it follow from the axes of a reshape whose total is known? */
bool hangs_on_total(Solver *s, CellId cell);

/* May the operation of the edge get a size for this axis from another operand, whose row is open
 * and neither that of a leaf nor of a number? */
bool row_may_give(Solver *s, const Edge *edge);

/* ---- close_totals.c, close_meet.c: known totals with several open factors ---- */

enum { MOST_FACTORS = 8 };

/* One product of a total. */
typedef struct Side {
	Size known;
	Spot open[MOST_FACTORS];
	uint32_t power[MOST_FACTORS]; /* how often it stands there */
	Size sizes[MOST_FACTORS];     /* found for the open ones */
	uint32_t n;
	uint32_t nparams;
	bool row;   /* a row is open; of factors to choose: and no axis, so it takes what is left */
	bool grows; /* which may get more axes yet */
} Side;

/* The axes of a total in storage order; false where too many are open. */
bool read_side(Solver *s, ConId id, Side *side);
/* Can the axis be that long, as far as its steps and its window (SIZE_BAD: unknown, or none)
 * say? */
bool affine_may_be(Solver *s, const SpecAxis *axis, Size size, Size k);
/* Sizes for the open factors of a known total and of all that hang together with it. False where it
 * stands alone. patient: as long as nothing else may give any of them a size. */
bool close_meeting(Solver *s, const char *rule, ConId id, bool patient);

/* ---- close.c: the table of rules; close_*.c: what they do ---- */

/* The rules of a stage in order, each run on a fixed point. */
void close_stage(Solver *s, int stage);
/* After conflicts: those rules of all stages that guess nothing. */
void close_rest(Solver *s);
/* The table of rules, a comment line each. */
void dump_rules(FILE *out);
/* Records what a rule decided, for shapes:N and --explain-closed. */
void close_note(Solver *s, const char *rule, const Spot *spot);
/* Gives an open size its value, which was that of the cell `from` at constraint `con`, or NONE. */
void close_choose(Solver *s, const char *rule, const Spot *spot, Size value, CellId from,
		  ConId con);
/* What is open, in the order of the program, each variable or class once. */
Spots open_rows(Solver *s);
Spots open_cells(Solver *s);

#endif
