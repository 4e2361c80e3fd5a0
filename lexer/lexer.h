/* Bytes to tokens. lexer.re has one re2c block for programs and one for specifications; tokens.def
 * is the list of both.
 *
 * A token is a kind and a span: its text is read from the source. White space, newlines and
 * comments leave no token. Bytes that are no token are reported here, once, and give TOKEN_ERROR,
 * which no grammar accepts: the parser then recovers without a second message. */
#ifndef TSR_LEXER_LEXER_H
#define TSR_LEXER_LEXER_H

#include "base/diag.h"

typedef enum TokenKind {
#define TOKEN(name, label, class) TOKEN_##name,
#include "lexer/tokens.def"
#undef TOKEN
	TOKEN_COUNT
} TokenKind;

typedef enum SpecTokenKind {
#define SPEC_TOKEN(name, label, class) SPEC_TOKEN_##name,
#include "lexer/tokens.def"
#undef SPEC_TOKEN
	SPEC_TOKEN_COUNT
} SpecTokenKind;

/* One row of tokens.def. */
typedef struct TokenInfo {
	const char *name, *label;
	char class[2];
} TokenInfo;

/* Requires: a kind of the tokens of programs. */
const TokenInfo *token_info(int kind);
/* Requires: a kind of the tokens of specifications. */
const TokenInfo *spec_token_info(int kind);

typedef struct Token {
	uint16_t kind; /* TokenKind or SpecTokenKind */
	bool first;    /* the first token of its line */
	Span span;
} Token;

typedef struct Lexer {
	const Source *source;
	uint32_t file;
	const unsigned char *text, *cursor, *limit, *line; /* line: the start of the cursor's line */
	Diags *diags;
	bool assigns;        /* `=` joins with an accumulation: set inside the steps of a routine */
	bool spec;           /* inside a specification */
	bool single_letters; /* of specifications: every letter is an axis */
	bool fresh;          /* no token of this line has been returned */
} Lexer;

/* Starts at the first byte after a byte order mark. A text that is not UTF-8 is reported, and then
 * reads as empty. */
void lexer_init(Lexer *lexer, const Sources *sources, uint32_t file, Diags *diags);
/* The next token; TOKEN_END at the end, however often. Bytes that begin none are reported. */
Token lexer_next(Lexer *lexer);

/* Starts at the text of a string; decides the mode by its bytes. */
void lexer_init_spec(Lexer *lexer, const Sources *sources, Span text, Diags *diags);
/* As lexer_next, of SpecTokenKind. Requires: lexer_init_spec started it. */
Token lexer_next_spec(Lexer *lexer);

#endif
