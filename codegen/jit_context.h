/* A module under construction for libgccjit: its options, and types that are made once.
 *
 * Misuse makes libgccjit return NULL and remember the first error, which the driver reads at the
 * end: nothing here checks twice.
 */
#ifndef TSR_CODEGEN_JIT_CONTEXT_H
#define TSR_CODEGEN_JIT_CONTEXT_H

#include <sys/types.h>

#include "codegen/cpu.h"
#include "codegen/jit_library.h"
#include "codegen/module.h"

typedef gcc_jit_rvalue Rvalue;
typedef gcc_jit_lvalue Lvalue;
typedef gcc_jit_type Type;
typedef gcc_jit_block JitBlock;

typedef struct Builtin {
	const char *name;
	gcc_jit_function *function;
} Builtin;

enum { VECTOR_LOGS = 7 };

typedef struct JitTable {
	const void *table; /* what it is made from: a MathTable */
	Lvalue *global;
} JitTable;

typedef struct Jit {
	gcc_jit_context *ctxt;
	const Module *module;
	Arena *arena;
	Type *types[DTYPE_COUNT]; /* NULL: not supported */
	Type *unsigned_types[DTYPE_COUNT];
	gcc_jit_field *words[4]; /* of the struct that u4x32 is */
	Type *void_, *bool_, *int_, *i64, *u64, *u32, *size, *pointer, *text;
	VEC(Builtin) builtins;
	VEC(JitTable) tables;
	int vector_bytes; /* of the widest vectors that the code may use */
	gcc_jit_function *pack;	 /* PREFIX_pack, once it is made */
	VEC(struct JitOutlined) outlined;     /* of the kernels so far */
	gcc_jit_function *size_runner; /* jit_size.c, once it is made */
	uint32_t ncompactions;	       /* loops that have a function in jit_compaction.c */
	uint32_t nsums;		       /* programs that it has as data */
	gcc_jit_function *first; /* sets parameters, once it is made; NULL: nothing to do */
	const Target *target;
	CpuSimd simd;
	unsigned extras; /* of cpu_extras */
	Type *i16, *short_vectors[VECTOR_LOGS];
	/* by the logarithm of their lanes; made on demand */
	Type *vectors[DTYPE_COUNT][VECTOR_LOGS];
} Jit;

/* Of 2^log signed 16-bit integers, which are no dtype. Requires: 0 < log < VECTOR_LOGS. */
Type *jit_short_vector(Jit *jit, int log);
/* The type of 2^log lanes: one object each, as libgccjit takes no two for equal.
 * Requires: 0 < log < VECTOR_LOGS. */
Type *jit_vector_type(Jit *jit, Dtype dtype, int log);
/* Flags: of the command line of gcc, n of them. */
Jit *jit_new(const Module *module, Arena *arena);
void jit_option(Jit *jit, const char *flag);
/* A place in the source, for debug lines; NULL for no place. */
gcc_jit_location *jit_location(Jit *jit, Span span);

#endif
