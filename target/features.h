/* The instructions that a processor has, as bits, and where cpuid tells of them. The same table
 * serves -march=native and the check in the modules that are made. */
#ifndef TSR_TARGET_FEATURES_H
#define TSR_TARGET_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Feature {
#define FEATURE(id, name, leaf, reg, bit, state) FEATURE_##id,
#include "target/features.def"
#undef FEATURE
	FEATURE_COUNT
} Feature;

#define FEATURE_BIT(id) ((uint64_t)1 << FEATURE_##id)

typedef enum CpuidRegister { EAX, EBX, ECX, EDX } CpuidRegister;
/* LEAF_NONE: a feature of aarch64. */
typedef enum CpuidLeaf {
	LEAF_1,
	LEAF_7,
	LEAF_7_1,
	LEAF_EXT,
	LEAF_COUNT,
	LEAF_NONE = LEAF_COUNT
} CpuidLeaf;
/* Bits of xgetbv(0), the registers that the system saves; that it has xgetbv, in LEAF_1's ECX. */
enum { XCR0_NONE = 0, XCR0_YMM = 0x6, XCR0_ZMM = 0xE6, XCR0_TILE = 0x60000, OSXSAVE = 1 << 27 };

typedef struct FeatureRow {
	const char *name; /* as -m takes it */
	CpuidLeaf leaf;
	CpuidRegister reg;
	int bit;
	uint32_t state; /* of XCR0: without these a feature of the processor is of no use */
} FeatureRow;
extern const FeatureRow feature_rows[FEATURE_COUNT];

typedef struct CpuidInput {
	uint32_t leaf, sub; /* eax and ecx */
} CpuidInput;
extern const CpuidInput cpuid_leaves[LEAF_COUNT];

/* Adds the feature of that name; false: there is none. */
bool features_add(uint64_t *features, const char *name, size_t len);
/* Are they of aarch64? Every set of aarch64 has simd. */
bool features_are_arm(uint64_t features);
/* Are some of them of x86-64, and others of aarch64? */
bool features_are_mixed(uint64_t features);
/* Those of this machine that code can use. */
uint64_t features_here(void);
/* Those of AMX, which the system gives to a process on request only: code that may use them asks, and has
 * another way. */
uint64_t features_of_tiles(void);
/* Is this machine's processor of that maker ("AuthenticAMD")? */
bool cpu_made_by(const char *maker);

#endif
