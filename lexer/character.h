/* Characters that are no token: what to say of them. Private to the lexer. */
#ifndef TSR_LEXER_CHARACTER_H
#define TSR_LEXER_CHARACTER_H

#include "lexer/lexer.h"

/* The first byte in [text, limit) that is not part of well-formed UTF-8; `limit` when there is
 * none. */
const unsigned char *utf8_check(const unsigned char *text, const unsigned char *limit);

/* Reports the characters from `at` to the next that can start a token as one error, which names the
 * first and offers a repair where one is likely. Returns their end. */
const unsigned char *character_report(Lexer *lexer, const unsigned char *at);

#endif
