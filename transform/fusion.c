/* Loop fusion: neighbouring kernels that walk over the same rows become one, a row at a time.
 *
 *   for i: for j: e[i*v + j] = exp(x[i*v + j] - m[i])        for i
 *   for i: { acc = 0                                           for j: y[i*v + j] = exp(x[i*v + j] - m)
 *            for j: acc += e[i*v + j]                 ->       acc = 0
 *            s[i] = acc }                                      for j: acc += y[i*v + j]
 *   for i: for j: y[i*v + j] = e[i*v + j] / s[i]               for j: y[i*v + j] = y[i*v + j] / acc
 *
 * Two kernels are fused where each is one loop over the same rows, they touch a common buffer, and every
 * buffer that one of them writes is touched by both in the elements [i*c, i*c + c) of the present row
 * i only. A flat loop over rows*c elements is taken as rows of c; two flat loops of arithmetic over
 * the same elements are fused element by element, so that what one stores the other has at hand. A row holds
 * vectors only (one loop deep, not counting short constant loops): matrices that every row reads
 * would push each other out of the cache. (What kernels touch is read off in fusion_touch.c.) Then
 * temporaries that no other kernel sees become locals, or take a result's place (fusion_private.c).
 */
#include "transform/fusion.h"

#include "loops/linear.h"
#include "loops/walk.h"

#include <stb/stb_ds.h>

enum { MOST_STMTS = 128, MOST_BUFFERS = 16 };

/* ---- joining two ---- */

static uint32_t count_buffers(const Rows *rows, const RowKernel *row)
{
	return (uint32_t)kernel_buffers(rows->arena, &row->kernel).n;
}

static bool is_arithmetic(const Value *value)
{
	bool is = value->kind != VALUE_OP || op_is_simple(value->op);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = is_arithmetic(value->args[i]);
	return is;
}

/* Of a type that is no storage of a wider one, whose loops have forms of their own. */
static bool is_neighbour(const Rows *rows, const RowKernel *row, const Touch *touch)
{
	Size step = ix_stride(rows->program, touch->ix, row->loop->iter);
	Dtype dtype = rows->program->buffers.at[touch->buffer].dtype;
	return !size_is_bad(step) && dtype_wide(dtype) == dtype &&
	       (size_is(rows->program->sizes, step, 1) || size_is(rows->program->sizes, step, 0));
}

/* A flat loop of arithmetic on neighbouring elements: it waits for memory. Functions keep loops of
 * their own. */
static bool waits_for_memory(const Rows *rows, const RowKernel *row)
{
	Block body = row->loop->body;
	for (uint32_t i = 0; i < body.n; i++) {
		const Stmt *stmt = body.stmts[i];
		bool sets = stmt->kind == LOOP_LOCAL ||
			    (stmt->kind == LOOP_STORE &&
			     (stmt->acc == OP_NONE || op_is_simple(stmt->acc)));
		if (!sets || !is_arithmetic(stmt->value))
			return false;
	}
	for (size_t i = 0; i < row->touches.n; i++)
		if (!is_neighbour(rows, row, &row->touches.at[i]))
			return false;
	return row->touches.n > 0;
}

static bool gain_by_joining(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	if (a->depth > 0 || b->depth > 0)
		return true;
	return waits_for_memory(rows, a) && waits_for_memory(rows, b);
}

static bool rows_are_same(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	return a->loop && b->loop && a->plain && b->plain && a->depth <= 1 && b->depth <= 1 &&
	       size_same(a->loop->hi->size, b->loop->hi->size) && gain_by_joining(rows, a, b) &&
	       a->nstmts + b->nstmts <= MOST_STMTS &&
	       count_buffers(rows, a) + count_buffers(rows, b) <= MOST_BUFFERS;
}

static bool may_join(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	bool common = false;
	if (!rows_are_same(rows, a, b))
		return false;
	for (size_t i = 0; i < b->touches.n; i++) {
		BufferId buffer = b->touches.at[i].buffer;
		if (!row_touches(a, buffer, false))
			continue;
		common = true;
		if (!row_touches(a, buffer, true) && !row_touches(b, buffer, true))
			continue;
		Size c = row_elements_of(rows, a, buffer);
		if (size_is_bad(c) || !row_buffer_stays(rows, a, buffer, c) ||
		    !row_buffer_stays(rows, b, buffer, c))
			return false;
	}
	return common;
}

const Ix **rows_same_iters(const Rows *rows, const Kernel *kernel, IterVar first)
{
	const Ix **iters = ARENA_ARRAY(rows->program->arena, const Ix *, kernel->niters + 1);
	for (IterVar i = 0; i < kernel->niters; i++)
		iters[i] = ix_iter(rows->program->arena, first + i);
	return iters;
}

Stmt *rows_loop_over(const Rows *rows, const Stmt *like, Block body)
{
	Stmt *loop = ARENA_NEW(rows->program->arena, Stmt);
	*loop = *like;
	loop->body = body;
	return loop;
}

