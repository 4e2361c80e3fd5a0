/* Drives the specification parser over the text of a string. A comma is fed between two axes that
 * stand side by side in the single-letter mode, and beside a row variable in both. The first error
 * ends a specification: it is short. */
#include <ctype.h>
#include <string.h>
#include <stb/stb_ds.h>

#include "grammar/expect.h"
#include "grammar/parse.h"
#include "grammar/parsers.h"
#include "grammar/spec_tree.h"

/* ---- checks of the whole text ---- */

/* The next occurrence of two bytes from `from`; its file is 0 when there is none. */
static Span find_pair(const SpecTree *tree, Span text, uint32_t from, const char *pair)
{
	for (uint32_t i = from; i + 1 < text.end; i++)
		if (memcmp(tree->source->text + i, pair, 2) == 0)
			return (Span){text.file, i, i + 2};
	return SPAN_NONE;
}

/* "ij,jk->ik", of letters alone, some of which stand together, as it is written here; NULL: it is another text. */
static const char *from_numpy(SpecTree *tree, Span text, Span arrow)
{
	const char *at = tree->source->text + text.start;
	size_t n = text.end - text.start, to = arrow.start - text.start, together = 0;
	enum { WIDEST = 4 }; /* what one character becomes */
	char *out = ARENA_ARRAY(tree->parse->perm, char, WIDEST *n + 1), *end = out;
	for (size_t i = 0; i < n; i++) {
		bool comma = at[i] == ',' && i < to, sign = i == to;
		if (!comma && !sign && !isalpha((unsigned char)at[i]) && at[i] != '.' &&
		    at[i] != ' ')
			return NULL;
		together +=
			i > 0 && isalpha((unsigned char)at[i]) && isalpha((unsigned char)at[i - 1]);
		if (sign) {
			end = stpcpy(end, i && at[i - 1] == ' ' ? "=>" : " => ");
			i++;
		} else if (comma) {
			end = stpcpy(end, i + 1 == n || at[i + 1] != ' ' ? "; " : ";");
		} else {
			*end++ = at[i];
		}
	}
	return together && memchr(at, ',', to) ? out : NULL;
}

static void report_no_result(SpecTree *tree, Span text)
{
	Diags *ds = tree->parse->diags;
	Span arrow = find_pair(tree, text, text.start, "->");
	bool single = !span_is_none(arrow) && span_is_none(find_pair(tree, text, arrow.end, "->"));
	diag(ds, E0132, text, "this specification has no '=>' between its operands and its result");
	const char *numpy = single ? from_numpy(tree, text, arrow) : NULL;
	if (numpy)
		diag_fix(ds, text, numpy,
			 "';' stands between operands, and '=>' before the result");
	else if (single)
		diag_fix(ds, arrow, "=>",
		         "write '=>' ('->' separates the input and output rows of one tensor)");
}

/* Does "2*o" stand before it, so that a mark may be meant (`=+`)? */
static bool ends_affine(const SpecTree *tree, Span text, Span implies)
{
	const char *at = tree->source->text + implies.start,
		   *begin = tree->source->text + text.start;
	while (at > begin && at[-1] == ' ')
		at--;
	while (at > begin && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
		at--;
	return at > begin && at[-1] == '*';
}

/* Is there exactly one `=>`? */
static bool check_implies(SpecTree *tree, Span text)
{
	Diags *ds = tree->parse->diags;
	Span first = find_pair(tree, text, text.start, "=>");
	if (span_is_none(first)) {
		report_no_result(tree, text);
		return false;
	}
	Span second = find_pair(tree, text, first.end, "=>");
	if (span_is_none(second))
		return true;
	diag(ds, E0133, second, "a specification has one '=>', and this is another");
	diag_note(ds, first, "the first one is here");
	if (!ends_affine(tree, text, first))
		diag_fix(ds, first, ";", "operands are separated by ';'");
	return false;
}

/* ---- names that are both axis and row variable ---- */

typedef struct RowVars {
	struct {
		Sym key;
		Span value;
	} *at; /* stb_ds; a value without a place: reported */
} RowVars;

static void collect_row_vars(RowVars *vars, const AstSpecTensor *tensor)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		const AstSpecRow *row = &tensor->rows[k];
		if (row->var_at >= 0 && hmgeti(vars->at, row->var.sym) < 0)
			hmput(vars->at, row->var.sym, row->var.span);
	}
}

