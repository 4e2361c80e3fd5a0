/* Edits of a call that has not the arguments that it should have, and of the dtypes that stand in
 * declarations.
 *
 *   conv()                              conv(8), as another call of it has
 *   einsum("i; i => ", x)               einsum("i; i => ", x, y), for names that are seen there
 *   einsum("i; j; => i, j", x, y)       "i; j => i, j"
 *   linear(x, 8)                        linear(8)(x)
 *   softmax()(x)                        softmax(x)
 *   layer(x)                            layer(to_batch(x))
 *   input ids : [n |]                   i32 [n |]
 */
#include <string.h>

#include "grammar/edits.h"

enum { COST_MOVE = 4, COST_BATCH = 9, COST_DTYPE = 5, COST_LIKE = 5, COST_NAME = 7, LIKE = 16 };

static bool holds(Span outer, Span inner)
{
	return outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end;
}

/* ---- calls ---- */

/* The innermost call around the main place. */
static const AstExpr *call_around(const Edits *e, const AstExpr *expr)
{
	const AstExpr *found = NULL;
	if (!expr)
		return NULL;
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = call_around(e, expr->args[i]);
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = call_around(e, expr->binds[i].value);
	return found							   ? found
	       : expr->kind == AST_CALL && holds(expr->span, e->places[0]) ? expr
									   : NULL;
}

typedef struct Texts {
	const char *at[LIKE];
	uint32_t n;
} Texts;

static void add_text(Texts *t, const char *text)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i], text) == 0)
			return;
	if (t->n < LIKE)
		t->at[t->n++] = text;
}

/* The arguments of other calls of the same function. */
static void add_like(const Edits *e, const AstExpr *call, const AstExpr *expr, Texts *t)
{
	if (!expr)
		return;
	bool same =
		expr->kind == AST_CALL && expr != call &&
		strcmp(edit_text(e, expr->args[0]->span), edit_text(e, call->args[0]->span)) == 0;
	for (uint32_t i = 0; i < expr->nargs; i++) {
		if (same && i > 0 && expr->args[i]->kind != AST_STRING)
			add_text(t, edit_text(e, expr->args[i]->span));
		add_like(e, call, expr->args[i], t);
	}
	for (uint32_t i = 0; i < expr->nbinds; i++)
		add_like(e, call, expr->binds[i].value, t);
}

/* One tensor is seldom two arguments, but of a product that a specification says. */
static bool is_there(const Edits *e, const AstExpr *call, const char *text)
{
	bool there = false, says = false;
	for (uint32_t i = 1; i < call->nargs; i++) {
		says |= call->args[i]->kind == AST_STRING;
		there |= strcmp(edit_text(e, call->args[i]->span), text) == 0;
	}
	return there && !says;
}

/* Before each argument and behind the last, but for a specification. */
static void insert(Edits *e, const AstExpr *call, const char *text, uint32_t cost)
{
	const char *why = arena_printf(e->arena, "it would fit with '%s' as an argument", text);
	Span end = {call->span.file, call->span.end - 1, call->span.end - 1};
	if (is_there(e, call, text))
		return;
	for (uint32_t i = 1; i < call->nargs; i++)
		if (call->args[i]->kind != AST_STRING)
			edit_add(e, cost,
				 (Span){end.file, ast_outer(call->args[i]).start,
					ast_outer(call->args[i]).start},
				 arena_printf(e->arena, "%s, ", text), why);
	edit_add(e, cost, end, arena_printf(e->arena, "%s%s", call->nargs > 1 ? ", " : "", text),
		 why);
}

/* "a, b" of the arguments from..to */
static const char *listed(const Edits *e, const AstExpr *call, uint32_t from, uint32_t to)
{
	return from < to ? edit_text(e, span_join(call->args[from]->span, call->args[to - 1]->span))
			 : "";
}

/* The arguments in two lists: the first is the tensor, or the last; in one list for an empty one in front. */
static void split(Edits *e, const AstExpr *call)
{
	uint32_t n = call->nargs;
	const char *why = "it would fit with the configuration in a list of its own";
	Span lists = {call->span.file, call->args[0]->span.end, call->span.end};
	if (n < 2)
		edit_add(e, COST_MOVE, lists, "", "it would fit with one list");
	if (n < 3 || call->keys) /* of one argument the message itself tells */
		return;
	edit_add(e, COST_MOVE, lists,
		 arena_printf(e->arena, "(%s)(%s)", listed(e, call, 2, n), listed(e, call, 1, 2)),
		 why);
	edit_add(e, COST_MOVE, lists,
		 arena_printf(e->arena, "(%s)(%s)", listed(e, call, 1, n - 1),
			      listed(e, call, n - 1, n)),
		 why);
}

