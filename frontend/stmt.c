/* Statements of a file, in order: each declares names for those after it. */
#include <inttypes.h>
#include <string.h>

#include "frontend/ascribe.h"
#include "frontend/eval.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"
#include "frontend/rule.h"
#include "frontend/training.h"

static Sym full_name(Build *b, Sym name)
{
	return sym_printf(b->symbols, "%s%s", b->file->prefix, name);
}

static bool refuse_in_import(Build *b, const AstStmt *stmt, const char *what)
{
	if (!b->file->imported)
		return false;
	diag(b->diags, E0228, stmt->name.span, "an imported file declares no %s", what);
	diag_note(b->diags, b->file->span, "it is imported here");
	return true;
}

/* ---- dim and require ---- */

/* -D NAME=N, or NULL. */
static const Define *find_define(Build *b, Sym full)
{
	const Define *found = NULL;
	for (uint32_t i = 0; i < b->options->ndefines; i++) {
		if (strcmp(b->options->defines[i].name, full) == 0) {
			found = &b->options->defines[i];
			b->define_used[i] = true;
		}
	}
	return found;
}

static const SizeExpr *fixed_dim(Build *b, const AstStmt *stmt, int64_t value)
{
	if (value < 0 || value < stmt->at_least) {
		diag(b->diags, E0232, stmt->name.span,
		     "'%s' is %" PRId64 ", and must be at least %" PRId64, stmt->name.sym, value,
		     stmt->at_least > 0 ? stmt->at_least : 0);
		if (stmt->at_least_span.file)
			diag_note(b->diags, stmt->at_least_span, "the bound is declared here");
	}
	return size_expr_new(b, (SizeExpr){.kind = SX_FIXED,
					   .span = stmt->name.span,
					   .number = value < 0 ? 0 : value,
					   .name = stmt->name.sym});
}

static const SizeExpr *symbolic_dim(Build *b, const AstStmt *stmt, Sym full)
{
	int64_t at_least = stmt->at_least > 0 ? stmt->at_least : 0;
	if (at_least > DIM_MOST)
		diag(b->diags, E0232, stmt->at_least_span,
		     "'%s' is at least %" PRId64 " here, and a dim is at most %" PRId64
		     " when the program runs",
		     stmt->name.sym, at_least, DIM_MOST);
	DimId dim = sizes_add_dim(b->graph->sizes,
				  (Dim){full, stmt->name.span, at_least, DIM_ARGUMENT});
	return size_expr_new(b, (SizeExpr){.kind = SX_DIM, .span = stmt->name.span, .dim = dim});
}

static const SizeExpr *dim_size(Build *b, const AstStmt *stmt, Sym full)
{
	const Define *define = find_define(b, full);
	PUSH(b->arena, b->define_names, full);
	int64_t value;
	if (define)
		return fixed_dim(b, stmt, define->value);
	if (!stmt->expr)
		return symbolic_dim(b, stmt, full);
	const SizeExpr *size = eval_size(b, stmt->expr);
	if (!size)
		return NULL;
	if (size_expr_value(size, &value))
		return fixed_dim(b, stmt, value);
	if (stmt->at_least > 0)
		PUSH(b->arena, b->graph->requires,
		     ((Require){REQUIRE_GE, size,
				size_expr_number(b, stmt->at_least, stmt->at_least_span),
				stmt->at_least_span, false, NULL}));
	SizeExpr *named = ARENA_NEW(b->arena, SizeExpr);
	*named = *size;
	named->divides = false; /* a dim is a size: what it is divided by divides it */
	return named;
}

static void eval_dim(Build *b, const AstStmt *stmt)
{
	Sym full = full_name(b, stmt->name.sym);
	if (!entry_declare(b, full, stmt->name.span))
		return;
	const SizeExpr *size = dim_size(b, stmt, full);
	Value value = size ? value_size(size, stmt->name.span) : value_error();
	scope_declare(b, b->at.scope, stmt->name, value);
}

static bool require_holds(RequireOp op, int64_t a, int64_t c)
{
	switch (op) {
	case REQUIRE_EQ: return a == c;
	case REQUIRE_GE: return a >= c;
	case REQUIRE_DIVIDES: return a == 0 ? c == 0 : c % a == 0;
	}
	return false;
}

