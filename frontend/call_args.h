/* Arguments of a call, matched to the names that a function or a routine declares. */
#ifndef TSR_FRONTEND_CALL_ARGS_H
#define TSR_FRONTEND_CALL_ARGS_H

#include "frontend/build.h"

typedef struct CallArgs {
	const AstParam *params;
	uint32_t nparams;
	const AstExpr **exprs; /* NULL: not given */
} CallArgs;

/* Sets `exprs`; false after an error. Requires: the names are those of one list of the function. */
bool call_match(Build *b, CallArgs *args, const Function *fn, const AstExpr *call);

#endif
