/* Calls: functions, their configurations, their tensors, and what `.name` finds.
 *
 * Applying a configuration makes an instance; applying a plain function or an instance to tensors
 * evaluates the body in a scope of its own, on top of the names that the function saw when it was
 * declared.
 */
#include <string.h>

#include "frontend/anew.h"
#include "frontend/call_args.h"
#include "frontend/eval.h"
#include "frontend/inside.h"
#include "frontend/modes.h"
#include "frontend/passed.h"
#include "frontend/rule.h"
#include "frontend/training.h"

/* ---- instances ---- */

/* Defaults see the arguments before them, and belong to the instance. */
static void bind_configs(Build *b, Instance *instance, const CallArgs *args, const Value *given)
{
	Activation outer = b->at;
	b->at = (Activation){
		.scope = instance->configs, .params = instance->params, .site = outer.site};
	for (uint32_t i = 0; i < args->nparams; i++) {
		const AstExpr *expr = args->exprs[i] ? args->exprs[i] : args->params[i].value;
		Value value = args->exprs[i] ? given[i] : eval(b, expr);
		if (span_is_none(value.given))
			value.given = expr->span;
		scope_declare(b, instance->configs, args->params[i].name, value);
	}
	b->at = outer;
}

/* What a place has made is found there again: its configuration cannot depend on the application. */
static bool check_same_configs(Build *b, const Instance *instance, const CallArgs *args,
			       const Value *given)
{
	for (uint32_t i = 0; i < args->nparams; i++) {
		const Binding *had = args->exprs[i] ? scope_here(instance->configs, args->params[i].name.sym)
						    : NULL;
		double old, new;
		if (!had || !value_get_number(&had->value, &old) || !value_get_number(&given[i], &new) ||
		    old == new || (old != old && new != new))
			continue;
		diag(b->diags, E0267, args->exprs[i]->span,
		     "'%s' was %.9g when this instance of '%s' was made, and is %.9g here",
		     had->name, old, instance->fn->stmt->name.sym, new);
		diag_note(b->diags, args->params[i].name.span,
			  "what may differ between applications is a mode: (x; %s = ...)", had->name);
		return false;
	}
	return true;
}

static Value make_instance(Build *b, Function *fn, const AstExpr *call)
{
	CallArgs args = {.params = fn->stmt->configs, .nparams = fn->stmt->nconfigs};
	if (!modes_refuse(b, call) || !call_match(b, &args, fn, call))
		return value_error();
	Value *given = ARENA_ARRAY(b->arena, Value, args.nparams + 1);
	for (uint32_t i = 0; i < args.nparams; i++) {
		if (args.exprs[i])
			given[i] = value_as_passed(eval(b, args.exprs[i]));
		if (args.exprs[i] && given[i].kind == VALUE_ERROR)
			return value_error();
	}
	call_warn_sizes(b, &args, fn, call, given);
	bool fresh;
	Instance *instance = param_instance(b, call, fn, &fresh);
	if (fresh)
		bind_configs(b, instance, &args, given);
	else if (!check_same_configs(b, instance, &args, given))
		return value_error();
	return (Value){.kind = VALUE_INSTANCE, .instance = instance, .span = call->span};
}

/* ---- application to tensors ---- */

static bool bind_tensors(Build *b, const Function *fn, const Value *args, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++) {
		Value value = args[i];
		if (value.kind == VALUE_NUMBER || value.kind == VALUE_SIZE) {
			value = value_node(value_to_node(b, value), args[i].span);
			value.passed = &args[i]; /* the body may use it as a size */
		}
		if (value.kind != VALUE_TENSOR && value.kind != VALUE_TUPLE) {
			if (value_to_node(b, value) == NODE_NONE && value.kind != VALUE_ERROR)
				diag_note(b->diags, fn->stmt->params[i].name.span,
					  "it goes to this argument; functions are given in the "
					  "configuration list");
			return false;
		}
		value.scales_left = value_scales_left(&args[i]);
		value.scales = false;
		value.from = NULL;
		scope_declare(b, b->at.scope, fn->stmt->params[i].name, value);
	}
	return true;
}

enum { NOTES_MAX = 5 };

/* An error in a body also shows the applications that led there, innermost first. */
static void note_application(Build *b, const Function *fn, int errors_before, Span call)
{
	if (b->diags->nerrors == errors_before || b->stopped)
		return;
	if (b->noted_errors != b->diags->nerrors)
		b->nnotes = 0;
	b->noted_errors = b->diags->nerrors;
	if (b->nnotes++ < NOTES_MAX)
		diag_applied(b->diags, call, fn->stmt->name.sym);
}

/* Evaluates the modes that the call gives, in front of those at hand; false after an error. */
static bool give_modes(Build *b, const AstExpr *call, Mode **modes)
{
	const Mode *around = *modes;
	for (uint32_t i = 0; i < call->nbinds; i++) {
		Value value = value_as_passed(eval(b, call->binds[i].value));
		Mode *mode = value.kind == VALUE_ERROR
				     ? NULL
				     : modes_give(b, *modes, around, call->binds[i].names[0], value);
		if (!mode)
			return false;
		*modes = mode;
	}
	return true;
}

