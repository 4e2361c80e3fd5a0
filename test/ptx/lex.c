/* Tokens of PTX. Nothing behind `end` is read. */
#include "test/ptx/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool more(const PtxLexer *lexer, size_t n) { return (size_t)(lexer->end - lexer->at) > n; }

static char peek(const PtxLexer *lexer, size_t n) { return more(lexer, n) ? lexer->at[n] : 0; }

static void skip_comment(PtxLexer *lexer)
{
	lexer->at += 2;
	while (more(lexer, 0) && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'))
		lexer->line += *lexer->at++ == '\n';
	lexer->at += more(lexer, 1) ? 2 : more(lexer, 0);
}

static void skip_blanks(PtxLexer *lexer)
{
	while (more(lexer, 0)) {
		char c = peek(lexer, 0);
		if (c == '/' && peek(lexer, 1) == '/')
			while (more(lexer, 0) && peek(lexer, 0) != '\n')
				lexer->at++;
		else if (c == '/' && peek(lexer, 1) == '*')
			skip_comment(lexer);
		else if (isspace((unsigned char)c))
			lexer->line += *lexer->at++ == '\n';
		else
			return;
	}
}

static bool begins_name(char c)
{
	return isalpha((unsigned char)c) || (c != 0 && strchr("_$%.", c));
}

static bool in_name(char c) { return begins_name(c) || isdigit((unsigned char)c); }

static void lex_name(PtxLexer *lexer)
{
	while (more(lexer, 0)) {
		if (in_name(peek(lexer, 0)))
			lexer->at++;
		else if (peek(lexer, 0) == ':' && peek(lexer, 1) == ':' && in_name(peek(lexer, 2)))
			lexer->at += 2;
		else
			return;
	}
}

static int digit_of(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : 99;
}

/* Digits of a base; at most so many. */
static uint64_t digits(PtxLexer *lexer, int base, int most)
{
	uint64_t value = 0;
	for (; most-- > 0 && digit_of(peek(lexer, 0)) < base; lexer->at++)
		value = value * (uint64_t)base + (uint64_t)digit_of(*lexer->at);
	return value;
}

static bool in_decimal(char c, char before)
{
	return isalnum((unsigned char)c) || c == '.' ||
	       ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
}

/* 1.5e3, which strtod reads from a copy that ends. */
static void lex_decimal(PtxLexer *lexer, PtxToken *token)
{
	char text[64] = {0};
	size_t n = 0;
	while (n + 1 < sizeof text && in_decimal(peek(lexer, n), n > 0 ? text[n - 1] : 0)) {
		text[n] = peek(lexer, n);
		n++;
	}
	char *end;
	double value = strtod(text, &end);
	token->kind = *end ? TOKEN_BAD : TOKEN_F64;
	memcpy(&token->value, &value, sizeof value);
	lexer->at += n;
}

static bool is_decimal(const PtxLexer *lexer)
{
	size_t n = 0;
	while (isdigit((unsigned char)peek(lexer, n)))
		n++;
	return peek(lexer, n) == '.';
}

static void lex_number(PtxLexer *lexer, PtxToken *token)
{
	token->kind = TOKEN_INTEGER;
	char second = (char)(peek(lexer, 0) == '0' ? tolower((unsigned char)peek(lexer, 1)) : 0);
	if (second == 'f' || second == 'd') {
		lexer->at += 2;
		const char *first = lexer->at;
		token->value = digits(lexer, 16, 16);
		bool whole = lexer->at - first == (second == 'f' ? 8 : 16);
		token->kind = !whole ? TOKEN_BAD : second == 'f' ? TOKEN_F32 : TOKEN_F64;
	} else if (second == 'x' || second == 'b') {
		lexer->at += 2;
		token->value = digits(lexer, second == 'x' ? 16 : 2, 64);
	} else if (is_decimal(lexer)) {
		lex_decimal(lexer, token);
	} else {
		token->value = digits(lexer, second ? 8 : 10, 24);
	}
	if (token->kind == TOKEN_INTEGER && peek(lexer, 0) == 'U')
		lexer->at++;
	if (in_name(peek(lexer, 0)))
		token->kind = TOKEN_BAD;
}

static void lex_string(PtxLexer *lexer, PtxToken *token)
{
	lexer->at++;
	while (more(lexer, 0) && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n')
		lexer->at++;
	token->kind = peek(lexer, 0) == '"' ? TOKEN_STRING : TOKEN_BAD;
	lexer->at += more(lexer, 0);
}

PtxToken ptx_lex(PtxLexer *lexer)
{
	skip_blanks(lexer);
	PtxToken token = {.kind = TOKEN_END, .at = lexer->at, .line = lexer->line};
	if (!more(lexer, 0))
		return token;
	char c = peek(lexer, 0);
	if (begins_name(c)) {
		token.kind = TOKEN_NAME;
		lex_name(lexer);
	} else if (isdigit((unsigned char)c)) {
		lex_number(lexer, &token);
	} else if (c == '"') {
		lex_string(lexer, &token);
	} else {
		token.kind = TOKEN_CHAR;
		token.value = (unsigned char)c;
		lexer->at++;
	}
	token.n = (size_t)(lexer->at - token.at);
	return token;
}

bool ptx_token_is(const PtxToken *token, const char *text)
{
	return token->kind != TOKEN_END && token->kind != TOKEN_STRING &&
	       token->n == strlen(text) && memcmp(token->at, text, token->n) == 0;
}
