/* The elements of an axis in order, or their places.
 *
 * Equal elements stay in the order that they have, and what is no number comes last, so each
 * element has a rank of its own: how many stand before it. Short lines are sorted by counting that:
 *
 *   for R, t
 *     local rank : i32 = 0
 *     for u in 0..t:   rank += 1 where x[R, t] does not come before x[R, u]
 *     for u in t+1..n: rank += 1 where x[R, u] comes before x[R, t]
 *     if rank < k: y[R, rank] = x[R, t], or t
 *
 * Longer lines are merged: neighbouring runs of `width` elements, which are in order, become one, from
 * one temporary to the other and back, until there is one run. What moves are the elements or, for
 * their places, these.
 *
 *   for R
 *     for t in 0..n: sorted[R, t] = x[R, t], or t
 *     local width : i32 = 1
 *     for pass in 0..PASSES: if width < n
 *       merge runs of width of `sorted` into `merged`, runs of 2*width of `merged` into `sorted`
 *       width *= 4
 *     for t in 0..k: y[R, t] = sorted[R, t]
 *
 *   merge  for run in 0..ceil(n / (2*width))
 *            local first, second : i32 = where the two runs begin
 *            for t in both: to[t] = the lesser of from[first] and from[second], the first of equals
 *
 * Indices that are read are held inside by minima and maxima, which change nothing.
 */
#include "lower/along/lines.h"

enum { BY_RANKS = 32, PASSES = 16 };

/* ---- ranks ---- */

/* 1 where a comes before b, else 0, in their type. */
static const Value *comes_before(const Lines *l, const Value *a, const Value *b)
{
	const Value *less = lines_binary(l, l->descending ? OP_GT : OP_LT, a, b);
	if (!dtype_is_float(a->dtype))
		return less;
	const Value *alone =
		lines_binary(l, OP_AND, lines_binary(l, OP_EQ, a, a), lines_binary(l, OP_NE, b, b));
	return lines_binary(l, OP_OR, less, alone);
}

/* rank += 1 for each of the elements in [lo, hi) that comes before `own`; those in front of it do
 * so where it does not come before them. */
static const Stmt *count(const Lines *l, LocalId rank, const Value *own, const Ix *lo, const Ix *hi,
			 bool in_front)
{
	Body body = {0};
	IterVar u = lines_iter(l, "u");
	const Value *other = value_cast(l->arena, own->dtype, l->element(l, lines_at(l, u), &body));
	const Value *is = in_front ? comes_before(l, own, other) : comes_before(l, other, own);
	const Value *counts = lines_where(l, is, lines_number(l, own->dtype, !in_front),
					  lines_number(l, own->dtype, in_front));
	lines_push(l, &body,
		   stmt_set(l->arena, rank, OP_ADD, value_cast(l->arena, DTYPE_I32, counts)));
	return lines_loop(l, u, lo, hi, 1, &body);
}

/* The store where it is among those that are kept; the minimum says that it is, for the bounds. */
static const Stmt *store_ranked(const Lines *l, LocalId rank, const Value *value)
{
	const Ix *at = ix_value(l->arena, l->read(l->of, rank, NULL)), *none = lines_const(l, 0);
	const Ix *kept = lines_size(l, l->kept);
	const Ix *last = lines_size(l, size_plus(l->sizes, l->kept, -1));
	Cond *conds = ARENA_ARRAY(l->arena, Cond, 2);
	conds[0] = (Cond){COND_LT, none, kept};
	conds[1] = (Cond){COND_LT, at, kept};
	Body body = {0};
	at = lines_min(l, ix_binary(l->program, IX_MAX, at, none), last);
	lines_push(l, &body, lines_store(l, at, value));
	return stmt_if(l->arena, conds, 2, body_block(&body));
}

static void by_ranks(const Lines *l, Body *line)
{
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t), *end = lines_size(l, l->extent);
	LocalId rank = l->local(l->of, "rank", DTYPE_I32, 0);
	const Value *own = l->element(l, at, &body);
	const Value *wide = value_cast(l->arena, dtype_wide(own->dtype), own);
	const Value *value = l->ids ? value_index(l->arena, l->dtype, at) : own;
	lines_push(l, &body, stmt_local(l->arena, rank, lines_number(l, DTYPE_I32, 0)));
	lines_push(l, &body, count(l, rank, wide, lines_const(l, 0), at, true));
	lines_push(l, &body, count(l, rank, wide, lines_add(l, at, lines_const(l, 1)), end, false));
	lines_push(l, &body, store_ranked(l, rank, value));
	lines_push(l, line, lines_loop(l, t, lines_const(l, 0), end, 1, &body));
}

