/* How a size was derived: read off the merges and values that the solver recorded. */
#ifndef TSR_INFER_TRACE_H
#define TSR_INFER_TRACE_H

#include "infer/solver.h"

struct Trace {
	Solver *solver;
	const Sources *sources;
};

/* One merge on the way between two cells of a class. */
typedef struct Step {
	CellId from, to;
	ConId con; /* NONE: a closing rule */
} Step;
typedef VEC(Step) Path;

/* A row of a tensor. */
typedef struct RowAt {
	NodeId node; /* NODE_NONE: none */
	RowKind row;
} RowAt;

/* The operand's row that is this very row, or NODE_NONE. */
RowAt row_shared_with(const Graph *graph, RowAt at);
/* The merges that made a and b one class, from a to b; empty when they are the same cell. */
Path proof_path(Solver *s, CellId a, CellId b);

/* Where a class has its value from: of the first places that write the size, the one with the
 * fewest merges between it and `cell`. */
typedef struct Origin {
	CellId cell;
	Span span; /* of a size that is written */
	Span also; /* as of SizeExpr */
} Origin;
Origin origin_near(Solver *s, CellId cell);
/* Where the size of a cell meets one that is written otherwise: on the way to the nearest place that writes that,
 * the first operation of which it passes two operands, one after the other: the operand on the cell's side; else the
 * operation in the middle of the way. */
typedef struct Meeting {
	ConId con;	/* NONE: nowhere */
	uint32_t steps; /* the merges between the two */
} Meeting;
Meeting meeting_of(Solver *s, CellId cell);
/* The closing rules that fired in a stage. */
void explain_events(FILE *out, Solver *s, const Sources *sources, int stage);

#endif
