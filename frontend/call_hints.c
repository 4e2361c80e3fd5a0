/* What is meant by arguments that a function does not have, or lacks.
 *
 *   nn.conv2d(8, kernel_size = 3)(x)     k = 3: names that other libraries have
 *   nn.softmax(x, -1)                    an axis has no number
 *   nn.linear(4, 10)                     linear(10): sizes are inferred
 *   nn.lstm(8)(x)                        nn.lstm(8)(x, 0, 0): steps begin with zeros
 *   nn.layer_norm(4)(x)                  nn.layer_norm(): 4 is no tolerance
 */
#include <string.h>

#include "frontend/call_args.h"

/* ---- sizes where a fraction stands ---- */

enum { LEAST_SIZE = 2 };
static const double most_tolerance = 0.01;

/* An argument without a name that goes to a parameter of a small fraction, such as 1e-5. */
static bool goes_to_tolerance(const CallArgs *args, const AstExpr *call, uint32_t at)
{
	const AstExpr *value = at <= args->nparams ? args->params[at - 1].value : NULL;
	bool named = call->keys && call->keys[at].sym;
	return value && !named && value->kind == AST_NUMBER && !value->is_integer &&
	       value->number > 0 && value->number <= most_tolerance;
}

/* The call without the argument, or with its name, where those behind it have names. */
static void suggest_size(Build *b, const AstExpr *call, uint32_t at, Sym name)
{
	Span own = call->args[at]->span;
	bool last = at + 1 == call->nargs;
	if (!last && !(call->keys && call->keys[at + 1].sym))
		return;
	Span cut =
		last ? (Span){own.file, at > 1 ? call->args[at - 1]->span.end : own.start, own.end}
		     : (Span){own.file, own.start, call->keys[at + 1].span.start};
	const char *text = source_text(b->diags->sources, b->arena, own);
	diag_fix(b->diags, cut, "", "sizes are inferred: without it");
	diag_fix(b->diags, own, arena_printf(b->arena, "%s = %s", name, text),
		 "its name says that it is meant");
}

void call_warn_sizes(Build *b, const CallArgs *args, const Function *fn, const AstExpr *call,
		     const Value *given)
{
	for (uint32_t at = 1; at < call->nargs && at <= args->nparams; at++) {
		const Value *value = &given[at - 1];
		bool size = value->kind == VALUE_SIZE ||
			    (value->kind == VALUE_NUMBER && value->is_integer &&
			     value->integer >= LEAST_SIZE);
		if (!size || !goes_to_tolerance(args, call, at))
			continue;
		Sym name = args->params[at - 1].name.sym;
		diag(b->diags, W0208, call->args[at]->span,
		     "this is '%s' of '%s', which is %.9g where nothing is given", name,
		     fn->stmt->name.sym, args->params[at - 1].value->number);
		diag_note(b->diags, args->params[at - 1].name.span, "'%s' is declared here", name);
		suggest_size(b, call, at, name);
	}
}

/* ---- names elsewhere ---- */

typedef struct ForeignKey {
	const char *name, *meant;
} ForeignKey;

static const ForeignKey foreign_keys[] = {
	{"kernel_size", "k"},
	{"padding", "pad"},
	{"output_padding", "output_pad"},
	{"strides", "stride"},
	{"dilation_rate", "dilation"},
	{"out_channels", "out"},
	{"out_features", "out"},
	{"filters", "out"},
	{"units", "out"},
	{"hidden_size", "hidden"},
	{"num_embeddings", "vocab"},
	{"embedding_dim", "width"},
	{"head_dim", "width"},
	{"num_heads", "heads"},
	{"nhead", "heads"},
	{"dim_feedforward", "hidden"},
	{"is_causal", "causal"},
	{"activation", "act"},
	{"num_groups", "groups"},
	{"num_classes", "classes"},
	{"negative_slope", "slope"},
	{"epsilon", "eps"},
	{"p", "rate"},
	{"drop_prob", "rate"},
	{"lr", "rate"},
	{"learning_rate", "rate"},
	{"weight_decay", "decay"},
	{"beta1", "keep_mean"},
	{"beta2", "keep_square"},
};

static bool is_one_of(const char *name, const char *const *words, size_t n)
{
	bool found = false;
	for (size_t i = 0; i < n; i++)
		found |= strcmp(name, words[i]) == 0;
	return found;
}

/* The argument of the function that a name of another library means; NULL: none. */
static Sym meant_by(const CallArgs *args, Sym key)
{
	for (size_t i = 0; i < sizeof foreign_keys / sizeof *foreign_keys; i++)
		for (uint32_t k = 0; k < args->nparams && strcmp(foreign_keys[i].name, key) == 0;
		     k++)
			if (strcmp(args->params[k].name.sym, foreign_keys[i].meant) == 0)
				return args->params[k].name.sym;
	return NULL;
}

static void note_axes(Build *b, Span span, const Function *fn)
{
	diag_note(
		b->diags, span,
		"axes have no numbers here: '%s' goes along those that its declaration says, and a specification "
		"names its own, as in sum(\"i, j => i\", x)",
		fn->stmt->name.sym);
}

