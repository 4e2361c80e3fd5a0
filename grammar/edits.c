/* Walks the tree near the places of a message and lists edits: operators, operands, sizes;
 * specifications are in edits_spec.c, declared shapes in edits_shape.c, what axes are called in
 * edits_names.c.
 *
 * How far a construct is from the places is a part of the cost: NEAR where a place is the construct
 * or one of its parts, AROUND where one lies in it, SAME in a statement that has one, NAMED in the
 * statement that makes something which such a statement names.
 */
#include "grammar/edits.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 0, NOTED = 1, AROUND = 2, SAME = 4, NAMED = 6, FAR = 99 };
enum {
	COST_WITH = 0,
	COST_OPERATOR = 4,
	COST_SIGN = 5,
	COST_ROWS = 6,
	COST_SIZE = 7,
	COST_EXCHANGE = 8
};
enum { STEPS = 4 /* that a number is tried up and down */ };

const char *edit_text(const Edits *e, Span span)
{
	return source_text(e->sources, e->arena, span);
}

Span edit_gap(Span a, Span b)
{
	return (Span){a.file, a.end, b.start};
}

void edit_add(Edits *e, uint32_t cost, Span span, const char *text, const char *why)
{
	if (span.file == e->file->file && span.end >= span.start &&
	    strcmp(edit_text(e, span), text) != 0)
		PUSH(e->arena, e->list, ((Edit){.span = span, .text = text, .why = why, .cost = cost}));
}

static bool same_span(Span a, Span b)
{
	return a.file == b.file && a.start == b.start && a.end == b.end;
}

/* The part of the edit that is not as it was. */
static Edit least_of(const Edits *e, Span span, const char *text)
{
	const char *was = edit_text(e, span);
	size_t nwas = strlen(was), n = strlen(text);
	while (nwas > 0 && n > 0 && *was == *text) {
		was++, text++, span.start++;
		nwas--, n--;
	}
	while (nwas > 0 && n > 0 && was[nwas - 1] == text[n - 1]) {
		nwas--, n--;
		span.end--;
	}
	return (Edit){.span = span, .text = arena_strndup(e->arena, text, n)};
}

Edit *edit_find(Edits *e, Span span, const char *text)
{
	Edit wanted = least_of(e, span, text);
	for (size_t i = 0; i < e->list.n; i++) {
		Edit least = least_of(e, e->list.at[i].span, e->list.at[i].text);
		if (same_span(least.span, wanted.span) && strcmp(least.text, wanted.text) == 0)
			return &e->list.at[i];
	}
	return NULL;
}

/* ---- how far ---- */

static bool holds(Span outer, Span inner)
{
	return outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end;
}

/* Of something that is written at `span`. */
uint32_t edit_far(const Edits *e, Span span)
{
	uint32_t best = SAME;
	for (uint32_t i = 0; i < e->nplaces; i++) {
		Span place = e->places[i];
		uint32_t far = same_span(place, span) || holds(place, span) ? (i ? NOTED : NEAR)
			       : holds(span, place)			    ? AROUND
									    : SAME;
		best = far < best ? far : best;
	}
	return best;
}

static bool holds_place(const Edits *e, Span span)
{
	for (uint32_t i = 0; i < e->nplaces; i++)
		if (holds(span, e->places[i]))
			return true;
	return false;
}

static uint32_t far_of_operator(const Edits *e, const AstExpr *expr)
{
	uint32_t best = edit_far(e, expr->span);
	for (uint32_t i = 0; i < e->nplaces; i++) {
		uint32_t far = same_span(e->places[i], expr->op_span) ? 0 : FAR;
		for (uint32_t k = 0; k < expr->nargs; k++)
			if (same_span(e->places[i], expr->args[k]->span))
				far = 0;
		if (far == 0)
			far = i ? NOTED : NEAR;
		best = far < best ? far : best;
	}
	return best;
}

/* ---- sizes ---- */

