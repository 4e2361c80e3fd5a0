/* Makes shapes, steps and statements of the syntax tree. A statement in which an error was
 * reported is left out. */
#include <stdlib.h>
#include <string.h>

#include "grammar/tree.h"
#include "grammar/tree_stmt.h"

/* ---- shapes ---- */

AstShapeAxis tree_axis(const Tree *tree, Span start, Name label, AstExpr *size)
{
	return (AstShapeAxis){tree_span(tree, start), label, size};
}

Row *tree_row(Tree *tree, Row *row, const AstShapeAxis *axis)
{
	if (!row) {
		row = ARENA_NEW(tree->parse->perm, Row);
		row->var_at = -1;
	}
	if (axis)
		PUSH(tree->parse->perm, row->axes, *axis);
	return row;
}

Row *tree_row_var(Tree *tree, Row *row, Token var)
{
	row = tree_row(tree, row, NULL);
	if (row->var_at >= 0) {
		TREE_ERROR(tree, E0112, var.span, "a row has at most one row variable");
		diag_note(tree->parse->diags, row->var_span, "the first one is here");
		return row;
	}
	row->var_at = (int32_t)row->axes.n;
	row->var_span = var.span;
	row->var = (Name){NULL, var.span};
	if (var.kind == TOKEN_ROWVAR) {
		Token name = var;
		name.span.start += 2;
		name.span.end -= 2;
		row->var = (Name){tree_name(tree, name).sym, var.span};
	}
	return row;
}

AstShape *tree_shape(Tree *tree, Token start, Row *const rows[ROW_KINDS])
{
	AstShape *shape = ARENA_NEW(tree->parse->perm, AstShape);
	shape->span = tree_span(tree, start.span);
	for (int k = 0; k < ROW_KINDS; k++) {
		shape->rows[k].var_at = -1;
		if (!rows[k])
			continue;
		shape->rows[k] = (AstShapeRow){true, rows[k]->axes.at, (uint32_t)rows[k]->axes.n,
		                               rows[k]->var_at, rows[k]->var};
	}
	return shape;
}

/* ---- routines ---- */

/* Reads `=ACC`: the accumulation, and whether a colon before it clears the left side first. */
static void read_assign(const Tree *tree, AstStep *step)
{
	static const struct {
		const char *text;
		Op op;
	} accs[] = {{"+", OP_ADD}, {"-", OP_SUB},  {"*", OP_MUL},  {"/", OP_DIV}, {"**", OP_POW},
	            {"max", OP_MAX}, {"min", OP_MIN}, {"||", OP_OR}, {"&&", OP_AND}};
	const char *text = tree->source->text + step->op_span.start + 1;
	size_t n = step->op_span.end - step->op_span.start - 1;
	step->clear = *text == ':' && n > 1;
	step->acc = OP_NONE;
	text += step->clear;
	n -= step->clear;
	for (size_t i = 0; i < sizeof accs / sizeof *accs; i++)
		if (strlen(accs[i].text) == n && memcmp(accs[i].text, text, n) == 0)
			step->acc = accs[i].op;
}

Steps *tree_steps(Tree *tree, Steps *list, AstStep step)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, Steps);
	if (step.kind == STEP_ASSIGN)
		read_assign(tree, &step);
	else
		step.acc = OP_NONE;
	step.span = tree_span(tree, step.span);
	PUSH(tree->parse->perm, list->items, step);
	return list;
}

AstExpr *tree_update(Tree *tree, Token with, AstExpr *a, const Steps *steps)
{
	AstExpr *e = tree_around(tree, AST_UPDATE, with, a);
	e->steps = steps ? steps->items.at : NULL;
	e->nsteps = steps ? (uint32_t)steps->items.n : 0;
	return e;
}

AstExpr *tree_write(Tree *tree, Name name, AstStep step, AstExpr *body)
{
	AstExpr *target = tree_name_expr(tree, name);
	AstExpr *e = tree_around(tree, AST_WRITE, (Token){.span = step.op_span}, body);
	e->span.start = name.span.start;
	step.span = span_join(name.span, step.via ? step.via->span : step.expr->span);
	step.target = target;
	read_assign(tree, &step);
	e->steps = ARENA_NEW(tree->parse->perm, AstStep);
	*e->steps = step;
	e->nsteps = 1;
	return e;
}

/* ---- statements ---- */

void tree_stmt(Tree *tree, Token start, AstStmt stmt)
{
	stmt.span = tree_span(tree, start.span);
	bool typed = stmt.kind == STMT_INPUT || stmt.kind == STMT_PARAM ||
		     stmt.kind == STMT_CONST || stmt.kind == STMT_LET || stmt.kind == STMT_OUTPUT;
	if (!typed)
		stmt.dtype = DTYPE_NONE;
	if (!tree->failed)
		PUSH(tree->parse->perm, tree->stmts, stmt);
	tree->failed = tree->too_deep = false;
}

void tree_outputs(Tree *tree, Token start, const Names *names, AstExpr *value)
{
	bool failed = tree->failed;
	tree_stmt(tree, start,
		  (AstStmt){.kind = STMT_LET,
			    .names = names->items.at,
			    .nnames = (uint32_t)names->items.n,
			    .dtype = DTYPE_NONE,
			    .expr = value});
	for (size_t i = 0; i < names->items.n && !failed; i++) {
		Name name = names->items.at[i];
		tree_stmt(tree, (Token){.span = name.span},
			  (AstStmt){.kind = STMT_OUTPUT, .name = name, .dtype = DTYPE_NONE});
	}
}

