/* Short lines in order, many side by side in vectors. */
#ifndef TSR_LOWER_ALONG_EXCHANGE_H
#define TSR_LOWER_ALONG_EXCHANGE_H

#include "lower/along/lines_emit.h"

/* Appends the loop that sorts way->lanes neighbouring lines at a time, as many as there are whole groups of. */
void sort_by_exchanges(const Lines *lines, const SortWay *way, Body *into);
/* 1 where a comes before b, else 0, in their type. */
const Value *sort_comes_before(const Lines *lines, const Value *a, const Value *b);

#endif
