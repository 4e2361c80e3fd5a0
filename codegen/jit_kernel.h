/* A kernel's function under construction, shared by jit_kernel.c (scalar code) and jit_vector.c
 * (lanes). */
#ifndef TSR_CODEGEN_JIT_KERNEL_H
#define TSR_CODEGEN_JIT_KERNEL_H

#include "codegen/jit_packed.h"
#include "codegen/jit_value.h"
#include "base/pointer_map.h"
#include "codegen/jit_function.h"
#include "loops/multiple.h"

/* A loop that is a function. */
typedef struct JitOutlined {
	const Stmt *loop;
	const KernelUse *use;
	gcc_jit_function *function;
	bool tiles; /* its last parameter is whether it may use tiles */
} JitOutlined;

/* A local that lives in variables of its own, `nsegments` for each combination of its axes but the
 * last. */
typedef struct Registers {
	bool used, lanes; /* lanes: segments are vectors; else a segment is one element */
	uint32_t extent;  /* of the last axis */
	uint32_t nsegments;
	Lvalue **segments;
	Rvalue **transposed; /* its columns, in the straight code at hand; NULL: not made */
} Registers;

/* Tiles of a function that multiplies matrices (jit_matrix.c); ok NULL: it does not. */
typedef struct JitTiles {
	Lvalue *ok;	/* may they be used? */
	Rvalue *given;	/* that, where the caller knows; NULL: it does not */
	Lvalue *config; /* rows of each, a byte each; 0: not set */
	bool open;	/* the code is of products whose sums are in tiles, or may be */
	bool used;	/* the sums are in tiles */
} JitTiles;

typedef struct KernelJit {
	JitFunction f;
	const Program *program;
	const Kernel *kernel;
	const KernelUse *use;
	Rvalue **dims;	  /* by DimId */
	Rvalue **sizes;	  /* as in use->sizes */
	Rvalue **scalars; /* as in use->scalars */
	Rvalue **buffers; /* as in use->buffers */
	Lvalue **iters, **locals;
	PointerMap values; /* of this statement: Value to Rvalue */
	/* By position of the buffer: Ix to the address of its element at the iterators that are not
	 * unrolled, in the straight code at hand. */
	PointerMap *addresses;
	bool scheduled;	   /* it has loops that are unrolled or run in lanes */
	Multiples
		multiples; /* of indices, from all loops of the kernel of which this may be a part */
	bool *fixed;	   /* by IterVar: at the constant `at` in the code being made */
	int64_t *at;
	Registers *registers; /* by LocalId */
	struct Tasks *tasks;  /* of its parallel loops; NULL: none */
	JitTiles tiles;
} KernelJit;

/* jit_kernel.c */
KernelJit jit_kernel_new(Jit *jit, KernelId kernel);
/* Starts the code of `function`: params are dims, scalars and buffers, as in use.
 * Requires: what divides the kernel's iterators is known. */
void jit_kernel_open(KernelJit *k, JitFunction function, Rvalue *const *params);
/* Makes the code of a block; the value of an expression, in the open block of the function.
 * Requires: jit_kernel_open was called. */
void jit_kernel_block(KernelJit *k, Block block);
Rvalue *jit_kernel_value(KernelJit *k, const Value *value);
/* With -g, what follows belongs to that place; returns the one before. */
gcc_jit_location *jit_place(KernelJit *k, Span span);
/* What is known about the straight code that ends here is no longer. */
void jit_kernel_forget(KernelJit *k);

/* jit_index.c */
/* An index as int64, at the iterators' present values. */
Rvalue *jit_kernel_ix(KernelJit *k, const Ix *ix);
/* The element of a local, which is an array in memory, in registers or one variable. */
Lvalue *jit_kernel_element(KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs);
/* buffer[ix]; the address is shared with other elements of the straight code at hand. */
Lvalue *jit_buffer_element(KernelJit *k, BufferId buffer, const Ix *ix);
/* Is the value loaded from a buffer of two elements a byte? */
bool jit_is_packed(const KernelJit *k, const Value *value);
/* Where ix + more is in such a buffer. */
JitHalf jit_packed_byte(KernelJit *k, BufferId buffer, const Ix *ix, int64_t more);
/* Are such loads in lanes the same elements of words that lie one after another? Fills in the first. */
bool jit_packed_word(KernelJit *k, const Value *load, JitWord *word);
/* Such an element, an i8 or u8. */
Rvalue *jit_packed_element(KernelJit *k, const Value *load);

/* jit_segments.c */
/* Decides which locals live in registers, and declares them. */
void jit_segments_plan(KernelJit *k);

/* jit_vector.c */
/* Statements of one LOOP_VECTOR, each for all its lanes. */
void jit_vector_loop(KernelJit *k, const Stmt *loop);
/* local L = value, of a local in registers. */
void jit_vector_fill(KernelJit *k, const Stmt *stmt);
/* jit_groups.c: does the statement add sums of a few products a lane, of elements that are
 * neighbours? `before` plus these. Requires: of jit_vector_groups, that it does. */
bool jit_adds_groups(KernelJit *k, const Stmt *stmt, IterVar lane, int log);
Rvalue *jit_vector_groups(KernelJit *k, const Stmt *stmt, IterVar lane, int log, Rvalue *before);
/* One element of a local in registers; the variable itself where elements are variables.
 * Requires: at least one index; of jit_vector_scalar, that elements are variables. */
Rvalue *jit_vector_element(KernelJit *k, const Value *value);
Lvalue *jit_vector_scalar(KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs);

/* jit_matrix.c */
/* Asks, in front of a block of a function, whether tiles may be used, where it has products of matrices;
 * releases them behind it; what functions that were called leave of them is nothing. */
bool jit_needs_tiles(const Jit *jit, Block block);
void jit_tiles_begin(KernelJit *k, Block block);
void jit_tiles_end(KernelJit *k);
void jit_tiles_forget(KernelJit *k);
/* A statement that holds nothing but products of matrices, with their sums in tiles, where the function may
 * use these, else as it is; `code` makes its code. False, and nothing made: it is another statement. */
bool jit_matrix_stmt(KernelJit *k, const Stmt *stmt, void (*code)(KernelJit *, const Stmt *));
/* One LOOP_MATRIX. Requires that its sums are in tiles. */
void jit_matrix_loop(KernelJit *k, const Stmt *loop);

/* jit_transpose.c */
/* Can a local of rows by lanes be transposed in registers? */
bool jit_transpose_fits(const Jit *jit, Dtype dtype, uint32_t rows, uint32_t lanes);
/* local[0 .. n, row] of a local in registers, as a vector.
 * Requires: a row of the local, which is in one segment. */
Rvalue *jit_transposed_row(KernelJit *k, LocalId local, int64_t row);

/* jit_parallel.c */
/* A function for each parallel loop of the kernel: void task(void *arg, int32_t chunk). */
struct Tasks *jit_parallel_tasks(Jit *jit, KernelId kernel);
/* Runs the loop's task for all chunks, on the caller's threads if there are any; in the kernel's
 * function. */
void jit_parallel_loop(KernelJit *k, const Stmt *loop);

#endif
