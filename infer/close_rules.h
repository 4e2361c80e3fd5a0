/* What each closing rule of the table in close.c decides. */
#ifndef TSR_INFER_CLOSE_RULES_H
#define TSR_INFER_CLOSE_RULES_H

#include "infer/close.h"

/* ---- close_*.c ---- */

/* The rules of the table in close.c, which says what each decides. `rule` is the rule's name there, which
 * explanations give. */
void close_cycles(Solver *s, const char *rule);
void close_kept_rows(Solver *s, const char *rule);
void close_total_rows(Solver *s, const char *rule);
void close_leaf_rows(Solver *s, const char *rule);
void close_leaf_bounds(Solver *s, const char *rule);
void close_unused_rows(Solver *s, const char *rule);
void close_only_ones(Solver *s, const char *rule);
void close_parts(Solver *s, const char *rule);
void close_shifted_rows(Solver *s, const char *rule);
void close_reshaped(Solver *s, const char *rule);
void close_words(Solver *s, const char *rule);
void close_total_row(Solver *s, const char *rule);
void close_factors(Solver *s, const char *rule);
void close_leaf_ones(Solver *s, const char *rule);
void close_result_rows(Solver *s, const char *rule);
void close_last_rows(Solver *s, const char *rule);
void close_result_ones(Solver *s, const char *rule);
void close_bounds(Solver *s, const char *rule);
void close_rests(Solver *s, const char *rule);
void close_rounded(Solver *s, const char *rule);
void close_at_least(Solver *s, const char *rule);
void close_undetermined(Solver *s, const char *rule);
void close_longest(Solver *s, const char *rule);
void close_ones(Solver *s, const char *rule);

/* Is total / known the size of an axis? A size divided by one known only at run time is not: there
 * the two must be equal. */
bool close_fills_axis(Solver *s, Size total, Size known);
/* Can the open axis have this size, by each relation that it is the result of? */
bool axis_may_be(Solver *s, CellId axis, Size size);
/* Axes of reshapes that are 1, where a literal 1 meets them and what their uses have is no
 * solution. */
void close_refused(Solver *s, const char *rule);
/* Shares out one known total, where nothing else may give its factors sizes. */
void close_given_total(Solver *s, const char *rule, ConId id);
/* An open size of the node is 1 where something broadcasts into it and all that does is 1; it holds
 * the fixed indices of its axis. Not where it is that of a leaf, and the total of the product says
 * it. */
void close_least_of(Solver *s, const char *rule, NodeId node, ConId total);
/* The greatest fixed index of the open axis, and one more; 0: none is read or written. */
int64_t least_index(const Solver *s, CellId cell);

#endif
