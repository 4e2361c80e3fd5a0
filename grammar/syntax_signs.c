/* Explains comparisons and logic as other languages write them; the repair is of all that changes.
 *
 *   not x > 0           !(x > 0)
 *   0 < x < 1           0 < x && x < 1
 *   x <> 0              x != 0
 *   require n > 3       require n >= 4
 *   scan(h = x, 10)     scan(10, h = x)
 */
#include <stdlib.h>
#include <string.h>

#include "grammar/parsers.h"
#include "grammar/syntax_fault.h"

/* ---- what stands behind the token ---- */

/* Reads tokens without a word about those that are faulty. */
typedef struct Ahead {
	Lexer lexer;
	Diags quiet;
} Ahead;

typedef struct Operand {
	Span span;
	uint32_t ntokens;
	bool name;  /* it starts with one */
	bool joins; /* it has an operator outside of brackets */
	Token next; /* behind it */
} Operand;

static void start_ahead(const Fault *f, Ahead *ahead)
{
	diags_init(&ahead->quiet, f->parse->perm, f->parse->sources);
	ahead->lexer = f->feed->lexer;
	ahead->lexer.diags = &ahead->quiet;
}

static bool opens(int kind)
{
	return kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET || kind == TOKEN_LBRACKBAR ||
	       kind == TOKEN_LBRACE;
}

static bool is_word(const Fault *f, const Token *token, const char *word)
{
	return token->kind == TOKEN_NAME && fault_is(f, token->span, word);
}

/* Python's `not` reaches as far: to a word or a sign of logic, a comma, a bracket that closes, the end of the statement. */
static bool ends_operand(const Fault *f, const Token *token)
{
	int kind = token->kind;
	char class = fault_class(kind);
	bool punctuation = class == 'P' && !opens(kind);
	return punctuation || token_closes(kind) || kind == TOKEN_AND || kind == TOKEN_OR ||
	       class == 'W' || class == 'S' || class == 'X' || is_word(f, token, "and") ||
	       is_word(f, token, "or") || (token->first && class != 'O');
}

/* Starts with the token, which may end it at once. */
static Operand operand_at(const Fault *f, Ahead *ahead, Token token)
{
	Operand o = {.span = {token.span.file, token.span.start, token.span.start},
		     .name = token.kind == TOKEN_NAME,
		     .next = token};
	uint32_t depth = 0;
	while (o.next.kind != TOKEN_END && (depth > 0 || !ends_operand(f, &o.next))) {
		int kind = o.next.kind;
		depth -= token_closes(kind);
		o.joins |= depth == 0 &&
			   (kind == TOKEN_MINUS || (fault_class(kind) == 'O' && kind != TOKEN_DOT));
		depth += opens(kind);
		o.span.end = o.next.span.end;
		o.ntokens++;
		o.next = lexer_next(&ahead->lexer);
	}
	return o;
}

static const char *text_of(const Fault *f, Span span)
{
	return arena_printf(f->parse->perm, "%.*s", (int)(span.end - span.start),
			    f->feed->lexer.source->text + span.start);
}

/* ---- logic ---- */

/* `!` of all that `not` speaks of */
static const char *negated(const Fault *f, const Operand *o)
{
	return arena_printf(f->parse->perm, o->joins ? "!(%s)" : "!%s", text_of(f, o->span));
}

/* `not x` */
static bool word_not(const Fault *f)
{
	Ahead ahead;
	Span word = f->feed->before.span;
	start_ahead(f, &ahead);
	Operand o = operand_at(f, &ahead, f->token);
	if (o.ntokens == 0)
		return false;
	diag(f->parse->diags, E0115, word, "'not' cannot stand here: logic is written with signs");
	diag_fix(f->parse->diags, span_join(word, o.span), negated(f, &o), "write '!'");
	return true;
}

