/* Copies of statements in another kernel's terms. */
#ifndef TSR_LOWER_REWRITE_H
#define TSR_LOWER_REWRITE_H

#include "base/diag.h"
#include "lower/loops.h"

typedef enum TwinKind { TWIN_NONE, TWIN_BUFFER, TWIN_LOCAL } TwinKind;

/* What stands for a buffer. A local of rank 0 replaces a buffer of which one cell is in use: the
 * first store becomes its declaration, and must come before every other access, in a block around
 * them. */
typedef struct BufferTwin {
	TwinKind kind;
	uint32_t id; /* BufferId or LocalId */
	bool declared;
	/* LOCAL that has axes and is loaded only: the cell, in the new terms */
	const Ix *const *ixs;
	uint32_t nixs;
} BufferTwin;

typedef struct KnownValue {
	const Value *key, *value;
} KnownValue;

typedef struct Rewrite {
	Program *program;
	const Ix *const *iters; /* by IterVar; an iterator for each that a loop runs */
	LocalId first_local;	/* added to the locals' ids */
	BufferTwin *twins;	/* by BufferId; NULL: every buffer stays */
	/* by BufferId: added to indices into it; NULL entries: nothing is */
	const Ix *const *offsets;
	Span span;		/* of statements without one */
	KnownValue *known;	/* stb_ds table of the statement at hand */
} Rewrite;

/* Adds the iterators and locals of a kernel to those of another. */
void kernel_append_tables(Arena *arena, Kernel *to, const Kernel *from);
Block rewrite_block(Rewrite *rewrite, Block block);

#endif
