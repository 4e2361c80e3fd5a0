/* The tokens of a dump of loops, and the one at hand of a parser. */
#ifndef TSR_LOOPS_PARSE_LEX_H
#define TSR_LOOPS_PARSE_LEX_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/symbol.h"

typedef struct LoopsParser LoopsParser; /* parse_text.h */

typedef enum LexKind { LEX_END, LEX_NAME, LEX_NUMBER, LEX_SYMBOL } LexKind;

typedef struct Lex {
	LexKind kind;
	uint32_t start, len;
	int32_t indent; /* of the first in a line; -1: another */
} Lex;
typedef VEC(Lex) LexList;
typedef VEC(uint32_t) TokenList;

/* All tokens of the text, LEX_END last, without comments (# to the end of a line). There are no errors: a
 * byte that begins nothing else is a symbol. */
LexList loops_lex(Arena *arena, const Source *source);
/* The token at hand; LEX_END behind the last one, and after an error. */
const Lex *lex_now(const LoopsParser *p);
/* The one behind it; the end behind the end. */
const Lex *lex_next(const LoopsParser *p);
bool lex_is(const LoopsParser *p, const Lex *lex, const char *text);
/* Is it the first of a line? */
bool lex_first(const Lex *lex);
/* Does a parenthesis follow, as behind a function? */
bool lex_calls(const LoopsParser *p, const Lex *lex);
Span lex_span(const LoopsParser *p, const Lex *lex);
Span lex_line(const LoopsParser *p);
/* Tells an error at the token at hand, if it is the first, and goes to the end. */
void lex_fail(LoopsParser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lex_fail_at(LoopsParser *p, Span span, const char *text);
/* Takes the token if it is that one. */
bool lex_take(LoopsParser *p, const char *text);
void lex_want(LoopsParser *p, const char *text);
Sym lex_name(LoopsParser *p, const char *what); /* never NULL */
int64_t lex_number(LoopsParser *p);		/* a whole one, with a sign */
Dtype lex_dtype(LoopsParser *p);		/* of a tensor */
Dtype lex_value_dtype(LoopsParser *p);		/* ... or of values in loops alone */
/* Enters a level of nesting. False: there are too many. */
bool lex_deeper(LoopsParser *p);
/* Does a line further right follow? */
bool lex_inside(const LoopsParser *p, int32_t indent);

#endif
