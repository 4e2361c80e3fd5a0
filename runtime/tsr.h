/* tsr: what a compiled model exports, and libtsr, which loads and runs one.
 *
 * A compiled model needs none of this: its own header declares plain C functions. This header is for
 * programs that load models by name. The part between the guards TSR_CALL_H stands in every generated
 * header too. C99 and C++.
 */
#ifndef TSR_H
#define TSR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSR_CALL_H
#define TSR_CALL_H
/* What a caller may pass to a routine; NULL will do. The routine writes *message (when `message` is not
 * NULL) with a static text whenever it returns a code other than 0. */
typedef struct tsr_call {
	uint32_t abi; /* TSR_ABI */
	uint32_t flags;
	const char **message;
	/* Runs task(arg, i) for i in [0, n), on any threads; NULL: serially. */
	void (*parallel)(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg);
	void *pool;
} tsr_call;
enum {
	TSR_ABI = 1,
	TSR_OK = 0,
	TSR_BAD_CPU = 1,     /* the module was built for a CPU with other features */
	TSR_BAD_DIM = 2,     /* a dim is negative, below its declared minimum, or too large */
	TSR_BAD_POINTER = 3, /* a needed pointer is NULL or not aligned */
	TSR_CHECK_FIRST = 16 /* + k: the k-th check of the module's table failed */
};
#endif

/* ---- the exported table: every module has one tsr_module, named `<prefix>_module`, and the weak alias
 * `tsr_module_table` by which a loader finds it in a shared object ---- */

/* A size in postfix: pairs (code, argument), codes in the order of tsr_size_code; length in pairs. */
enum tsr_size_code { TSR_SIZE_CONST, TSR_SIZE_DIM, TSR_SIZE_ADD, TSR_SIZE_SUB, TSR_SIZE_MUL, TSR_SIZE_DIV, TSR_SIZE_FLOOR };
typedef struct tsr_size {
	const int64_t *code;
	int64_t n;
	const char *text; /* "2*n + 1" */
} tsr_size;

typedef struct tsr_tensor {
	const char *name;
	const char *dtype; /* "f32" */
	const char *type;  /* "f32 [n | 28, 28, 1]" */
	int32_t nbatch, noutput, ninput, pad;
	const tsr_size *sizes;     /* storage order: batch, output, input */
	const char *const *labels; /* likewise; NULL entries */
	tsr_size offset;           /* of a parameter: bytes from the state's start */
} tsr_tensor;

typedef struct tsr_scalar {
	const char *name;
	const char *dtype;
} tsr_scalar;

typedef struct tsr_dim {
	const char *name;
	int64_t at_least;
} tsr_dim;

typedef struct tsr_check {
	const char *text; /* for people */
	const char *place; /* "conv_net.tsr:12:5" */
} tsr_check;

/* dims: the routine's dims, in its order. scalars: each in the first bytes of a double or int64_t cell.
 * inputs, outputs: in the routine's order. Returns TSR_OK or a code. */
typedef int (*tsr_invoke)(const tsr_call *call, const int64_t *dims, const void *const *scalars,
			  const void *const *inputs, void *const *outputs, void *state, void *workspace);

typedef struct tsr_routine {
	const char *name;      /* "forward" */
	const char *signature; /* the C declaration */
	tsr_invoke invoke;
	int32_t ndims, nscalars, ninputs, noutputs;
	const int32_t *dims; /* indices into the module's dims */
	const tsr_scalar *scalars;
	const tsr_tensor *inputs, *outputs;
	tsr_size workspace; /* bytes */
	const int32_t *params; /* indices into the module's params that it reads */
	int64_t nparams;
} tsr_routine;

typedef struct tsr_module {
	uint32_t abi; /* TSR_ABI */
	uint32_t bytes; /* sizeof(tsr_module) */
	const char *name;     /* prefix */
	const char *source;   /* "conv_net.tsr" */
	const char *producer; /* "tsrc 0.1.0" */
	const char *target;   /* "x86-64: avx2 fma ..." */
	const char *features; /* CPU features required, space separated */
	int32_t ndims, nparams, nroutines, nchecks;
	const tsr_dim *dims;
	const tsr_tensor *params;
	const tsr_routine *routines;
	const tsr_check *checks;
	tsr_size state; /* bytes */
	/* Runs the initialisers; dims are the module's, in order (those that the state uses are read). */
	int (*init)(const int64_t *dims, void *state, uint64_t seed);
} tsr_module;

/* ---- libtsr (see runtime/tsr.c): filled in by the runtime ---- */

#ifdef __cplusplus
}
#endif
#endif