static void eval_require(Build *b, const AstStmt *stmt)
{
	static const char *const words[] = {"==", ">=", "divides"};
	const SizeExpr *a = eval_size(b, stmt->expr), *c = eval_size(b, stmt->expr2);
	int64_t x, y;
	if (!a || !c)
		return;
	if (!size_expr_value(a, &x) || !size_expr_value(c, &y)) {
		PUSH(b->arena, b->graph->requires,
		     ((Require){stmt->require_op, a, c, stmt->span, false, NULL}));
		return;
	}
	if (!require_holds(stmt->require_op, x, y))
		diag(b->diags, E0233, stmt->span, "this does not hold: %" PRId64 " %s %" PRId64, x,
		     words[stmt->require_op], y);
}

/* ---- tensors ---- */

static void eval_input(Build *b, const AstStmt *stmt)
{
	if (refuse_in_import(b, stmt, "inputs") ||
	    !entry_declare(b, stmt->name.sym, stmt->name.span))
		return;
	const ShapeDecl *shape = stmt->shape ? shape_decl(b, stmt->shape, SHAPE_INPUT) : NULL;
	Value value = value_error();
	if (shape) {
		NodeId id = node_new(b, NODE_INPUT, stmt->span, stmt->name.span);
		graph_node(b->graph, id)->shape = shape;
		graph_node(b->graph, id)->dtype = written_dtype(b, stmt->dtype, stmt->span);
		node_name(b, id, stmt->name.sym, stmt->name.span);
		listing_add(b, stmt->name.sym, id, stmt->name.span);
		value = value_node(id, stmt->name.span);
	}
	if (scope_declare(b, b->at.scope, stmt->name, value))
		scope_here(b->at.scope, stmt->name.sym)->kind = BINDING_INPUT;
}

static void eval_param(Build *b, const AstStmt *stmt)
{
	NodeId id = param_statement(b, stmt);
	scope_declare(b, b->at.scope, stmt->name, value_node(id, stmt->name.span));
}

static void name_top(Build *b, Name name, Value *value)
{
	if (value->kind != VALUE_TENSOR)
		return;
	Sym full = full_name(b, name.sym);
	node_name(b, value->node, full, name.span);
	listing_add(b, full, value->node, name.span);
}

/* One name for a written `(a, b)`: a literal of input axes. Other tuples stay tuples. */
static void eval_let_literal(Build *b, const AstStmt *stmt, Name name)
{
	Value value = value_node(eval_literal(b, stmt->expr), stmt->expr->span);
	value = ascribe_written(b, value,
				&(Ascribed){name, stmt->shape, stmt->dtype, stmt->type_span});
	name_top(b, name, &value);
	scope_declare(b, b->at.scope, name, value);
}

static void eval_let(Build *b, const AstStmt *stmt)
{
	Name one[1] = {stmt->nnames ? stmt->names[0] : stmt->name};
	if (stmt->nnames <= 1 && scope_here(b->at.scope, one[0].sym)) {
		scope_declare(b, b->at.scope, one[0],
			      value_error()); /* says so: nothing else of it is told */
		return;
	}
	if (stmt->nnames <= 1 && stmt->expr->kind == AST_TUPLE) {
		eval_let_literal(b, stmt, one[0]);
		return;
	}
	AstBind bind = {.names = stmt->nnames ? stmt->names : one,
			.nnames = stmt->nnames ? stmt->nnames : 1,
			.value = stmt->expr,
			.shape = stmt->shape,
			.dtype = stmt->dtype,
			.type_span = stmt->type_span,
			.span = stmt->span};
	bind_names(b, &bind, name_top);
}

