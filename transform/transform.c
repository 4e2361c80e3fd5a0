/* The passes from loops to loops, in order, and what runs one. */
#include "transform/transform.h"

#include "transform/unroll.h"

#include <string.h>

const TransformPass transform_passes[TRANSFORM_PASSES] = {
	[PASS_UNREAD] = {"unread", transform_unread},
	[PASS_INTERCHANGE] = {"interchange", transform_interchange},
	[PASS_EXCHANGE] = {"exchange", transform_exchange},
	[PASS_ORDER] = {"order", transform_order},
	[PASS_FUSION] = {"fusion", transform_fusion},
	[PASS_UNROLL] = {"unroll", transform_unroll},
	[PASS_TRANSPOSE] = {"transpose", transform_transpose},
	[PASS_HORIZONTAL] = {"horizontal", transform_horizontal},
	[PASS_ELIDE] = {"elide", transform_elide},
	[PASS_PREFETCH] = {"prefetch", transform_prefetch},
	[PASS_STREAM] = {"stream", transform_stream},
	[PASS_PARALLEL] = {"parallel", transform_parallel},
	[PASS_HOIST] = {"hoist", transform_hoist},
	[PASS_CASTS] = {"casts", transform_casts},
	[PASS_INDICES] = {"indices", transform_indices},
	[PASS_GRID] = {"grid", transform_grid},
	[PASS_JOIN] = {"join", transform_join},
	[PASS_PREPACK] = {"prepack", transform_prepack},
	[PASS_ATTENTION] = {"attention", transform_attention},
	[PASS_BIND] = {"bind", transform_bind},
	[PASS_OVERLAP] = {"overlap", transform_overlap},
	[PASS_MEMORY] = {"memory", transform_memory},
};

/* With tables of its own; loops are shared, since nothing changes them once they are there. */
static Program *program_copy(const Program *program)
{
	Arena *arena = program->arena;
	Program *copy = ARENA_NEW(arena, Program);
	*copy = *program;
	memset(&copy->buffers, 0, sizeof copy->buffers);
	memset(&copy->kernels, 0, sizeof copy->kernels);
	memset(&copy->checks, 0, sizeof copy->checks);
	memset(&copy->routines, 0, sizeof copy->routines);
	memset(&copy->loops, 0, sizeof copy->loops);
	memset(&copy->consts, 0, sizeof copy->consts);
	for (size_t i = 0; i < program->consts.n; i++)
		PUSH(arena, copy->consts, program->consts.at[i]);
	for (size_t i = 0; i < program->loops.n; i++)
		PUSH(arena, copy->loops, program->loops.at[i]);
	for (size_t i = 0; i < program->buffers.n; i++)
		PUSH(arena, copy->buffers, program->buffers.at[i]);
	for (size_t i = 0; i < program->kernels.n; i++)
		PUSH(arena, copy->kernels, program->kernels.at[i]);
	for (size_t i = 0; i < program->checks.n; i++)
		PUSH(arena, copy->checks, program->checks.at[i]);
	for (size_t i = 0; i < program->routines.n; i++)
		PUSH(arena, copy->routines, program->routines.at[i]);
	return copy;
}

Program *transform_run(uint32_t pass, const Program *program, const Schedule *asked, Diags *diags)
{
	Program *next = program_copy(program);
	Transform t = {.program = next,
		       .asked = asked,
		       .options = &next->options,
		       .diags = diags,
		       .scratch = arena_new()};
	transform_passes[pass].run(&t);
	next->changed = t.changed;
	arena_free(t.scratch);
	return next;
}

static ProgramRoutine *routine_at(Program *program, size_t index)
{
	size_t n = program->routines.n;
	return index < n ? &program->routines.at[index] : index == n ? &program->pack : &program->init;
}

bool routines_change(const Transform *t, KernelsChange change)
{
	Program *program = t->program;
	const Kernel *before = program->kernels.at;
	size_t n = program->kernels.n;
	memset(&program->kernels, 0, sizeof program->kernels);
	for (size_t r = 0; r < program->routines.n + 2; r++) {
		ProgramRoutine *routine = routine_at(program, r);
		Kernel *kernels = ARENA_ARRAY(t->scratch, Kernel, routine->nkernels + 1);
		for (uint32_t i = 0; i < routine->nkernels; i++)
			kernels[i] = before[routine->kernels[i]];
		if (r < program->routines.n)
			routine->nkernels = change(t, kernels, routine->nkernels);
		routine->kernels = ARENA_ARRAY(program->arena, KernelId, routine->nkernels + 1);
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			routine->kernels[i] = (KernelId)program->kernels.n;
			PUSH(program->arena, program->kernels, kernels[i]);
		}
	}
	return program->kernels.n < n;
}
