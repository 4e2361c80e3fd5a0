/* Kernels to units of work for the compiler, which are also what its cache keeps.
 *
 * The weight of a kernel is the number of statements that it unrolls to; a vector counts as one. A
 * heavy kernel is a unit. Light ones share: a kernel's identity chooses its unit among a number of
 * units that is a power of two, so that a change of one kernel changes two units at most. Each
 * unit costs the start of a compiler; without optimisation that is more of its time than a few
 * hundred statements, and units are larger.
 */
#include "codegen/jit_units.h"

#include "loops/walk.h"

enum { HEAVY = 150, SHARED_WEIGHT = 400, KERNEL_WEIGHT = 20, UNOPTIMIZED = 8 };

bool jit_is_plain_loop(const Stmt *stmt)
{
	bool explicit = stmt->loop == LOOP_UNROLL || stmt->loop == LOOP_VECTOR;
	return stmt->kind == LOOP_FOR && !explicit && !block_find(stmt->body, stmt_is_loop, NULL);
}

static bool is_plain_loop(const void *of, const Stmt *stmt)
{
	(void)of;
	return jit_is_plain_loop(stmt);
}

static uint64_t kernel_weight(const Module *m, KernelId id)
{
	return KERNEL_WEIGHT + block_weight(m->program, m->kernels[id].kernel.body);
}

static uint64_t count_shared(uint64_t weight, uint64_t shared)
{
	uint64_t n = 1;
	while (n * shared < weight)
		n *= 2;
	return n;
}

/* Units stand in the order of their first kernels. */
static JitUnit *unit_for(JitUnits *units, Arena *arena, uint64_t place)
{
	for (size_t i = 0; i < units->n; i++)
		if (units->at[i].place == place)
			return &units->at[i];
	PUSH(arena, *units, ((JitUnit){.place = place}));
	return &units->at[units->n - 1];
}

/* The random numbers, which are no kernels: a unit of their own, the same in all programs. */
static void add_uniform(JitUnits *units, const Module *m, bool together)
{
	JitUnit unit = {.place = UINT64_MAX, .weight = HEAVY, .plain = true};
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		unit.uniform |= (uint32_t)module_has_uniform(m, d) << d;
	if (!unit.uniform)
		return;
	if (!together || units->n == 0)
		PUSH(m->arena, *units, unit);
	units->at[together ? 0 : units->n - 1].uniform = unit.uniform;
}

JitUnits jit_units(const Module *module, const CodeOptions *options)
{
	JitUnits units = {0};
	bool together = options->debug;
	uint64_t light = 0, scale = options->opt_level ? 1 : UNOPTIMIZED;
	KernelId n = (KernelId)module->program->kernels.n;
	uint64_t *weights = ARENA_ARRAY(module->arena, uint64_t, n + 1);
	for (KernelId k = 0; k < n; k++) {
		weights[k] = kernel_weight(module, k);
		if (module->kernels[k].same == k && weights[k] < HEAVY * scale)
			light += weights[k];
	}
	uint64_t nshared = together ? 1 : count_shared(light, SHARED_WEIGHT * scale);
	for (KernelId k = 0; k < n; k++) {
		if (module->kernels[k].same != k)
			continue;
		bool alone = weights[k] >= HEAVY * scale && !together;
		uint64_t place = alone ? nshared + k : module->kernels[k].identity.low % nshared;
		JitUnit *unit = unit_for(&units, module->arena, place);
		unit->plain |= 
			block_find(module->kernels[k].kernel.body, is_plain_loop, NULL) != NULL;
		PUSH(module->arena, unit->kernels, k);
		unit->weight += weights[k];
	}
	add_uniform(&units, module, together);
	return units;
}
