/* How an array of a file is read for a parameter whose axes are others.
 *
 *   arrangement := axes '=>' axes | integers     blanks or commas between, perhaps in brackets
 *   axis        := factor | '(' factor* ')'      parts of one axis, the last one the fastest
 *   factor      := LETTER | PLACE '/' PLACES     the latter left of => alone
 *
 * Left stands the file's array, right the parameter's, in storage order, and each letter stands
 * once on either side: `[e (0/3 h d) => h d e]` takes the first third of axis 1, splits it and puts
 * e last. Integers are an order: axis i of ours is axis integers[i] of theirs. A letter's size
 * follows from the parameter's sizes, those that are known, and the file's.
 */
#ifndef TSR_RUNTIME_ARRANGE_H
#define TSR_RUNTIME_ARRANGE_H

#include "base/array_file.h"

enum { LETTER_BYTES = 16 };

typedef struct Factor {
	int axis;
	int letter;	       /* -1: a place */
	int64_t place, places; /* of a place */
} Factor;

typedef struct Axes {
	int naxes, n;
	Factor factors[ARRAY_RANK_MAX];
} Axes;

typedef struct Arrangement {
	Axes theirs, ours;
	int nletters;
	char letters[ARRAY_RANK_MAX][LETTER_BYTES];
} Arrangement;

/* false, with the reason, when the text is none. */
bool arrangement_parse(const char *text, Arrangement *out, ArrayError *why);
/* Takes `array` apart and gives it the axes of ours. `wanted` are the sizes of these, -1 where they
 * are not known yet. An array without data, which is not read yet, gets the extents alone. On failure
 * the array is as it was. */
bool arrangement_apply(const Arrangement *how, const int64_t *wanted, int rank, Array *array,
		       ArrayError *why);
/* arrange_fit.c: up to two arrangements, with " or " between, that give the array these sizes, all
 * known; "" for none. Which axes are meant it does not know. */
void arrangement_suggest(const Array *array, const int64_t *wanted, int rank, char *text,
			 size_t room);

#endif
