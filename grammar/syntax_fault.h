/* A token that the program grammar does not accept, where it stands. Private to syntax_*.c. */
#ifndef TSR_GRAMMAR_SYNTAX_FAULT_H
#define TSR_GRAMMAR_SYNTAX_FAULT_H

#include "grammar/feed.h"
#include "grammar/parse.h"

typedef struct Fault {
	Parse *parse;
	const Feed *feed;
	const void *parser;
	Token token;
	const char *text; /* of the token and what follows it */
	bool expected[TOKEN_COUNT];
} Fault;

/* The class of lexer/tokens.def. */
char fault_class(int kind);
/* The token as a message names it. */
const char *fault_found(const Fault *f);
/* Is the token, or the one before it, this word? */
bool fault_is(const Fault *f, Span span, const char *word);
/* Does the token stand where `{` of a parameter wants its name? (syntax_notes.c) */
bool fault_opens_parameter(const Fault *f);
/* The token is the bracket behind a name: adds to the last diagnostic what is meant, where that is sure (subscript.c). */
void fault_fix_subscript(const Fault *f, Span name);
/* Explanations of comparisons and logic, each false where it is another fault: `a and b`, `not a`; `a < b < c`; `a <> b`;
 * `require a > b`; `scan(h = x, n)`, whose `=` the token is (syntax_signs.c). */
bool fault_word_operator(const Fault *f);
bool fault_chained_comparison(const Fault *f);
bool fault_not_equal(const Fault *f);
bool fault_wrong_relation(const Fault *f);
bool fault_value_first(const Fault *f);
/* What a subscript as it is written there is in the language (subscript.c). */
const char *fault_subscript_form(const Fault *f);
/* Adds to the last diagnostic, "expected ... before ...", what may have been meant (syntax_notes.c). */
void fault_notes(const Fault *f);

#endif
