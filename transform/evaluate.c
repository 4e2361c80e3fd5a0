/* Functions of constants alone, computed while compiling: the interpreter runs the kernels that would pack them, and what
 * these store is a constant. lower/prepack_value.c says which there are, and transform/gpu/prepack.c for a GPU.
 *
 *   buffer cos : f32 [64] packed                       buffer cos : f32 [64] const as [64] = 1, 0.995184720, ...
 *   kernel cos(-> cos packed)
 *   routine pack() of state: run cos
 *
 * On a CPU the bits are those that the compiled kernel would store, as all back ends share the order of additions and the
 * arithmetic of functions.
 */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "loops/walk.h"
#include "transform/transform.h"

bool evaluation_add(Evaluation *evaluation, int64_t work, int64_t bytes)
{
	bool room = work <= EVALUATED_WORK - evaluation->work &&
		    bytes <= EVALUATED_ALL - evaluation->bytes;
	evaluation->work += room ? work : 0;
	evaluation->bytes += room ? bytes : 0;
	return room;
}

/* A row of output, as long as the buffer has elements. */
static TensorType type_of(const Program *program, const Buffer *buffer, int64_t count)
{
	TensorType type = {.dtype = buffer->dtype, .noutput = 1};
	type.sizes = ARENA_ARRAY(program->arena, Size, 1);
	type.labels = ARENA_ARRAY(program->arena, Sym, 1);
	type.sizes[0] = buffer->elements;
	type.text =
		arena_printf(program->arena, "%s [%" PRId64 "]", dtype_name(buffer->dtype), count);
	return type;
}

/* Makes the buffer a constant whose elements are to be computed. */
static void make_constant(Program *program, BufferId id)
{
	Buffer *buffer = &program->buffers.at[id];
	int64_t count;
	REQUIRE(size_is_const(program->sizes, buffer->elements, &count));
	size_t bytes = (size_t)count * dtype_bytes(buffer->dtype);
	ProgramConst constant = {.name = buffer->name,
				 .type = type_of(program, buffer, count),
				 .bytes = memset(arena_alloc(program->arena, bytes + 1), 0, bytes),
				 .count = count,
				 .buffer = id};
	buffer->kind = BUFFER_CONST;
	buffer->arg = (uint32_t)program->consts.n;
	buffer->panels = false;
	PUSH(program->arena, program->consts, constant);
}

static bool is_evaluated(const Program *program, BufferId id)
{
	const Buffer *buffer = &program->buffers.at[id];
	return buffer->kind == BUFFER_PACKED && buffer->arg == PARAM_NONE;
}

static bool stores_evaluated(const Program *program, const Kernel *kernel)
{
	BufferUses uses = kernel_buffers(program->arena, kernel);
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].stored && is_evaluated(program, uses.at[i].buffer))
			return true;
	return false;
}

/* The kernels of `pack` that store such functions, or those that do not, in their order. */
static ProgramRoutine part_of_pack(const Program *program, bool evaluated)
{
	ProgramRoutine part = program->pack;
	part.kernels = ARENA_ARRAY(program->arena, KernelId, part.nkernels + 1);
	part.nkernels = 0;
	for (uint32_t i = 0; i < program->pack.nkernels; i++) {
		KernelId id = program->pack.kernels[i];
		if (stores_evaluated(program, &program->kernels.at[id]) == evaluated)
			part.kernels[part.nkernels++] = id;
	}
	return part;
}

/* Kernels that no routine runs leave the table. */
static void number_kernels(Program *program)
{
	const Kernel *before = program->kernels.at;
	size_t n = program->routines.n;
	memset(&program->kernels, 0, sizeof program->kernels);
	for (size_t r = 0; r < n + 2; r++) {
		ProgramRoutine *routine = r < n	   ? &program->routines.at[r]
					  : r == n ? &program->pack
						   : &program->init;
		KernelId *ids = ARENA_ARRAY(program->arena, KernelId, routine->nkernels + 1);
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			ids[i] = (KernelId)program->kernels.n;
			PUSH(program->arena, program->kernels, before[routine->kernels[i]]);
		}
		routine->kernels = ids;
	}
}

/* Constants from number `first` on that no kernel reads, as they were computed on the way to others, are none. */
static void drop_unread(Program *program, size_t first)
{
	bool *read = ARENA_ARRAY(program->arena, bool, program->buffers.n + 1);
	size_t n = first;
	for (size_t i = 0; i < program->kernels.n; i++) {
		BufferUses uses = kernel_buffers(program->arena, &program->kernels.at[i]);
		for (size_t k = 0; k < uses.n; k++)
			read[uses.at[k].buffer] = true;
	}
	for (size_t i = first; i < program->consts.n; i++) {
		ProgramConst constant = program->consts.at[i];
		Buffer *buffer = &program->buffers.at[constant.buffer];
		buffer->arg = (uint32_t)n;
		if (read[constant.buffer]) {
			program->consts.at[n++] = constant;
			continue;
		}
		buffer->kind = BUFFER_TEMP;
		buffer_forget(program, constant.buffer);
	}
	program->consts.n = n;
}

void program_evaluate(Program *program)
{
	const LowerOptions *options = &program->options;
	size_t first = program->consts.n;
	ProgramRoutine others = part_of_pack(program, false);
	if (others.nkernels == program->pack.nkernels)
		return;
	program->pack = part_of_pack(program, true);
	for (BufferId id = 0; id < program->buffers.n; id++)
		if (is_evaluated(program, id))
			make_constant(program, id);
	REQUIRE(options->interpret_pack(program, options->code));
	program->pack = others;
	number_kernels(program);
	drop_unread(program, first);
}
