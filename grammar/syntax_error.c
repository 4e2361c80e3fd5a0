/* Explains syntax errors. The special messages know one symbol written for another, a keyword used
 * as a name, a forgotten `let`, chained comparisons, brackets and words of other languages; they
 * are tried in the order of the table at the end, and the list of expected tokens speaks for all
 * else. */
#include "grammar/syntax_error.h"

#include <string.h>

#include "base/nearest.h"
#include "grammar/expect.h"
#include "grammar/parsers.h"

typedef struct Fault {
	Parse *parse;
	const Feed *feed;
	const void *parser;
	Token token;
	const char *text; /* of the token and what follows it */
	bool expected[TOKEN_COUNT];
} Fault;

static char class_of(int kind)
{
	return token_info(kind)->class[0];
}

static Span after(Span span)
{
	return (Span){span.file, span.end, span.end};
}

static const char *found(const Fault *f)
{
	const char *end = token_info(TOKEN_END)->label;
	return expect_found(f->parse->perm, f->feed->lexer.source, f->token, end);
}

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

static bool wrong_equals(const Fault *f)
{
	switch (f->token.kind) {
	case TOKEN_EQ:
		if (f->expected[TOKEN_ASSIGN])
			return confused(f, 1, "=:", "the steps of a routine set with '=:'");
		return f->expected[TOKEN_EQEQ] &&
		       confused(f, 1, "==", "it names a value, and '==' compares");
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

static bool chained_comparison(const Fault *f)
{
	int k = f->token.kind;
	bool compares = k == TOKEN_LT || k == TOKEN_LE || k == TOKEN_GT || k == TOKEN_GE ||
	                k == TOKEN_EQEQ || k == TOKEN_NE;
	if (!compares || !f->expected[TOKEN_AND] || f->expected[TOKEN_LT])
		return false;
	diag(f->parse->diags, E0117, f->token.span, "comparisons do not chain");
	diag_note(f->parse->diags, f->token.span,
	          "join two of them with '&&', or put one in parentheses to compare its 0 or 1");
	return true;
}

static bool keyword_as_name(const Fault *f)
{
	char class = class_of(f->token.kind);
	bool word = class == 'S' || class == 'W' || f->token.kind == TOKEN_IF ||
	            f->token.kind == TOKEN_ITERATE || f->token.kind == TOKEN_SCAN ||
	            f->token.kind == TOKEN_WITH;
	int n = (int)(f->token.span.end - f->token.span.start);
	bool number_word = f->token.kind == TOKEN_NUMBER && (*f->text < '0' || *f->text > '9');
	if (!(word || number_word) || !f->expected[TOKEN_NAME] || f->expected[TOKEN_NUMBER] ||
	    f->expected[TOKEN_FOR] || (f->token.first && word))
		return false;
	diag(f->parse->diags, E0118, f->token.span, "'%.*s' is a %s and cannot be a name", n,
	     f->text, number_word ? "number" : "keyword");
	diag_fix(f->parse->diags, f->token.span, arena_printf(f->parse->perm, "%.*s_", n, f->text),
	         "choose another name, such as '%.*s_'", n, f->text);
	return true;
}

static bool forgotten_let(const Fault *f)
{
	if (f->token.kind != TOKEN_NAME || !f->expected[TOKEN_DIM] || f->expected[TOKEN_IN])
		return false;
	const char *p = f->text + (f->token.span.end - f->token.span.start);
	p += strspn(p, " \t");
	if (p[0] != '=' || p[1] == '=' || !f->token.first)
		return false;
	Span at = f->token.span;
	at.end = at.start;
	diag(f->parse->diags, E0119, f->token.span, "a statement starts with a keyword");
	diag_fix(f->parse->diags, at, "let ", "to name a value, write 'let' before it");
	return true;
}

/* `a and b`, as in other languages. */
static bool word_operator(const Fault *f)
{
	static const char *const words[][3] = {
		{"and", "&&", "logic is written with signs"},
		{"or", "||", "logic is written with signs"},
		{"mod", "%", "the rest is written with a sign"},
	};
	uint32_t n = f->token.span.end - f->token.span.start;
	if (f->token.kind != TOKEN_NAME || !f->expected[TOKEN_AND])
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i][0]) == n && memcmp(words[i][0], f->text, n) == 0)
			return confused(f, n, words[i][1], words[i][2]);
	}
	return false;
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
		if (f->expected[k] && class_of(k) == 'S')
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

static bool wrong_relation(const Fault *f)
{
	if (!f->expected[TOKEN_DIVIDES] || f->token.kind == TOKEN_EQ ||
	    f->token.kind == TOKEN_FATARROW)
		return false;
	diag(f->parse->diags, E0101, f->token.span, "expected '==', '>=' or 'divides' before %s",
	     found(f));
	return true;
}

