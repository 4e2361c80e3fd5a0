/* Items of a line in order by the digits of their keys, for what has found which items they are. */
#ifndef TSR_LOWER_ALONG_RADIX_H
#define TSR_LOWER_ALONG_RADIX_H

#include "lower/along/lines.h"

enum { DIGITS_MOST = 8 };

typedef struct Digit {
	int64_t shift, width; /* bits of the key */
	int64_t first;	      /* of its counts */
	bool top;	      /* it has the sign */
} Digit;

typedef struct Radix {
	const Lines *l;
	BufferId items, counts; /* room for twice the line */
	LocalId source;
	const Ix *n;	       /* items, at least one, at most the line */
	bool pairs;	       /* items are keys with places */
	bool has_sign, counts_down; /* of digits */
	Digit digits[DIGITS_MOST];
	uint32_t ndigits;
} Radix;

/* n is the line. */
Radix radix_new(const Lines *lines, const SortWay *way);
/* What moves, of the element at a place; the element is not read where items are places alone. */
const Value *radix_item(const Radix *radix, const Value *element, const Ix *at);
/* Appends the loops that sort the first n items and store those of the result. */
void sort_items(Radix *radix, Body *line);

/* An integer that is less where the element comes first, i32 or i64. */
const Value *sort_key(const Lines *lines, const Value *element);
Dtype sort_key_dtype(const Lines *lines);

#endif
