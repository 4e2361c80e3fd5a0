/* Which neighbours are fused: from what is known of them as loops over rows, before any loop is made.
 *
 * Legal is what keeps every row's values: one loop each over the same rows, and every buffer that either
 * writes is touched by both in the elements [i*c, i*c + c) of the present row i only. A flat loop over
 * rows*c elements counts as rows of c. Worth it is what has buffers in common and little in a row: vectors
 * (one loop deep, not counting short constant loops); two flat loops where both are arithmetic that waits for memory; and
 * matrices, of which the second kernel reads what the first one stored, where a row of both and all that rows share stay in
 * the second cache, else they would push each other out of it. What is asked for is made where it is legal.
 */
#include <inttypes.h>

#include "transform/fusion.h"

enum { MOST_STMTS = 128, MOST_BUFFERS = 16 };

static const char transposed[] = "goes in tiles that are transposed";

#define TEXT(rows, ...) arena_printf((rows)->program->arena, __VA_ARGS__)

/* ---- legal? ---- */

static const char *unfit_text(const Rows *rows, const RowKernel *row)
{
	return row->unfit ? TEXT(rows, "%s %s", row->kernel->name, row->unfit) : NULL;
}

static const char *rows_text(const Rows *rows, const RowKernel *row)
{
	return size_text(rows->program->arena, rows->program->sizes, row->loop->hi->size);
}

/* Do both stay in the row at hand in all that they touch of the buffer? */
static bool both_stay(const Rows *rows, const RowKernel *a, const RowKernel *b, BufferId buffer)
{
	Size c = row_elements_of(rows, a, buffer);
	return !size_is_bad(c) && row_buffer_stays(rows, a, buffer, c) &&
	       row_buffer_stays(rows, b, buffer, c);
}

/* Why the two, one right behind the other, cannot go row by row together; NULL: they can. */
static const char *fusion_illegal(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	if (a->unfit || b->unfit)
		return unfit_text(rows, a->unfit ? a : b);
	if (a->kernel->loop != b->kernel->loop)
		return "one of them runs in another loop of steps";
	if (!size_same(a->loop->hi->size, b->loop->hi->size))
		return TEXT(rows, "%s has %s rows, and %s %s", a->kernel->name, rows_text(rows, a),
			    b->kernel->name, rows_text(rows, b));
	for (size_t i = 0; i < b->touches.n; i++) {
		BufferId buffer = b->touches.at[i].buffer;
		bool stored = row_touches(a, buffer, true) || row_touches(b, buffer, true);
		if (stored && row_touches(a, buffer, false) && !both_stay(rows, a, b, buffer))
			return TEXT(rows, "a row of %s and %s would touch another row of %s",
				    a->kernel->name, b->kernel->name,
				    rows->program->buffers.at[buffer].name);
	}
	return NULL;
}

/* ---- worth it? ---- */

static bool has_common(const RowKernel *a, const RowKernel *b)
{
	bool common = false;
	for (size_t i = 0; i < b->buffers.n; i++)
		common |= row_touches(a, b->buffers.at[i], false);
	return common;
}

/* Does b read what a has stored? */
static bool passes_on(const RowKernel *a, const RowKernel *b)
{
	bool passes = false;
	for (size_t i = 0; i < b->buffers.n; i++)
		passes |= row_touches(a, b->buffers.at[i], true);
	return passes;
}

/* Bytes of the buffer that a row of the kernel goes through: the row's own, or all of it; -1: not known. */
static int64_t bytes_of_row(const Rows *rows, const RowKernel *row, BufferId id)
{
	const Buffer *buffer = &rows->program->buffers.at[id];
	Size c = row_elements_of(rows, row, id);
	bool own = !size_is_bad(c) && row_buffer_stays(rows, row, id, c);
	int64_t n;
	bool known = size_is_const(rows->program->sizes, own ? c : buffer->elements, &n);
	return known ? n * (int64_t)dtype_bytes(buffer->dtype) : -1;
}

/* Does all that a row of both goes through stay in the second cache? */
static bool stays_near(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	int64_t left = rows->program->options.target->l2_bytes / 2;
	const RowKernel *of[] = {a, b};
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < of[k]->buffers.n && left >= 0; i++) {
			BufferId buffer = of[k]->buffers.at[i];
			int64_t bytes = k == 1 && row_touches(a, buffer, false)
						? 0
						: bytes_of_row(rows, of[k], buffer);
			left = bytes < 0 ? -1 : left - bytes;
		}
	return left >= 0;
}

