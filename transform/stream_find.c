/* What a step of a loop stores, and whether it can be stored past the caches (stream.c). */
#include <stdlib.h>

#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/stream.h"

/* Elements of a result with which nothing overflows. */
enum { ELEMENTS_MOST = 1 << 30 };

int64_t stream_element_bytes(const Stream *s, BufferId buffer)
{
	return (int64_t)dtype_bytes(s->program->buffers.at[buffer].dtype);
}

/* A result of that many elements no cache holds. */
int64_t stream_large_elements(const Stream *s, BufferId buffer)
{
	return (s->target->stream_bytes - 1) / stream_element_bytes(s, buffer) + 1;
}

bool stream_is_known(const Stream *s, BufferId buffer, int64_t *n)
{
	return size_is_const(s->program->sizes, s->program->buffers.at[buffer].elements, n);
}

/* Does no cache hold it, or is that not known? */
static bool may_be_large(const Stream *s, BufferId buffer)
{
	int64_t n;
	return !stream_is_known(s, buffer, &n) || n >= stream_large_elements(s, buffer);
}

static bool may_stream(const Stream *s, BufferId buffer)
{
	const Buffer *b = &s->program->buffers.at[buffer];
	return b->kind == BUFFER_OUTPUT && !dtype_is_packed(b->dtype) && !s->read[buffer] &&
	       (asks_on(s->asked) || may_be_large(s, buffer));
}

static StreamedResult *result_of(StreamLoop *l, BufferId buffer)
{
	for (uint32_t i = 0; i < l->nresults; i++)
		if (l->results[i].buffer == buffer)
			return &l->results[i];
	if (l->nresults == STREAM_RESULTS_MOST) {
		l->wrong = true;
		return &l->results[0];
	}
	l->results[l->nresults] = (StreamedResult){.buffer = buffer};
	return &l->results[l->nresults++];
}

typedef struct StoredAxis {
	int64_t stride, n;
} StoredAxis;

static int by_stride(const void *a, const void *b)
{
	const StoredAxis *x = a, *y = b;
	return (x->stride > y->stride) - (x->stride < y->stride);
}

/* How many neighbours the axes go through; 0: they leave some out, or come to one twice. */
static int64_t dense_elements(StoredAxis *axes, uint32_t n)
{
	int64_t elements = 1;
	qsort(axes, n, sizeof *axes, by_stride);
	for (uint32_t i = 0; i < n; i++) {
		if (axes[i].stride != elements || axes[i].n > ELEMENTS_MOST / elements)
			return 0;
		elements *= axes[i].n;
	}
	return elements;
}

/* The loops inside as axes of what the statement stores. */
static bool part_of(const StreamLoop *l, const Stmt *store, StoredPart *part)
{
	Program *program = l->s->program;
	const Ix **iters = kernel_iters(l->s->arena, l->s->kernel, 0);
	StoredAxis axes[STREAM_LOOPS_MOST];
	uint32_t naxes = 0;
	for (uint32_t i = 0; i < l->ninner; i++) {
		const Stmt *inner = l->inner[i];
		int64_t n = inner->loop == LOOP_VECTOR ? trips_from_zero(program, inner)
						       : constant_trips(program, inner);
		StoredAxis *axis = &axes[naxes];
		if (n < 1 || n > ELEMENTS_MOST || inner->lo->kind != IX_SIZE ||
		    !size_is_const(program->sizes, ix_stride(program, store->ix, inner->iter),
				   &axis->stride) ||
		    axis->stride < 0 || axis->stride > ELEMENTS_MOST || inner->step > ELEMENTS_MOST)
			return false;
		axis->stride *= inner->step;
		axis->n = n;
		naxes += n > 1;
		iters[inner->iter] = inner->lo;
	}
	Rewrite rewrite = {.program = program, .iters = iters};
	*part = (StoredPart){.start = rewrite_ix(&rewrite, store->ix),
			     .n = dense_elements(axes, naxes)};
	return part->n > 0;
}

/* How far b begins behind a. */
static bool distance(const StreamLoop *l, const Ix *a, const Ix *b, int64_t *by)
{
	Program *program = l->s->program;
	Linear to = ix_linear(program, ix_minus(program, b, a));
	return to.terms.n == 0 && size_is_const(program->sizes, to.offset, by) &&
	       *by > -ELEMENTS_MOST && *by < ELEMENTS_MOST;
}

static void see_store(StreamLoop *l, const Stmt *store)
{
	if (!may_stream(l->s, store->buffer))
		return;
	StreamedResult *result = result_of(l, store->buffer);
	StoredPart part;
	result->wrong |= l->nconds > 0 || store->acc != OP_NONE || store->stream ||
			 !part_of(l, store, &part);
	if (result->wrong)
		return;
	if (result->parts.n > 0)
		result->wrong |= !distance(l, result->parts.at[0].start, part.start, &part.first);
	PUSH(l->s->arena, result->parts, part);
}

static void see_block(StreamLoop *l, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool other = stmt->kind == LOOP_IF ||
			     (stmt->kind == LOOP_FOR && stmt->loop > LOOP_VECTOR);
		l->wrong |= stmt->kind == LOOP_CHECK || l->ninner == STREAM_LOOPS_MOST;
		if (stmt->kind == LOOP_STORE)
			see_store(l, stmt);
		if (l->wrong || (stmt->kind != LOOP_FOR && stmt->kind != LOOP_IF))
			continue;
		l->nconds += other;
		if (stmt->kind == LOOP_FOR)
			l->inner[l->ninner++] = stmt;
		see_block(l, stmt->body);
		l->ninner -= stmt->kind == LOOP_FOR;
		l->nconds -= other;
	}
}

static int by_first(const void *a, const void *b)
{
	const StoredPart *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

/* Do the parts lie end to end, and what the next step stores behind them? */
static bool is_gapless(const StreamLoop *l, StreamedResult *result)
{
	Program *program = l->s->program;
	StoredPart *parts = result->parts.at;
	int64_t stride;
	if (result->wrong || result->parts.n == 0)
		return false;
	qsort(parts, result->parts.n, sizeof *parts, by_first);
	for (size_t i = 0; i < result->parts.n; i++) {
		if (parts[i].first != parts[0].first + result->n)
			return false;
		result->n += parts[i].n;
	}
	result->start = parts[0].start;
	return size_is_const(program->sizes, ix_stride(program, result->start, l->loop->iter),
			     &stride) &&
	       stride == result->n;
}

bool stream_find(StreamLoop *l)
{
	uint32_t n = 0;
	see_block(l, l->loop->body);
	bool found = l->nresults > 0 && !l->wrong;
	for (uint32_t i = 0; found && i < l->nresults; i++)
		if (is_gapless(l, &l->results[i]))
			l->results[n++] = l->results[i];
	l->nresults = n;
	return found;
}