/* A number in its place would make the function one for that size alone. */
static bool is_configured(const Edits *e, const char *text)
{
	for (uint32_t i = 0; e->stmt && i < e->stmt->nconfigs; i++)
		if (strcmp(e->stmt->configs[i].name.sym, text) == 0)
			return true;
	return false;
}

/* A number right behind a sign that subtracts nothing: `scan(-1, ...)` */
static bool is_negated(const Edits *e, Span span)
{
	const char *text = source_at(e->sources, span.file)->text;
	uint32_t at = span.start;
	if (at == 0 || text[--at] != '-')
		return false;
	while (at > 0 && text[at - 1] == ' ')
		at--;
	return at > 0 && strchr("(,[=", text[at - 1]);
}

void edit_sizes(Edits *e, Span span, uint32_t far)
{
	if (is_configured(e, edit_text(e, span)))
		return;
	if (is_negated(e, span)) /* -0 is not what was meant */
		span.start--;
	for (uint32_t i = 0; i < e->nsizes; i++)
		edit_add(e, COST_SIZE + far + (i >= e->nmain), span, e->sizes[i],
			 arena_printf(e->arena, "it would fit with %s for %s", e->sizes[i],
				      edit_text(e, span)));
}

/* The numbers near it: one that divides is seldom far. */
static void numbers_for(Edits *e, const AstExpr *number, uint32_t far)
{
	if (!number->is_integer || number->integer > INT64_MAX - STEPS)
		return;
	edit_sizes(e, number->span, far);
	for (int64_t step = 1; step <= STEPS; step++)
		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t to = number->integer + sign * step;
			const char *text = arena_printf(e->arena, "%lld", (long long)to);
			if (to >= 1)
				edit_add(e, COST_EXCHANGE + 1 + far + (uint32_t)step, number->span, text,
					 arena_printf(e->arena, "it would fit with %s for %s", text,
						      edit_text(e, number->span)));
		}
}

/* ---- operators and calls ---- */

/* What is written there, in parentheses where a sign beside it would take a part of it. */
static const char *operand_text(const Edits *e, const AstExpr *expr)
{
	bool open = !expr->parenthesised && (expr->kind == AST_BINARY || expr->kind == AST_COMPOSE);
	return arena_printf(e->arena, open ? "(%s)" : "%s", edit_text(e, ast_outer(expr)));
}

static void exchange(Edits *e, uint32_t cost, const AstExpr *x, const AstExpr *y, bool arguments)
{
	Span a = ast_outer(x), b = ast_outer(y);
	const char *first = arguments ? edit_text(e, a) : operand_text(e, x);
	if (a.end <= b.start)
		edit_add(e, cost, span_join(a, b),
			 arena_printf(e->arena, "%s%s%s", edit_text(e, b),
				      edit_text(e, edit_gap(a, b)), first),
			 "it would fit with these the other way round");
}

/* Is the operand a tensor that is declared with input axes? */
static bool takes_in(const Edits *e, const AstExpr *expr)
{
	const AstShape *shape = expr->kind == AST_PARAM ? expr->shape : NULL;
	for (uint32_t i = 0; i < e->file->nstmts && expr->kind == AST_NAME; i++)
		if (e->file->stmts[i].name.sym == expr->name.sym)
			shape = e->file->stmts[i].shape;
	return shape && shape->rows[ROW_INPUT].written;
}

/* A tensor whose whole shape is written. */
static bool is_declared(const Edits *e, const AstExpr *expr)
{
	bool found = expr->kind == AST_PARAM && expr->shape;
	for (uint32_t i = 0; i < e->file->nstmts && expr->kind == AST_NAME; i++)
		found |= e->file->stmts[i].name.sym == expr->name.sym && e->file->stmts[i].shape;
	return found;
}

static bool can_be_operand(const AstExpr *expr)
{
	return expr->kind == AST_NAME || expr->kind == AST_MEMBER || expr->kind == AST_CALL ||
	       expr->kind == AST_PARAM || expr->parenthesised;
}

