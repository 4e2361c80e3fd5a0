/* Temporaries that no kernel but a joined one sees.
 *
 * One with one element a row becomes a local; one that has the place of a result, which is first
 * written where the temporary is read last, becomes the result, and what makes such a temporary
 * before, a product of rows, then stores it there. Of any other there is the row at hand alone (array
 * contraction), a scratch buffer:
 *
 *   for i                                              for i
 *     for j: t[i*n + j] = exp(x[i*n + j])       ->       for j: t[j] = exp(x[i*n + j])
 *     for k: for j: acc[k] += t[i*n + j] * w[k*n + j]    for k: for j: acc[k] += t[j] * w[k*n + j]
 */
#include <stb/stb_ds.h>

#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/fusion.h"

/* Which kernels touch a buffer, beside those that are joined: some before them, some behind. */
typedef struct Others {
	bool before, behind;
} Others;

static Others others_of(const Rows *rows, BufferId buffer)
{
	BufferSpan *spans = rows->spans;
	const BufferSpan *span = hmgetp(spans, buffer);
	return (Others){span->first < rows->from, span->last >= rows->to};
}

/* Does the statement run exactly once a row? */
static bool is_once(const Rows *rows, const Touch *touch)
{
	for (const Around *around = touch->around; around; around = around->outer) {
		const Stmt *loop = around->loop;
		if (loop->lo->kind != IX_SIZE || loop->hi->kind != IX_SIZE ||
		    !size_is(rows->program->sizes, loop->lo->size, 0) ||
		    !size_is(rows->program->sizes, loop->hi->size, 1))
			return false;
	}
	return true;
}

/* The access that sets the buffer's one element a row before it is read; NULL: it is not so. */
static const Touch *element_store(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	const Touch *first = NULL;
	for (size_t i = 0; i < row->touches.n && !first; i++)
		if (row->touches.at[i].buffer == buffer)
			first = &row->touches.at[i];
	if (!first || !first->stored || first->stmt->acc != OP_NONE || !is_once(rows, first))
		return NULL;
	return row_buffer_stays(rows, row, buffer, size_const(rows->program->sizes, 1)) ? first
											: NULL;
}

/* The access that stores into a buffer before any other of the row reads or stores it; NULL: there
 * is none. */
static const Touch *first_store(const RowKernel *row, BufferId buffer)
{
	for (size_t i = 0; i < row->touches.n; i++) {
		const Touch *touch = &row->touches.at[i];
		if (touch->buffer == buffer)
			return touch->stored && touch->stmt->acc == OP_NONE ? touch : NULL;
	}
	return NULL;
}

/* Do the loops around a store go through all of the row's c elements, one after the other? But for the
 * room behind them. */
static bool fills_row(const Rows *rows, const Touch *store, Size c)
{
	Sizes *sizes = rows->program->sizes;
	Size elements = size_const(sizes, 1);
	for (const Around *around = store->around; around; around = around->outer) {
		const Stmt *loop = around->loop;
		if (loop->step != 1 || loop->lo->kind != IX_SIZE || loop->hi->kind != IX_SIZE ||
		    !size_is(sizes, loop->lo->size, 0) ||
		    !size_same(ix_stride(rows->program, store->ix, loop->iter), elements))
			return false;
		elements = size_mul(sizes, elements, loop->hi->size);
	}
	bool padded = rows->program->buffers.at[store->buffer].padded;
	return size_same(elements, c) || (padded && size_ge(sizes, c, elements));
}

/* Is all of `to` first written by a statement that reads `from` at the same element, for the last
 * time? Where a part was, the rest would hold what `from` does. */
static bool may_share(const Rows *rows, const RowKernel *row, BufferId from, BufferId to)
{
	const Buffer *a = &rows->program->buffers.at[from], *b = &rows->program->buffers.at[to];
	const Touch *store = first_store(row, to);
	if (row->kernel->loop) /* the next step may read what `to` held */
		return false;
	if (from == to || a->dtype != b->dtype || !size_same(a->elements, b->elements) || !store)
		return false;
	bool read = false;
	for (size_t i = 0; i < row->touches.n; i++) {
		const Touch *touch = &row->touches.at[i];
		if (touch->buffer != from ||
		    (touch->top < store->top && touch->stmt != store->stmt))
			continue;
		if (touch->stmt != store->stmt || !ix_same(touch->ix, store->ix))
			return false;
		read = true;
	}
	Size c = row_elements_of(rows, row, to);
	return read && !size_is_bad(c) && fills_row(rows, store, c) &&
	       row_buffer_stays(rows, row, to, c) && row_buffer_stays(rows, row, from, c);
}

/* A temporary that no kernel before those that are joined touches. */
static bool is_new(const Rows *rows, BufferId buffer)
{
	return rows->program->buffers.at[buffer].kind == BUFFER_TEMP &&
	       !others_of(rows, buffer).before;
}

/* A local of the row, declared by its first store, or in front (declare_local) where that is inside loops of one
 * round. */
static void become_local(const Rows *rows, Kernel *kernel, const Touch *store, BufferTwin *twin)
{
	Arena *arena = rows->program->arena;
	const Buffer *b = &rows->program->buffers.at[store->buffer];
	KernelLocal local = {.name = b->name, .dtype = b->dtype};
	Kernel more = {.locals = &local, .nlocals = 1};
	twin->kind = TWIN_LOCAL;
	twin->id = kernel->nlocals;
	twin->declared = store->around;
	kernel_append_tables(arena, kernel, &more);
}