/* Does no thread gain by a part of a row, or are there rows enough for all? */
static bool has_small_rows(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	const LowerOptions *options = &rows->program->options;
	int64_t n, most = a->work > b->work ? a->work : b->work;
	if (size_is_const(rows->program->sizes, a->loop->hi->size, &n))
		return n >= options->target->thread_parts;
	return options->grain == 0 || (a->work >= 0 && b->work >= 0 &&
				       most <= options->target->fused_grains * options->grain);
}

/* Has a row loops in both, and several in one of them? */
static bool are_matrices(const RowKernel *a, const RowKernel *b)
{
	return a->nest > 0 && b->nest > 0 && (a->nest > 1 || b->nest > 1);
}

/* Are rows vectors, or single elements of arithmetic that waits for memory? */
static bool are_vectors(const RowKernel *a, const RowKernel *b)
{
	return a->depth <= 1 && b->depth <= 1 &&
	       (a->depth == 1 || b->depth == 1 || (a->streams && b->streams));
}

/* Have rows a few elements, which stay in registers between the two? */
static bool have_few(const RowKernel *a, const RowKernel *b)
{
	return a->few && b->few && a->nest + b->nest > 0 && passes_on(a, b);
}

/* Why the two do not gain by it; NULL: they do. */
static const char *fusion_unwanted(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	bool vectors = are_vectors(a, b) || have_few(a, b);
	if (!vectors && !are_matrices(a, b))
		return "element by element one of them waits for more than memory";
	if (!vectors && !(passes_on(a, b) && stays_near(rows, a, b) && has_small_rows(rows, a, b)))
		return "a row of one of them goes through a matrix";
	if (a->nstmts + b->nstmts > MOST_STMTS || a->buffers.n + b->buffers.n > MOST_BUFFERS)
		return "a row would have too many statements or buffers";
	return has_common(a, b) ? NULL : "they have no buffer in common";
}

/* ---- flat loops as rows ---- */

/* The loop over a row's elements gets the next number. */
static LoopSplit *split_loop(const Rows *rows, const RowKernel *flat, const RowKernel *like, Size c)
{
	Program *program = rows->program;
	Arena *arena = program->arena;
	LoopSplit *split = ARENA_NEW(rows->arena, LoopSplit);
	const Kernel *kernel = flat->kernel;
	IterVar row = flat->loop->iter, inner = kernel->niters;
	const Ix **iters = kernel_iters(arena, kernel, 0), *zero = ix_const(program, 0);
	iters[row] = ix_add(program, ix_mul(program, ix_iter(arena, row), ix_size(arena, c)),
			    ix_iter(arena, inner));
	*split = (LoopSplit){.iters = iters,
			     .outer = stmt_for(arena, row, zero, like->loop->hi, (Block){0}),
			     .inner = stmt_for(arena, inner, zero, ix_size(arena, c), (Block){0})};
	return split;
}

/* What `flat` is as rows like those of another one; its `split` is NULL: it cannot be. Rows of few elements
 * stay whole where nothing is asked for. */
static RowKernel in_rows_like(Rows *rows, const RowKernel *flat, const RowKernel *like, bool asked)
{
	Sizes *sizes = rows->program->sizes;
	RowKernel row = *flat;
	int64_t few;
	if (flat->unfit || like->unfit || flat->several || flat->depth > 0)
		return row;
	for (size_t i = 0; i < flat->touches.n && !row.split; i++) {
		Size c = row_elements_of(rows, like, flat->touches.at[i].buffer);
		bool known = size_is_const(sizes, c, &few);
		bool short_row = known && few < rows->program->options.target->split_elements;
		if (!size_is_bad(c) && (asked || !short_row) &&
		    size_same(size_mul(sizes, like->loop->hi->size, c), flat->loop->hi->size))
			row = row_kernel_split(rows, flat, split_loop(rows, flat, like, c));
	}
	if (row.split && kernel_transposes(rows->transform, flat->kernel, row.split))
		row.unfit = transposed;
	return row;
}

/* ---- neighbours ---- */

