/* Features with the bits of cpuid that tell of them, and processors as a level with additions. The
 * same table serves -march=native here and the check in the modules that are made. */
#include "codegen/cpu.h"

#include <cpuid.h>
#include <string.h>

#include "base/diag.h"
#include "codegen/codegen.h"

typedef enum Register { EAX, EBX, ECX, EDX } Register;
typedef enum Leaf { LEAF_1, LEAF_7, LEAF_7_1, LEAF_EXT, LEAF_COUNT } Leaf;

static const struct {
	uint32_t leaf, sub;
} leaves[LEAF_COUNT] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};

enum { XCR0_NONE = 0, XCR0_YMM = 0x6, XCR0_ZMM = 0xE6, XCR0_TILE = 0x60000, OSXSAVE = 1 << 27 };

/* FEATURE(identifier, name for -m and in tables, leaf, register, bit, state the system must keep)
 */
#define FEATURES(FEATURE)                                                   \
	FEATURE(SSE3, "sse3", LEAF_1, ECX, 0, XCR0_NONE)                    \
	FEATURE(SSSE3, "ssse3", LEAF_1, ECX, 9, XCR0_NONE)                  \
	FEATURE(SSE41, "sse4.1", LEAF_1, ECX, 19, XCR0_NONE)                \
	FEATURE(SSE42, "sse4.2", LEAF_1, ECX, 20, XCR0_NONE)                \
	FEATURE(POPCNT, "popcnt", LEAF_1, ECX, 23, XCR0_NONE)               \
	FEATURE(AVX, "avx", LEAF_1, ECX, 28, XCR0_YMM)                      \
	FEATURE(F16C, "f16c", LEAF_1, ECX, 29, XCR0_YMM)                    \
	FEATURE(FMA, "fma", LEAF_1, ECX, 12, XCR0_YMM)                      \
	FEATURE(MOVBE, "movbe", LEAF_1, ECX, 22, XCR0_NONE)                 \
	FEATURE(LZCNT, "lzcnt", LEAF_EXT, ECX, 5, XCR0_NONE)                \
	FEATURE(BMI, "bmi", LEAF_7, EBX, 3, XCR0_NONE)                      \
	FEATURE(BMI2, "bmi2", LEAF_7, EBX, 8, XCR0_NONE)                    \
	FEATURE(AVX2, "avx2", LEAF_7, EBX, 5, XCR0_YMM)                     \
	FEATURE(AVX512F, "avx512f", LEAF_7, EBX, 16, XCR0_ZMM)              \
	FEATURE(AVX512CD, "avx512cd", LEAF_7, EBX, 28, XCR0_ZMM)            \
	FEATURE(AVX512DQ, "avx512dq", LEAF_7, EBX, 17, XCR0_ZMM)            \
	FEATURE(AVX512BW, "avx512bw", LEAF_7, EBX, 30, XCR0_ZMM)            \
	FEATURE(AVX512VL, "avx512vl", LEAF_7, EBX, 31, XCR0_ZMM)            \
	FEATURE(AVX512IFMA, "avx512ifma", LEAF_7, EBX, 21, XCR0_ZMM)        \
	FEATURE(AVX512VBMI, "avx512vbmi", LEAF_7, ECX, 1, XCR0_ZMM)         \
	FEATURE(AVX512VBMI2, "avx512vbmi2", LEAF_7, ECX, 6, XCR0_ZMM)       \
	FEATURE(AVX512VNNI, "avx512vnni", LEAF_7, ECX, 11, XCR0_ZMM)        \
	FEATURE(AVX512BITALG, "avx512bitalg", LEAF_7, ECX, 12, XCR0_ZMM)    \
	FEATURE(AVX512POPCNT, "avx512vpopcntdq", LEAF_7, ECX, 14, XCR0_ZMM) \
	FEATURE(AVX512BF16, "avx512bf16", LEAF_7_1, EAX, 5, XCR0_ZMM)       \
	FEATURE(AVX512FP16, "avx512fp16", LEAF_7, EDX, 23, XCR0_ZMM)        \
	FEATURE(AVXVNNI, "avxvnni", LEAF_7_1, EAX, 4, XCR0_YMM)             \
	FEATURE(AMXTILE, "amx-tile", LEAF_7, EDX, 24, XCR0_TILE)            \
	FEATURE(AMXBF16, "amx-bf16", LEAF_7, EDX, 22, XCR0_TILE)            \
	FEATURE(AMXINT8, "amx-int8", LEAF_7, EDX, 25, XCR0_TILE)

