/* Gradients in expressions: grad(y, x), vjp(y, x, c), jvp(y, x, t), stop(x), recompute(E).
 *
 *   grad(y, x)    of one number y, in the shape of x
 *   vjp(y, x, c)  of y in the direction c, which has y's shape: grad(sum(y .* stop(c)), x)
 *   jvp(y, x, t)  how y moves where x moves along t, which has x's shape: grad(sum(vjp(y, x, c) .* t), c)
 *   stop(x)       x, which counts as a constant for gradients
 *   recompute(E)  E, of which gradients compute again what they need
 */
#ifndef TSR_FRONTEND_GRADIENT_H
#define TSR_FRONTEND_GRADIENT_H

#include "frontend/build.h"

/* A node GRADIENT or TANGENT: of y with respect to x, as y has read it, in the direction c or NODE_NONE; where it, y and x are written. */
typedef struct Gradient {
	NodeKind kind;
	NodeId y, x, c;
	Span span, of, to;
} Gradient;
NodeId gradient_make(Build *b, const Gradient *gradient);
/* A copy of the tensor as it is here, for gradients; the one that is there, where nothing has written the tensor since. */
NodeId gradient_copy(Build *b, NodeId id, Span span);
/* What a gradient is taken of, or with respect to, as a tensor of floats; NODE_NONE after an error. */
NodeId gradient_operand(Build *b, Value value);
NodeId gradient_variable(Build *b, Value value);
/* As eval, for calls of these forms. Requires: as many arguments as frontend/forms.def has. */
Value gradient_of(Build *b, const AstExpr *call);
Value gradient_product(Build *b, const AstExpr *call);
Value gradient_tangent(Build *b, const AstExpr *call);
Value gradient_stop(Build *b, const AstExpr *call);
Value gradient_recompute(Build *b, const AstExpr *call);
/* Of the gradients that routines use, once each: those that go through what has none yet are errors, those of
 * what does not depend on x warnings, as they are 0. */
void gradients_check(Build *b);

#endif
