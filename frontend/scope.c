/* Names: scopes, duplicates, and what to say about a name that is not there.
 *
 * A scope is a list of names in the order of declaration with an index. A function remembers how
 * many names of its scope existed when it was declared (`limit`), so its body sees exactly those,
 * however late it is applied: names are resolved before use, and recursion cannot be written.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/rule.h"

/* ---- index ---- */

static uint32_t hash_name(Sym name)
{
	uint32_t hash = 2166136261u;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		hash = (hash ^ *p) * 16777619u;
	return hash;
}

static struct NameSlot *slot_of(const NameIndex *index, Sym name)
{
	uint32_t i = hash_name(name) & (index->nslots - 1);
	while (index->slots[i].name && index->slots[i].name != name)
		i = (i + 1) & (index->nslots - 1);
	return &index->slots[i];
}

void name_index_set(Arena *arena, NameIndex *index, Sym name, uint32_t value)
{
	if (2 * (index->n + 1) > index->nslots) {
		NameIndex bigger = {.nslots = index->nslots ? 2 * index->nslots : 8, .n = index->n};
		bigger.slots = ARENA_ARRAY(arena, struct NameSlot, bigger.nslots);
		for (uint32_t i = 0; i < index->nslots; i++) {
			if (index->slots[i].name)
				*slot_of(&bigger, index->slots[i].name) = index->slots[i];
		}
		*index = bigger;
	}
	struct NameSlot *slot = slot_of(index, name);
	index->n += slot->name == NULL;
	*slot = (struct NameSlot){name, value};
}

uint32_t name_index_get(const NameIndex *index, Sym name)
{
	if (index->nslots == 0)
		return UINT32_MAX;
	const struct NameSlot *slot = slot_of(index, name);
	return slot->name ? slot->value : UINT32_MAX;
}

/* ---- scopes ---- */

Scope *scope_new(Build *b, Scope *parent)
{
	Scope *scope = ARENA_NEW(b->arena, Scope);
	scope->parent = parent;
	scope->limit = UINT32_MAX;
	return scope;
}

Binding *scope_here(Scope *scope, Sym name)
{
	uint32_t at = name_index_get(&scope->index, name);
	return at == UINT32_MAX ? NULL : &scope->names.at[at];
}

static void warn_shadow(Build *b, Name name)
{
	if (!form_exists(name.sym) || name.span.file == 0)
		return;
	diag(b->diags, W0202, name.span,
	     "'%s' is a function of the language; from here on the name means this one", name.sym);
}

bool scope_declare(Build *b, Scope *scope, Name name, Value value)
{
	Binding *old = scope_here(scope, name.sym);
	if (old) {
		diag(b->diags, E0202, name.span, "'%s' is declared twice", name.sym);
		diag_note(b->diags, old->span, "'%s' is declared here first", name.sym);
		return false;
	}
	warn_shadow(b, name);
	name_index_set(b->arena, &scope->index, name.sym, (uint32_t)scope->names.n);
	PUSH(b->arena, scope->names, ((Binding){name.sym, name.span, BINDING_NAME, value}));
	return true;
}

Binding *scope_find(Scope *scope, Sym name)
{
	uint32_t limit = UINT32_MAX;
	for (; scope; limit = scope->limit, scope = scope->parent) {
		uint32_t at = name_index_get(&scope->index, name);
		if (at < limit && at != UINT32_MAX)
			return &scope->names.at[at];
	}
	return NULL;
}

/* A binding that exists but that the place of use must not see yet. */
static Binding *find_hidden(Scope *scope, Sym name)
{
	for (; scope; scope = scope->parent) {
		Binding *binding = scope_here(scope, name);
		if (binding)
			return binding;
	}
	return NULL;
}

/* ---- did you mean ---- */

/* At most this many names are compared: enough for people, bounded for generated programs. */
enum { CANDIDATES_MAX = 1000 };

/* Can it stand where a size or an index is wanted? */
static bool is_size(const Build *b, const Value *value)
{
	return value->kind == VALUE_SIZE || value->kind == VALUE_NUMBER ||
	       (value->kind == VALUE_TENSOR &&
		graph_node(b->graph, value->node)->kind == NODE_SCALAR);
}

static Sym nearest_visible(Build *b, Sym name, bool sizes)
{
	Sym candidates[CANDIDATES_MAX];
	if (b->diags->overflow)
		return NULL;
	uint32_t n = 0, limit = UINT32_MAX;
	for (Scope *scope = b->at.scope; scope; limit = scope->limit, scope = scope->parent) {
		for (uint32_t i = 0; i < scope->names.n && i < limit && n < CANDIDATES_MAX; i++) {
			if (!sizes || is_size(b, &scope->names.at[i].value))
				candidates[n++] = scope->names.at[i].name;
		}
	}
	if (sizes)
		return name_nearest(name, candidates, n);
	for (uint32_t i = 0; form_name(i) && n < CANDIDATES_MAX; i++)
		candidates[n++] = form_name(i);
	for (Op op = 0; op < OP_COUNT && n < CANDIDATES_MAX; op++) {
		if (op_from_name(op_name(op), strlen(op_name(op))) == op)
			candidates[n++] = op_name(op);
	}
	return name_nearest(name, candidates, n);
}

Sym scope_nearest_size(Build *b, Sym name) { return nearest_visible(b, name, true); }

