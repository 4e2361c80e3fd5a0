/* Memory of the device, pinned memory, copies. */
#include <stdlib.h>
#include <string.h>

#include "test/ptx/emu_entry.h"

static CUresult new_memory(CUdeviceptr *at, size_t bytes)
{
	if (bytes == 0 || at == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_may_wait() != CUDA_SUCCESS)
		return emu_may_wait();
	*at = emu_fails(FAIL_ALLOC) ? 0 : ptx_memory_new(&emu.memory, bytes, 0);
	return *at == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) { EMU_CALL(true, new_memory(at, bytes)); }

/* Waits for all work, as the driver does. */
static CUresult drop(CUdeviceptr at)
{
	CUresult result = emu_may_wait() != CUDA_SUCCESS ? emu_may_wait() : emu_finish_all();
	if (result != CUDA_SUCCESS || at == 0)
		return result;
	return ptx_memory_drop(&emu.memory, at) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree_v2(CUdeviceptr at) { EMU_CALL(true, drop(at)); }

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	EMU_CALL(true, (*total = emu.memory.limit, *free_bytes = emu.memory.limit - emu.memory.held,
			CUDA_SUCCESS));
}

static CUresult new_pinned(void **at, size_t bytes)
{
	*at = NULL;
	if (emu_may_wait() != CUDA_SUCCESS)
		return emu_may_wait();
	*at = emu_fails(FAIL_HOST) || bytes == 0 ? NULL : malloc(bytes);
	if (*at == NULL)
		return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	memset(*at, 0xff, bytes);
	if (ptx_memory_add(&emu.memory, *at, bytes))
		return CUDA_SUCCESS;
	free(*at);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
	(void)flags;
	EMU_CALL(true, new_pinned(at, bytes));
}

static CUresult drop_pinned(void *at)
{
	CUresult result = emu_finish_all();
	if (result != CUDA_SUCCESS || !ptx_memory_drop(&emu.memory, (uint64_t)(uintptr_t)at))
		return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
	free(at);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *at) { EMU_CALL(true, drop_pinned(at)); }

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *at, void *host, unsigned flags)
{
	(void)flags;
	uint64_t address = (uint64_t)(uintptr_t)host;
	EMU_CALL(true, ptx_memory_find(&emu.memory, address, 1) ? (*at = address, CUDA_SUCCESS)
								: CUDA_ERROR_INVALID_VALUE);
}

/* CU_POINTER_ATTRIBUTE_MEMORY_TYPE: 1 host, 2 device; RANGE_START_ADDR, RANGE_SIZE. */
static CUresult pointer_attribute(void *value, int attribute, CUdeviceptr at)
{
	const PtxAllocation *there = ptx_memory_find(&emu.memory, at, 1);
	if (there == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case 2: *(unsigned *)value = there->foreign ? 1 : 2; return CUDA_SUCCESS;
	case 11: *(CUdeviceptr *)value = there->base; return CUDA_SUCCESS;
	case 12: *(size_t *)value = there->bytes; return CUDA_SUCCESS;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at)
{
	EMU_CALL(true, pointer_attribute(value, attribute, at));
}

/* ---- copies ---- */

/* What is copied from memory that is not pinned is read before the call returns. */
static CUresult stage(EmuWork *work)
{
	if (work->kind != WORK_TO_DEVICE || work->bytes == 0 ||
	    ptx_memory_find(&emu.memory, (uint64_t)(uintptr_t)work->host, work->bytes) != NULL)
		return CUDA_SUCCESS;
	work->params = malloc(work->bytes);
	if (work->params == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(work->params, work->host, work->bytes);
	work->host = NULL;
	return CUDA_SUCCESS;
}

static bool there(CUdeviceptr at, size_t bytes)
{
	return ptx_memory_find(&emu.memory, at, bytes) != NULL;
}

static CUresult submit(CUstream stream, EmuWork work)
{
	bool to =
		work.kind == WORK_TO_DEVICE || work.kind == WORK_ON_DEVICE || work.kind == WORK_SET;
	bool from = work.kind == WORK_TO_HOST || work.kind == WORK_ON_DEVICE;
	if ((to && !there(work.to, work.bytes)) || (from && !there(work.from, work.bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = stage(&work);
	return result != CUDA_SUCCESS ? result : emu_submit(stream, work);
}

/* In the default stream, and done when the call returns. */
static CUresult now(EmuWork work)
{
	CUresult result = submit(&emu.stream, work);
	return result != CUDA_SUCCESS ? result : emu_finish(&emu.stream);
}

static EmuWork to_device(CUdeviceptr to, const void *from, size_t bytes)
{
	return (EmuWork){.kind = WORK_TO_DEVICE, .to = to, .host = (void *)from, .bytes = bytes};
}

static EmuWork to_host(void *to, CUdeviceptr from, size_t bytes)
{
	return (EmuWork){.kind = WORK_TO_HOST, .from = from, .host = to, .bytes = bytes};
}

static EmuWork on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return (EmuWork){.kind = WORK_ON_DEVICE, .to = to, .from = from, .bytes = bytes};
}

static EmuWork set(CUdeviceptr to, unsigned value, unsigned width, size_t n)
{
	return (EmuWork){
		.kind = WORK_SET, .to = to, .value = value, .width = width, .bytes = n * width};
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	EMU_CALL(true, now(to_device(to, from, bytes)));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	EMU_CALL(true, now(to_host(to, from, bytes)));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	EMU_CALL(true, now(on_device(to, from, bytes)));
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
	EMU_CALL(true, now(set(to, value, 1, n)));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	EMU_CALL(true, submit(stream, to_device(to, from, bytes)));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	EMU_CALL(true, submit(stream, to_host(to, from, bytes)));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	EMU_CALL(true, submit(stream, on_device(to, from, bytes)));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
	EMU_CALL(true, submit(stream, set(to, value, 1, n)));
}

static CUresult add_set(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n,
			const CUDA_MEMSET_NODE_PARAMS *p)
{
	if (graph == NULL || graph->tag != TAG_GRAPH || p == NULL || p->height != 1)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_graph_add(graph, node, after, n,
			     set(p->dst, p->value, p->elementSize, p->width));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n,
			      const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
	(void)context;
	EMU_CALL(true, add_set(node, graph, after, n, params));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
	EMU_CALL(true, to % 4 ? CUDA_ERROR_INVALID_VALUE : submit(stream, set(to, value, 4, n)));
}
