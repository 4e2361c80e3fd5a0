/* result.h: made from result.tsr by tsrc 0.1.0. Do not edit.
 *
 * Arrays are row-major; a tensor [batch | input -> output] keeps its axes in storage order: batch,
 * output, input. An array is aligned for its elements and may be NULL when it has none; outputs
 * and the workspace overlap no other array. The state and the workspace are aligned to 64 bytes.
 * All memory is the caller's: the functions allocate nothing, keep no pointer and no state of their
 * own, and may run on several threads at once with different outputs, workspaces and states.
 * A routine returns TSR_OK or a positive code, and then has written nothing. A size function
 * returns SIZE_MAX where a dim is out of its range.
 */
#ifndef TSR_MODULE_result_H
#define TSR_MODULE_result_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSR_CALL_H
#define TSR_CALL_H
/* What a caller may pass to a routine; NULL will do. The routine writes *message (when `message` is
 * not NULL) with a static text whenever it returns a code other than 0 and TSR_BAD_CALL. */
typedef struct tsr_call {
	uint32_t abi; /* TSR_ABI */
	uint32_t flags; /* 0; TSR_NO_GRAPH, of code for a GPU */
	const char **message;
	/* Runs task(arg, i) for i in [0, n), on any threads; NULL: serially. */
	void (*parallel)(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg);
	void *pool;
} tsr_call;
enum {
	TSR_ABI = 2,
	TSR_NO_GRAPH = 1, /* launches go to the device one by one, not as a graph */
	TSR_OK = 0,
	TSR_BAD_CPU = 1,     /* the module was built for a CPU with other features */
	TSR_BAD_DIM = 2,     /* a dim is negative, below its declared minimum, or too large */
	TSR_BAD_POINTER = 3, /* a needed pointer is NULL or not aligned */
	TSR_BAD_CALL = 4,    /* the call's abi is not TSR_ABI, or its flags are not 0 */
	TSR_NOT_PACKED = 5,  /* the module's `pack` was never called on the state */
	TSR_NO_DEVICE = 6,   /* of code for a GPU: there is no driver, or no GPU that runs it */
	TSR_BAD_DEVICE = 7,  /* of code for a GPU: the driver failed, as when memory is short */
	TSR_CHECK_FIRST = 16 /* + k: the k-th check of the module's table failed */
};
/* Elements of type bf16 and f16 are their bits: the upper half of a float, and IEEE 754
 * binary16. */
typedef uint16_t tsr_bf16;
typedef uint16_t tsr_f16;
#endif
#ifndef TSR_F8_H
#define TSR_F8_H
/* Those of f8e4m3 and f8e5m2 as the Open Compute Project's 8-bit formats have them; e4m3 has no
 * infinities. */
typedef uint8_t tsr_f8e4m3;
typedef uint8_t tsr_f8e5m2;
/* i4 and u4 lie two a byte, in arrays of uint8_t: element i, in storage order, in the lower half of byte i / 2
 * where i is even, else in the upper one; behind an odd number of elements the upper half is 0. i4 is two's
 * complement. */
#endif

/* r: -> y f32 []
 *   y: f32 [], an array of 1
 *   workspace: result_r_workspace(...) = 0 bytes */
int result_r(const tsr_call *call, float *y, void *state, void *workspace);
size_t result_r_workspace(void);

/* The state: 64 bytes.
 *   byte 0: w f32 [3], an array of 3
 * init writes the initial values of all parameters, and packs; the same seed gives the same bits. */
size_t result_state_size(void);
int result_init(void *state, uint64_t seed);

/* To be called after parameters were written into the state by other means than init and the
 * routines, each time, before the next call of a routine: here it has nothing to do. */
int result_pack(const tsr_call *call, void *state);

/* The table that describes all of this; its type is in tsr.h. */
extern const struct tsr_module result_module;

#ifdef __cplusplus
}
#endif
#endif
