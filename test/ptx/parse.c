/* Directives, functions and statements of PTX; the grammar stands in test/ptx/parse.h. */
#include "test/ptx/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ptx/ptx.h"

enum { MOST_REGISTERS = 1 << 16, MOST_NESTING = 200, MOST_CODE = 1 << 22, MOST_CALLS = 64 };

void ptx_fail(PtxParser *p, uint32_t line, const char *fmt, ...)
{
	int n = snprintf(p->error, p->error_size, "line %u: ", line);
	va_list args;
	va_start(args, fmt);
	if (n >= 0 && (size_t)n < p->error_size)
		vsnprintf(p->error + n, p->error_size - (size_t)n, fmt, args);
	va_end(args);
	longjmp(p->failed, 1);
}

void ptx_next(PtxParser *p)
{
	p->token = ptx_lex(&p->lexer);
	if (p->token.kind == TOKEN_BAD)
		ptx_fail(p, p->token.line, "'%.*s' is no number and no string",
			 (int)p->token.n % 64, p->token.at);
}

bool ptx_at(const PtxParser *p, const char *text) { return ptx_token_is(&p->token, text); }

bool ptx_accept(PtxParser *p, const char *text)
{
	bool there = ptx_at(p, text);
	if (there)
		ptx_next(p);
	return there;
}

void ptx_expect(PtxParser *p, const char *text)
{
	if (!ptx_accept(p, text))
		ptx_fail(p, p->token.line, "expected '%s' before '%.*s'", text,
			 (int)(p->token.n < 64 ? p->token.n : 64), p->token.at);
}

Sym ptx_take_name(PtxParser *p)
{
	if (p->token.kind != TOKEN_NAME)
		ptx_fail(p, p->token.line, "expected a name before '%.*s'",
			 (int)(p->token.n < 64 ? p->token.n : 64), p->token.at);
	Sym name = sym_intern(p->module->symbols, p->token.at, p->token.n);
	ptx_next(p);
	return name;
}

uint64_t ptx_take_number(PtxParser *p, uint64_t most)
{
	bool negative = ptx_accept(p, "-");
	if (p->token.kind != TOKEN_INTEGER || (!negative && p->token.value > most))
		ptx_fail(p, p->token.line, "expected a number up to %llu before '%.*s'",
			 (unsigned long long)most, (int)(p->token.n < 64 ? p->token.n : 64),
			 p->token.at);
	uint64_t value = p->token.value;
	ptx_next(p);
	return negative ? 0 - value : value;
}

static void skip_line(PtxParser *p)
{
	uint32_t line = p->token.line;
	while (p->token.kind != TOKEN_END && p->token.line == line)
		ptx_next(p);
}

static void skip_to(PtxParser *p, const char *end)
{
	while (p->token.kind != TOKEN_END && !ptx_at(p, end))
		ptx_next(p);
	ptx_expect(p, end);
}

static void parse_pragma(PtxParser *p)
{
	ptx_next(p);
	if (p->token.kind == TOKEN_STRING && p->token.n > 2 && p->module->version < 83 &&
	    memmem(p->token.at, p->token.n, "used_bytes_mask", 15))
		ptx_fail(p, p->token.line, "the pragma %.*s needs PTX 8.3", (int)p->token.n % 64,
			 p->token.at);
	skip_to(p, ";");
}

/* Registers of one declaration, which a name with a count makes many. */
static void parse_registers(PtxParser *p)
{
	ptx_next(p);
	PtxType type = ptx_type_named(p, ptx_take_name(p));
	if (type == TYPE_NONE)
		ptx_fail(p, p->token.line, "expected a type of registers");
	do {
		uint32_t line = p->token.line;
		PtxName name = {
			.name = ptx_take_name(p), .kind = NAME_REGISTER, .type = type, .count = 1};
		if (ptx_accept(p, "<")) {
			name.kind = NAME_RANGE;
			name.count = (uint32_t)ptx_take_number(p, MOST_REGISTERS);
			ptx_expect(p, ">");
		}
		if (p->function->image.n + name.count > MOST_REGISTERS)
			ptx_fail(p, line, "a function has more than %d registers", MOST_REGISTERS);
		name.value = (uint64_t)ptx_register_new(p, type, name.count);
		ptx_name_add(p, name);
	} while (ptx_accept(p, ","));
	ptx_expect(p, ";");
}

