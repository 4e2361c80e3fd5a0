/* Steps that train: `backward`, gradients of parameters, loops over parameters, and what belongs to one.
 *
 *   backward y                       gradients of y are asked for
 *   p.grad                           the gradient with respect to p, of all `backward` steps before, added up
 *   for p in params(y, "*.w") {..}   the steps for each parameter that y depends on
 *   p.m =: 0.9 * p.m + p.grad        a slot: a tensor of p's shape in the state, 0 at the start, called `w.m`
 *   optim.sgd(rate)(p)               steps of a routine with two lists
 *   E with update { steps }          steps that belong to a value, such as running means
 *   update y                         carries out those of all that y is computed from, each once
 */
#ifndef TSR_FRONTEND_TRAINING_H
#define TSR_FRONTEND_TRAINING_H

#include "frontend/build.h"

/* ---- backward.c, gradient_node.c ---- */

/* Evaluates a number y, of which gradients are asked for from here on. */
void eval_backward(Build *b, const AstStep *step);
/* `x.grad` at that place; an error value after an error. */
Value gradient_member(Build *b, NodeId x, const AstExpr *expr);

/* ---- slots.c ---- */

/* The slot of a parameter that an expression `p.name` reads; NODE_NONE: it has none of that name, and no step around the
 * expression assigns one. Requires: a parameter. */
NodeId slot_read(Build *b, NodeId param, const AstExpr *expr);
/* The slot that is assigned, made where there is none; NODE_NONE after an error. Requires: a parameter. */
NodeId slot_make(Build *b, NodeId param, const AstExpr *expr);

/* ---- each_param.c ---- */

/* Evaluates the steps once for each parameter. */
void eval_for(Build *b, const AstStep *step);

/* ---- step_call.c ---- */

/* Declares a routine with two lists. */
void eval_steps(Build *b, const AstStmt *stmt);
void eval_step_call(Build *b, const AstStep *step);

/* ---- update.c ---- */

/* The first step so far that has written what one of these is computed from; a span of no file where none has. */
Span routine_writes_of(Build *b, const NodeIds *of);
/* Carries out the steps of all that a name is computed from. */
void eval_update(Build *b, const AstStep *step);
/* Remembers that a routine goes backwards from y, which `expr` gives. */
void updates_note_backward(Build *b, NodeId y, const AstExpr *expr);
/* Warns of steps that a routine should carry out and none does: what they belong to is gone through backwards. */
void updates_warn_left(Build *b);

#endif
