/* The forms that go along one axis: cumulate, sort, argsort, topk. */
#ifndef TSR_FRONTEND_ALONG_H
#define TSR_FRONTEND_ALONG_H

#include "frontend/build.h"

/* forms.c: sum, max, min or prod, as the word is; OP_NONE after an error. */
Op form_reduction(Build *b, const AstExpr *expr);

/* The tensor that a call gives; of topk the pair of elements and places; the error value after an error.
 * Requires: as many arguments as frontend/forms.def has for the form. */
Value run_cumulate(Build *b, const AstExpr *call);
Value run_sort(Build *b, const AstExpr *call);
Value run_argsort(Build *b, const AstExpr *call);
Value run_topk(Build *b, const AstExpr *call);

#endif