Block rows_both(const Rows *rows, Block a, Block b)
{
	const Stmt **stmts = ARENA_ARRAY(rows->program->arena, const Stmt *, a.n + b.n + 1);
	for (uint32_t i = 0; i < a.n + b.n; i++)
		stmts[i] = i < a.n ? a.stmts[i] : b.stmts[i - a.n];
	return (Block){stmts, a.n + b.n};
}

Block rows_with_twins(const Rows *rows, const Kernel *kernel, Block block, BufferTwin *twins,
		      uint32_t ntwins)
{
	Rewrite rewrite = {.program = rows->program,
			   .iters = rows_same_iters(rows, kernel, 0),
			   .renames = true,
			   .twins = twins,
			   .ntwins = ntwins,
			   .span = kernel->span};
	return rewrite_block(&rewrite, block);
}

/* a, then b, in every row; under b's name, whose result is the last. */
static RowKernel fuse_row_kernels(Rows *rows, const RowKernel *a, const RowKernel *b)
{
	Kernel kernel = a->kernel;
	const Ix **iters = rows_same_iters(rows, &b->kernel, a->kernel.niters);
	for (IterVar i = 0; i < rows->nshared; i++)
		iters[i] = ix_iter(rows->program->arena, i);
	iters[b->loop->iter] = ix_iter(rows->program->arena, a->loop->iter);
	Rewrite rewrite = {.program = rows->program,
			   .iters = iters,
			   .renames = true,
			   .first_local = a->kernel.nlocals,
			   .span = b->kernel.span};
	kernel_append_tables(rows->program->arena, &kernel, &b->kernel);
	Block body = rows_both(rows, a->loop->body, rewrite_block(&rewrite, b->loop->body));
	ScheduleEntry *entry = schedule_entry(rows->program->made, b->kernel.name);
	clause_add(rows->program->arena,
		   entry_make(rows->program->arena, entry, CHOICE_FUSE_ROWS, false), a->kernel.name,
		   NULL, 0);
	kernel.name = b->kernel.name;
	kernel.span = b->kernel.span;
	kernel.site = b->kernel.site;
	Stmt *loop = rows_loop_over(rows, a->loop, body);
	loop->independent = a->loop->independent && b->loop->independent;
	kernel.body = block_one(rows->program->arena, loop);
	RowKernel row = row_kernel(rows, &kernel);
	row.joined = true;
	return row;
}

/* A flat loop as rows of c elements, if its extent is that of `rows_like` times c: what it is then. */
static RowKernel split(Rows *rows, const RowKernel *flat, const RowKernel *like)
{
	Sizes *sizes = rows->program->sizes;
	RowKernel no = {.kernel = flat->kernel};
	int64_t elements;
	if (!flat->loop || !like->loop || flat->joined || flat->depth > 0 || !flat->plain)
		return no;
	for (size_t i = 0; i < flat->touches.n; i++) {
		Size c = row_elements_of(rows, like, flat->touches.at[i].buffer);
		if (size_is_bad(c) ||
		    (size_is_const(sizes, c, &elements) &&
		     !schedule_is_complete(rows->transform->asked) &&
		     elements < rows->program->options.target->split_elements) ||
		    !size_same(size_mul(sizes, like->loop->hi->size, c), flat->loop->hi->size))
			continue;
		Arena *arena = rows->program->arena;
		Kernel kernel = flat->kernel;
		KernelIter element = {iter_unique(rows->program, kernel.iters, kernel.niters,
						  kernel.iters[flat->loop->iter].name, NULL)};
		Kernel more = {.iters = &element, .niters = 1};
		kernel_append_tables(rows->program->arena, &kernel, &more);
		const Ix **iters = rows_same_iters(rows, &flat->kernel, 0);
		IterVar inner = flat->kernel.niters;
		const Ix *start =
			ix_mul(rows->program, ix_iter(arena, flat->loop->iter), ix_size(arena, c));
		iters[flat->loop->iter] = ix_add(rows->program, start, ix_iter(arena, inner));
		Rewrite rewrite = {
			.program = rows->program, .iters = iters, .span = flat->kernel.span};
		Block body = rewrite_block(&rewrite, flat->loop->body);
		const Ix *zero = ix_const(arena, sizes, 0);
		const Stmt *loop = stmt_for(arena, inner, zero, ix_size(arena, c), body);
		loop = stmt_for(arena, flat->loop->iter, zero, like->loop->hi,
				block_one(rows->program->arena, loop));
		kernel.body = block_one(rows->program->arena, loop);
		return row_kernel(rows, &kernel);
	}
	return no;
}

/* ---- all of them ---- */

/* The last place of what was moved, perhaps several times: a place is moved after it was taken. */
static void find_places(Rows *rows)
{
	BufferSpan *spans = rows->spans;
	for (size_t i = rows->moves.n; i-- > 0;) {
		const BufferTwin *move = &rows->moves.at[i];
		BufferId later = hmgetp(spans, move->id)->place;
		hmgetp(spans, move->buffer)->place = later == BUFFER_NONE ? move->id : later;
	}
}

