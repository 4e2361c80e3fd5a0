/* NVIDIA's library for several GPUs, which may be there: loaded by name, no header of it needed. */
#ifndef TSR_RUNTIME_CUDA_NCCL_H
#define TSR_RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/driver.h"

/* Types and numbers of its interface, which stay as they are; its id is a tsr_group_id. */
typedef int NcclResult;
typedef struct ncclComm *NcclComm;
enum { NCCL_SUCCESS = 0, NCCL_UINT8 = 1, NCCL_IN_PROGRESS = 7 };

typedef struct Nccl {
	void *library;
#define NCCL_FUNCTION(result, name, parameters) result(*name) parameters;
#include "runtime/cuda/nccl.def"
#undef NCCL_FUNCTION
} Nccl;

/* The library of the environment's TSR_NCCL (empty: there is to be none), else libnccl.so.2 of ld.so. TSR_NO_DEVICE with
 * what was looked for, and why it will not do, in *error. It stays loaded. */
int nccl_open(Nccl *nccl, tsr_error *error);

#endif
