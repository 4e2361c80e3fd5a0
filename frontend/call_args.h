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
/* ---- call_hints.c: notes and repairs of the error that was reported last ---- */

/* Of an argument's name that the function does not have. */
void call_explain_key(Build *b, const CallArgs *args, const Function *fn, Name key);
/* Of argument `at`, which is one too many. */
void call_explain_surplus(Build *b, const Function *fn, const AstExpr *call, uint32_t at);
/* Of an argument that is missing. Requires: those that are given are matched. */
void call_explain_missing(Build *b, const CallArgs *args, const Function *fn, const AstExpr *call);
/* Warns of what is given to a configuration by its place: a size where a small fraction stands. `given` is by parameter. */
void call_warn_sizes(Build *b, const CallArgs *args, const Function *fn, const AstExpr *call,
		     const Value *given);

#endif