static void edits_of_compose(Edits *e, const AstExpr *expr, uint32_t far)
{
	bool takes = takes_in(e, expr->args[0]);
	edit_add(e, COST_SIGN + far + (takes ? 4 : 0), expr->op_span, ".*",
		 "'*' composes; write '.*' to multiply pointwise");
	for (uint32_t i = 0; i < 2; i++) {
		const AstExpr *arg = expr->args[i];
		if (can_be_operand(arg) && (takes_in(e, arg) || (i == 0 && !is_declared(e, arg))))
			edit_add(e, COST_ROWS + far + (arg->kind == AST_PARAM ? 1 : i),
				 (Span){arg->span.file, ast_outer(arg).end, ast_outer(arg).end},
				 ".T", "the axes would meet with its rows changing places");
	}
	bool turned = takes_in(e, expr->args[1]);
	if (e->counts || turned || !takes) /* a weight that is first stands where it should */
		exchange(e, COST_EXCHANGE + far + (takes ? 2 : 0) - (turned ? 2 : 0), expr->args[0],
			 expr->args[1], false);
}

static void edits_of_call(Edits *e, const AstExpr *expr, uint32_t far)
{
	for (uint32_t i = 1; i + 1 < expr->nargs; i++)
		if (expr->args[i]->kind != AST_STRING)
			exchange(e, COST_EXCHANGE + far, expr->args[i], expr->args[i + 1], true);
	if (expr->nargs == 2 && !expr->keys && expr->args[0]->kind == AST_NAME &&
	    strcmp(expr->args[0]->name.sym, "reshape") == 0)
		edit_add(e, COST_EXCHANGE + far, expr->span, operand_text(e, expr->args[1]),
			 "it would fit without 'reshape'");
	for (uint32_t i = 1; i < expr->nargs; i++)
		if (expr->args[i]->spec && !expr->args[i]->spec->broken) {
			edits_of_spec(e, expr->args[i]->spec, far);
			edits_of_joins(e, expr->args[i]->spec, far);
		}
}

static void edits_of_operator(Edits *e, const AstExpr *expr, uint32_t far)
{
	switch (expr->kind) {
	case AST_COMPOSE: edits_of_compose(e, expr, far); break;
	case AST_BINARY:
		if (expr->op == OP_MUL)
			edit_add(e, COST_OPERATOR + far, expr->op_span, "*",
				 "'.*' multiplies pointwise; write '*' to compose");
		break;
	case AST_TRANSPOSE:
		edit_add(e, COST_OPERATOR + far,
			 (Span){expr->span.file, ast_outer(expr->args[0]).end, expr->span.end}, "",
			 "it would fit without '.T'");
		break;
	case AST_CALL: edits_of_call(e, expr, far); break;
	case AST_WITH: edits_of_binds(e, expr, far); break;
	case AST_NUMBER: numbers_for(e, expr, far); break;
	default: break;
	}
}

/* ---- the walk ---- */

static void walk(Edits *e, const AstExpr *expr, uint32_t least)
{
	if (!expr)
		return;
	uint32_t far = far_of_operator(e, expr);
	far = far < least ? far : least;
	edits_of_operator(e, expr, far);
	if (expr->shape)
		edits_of_shape(e, expr->shape, far, false);
	if (expr->kind == AST_PARAM)
		edits_of_rows(e, expr->shape, expr->nargs ? expr->args[0] : NULL, far);
	least = far + 1 < least ? far + 1 : least; /* what is near has its operands nearly so */
	for (uint32_t i = 0; i < expr->nargs; i++)
		walk(e, expr->args[i], least);
	for (uint32_t i = 0; i < expr->nbinds; i++)
		walk(e, expr->binds[i].value, least);
}

/* What a `with` behind the whole expression would say of its specifications. */
static void edits_of_with(Edits *e, const AstExpr *expr, uint32_t far)
{
	if (e->with && expr)
		edit_add(e, COST_WITH + far,
			 (Span){expr->span.file, expr->span.end, expr->span.end},
			 arena_printf(e->arena, " with (%s)", e->with),
			 strchr(e->with, '=') ? "'with' says a size; 3 is an example"
					      : "'with' names the size of an axis");
}