static bool output_value(Build *b, const AstStmt *stmt, NodeId *out)
{
	Value value = value_error();
	if (stmt->expr) {
		value = eval_named(b, stmt->expr, stmt->name.sym);
	} else {
		const Binding *binding = scope_find(b->at.scope, stmt->name.sym);
		if (!binding)
			scope_report_unknown(b, stmt->name);
		else
			value = binding->value;
		value.span = stmt->name.span;
	}
	if (stmt->expr && value.kind != VALUE_ERROR)
		value.span = stmt->expr->span;
	value = ascribe_written(b, value,
				&(Ascribed){stmt->name, stmt->shape, stmt->dtype, stmt->type_span});
	*out = value_to_node(b, value);
	return *out != NODE_NONE;
}

static void eval_output(Build *b, const AstStmt *stmt)
{
	NodeId id;
	if (refuse_in_import(b, stmt, "outputs"))
		return;
	for (size_t i = 0; i < b->output_names.n; i++) {
		if (b->output_names.at[i] != stmt->name.sym)
			continue;
		diag(b->diags, E0202, stmt->name.span, "the output '%s' is declared twice",
		     stmt->name.sym);
		diag_note(b->diags, b->output_spans.at[i], "'%s' is declared here first",
			  stmt->name.sym);
		return;
	}
	bool good = output_value(b, stmt, &id);
	if (stmt->expr && good) {
		node_name(b, id, stmt->name.sym, stmt->name.span);
		listing_add(b, stmt->name.sym, id, stmt->name.span);
	}
	if (stmt->expr)
		scope_declare(b, b->at.scope, stmt->name, good ? value_node(id, stmt->name.span)
							       : value_error());
	if (!good)
		return;
	PUSH(b->arena, b->outputs, id);
	PUSH(b->arena, b->output_names, stmt->name.sym);
	PUSH(b->arena, b->output_spans, stmt->name.span);
}

/* ---- functions ---- */

static void check_arguments(Build *b, Scope *names, const AstParam *params, uint32_t nparams)
{
	for (uint32_t i = 0; i < nparams; i++)
		scope_declare(b, names, params[i].name, value_error());
}

static void eval_fn(Build *b, const AstStmt *stmt)
{
	/* two levels of names: configurations, then tensors, with those of a rule */
	Scope *tensors = scope_new(b, NULL);
	check_arguments(b, scope_new(b, NULL), stmt->configs, stmt->nconfigs);
	check_arguments(b, tensors, stmt->params, stmt->nparams);
	if (stmt->rule)
		rule_declare(b, stmt, tensors);
	Function *fn = ARENA_NEW(b->arena, Function);
	*fn = (Function){
		.stmt = stmt, .scope = b->at.scope, .limit = (uint32_t)b->at.scope->names.n};
	scope_declare(b, b->at.scope, stmt->name,
		      (Value){.kind = VALUE_FN, .fn = fn, .span = stmt->name.span});
}

static void eval_stmt(Build *b, const AstStmt *stmt)
{
	switch (stmt->kind) {
	case STMT_DIM: eval_dim(b, stmt); break;
	case STMT_REQUIRE: eval_require(b, stmt); break;
	case STMT_INPUT: eval_input(b, stmt); break;
	case STMT_PARAM: eval_param(b, stmt); break;
	case STMT_CONST: eval_const(b, stmt); break;
	case STMT_LET: eval_let(b, stmt); break;
	case STMT_FN: eval_fn(b, stmt); break;
	case STMT_OUTPUT: eval_output(b, stmt); break;
	case STMT_ROUTINE:
		if (stmt->has_configs)
			eval_steps(b, stmt);
		else if (!refuse_in_import(b, stmt, "routines"))
			eval_routine(b, stmt);
		break;
	case STMT_IMPORT: eval_import(b, stmt); break;
	case STMT_ERROR: break;
	}
}

void eval_file(Build *b, const AstFile *file)
{
	for (uint32_t i = 0; i < file->nstmts && !b->stopped; i++)
		eval_stmt(b, &file->stmts[i]);
	for (size_t i = 0; i < b->at.scope->names.n && !b->stopped; i++) {
		const Value *value = &b->at.scope->names.at[i].value;
		if (value->kind != VALUE_FN || value->fn->scope != b->at.scope)
			continue;
		if (!value->fn->applied)
			resolve_unapplied(b, value->fn);
		if (value->fn->stmt->rule)
			PUSH(b->arena, b->ruled, value->fn);
	}
}
