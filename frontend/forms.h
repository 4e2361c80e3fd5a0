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
/* Likewise, how axes are reduced. */
void form_note_reduction(Build *b, const AstExpr *call);

#endif
