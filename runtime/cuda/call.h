/* A call of a routine, and what it refuses before the device is asked for anything. */
#ifndef TSR_RUNTIME_CUDA_CALL_H
#define TSR_RUNTIME_CUDA_CALL_H

#include "runtime/cuda/device.h"

typedef struct Call {
	Gpu *gpu;
	const tsr_routine *table;
	const PlanRoutine *routine;
	const tsr_arguments *with;
	int64_t *values; /* of the module's dims; -1: it does not take them */
	bool no_graph;
	bool lent; /* arrays, and the workspace where there is one, are the device's */
} Call;

/* Dims, guards, sizes and pointers: TSR_OK, or the code, with its text in gpu->message. */
int call_check(const Call *call);
/* The copy of the state on the device; *found NULL: the routine touches no parameter. */
int call_state(const Call *call, DeviceState **found);

#endif