/* ---- merging ---- */

typedef struct Merge {
	const Lines *l;
	BufferId sorted, merged;
	const Ix *base; /* of the line, in both */
	LocalId width;
} Merge;

static const Ix *index_read(const Lines *l, LocalId local)
{
	return ix_value(l->arena, l->read(l->of, local, NULL));
}

/* An index that is in [0, n), for the bounds. */
static const Ix *inside(const Lines *l, const Ix *at)
{
	const Ix *last = lines_size(l, size_plus(l->sizes, l->extent, -1));
	return lines_min(l, ix_binary(l->program, IX_MAX, at, lines_const(l, 0)), last);
}

static const Value *item(const Merge *m, BufferId from, LocalId at)
{
	const Lines *l = m->l;
	return value_load(l->program, from, lines_add(l, m->base, inside(l, index_read(l, at))));
}

/* What an item is compared by. */
static const Value *key(const Merge *m, const Value *moved, Body *body)
{
	const Lines *l = m->l;
	const Value *element =
		l->ids ? l->element(l, inside(l, ix_value(l->arena, moved)), body) : moved;
	return value_cast(l->arena, dtype_wide(element->dtype), element);
}

static LocalId number_new(const Lines *l, Body *body, const char *name, const Ix *start)
{
	LocalId id = l->local(l->of, name, DTYPE_I32, 0);
	lines_push(l, body, stmt_local(l->arena, id, value_index(l->arena, DTYPE_I32, start)));
	return id;
}

/* to[t] = the item that comes first; its index goes on. */
static void merge_step(const Merge *m, const BufferId *ends, const LocalId *at, const Ix *t,
		       Body *body)
{
	const Lines *l = m->l;
	const Value *one = lines_number(l, DTYPE_I32, 1), *none = lines_number(l, DTYPE_I32, 0);
	LocalId takes = l->local(l->of, "takes", DTYPE_I32, 0);
	Body left = {0}, both = {0};
	Dtype dtype = l->program->buffers.at[ends[0]].dtype;
	LocalId moved = l->local(l->of, "moved", dtype, 0);
	/* the second where the first run is over, or both are there and the second comes before */
	lines_push(l, body, stmt_local(l->arena, takes, none));
	lines_push(l, body, stmt_local(l->arena, moved, item(m, ends[0], at[0])));
	const Value *second = item(m, ends[0], at[1]);
	const Value *a = key(m, l->read(l->of, moved, NULL), &both), *b = key(m, second, &both);
	const Value *before = value_cast(l->arena, DTYPE_I32, comes_before(l, b, a));
	lines_push(l, &both, stmt_set(l->arena, takes, OP_NONE, before));
	lines_push(l, body,
		   lines_if(l, COND_LT, index_read(l, at[1]), index_read(l, at[3]), &both));
	lines_push(l, &left, stmt_set(l->arena, takes, OP_NONE, one));
	lines_push(l, body,
		   lines_if(l, COND_LE, index_read(l, at[2]), index_read(l, at[0]), &left));
	const Value *is = l->read(l->of, takes, NULL);
	Body other = {0};
	lines_push(l, &other, stmt_set(l->arena, moved, OP_NONE, second));
	lines_push(l, body,
		   lines_if(l, COND_LT, lines_const(l, 0), ix_value(l->arena, is), &other));
	lines_push(l, body,
		   stmt_store(l->arena, ends[1], lines_add(l, m->base, inside(l, t)), OP_NONE,
			      l->read(l->of, moved, NULL)));
	lines_push(l, body, stmt_set(l->arena, at[1], OP_ADD, is));
	lines_push(l, body, stmt_set(l->arena, at[0], OP_ADD, lines_binary(l, OP_SUB, one, is)));
}

