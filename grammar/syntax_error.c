/* Explains syntax errors. The special messages know one symbol written for another, a keyword used
 * as a name, a forgotten `let`, brackets and words of other languages, and what syntax_signs.c does; they
 * are tried in the order of the table at the end, and the list of expected tokens speaks for all
 * else. */
#include "grammar/syntax_error.h"

#include <string.h>

#include "base/nearest.h"
#include "grammar/expect.h"
#include "grammar/parsers.h"
#include "grammar/syntax_fault.h"

/* `written` stands where `meant` would be accepted: one error with its repair. */
static bool confused(const Fault *f, uint32_t n, const char *meant, const char *why)
{
	Span span = f->token.span;
	span.end = span.start + n;
	diag(f->parse->diags, E0115, span, "'%.*s' cannot stand here: %s", (int)n, f->text, why);
	diag_fix(f->parse->diags, span, meant, "write '%s'", meant);
	return true;
}

/* sum(i, j => i, x) */
static bool unquoted_spec(const Fault *f)
{
	Token open;
	if (!file_parse_opener(f->parser, &open) || open.kind != TOKEN_LPAREN)
		return false;
	diag(f->parse->diags, E0115, f->token.span,
	     "'=>' cannot stand here: a specification stands in quotes, such as \"i, j => i\"");
	return true;
}

/* `=:` outside of steps */
static bool misplaced_assignment(const Fault *f)
{
	bool colon = f->token.kind == TOKEN_COLON;
	Span span = colon ? f->feed->before.span : f->token.span;
	span.end = span.start + 2;
	diag(f->parse->diags, E0115, span,
	     "'=:' cannot stand here: the steps of a routine write, and those that a scan's body begins with");
	return true;
}

static bool wrong_equals(const Fault *f)
{
	const Token *before = &f->feed->before;
	switch (f->token.kind) {
	case TOKEN_COLON:
		return before->kind == TOKEN_EQ && before->span.end == f->token.span.start &&
		       misplaced_assignment(f);
	case TOKEN_EQ:
		if (!f->expected[TOKEN_ASSIGN] && f->text[1] == ':')
			return misplaced_assignment(f);
		if (f->expected[TOKEN_ASSIGN])
			return confused(f, 1, "=:", "steps set with '=:'");
		if (f->expected[TOKEN_COLON] && f->expected[TOKEN_RBRACKET])
			return confused(f, 1, ":", "a label stands before its size, as in h:28");
		return f->expected[TOKEN_EQEQ] &&
		       (fault_value_first(f) ||
			confused(f, 1, "==", "it names a value, and '==' compares"));
	case TOKEN_EQEQ:
		return f->expected[TOKEN_EQ] &&
		       confused(f, 2, "=", "it compares, and '=' names a value");
	case TOKEN_COLONEQ:
		if (f->expected[TOKEN_ASSIGN])
			return confused(f, 2, "=:", "the colon goes after the '='");
		return f->expected[TOKEN_EQ] && confused(f, 2, "=", "a value is named with '='");
	case TOKEN_ASSIGN:
		if (!f->expected[TOKEN_EQ])
			return false;
		confused(f, f->token.span.end - f->token.span.start, "= ",
		         "inside a routine the '=' and what is written against it are one symbol");
		return true;
	case TOKEN_FATARROW:
		if (unquoted_spec(f))
			return true;
		if (f->expected[TOKEN_ARROW])
			return confused(f, 2, "->", "'=>' belongs to specifications");
		if (f->expected[TOKEN_EQ])
			return confused(f, 2, "=", "'=>' belongs to specifications");
		return f->expected[TOKEN_GE] &&
		       confused(f, 2, ">=", "'=>' belongs to specifications");
	case TOKEN_ARROW:
		return f->expected[TOKEN_EQ] && !f->expected[TOKEN_LBRACE] &&
		       confused(f, 2, "=", "'->' belongs to shapes and results");
	default: return false;
	}
}

