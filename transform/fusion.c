/* Loop fusion: neighbouring kernels that walk over the same rows become one, a row at a time.
 *
 *   for i: for j: e[i*v + j] = exp(x[i*v + j] - m[i])        for i
 *   for i: { acc = 0                                           for j: y[i*v + j] = exp(x[i*v + j] - m)
 *            for j: acc += e[i*v + j]                 ->       acc = 0
 *            s[i] = acc }                                      for j: acc += y[i*v + j]
 *   for i: for j: y[i*v + j] = e[i*v + j] / s[i]               for j: y[i*v + j] = y[i*v + j] / acc
 *
 * Which are is decided first (fusion_choose.c), from what each touches (fusion_touch.c), and stands in the
 * schedule; here the loops of each group are made once. A flat loop over rows*c elements becomes rows of c;
 * two flat loops of arithmetic over the same elements are fused element by element, so that what one stores
 * the other has at hand. Then temporaries that no other kernel sees become locals, or take a result's place
 * (fusion_private.c).
 */
#include "loops/frame.h"
#include "transform/compute_at.h"
#include "transform/fusion.h"

#include <stb/stb_ds.h>

/* ---- one kernel of several ---- */

Block rows_both(const Rows *rows, Block a, Block b)
{
	const Stmt **stmts = ARENA_ARRAY(rows->program->arena, const Stmt *, a.n + b.n + 1);
	for (uint32_t i = 0; i < a.n + b.n; i++)
		stmts[i] = i < a.n ? a.stmts[i] : b.stmts[i - a.n];
	return (Block){stmts, a.n + b.n};
}

/* A kernel as it is to be fused: as it is, or its flat loop in rows. */
static Kernel in_rows(const Rows *rows, const RowKernel *row)
{
	const LoopSplit *split = row->split;
	Kernel kernel = *row->kernel;
	if (!split)
		return kernel;
	Arena *arena = rows->program->arena;
	const Stmt *flat = kernel.body.stmts[0];
	kernel_add_iter(rows->program, &kernel,
			iter_unique(rows->program, kernel.iters, kernel.niters,
				    kernel.iters[flat->iter].name, NULL));
	Rewrite rewrite = {.program = rows->program, .iters = split->iters, .span = kernel.span};
	Block body = rewrite_block(&rewrite, flat->body);
	body = block_one(arena, stmt_with(arena, split->inner, body));
	kernel.body = block_one(arena, stmt_with(arena, split->outer, body));
	return kernel;
}

/* a, then b, in every row; under b's name, whose result is the last. */
static Kernel fuse_two(const Rows *rows, const Kernel *a, const Kernel *b)
{
	Arena *arena = rows->program->arena;
	Kernel kernel = *a;
	const Stmt *first = a->body.stmts[0], *second = b->body.stmts[0];
	const Ix **iters = kernel_iters(arena, b, a->niters);
	for (IterVar i = 0; i < rows->nshared; i++)
		iters[i] = ix_iter(arena, i);
	iters[second->iter] = ix_iter(arena, first->iter);
	Block more = kernel_append(rows->program, &kernel, b, second->body, iters);
	Block body = rows_both(rows, first->body, more);
	kernel.name = b->name;
	kernel.span = b->span;
	kernel.site = b->site;
	Stmt *loop = stmt_with(arena, first, body);
	loop->independent = first->independent && second->independent;
	kernel.body = block_one(arena, loop);
	return kernel;
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
			kernel->body = rewrite_twins(rows->program, kernel, kernel->body, twins.at,
						     (uint32_t)twins.n);
	}
}

static void fuse_group(Rows *rows, const RowGroup *group)
{
	Kernel kernel = in_rows(rows, &rows->all[group->from]);
	rows->from = group->from;
	rows->to = group->to;
	for (uint32_t k = group->from; k < group->to; k++)
		rows->places[k] = rows->nmade;
	for (uint32_t k = group->from + 1; k < group->to; k++) {
		Kernel next = in_rows(rows, &rows->all[k]);
		kernel = fuse_two(rows, &kernel, &next);
	}
	if (group->to - group->from > 1)
		rows_make_private(rows, &kernel);
	rows->kernels[rows->nmade++] = kernel;
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

/* The routine itself reads how many steps a loop makes and what ends it, behind all kernels that store
 * these; what is exchanged is used in other steps. */
static void note_loops(Rows *rows)
{
	for (size_t i = 1; i < rows->program->loops.n; i++) {
		const ProgramLoop *loop = &rows->program->loops.at[i];
		note_used(rows, loop->until, false);
		note_used(rows, loop->made, false);
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
		rows.uses[k] = kernel_buffers(t->scratch, &kernels[k]);
		note_spans(&rows, k);
	}
	note_loops(&rows);
	rows_choose(&rows);
	for (size_t i = 0; i < rows.groups.n; i++)
		fuse_group(&rows, &rows.groups.at[i]);
	move_all(&rows);
	hmfree(rows.spans);
	return rows.nmade;
}

static uint32_t fuse_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	return kernels_fuse(t, kernels, kernels_compute_at(t, kernels, n), 0);
}

void transform_fusion(Transform *t) { t->changed = routines_change(t, fuse_routine); }
