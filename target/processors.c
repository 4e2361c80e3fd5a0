/* The processors that code can be made for by name, and this machine's. A processor is a level of
 * instructions with additions, and a model for gcc; the numbers are those of target.def. */
#include "target/target.h"

#include <string.h>

#include "base/arena.h"

#define BIT FEATURE_BIT
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

#define ARMV8 BIT(NEON)
#define ARMV8_1 (ARMV8 | BIT(CRC) | BIT(LSE) | BIT(RDMA))
#define ARMV8_6 (ARMV8_1 | BIT(FP16) | BIT(DOTPROD) | BIT(I8MM) | BIT(BF16))

/* What the manuals of these cores say otherwise than target.def: caches, and loads that begin in a
 * cycle. None of them was measured. */
static void cortex_a53(Target *target)
{
	target->l1_ways = 4;
	target->l1_way_bytes = 8 << 10;
	target->l2_bytes = target->l3_bytes = 512 << 10;
	target->load_ports = 1;
}

static void cortex_a72(Target *target)
{
	target->l1_ways = 2;
	target->l1_way_bytes = 16 << 10;
	target->l3_bytes = 1 << 20;
	target->load_ports = 1;
}

static void neoverse_n1(Target *target)
{
	target->l1_bytes = 64 << 10;
	target->l1_ways = 4;
	target->l1_way_bytes = 16 << 10;
}

/* Of an Emerald Rapids, on which products with operands as they lie and packed were timed in turn:
 * what lies in few sets comes from a third cache that is far away. */
static void golden_cove(Target *target)
{
	target->l2_bytes = 2 << 20;
	target->spread_bytes = 1 << 20;
	target->stream_line_sets = 33;
	target->stream_line_cross = 8;
	target->sum_block_steps = 128;
	target->row_line = 32;
	target->row_line_far = 112;
}

/* On Sapphire Rapids vdpbf16ps takes as long as two multiply-adds. gcc 12 knows no tuning for Zen 4
 * and 5; that for Zen 3 loads a vector again in each of up to four multiply-adds, where loads are
 * as scarce as these. */
static const struct {
	const char *name;
	uint64_t features;
	const char *tune;
	bool bf16_pairs;
	void (*numbers)(Target *); /* what is otherwise than in target.def; NULL: nothing */
} processors[] = {
	{"x86-64", LEVEL1, "generic", false, NULL},
	{"x86-64-v2", LEVEL2, "generic", false, NULL},
	{"x86-64-v3", LEVEL3, "generic", false, NULL},
	{"x86-64-v4", LEVEL4, "generic", false, NULL},
	{"nehalem", LEVEL2, "nehalem", false, NULL},
	{"westmere", LEVEL2, "westmere", false, NULL},
	{"sandybridge", LEVEL_AVX, "sandybridge", false, NULL},
	{"ivybridge", LEVEL_AVX | BIT(F16C), "ivybridge", false, NULL},
	{"haswell", LEVEL3, "haswell", false, NULL},
	{"broadwell", LEVEL3, "broadwell", false, NULL},
	{"skylake", LEVEL3, "skylake", false, NULL},
	{"alderlake", LEVEL3 | BIT(AVXVNNI), "alderlake", false, NULL},
	{"skylake-avx512", LEVEL4, "skylake-avx512", false, NULL},
	{"cascadelake", LEVEL4 | BIT(AVX512VNNI), "cascadelake", false, NULL},
	{"icelake-client", LEVEL_ICE, "icelake-client", false, NULL},
	{"icelake-server", LEVEL_ICE, "icelake-server", false, NULL},
	{"tigerlake", LEVEL_ICE, "tigerlake", false, NULL},
	{"sapphirerapids",
	 LEVEL_ICE | BIT(AVX512BF16) | BIT(AVX512FP16) | BIT(AVXVNNI) | BIT(AMXTILE) |
		 BIT(AMXBF16) | BIT(AMXINT8),
	 "sapphirerapids", false, golden_cove},
	{"znver1", LEVEL3, "znver1", false, NULL},
	{"znver2", LEVEL3, "znver2", false, NULL},
	{"znver3", LEVEL3, "znver3", false, NULL},
	{"znver4", LEVEL_ICE | BIT(AVX512BF16), "generic", true, NULL},
	{"znver5", LEVEL_ICE | BIT(AVX512BF16) | BIT(AVXVNNI), "generic", true, NULL},
	{"armv8-a", ARMV8, "generic", false, NULL},
	{"armv8.2-a", ARMV8_1, "generic", false, NULL},
	{"armv8.6-a", ARMV8_6, "generic", false, NULL},
	{"cortex-a53", ARMV8 | BIT(CRC), "cortex-a53", false, cortex_a53},
	{"cortex-a72", ARMV8 | BIT(CRC), "cortex-a72", false, cortex_a72},
	{"cortex-a76", ARMV8_1 | BIT(FP16) | BIT(DOTPROD), "cortex-a76", false, neoverse_n1},
	{"neoverse-n1", ARMV8_1 | BIT(FP16) | BIT(DOTPROD), "neoverse-n1", false, neoverse_n1},
};
enum { NPROCESSORS = sizeof processors / sizeof *processors };

