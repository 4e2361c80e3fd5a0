/* Constraints: how they are made, and the queues from which they are taken. */
#ifndef TSR_INFER_CONS_H
#define TSR_INFER_CONS_H

#include "infer/solver.h"

/* ---- cons.c ---- */

/* Adds a constraint and lets its cells wake it; it is not queued. */
ConId con_new(Solver *s, Con con);
/* An open row, with a variable of its own; a closed row of these cells (copied). */
RowTerm row_open(Solver *s, Sym name, Span span);
RowTerm row_cells(Solver *s, const CellId *cells, uint32_t n);
static inline RowTerm row_closed(void)
{
	return (RowTerm){.var = NONE};
}

/* ---- queue.c ---- */

/* Into its queue, unless it is there or done. */
void con_wake(Solver *s, ConId con);
/* The same of an edge. Requires: an edge of the solver. */
void edge_wake(Solver *s, uint32_t edge);
/* Who mentions a class or a variable: all of them are woken when it changes. */
void occs_wake(Solver *s, const OccList *list);
void occs_add(Solver *s, OccList *list, OccKind kind, uint32_t id);
void occs_append(OccList *to, const OccList *from); /* `from` must not be used again */
/* The next constraint, or edge where the id has EDGE_BIT; false: both queues are empty. */
bool queue_take(Solver *s, uint32_t *id);
#define EDGE_BIT 0x80000000u

/* ---- spec_letters.c ---- */

/* The first axis that has the letter; NULL: none has. */
const SpecAxis *spec_axis_of(const SpecTensor *tensor, Sym letter);
/* Does the letter stand in the tensor, alone or as a part of an axis? */
bool spec_tensor_has(const SpecTensor *tensor, Sym letter);

#endif
