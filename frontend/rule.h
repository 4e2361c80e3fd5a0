/* Written rules of gradients: fn f(x, y) = E adjoint (c) = (EX, EY). */
#ifndef TSR_FRONTEND_RULE_H
#define TSR_FRONTEND_RULE_H

#include "frontend/build.h"

/* A function that is applied to tensors, and what its body gives there. */
typedef struct Applied {
	const AstStmt *fn;
	const Value *operands; /* one for each of its tensors */
	Value value;
} Applied;

/* A rule while it is evaluated. */
typedef struct Ruled {
	const Applied *applied;
	Value value; /* what the application gives, where no more is evaluated */
	NodeIds results, given, operands, gradients;
	VEC(Span) places[2]; /* of the operands, and of the gradients */
	Scope *scope;	     /* before, as `place` */
	Sym place;
} Ruled;

/* Checks, at the declaration, what can be known there; its names stand beside those of the function's tensors. Requires: a function with
 * a rule. */
void rule_declare(Build *b, const AstStmt *fn, Scope *names);
/* Is there a rule to evaluate? Then names for the gradients of what the body gives are in scope, and random streams its own: those
 * behind it stay as they are. Requires: the activation of the body. */
bool rule_open(Build *b, const Applied *applied, Ruled *ruled);
/* What the application gives, of which gradients go on by the rule. */
Value rule_close(Build *b, Ruled *ruled, Value gradients);
/* The result of what a rule is of, where it depends, past the rule's operands, on one of those that gradients are taken with respect
 * to; NODE_NONE: none does. */
NodeId rule_lacks(Build *b, const AppliedRule *of, const NodeId *to, size_t nto);
/* Explains a name, which was reported as unknown, by the body of the function whose rule is evaluated; false: it is none of the body's. */
bool rule_explain_name(Build *b, Name name);
/* Warns of functions that were applied, and never by their rule. Requires: all files are evaluated. */
void rules_warn_unused(Build *b);

#endif
