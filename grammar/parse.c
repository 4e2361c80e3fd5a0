/* Drives the program parser: one token at a time, asking before each whether it is accepted. After
 * an error the statement is dropped: tokens are skipped to the next keyword that starts a
 * statement (inside a routine: to the next line or `; let` at the level of its steps, or to the
 * brace that ends them), and the parser's stack is unwound to where such a token can go on. Every
 * error costs at least one token, so this ends.
 *
 * The parser's stack grows with nesting alone, so a limit on it bounds memory before any tree is
 * made. */
#include "grammar/parse.h"

#include <string.h>

#include "grammar/feed.h"
#include "grammar/parsers.h"
#include "grammar/syntax_error.h"

enum { STACK_LIMIT = 10 * AST_DEPTH_LIMIT };

typedef struct Driver {
	Parse *parse;
	Feed feed;
	Tree tree;
	void *parser;
} Driver;

/* Is the token the end of the file, or the start of a statement? Among steps a `let` that does not
 * start its line belongs to a step. */
static bool at_end(const Feed *feed, bool steps)
{
	bool of_step = steps && feed->token.kind == TOKEN_LET && !feed->token.first;
	return feed->token.kind == TOKEN_END || (!of_step && feed_at_statement(feed));
}

/* Does the token look like the start of a step: the first of its line, or a `let` behind ';'? */
static bool at_step(const Feed *feed)
{
	int kind = feed->token.kind;
	return (kind == TOKEN_LET && feed->before.kind == TOKEN_SEMI) ||
	       (feed->token.first && kind != TOKEN_ERROR && !token_closes(kind));
}

/* Skips to a token that can start a step, where `level` brackets are open, or that ends the steps
 * or starts a statement. */
static void skip_to_step(Feed *feed, size_t level)
{
	while (!at_end(feed, true) && feed->open.n >= level &&
	       !(feed->open.n == level && at_step(feed)))
		feed_next(feed);
}

static void skip_to_statement(Feed *feed)
{
	while (feed->token.kind != TOKEN_END && !feed_at_statement(feed))
		feed_next(feed);
}

/* Back to the list of steps that is open in the parser; false where there is none. */
static bool unwind_to_steps(Driver *d)
{
	file_parse_unwind(d->parser, TOKEN_FOR);
	return file_parse_accepts(d->parser, TOKEN_FOR);
}

/* Every path consumes the current token, or leaves one that the unwound parser accepts.
 * misused: the token starts no statement, even if it looks so. */
static void recover(Driver *d, bool misused)
{
	Feed *feed = &d->feed;
	d->tree.failed = true;
	if (feed->closed_steps && unwind_to_steps(d))
		return;
	feed_forget(feed, true);
	bool steps = feed_in_steps(feed);
	size_t level = feed->open.n;
	if (misused || !at_end(feed, steps))
		feed_next(feed);
	if (steps && unwind_to_steps(d)) {
		skip_to_step(feed, level);
		if (!at_end(feed, true))
			return;
	}
	skip_to_statement(feed);
	feed_forget(feed, false);
	file_parse_unwind(d->parser, TOKEN_DIM);
	d->tree.failed = d->tree.too_deep = false;
}

/* Does a `let` stand where statements begin, though an expression's own could go on with it, or the
 * steps of a routine? */
static bool is_statement(const Driver *d)
{
	const Feed *feed = &d->feed;
	return feed->token.kind == TOKEN_LET && feed->token.first && feed_at_statement(feed) &&
	       (file_parse_accepts(d->parser, TOKEN_IN) ||
		file_parse_accepts(d->parser, TOKEN_FOR));
}

/* Feeds the current token, or reports it and recovers. */
static void step(Driver *d)
{
	Feed *feed = &d->feed;
	if (feed->token.kind == TOKEN_ERROR) {
		recover(d, false);
	} else if (!file_parse_accepts(d->parser, feed->token.kind) || is_statement(d)) {
		recover(d, syntax_error(d->parse, feed, d->parser));
	} else if (file_parse_depth(d->parser) > STACK_LIMIT) {
		diag(d->parse->diags, E0109, feed->token.span, "this is nested too deeply");
		recover(d, false);
	} else {
		file_parse_feed(d->parser, feed->token);
		d->tree.last = feed->token;
		feed_next(feed);
	}
}

static AstFile *finish(Driver *d)
{
	AstFile *ast = ARENA_NEW(d->parse->perm, AstFile);
	ast->file = d->tree.file;
	ast->nstmts = (uint32_t)d->tree.stmts.n;
	ast->stmts = d->tree.stmts.at;
	return ast;
}

AstFile *parse_file(Parse *parse, uint32_t file)
{
	Driver d = {.parse = parse};
	d.tree = (Tree){.parse = parse, .source = source_at(parse->sources, file), .file = file};
	d.parser = file_parse_new(&d.tree);
	REQUIRE(d.parser);
	feed_init(&d.feed, parse->perm, parse->sources, file, parse->diags);
	while (d.feed.token.kind != TOKEN_END && !parse->diags->overflow)
		step(&d);
	if (!parse->diags->overflow) {
		if (file_parse_accepts(d.parser, TOKEN_END))
			file_parse_feed(d.parser, d.feed.token);
		else
			syntax_error(parse, &d.feed, d.parser);
	}
	file_parse_free(d.parser);
	return finish(&d);
}

void tokens_dump(FILE *out, Parse *parse, uint32_t file)
{
	Feed feed;
	feed_init(&feed, parse->perm, parse->sources, file, parse->diags);
	for (;; feed_next(&feed)) {
		Span s = feed.token.span;
		Place place = source_place(parse->sources, file, s.start);
		const char *text = feed.lexer.source->text + s.start;
		fprintf(out, "%u:%u %s%s%.*s\n", place.line, place.column,
		        token_info(feed.token.kind)->name, s.end > s.start ? " " : "",
		        (int)(s.end - s.start), text);
		if (feed.token.kind == TOKEN_END)
			return;
	}
}
