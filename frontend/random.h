/* Random words, and the forms that make them and numbers of them. */
#ifndef TSR_FRONTEND_RANDOM_H
#define TSR_FRONTEND_RANDOM_H

#include "frontend/build.h"

/* ---- words.c ---- */

/* Is it of type u4x32? */
bool node_is_words(const Build *b, NodeId id);
/* Are there random words among operands that are computed with? That is an error then. */
bool refuses_words(Build *b, const NodeId *args, const Span *spans, uint32_t nargs);
/* The same for operands that are moved into one tensor: words among others. */
bool refuses_mixed_words(Build *b, const NodeId *args, const Span *spans, uint32_t nargs);

/* ---- random.c ---- */

/* The value of a call of the forms that random.c lists, in that order; the error value after an error.
 * Requires: as many arguments as frontend/forms.def has for the form. */
Value random_words(Build *b, const AstExpr *call);
Value random_threefry(Build *b, const AstExpr *call);
Value random_to_uniform(Build *b, const AstExpr *call);
Value random_to_uniforms(Build *b, const AstExpr *call);
Value random_self_id(Build *b, const AstExpr *call);
Value random_uniform(Build *b, const AstExpr *call);
Value random_normal(Build *b, const AstExpr *call);

/* Beside a deviation or a bound that is given as a seed. */
#define RANDOM_SCALED "what is drawn is scaled by arithmetic: 0.02 * normal(), 2 * uniform() - 1"

#endif