typedef enum FeatureId {
#define FEATURE(id, name, leaf, reg, bit, xcr0) F_##id,
	FEATURES(FEATURE)
#undef FEATURE
		FEATURE_COUNT
} FeatureId;

static const struct {
	const char *name;
	Leaf leaf;
	Register reg;
	int bit;
	uint32_t xcr0;
} features[FEATURE_COUNT] = {
#define FEATURE(id, name, leaf, reg, bit, xcr0) {name, leaf, reg, bit, xcr0},
	FEATURES(FEATURE)
#undef FEATURE
};

#define BIT(id) ((uint64_t)1 << F_##id)
#define LEVEL1 ((uint64_t)0)
#define LEVEL2 (BIT(SSE3) | BIT(SSSE3) | BIT(SSE41) | BIT(SSE42) | BIT(POPCNT))
#define LEVEL_AVX (LEVEL2 | BIT(AVX))
#define LEVEL3                                                                               \
	(LEVEL_AVX | BIT(F16C) | BIT(FMA) | BIT(MOVBE) | BIT(LZCNT) | BIT(BMI) | BIT(BMI2) | \
	 BIT(AVX2))
#define LEVEL4 \
	(LEVEL3 | BIT(AVX512F) | BIT(AVX512CD) | BIT(AVX512DQ) | BIT(AVX512BW) | BIT(AVX512VL))
#define LEVEL_ICE                                                                          \
	(LEVEL4 | BIT(AVX512IFMA) | BIT(AVX512VBMI) | BIT(AVX512VBMI2) | BIT(AVX512VNNI) | \
	 BIT(AVX512BITALG) | BIT(AVX512POPCNT))

static const struct {
	const char *name;
	Cpu cpu;
} cpus[] = {
	{"x86-64", {LEVEL1, "generic", false}},
	{"x86-64-v2", {LEVEL2, "generic", false}},
	{"x86-64-v3", {LEVEL3, "generic", false}},
	{"x86-64-v4", {LEVEL4, "generic", false}},
	{"nehalem", {LEVEL2, "nehalem", false}},
	{"westmere", {LEVEL2, "westmere", false}},
	{"sandybridge", {LEVEL_AVX, "sandybridge", false}},
	{"ivybridge", {LEVEL_AVX | BIT(F16C), "ivybridge", false}},
	{"haswell", {LEVEL3, "haswell", false}},
	{"broadwell", {LEVEL3, "broadwell", false}},
	{"skylake", {LEVEL3, "skylake", false}},
	{"alderlake", {LEVEL3 | BIT(AVXVNNI), "alderlake", false}},
	{"skylake-avx512", {LEVEL4, "skylake-avx512", false}},
	{"cascadelake", {LEVEL4 | BIT(AVX512VNNI), "cascadelake", false}},
	{"icelake-client", {LEVEL_ICE, "icelake-client", false}},
	{"icelake-server", {LEVEL_ICE, "icelake-server", false}},
	{"tigerlake", {LEVEL_ICE, "tigerlake", false}},
	{"sapphirerapids",
	 {LEVEL_ICE | BIT(AVX512BF16) | BIT(AVX512FP16) | BIT(AVXVNNI) | BIT(AMXTILE) |
		  BIT(AMXBF16) | BIT(AMXINT8),
	  "sapphirerapids", false}},
	{"znver1", {LEVEL3, "znver1", false}},
	{"znver2", {LEVEL3, "znver2", false}},
	{"znver3", {LEVEL3, "znver3", false}},
	{"znver4", {LEVEL_ICE | BIT(AVX512BF16), "generic", true}},
	{"znver5", {LEVEL_ICE | BIT(AVX512BF16) | BIT(AVXVNNI), "generic", true}},
};
enum { NCPUS = sizeof cpus / sizeof *cpus };

