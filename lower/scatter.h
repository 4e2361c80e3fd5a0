/* A scatter, as the files scatter*.c share it: its loops, the plan, and what they emit.
 *
 * Loops over the result before its last indexed axis (R) stand outermost, then those over the steps
 * of the operand (K), then those behind the indexed axes (R'), which go over a row of the target:
 *
 *   for R: for K: local at = ids[R, K]; for R': result[R, at, R'] ACC= x[R, K, R']
 */
#ifndef TSR_LOWER_SCATTER_H
#define TSR_LOWER_SCATTER_H

#include "lower/kernel.h"
#include "lower/nest/nest.h"

typedef struct ScatterLoop {
	IterId id;
	Sym name;
	Size extent;
} ScatterLoop;

/* The row that is in registers, and where its first element is in the target; -1: there is none yet. */
typedef struct CarriedRow {
	LocalId row;
	const Value *last;
	const Value *filled; /* the first element that is not set yet; NULL: all are */
} CarriedRow;

typedef struct Scatter {
	Gen *gen;
	NodeId id;
	const Node *node;
	const Proj *proj;
	const Piece *piece;
	StoreTarget to;
	ScatterLoop *loops;	/* R, K, R', outermost first; none of one step */
	uint32_t nloops;
	uint32_t first, behind; /* K are from the first on, R' from behind on */
	uint32_t inner;		/* indices are read outside of these: behind, or none */
	Size steps, rows,
		row; /* of K, of the indexed axes, and elements of R'; SIZE_BAD: too many */
	const Ix **by_iter;	/* by IterId */
	bool carries;		/* the row stays in registers while the index is the same */
	CarriedRow carried;
	const KernelPlan *
		filling; /* rows are set to its neutral element as steps come to them; NULL: they are before */
} Scatter;

/* A copy for values that are only looked at. */
typedef struct ScatterLook {
	Gen gen;
	Scatter scatter;
} ScatterLook;

/* The indices of one step, which are read in its body: of the result's axes, and whether they are
 * inside. */
typedef struct ScatterStep {
	const Ix **axes;
	VEC(Cond) conds;
	Body body;
} ScatterStep;

/* ---- scatter.c: what all forms are made of ---- */

/* The scatter's loops, and none open. */
Scatter scatter_of(Gen *gen, NodeId node, StoreTarget to);
/* Begins a step: its indices are read in its body. Requires that by_iter has R and K. */
void scatter_step(Scatter *scatter, ScatterStep *step);
/* Appends the step with `inside` where the indices are inside. */
void scatter_end_step(Scatter *scatter, ScatterStep *step, Block inside, Body *body);
/* The loops from the inner ones on over the store of an element, at element `offset` + its own of the buffer. */
Block scatter_row(Scatter *scatter, ScatterStep *step, StoreTarget to, const Ix *offset);
/* Gives R' new iterators. */
void scatter_open_row(Scatter *scatter);
/* What a step adds to an element, at R and K as by_iter has them, and the iterator of the innermost R'; R' are new.
 * Requires that there are some. */
const Value *scatter_element(Scatter *scatter, SharedLocals *shared, IterVar *var);
/* A copy in which R and K have iterators; nothing of the kernel changes. */
ScatterLook *scatter_look(const Scatter *scatter);
/* K as step number `at` has them. */
void scatter_set_steps(Scatter *scatter, const Ix *at);
/* A loop over 0 .. below `end` whose iterations are independent where that is said. */
const Stmt *scatter_loop(Scatter *scatter, IterVar var, const Ix *end, const Body *body,
			 bool independent);

/* ---- scatter_carry.c: the row of the target in registers ---- */

/* Does it stay there? Then the kernel's schedule says so. */
bool scatter_choose_carry(const Scatter *scatter);
/* May rows be set to the neutral element as steps come to them? Not where fewer steps than rows are known. Requires: it stays. */
bool scatter_may_fill(const Scatter *scatter);
/* In front of the loops over the steps, and behind them; nothing where it does not stay. */
void scatter_begin_carried(Scatter *scatter, Body *body);
void scatter_end_carried(Scatter *scatter, Body *body);
/* What a step does with its row. Requires that it stays. */
Block scatter_carry_row(Scatter *scatter, ScatterStep *step);

/* ---- scatter_private.c: appends the loops to the kernel ---- */

/* Requires: the plan has parts. */
void scatter_private(Scatter *scatter, const ScatterPlan *plan);

#endif
