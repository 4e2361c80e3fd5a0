/* Functions that nothing applies: their names are still looked up, so that a library is checked
 * whole.
 *
 * The check is coarser than evaluation and never stricter: a name is fine if the function's scope,
 * an argument, or any `let`, `iterate` or capture anywhere in the body declares it.
 */
#include <string.h>

#include "frontend/border.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/forms.h"

typedef struct Resolve {
	Build *b;
	Scope *scope; /* everything that the body declares, on top of what the function sees */
} Resolve;

static void declare(Resolve *r, Name name)
{
	if (!name.sym || scope_here(r->scope, name.sym))
		return;
	name_index_set(r->b->arena, &r->scope->index, name.sym, (uint32_t)r->scope->names.n);
	PUSH(r->b->arena, r->scope->names, ((Binding){.name = name.sym, .span = name.span}));
}

static void declare_all(Resolve *r, const AstExpr *expr);

static void declare_in_steps(Resolve *r, const AstStep *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const AstStep *step = &steps[i];
		if (step->kind == STEP_ASSIGN && step->target->kind == AST_NAME &&
		    !scope_find(r->scope, step->target->name.sym))
			declare(r, step->target->name);
		if (step->kind == STEP_FOR)
			declare(r, step->name);
		for (uint32_t k = 0; k < step->nbinds; k++)
			for (uint32_t m = 0; m < step->binds[k].nnames; m++)
				declare(r, step->binds[k].names[m]);
		if (step->expr)
			declare_all(r, step->expr);
		declare_in_steps(r, step->steps, step->nsteps);
	}
}

static void declare_all(Resolve *r, const AstExpr *expr)
{
	bool iterates = expr->kind == AST_ITERATE || expr->kind == AST_SCAN, names = iterates || expr->kind == AST_LET_IN;
	if (iterates)
		declare(r, expr->name);
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		const AstBind *bind = &expr->binds[i];
		for (uint32_t k = 0; k < bind->nnames && (names || !bind->value); k++)
			declare(r, bind->names[k]);
		if (bind->value)
			declare_all(r, bind->value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++)
		declare_all(r, expr->args[i]);
	declare_in_steps(r, expr->steps, expr->nsteps);
}

/* Words such as `max` in reduce(max, ...) or `reverse` behind the operand of cumulate are no names. */
static bool takes_word(const AstExpr *call, uint32_t i)
{
	static const struct {
		const char *form;
		uint32_t places; /* of words among the arguments, a bit each */
	} words[] = {{"reduce", 1 << 1}, {"stack", 1 << 1},   {"cumulate", 1 << 1 | 3 << 4},
		     {"sort", 1 << 3},	 {"argsort", 1 << 3}, {"topk", 1 << 4}};
	if (call->kind != AST_CALL || call->args[0]->kind != AST_NAME || i == 0)
		return false;
	const char *form = call->args[0]->name.sym;
	for (size_t w = 0; w < sizeof words / sizeof *words && i < 32; w++)
		if (strcmp(form, words[w].form) == 0 && (words[w].places >> i & 1))
			return true;
	return form_takes_keys(form) && call->keys && call->keys[i].sym;
}

static void look_up(Resolve *r, const AstExpr *expr);

static void look_up_in_steps(Resolve *r, const AstStep *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (steps[i].target)
			look_up(r, steps[i].target);
		if (steps[i].expr)
			look_up(r, steps[i].expr);
		for (uint32_t k = 0; k < steps[i].nbinds; k++)
			look_up(r, steps[i].binds[k].value);
		look_up_in_steps(r, steps[i].steps, steps[i].nsteps);
	}
}

static void look_up(Resolve *r, const AstExpr *expr)
{
	static const char *const constants[] = {"inf", "nan", "pi"};
	bool known = expr->kind != AST_NAME || scope_find(r->scope, expr->name.sym) ||
		     form_exists(expr->name.sym) || border_is_word(expr->name.sym);
	for (int i = 0; i < 3 && !known; i++)
		known = strcmp(expr->name.sym, constants[i]) == 0;
	if (!known)
		scope_report_unknown(r->b, (Name){expr->name.sym, expr->span});
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		if (expr->binds[i].value)
			look_up(r, expr->binds[i].value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++) {
		if (!takes_word(expr, i))
			look_up(r, expr->args[i]);
	}
	look_up_in_steps(r, expr->steps, expr->nsteps);
}

static void declare_rule(Resolve *r, const AstRule *rule)
{
	for (uint32_t i = 0; rule && i < rule->nnames; i++)
		declare(r, rule->names[i]);
	if (rule)
		declare_all(r, rule->expr);
}

void resolve_unapplied(Build *b, const Function *fn)
{
	Resolve resolve = {b, scope_new(b, fn->scope)};
	Scope *outer = b->at.scope;
	resolve.scope->limit = fn->limit;
	for (uint32_t i = 0; i < fn->stmt->nconfigs; i++)
		declare(&resolve, fn->stmt->configs[i].name);
	for (uint32_t i = 0; i < fn->stmt->nparams; i++)
		declare(&resolve, fn->stmt->params[i].name);
	for (uint32_t i = 0; i < fn->stmt->nmodes; i++)
		declare(&resolve, fn->stmt->modes[i].name);
	declare_all(&resolve, fn->stmt->expr);
	declare_rule(&resolve, fn->stmt->rule);
	b->at.scope = resolve.scope;
	look_up(&resolve, fn->stmt->expr);
	if (fn->stmt->rule)
		look_up(&resolve, fn->stmt->rule->expr);
	for (uint32_t i = 0; i < fn->stmt->nconfigs; i++) {
		if (fn->stmt->configs[i].value)
			look_up(&resolve, fn->stmt->configs[i].value);
	}
	for (uint32_t i = 0; i < fn->stmt->nmodes; i++)
		look_up(&resolve, fn->stmt->modes[i].value);
	b->at.scope = outer;
}
