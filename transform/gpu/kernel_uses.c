/* A table of what kernels touch, by the address of their statements. */
#include "transform/gpu/kernel_uses.h"

#include "base/pointer_map.h"
#include "transform/gpu/bind.h"

typedef struct Known {
	uint32_t n; /* statements of the body */
	KernelFacts facts;
} Known;

struct KernelUses {
	Arena *arena;
	PointerMap known; /* the Known of a body, by its statements */
};

KernelUses *kernel_uses_new(Arena *arena)
{
	KernelUses *table = ARENA_NEW(arena, KernelUses);
	*table = (KernelUses){.arena = arena, .known = {.arena = arena}};
	return table;
}

static uint32_t count_stmts(const Block *block)
{
	uint32_t n = block->n;
	for (uint32_t i = 0; i < block->n; i++) {
		uint32_t inside = count_stmts(&block->stmts[i]->body);
		if (block->stmts[i]->kind == LOOP_CHECK || inside == UINT32_MAX)
			return UINT32_MAX;
		n += inside;
	}
	return n;
}

static const Known *look_at(Arena *arena, const Kernel *kernel)
{
	Known *known = ARENA_NEW(arena, Known);
	*known = (Known){kernel->body.n,
			 {.uses = kernel_buffers(arena, kernel),
			  .statements = count_stmts(&kernel->body),
			  .loops = block_find(grid_body(kernel), stmt_is_loop, NULL) != NULL}};
	return known;
}

const KernelFacts *kernel_uses(KernelUses *table, const Kernel *kernel)
{
	static const KernelFacts nothing;
	if (kernel->body.n == 0)
		return &nothing;
	uint64_t *place = pointer_map_at(&table->known, kernel->body.stmts);
	const Known *known = (const Known *)(uintptr_t)*place;
	if (!known || known->n != kernel->body.n) {
		known = look_at(table->arena, kernel);
		*place = (uint64_t)(uintptr_t)known;
	}
	return &known->facts;
}

bool kernel_may_wait(KernelUses *table, const Kernel *kernels, uint32_t from, uint32_t to)
{
	const BufferUses *own = &kernel_uses(table, &kernels[from])->uses;
	bool may = kernels[from].loop == kernels[to].loop;
	for (uint32_t i = from + 1; i <= to && may; i++) {
		const BufferUses *uses = &kernel_uses(table, &kernels[i])->uses;
		for (size_t k = 0; k < uses->n; k++)
			may &= !uses->at[k].stored || !buffer_use(own, uses->at[k].buffer);
	}
	return may;
}