static Block declare_local(const Rows *rows, const Touch *store, LocalId local, Block body)
{
	Arena *arena = rows->program->arena;
	Dtype dtype = rows->program->buffers.at[store->buffer].dtype;
	const Stmt *declared = stmt_local(arena, local, value_number(arena, dtype, 0));
	return rows_both(rows, block_one(arena, declared), body);
}

/* ---- one row of it ---- */

/* Are threads' rows no more than all rows, or few bytes? */
static bool is_less(const Rows *rows, const RowKernel *row, const Buffer *buffer, Size c)
{
	Sizes *sizes = rows->program->sizes;
	const Target *target = rows->program->options.target;
	int64_t known;
	if (size_is_const(sizes, c, &known) &&
	    known <= target->thread_row / (int64_t)dtype_bytes(buffer->dtype))
		return true;
	return size_ge(sizes, buffer->elements, size_scale(sizes, c, target->thread_slots)) ||
	       size_ge(sizes, row->loop->hi->size, c);
}

/* Do the loop's threads share it row by row: is there more in a row than a loop, which they could share as well
 * (parallel.c)? */
static bool shares_rows(const RowKernel *row)
{
	Block body = row->loop->body;
	return body.n > 1 && !body.stmts[1]->disjoint;
}

/* Is a row of the temporary enough, since nothing reads another one than that at hand? */
static bool may_contract(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	const Buffer *b = &rows->program->buffers.at[buffer];
	Size c = row_elements_of(rows, row, buffer);
	return !rows->transform->options->gpu && !b->scratch && is_new(rows, buffer) &&
	       first_store(row, buffer) && !size_is_bad(c) && shares_rows(row) &&
	       is_less(rows, row, b, c) && row_buffer_stays(rows, row, buffer, c);
}

static void contract(const Rows *rows, const RowKernel *row, Kernel *kernel, BufferId buffer)
{
	Program *program = rows->program;
	Arena *arena = program->arena;
	const Stmt *loop = row->loop;
	Size c = row_elements_of(rows, row, buffer);
	const Ix *begin = ix_mul(program, ix_iter(arena, loop->iter), ix_size(arena, c));
	BufferOffset offset = {buffer, ix_times(program, begin, -1)};
	Rewrite rewrite = {.program = program,
			   .iters = kernel_iters(arena, kernel, 0),
			   .renames = true,
			   .offsets = &offset,
			   .noffsets = 1,
			   .span = loop->span};
	kernel->body =
		block_one(arena, stmt_with(arena, loop, rewrite_block(&rewrite, loop->body)));
	program->buffers.at[buffer].elements = c;
	program->buffers.at[buffer].scratch = true;
}

/* ---- all of them ---- */

/* What takes the place of a temporary: a local, set first by `store`, or else the buffer `to`, which
 * is the temporary itself where a row of it is enough, if there is any. */
typedef struct PlaceTaken {
	const Touch *store;
	BufferId to;
} PlaceTaken;

static PlaceTaken find_place(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	PlaceTaken none = {.to = BUFFER_NONE};
	Others others = others_of(rows, buffer);
	if (rows->program->buffers.at[buffer].kind != BUFFER_TEMP || others.behind)
		return none;
	const Touch *store = others.before ? NULL : element_store(rows, row, buffer);
	if (store)
		return (PlaceTaken){store, BUFFER_NONE};
	for (size_t i = 0; i < row->touches.n; i++) {
		BufferId to = row->touches.at[i].buffer;
		if (may_share(rows, row, buffer, to) && !(others.before && !is_new(rows, to)))
			return (PlaceTaken){NULL, to};
	}
	return may_contract(rows, row, buffer) ? (PlaceTaken){NULL, buffer} : none;
}

/* The kernels before those that are joined make the operand in its new place (move_all). */
static void move_before(Rows *rows, const BufferTwin *twin)
{
	BufferSpan *spans = rows->spans;
	uint32_t first = hmgetp(spans, twin->buffer)->first;
	hmgetp(spans, twin->id)->first = first;
	PUSH(rows->arena, rows->moves, *twin);
}

static void take_place(Rows *rows, Kernel *kernel, BufferId buffer, PlaceTaken place)
{
	Arena *arena = rows->program->arena;
	const Stmt *loop = kernel->body.stmts[0];
	BufferTwin twin = {.kind = TWIN_BUFFER, .buffer = buffer, .id = place.to};
	if (place.store)
		become_local(rows, kernel, place.store, &twin);
	Block body = rewrite_twins(rows->program, kernel, loop->body, &twin, 1);
	if (place.store && place.store->around)
		body = declare_local(rows, place.store, twin.id, body);
	kernel->body = block_one(arena, stmt_with(arena, loop, body));
	if (twin.kind == TWIN_BUFFER && others_of(rows, buffer).before)
		move_before(rows, &twin);
	if (twin.kind == TWIN_BUFFER)
		rows->program->buffers.at[buffer].home = twin.id;
	buffer_forget(rows->program, buffer);
}

/* Replaces temporaries one at a time, since each changes what is true of the others. */
void rows_make_private(Rows *rows, Kernel *kernel)
{
	RowKernel row = row_kernel(rows, kernel);
	for (size_t i = 0; i < row.touches.n; i++) {
		BufferId buffer = row.touches.at[i].buffer;
		PlaceTaken place = find_place(rows, &row, buffer);
		if (place.to == buffer)
			contract(rows, &row, kernel, buffer);
		else if (place.store || place.to != BUFFER_NONE)
			take_place(rows, kernel, buffer, place);
		else
			continue;
		row = row_kernel(rows, kernel);
		i = (size_t)-1;
	}
}