/* Which registers the system saves: without that a feature of the processor is of no use. */
static uint32_t xcr0_here(void)
{
	uint32_t low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static uint64_t features_here(void)
{
	uint32_t regs[LEAF_COUNT][4] = {{0}};
	for (int i = 0; i < LEAF_COUNT; i++)
		__get_cpuid_count(leaves[i].leaf, leaves[i].sub, &regs[i][EAX], &regs[i][EBX],
				  &regs[i][ECX], &regs[i][EDX]);
	uint32_t xcr0 = regs[LEAF_1][ECX] & OSXSAVE ? xcr0_here() : 0;
	uint64_t set = 0;
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (regs[features[f].leaf][features[f].reg] >> features[f].bit & 1 &&
		    (xcr0 & features[f].xcr0) == features[f].xcr0)
			set |= (uint64_t)1 << f;
	return set;
}

/* AMX is left out: the system gives it on request only. gcc 12 knows no tuning for Zen 4 and 5;
 * that for Zen 3 loads a vector again in each of up to four multiply-adds, where loads are as
 * scarce as these. */
static Cpu cpu_here(void)
{
	uint32_t max, vendor[3];
	__get_cpuid(0, &max, &vendor[0], &vendor[2], &vendor[1]);
	bool amd = memcmp(vendor, "AuthenticAMD", 12) == 0;
	uint64_t set = features_here() & ~(BIT(AMXTILE) | BIT(AMXBF16) | BIT(AMXINT8));
	bool wide = set & BIT(AVX512F), paired = wide && set & BIT(AVX512BF16);
	const char *tune = !(set & BIT(AVX2)) ? "generic"
			   : amd	      ? wide ? "generic" : "znver3"
			   : paired	      ? "sapphirerapids"
			   : wide	      ? "skylake-avx512"
					      : "haswell";
	return (Cpu){set, tune, amd && paired};
}

static bool base_cpu(const char *name, size_t len, Cpu *cpu)
{
	if (len == strlen("native") && memcmp(name, "native", len) == 0) {
		*cpu = cpu_here();
		return true;
	}
	for (int i = 0; i < NCPUS; i++)
		if (strlen(cpus[i].name) == len && memcmp(cpus[i].name, name, len) == 0) {
			*cpu = cpus[i].cpu;
			return true;
		}
	return false;
}

static bool add_feature(const char *name, size_t len, Cpu *cpu)
{
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (strlen(features[f].name) == len && memcmp(features[f].name, name, len) == 0) {
			cpu->features |= (uint64_t)1 << f;
			return true;
		}
	return false;
}

bool cpu_find(const char *march, Cpu *cpu)
{
	size_t len = strcspn(march, "+");
	if (!base_cpu(march, len, cpu))
		return false;
	for (march += len; *march == '+'; march += len) {
		march++;
		len = strcspn(march, "+");
		if (!add_feature(march, len, cpu))
			return false;
	}
	return true;
}

int cpu_vector_bits(const Cpu *cpu)
{
	uint64_t masks = BIT(AVX512F) | BIT(AVX512DQ) | BIT(AVX512BW) | BIT(AVX512VL);
	if ((cpu->features & masks) == masks)
		return 512;
	return cpu->features & BIT(AVX) ? 256 : 128;
}

bool target_known(const char *march)
{
	Cpu cpu;
	return cpu_find(march, &cpu);
}

Machine target_machine(const char *march)
{
	Cpu cpu = {0};
	cpu_find(march, &cpu);
	return (Machine){.vector_bytes = cpu_vector_bits(&cpu) / 8,
			 .registers = cpu.features & BIT(AVX512VL) ? 32 : 16,
			 .grain = GRAIN_DEFAULT,
			 .prepack = true,
			 .pairs = cpu.pairs && cpu_extras(&cpu) & CPU_BF16};
}

CpuSimd cpu_simd(const Cpu *cpu)
{
	uint64_t masks = BIT(AVX512VL) | BIT(AVX512BW);
	if ((cpu->features & masks) == masks)
		return CPU_AVX512;
	return cpu->features & BIT(AVX) ? CPU_AVX : CPU_SSE2;
}

unsigned cpu_extras(const Cpu *cpu)
{
	uint64_t vnni = BIT(AVX512VNNI) | BIT(AVX512VL), bf16 = BIT(AVX512BF16) | BIT(AVX512VL);
	return (cpu->features & BIT(AVX2) ? CPU_WIDENS : 0) |
	       (cpu->features & BIT(F16C) ? CPU_F16C : 0) |
	       ((cpu->features & vnni) == vnni ? CPU_VNNI : 0) |
	       ((cpu->features & bf16) == bf16 ? CPU_BF16 : 0) |
	       (cpu->features & BIT(FMA) ? CPU_FMA : 0);
}

void target_list(FILE *out)
{
	fprintf(out, "native");
	for (int i = 0; i < NCPUS; i++)
		fprintf(out, " %s", cpus[i].name);
	fprintf(out, "\nFeatures to add with '+':");
	for (int f = 0; f < FEATURE_COUNT; f++)
		fprintf(out, " %s", features[f].name);
	fprintf(out,
		"\nVectors are of 64 bytes with avx512f, avx512dq, avx512bw and avx512vl, of 32 with "
		"avx, else of 16.\n");
}

const char *cpu_feature_names(Arena *arena, const Cpu *cpu)
{
	const char *text = "";
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (cpu->features >> f & 1)
			text = arena_printf(arena, "%s%s%s", text, *text ? " " : "",
					    features[f].name);
	return text;
}

/* Feature by feature: GCC of one version knows processors that another does not. */
size_t cpu_flags(Arena *arena, const Cpu *cpu, const char ***flags)
{
	VEC(const char *) words = {0};
	PUSH(arena, words, "-march=x86-64");
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (cpu->features >> f & 1)
			PUSH(arena, words, arena_printf(arena, "-m%s", features[f].name));
	PUSH(arena, words, arena_printf(arena, "-mtune=%s", cpu->tune));
	if (cpu_vector_bits(cpu) > 128)
		PUSH(arena, words,
		     arena_printf(arena, "-mprefer-vector-width=%d", cpu_vector_bits(cpu)));
	*flags = words.at;
	return words.n;
}

static void test_bits(FILE *out, const char *reg, uint32_t mask)
{
	if (mask)
		fprintf(out, "\tandl\t$%u, %s\n\tcmpl\t$%u, %s\n\tjne\t1f\n", mask, reg, mask, reg);
}

/* One cpuid for all features of a leaf; it overwrites rbx, which the caller of cpu_check_asm
 * saved. */
static void test_leaf(FILE *out, Leaf leaf, const uint32_t masks[4])
{
	if (!(masks[EAX] | masks[EBX] | masks[ECX] | masks[EDX]))
		return;
	fprintf(out, "\tmovl\t$%u, %%eax\n\tmovl\t$%u, %%ecx\n\tcpuid\n", leaves[leaf].leaf,
		leaves[leaf].sub);
	static const char *const names[] = {"%eax", "%ebx", "%ecx", "%edx"};
	for (int r = EAX; r <= EDX; r++)
		test_bits(out, names[r], masks[r]);
}

/* The check is an indirect function: the dynamic loader runs its resolver once, and a call costs a
 * jump. cpuid at every call would cost microseconds inside a virtual machine, a cached answer would
 * be a mutable global, and libgcc's __cpu_model would be a dependency. Nothing but baseline
 * instructions runs here. */
void cpu_check_asm(FILE *out, const Cpu *cpu, const char *symbol)
{
	uint32_t masks[LEAF_COUNT][4] = {{0}}, xcr0 = 0;
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (cpu->features >> f & 1) {
			masks[features[f].leaf][features[f].reg] |= (uint32_t)1 << features[f].bit;
			xcr0 |= features[f].xcr0;
		}
	if (xcr0)
		masks[LEAF_1][ECX] |= OSXSAVE;
	fprintf(out, "\t.text\n\t.p2align 4\n\t.type\t%s, @gnu_indirect_function\n%s:\n", symbol,
		symbol);
	fprintf(out,
		"\tpushq\t%%rbx\n\txorl\t%%eax, %%eax\n\tcpuid\n\tcmpl\t$7, %%eax\n\tjb\t1f\n");
	for (Leaf leaf = 0; leaf < LEAF_COUNT; leaf++)
		test_leaf(out, leaf, masks[leaf]);
	if (xcr0) {
		fprintf(out, "\txorl\t%%ecx, %%ecx\n\txgetbv\n");
		test_bits(out, "%eax", xcr0);
	}
	fprintf(out, "\tleaq\t2f(%%rip), %%rax\n\tpopq\t%%rbx\n\tret\n");
	fprintf(out, "1:\tleaq\t3f(%%rip), %%rax\n\tpopq\t%%rbx\n\tret\n");
	fprintf(out, "2:\tmovl\t$1, %%eax\n\tret\n3:\txorl\t%%eax, %%eax\n\tret\n");
	fprintf(out, "\t.size\t%s, .-%s\n", symbol, symbol);
}
