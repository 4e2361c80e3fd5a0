/* Names: scopes, in which they are looked up, and parameter scopes (the file, an instance, one copy of
 * an `iterate`), to which parameters belong; these follow the application of functions and not their
 * text.
 */
#ifndef TSR_FRONTEND_SCOPE_H
#define TSR_FRONTEND_SCOPE_H

#include "base/arena.h"
#include "frontend/value.h"

/* ---- a table from names to numbers ---- */

typedef struct NameIndex {
	struct NameSlot {
		Sym name;
		uint32_t value;
	} *slots;
	uint32_t nslots, n;
} NameIndex;

/* Sets a name's number, which replaces an earlier one; the table grows in the arena. */
void name_index_set(Arena *arena, NameIndex *index, Sym name, uint32_t value);
/* UINT32_MAX where there is none. */
uint32_t name_index_get(const NameIndex *index, Sym name);

/* ---- scopes ---- */

typedef enum BindingKind { BINDING_NAME, BINDING_INPUT, BINDING_OWN /* a routine's tensor */ } BindingKind;

typedef struct Binding {
	Sym name;
	Span span;
	BindingKind kind;
	Value value;
} Binding;

struct Scope {
	Scope *parent;
	uint32_t limit; /* how many names of the parent are visible from here */
	VEC(Binding) names;
	NameIndex index;
};

/* ---- scope.c ---- */

/* An empty scope inside another; all names of `parent` are visible in it until `limit` is
 * lowered. */
Scope *scope_new(Build *b, Scope *parent);
/* Reports a duplicate at this level; binds all the same only if there was none. */
bool scope_declare(Build *b, Scope *scope, Name name, Value value);
/* The binding at this level, or NULL. */
Binding *scope_here(Scope *scope, Sym name);
/* The innermost visible binding, or NULL. */
Binding *scope_find(Scope *scope, Sym name);
/* Does a statement further down in the same file declare it? */
bool scope_declares_later(const Build *b, Name name);
/* The size in scope that is spelled nearly so, or NULL. */
Sym scope_nearest_size(Build *b, Sym name);
/* Reports that `name` is unknown, defined only later, or recursive. */
void scope_report_unknown(Build *b, Name name);
/* What the unknown name of the last diagnostic is called here: a word of other languages, or an
 * axis of a specification. False where there is nothing to say (foreign.c). */
bool foreign_explain(Build *b, Name name);
/* The same of a whole path alone that means another thing than its last name, `jax.nn.gelu`. */
bool foreign_special(Build *b, Name name);
/* The function that a method of other languages means, or NULL, and what is said of it, or NULL. */
const char *foreign_function(Build *b, Name name, const char **note);
/* Reports a path behind another library's module, `torch.nn.relu`, as unknown, with what is meant here; false
 * where it begins with a name of the program's (foreign_path.c). */
bool foreign_module(Build *b, const struct AstExpr *member);
/* Adds to the last diagnostic, of a module that has no such name, what is meant: the language's own in place of the
 * path, `like`, which may be NULL, or what foreign_explain has. */
bool foreign_member(Build *b, Span path, Name name, Sym like);
/* Adds to the last diagnostic, of `x.name`, which function it is; `call`: what applies it, or NULL. */
void foreign_method(Build *b, Name name, const struct AstExpr *call);
/* Notes and repairs of `a @ b`, the product of other languages (foreign_product.c). */
void foreign_product(Build *b, const struct AstExpr *expr, NodeId left, NodeId right);
/* "nn.softmax" of a function of an imported file that is in scope; NULL: none has one of that name. */
const char *scope_imported(Build *b, Sym name);
/* Adds to the last diagnostic, of a size in a shape whose name is unknown, how dims are declared: that
 * one, and all that the shapes below it in the file lack, which are told by it (missing_dims.c). */
void missing_dims_tell(Build *b, Name name);
/* Did a diagnostic tell of it? */
bool missing_dim_is_told(const Build *b, Name name);
/* Registers an input, dim, parameter or scalar by full name; reports a clash. */
bool entry_declare(Build *b, Sym full, Span span);

/* ---- parameters ---- */

typedef struct Member { /* what `instance.name` finds */
	Sym name;
	const void *site; /* the expression or statement that made it */
	NodeId param;     /* or NODE_NONE, and then */
	Instance *instance;
	Span span;
} Member;

typedef struct ParamCopies { /* of one `iterate`: the copies' scopes, by number */
	const AstExpr *site;
	VEC(ParamScope *) scopes;
} ParamCopies;

struct ParamScope {
	Sym prefix, suffix;       /* a parameter is called prefix NAME suffix */
	const AstStmt *plain;     /* the plain function that may not declare parameters, or NULL */
	VEC(Member) members;
	NameIndex index;          /* of members */
	NameIndex repeats;        /* how often a function's name was taken */
	VEC(ParamCopies) copies;
};

/* ---- params.c ---- */

/* Parameters that are made in it are called `prefix` NAME `suffix`. */
ParamScope *param_scope_new(Build *b, Sym prefix, Sym suffix);
/* Of copy `number` of the `iterate` at `site`; copies are made in the order of their numbers. */
ParamScope *param_scope_copy(Build *b, const AstExpr *site, uint32_t number);
/* NULL: there is none of that name. A new one in the current parameter scope. */
Member *param_member(ParamScope *scope, Sym name);
void param_add_member(Build *b, Member member);
/* The instance that `site` makes in the current parameter scope: an old one when it is applied
 * again. */
Instance *param_instance(Build *b, const AstExpr *site, Function *fn, bool *fresh);

#endif
