/* Iterators, locals and values of a product on its way to tiles. */
#include <string.h>

#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/walk.h"
#include "transform/bind_tiling.h"

IterVar tiling_iter(Tiling *g, const char *name)
{
	Sym wanted = sym_cstr(g->program->symbols, name);
	KernelIter own = {
		iter_unique(g->program, g->kernel->iters, g->kernel->niters, wanted, NULL)};
	kernel_append_tables(g->arena, g->kernel, &(Kernel){.iters = &own, .niters = 1});
	return g->kernel->niters - 1;
}

LocalId tiling_local(Tiling *g, KernelLocal local)
{
	local.name = local_unique(g->program, g->kernel->locals, g->kernel->nlocals, local.name);
	local.dtype = DTYPE_F32;
	kernel_append_tables(g->arena, g->kernel, &(Kernel){.locals = &local, .nlocals = 1});
	return g->kernel->nlocals - 1;
}

const Value *tiling_cell(const Tiling *g, LocalId local, const Ix *const *ixs)
{
	uint32_t n = g->kernel->locals[local].rank;
	const Ix **own = ARENA_ARRAY(g->arena, const Ix *, n + 1);
	memcpy(own, ixs, n * sizeof *own);
	return value_local(g->arena, g->kernel, local, own, n);
}

/* The innermost loop of the group stands for all of them. */
void tiling_put(const Tiling *g, const Ix **iters, const LoopGroup *group, const Ix *at)
{
	for (uint32_t i = 0; i < group->n; i++)
		iters[group->loops[i]->iter] = i + 1 < group->n ? number(g, 0) : at;
}

const Ix **tiling_iters(const Tiling *g)
{
	const Ix **iters = ARENA_ARRAY(g->arena, const Ix *, g->kernel->niters + 1);
	for (IterVar i = 0; i < g->kernel->niters; i++)
		iters[i] = iter(g, i);
	return iters;
}

Block tiling_rewrite(const Tiling *g, const Ix **iters, Block block)
{
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	return rewrite_block(&rewrite, block);
}

const Value *tiling_factor(const Tiling *g, const Side *side, const Ix *at, const Ix *k)
{
	const Ix **iters = tiling_iters(g);
	tiling_put(g, iters, side->group, at);
	tiling_put(g, iters, &g->product->sum, k);
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	return rewrite_alone(&rewrite, side->operand->value);
}

/* ---- wide accesses ---- */

typedef struct Wide {
	const Tiling *g;
	const Multiples *multiples;
	const Ix *lane;
	bool wrong;
} Wide;

/* May four lanes access the buffer at once there? */
static void see_wide(Wide *w, BufferId buffer, const Ix *ix)
{
	const Tiling *g = w->g;
	int64_t bytes = QUAD * (int64_t)dtype_bytes(g->program->buffers.at[buffer].dtype);
	Size stride = ix_stride(g->program, ix, w->lane->iter);
	if (!ix_uses(ix, w->lane->iter))
		return;
	bool beside = !size_is_bad(stride) && size_is(g->program->sizes, stride, 1);
	const Ix *first = plus(g, ix, times(g, w->lane, -1));
	w->wrong |= !beside || (bytes != 8 && bytes != 16) ||
		    ix_multiple(w->multiples, first) % QUAD != 0;
}

static void see_wide_load(void *of, const Value *value)
{
	Wide *w = of;
	if (value->kind == VALUE_LOAD)
		see_wide(w, value->buffer, value->ix);
	w->wrong |= value->kind == VALUE_INDEX && ix_uses(value->ix, w->lane->iter);
}

/* Nothing is known of the new iterators but that k goes in steps. */
static Multiples multiples_of(const Tiling *g)
{
	Multiples m = {g->program->sizes, ARENA_ARRAY(g->arena, int64_t, g->kernel->niters + 1)};
	for (IterVar i = 0; i < g->kernel->niters; i++)
		m.iters[i] = i == g->k ? g->tile->steps : 1;
	return m;
}

bool tiling_value_is_wide(const Tiling *g, const Value *value, IterVar lane)
{
	Multiples multiples = multiples_of(g);
	Wide wide = {g, &multiples, iter(g, lane), false};
	value_each(value, see_wide_load, &wide);
	return !wide.wrong;
}

bool tiling_cell_is_wide(const Tiling *g, BufferId buffer, const Ix *ix, IterVar lane)
{
	Multiples multiples = multiples_of(g);
	Wide wide = {g, &multiples, iter(g, lane), false};
	see_wide(&wide, buffer, ix);
	return !wide.wrong;
}

bool tiling_by_four(const Tiling *g, Size extent)
{
	return size_divides(g->program->sizes, size_const(g->program->sizes, QUAD), extent);
}