/* name: .branchtargets a, b, c; */
static void parse_targets(PtxParser *p, Sym name)
{
	PtxFunction *f = p->function;
	ptx_next(p);
	ptx_name_add(p, (PtxName){.name = name, .kind = NAME_TARGETS, .value = f->operands.n});
	size_t head = f->operands.n;
	PUSH(p->arena, f->operands, 0);
	do {
		PtxFixup fixup = {ptx_take_name(p), p->scope, (uint32_t)f->operands.n,
				  p->token.line, true};
		PUSH(p->arena, p->fixups, fixup);
		PUSH(p->arena, f->operands, -1);
		f->operands.at[head]++;
	} while (ptx_accept(p, ","));
	ptx_expect(p, ";");
}

static int32_t parse_guard(PtxParser *p)
{
	if (!ptx_accept(p, "@"))
		return -1;
	bool negated = ptx_accept(p, "!");
	uint32_t line = p->token.line;
	const PtxName *name = ptx_name_find(p, ptx_take_name(p));
	if (name == NULL || name->kind != NAME_REGISTER || name->type != TYPE_pred)
		ptx_fail(p, line, "a guard is no predicate");
	return (int32_t)(2 * name->value + negated);
}

static void parse_instruction(PtxParser *p)
{
	int32_t guard = parse_guard(p);
	PtxStatement *s = &p->statement;
	s->line = p->token.line;
	s->mnemonic = ptx_take_name(p);
	ptx_parse_operands(p, s);
	ptx_expect(p, ";");
	if (p->function->code.n >= MOST_CODE)
		ptx_fail(p, s->line, "a function has more than %d instructions", MOST_CODE);
	ptx_decode(p, s, guard);
}

static bool at_label(const PtxParser *p)
{
	PtxLexer ahead = p->lexer;
	PtxToken next = ptx_lex(&ahead);
	return p->token.kind == TOKEN_NAME && next.kind == TOKEN_CHAR && next.value == ':';
}

static void parse_statement(PtxParser *p)
{
	if (ptx_at(p, ".loc") || ptx_at(p, ".file"))
		skip_line(p);
	else if (ptx_at(p, ".pragma"))
		parse_pragma(p);
	else if (ptx_at(p, ".reg"))
		parse_registers(p);
	else if (ptx_at_variable(p))
		ptx_parse_variable(p, ptx_accept(p, ".extern"));
	else if (ptx_at(p, ".callprototype"))
		ptx_fail(p, p->token.line, "calls through pointers are not interpreted");
	else if (at_label(p)) {
		Sym name = ptx_take_name(p);
		ptx_expect(p, ":");
		if (ptx_at(p, ".branchtargets"))
			parse_targets(p, name);
		else
			ptx_label_add(p, name);
	} else if (!ptx_accept(p, ";"))
		parse_instruction(p);
}

/* Statements up to the brace that closes the function's, scopes in them. */
static void parse_body(PtxParser *p)
{
	uint32_t depth = 1;
	ptx_expect(p, "{");
	ptx_scope_open(p);
	while (depth > 0) {
		if (p->token.kind == TOKEN_END)
			ptx_fail(p, p->token.line, "the function %s does not end",
				 p->function->name);
		if (ptx_accept(p, "{")) {
			if (++depth > MOST_NESTING)
				ptx_fail(p, p->token.line, "scopes nest too deep");
			ptx_scope_open(p);
		} else if (ptx_accept(p, "}")) {
			depth--;
			ptx_scope_close(p);
		} else {
			parse_statement(p);
		}
	}
	ptx_labels_resolve(p);
}

static void take_three(PtxParser *p, uint32_t *three)
{
	ptx_next(p);
	for (int i = 0; i < 3; i++)
		three[i] =
			i > 0 && !ptx_accept(p, ",") ? 1 : (uint32_t)ptx_take_number(p, UINT32_MAX);
}

/* What stands between the parameters and the body. */
static void parse_performance(PtxParser *p, PtxFunction *f)
{
	for (;;) {
		if (ptx_at(p, ".maxntid"))
			take_three(p, f->maxntid);
		else if (ptx_at(p, ".reqntid"))
			take_three(p, f->reqntid);
		else if (ptx_at(p, ".reqnctapercluster"))
			take_three(p, f->cluster);
		else if (ptx_at(p, ".minnctapersm") || ptx_at(p, ".maxnreg") ||
			 ptx_at(p, ".maxnctapersm") || ptx_at(p, ".maxclusterrank")) {
			ptx_next(p);
			ptx_take_number(p, UINT32_MAX);
		} else if (ptx_at(p, ".noreturn") || ptx_at(p, ".explicitcluster"))
			ptx_next(p);
		else if (ptx_at(p, ".pragma"))
			parse_pragma(p);
		else
			return;
	}
}

