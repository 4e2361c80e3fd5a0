/* Tensors that are another one in a wider type are read from that one.
 *
 *   kernel cast  for i, k: cast[i*n + k] = f32(x[i*n + k])      (gone)
 *   kernel y     ... acc += cast[i*n + k] * ...            ->   ... acc += f32(x[i*n + k]) * ...
 *
 * Where every element is stored, by one kernel that does nothing else, from the same place of a buffer that no
 * kernel stores to up to the last one that reads the copy.
 */
#include <string.h>

#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/gpu/bind.h"

/* Does the kernel do nothing but widen a buffer element by element? Its store. */
static const Stmt *cast_store(const RoutineKernels *c, const Kernel *kernel)
{
	const Block *body = &kernel->body;
	while (body->n == 1 && body->stmts[0]->kind == LOOP_FOR)
		body = &body->stmts[0]->body;
	const Stmt *stmt = body->n == 1 ? body->stmts[0] : NULL;
	if (!stmt || stmt->kind != LOOP_STORE || stmt->acc != OP_NONE ||
	    stmt->value->kind != VALUE_CAST || stmt->value->args[0]->kind != VALUE_LOAD)
		return NULL;
	const Value *load = stmt->value->args[0];
	const Buffer *from = &c->program->buffers.at[load->buffer];
	const Buffer *to = &c->program->buffers.at[stmt->buffer];
	bool widens = dtype_is_float(from->dtype) && dtype_is_float(to->dtype) &&
		      dtype_bytes(from->dtype) < dtype_bytes(to->dtype);
	return widens && to->kind == BUFFER_TEMP && size_same(from->elements, to->elements) &&
			       ix_same(load->ix, stmt->ix)
		       ? stmt
		       : NULL;
}

/* Do all kernels behind only read what was stored, in the same loop, while its source stays? Those in front do not
 * touch it. */
static bool may_go(const RoutineKernels *c, uint32_t at, const Stmt *store)
{
	BufferId from = store->value->args[0]->buffer;
	bool changed = false;
	if (program_loops_use(c->program, store->buffer))
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		const BufferUse *use = i == at ? NULL : routine_use(c, i, store->buffer);
		const BufferUse *source = i < at ? NULL : routine_use(c, i, from);
		if (use && (i < at || use->stored || changed || c->at[i].loop != c->at[at].loop))
			return false;
		changed |= source && source->stored;
		if (use && changed)
			return false;
	}
	return true;
}

static void read_source(const RoutineKernels *c, Kernel *kernel, const Stmt *store)
{
	BufferTwin twin = {
		.kind = TWIN_CAST, .buffer = store->buffer, .id = store->value->args[0]->buffer};
	kernel->body = rewrite_twins(c->program, kernel, kernel->body, &twin, 1);
}

static uint32_t casts_routine(const Transform *t, Kernel *kernels, uint32_t nkernels)
{
	RoutineKernels c = {t->program, t->scratch, kernels, nkernels};
	Kernel *left = ARENA_ARRAY(t->scratch, Kernel, nkernels + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < nkernels; i++) {
		const Stmt *store = cast_store(&c, &c.at[i]);
		if (!store || !may_go(&c, i, store)) {
			left[n++] = kernels[i];
			continue;
		}
		for (uint32_t k = i + 1; k < nkernels; k++)
			if (routine_use(&c, k, store->buffer))
				read_source(&c, &c.at[k], store);
		buffer_forget(t->program, store->buffer);
	}
	memcpy(kernels, left, n * sizeof *left);
	return n;
}

void transform_casts(Transform *t)
{
	t->changed = t->options->gpu && routines_change(t, casts_routine);
}
