/* A table of what kernels touch, by the address of their statements. */
#include "transform/gpu/kernel_uses.h"

typedef struct Known {
	const Stmt *const *stmts; /* NULL: the slot is free */
	uint32_t n;
	KernelFacts facts;
} Known;

struct KernelUses {
	Arena *arena;
	Known *slots;
	size_t nslots, n; /* nslots: a power of two, more than n */
};

enum { SLOTS_FIRST = 8 };

KernelUses *kernel_uses_new(Arena *arena)
{
	KernelUses *table = ARENA_NEW(arena, KernelUses);
	*table = (KernelUses){arena, ARENA_ARRAY(arena, Known, SLOTS_FIRST), SLOTS_FIRST, 0};
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

/* The slot of a body, or the free one where it would stand. The order of slots is never seen. */
static Known *slot_of(const KernelUses *table, const Block *body)
{
	size_t at = ((uintptr_t)body->stmts >> 4) * 0x9e3779b97f4a7c15u;
	Known *slot = &table->slots[(at >> 20) & (table->nslots - 1)];
	while (slot->stmts &&
	       (slot->stmts != body->stmts || slot->n != body->n)) /* falls: slots that are taken */
		slot = slot + 1 == table->slots + table->nslots ? table->slots : slot + 1;
	return slot;
}

static void grow(KernelUses *table)
{
	KernelUses larger = {table->arena, ARENA_ARRAY(table->arena, Known, 2 * table->nslots),
			     2 * table->nslots, table->n};
	for (size_t i = 0; i < table->nslots; i++) {
		const Known *old = &table->slots[i];
		Block body = {old->stmts, old->n};
		if (old->stmts)
			*slot_of(&larger, &body) = *old;
	}
	*table = larger;
}

const KernelFacts *kernel_uses(KernelUses *table, const Kernel *kernel)
{
	static const KernelFacts nothing;
	if (kernel->body.n == 0)
		return &nothing;
	if (2 * table->n >= table->nslots)
		grow(table);
	Known *slot = slot_of(table, &kernel->body);
	if (!slot->stmts) {
		*slot = (Known){kernel->body.stmts,
				kernel->body.n,
				{kernel_buffers(table->arena, kernel), count_stmts(&kernel->body)}};
		table->n++;
	}
	return &slot->facts;
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
