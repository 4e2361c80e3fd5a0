/* Parameters and the instances that own them.
 *
 * A parameter scope is the file, an instance, or one copy of an `iterate` within either. It
 * remembers which place in the program made which parameter or instance: applying an instance again
 * evaluates the same places and finds what they made the first time, so parameters are shared. A
 * parameter's name is prefix NAME suffix, as weight files spell it: `block.attn.q.w`; copy i of an
 * `iterate` adds `.i`.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/build.h"

ParamScope *param_scope_new(Build *b, Sym prefix, Sym suffix)
{
	ParamScope *scope = ARENA_NEW(b->arena, ParamScope);
	scope->prefix = prefix;
	scope->suffix = suffix;
	if (b->at.params)
		scope->plain = b->at.params->plain;
	return scope;
}

static ParamCopies *copies_of(Build *b, ParamScope *outer, const AstExpr *site)
{
	for (size_t i = outer->copies.n; i-- > 0;) {
		if (outer->copies.at[i].site == site)
			return &outer->copies.at[i];
	}
	PUSH(b->arena, outer->copies, ((ParamCopies){.site = site}));
	return &outer->copies.at[outer->copies.n - 1];
}

/* Copies are made in the order of their numbers. */
ParamScope *param_scope_copy(Build *b, const AstExpr *site, uint32_t number)
{
	ParamScope *outer = b->at.params;
	ParamCopies *copies = copies_of(b, outer, site);
	if (number < copies->scopes.n)
		return copies->scopes.at[number];
	Sym suffix = sym_printf(b->symbols, "%s.%" PRIu32, outer->suffix, number);
	ParamScope *scope = param_scope_new(b, outer->prefix, suffix);
	PUSH(b->arena, copies->scopes, scope);
	return scope;
}

Member *param_member(ParamScope *scope, Sym name)
{
	uint32_t at = name_index_get(&scope->index, name);
	return at == UINT32_MAX ? NULL : &scope->members.at[at];
}

static void add_member(Build *b, Member member)
{
	ParamScope *scope = b->at.params;
	name_index_set(b->arena, &scope->index, member.name, (uint32_t)scope->members.n);
	PUSH(b->arena, scope->members, member);
}

/* ---- instances ---- */

/* The name that a `let` gives, else the function's; with _2, _3, ... where it is taken. */
static Sym instance_name(Build *b, const AstExpr *site, const Function *fn)
{
	ParamScope *scope = b->at.params;
	Sym base = site == b->named ? b->named_as : fn->stmt->name.sym;
	Sym name = base;
	uint32_t taken = name_index_get(&scope->repeats, base);
	taken = taken == UINT32_MAX ? 1 : taken;
	while (param_member(scope, name))
		name = sym_printf(b->symbols, "%s_%" PRIu32, base, ++taken);
	name_index_set(b->arena, &scope->repeats, base, taken);
	return name;
}

Instance *param_instance(Build *b, const AstExpr *site, Function *fn, bool *fresh)
{
	ParamScope *scope = b->at.params;
	*fresh = false;
	for (size_t i = 0; i < scope->members.n && !scope->plain; i++) {
		if (scope->members.at[i].site == site && scope->members.at[i].instance)
			return scope->members.at[i].instance;
	}
	*fresh = true;
	Instance *instance = ARENA_NEW(b->arena, Instance);
	Sym name = instance_name(b, site, fn);
	Sym prefix = sym_printf(b->symbols, "%s%s%s.", scope->prefix, name, scope->suffix);
	instance->fn = fn;
	instance->call = site;
	instance->configs = scope_new(b, fn->scope);
	instance->configs->limit = fn->limit;
	instance->params = param_scope_new(b, prefix, sym_cstr(b->symbols, ""));
	add_member(b, (Member){.name = name, .site = site, .param = NODE_NONE, .instance = instance,
			       .span = site->span});
	return instance;
}

/* ---- parameters ---- */

typedef struct ParamDecl {
	Name name;
	const void *site;
	Span span;
	Dtype dtype;
	const AstShape *shape;
	const AstExpr *init;
} ParamDecl;

static bool report_plain(Build *b, const ParamDecl *decl)
{
	const AstStmt *plain = b->at.params->plain;
	if (!plain)
		return false;
	diag(b->diags, E0212, decl->span,
	     "the parameter '%s' has no instance to belong to: '%s' is a plain function of tensors",
	     decl->name.sym, plain->name.sym);
	diag_note(b->diags, plain->name.span,
		  "declare it as '%s()(...)', with a configuration list, and apply it as %s()(...)",
		  plain->name.sym, plain->name.sym);
	return true;
}

static NodeId param_create(Build *b, const ParamDecl *decl)
{
	ParamScope *scope = b->at.params;
	Sym full = sym_printf(b->symbols, "%s%s%s", scope->prefix, decl->name.sym, scope->suffix);
	if (!entry_declare(b, full, decl->name.span))
		return NODE_NONE;
	const ShapeDecl *shape = decl->shape ? shape_decl(b, decl->shape, SHAPE_PARAM)
					     : shape_decl_open_param(b, decl->span);
	if (!shape)
		return NODE_NONE;
	NodeId id = node_new(b, NODE_PARAM, decl->span, decl->name.span);
	Dtype dtype = written_dtype(b, decl->dtype, decl->span);
	Node *node = graph_node(b->graph, id);
	node->shape = shape;
	node->dtype = dtype;
	node->init = dtype_is_float(dtype) ? INIT_UNIFORM : INIT_CONSTANT;
	node_name(b, id, full, decl->name.span);
	if (decl->init)
		initial_set(b, id, full, decl->init);
	PUSH(b->arena, b->graph->params, id);
	listing_add(b, full, id, decl->name.span);
	return id;
}

static NodeId param_find_or_create(Build *b, const ParamDecl *decl)
{
	if (report_plain(b, decl))
		return NODE_NONE;
	Member *old = param_member(b->at.params, decl->name.sym);
	if (old && old->site == decl->site)
		return old->param;
	const Binding *twice = old ? scope_here(b->at.scope, decl->name.sym) : NULL;
	if (twice && memcmp(&twice->span, &old->span, sizeof old->span) == 0)
		return NODE_NONE; /* the scope tells it */
	if (old) {
		diag(b->diags, E0213, decl->name.span, "'%s' names two things in one instance",
		     decl->name.sym);
		diag_note(b->diags, old->span, "'%s' is declared here first", decl->name.sym);
		return NODE_NONE;
	}
	NodeId id = param_create(b, decl);
	add_member(b, (Member){.name = decl->name.sym, .site = decl->site, .param = id,
			       .span = decl->name.span});
	return id;
}

NodeId param_inline(Build *b, const AstExpr *expr)
{
	ParamDecl decl = {.name = expr->name,
			  .site = expr,
			  .span = expr->span,
			  .dtype = expr->dtype,
			  .shape = expr->shape,
			  .init = expr->nargs ? expr->args[0] : NULL};
	return param_find_or_create(b, &decl);
}

NodeId param_statement(Build *b, const AstStmt *stmt)
{
	ParamDecl decl = {.name = stmt->name,
			  .site = stmt,
			  .span = stmt->span,
			  .dtype = stmt->dtype,
			  .shape = stmt->shape,
			  .init = stmt->expr};
	return param_find_or_create(b, &decl);
}