static void note_string(const Fault *f)
{
	Token before = f->feed->before, string = f->token.kind == TOKEN_STRING ? f->token : before;
	if (string.kind != TOKEN_STRING)
		return;
	const char *text = f->feed->lexer.source->text + string.span.start;
	size_t n = string.span.end - string.span.start;
	if (memchr(text, '\n', n))
		diag_note(
			f->parse->diags,
			(Span){string.span.file, string.span.start, string.span.start + 1},
			"this string goes on over the end of its line: is a quotation mark missing?");
}

/* A closer is expected, or another one stands here: shows the bracket that is open. */
static void note_bracket(const Fault *f)
{
	Token open;
	if (!file_parse_opener(f->parser, &open))
		return;
	bool stray = token_closes(f->token.kind) || class_of(f->token.kind) == 'S' ||
	             f->token.kind == TOKEN_END;
	bool closable = f->expected[TOKEN_RPAREN] || f->expected[TOKEN_RBRACE] ||
	                f->expected[TOKEN_RBRACKET] || f->expected[TOKEN_BARRBRACK];
	if (stray || closable)
		diag_note(f->parse->diags, open.span, "to match this '%.*s'",
		          (int)(open.span.end - open.span.start),
		          f->feed->lexer.source->text + open.span.start);
	if (open.kind == TOKEN_LPAREN && stray && f->expected[TOKEN_RPAREN] &&
	    !f->expected[TOKEN_NUMBER] && !token_closes(f->token.kind))
		diag_fix(f->parse->diags, after(f->feed->before.span), ")", "close it with ')'");
}

static void note_let(const Fault *f)
{
	Token let;
	if (!f->expected[TOKEN_IN] || !file_parse_find(f->parser, TOKEN_LET, &let))
		return;
	diag_note(f->parse->diags, let.span,
		  "this 'let' stands inside an expression, so 'in' and a result must follow");
	Span at = {f->token.span.file, f->token.span.start, f->token.span.start};
	if (f->token.kind == TOKEN_NAME)
		diag_fix(f->parse->diags, at, "in ", "write 'in' before the result");
}

/* x[0] as in other languages. */
static void note_subscript(const Fault *f)
{
	bool touches = f->feed->before.span.end == f->token.span.start;
	if (f->token.kind == TOKEN_LBRACKET && touches && f->feed->before.kind == TOKEN_NAME)
		diag_note(
			f->parse->diags, f->token.span,
			"'x @ i' takes the leftmost batch axis at i; a number in a specification takes any "
			"other: sum(\"i, 0 => i\", x)");
}

/* `for i in ...`, and `iterate` or `scan` with something else in its parentheses. */
static bool note_iterate(const Fault *f)
{
	Token at, open;
	bool scan = file_parse_find(f->parser, TOKEN_SCAN, &at);
	bool inside = scan || file_parse_find(f->parser, TOKEN_ITERATE, &at);
	bool head = inside && file_parse_opener(f->parser, &open) && open.span.start == at.span.end;
	bool body = inside && f->expected[TOKEN_LBRACE] && !f->expected[TOKEN_NUMBER];
	bool loop = f->token.kind == TOKEN_FOR && f->expected[TOKEN_NUMBER];
	if (head && f->token.kind == TOKEN_EQ) {
		diag_note(f->parse->diags, f->token.span,
			  "several values are carried as '%s(n, (h, c) = (x, y)) { E }'",
			  scan ? "scan" : "iterate");
		return true;
	}
	bool bare = f->token.kind == TOKEN_RPAREN && f->expected[TOKEN_COMMA];
	bool told = (head && (f->expected[TOKEN_EQ] || bare)) || body || loop;
	if (told && scan)
		diag_note(
			f->parse->diags, f->token.span,
			"'scan(n, h = x) { E }' runs E in n steps: h is x at first, then what E gave; "
			"'scan(n, h = x, i)' counts in i, and ') until (c) {' ends it early");
	else if (told)
		diag_note(f->parse->diags, f->token.span,
			  "'iterate(n, h = x) { E }' repeats E: h is x at first, then what E gave; "
			  "'iterate(n, h = x, i)' counts in i");
	return head || body || loop;
}

/* `scan(n, h = x) { E } until (c)`: a word that stands elsewhere in the form. */
static void note_until(const Fault *f)
{
	if (f->token.kind == TOKEN_UNTIL && f->feed->before.kind == TOKEN_RBRACE)
		diag_note(f->parse->diags, f->token.span,
			  "the condition stands in front of the body: scan(n, h = x) until (c) { E }");
}

