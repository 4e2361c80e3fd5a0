/* Edits of a text that does not parse: a sign, a bracket or a quotation mark that is missing, too
 * many, or another one, near the main place and back to what was open there.
 *
 *   einsum("i; j => i, j", x y)         ',' between the arguments
 *   [16, 32}                            ']' before the brace
 *   einsum(i => ", x)                   '"' behind the parenthesis
 */
#include <string.h>

#include "grammar/edits.h"
#include "grammar/feed.h"
#include "lexer/lexer.h"

enum { COST_TOKEN = 4, REACH = 24, AHEAD = 2, STEP = 3 /* tokens for one more of cost */ };
enum { QUOTED_MOST = 80 }; /* characters of what a repair leaves out and quotes */

/* The likelier first: one more of cost from the second group on, two from the third. */
static const char *const signs[] = {",", ")", "]", "}", "-",  "(", "[",
				    "{", "=", ":", "|", "->", "*"};
enum { SIGNS = sizeof signs / sizeof signs[0], RARE = 5, RARER = 8, SPACED = 10 };

typedef VEC(Token) Tokens;

/* All tokens of the file, as the program's lexer reads them. */
static Tokens tokens_of(const Edits *e, uint32_t file)
{
	Tokens tokens = {0};
	Diags diags;
	Lexer lexer;
	diags_init(&diags, e->arena, e->sources);
	lexer_init(&lexer, e->sources, file, &diags);
	do {
		PUSH(e->arena, tokens, lexer_next(&lexer));
	} while (tokens.at[tokens.n - 1].kind != TOKEN_END);
	return tokens;
}

static bool is_word(const Token *token)
{
	char class = token_info(token->kind)->class[0];
	return token->kind == TOKEN_NAME || token->kind == TOKEN_NUMBER ||
	       token->kind == TOKEN_STRING || class == 'S' || class == 'W' || class == 'C';
}

/* `relu x` and `x[0]`: the word is not what is too much. */
static bool applies(const Edits *e, const Token *token, const Token *next)
{
	bool touches = next->span.start == token->span.end;
	bool operand = next->kind == TOKEN_NAME || next->kind == TOKEN_NUMBER;
	return token->kind == TOKEN_NAME && strcmp(edit_text(e, token->span), "return") != 0 &&
	       ((operand && !next->first) || (touches && next->kind == TOKEN_LBRACKET));
}

static void in_parentheses(Edits *e, uint32_t cost, Span gap, Span span)
{
	span.start = gap.end;
	edit_add(e, cost, (Span){span.file, gap.start, span.end},
		 arena_printf(e->arena, "(%s)", edit_text(e, span)),
		 "it would fit with parentheses");
}

/* `reshape(a + b : [20])`: what stands before a shape is one operand. */
static void shaped(Edits *e, const Tokens *tokens, size_t colon)
{
	size_t at = colon, depth = 0;
	while (at > 0) {
		int kind = tokens->at[at - 1].kind;
		bool opens = kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET || kind == TOKEN_LBRACE;
		if (depth == 0 && (opens || kind == TOKEN_COMMA))
			break;
		depth += token_closes(kind);
		depth -= opens;
		at--;
	}
	if (at == 0 || at == colon || tokens->at[colon].kind != TOKEN_COLON)
		return;
	Span span = span_join(tokens->at[at].span, tokens->at[colon - 1].span);
	in_parentheses(e, COST_TOKEN - 1, (Span){span.file, span.start, span.start}, span);
}

static void edits_at(Edits *e, const Token *before, const Token *token, uint32_t cost)
{
	bool shape = token->kind == TOKEN_COLON && token[1].kind == TOKEN_LBRACKET;
	Span span = token->span, gap = {span.file, before ? before->span.end : span.start, 0};
	gap.end = gap.start;
	for (uint32_t k = 0; k < SIGNS; k++) {
		bool opens = strchr("([{", signs[k][0]) != NULL;
		Span at = opens ? (Span){span.file, span.start, span.start} : gap;
		const char *text =
			k >= SPACED ? arena_printf(e->arena, " %s ", signs[k]) : signs[k];
		const char *why = arena_printf(e->arena, "it would fit with '%s' here", signs[k]);
		uint32_t rare = (k >= RARE) + (k >= RARER);
		if (signs[k][0] != '-' || k >= SPACED)
			edit_add(e, cost + rare, at, text, why);
		if (!is_word(token) && token->kind != TOKEN_END && !shape)
			edit_add(e, cost + 1 + rare, span, signs[k], why);
	}
	if (token->kind == TOKEN_END)
		return;
	if (applies(e, token, token + 1) && token[1].kind != TOKEN_LBRACKET)
		in_parentheses(e, cost, (Span){span.file, span.end, token[1].span.start},
			       token[1].span);
	else if (!applies(e, token, token + 1) && span.end - span.start <= QUOTED_MOST)
		edit_add(e, cost + 2, span, "",
			 arena_printf(e->arena, "it would fit without '%s'", edit_text(e, span)));
}

/* ---- quotation marks ---- */

static bool parts_words(char c) { return strchr(" ,;()[]{}", c) != NULL; }

/* A mark at each place of a line that has an odd number of them. */
static void quotes(Edits *e, Span place, uint32_t cost)
{
	const char *text = source_at(e->sources, place.file)->text;
	uint32_t start = place.start, end = place.start, n = 0;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	for (end = start; text[end] && text[end] != '\n'; end++)
		n += text[end] == '"';
	for (uint32_t i = start; i <= end && n % 2 == 1; i++)
		if (i == end || parts_words(text[i]) || (i > start && parts_words(text[i - 1]))) {
			uint32_t far = i < place.start ? place.start - i : i - place.start;
			edit_add(e, cost + far / 16, (Span){place.file, i, i}, "\"",
				 "it would fit with a quotation mark here");
		}
}

void edits_of_tokens(Edits *e)
{
	Span place = e->places[0];
	if (place.file != e->file->file)
		return;
	Tokens tokens = tokens_of(e, place.file);
	size_t at = 0;
	while (at + 1 < tokens.n && tokens.at[at].span.end <= place.start)
		at++;
	for (size_t i = at + AHEAD < tokens.n ? at + AHEAD : tokens.n; i-- > 0 && i + REACH > at;) {
		size_t far = i > at ? i - at : at - i;
		edits_at(e, i > 0 ? &tokens.at[i - 1] : NULL, &tokens.at[i],
			 COST_TOKEN + (uint32_t)(far + STEP - 1) / STEP);
	}
	shaped(e, &tokens, at > 0 && tokens.at[at].kind == TOKEN_LBRACKET ? at - 1 : at);
	for (uint32_t i = 0; i < e->nplaces; i++)
		quotes(e, e->places[i], COST_TOKEN + (i > 0));
}
