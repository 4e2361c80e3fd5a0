/* Matching the arguments of a call: first those without a name, in order, then those with one. */
#include <inttypes.h>

#include "frontend/call_args.h"

static void report_unknown_key(Build *b, const CallArgs *args, const Function *fn, Name key)
{
	diag(b->diags, E0207, key.span, "'%s' has no argument '%s'", fn->stmt->name.sym, key.sym);
	diag_note(b->diags, fn->stmt->name.span, "'%s' is declared here", fn->stmt->name.sym);
	call_explain_key(b, args, fn, key);
}

static bool place_keyword(Build *b, CallArgs *args, const Function *fn, Name key,
			  const AstExpr *expr)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		if (args->params[i].name.sym != key.sym)
			continue;
		if (args->exprs[i]) {
			diag(b->diags, E0208, key.span, "the argument '%s' is given twice",
			     key.sym);
			diag_note(b->diags, args->exprs[i]->span, "it is given here first");
			return false;
		}
		args->exprs[i] = expr;
		return true;
	}
	report_unknown_key(b, args, fn, key);
	return false;
}

static bool place_positional(Build *b, CallArgs *args, const Function *fn, const AstExpr *call,
			     uint32_t at)
{
	if (at > args->nparams) {
		diag(b->diags, E0206, call->args[at]->span,
		     "'%s' takes %" PRIu32 " argument%s here, and this is number %" PRIu32,
		     fn->stmt->name.sym, args->nparams, args->nparams == 1 ? "" : "s", at);
		if (fn->stmt->has_configs)
			function_note_lists(b, fn->stmt);
		else
			diag_note(b->diags, fn->stmt->name.span, "'%s' is declared here",
				  fn->stmt->name.sym);
		call_explain_surplus(b, fn, call, at);
		return false;
	}
	if (at > 1 && call->keys && call->keys[at - 1].sym) {
		diag(b->diags, E0206, call->args[at]->span,
		     "an argument without a name cannot follow one with a name");
		diag_note(b->diags, call->keys[at - 1].span, "the argument with a name");
		return false;
	}
	args->exprs[at - 1] = call->args[at];
	return true;
}

static bool check_missing(Build *b, const CallArgs *args, const Function *fn, const AstExpr *call)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		if (args->exprs[i] || args->params[i].value)
			continue;
		diag(b->diags, E0205, call->span, "'%s' needs its argument '%s'",
		     fn->stmt->name.sym, args->params[i].name.sym);
		diag_note(b->diags, args->params[i].name.span,
			  "'%s' is declared here, without a default", args->params[i].name.sym);
		call_explain_missing(b, args, fn, call);
		return false;
	}
	return true;
}

bool call_match(Build *b, CallArgs *args, const Function *fn, const AstExpr *call)
{
	if (args->nparams > LIMIT_ARGS) {
		diag(b->diags, E0236, fn->stmt->name.span, "a function has at most %d arguments",
		     LIMIT_ARGS);
		return false;
	}
	args->exprs = ARENA_ARRAY(b->arena, const AstExpr *, args->nparams + 1);
	for (uint32_t i = 1; i < call->nargs; i++) {
		bool placed = call->keys && call->keys[i].sym
				      ? place_keyword(b, args, fn, call->keys[i], call->args[i])
				      : place_positional(b, args, fn, call, i);
		if (!placed)
			return false;
	}
	return check_missing(b, args, fn, call);
}