static PtxFunction *function_new(PtxParser *p, Sym name, bool entry)
{
	PtxFunction *f = ARENA_NEW(p->arena, PtxFunction);
	*f = (PtxFunction){.name = name, .entry = entry, .index = (uint32_t)p->module->functions.n};
	PUSH(p->arena, p->module->functions, f);
	ptx_name_add(p, (PtxName){.name = name, .kind = NAME_FUNCTION, .value = f->index});
	return f;
}

/* A function may be declared, several times, before it is defined. */
static PtxFunction *function_named(PtxParser *p, Sym name, bool entry, uint32_t line)
{
	const PtxName *known = ptx_name_find(p, name);
	if (known == NULL)
		return function_new(p, name, entry);
	if (known->kind != NAME_FUNCTION)
		ptx_fail(p, line, "%s has been declared as something else", name);
	PtxFunction *f = p->module->functions.at[known->value];
	if (f->defined || f->entry != entry)
		ptx_fail(p, line, "%s has been defined before", name);
	f->results.n = f->params.n = f->local_bytes = f->param_bytes = 0;
	return f;
}

void ptx_reset_function(PtxParser *p, PtxFunction *f)
{
	p->function = f;
	p->fixups.n = p->labels.n = p->scopes.n = 0;
	p->scope = 0;
	pointer_map_clear(&p->constants);
	if (f == NULL)
		return;
	f->image.n = f->consts.n = f->operands.n = f->code.n = 0;
	PUSH(p->arena, f->consts, 0);
	for (int i = 0; i <= SPECIAL_COUNT; i++) /* and one for what is not kept */
		PUSH(p->arena, f->image, 0);
}

static void parse_function(PtxParser *p, bool entry)
{
	ptx_next(p);
	PtxFunction results = {0};
	ptx_reset_function(p, &results);
	ptx_scope_open(p);
	if (!entry && ptx_at(p, "("))
		ptx_parse_params(p, &results, true);
	uint32_t line = p->token.line;
	Sym name = ptx_take_name(p);
	size_t declared = p->scopes.at[0].names;
	VEC(PtxName) kept = {0};
	for (size_t i = declared; i < p->names.n; i++)
		PUSH(p->arena, kept, p->names.at[i]);
	ptx_scope_close(p);
	PtxFunction *f = function_named(p, name, entry, line);
	ptx_reset_function(p, f);
	f->line = line;
	f->results.at = results.results.at;
	f->results.n = results.results.n;
	f->results.cap = results.results.cap;
	f->local_bytes = results.local_bytes;
	ptx_scope_open(p);
	for (size_t i = 0; i < kept.n; i++)
		ptx_name_add(p, kept.at[i]);
	if (ptx_at(p, "("))
		ptx_parse_params(p, f, false);
	parse_performance(p, f);
	if (!ptx_accept(p, ";")) {
		parse_body(p);
		f->defined = true;
	}
	ptx_scope_close(p);
	p->function = NULL;
}

static void parse_version(PtxParser *p)
{
	ptx_next(p);
	double version = 0;
	memcpy(&version, &p->token.value, sizeof version);
	if (p->token.kind != TOKEN_F64 || !(version >= 1 && version < 100))
		ptx_fail(p, p->token.line, "expected a version");
	p->module->version = (int)(version * 10 + 0.5);
	ptx_next(p);
}

static void parse_target(PtxParser *p)
{
	ptx_next(p);
	uint32_t line = p->token.line;
	Sym name = ptx_take_name(p);
	char suffix = 0;
	int n = sscanf(name, "sm_%d%c", &p->module->target, &suffix);
	if (n < 1 || p->module->target < 10 || p->module->target > 999)
		ptx_fail(p, line, "unknown target '%.64s'", name);
	p->module->suffix = suffix;
	while (ptx_accept(p, ","))
		ptx_take_name(p);
}

static void parse_directive(PtxParser *p)
{
	bool is_extern = false;
	while (ptx_at(p, ".visible") || ptx_at(p, ".weak") || ptx_at(p, ".common") ||
	       ptx_at(p, ".extern")) {
		is_extern = ptx_at(p, ".extern");
		ptx_next(p);
	}
	if (ptx_at(p, ".version"))
		parse_version(p);
	else if (ptx_at(p, ".target"))
		parse_target(p);
	else if (ptx_accept(p, ".address_size"))
		ptx_take_number(p, 64);
	else if (ptx_at(p, ".file") || ptx_at(p, ".loc"))
		skip_line(p);
	else if (ptx_accept(p, ".section"))
		skip_to(p, "}");
	else if (ptx_at(p, ".pragma"))
		parse_pragma(p);
	else if (ptx_at(p, ".entry") || ptx_at(p, ".func"))
		parse_function(p, ptx_at(p, ".entry"));
	else if (ptx_at_variable(p))
		ptx_parse_variable(p, is_extern);
	else
		ptx_fail(p, p->token.line, "expected a directive before '%.*s'",
			 (int)(p->token.n < 64 ? p->token.n : 64), p->token.at);
}