static void add_buffer(const Rows *rows, RowKernel *row, BufferId buffer)
{
	for (size_t i = 0; i < row->buffers.n; i++)
		if (row->buffers.at[i] == buffer)
			return;
	PUSH(rows->arena, row->buffers, buffer);
}

/* What is known of two neighbours as one. */
static RowKernel both_of(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	RowKernel both = {.kernel = b->kernel,
			  .loop = a->loop,
			  .nstmts = a->nstmts + b->nstmts,
			  .depth = a->depth > b->depth ? a->depth : b->depth,
			  .nest = a->nest > b->nest ? a->nest : b->nest,
			  .few = a->few && b->few,
			  .work = a->work < 0 || b->work < 0 ? -1
				  : a->work > b->work	     ? a->work
							     : b->work,
			  .streams = a->streams && b->streams,
			  .several = true};
	const RowKernel *of[] = {a, b};
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < of[k]->touches.n; i++)
			PUSH(rows->arena, both.touches, of[k]->touches.at[i]);
		for (size_t i = 0; i < of[k]->buffers.n; i++)
			add_buffer(rows, &both, of[k]->buffers.at[i]);
	}
	return both;
}

static const char *why_not(const Rows *rows, const RowKernel *a, const RowKernel *b, bool asked)
{
	const char *illegal = fusion_illegal(rows, a, b);
	return illegal || asked ? illegal : fusion_unwanted(rows, a, b);
}

/* Why `next` is not fused with those before it; NULL: it is, with one of the two in rows where that
 * helps. */
static const char *decide(Rows *rows, RowKernel *open, RowKernel *next, bool asked)
{
	const char *why = why_not(rows, open, next, asked);
	RowKernel split = why ? in_rows_like(rows, next, open, asked) : *next;
	if (why && split.split) {
		why = why_not(rows, open, &split, asked);
		*next = why ? *next : split;
	}
	split = why ? in_rows_like(rows, open, next, asked) : *open;
	if (why && split.split) {
		why = why_not(rows, &split, next, asked);
		*open = why ? *open : split;
	}
	return why;
}

static void describe(const Rows *rows, const RowKernel *row, const RowKernel *before)
{
	Arena *arena = rows->program->arena;
	ScheduleEntry *entry = schedule_entry(rows->program->made, row->kernel->name);
	ScheduleClause *made = entry_make(arena, entry, CHOICE_FUSE_ROWS, before == NULL);
	if (before)
		clause_add(arena, made, before->kernel->name, NULL, 0);
}

/* Why `next` is not fused with those before it, which the schedule is told where it is asked for; NULL: it is,
 * as is written there. */
static const char *join(Rows *rows, RowKernel *open, RowKernel *next)
{
	const Kernel *kernel = next->kernel;
	ScheduleClause *asked = kernel_asked(rows->transform, kernel, CHOICE_FUSE_ROWS);
	if (says_off(asked))
		describe(rows, next, NULL);
	if (asks_off(asked))
		return "nothing is to be fused with it";
	const char *why =
		asks_name(asked, 0, open->kernel->name)
			? decide(rows, open, next, asked != NULL)
			: TEXT(rows, "the kernel right before it is %s", open->kernel->name);
	if (!why)
		describe(rows, next, open);
	else if (asked)
		asked->refused = why;
	return why;
}

static RowKernel facts_of(Rows *rows, uint32_t k)
{
	RowKernel row = row_kernel(rows, &rows->kernels[k]);
	if (!row.unfit && kernel_transposes(rows->transform, row.kernel, NULL))
		row.unfit = transposed;
	for (size_t i = 0; i < rows->uses[k].n; i++)
		add_buffer(rows, &row, rows->uses[k].at[i].buffer);
	return row;
}

void rows_choose(Rows *rows)
{
	for (uint32_t k = 0; k < rows->n; k++)
		rows->all[k] = facts_of(rows, k);
	RowKernel open = rows->all[0];
	RowGroup group = {0, 1};
	for (uint32_t k = 1; k < rows->n; k++) {
		bool more = !join(rows, &open, &rows->all[k]);
		if (group.to == group.from + 1) /* it may be split for the next one */
			rows->all[group.from] = open;
		open = more ? both_of(rows, &open, &rows->all[k]) : rows->all[k];
		if (!more) {
			PUSH(rows->arena, rows->groups, group);
			group.from = k;
		}
		group.to = k + 1;
	}
	PUSH(rows->arena, rows->groups, group);
}
