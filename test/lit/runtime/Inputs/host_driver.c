/* NVIDIA's driver as libtsr uses it, without a GPU: memory of a device is the host's, and a kernel is its body for
 * the host, as the CUDA C that is included has it. It runs thread after thread, in the order of the launches.
 *
 * FAIL=FUNCTION:CODE[:N] makes the N-th call of a function of the driver fail; CAPABILITY=80 is the GPU's; LOG=FILE
 * gets a line for each call that changes something. Memory that is allocated is filled with bytes 0xff, which are
 * NaN and -1. Without launches (OLD) it is an older one; IDLE: kernels do nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kernel {
	const char *name;
	int nargs;
	void (*run)(void **args, unsigned blocks, unsigned threads);
} Kernel;
static int32_t status;
#include "kernels.inc"

enum { NO_MEMORY = 2, NOT_FOUND = 500, INVALID = 1 };
typedef unsigned long long Address;

static void note(const char *name, long long a, long long b)
{
	const char *path = getenv("LOG");
	FILE *out = path ? fopen(path, "a") : NULL;
	if (!out)
		return;
	fprintf(out, "%s %lld %lld\n", name, a, b);
	fclose(out);
}

/* What the function returns before it does anything. */
static int failure(const char *name, int *calls)
{
	const char *asked = getenv("FAIL");
	size_t n = strlen(name);
	++*calls;
	if (!asked || strncmp(asked, name, n) != 0 || asked[n] != ':')
		return 0;
	char *end;
	int code = (int)strtol(asked + n + 1, &end, 10);
	return *end != ':' || atoi(end + 1) == *calls ? code : 0;
}
#define ENTER(name)                         \
	static int calls;                   \
	int failed = failure(name, &calls); \
	if (failed)                         \
	return failed

int cuInit(unsigned flags)
{
	(void)flags;
	ENTER("cuInit");
	return 0;
}
int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}
int cuGetErrorName(int code, const char **name)
{
	*name = code == NO_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
		: code == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND"
		: code == 700	    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
		: code == 100	    ? "CUDA_ERROR_NO_DEVICE"
				    : NULL;
	return *name ? 0 : INVALID;
}
int cuGetErrorString(int code, const char **text)
{
	*text = code == NO_MEMORY ? "out of memory" : NULL;
	return 0;
}
int cuDeviceGetCount(int *count)
{
	*count = getenv("NO_DEVICE") ? 0 : 1;
	return 0;
}
int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}
int cuDeviceGetName(char *name, int room, int device)
{
	(void)device;
	snprintf(name, (size_t)room, "Host");
	return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const char *asked = getenv("CAPABILITY");
	int capability = asked ? atoi(asked) : 90;
	(void)device;
	*value = attribute == 75   ? capability / 10
		 : attribute == 76 ? capability % 10
		 : attribute == 97 ? 99 << 10
				   : 0;
	return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	(void)device;
	*context = &status;
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	return 0;
}
static void *current;
int cuCtxGetCurrent(void **context)
{
	*context = current;
	return 0;
}
int cuCtxSetCurrent(void *context)
{
	current = context;
	return 0;
}
int cuCtxGetDevice(int *device)
{
	*device = 0;
	return 0;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values)
{
	ENTER("cuModuleLoadDataEx");
	(void)n, (void)options, (void)values;
	if (!strstr(image, ".version "))
		return 218;
	note("load", 0, 0);
	*module = &current;
	return 0;
}
int cuModuleUnload(void *module)
{
	(void)module;
	return 0;
}
int cuModuleGetFunction(const Kernel **function, void *module, const char *name)
{
	(void)module;
	for (*function = kernels; (*function)->name; ++*function)
		if (strcmp((*function)->name, name) == 0)
			return 0;
	return NOT_FOUND;
}
int cuFuncSetAttribute(const Kernel *function, int attribute, int value)
{
	(void)function;
	return attribute == 8 && value > 0 && value <= 99 << 10 ? 0 : INVALID;
}
int cuModuleGetGlobal_v2(Address *at, size_t *bytes, void *module, const char *name)
{
	(void)module;
	*bytes = 4;
	*at = (Address)(uintptr_t)(strcmp(name, "tsr_status") == 0 ? &status
								   : constant_named(name));
	return *at ? 0 : NOT_FOUND;
}
int cuMemAlloc_v2(Address *at, size_t bytes)
{
	ENTER("cuMemAlloc_v2");
	void *block = bytes > (1u << 30) ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
	if (!block)
		return NO_MEMORY;
	memset(block, 0xff, bytes);
	note("allocate", (long long)bytes, 0);
	*at = (Address)(uintptr_t)block;
	return 0;
}
int cuMemFree_v2(Address at)
{
	free((void *)(uintptr_t)at);
	note("free", 0, 0);
	return 0;
}
int cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
	ENTER("cuMemHostAlloc");
	(void)flags;
	*at = malloc(bytes);
	return *at ? 0 : NO_MEMORY;
}
int cuMemFreeHost(void *at)
{
	free(at);
	return 0;
}
/* All memory is a device's. */
int cuPointerGetAttribute(unsigned *value, int attribute, Address at)
{
	ENTER("cuPointerGetAttribute");
	*value = 2;
	return attribute == 2 && at ? 0 : INVALID;
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream)
{
	ENTER("cuMemcpyHtoDAsync_v2");
	(void)stream;
	note("to device", (long long)bytes, 0);
	memcpy((void *)(uintptr_t)to, from, bytes);
	return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream)
{
	ENTER("cuMemcpyDtoHAsync_v2");
	(void)stream;
	note("to host", (long long)bytes, 0);
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return 0;
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream)
{
	(void)stream;
	note("reset", (long long)bytes, 0);
	memset((void *)(uintptr_t)to, value, bytes);
	return 0;
}
int cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	*stream = &current;
	return 0;
}
int cuStreamSynchronize(void *stream)
{
	(void)stream;
	ENTER("cuStreamSynchronize");
	return 0;
}
int cuStreamDestroy_v2(void *stream)
{
	(void)stream;
	return 0;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	(void)stream, (void)event, (void)flags;
	note("wait", 0, 0);
	return 0;
}
int cuStreamIsCapturing(void *stream, int *status)
{
	(void)stream;
	*status = 0;
	return 0;
}
int cuEventCreate(void **event, unsigned flags)
{
	(void)flags;
	*event = &current;
	return 0;
}
int cuEventDestroy_v2(void *event)
{
	(void)event;
	return 0;
}
int cuEventRecord(void *event, void *stream)
{
	(void)event, (void)stream;
	return 0;
}
int cuEventSynchronize(void *event)
{
	(void)event;
	return 0;
}
static int launch(const Kernel *kernel, unsigned blocks, unsigned threads, void **args)
{
	note(kernel->name, blocks, threads);
#ifndef IDLE
	if (status == 0)
		kernel->run(args, blocks, threads);
#endif
	return 0;
}

