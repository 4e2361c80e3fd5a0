/* What a routine takes, and what it checks before anything else: read off from its finished kernels. */
#include "transform/entry.h"

#include <inttypes.h>
#include <string.h>

#include "base/size_fits.h"
#include "loops/dependence.h"
#include "loops/walk.h"

enum { ROUTINE_ARGS = 1000 };

static void note_dims(const Transform *t, Size size, bool *dims)
{
	size_note_dims(t->program->sizes, size, dims);
}

static void note_type_dims(const Transform *t, const TensorArg *args, uint32_t n, bool *dims)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t axis = 0;
		     axis < args[i].type.nbatch + args[i].type.noutput + args[i].type.ninput;
		     axis++)
			note_dims(t, args[i].type.sizes[axis], dims);
}

static void note_kernel_dims(const Transform *t, const Kernel *kernel, bool *dims)
{
	const Program *program = t->program;
	SizeList sizes = kernel_sizes(t->scratch, kernel);
	for (size_t i = 0; i < sizes.n; i++)
		note_dims(t, sizes.at[i], dims);
	BufferUses uses = kernel_buffers(t->scratch, kernel);
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *buffer = &program->buffers.at[uses.at[i].buffer];
		note_dims(t, buffer->elements, dims);
		if (buffer->kind == BUFFER_PARAM)
			note_dims(t, program->params.at[buffer->arg].offset, dims);
		if (buffer->kind == BUFFER_PACKED || buffer->kind == BUFFER_TEMP)
			note_dims(t, buffer->offset, dims);
	}
}

/* Sizes that lowering made and that passed a bound on the way: none of them reaches a back end. */
static bool kernel_sizes_fit(const Transform *t, const Kernel *kernel)
{
	SizeList sizes = kernel_sizes(t->scratch, kernel);
	bool fit = true;
	for (size_t i = 0; i < sizes.n && fit; i++)
		fit = size_fits(t->diags, t->program->sizes, sizes.at[i], kernel->span,
				      arena_printf(t->program->arena, "an index of the kernel %s",
						   kernel->name));
	return fit;
}

void entry_check_sizes(const Transform *t, const ProgramRoutine *routine)
{
	bool fit = size_fits(
		t->diags, t->program->sizes, routine->workspace, routine->span,
		arena_printf(t->program->arena,
			     "the number of bytes of the workspace of %s, all its temporaries,",
			     routine->name));
	for (uint32_t i = 0; i < routine->nkernels && fit; i++)
		fit = kernel_sizes_fit(t, &t->program->kernels.at[routine->kernels[i]]);
}

/* Those that numbers of steps are made of. */
static void note_loop_dims(const Transform *t, const ProgramRoutine *routine, bool *dims)
{
	const Program *program = t->program;
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		uint32_t loop = program->kernels.at[routine->kernels[i]].loop;
		for (; loop; loop = program->loops.at[loop].parent)
			note_dims(t, program->loops.at[loop].count, dims);
	}
}

void entry_list_dims(const Transform *t, ProgramRoutine *routine)
{
	bool *dims = ARENA_ARRAY(t->scratch, bool, sizes_ndims(t->program->sizes) + 1);
	note_type_dims(t, routine->inputs, routine->ninputs, dims);
	note_type_dims(t, routine->outputs, routine->noutputs, dims);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		note_kernel_dims(t, &t->program->kernels.at[routine->kernels[i]], dims);
	note_dims(t, routine->workspace, dims);
	note_loop_dims(t, routine, dims);
	for (DimId d = 0; routine->written && d < sizes_ndims(t->program->sizes); d++)
		dims[d] |= routine->written[d];
	routine->dims = ARENA_ARRAY(t->program->arena, DimId, sizes_ndims(t->program->sizes) + 1);
	for (DimId d = 0; d < sizes_ndims(t->program->sizes); d++)
		if (dims[d] && sizes_dim(t->program->sizes, d)->kind == DIM_ARGUMENT)
			routine->dims[routine->ndims++] = d;
}

/* The guards of sizes whose dims the routine has. They are the program's first checks. */
void entry_list_guards(const Transform *t, ProgramRoutine *routine, CheckId more)
{
	uint32_t nguards = t->program->nguards, ndims = sizes_ndims(t->program->sizes);
	bool *has = ARENA_ARRAY(t->scratch, bool, ndims + 1);
	bool *uses = ARENA_ARRAY(t->scratch, bool, ndims + 1);
	for (uint32_t i = 0; i < routine->ndims; i++)
		has[routine->dims[i]] = true;
	for (uint32_t i = 0; i < routine->nscalars; i++)
		if (routine->scalars[i].dim != DIM_NONE)
			has[routine->scalars[i].dim] = true;
	routine->guards = ARENA_ARRAY(t->program->arena, CheckId, nguards + 2);
	for (CheckId i = 0; i < nguards; i++) {
		const Check *check = &t->program->checks.at[i];
		bool knows = true;
		memset(uses, 0, ndims);
		note_dims(t, check->a, uses);
		note_dims(t, check->b, uses);
		for (DimId d = 0; d < ndims; d++)
			knows = knows && (has[d] || !uses[d]);
		if (knows)
			routine->guards[routine->nguards++] = i;
	}
	if (more != CHECK_NONE)
		routine->guards[routine->nguards++] = more;
}

/* Compilers of C, GCC behind us among them, take long over many. */
void entry_check_arguments(const Transform *t, const ProgramRoutine *routine)
{
	uint32_t n = routine->ndims + routine->nscalars + routine->ninputs + routine->noutputs;
	if (n > ROUTINE_ARGS)
		diag(t->diags, E0236, routine->span,
		     "a routine has at most %d arguments, and %s has %u: %u dims, %u scalars, %u inputs and %u results",
		     ROUTINE_ARGS, routine->name, n, routine->ndims, routine->nscalars,
		     routine->ninputs, routine->noutputs);
}