/* `let a, b = ...` and `let (a, b) : [3] = ...` */
static bool note_let_names(const Fault *f)
{
	Token let;
	if (!f->expected[TOKEN_EQ] || !file_parse_find(f->parser, TOKEN_LET, &let))
		return false;
	if (f->token.kind == TOKEN_COMMA)
		diag_note(f->parse->diags, f->token.span,
			  "the names of a tuple stand in parentheses: let (a, b) = ...");
	else if (f->token.kind == TOKEN_COLON)
		diag_note(f->parse->diags, f->token.span,
			  "a shape stands behind one name: let a : [3] = ..., b : [4] = ...");
	return true;
}

/* `if (c, a, b)`: a choice that is made for each element. */
static bool note_choice(const Fault *f)
{
	if (!f->expected[TOKEN_THEN])
		return false;
	diag_note(
		f->parse->diags, f->token.span,
		"'if C then A else B' is decided at compile time; 'where(c, a, b)' chooses for each "
		"element");
	return true;
}

/* `input x : 3` and `input x : (3, 4)` */
static void note_shape(const Fault *f)
{
	Span span = f->token.span;
	if (f->feed->before.kind != TOKEN_COLON || !f->expected[TOKEN_LBRACKBAR])
		return;
	if (f->token.kind == TOKEN_NUMBER)
		diag_fix(f->parse->diags, span,
			 arena_printf(f->parse->perm, "[%.*s]", (int)(span.end - span.start),
				      f->text),
			 "a shape stands in brackets; '[]' is one number");
	else if (f->token.kind == TOKEN_LPAREN)
		diag_note(f->parse->diags, span,
			  "a shape stands in brackets: [batch | input -> output]");
}

/* `routine f(v : [3])` and `routine f(v : f32 [3])` */
static void note_argument(const Fault *f)
{
	Token routine, open;
	if (f->token.kind == TOKEN_LBRACKET &&
	    file_parse_find(f->parser, TOKEN_ROUTINE, &routine) &&
	    file_parse_opener(f->parser, &open) && open.kind == TOKEN_LPAREN)
		diag_note(
			f->parse->diags, f->token.span,
			"the arguments of a routine are numbers, such as 'at : i32'; an array that it reads "
			"is an input of the program");
}

/* `relu x` */
static void note_application(const Fault *f)
{
	Span name = f->feed->before.span;
	if (f->token.kind != TOKEN_NAME || f->feed->before.kind != TOKEN_NAME || f->token.first ||
	    !f->expected[TOKEN_LPAREN])
		return;
	const char *text = f->feed->lexer.source->text + name.start;
	diag_note(f->parse->diags, f->token.span,
		  "a function is applied with parentheses: %.*s(...)", (int)(name.end - name.start),
		  text);
}

/* `E with (n) / 2` */
static void note_with(const Fault *f)
{
	if (f->expected[TOKEN_WITH] && !f->expected[TOKEN_PLUS] && class_of(f->token.kind) == 'O')
		diag_note(
			f->parse->diags, f->token.span,
			"'with' ends an expression; what goes on is written (... with (...)) %.*s ...",
			(int)(f->token.span.end - f->token.span.start), f->text);
}

static bool expected(const Fault *f)
{
	Arena *arena = f->parse->perm;
	const char *list = expect_text(arena, f->expected, token_info, TOKEN_COUNT);
	diag(f->parse->diags, E0101, f->token.span, "expected %s before %s", list, found(f));
	note_bracket(f);
	note_let(f);
	note_string(f);
	note_subscript(f);
	note_argument(f);
	note_with(f);
	if (!note_iterate(f) && !note_let_names(f) && !note_choice(f))
		note_shape(f);
	note_until(f);
	note_application(f);
	return true;
}

bool syntax_error(Parse *parse, const Feed *feed, const void *parser)
{
	static bool (*const explanations[])(const Fault *) = {
		unmatched_closer, wrong_equals,	 operator_first, chained_comparison,
		keyword_as_name,  forgotten_let, wrong_keyword,	 word_operator,
		wrong_relation,	  expected,
	};
	Fault f = {.parse = parse, .feed = feed, .parser = parser, .token = feed->token};
	f.text = feed->lexer.source->text + f.token.span.start;
	for (int k = 0; k < TOKEN_COUNT; k++)
		f.expected[k] = file_parse_accepts(parser, k) &&
		                (class_of(k) != 'C' || !file_parse_accepts(parser, TOKEN_NAME));
	if (f.expected[TOKEN_IN])
		f.expected[TOKEN_LET] = false; /* more names: a comma says so */
	size_t i = 0;
	while (!explanations[i](&f))
		i++;
	return explanations[i] == keyword_as_name;
}
