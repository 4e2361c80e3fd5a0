/* Dims that no caller passes: the number of a loop's step, and a scalar of a routine that says where an axis
 * is read or written. They stand behind all that are declared, so each has a placeholder until the file is
 * evaluated.
 */
#ifndef TSR_FRONTEND_LATE_DIMS_H
#define TSR_FRONTEND_LATE_DIMS_H

#include "frontend/build.h"

/* What stands for the dim, in sizes as written, until late_dims_add. */
DimId late_dim_new(Build *b, Dim dim);
static inline bool late_dim_is(DimId dim) { return dim > UINT32_MAX / 2 && dim != DIM_NONE; }
/* The value of an integer scalar of the routine, at the place that uses it; NULL: the node is none. */
const SizeExpr *late_dim_of_scalar(Build *b, NodeId id, Span span);
/* Gives each its dim, those of scalars first: in sizes, loops and routines. A name that another dim has gets a
 * number. */
void late_dims_add(Build *b);
/* A size that a caller knows and that the size does not pass: itself, or what numbers of steps in it do not pass. NULL: a scalar is
 * in it. Requires: the loops of these steps are among the graph's. */
const SizeExpr *late_dims_most(Build *b, const SizeExpr *size);

#endif
