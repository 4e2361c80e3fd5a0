/* Sizes as code: their values in a function, with checks or without, and functions that compute one. */
#ifndef TSR_CODEGEN_JIT_SIZE_H
#define TSR_CODEGEN_JIT_SIZE_H

#include "codegen/jit_function.h"

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

/* Is it below what is known of the dim, below 0, or beyond the limit? */
Rvalue *jit_dim_is_bad(JitFunction *f, DimId dim, Rvalue *value);

typedef struct JitSizeFunction {
	const DimId *dims;
	uint32_t ndims;
	Size size;
} JitSizeFunction;
/* size_t name(int64_t dims...): SIZE_MAX where a dim or the size is out of range. */
void jit_size_function(Jit *jit, const char *name, const JitSizeFunction *what);

#endif
