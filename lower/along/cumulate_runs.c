/* Long lines, in runs: what each run comes to by itself, what all before it come to, and then that for each of
 * its places.
 *
 *   lines     sums[0] = neutral
 *             for block in 0..n/(4*run): acc[4] = neutral
 *               for t in 0..run: unroll l in 0..4: acc[l] += x[..]; y[..] = acc[l]
 *               unroll l in 0..4: sums[4*block + l + 1] = acc[l]
 *             for s in 4*(n/(4*run))..ceil(n/run): y in turn, from y[s*run] on; sums[s + 1] = what the run comes to
 *             for s in 0..ceil(n/run): sums[s + 1] = sums[s] + sums[s + 1]
 *             for s in 1..ceil(n/run): for t in the run: y[s*run + t] = sums[s] + y[s*run + t]
 *   columns   for c in 0..C step 64: for s in 0..ceil(n/run): y in turn, from y[s*run, v] on
 *               for v in c..min(c + 64, C): sums[s + 1, v] = what the run comes to
 *             then as lines, for all v in each step
 *
 * Many lines take all steps for a few runs, and then for the next. Of a few lines each step is loops of its own, for
 * threads to share: those that do not add up `sums` have independent iterations. Each element is added to in one
 * order, whoever runs them. Adding the neutral element to the first run changes none of its bits.
 */
#include "lower/along/cumulate.h"

#include "base/size_order.h"

enum { AHEAD = 4 }; /* blocks of SIDE runs */

typedef struct Runs {
	const Lines *l;
	bool columns;
	Size n, blocks; /* of a line: runs, and blocks of SIDE whole ones that are added side by side */
} Runs;

/* ---- indices ---- */

/* What is before a run, at [lines, n + 1], of columns [lines, n + 1, columns]. */
static const Ix *sum_index(const Runs *r, const Ix *run)
{
	const Lines *l = r->l;
	const Ix *at = lines_const(l, 0);
	uint32_t nlines = l->nouter - r->columns;
	for (uint32_t i = 0; i < nlines; i++)
		at = lines_add(l, ix_mul(l->program, at, lines_size(l, l->extents[i])),
			       l->outer[i]);
	at = lines_add(l, ix_mul(l->program, at, lines_size(l, size_plus(l->sizes, r->n, 1))), run);
	if (r->columns)
		at = lines_add(l, ix_mul(l->program, at, lines_size(l, l->extents[nlines])),
			       l->outer[nlines]);
	return at;
}

static const Value *sum_before(const Runs *r, const Ix *run)
{
	return value_load(r->l->program, r->l->cumulate.sums, sum_index(r, run));
}

static void keep_sum(const Runs *r, const Ix *run, const Value *value, Body *body)
{
	lines_put(r->l, body, r->l->cumulate.sums, sum_index(r, run), value);
}

static const Ix *next(const Runs *r, const Ix *run)
{
	return lines_add(r->l, run, lines_const(r->l, 1));
}

static const Ix *run_start(const Runs *r, const Ix *run)
{
	return lines_scale(r->l, run, r->l->order.run);
}

static bool are_whole(const Runs *r)
{
	const Lines *l = r->l;
	return size_divides(l->sizes, size_const(l->sizes, l->order.run), l->extent);
}

/* Runs in blocks; those behind the first, or one more that is empty. */
static Size in_blocks(const Runs *r) { return size_scale(r->l->sizes, r->blocks, SIDE); }

static Size behind_first(const Runs *r)
{
	const Lines *l = r->l;
	return are_whole(r) ? size_plus(l->sizes, r->n, -1)
			    : size_floor(l->sizes, l->extent, l->order.run);
}

/* How many places a run has. */
static const Ix *run_places(const Runs *r, const Ix *run)
{
	const Lines *l = r->l;
	const Ix *most = lines_const(l, l->order.run);
	const Ix *left = lines_sub(l, lines_size(l, l->extent), run_start(r, run));
	return are_whole(r) ? most : lines_min(l, most, left);
}

/* ---- each of some columns ---- */

/* One column of the block at hand, which begins at the last outer axis; of lines there is none. */
typedef struct Column {
	IterVar at;
	const Ix *first;
} Column;

