/* A kernel's C function under construction, shared by c_kernel.c (one element at a time) and
 * c_lanes.c (vectors). */
#ifndef TSR_CODEGEN_C_KERNEL_H
#define TSR_CODEGEN_C_KERNEL_H

#include "base/pointer_map.h"
#include "codegen/c_text.h"

typedef struct KernelText {
	FILE *out;
	const Module *m;
	const Kernel *kernel;
	const KernelUse *use;
	Arena *arena;
	const char **iters, **locals, **buffers, **scalars;
	PointerMap uses;  /* Value to the number of its readers in this statement */
	PointerMap names; /* Value to its name (const char *) */
	uint32_t ntemps;
	int indent;
	bool device; /* a thread of a GPU: failed checks are noted, not returned */
	bool threads; /* in a loop of a block */
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
/* Must GCC make no vectors of it? */
bool c_loop_stays_scalar(const KernelText *k, const Stmt *loop);

/* c_kernel.c: expressions of C. */
const char *c_kernel_value(KernelText *k, const Value *value);
/* An index where no parentheses are needed around a sum. */
const char *c_kernel_ix(KernelText *k, const Ix *ix);
const char *c_kernel_local(KernelText *k, LocalId local, const Ix *const *ixs, uint32_t nixs);
const char *c_buffer_element(KernelText *k, BufferId buffer, const Ix *ix);
/* A name that nothing else in the kernel has. */
const char *c_kernel_temp(KernelText *k);
void c_kernel_indent(KernelText *k);
void c_kernel_block(KernelText *k, Block block);
/* `element op= the statement's value` */
void c_kernel_assign(KernelText *k, const char *element, const Stmt *stmt);
/* Begins a statement: counts the readers of its values. */
void c_kernel_count(KernelText *k, const Value *value);
/* Names the values that have several readers, in the order of evaluation. */
void c_kernel_shared(KernelText *k, const Value *value);

/* c_lanes.c */
/* Are all statements of a loop of lanes such that vectors of C say them? */
bool c_lanes_fit(const KernelText *k, const Stmt *loop);
/* Writes the loop. Requires that it fits. */
void c_lanes_loop(KernelText *k, const Stmt *loop);
/* Writes the loop that sets the elements of a local with axes to one value, a C expression. */
void c_lanes_fill(KernelText *k, LocalId local, const char *value);
/* c_lanes_groups.c: is it a sum of products of neighbours, as the instructions of a processor have it? */
bool c_lanes_groups_fit(const KernelText *k, const Stmt *loop);
/* Writes the loop. Requires that it fits. */
void c_lanes_groups(KernelText *k, const Stmt *loop);
/* Asks the compiler to write out the loop that follows. */
void c_put_unroll(KernelText *k, int64_t times);

#endif
