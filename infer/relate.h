/* Relations between cells: sums, products, steps of an axis, totals of reshapes. */
#ifndef TSR_INFER_RELATE_H
#define TSR_INFER_RELATE_H

#include "infer/solver.h"

/* ---- relate.c, relate_labels.c, relate_total.c ---- */

/* Solves a relation between cells for those that follow from the others. */
void relation_run(Solver *s, ConId con);
/* A label goes from an axis to its letters and back. */
void relation_labels(Solver *s, ConId con);
/* linear.c: a relation that has changed and has several unknowns is solved by linear_run
 * together with others. True where that gave a size. */
void linear_touch(Solver *s, ConId con);
/* Solves what linear_touch has collected. True where that gave a size. */
bool linear_run(Solver *s);
/* Sizes that a relation ties to one that a dim spells. */
void relation_spells(Solver *s, ConId con);
/* A reshape: the total of one side is that of the other. */
void product_run(Solver *s, ConId con);
/* The product of all axes, and the number; SIZE_BAD where one is open. */
Size product_value(Solver *s, const Con *con);
/* When all else is known: the error for a total that is a power of one axis only for some dims. */
void product_last(Solver *s, ConId con);
/* After the last stage: does an axis that is a number hold its window? False after the error. */
bool affine_fits(Solver *s, ConId con);

#endif
