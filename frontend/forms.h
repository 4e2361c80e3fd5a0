/* What forms read of their arguments (forms.c). */
#ifndef TSR_FRONTEND_FORMS_H
#define TSR_FRONTEND_FORMS_H

#include "frontend/build.h"
#include "frontend/eval.h"

/* Evaluates the arguments without a name from `first` on into the parts; false after an error. */
bool form_operands(Build *b, const AstExpr *call, uint32_t first, SpecParts *parts);
/* One of a closed list of words, which ends with one that is NULL; -1 after an error. */
typedef struct FormWord {
	const char *word;
	int value;
} FormWord;
int form_word(Build *b, const AstExpr *expr, const FormWord *words);
/* Has argument i a name, as in `mode = skip`? */
static inline bool form_is_key(const AstExpr *call, uint32_t i)
{
	return call->keys && call->keys[i].sym;
}
/* How a form is written; NULL: there is none of that name (form_names.c). */
const char *form_usage(const char *name);

/* ---- form_keys.c ---- */

/* Has the form arguments with names, words that stand for no value? */
bool form_takes_keys(Sym name);
/* Adds to the last diagnostic, of an argument with a name that a form does not have, what stands here for it. */
void form_note_key(Build *b, const AstExpr *call, uint32_t at);

/* ---- form_axis.c ---- */

/* The place of an expression with the parentheses in it that its span leaves out on either side: of `(x + 1).abs()` the
 * first. */
Span form_whole(Build *b, Span span);
/* Adds to the last diagnostic how axes are reduced, or how the form that is called is written. */
void form_note_axis(Build *b, const AstExpr *call);
/* Adds the form that `sum(x, axis=1)` means, where x's declaration tells its axes. */
void form_fix_axis(Build *b, const AstExpr *call);
/* Likewise of `x.sum(axis=1)` and `x.sum()`; false: it adds nothing. */
bool form_fix_method(Build *b, const AstExpr *call);

#endif