static void check_letter(SpecTree *tree, RowVars *vars, Name letter)
{
	ptrdiff_t i = letter.sym ? hmgeti(vars->at, letter.sym) : -1;
	if (i < 0 || span_is_none(vars->at[i].value))
		return;
	tree->failed = true;
	diag(tree->parse->diags, E0135, letter.span,
	     "'%s' is used both as an axis and as a row variable in this specification",
	     letter.sym);
	diag_note(tree->parse->diags, vars->at[i].value, "it is a row variable here");
	vars->at[i].value = SPAN_NONE;
}

static void check_letters(SpecTree *tree, RowVars *vars, const AstSpecTensor *tensor)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		const AstSpecRow *row = &tensor->rows[k];
		for (uint32_t i = 0; i < row->naxes; i++) {
			check_letter(tree, vars, row->axes[i].name);
			check_letter(tree, vars, row->axes[i].kernel);
			for (uint32_t p = 0; p < row->axes[i].nparts; p++)
				check_letter(tree, vars, row->axes[i].parts[p].letter);
		}
	}
}

static void check_names(SpecTree *tree)
{
	RowVars vars = {NULL};
	for (size_t i = 0; i < tree->operands.n; i++)
		collect_row_vars(&vars, &tree->operands.at[i]);
	collect_row_vars(&vars, &tree->result);
	for (size_t i = 0; i < tree->operands.n; i++)
		check_letters(tree, &vars, &tree->operands.at[i]);
	check_letters(tree, &vars, &tree->result);
	hmfree(vars.at);
}

/* ---- the driver ---- */

static bool is_item(int kind) { return spec_token_info(kind)->class[0] == 'A'; }

/* "o =+1 k": a margin without its brackets stands before the token. */
static bool report_margin(const SpecTree *tree)
{
	const char *text = tree->source->text + tree->last.span.start;
	size_t n = tree->last.span.end - tree->last.span.start;
	bool touches = tree->last.span.start >= 3 &&
		       (memcmp(text - 2, "=+", 2) == 0 || memcmp(text - 3, "=+?", 3) == 0);
	if (tree->last.kind != SPEC_TOKEN_INT || !touches)
		return false;
	diag_fix(tree->parse->diags, tree->last.span,
		 arena_printf(tree->parse->perm, "[%.*s]", (int)n, text),
		 "margins stand in brackets: '=+[1]', or '=+[1, 2]'");
	return true;
}

/* "[bins]" where each letter is an axis: the word is meant, and a comma behind it says so. */
static bool report_word(const SpecTree *tree, Token token)
{
	const char *text = tree->source->text;
	uint32_t start = tree->last.span.start, end = token.span.start;
	bool word = tree->single_letters && tree->last.kind == SPEC_TOKEN_NAME && start > 0 &&
		    text[start - 1] == '[' && tree->last.span.end == token.span.start;
	if (!word)
		return false;
	end += (uint32_t)strcspn(text + end, "]\"");
	Span gap = {token.span.file, end + 1, end + 1};
	if (text[end] == ']')
		diag_fix(tree->parse->diags, gap, ",",
			 "each letter is an axis where a specification has no ',' and no sign: "
			 "a ',' makes each word the name of one");
	return text[end] == ']';
}

