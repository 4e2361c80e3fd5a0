/* A workspace against --max-workspace, and what is alive where it is largest.
 *
 * A size that no dim can make small enough is an error; one that is small enough for all dims is
 * good; else the routine checks it at its entry, like every relation of sizes. For the error
 * symbolic dims have their least values.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size_eval.h"
#include "base/size_order.h"
#include "transform/memory.h"

static int64_t least_bytes(const Transform *t, Size size)
{
	uint32_t n = sizes_ndims(t->program->sizes);
	int64_t *dims = ARENA_ARRAY(t->scratch, int64_t, n + 1), bytes;
	for (DimId d = 0; d < n; d++)
		dims[d] = sizes_dim(t->program->sizes, d)->at_least;
	return size_eval(t->program->sizes, size, dims, &bytes) ? bytes : INT64_MAX >> 20;
}

/* The lives with memory of their own: what is written over gives it away as the other begins. */
static Lives own_lives(const Transform *t, const Lives *lives)
{
	uint32_t *life_of = ARENA_ARRAY(t->scratch, uint32_t, t->program->buffers.n + 1);
	Lives own = {.at = ARENA_ARRAY(t->scratch, Life, lives->n + 1), .n = lives->n};
	for (uint32_t i = 0; i < lives->n; i++) {
		own.at[i] = lives->at[i];
		life_of[own.at[i].buffer] = i;
	}
	for (uint32_t i = 0; i < lives->n; i++)
		if (own.at[i].over != BUFFER_NONE)
			own.at[life_of[own.at[i].over]].last = own.at[i].first - 1;
	return own;
}

static uint32_t peak_kernel(const Transform *t, const Lives *lives, uint32_t nkernels)
{
	int64_t *grows = ARENA_ARRAY(t->scratch, int64_t, nkernels + 1), bytes = 0, most = -1;
	uint32_t peak = 0;
	for (size_t i = 0; i < lives->n; i++) {
		grows[lives->at[i].first] += least_bytes(t, lives->at[i].bytes);
		grows[lives->at[i].last + 1] -= least_bytes(t, lives->at[i].bytes);
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

/* ---- names and places ---- */

static bool is_own_file(const Transform *t, Span span)
{
	return !span_is_none(span) && strcmp(source_at(t->program->sources, span.file)->path,
					     t->program->path) == 0;
}

/* Of what has one place, the program's own tensor goes before one of a library. */
static const Buffer *shown_of(const Transform *t, BufferId id)
{
	const Program *program = t->program;
	const Buffer *shown = &program->buffers.at[id];
	for (BufferId b = 0; b < program->buffers.n && !is_own_file(t, shown->span); b++) {
		BufferId home = b;
		while (program->buffers.at[home].home != home) /* falls: buffers in other homes */
			home = program->buffers.at[home].home;
		if (home == id && is_own_file(t, program->buffers.at[b].span))
			shown = &program->buffers.at[b];
	}
	return shown;
}

/* Where the program's own file makes it: there, or where it applies the function that does. */
static Span own_place(const Transform *t, Span span, uint32_t site)
{
	Span at = span;
	for (; site && !is_own_file(t, at); site = t->program->sites[site].parent)
		at = t->program->sites[site].span;
	return is_own_file(t, at) ? at : span;
}

/* "scores", or "mul (nn.tsr:24)" where the place that is shown is another one. */
static const char *named(const Transform *t, Sym name, Span span, Span at)
{
	if (span_is_none(span) || (span.file == at.file && span.start == at.start))
		return name;
	Place place = source_place(t->program->sources, span.file, span.start);
	const char *slash = strrchr(place.path, '/');
	return arena_printf(t->program->arena, "%s (%s:%u)", name, slash ? slash + 1 : place.path,
			    place.line);
}

static void show_alive(const Transform *t, const Lives *lives, const KernelId *kernels, uint32_t peak)
{
	const Program *program = t->program;
	Alive *alive = ARENA_ARRAY(t->scratch, Alive, lives->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < lives->n; i++)
		if (lives->at[i].first <= peak && peak <= lives->at[i].last)
			alive[n++] = (Alive){&lives->at[i], least_bytes(t, lives->at[i].bytes)};
	qsort(alive, n, sizeof *alive, by_bytes);
	for (size_t i = 0; i < n; i++) {
		const Life *life = alive[i].life;
		const Buffer *buffer = shown_of(t, life->buffer);
		Span at = own_place(t, buffer->span, buffer->site);
		Span kernel = program->kernels.at[kernels[life->first]].span;
		diag_note(t->diags, span_is_none(at) ? kernel : at,
			  "%s has %s bytes, from here to %s",
			  named(t, buffer->name, buffer->span, at),
			  size_text(t->program->arena, t->program->sizes, life->bytes),
			  program->kernels.at[kernels[life->last]].name);
	}
}

static CheckId add_guard(const Transform *t, const ProgramRoutine *routine, int64_t limit)
{
	Program *program = t->program;
	const char *text =
		arena_printf(program->arena, "the workspace, %s bytes, must be at most %lld",
			     size_text(program->arena, program->sizes, routine->workspace),
			     (long long)limit);
	Check check = {CHECK_GE, size_const(program->sizes, limit), routine->workspace,
		       routine->span, text};
	PUSH(program->arena, program->checks, check);
	return (CheckId)program->checks.n - 1;
}

CheckId memory_check(const Transform *t, const Lives *lives, const ProgramRoutine *routine)
{
	int64_t limit = *t->options->max_workspace;
	Size most = size_const(t->program->sizes, limit);
	Size workspace = routine->workspace;
	if (size_ge(t->program->sizes, most, workspace))
		return CHECK_NONE;
	if (least_bytes(t, workspace) <= limit)
		return add_guard(t, routine, limit);
	Lives own = own_lives(t, lives);
	uint32_t peak = peak_kernel(t, &own, routine->nkernels);
	const Kernel *kernel = &t->program->kernels.at[routine->kernels[peak]];
	Span at = own_place(t, kernel->span, kernel->site);
	diag(t->diags, E0509, at,
	     "the workspace of %s has %s bytes, most of them alive in %s; --max-workspace allows %lld",
	     routine->name, size_text(t->program->arena, t->program->sizes, workspace),
	     named(t, kernel->name, kernel->span, at), (long long)limit);
	show_alive(t, &own, routine->kernels, peak);
	return CHECK_NONE;
}
