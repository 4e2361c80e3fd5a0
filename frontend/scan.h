/* Loops at run time, scan(n, h = x, i) until (c) { E }, and the number of their step as a size. */
#ifndef TSR_FRONTEND_SCAN_H
#define TSR_FRONTEND_SCAN_H

#include "frontend/build.h"

/* As eval, for AST_SCAN: what the loop carries, as the last step leaves it; the error value after an error. */
Value eval_scan(Build *b, const AstExpr *expr);

/* Is the value a tuple of as many as there are names? False after an error (control.c). */
bool bind_check_tuple(Build *b, const AstBind *bind, const Value *value);

#endif
