/* `for p in params(y, "*.w") except ("head.*") { steps }`: the steps for each parameter of floats that y depends on, in the
 * order of the state, decided while compiling. */
#include <fnmatch.h>

#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/training.h"

static const char *text_of(const Build *b, const AstExpr *pattern)
{
	return arena_strndup(b->arena, pattern->text, pattern->len);
}

static bool fits(const Build *b, const AstExpr *pattern, Sym name)
{
	return fnmatch(text_of(b, pattern), name, 0) == 0;
}

static bool fits_any(const Build *b, AstExpr *const *patterns, uint32_t n, Sym name)
{
	for (uint32_t i = 0; i < n; i++)
		if (fits(b, patterns[i], name))
			return true;
	return false;
}

/* Those of floats that y depends on: a counter has no gradient. */
static NodeIds params_of(Build *b, NodeId y)
{
	NodeIds params = {0};
	Reach reach = reach_from(b, &y, 1);
	for (size_t i = 0; i < b->graph->params.n; i++) {
		NodeId id = b->graph->params.at[i];
		if (reach_has(b, &reach, id) && dtype_is_float(node_dtype(b, id)))
			PUSH(b->arena, params, id);
	}
	return params;
}

/* Each pattern is a string that names some; false after an error. */
static bool check_patterns(Build *b, AstExpr *const *patterns, uint32_t n, const NodeIds *params)
{
	Sym *names = ARENA_ARRAY(b->arena, Sym, params->n + 1);
	for (uint32_t i = 0; i < n; i++) {
		bool any = false, text = patterns[i]->kind == AST_STRING;
		for (size_t k = 0; k < params->n; k++) {
			names[k] = graph_node(b->graph, params->at[k])->name;
			any |= text && fits(b, patterns[i], names[k]);
		}
		if (any)
			continue;
		if (!text) {
			diag(b->diags, E0263, patterns[i]->span,
			     "names of parameters are chosen by patterns in quotation marks: \"*.w\"");
			return false;
		}
		diag(b->diags, E0263, patterns[i]->span, "no parameter has such a name");
		Sym nearest = name_nearest(text_of(b, patterns[i]), names, (uint32_t)params->n);
		for (size_t k = 0; !nearest && k < params->n && k < 5; k++)
			diag_note(b->diags, graph_node(b->graph, params->at[k])->name_span,
				  "there is '%s'", names[k]);
		if (nearest)
			diag_fix(b->diags, patterns[i]->span,
				 arena_printf(b->arena, "\"%s\"", nearest), "did you mean '%s'?",
				 nearest);
		return false;
	}
	return true;
}

static void eval_body(Build *b, const AstStep *step, NodeId param)
{
	Activation outer = b->at;
	b->at.scope = scope_new(b, outer.scope);
	scope_declare(b, b->at.scope, step->name, value_node(param, step->name.span));
	eval_all_steps(b, step->steps, step->nsteps);
	b->at = outer;
}

void eval_for(Build *b, const AstStep *step)
{
	int before = b->diags->nerrors;
	NodeId y = eval_node(b, step->expr);
	if (y == NODE_NONE)
		return;
	NodeIds params = params_of(b, y);
	if (params.n == 0)
		diag(b->diags, E0263, step->expr->span, "this depends on no parameter");
	if (params.n == 0 || !check_patterns(b, step->patterns, step->npatterns, &params) ||
	    !check_patterns(b, step->excepted, step->nexcepted, &params))
		return;
	for (size_t i = 0; i < params.n && b->diags->nerrors == before; i++) {
		Sym name = graph_node(b->graph, params.at[i])->name;
		bool chosen =
			step->npatterns == 0 || fits_any(b, step->patterns, step->npatterns, name);
		if (chosen && !fits_any(b, step->excepted, step->nexcepted, name))
			eval_body(b, step, params.at[i]);
	}
}