static void report(SpecTree *tree, const void *parser, Token token)
{
	bool expected[SPEC_TOKEN_COUNT];
	Arena *arena = tree->parse->perm;
	for (int k = 0; k < SPEC_TOKEN_COUNT; k++)
		expected[k] = spec_parse_accepts(parser, k);
	const char *end = spec_token_info(SPEC_TOKEN_END)->label;
	diag(tree->parse->diags, E0131, token.span, "expected %s before %s",
	     expect_text(arena, expected, spec_token_info, SPEC_TOKEN_COUNT),
	     expect_found(arena, tree->source, token, end));
	Span gap = {token.span.file, tree->last.span.end, tree->last.span.end};
	if (report_margin(tree) || report_word(tree, token))
		return;
	if (expected[SPEC_TOKEN_COMMA] && spec_token_info(token.kind)->class[0] == 'A')
		diag_fix(tree->parse->diags, gap, ",", "axes are separated by commas here");
	if (expected[SPEC_TOKEN_RBRACKET])
		diag_fix(tree->parse->diags, gap, "]", "close it with ']'");
	else if (expected[SPEC_TOKEN_RPAREN] && !is_item(token.kind))
		diag_fix(tree->parse->diags, gap, ")", "close it with ')'");
	if (tree->last.kind == SPEC_TOKEN_STAR && token.kind == SPEC_TOKEN_INT)
		diag_note(tree->parse->diags, token.span, "the number stands first: 2*i");
}

static bool feed(SpecTree *tree, void *parser, Token token)
{
	if (token.kind == SPEC_TOKEN_ERROR || !spec_parse_accepts(parser, token.kind)) {
		if (token.kind != SPEC_TOKEN_ERROR)
			report(tree, parser, token);
		tree->failed = true;
		return false;
	}
	spec_parse_feed(parser, token);
	tree->last = token;
	return true;
}

static bool is_row_var(int kind)
{
	return kind == SPEC_TOKEN_ELLIPSIS || kind == SPEC_TOKEN_ROWVAR;
}

/* An axis begins with an item, which `[` and `(` are too, and ends with one or with `]`, `)`; the
 * letters of a joined axis stand side by side. */
static bool needs_comma(const Lexer *lexer, const SpecTree *tree, Token before, Token token)
{
	bool opens = before.kind == SPEC_TOKEN_LBRACKET || before.kind == SPEC_TOKEN_LPAREN;
	bool ends = before.kind == SPEC_TOKEN_RBRACKET || before.kind == SPEC_TOKEN_RPAREN ||
		    (is_item(before.kind) && !opens);
	return !tree->inside && ends && is_item(token.kind) &&
	       (lexer->single_letters || is_row_var(before.kind) || is_row_var(token.kind));
}

static void parse_text(SpecTree *tree, Lexer *lexer, Span text)
{
	void *parser = spec_parse_new(tree);
	REQUIRE(parser);
	tree->last = (Token){SPEC_TOKEN_END, false, {text.file, text.start, text.start}};
	for (bool going = true; going;) {
		Token token = lexer_next_spec(lexer);
		Token comma = {
			SPEC_TOKEN_COMMA, false, {text.file, token.span.start, token.span.start}};
		if (needs_comma(lexer, tree, tree->last, token) &&
		    spec_parse_accepts(parser, SPEC_TOKEN_COMMA))
			feed(tree, parser, comma);
		tree->inside = token.kind == SPEC_TOKEN_LPAREN ||
			       (tree->inside && token.kind != SPEC_TOKEN_RPAREN);
		going = feed(tree, parser, token) && token.kind != SPEC_TOKEN_END && !tree->full;
	}
	spec_parse_free(parser);
}

AstSpec *parse_spec(Parse *parse, AstExpr *string)
{
	REQUIRE(string->kind == AST_STRING);
	if (string->spec)
		return string->spec;
	AstSpec *spec = string->spec = ARENA_NEW(parse->perm, AstSpec);
	SpecTree tree = {.parse = parse, .source = source_at(parse->sources, string->span.file)};
	Lexer lexer;
	spec->span = (Span){string->span.file, string->span.start + 1, string->span.end - 1};
	lexer_init_spec(&lexer, parse->sources, spec->span, parse->diags);
	spec->single_letters = tree.single_letters = lexer.single_letters;
	spec->broken = true;
	if (!check_implies(&tree, spec->span))
		return spec;
	parse_text(&tree, &lexer, spec->span);
	if (!tree.failed)
		check_names(&tree);
	spec->operands = tree.operands.at;
	spec->noperands = (uint32_t)tree.operands.n;
	spec->result = tree.result;
	spec->broken = tree.failed;
	return spec;
}
