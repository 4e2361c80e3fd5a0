/* This machine, measured: what the system says of its caches, and how many multiply-adds and loads
 * of vectors begin in a cycle. The clock is a chain of additions of integers, each of which takes
 * one cycle on every processor: no counter of the processor need be allowed, and its frequency may
 * change. Of several rounds the fastest counts, since others may use the machine.
 */
#include "target/measure.h"

#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200, REPEATS = 2000, STEPS = 12 };

#define EACH_OF_12(step)                                                                         \
	step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) \
		step(11)
#define CLOBBERS                                                                                 \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
		"xmm11", "xmm12"

/* Each runs 12 instructions. */
static void add_chain(const char *memory)
{
#define STEP(n) "add $1, %%rcx\n\t"
	__asm__ volatile(EACH_OF_12(STEP) : : "r"(memory) : "rcx", "cc");
#undef STEP
}

static void fma_chain(const char *memory)
{
#define STEP(n) "vfmadd231ps %%ymm12, %%ymm12, %%ymm0\n\t"
	__asm__ volatile(EACH_OF_12(STEP) : : "r"(memory) : CLOBBERS);
#undef STEP
}

static void fmas_independent(const char *memory)
{
#define STEP(n) "vfmadd231ps %%ymm12, %%ymm12, %%ymm" #n "\n\t"
	__asm__ volatile(EACH_OF_12(STEP) : : "r"(memory) : CLOBBERS);
#undef STEP
}

static void loads_independent(const char *memory)
{
#define STEP(n) "vmovups 32*" #n "(%0), %%ymm" #n "\n\t"
	__asm__ volatile(EACH_OF_12(STEP) : : "r"(memory) : CLOBBERS);
#undef STEP
}

static void clear_registers(void)
{
	__asm__ volatile("vzeroall" : : : CLOBBERS, "xmm13", "xmm14", "xmm15");
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds of one instruction. */
static double time_of(void (*run)(const char *memory))
{
	static const char memory[32 * STEPS] __attribute__((aligned(64)));
	double least = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns();
		for (int i = 0; i < REPEATS; i++)
			run(memory);
		double each = (now_ns() - start) / ((double)REPEATS * STEPS);
		least = each < least ? each : least;
	}
	return least;
}

static void measure_units(Target *target)
{
	clear_registers();
	double cycle = time_of(add_chain);
	target->fma_latency = (int64_t)(time_of(fma_chain) / cycle + 0.5);
	target->fma_ports = (int64_t)(cycle / time_of(fmas_independent) + 0.5);
	target->load_ports = (int64_t)(cycle / time_of(loads_independent) + 0.5);
}

/* What the system does not say stays as it is. */
static void ask(int name, int64_t *number)
{
	long said = sysconf(name);
	*number = said > 0 ? said : *number;
}

void target_measure(Target *target)
{
	ask(_SC_LEVEL1_DCACHE_SIZE, &target->l1_bytes);
	ask(_SC_LEVEL1_DCACHE_ASSOC, &target->l1_ways);
	target->l1_way_bytes = target->l1_bytes / target->l1_ways;
	ask(_SC_LEVEL2_CACHE_SIZE, &target->l2_bytes);
	ask(_SC_LEVEL3_CACHE_SIZE, &target->l3_bytes);
	if (target->features & FEATURE_BIT(FMA))
		measure_units(target);
	target_limit(target);
}
