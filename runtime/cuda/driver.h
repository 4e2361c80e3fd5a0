/* NVIDIA's driver as a library that may be there: loaded by name, no header of it needed. */
#ifndef TSR_RUNTIME_CUDA_DRIVER_H
#define TSR_RUNTIME_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/tsr.h"

/* Types and numbers of the driver's interface, which stay as they are. */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
/* Of a launch in a graph: CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct CUlaunch {
	CUfunction function;
	unsigned grid[3], block[3], shared_bytes;
	void **args, **extra;
	void *kernel;
	CUcontext context;
} CUlaunch;
/* A launch with attributes: CUlaunchConfig, CUlaunchAttribute. */
typedef struct CUattribute {
	int id;
	char pad[4];
	union {
		char bytes[64];
		int value;
	};
} CUattribute;
typedef struct CUconfig {
	unsigned grid[3], block[3], shared_bytes;
	CUstream stream;
	CUattribute *attributes;
	unsigned nattributes;
} CUconfig;
/* Of an edge of a graph: CUgraphEdgeData. */
typedef struct CUedge {
	unsigned char from_port, to_port, type, reserved[5];
} CUedge;
/* Of a row of elements set in a graph: CUDA_MEMSET_NODE_PARAMS. */
typedef struct CUmemset {
	CUdeviceptr at;
	size_t pitch;
	unsigned value, element_bytes;
	size_t width, height;
} CUmemset;
enum {
	CUDA_SUCCESS = 0,
	CU_STREAM_NON_BLOCKING = 1,
	CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
	CU_ATTRIBUTE_CAPABILITY_MINOR = 76,
	CU_ATTRIBUTE_SHARED_MOST = 97, /* of a block, when asked for */
	CU_FUNCTION_SHARED_MOST = 8,   /* ... beside what the code itself has */
	CU_JIT_ERROR_LOG = 5,
	CU_JIT_ERROR_LOG_BYTES = 6,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_POINTER_MEMORY_TYPE = 2,
	CU_POINTER_RANGE_START = 11,
	CU_POINTER_RANGE_BYTES = 12,
	CU_TENSOR_F16 = 6,
	CU_TENSOR_F32 = 7,
	CU_TENSOR_BF16 = 9,
	CU_TENSOR_TF32 = 11,	   /* f32, rounded as it is copied */
	CU_TENSOR_SWIZZLE_128 = 3, /* bytes */
	CU_TENSOR_PROMOTE_128 = 2, /* ... that are read into the second cache at once */
	CU_TENSOR_MAP_BYTES = 128,
	CU_LAUNCH_EARLY = 6, /* may it begin before the launch in front of it has ended? */
	CU_EDGE_EARLY = 1,   /* the same of nodes of a graph, */
	CU_PORT_EARLY = 1    /* ... from where a kernel lets the next begin */
};

typedef struct Driver {
	void *library;
#define CUDA_FUNCTION(needed, name, parameters) CUresult(*name) parameters;
#include "runtime/cuda/driver.def"
#undef CUDA_FUNCTION
} Driver;

/* The library of the environment's TSR_LIBCUDA (empty: there is to be none); else libcuda.so.1 of ld.so,
 * or that of WSL; initialised. TSR_NO_DEVICE, with what was looked for and why it will not do, in `why`. */
int driver_open(Driver *driver, char *why, size_t room);
/* What went wrong, with `what` was done in front: "kernel net__k_y: CUDA_ERROR_...: ..." */
void driver_text(const Driver *driver, CUresult result, const char *what, char *text, size_t room);

#endif
