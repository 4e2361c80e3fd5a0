/* What cannot be, as data. The solver, and the collector of guards after it, record conflicts and
 * go on, or stop; they make no text. Messages are made when all has stopped (infer/blame.h).
 *
 *   Conflict := kind, places (a constraint, a node or a span), what disagrees there
 *
 * Sizes stand in it as they were known when it was found; what else was known then, the trail says
 * (infer/trail.c). */
#ifndef TSR_INFER_CONFLICT_H
#define TSR_INFER_CONFLICT_H

#include "infer/infer.h"

typedef uint32_t CellId;
typedef uint32_t RowVarId;
typedef uint32_t ConId;
#define NONE UINT32_MAX

typedef enum ConflictKind {
#define CONFLICT(kind, code) CONFLICT_##kind,
#include "infer/conflict.def"
#undef CONFLICT
	CONFLICT_KINDS
} ConflictKind;

/* A dim that equations settle. */
typedef struct SettledDim {
	DimId dim;
	Size value;
	Span span; /* of the equation */
} SettledDim;

typedef struct Conflict {
	ConflictKind kind;
	size_t known;	/* when it was found: how much was known (infer/trail.c) */
	ConId con, use; /* NONE: no constraint */
	NodeId node;	/* NODE_NONE: that of con */
	RowKind row;
	Span span; /* where there is no constraint */
	CellId cells[2];
	Size sizes[2];
	Sym labels[2], letter;
	CellId born[2];
	int64_t number, divisor;
	const ScalarArg *scalar; /* of a routine */
	const char *limit; /* which bound of sizes it is beyond: sizes_limit_text */
	VEC(ConId) cons;
	VEC(ConId) ties, meets;
	Guard guard;
	VEC(Guard) others;
	VEC(SettledDim) settled;
} Conflict;

/* The code of its message. */
DiagCode conflict_code(ConflictKind kind);

#endif
