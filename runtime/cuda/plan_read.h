/* What the readers of a plan share: the tables that they fill, and how far they are. */
#ifndef TSR_RUNTIME_CUDA_PLAN_READ_H
#define TSR_RUNTIME_CUDA_PLAN_READ_H

#include "runtime/cuda/plan_text.h"

enum {
	IDS = 1 << 22,
	DIMS = 4096,
	NEST = 64,
	LINE_ARGS = 4096,
	SHARED_MOST = 1 << 20,
	BOX_MOST = 256,
	WINDOWS_AXES = 3, /* of a tensor with windows, at least; and limits of TMA */
	WINDOWS_LOW_MOST = 1 << 15,
	WINDOWS_STEP_MOST = 8
};

struct PlanMemory {
	char *room;
	int64_t *codes;
	tsr_dim *dims;
	tsr_check *checks;
	tsr_tensor *params, *inputs, *outputs;
	tsr_size *sizes;
	const char **labels;
	tsr_routine *table;
	tsr_scalar *scalars;
	uint32_t *places;
	int32_t *indices;
	PlanGuard *guards;
	PlanArg *args;
	PlanAxis *axes;
	PlanPair *pairs;
	uint32_t *by_id; /* 1 + the buffer */
};

typedef struct Reader {
	Plan *plan;
	struct PlanMemory *memory;
	PlanText text;
	PlanRoutine *routine; /* NULL: before the first */
	tsr_tensor *tensor;   /* that axes belong to */
	uint32_t nsizes, nscalars, nindices, nguards, nargs, naxes, npairs, nlines, ninputs,
		noutputs, nchecked;
	uint32_t open[NEST]; /* loops that have not ended */
	int depth;
	bool done;
} Reader;

/* A buffer's id, name and type of elements. */
PlanBuffer *plan_read_buffer(Reader *reader, PlanRole role);
/* The rest of an input's, a result's or a parameter's line; its axes follow. */
void plan_open_tensor(Reader *reader, tsr_tensor *tensor, const PlanBuffer *buffer);

/* plan_routine.c: the line that begins a routine, the start or the pack, which `key` says; one of its others by its
 * first word. */
void plan_read_routine(Reader *reader, const char *key);
void plan_read_body(Reader *reader, const char *key);
/* The routine that is open, if there is one, has no more lines. */
void plan_close_routine(Reader *reader);

#endif
