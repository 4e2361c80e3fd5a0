/* A workspace against --max-workspace, and what is alive where it is largest.
 *
 * A size that no dim can make small enough is an error; one that is small enough for all dims is
 * good; else the routine checks it at its entry, like every relation of sizes. For the error
 * symbolic dims have their least values.
 */
#include <stdlib.h>

#include "lower/plan.h"

static int64_t least_bytes(const Lower *lower, Size size)
{
	uint32_t n = sizes_ndims(lower->sizes);
	int64_t *dims = ARENA_ARRAY(lower->scratch, int64_t, n + 1), bytes;
	for (DimId d = 0; d < n; d++)
		dims[d] = sizes_dim(lower->sizes, d)->at_least;
	return size_eval(lower->sizes, size, dims, &bytes) ? bytes : INT64_MAX >> 20;
}

/* The lives with memory of their own: what is written over gives it away as the other begins. */
static Lives own_lives(const Lower *lower, const Lives *lives)
{
	uint32_t *life_of = ARENA_ARRAY(lower->scratch, uint32_t, lower->program->buffers.n + 1);
	Lives own = {.at = ARENA_ARRAY(lower->scratch, Life, lives->n + 1), .n = lives->n};
	for (uint32_t i = 0; i < lives->n; i++) {
		own.at[i] = lives->at[i];
		life_of[own.at[i].buffer] = i;
	}
	for (uint32_t i = 0; i < lives->n; i++)
		if (own.at[i].over != BUFFER_NONE)
			own.at[life_of[own.at[i].over]].last = own.at[i].first - 1;
	return own;
}

static uint32_t peak_kernel(const Lower *lower, const Lives *lives, uint32_t nkernels)
{
	int64_t *grows = ARENA_ARRAY(lower->scratch, int64_t, nkernels + 1), bytes = 0, most = -1;
	uint32_t peak = 0;
	for (size_t i = 0; i < lives->n; i++) {
		grows[lives->at[i].first] += least_bytes(lower, lives->at[i].bytes);
		grows[lives->at[i].last + 1] -= least_bytes(lower, lives->at[i].bytes);
	}
	for (uint32_t k = 0; k < nkernels; k++) {
		bytes += grows[k];
		if (bytes > most) {
			most = bytes;
			peak = k;
		}
	}
	return peak;
}

typedef struct Alive {
	const Life *life;
	int64_t bytes;
} Alive;

static int by_bytes(const void *a, const void *b)
{
	const Alive *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->life->buffer < y->life->buffer ? -1 : 1;
}

static void show_alive(Lower *lower, const Lives *lives, const KernelId *kernels, uint32_t peak)
{
	const Program *program = lower->program;
	Alive *alive = ARENA_ARRAY(lower->scratch, Alive, lives->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < lives->n; i++)
		if (lives->at[i].first <= peak && peak <= lives->at[i].last)
			alive[n++] = (Alive){&lives->at[i], least_bytes(lower, lives->at[i].bytes)};
	qsort(alive, n, sizeof *alive, by_bytes);
	for (size_t i = 0; i < n; i++) {
		const Life *life = alive[i].life;
		const Buffer *buffer = &program->buffers.at[life->buffer];
		Span kernel = program->kernels.at[kernels[life->first]].span;
		diag_note(lower->diags, span_is_none(buffer->span) ? kernel : buffer->span,
			  "%s has %s bytes, from here to %s", buffer->name,
			  size_text(lower->arena, lower->sizes, life->bytes),
			  program->kernels.at[kernels[life->last]].name);
	}
}

static void add_guard(Lower *lower, Size workspace, int64_t limit)
{
	Program *program = lower->program;
	const char *text =
		arena_printf(lower->arena, "the workspace, %s bytes, must be at most %lld",
			     size_text(lower->arena, lower->sizes, workspace), (long long)limit);
	Check check = {CHECK_GE, size_const(lower->sizes, limit), workspace, lower->routine->span,
		       text};
	lower->workspace_check = (CheckId)program->checks.n;
	PUSH(program->arena, program->checks, check);
}

void workspace_check(Lower *lower, const Lives *lives, const KernelId *kernels, uint32_t nkernels,
		     Size workspace)
{
	int64_t limit = *lower->machine->max_workspace;
	Size most = size_const(lower->sizes, limit);
	if (size_ge(lower->sizes, most, workspace))
		return;
	if (least_bytes(lower, workspace) <= limit) {
		add_guard(lower, workspace, limit);
		return;
	}
	Lives own = own_lives(lower, lives);
	uint32_t peak = peak_kernel(lower, &own, nkernels);
	const Kernel *kernel = &lower->program->kernels.at[kernels[peak]];
	diag(lower->diags, E0509, kernel->span,
	     "the workspace of %s has %s bytes, most of them alive in %s; --max-workspace allows %lld",
	     lower->routine->name, size_text(lower->arena, lower->sizes, workspace), kernel->name,
	     (long long)limit);
	show_alive(lower, &own, kernels, peak);
}
