/* Names the characters that no token starts with, and knows what was probably meant: quotation
 * marks and operators that an editor made pretty, operators of other languages. */
#include "lexer/character.h"

#include <string.h>

/* The length of the well-formed sequence at p, or 0. Overlong forms, surrogates and code points
 * beyond U+10FFFF are not well-formed (Unicode, table 3-7). */
static size_t sequence(const unsigned char *p, const unsigned char *limit, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80   ? 1
		   : *p < 0xC2 ? 0
		   : *p < 0xE0 ? 2
		   : *p < 0xF0 ? 3
		   : *p < 0xF5 ? 4
			       : 0;
	if (n == 0 || (size_t)(limit - p) < n)
		return 0;
	*code = n == 1 ? *p : *p & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3F);
	}
	bool surrogate = *code >= 0xD800 && *code <= 0xDFFF;
	return *code < least[n] || *code > 0x10FFFF || surrogate ? 0 : n;
}

const unsigned char *utf8_check(const unsigned char *text, const unsigned char *limit)
{
	uint32_t code;
	while (text < limit) {
		size_t n = sequence(text, limit, &code);
		if (n == 0)
			return text;
		text += n;
	}
	return limit;
}

static const struct {
	uint32_t code;
	const char *meant;
} confusables[] = {
	{'\'', "\""},     {'^', "**"},      {'~', "!"},       {'&', "&&"},
	{0x201C, "\""},   {0x201D, "\""},   {0x201E, "\""},   {0x2018, "\""},
	{0x2019, "\""},   {0x00AB, "\""},   {0x00BB, "\""},   {0x2212, "-"},
	{0x2013, "-"},    {0x2014, "-"},    {0x00D7, ".*"},   {0x00B7, ".*"},
	{0x22C5, ".*"},   {0x2299, ".*"},   {0x00F7, "/"},    {0x2215, "/"},
	{0x2264, "<="},   {0x2265, ">="},   {0x2260, "!="},   {0x2192, "->"},
	{0x21D2, "=>"},   {0x2026, "..."},  {0x2227, "&&"},   {0x2228, "||"},
	{0x00AC, "!"},    {0x03C0, "pi"},   {0x221E, "inf"},  {0x00A0, " "},
	{0x2009, " "},    {0x202F, " "},    {0x3000, " "},    {0x200B, ""},
	{0xFEFF, ""},     {0xFF08, "("},    {0xFF09, ")"},    {0xFF0C, ","},
	{0xFF1B, ";"},    {0xFF1A, ":"},    {0xFF1D, "="},
};

static const char *meant_by(uint32_t code)
{
	for (size_t i = 0; i < sizeof confusables / sizeof *confusables; i++)
		if (confusables[i].code == code)
			return confusables[i].meant;
	return NULL;
}

/* Can a token, or white space, start with this byte? */
static bool starts_token(unsigned char c)
{
	return c < 0x80 && c > ' ' && !strchr("$?\\`'^~&\x7f", c);
}

static void report(Lexer *lexer, Span span, uint32_t code, const char *shown)
{
	if (code < 0x20 || code == 0x7F)
		diag(lexer->diags, E0103, span, "a control character (U+%04X) cannot stand here",
		     code);
	else if (code >= 0x80)
		diag(lexer->diags, E0103, span,
		     "the character '%s' (U+%04X) cannot stand here: %s ASCII", shown, code,
		     lexer->spec ? "specifications are"
				 : "outside strings and comments programs are");
	else
		diag(lexer->diags, E0103, span, "the character '%s' cannot stand here", shown);
}

/* "oh += kh", "oh = kh" and "oh < kh" in a specification: a mark was meant. */
static bool report_mark(Lexer *lexer, const unsigned char *at, Span one)
{
	bool after_plus = at > lexer->text && at[-1] == '+';
	if (!lexer->spec || (*at != '<' && *at != '='))
		return false;
	if (*at == '=' && !after_plus)
		diag_fix(lexer->diags, one, "=+",
			 "a padded window is marked '=+', one without margins '<+'");
	else if (*at == '=')
		diag_fix(lexer->diags, (Span){one.file, one.start - 1, one.end}, "=+",
			 "a padded window is marked '=+'");
	else
		diag_fix(lexer->diags, one, "<+", "a window is marked '<+', a padded one '=+'");
	return true;
}

const unsigned char *character_report(Lexer *lexer, const unsigned char *at)
{
	uint32_t code = 0, next;
	char shown[5] = {0};
	size_t n = sequence(at, lexer->limit, &code);
	REQUIRE(n > 0 && n < sizeof shown);
	memcpy(shown, at, n);
	uint32_t start = (uint32_t)(at - lexer->text);
	Span one = {lexer->file, start, start + (uint32_t)n};
	const char *meant = meant_by(code);
	report(lexer, one, code, shown);
	if (report_mark(lexer, at, one) || (lexer->spec && meant && *meant == '"'))
		meant = NULL;
	if (meant && *meant == ' ')
		diag_fix(lexer->diags, one, meant, "write an ordinary space");
	else if (meant && !*meant)
		diag_fix(lexer->diags, one, meant, "remove the invisible character");
	else if (meant)
		diag_fix(lexer->diags, one, meant, "write '%s'", meant);
	if (code == '?' && !lexer->spec)
		diag_note(lexer->diags, one,
			  "'where(c, a, b)' takes a where c is not 0, and b elsewhere");
	for (at += n;
	     at < lexer->limit && !starts_token(*at) && !strchr(" \t\r\n\f\v", *at | !*at);)
		at += sequence(at, lexer->limit, &next);
	return at;
}
