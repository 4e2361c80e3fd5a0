/* A text of loops to a program. parse_lex.c makes tokens, parse_buffer.c and parse_routine.c read the lines
 * around the kernels, parse_kernel.c kernels, parse_value.c what stands in their statements; parse.h has
 * the grammar.
 *
 * What a line means may stand below it: kernels need their routines, whose scalars and buffers they see,
 * and buffers the names of routines. So lines are read in this order: dims and all names; buffers
 * and checks; routines; kernels. The first error ends it.
 */
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

#include "loops/parse_text.h"
#include "loops/verify.h"
#include "loops/verify_gpu.h"

/* Where the things of the text begin, behind their first words. */
typedef struct Lines {
	TokenList tables, kernels, routines; /* tables: from the word itself */
	uint32_t pack, init;		     /* tokens of routines; 0: there is none */
} Lines;

static void parse_dims(LoopsParser *p)
{
	do {
		Dim dim = {.span = lex_span(p, lex_now(p))};
		dim.name = lex_name(p, "a dim");
		if (lex_take(p, ">="))
			dim.at_least = lex_number(p);
		dim.kind = lex_take(p, "counts")   ? DIM_STEP
			   : lex_take(p, "scalar") ? DIM_SCALAR
						   : DIM_ARGUMENT;
		if (p->failed)
			return;
		if (hmgeti(p->dims, dim.name) >= 0)
			lex_fail_at(p, dim.span, "a dim of this name stands above");
		else if (dim.at_least < 0 || dim.at_least > DIM_MOST)
			lex_fail_at(p, dim.span, "a dim is from 0 to 2^31");
		else
			hmput(p->dims, dim.name, sizes_add_dim(p->program->sizes, dim));
	} while (!p->failed && lex_take(p, ","));
}

/* Kernels that come again have no routine of their own. */
static void note_kernel(LoopsParser *p, Lines *lines)
{
	Sym name = lex_name(p, "a kernel");
	if (p->failed)
		return;
	PUSH(p->arena, lines->kernels, p->at - 1);
	if (hmgeti(p->kernels, name) >= 0)
		return;
	hmput(p->kernels, name, (uint32_t)p->routine_of.n);
	PUSH(p->arena, p->routine_of, ROUTINE_NONE);
}

static void note_routine(LoopsParser *p, Lines *lines)
{
	uint32_t at = p->at, end = at;
	Sym name = lex_name(p, "a routine");
	while (!lex_first(&p->tokens.at[end]) && p->tokens.at[end].kind != LEX_END)
		end++;
	bool of_state = end > at + 2 && lex_is(p, &p->tokens.at[end - 1], "state") &&
			lex_is(p, &p->tokens.at[end - 2], "of");
	bool pack = of_state && strcmp(name, "pack") == 0;
	if (of_state && (pack ? lines->pack : lines->init))
		lex_fail(p, "a routine of the state for the second time");
	if (p->failed)
		return;
	if (of_state)
		*(pack ? &lines->pack : &lines->init) = at;
	else
		PUSH(p->arena, lines->routines, at);
	Size none = size_const(p->program->sizes, 0);
	if (!of_state)
		PUSH(p->arena, p->program->routines,
		     ((ProgramRoutine){.name = name, .workspace = none}));
}

static void find_lines(LoopsParser *p, Lines *lines)
{
	while (!p->failed && lex_now(p)->kind != LEX_END) {
		if (lex_now(p)->indent != 0) {
			p->at++;
		} else if (lex_take(p, "dims")) {
			parse_dims(p);
		} else if (lex_take(p, "kernel")) {
			note_kernel(p, lines);
		} else if (lex_take(p, "routine")) {
			note_routine(p, lines);
		} else if (lex_is(p, lex_now(p), "state") || lex_is(p, lex_now(p), "buffer") ||
			   lex_is(p, lex_now(p), "check")) {
			PUSH(p->arena, lines->tables, p->at++);
		} else {
			if (!lex_is(p, lex_now(p), "("))
				lex_fail(
					p,
					"a dump of loops is expected here, whose lines begin with dims, state, buffer, "
					"check, kernel or routine");
			else if (lines->routines.n == 0)
				lex_fail(p, "the loops are in the dump of the stage that changed them last");
			lex_want(p, "(");
			lex_want(p, "unchanged");
			lex_want(p, ")");
		}
	}
}

