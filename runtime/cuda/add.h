/* PTX of the kernels that add what the members of a group have sent: one per dtype, tsr_add_f32 and so on.
 *
 *   for i in 0..n: to[i] = (part 0)[i] + (part 1)[i] + ... + (part ranks - 1)[i]
 *
 * one after another; part `rank` is `own`, the others lie `stride` elements apart in `parts`. bf16 and f16 are added in
 * f32 and rounded once.
 */
#ifndef TSR_RUNTIME_CUDA_ADD_H
#define TSR_RUNTIME_CUDA_ADD_H

#include "base/dtype.h"

typedef struct AddParameters {
	unsigned long long own, parts, to, n, stride;
	unsigned rank, ranks;
} AddParameters;

extern const char add_ptx[];
/* "tsr_add_f32"; NULL: there is none. */
const char *add_kernel(Dtype dtype);

#endif