void call_explain_key(Build *b, const CallArgs *args, const Function *fn, Name key)
{
	static const char *const axes[] = {"axis", "dim", "axes", "keepdims", "keepdim"};
	static const char *const sizes[] = {"in_channels", "in_features",      "input_size",
					    "input_shape", "normalized_shape", "num_features"};
	Sym *names = ARENA_ARRAY(b->arena, Sym, args->nparams + 1);
	for (uint32_t i = 0; i < args->nparams; i++)
		names[i] = args->params[i].name.sym;
	Sym meant = meant_by(args, key.sym), nearest = name_nearest(key.sym, names, args->nparams);
	if (meant)
		diag_fix(b->diags, key.span, meant, "it is called '%s' here", meant);
	else if (is_one_of(key.sym, axes, sizeof axes / sizeof *axes))
		note_axes(b, key.span, fn);
	else if (is_one_of(key.sym, sizes, sizeof sizes / sizeof *sizes))
		diag_note(b->diags, key.span,
			  "sizes of what a function is given are inferred, and not said");
	else if (nearest)
		diag_fix(b->diags, key.span, nearest, "did you mean '%s'?", nearest);
}

/* ---- an axis, or a size, by its number ---- */

static bool is_integer(const AstExpr *expr) { return expr->kind == AST_NUMBER && expr->is_integer; }

/* linear(4, 10): the first is the size of what it is given. */
static void offer_without_size(Build *b, const AstExpr *call)
{
	Span rest = {call->span.file, ast_outer(call->args[2]).start,
		     ast_outer(call->args[call->nargs - 1]).end};
	Span list = {rest.file, ast_outer(call->args[1]).start, rest.end};
	diag_fix(b->diags, list, source_text(b->sources, b->arena, rest),
		 "sizes of what a function is given are inferred, and not said");
}

void call_explain_surplus(Build *b, const Function *fn, const AstExpr *call, uint32_t at)
{
	const AstExpr *arg = call->args[at];
	bool negative = arg->kind == AST_UNARY && arg->op == OP_NEG;
	bool elsewhere = fn->stmt->name.span.file != arg->span.file;
	if (!elsewhere || !is_integer(negative ? arg->args[0] : arg))
		return;
	if (fn->stmt->has_configs && at > 1 && at + 1 == call->nargs && is_integer(call->args[1]))
		offer_without_size(b, call);
	else
		note_axes(b, arg->span, fn);
}

/* ---- what steps begin with ---- */

static bool names_it(const AstExpr *expr, Sym name)
{
	bool found = expr->kind == AST_NAME && expr->name.sym == name;
	for (uint32_t i = 0; i < expr->nargs && expr->kind == AST_TUPLE; i++)
		found |= names_it(expr->args[i], name);
	return found;
}

/* Does a `scan` in the expression begin with the argument? */
static bool begins_scan(const AstExpr *expr, Sym name)
{
	bool found = false;
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = expr->binds[i].value &&
			((expr->kind == AST_SCAN && names_it(expr->binds[i].value, name)) ||
			 begins_scan(expr->binds[i].value, name));
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = begins_scan(expr->args[i], name);
	return found;
}

/* ", 0, 0" of the arguments that are missing; NULL: one of them is no such state. */
static const char *zeros(Build *b, const CallArgs *args, const Function *fn, bool keys)
{
	const char *text = "";
	for (uint32_t i = 0; i < args->nparams; i++) {
		Sym name = args->params[i].name.sym;
		if (args->exprs[i])
			continue;
		if (!begins_scan(fn->stmt->expr, name))
			return NULL;
		text = keys ? arena_printf(b->arena, "%s, %s = 0", text, name)
			    : arena_printf(b->arena, "%s, 0", text);
	}
	return text;
}

/* The first argument that is missing, by what has its name where the call stands: optim.adam(rate), beside `step`. */
static void suggest_namesake(Build *b, const CallArgs *args, const AstExpr *call, Span end)
{
	uint32_t i = 0;
	while (args->exprs[i] || args->params[i].value) /* falls: one is missing */
		i++;
	Sym name = args->params[i].name.sym;
	const Binding *binding = scope_find(b->at.scope, name);
	if (!binding || (binding->value.kind != VALUE_TENSOR &&
			 binding->value.kind != VALUE_NUMBER && binding->value.kind != VALUE_SIZE))
		return;
	const char *comma = call->nargs > 1 ? ", " : "";
	diag_fix(b->diags, end,
		 call->keys || i + 1 != call->nargs
			 ? arena_printf(b->arena, "%s%s = %s", comma, name, name)
			 : arena_printf(b->arena, "%s%s", comma, name),
		 "it would fit with '%s' as an argument", name);
}

/* Behind the last argument, or in the empty parentheses: a step's call goes on to the end of its second list. */
static Span behind_arguments(Build *b, const AstExpr *call)
{
	Span end = call->args[call->nargs - 1]->span;
	end.start = end.end;
	if (call->nargs > 1)
		return end;
	const char *rest =
		source_text(b->sources, b->arena, (Span){end.file, end.start, call->span.end});
	end.end = end.start + (uint32_t)strcspn(rest, "(") + 1;
	return (Span){end.file, end.end, end.end};
}

void call_explain_missing(Build *b, const CallArgs *args, const Function *fn, const AstExpr *call)
{
	Span end = behind_arguments(b, call);
	bool states = args->params == fn->stmt->params && fn->stmt->expr && call->nargs > 1;
	const char *text = states ? zeros(b, args, fn, call->keys != NULL) : NULL;
	if (text)
		diag_fix(b->diags, end, text, "the steps would begin with zeros");
	else
		suggest_namesake(b, args, call, end);
}
