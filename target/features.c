/* Features by name, and those of this machine. */
#include "target/features.h"

#include <cpuid.h>
#include <string.h>

const CpuidInput cpuid_leaves[LEAF_COUNT] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};

const FeatureRow feature_rows[FEATURE_COUNT] = {
#define FEATURE(id, name, leaf, reg, bit, state) {name, leaf, reg, bit, state},
#include "target/features.def"
#undef FEATURE
};

bool features_add(uint64_t *features, const char *name, size_t len)
{
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (strlen(feature_rows[f].name) == len &&
		    memcmp(feature_rows[f].name, name, len) == 0) {
			*features |= (uint64_t)1 << f;
			return true;
		}
	return false;
}

static uint64_t all_of_arm(void)
{
	uint64_t set = 0;
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (feature_rows[f].leaf == LEAF_NONE)
			set |= (uint64_t)1 << f;
	return set;
}

bool features_are_arm(uint64_t features) { return features & FEATURE_BIT(NEON); }

/* Without simd there are neither vectors nor numbers with a fraction. */
bool features_are_mixed(uint64_t features)
{
	uint64_t arm = all_of_arm();
	return features_are_arm(features) ? (features & ~arm) != 0 : (features & arm) != 0;
}

static uint32_t xcr0_here(void)
{
	uint32_t low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

uint64_t features_here(void)
{
	uint32_t regs[LEAF_COUNT][4] = {{0}};
	for (int i = 0; i < LEAF_COUNT; i++)
		__get_cpuid_count(cpuid_leaves[i].leaf, cpuid_leaves[i].sub, &regs[i][EAX],
				  &regs[i][EBX], &regs[i][ECX], &regs[i][EDX]);
	uint32_t xcr0 = regs[LEAF_1][ECX] & OSXSAVE ? xcr0_here() : 0;
	uint64_t set = 0;
	for (int f = 0; f < FEATURE_COUNT; f++) {
		const FeatureRow *row = &feature_rows[f];
		if (row->leaf == LEAF_NONE)
			continue;
		if (regs[row->leaf][row->reg] >> row->bit & 1 && (xcr0 & row->state) == row->state)
			set |= (uint64_t)1 << f;
	}
	return set;
}

uint64_t features_of_tiles(void)
{
	return FEATURE_BIT(AMXTILE) | FEATURE_BIT(AMXBF16) | FEATURE_BIT(AMXINT8);
}

bool cpu_made_by(const char *maker)
{
	uint32_t max, name[3];
	__get_cpuid(0, &max, &name[0], &name[2], &name[1]);
	return memcmp(name, maker, sizeof name) == 0;
}
