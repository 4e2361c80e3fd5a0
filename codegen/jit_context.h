/* A thin layer over libgccjit: types made once, values kept in temporaries, blocks ended once.
 *
 * libgccjit's values are trees, evaluated wherever they are used: what is used twice goes through
 * jit_keep. A function under construction has one open block; jit_if and jit_loop open others.
 * Misuse makes libgccjit return NULL and remember the first error, which the driver reads at the
 * end: nothing here checks twice.
 */
#ifndef TSR_CODEGEN_JIT_CONTEXT_H
#define TSR_CODEGEN_JIT_CONTEXT_H

#include <sys/types.h>

#include <libgccjit.h>

#include "codegen/cpu.h"
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
	uint32_t nsums;		       /* programs that it has as data */
	gcc_jit_function *first; /* sets parameters, once it is made; NULL: nothing to do */
	const Target *target;
	CpuSimd simd;
	unsigned extras; /* of cpu_extras */
	Type *i16, *short_vectors[VECTOR_LOGS];
	/* by the logarithm of their lanes; made on demand */
	Type *vectors[DTYPE_COUNT][VECTOR_LOGS];
} Jit;

/* Of 2^log signed 16-bit integers, which are no dtype. */
Type *jit_short_vector(Jit *jit, int log);
/* The type of 2^log lanes: one object each, as libgccjit takes no two for equal. */
Type *jit_vector_type(Jit *jit, Dtype dtype, int log);
/* Flags: of the command line of gcc, n of them. */
Jit *jit_new(const Module *module, Arena *arena);
void jit_option(Jit *jit, const char *flag);
/* A place in the source, for debug lines; NULL for no place. */
gcc_jit_location *jit_location(Jit *jit, Span span);

typedef struct JitBound {
	Dtype dtype;
	double value;
	Lvalue *variable;
} JitBound;

/* A size that a function has computed: all that it does from there on is behind that. */
typedef struct JitKnown {
	Size size;
	bool checked; /* for overflow and inexact quotients */
	Rvalue *value;
} JitKnown;

/* A function under construction. */
typedef struct JitFunction {
	Jit *jit;
	gcc_jit_function *function;
	JitBlock *block; /* where statements go; NULL after a return */
	gcc_jit_location *location;
	uint32_t ntemps;
	JitBlock *entry, *start; /* see jit_entry; NULL: none */
	VEC(JitBound) bounds;
	VEC(JitKnown) known;
	Lvalue *dims; /* an array of the dims, for jit_size; NULL: none */
	bool near; /* the arguments of the function at hand are near (loops/vector/near_range.c) */
} JitFunction;

typedef struct JitParam {
	Type *type;
	const char *name;
} JitParam;

JitFunction jit_function(Jit *jit, enum gcc_jit_function_kind kind, Type *result, const char *name,
			 const JitParam *params, size_t nparams);
/* Leaves room for the bounds of what follows, up to jit_entry_end. */
void jit_entry(JitFunction *f);
void jit_entry_end(JitFunction *f);
gcc_jit_function *jit_import(Jit *jit, Type *result, const char *name, const JitParam *params,
			     size_t nparams);
Rvalue *jit_param(const JitFunction *f, size_t index);

Rvalue *jit_long(Jit *jit, Type *type, int64_t value);
Rvalue *jit_double(Jit *jit, Type *type, double value);
/* A constant of floats to compare with. Behind jit_entry a variable that the compiler knows
 * nothing of: of two variables it makes `a < b ? a : b` one instruction, of a variable and a
 * constant a comparison and a blend. */
