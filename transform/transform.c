/* The passes from loops to loops, in order, and what runs one. */
#include "transform/transform.h"

#include <string.h>

const TransformPass transform_passes[TRANSFORM_PASSES] = {
	{"fusion", "kernels over the same rows as one", transform_fusion},
	{"transpose", "copies across memory in tiles", transform_transpose},
	{"horizontal", "small kernels as one loop for threads", transform_horizontal},
	{"parallel", "loops cut for threads", transform_parallel},
	{"memory", "places of temporaries, and what routines take and check", transform_memory},
};

bool transform_run(uint32_t pass, Program *program, const Schedule *asked, Diags *diags)
{
	Transform t = {.program = program,
		       .asked = asked,
		       .machine = &program->machine,
		       .diags = diags,
		       .scratch = arena_new()};
	bool changed = transform_passes[pass].run(&t);
	arena_free(t.scratch);
	return changed;
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
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			routine->kernels[i] = (KernelId)program->kernels.n;
			PUSH(program->arena, program->kernels, kernels[i]);
		}
	}
	return program->kernels.n < n;
}
