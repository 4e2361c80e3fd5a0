/* What a nest is computed as, and who decides on it: nothing here emits. */
#ifndef TSR_LOWER_NEST_PLAN_H
#define TSR_LOWER_NEST_PLAN_H

#include "lower/nest/forms.h"

/* Decides how the nest is computed: its loops, values and copies become those that are emitted, and
 * the choices are written to its kernel's schedule. Requires that the nest is set up. */
void nest_plan(Nest *nest, NestPlan *plan);

/* Is each element stored once, behind all that is read for it? */
bool nest_stores_once(const NestPlan *plan);

/* Copies operands of a contraction where that makes it a matrix product of fewer loops, `forced` or
 * of loops that are contiguous; false: nothing was done. */
bool nest_pack_operands(Nest *nest, bool forced);
/* Would it, where that is not forced? */
bool nest_may_pack_operands(Nest *nest);
/* Copies the picture of a convolution, with its margins, where lanes along the last loop of the
 * result read no vector of it or outside it (pad.c); false: nothing was done. */
bool nest_pad(Nest *nest);
/* Copies operands first where an order is asked for that names the loops behind the copies. */
void nest_copy_for_order(Nest *nest);
/* Puts the loops in the order that is asked for, if it is legal; is the sum kept in a local then?
 * `local`: is it now. */
bool nest_take_order(Nest *nest, bool scattered, bool local);
/* Adds the order of the loops to what was made. */
void nest_describe_order(const Nest *nest);

/* The operand that nest_pad would copy with its axes as they are and its margins; -1: none. */
int nest_wants_margins(Nest *nest);

#endif
