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
	uint32_t entry; /* of the kernel's schedule */
	NodeId inside;	/* computed where the nest reads it; NODE_NONE: nothing is */
} PlannedNest;

/* Who takes the steps of a scatter, with the same bits: what meets in an element does so in the order of the operand, or,
 * of integers, in an order that makes no difference. */
typedef struct ScatterPlan {
	int64_t parts; /* scatter_private.c: of the steps, each with a target of its own; 0: one after another */
	BufferId targets; /* ... of all parts */
	bool carries; /* scatter_carry.c: a row of the target is in registers while the index is the same; no parts */
	bool fills; /* ... and rows are set to the neutral element as steps come to them */
} ScatterPlan;

typedef enum KernelKind {
	KERNEL_NESTS,
	KERNEL_SCATTER,
	KERNEL_ARGMAX,
	KERNEL_SORT,
	KERNEL_CUMULATE,
	KERNEL_WORDS,	 /* random words */
	KERNEL_NUMBERS,	 /* of random words */
	KERNEL_COPY,	 /* of elements as they are stored */
	KERNEL_HALVES,	 /* ... two of which are to be a byte */
	KERNEL_BYTES,	 /* ... each of which is to be a byte, those that a step changes */
	KERNEL_RESHAPED, /* elements of what has no buffer, in storage order */
	KERNEL_LEAF,	 /* ... at their own indices */
} KernelKind;

typedef struct KernelPlan {
	KernelKind kind;
	Gen gen; /* with which emission goes on, in a copy */
	NodeId node;
	StoreTarget to;
	bool aside; /* `to` is a temporary that the target of an assignment takes in afterwards */
	bool clears_later; /* the target of an assignment is cleared behind that */
	IterVar fill; /* of the loop that sets `to` to `neutral` first; UINT32_MAX: there is none */
	Scalar neutral;
	PlannedNest *nests; /* of KERNEL_NESTS */
	uint32_t nnests;
	/* of a kernel of another kind: */
	NodeId step; /* HALVES, BYTES: that changes these elements; NODE_NONE: all of them */
	ScatterPlan scatter;
	Lines *lines;
} KernelPlan;

/* The plan of a node that has a kernel, of the routine at hand and, if there is one, in the row block at hand.
 * Temporaries that it copies into are declared. Requires: buffers are bound, and what it reads of the
 * routine is planned. Lives as long as the program. */
KernelPlan *kernel_plan(Lower *lower, NodeId id);
/* compute_at.c: finds the sum in whose steps the nest's may be computed, and the one that may be in the nest's; notes that
 * it has tiles. */
void compute_at_begin(Nest *nest);
void compute_at_end(const Nest *nest);
/* scatter_plan.c: who takes the steps, from the sizes and the target alone. What is chosen is written into the kernel's schedule, and temporaries are declared. */
ScatterPlan scatter_plan(Gen *gen, const KernelPlan *kernel);
/* along_lines.c: how lines are gone through. Requires that nothing is added to the target, except by argmax,
 * and that nothing in it is read. */
Lines *along_plan(Gen *gen, NodeId node, StoreTarget to);
/* halves.c: of a node that copies elements of two a byte to a tensor with a byte for each, or back, the assignment to that
 * tensor in between, if it reaches a part of it that is known when compiling; NODE_NONE. */
NodeId halves_step(const Lower *lower, NodeId id);

#endif
