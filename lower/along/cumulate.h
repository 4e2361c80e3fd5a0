/* What the files for sums up to each place share: what they are built of, and who makes which loops.
 *
 *   cumulate.c       lines that are added in turn
 *   cumulate_runs.c  long lines, in runs
 */
#ifndef TSR_LOWER_ALONG_CUMULATE_H
#define TSR_LOWER_ALONG_CUMULATE_H

#include "lower/along/lines_emit.h"

/* Lines, or runs of one, that are added up side by side; columns of a block. */
enum { SIDE = 4, COLUMNS = 256 };

/* The place that is the i-th to be added; the operand's element there, in the result's type. */
const Ix *cumulate_place(const Lines *lines, const Ix *i);
const Value *cumulate_element(const Lines *lines, const Ix *i, Body *body);
/* y[i] = value, and y[i]. */
const Stmt *cumulate_store(const Lines *lines, const Ix *i, const Value *value);
const Value *cumulate_stored(const Lines *lines, const Ix *i);
const Value *cumulate_neutral(const Lines *lines);
/* The n places from `lo` on in turn, as if nothing were before them. Returns what they come to. */
const Value *cumulate_range(const Lines *lines, const Ix *lo, const Ix *n, Body *body);
/* The same of SIDE whole runs, side by side. Returns what each comes to. */
LocalId cumulate_side(const Lines *lines, const Ix *lo, Body *body);
/* The same of columns from the one at hand to `end`. Requires n > 0. */
void cumulate_columns(const Lines *lines, const Ix *end, const Ix *lo, const Ix *n, Body *body);
/* All lines, of several runs. */
void cumulate_runs(const Lines *lines, Body *body);

#endif