/* Those of the function are known to it, and to what it applies. */
static bool bind_modes(Build *b, const AstStmt *fn)
{
	for (uint32_t i = 0; i < fn->nmodes; i++) {
		Name name = fn->modes[i].name;
		const Mode *given = modes_take(b->at.modes, name.sym);
		Value value = given ? given->value : eval(b, fn->modes[i].value);
		if (value.kind == VALUE_ERROR || !scope_declare(b, b->at.scope, name, value))
			return false;
		b->at.modes = modes_give(b, b->at.modes, b->at.modes, name, value);
	}
	return true;
}

/* What the body gives, behind the function's rule of gradients. It has a frame of its own: those of applications are as many as
 * functions nest. */
__attribute__((noinline)) static Value by_rule(Build *b, const Applied *applied)
{
	Ruled ruled;
	return rule_open(b, applied, &ruled)
		       ? rule_close(b, &ruled, eval(b, applied->fn->rule->expr))
		       : ruled.value;
}

/* The arguments in the caller's activation, the body in one of its own. */
static Value apply_function(Build *b, Function *fn, Instance *instance, const AstExpr *call)
{
	CallArgs args = {.params = fn->stmt->params, .nparams = fn->stmt->nparams};
	if (!call_match(b, &args, fn, call))
		return value_error();
	Value *values = ARENA_ARRAY(b->arena, Value, args.nparams + 1);
	for (uint32_t i = 0; i < args.nparams; i++) {
		values[i] = eval(b, args.exprs[i]);
		if (values[i].kind == VALUE_ERROR)
			return value_error();
	}
	Activation outer = b->at;
	Mode *modes = outer.modes;
	if (!give_modes(b, call, &modes))
		return value_error();
	Application *applied = ARENA_NEW(b->arena, Application);
	*applied = (Application){fn, instance, call->span, outer.in};
	b->at.withs = NULL;
	b->at.modes = modes;
	b->at.in = applied;
	b->at.rule = NULL;
	b->at.scope = scope_new(b, instance ? instance->configs : fn->scope);
	b->at.scope->limit = instance ? UINT32_MAX : fn->limit;
	b->at.params = instance ? instance->params : param_scope_new(b, outer.params->prefix,
								     outer.params->suffix);
	if (!instance)
		b->at.params->plain = fn->stmt;
	else
		instance->applied = true;
	b->at.site = (uint32_t)b->graph->sites.n;
	PUSH(b->arena, b->graph->sites, ((Site){fn->stmt->name.sym, call->span, outer.site}));
	Value value = value_error();
	int before = b->diags->nerrors;
	if (bind_tensors(b, fn, values, args.nparams) && bind_modes(b, fn->stmt))
		value = by_rule(b, &(Applied){fn->stmt, values, eval(b, fn->stmt->expr)});
	fn->applied = true;
	b->at = outer;
	note_application(b, fn, before, call->span);
	if (value.kind != VALUE_ERROR)
		modes_check_taken(b, fn->stmt, call, modes);
	value.from = applied;
	if (value.kind != VALUE_ERROR)
		value.span = call->span;
	return value;
}

static Value not_callable(Build *b, const AstExpr *call, const Value *callee)
{
	if (callee->kind == VALUE_ERROR)
		return *callee;
	diag(b->diags, E0204, call->args[0]->span, "%s cannot be applied: only functions can",
	     value_describe(callee));
	if (call->args[0]->kind == AST_NAME) {
		const Binding *binding = scope_find(b->at.scope, call->args[0]->name.sym);
		if (binding)
			diag_note(b->diags, binding->span, "'%s' is declared here", binding->name);
	}
	return value_error();
}

static Value find_member(Build *b, const AstExpr *expr, const AstExpr *call);

Value eval_call(Build *b, const AstExpr *call)
{
	Value callee = call->args[0]->kind == AST_MEMBER ? find_member(b, call->args[0], call)
							 : eval(b, call->args[0]);
	switch (callee.kind) {
	case VALUE_BUILTIN:
		return modes_refuse(b, call) ? eval_form(b, callee.builtin, call) : value_error();
	case VALUE_INSTANCE: return apply_function(b, callee.instance->fn, callee.instance, call);
	case VALUE_FN:
		return callee.fn->stmt->has_configs ? make_instance(b, callee.fn, call)
						    : apply_function(b, callee.fn, NULL, call);
	default: return not_callable(b, call, &callee);
	}
}

/* ---- members ---- */

/* The inline parameter of that name in a body, outside `iterate`; NULL if there is none. */
static const AstExpr *find_inline(const AstExpr *expr, Sym name)
{
	if (expr->kind == AST_PARAM && expr->name.sym == name)
		return expr;
	if (expr->kind == AST_ITERATE)
		return NULL;
	const AstExpr *found = NULL;
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = expr->args[i] ? find_inline(expr->args[i], name) : NULL;
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = expr->binds[i].value ? find_inline(expr->binds[i].value, name) : NULL;
	return found;
}