/* The call around the main place; NULL: there is none. */
static const AstExpr *main_call(const Edits *e)
{
	const AstExpr *call = NULL;
	for (uint32_t i = 0; i < e->file->nstmts && !call; i++)
		if (holds(e->file->stmts[i].span, e->places[0]))
			call = call_around(e, e->file->stmts[i].expr);
	return call;
}

/* A dim is no tensor: only a function that is written in a file may take one. */
static bool takes_sizes(const Edits *e, const AstExpr *call)
{
	const AstExpr *callee = call->args[0];
	bool written = callee->kind == AST_MEMBER;
	for (uint32_t i = 0; i < e->file->nstmts && callee->kind == AST_NAME; i++)
		written |= e->file->stmts[i].kind == STMT_FN &&
			   e->file->stmts[i].name.sym == callee->name.sym;
	return written;
}

static bool is_dim(const Edits *e, Name name)
{
	bool dim = false;
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		dim |= e->file->stmts[i].kind == STMT_DIM && e->file->stmts[i].name.sym == name.sym;
	return dim;
}

/* "ij; jk; => ik" without the ';' behind which nothing stands; false: there is none. */
static bool drop_empty(Edits *e, const AstExpr *call)
{
	bool dropped = false;
	for (uint32_t i = 1; i < call->nargs; i++) {
		const AstSpec *spec =
			call->args[i]->kind == AST_STRING ? call->args[i]->spec : NULL;
		const char *text = source_at(e->sources, call->span.file)->text;
		for (uint32_t at = spec ? spec->span.start : 0; spec && at < spec->span.end; at++) {
			size_t blank = strspn(text + at + 1, " ");
			if (text[at] != ';' || !strchr(";=", text[at + 1 + blank]))
				continue;
			edit_add(e, COST_MOVE - 1, (Span){call->span.file, at, at + 1}, "",
				 "it would fit without an operand that has no letters");
			dropped = true;
		}
	}
	return dropped;
}

void edits_of_arguments(Edits *e)
{
	const AstExpr *call = main_call(e);
	if (!call)
		return;
	split(e, call);
	if (drop_empty(e, call))
		return;
	Texts like = {.n = 0};
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		add_like(e, call, e->file->stmts[i].expr, &like);
	for (uint32_t i = 0; i < like.n; i++)
		insert(e, call, like.at[i], COST_LIKE);
	Seen words = edit_words(e);
	for (uint32_t i = 0; i < words.n; i++)
		if (takes_sizes(e, call) || !is_dim(e, words.at[i]))
			insert(e, call, words.at[i].sym, COST_NAME);
}

void edits_of_batches(Edits *e)
{
	const AstExpr *call = main_call(e);
	for (uint32_t i = 1; call && i < call->nargs; i++)
		if (call->args[i]->kind != AST_STRING)
			edit_add(e, COST_BATCH, call->args[i]->span,
				 arena_printf(e->arena, "to_batch(%s)",
					      edit_text(e, call->args[i]->span)),
				 "it would fit with the first output axis as a batch axis");
}

/* ---- dtypes ---- */

void edits_of_dtypes(Edits *e)
{
	static const char *const dtypes[] = {"i32", "i8", "u8", "f32"};
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstStmt *stmt = &e->file->stmts[i];
		if (!stmt->shape || !stmt->name.sym)
			continue;
		Span at = {stmt->span.file, stmt->shape->span.start, stmt->shape->span.start};
		const char *gap = edit_text(e, edit_gap(stmt->name.span, stmt->shape->span));
		uint32_t far = edit_far(e, stmt->span);
		for (uint32_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
			const char *text = arena_printf(e->arena, "%s ", dtypes[k]);
			Span span = at;
			if (stmt->dtype != DTYPE_NONE)
				span.start = stmt->name.span.end +
					     (uint32_t)(strrchr(gap, ':') - gap) + 2;
			edit_add(e, COST_DTYPE + far + k, span, text,
				 arena_printf(e->arena, "it would fit with elements of %s",
					      dtypes[k]));
		}
	}
}
