/* The checker of the loop IR: every rule of the grammar in loops.h, in all builds. A violation is a
 * bug of a pass, reported with the kernel's name. Here are tables and routines; verify_kernel.c has
 * statements, verify_value.c indices and values.
 */
#include "base/diag.h"
#include "loops/bounds.h"
#include "loops/steps.h"
#include "loops/verify_walk.h"
#include "loops/walk.h"

static void check_args(const Program *program, const TensorArg *args, uint32_t n, BufferKind kind)
{
	for (uint32_t i = 0; i < n; i++) {
		REQUIRE(args[i].buffer < program->buffers.n);
		const Buffer *buffer = &program->buffers.at[args[i].buffer];
		REQUIRE(buffer->kind == kind && buffer->arg == i);
		bool packed = kind == BUFFER_OUTPUT && dtype_is_packed(args[i].type.dtype);
		REQUIRE(buffer->dtype == (packed ? DTYPE_U8 : args[i].type.dtype));
	}
}

/* A temporary that a kernel loads is stored by a kernel before it, or by itself, but for one
 * without elements. */
static void check_order(Arena *arena, const Program *program, const ProgramRoutine *routine,
			LoopsFault *fault)
{
	bool *stored = ARENA_ARRAY(arena, bool, program->buffers.n + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		BufferUses uses = kernel_buffers(arena, kernel);
		for (size_t u = 0; u < uses.n; u++)
			stored[uses.at[u].buffer] |= uses.at[u].stored;
		for (size_t u = 0; u < uses.n; u++) {
			const Buffer *buffer = &program->buffers.at[uses.at[u].buffer];
			if (buffer->kind == BUFFER_TEMP && !stored[uses.at[u].buffer] &&
			    !size_is(program->sizes, buffer->elements, 0) && !fault->rule)
				*fault = (LoopsFault){
					kernel, NULL,
					"a temporary is read that no kernel has stored yet"};
		}
	}
	arena_reset(arena);
}

static bool is_temporary_of(const Program *program, const ProgramRoutine *routine, BufferId buffer)
{
	const Buffer *b = &program->buffers.at[buffer];
	return b->kind == BUFFER_TEMP && !b->shared &&
	       program_routine(program, b->routine) == routine;
}

/* Is it a temporary of one i32, or nothing? */
static bool is_number_of(const Program *program, const ProgramRoutine *routine, BufferId id)
{
	return id == BUFFER_NONE || (is_temporary_of(program, routine, id) &&
				     program->buffers.at[id].dtype == DTYPE_I32 &&
				     size_is(program->sizes, program->buffers.at[id].elements, 1));
}

static void check_loop(const Program *program, const ProgramRoutine *routine, const Kernel *kernel,
		       uint32_t number, LoopsFault *fault)
{
	const ProgramLoop *loop = &program->loops.at[number];
	const char *rule = NULL;
	REQUIRE(loop->parent < number && sizes_dim(program->sizes, loop->step)->kind == DIM_STEP);
	for (uint32_t k = 0; k < loop->nexchanges; k++) {
		const BufferPair *pair = &loop->exchanges[k];
		const Buffer *a = &program->buffers.at[pair->a], *b = &program->buffers.at[pair->b];
		if (!is_temporary_of(program, routine, pair->a) ||
		    !is_temporary_of(program, routine, pair->b) || a == b || a->dtype != b->dtype ||
		    !size_same(a->elements, b->elements))
			rule = "what changes places is no pair of temporaries of one size and type";
	}
	if (!is_number_of(program, routine, loop->until))
		rule = "what ends a loop is no temporary of one i32";
	if (!is_number_of(program, routine, loop->made))
		rule = "what says how many steps a loop makes is no temporary of one i32";
	if (rule)
		*fault = (LoopsFault){kernel, NULL, rule};
}

/* Kernels of a loop are neighbours, and no others are between; what ends it is one i32 of the routine. */
static void check_loops(Arena *arena, const Program *program, const ProgramRoutine *routine,
			LoopsFault *fault)
{
	bool *left = ARENA_ARRAY(arena, bool, program->loops.n + 1);
	uint32_t before = 0;
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		REQUIRE(kernel->loop == 0 || kernel->loop < program->loops.n);
		for (uint32_t loop = before; loop; loop = program->loops.at[loop].parent)
			left[loop] |= !program_loop_in(program, kernel->loop, loop);
		for (uint32_t loop = kernel->loop; loop; loop = program->loops.at[loop].parent)
			if (left[loop] && !fault->rule)
				*fault = (LoopsFault){kernel, NULL,
						      "a kernel is in a loop that has ended"};
		before = kernel->loop;
	}
	for (uint32_t i = 0; i < routine->nkernels && !fault->rule; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		for (uint32_t loop = kernel->loop; loop && !fault->rule;
		     loop = program->loops.at[loop].parent)
			check_loop(program, routine, kernel, loop, fault);
	}
}

