/* "expected X, Y or Z": the wording of a set of tokens. */
#ifndef TSR_GRAMMAR_EXPECT_H
#define TSR_GRAMMAR_EXPECT_H

#include "lexer/lexer.h"

/* The members of set[ntokens] as a list in words; a group that is there as a whole is named once
 * ("an expression", "a statement"), and operators are left out where something more telling is
 * left. */
const char *expect_text(Arena *arena, const bool *set, const TokenInfo *(*info)(int), int ntokens);
/* What stands there instead: the token's text in quotes, "a string", "the end of the file". */
const char *expect_found(Arena *arena, const Source *source, Token token, const char *end);

#endif
