/* At each place of an axis, a sum (a product, the greatest, the least) of the elements up to it.
 *
 * Up to AT_ONCE elements are taken one after another. A longer axis is cut into runs of RUN: each
 * begins anew, and what all runs before it came to is added to each of its places,
 *
 *   y[s*RUN + i] = before[s] + (x[s*RUN] + ... + x[s*RUN + i])
 *   before[s + 1] = before[s] + sum of run s,
 *
 * so the order is a function of the extent alone. Of a sum of one place after another each waits
 * for the one before, so several go on side by side: those of neighbouring lines, or runs of one
 * line.
 *
 *   lines     for r in 0..R step 4: acc[4] = neutral
 *               for t in 0..n: unroll l in 0..4: acc[l] += x[r + l, t]; y[r + l, t] = acc[l]
 *   columns   for c in 0..C step 256: for t in 0..n: for v in c..min(c + 256, C):
 *               y[t, v] = y[t - 1, v] + x[t, v]
 *   runs      for i in 0..n step 4*RUN: acc[4] = neutral
 *               for t in 0..RUN: unroll l in 0..4: acc[l] += x[i + l*RUN + t]; y[..] = acc[l]
 *               unroll l in 0..4: for t in 0..RUN: y[..] = before + y[..]
 *                                 before += acc[l]; fetch a run AHEAD
 *   columns of runs
 *             for c in 0..C step 64: before[64] = neutral
 *               for first in 0..n step RUN: acc[64] = neutral
 *                 for t in the run: for v in c..min(c + 64, C): acc[v - c] += x[t, v]; y[t, v] = acc[v - c]
 *                 for t in the run: for v: y[t, v] = before[v - c] + y[t, v]
 *                 for v: before[v - c] += acc[v - c]
 *
 * `reverse` counts places from the end, `exclusive` stores before it adds.
 */
#include "loops/linear.h"
#include "lower/along/lines.h"

enum {
	AT_ONCE = 4096,
	RUN = 512,
	SIDE = 4,
	RUNS_SIDE = 4,
	BLOCK = RUN * RUNS_SIDE,
	COLUMNS = 256,
	RUN_COLUMNS = 64,
	FEW_COLUMNS = 4,
	AHEAD = 4
};

/* ---- elements ---- */

/* The place that is the i-th to be added. */
static const Ix *place(const Lines *l, const Ix *i)
{
	const Ix *last = lines_size(l, size_plus(l->sizes, l->extent, -1));
	return l->reverse ? lines_sub(l, last, i) : i;
}

static const Value *element(const Lines *l, const Ix *i, Body *body)
{
	return value_cast(l->arena, l->dtype, l->element(l, place(l, i), body));
}

static const Stmt *store(const Lines *l, const Ix *i, const Value *value)
{
	return lines_store(l, place(l, i), value);
}

static const Value *stored(const Lines *l, const Ix *i)
{
	return value_load(l->program, l->to, l->cell(l, place(l, i)));
}

static const Value *neutral(const Lines *l)
{
	return value_const(l->arena, l->dtype, op_neutral(l->reduce, l->dtype));
}

/* ---- what has been added so far ---- */

/* A local of so many elements, each neutral; 0: a single one. */
static LocalId sums_new(const Lines *l, Body *body, const char *name, uint32_t n)
{
	LocalId id = l->local(l->of, name, l->dtype, n);
	lines_push(l, body, stmt_local(l->arena, id, neutral(l)));
	return id;
}

/* acc += x[i]; y[i] = acc, or the other way round. */
static void take(const Lines *l, Body *body, const Value *acc, const Ix *i)
{
	const Stmt *sum = stmt_set_at(l->arena, acc, l->reduce, element(l, i, body));
	const Stmt *kept = store(l, i, acc);
	lines_push(l, body, l->exclusive ? kept : sum);
	lines_push(l, body, l->exclusive ? sum : kept);
}

/* ---- one after another ---- */

/* All places of one line, in order. */
static void one_line(const Lines *l, Body *body)
{
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	LocalId acc = sums_new(l, body, "acc", 0);
	take(l, &step, lines_read(l, acc), lines_at(l, t));
	lines_each(l, body, t, l->extent, &step);
}

/* SIDE lines side by side, which follow one another along the last axis beside. */
static void side_by_side(const Lines *l, Body *body)
{
	Body step = {0}, lanes = {0};
	IterVar t = lines_iter(l, "t"), lane = lines_iter(l, "lane");
	const Ix **last = &l->beside[l->nbeside - 1], *first = *last;
	LocalId acc = sums_new(l, body, "acc", SIDE);
	*last = lines_add(l, first, lines_at(l, lane));
	take(l, &lanes, l->read(l->of, acc, lines_at(l, lane)), lines_at(l, t));
	*last = first;
	lines_push(l, &step, stmt_loop(l->program, LOOP_UNROLL, lane, SIDE, body_block(&lanes)));
	lines_each(l, body, t, l->extent, &step);
}