static void walk_stmt(Edits *e, const AstStmt *stmt, uint32_t least)
{
	e->stmt = stmt;
	if (stmt->shape)
		edits_of_shape(e, stmt->shape, holds_place(e, stmt->name.span) ? NOTED : least,
			       stmt->kind == STMT_INPUT);
	edits_of_rows(e, stmt->shape, stmt->expr, least);
	edits_of_with(e, stmt->expr, least);
	walk(e, stmt->expr, least);
	walk(e, stmt->expr2, least);
	for (uint32_t i = 0; i < stmt->nconfigs; i++)
		walk(e, stmt->configs[i].value, least);
	for (uint32_t i = 0; i < stmt->nsteps; i++) {
		const AstStep *step = &stmt->steps[i];
		walk(e, step->expr, least);
		if (step->via && step->via->spec)
			edits_of_spec(e, step->via->spec, edit_far(e, step->span));
	}
}

static bool makes(const AstStmt *stmt, Sym name)
{
	bool found = stmt->name.sym == name;
	for (uint32_t i = 0; i < stmt->nnames; i++)
		found |= stmt->names[i].sym == name;
	return found;
}

/* The statements that make what `expr` names. */
static void mark_named(const Edits *e, const AstExpr *expr, uint32_t *far)
{
	if (!expr)
		return;
	for (uint32_t i = 0; i < e->file->nstmts && expr->kind == AST_NAME; i++)
		if (far[i] > NAMED && makes(&e->file->stmts[i], expr->name.sym))
			far[i] = NAMED;
	for (uint32_t i = 0; i < expr->nargs; i++)
		mark_named(e, expr->args[i], far);
	for (uint32_t i = 0; i < expr->nbinds; i++)
		mark_named(e, expr->binds[i].value, far);
}

static bool names(const AstExpr *expr, Sym name)
{
	bool found = expr && expr->kind == AST_NAME && expr->name.sym == name;
	for (uint32_t i = 0; expr && i < expr->nargs && !found; i++)
		found = names(expr->args[i], name);
	for (uint32_t i = 0; expr && i < expr->nbinds && !found; i++)
		found = names(expr->binds[i].value, name);
	return found;
}

/* The statements that name what one with a place makes. */
static void mark_users(const Edits *e, uint32_t *far)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		for (uint32_t k = i + 1; far[i] == SAME && k < e->file->nstmts; k++)
			if (far[k] > NAMED && e->file->stmts[i].name.sym &&
			    names(e->file->stmts[k].expr, e->file->stmts[i].name.sym))
				far[k] = NAMED;
}

static int by_cost(const void *a, const void *b)
{
	const Edit *x = a, *y = b;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (x->offered != y->offered) /* 0 goes last */
		return x->offered - 1 < y->offered - 1 ? -1 : 1;
	if (x->span.start != y->span.start)
		return x->span.start < y->span.start ? -1 : 1;
	if (x->span.end != y->span.end)
		return x->span.end < y->span.end ? -1 : 1;
	return strcmp(x->text, y->text);
}

void edits_near(Edits *e)
{
	uint32_t n = e->file->nstmts, *far = ARENA_ARRAY(e->arena, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		far[i] = holds_place(e, e->file->stmts[i].span) ? SAME : FAR;
	for (uint32_t i = 0; i < n; i++)
		if (far[i] == SAME)
			mark_named(e, e->file->stmts[i].expr, far);
	mark_users(e, far);
	for (uint32_t i = 0; i < n; i++)
		if (far[i] < FAR)
			walk_stmt(e, &e->file->stmts[i], far[i]);
}

void edits_sort(Edits *e)
{
	if (e->list.n > 0)
		qsort(e->list.at, e->list.n, sizeof *e->list.at, by_cost);
}