static Column column_enter(const Runs *r)
{
	const Lines *l = r->l;
	Column c = {0};
	if (!r->columns)
		return c;
	c.at = lines_iter(l, "v");
	c.first = l->outer[l->nouter - 1];
	l->outer[l->nouter - 1] = lines_at(l, c.at);
	return c;
}

/* Appends the body, for each column of the block. */
static void column_leave(const Runs *r, Column c, const Body *body, Body *into)
{
	const Lines *l = r->l;
	if (!r->columns) {
		body_append(l->arena, into, body_block(body));
		return;
	}
	l->outer[l->nouter - 1] = c.first;
	const Ix *end = lines_block_end(l, CUMULATE_COLUMNS);
	lines_push(l, into, lines_independent(lines_loop(l, c.at, c.first, end, 1, body)));
}

/* ---- steps, of a run ---- */

typedef void Step(const Runs *r, const Ix *run, Body *body);

static void begin_sums(const Runs *r, Body *body)
{
	Body each = {0};
	Column column = column_enter(r);
	keep_sum(r, lines_const(r->l, 0), cumulate_neutral(r->l), &each);
	column_leave(r, column, &each, body);
}

/* y in turn, as if nothing were before the run, and what it comes to. */
static void sum_columns(const Runs *r, const Ix *run, Body *body)
{
	const Lines *l = r->l;
	Body each = {0};
	const Ix *lo = run_start(r, run), *n = run_places(r, run);
	const Ix *last = lines_sub(l, lines_add(l, lo, n), lines_const(l, 1));
	cumulate_columns(l, lines_block_end(l, CUMULATE_COLUMNS), lo, n, body);
	Column column = column_enter(r);
	const Value *sum = cumulate_stored(l, last);
	if (l->exclusive)
		sum = value_binary(l->arena, l->reduce, sum, cumulate_element(l, last, &each));
	keep_sum(r, next(r, run), sum, &each);
	column_leave(r, column, &each, body);
}

static void sum_run(const Runs *r, const Ix *run, Body *body)
{
	if (r->columns)
		sum_columns(r, run, body);
	else
		keep_sum(r, next(r, run),
			 cumulate_range(r->l, run_start(r, run), run_places(r, run), body), body);
}

static void add_up(const Runs *r, const Ix *run, Body *body)
{
	const Ix *end = next(r, run);
	Body each = {0};
	Column column = column_enter(r);
	keep_sum(r, end,
		 value_binary(r->l->arena, r->l->reduce, sum_before(r, run), sum_before(r, end)),
		 &each);
	column_leave(r, column, &each, body);
}

/* y[i] = what is before the run + y[i] */
static void raise(const Runs *r, const Ix *run, Body *body)
{
	const Lines *l = r->l;
	Body step = {0}, each = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *i = lines_add(l, run_start(r, run), lines_at(l, t));
	const Value *before =
		r->columns ? NULL
			   : lines_read(l, lines_local(l, body, "before", sum_before(r, run)));
	Column column = column_enter(r);
	const Value *sum = value_binary(l->arena, l->reduce, before ? before : sum_before(r, run),
					cumulate_stored(l, i));
	lines_push(l, &each, cumulate_store(l, i, sum));
	column_leave(r, column, &each, &step);
	lines_times(l, body, t, run_places(r, run), &step);
}

/* ---- blocks of runs of a line ---- */

/* Fetches what is read and stored a few blocks behind a run. */
static void prefetch(const Runs *r, const Ix *run, Body *body)
{
	const Lines *l = r->l;
	Body line = {0}, unused = {0};
	if (!l->cumulate.prefetches)
		return;
	IterVar t = lines_iter(l, "t");
	const Ix *first = run_start(r, lines_add(l, run, lines_const(l, AHEAD * SIDE)));
	const Ix *i = cumulate_place(l, lines_add(l, first, lines_at(l, t)));
	const Value *value = l->element(l, i, &unused);
	lines_push(l, &line, stmt_prefetch(l->arena, value->buffer, value->ix, true));
	lines_push(l, &line, stmt_prefetch(l->arena, l->to, l->result_index(l, i), true));
	int64_t step = l->program->options.target->line_bytes / (int64_t)dtype_bytes(l->dtype);
	lines_for(l, body, t, lines_const(l, 0), lines_const(l, l->order.run), step, &line);
}