static void end_line(LoopsParser *p)
{
	if (!p->failed && !lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
		lex_fail(p, "the end of the line is expected here");
}

static void parse_table(LoopsParser *p, uint32_t at)
{
	p->at = at;
	if (lex_take(p, "buffer")) {
		parse_buffer(p);
	} else if (lex_take(p, "check")) {
		parse_check_line(p);
	} else {
		lex_want(p, "state");
		p->program->state = parse_size(p);
		lex_want(p, "bytes");
	}
	end_line(p);
}

static void parse_routines(LoopsParser *p, const Lines *lines)
{
	Program *program = p->program;
	uint32_t n = (uint32_t)lines->routines.n;
	Size none = size_const(program->sizes, 0);
	program->pack.workspace = program->init.workspace = none;
	for (uint32_t r = 0; r < n && !p->failed; r++) {
		p->at = lines->routines.at[r];
		parse_routine(p, &program->routines.at[r], r);
	}
	if (lines->pack && !p->failed) {
		p->at = lines->pack;
		parse_routine(p, &program->pack, n);
	}
	if (lines->init && !p->failed) {
		p->at = lines->init;
		parse_routine(p, &program->init, n + 1);
	}
}

static Program *with_kernels(const LoopsParser *p, const Kernel *again, const uint32_t *ids, size_t n)
{
	Program *copy = ARENA_NEW(p->arena, Program);
	*copy = *p->program;
	memset(&copy->kernels, 0, sizeof copy->kernels);
	for (size_t k = 0; k < p->program->kernels.n; k++)
		PUSH(p->arena, copy->kernels, p->program->kernels.at[k]);
	for (size_t i = 0; i < n; i++)
		copy->kernels.at[ids[i]] = again[i];
	return copy;
}

/* The program with kernels that come again. */
static Program *parse_kernels(LoopsParser *p, const Lines *lines)
{
	VEC(Kernel) again = {0};
	TokenList ids = {0};
	for (size_t i = 0; i < lines->kernels.n && !p->failed; i++) {
		p->at = lines->kernels.at[i];
		Sym name = lex_name(p, "a kernel");
		p->at--;
		uint32_t id = hmget(p->kernels, name);
		Kernel kernel = parse_kernel(p, p->routine_of.at[id]);
		if (id == p->program->kernels.n) {
			PUSH(p->arena, p->program->kernels, kernel);
		} else {
			PUSH(p->arena, again, kernel);
			PUSH(p->arena, ids, id);
		}
	}
	return again.n && !p->failed ? with_kernels(p, again.at, ids.at, again.n) : p->program;
}

/* What follows from the rest. */
static void finish(LoopsParser *p)
{
	Program *program = p->program;
	while (program->nguards < program->checks.n &&
	       program->checks.at[program->nguards].kind != CHECK_INDEX)
		program->nguards++;
	program->stamp = size_const(program->sizes, 0);
	if (!program->placed)
		return;
	for (size_t i = program->buffers.n; i-- > 0 && program->pack.nkernels;)
		if (program->buffers.at[i].kind == BUFFER_PACKED)
			program->stamp = size_plus(program->sizes, program->buffers.at[i].offset,
						   -BUFFER_ALIGNMENT);
	program_list_state_dims(program);
}

bool loops_tell_fault(Diags *diags, const Program *program)
{
	LoopsFault fault = program->placed ? loops_fault(program) : loops_grammar_fault(program);
	if (!fault.rule)
		fault = loops_gpu_fault((Program *)program, program->options.gpu);
	if (fault.rule)
		diag(diags, E0611, fault.stmt ? fault.stmt->span : fault.kernel->span,
		     "kernel %s: %s", fault.kernel->name, fault.rule);
	return fault.rule;
}

LoopsText loops_parse(Arena *arena, Symbols *symbols, const Sources *sources, uint32_t file,
		      Diags *diags, const LowerOptions *options)
{
	LoopsParser p = {.arena = arena,
			 .diags = diags,
			 .source = source_at(sources, file),
			 .file = file,
			 .routine = ROUTINE_NONE};
	Lines lines = {0};
	p.program = ARENA_NEW(arena, Program);
	*p.program = (Program){.arena = arena,
			       .symbols = symbols,
			       .sizes = sizes_new(arena),
			       .sources = sources,
			       .path = p.source->path,
			       .sites = ARENA_ARRAY(arena, ProgramSite, 1),
			       .changed = true,
			       .options = *options};
	p.program->state = size_const(p.program->sizes, 0);
	PUSH(arena, p.program->loops, ((ProgramLoop){.until = BUFFER_NONE, .made = BUFFER_NONE}));
	p.tokens = loops_lex(arena, p.source);
	find_lines(&p, &lines);
	for (size_t i = 0; i < lines.tables.n && !p.failed; i++)
		parse_table(&p, lines.tables.at[i]);
	if (!p.failed)
		parse_routines(&p, &lines);
	Program *vectors = parse_kernels(&p, &lines);
	for (size_t i = 0; i < p.loop_of.n && !p.failed; i++) {
		p.program->kernels.at[p.loop_of.at[i].kernel].loop = p.loop_of.at[i].loop;
		vectors->kernels.at[p.loop_of.at[i].kernel].loop = p.loop_of.at[i].loop;
	}
	if (!p.failed) {
		finish(&p);
		p.failed = loops_tell_fault(diags, p.program);
	}
	if (!p.failed && vectors != p.program)
		p.failed = loops_tell_fault(diags, vectors);
	hmfree(p.dims);
	hmfree(p.buffers);
	hmfree(p.kernels);
	return p.failed ? (LoopsText){NULL, NULL} : (LoopsText){p.program, vectors};
}

bool program_is_whole(const Program *program)
{
	for (size_t i = 0; i < program->consts.n; i++)
		if (program->consts.at[i].count > 0 && !program->consts.at[i].bytes)
			return false;
	return true;
}
