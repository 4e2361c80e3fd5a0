/* What must hold of the sizes of dims: collected from a finished solution, and reduced. */
#ifndef TSR_INFER_GUARDS_H
#define TSR_INFER_GUARDS_H

#include "infer/solver.h"

typedef VEC(Guard) Guards;

/* Asks that sizes, and indices below sizes, fit the dtypes of integers (integers.c). */
void ask_integers(Solver *s);
/* The guards of the solution into inference->guards; conflicts for those that can never hold. */
void guards_collect(Solver *s, Inference *inference);
/* Does it hold by itself, whatever the dims are? (false: not known) */
bool guard_holds(const Sizes *sizes, const Guard *g);
/* The same as a fact that base/size_system.h takes. */
SizeFact guard_fact(const Guard *g);
/* "n must be a multiple of 2" */
const char *guard_claim_text(Arena *arena, Sizes *sizes, const Guard *g);
/* The same with what asks for it: "n must be a multiple of 2 (net.tsr:3)"; without sources the claim alone. */
const char *guard_text(Arena *arena, const Sources *sources, Sizes *sizes, const Guard *g);
/* Those of `found` that do not follow from others, each with its text. */
void guards_reduce(Solver *s, Inference *inference, const Guards *found);

/* guards_steps.c: does it name the number of a loop's step? */
bool counts_steps(const Solver *s, Size a);
/* Makes of a guard that mentions the number of a loop's step what the routine can check
 * before. False after a conflict. */
bool guard_over_steps(Solver *s, Guard *g);
/* Adds that the number of a step is below their number. */
void guards_of_steps(Solver *s, Inference *inference);
/* A conflict where a tensor's shape differs from step to step. */
void check_steps(Solver *s, const Inference *inference);

/* guards_scalars.c: adds that scalars which are sizes are what a dim may be. */
void guards_of_scalars(Solver *s, Inference *inference);
/* A conflict where a scalar is in the size of an axis. */
void check_scalars(Solver *s, const Inference *inference);

#endif