/* ---- columns ---- */

/* y[i] = y[i - 1] + x[i]. */
static void column_step(const Lines *l, const Ix *i, const Ix *before, Body *body)
{
	const Value *sum = before ? stored(l, before) : neutral(l);
	if (before || !l->exclusive)
		sum = lines_binary(l, l->reduce, sum, element(l, l->exclusive ? before : i, body));
	lines_push(l, body, store(l, i, sum));
}

/* All places of columns lo to hi of the last axis beside. */
static void column_block(const Lines *l, const Ix *lo, const Ix *hi, Body *body)
{
	Body top = {0}, rest = {0}, step = {0}, head = {0};
	const Ix **last = &l->beside[l->nbeside - 1], *old = *last;
	const Ix *none = lines_const(l, 0), *one = lines_const(l, 1), *n = lines_size(l, l->extent);
	IterVar u = lines_iter(l, "v"), v = lines_iter(l, "v"), t = lines_iter(l, "t");
	*last = lines_at(l, u);
	column_step(l, none, NULL, &top);
	*last = lines_at(l, v);
	column_step(l, lines_at(l, t), lines_sub(l, lines_at(l, t), one), &rest);
	*last = old;
	lines_push(l, &head, lines_loop(l, u, lo, hi, 1, &top));
	lines_push(l, body, lines_if(l, COND_LT, none, n, &head));
	Stmt *columns = (Stmt *)lines_loop(l, v, lo, hi, 1, &rest);
	columns->independent = true;
	lines_push(l, &step, columns);
	lines_push(l, body, lines_loop(l, t, one, n, 1, &step));
}

static void columns(const Lines *l, Body *body)
{
	Body block = {0};
	const Ix *lo = l->beside[l->nbeside - 1], *end = lines_size(l, l->extents[l->nbeside - 1]);
	const Ix *hi = lines_min(l, lines_add(l, lo, lines_const(l, COLUMNS)), end);
	column_block(l, lo, hi, &block);
	Stmt *blocks = (Stmt *)lines_loop(l, lo->iter, lines_const(l, 0), end, COLUMNS, &block);
	blocks->independent = true;
	lines_push(l, body, blocks);
}

/* ---- runs ---- */

/* y[i] = before + y[i] for the n places from lo on. */
static void raise(const Lines *l, const Value *before, const Ix *lo, const Ix *n, Body *body)
{
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *i = lines_add(l, lo, lines_at(l, t));
	lines_push(l, &step, store(l, i, lines_binary(l, l->reduce, before, stored(l, i))));
	lines_push(l, body, lines_loop(l, t, lines_const(l, 0), n, 1, &step));
}

/* Fetches what is read and stored in the run from `lo` on, where the operand is in memory. */
static void fetch(const Lines *l, const Ix *lo, Body *body)
{
	Body line = {0}, unused = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *i = lines_add(l, lo, lines_at(l, t));
	const Value *value = l->element(l, place(l, i), &unused);
	if (value->kind != VALUE_LOAD)
		return;
	lines_push(l, &line, stmt_prefetch(l->arena, value->buffer, value->ix, true));
	lines_push(l, &line, stmt_prefetch(l->arena, l->to, l->cell(l, place(l, i)), true));
	int64_t step = CACHE_LINE / (int64_t)dtype_bytes(l->dtype);
	lines_push(l, body, lines_loop(l, t, lines_const(l, 0), lines_const(l, RUN), step, &line));
}

/* RUNS_SIDE whole runs from `lo` on, side by side. */
static void runs_side_by_side(const Lines *l, LocalId before, const Ix *lo, Body *body)
{
	Body lanes = {0}, step = {0}, each = {0};
	IterVar t = lines_iter(l, "t"), lane = lines_iter(l, "lane"), run = lines_iter(l, "run");
	const Ix *size = lines_const(l, RUN);
	LocalId acc = sums_new(l, body, "acc", RUNS_SIDE);
	const Ix *first = lines_add(l, lo, lines_scale(l, lines_at(l, lane), RUN));
	take(l, &lanes, l->read(l->of, acc, lines_at(l, lane)),
	     lines_add(l, first, lines_at(l, t)));
	lines_push(l, &step,
		   stmt_loop(l->program, LOOP_UNROLL, lane, RUNS_SIDE, body_block(&lanes)));
	lines_push(l, body, lines_loop(l, t, lines_const(l, 0), size, 1, &step));
	raise(l, lines_read(l, before), lines_add(l, lo, lines_scale(l, lines_at(l, run), RUN)),
	      size, &each);
	lines_push(l, &each,
		   stmt_set(l->arena, before, l->reduce, l->read(l->of, acc, lines_at(l, run))));
	fetch(l,
	      lines_add(l, lo,
			lines_add(l, lines_const(l, AHEAD * BLOCK),
				  lines_scale(l, lines_at(l, run), RUN))),
	      &each);
	lines_push(l, body, stmt_loop(l->program, LOOP_UNROLL, run, RUNS_SIDE, body_block(&each)));
}

