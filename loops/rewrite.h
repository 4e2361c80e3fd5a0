/* Copies of statements in another kernel's terms. */
#ifndef TSR_LOOPS_REWRITE_H
#define TSR_LOOPS_REWRITE_H

#include "base/diag.h"
#include "base/pointer_map.h"
#include "loops/build.h"

typedef enum TwinKind { TWIN_NONE, TWIN_BUFFER, TWIN_LOCAL, TWIN_CAST } TwinKind;

/* What stands for a buffer. A local of rank 0 replaces a buffer of which one element is in use: the
 * first store becomes its declaration, and must come before every other access, in a block around
 * them. CAST: what is loaded, and nothing stores, is loaded from another buffer and cast. */
typedef struct BufferTwin {
	TwinKind kind;
	BufferId buffer;
	uint32_t id; /* BufferId, of BUFFER and CAST, or LocalId */
	bool declared;
	/* LOCAL that has axes and is loaded only: the element, in the new terms */
	const Ix *const *ixs;
	uint32_t nixs;
} BufferTwin;

/* What stands for loads of one element, casts of them, or a local, in the new terms. */
typedef struct ValueTwin {
	const Value *value, *twin;
} ValueTwin;

/* What is added to the indices into a buffer. */
typedef struct BufferOffset {
	BufferId buffer;
	const Ix *offset;
} BufferOffset;

typedef struct Rewrite {
	Program *program;
	const Ix *const *iters; /* by IterVar; an iterator for each that a loop runs */
	bool renames;		/* they are iterators, each another one */
	const LocalId *locals;	/* by LocalId, what stands for it; NULL: see first_local */
	LocalId first_local;	/* added to the locals' ids */
	BufferTwin *twins;	/* few; of other buffers nothing stands in the place */
	uint32_t ntwins;
	const ValueTwin *values; /* few */
	uint32_t nvalues;
	const BufferOffset *offsets; /* few */
	uint32_t noffsets;
	DimId dim;	  /* of sizes that are linear in it, where `dim_ix` stands for it */
	const Ix *dim_ix; /* NULL: all dims stay */
	Span span;	  /* of statements without one */
	PointerMap known; /* the copies of values of the statement at hand */
} Rewrite;

/* Adds the iterators and locals of a kernel to those of another. */
void kernel_append_tables(Arena *arena, Kernel *to, const Kernel *from);
/* The same; a block of that kernel in terms of the other, with `iters` for its iterators: kernel_iters from
 * to->niters on, as they were, some of which may be others of `to`. */
Block kernel_append(Program *program, Kernel *to, const Kernel *from, Block block,
		    const Ix *const *iters);
/* A copy of the block in the new terms; it belongs to rewrite->program. */
Block rewrite_block(Rewrite *rewrite, Block block);
/* A block of the kernel with twins in the place of buffers. */
Block rewrite_twins(Program *program, const Kernel *kernel, Block block, BufferTwin *twins,
		    uint32_t ntwins);
/* The iterators of a kernel as those from number `first` on, by IterVar; the caller may change some. */
const Ix **kernel_iters(Arena *arena, const Kernel *kernel, IterVar first);
/* A value, or an index, that stands in no statement of theirs. */
const Value *rewrite_alone(Rewrite *rewrite, const Value *value);
const Ix *rewrite_ix(Rewrite *rewrite, const Ix *ix);

/* NAME, NAME1, NAME2, ...: the first that none of the iterators, and no dim, has; none of the
 * locals. `taken` is 0, or what an earlier call left there for the same name and fewer iterators; NULL: 0. */
Sym iter_unique(const Program *program, const KernelIter *iters, size_t n, Sym name,
		uint64_t *taken);
Sym local_unique(const Program *program, const KernelLocal *locals, size_t n, const char *name);

#endif
