/* A few long lines, for threads to share: what each run comes to, what is before each, and then all
 * that begins behind the first.
 *
 *   lines     for block in 0..n/(4*run): acc[4] = neutral
 *               for t in 0..run: unroll l in 0..4: acc[l] += x[..]; y[..] = acc[l]
 *               unroll l in 0..4: sums[4*block + l] = acc[l]
 *             the runs behind whole blocks, one by one, the last of which may be short
 *             for s in 1..n/run: sums[s] = sums[s - 1] + sums[s]
 *             for s in 1..ceil(n/run): for t in the run: y[s*run + t] = sums[s - 1] + y[s*run + t]
 *   columns   for c in 0..C step 256: for s in 0..n/run: y in turn, from y[s*run, v] on
 *               for v in c..min(c + 256, C): sums[s, v] = what the run comes to
 *             then as lines, for all v in each step
 *
 * Every loop but the one that adds up `sums` has independent iterations, and each element is added to in
 * one order, whoever runs them.
 */
#include "lower/along/cumulate.h"

typedef struct Phases {
	const Lines *l;
	bool columns;
	Size whole;    /* whole runs of a line */
	BufferId sums; /* [lines, whole], of columns [lines, whole, columns] */
} Phases;

/* ---- what is kept ---- */

static const Ix *sum_index(const Phases *p, const Ix *run)
{
	const Lines *l = p->l;
	const Ix *at = lines_const(l, 0);
	uint32_t nlines = l->nouter - p->columns;
	for (uint32_t i = 0; i < nlines; i++)
		at = lines_add(l, ix_mul(l->program, at, lines_size(l, l->extents[i])),
			       l->outer[i]);
	at = lines_add(l, ix_mul(l->program, at, lines_size(l, p->whole)), run);
	if (p->columns)
		at = lines_add(l, ix_mul(l->program, at, lines_size(l, l->extents[nlines])),
			       l->outer[nlines]);
	return at;
}

static const Value *sum_of(const Phases *p, const Ix *run)
{
	return value_load(p->l->program, p->sums, sum_index(p, run));
}

static const Stmt *keep_sum(const Phases *p, const Ix *run, const Value *value)
{
	return stmt_store(p->l->arena, p->sums, sum_index(p, run), OP_NONE, value);
}

/* ---- the loops of a phase ---- */

/* Appends the body for all lines, or for all blocks of columns. */
static void add_lines(const Phases *p, Body *phase, Body *into)
{
	const Lines *l = p->l;
	if (p->columns) {
		const Stmt *blocks = lines_blocks(l, COLUMNS, phase);
		*phase = (Body){0};
		lines_push(l, phase, blocks);
	}
	lines_wrap(l, l->nouter - p->columns, phase);
	body_append(l->arena, into, body_block(phase));
	*phase = (Body){0};
}

/* The body for the runs from lo on below hi. */
static const Stmt *each_run(const Phases *p, IterVar run, Size lo, Size hi, const Body *body)
{
	const Lines *l = p->l;
	return lines_independent(lines_loop(l, run, lines_size(l, lo), lines_size(l, hi), 1, body));
}

/* One column of the block at hand, which begins at the last outer axis; of lines there is none. */
typedef struct Column {
	IterVar at;
	const Ix *first;
} Column;

static Column column_enter(const Phases *p)
{
	const Lines *l = p->l;
	Column c = {0};
	if (!p->columns)
		return c;
	c.at = lines_iter(l, "v");
	c.first = l->outer[l->nouter - 1];
	l->outer[l->nouter - 1] = lines_at(l, c.at);
	return c;
}

/* The body becomes that for each column of the block. */
static void column_leave(const Phases *p, Column c, Body *body)
{
	const Lines *l = p->l;
	if (!p->columns)
		return;
	l->outer[l->nouter - 1] = c.first;
	const Stmt *all = lines_independent(
		lines_loop(l, c.at, c.first, lines_block_end(l, COLUMNS), 1, body));
	*body = (Body){0};
	lines_push(l, body, all);
}

static const Ix *run_start(const Lines *l, const Ix *run)
{
	return lines_scale(l, run, l->order.run);
}

/* Where the last whole run ends, and how many places there are behind it. */
static Size behind_runs(const Phases *p)
{
	return size_scale(p->l->sizes, p->whole, p->l->order.run);
}

static Size rest_of(const Phases *p) { return size_sub(p->l->sizes, p->l->extent, behind_runs(p)); }

/* ---- each run by itself ---- */

static void blocks_of_runs(const Phases *p, Size blocks, Body *phase)
{
	const Lines *l = p->l;
	Body each = {0}, keep = {0};
	IterVar block = lines_iter(l, "block"), run = lines_iter(l, "lane");
	const Ix *first = lines_scale(l, lines_at(l, block), SIDE);
	const Ix *lo = run_start(l, first);
	LocalId acc = cumulate_side(l, lo, &each);
	const Ix *at = lines_at(l, run);
	lines_push(l, &keep,
		   keep_sum(p, lines_add(l, first, at), frame_element(l->frame, acc, at)));
	cumulate_prefetch(l, lines_add(l, lo, run_start(l, at)), &keep);
	lines_push(l, &each, stmt_loop(l->program, LOOP_UNROLL, run, SIDE, body_block(&keep)));
	lines_push(l, phase, each_run(p, block, size_const(l->sizes, 0), blocks, &each));
}

