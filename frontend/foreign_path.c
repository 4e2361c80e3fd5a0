/* Names that stand behind those of other libraries' modules, and methods.
 *
 *   torch.nn.functional.softmax(x)   nn.softmax, where the library has it
 *   np.exp(x), nn.ReLU()             exp, relu: functions of the language stand alone
 *   x.relu(), x.float()              relu(x), f32(x)
 */
#include <ctype.h>
#include <string.h>

#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/forms.h"

static bool is_foreign_module(const char *name)
{
	static const char *const modules[] = {"torch", "np", "numpy", "jnp",  "jax",  "tf",
					      "keras", "F",  "math",  "scipy", "einops"};
	bool found = false;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		found |= strcmp(modules[i], name) == 0;
	return found;
}

/* The name that a path of members begins with, or NULL. */
static const AstExpr *root_of(const AstExpr *expr)
{
	while (expr->kind == AST_MEMBER)
		expr = expr->args[0];
	return expr->kind == AST_NAME ? expr : NULL;
}

/* The function of the language that differs in the case of letters alone, or NULL. */
static const char *form_like(Build *b, const char *name)
{
	char *low = arena_printf(b->arena, "%s", name);
	for (char *c = low; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return form_exists(name) ? name : form_exists(low) ? low : NULL;
}

/* A function of the language, or of its library, takes the place of all of a path. */
static bool fix_form(Build *b, Name path)
{
	const char *form = form_like(b, path.sym);
	if (form)
		diag_fix(b->diags, path.span, form, "functions of the language stand alone: '%s'",
			 form);
	return form != NULL;
}

static bool fix_library(Build *b, Name path)
{
	Sym like = library_like(b, path.sym);
	if (like)
		diag_fix(b->diags, path.span, arena_printf(b->arena, "nn.%s", like),
			 "the library has it, after 'import nn'");
	return like != NULL;
}

bool foreign_module(Build *b, const AstExpr *member)
{
	const AstExpr *root = root_of(member);
	if (!root || !is_foreign_module(root->name.sym) || scope_find(b->at.scope, root->name.sym))
		return false;
	Span path = root->name.span;
	path.end = member->name.span.end;
	Name name = {member->name.sym, path};
	diag(b->diags, E0201, root->name.span, "nothing is called '%s' here", root->name.sym);
	if (!b->diags->overflow && !foreign_special(b, name) && !fix_form(b, name) &&
	    !foreign_explain(b, name) && !fix_library(b, name))
		diag_note(b->diags, member->name.span,
			  "there is no '%s': functions are those of the language and of its library 'nn'",
			  member->name.sym);
	return true;
}

bool foreign_member(Build *b, Span path, Name name, Sym like)
{
	Name whole = {name.sym, path};
	if (foreign_special(b, whole) || fix_form(b, whole) || foreign_explain(b, whole))
		return true;
	if (like)
		diag_fix(b->diags, name.span, like, "did you mean '%s'?", like);
	return like != NULL;
}

/* ---- x.relu() ---- */

/* Is it a function of one tensor? */
static bool takes_one(const char *name)
{
	Op op = op_from_name(name, strlen(name));
	return (op != OP_NONE && op_arity(op) == 1) || strcmp(name, "reshape") == 0 ||
	       strcmp(name, "stop") == 0 || dtype_from_name(name, strlen(name)) != DTYPE_NONE;
}

/* Is nothing given beside the tensor? An axis of all elements, -1, says nothing either. */
static bool gives_nothing(const AstExpr *call, const char *meant)
{
	const AstExpr *size = call->nargs == 2 ? call->args[1] : NULL;
	bool all = size && size->kind == AST_UNARY && size->op == OP_NEG &&
		   size->args[0]->kind == AST_NUMBER && size->args[0]->number == 1;
	return call->nargs == 1 || (all && strcmp(meant, "reshape") == 0);
}

/* The function before what it takes, in place of the whole call. */
static void fix_method(Build *b, const AstExpr *call, const char *function, const char *note)
{
	diag_fix(b->diags, form_whole(b, call->span),
		 arena_printf(b->arena, "%s(%s)", function,
			      source_text(b->sources, b->arena,
					  form_whole(b, call->args[0]->args[0]->span))),
		 "%s", note);
}

void foreign_method(Build *b, Name name, const AstExpr *call)
{
	const char *note, *meant = foreign_function(b, name, &note);
	const char *before = "a function stands before what it takes";
	const char *imported = scope_imported(b, name.sym);
	if (call && form_fix_method(b, call))
		return;
	if (call && meant && takes_one(meant) && gives_nothing(call, meant))
		fix_method(b, call, meant, note);
	else if (call && takes_one(name.sym) && gives_nothing(call, name.sym))
		fix_method(b, call, name.sym, before);
	else if (call && call->nargs == 1 && imported)
		fix_method(b, call, imported, before);
	else if (note)
		diag_note(b->diags, name.span, "%s", note);
	else if (form_exists(name.sym))
		diag_note(b->diags, name.span, "%s: %s(...)", before, name.sym);
	else if (library_has(b, name.sym))
		diag_note(b->diags, name.span,
			  "the library has such a function: nn.%s(...), after 'import nn'",
			  name.sym);
}