/* The name where a statement further down in the same file declares it, or NULL. */
static const Name *declared_later(const Build *b, Name name)
{
	for (size_t i = 0; i < b->parsed.n; i++) {
		const AstFile *file = b->parsed.at[i].ast;
		for (uint32_t k = 0; file->file == name.span.file && k < file->nstmts; k++) {
			const AstStmt *stmt = &file->stmts[k];
			bool tuple = stmt->kind == STMT_LET;
			for (uint32_t n = 0; n < (tuple ? stmt->nnames : 1); n++) {
				const Name *at = tuple ? &stmt->names[n] : &stmt->name;
				if (stmt->kind != STMT_ROUTINE && at->sym == name.sym &&
				    at->span.start > name.span.start)
					return at;
			}
		}
	}
	return NULL;
}

bool scope_declares_later(const Build *b, Name name)
{
	return declared_later(b, name) != NULL;
}

/* `{w}` in the file, or NULL. */
static const AstExpr *inline_param(const AstExpr *expr, Sym name)
{
	const AstExpr *found =
		expr && expr->kind == AST_PARAM && expr->name.sym == name ? expr : NULL;
	for (uint32_t i = 0; expr && i < expr->nargs && !found; i++)
		found = inline_param(expr->args[i], name);
	for (uint32_t i = 0; expr && i < expr->nbinds && !found; i++)
		found = inline_param(expr->binds[i].value, name);
	return found;
}

static bool note_inline(const Build *b, Name name)
{
	for (size_t i = 0; i < b->parsed.n; i++) {
		const AstFile *file = b->parsed.at[i].ast;
		for (uint32_t k = 0; file->file == name.span.file && k < file->nstmts; k++) {
			const AstExpr *param = inline_param(file->stmts[k].expr, name.sym);
			if (!param)
				continue;
			diag_note(b->diags, param->span,
				  "inline parameters are no names: declare 'param %s'", name.sym);
			return true;
		}
	}
	return false;
}

/* A name that `let` of the body of a `scan` gives, in its condition. */
static bool note_stepped(const Build *b, Name name)
{
	for (const AstExpr *body = b->stepped;
	     body && (body->kind == AST_LET_IN || body->kind == AST_WRITE); body = body->args[0])
		for (uint32_t i = 0; i < body->nbinds; i++)
			for (uint32_t k = 0; k < body->binds[i].nnames; k++) {
				const Name *local = &body->binds[i].names[k];
				if (local->sym != name.sym)
					continue;
				diag_note(b->diags, local->span,
					  "'%s' is the body's own: the condition sees the names that the scan "
					  "carries, so carry it too",
					  name.sym);
				return true;
			}
	return false;
}

const char *scope_imported(Build *b, Sym name)
{
	for (const Scope *scope = b->at.scope; scope; scope = scope->parent)
		for (size_t i = 0; i < scope->names.n; i++) {
			const Binding *file = &scope->names.at[i];
			if (file->value.kind != VALUE_MODULE || !file->value.module ||
			    scope_find(b->at.scope, file->name) != file)
				continue;
			const Binding *has = scope_here(file->value.module->scope, name);
			if (has && has->value.kind == VALUE_FN)
				return arena_printf(b->arena, "%s.%s", file->name, name);
		}
	return NULL;
}

void scope_report_unknown(Build *b, Name name)
{
	Binding *hidden = find_hidden(b->at.scope, name.sym);
	if (hidden && hidden->value.kind == VALUE_FN && name.span.file == hidden->span.file &&
	    hidden->value.fn->stmt->span.start <= name.span.start &&
	    name.span.end <= hidden->value.fn->stmt->span.end) {
		diag(b->diags, E0203, name.span,
		     "the function '%s' uses itself: recursion is not part "
		     "of the language",
		     name.sym);
		diag_note(b->diags, hidden->span,
			  "'%s' is declared here; 'iterate' repeats an expression", name.sym);
		return;
	}
	const Name *later = hidden || b->diags->overflow ? NULL : declared_later(b, name);
	if (hidden || later) {
		diag(b->diags, E0203, name.span, "'%s' is used before it is declared", name.sym);
		diag_note(b->diags, hidden ? hidden->span : later->span, "'%s' is declared here",
			  name.sym);
		return;
	}
	diag(b->diags, E0201, name.span, "nothing is called '%s' here", name.sym);
	if (rule_explain_name(b, name))
		return;
	const char *imported = scope_imported(b, name.sym);
	if (imported) {
		diag_fix(b->diags, name.span, imported, "an imported file has it: '%s'", imported);
		return;
	}
	if (!b->diags->overflow && library_has(b, name.sym)) {
		diag_note(b->diags, name.span,
			  "the library has one: write 'nn.%s', after 'import nn'", name.sym);
		return;
	}
	if (!b->diags->overflow && (note_stepped(b, name) || note_inline(b, name)))
		return;
	Sym nearest = foreign_explain(b, name) ? NULL : nearest_visible(b, name.sym, b->wants_size);
	if (!nearest)
		return;
	diag_fix(b->diags, name.span, nearest, "did you mean '%s'?", nearest);
	Binding *meant = scope_find(b->at.scope, nearest);
	if (meant && meant->span.file)
		diag_note(b->diags, meant->span, "'%s' is declared here", nearest);
}

bool entry_declare(Build *b, Sym full, Span span)
{
	uint32_t old = name_index_get(&b->entries, full);
	if (old != UINT32_MAX) {
		diag(b->diags, E0202, span,
		     "'%s' is declared twice: inputs, parameters and dims share one set of names",
		     full);
		diag_note(b->diags, b->entry_spans.at[old], "'%s' is declared here first", full);
		return false;
	}
	name_index_set(b->arena, &b->entries, full, (uint32_t)b->entry_spans.n);
	PUSH(b->arena, b->entry_spans, span);
	return true;
}
