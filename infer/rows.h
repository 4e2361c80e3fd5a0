/* Rows of unknown length: their variables, and equations and refinements between them. */
#ifndef TSR_INFER_ROWS_H
#define TSR_INFER_ROWS_H

#include "infer/solver.h"

/* ---- rows.c, rows_refine.c ---- */

/* A variable that nothing is known of; NULL: it has no name. */
RowVarId rowvar_new(Solver *s, Sym name, Span span);
/* Follows variables that are solved to another variable alone. */
RowVarId rowvar_root(Solver *s, RowVarId var);
/* The row with its solved variables put in: the axes before and behind what is still open, if
 * anything is. `overflow` where there are more than ROW_LIMIT. */
void row_flatten(Solver *s, const RowTerm *row, FlatRow *flat);
/* Requires that the variable is open. `rule`: the closing rule that chose, or NULL where `why`
 * forces. */
void rowvar_solve(Solver *s, RowVarId var, RowTerm value, ConId why, const char *rule);
/* Does what the constraint allows now: pairs axes, solves a variable. It is done, or wakes when one
 * of its variables is solved. */
void row_equal_run(Solver *s, ConId con);
void row_refine_run(Solver *s, ConId con);
/* A deferred equation between shifted rows, one of which has `least` axes or more: the variable of
 * the longer gets none. */
bool row_equal_close(Solver *s, ConId con, uint32_t least);
/* The specification that says how many axes the result of a constraint has, if it is a later use of
 * that result; NONE: what says so is the operation itself. */
ConId settling_use(const Solver *s, const Con *con);
/* The constraint wakes when the variable is solved. */
void rowvar_watch(Solver *s, RowVarId var, ConId con);

/* ---- ranks.c ---- */

/* The conflict of rows that would each have to be longer than the next, if there are such */
void check_circles(Solver *s);
/* The conflict of a row of more than ROW_LIMIT axes. */
void check_ranks(Solver *s, NodeId node);

#endif
