/* Routines with two lists, whose steps are carried out where they are called:
 *
 *   routine momentum(rate, decay = 0.9)(p) {
 *       p.m =: decay * p.m + p.grad
 *       p =- rate * p.m
 *   }
 *
 * The first list takes values, as they are at the call, the second tensors, which the steps may write. Names are
 * those that stand before the routine.
 */
#include "frontend/call_args.h"
#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/passed.h"
#include "frontend/training.h"

void eval_steps(Build *b, const AstStmt *stmt)
{
	Function *fn = ARENA_NEW(b->arena, Function);
	*fn = (Function){
		.stmt = stmt, .scope = b->at.scope, .limit = (uint32_t)b->at.scope->names.n};
	scope_declare(b, b->at.scope, stmt->name,
		      (Value){.kind = VALUE_STEPS, .fn = fn, .span = stmt->name.span});
}

/* Defaults see the arguments before them. */
static bool bind_configs(Build *b, const CallArgs *args, const Value *given, Scope *scope)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		Value value = given[i];
		if (!args->exprs[i]) {
			Activation outer = b->at;
			b->at.scope = scope;
			value = eval(b, args->params[i].value);
			b->at = outer;
		}
		routine_keep(b, &value,
			     args->exprs[i] ? args->exprs[i]->span : args->params[i].value->span);
		if (value.kind == VALUE_ERROR)
			return false;
		scope_declare(b, scope, args->params[i].name, value);
	}
	return true;
}

static bool bind_tensors(Build *b, const CallArgs *args, const Value *given, Scope *scope)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		Value value = given[i];
		value.node = value_to_node(b, value);
		if (value.node == NODE_NONE)
			return false;
		scope_declare(b, scope, args->params[i].name, value_node(value.node, value.span));
	}
	return true;
}

static bool eval_args(Build *b, const CallArgs *args, Value *values)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		values[i] =
			args->exprs[i] ? value_as_passed(eval(b, args->exprs[i])) : value_error();
		if (args->exprs[i] && values[i].kind == VALUE_ERROR)
			return false;
	}
	return true;
}

static void carry_out(Build *b, const Function *fn, const AstExpr *configs, const AstExpr *tensors)
{
	const AstStmt *stmt = fn->stmt;
	CallArgs first = {.params = stmt->configs, .nparams = stmt->nconfigs};
	CallArgs second = {.params = stmt->params, .nparams = stmt->nparams};
	if (!call_match(b, &first, fn, configs) || !call_match(b, &second, fn, tensors))
		return;
	Value *given = ARENA_ARRAY(b->arena, Value, first.nparams + second.nparams + 1);
	Value *targets = given + first.nparams;
	Scope *scope = scope_new(b, fn->scope);
	scope->limit = fn->limit;
	if (!eval_args(b, &first, given) || !eval_args(b, &second, targets) ||
	    !bind_configs(b, &first, given, scope) || !bind_tensors(b, &second, targets, scope))
		return;
	Activation outer = b->at;
	int before = b->diags->nerrors;
	b->at.scope = scope;
	eval_all_steps(b, stmt->steps, stmt->nsteps);
	b->at = outer;
	if (b->diags->nerrors > before)
		diag_applied(b->diags, tensors->span, stmt->name.sym);
}

void eval_step_call(Build *b, const AstStep *step)
{
	const AstExpr *tensors = step->expr, *configs = tensors->args[0];
	const AstExpr *name = configs->kind == AST_CALL ? configs->args[0] : configs;
	Value callee = eval(b, name);
	if (callee.kind == VALUE_ERROR)
		return;
	if (callee.kind == VALUE_STEPS && configs->kind == AST_CALL) {
		carry_out(b, callee.fn, configs, tensors);
		return;
	}
	uint32_t n = configs->kind == AST_CALL ? 0 : tensors->nargs - 1;
	const char *given =
		n ? source_text(b->sources, b->arena,
				span_join(tensors->args[1]->span, tensors->args[n]->span))
		  : "";
	diag(b->diags, E0264, step->span,
	     callee.kind == VALUE_STEPS
		     ? "a routine of steps is called with two lists: its configuration, then its tensors"
		     : "only a routine with two lists can stand as a step, and this is %s",
	     value_describe(&callee));
	if (callee.kind == VALUE_STEPS) {
		diag_note(b->diags, callee.fn->stmt->name.span, "'%s' is declared here",
			  callee.fn->stmt->name.sym);
		diag_note(b->diags, step->span,
			  "of each parameter that y depends on: for p in params(y) { %s(%s)(p) }",
			  source_text(b->sources, b->arena, name->span), given);
	}
}
