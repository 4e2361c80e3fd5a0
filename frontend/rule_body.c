/* What a written rule says of its function's body: names of the body's `let`, which the rule does not see, and whether any application
 * goes by it.
 */
#include <string.h>

#include "frontend/rule.h"

/* ---- names of the body ---- */

static bool mentions(const AstExpr *expr, Sym name)
{
	bool found = expr->kind == AST_NAME && expr->name.sym == name;
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = mentions(expr->args[i], name);
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = expr->binds[i].value && mentions(expr->binds[i].value, name);
	return found;
}

static bool binds_one_of(const AstBind *bind, const AstExpr *rule, Sym name)
{
	bool found = false;
	for (uint32_t i = 0; i < bind->nnames; i++)
		found |= name ? bind->names[i].sym == name : mentions(rule, bind->names[i].sym);
	return found;
}

/* How many of the bindings that the body begins with are needed for the name, or, where it is NULL, for all that the rule says. */
static uint32_t needed(const AstStmt *fn, Sym name)
{
	uint32_t n = 0, at = 0;
	for (const AstExpr *let = fn->expr; let->kind == AST_LET_IN; let = let->args[0])
		for (uint32_t i = 0; i < let->nbinds; i++) {
			at++;
			if (binds_one_of(&let->binds[i], fn->rule->expr, name))
				n = at;
		}
	return n;
}

/* "let a = E1, b = E2 in ", of the first n bindings. */
static const char *let_text(Build *b, const AstStmt *fn, uint32_t n)
{
	const char *text = "";
	for (const AstExpr *let = fn->expr; n > 0; let = let->args[0]) {
		uint32_t here = let->nbinds < n ? let->nbinds : n;
		Span binds = span_join(let->binds[0].span, let->binds[here - 1].span);
		text = arena_printf(b->arena, "%slet %s in ", text,
				    source_text(b->sources, b->arena, binds));
		n -= here;
	}
	return text;
}

bool rule_explain_name(Build *b, Name name)
{
	const AstStmt *fn = b->at.rule;
	if (!fn || needed(fn, name.sym) == 0)
		return false;
	diag_note(
		b->diags, name.span,
		"'%s' is a name inside the body of '%s': its rule sees what the function is given, and the names behind "
		"'adjoint'",
		name.sym, fn->name.sym);
	const char *text = let_text(b, fn, needed(fn, NULL));
	Span at = {fn->rule->expr->span.file, fn->rule->expr->span.start,
		   fn->rule->expr->span.start};
	if (!strchr(text, '\n'))
		diag_fix(b->diags, at, text,
			 "a 'let' of the rule's own; what the body computes too is computed once");
	return true;
}

/* ---- rules that nothing goes by ---- */

static bool is_used(const Build *b, const Function *fn)
{
	bool used = !fn->applied;
	for (size_t i = 0; i < b->rules.n && !used; i++)
		used = b->rules.at[i].fn == fn->stmt;
	return used;
}

void rules_warn_unused(Build *b)
{
	for (size_t i = 0; i < b->ruled.n && b->diags->nerrors == 0; i++) {
		const Function *fn = b->ruled.at[i];
		if (!is_used(b, fn))
			diag(b->diags, W0207, fn->stmt->rule->span,
			     "no gradient goes by this rule: wherever '%s' is applied, it is given no tensor of floats, or gives a "
			     "number",
			     fn->stmt->name.sym);
	}
}
