/* Routines on arrays of a device. */
#include "runtime/cuda/gpu.h"
#include "runtime/session.h"

static int refuse_cpu(const tsr_call *call)
{
	if (call && call->message)
		*call->message = "code of a CPU takes arrays of the host";
	return TSR_NO_DEVICE;
}

int tsr_run_device(const tsr_model *model, const tsr_routine *routine, const tsr_call *call,
		   const tsr_arguments *arguments)
{
	if (!model || !routine || !arguments)
		return TSR_FAIL_ARGUMENT;
	return model->gpu ? gpu_invoke_lent(model->gpu,
					    (int32_t)(routine - model->table->routines), call,
					    arguments)
			  : refuse_cpu(call);
}

int tsr_wait_device(const tsr_model *model, const tsr_call *call, void *stream)
{
	if (!model)
		return TSR_FAIL_ARGUMENT;
	return model->gpu ? gpu_wait(model->gpu, call, stream) : refuse_cpu(call);
}

int tsr_device_workspace(const tsr_model *model, const tsr_routine *routine, const int64_t *dims,
			 int64_t *bytes)
{
	if (!model || !routine || !dims || !bytes)
		return TSR_FAIL_ARGUMENT;
	*bytes = 0;
	return !model->gpu || gpu_workspace_bytes(model->gpu,
						  (int32_t)(routine - model->table->routines), dims,
						  bytes)
		       ? TSR_OK
		       : TSR_FAIL_DIM;
}

static int check_model(const tsr_model *model, tsr_error *error)
{
	int code = session_check_pointer(model, "model", error);
	return code != TSR_OK || model->gpu
		       ? code
		       : session_fail(error, TSR_NO_DEVICE, "code of a CPU has no memory of a device");
}

static int told(int code, const char *message, tsr_error *error)
{
	return code == TSR_OK ? code : session_fail(error, code, "%s (code %d)", message, code);
}

int tsr_device_allocate(const tsr_model *model, size_t bytes, void **at, tsr_error *error)
{
	const char *message;
	int code = check_model(model, error);
	if (code == TSR_OK)
		code = session_check_pointer(at, "place for the address", error);
	return code == TSR_OK ? told(gpu_allocate(model->gpu, bytes, at, &message), message, error)
			      : code;
}

void tsr_device_free(const tsr_model *model, void *at)
{
	if (model && model->gpu)
		gpu_free(model->gpu, at);
}

static int copy(const tsr_model *model, void *to, const void *from, GpuCopy what, tsr_error *error)
{
	const char *message;
	int code = check_model(model, error);
	if (code == TSR_OK && what.bytes)
		code = session_check_pointer(to, "place to copy to", error);
	if (code == TSR_OK && what.bytes)
		code = session_check_pointer(from, "array", error);
	return code == TSR_OK ? told(gpu_copy(model->gpu, to, from, what, &message), message, error)
			      : code;
}

int tsr_device_write(const tsr_model *model, void *device, const void *host, size_t bytes,
		     tsr_error *error)
{
	return copy(model, device, host, (GpuCopy){bytes, false}, error);
}

int tsr_device_read(const tsr_model *model, void *host, const void *device, size_t bytes,
		    tsr_error *error)
{
	return copy(model, host, device, (GpuCopy){bytes, true}, error);
}
