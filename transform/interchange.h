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

/* The loop of the routine that they are in. */
static inline const ProgramLoop *interchange_loop(const StepLoop *s)
{
	return &s->program->loops.at[s->kernels[s->from].loop];
}
/* The number of the step that `step` is at: of a loop that goes down, from the last one. */
const Ix *interchange_step(const StepLoop *s);
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
/* Steps without loops over elements: what they carry in locals. */
Block interchange_in_locals(StepLoop *s);

/* Steps of lines (interchange_lines.c). */
typedef struct Lines {
	Size n;
	int64_t unit;  /* so many at least go together */
	IterVar block; /* of the kernel, the number of a block of them */
	bool fits;     /* are there whole blocks alone? */
	Sym name;      /* of the last kernel's loop */
	Span span;
	VEC(BufferId) gone; /* temporaries that are computed where they would be copied */
} Lines;
/* Puts the kernels together, where each has a loop through all lines, and sees whether their steps are independent.
 * Requires: the kernels are all of a loop, and the rest is empty. */
void interchange_find_lines(StepLoop *s, Lines *lines);
/* The lines that take their steps together; 0: it would not pay. Requires: they are independent. */
int64_t interchange_lines(const StepLoop *s, const Lines *lines);
/* The kernel for about n lines at a time. Requires: they are independent. */
void interchange_in_lines(StepLoop *s, Lines *lines, int64_t n);

/* Are sizes such that an iterator can stand for the step? Does what was put together touch scratch buffers? */
bool interchange_is_linear(const StepLoop *s, const Kernel *kernel);
bool interchange_uses_scratch(const StepLoop *s);
/* Does another kernel of the routine touch the buffer, or a loop use it itself? */
bool interchange_is_seen_elsewhere(const StepLoop *s, BufferId buffer);

#endif
