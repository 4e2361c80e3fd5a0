/* Names in scopes, labels, and the registers and constants of a function. */
#include "test/ptx/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* %r12, where %r<n> has been declared with n above 12. */
static PtxName *find_in_range(PtxParser *p, Sym name)
{
	size_t n = strlen(name), first = n;
	while (first > 0 && isdigit((unsigned char)name[first - 1]))
		first--;
	if (first == n || n - first > 9)
		return NULL;
	Sym prefix = sym_intern(p->module->symbols, name, first);
	uint64_t at = *pointer_map_at(&p->known, prefix);
	unsigned long number = strtoul(name + first, NULL, 10);
	if (at == 0 || p->names.at[at - 1].kind != NAME_RANGE ||
	    number >= p->names.at[at - 1].count)
		return NULL;
	PtxName found = p->names.at[at - 1];
	found.name = name;
	found.kind = NAME_REGISTER;
	found.value += number;
	PtxName *copy = ARENA_NEW(p->arena, PtxName);
	*copy = found;
	return copy;
}

PtxName *ptx_name_find(PtxParser *p, Sym name)
{
	uint64_t at = *pointer_map_at(&p->known, name);
	return at == 0 ? find_in_range(p, name) : &p->names.at[at - 1];
}

void ptx_name_add(PtxParser *p, PtxName name)
{
	uint64_t *newest = pointer_map_at(&p->known, name.name);
	size_t from = p->scopes.n > p->scope ? p->scopes.at[p->scope].names : 0;
	if (*newest > from && p->function != NULL)
		ptx_fail(p, p->token.line, "%.200s has been declared before", name.name);
	name.hidden = *newest;
	PUSH(p->arena, p->names, name);
	*newest = p->names.n;
}

void ptx_scope_open(PtxParser *p)
{
	PtxScope scope = {p->scope, p->names.n};
	PUSH(p->arena, p->scopes, scope);
	p->scope = (uint32_t)p->scopes.n - 1;
}

void ptx_scope_close(PtxParser *p)
{
	PtxScope scope = p->scopes.at[p->scope];
	while (p->names.n > scope.names) {
		const PtxName *name = &p->names.at[--p->names.n];
		*pointer_map_at(&p->known, name->name) = name->hidden;
	}
	p->scope = scope.parent;
}

void ptx_label_add(PtxParser *p, Sym name)
{
	PtxLabel label = {name, p->scope, (uint32_t)p->function->code.n};
	PUSH(p->arena, p->labels, label);
}

static int by_name(const void *a, const void *b)
{
	const PtxLabel *x = a, *y = b;
	if (x->name != y->name)
		return (uintptr_t)x->name < (uintptr_t)y->name ? -1 : 1;
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

static const PtxLabel *label_in(const PtxParser *p, Sym name, uint32_t scope)
{
	PtxLabel key = {name, scope, 0};
	return p->labels.n == 0 ? NULL
				: bsearch(&key, p->labels.at, p->labels.n, sizeof key, by_name);
}

static uint32_t resolve(PtxParser *p, const PtxFixup *fixup)
{
	for (uint32_t scope = fixup->scope;; scope = p->scopes.at[scope].parent) {
		const PtxLabel *label = label_in(p, fixup->name, scope);
		if (label != NULL)
			return label->pc;
		if (scope == p->scopes.at[scope].parent)
			ptx_fail(p, fixup->line, "there is no label %.200s", fixup->name);
	}
}

void ptx_labels_resolve(PtxParser *p)
{
	PtxFunction *f = p->function;
	if (p->labels.n > 0)
		qsort(p->labels.at, p->labels.n, sizeof *p->labels.at, by_name);
	for (size_t i = 1; i < p->labels.n; i++)
		if (by_name(&p->labels.at[i - 1], &p->labels.at[i]) == 0)
			ptx_fail(p, f->line, "the label %.200s stands twice in %s",
				 p->labels.at[i].name, f->name);
	for (size_t i = 0; i < p->fixups.n; i++) {
		uint32_t pc = resolve(p, &p->fixups.at[i]);
		if (p->fixups.at[i].in_list)
			f->operands.at[p->fixups.at[i].at] = (int32_t)pc;
		else
			f->code.at[p->fixups.at[i].at].target = pc;
	}
	/* Behind the last statement the function ends. */
	PtxInstr end = {
		.kind = f->entry ? KIND_EXIT : KIND_RET, .guard = -1, .line = p->token.line};
	PUSH(p->arena, f->code, end);
}

/* What a register holds before it is written: NaN, or what no index should be. */
static uint64_t poison(PtxType type)
{
	int bytes = ptx_type_bytes(type);
	return type == TYPE_pred ? 0 : bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

int32_t ptx_register_new(PtxParser *p, PtxType type, uint64_t count)
{
	int32_t first = (int32_t)p->function->image.n;
	for (uint64_t i = 0; i < count; i++)
		PUSH(p->arena, p->function->image, poison(type));
	return first;
}

int32_t ptx_constant(PtxParser *p, uint64_t bits)
{
	if (bits == 0)
		return -1;
	uint64_t *known = pointer_map_at(&p->constants, (const void *)(uintptr_t)bits);
	if (*known == 0) {
		*known = p->function->consts.n;
		PUSH(p->arena, p->function->consts, bits);
	}
	return ~(int32_t)*known;
}