/* `and x`, `and not x` */
static bool word_joins(const Fault *f, const char *sign)
{
	Ahead ahead;
	Span span = f->token.span;
	start_ahead(f, &ahead);
	Token behind = lexer_next(&ahead.lexer);
	diag(f->parse->diags, E0115, span, "'%s' cannot stand here: logic is written with signs",
	     text_of(f, span));
	Operand o = {.ntokens = 0};
	if (is_word(f, &behind, "not"))
		o = operand_at(f, &ahead, lexer_next(&ahead.lexer));
	if (o.ntokens > 0)
		diag_fix(f->parse->diags, span_join(span, o.span),
			 arena_printf(f->parse->perm, "%s %s", sign, negated(f, &o)),
			 "write '%s' and '!'", sign);
	else
		diag_fix(f->parse->diags, span, sign, "write '%s'", sign);
	return true;
}

bool fault_word_operator(const Fault *f)
{
	bool operand = f->token.kind == TOKEN_NAME || f->token.kind == TOKEN_NUMBER;
	if (!operand || !f->expected[TOKEN_AND])
		return false;
	if (is_word(f, &f->feed->before, "not") && word_not(f))
		return true;
	if (is_word(f, &f->token, "and"))
		return word_joins(f, "&&");
	if (is_word(f, &f->token, "or"))
		return word_joins(f, "||");
	if (!is_word(f, &f->token, "mod"))
		return false;
	diag(f->parse->diags, E0115, f->token.span,
	     "'mod' cannot stand here: the rest is written with a sign");
	diag_fix(f->parse->diags, f->token.span, "%", "write '%%'");
	return true;
}

/* ---- comparisons ---- */

/* What stands between the comparison before and this one; empty where it is not written in one line, or has strings or
 * parameters, which nobody writes twice. */
static Span middle(const Fault *f)
{
	const char *text = f->feed->lexer.source->text;
	Span span = f->feed->before.span;
	uint32_t depth = 0;
	for (span.start = span.end; span.start > 0; span.start--) {
		char c = text[span.start - 1];
		if (strchr("\n\"{}#", c))
			return (Span){span.file, span.end, span.end};
		if (depth == 0 && strchr("<>=", c))
			break;
		depth += c == ')' || c == ']';
		depth -= depth > 0 && (c == '(' || c == '[');
	}
	span.start += (uint32_t)strspn(text + span.start, " \t");
	return span;
}

bool fault_chained_comparison(const Fault *f)
{
	int k = f->token.kind;
	bool compares = k == TOKEN_LT || k == TOKEN_LE || k == TOKEN_GT || k == TOKEN_GE ||
			k == TOKEN_EQEQ || k == TOKEN_NE;
	if (!compares || !f->expected[TOKEN_AND] || f->expected[TOKEN_LT])
		return false;
	diag(f->parse->diags, E0117, f->token.span, "comparisons do not chain");
	diag_note(f->parse->diags, f->token.span,
		  "join two of them with '&&', or put one in parentheses to compare its 0 or 1");
	Span twice = middle(f), at = f->token.span;
	at.end = at.start;
	if (twice.start < twice.end)
		diag_fix(f->parse->diags, at,
			 arena_printf(f->parse->perm, "&& %s ", text_of(f, twice)),
			 "write what stands between them twice");
	return true;
}

/* `x <> 0` */
bool fault_not_equal(const Fault *f)
{
	Span both = f->feed->before.span;
	if (f->token.kind != TOKEN_GT || f->feed->before.kind != TOKEN_LT ||
	    both.end != f->token.span.start)
		return false;
	both.end = f->token.span.end;
	diag(f->parse->diags, E0115, both,
	     "'<>' cannot stand here: what is not equal has a sign of its own");
	diag_fix(f->parse->diags, both, "!=", "write '!='");
	return true;
}

/* ---- relations of sizes ---- */