#ifndef OLD
int cuLaunchKernel(const Kernel *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		   unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
		   void **extra)
{
	ENTER("cuLaunchKernel");
	(void)shared, (void)stream, (void)extra;
	return gy != 1 || gz != 1 || by != 1 || bz != 1 || !current ? INVALID
								    : launch(kernel, gx, bx, args);
}
#endif

/* Graphs of kernels, each behind the one that was added before. */
enum { NODES = 1 << 14, ARGS = 64 };
typedef struct Launch {
	const Kernel *kernel;
	unsigned grid[3], block[3], shared;
	void **args, **extra;
	void *unused, *context;
} Launch;
typedef struct Node {
	void *set; /* NULL: a launch */
	size_t bytes;
	Launch launch;
	long long values[ARGS]; /* of its arguments */
} Node;
typedef struct Graph {
	int n;
	Node *nodes[NODES];
} Graph;

static void take(Node *node, const Launch *launch)
{
	node->launch = *launch;
	for (int i = 0; i < launch->kernel->nargs; i++)
		memcpy(&node->values[i], launch->args[i], 8);
}
int cuGraphCreate(Graph **graph, unsigned flags)
{
	ENTER("cuGraphCreate");
	(void)flags;
	*graph = calloc(1, sizeof **graph);
	return 0;
}
int cuGraphAddKernelNode_v2(Node **node, Graph *graph, Node *const *behind, size_t n,
			    const Launch *launch)
{
	ENTER("cuGraphAddKernelNode_v2");
	if (graph->n == NODES ||
	    (graph->n ? n != 1 || *behind != graph->nodes[graph->n - 1] : n != 0))
		return INVALID;
	take(*node = graph->nodes[graph->n++] = calloc(1, sizeof **node), launch);
	return 0;
}
typedef struct Set {
	unsigned long long at;
	size_t pitch;
	unsigned value, element_bytes;
	size_t width, height;
} Set;
int cuGraphAddMemsetNode(Node **node, Graph *graph, Node *const *behind, size_t n, const Set *set,
			 void *context)
{
	ENTER("cuGraphAddMemsetNode");
	(void)behind;
	if (graph->n || n || set->value || set->height != 1 || context != current)
		return INVALID;
	*node = graph->nodes[graph->n++] = calloc(1, sizeof **node);
	(*node)->set = (void *)(size_t)set->at;
	(*node)->bytes = set->width * set->element_bytes;
	return 0;
}
int cuGraphInstantiateWithFlags(Graph **exec, Graph *graph, unsigned long long flags)
{
	ENTER("cuGraphInstantiateWithFlags");
	note("graph", graph->n, (long long)flags);
	*exec = graph;
	return 0;
}
int cuGraphExecKernelNodeSetParams_v2(Graph *exec, Node *node, const Launch *launch)
{
	ENTER("cuGraphExecKernelNodeSetParams_v2");
	(void)exec;
	note("set", 0, 0);
	take(node, launch);
	return 0;
}
int cuGraphLaunch(Graph *exec, void *stream)
{
	ENTER("cuGraphLaunch");
	(void)stream;
	note("launch graph", exec->n, 0);
	for (int i = 0; i < exec->n; i++) {
		void *args[ARGS];
		for (int k = 0; k < ARGS; k++)
			args[k] = &exec->nodes[i]->values[k];
		const Launch *l = &exec->nodes[i]->launch;
		if (exec->nodes[i]->set)
			memset(exec->nodes[i]->set, 0, exec->nodes[i]->bytes);
		else
			launch(l->kernel, l->grid[0], l->block[0], args);
	}
	return 0;
}
int cuGraphExecDestroy(Graph *exec)
{
	(void)exec;
	return 0;
}
int cuGraphDestroy(Graph *graph)
{
	for (int i = 0; i < graph->n; i++)
		free(graph->nodes[i]);
	free(graph);
	return 0;
}