int64_t tree_at_least(Tree *tree, const AstExpr *number)
{
	if (!number)
		return 0;
	if (!number->is_integer)
		TREE_ERROR(tree, E0113, number->span,
		           "the least value of a dim is a whole number below 2**63");
	return number->is_integer ? number->integer : 0;
}

/* `require n % 4 == 0` */
static void refuse_rest(Tree *tree, const AstExpr *a, const AstExpr *b)
{
	Arena *arena = tree->parse->perm;
	const Sources *sources = tree->parse->sources;
	TREE_ERROR(tree, E0115, a->op_span,
		   "'%%' cannot stand here: sizes are related by '==', '>=' and 'divides'");
	if (a->args[0]->parenthesised || a->args[1]->parenthesised)
		diag_note(tree->parse->diags, a->op_span, "'A %% B == 0' is 'B divides A'");
	else
		diag_fix(tree->parse->diags, span_join(a->span, b->span),
			 arena_printf(arena, "%s divides %s",
				      source_text(sources, arena, a->args[1]->span),
				      source_text(sources, arena, a->args[0]->span)),
			 "write 'divides'");
}

void tree_require(Tree *tree, Token start, RequireOp op, AstExpr *const sides[2])
{
	AstStmt stmt = {.kind = STMT_REQUIRE, .require_op = op};
	stmt.expr = sides[0];
	stmt.expr2 = sides[1];
	bool none = sides[1]->kind == AST_NUMBER && sides[1]->is_integer && sides[1]->integer == 0;
	if (op == REQUIRE_EQ && none && sides[0]->kind == AST_BINARY && sides[0]->op == OP_MOD)
		refuse_rest(tree, sides[0], sides[1]);
	tree_stmt(tree, start, stmt);
}

static void refuse_default(Tree *tree, const AstStmt *stmt, const AstParam *param)
{
	TREE_ERROR(tree, E0114, param->value->span,
		   "the tensor argument '%s' cannot have a default", param->name.sym);
	if (stmt->has_configs)
		diag_note(tree->parse->diags, stmt->name.span,
			  "only the first list of '%s' has defaults", stmt->name.sym);
	else
		diag_note(
			tree->parse->diags, stmt->name.span,
			"the only list of '%s' is its list of tensors; a list of configuration arguments "
			"goes before it",
			stmt->name.sym);
}

Params *tree_params(Tree *tree, Params *list, AstParam param)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, Params);
	PUSH(tree->parse->perm, list->items, param);
	return list;
}

void tree_set_params(Tree *tree, AstStmt *stmt, const Params *configs, const Params *params)
{
	stmt->configs = configs ? configs->items.at : NULL;
	stmt->nconfigs = configs ? (uint32_t)configs->items.n : 0;
	stmt->params = params ? params->items.at : NULL;
	stmt->nparams = params ? (uint32_t)params->items.n : 0;
	for (uint32_t i = 0; i < stmt->nparams; i++)
		if (stmt->params[i].value)
			refuse_default(tree, stmt, &stmt->params[i]);
}

void tree_set_modes(AstStmt *stmt, const Params *modes)
{
	stmt->modes = modes ? modes->items.at : NULL;
	stmt->nmodes = modes ? (uint32_t)modes->items.n : 0;
}

AstRule *tree_rule(const Tree *tree, Token start, const Names *names, AstExpr *value)
{
	AstRule *rule = ARENA_NEW(tree->parse->perm, AstRule);
	*rule = (AstRule){names->items.at, (uint32_t)names->items.n, value,
			  tree_span(tree, start.span)};
	return rule;
}

static void refuse_untyped(Tree *tree, Name name)
{
	Span behind = {name.span.file, name.span.end, name.span.end};
	TREE_ERROR(tree, E0120, name.span, "the scalar '%s' needs a type: %s : f32", name.sym,
		   name.sym);
	diag_fix(tree->parse->diags, behind, " : f32", "a rate or a factor is '%s : f32'",
		 name.sym);
	diag_fix(tree->parse->diags, behind, " : i32", "a number of steps or a place is '%s : i32'",
		 name.sym);
}

void tree_typed(Tree *tree, const AstStmt *routine)
{
	for (uint32_t i = 0; i < routine->nconfigs; i++) {
		const AstParam *param = &routine->configs[i];
		if (routine->has_configs == (param->dtype == DTYPE_NONE))
			continue;
		Sym name = param->name.sym;
		if (routine->has_configs)
			TREE_ERROR(tree, E0120, param->type_span,
				   "'%s' is what a call gives it: only scalars of a routine with one list have types", name);
		else
			refuse_untyped(tree, param->name);
	}
}

void tree_import(Tree *tree, Token start, Token from, Name as)
{
	AstStmt stmt = {.kind = STMT_IMPORT, .name = {NULL, from.span}, .import_name = as};
	uint32_t n = from.span.end - from.span.start;
	const char *text = tree->source->text + from.span.start;
	stmt.import_is_path = from.kind == TOKEN_STRING;
	stmt.text = stmt.import_is_path ? arena_strndup(tree->parse->perm, text + 1, n - 2)
	                                : sym_intern(tree->parse->symbols, text, n);
	tree_stmt(tree, start, stmt);
}
