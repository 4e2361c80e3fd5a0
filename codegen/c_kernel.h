/* A kernel's C function under construction, shared by c_kernel.c (one element at a time) and
 * c_lanes.c (vectors). */
#ifndef TSR_CODEGEN_C_KERNEL_H
#define TSR_CODEGEN_C_KERNEL_H

#include "base/pointer_map.h"
#include "codegen/c_vectors.h"
#include "loops/interval.h"

enum { ROLE_ALL = -1 };

typedef struct KernelText {
	FILE *out;
	const Module *m;
	const Kernel *kernel;
	const KernelUse *use;
	Arena *arena;
	const char **iters, **locals, **buffers, **scalars;
	const Interval *intervals; /* by IterVar: between which numbers it lies */
	bool *unrolled; /* by IterVar: of a loop that the compiler writes out, and of lanes */
	bool *fixed;	/* by IterVar: a loop that is written out, at the number `at` */
	int64_t *at;
	bool *read;	      /* by LocalId: is it read anywhere? */
	const char **columns; /* by LocalId: its transpose; NULL: none is read */
	bool *transposed;     /* by LocalId: the transpose is made */
	bool has_columns;
	PointerMap uses;  /* Value to the number of its readers in this statement */
	PointerMap names; /* Value to its name (const char *) */
	uint32_t ntemps;
	int indent;
	bool device; /* a thread of a GPU: failed checks are noted, not returned */
	bool threads; /* in a loop of a block */
	bool tiles;   /* the function may multiply matrices in tiles, and has the variables of it */
	bool tiles_open; /* what is written is products whose sums are in tiles, or may be */
	bool tiles_used; /* the sums are in tiles */
	bool warps;	 /* ... whose iterations are warps */
	bool turns;	 /* in a block that takes turns */
	const Stmt *boxes; /* the loop of boxes of a result that is written; NULL */
	int64_t role; /* ... of its loops of a block those are written that begin at this thread; or ROLE_ALL */
	bool alone;   /* what is written stays one element, whatever the compiler does */
} KernelText;

typedef struct ArgText {
	const char *type, *name; /* "const float *", "x" */
} ArgText;
typedef VEC(ArgText) ArgTexts;

/* c_function.c: a kernel's text, its names chosen; its arguments but the call: dims, scalars, buffers. */
KernelText c_kernel_text(FILE *out, const Module *m, KernelId id);
ArgTexts c_kernel_args(const KernelText *k);

/* c_loop.c: do its iterations touch no array that another one stores to, where GCC would not look? */
bool c_loop_is_independent(const KernelText *k, const Stmt *loop);
/* Must GCC not write it out? */
bool c_loop_stays_loop(const KernelText *k, const Stmt *loop);
/* Must GCC make no vectors of it? */
bool c_loop_stays_scalar(const KernelText *k, const Stmt *loop);

/* c_expression.c: expressions of C. */
const char *c_kernel_value(KernelText *k, const Value *value);
/* A sum that is rounded once; `element`: what is accumulated into. */
const char *c_kernel_fused(KernelText *k, const Fused *fused, const char *element);
/* An index where no parentheses are needed around a sum. */
const char *c_kernel_ix(KernelText *k, const Ix *ix);
/* "a < b": on a GPU what was divided in 32 bits is compared in these, too. */
const char *c_kernel_cond(KernelText *k, const Cond *cond);
/* An element of a local, as an expression that may be assigned to. */
const char *c_kernel_local(KernelText *k, LocalId local, const Ix *const *ixs, uint32_t nixs);
/* Of a local whose last two axes are a matrix that a warp holds: what the thread has at `at`; NULL: at the name that
 * loops over a thread's elements have. */
#define C_FRAGMENT_ELEMENT "tsr_e"
const char *c_fragment_element(KernelText *k, LocalId local, const Ix *const *ixs, const char *at);
/* ... of a buffer. */
const char *c_buffer_element(KernelText *k, BufferId buffer, const Ix *ix);
/* Begins a statement: counts the readers of its values. */
void c_kernel_count(KernelText *k, const Value *value);
/* Names the values that have several readers, in the order of evaluation. */
void c_kernel_shared(KernelText *k, const Value *value);

/* c_kernel.c: the statements of a block, in C. */
void c_kernel_block(KernelText *k, Block block);
/* The line that lets only the threads of a loop of a block go on to what is written until a `}`. */
void c_kernel_if_role(KernelText *k, const Stmt *loop);
/* `element op= the statement's value` */
void c_kernel_assign(KernelText *k, const char *element, const Stmt *stmt);

/* c_write.c: a name that nothing else in the kernel has. */
const char *c_kernel_temp(KernelText *k);
/* Begins a line at the depth at hand. */
void c_kernel_indent(KernelText *k);
/* Asks the compiler to write out the loop that follows. */
void c_put_unroll(KernelText *k, int64_t times);
/* Around a copy of the block: braces, where it declares locals. */
void c_kernel_open(KernelText *k, Block block);
void c_kernel_close(KernelText *k, Block block);
/* The iterator is a number; has a name again. */
void c_kernel_fix(KernelText *k, IterVar iter, int64_t at);
void c_kernel_release(KernelText *k, IterVar iter, const char *name);

/* c_lanes.c */
/* Are all statements of a loop of lanes such that vectors of C say them? */
bool c_lanes_fit(const KernelText *k, const Stmt *loop);
/* Writes the loop. Requires that it fits. */
void c_lanes_loop(KernelText *k, const Stmt *loop);
/* Writes the loop that sets the elements of a local with axes to one value, a C expression. */
void c_lanes_fill(KernelText *k, LocalId local, const char *value);
/* Are there lanes in the loop whose places are known where its iterator is? */
bool c_lanes_written_out(const KernelText *k, const Stmt *loop);
/* c_lanes_strided.c: writes the loop iteration after iteration. Requires: constant bounds. */
void c_put_written_out(KernelText *k, const Stmt *loop);
/* c_lanes_columns.c: is that local read along the first axis, of a square? */
bool c_lanes_is_column(const KernelText *k, const Stmt *loop, LocalId local, const Ix *const *ixs,
		       uint32_t nixs);
/* By LocalId: which ones are read so? */
bool *c_columns_read(KernelText *k, Block block);
/* Makes the transposes that the statement reads. */
void c_columns_before(KernelText *k, const Stmt *stmt);
/* Which there are before a block that may run several times or not at all, and after it. */
bool *c_columns_enter(KernelText *k);
void c_columns_leave(KernelText *k, const bool *before);
/* c_lanes_groups.c: is it a sum of products of neighbours, as the instructions of a processor have it? */
bool c_lanes_groups_fit(const KernelText *k, const Stmt *loop);
/* Writes the loop. Requires that it fits. */
void c_lanes_groups(KernelText *k, const Stmt *loop);

#endif
