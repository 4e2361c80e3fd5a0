/* A function under construction for libgccjit: values kept in temporaries, blocks ended once.
 *
 * libgccjit's values are trees, evaluated wherever they are used: what is used twice goes through
 * jit_keep. A function under construction has one open block; jit_if and jit_loop open others.
 */
#ifndef TSR_CODEGEN_JIT_FUNCTION_H
#define TSR_CODEGEN_JIT_FUNCTION_H

#include "codegen/jit_context.h"

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
	bool plain;   /* in a loop of single elements, which GCC may make vectors of */
	bool fast_path; /* the arguments of the function at hand are in its range (loops/vector/fast_path.c) */
} JitFunction;

typedef struct JitParam {
	Type *type;
	const char *name;
} JitParam;

/* A function whose open block is empty; libgccjit owns it. Requires: not GCC_JIT_FUNCTION_IMPORTED, which
 * jit_import makes. */
JitFunction jit_function(Jit *jit, enum gcc_jit_function_kind kind, Type *result, const char *name,
			 const JitParam *params, size_t nparams);
/* Leaves room for the bounds of what follows, up to jit_entry_end. */
void jit_entry(JitFunction *f);
/* Requires: jit_entry was called. */
void jit_entry_end(JitFunction *f);
/* Declares a function that another unit has. */
gcc_jit_function *jit_import(Jit *jit, Type *result, const char *name, const JitParam *params,
			     size_t nparams);
/* Requires: index < the number of parameters. */
Rvalue *jit_param(const JitFunction *f, size_t index);

/* A constant of a type of integers or of floats. */
Rvalue *jit_long(Jit *jit, Type *type, int64_t value);
Rvalue *jit_double(Jit *jit, Type *type, double value);
/* A constant of floats to compare with. Behind jit_entry a variable that the compiler knows
 * nothing of: of two variables it makes `a < b ? a : b` one instruction, of a variable and a
 * constant a comparison and a blend. */
Rvalue *jit_bound(JitFunction *f, Dtype dtype, double value);
/* Expressions as in C: jit_binary gives a's type, which b must have. A builtin's name is without
 * `__builtin_`. */
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

/* A new variable; several may have one name. */
Lvalue *jit_local(JitFunction *f, Type *type, const char *name);
/* A variable with a name of its own, t0, t1, ... */
Lvalue *jit_temp(JitFunction *f, Type *type);
/* Requires, as all that adds statements: a block is open. */
void jit_set(JitFunction *f, Lvalue *to, Rvalue *value);
/* A temporary that holds the value from here on. */
Rvalue *jit_keep(JitFunction *f, Rvalue *value);
/* cond ? a : b of values computed already, in the shape that if-conversion turns into a blend. */
Rvalue *jit_select(JitFunction *f, Rvalue *cond, Rvalue *a, Rvalue *b);

/* if (cond) { open block } ... jit_end_if: continues behind it. */
JitBlock *jit_if(JitFunction *f, Rvalue *cond);
/* `after` is what jit_if returned. */
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

#endif
