/* How the kernel of a node is computed, decided before any kernel of its routine is emitted: where it
 * stores, and what becomes of each of its nests. kernel.c and nest.c emit it as it is planned.
 */
#ifndef TSR_LOWER_KERNEL_PLAN_H
#define TSR_LOWER_KERNEL_PLAN_H

#include "lower/nest_plan.h"

/* A nest for each piece of the projection, in their order. */
typedef struct PlannedNest {
	Nest nest;
	NestPlan plan;
	uint32_t entry;	  /* of the kernel's schedule */
	uint32_t nlocals; /* of the kernel, up to those that the nest reads */
	NodeId inside;	  /* computed where the nest reads it; NODE_NONE: nothing is */
} PlannedNest;

typedef struct KernelPlan {
	Gen gen; /* with which emission goes on, in a copy */
	NodeId node;
	StoreTarget to;
	bool aside; /* `to` is a temporary that the target of an assignment takes in afterwards */
	bool clears_later; /* the target of an assignment is cleared behind that */
	IterVar fill; /* of the loop that sets `to` to `neutral` first; UINT32_MAX: there is none */
	Scalar neutral;
	PlannedNest *nests; /* NULL: it is none */
	uint32_t nnests;
	VEC(NodeId) produced; /* what copies and reads compute */
} KernelPlan;

/* The plan of a node that has a kernel, of the routine at hand and, if there is one, in the row block at hand.
 * Temporaries that it copies into are declared. Requires: buffers are bound, and what it reads of the
 * routine is planned. Lives as long as the program. */
KernelPlan *kernel_plan(Lower *lower, NodeId id);
/* Aborts with BUG where loops do not suit the form of their nest, or tiles do not cover their loops or
 * need more registers than the target has. */
void kernel_plan_verify(const KernelPlan *plan);
/* A line for each nest, as docs/ir.md says. */
void kernel_plan_dump(FILE *out, const KernelPlan *plan);

#endif
