/* Variables of all spaces, their places and first values, and parameters. */
#include "test/ptx/parse.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_ALIGN = 1024, FRAME_ALIGN = 64 };

typedef struct Declared {
	PtxType type;
	uint64_t align, bytes;
	Sym name;
	bool open; /* name[]: bytes is 0 */
	uint32_t line;
} Declared;

static const char *const spaces[] = {".global", ".const", ".shared", ".local", ".param"};

bool ptx_at_variable(const PtxParser *p)
{
	if (ptx_at(p, ".extern"))
		return true;
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (ptx_at(p, spaces[i]))
			return true;
	return false;
}

static void parse_dimensions(PtxParser *p, Declared *d)
{
	while (ptx_accept(p, "[")) {
		if (ptx_accept(p, "]")) {
			d->open = true;
			d->bytes = 0;
			continue;
		}
		uint64_t n = ptx_take_number(p, UINT32_MAX);
		ptx_expect(p, "]");
		if (d->bytes > UINT32_MAX)
			ptx_fail(p, d->line, "%.200s is too large", d->name);
		d->bytes *= n;
	}
}

/* .align, .ptr and what follows it, .v2, the type. */
static void parse_attributes(PtxParser *p, Declared *d)
{
	uint64_t lanes = 1;
	for (;; ptx_accept(p, ".ptr")) {
		if (ptx_accept(p, ".align")) {
			d->align = ptx_take_number(p, MOST_ALIGN);
		} else if (ptx_accept(p, ".v2")) {
			lanes = 2;
		} else if (ptx_accept(p, ".v4")) {
			lanes = 4;
		} else if (ptx_accept(p, ".attribute")) {
			while (p->token.kind != TOKEN_END && !ptx_accept(p, ")"))
				ptx_next(p);
		} else if (d->type != TYPE_NONE && (ptx_at(p, ".global") || ptx_at(p, ".shared") ||
						    ptx_at(p, ".const") || ptx_at(p, ".local"))) {
			ptx_next(p);
		} else if (d->type == TYPE_NONE && p->token.kind == TOKEN_NAME &&
			   *p->token.at == '.') {
			d->type = ptx_type_named(p, ptx_take_name(p));
			if (d->type == TYPE_NONE || d->type == TYPE_pred)
				ptx_fail(p, d->line, "expected a type of variables");
		} else if (!ptx_at(p, ".ptr")) {
			break;
		}
	}
	d->bytes = (uint64_t)ptx_type_bytes(d->type) * lanes;
	d->align = d->align == 0 ? d->bytes : d->align;
}

static Declared parse_declared(PtxParser *p)
{
	Declared d = {.line = p->token.line};
	ptx_next(p); /* the space */
	parse_attributes(p, &d);
	d.name = ptx_take_name(p);
	parse_dimensions(p, &d);
	if (d.type == TYPE_NONE || d.align == 0 || (d.align & (d.align - 1)) != 0)
		ptx_fail(p, d.line, "%.200s has no type, or its alignment is no power of two",
			 d.name);
	return d;
}

/* Takes room in memory that begins at 0. */
static uint64_t place(PtxParser *p, const Declared *d, uint32_t *used)
{
	uint64_t at = (*used + d->align - 1) & ~(d->align - 1);
	if (d->bytes > MOST_BYTES || at + d->bytes > MOST_BYTES)
		ptx_fail(p, d->line, "%.200s: there is no room for so many bytes", d->name);
	*used = (uint32_t)(at + d->bytes);
	return at;
}

/* The address of a variable or a function as a first value: name, name+n, generic(name). */
static uint64_t parse_address(PtxParser *p)
{
	uint32_t line = p->token.line;
	Sym name = ptx_take_name(p);
	if (ptx_accept(p, "(")) {
		name = ptx_take_name(p);
		ptx_expect(p, ")");
	}
	const PtxName *known = ptx_name_find(p, name);
	if (known == NULL || known->kind != NAME_GLOBAL)
		ptx_fail(p, line, "%.200s is no variable in global memory", name);
	return known->value + (ptx_accept(p, "+") ? ptx_take_number(p, UINT32_MAX) : 0);
}

static uint64_t parse_value(PtxParser *p, PtxType type)
{
	if (p->token.kind == TOKEN_NAME)
		return parse_address(p);
	if (p->token.kind != TOKEN_F32 && p->token.kind != TOKEN_F64)
		return ptx_take_number(p, UINT64_MAX);
	uint64_t bits = p->token.value;
	if (p->token.kind == TOKEN_F64 && type == TYPE_f32) {
		double x;
		memcpy(&x, &bits, sizeof x);
		float rounded = (float)x;
		bits = 0;
		memcpy(&bits, &rounded, sizeof rounded);
	}
	ptx_next(p);
	return bits;
}