/* Kernels with their operands in new places, each kernel once. */
static void move_all(Rows *rows)
{
	BufferSpan *spans = rows->spans;
	find_places(rows);
	for (uint32_t k = 0; k < rows->n && rows->moves.n; k++) {
		VEC(BufferTwin) twins = {0};
		for (size_t u = 0; u < rows->uses[k].n; u++) {
			const BufferSpan *span = hmgetp(spans, rows->uses[k].at[u].buffer);
			if (span->place != BUFFER_NONE)
				PUSH(rows->arena, twins,
				     ((BufferTwin){.kind = TWIN_BUFFER,
						   .buffer = span->key,
						   .id = span->place}));
		}
		Kernel *kernel = &rows->kernels[rows->places[k]];
		if (twins.n)
			kernel->body = rows_with_twins(rows, kernel, kernel->body, twins.at,
						       (uint32_t)twins.n);
	}
}

static void finish(Rows *rows, RowKernel *row, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++)
		rows->places[k] = rows->nmade;
	rows->from = from;
	rows->to = to;
	if (to - from > 1)
		rows_make_private(rows, row);
	rows->kernels[rows->nmade++] = row->kernel;
}

/* Two kernels as they are fused: as they are, or one of them in rows. */
typedef struct Pair {
	RowKernel a, b;
	bool joins;
} Pair;

static Pair pair_of(const Rows *rows, RowKernel a, RowKernel b)
{
	return (Pair){a, b, may_join(rows, &a, &b)};
}

/* How `next` joins `open`, one of them split into rows where that helps. */
static Pair find_pair(Rows *rows, const RowKernel *open, const RowKernel *next)
{
	const Kernel *kernel = &next->kernel;
	const ScheduleClause *asked = schedule_asked(rows->transform->asked, rows->program,
						     kernel->name, kernel->span, CHOICE_FUSE_ROWS);
	if (says_off(asked))
		entry_make(rows->program->arena, schedule_entry(rows->program->made, kernel->name),
			   CHOICE_FUSE_ROWS, true);
	if (asks_off(asked) || open->kernel.loop != kernel->loop)
		return (Pair){.joins = false};
	Pair pair = pair_of(rows, *open, *next);
	if (!pair.joins)
		pair = pair_of(rows, *open, split(rows, next, open));
	if (!pair.joins)
		pair = pair_of(rows, split(rows, open, next), *next);
	return pair;
}

static void note_spans(Rows *rows, uint32_t k)
{
	for (size_t u = 0; u < rows->uses[k].n; u++) {
		BufferSpan span = {rows->uses[k].at[u].buffer, k, k, BUFFER_NONE};
		if (hmgeti(rows->spans, span.key) >= 0)
			span.first = hmgetp(rows->spans, span.key)->first;
		hmputs(rows->spans, span);
	}
}

static void note_used(Rows *rows, BufferId buffer, bool before)
{
	BufferSpan *span = buffer == BUFFER_NONE ? NULL : hmgetp_null(rows->spans, buffer);
	if (!span)
		return;
	span->last = rows->n;
	span->first = before ? 0 : span->first;
}

/* The routine itself reads what ends a loop, behind all kernels that store it; what is exchanged is used in
 * other steps. */
static void note_loops(Rows *rows)
{
	for (size_t i = 1; i < rows->program->loops.n; i++) {
		const ProgramLoop *loop = &rows->program->loops.at[i];
		note_used(rows, loop->until, false);
		for (uint32_t k = 0; k < loop->nexchanges; k++) {
			note_used(rows, loop->exchanges[k].a, true);
			note_used(rows, loop->exchanges[k].b, true);
		}
	}
}

uint32_t kernels_fuse(const Transform *t, Kernel *kernels, uint32_t n, uint32_t nshared)
{
	Rows rows = {.transform = t,
		     .program = t->program,
		     .arena = t->scratch,
		     .kernels = kernels,
		     .n = n,
		     .nshared = nshared};
	if (n < 2)
		return n;
	rows.all = ARENA_ARRAY(t->scratch, RowKernel, n);
	rows.uses = ARENA_ARRAY(t->scratch, BufferUses, n);
	rows.places = ARENA_ARRAY(t->scratch, uint32_t, n);
	for (uint32_t k = 0; k < n; k++) {
		rows.all[k] = row_kernel(&rows, &kernels[k]);
		rows.uses[k] = kernel_buffers(t->scratch, &rows.all[k].kernel);
		note_spans(&rows, k);
	}
	note_loops(&rows);
	RowKernel open = rows.all[0];
	uint32_t from = 0;
	for (uint32_t k = 1; k < n; k++) {
		Pair pair = find_pair(&rows, &open, &rows.all[k]);
		if (pair.joins) {
			open = fuse_row_kernels(&rows, &pair.a, &pair.b);
			continue;
		}
		finish(&rows, &open, from, k);
		open = rows.all[k];
		from = k;
	}
	finish(&rows, &open, from, n);
	move_all(&rows);
	hmfree(rows.spans);
	return rows.nmade;
}

static uint32_t fuse_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	return kernels_fuse(t, kernels, n, 0);
}

void transform_fusion(Transform *t) { t->changed = routines_change(t, fuse_routine); }
