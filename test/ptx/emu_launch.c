/* Launches: their parameters, and the kernel that runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ptx/emu_entry.h"

enum { ATTRIBUTE_CLUSTER = 4, ATTRIBUTE_EARLY = 6 };

static PtxLaunch launch_of(const EmuWork *work)
{
	PtxLaunch launch = {.module = work->function->module->module,
			    .kernel = work->function->kernel,
			    .dynamic = work->dynamic,
			    .early = work->early,
			    .params = work->params,
			    .schedule = emu.schedule};
	memcpy(launch.grid, work->grid, sizeof launch.grid);
	memcpy(launch.block, work->block, sizeof launch.block);
	memcpy(launch.cluster, work->cluster, sizeof launch.cluster);
	return launch;
}

static CUresult copy_params(EmuWork *work, void **params)
{
	const PtxFunction *kernel = work->function->kernel;
	work->params = calloc(1, kernel->param_bytes + 1);
	work->places = calloc(kernel->params.n + 1, sizeof *work->places);
	if (work->params == NULL || work->places == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (params == NULL && kernel->params.n > 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < kernel->params.n; i++) {
		work->places[i] = work->params + kernel->params.at[i].at;
		memcpy(work->places[i], params[i], kernel->params.at[i].bytes);
	}
	return CUDA_SUCCESS;
}

static CUresult checked(EmuWork *work, void **params)
{
	CUresult result = copy_params(work, params);
	if (result != CUDA_SUCCESS)
		return result;
	PtxLaunch launch = launch_of(work);
	const char *why = ptx_launch_refused(&launch);
	if (why == NULL && work->dynamic > (uint32_t)work->function->dynamic)
		why = "it has no room for so much shared memory";
	if (why == NULL)
		return CUDA_SUCCESS;
	emu_tell(why);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult emu_launch_work(EmuWork *work, CUfunction f, void **params)
{
	if (f == NULL || f->tag != TAG_FUNCTION || f->module->context != emu_context())
		return CUDA_ERROR_INVALID_HANDLE;
	work->kind = WORK_LAUNCH;
	work->function = f;
	for (int i = 0; i < 3; i++)
		work->cluster[i] = work->cluster[i]	   ? work->cluster[i]
				   : f->kernel->cluster[i] ? f->kernel->cluster[i]
							   : 1;
	CUresult result = checked(work, params);
	if (result != CUDA_SUCCESS)
		emu_work_free(work);
	return result;
}

static CUresult launch(CUstream stream, CUfunction f, EmuWork work, void **params, void **extra)
{
	if (extra != NULL)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUresult result = emu_launch_work(&work, f, params);
	return result != CUDA_SUCCESS ? result : emu_submit(stream, work);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
			void **extra)
{
	EmuWork work = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic = shared};
	EMU_CALL(true, launch(stream, f, work, params, extra));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	EmuWork work = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
			.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
			.dynamic = c->sharedMemBytes};
	for (unsigned i = 0; i < c->numAttrs; i++) {
		if (c->attrs[i].id == ATTRIBUTE_CLUSTER)
			memcpy(work.cluster, c->attrs[i].cluster, sizeof work.cluster);
		if (c->attrs[i].id == ATTRIBUTE_EARLY)
			work.early = c->attrs[i].early != 0;
	}
	EMU_CALL(true, launch(c->hStream, f, work, params, extra));
}

static CUresult code_of(PtxFault fault)
{
	switch (fault) {
	case FAULT_NONE: return CUDA_SUCCESS;
	case FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
	case FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
	case FAULT_TIMEOUT: return CUDA_ERROR_LAUNCH_TIMEOUT;
	case FAULT_TRAP:
	case FAULT_ILLEGAL: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case FAULT_MEMORY: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default: return CUDA_ERROR_LAUNCH_FAILED;
	}
}

CUresult emu_run(EmuWork *work)
{
	PtxReport report = {0};
	if (emu_fails(FAIL_LAUNCH)) {
		emu_tell("a launch was made to fail");
		return CUDA_ERROR_LAUNCH_FAILED;
	}
	PtxLaunch launch = launch_of(work);
	launch.schedule.seed += emu.launches++;
	if (!ptx_launch(&launch, &report))
		emu_tell(report.text);
	return code_of(report.fault);
}
