/* Elements of i4 and u4, which lie two a byte, as back ends of a CPU see them. */
#ifndef TSR_CODEGEN_PACKED_H
#define TSR_CODEGEN_PACKED_H

#include "loops/loops.h"

enum { PACKED_PATTERNS = 16 };
/* The element whose four bits are `pattern`. */
int packed_pattern(Dtype dtype, int pattern);

/* A loop of lanes. */
typedef struct PackedLanes {
	Program *program;
	IterVar lane;
	bool (*vary)(const void *of, const Value *value); /* does it differ between lanes? */
	/* are they each at one place of words that lie one after another? NULL: the back end has no
	 * such lanes */
	bool (*in_words)(const void *of, const Value *load);
	const void *of;
} PackedLanes;

/* Is the value a cast of packed elements that are neighbours, or in words? */
bool packed_is_cast(const PackedLanes *lanes, const Value *value);
/* Is the f32 a function of one packed element and of what is the same in all lanes? Such a function is a
 * table of PACKED_PATTERNS numbers. A product inside a sum is none, as both may be rounded once. Returns the
 * element's load, NULL: it is no such function. */
const Value *packed_in_table(const PackedLanes *lanes, const Value *value);

#endif
