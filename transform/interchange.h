/* Loops of steps that go inside of loops over elements: what interchange_find.c finds and interchange.c makes, with what is
 * carried in registers as interchange_registers.c says. */
#ifndef TSR_TRANSFORM_INTERCHANGE_H
#define TSR_TRANSFORM_INTERCHANGE_H

#include "loops/walk.h"
#include "transform/transform.h"

/* The kernels of a loop of a routine, as one. */
typedef struct StepLoop {
	const Transform *t;
	Program *program;
	const Kernel *kernels; /* the routine's */
	uint32_t n;
	uint32_t from, to; /* those of the loop */
	/* what is made of them: the loops over elements, outermost first, around that of the steps */
	Kernel kernel;
	const Stmt *loops[NEST_LOOPS]; /* as the kernel with the most of them has them */
	uint32_t nloops;
	IterVar iters[NEST_LOOPS], step; /* of `kernel` */
	Block body;			 /* of an element in a step */
	bool made;			 /* is it one kernel now? */
	bool independent; /* do the steps of each element depend on nothing that those of others make? */
} StepLoop;

/* Puts the kernels together, where they are nests over the same elements, and sees whether their steps are independent.
 * Requires: the kernels are all of a loop, and the rest is empty. */
void interchange_find(StepLoop *s);
/* Temporaries of a step alone become locals, and have no elements any more. Requires: it is independent. */
void interchange_locals(StepLoop *s);
/* Every value of a statement of the body. */
void interchange_values(const Stmt *stmt, SeeValue see, void *of);
/* The loop of the steps around a block. */
Stmt *interchange_steps(const StepLoop *s, Block block);

/* May what elements of the innermost loop carry be in registers? That of how many is it, if nothing is asked? 0: of none. */
bool interchange_has_registers(const StepLoop *s);
int64_t interchange_registers(const StepLoop *s);
/* The innermost loop over elements, around the steps: n elements at a time in registers, `first` the iterator of the first
 * ones, and those that are left. Requires: they may be. */
Block interchange_in_registers(StepLoop *s, IterVar first, int64_t n);

#endif