Rvalue *jit_bound(JitFunction *f, Dtype dtype, double value);
Rvalue *jit_string(Jit *jit, const char *text);
Rvalue *jit_null(Jit *jit, Type *pointer);
Rvalue *jit_cast(Jit *jit, Rvalue *value, Type *type);
Rvalue *jit_binary(JitFunction *f, enum gcc_jit_binary_op op, Rvalue *a, Rvalue *b);
Rvalue *jit_compare(JitFunction *f, enum gcc_jit_comparison op, Rvalue *a, Rvalue *b);
Rvalue *jit_call(JitFunction *f, gcc_jit_function *callee, Rvalue *const *args, size_t n);
gcc_jit_function *jit_builtin(Jit *jit, const char *name);
Rvalue *jit_at(JitFunction *f, Rvalue *pointer, Rvalue *index); /* pointer[index] */
/* (type *)((char *)base + offset) */
Rvalue *jit_offset(JitFunction *f, Rvalue *base, Rvalue *offset, Type *type);

Lvalue *jit_local(JitFunction *f, Type *type, const char *name);
/* A variable with a name of its own, t0, t1, ... */
Lvalue *jit_temp(JitFunction *f, Type *type);
void jit_set(JitFunction *f, Lvalue *to, Rvalue *value);
/* A temporary that holds the value from here on. */
Rvalue *jit_keep(JitFunction *f, Rvalue *value);
/* cond ? a : b of values computed already, in the shape that if-conversion turns into a blend. */
Rvalue *jit_select(JitFunction *f, Rvalue *cond, Rvalue *a, Rvalue *b);

/* if (cond) { open block } ... jit_end_if: continues behind it. */
JitBlock *jit_if(JitFunction *f, Rvalue *cond);
void jit_end_if(JitFunction *f, JitBlock *after);
void jit_return(JitFunction *f, Rvalue *value); /* NULL: void */
/* for (i = lo; i < hi; i += step) { open block } ... jit_end_loop */
typedef struct JitLoop {
	Lvalue *i;
	Rvalue *step;
	JitBlock *head, *after;
} JitLoop;
JitLoop jit_loop(JitFunction *f, Lvalue *i, Rvalue *lo, Rvalue *hi, int64_t step);
void jit_end_loop(JitFunction *f, const JitLoop *loop);

/* How sizes are computed: without checks where the entry has checked them, or with. */
typedef struct JitSizes {
	JitFunction *f;
	Rvalue **dims; /* by DimId; NULL where the function has none */
	void (*bad)(JitFunction *f,
		    void *); /* ends the open block: overflow or inexact; NULL: unchecked */
	void *arg;
} JitSizes;
/* The size's value, computed in the open block unless the function knows it. Not inside a jit_if
 * or jit_loop that ends before the function does: what was computed once is taken wherever the
 * size is asked for again. */
Rvalue *jit_size(const JitSizes *sizes, Size size);

/* ---- the parts of a module ---- */

/* jit_functions.c: the functions of some kernels. */
void jit_kernels(Jit *jit, const KernelId *kernels, size_t n);
/* jit_kernel.c: the parameter list of a kernel's function. */
size_t jit_kernel_params(Jit *jit, const KernelUse *use, JitParam **params);
/* jit_routine.c: entry, workspace and invoke functions, in baseline instructions. */
void jit_routines(Jit *jit, bool check_cpu_features);
/* jit_parallel.c: what runs the chunks of a kernel, where there are any. In the unit of the
 * entries, so that no kernel holds a copy of its chunks, which might round otherwise. */
void jit_parallel_runner(Jit *jit);
/* Is it below what is known of the dim, below 0, or beyond the limit? */
Rvalue *jit_dim_is_bad(JitFunction *f, DimId dim, Rvalue *value);
/* jit_state.c: PREFIX_init and PREFIX_state_size. */
void jit_state(Jit *jit);

typedef struct JitSizeFunction {
	const DimId *dims;
	uint32_t ndims;
	Size size;
} JitSizeFunction;
/* size_t name(int64_t dims...): SIZE_MAX where a dim or the size is out of range. */
void jit_size_function(Jit *jit, const char *name, const JitSizeFunction *what);

#endif
