/* Follows the brackets of a program beside its parser, for the lexer's context and for messages. A
 * closing bracket that does not match the innermost open one leaves the stack alone (the parser
 * refuses it), but a closing brace always ends the innermost open brace: an unclosed parenthesis
 * does not reach over the end of a body. */
#include "grammar/feed.h"

#include <string.h>

static int closer_of(int kind)
{
	switch (kind) {
	case TOKEN_LPAREN: return TOKEN_RPAREN;
	case TOKEN_LBRACE: return TOKEN_RBRACE;
	case TOKEN_LBRACKET: return TOKEN_RBRACKET;
	case TOKEN_LBRACKBAR: return TOKEN_BARRBRACK;
	default: return TOKEN_END;
	}
}

bool token_closes(int kind)
{
	return kind == TOKEN_RPAREN || kind == TOKEN_RBRACE || kind == TOKEN_RBRACKET ||
	       kind == TOKEN_BARRBRACK;
}

/* In shapes `[n |]` and `[| n]` mix the two kinds of square brackets. */
static bool matches(int open, int close)
{
	bool square = open == TOKEN_LBRACKET || open == TOKEN_LBRACKBAR;
	return closer_of(open) == close ||
	       (square && (close == TOKEN_RBRACKET || close == TOKEN_BARRBRACK));
}

static const Bracket *innermost(const Feed *feed)
{
	return feed->open.n ? &feed->open.at[feed->open.n - 1] : NULL;
}

bool feed_in_steps(const Feed *feed)
{
	const Bracket *b = innermost(feed);
	return b && b->steps;
}

/* May the name that is the current token be what a step of a scan writes? */
static bool may_be_written(const Feed *feed)
{
	const Bracket *b = innermost(feed);
	bool name = feed->token.kind == TOKEN_NAME || token_info(feed->token.kind)->class[0] == 'C';
	return name && b && b->scans && b->token.kind == TOKEN_LBRACE &&
	       (feed->before.kind == TOKEN_LBRACE || feed->before.kind == TOKEN_IN);
}

static void close_bracket(Feed *feed, int kind)
{
	size_t n = feed->open.n;
	while (kind == TOKEN_RBRACE && n && feed->open.at[n - 1].token.kind != TOKEN_LBRACE)
		n--;
	if (n == 0 || !matches(feed->open.at[n - 1].token.kind, kind))
		return;
	feed->closed_steps = feed->open.at[n - 1].steps;
	feed->scanned = kind == TOKEN_RPAREN && feed->open.at[n - 1].scans;
	feed->open.n = n - 1;
}

/* The keyword of a statement outside brackets: where its line starts, and whether steps follow. */
static void note_keyword(Feed *feed)
{
	int kind = feed->token.kind;
	if (token_info(kind)->class[0] == 'S' && feed->open.n == 0 && feed_at_statement(feed)) {
		feed->left =
			(uint32_t)(feed->lexer.text + feed->token.span.start - feed->lexer.line);
		feed->body_next = kind == TOKEN_ROUTINE;
	}
}

static void follow(Feed *feed)
{
	int kind = feed->token.kind;
	const Bracket *top = innermost(feed);
	bool outer = !top || top->steps, scanned = feed->scanned;
	int before = feed->before.kind;
	feed->closed_steps = feed->scanned = false;
	if (closer_of(kind) != TOKEN_END) {
		bool steps = kind == TOKEN_LBRACE && ((outer && feed->body_next) || feed->updates);
		feed->body_next = feed->body_next && !(steps && outer);
		bool scans = kind == TOKEN_LPAREN ? before == TOKEN_SCAN || before == TOKEN_UNTIL
						  : kind == TOKEN_LBRACE && scanned;
		PUSH(feed->arena, feed->open, ((Bracket){feed->token, steps, scans}));
	} else if (token_closes(kind)) {
		close_bracket(feed, kind);
	} else if (kind == TOKEN_FOR && top && top->steps) {
		feed->body_next = true;
	}
	feed->updates = kind == TOKEN_UPDATE && before == TOKEN_WITH;
	note_keyword(feed);
	feed->lexer.assigns = feed_in_steps(feed) || may_be_written(feed);
}

void feed_init(Feed *feed, Arena *arena, const Sources *sources, uint32_t file, Diags *diags)
{
	*feed = (Feed){.arena = arena};
	lexer_init(&feed->lexer, sources, file, diags);
	feed_next(feed);
}

/* sum(x, dim=1): between a comma and '=' in parentheses a keyword of statements is an argument's name. */
static bool names_argument(const Feed *feed)
{
	const Bracket *b = innermost(feed);
	if (token_info(feed->token.kind)->class[0] != 'S' || feed->token.first || !b ||
	    b->token.kind != TOKEN_LPAREN || feed->before.kind != TOKEN_COMMA)
		return false;
	const char *p = (const char *)feed->lexer.text + feed->token.span.end;
	p += strspn(p, " \t");
	return p[0] == '=' && p[1] != '=';
}

void feed_next(Feed *feed)
{
	feed->before = feed->token;
	feed->token = lexer_next(&feed->lexer);
	if (names_argument(feed))
		feed->token.kind = TOKEN_NAME;
	follow(feed);
}

void feed_forget(Feed *feed, bool keep_steps)
{
	while (feed->open.n && !(keep_steps && innermost(feed)->steps))
		feed->open.n--;
	feed->body_next = feed->token.kind == TOKEN_FOR && feed_in_steps(feed);
	note_keyword(feed);
	feed->lexer.assigns = feed_in_steps(feed);
}

bool feed_at_statement(const Feed *feed)
{
	int before = feed->before.kind;
	if (token_info(feed->token.kind)->class[0] != 'S')
		return false;
	if (feed->before.span.end == 0)
		return true;
	if (feed->token.kind == TOKEN_INPUT || feed->token.kind == TOKEN_OUTPUT)
		return (before != TOKEN_LPAREN && before != TOKEN_COMMA) || feed->token.first;
	if (feed->token.kind != TOKEN_LET)
		return true;
	char class = token_info(before)->class[0];
	bool operand_next = class == 'O' || class == 'B' || class == 'W' || before == TOKEN_EQ ||
	                    before == TOKEN_COMMA || before == TOKEN_ASSIGN || before == TOKEN_IF ||
	                    before == TOKEN_NOT || before == TOKEN_LBRACKET ||
	                    before == TOKEN_LBRACKBAR || before == TOKEN_LBRACE;
	uint32_t column = (uint32_t)(feed->lexer.text + feed->token.span.start - feed->lexer.line);
	return feed->token.first ? column <= feed->left : !operand_next;
}
