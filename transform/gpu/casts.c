/* Tensors that are another one, or a part of it, are read from that one, in the type that it has.
 *
 *   kernel cast  for i, k: cast[i*n + k] = f32(x[i*n + k])      (gone)
 *   kernel y     ... acc += cast[i*n + k] * ...            ->   ... acc += f32(x[i*n + k]) * ...
 *
 * Where every element is stored, by one kernel that does nothing else, from a place of a buffer that is as far from
 * it for all, and no kernel stores to that buffer up to the last one that reads the copy. Types are the same, or
 * the copy's is wider.
 */
#include <string.h>

#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/gpu/bind.h"

/* A copy: what is stored of what, so many elements further. */
typedef struct Copy {
	const Stmt *store;
	const Value *load;
	const Ix *offset;
	bool casts;
} Copy;

static bool is_read_instead(const RoutineKernels *c, const Copy *copy)
{
	const Buffer *from = &c->program->buffers.at[copy->load->buffer];
	const Buffer *to = &c->program->buffers.at[copy->store->buffer];
	bool widens = dtype_is_float(from->dtype) && dtype_is_float(to->dtype) &&
		      dtype_bytes(from->dtype) < dtype_bytes(to->dtype);
	bool same = from->dtype == to->dtype && copy->load->dtype == to->dtype;
	return to->kind == BUFFER_TEMP && (copy->casts ? widens : same);
}

/* Does the kernel do nothing but copy a buffer, or a part of it, element by element? */
static bool copy_of(const RoutineKernels *c, const Kernel *kernel, Copy *copy)
{
	const Stmt *stmt = block_only(block_nest(kernel->body).body);
	if (!stmt || stmt->kind != LOOP_STORE || stmt->acc != OP_NONE)
		return false;
	copy->store = stmt;
	copy->casts = stmt->value->kind == VALUE_CAST;
	copy->load = copy->casts ? stmt->value->args[0] : stmt->value;
	if (copy->load->kind != VALUE_LOAD || !is_read_instead(c, copy))
		return false;
	copy->offset = ix_minus(c->program, copy->load->ix, stmt->ix);
	return copy->offset->kind == IX_SIZE;
}

/* Do all kernels behind only read what was stored, in the same loop, while its source stays? Those in front do not
 * touch it. */
static bool may_go(const RoutineKernels *c, uint32_t at, const Copy *copy)
{
	BufferId from = copy->load->buffer;
	bool changed = false;
	if (program_loops_use(c->program, copy->store->buffer))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		const BufferUse *use = i == at ? NULL : routine_use(c, i, copy->store->buffer);
		const BufferUse *source = i < at ? NULL : routine_use(c, i, from);
		if (use && (i < at || use->stored || changed || c->at[i].loop != c->at[at].loop))
			return false;
		changed |= source && source->stored;
		if (use && changed)
			return false;
	}
	return true;
}

static void read_source(const RoutineKernels *c, Kernel *kernel, const Copy *copy)
{
	BufferTwin twin = {.kind = copy->casts ? TWIN_CAST : TWIN_BUFFER,
			   .buffer = copy->store->buffer,
			   .id = copy->load->buffer};
	BufferOffset offset = {copy->store->buffer, copy->offset};
	Rewrite rewrite = {.program = c->program,
			   .iters = kernel_iters(c->program->arena, kernel, 0),
			   .twins = &twin,
			   .ntwins = 1,
			   .offsets = &offset,
			   .noffsets = 1,
			   .span = kernel->span};
	kernel->body = rewrite_block(&rewrite, kernel->body);
}

static uint32_t casts_routine(const Transform *t, Kernel *kernels, uint32_t nkernels)
{
	RoutineKernels c = {t->program, t->scratch, kernels, nkernels, kernel_uses_new(t->scratch)};
	Kernel *left = ARENA_ARRAY(t->scratch, Kernel, nkernels + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < nkernels; i++) {
		Copy copy;
		if (!copy_of(&c, &c.at[i], &copy) || !may_go(&c, i, &copy)) {
			left[n++] = kernels[i];
			continue;
		}
		for (uint32_t k = i + 1; k < nkernels; k++)
			if (routine_use(&c, k, copy.store->buffer))
				read_source(&c, &c.at[k], &copy);
		buffer_forget(t->program, copy.store->buffer);
	}
	memcpy(kernels, left, n * sizeof *left);
	return n;
}

void transform_casts(Transform *t)
{
	t->changed = t->options->gpu && routines_change(t, casts_routine);
}
