/* The interpreter's private parts: one running routine. */
#ifndef TSR_CODEGEN_INTERP_H
#define TSR_CODEGEN_INTERP_H

#include "base/element.h"
#include "codegen/codegen.h"

/* Where a buffer lies while a routine runs. */
typedef struct InterpBuffer {
	void *bytes;
	int64_t elements;
} InterpBuffer;

typedef struct Race Race;                   /* interp_race.h */
typedef struct InterpIndexes InterpIndexes; /* interp_index.c */
typedef struct InterpExact InterpExact;	    /* interp_exact.c */

typedef struct Interp {
	const Program *program;
	const Kernel *kernel;
	const Scalar *scalars;
	int64_t *dims; /* by DimId; those of loops have the present step */
	Arena *arena;
	int64_t *sizes; /* by Size.id: its value, once known */
	bool *known;
	uint32_t nsizes;
	InterpIndexes *indexes;
	struct InterpCopies *copies; /* of the kernel, that are asynchronous */
	InterpBuffer *buffers; /* by BufferId */
	int64_t *iters;        /* by IterVar */
	Scalar **locals;       /* by LocalId */
	InterpExact *exact;    /* arithmetic of machine code; NULL: each operation is rounded */
	Race *race;            /* of the parallel loop that runs; NULL: none */
	int64_t steps, bytes;  /* that it may still take */
	int64_t turn;	       /* iterations of the kernel's grid so far */
	int code;              /* not 0: a check failed */
} Interp;

enum { INTERP_BAD_DIM = 2, INTERP_CHECK_FIRST = 16 }; /* as in runtime/tsr.h */

/* An empty cache of indices, in the arena. */
InterpIndexes *interp_indexes_new(Arena *arena);
/* Sizes have other values. */
void interp_indexes_forget(InterpIndexes *indexes);
int64_t interp_size(Interp *in, Size size);
int64_t interp_ix(Interp *in, const Ix *ix);
Scalar interp_value(Interp *in, const Value *value);
/* op_eval; the commonest operations, of f32, on the way. */
static inline Scalar interp_op(Op op, Dtype dtype, const Scalar *x)
{
	if (dtype == DTYPE_F32)
		switch (op) {
		case OP_ADD: return (Scalar){.f = (double)((float)x[0].f + (float)x[1].f)};
		case OP_SUB: return (Scalar){.f = (double)((float)x[0].f - (float)x[1].f)};
		case OP_MUL: return (Scalar){.f = (double)((float)x[0].f * (float)x[1].f)};
		default: break;
		}
	return op_eval(op, dtype, x);
}
/* Arithmetic with the bits that machine code of the program has under these options. */
InterpExact *interp_exact_new(Arena *arena, const Program *program, const CodeOptions *code);
/* ... of an operation whose operands are computed; */
Scalar interp_exact_op(InterpExact *exact, Op op, Dtype dtype, const Scalar *args);
/* ... of `x op y`, x == NULL: of `before`, if it is a sum with a product; else false. Requires: in->exact. */
bool interp_exact_sum(Interp *in, Op op, const Value *x, const Value *y, Scalar before,
		      Scalar *result);
/* The element of a buffer. Requires: it is in range, else BUG. */
Scalar interp_load(const Interp *in, BufferId buffer, int64_t at);
void interp_store(const Interp *in, BufferId buffer, int64_t at, Scalar value);
/* The place of an element of a local. */
Scalar *interp_local(Interp *in, LocalId local, const Ix *const *ixs, uint32_t nixs);

#endif
