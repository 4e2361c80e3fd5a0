/* Axes that are written as parts in several ways: how these line up (close_line_up.c), and what
 * becomes of them (close_parts.c). */
#ifndef TSR_INFER_CLOSE_PARTS_H
#define TSR_INFER_CLOSE_PARTS_H

#include "infer/close.h"

enum { MOST_SPLITS = 64 }; /* of one axis; those of one with more are left alone */

typedef struct Part {
	CellId cell; /* a root; NONE: skipped */
	Size known;  /* or SIZE_BAD */
	Size asked;  /* that, or what its uses have; SIZE_BAD: nothing says */
} Part;

typedef struct Split {
	ConId con;
	uint32_t n; /* at most ROW_LIMIT */
	Part *at;
	bool says; /* a size of a part */
	bool made; /* of the result that has the axis */
	bool free; /* a whole by itself */
} Split;

typedef struct Whole {
	Solver *s;
	Size size; /* or SIZE_BAD */
	Split splits[MOST_SPLITS];
	uint32_t n;
	bool open;  /* some part is */
	bool made;  /* some split is */
	bool fails; /* more than MOST_SPLITS */
} Whole;

/* Pairs of places; NONE: the part has no other, and is empty. Known parts of the one that several
 * of the other add up to are in no pair. */
typedef struct Pairs {
	const Split *x, *y;
	uint32_t n;
	uint32_t of_x[2 * ROW_LIMIT], of_y[2 * ROW_LIMIT];
} Pairs;

static inline bool part_is_open(const Part *part) { return size_is_bad(part->known); }
/* One cell, or two known sizes that are equal. */
bool same_part(const Part *a, const Part *b);
/* Do the splits line up, and how? The first part of each that can be is paired with the first of
 * the other, or else the last with the last. Requires: two splits of `whole`. */
bool line_up(const Whole *whole, uint32_t i, uint32_t k, Pairs *pairs);
/* What the part at this place of the first split would get from the other; SIZE_BAD: nothing. */
Size pairs_ask(Sizes *sizes, const Pairs *pairs, uint32_t place);

#endif
