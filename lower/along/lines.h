/* Loops over the lines of an operand along one axis: what cumulates, sorts or searches them.
 *
 *   cumulate.c  at each place the sum of the elements up to it
 *   sort.c      the elements in order, or their places
 *   radix.c     long lines in order
 *   network.c   lines in order, of which vectors compare elements
 *   quicksort.c  long lines in order, of which vectors are parted
 *   select.c    the first few of them
 *   exchange.c  short lines in order, many side by side
 *   argmax.c    the place of the greatest
 *   lines.c     small things that all are built of
 *
 * How lines are gone through is decided in *_plan.c (lines_plan.h), before there is a kernel; the other files
 * emit it (lines_emit.h).
 *
 * A line is all places of the axis at one index of each outer axis. How an element is read and
 * where one is stored is the caller's: these files know indices and values, and no tensors.
 */
#ifndef TSR_LOWER_ALONG_LINES_H
#define TSR_LOWER_ALONG_LINES_H

#include "loops/frame.h"
#include "sums/sums.h"

typedef enum SortBy {
	BY_RANKS,
	BY_SELECTION,
	BY_NETWORK,
	BY_PARTS,
	BY_SHORT_DIGITS,
	BY_LONG_DIGITS,
	BY_EXCHANGES, /* of all lines but the last few, which have another way */
	SORT_WAYS
} SortBy;

enum { DIGITS_MOST = 8 };
/* Parts that are made at a time; what is known of one that waits. */
enum { SORT_PARTS = 4, SORT_FIELDS = 3 };

typedef struct Digit {
	int64_t shift, width; /* bits of the key */
	int64_t first;	      /* of its counts */
	bool top;	      /* it has the sign */
} Digit;

/* One way in which lines are sorted, of those sizes that meet the conditions. */
typedef struct SortWay {
	bool never; /* there are no such sizes */
	Cond *conds;
	uint32_t nconds;
	int64_t group;		    /* elements of a group of those that are selected from */
	bool pairs;		    /* items are keys with places */
	bool has_sign, counts_down; /* of digits */
	Digit digits[DIGITS_MOST];
	uint32_t ndigits;
	int64_t ncounts; /* of all digits */
	int64_t rows, lanes, tile; /* of a network: rows at most, of so many elements; rows in
				    * registers. Of exchanges: lines that are sorted together */
	int64_t leaf, sample; /* elements of a line's parts that a network sorts, and of a sample */
	int64_t levels, stack_room; /* in how many steps parts are made; parts that wait */
	int64_t block;		    /* elements that are parted together */
	BufferId items, counts, least, stack;
} SortWay;

typedef enum CumulateForm {
	CUMULATE_IN_TURN,
	CUMULATE_IN_RUNS,
	CUMULATE_BY_LENGTH, /* in turn up to a length that is compared when it runs, else in runs */
} CumulateForm;

enum { CUMULATE_COLUMNS = 64 }; /* of a block that goes over its runs */

/* How sums at each place are made. */
typedef struct CumulatePlan {
	CumulateForm form;
	bool columns;	   /* lines lie side by side */
	bool runs_columns; /* ... and are so many that runs go along these */
	bool whole;	   /* each line goes over its runs, else each step over all runs */
	bool prefetches;   /* what runs further on read and store */
	BufferId sums;	   /* what is before each run */
} CumulatePlan;

enum { ARGMAX_PART = 1 << 16 }; /* elements */

/* How the greatest is looked for. */
typedef struct ArgmaxPlan {
	IterVar var;	 /* along the axis */
	bool in_lanes;	 /* elements along the axis are neighbours */
	bool columns;	 /* those of neighbouring lines are, where those are none */
	bool in_parts;	 /* of the only line */
	bool in_vectors; /* ... vectors compute its elements */
	BufferId parts;	 /* ... the greatest of each */
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
	Dtype from, dtype;    /* of the operand's elements, and of the result's */
	BufferId to;
	Op acc;			 /* argmax: how it is added to that; OP_NONE: it is set */
	Sym axis;		 /* argmax: the axis' name; NULL: it has one element */
	Body *top;		 /* where the loops go */
	Op reduce;		 /* cumulate; argmax: MAX or MIN */
	SumOrder order;		 /* cumulate */
	bool exclusive, reverse; /* cumulate */
	bool descending, ids;	 /* sort */
	CumulatePlan cumulate;
	SortWay sort[SORT_WAYS];
	ArgmaxPlan argmax;
};

/* Runs of a line; whole groups of one; the type of the keys of its elements. */
static inline Size cumulate_runs_of(const Lines *lines)
{
	return size_ceil(lines->sizes, lines->extent, lines->order.run);
}
/* What is before the runs of all lines, and behind the last. */
static inline Size cumulate_sums_room(const Lines *lines)
{
	Size all = size_plus(lines->sizes, cumulate_runs_of(lines), 1);
	for (uint32_t i = 0; i < lines->nouter; i++)
		all = size_mul(lines->sizes, all, lines->extents[i]);
	return all;
}
static inline Size sort_groups(const Lines *lines, const SortWay *way)
{
	return size_floor(lines->sizes, lines->extent, way->group);
}
static inline Dtype sort_key_dtype(const Lines *lines)
{
	return dtype_bytes(lines->from) == sizeof(int64_t) ? DTYPE_I64 : DTYPE_I32;
}

/* The type in which a network compares elements, which has each of their values, or of places a key and a place;
 * DTYPE_NONE: there is none. Vectors of integers have a less and a greater one where they have masks. */
static inline Dtype sort_network_dtype(const Lines *lines)
{
	const Target *target = lines->program->options.target;
	bool whole = lines->from == DTYPE_I32 || lines->from == DTYPE_U32;
	bool masks = target->vector_bytes >= target->sort_parts_vector;
	if (masks && !lines->ids && (lines->from == DTYPE_I32 || lines->from == DTYPE_I64))
		return lines->from;
	if (lines->ids)
		return sort_key_dtype(lines) == DTYPE_I32 ? DTYPE_F64 : DTYPE_NONE;
	return dtype_is_float(lines->from) ? dtype_wide(lines->from)
	       : whole			   ? DTYPE_F64
					   : DTYPE_NONE;
}

/* ---- lines.c: indices and values ---- */

/* As ix_const to ix_iter, frame_iter and value_number (loops/build.h, loops/frame.h), for the program and the
 * kernel of the lines. */
const Ix *lines_const(const Lines *lines, int64_t value);
const Ix *lines_size(const Lines *lines, Size size);
const Ix *lines_add(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_sub(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_scale(const Lines *lines, const Ix *a, int64_t by);
const Ix *lines_min(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_max(const Lines *lines, const Ix *a, const Ix *b);
const Ix *lines_div(const Lines *lines, const Ix *a, int64_t by);
const Ix *lines_mod(const Lines *lines, const Ix *a, int64_t by);
/* An index that is in [0, most] as it is, which the bounds see; n - 1. */
const Ix *lines_inside(const Lines *lines, const Ix *at, const Ix *most);
const Ix *lines_last(const Lines *lines, Size n);
IterVar lines_iter(const Lines *lines, const char *name);
const Ix *lines_at(const Lines *lines, IterVar var);
const Value *lines_number(const Lines *lines, Dtype dtype, double number);
/* The operand's element, in the type that it is compared in. */
const Value *lines_wide_element(const Lines *lines, const Ix *at, Body *body);
/* Do the loads of a value stay or go on by one element with the iterator, and does one go on? */
bool lines_go_on(const Lines *lines, IterVar var, const Value *value);

#endif
