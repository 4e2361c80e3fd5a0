/* Bytes to tokens: names, which may have dots inside, numbers and symbols; where lines begin counts.
 * What is none of these is a symbol of one byte, which no rule takes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "loops/parse_text.h"

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* a.b, but not the dots of a..b */
static size_t name_length(const char *text)
{
	size_t n = 0;
	while (in_name(text[n]) || (text[n] == '.' && in_name(text[n + 1])))
		n++;
	return n;
}

/* 1, 1.5, 1e-05, 1.5e+10; of 0..n the 0 */
static size_t number_length(const char *text)
{
	size_t n = strspn(text, "0123456789");
	if (text[n] == '.' && isdigit((unsigned char)text[n + 1]))
		n += 1 + strspn(text + n + 1, "0123456789");
	size_t sign = text[n] == 'e' && (text[n + 1] == '-' || text[n + 1] == '+');
	if (text[n] == 'e' && isdigit((unsigned char)text[n + 1 + sign]))
		n += 1 + sign + strspn(text + n + 1 + sign, "0123456789");
	return n;
}

static size_t symbol_length(const char *text)
{
	static const char *const long_ones[] = {"->", "..", "**", "<=", ">=",
						"==", "!=", "&&", "||"};
	for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
		if (strncmp(text, long_ones[i], 2) == 0)
			return 2;
	return 1;
}

LexList loops_lex(Arena *arena, const Source *source)
{
	LexList list = {0};
	const char *text = source->text, *line = text, *end = text + source->len;
	bool first = true;
	for (const char *at = text; at < end;) {
		Lex lex = {.start = (uint32_t)(at - text),
			   .indent = first ? (int32_t)(at - line) : -1};
		if (*at == '\n') {
			line = ++at;
			first = true;
			continue;
		}
		if (*at == '#') {
			at += strcspn(at, "\n");
			continue;
		}
		if (*at == ' ' || *at == '\t' || *at == '\r') {
			at++;
			continue;
		}
		bool name = isalpha((unsigned char)*at) || *at == '_';
		bool number = isdigit((unsigned char)*at);
		lex.kind = name ? LEX_NAME : number ? LEX_NUMBER : LEX_SYMBOL;
		lex.len = (uint32_t)(name     ? name_length(at)
				     : number ? number_length(at)
					      : symbol_length(at));
		at += lex.len;
		first = false;
		PUSH(arena, list, lex);
	}
	PUSH(arena, list, ((Lex){.start = (uint32_t)source->len}));
	return list;
}

/* ---- one after the other ---- */

const Lex *lex_now(const LoopsParser *p) { return &p->tokens.at[p->at]; }

const Lex *lex_next(const LoopsParser *p)
{
	return &p->tokens.at[p->at + (p->at + 1 < p->tokens.n)];
}

bool lex_is(const LoopsParser *p, const Lex *lex, const char *text)
{
	return lex->kind != LEX_END && lex->len == strlen(text) &&
	       memcmp(p->source->text + lex->start, text, lex->len) == 0;
}

bool lex_first(const Lex *lex) { return lex->indent >= 0; }

bool lex_inside(const LoopsParser *p, int32_t indent)
{
	return lex_now(p)->kind != LEX_END && lex_now(p)->indent > indent;
}

bool lex_calls(const LoopsParser *p, const Lex *lex)
{
	return lex->kind == LEX_NAME && p->source->text[lex->start + lex->len] == '(';
}

Span lex_span(const LoopsParser *p, const Lex *lex)
{
	return (Span){p->file, lex->start, lex->start + lex->len};
}

Span lex_line(const LoopsParser *p)
{
	Span span = lex_span(p, lex_now(p));
	for (uint32_t i = p->at + 1; i + 1 < p->tokens.n && !lex_first(&p->tokens.at[i]); i++)
		span.end = p->tokens.at[i].start + p->tokens.at[i].len;
	return span;
}

void lex_fail_at(LoopsParser *p, Span span, const char *text)
{
	if (!p->failed)
		diag(p->diags, E0610, span, "%s", text);
	p->failed = true;
	p->at = (uint32_t)p->tokens.n - 1;
}

void lex_fail(LoopsParser *p, const char *fmt, ...)
{
	char text[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	lex_fail_at(p, lex_span(p, lex_now(p)), text);
}

bool lex_take(LoopsParser *p, const char *text)
{
	if (!lex_is(p, lex_now(p), text))
		return false;
	p->at++;
	return true;
}

/* "'x'", or "the end" */
static const char *shown(const LoopsParser *p, const Lex *lex)
{
	return lex->kind == LEX_END
		       ? "the end of the text"
		       : arena_printf(p->arena, "'%.*s'", (int)(lex->len < 40 ? lex->len : 40),
				      p->source->text + lex->start);
}

void lex_want(LoopsParser *p, const char *text)
{
	if (!lex_take(p, text))
		lex_fail(p, "'%s' is expected here, not %s", text, shown(p, lex_now(p)));
}

Sym lex_name(LoopsParser *p, const char *what)
{
	const Lex *lex = lex_now(p);
	if (lex->kind != LEX_NAME) {
		lex_fail(p, "%s is expected here, not %s", what, shown(p, lex));
		return sym_cstr(p->program->symbols, "");
	}
	p->at++;
	return sym_intern(p->program->symbols, p->source->text + lex->start, lex->len);
}

int64_t lex_number(LoopsParser *p)
{
	bool minus = lex_take(p, "-");
	const Lex *lex = lex_now(p);
	char *end = NULL;
	errno = 0;
	unsigned long long value =
		lex->kind == LEX_NUMBER ? strtoull(p->source->text + lex->start, &end, 10) : 0;
	unsigned long long most = (unsigned long long)INT64_MAX + minus;
	if (!end || end != p->source->text + lex->start + lex->len)
		lex_fail(p, "a whole number is expected here, not %s", shown(p, lex));
	else if (errno || value > most)
		lex_fail(p, "a number that is too large");
	else
		p->at++;
	return p->failed ? 0 : minus ? (int64_t)(0 - value) : (int64_t)value;
}

static Dtype dtype_named(LoopsParser *p, Dtype (*called)(const char *text, size_t len))
{
	const Lex *lex = lex_now(p);
	Dtype dtype =
		lex->kind == LEX_NAME ? called(p->source->text + lex->start, lex->len) : DTYPE_NONE;
	if (dtype == DTYPE_NONE)
		lex_fail(p, "a type is expected here, not %s", shown(p, lex));
	else
		p->at++;
	return p->failed ? DTYPE_F32 : dtype;
}

Dtype lex_dtype(LoopsParser *p) { return dtype_named(p, dtype_from_name); }

Dtype lex_value_dtype(LoopsParser *p) { return dtype_named(p, dtype_in_loops); }

bool lex_deeper(LoopsParser *p)
{
	if (++p->depth > NEST_MOST)
		lex_fail(p, "this is nested more than %d times", NEST_MOST);
	return !p->failed;
}