/* SIDE runs side by side, then each step for each of them. */
static void blocks_of_runs(const Runs *r, Step *const *steps, uint32_t nsteps, Body *body)
{
	const Lines *l = r->l;
	Body block = {0}, each = {0};
	IterVar b = lines_iter(l, "block"), lane = lines_iter(l, "run");
	const Ix *first = lines_scale(l, lines_at(l, b), SIDE);
	const Ix *run = lines_add(l, first, lines_at(l, lane));
	LocalId acc = cumulate_side(l, run_start(r, first), &block);
	keep_sum(r, next(r, run), frame_element(l->frame, acc, lines_at(l, lane)), &each);
	for (uint32_t i = 0; i < nsteps; i++)
		steps[i](r, run, &each);
	prefetch(r, run, &each);
	lines_push(l, &block, stmt_loop(l->program, LOOP_UNROLL, lane, SIDE, body_block(&each)));
	Stmt *loop = lines_loop(l, b, lines_const(l, 0), lines_size(l, r->blocks), 1, &block);
	loop->independent = nsteps == 0;
	lines_push(l, body, loop);
}

/* ---- loops ---- */

/* The steps for n runs from `first` on. */
static void each_run(const Runs *r, Size first, Size n, Step *const *steps, uint32_t nsteps,
		     bool independent, Body *body)
{
	const Lines *l = r->l;
	Body each = {0};
	IterVar var = lines_iter(l, "run");
	const Ix *run = lines_add(l, lines_size(l, first), lines_at(l, var));
	for (uint32_t i = 0; i < nsteps; i++)
		steps[i](r, run, &each);
	Stmt *loop = lines_loop(l, var, lines_const(l, 0), lines_size(l, n), 1, &each);
	loop->independent = independent;
	if (!size_is(l->sizes, n, 0))
		lines_push(l, body, loop);
}

/* Appends the body for all lines, or for all blocks of columns, and begins another. */
static void end_phase(const Runs *r, Body *phase, Body *into)
{
	const Lines *l = r->l;
	if (r->columns) {
		const Stmt *blocks = lines_blocks(l, CUMULATE_COLUMNS, phase);
		*phase = (Body){0};
		lines_push(l, phase, blocks);
	}
	lines_wrap(l, l->nouter - r->columns, phase);
	body_append(l->arena, into, body_block(phase));
	*phase = (Body){0};
}

/* Each step for all runs, before the next step. */
static void step_by_step(const Runs *r, Body *into)
{
	static Step *const sum[] = {sum_run}, *const add[] = {add_up}, *const last[] = {raise};
	Sizes *sizes = r->l->sizes;
	Size none = size_const(sizes, 0), one = size_const(sizes, 1), blocks = in_blocks(r);
	Body phase = {0};
	begin_sums(r, &phase);
	end_phase(r, &phase, into);
	if (!r->columns) {
		blocks_of_runs(r, NULL, 0, &phase);
		end_phase(r, &phase, into);
	}
	each_run(r, blocks, size_sub(sizes, r->n, blocks), sum, 1, true, &phase);
	end_phase(r, &phase, into);
	each_run(r, none, r->n, add, 1, false, &phase);
	end_phase(r, &phase, into);
	each_run(r, one, behind_first(r), last, 1, true, &phase);
	end_phase(r, &phase, into);
}

static void line_by_line(const Runs *r, Body *into)
{
	static Step *const steps[] = {sum_run, add_up, raise};
	Body line = {0};
	begin_sums(r, &line);
	if (!r->columns)
		blocks_of_runs(r, steps + 1, 2, &line);
	each_run(r, in_blocks(r), size_sub(r->l->sizes, r->n, in_blocks(r)), steps, 3, false,
		 &line);
	end_phase(r, &line, into);
}

void cumulate_runs(const Lines *l, Body *body)
{
	Runs r = {.l = l,
		  .columns = l->cumulate.runs_columns,
		  .n = cumulate_runs_of(l),
		  .blocks = size_const(l->sizes, 0)};
	if (!r.columns)
		r.blocks = size_floor(l->sizes, l->extent, SIDE * l->order.run);
	if (l->cumulate.whole)
		line_by_line(&r, body);
	else
		step_by_step(&r, body);
}
