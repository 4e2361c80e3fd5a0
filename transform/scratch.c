/* Scratch buffers in loops that threads share: a part for each slot.
 *
 *   parallel chunk in 0..n { ... t[i] ... }
 * becomes
 *   parallel chunk in 0..n slot of 16 { ... t[slot*elements + i] ... }
 *
 * There are as many slots as chunks, but no more than SLOTS; their number does not depend on
 * threads. A scratch buffer is used in one loop at the top of one kernel.
 */
#include "base/diag.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/transform.h"

static int64_t slots_of(const Program *program, const Stmt *loop)
{
	int64_t n;
	bool few = loop->hi->kind == IX_SIZE && size_is_const(program->sizes, loop->hi->size, &n) &&
		   n < program->options.target->thread_slots;
	return few ? n : program->options.target->thread_slots;
}

/* The elements of a part: the next one begins as a buffer does. */
static Size part_of(Program *program, const Buffer *buffer)
{
	int64_t least = BUFFER_ALIGNMENT / (int64_t)dtype_bytes(buffer->dtype);
	return size_scale(program->sizes, size_ceil(program->sizes, buffer->elements, least),
			  least);
}

static IterVar new_slot(Program *program, Kernel *kernel)
{
	KernelIter slot = {sym_cstr(program->symbols, "slot")};
	Kernel more = {.iters = &slot, .niters = 1};
	kernel_append_tables(program->arena, kernel, &more);
	return kernel->niters - 1;
}

void kernel_scratch(Program *program, Kernel *kernel, Stmt *loop)
{
	Arena *arena = program->arena;
	Kernel part = {.body = {(const Stmt *const *)&loop, 1}};
	BufferUses uses = kernel_buffers(arena, &part);
	BufferOffset *offsets = ARENA_ARRAY(arena, BufferOffset, uses.n + 1);
	uint32_t noffsets = 0;
	for (size_t i = 0; i < uses.n; i++)
		if (program->buffers.at[uses.at[i].buffer].scratch)
			offsets[noffsets++].buffer = uses.at[i].buffer;
	if (noffsets == 0)
		return;
	loop->slot = new_slot(program, kernel);
	loop->nslots = slots_of(program, loop);
	for (uint32_t i = 0; i < noffsets; i++) {
		Buffer *buffer = &program->buffers.at[offsets[i].buffer];
		Size elements = part_of(program, buffer);
		offsets[i].offset =
			ix_mul(program, ix_iter(arena, loop->slot), ix_size(arena, elements));
		buffer->elements = size_scale(program->sizes, elements, loop->nslots);
	}
	Rewrite rewrite = {.program = program,
			   .iters = kernel_iters(arena, kernel, 0),
			   .renames = true,
			   .offsets = offsets,
			   .noffsets = noffsets,
			   .span = loop->span};
	loop->body = rewrite_block(&rewrite, loop->body);
}
