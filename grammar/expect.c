/* Shortens the set of tokens that could go on to a list that a person reads. Classes of tokens (see
 * lexer/tokens.def) stand for their members. */
#include "grammar/expect.h"

#include <string.h>

typedef struct Words {
	const char *at[96];
	int n;
} Words;

static bool has_class(const bool *set, const TokenInfo *(*info)(int), int ntokens, char class)
{
	for (int k = 0; k < ntokens; k++)
		if (set[k] && info(k)->class[0] == class)
			return true;
	return false;
}

static const char *joined(Arena *arena, const Words *words)
{
	const char *text = words->n ? words->at[0] : "nothing";
	for (int i = 1; i < words->n; i++)
		text = arena_printf(arena, "%s%s%s", text, i + 1 < words->n ? ", " : " or ",
				    words->at[i]);
	return text;
}

static int count_class(const bool *set, const TokenInfo *(*info)(int), int ntokens, char class)
{
	int n = 0;
	for (int k = 0; k < ntokens; k++)
		n += set[k] && info(k)->class[0] == class;
	return n;
}

/* Which classes are named as a whole: more than one member is there. */
typedef struct Groups {
	bool statements, expressions, operators, axes, steps;
} Groups;

static bool in_group(const Groups *g, char class)
{
	switch (class) {
	case 'S': return g->statements || g->expressions;
	case 'E': return g->expressions || g->steps;
	case 'O': return g->operators;
	case 'B': return g->operators || g->expressions;
	case 'A': return g->axes;
	case 'C': return g->expressions || g->operators || g->steps;
	case 'X': return true;
	default: return false;
	}
}

const char *expect_text(Arena *arena, const bool *set, const TokenInfo *(*info)(int), int ntokens)
{
	bool programs = ntokens == TOKEN_COUNT;
	Groups g = {.statements = count_class(set, info, ntokens, 'S') > 3,
	            .expressions = programs && set[TOKEN_NUMBER] && set[TOKEN_NAME],
	            .operators = count_class(set, info, ntokens, 'O') > 3,
	            .axes = count_class(set, info, ntokens, 'A') > 2,
	            .steps = programs && set[TOKEN_FOR]};
	bool hides[TOKEN_COUNT] = {
		[TOKEN_EQ] = g.operators,   [TOKEN_COLON] = g.operators,
		[TOKEN_END] = g.statements, [TOKEN_FOR] = g.steps,
		[TOKEN_LET] = g.steps,	    [TOKEN_COMMA] = g.operators && g.statements,
		[TOKEN_SEMI] = true};
	Words words = {.n = 0};
	for (int k = 0; k < ntokens; k++) {
		bool hidden = programs && hides[k];
		if (set[k] && !hidden && !in_group(&g, info(k)->class[0]) && words.n < 90)
			words.at[words.n++] = info(k)->label;
	}
	if (g.axes)
		words.at[words.n++] = "an axis";
	else if (g.expressions)
		words.at[words.n++] = "an expression";
	if (g.operators && !words.n)
		words.at[words.n++] = "an operator";
	if (g.steps)
		words.at[words.n++] = "a step";
	if (g.statements && !has_class(set, info, ntokens, 'W'))
		words.at[words.n++] = "a statement";
	return joined(arena, &words);
}

const char *expect_found(Arena *arena, const Source *source, Token token, const char *end)
{
	uint32_t n = token.span.end - token.span.start;
	if (n == 0)
		return end;
	if (source->text[token.span.start] == '"')
		return "a string";
	if (n > 40)
		return arena_printf(arena, "'%.*s...'", 37, source->text + token.span.start);
	return arena_printf(arena, "'%.*s'", (int)n, source->text + token.span.start);
}
