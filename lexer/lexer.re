/* The two lexers. Longest match wins; white space, newlines and comments separate tokens and mean
 * nothing else. One NUL stands after the last byte of a source, and a '"' after the last byte of a
 * specification: these are the sentinels, and are the end only at the limit.
 *
 * The one context: inside the steps of a routine `=` joins with the accumulation written against
 * it (`=+`, `=:max`); elsewhere `a =-1` is `a = -1`.
 *
 * A string has no escapes: a backslash is an ordinary byte, so that an offset in the text is an
 * offset in the source, and there is no way to write a '"' inside. */
#include "lexer/lexer.h"

#include <ctype.h>
#include <string.h>

#include "lexer/character.h"

enum { NAME_LIMIT = 255, NUMBER_LIMIT = 1000 }; /* bytes */

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static Span span_from(const Lexer *lexer, const unsigned char *start)
{
	return (Span){lexer->file, (uint32_t)(start - lexer->text),
	              (uint32_t)(lexer->cursor - lexer->text)};
}

static Token token(Lexer *lexer, int kind, const unsigned char *start)
{
	Token t = {(uint16_t)kind, lexer->fresh, span_from(lexer, start)};
	lexer->fresh = false;
	return t;
}

static void new_line(Lexer *lexer, const unsigned char *line)
{
	lexer->line = line;
	lexer->fresh = true;
}

void lexer_init(Lexer *lexer, const Sources *sources, uint32_t file, Diags *diags)
{
	const Source *source = source_at(sources, file);
	const unsigned char *text = (const unsigned char *)source->text;
	*lexer = (Lexer){.source = source, .file = file, .text = text, .diags = diags, .fresh = true};
	lexer->limit = text + source->len;
	bool mark = source->len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
	lexer->cursor = lexer->line = text + (mark ? 3 : 0);
	const unsigned char *bad = utf8_check(text, lexer->limit);
	if (bad == lexer->limit)
		return;
	uint32_t at = (uint32_t)(bad - text);
	diag(diags, E0102, (Span){file, at, at + 1}, "the file is not UTF-8 text: byte 0x%02X here",
	     *bad);
	lexer->cursor = lexer->limit;
}

void lexer_init_spec(Lexer *lexer, const Sources *sources, Span text, Diags *diags)
{
	const Source *source = source_at(sources, text.file);
	const unsigned char *bytes = (const unsigned char *)source->text;
	*lexer = (Lexer){.source = source, .file = text.file, .text = bytes, .diags = diags};
	lexer->cursor = lexer->line = bytes + text.start;
	lexer->limit = bytes + text.end;
	REQUIRE(*lexer->limit == '"');
	lexer->spec = lexer->single_letters = true;
	for (const unsigned char *p = lexer->cursor; p < lexer->limit; p++)
		if ((*p && strchr(",*+^&<", *p)) || (*p == '=' && p[1] != '>'))
			lexer->single_letters = false;
}

/* After digits and a point: the point belongs to what follows (`2.*x`, `2.T`), or is a mistake. */
static Token number_point(Lexer *lexer, const unsigned char *start)
{
	unsigned char next = *lexer->cursor;
	if (next == '*' || next == '.' || is_letter(next)) {
		lexer->cursor--;
		return token(lexer, TOKEN_NUMBER, start);
	}
	Span span = span_from(lexer, start);
	diag(lexer->diags, E0105, span, "a digit must follow the point of a number");
	diag_fix(lexer->diags, (Span){span.file, span.end, span.end}, "0", "write '%.*s0'",
	         (int)(lexer->cursor - start > 40 ? 0 : lexer->cursor - start), (const char *)start);
	return token(lexer, TOKEN_ERROR, start);
}

static Token number_name(Lexer *lexer, const unsigned char *start)
{
	const unsigned char *name = start;
	while (is_digit(*name) || *name == '.')
		name++;
	Span span = span_from(lexer, start);
	uint32_t at = span.start + (uint32_t)(name - start);
	bool exponent = (*name == 'e' || *name == 'E') && name + 1 == lexer->cursor;
	bool hexadecimal = (*name == 'x' || *name == 'X') && name == start + 1 && *start == '0';
	diag(lexer->diags, E0105, span, "%s",
	     exponent      ? "the exponent of this number has no digits"
	     : hexadecimal ? "there are no hexadecimal numbers"
	                   : "a number runs into a name");
	bool imaginary = (*name == 'j' || *name == 'i') && name + 1 == lexer->cursor;
	if (imaginary)
		diag_note(lexer->diags, span,
		          "there are no complex numbers: keep the real and the imaginary part in two tensors");
	if (!exponent && !hexadecimal)
		diag_fix(lexer->diags, (Span){span.file, at, at}, "*",
		         "to multiply, write '*' between them");
	return token(lexer, TOKEN_ERROR, start);
}

