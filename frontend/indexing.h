/* The forms that index axes by the values of operands. */
#ifndef TSR_FRONTEND_INDEXING_H
#define TSR_FRONTEND_INDEXING_H

#include "frontend/build.h"

/* The tensor that a call gives; the error value after an error. Requires: as many arguments as frontend/forms.def
 * has for the form. */
Value indexing_gather(Build *b, const AstExpr *call);
Value indexing_scatter(Build *b, const AstExpr *call);

#endif
