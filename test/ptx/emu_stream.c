/* Streams, events, and what is done when somebody waits. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/ptx/emu_entry.h"

void emu_work_free(EmuWork *work)
{
	free(work->params);
	free(work->places);
	*work = (EmuWork){0};
}

bool emu_work_copy(EmuWork *to, const EmuWork *from)
{
	*to = *from;
	to->params = NULL;
	to->places = NULL;
	if (from->params == NULL)
		return true;
	size_t bytes =
		from->kind == WORK_LAUNCH ? from->function->kernel->param_bytes + 1u : from->bytes;
	size_t n = from->places ? from->function->kernel->params.n : 0;
	to->params = malloc(bytes);
	to->places = calloc(n + 1, sizeof *to->places);
	if (to->params == NULL || to->places == NULL) {
		emu_work_free(to);
		return false;
	}
	memcpy(to->params, from->params, bytes);
	for (size_t i = 0; i < n; i++)
		to->places[i] = to->params + from->function->kernel->params.at[i].at;
	return true;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static CUresult fill(const EmuWork *work)
{
	unsigned char *to = ptx_memory_at(&emu.memory, work->to, work->bytes);
	if (to == NULL)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (size_t i = 0; i < work->bytes; i++)
		to[i] = (unsigned char)(work->value >> 8 * (i % work->width));
	return CUDA_SUCCESS;
}

/* Between places that there were when the work was asked for; both may have been freed since. */
static CUresult copy(const EmuWork *work)
{
	const void *from = work->kind != WORK_TO_DEVICE
				   ? ptx_memory_at(&emu.memory, work->from, work->bytes)
			   : work->params ? work->params
					  : work->host;
	void *to = work->kind == WORK_TO_HOST ? work->host
					      : ptx_memory_at(&emu.memory, work->to, work->bytes);
	if (from == NULL || to == NULL)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	memmove(to, from, work->bytes);
	return CUDA_SUCCESS;
}

/* What has been recorded anew meanwhile is left to that. */
static void record_now(const EmuWork *work)
{
	if (work->count != work->event->count)
		return;
	work->event->recorded = true;
	work->event->stream = NULL;
	work->event->at = now();
}

/* The stream that the event was recorded in when the wait was asked for; it may be gone, with all done. */
static CUresult wait_for(CUstream stream)
{
	for (CUstream s = &emu.stream; s != NULL; s = s->next)
		if (s == stream)
			return emu_finish(s);
	return CUDA_SUCCESS;
}

static CUresult perform(EmuWork *work)
{
	switch (work->kind) {
	case WORK_LAUNCH: return emu_run(work);
	case WORK_SET: return fill(work);
	case WORK_RECORD: record_now(work); return CUDA_SUCCESS;
	case WORK_WAIT: return wait_for(work->stream);
	case WORK_CALL: work->call(work->host); return CUDA_SUCCESS;
	case WORK_NONE: return CUDA_SUCCESS;
	default: return work->bytes == 0 ? CUDA_SUCCESS : copy(work);
	}
}

CUresult emu_finish(CUstream stream)
{
	EmuQueue queue = stream->queue;
	stream->queue = (EmuQueue){0};
	for (size_t i = 0; i < queue.n; i++) {
		if (emu.spoiled == CUDA_SUCCESS)
			emu.spoiled = perform(&queue.at[i]);
		emu_work_free(&queue.at[i]);
	}
	free(queue.at);
	return emu.spoiled;
}

CUresult emu_finish_all(void)
{
	for (CUstream stream = &emu.stream; stream != NULL; stream = stream->next)
		emu_finish(stream);
	return emu.spoiled;
}

bool emu_is_stream(CUstream stream)
{
	return stream == NULL || (stream->tag == TAG_STREAM &&
				  (stream->context == NULL || stream->context == emu_context()));
}

CUresult emu_may_wait(void)
{
	for (CUstream s = &emu.stream; s != NULL; s = s->next)
		if (s->capturing != NULL && s->mode == CAPTURE_GLOBAL)
			return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return CUDA_SUCCESS;
}