static const Target common = {
#define GROUP(text)
#define NUMBER(name, value, least, most, unit, meaning) .name = value,
#include "target/target.def"
#undef GROUP
#undef NUMBER
};

static void here(Target *target)
{
	uint64_t set = features_here();
	bool amd = cpu_made_by("AuthenticAMD");
	bool wide = set & BIT(AVX512F), paired = wide && set & BIT(AVX512BF16);
	target->features = set;
	target->tune = !(set & BIT(AVX2)) ? "generic"
		       : amd		  ? wide ? "generic" : "znver3"
		       : paired		  ? "sapphirerapids"
		       : wide		  ? "skylake-avx512"
					  : "haswell";
	target->bf16_pairs = amd && paired;
	if (!amd && paired)
		golden_cove(target);
}

static bool base_target(const char *name, size_t len, Target *target)
{
	if (len == strlen("native") && memcmp(name, "native", len) == 0) {
		here(target);
		return true;
	}
	for (int i = 0; i < NPROCESSORS; i++)
		if (strlen(processors[i].name) == len &&
		    memcmp(processors[i].name, name, len) == 0) {
			target->features = processors[i].features;
			target->tune = processors[i].tune;
			target->bf16_pairs = processors[i].bf16_pairs;
			if (processors[i].numbers)
				processors[i].numbers(target);
			return true;
		}
	return false;
}

bool target_find(const char *march, Target *target)
{
	size_t len = strcspn(march, "+");
	Target found = common;
	found.name = march;
	if (!base_target(march, len, &found))
		return false;
	for (march += len; *march == '+'; march += len) {
		march++;
		len = strcspn(march, "+");
		if (!features_add(&found.features, march, len))
			return false;
	}
	if (features_are_mixed(found.features))
		return false;
	if (features_are_arm(found.features)) /* its stores past the caches were not measured */
		found.stream_bytes = 0;
	found.vector_bytes = features_vector_bytes(found.features);
	found.registers = features_registers(found.features);
	found.bf16_pairs &= features_have_pairs(found.features);
	found.matrix_tiles = features_matrix_tiles(found.features);
	found.row_columns = features_row_columns(found.features, found.row_columns);
	*target = found;
	return true;
}

int64_t features_vector_bytes(uint64_t features)
{
	uint64_t masks = BIT(AVX512F) | BIT(AVX512DQ) | BIT(AVX512BW) | BIT(AVX512VL);
	if ((features & masks) == masks)
		return 64;
	return features & BIT(AVX) ? 32 : 16;
}

int64_t features_registers(uint64_t features)
{
	return features & (BIT(AVX512VL) | BIT(NEON)) ? 32 : 16;
}

bool features_have_pairs(uint64_t features)
{
	uint64_t bf16 = BIT(AVX512BF16) | BIT(AVX512VL);
	return (features & bf16) == bf16;
}

int64_t features_matrix_tiles(uint64_t features)
{
	bool some = features & (BIT(AMXBF16) | BIT(AMXINT8)) && features & BIT(AMXTILE);
	return some && features_vector_bytes(features) == 64 ? 8 : 0;
}

int64_t features_row_columns(uint64_t features, int64_t most)
{
	enum { NARROW = 4 }; /* where a vector has less than 64 bytes */
	if (!(features & (BIT(AVX2) | BIT(NEON))))
		return 0;
	return features_vector_bytes(features) == 64 || most < NARROW ? most : NARROW;
}

bool target_has_matrix(const Target *target, bool bf16)
{
	bool has = bf16 ? target->features & BIT(AMXBF16) && features_have_pairs(target->features)
			: (target->features & BIT(AMXINT8)) != 0;
	return has && target->matrix_tiles > 0;
}

const char *target_triple(const Target *target)
{
	return features_are_arm(target->features) ? "aarch64-linux-gnu" : NULL;
}

size_t target_names(Arena *arena, const char ***names)
{
	*names = ARENA_ARRAY(arena, const char *, NPROCESSORS + 1);
	for (int i = 0; i < NPROCESSORS; i++)
		(*names)[i] = processors[i].name;
	(*names)[NPROCESSORS] = "native";
	return NPROCESSORS + 1;
}

size_t target_tunes(Arena *arena, const char ***names)
{
	*names = ARENA_ARRAY(arena, const char *, NPROCESSORS);
	for (int i = 0; i < NPROCESSORS; i++)
		(*names)[i] = processors[i].tune;
	return NPROCESSORS;
}

void target_list(FILE *out)
{
	fprintf(out, "native");
	for (int i = 0; i < NPROCESSORS; i++)
		fprintf(out, " %s", processors[i].name);
	fprintf(out, "\nFeatures to add with '+':");
	for (int f = 0; f < FEATURE_COUNT; f++)
		fprintf(out, " %s", feature_rows[f].name);
	fprintf(out,
		"\nVectors are of 64 bytes with avx512f, avx512dq, avx512bw and avx512vl, of 32 with "
		"avx, else of 16; with simd, of aarch64, of 16.\n");
}