static void check_routine(Arena *arena, const Program *program, const ProgramRoutine *routine,
			  LoopsFault *fault)
{
	check_args(program, routine->inputs, routine->ninputs, BUFFER_INPUT);
	check_args(program, routine->outputs, routine->noutputs, BUFFER_OUTPUT);
	for (uint32_t i = 0; i < routine->nguards; i++)
		REQUIRE(routine->guards[i] < program->checks.n);
	for (uint32_t i = 0; i < routine->nscalars; i++)
		REQUIRE(routine->scalars[i].dim == DIM_NONE ||
			(dtype_is_integer(routine->scalars[i].dtype) &&
			 sizes_dim(program->sizes, routine->scalars[i].dim)->kind == DIM_SCALAR));
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		REQUIRE(routine->kernels[i] < program->kernels.n);
		verify_kernel(arena, program, routine, &program->kernels.at[routine->kernels[i]],
			     fault);
	}
	if (!fault->rule)
		check_order(arena, program, routine, fault);
	if (!fault->rule)
		check_loops(arena, program, routine, fault);
	REQUIRE(!program->placed || !size_is_bad(routine->workspace));
}

static void check_tables(const Program *program)
{
	for (size_t i = 0; i < program->buffers.n; i++) {
		const Buffer *buffer = &program->buffers.at[i];
		REQUIRE(buffer->name && buffer->dtype < DTYPE_COUNT &&
			!size_is_bad(buffer->elements));
		bool shared = buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_CONST ||
			      buffer->kind == BUFFER_PACKED;
		REQUIRE(shared || buffer->routine < program->routines.n + 2);
		bool placed = buffer->kind == BUFFER_TEMP || buffer->kind == BUFFER_PACKED;
		REQUIRE(!program->placed || !placed || !size_is_bad(buffer->offset));
		REQUIRE(buffer->kind != BUFFER_PACKED ||
			(buffer->arg < program->params.n &&
			 !program->params.at[buffer->arg].changes));
	}
	for (size_t i = 0; i < program->params.n; i++) {
		REQUIRE(program->params.at[i].buffer < program->buffers.n);
		REQUIRE(program->buffers.at[program->params.at[i].buffer].arg == i);
	}
	for (size_t i = 0; i < program->consts.n; i++) {
		REQUIRE(program->consts.at[i].buffer < program->buffers.n);
		REQUIRE(program->buffers.at[program->consts.at[i].buffer].arg == i);
	}
}

/* The names of all kernels in one table: a repetition would clash in the object file. */
static void check_names(Arena *arena, const Program *program)
{
	Symbols *names = symbols_new();
	size_t n = 0, cap = 64;
	while (cap < 2 * program->kernels.n)
		cap *= 2;
	Sym *table = ARENA_ARRAY(arena, Sym, cap);
	for (; n < program->kernels.n; n++) {
		Sym name = sym_cstr(names, program->kernels.at[n].name);
		size_t slot = ((uintptr_t)name >> 4) & (cap - 1);
		while (table[slot] && table[slot] != name)
			slot = (slot + 1) & (cap - 1);
		if (table[slot])
			BUG("two kernels named %s", program->kernels.at[n].name);
		table[slot] = name;
	}
	symbols_free(names);
}

/* Every kernel as one of each routine that runs it; those that none does for themselves. */
static void check_kernels(Arena *arena, const Program *program, LoopsFault *fault)
{
	bool *seen = ARENA_ARRAY(arena, bool, program->kernels.n + 1);
	Arena *scratch = arena_new();
	for (uint32_t r = 0; r < program->routines.n + 2; r++) {
		const ProgramRoutine *routine = program_routine(program, r);
		if (r >= program->routines.n && routine->nkernels == 0)
			continue;
		check_routine(scratch, program, routine, fault);
		for (uint32_t i = 0; i < routine->nkernels; i++)
			seen[routine->kernels[i]] = true;
	}
	for (size_t i = 0; i < program->kernels.n; i++)
		if (!seen[i])
			verify_kernel(scratch, program, NULL, &program->kernels.at[i], fault);
	arena_free(scratch);
}

LoopsFault loops_grammar_fault(const Program *program)
{
	LoopsFault fault = {0};
	Arena *arena = arena_new();
	check_tables(program);
	check_kernels(arena, program, &fault);
	check_names(arena, program);
	arena_free(arena);
	return fault;
}

LoopsFault loops_fault(const Program *program)
{
	LoopsFault fault = loops_grammar_fault(program);
	Arena *arena = arena_new();
	if (!fault.rule)
		bounds_unshown(arena, program, &fault);
	arena_free(arena);
	return fault;
}

static void fail_at(LoopsFault fault)
{
	if (fault.rule)
		BUG("kernel %s: %s", fault.kernel->name, fault.rule);
}

void loops_verify_grammar(const Program *program) { fail_at(loops_grammar_fault(program)); }
void loops_verify(const Program *program) { fail_at(loops_fault(program)); }