/* The runs behind those, one by one, the last of which may be short. */
static void last_runs(const Lines *l, LocalId before, const Ix *whole, Body *body)
{
	Body run = {0}, step = {0};
	IterVar first = lines_iter(l, "first"), t = lines_iter(l, "t");
	const Ix *n = lines_size(l, l->extent), *lo = lines_add(l, whole, lines_at(l, first));
	const Ix *size = lines_min(l, lines_const(l, RUN), lines_sub(l, n, lo));
	LocalId acc = sums_new(l, &run, "acc", 0);
	take(l, &step, lines_read(l, acc), lines_add(l, lo, lines_at(l, t)));
	lines_push(l, &run, lines_loop(l, t, lines_const(l, 0), size, 1, &step));
	raise(l, lines_read(l, before), lo, size, &run);
	lines_push(l, &run, stmt_set(l->arena, before, l->reduce, lines_read(l, acc)));
	lines_push(l, body,
		   lines_loop(l, first, lines_const(l, 0), lines_sub(l, n, whole), RUN, &run));
}

static void runs(const Lines *l, Body *body)
{
	Body block = {0};
	IterVar lo = lines_iter(l, "lo");
	LocalId before = sums_new(l, body, "before", 0);
	const Ix *whole =
		lines_size(l, size_scale(l->sizes, size_floor(l->sizes, l->extent, BLOCK), BLOCK));
	runs_side_by_side(l, before, lines_at(l, lo), &block);
	lines_push(l, body, lines_loop(l, lo, lines_const(l, 0), whole, BLOCK, &block));
	last_runs(l, before, whole, body);
}

/* ---- columns of runs ---- */

/* A row of columns from `lo` on: what their sums are kept in. */
typedef struct Columns {
	const Lines *l;
	const Ix *lo, *n; /* n of them, at most RUN_COLUMNS */
	BufferId before, acc;
} Columns;

typedef void EachColumn(const Columns *c, const Ix *u, const Ix *i, Body *body);

/* The body for each column, at place i: u is its number in the block. */
static void each_column(const Columns *c, const Ix *i, EachColumn *each, Body *into)
{
	const Lines *l = c->l;
	Body body = {0};
	const Ix **last = &l->beside[l->nbeside - 1];
	IterVar v = lines_iter(l, "v");
	*last = lines_add(l, c->lo, lines_at(l, v));
	each(c, lines_at(l, v), i, &body);
	*last = c->lo;
	Stmt *columns = (Stmt *)lines_loop(l, v, lines_const(l, 0), c->n, 1, &body);
	columns->independent = true;
	lines_push(l, into, columns);
}

static void push_kept(const Columns *c, BufferId to, const Ix *u, const Value *value, Body *body)
{
	lines_push(c->l, body, stmt_store(c->l->arena, to, u, OP_NONE, value));
}

static void column_begin(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	push_kept(c, c->before, u, neutral(c->l), body);
}

static void column_run_begin(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	push_kept(c, c->acc, u, neutral(c->l), body);
}

static void column_take(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	const Lines *l = c->l;
	const Value *acc = value_load(l->program, c->acc, u);
	const Value *sum = lines_binary(l, l->reduce, acc, element(l, i, body));
	lines_push(l, body, store(l, i, l->exclusive ? acc : sum));
	push_kept(c, c->acc, u, sum, body);
}

static void column_raise(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	const Lines *l = c->l;
	const Value *before = value_load(l->program, c->before, u);
	lines_push(l, body, store(l, i, lines_binary(l, l->reduce, before, stored(l, i))));
}

static void column_run_end(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	const Lines *l = c->l;
	const Value *before = value_load(l->program, c->before, u);
	const Value *acc = value_load(l->program, c->acc, u);
	push_kept(c, c->before, u, lines_binary(l, l->reduce, before, acc), body);
}

/* For each place of the run and each column. */
static void each_in_run(const Columns *c, const Ix *first, const Ix *size, EachColumn *each,
			Body *run)
{
	const Lines *l = c->l;
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	each_column(c, lines_add(l, first, lines_at(l, t)), each, &step);
	lines_push(l, run, lines_loop(l, t, lines_const(l, 0), size, 1, &step));
}

