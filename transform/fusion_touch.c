/* What a kernel over rows touches, and whether its rows are apart.
 *
 *   for i in 0..n { for j in 0..v { e[i*v + j] = x[i*v + j] - m[i] } }    e, x: v elements a row; m: one
 *
 * Every access is kept with the loops around it, so that the greatest index that it reaches inside
 * a row is a size: offset + sum of coefficient * (last value of the iterator). An access stays in
 * its row where the row's own iterator has the coefficient c, nothing is negative, and that
 * greatest index is below c. Anything else (an index that is read, a coefficient of unknown sign)
 * counts as leaving the row: kernels that might see each other's other rows are never fused.
 */
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/fusion.h"

#include <string.h>

enum { SHORT_LOOP = 64 }; /* constant rounds: such a loop does not make a row a matrix */

/* ---- what a kernel touches ---- */

typedef struct Reads {
	Rows *rows;
	RowKernel *row;
	const Stmt *stmt;
} Reads;

static void see_touch(const Reads *r, BufferId buffer, const Ix *ix, bool stored)
{
	PUSH(r->rows->arena, r->row->touches,
	     ((Touch){.buffer = buffer,
		      .ix = ix,
		      .row = r->row->loop->iter,
		      .stmt = r->stmt,
		      .around = r->rows->around,
		      .top = r->rows->top,
		      .stored = stored}));
}

static void see_value(void *of, const Value *value)
{
	const Reads *r = of;
	if (value->kind == VALUE_LOAD)
		see_touch(r, value->buffer, value->ix, false);
}

static bool is_short_loop(const Rows *rows, const Stmt *loop)
{
	int64_t hi;
	return loop->hi->kind == IX_SIZE &&
	       size_is_const(rows->program->sizes, loop->hi->size, &hi) && hi <= SHORT_LOOP;
}

/* depth, nest: long loops around the block, and all loops, in the row */
static void see_block(Rows *rows, RowKernel *row, Block block, uint32_t depth, uint32_t nest)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (!rows->around)
			rows->top = i;
		row->nstmts++;
		if (stmt->kind == LOOP_IF || stmt->kind == LOOP_CHECK)
			row->unfit = "has conditions or checks";
		Reads reads = {rows, row, stmt};
		const Ix *ixs[] = {stmt->lo, stmt->hi, stmt->ix};
		for (size_t k = 0; k < sizeof ixs / sizeof *ixs; k++)
			if (ixs[k])
				ix_each_value(ixs[k], see_value, &reads);
		if (stmt->value)
			value_each(stmt->value, see_value, &reads);
		if (stmt->kind == LOOP_STORE)
			see_touch(&reads, stmt->buffer, stmt->ix, true);
		if (stmt->kind != LOOP_FOR)
			continue;
		uint32_t inside = depth + !is_short_loop(rows, stmt);
		int64_t trips = constant_trips(rows->program, stmt);
		row->few &= trips >= 0 && trips <= rows->program->options.target->row_columns;
		if (row->depth < inside)
			row->depth = inside;
		if (row->nest < nest + 1)
			row->nest = nest + 1;
		Around *around = ARENA_NEW(rows->arena, Around);
		*around = (Around){stmt, rows->around};
		rows->around = around;
		see_block(rows, row, stmt->body, inside, nest + 1);
		rows->around = around->outer;
	}
}

/* ---- whether it waits for memory ---- */

static bool is_arithmetic(const Value *value)
{
	bool is = value->kind != VALUE_OP || op_is_simple(value->op);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = is_arithmetic(value->args[i]);
	return is;
}

/* Of a type that is no storage of a wider one, whose loops have forms of their own. */
static bool is_neighbour(const Rows *rows, const Touch *touch)
{
	Dtype dtype = rows->program->buffers.at[touch->buffer].dtype;
	return dtype_wide(dtype) == dtype &&
	       (ix_moves_by(rows->program, touch->ix, touch->row, 1) ||
		ix_moves_by(rows->program, touch->ix, touch->row, 0));
}

/* Is it a flat loop of arithmetic on neighbouring elements? Functions keep loops of their own. */
static bool is_stream(const Rows *rows, const RowKernel *row)
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
		if (!is_neighbour(rows, &row->touches.at[i]))
			return false;
	return row->touches.n > 0;
}

/* ---- kernels ---- */

static bool is_over_rows(const Rows *rows, const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1 &&
	       stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE &&
	       size_is(rows->program->sizes, stmt->lo->size, 0);
}