static Token limited(Lexer *lexer, TokenKind kind, const unsigned char *start)
{
	long limit = kind == TOKEN_NAME ? NAME_LIMIT : NUMBER_LIMIT;
	if (lexer->cursor - start <= limit)
		return token(lexer, kind, start);
	diag(lexer->diags, E0106, span_from(lexer, start), "a %s of %ld characters: %ld are the limit",
	     kind == TOKEN_NAME ? "name" : "number", (long)(lexer->cursor - start), limit);
	return token(lexer, TOKEN_ERROR, start);
}

static Token string(Lexer *lexer, const unsigned char *start)
{
	Token t = token(lexer, TOKEN_STRING, start);
	const unsigned char *end = lexer->cursor;
	for (const unsigned char *p = start; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		new_line(lexer, p + 1);
	lexer->fresh = false;
	const unsigned char *nul = memchr(start, 0, (size_t)(end - start));
	if (nul) {
		uint32_t at = (uint32_t)(nul - lexer->text);
		diag(lexer->diags, E0103, (Span){lexer->file, at, at + 1},
		     "a NUL byte cannot stand in a string");
		t.kind = TOKEN_ERROR;
	}
	return t;
}

static Token unterminated(Lexer *lexer, const unsigned char *start)
{
	Span span = span_from(lexer, start);
	span.end = span.start + 1;
	diag(lexer->diags, E0104, span, "this string has no closing quotation mark");
	lexer->cursor = lexer->limit;
	return token(lexer, TOKEN_ERROR, start);
}

/* `x // 2`: an operand on either side, and nothing behind it that would be a comment's second word. */
static bool divides(const Lexer *lexer, const unsigned char *slashes)
{
	const unsigned char *before = slashes, *p = slashes + 2;
	while (before > lexer->text && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	p += strspn((const char *)p, " \t");
	size_t n = strcspn((const char *)p, " \t\r\n,;)]}+-*/");
	const unsigned char *end = p + n + strspn((const char *)p + n, " \t");
	return n > 0 && before > lexer->text &&
	       (isalnum(before[-1]) || before[-1] == '_' || before[-1] == ')') &&
	       (*end == '\0' || strchr("\r\n,;)]}+-*/", *end));
}

/* `//` to the end of the line, or slash-star to its counterpart or the end of the line. */
static void foreign_comment(Lexer *lexer, const unsigned char *start)
{
	diag(lexer->diags, E0107, span_from(lexer, start), "'%.2s' does not start a comment",
	     (const char *)start);
	const unsigned char *p = lexer->cursor;
	bool block = start[1] == '*';
	if (block)
		diag_note(lexer->diags, span_from(lexer, start),
		          "comments run from '#' to the end of the line");
	else if (divides(lexer, start))
		diag_note(lexer->diags, span_from(lexer, start),
		          "a whole quotient is i32(floor(f64(a) / f64(b))) of integers, round((a - a %% b) / b) of floats; "
		          "comments start with '#'");
	else
		diag_fix(lexer->diags, span_from(lexer, start), "#",
		         "comments run from '#' to the end of the line");
	while (p < lexer->limit && *p != '\n' && !(block && p[0] == '*' && p[1] == '/'))
		p++;
	lexer->cursor = p < lexer->limit && *p == '*' ? p + 2 : p;
}

/* `=` or `=:` against a word: only `max` and `min` join, as whole words. */
static Token assign_word(Lexer *lexer, const unsigned char *start)
{
	const unsigned char *word = start + 1 + (start[1] == ':');
	size_t n = (size_t)(lexer->cursor - word);
	bool joins = lexer->assigns && n == 3 && (!memcmp(word, "max", 3) || !memcmp(word, "min", 3));
	if (joins)
		return token(lexer, TOKEN_ASSIGN, start);
	lexer->cursor = lexer->assigns ? word : start + 1;
	return token(lexer, word == start + 1 || !lexer->assigns ? TOKEN_EQ : TOKEN_ASSIGN, start);
}

/* An `=` with an accumulation: one token inside the steps of a routine, else only the `=`. */
static Token assign(Lexer *lexer, const unsigned char *start)
{
	if (lexer->assigns)
		return token(lexer, TOKEN_ASSIGN, start);
	lexer->cursor = start + 1;
	return token(lexer, TOKEN_EQ, start);
}

#define YYCURSOR lexer->cursor
#define YYLIMIT  lexer->limit
#define YYMARKER marker

Token lexer_next(Lexer *lexer)
{
	const unsigned char *start, *marker;
	for (;;) {
		start = lexer->cursor;
		/*!re2c
		re2c:define:YYCTYPE = "unsigned char";
		re2c:yyfill:enable = 0;
		re2c:eof = 0;

		digits = [0-9]+;
		name   = [A-Za-z_][A-Za-z0-9_]*;
		exp    = [eE] [+-]? digits;
		number = digits ("." digits)? exp?;
		acc    = "+" | "-" | "*" | "/" | "**" | "||" | "&&";

		$              { return token(lexer, TOKEN_END, start); }
		*              { lexer->cursor = character_report(lexer, start);
		                 return token(lexer, TOKEN_ERROR, start); }
		"\n"           { new_line(lexer, lexer->cursor); continue; }
		[ \t\r\f\v]+   { continue; }
		"#" [^\n]*     { continue; }
		"//" | "/*"    { foreign_comment(lexer, start); continue; }

		"dim"          { return token(lexer, TOKEN_DIM, start); }
		"require"      { return token(lexer, TOKEN_REQUIRE, start); }
		"input"        { return token(lexer, TOKEN_INPUT, start); }
		"param"        { return token(lexer, TOKEN_PARAM, start); }
		"const"        { return token(lexer, TOKEN_CONST, start); }
		"let"          { return token(lexer, TOKEN_LET, start); }
		"fn"           { return token(lexer, TOKEN_FN, start); }
		"output"       { return token(lexer, TOKEN_OUTPUT, start); }
		"routine"      { return token(lexer, TOKEN_ROUTINE, start); }
		"import"       { return token(lexer, TOKEN_IMPORT, start); }
		"in"           { return token(lexer, TOKEN_IN, start); }
		"then"         { return token(lexer, TOKEN_THEN, start); }
		"else"         { return token(lexer, TOKEN_ELSE, start); }
		"for"          { return token(lexer, TOKEN_FOR, start); }
		"as"           { return token(lexer, TOKEN_AS, start); }
		"divides"      { return token(lexer, TOKEN_DIVIDES, start); }
		"via"          { return token(lexer, TOKEN_VIA, start); }
		"forward"      { return token(lexer, TOKEN_FORWARD, start); }
		"backward"     { return token(lexer, TOKEN_BACKWARD, start); }
		"init"         { return token(lexer, TOKEN_INIT, start); }
		"params"       { return token(lexer, TOKEN_PARAMS, start); }
		"update"       { return token(lexer, TOKEN_UPDATE, start); }
		"except"       { return token(lexer, TOKEN_EXCEPT, start); }
		"adjoint"      { return token(lexer, TOKEN_ADJOINT, start); }
		"if"           { return token(lexer, TOKEN_IF, start); }
		"iterate"      { return token(lexer, TOKEN_ITERATE, start); }
		"scan"         { return token(lexer, TOKEN_SCAN, start); }
		"until"        { return token(lexer, TOKEN_UNTIL, start); }
		"with"         { return token(lexer, TOKEN_WITH, start); }
		"inf" | "nan" | "pi" { return token(lexer, TOKEN_NUMBER, start); }
		"_"            { return token(lexer, TOKEN_UNDERSCORE, start); }
		name           { return limited(lexer, TOKEN_NAME, start); }

		number         { return limited(lexer, TOKEN_NUMBER, start); }
		number name    { return number_name(lexer, start); }
		digits "."     { return number_point(lexer, start); }
		["] [^"]* ["]  { return string(lexer, start); }
		["] [^"]*      { return unterminated(lexer, start); }

		"=" ":"? acc   { return assign(lexer, start); }
		"=:"           { return assign(lexer, start); }
		"=" ":"? name  { return assign_word(lexer, start); }
		"="            { return token(lexer, TOKEN_EQ, start); }
		"=="           { return token(lexer, TOKEN_EQEQ, start); }
		"=>"           { return token(lexer, TOKEN_FATARROW, start); }
		":="           { return token(lexer, TOKEN_COLONEQ, start); }
		"("            { return token(lexer, TOKEN_LPAREN, start); }
		")"            { return token(lexer, TOKEN_RPAREN, start); }
		"["            { return token(lexer, TOKEN_LBRACKET, start); }
		"]"            { return token(lexer, TOKEN_RBRACKET, start); }
		"[|"           { return token(lexer, TOKEN_LBRACKBAR, start); }
		"|]"           { return token(lexer, TOKEN_BARRBRACK, start); }
		"{"            { return token(lexer, TOKEN_LBRACE, start); }
		"}"            { return token(lexer, TOKEN_RBRACE, start); }
		","            { return token(lexer, TOKEN_COMMA, start); }
		";"            { return token(lexer, TOKEN_SEMI, start); }
		":"            { return token(lexer, TOKEN_COLON, start); }
		"."            { return token(lexer, TOKEN_DOT, start); }
		"..."          { return token(lexer, TOKEN_ELLIPSIS, start); }
		".." name ".." { return token(lexer, TOKEN_ROWVAR, start); }
		"->"           { return token(lexer, TOKEN_ARROW, start); }
		"|"            { return token(lexer, TOKEN_BAR, start); }
		"@"            { return token(lexer, TOKEN_AT, start); }
		"+"            { return token(lexer, TOKEN_PLUS, start); }
		"-"            { return token(lexer, TOKEN_MINUS, start); }
		"*"            { return token(lexer, TOKEN_STAR, start); }
		".*"           { return token(lexer, TOKEN_DOTSTAR, start); }
		"/"            { return token(lexer, TOKEN_SLASH, start); }
		"**"           { return token(lexer, TOKEN_POW, start); }
		"%"            { return token(lexer, TOKEN_PERCENT, start); }
		"<"            { return token(lexer, TOKEN_LT, start); }
		"<="           { return token(lexer, TOKEN_LE, start); }
		">"            { return token(lexer, TOKEN_GT, start); }
		">="           { return token(lexer, TOKEN_GE, start); }
		"!"            { return token(lexer, TOKEN_NOT, start); }
		"!="           { return token(lexer, TOKEN_NE, start); }
		"&&"           { return token(lexer, TOKEN_AND, start); }
		"||"           { return token(lexer, TOKEN_OR, start); }
		*/
	}
}

Token lexer_next_spec(Lexer *lexer)
{
	const unsigned char *start, *marker;
	for (;;) {
		start = lexer->cursor;
		/*!re2c
		re2c:eof = 34;

		$              { return token(lexer, SPEC_TOKEN_END, start); }
		*              { lexer->cursor = character_report(lexer, start);
		                 return token(lexer, SPEC_TOKEN_ERROR, start); }
		[ \t\r\n\f\v]+ { continue; }
		"_"            { return token(lexer, SPEC_TOKEN_UNDERSCORE, start); }
		[A-Za-z_][A-Za-z0-9_]* {
			if (lexer->single_letters) {
				lexer->cursor = start + 1;
				int kind = *start == '_' ? SPEC_TOKEN_UNDERSCORE : SPEC_TOKEN_NAME;
				return token(lexer, kind, start);
			}
			Token t = limited(lexer, TOKEN_NAME, start);
			t.kind = t.kind == TOKEN_NAME ? SPEC_TOKEN_NAME : SPEC_TOKEN_ERROR;
			return t;
		}
		digits         { return token(lexer, SPEC_TOKEN_INT, start); }
		"..."          { return token(lexer, SPEC_TOKEN_ELLIPSIS, start); }
		".." name ".." { return token(lexer, SPEC_TOKEN_ROWVAR, start); }
		"<+" | "<+?" | "=+" | "=+?" { return token(lexer, SPEC_TOKEN_MARK, start); }
		"=>"           { return token(lexer, SPEC_TOKEN_IMPLIES, start); }
		"->"           { return token(lexer, SPEC_TOKEN_ARROW, start); }
		","            { return token(lexer, SPEC_TOKEN_COMMA, start); }
		";"            { return token(lexer, SPEC_TOKEN_SEMI, start); }
		"|"            { return token(lexer, SPEC_TOKEN_BAR, start); }
		"*"            { return token(lexer, SPEC_TOKEN_STAR, start); }
		"+"            { return token(lexer, SPEC_TOKEN_PLUS, start); }
		"^"            { return token(lexer, SPEC_TOKEN_CARET, start); }
		"["            { return token(lexer, SPEC_TOKEN_LBRACKET, start); }
		"]"            { return token(lexer, SPEC_TOKEN_RBRACKET, start); }
		"." | ".."     { diag(lexer->diags, E0131, span_from(lexer, start),
		                      "a row variable is written '...' or '..name..'");
		                 return token(lexer, SPEC_TOKEN_ERROR, start); }
		"-"            { diag(lexer->diags, E0134, span_from(lexer, start),
		                      "an index form only adds: a negative number has no place in it");
		                 return token(lexer, SPEC_TOKEN_ERROR, start); }
		"&"            { return token(lexer, SPEC_TOKEN_AMP, start); }
		"("            { return token(lexer, SPEC_TOKEN_LPAREN, start); }
		")"            { return token(lexer, SPEC_TOKEN_RPAREN, start); }
		*/
	}
}