/* x += y, the way of other languages, in a step. */
static bool operator_first(const Fault *f)
{
	static const char *const ops[] = {"+=", "-=", "*=", "/=", "**="};
	for (size_t i = 0; f->expected[TOKEN_ASSIGN] && i < sizeof ops / sizeof *ops; i++) {
		size_t n = strlen(ops[i]);
		if (strncmp(f->text, ops[i], n) != 0)
			continue;
		char meant[8] = "=";
		memcpy(meant + 1, ops[i], n - 1);
		return confused(f, (uint32_t)n, meant, "in an assignment the '=' comes first");
	}
	return false;
}

static bool unmatched_closer(const Fault *f)
{
	Token open;
	if (!token_closes(f->token.kind) || file_parse_opener(f->parser, &open))
		return false;
	diag(f->parse->diags, E0116, f->token.span, "this '%.*s' closes nothing",
	     (int)(f->token.span.end - f->token.span.start), f->text);
	return true;
}

static bool keyword_as_name(const Fault *f)
{
	char class = fault_class(f->token.kind);
	bool word = class == 'S' || class == 'W' || f->token.kind == TOKEN_IF ||
	            f->token.kind == TOKEN_ITERATE || f->token.kind == TOKEN_SCAN ||
	            f->token.kind == TOKEN_WITH;
	int n = (int)(f->token.span.end - f->token.span.start);
	bool number_word = f->token.kind == TOKEN_NUMBER && (*f->text < '0' || *f->text > '9');
	const char *behind = f->text + n + strspn(f->text + n, " \t");
	bool braced = fault_opens_parameter(f) && !(*behind && strchr(":=}", *behind));
	if (!(word || number_word) || !f->expected[TOKEN_NAME] || f->expected[TOKEN_NUMBER] ||
	    f->expected[TOKEN_FOR] || (f->token.first && word) || braced ||
	    (number_word && f->feed->before.kind == TOKEN_DOT))
		return false;
	diag(f->parse->diags, E0118, f->token.span, "'%.*s' is a %s and cannot be a name", n,
	     f->text, number_word ? "number" : "keyword");
	if (f->feed->before.kind == TOKEN_DOT)
		diag_note(f->parse->diags, f->token.span,
			  "it is a word of the language, written alone: %.*s", n, f->text);
	else
		diag_fix(f->parse->diags, f->token.span,
			 arena_printf(f->parse->perm, "%.*s_", n, f->text),
			 "choose another name, such as '%.*s_'", n, f->text);
	return true;
}

/* `w =+ 1`: `=-` may be a sign that stands close. */
static bool is_step(const char *equals)
{
	return equals[0] == '=' &&
	       ((equals[1] && strchr("+*/:", equals[1])) || (equals[1] == '-' && equals[2] == ' '));
}

/* `y = x + 1`, `y += 1` and `y =+ 1` */
static bool forgotten_let(const Fault *f)
{
	if (f->token.kind != TOKEN_NAME || !f->expected[TOKEN_DIM] || f->expected[TOKEN_IN])
		return false;
	const char *p = f->text + (f->token.span.end - f->token.span.start);
	p += strspn(p, " \t");
	bool adds = p[0] && strchr("+-*/", p[0]) && p[1] == '=', step = is_step(p);
	if (!(adds || (p[0] == '=' && p[1] != '=')) || !f->token.first)
		return false;
	Span at = f->token.span;
	at.end = at.start;
	diag(f->parse->diags, E0119, f->token.span, "a statement starts with a keyword");
	if (adds || step)
		diag_note(
			f->parse->diags, f->token.span,
			"a name has one value: a sum is 'let total = ...', and a parameter changes in "
			"the steps of a routine: routine f() { w =%c 1 }",
			adds ? p[0] : p[1]);
	else
		diag_fix(f->parse->diags, at, "let ", "to name a value, write 'let' before it");
	return true;
}

