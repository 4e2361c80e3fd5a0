/* What stands around an axis that a mark with margins reads: `border = edge`. */
#ifndef TSR_FRONTEND_BORDER_H
#define TSR_FRONTEND_BORDER_H

#include "frontend/eval.h"

typedef enum BorderKind {
	BORDER_SKIP, BORDER_EDGE, BORDER_REFLECT, BORDER_WRAP, BORDER_NUMBER
} BorderKind;

typedef struct Border {
	BorderKind kind;
	NodeId number; /* NUMBER */
	Span span;     /* where it was given */
} Border;

/* The words, from SKIP to WRAP: skip, edge, reflect, wrap. */
extern const char *const border_words[BORDER_NUMBER];
bool border_is_word(Sym name);
/* What the word says; SKIP for another name. */
BorderKind border_of_word(Sym name);
/* Puts the border around each operand that is read with margins: args become tensors that have these
 * elements, and the specification that is returned reads whole windows of them; NULL after an error.
 * No margins are sizes then. Where coefficients are, `=+` without margins stays: the larger axis has
 * the stride times as many elements as there are windows, and what a window reaches beyond its first.
 * Requires: the specification joins no axes. */
const Spec *border_put(Build *b, SpecParts *parts);
/* Does a scalar or the number of a step say how many elements stand in the margins? No tensor has them then:
 * border_put leaves these axes as they are. */
bool border_is_late(const SpecAxis *axis);
/* What stands in the margins of such an axis: where nothing is said the number that changes no result. NULL
 * after an error. */
const Border *border_of(Build *b, const SpecParts *parts, const SpecAxis *axis);
/* Another node of its number: each has a shape of its own. */
NodeId border_number(Build *b, const Border *border);

#endif
