/* Loops over the lines of an operand along one axis: what cumulates, sorts or searches them.
 *
 *   cumulate.c  at each place the sum of the elements up to it
 *   sort.c      the elements in order, or their places
 *   radix.c     long lines in order
 *   select.c    the first few of them
 *   argmax.c    the place of the greatest
 *   lines.c     small things that all are built of
 *
 * A line is all places of the axis at one index of each outer axis. How an element is read and
 * where one is stored is the caller's: these files know indices and values, and no tensors.
 */
#ifndef TSR_LOWER_ALONG_LINES_H
#define TSR_LOWER_ALONG_LINES_H

#include "loops/frame.h"
#include "sums/sums.h"

typedef enum SortBy { BY_RANKS, BY_SELECTION, BY_SHORT_DIGITS, BY_LONG_DIGITS, SORT_WAYS } SortBy;

/* One way in which lines are sorted, of those sizes that meet the conditions. */
typedef struct SortWay {
	bool never; /* there are no such sizes */
	Cond *conds;
	uint32_t nconds;
	int64_t bits,
		group; /* of a digit, at most; elements of a group of those that are selected from */
	BufferId items, counts, least;
} SortWay;

/* How sums at each place are made that are not all in turn. */
typedef struct CumulatePlan {
	bool columns;	   /* lines lie side by side */
	bool runs_columns; /* ... and are so many that runs go along these */
	bool whole;	   /* each line goes over its runs, else all runs at a time */
	bool prefetches;   /* what runs further on read and store */
	BufferId sums, before, acc;
} CumulatePlan;

/* How the greatest is looked for. */
typedef struct ArgmaxPlan {
	IterVar var;	/* along the axis */
	bool in_lanes;	/* elements along the axis are neighbours */
	bool columns;	/* those of neighbouring lines are, where those are none */
	bool in_parts;	/* of the only line */
	BufferId parts; /* ... the greatest of each */
} ArgmaxPlan;

typedef struct Lines Lines;
struct Lines {
	Program *program;
	Arena *arena;
	Sizes *sizes;
	void *of; /* the caller's */
	/* The operand's element at a place of the axis, and at `outer`; locals go to the body. */
	const Value *(*element)(const Lines *lines, const Ix *at, Body *body);
	/* The index of the result's element there. */
	const Ix *(*result_index)(const Lines *lines, const Ix *at);
	KernelFrame *frame; /* of the kernel under construction */
	/* A temporary that holds what is kept for one line, while that is at hand, or for `all`. */
	BufferId (*temporary)(void *of, const char *name, Dtype dtype, Size elements, bool all);
	/* The outer axes, outermost first: the iterator of each, or what stands for it, and its extent */
	const Ix **outer;
	Size *extents;
	uint32_t nouter;
	Size extent, results; /* places of the operand's axis, and of the result's */
	Dtype from, dtype; /* of the operand's elements, and of the result's */
	BufferId to;
	Op acc;	  /* argmax: how it is added to that; OP_NONE: it is set */
	Sym axis; /* argmax: the axis' name; NULL: it has one element */
	Body *top;		 /* where the loops go */
	Op reduce;		 /* cumulate */
	SumOrder order;		 /* cumulate */
	bool exclusive, reverse; /* cumulate */
	bool descending, ids;	 /* sort */
	CumulatePlan cumulate;
	SortWay sort[SORT_WAYS];
	ArgmaxPlan argmax;
};

/* Decide how lines are gone through, and declare temporaries. */
void cumulate_plan(Lines *lines);
void sort_plan(Lines *lines);
void argmax_plan(Lines *lines);
/* Append the loops that store the whole result, as they are planned. */
void cumulate_lines(const Lines *lines);
void sort_lines(const Lines *lines);
void argmax_lines(const Lines *lines);
/* Appends the loops that sort one line, of at least one element, by digits. */
void sort_by_digits(const Lines *lines, const SortWay *way, Body *line);
/* The same of the result's first few, by the least keys of groups. */
void select_first(const Lines *lines, const SortWay *way, Body *line);
/* Declare the temporaries of these. */
void sort_plan_digits(const Lines *lines, SortWay *way);
void select_plan(const Lines *lines, SortWay *way);

/* ---- lines.c: for these ---- */

/* As ix_const to ix_iter, frame_iter and value_number (loops/build.h, loops/frame.h), for the program and the
 * kernel of the lines. */
const Ix *lines_const(const Lines *lines, int64_t value);
const Ix *lines_size(const Lines *lines, Size size);
const Ix *lines_add(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_sub(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_scale(const Lines *lines, const Ix *a, int64_t by);
const Ix *lines_min(const Lines *lines, const Ix *a, const Ix *b);
IterVar lines_iter(const Lines *lines, const char *name);
const Ix *lines_at(const Lines *lines, IterVar var);
const Value *lines_number(const Lines *lines, Dtype dtype, double number);
/* A new single local that begins with a value; the value of one. */
LocalId lines_local(const Lines *lines, Body *body, const char *name, const Value *start);
const Value *lines_read(const Lines *lines, LocalId local);
void lines_push(const Lines *lines, Body *body, const Stmt *stmt);
/* The body as a loop over lo, lo + step, ... below hi. */
Stmt *lines_loop(const Lines *lines, IterVar var, const Ix *lo, const Ix *hi, int64_t step,
		 const Body *body);
/* The loop, of which no iteration stores an element that another touches. */
const Stmt *lines_independent(Stmt *loop);
/* Appends the body for each of [0, extent). */
void lines_each(const Lines *lines, Body *into, IterVar var, Size extent, const Body *body);
/* The body where the condition holds. */
const Stmt *lines_if(const Lines *lines, CondKind kind, const Ix *a, const Ix *b, const Body *body);
/* Do the loads of a value stay or go on by one element with the iterator, and does one go on? */
bool lines_go_on(const Lines *lines, IterVar var, const Value *value);
/* to[element] = value, in the result's type. */
const Stmt *lines_store(const Lines *lines, const Ix *at, const Value *value);
/* The body for blocks of n lines along the last outer axis, which is at hand at the first of them;
 * where that block ends. */
const Stmt *lines_blocks(const Lines *lines, int64_t n, const Body *body);
const Ix *lines_block_end(const Lines *lines, int64_t n);
/* The body in the loops of the first n outer axes. */
void lines_wrap(const Lines *lines, uint32_t n, Body *body);
/* Appends the body to the loops. */
void lines_finish(const Lines *lines, const Body *body);

#endif
