/* Messages for a token that the program grammar does not accept. Private to grammar/. */
#ifndef TSR_GRAMMAR_SYNTAX_ERROR_H
#define TSR_GRAMMAR_SYNTAX_ERROR_H

#include "grammar/feed.h"
#include "grammar/parse.h"

/* Reports the feed's current token, which `parser` does not accept: by one of the special
 * messages, or as "expected X, Y or Z before W"; with a note at a bracket that is open. Returns
 * whether the token is a keyword that starts no statement: one that was meant as a name, or a
 * `let` inside an expression. */
bool syntax_error(Parse *parse, const Feed *feed, const void *parser);

#endif
