/* Items of a line in order by the digits of their keys, for what has found which items they are. */
#ifndef TSR_LOWER_ALONG_RADIX_H
#define TSR_LOWER_ALONG_RADIX_H

#include "lower/along/lines_emit.h"

typedef struct Radix {
	const Lines *l;
	const SortWay *way; /* how, and room for twice the line */
	LocalId source;
	const Ix *n; /* items, at least one, at most the line */
} Radix;

/* n is the line. */
Radix radix_new(const Lines *lines, const SortWay *way);
/* What moves, of the element at a place; the element is not read where items are places alone. */
const Value *radix_item(const Radix *radix, const Value *element, const Ix *at);
/* Appends the loops that sort the first n items and store those of the result. */
void sort_items(Radix *radix, Body *line);

/* Appends the loops that sort one line, of at least one element, by digits. */
void sort_by_digits(const Lines *lines, const SortWay *way, Body *line);
/* The same of the result's first few, by the least keys of groups (select.c). */
void select_first(const Lines *lines, const SortWay *way, Body *line);

/* An integer that is less where the element comes first, i32 or i64. */
const Value *sort_key(const Lines *lines, const Value *element);

#endif
