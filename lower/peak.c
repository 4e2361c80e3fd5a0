/* A workspace against --max-workspace, and what is alive where it is largest.
 *
 * A size that no dim can make small enough is an error; one that is small enough for all dims is
 * good; else the routine checks it at its entry, like every relation of sizes. For the error
 * symbolic dims have their least values.
 */
#include <stdlib.h>
#include <string.h>

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

/* ---- names and places ---- */

static bool is_own_file(const Lower *lower, Span span)
{
	return !span_is_none(span) && strcmp(source_at(lower->program->sources, span.file)->path,
					     lower->graph->files.at[0]) == 0;
}

/* Of what has one place, the program's own tensor goes before one of a library. */
static const Buffer *shown_of(const Lower *lower, BufferId id)
{
	const Program *program = lower->program;
	const Buffer *shown = &program->buffers.at[id];
	for (BufferId b = 0; b < program->buffers.n && !is_own_file(lower, shown->span); b++) {
		BufferId home = b;
		while (program->buffers.at[home].home != home) /* falls: buffers in other homes */
			home = program->buffers.at[home].home;
		if (home == id && is_own_file(lower, program->buffers.at[b].span))
			shown = &program->buffers.at[b];
	}
	return shown;
}

/* Where the program's own file makes it: there, or where it applies the function that does. */
static Span own_place(const Lower *lower, Span span, uint32_t site)
{
	Span at = span;
	for (; site && !is_own_file(lower, at); site = lower->graph->sites.at[site].parent)
		at = lower->graph->sites.at[site].span;
	return is_own_file(lower, at) ? at : span;
}

/* "scores", or "mul (nn.tsr:24)" where the place that is shown is another one. */
static const char *named(const Lower *lower, Sym name, Span span, Span at)
{
	if (span_is_none(span) || (span.file == at.file && span.start == at.start))
		return name;
	Place place = source_place(lower->program->sources, span.file, span.start);
	const char *slash = strrchr(place.path, '/');
	return arena_printf(lower->arena, "%s (%s:%u)", name, slash ? slash + 1 : place.path,
			    place.line);
}

/* The application that the kernel of this name comes from; 0: none. */
static uint32_t site_of(const Lower *lower, Sym name)
{
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (lower->names[lower->needed[k]] == name)
			return lower_node(lower, lower->needed[k])->site;
	return 0;
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
		const Buffer *buffer = shown_of(lower, life->buffer);
		Span at = own_place(lower, buffer->span, buffer->site);
		Span kernel = program->kernels.at[kernels[life->first]].span;
		diag_note(lower->diags, span_is_none(at) ? kernel : at,
			  "%s has %s bytes, from here to %s",
			  named(lower, buffer->name, buffer->span, at),
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
	Span at = own_place(lower, kernel->span, site_of(lower, kernel->name));
	diag(lower->diags, E0509, at,
	     "the workspace of %s has %s bytes, most of them alive in %s; --max-workspace allows %lld",
	     lower->routine->name, size_text(lower->arena, lower->sizes, workspace),
	     named(lower, kernel->name, kernel->span, at), (long long)limit);
	show_alive(lower, &own, kernels, peak);
}
