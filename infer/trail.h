/* Conflicts, and the trail of what changed since the first one. */
#ifndef TSR_INFER_TRAIL_H
#define TSR_INFER_TRAIL_H

#include "infer/solver.h"

/* ---- conflict.c ---- */

/* Records one; the caller fills in the rest before the next. con: its place, or NONE. */
Conflict *conflict_new(Solver *s, ConflictKind kind, ConId con);
/* The same with two sizes that cannot be equal. */
Conflict *conflict_sizes(Solver *s, ConflictKind kind, ConId con, Size x, Size y);
static inline bool solver_failed(const Solver *s) { return s->conflicts.n > 0; }
static inline bool solver_stops(const Solver *s) { return s->conflicts.n > s->tolerated; }

/* ---- trail.c ---- */

/* To be called before the cell, or the row variable, changes in what messages ask of it. */
void trail_cell(Solver *s, CellId cell);
void trail_var(Solver *s, RowVarId var);
/* Requires: solving has stopped. Makes all as it was known at Conflict.known; trail.n: at last. */
void trail_go(Solver *s, size_t to);

#endif
