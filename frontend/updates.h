/* Steps that belong to a value (update.c). */
#ifndef TSR_FRONTEND_UPDATES_H
#define TSR_FRONTEND_UPDATES_H

#include "frontend/build.h"

typedef struct Update {
	const AstExpr *expr;
	Activation at; /* with the names that its steps see */
	NodeIds of;    /* a tensor, or those of a tuple */
	size_t done;   /* 1 + the number of the routine that carried it out last; 0: none has */
	const AstExpr *backward; /* the first y of `backward y` that is computed from it, or NULL */
	Span written; /* the step of that routine that wrote before what the value depends on, or none */
} Update;

typedef VEC(Update *) Updates;

/* The value of E in `E with update { steps }`, a tensor of its own, whose steps are noted; nodes from `first` on were made for it.
 * An error value after an error. */
Value update_note(Build *b, const AstExpr *expr, Value value, NodeId first);

#endif
