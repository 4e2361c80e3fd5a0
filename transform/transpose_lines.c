/* Copies that no squares suit, line by line of what is read:
 *
 *   for k in 0..128: for lane in 0..64: packed[k*256 + lane*4] = b[lane*512 + k*4], .. + 1, + 2, + 3
 * becomes, with lines of 16 steps,
 *   for ks in 0..8: for lane in 0..64: for k in 0..16: packed[(ks*16 + k)*256 + lane*4] = ..
 *   what is left of k
 *
 * The inner loop moves all that is read by a line or more, the outer one by less: a line is used up before the next
 * one is read, where as many lines as the inner loop has steps need not stay in the first cache.
 */
#include "base/diag.h"
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/transpose.h"

typedef struct Lines {
	const Transpose *t;
	const Stmt *along, *across; /* the loop that goes along lines, the one from line to line */
	int64_t n;		    /* steps along a line; 0: what is read lies otherwise */
} Lines;

/* Elements of the buffer in a line. */
static int64_t line_of(const Lines *l, BufferId buffer)
{
	Dtype dtype = l->t->program->buffers.at[buffer].dtype;
	int64_t bytes = transpose_target(l->t)->line_bytes;
	return dtype_is_packed(dtype) ? 2 * bytes : bytes / (int64_t)dtype_bytes(dtype);
}

static void see_load(void *of, const Value *value)
{
	Lines *l = of;
	const Sizes *sizes = l->t->program->sizes;
	int64_t step, to_next;
	if (value->kind != VALUE_LOAD)
		return;
	int64_t line = line_of(l, value->buffer);
	Size along = ix_stride(l->t->program, value->ix, l->along->iter);
	Size across = ix_stride(l->t->program, value->ix, l->across->iter);
	bool steps = size_is_const(sizes, along, &step) && step > 0;
	bool lines = !size_is_bad(across) &&
		     (!size_is_const(sizes, across, &to_next) || to_next >= line);
	int64_t n = steps && lines ? line / step : 0;
	l->n = l->n < n ? l->n : n;
}

/* Finds the loops around stores alone, of elements that nothing here reads. */
static bool find_loops(Lines *l, const Stmt *stmt)
{
	const Sizes *sizes = l->t->program->sizes;
	int64_t extent;
	if (!loop_is_plain(stmt) || stmt->body.n != 1 || !loop_is_plain(stmt->body.stmts[0]) ||
	    !size_is(sizes, stmt->lo->size, 0))
		return false;
	l->along = stmt;
	l->across = stmt->body.stmts[0];
	for (uint32_t i = 0; i < l->across->body.n; i++) {
		const Stmt *store = l->across->body.stmts[i];
		if (store->kind != LOOP_STORE || store->acc != OP_NONE ||
		    value_loads(store->value, store->buffer))
			return false;
		value_each(store->value, see_load, l);
	}
	return l->n > 1 && l->n < INT32_MAX &&
	       (!size_is_const(sizes, stmt->hi->size, &extent) || extent >= l->n);
}

/* The inner loop around the steps of a line. */
static const Stmt *by_line(const Lines *l)
{
	const Transpose *t = l->t;
	IterVar line = kernel_add_iter(t->program, t->kernel, "line");
	const Ix **iters = kernel_iters(t->arena, t->kernel, 0);
	const Ix *first = ix_times(t->program, ix_iter(t->arena, l->along->iter), l->n);
	iters[l->along->iter] = ix_add(t->program, first, ix_iter(t->arena, line));
	Rewrite r = {.program = t->program, .iters = iters, .span = t->kernel->span};
	const Stmt *steps =
		stmt_loop(t->program, LOOP_SERIAL, line, l->n, rewrite_block(&r, l->across->body));
	return stmt_with(t->arena, l->across, block_one(t->arena, steps));
}

Block transpose_lines(const Transpose *t, const Stmt *stmt)
{
	Lines l = {.t = t, .n = INT32_MAX};
	Sizes *sizes = t->program->sizes;
	if (!find_loops(&l, stmt) || !loop_is_of_threads(t->program, t->kernel, stmt, l.along) ||
	    !loop_is_of_threads(t->program, t->kernel, stmt, l.across))
		return block_one(t->arena, stmt);
	Body body = {0};
	Size lines = size_floor(sizes, stmt->hi->size, l.n), whole = size_scale(sizes, lines, l.n);
	PUSH(t->arena, body.stmts,
	     stmt_for(t->arena, stmt->iter, stmt->lo, ix_size(t->arena, lines),
		      block_one(t->arena, by_line(&l))));
	if (!size_same(whole, stmt->hi->size))
		PUSH(t->arena, body.stmts,
		     stmt_for(t->arena, stmt->iter, ix_size(t->arena, whole), stmt->hi,
			      stmt->body));
	return body_block(&body);
}
