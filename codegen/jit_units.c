/* Kernels to units of about equal work for the compiler.
 *
 * The weight of a kernel is the number of statements that it unrolls to; a vector counts as one.
 * There are as many units as full weights, up to a limit; the heaviest kernel goes first, each to
 * the unit that is lightest so far.
 */
#include "codegen/jit_units.h"

#include <stdlib.h>

enum { UNITS_MAX = 8, UNIT_WEIGHT = 600, KERNEL_WEIGHT = 20, LANES = 8 };

typedef struct Weighed {
	KernelId kernel;
	uint64_t weight;
} Weighed;

static uint64_t block_weight(const Module *m, Block block);

static uint64_t extent_of(const Module *m, const Stmt *loop)
{
	int64_t lo, hi;
	const Sizes *sizes = m->program->sizes;
	REQUIRE(size_is_const(sizes, loop->lo->size, &lo) &&
		size_is_const(sizes, loop->hi->size, &hi));
	return hi > lo ? (uint64_t)(hi - lo) : 0;
}

static uint64_t stmt_weight(const Module *m, const Stmt *stmt)
{
	uint64_t inside = block_weight(m, stmt->body);
	if (stmt->kind != LOOP_FOR)
		return 1 + inside;
	if (stmt->loop == LOOP_UNROLL)
		return extent_of(m, stmt) * inside;
	if (stmt->loop == LOOP_VECTOR)
		return (extent_of(m, stmt) + LANES - 1) / LANES * inside;
	return 2 + inside;
}

static uint64_t block_weight(const Module *m, Block block)
{
	uint64_t weight = 0;
	for (uint32_t i = 0; i < block.n; i++)
		weight += stmt_weight(m, block.stmts[i]);
	return weight;
}

static int by_weight(const void *a, const void *b)
{
	const Weighed *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int by_id(const void *a, const void *b)
{
	KernelId x = *(const KernelId *)a, y = *(const KernelId *)b;
	return (x > y) - (x < y);
}

static JitUnit *lightest(const JitUnits *units)
{
	JitUnit *best = &units->at[0];
	for (uint32_t i = 1; i < units->n; i++)
		if (units->at[i].weight < best->weight)
			best = &units->at[i];
	return best;
}

static uint32_t count_units(uint64_t weight, size_t nkernels, bool together)
{
	uint64_t n = together ? 1 : weight / UNIT_WEIGHT;
	if (n > UNITS_MAX)
		n = UNITS_MAX;
	if (n > nkernels)
		n = nkernels;
	return n || !nkernels ? (uint32_t)n : 1;
}

JitUnits jit_units(const Module *module, bool together)
{
	Arena *arena = module->arena;
	VEC(Weighed) list = {0};
	uint64_t total = 0;
	for (KernelId k = 0; k < module->program->kernels.n; k++) {
		if (module->kernels[k].same != k)
			continue;
		uint64_t weight = block_weight(module, module->kernels[k].kernel.body);
		PUSH(arena, list, ((Weighed){k, KERNEL_WEIGHT + weight}));
		total += KERNEL_WEIGHT + weight;
	}
	JitUnits units = {.n = count_units(total, list.n, together)};
	units.at = ARENA_ARRAY(arena, JitUnit, units.n + 1);
	if (list.n)
		qsort(list.at, list.n, sizeof *list.at, by_weight);
	for (size_t i = 0; i < list.n; i++) {
		JitUnit *unit = lightest(&units);
		PUSH(arena, unit->kernels, list.at[i].kernel);
		unit->weight += list.at[i].weight;
	}
	for (uint32_t i = 0; i < units.n; i++)
		qsort(units.at[i].kernels.at, units.at[i].kernels.n, sizeof(KernelId), by_id);
	return units;
}
