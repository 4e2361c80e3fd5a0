/* Parameter scopes, and the instances that own parameters.
 *
 * A parameter scope is the file, an instance, or one copy of an `iterate` within either. It
 * remembers which place in the program made which parameter or instance: applying an instance again
 * evaluates the same places and finds what they made the first time, so parameters are shared. A
 * parameter's name is prefix NAME suffix, as weight files spell it: `block.attn.q.w`; copy i of an
 * `iterate` adds `.i`.
 */
#include <inttypes.h>

#include "frontend/build.h"
#include "frontend/nodes.h"

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

void param_add_member(Build *b, Member member)
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
	param_add_member(b, (Member){.name = name,
				     .site = site,
				     .param = NODE_NONE,
				     .instance = instance,
				     .span = site->span});
	return instance;
}
