/* Bytes of PTX to tokens.
 *
 *   name   := [A-Za-z_$%.] [A-Za-z0-9_$%.]*, with "::" inside       .reg  %r1  ld.global.nc.v2.f32  $L__BB0_2
 *   number := digits | 0x.. | 0b.. | 0 octal, U behind | 0f 8 hex | 0d 16 hex | digits "." digits [exponent]
 *   string, or one other character; comments and white space stand between them
 */
#ifndef TSR_PTX_LEX_H
#define TSR_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PtxTokenKind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_INTEGER,
	TOKEN_F32, /* value: the bits */
	TOKEN_F64,
	TOKEN_STRING,
	TOKEN_BAD, /* a number or a string that is none */
	TOKEN_CHAR
} PtxTokenKind;

typedef struct PtxToken {
	PtxTokenKind kind;
	const char *at;
	size_t n;
	uint32_t line;
	uint64_t value; /* TOKEN_CHAR: the character */
} PtxToken;

typedef struct PtxLexer {
	const char *at, *end;
	uint32_t line;
} PtxLexer;

PtxToken ptx_lex(PtxLexer *lexer);
bool ptx_token_is(const PtxToken *token, const char *text);

#endif