/* Values in any nesting of braces, in order; what is not given is 0. */
static void parse_values(PtxParser *p, const Declared *d, unsigned char *at)
{
	uint64_t used = 0, bytes = (uint64_t)ptx_type_bytes(d->type);
	uint32_t depth = 0;
	do {
		while (ptx_accept(p, "{"))
			depth++;
		uint64_t value = parse_value(p, d->type);
		if (d->bytes - used < bytes)
			ptx_fail(p, d->line, "%.200s has more values than places", d->name);
		memcpy(at + used, &value, bytes);
		used += bytes;
		while (depth > 0 && ptx_accept(p, "}"))
			depth--;
	} while (ptx_accept(p, ","));
	if (depth > 0)
		ptx_expect(p, "}");
}

static void add_global(PtxParser *p, const Declared *d, bool constant)
{
	PtxMemory *memory = p->module->memory;
	uint64_t address = ptx_memory_new(memory, d->bytes, d->align);
	if (address == 0)
		ptx_fail(p, d->line, "%.200s: there is no room for so many bytes", d->name);
	PtxVariable variable = {d->name, address, d->bytes};
	PUSH(p->arena, p->module->variables, variable);
	PtxAllocation *there = ptx_memory_find(memory, address, d->bytes);
	there->constant = constant;
	memset(there->at, 0, d->bytes);
	ptx_name_add(p, (PtxName){.name = d->name, .kind = NAME_GLOBAL, .value = address});
	if (ptx_accept(p, "="))
		parse_values(p, d, there->at);
}

static void add_shared(PtxParser *p, const Declared *d, bool is_extern)
{
	PtxFunction *f = p->function;
	PtxName name = {.name = d->name, .kind = NAME_DYNAMIC};
	if (!is_extern && !d->open) {
		/* A function's own is taken for the whole module: who calls it is not known yet. */
		uint32_t *used =
			f != NULL && f->entry ? &f->shared_bytes : &p->module->shared_bytes;
		if (used != &p->module->shared_bytes && *used == 0)
			*used = p->module->shared_bytes;
		name.kind = NAME_SHARED;
		name.value = PTX_SHARED_FIRST + place(p, d, used);
	}
	ptx_name_add(p, name);
}

static void add_local(PtxParser *p, const Declared *d)
{
	if (p->function == NULL || d->align > FRAME_ALIGN)
		ptx_fail(p, d->line, "%.200s is in no function, or aligned more than to %d bytes",
			 d->name, FRAME_ALIGN);
	ptx_name_add(p, (PtxName){.name = d->name,
				  .kind = NAME_LOCAL,
				  .value = place(p, d, &p->function->local_bytes)});
}

void ptx_parse_variable(PtxParser *p, bool is_extern)
{
	bool global = ptx_at(p, ".global"), constant = ptx_at(p, ".const");
	bool shared = ptx_at(p, ".shared");
	if (!ptx_at_variable(p))
		ptx_fail(p, p->token.line, "expected a space");
	do {
		Declared d = parse_declared(p);
		if ((global || constant) && is_extern)
			ptx_fail(p, d.line, "%.200s is in another module", d.name);
		else if (global || constant)
			add_global(p, &d, constant);
		else if (shared)
			add_shared(p, &d, is_extern);
		else
			add_local(p, &d);
	} while (ptx_at(p, ","));
	ptx_expect(p, ";");
}

static void add_param(PtxParser *p, PtxFunction *f, const Declared *d, bool result)
{
	uint32_t *used = f->entry ? &f->param_bytes : &f->local_bytes;
	PtxParam param = {d->name, (uint32_t)place(p, d, used), (uint32_t)d->bytes};
	if (result)
		PUSH(p->arena, f->results, param);
	else
		PUSH(p->arena, f->params, param);
	ptx_name_add(p, (PtxName){.name = d->name,
				  .kind = f->entry ? NAME_PARAM : NAME_LOCAL,
				  .value = param.at});
}

void ptx_parse_params(PtxParser *p, PtxFunction *f, bool results)
{
	ptx_expect(p, "(");
	while (!ptx_accept(p, ")")) {
		if (!ptx_at(p, ".param"))
			ptx_fail(p, p->token.line, "expected a parameter in memory");
		Declared d = parse_declared(p);
		add_param(p, f, &d, results);
		if (!ptx_at(p, ")"))
			ptx_expect(p, ",");
	}
}