static CUresult enqueue(CUstream stream, EmuWork work)
{
	EmuQueue *queue = &stream->queue;
	if (queue->n == queue->cap) {
		size_t cap = queue->cap ? 2 * queue->cap : 16;
		EmuWork *at = realloc(queue->at, cap * sizeof *at);
		if (at == NULL) {
			emu_work_free(&work);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		queue->at = at;
		queue->cap = cap;
	}
	queue->at[queue->n++] = work;
	return CUDA_SUCCESS;
}

CUresult emu_submit(CUstream stream, EmuWork work)
{
	if (!emu_is_stream(stream)) {
		emu_work_free(&work);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	stream = stream == NULL ? &emu.stream : stream;
	if (stream->capturing != NULL) {
		CUgraphNode *last = stream->last ? &stream->last : NULL, node;
		CUresult result = emu_graph_add(stream->capturing, &node, last, last != NULL, work);
		stream->last = result == CUDA_SUCCESS ? node : stream->last;
		return result;
	}
	CUresult result = enqueue(stream, work);
	bool at_once = emu.schedule.order == ORDER_REVERSE;
	return result == CUDA_SUCCESS && at_once ? emu_finish(stream) : result;
}

static CUresult new_stream(CUstream *stream, unsigned flags)
{
	*stream = calloc(1, sizeof **stream);
	if (*stream == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	**stream = (struct CUstream_st){.tag = TAG_STREAM,
					.context = emu_context(),
					.flags = flags,
					.next = emu.stream.next};
	emu.stream.next = *stream;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	EMU_CALL(true, new_stream(stream, flags));
}

static CUresult destroy(CUstream stream)
{
	if (stream == NULL || !emu_is_stream(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult result = emu_finish(stream);
	CUstream before = &emu.stream;
	while (before->next != stream)
		before = before->next;
	before->next = stream->next;
	stream->tag = 0;
	free(stream);
	return result;
}

CUresult cuStreamDestroy_v2(CUstream stream) { EMU_CALL(true, destroy(stream)); }

static CUresult synchronize(CUstream stream)
{
	if (!emu_is_stream(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	stream = stream == NULL ? &emu.stream : stream;
	return stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : emu_finish(stream);
}

CUresult cuStreamSynchronize(CUstream stream) { EMU_CALL(true, synchronize(stream)); }

CUresult cuStreamQuery(CUstream stream) { EMU_CALL(true, synchronize(stream)); }

CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
	EMU_CALL(true,
		 !emu_is_stream(stream)
			 ? CUDA_ERROR_INVALID_HANDLE
			 : (*status = stream != NULL && stream->capturing != NULL, CUDA_SUCCESS));
}

CUresult cuLaunchHostFunc(CUstream stream, void (*call)(void *data), void *data)
{
	EMU_CALL(true,
		 call == NULL
			 ? CUDA_ERROR_INVALID_VALUE
			 : emu_submit(stream,
				      (EmuWork){.kind = WORK_CALL, .call = call, .host = data}));
}

static bool is_event(CUevent event) { return event != NULL && event->tag == TAG_EVENT; }

static CUresult new_event(CUevent *event)
{
	*event = calloc(1, sizeof **event);
	if (*event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	**event = (struct CUevent_st){.tag = TAG_EVENT, .context = emu_context()};
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	(void)flags;
	EMU_CALL(true, new_event(event));
}

static CUresult await(CUevent event)
{
	if (!is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	return event->stream ? emu_finish(event->stream) : CUDA_SUCCESS;
}

static CUresult destroy_event(CUevent event)
{
	CUresult result = await(event);
	if (is_event(event)) {
		event->tag = 0;
		free(event);
	}
	return result;
}

CUresult cuEventDestroy_v2(CUevent event) { EMU_CALL(true, destroy_event(event)); }

static CUresult record(CUevent event, CUstream stream)
{
	if (!is_event(event) || !emu_is_stream(stream) || event->context != emu_context())
		return CUDA_ERROR_INVALID_HANDLE;
	event->recorded = false;
	event->stream = stream == NULL ? &emu.stream : stream;
	return emu_submit(stream,
			  (EmuWork){.kind = WORK_RECORD, .event = event, .count = ++event->count});
}

CUresult cuEventRecord(CUevent event, CUstream stream) { EMU_CALL(true, record(event, stream)); }

CUresult cuEventQuery(CUevent event) { EMU_CALL(true, await(event)); }

CUresult cuEventSynchronize(CUevent event) { EMU_CALL(true, await(event)); }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	(void)flags;
	EMU_CALL(true, !is_event(event) ? CUDA_ERROR_INVALID_HANDLE
					: emu_submit(stream, (EmuWork){.kind = WORK_WAIT,
								       .event = event,
								       .stream = event->stream}));
}

static CUresult elapsed(float *milliseconds, CUevent from, CUevent to)
{
	if (!is_event(from) || !is_event(to))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!from->recorded || !to->recorded)
		return from->stream || to->stream ? CUDA_ERROR_NOT_READY
						  : CUDA_ERROR_INVALID_HANDLE;
	*milliseconds = (float)(to->at - from->at);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
	EMU_CALL(true, elapsed(milliseconds, from, to));
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to)
{
	EMU_CALL(true, elapsed(milliseconds, from, to));
}
