/* PTX that runs on a CPU, thread after thread: what a device would compute, and what a kernel does that it must not.
 *
 *   PtxModule *m = ptx_module_read(&memory, text, n, error, sizeof error);
 *   ptx_launch(&launch, &report)                 all blocks of a grid; false: report.text says which thread did what
 *
 * Every thread runs until it waits for others. A schedule is the order in which threads and blocks run, and when
 * asynchronous copies land: what a kernel computes may depend on none. Reported are accesses outside of allocations, of
 * shared and local memory, misaligned ones, barriers that not all threads reach, warps that part where they must not,
 * accesses of two threads to shared memory without a barrier between them, and launches that do not end.
 */
#ifndef TSR_PTX_PTX_H
#define TSR_PTX_PTX_H

#include "test/ptx/code.h"

/* NULL: `error` has a message that names the line. Variables in global memory have their place in `memory`, which outlives
 * the module. */
PtxModule *ptx_module_read(PtxMemory *memory, const char *text, size_t n, char *error, size_t size);
void ptx_module_free(PtxModule *module);
/* NULL: there is none of this name. */
const PtxFunction *ptx_module_kernel(const PtxModule *module, const char *name);
const PtxVariable *ptx_module_variable(const PtxModule *module, const char *name);

typedef enum PtxOrder {
	ORDER_FORWARD, /* copies land when they are waited for */
	ORDER_REVERSE, /* copies land at once */
	ORDER_RANDOM   /* both by chance */
} PtxOrder;

typedef struct PtxSchedule {
	PtxOrder order;
	uint64_t seed;
	bool races;    /* accesses to shared memory without a barrier between them are reported */
	uint64_t fuel; /* instructions that a launch may take */
} PtxSchedule;

typedef struct PtxLaunch {
	const PtxModule *module;
	const PtxFunction *kernel;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic;	     /* bytes of shared memory beside what the kernel declares */
	bool early;		     /* it may begin before the launch in front of it has ended */
	const unsigned char *params; /* kernel->param_bytes */
	PtxSchedule schedule;
} PtxLaunch;

typedef enum PtxFault {
	FAULT_NONE,
	FAULT_ADDRESS, /* outside of all allocations, of shared or local memory */
	FAULT_MISALIGNED,
	FAULT_SYNC, /* a deadlock, or threads that do not meet */
	FAULT_RACE,
	FAULT_TIMEOUT,
	FAULT_TRAP,
	FAULT_ILLEGAL, /* an instruction that means nothing with these operands */
	FAULT_MEMORY   /* of the process */
} PtxFault;

typedef struct PtxReport {
	PtxFault fault;
	char text[1000];
	uint64_t instructions;
} PtxReport;

/* Why a launch of these sizes is none, or NULL. */
const char *ptx_launch_refused(const PtxLaunch *launch);
bool ptx_launch(const PtxLaunch *launch, PtxReport *report);

#endif
