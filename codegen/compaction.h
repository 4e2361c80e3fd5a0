/* Loops that move each element to the end of one of a few lists, or in front of it.
 *
 *   for t in lo..hi
 *     local item = FROM[t + ...]
 *     if int(item < a) == 1               one list:
 *       TO[min(max(int(n), 0), last)] = item
 *       n += 1
 *     if int(item < a) == 0 && ...        another one, which grows downwards
 *       m += -1
 *       TO[min(max(int(m), 0), last)] = item
 *
 * Back ends run it as instructions that store those lanes of a vector next to each other which a mask has.
 */
#ifndef TSR_CODEGEN_COMPACTION_H
#define TSR_CODEGEN_COMPACTION_H

#include "loops/loops.h"

enum { COMPACT_LISTS = 8, COMPACT_CONDS = 2, COMPACT_COMPARISONS = COMPACT_LISTS * COMPACT_CONDS };

/* A comparison of the item with what does not change. */
typedef struct CompactComparison {
	const Value *value, *bound;
	bool item_first; /* of the two operands */
} CompactComparison;

/* Where the elements go for which all conditions hold. */
typedef struct CompactList {
	uint32_t is[COMPACT_CONDS];	/* comparisons, which lists share */
	bool holds[COMPACT_CONDS];	/* or does it not? */
	uint32_t nconds;
	bool down; /* it begins where the local is, else it ends there */
	LocalId n;
} CompactList;

typedef struct Compaction {
	LocalId item;
	const Value *load; /* goes on by one element */
	bool has_down;	   /* one of the lists is */
	BufferId to;
	const Ix *last; /* of the places that are stored to */
	CompactList lists[COMPACT_LISTS];
	uint32_t nlists;
	CompactComparison compared[COMPACT_COMPARISONS];
	uint32_t ncompared;
} Compaction;

/* Is the loop one? What it is. */
bool loop_compacts(Program *program, const Kernel *kernel, const Stmt *loop, Compaction *made);

#endif
