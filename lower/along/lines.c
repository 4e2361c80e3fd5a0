/* What loops along an axis are built of: indices, values and statements in short. */
#include "lower/along/lines_emit.h"

#include "loops/linear.h"

const Ix *lines_const(const Lines *l, int64_t value) { return ix_const(l->program, value); }

const Ix *lines_size(const Lines *l, Size size) { return ix_size(l->arena, size); }

const Ix *lines_add(const Lines *l, const Ix *a, const Ix *b) { return ix_add(l->program, a, b); }

const Ix *lines_scale(const Lines *l, const Ix *a, int64_t by)
{
	return ix_mul(l->program, a, lines_const(l, by));
}

const Ix *lines_sub(const Lines *l, const Ix *a, const Ix *b)
{
	return lines_add(l, a, lines_scale(l, b, -1));
}

const Ix *lines_min(const Lines *l, const Ix *a, const Ix *b)
{
	return ix_binary(l->program, IX_MIN, a, b);
}

const Ix *lines_max(const Lines *l, const Ix *a, const Ix *b)
{
	return ix_binary(l->program, IX_MAX, a, b);
}

const Ix *lines_div(const Lines *l, const Ix *a, int64_t by)
{
	return by == 1 ? a : ix_binary(l->program, IX_DIV, a, lines_const(l, by));
}

const Ix *lines_mod(const Lines *l, const Ix *a, int64_t by)
{
	return ix_binary(l->program, IX_MOD, a, lines_const(l, by));
}

const Ix *lines_inside(const Lines *l, const Ix *at, const Ix *most)
{
	return lines_min(l, lines_max(l, at, lines_const(l, 0)), most);
}

const Ix *lines_last(const Lines *l, Size n) { return lines_size(l, size_plus(l->sizes, n, -1)); }

IterVar lines_iter(const Lines *l, const char *name) { return frame_iter(l->frame, name); }

const Ix *lines_at(const Lines *l, IterVar var) { return ix_iter(l->arena, var); }

const Value *lines_number(const Lines *l, Dtype dtype, double number)
{
	return value_number(l->arena, dtype, number);
}

void lines_push(const Lines *l, Body *body, const Stmt *stmt) { PUSH(l->arena, body->stmts, stmt); }

LocalId lines_local(const Lines *l, Body *body, const char *name, const Value *start)
{
	LocalId id = frame_local(l->frame, name, start->dtype, NULL, 0);
	lines_push(l, body, stmt_local(l->arena, id, start));
	return id;
}

const Value *lines_read(const Lines *l, LocalId local)
{
	return frame_element(l->frame, local, NULL);
}

void lines_set(const Lines *l, Body *body, LocalId local, Op acc, const Value *value)
{
	lines_push(l, body, stmt_set(l->arena, local, acc, value));
}

LocalId lines_local_ix(const Lines *l, Body *body, const char *name, const Ix *start)
{
	return lines_local(l, body, name, value_index(l->arena, DTYPE_I64, start));
}

const Ix *lines_read_ix(const Lines *l, LocalId local)
{
	return ix_value(l->arena, lines_read(l, local));
}

void lines_set_ix(const Lines *l, Body *body, LocalId local, Op acc, const Ix *value)
{
	lines_set(l, body, local, acc, value_index(l->arena, DTYPE_I64, value));
}

Stmt *lines_loop(const Lines *l, IterVar var, const Ix *lo, const Ix *hi, int64_t step,
		 const Body *body)
{
	Stmt *loop = stmt_for(l->arena, var, lo, hi, body_block(body));
	loop->step = step;
	return loop;
}

const Stmt *lines_independent(Stmt *loop)
{
	loop->independent = true;
	return loop;
}

const Stmt *lines_blocks(const Lines *l, int64_t n, const Body *body)
{
	const Ix *first = l->outer[l->nouter - 1];
	const Ix *end = lines_size(l, l->extents[l->nouter - 1]);
	return lines_independent(lines_loop(l, first->iter, lines_const(l, 0), end, n, body));
}

const Ix *lines_block_end(const Lines *l, int64_t n)
{
	const Ix *first = l->outer[l->nouter - 1];
	const Ix *end = lines_size(l, l->extents[l->nouter - 1]);
	return lines_min(l, lines_add(l, first, lines_const(l, n)), end);
}

void lines_for(const Lines *l, Body *into, IterVar var, const Ix *lo, const Ix *hi, int64_t step,
	       const Body *body)
{
	lines_push(l, into, lines_loop(l, var, lo, hi, step, body));
}

void lines_times(const Lines *l, Body *into, IterVar var, const Ix *n, const Body *body)
{
	lines_for(l, into, var, lines_const(l, 0), n, 1, body);
}

/* How many lines of the last outer axis blocks of n have. */
static const Ix *lines_in_blocks(const Lines *l, int64_t n)
{
	Size lines = l->extents[l->nouter - 1];
	return lines_size(l, size_scale(l->sizes, size_floor(l->sizes, lines, n), n));
}

const Stmt *lines_whole_blocks(const Lines *l, int64_t n, const Body *body)
{
	IterVar var = l->outer[l->nouter - 1]->iter;
	return lines_independent(
		lines_loop(l, var, lines_const(l, 0), lines_in_blocks(l, n), n, body));
}

void lines_behind(const Lines *l, int64_t n, const Body *body, Body *into)
{
	IterVar var = l->outer[l->nouter - 1]->iter;
	const Ix *end = lines_size(l, l->extents[l->nouter - 1]);
	lines_push(l, into,
		   lines_independent(lines_loop(l, var, lines_in_blocks(l, n), end, 1, body)));
}

void lines_each(const Lines *l, Body *into, IterVar var, Size extent, const Body *body)
{
	lines_times(l, into, var, lines_size(l, extent), body);
}

void lines_if(const Lines *l, Body *into, CondKind kind, const Ix *a, const Ix *b, const Body *body)
{
	Cond *cond = ARENA_NEW(l->arena, Cond);
	*cond = (Cond){kind, a, b};
	lines_push(l, into, stmt_if(l->arena, cond, 1, body_block(body)));
}

const Value *lines_wide_element(const Lines *l, const Ix *at, Body *body)
{
	const Value *value = l->element(l, at, body);
	return value_cast(l->arena, dtype_wide(value->dtype), value);
}

bool lines_go_on(const Lines *l, IterVar var, const Value *value)
{
	uint32_t next = 0;
	return value_goes_on(l->program, value, var, &next) && next > 0;
}

void lines_put(const Lines *l, Body *body, BufferId buffer, const Ix *at, const Value *value)
{
	lines_push(l, body, stmt_store(l->arena, buffer, at, OP_NONE, value));
}

const Stmt *lines_store(const Lines *l, const Ix *at, const Value *value)
{
	Dtype dtype = l->program->buffers.at[l->to].dtype;
	return stmt_store(l->arena, l->to, l->result_index(l, at), OP_NONE,
			  value_cast(l->arena, dtype, value));
}

void lines_wrap(const Lines *l, uint32_t n, Body *body)
{
	for (uint32_t i = n; i-- > 0;) {
		Stmt *loop = lines_loop(l, l->outer[i]->iter, lines_const(l, 0),
					lines_size(l, l->extents[i]), 1, body);
		*body = (Body){0};
		/* each line has elements of its own, in temporaries too */
		lines_push(l, body, lines_independent(loop));
	}
}

void lines_finish(const Lines *l, const Body *body)
{
	for (size_t i = 0; i < body->stmts.n; i++)
		lines_push(l, l->top, body->stmts.at[i]);
}