/* The operand and 1, 0 or -1; NULL: it is no plain number and no name. */
static const char *changed(const Fault *f, const Operand *o, int by)
{
	static const char *const signs[] = {" - 1", "", " + 1"};
	const char *text = text_of(f, o->span);
	size_t digits = strspn(text, "0123456789");
	long to = digits < 10 ? strtol(text, NULL, 10) + by : -1;
	if (o->ntokens == 1 && digits == 0 && o->name)
		return arena_printf(f->parse->perm, "%s%s", text, signs[by + 1]);
	if (o->ntokens != 1 || digits == 0 || text[digits] || to < 0)
		return NULL;
	return arena_printf(f->parse->perm, "%ld", to);
}

/* `require n > 3`, which is n >= 4: sizes are whole numbers. */
static bool sizes_compared(const Fault *f)
{
	Token require;
	Ahead ahead;
	int kind = f->token.kind;
	if ((kind != TOKEN_LT && kind != TOKEN_LE && kind != TOKEN_GT) ||
	    !file_parse_find(f->parser, TOKEN_REQUIRE, &require))
		return false;
	start_ahead(f, &ahead);
	Operand o = operand_at(f, &ahead, lexer_next(&ahead.lexer));
	Span left = {require.span.file, require.span.end, f->feed->before.span.end};
	left.start += (uint32_t)strspn(f->feed->lexer.source->text + left.start, " \t");
	const char *a = text_of(f, left);
	const char *b = changed(f, &o, kind == TOKEN_GT ? 1 : kind == TOKEN_LT ? -1 : 0);
	bool whole = o.next.kind == TOKEN_END || o.next.first || fault_class(o.next.kind) == 'S';
	diag(f->parse->diags, E0115, f->token.span,
	     "'%s' cannot stand here: sizes are related by '==', '>=' and 'divides'",
	     text_of(f, f->token.span));
	if (b && whole)
		diag_fix(f->parse->diags, span_join(left, o.span),
			 arena_printf(f->parse->perm, "%s >= %s", kind == TOKEN_GT ? a : b,
				      kind == TOKEN_GT ? b : a),
			 "write '>='");
	else
		diag_note(
			f->parse->diags, f->token.span,
			"sizes are whole numbers: A > B is A >= B + 1, A < B is B >= A + 1, A <= B is B >= A");
	return true;
}

bool fault_wrong_relation(const Fault *f)
{
	if (!f->expected[TOKEN_DIVIDES] || f->token.kind == TOKEN_EQ ||
	    f->token.kind == TOKEN_FATARROW)
		return false;
	if (!sizes_compared(f))
		diag(f->parse->diags, E0101, f->token.span,
		     "expected '==', '>=' or 'divides' before %s", fault_found(f));
	return true;
}

/* ---- loops ---- */

/* `scan(h = x, 10)`: the number of steps stands first. */
bool fault_value_first(const Fault *f)
{
	Token at, open;
	Ahead ahead;
	bool scan = file_parse_find(f->parser, TOKEN_SCAN, &at);
	bool inside = scan || file_parse_find(f->parser, TOKEN_ITERATE, &at);
	if (!inside || !file_parse_opener(f->parser, &open) || open.span.start != at.span.end)
		return false;
	const char *form = scan ? "scan" : "iterate";
	Span name = f->feed->before.span;
	diag(f->parse->diags, E0115, f->token.span,
	     "'=' cannot stand here: the number of steps stands before what is carried");
	diag_note(f->parse->diags, f->token.span, "'%s(n, h = x) { E }' runs E in n steps", form);
	start_ahead(f, &ahead);
	Operand value = operand_at(f, &ahead, lexer_next(&ahead.lexer));
	if (value.next.kind != TOKEN_COMMA || name.start != open.span.end)
		return true;
	Operand count = operand_at(f, &ahead, lexer_next(&ahead.lexer));
	if (count.ntokens > 0 &&
	    (count.next.kind == TOKEN_RPAREN || count.next.kind == TOKEN_COMMA))
		diag_fix(f->parse->diags, span_join(name, count.span),
			 arena_printf(f->parse->perm, "%s, %s", text_of(f, count.span),
				      text_of(f, span_join(name, value.span))),
			 "write it first");
	return true;
}