static void sum_lines(const Phases *p, Body *into)
{
	const Lines *l = p->l;
	Body phase = {0}, each = {0};
	IterVar run = lines_iter(l, "left");
	const Ix *at = lines_at(l, run), *size = lines_const(l, l->order.run);
	Size blocks = size_floor(l->sizes, l->extent, SIDE * l->order.run);
	blocks_of_runs(p, blocks, &phase);
	add_lines(p, &phase, into);
	Size in_blocks = size_scale(l->sizes, blocks, SIDE);
	if (!size_same(in_blocks, p->whole)) {
		lines_push(l, &each,
			   keep_sum(p, at, cumulate_range(l, run_start(l, at), size, &each)));
		lines_push(l, &phase, each_run(p, run, in_blocks, p->whole, &each));
		add_lines(p, &phase, into);
	}
	if (!size_is(l->sizes, rest_of(p), 0)) {
		cumulate_range(l, lines_size(l, behind_runs(p)), lines_size(l, rest_of(p)), &phase);
		add_lines(p, &phase, into);
	}
}

/* sums[run] of each column of the block. */
static void keep_columns(const Phases *p, const Ix *run, Body *into)
{
	const Lines *l = p->l;
	Body body = {0};
	const Ix *end = lines_add(l, run_start(l, run), lines_const(l, l->order.run - 1));
	Column column = column_enter(p);
	const Value *sum = cumulate_stored(l, end);
	if (l->exclusive)
		sum = value_binary(l->arena, l->reduce, sum, cumulate_element(l, end, &body));
	lines_push(l, &body, keep_sum(p, run, sum));
	column_leave(p, column, &body);
	lines_push(l, into, body.stmts.at[0]);
}

static void sum_columns(const Phases *p, Body *into)
{
	const Lines *l = p->l;
	Body phase = {0}, each = {0}, rest = {0};
	IterVar run = lines_iter(l, "run");
	const Ix *at = lines_at(l, run), *end = lines_block_end(l, COLUMNS);
	cumulate_columns(l, end, run_start(l, at), lines_const(l, l->order.run), &each);
	keep_columns(p, at, &each);
	lines_push(l, &phase, each_run(p, run, size_const(l->sizes, 0), p->whole, &each));
	add_lines(p, &phase, into);
	if (size_is(l->sizes, rest_of(p), 0))
		return;
	cumulate_columns(l, end, lines_size(l, behind_runs(p)), lines_size(l, rest_of(p)), &rest);
	lines_push(l, &phase,
		   lines_if(l, COND_LT, lines_const(l, 0), lines_size(l, rest_of(p)), &rest));
	add_lines(p, &phase, into);
}

/* ---- all runs together ---- */

/* What each run and those before it come to. */
static void add_up(const Phases *p, Body *into)
{
	const Lines *l = p->l;
	Body phase = {0}, each = {0};
	IterVar run = lines_iter(l, "end");
	const Ix *at = lines_at(l, run), *next = lines_add(l, at, lines_const(l, 1));
	const Ix *steps = lines_size(l, size_plus(l->sizes, p->whole, -1));
	Column column = column_enter(p);
	const Value *sum = value_binary(l->arena, l->reduce, sum_of(p, at), sum_of(p, next));
	lines_push(l, &each, keep_sum(p, next, sum));
	column_leave(p, column, &each);
	lines_push(l, &phase, lines_loop(l, run, lines_const(l, 0), steps, 1, &each));
	add_lines(p, &phase, into);
}

/* What is before the run from `lo` on is what the runs up to `run` come to. */
static void raise_columns(const Phases *p, const Ix *run, const Ix *lo, const Ix *n, Body *body)
{
	const Lines *l = p->l;
	Body each = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_add(l, lo, lines_at(l, t));
	Column column = column_enter(p);
	const Value *sum =
		value_binary(l->arena, l->reduce, sum_of(p, run), cumulate_stored(l, at));
	lines_push(l, &each, cumulate_store(l, at, sum));
	column_leave(p, column, &each);
	lines_push(l, body, lines_loop(l, t, lines_const(l, 0), n, 1, &each));
}

/* Adds what is before it to each run but the first. */
static void raise(const Phases *p, Body *into)
{
	const Lines *l = p->l;
	Body phase = {0}, each = {0};
	IterVar run = lines_iter(l, "run");
	const Ix *at = lines_at(l, run), *size = lines_const(l, l->order.run);
	const Ix *lo = run_start(l, lines_add(l, at, lines_const(l, 1)));
	const Ix *n = lines_min(l, size, lines_sub(l, lines_size(l, l->extent), lo));
	if (p->columns) {
		raise_columns(p, at, lo, n, &each);
	} else {
		LocalId before = lines_local(l, &each, "before", sum_of(p, at));
		cumulate_raise(l, lines_read(l, before), lo, n, &each);
	}
	Size behind =
		size_is(l->sizes, rest_of(p), 0) ? size_plus(l->sizes, p->whole, -1) : p->whole;
	lines_push(l, &phase, each_run(p, run, size_const(l->sizes, 0), behind, &each));
	add_lines(p, &phase, into);
}

void cumulate_phases(const Lines *l, Body *body)
{
	const Phases p = {.l = l,
			  .columns = l->cumulate.runs_columns,
			  .whole = cumulate_whole_runs(l),
			  .sums = l->cumulate.sums};
	if (p.columns)
		sum_columns(&p, body);
	else
		sum_lines(&p, body);
	add_up(&p, body);
	raise(&p, body);
}