/* Runs of `width` of ends[0] in pairs into ends[1]. */
static void merge(const Merge *m, const BufferId *ends, int64_t times, Body *body)
{
	const Lines *l = m->l;
	Body run = {0}, step = {0};
	IterVar r = lines_iter(l, "run"), t = lines_iter(l, "t");
	const Ix *n = lines_size(l, l->extent), *one = lines_const(l, 1);
	const Ix *width = lines_scale(l, index_read(l, m->width), times);
	const Ix *both = lines_scale(l, width, 2);
	const Ix *up = lines_sub(l, lines_add(l, n, both), one);
	const Ix *runs =
		ix_binary(l->program, IX_DIV, up, ix_binary(l->program, IX_MAX, both, one));
	const Ix *lo = lines_min(l, ix_mul(l->program, lines_at(l, r), both), n);
	const Ix *mid = lines_min(l, lines_add(l, lo, width), n);
	const Ix *hi = lines_min(l, lines_add(l, lo, both), n);
	LocalId at[4];
	at[0] = number_new(l, &run, "first", lo);
	at[1] = number_new(l, &run, "second", mid);
	at[2] = number_new(l, &run, "middle", mid);
	at[3] = number_new(l, &run, "end", hi);
	merge_step(m, ends, at, lines_at(l, t), &step);
	lines_push(l, &run, lines_loop(l, t, lo, hi, 1, &step));
	lines_push(l, body, lines_loop(l, r, lines_const(l, 0), runs, 1, &run));
}

static void fill(const Merge *m, Body *line)
{
	const Lines *l = m->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	const Value *value =
		l->ids ? value_index(l->arena, DTYPE_I32, at) : l->element(l, at, &body);
	lines_push(l, &body,
		   stmt_store(l->arena, m->sorted, lines_add(l, m->base, at), OP_NONE, value));
	lines_each(l, line, t, l->extent, &body);
}

static void keep(const Merge *m, Body *line)
{
	const Lines *l = m->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	const Value *value =
		value_load(l->program, m->sorted, lines_add(l, m->base, inside(l, at)));
	lines_push(l, &body, lines_store(l, at, value));
	lines_each(l, line, t, l->kept, &body);
}

static void by_merging(const Lines *l, Body *line)
{
	Body passes = {0}, pass = {0};
	Size elements = l->extent;
	Merge m = {.l = l, .base = lines_const(l, 0)};
	for (uint32_t i = 0; i < l->nbeside; i++) {
		const Ix *before = ix_mul(l->program, m.base, lines_size(l, l->extents[i]));
		m.base = lines_add(l, before, l->beside[i]);
		elements = size_mul(l->sizes, elements, l->extents[i]);
	}
	m.base = ix_mul(l->program, m.base, lines_size(l, l->extent));
	Dtype dtype = l->ids ? DTYPE_I32 : l->from;
	m.sorted = l->temporary(l->of, "sorted", dtype, elements);
	m.merged = l->temporary(l->of, "merged", dtype, elements);
	fill(&m, line);
	m.width = number_new(l, line, "width", lines_const(l, 1));
	merge(&m, (BufferId[]){m.sorted, m.merged}, 1, &passes);
	merge(&m, (BufferId[]){m.merged, m.sorted}, 2, &passes);
	const Ix *width = index_read(l, m.width), *n = lines_size(l, l->extent);
	const Ix *next = lines_min(l, lines_scale(l, width, 4), lines_const(l, INT32_MAX));
	lines_push(l, &passes,
		   stmt_set(l->arena, m.width, OP_NONE, value_index(l->arena, DTYPE_I32, next)));
	lines_push(l, &pass, lines_if(l, COND_LT, width, n, &passes));
	IterVar p = lines_iter(l, "pass");
	lines_push(l, line, lines_loop(l, p, lines_const(l, 0), lines_const(l, PASSES), 1, &pass));
	keep(&m, line);
}

/* ---- all of it ---- */

static void finish(const Lines *l, Body *line, bool known, bool ranks)
{
	const Ix *n = lines_size(l, l->extent), *most = lines_const(l, BY_RANKS);
	Body top = {0};
	lines_wrap(l, l->nbeside, line);
	if (!known)
		lines_push(l, &top,
			   lines_if(l, ranks ? COND_LE : COND_LT, ranks ? n : most,
				    ranks ? most : n, line));
	lines_finish(l, known ? line : &top);
}

void sort_lines(const Lines *l)
{
	Body body = {0};
	int64_t n;
	bool known = size_is_const(l->sizes, l->extent, &n);
	if (!known || n <= BY_RANKS) {
		by_ranks(l, &body);
		finish(l, &body, known, true);
	}
	if (!known || n > BY_RANKS) {
		body = (Body){0};
		by_merging(l, &body);
		finish(l, &body, known, false);
	}
}
