/* Functions of constants alone (prepack_value.c), computed while compiling: the interpreter runs the kernels that would
 * pack them, and what these store is a constant.
 *
 *   buffer cos : f32 [64] packed                       buffer cos : f32 [64] const as [64] = 1, 0.995184720, ...
 *   kernel cos(-> cos packed)
 *   routine pack() of state: run cos
 *
 * The bits are those that the compiled kernel would store, as all back ends share the order of additions and the
 * arithmetic of functions.
 */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "lower/kernel.h"

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

void lower_evaluate(Lower *lower)
{
	Program *program = lower->program;
	for (BufferId id = 0; id < program->buffers.n; id++)
		if (program->buffers.at[id].kind == BUFFER_PACKED)
			make_constant(program, id);
	REQUIRE(lower->options->interpret_pack(program, lower->options->code));
	program->kernels.n -= program->pack.nkernels;
	program->pack.nkernels = 0;
}
