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
/* Has the form arguments with names, words that stand for no value? */
bool form_takes_keys(Sym name);

#endif
