/* Edits of a call that has not the arguments that it should have, and of the dtypes that stand in
 * declarations.
 *
 *   conv()                              conv(8), as another call of it has
 *   einsum("i; i => ", x)               einsum("i; i => ", x, y), for names that are seen there
 *   input ids : [n |]                   i32 [n |]
 */
#include <string.h>

#include "grammar/edits.h"

enum { COST_DTYPE = 5, COST_LIKE = 5, COST_NAME = 7, LIKE = 16 };

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

/* Before each argument and behind the last, but for a specification. */
static void insert(Edits *e, const AstExpr *call, const char *text, uint32_t cost)
{
	const char *why = arena_printf(e->arena, "it would fit with '%s' as an argument", text);
	Span end = {call->span.file, call->span.end - 1, call->span.end - 1};
	for (uint32_t i = 1; i < call->nargs; i++)
		if (call->args[i]->kind != AST_STRING)
			edit_add(e, cost,
				 (Span){end.file, call->args[i]->span.start,
					call->args[i]->span.start},
				 arena_printf(e->arena, "%s, ", text), why);
	edit_add(e, cost, end, arena_printf(e->arena, "%s%s", call->nargs > 1 ? ", " : "", text),
		 why);
}

void edits_of_arguments(Edits *e)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstExpr *call = holds(e->file->stmts[i].span, e->places[0])
					      ? call_around(e, e->file->stmts[i].expr)
					      : NULL;
		if (!call)
			continue;
		Texts like = {.n = 0};
		for (uint32_t k = 0; k < e->file->nstmts; k++)
			add_like(e, call, e->file->stmts[k].expr, &like);
		for (uint32_t k = 0; k < like.n; k++)
			insert(e, call, like.at[k], COST_LIKE);
		Seen words = edit_words(e);
		for (uint32_t k = 0; k < words.n; k++)
			insert(e, call, words.at[k].sym, COST_NAME);
	}
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