/* What is handed over has its place in both frames. */
static void check_call(PtxParser *p, const PtxFunction *f, const PtxInstr *in,
		       const PtxFunction *callee)
{
	if (in->n != callee->results.n || in->width != callee->params.n)
		ptx_fail(p, in->line, "%s is called as it has been declared, not as it is",
			 callee->name);
	const int32_t *at = f->operands.at + in->more;
	for (size_t i = 0; i < callee->results.n + callee->params.n; i++) {
		const PtxParam *param = i < callee->results.n
						? &callee->results.at[i]
						: &callee->params.at[i - callee->results.n];
		if ((uint64_t)at[i] + param->bytes > f->local_bytes)
			ptx_fail(p, in->line, "%s takes more bytes than it is given", callee->name);
	}
}

/* Registers and memory of a function with all that it calls; none calls itself. */
static void measure(PtxParser *p, PtxFunction *f, uint32_t depth)
{
	if (f->depth != 0 || !f->defined)
		return;
	if (depth > MOST_CALLS)
		ptx_fail(p, f->line, "%s calls itself, or calls nest too deep", f->name);
	uint32_t regs = 0, local = 0, below = 0;
	for (size_t i = 0; i < f->code.n; i++) {
		if (f->code.at[i].kind != KIND_CALL)
			continue;
		PtxFunction *callee = p->module->functions.at[f->code.at[i].target];
		if (!callee->defined || callee->entry)
			ptx_fail(p, f->code.at[i].line, "%s is called and not defined",
				 callee->name);
		check_call(p, f, &f->code.at[i], callee);
		measure(p, callee, depth + 1);
		regs = callee->stack_regs > regs ? callee->stack_regs : regs;
		local = callee->stack_local > local ? callee->stack_local : local;
		below = callee->depth > below ? callee->depth : below;
	}
	f->local_bytes = (f->local_bytes + 63) & ~63u;
	f->stack_regs = (uint32_t)f->image.n + regs;
	f->stack_local = f->local_bytes + local;
	f->depth = below + 1;
}

static void parse_module(PtxParser *p)
{
	ptx_next(p);
	if (!ptx_at(p, ".version"))
		ptx_fail(p, p->token.line, "PTX begins with .version");
	while (p->token.kind != TOKEN_END)
		parse_directive(p);
	if (p->module->target == 0)
		ptx_fail(p, p->token.line, "there is no .target");
	for (size_t i = 0; i < p->module->functions.n; i++)
		measure(p, p->module->functions.at[i], 0);
}

PtxModule *ptx_module_read(PtxMemory *memory, const char *text, size_t n, char *error, size_t size)
{
	Arena *arena = arena_new();
	PtxParser *p = ARENA_NEW(arena, PtxParser);
	PtxModule *module = ARENA_NEW(arena, PtxModule);
	*module = (PtxModule){.arena = arena, .symbols = symbols_new(), .memory = memory};
	p->module = module;
	p->arena = arena;
	p->lexer = (PtxLexer){text, text + n, 1};
	p->error = error;
	p->error_size = size;
	p->known.arena = p->words.arena = p->evals.arena = p->decoders.arena = p->constants.arena =
		arena;
	if (setjmp(p->failed) != 0) {
		ptx_module_free(module);
		return NULL;
	}
	ptx_decode_init(p);
	parse_module(p);
	return module;
}

void ptx_module_free(PtxModule *module)
{
	for (size_t i = 0; i < module->variables.n; i++)
		ptx_memory_drop(module->memory, module->variables.at[i].address);
	symbols_free(module->symbols);
	arena_free(module->arena);
}

const PtxFunction *ptx_module_kernel(const PtxModule *module, const char *name)
{
	for (size_t i = 0; i < module->functions.n; i++) {
		const PtxFunction *f = module->functions.at[i];
		if (f->entry && f->defined && strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

const PtxVariable *ptx_module_variable(const PtxModule *module, const char *name)
{
	for (size_t i = 0; i < module->variables.n; i++)
		if (strcmp(module->variables.at[i].name, name) == 0)
			return &module->variables.at[i];
	return NULL;
}
