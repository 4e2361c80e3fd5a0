/* Functions for loops that move elements to the ends of lists (compaction.h). */
#ifndef TSR_CODEGEN_JIT_COMPACTION_H
#define TSR_CODEGEN_JIT_COMPACTION_H

#include "codegen/compaction.h"
#include "codegen/jit_function.h"

/* The parameters: where the first item is, how many there are, at which place of its buffer; the buffer that is stored to,
 * behind its last place; an array of where lists end; what the item is compared with. */
enum {
	COMPACT_FROM,
	COMPACT_ITEMS,
	COMPACT_AT,
	COMPACT_TO,
	COMPACT_LAST,
	COMPACT_ENDS,
	COMPACT_BOUNDS
};

typedef struct JitCompaction {
	Compaction is;
	gcc_jit_function *function;
} JitCompaction;

/* Makes the function, which returns how many of the first items it has moved: whole vectors. False, and nothing made: the
 * loop is another one, or the target has no instructions for it. */
bool jit_compaction(Jit *jit, const Program *program, const Kernel *kernel, const Stmt *loop,
		    JitCompaction *made);

#endif