static void column_runs(const Lines *l, Body *body)
{
	Body block = {0}, run = {0};
	const Ix *lo = l->beside[l->nbeside - 1], *n = lines_size(l, l->extent);
	const Ix *end = lines_size(l, l->extents[l->nbeside - 1]);
	Size room = size_const(l->sizes, RUN_COLUMNS);
	Columns c = {.l = l, .lo = lo};
	c.n = lines_min(l, lines_const(l, RUN_COLUMNS), lines_sub(l, end, lo));
	c.before = l->temporary(l->of, "before", l->dtype, room);
	c.acc = l->temporary(l->of, "acc", l->dtype, room);
	IterVar at = lines_iter(l, "first");
	const Ix *first = lines_at(l, at);
	const Ix *size = lines_min(l, lines_const(l, RUN), lines_sub(l, n, first));
	each_column(&c, NULL, column_begin, &block);
	each_column(&c, NULL, column_run_begin, &run);
	each_in_run(&c, first, size, column_take, &run);
	each_in_run(&c, first, size, column_raise, &run);
	each_column(&c, NULL, column_run_end, &run);
	lines_push(l, &block, lines_loop(l, at, lines_const(l, 0), n, RUN, &run));
	Stmt *blocks = (Stmt *)lines_loop(l, lo->iter, lines_const(l, 0), end, RUN_COLUMNS, &block);
	blocks->independent = true;
	lines_push(l, body, blocks);
}

/* ---- which ---- */

/* Do the operand's loads stay or go on by 1 with the iterator, and does one go on? */
static bool goes_on(const Lines *l, IterVar var, const Value *value, uint32_t *next)
{
	if (value->kind == VALUE_LOAD) {
		Size stride = ix_stride(l->program, value->ix, var);
		if (size_is(l->sizes, stride, 1))
			++*next;
		else if (size_is_bad(stride) || !size_is(l->sizes, stride, 0))
			return false;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!goes_on(l, var, value->args[i], next))
			return false;
	return true;
}

/* Do lines lie side by side, in the operand and in the result? */
static bool are_columns(const Lines *l)
{
	Body body = {0};
	uint32_t next = 0;
	IterVar var = l->beside[l->nbeside - 1]->iter;
	const Value *value = element(l, lines_const(l, 0), &body);
	Size stride = ix_stride(l->program, l->cell(l, lines_const(l, 0)), var);
	return body.stmts.n == 0 && goes_on(l, var, value, &next) && next > 0 &&
	       size_is(l->sizes, stride, 1);
}

/* Are they columns, and not so few that lines alone are as fast? */
static bool are_many_columns(const Lines *l)
{
	int64_t n;
	if (l->nbeside == 0 || !are_columns(l))
		return false;
	return !size_is_const(l->sizes, l->extents[l->nbeside - 1], &n) || n >= FEW_COLUMNS;
}

/* Lines of at most AT_ONCE places, in the loop of the last axis beside. */
static void short_lines(const Lines *l, Body *body)
{
	Body some = {0}, one = {0};
	if (l->nbeside == 0) {
		one_line(l, body);
		return;
	}
	if (are_columns(l)) {
		columns(l, body);
		return;
	}
	Size rows = l->extents[l->nbeside - 1];
	Size whole = size_scale(l->sizes, size_floor(l->sizes, rows, SIDE), SIDE);
	IterVar var = l->beside[l->nbeside - 1]->iter;
	side_by_side(l, &some);
	lines_push(l, body,
		   lines_loop(l, var, lines_const(l, 0), lines_size(l, whole), SIDE, &some));
	one_line(l, &one);
	lines_push(l, body, lines_loop(l, var, lines_size(l, whole), lines_size(l, rows), 1, &one));
}

static void finish(const Lines *l, Body *body, bool known, CondKind kind, const Ix *a, const Ix *b)
{
	Body top = {0};
	if (!known)
		lines_push(l, &top, lines_if(l, kind, a, b, body));
	lines_finish(l, known ? body : &top);
}

void cumulate_lines(const Lines *l)
{
	Body body = {0};
	int64_t n;
	bool known = size_is_const(l->sizes, l->extent, &n);
	const Ix *all = lines_size(l, l->extent), *most = lines_const(l, AT_ONCE);
	if (!known || n <= AT_ONCE) {
		short_lines(l, &body);
		lines_wrap(l, l->nbeside ? l->nbeside - 1 : 0, &body);
		finish(l, &body, known, COND_LE, all, most);
	}
	if (!known || n > AT_ONCE) {
		body = (Body){0};
		bool columns = are_many_columns(l);
		if (columns)
			column_runs(l, &body);
		else
			runs(l, &body);
		lines_wrap(l, columns ? l->nbeside - 1 : l->nbeside, &body);
		finish(l, &body, known, COND_LT, most, all);
	}
}
