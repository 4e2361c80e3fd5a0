/* Notes beside "expected X before Y": brackets that are open, and what people from other languages write. */
#include <string.h>

#include "base/dtype.h"
#include "grammar/expect.h"
#include "grammar/parsers.h"
#include "grammar/syntax_fault.h"

char fault_class(int kind) { return token_info(kind)->class[0]; }

const char *fault_found(const Fault *f)
{
	const char *end = token_info(TOKEN_END)->label;
	return expect_found(f->parse->perm, f->feed->lexer.source, f->token, end);
}

bool fault_is(const Fault *f, Span span, const char *word)
{
	size_t n = span.end - span.start;
	return strlen(word) == n && memcmp(f->feed->lexer.source->text + span.start, word, n) == 0;
}

bool fault_opens_parameter(const Fault *f)
{
	return f->feed->before.kind == TOKEN_LBRACE && f->expected[TOKEN_NAME] &&
	       !f->expected[TOKEN_NUMBER] && !f->expected[TOKEN_FOR];
}

static Span after(Span span) { return (Span){span.file, span.end, span.end}; }

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
	bool stray = token_closes(f->token.kind) || fault_class(f->token.kind) == 'S' ||
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

/* x[0], f(x)[0] and x.shape[0]. */
static void note_subscript(const Fault *f)
{
	Span before = f->feed->before.span;
	bool touches = before.end == f->token.span.start, name = f->feed->before.kind == TOKEN_NAME;
	if (f->token.kind != TOKEN_LBRACKET || !touches ||
	    !(name || f->feed->before.kind == TOKEN_RPAREN))
		return;
	bool size = fault_is(f, before, "shape") || fault_is(f, before, "size");
	diag_note(f->parse->diags, f->token.span, "%s",
		  size ? "the size of an axis gets a name by 'with': E with (h)"
		       : fault_subscript_form(f));
	if (name && !size)
		fault_fix_subscript(f, before);
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
		diag_note(
			f->parse->diags, f->token.span,
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

/* `let (a : [n], b) = ...` and `scan(n, (a : [n], b) = ...)` */
static void note_tuple_names(const Fault *f)
{
	Token open;
	bool names = f->token.kind == TOKEN_COLON && f->expected[TOKEN_COMMA] &&
		     f->expected[TOKEN_RPAREN] && !f->expected[TOKEN_PLUS];
	if (!names || !file_parse_opener(f->parser, &open) || open.kind != TOKEN_LPAREN)
		return;
	bool carried = file_parse_find(f->parser, TOKEN_SCAN, &open) ||
		       file_parse_find(f->parser, TOKEN_ITERATE, &open);
	diag_note(
		f->parse->diags, f->token.span,
		carried ? "of several names a shape stands at what they start with: let zero : [3] = 0, "
			  "then (h, c) = (zero, zero)"
			: "a shape stands behind one name: let (a, b) = ..., c : [3] = a");
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

/* `fn f(x) { x + 1 }`, `fn f(x): ...`, `lambda x: x + 1`, `return x` */
static bool note_body(const Fault *f)
{
	Token fn;
	Span before = f->feed->before.span;
	bool word = f->token.kind == TOKEN_NAME && f->feed->before.kind == TOKEN_NAME;
	bool body = f->feed->before.kind == TOKEN_RPAREN && f->expected[TOKEN_EQ] &&
		    (f->token.kind == TOKEN_LBRACE || f->token.kind == TOKEN_COLON) &&
		    file_parse_find(f->parser, TOKEN_FN, &fn);
	if (!body && !(word && (fault_is(f, before, "lambda") || fault_is(f, before, "return"))))
		return false;
	diag_note(f->parse->diags, f->token.span,
		  "a function has a name and is one expression: fn f(x) = x + 1");
	return true;
}

/* `{ x + 1 }`, `{ let h = ... }` */
static bool note_braces(const Fault *f)
{
	if (!fault_opens_parameter(f) &&
	    !(f->expected[TOKEN_COLON] && f->expected[TOKEN_EQ] && f->expected[TOKEN_RBRACE]))
		return false;
	diag_note(
		f->parse->diags, f->token.span,
		"braces declare a parameter where it is used, {w : [3 -> 4]}; what is computed stands "
		"without them: fn f(x) = x + 1");
	return true;
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

/* `input x : [4] f32` */
static void note_dtype_behind(const Fault *f)
{
	size_t n = f->token.span.end - f->token.span.start;
	if (f->token.kind != TOKEN_NAME || f->feed->before.kind != TOKEN_RBRACKET || f->token.first)
		return;
	Dtype dtype = dtype_from_name(f->text, n);
	if (dtype == DTYPE_NONE)
		dtype = dtype_elsewhere(f->text, n);
	if (dtype != DTYPE_NONE)
		diag_note(f->parse->diags, f->token.span,
			  "the element type stands before the shape: %s [...]", dtype_name(dtype));
}

/* `math.pi`, `np.inf` */
static void note_number_word(const Fault *f)
{
	if (f->token.kind == TOKEN_NUMBER && f->feed->before.kind == TOKEN_DOT &&
	    (*f->text < '0' || *f->text > '9'))
		diag_note(f->parse->diags, f->token.span,
			  "it is a number of the language, written alone: %.*s",
			  (int)(f->token.span.end - f->token.span.start), f->text);
}

/* `E with (n) / 2` */
static void note_with(const Fault *f)
{
	if (f->expected[TOKEN_WITH] && !f->expected[TOKEN_PLUS] &&
	    fault_class(f->token.kind) == 'O')
		diag_note(
			f->parse->diags, f->token.span,
			"'with' ends an expression; what goes on is written (... with (...)) %.*s ...",
			(int)(f->token.span.end - f->token.span.start), f->text);
}

/* `input x : [4] = 0` */
static void note_input(const Fault *f)
{
	Token input;
	if (f->token.kind == TOKEN_EQ && f->feed->before.kind == TOKEN_RBRACKET &&
	    !f->expected[TOKEN_EQ] && file_parse_find(f->parser, TOKEN_INPUT, &input))
		diag_note(
			f->parse->diags, input.span,
			"the caller gives an input; what begins with a value is a 'param', what keeps it a 'const'");
}

/* `for i in range(3) { ... }` where no step can stand */
static void note_for(const Fault *f)
{
	if (f->token.kind == TOKEN_FOR && !f->expected[TOKEN_FOR] && !f->expected[TOKEN_NUMBER])
		diag_note(
			f->parse->diags, f->token.span,
			"an expression that repeats is 'scan(n, h = x, i) { E }': h is x at first, then what E gave; 'for' "
			"stands in routines, and goes through parameters");
}

/* `fn f(x) = E adjoint = EX`, or behind what is no function */
static void note_rule(const Fault *f)
{
	if (fault_is(f, f->token.span, "adjoint") || fault_is(f, f->feed->before.span, "adjoint"))
		diag_note(
			f->parse->diags, f->token.span,
			"a rule of gradients stands behind a function's body, with a name for the gradient of "
			"its result: fn f(x) = x .* x adjoint (c) = 2 * c .* x");
}

void fault_notes(const Fault *f)
{
	note_bracket(f);
	note_let(f);
	note_string(f);
	note_subscript(f);
	note_argument(f);
	note_with(f);
	if (!note_iterate(f) && !note_let_names(f) && !note_choice(f))
		note_shape(f);
	note_tuple_names(f);
	note_until(f);
	if (!note_body(f) && !note_braces(f))
		note_application(f);
	note_dtype_behind(f);
	note_number_word(f);
	note_rule(f);
	note_input(f);
	note_for(f);
}