/* A parameter that is named before its instance meets a tensor is made on the spot. */
static NodeId param_ahead(Build *b, Instance *instance, Sym name)
{
	const AstExpr *site =
		instance->applied ? NULL : find_inline(instance->fn->stmt->expr, name);
	if (!site)
		return NODE_NONE;
	Activation outer = b->at;
	b->at = (Activation){
		.scope = instance->configs, .params = instance->params, .site = outer.site};
	NodeId id = param_inline(b, site);
	b->at = outer;
	return id;
}

static Value report_no_member(Build *b, const AstExpr *expr, const Sym *names, uint32_t nnames)
{
	Name name = expr->name;
	diag(b->diags, E0214, name.span, "there is no '%s' in it", name.sym);
	Sym nearest = name_nearest(name.sym, names, nnames);
	if (nearest)
		diag_fix(b->diags, name.span, nearest, "did you mean '%s'?", nearest);
	return value_error();
}

static Value member_of_instance(Build *b, Instance *instance, const AstExpr *expr)
{
	Member *member = param_member(instance->params, expr->name.sym);
	if (member && member->instance)
		return (Value){
			.kind = VALUE_INSTANCE, .instance = member->instance, .span = expr->span};
	if (member)
		return value_node(member->param, expr->span);
	int before = b->diags->nerrors;
	NodeId ahead = param_ahead(b, instance, expr->name.sym);
	if (ahead != NODE_NONE || b->diags->nerrors > before)
		return value_node(ahead, expr->span);
	Names names = {0};
	Value inside;
	if (inside_find(b, NULL, instance, expr, &inside, &names))
		return inside;
	for (size_t i = 0; i < instance->params->members.n; i++)
		PUSH(b->arena, names, instance->params->members.at[i].name);
	Value error = report_no_member(b, expr, names.at, (uint32_t)names.n);
	if (!instance->applied)
		diag_note(b->diags, instance->fn->stmt->name.span,
			  "the instance of '%s' has not been applied to a tensor before this place",
			  instance->fn->stmt->name.sym);
	return error;
}

/* What a module's name may be in another spelling: `CrossEntropyLoss` */
static Sym spelt_otherwise(const Sym *names, size_t n, Sym name)
{
	Sym found = NULL;
	for (size_t i = 0; i < n; i++)
		if (name_is_spelt(name, names[i]) && (!found || strlen(names[i]) > strlen(found)))
			found = names[i];
	return found ? found : name_nearest(name, names, n);
}

static Value member_of_module(Build *b, Module *module, const AstExpr *expr)
{
	Binding *binding = scope_here(module->scope, expr->name.sym);
	if (binding) {
		Value value = binding->value;
		value.span = expr->span;
		return value;
	}
	Sym *names = ARENA_ARRAY(b->arena, Sym, module->scope->names.n + 1);
	for (size_t i = 0; i < module->scope->names.n; i++)
		names[i] = module->scope->names.at[i].name;
	diag(b->diags, E0214, expr->name.span, "there is no '%s' in it", expr->name.sym);
	foreign_member(b, expr->span, expr->name,
		       spelt_otherwise(names, module->scope->names.n, expr->name.sym));
	return value_error();
}

static Value member_of_result(Build *b, const Value *result, const AstExpr *expr)
{
	Names names = {0};
	Value inside;
	if (inside_find(b, result->from, NULL, expr, &inside, &names))
		return inside;
	Value error = report_no_member(b, expr, names.at, (uint32_t)names.n);
	diag_note(b->diags, result->from->call, "members are what a 'let' in '%s' names",
		  result->from->fn->stmt->name.sym);
	return error;
}

/* `call`: what applies the member, or NULL. */
static Value find_member(Build *b, const AstExpr *expr, const AstExpr *call)
{
	if (foreign_module(b, expr))
		return value_error();
	Value value = eval(b, expr->args[0]);
	bool transposed = value.kind == VALUE_TENSOR && strcmp(expr->name.sym, "t") == 0;
	switch (value.kind) {
	case VALUE_ERROR: return value;
	case VALUE_INSTANCE: return member_of_instance(b, value.instance, expr);
	case VALUE_MODULE: return member_of_module(b, value.module, expr);
	case VALUE_TENSOR:
		if (strcmp(expr->name.sym, "grad") == 0)
			return gradient_member(b, value.node, expr);
		if (graph_node(b->graph, value.node)->kind == NODE_PARAM && !transposed) {
			NodeId slot = slot_read(b, value.node, expr);
			if (slot != NODE_NONE)
				return value_node(slot, expr->span);
		}
		break;
	default: break;
	}
	if (value.from && !transposed)
		return member_of_result(b, &value, expr);
	diag(b->diags, E0214, expr->name.span, "%s has no members, so no '%s'",
	     value_describe(&value), expr->name.sym);
	if (transposed)
		diag_fix(b->diags, expr->name.span, "T", "the rows change places in x.T");
	else if (value.kind == VALUE_TENSOR)
		foreign_method(b, expr->name, call);
	return value_error();
}

Value eval_member(Build *b, const AstExpr *expr)
{
	Value value = find_member(b, expr, NULL);
	if (value.kind == VALUE_TENSOR)
		value.node = anew_read(b->anew, value.node);
	return value;
}
