/* The code of a nest, as it is planned. Who emits may look at what was decided; who decides does not
 * include this.
 */
#ifndef TSR_LOWER_NEST_EMIT_H
#define TSR_LOWER_NEST_EMIT_H

#include "lower/nest/forms.h"

/* The stores of an elementwise kernel that reads windows, cut where these leave an axis
 * (nest/border.c). `cuts`: of each loop. */
void nest_emit_borders(Nest *nest, const LoopCut *cuts);

/* The stores of one whose steps are several elements (nest/phases.c): of all phases; of one phase, with the
 * neutral element at others. */
void nest_emit_phases(Nest *nest);
void nest_emit_between(Nest *nest);

/* nest/bounds.c */
/* Loops [from, to) around a body; loops from first_cut on may be bounded by guards. */
Block nest_wrap(const Nest *nest, uint32_t from, uint32_t to, uint32_t first_cut, Block body);
/* The loop at a position, of its steps from lo to before hi those that the guards leave. */
Block nest_wrap_range(const Nest *nest, uint32_t at, uint32_t first_cut, const Ix *lo, const Ix *hi,
		      Block body);
/* The body behind a condition for the guards that bound no loop; the body itself where all bound
 * one. */
Block nest_guarded_block(const Nest *nest, uint32_t first_cut, Block body);
/* A step of the loops: the locals that the value reads are set, then the statement. */
Block nest_step(Nest *nest, const Stmt *stmt);
/* The root's value from the finished sum, with the statements that set what it reads. */
const Value *nest_finish(Nest *nest, const Value *sum, Body *body);
/* Stores, or adds, the value where the result has the element at hand. */
static inline void nest_store(const Nest *nest, const Value *value, Body *body)
{
	Arena *arena = nest->gen->arena;
	PUSH(arena, body->stmts,
	     stmt_store(arena, nest->target.buffer, nest->at, nest->target.acc, value));
}
static inline void nest_store_finished(Nest *nest, const Value *sum, Body *body)
{
	nest_store(nest, nest_finish(nest, sum, body), body);
}

/* The loops of the result around a sum of few elements, which are read in one expression
 * (nest/short.c). */
void nest_emit_short(Nest *nest, Op reduce, int64_t steps);
/* Rows of the last loop of the result in a local, so many lanes at a time (nest/short.c). */
void nest_emit_row(Nest *nest, Op reduce, int64_t lanes);
/* A long sum whose innermost loop is reduced, in lanes; the loops are in their final order. */
void lanes_emit(Nest *nest, const NestPlan *plan);
/* A long sum of one element or of few neighbours (lanes_parts.c). `parts`: where parts are kept, BUFFER_NONE of one. */
void lanes_parts_emit(Nest *nest, Op reduce, SumOrder order, BufferId parts);

#endif
