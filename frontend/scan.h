/* Loops at run time, scan(n, h = x, i) until (c) { E }, and the number of their step as a size. */
#ifndef TSR_FRONTEND_SCAN_H
#define TSR_FRONTEND_SCAN_H

#include "frontend/build.h"

Value eval_scan(Build *b, const AstExpr *expr);
/* Gives each loop the dim that stands for the number of its step, behind all others. */
void scan_add_dims(Build *b);

/* Dims of loops are made last: until then, in sizes as written, this stands for that of a loop
 * (size_expr.c, which lists such sizes in Build.steps). */
DimId step_placeholder(uint32_t loop);
bool step_is_placeholder(DimId dim);

/* Is the value a tuple of as many as there are names? False after an error (control.c). */
bool bind_check_tuple(Build *b, const AstBind *bind, const Value *value);

#endif