/* The statement's keyword that a word is another language's for, or nearly is; NULL: none. */
static const char *meant_keyword(const Fault *f, const char *word)
{
	static const char *const words[][2] = {
		{"def", "fn"},	      {"func", "fn"},	   {"function", "fn"},
		{"return", "output"}, {"var", "let"},	   {"val", "let"},
		{"use", "import"},    {"using", "import"}, {"include", "import"},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], word) == 0)
			return words[i][1];
	const char *keywords[TOKEN_COUNT];
	size_t n = 0;
	for (int k = 0; k < TOKEN_COUNT; k++) {
		const char *label = token_info(k)->label; /* in quotes */
		if (f->expected[k] && fault_class(k) == 'S')
			keywords[n++] = arena_printf(f->parse->perm, "%.*s", (int)strlen(label) - 2,
						     label + 1);
	}
	return name_nearest(word, keywords, n);
}

static bool wrong_keyword(const Fault *f)
{
	int n = (int)(f->token.span.end - f->token.span.start);
	if (f->token.kind != TOKEN_NAME || !f->expected[TOKEN_DIM] || !f->token.first)
		return false;
	const char *word = arena_printf(f->parse->perm, "%.*s", n, f->text);
	const char *meant = meant_keyword(f, word);
	if (!meant)
		return false;
	diag(f->parse->diags, E0119, f->token.span,
	     "a statement starts with a keyword, and '%s' is none", word);
	diag_fix(f->parse->diags, f->token.span, meant, "write '%s'", meant);
	return true;
}

/* `print(x)`, `class Net:`, `from torch import nn`, `backward loss` */
static bool foreign_statement(const Fault *f)
{
	static const char steps[] =
		"it is a step, and steps stand in a routine: routine train(rate : f32) -> loss { backward loss }";
	static const char *const words[][2] = {
		{"print", "'tsr run' prints the results of a program, its outputs"},
		{"class",
		 "a layer is a function with a configuration: fn layer(out)(x) = {w : [... -> out]} * x"},
		{"from", "a library is read by 'import nn', whose names are nn.relu6 and so on"},
		{"while", "'scan(n, h = x) until (c) { E }' repeats E until c is other than 0"},
		{"assert", "'require n >= 1' says what sizes must be"},
		{"backward", steps},
		{"forward", steps},
		{"update", steps},
	};
	if (!f->token.first || !f->expected[TOKEN_DIM])
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!fault_is(f, f->token.span, words[i][0]))
			continue;
		diag(f->parse->diags, E0119, f->token.span,
		     "a statement starts with a keyword, and '%s' is none", words[i][0]);
		diag_note(f->parse->diags, f->token.span, "%s", words[i][1]);
		return true;
	}
	return false;
}

static bool expected(const Fault *f)
{
	Arena *arena = f->parse->perm;
	const char *list = expect_text(arena, f->expected, token_info, TOKEN_COUNT);
	diag(f->parse->diags, E0101, f->token.span, "expected %s before %s", list, fault_found(f));
	fault_notes(f);
	return true;
}

bool syntax_error(Parse *parse, const Feed *feed, const void *parser)
{
	static bool (*const explanations[])(const Fault *) = {
		unmatched_closer,
		wrong_equals,
		operator_first,
		fault_not_equal,
		fault_chained_comparison,
		keyword_as_name,
		forgotten_let,
		foreign_statement,
		wrong_keyword,
		fault_word_operator,
		fault_wrong_relation,
		expected,
	};
	Fault f = {.parse = parse, .feed = feed, .parser = parser, .token = feed->token};
	f.text = feed->lexer.source->text + f.token.span.start;
	for (int k = 0; k < TOKEN_COUNT; k++)
		f.expected[k] = file_parse_accepts(parser, k) &&
				(fault_class(k) != 'C' || !file_parse_accepts(parser, TOKEN_NAME));
	if (f.expected[TOKEN_IN])
		f.expected[TOKEN_LET] = false; /* more names: a comma says so */
	size_t i = 0;
	while (!explanations[i](&f))
		i++;
	return explanations[i] == keyword_as_name;
}