RowKernel row_kernel(Rows *rows, const Kernel *kernel)
{
	RowKernel row = {.kernel = kernel};
	const Stmt *only = block_only(kernel->body);
	if (!only || !is_over_rows(rows, only)) {
		row.unfit = "is not one loop over rows";
		return row;
	}
	row.loop = only;
	row.few = true;
	see_block(rows, &row, only->body, 0, 0);
	row.unfit = kernel->alone ? "is to stay alone" : row.unfit;
	row.streams = is_stream(rows, &row);
	Size work = block_size(rows->program, only->body);
	if (size_is_bad(work) || !size_is_const(rows->program->sizes, work, &row.work))
		row.work = -1;
	return row;
}

/* The loops around with one more outside of them. */
static const Around *put_outside(const Rows *rows, const Around *around, const Stmt *loop)
{
	Around *copy = ARENA_NEW(rows->arena, Around);
	*copy = around ? (Around){around->loop, put_outside(rows, around->outer, loop)}
		       : (Around){.loop = loop};
	return copy;
}

RowKernel row_kernel_split(Rows *rows, const RowKernel *flat, const LoopSplit *split)
{
	RowKernel row = *flat;
	Rewrite rewrite = {.program = rows->program, .iters = split->iters};
	row.loop = split->outer;
	row.split = split;
	row.nstmts++;
	row.depth = !is_short_loop(rows, split->inner);
	row.nest++;
	row.streams = false;
	memset(&row.touches, 0, sizeof row.touches);
	for (size_t i = 0; i < flat->touches.n; i++) {
		Touch touch = flat->touches.at[i];
		touch.ix = rewrite_ix(&rewrite, touch.ix);
		touch.around = put_outside(rows, touch.around, split->inner);
		PUSH(rows->arena, row.touches, touch);
	}
	return row;
}

/* ---- whether a buffer's rows are apart ---- */

/* The greatest value of an iterator whose loop runs; SIZE_BAD: not known. */
static Size greatest(const Rows *rows, const Around *around, IterVar iter)
{
	Sizes *sizes = rows->program->sizes;
	while (around && around->loop->iter != iter)
		around = around->outer;
	const Stmt *loop = around ? around->loop : NULL;
	if (!loop || loop->lo->kind != IX_SIZE || loop->hi->kind != IX_SIZE ||
	    !size_ge(sizes, loop->lo->size, size_const(sizes, 0)))
		return SIZE_BAD;
	Size extent = size_sub(sizes, loop->hi->size, loop->lo->size);
	Size whole = size_scale(sizes, size_floor(sizes, extent, loop->step), loop->step);
	return size_plus(sizes, loop->hi->size, size_same(whole, extent) ? -loop->step : -1);
}

/* ix = i*c + rest with 0 <= rest < c, over all rounds of the loops inside. */
static bool stays_in_row(const Rows *rows, const Touch *touch, Size c)
{
	Sizes *sizes = rows->program->sizes;
	Linear linear = ix_linear(rows->program, touch->ix);
	Size zero = size_const(sizes, 0), most = linear.offset;
	bool has_row = false;
	for (size_t t = 0; t < linear.terms.n; t++) {
		const LinearTerm *term = &linear.terms.at[t];
		if (term->atom->kind != IX_ITER)
			return false;
		if (term->atom->iter == touch->row) {
			has_row = size_same(term->coef, c);
			continue;
		}
		Size top = greatest(rows, touch->around, term->atom->iter);
		if (size_is_bad(top) || !size_ge(sizes, term->coef, zero))
			return false;
		most = size_add(sizes, most, size_mul(sizes, term->coef, top));
	}
	return has_row && size_ge(sizes, linear.offset, zero) &&
	       size_ge(sizes, size_plus(sizes, c, -1), most);
}

Size row_elements_of(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	for (size_t i = 0; i < row->touches.n; i++) {
		const Touch *touch = &row->touches.at[i];
		if (touch->buffer == buffer) {
			Size c = ix_stride(rows->program, touch->ix, touch->row);
			return size_is(rows->program->sizes, c, 0) ? SIZE_BAD : c;
		}
	}
	return SIZE_BAD;
}

bool row_buffer_stays(const Rows *rows, const RowKernel *row, BufferId buffer, Size c)
{
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == buffer &&
		    !stays_in_row(rows, &row->touches.at[i], c))
			return false;
	return true;
}

bool row_touches(const RowKernel *row, BufferId buffer, bool stored)
{
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == buffer && row->touches.at[i].stored >= stored)
			return true;
	return false;
}
