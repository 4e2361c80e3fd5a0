/* Attention by blocks of rows, of which the scores never go to memory.
 *
 *   grid row in 0..ceil(n/64)
 *     local sums : f32 [8, 16 | 8, 4] = 0; local top : f32 [2, 64 | 1] = -inf; local total : ... = 0
 *     y_queries = 64 rows of queries
 *     for round in 0..ceil(keys/64)                       up to the last key that a row of the block sees
 *       y_keys, y_values = 64 keys                          while the ones before were worked on
 *       local scores = queries * keys
 *       y_weights = seen of scores, -inf behind the last key
 *       block part in 0..2, row in 0..64
 *         new top = max of top and 64 of y_weights; y_factors = exp(top - new top)
 *         y_weights = exp(y_weights - new top), total = total * y_factors + sum of these
 *       sums = sums * y_factors + y_weights * y_values
 *     y = sums / total
 *
 * A row whose keys are all hidden so far has the maximum -inf, from which 0 is subtracted instead:
 * exp(-inf) is 0. Each row adds its weights, and weights times values, of 64 keys at a time in the
 * order of the keys, sums of weights in two halves of these; what is summed is multiplied where the
 * maximum grows.
 */
#include <math.h>

#include "base/size_order.h"
#include "transform/gpu/attend.h"

enum { STEPS_LEAST = 8 };

/* ---- sizes ---- */

static int64_t known(const Program *program, Size size)
{
	int64_t n;
	return size_is_const(program->sizes, size, &n) ? n : 0;
}

static int64_t power_above(int64_t n)
{
	int64_t power = STEPS_LEAST;
	while (power < n)
		power *= 2;
	return power;
}

static bool is_tensor(const Attention *found) { return found->scores.tensor.used; }

static GpuTile score_tile(const Program *program, const Attention *found, const GpuAttention *tile)
{
	int64_t depth = known(program, found->scores.sum.extent);
	int64_t least = is_tensor(found) ? matrix_row(found->scores.tensor.op)->k : STEPS_LEAST;
	return (GpuTile){.rows = tile->rows,
			 .columns = tile->keys,
			 .thread_rows = tile->thread_rows,
			 .thread_columns = tile->thread_keys,
			 .steps = power_above(depth > least ? depth : least)};
}

static int64_t threads_of(const Attention *found, const GpuAttention *tile)
{
	int64_t tiles = tile->rows / tile->thread_rows * (tile->keys / tile->thread_keys);
	return tiles * (is_tensor(found) ? WARP : 1);
}

/* As many threads, with fours of columns each; or warps, with all of a row. */
static GpuTile result_tile(const Program *program, const Attention *found, const GpuAttention *tile)
{
	bool tensor = is_tensor(found);
	int64_t threads = tensor ? 1 : tile->keys / tile->thread_keys;
	int64_t copied = threads_of(found, tile) * QUAD / tile->keys; /* at a time by all threads */
	int64_t matrix = tensor ? matrix_row(found->scores.tensor.op)->n : QUAD;
	int64_t each = tensor && copied > matrix ? copied : matrix;
	int64_t columns = known(program, found->result.columns.extent);
	int64_t own = (columns + threads * each - 1) / (threads * each) * each;
	return (GpuTile){.rows = tile->rows,
			 .columns = threads * own,
			 .thread_rows = tile->thread_rows,
			 .thread_columns = own,
			 .steps = tile->keys};
}

static int64_t parts_of(const Attention *found, const GpuAttention *tile)
{
	return threads_of(found, tile) / tile->rows;
}

int64_t attention_shared(const Program *program, const Attention *found, const GpuAttention *tile)
{
	GpuTile scores = score_tile(program, found, tile), result = result_tile(program, found, tile);
	int64_t room = is_tensor(found) ? 2 * QUAD : QUAD; /* behind a line, in either layout */
	int64_t operands = (scores.steps + room) * (tile->rows + room + tile->keys + room) +
			   (tile->keys + room) * (result.columns + room + tile->rows + room);
	int64_t each = dtype_bytes(DTYPE_F32), own = is_tensor(found) ? each / 2 : each;
	int64_t seen = is_tensor(found) ? tile->keys * (tile->rows + QUAD) : 0;
	return operands * own + (seen + 2 * tile->rows * parts_of(found, tile)) * each;
}

bool attention_copies(const Program *program, const Attention *found, const GpuAttention *tile)
{
	const Product *scores = &found->scores;
	bool side_by_side = scores->row_operand.sum_first && scores->column_operand.sum_first;
	return side_by_side || score_tile(program, found, tile).steps <= threads_of(found, tile);
}

static BufferId shared(const Attend *d, const char *name, Dtype dtype, int64_t n)
{
	return bind_shared(d->program, d->kernel, d->routine, (Buffer){.dtype = dtype}, n, name);
}

static void declare(const Attend *d, Body *body, LocalId local, double value)
{
	PUSH(d->arena, body->stmts, stmt_local(d->arena, local, attend_real(d, value)));
}

/* ---- set up ---- */

static Tiling tiling_new(const Attend *d, const Product *product, const GpuTile *tile)
{
	return (Tiling){.program = d->program,
			.arena = d->arena,
			.kernel = d->kernel,
			.routine = d->routine,
			.product = product,
			.tile = tile};
}

/* One stage of a side, in a buffer of that name. */
static void finish_side(Tiling *g, Side *side, const char *name)
{
	side->name = name;
	tiling_finish_side(g, side);
	g->program->buffers.at[side->shared].elements =
		size_const(g->program->sizes, tiling_stage_elements(g, side));
}

static LocalId new_row_local(Attend *d, const char *name)
{
	return tiling_local(&d->result,
			    (KernelLocal){.name = name,
					  .rank = 3,
					  .extent = {(uint32_t)d->nparts, (uint32_t)d->tile->rows, 1},
					  .nthreads = 2});
}

static void set_up_sides(Attend *d)
{
	Tiling *s = &d->scores, *r = &d->result;
	s->k = tiling_iter(s, "step");
	r->k = tiling_iter(r, "key");
	d->round = tiling_iter(s, "round");
	s->rows = tiling_side(s, true);
	s->columns = tiling_side(s, false);
	s->columns.tile = d->round;
	r->columns = tiling_side(r, false);
	finish_side(s, &s->rows, "queries");
	finish_side(s, &s->columns, "keys");
	finish_side(r, &r->columns, "values");
	r->rows = s->rows;
	r->rows.operand = &r->product->row_operand;
	r->rows.group = &r->product->rows;
	r->rows.steps_contiguous = is_tensor(d->found);
	r->rows.pitch = is_tensor(d->found) ? d->tile->keys + 2 * QUAD : d->tile->rows + QUAD;
	d->weights = shared(d, "weights", d->program->buffers.at[r->columns.shared].dtype,
			    tiling_stage_elements(r, &r->rows));
	r->rows.shared = d->seen = d->weights;
	if (is_tensor(d->found))
		d->seen = shared(d, "seen", DTYPE_F32, d->tile->keys * (d->tile->rows + QUAD));
}

static void set_up(Attend *d)
{
	Tiling *s = &d->scores, *r = &d->result;
	set_up_sides(d);
	d->nparts = parts_of(d->found, d->tile);
	d->parts = shared(d, "parts", DTYPE_F32, d->nparts * d->tile->rows);
	d->factors = shared(d, "factors", DTYPE_F32, d->nparts * d->tile->rows);
	if (is_tensor(d->found)) {
		mma_sums(s);
		mma_sums(r);
	} else {
		s->sums = s->parts = tiling_sums(s, "scores");
		r->sums = r->parts = tiling_sums(r, "sums");
	}
	d->tops = new_row_local(d, "top");
	d->totals = new_row_local(d, "total");
	int64_t sums = d->score_tile.thread_columns + d->result_tile.thread_columns;
	int64_t held = d->tile->thread_rows * sums / (is_tensor(d->found) ? WARP : 1) +
		       QUAD * (s->columns.times + r->columns.times);
	d->ahead = held <= d->registers;
}

/* ---- copies ---- */

static bool has_all_steps(const Attend *d)
{
	return known(d->program, d->found->scores.sum.extent) == d->score_tile.steps;
}

/* Of the values of a round, as far as there are keys. */
static Block load_values(Attend *d, const Ix *round)
{
	Tiling *r = &d->result;
	const Ix *first = times(r, round, d->tile->keys), *end = sized(r, r->product->sum.extent);
	const Ix *last = plus(r, first, number(r, d->tile->keys - 1));
	Body body = {0};
	add(r, &body, if_below(r, last, end, tiling_load(r, &r->columns, first, false)));
	Size keys = size_const(r->program->sizes, d->tile->keys);
	if (!size_divides(r->program->sizes, keys, r->product->sum.extent))
		add(r, &body,
		    if_below(r, end, plus(r, last, number(r, 1)),
			     tiling_load(r, &r->columns, first, true)));
	return body_block(&body);
}

static Block load_keys(Attend *d, const Ix *round)
{
	Tiling *s = &d->scores;
	Block all = tiling_load(s, &s->columns, number(s, 0), !has_all_steps(d));
	const Ix **iters = kernel_iters(d->arena, d->kernel, 0);
	iters[d->round] = round;
	return attend_if_keys(d, tiling_rewrite(s, iters, all));
}

static Block load(Attend *d, const Ix *round)
{
	Body body = {0};
	add(&d->scores, &body, load_keys(d, round));
	add(&d->scores, &body, load_values(d, round));
	return body_block(&body);
}

/* What was on its way; or is now, one after the other. */
static void store(Attend *d, Body *body)
{
	Tiling *s = &d->scores, *r = &d->result;
	if (!d->ahead)
		add(s, body, load_keys(d, iter(s, d->round)));
	add(s, body, tiling_store(s, &s->columns, number(s, 0)));
	if (!d->ahead)
		add(r, body, load_values(d, iter(r, d->round)));
	add(r, body, tiling_store(r, &r->columns, number(r, 0)));
}

/* ---- all ---- */

/* Rounds up to the last key that the last row of the block sees. */
static const Ix *rounds_of(const Attend *d)
{
	const Tiling *s = &d->scores;
	Size all = size_ceil(d->program->sizes, s->product->columns.extent, d->tile->keys);
	const Ix *rounds = sized(s, all);
	if (!d->found->seen_up_to)
		return rounds;
	const Ix *row = tiling_side_at(s, &s->rows, number(s, d->tile->rows - 1));
	const Ix *last = plus(s, row, d->found->seen_up_to), *keys = number(s, d->tile->keys);
	const Ix *seen = ix_binary(d->program, IX_DIV, plus(s, last, keys), keys);
	seen = ix_binary(d->program, IX_MAX, seen, number(s, 0));
	return ix_binary(d->program, IX_MIN, seen, rounds);
}

/* Where there is such a round. */
static Block if_round(const Attend *d, const Ix *round, const Ix *rounds, Block body)
{
	const Tiling *s = &d->scores;
	const Ix *keys = sized(s, s->product->columns.extent);
	if (d->found->seen_up_to)
		body = if_below(s, round, rounds, body);
	return if_below(s, times(s, round, d->tile->keys), keys, body);
}

static Block round_body(Attend *d, const Ix *rounds)
{
	Tiling *s = &d->scores;
	const Ix *next = plus(s, iter(s, d->round), number(s, 1));
	Body body = {0};
	add_barrier(s, &body);
	store(d, &body);
	add_barrier(s, &body);
	if (d->ahead)
		add(s, &body, if_round(d, next, rounds, load(d, next)));
	attend_scores(d, &body);
	attend_weights(d, &body);
	attend_sums(d, &body);
	return body_block(&body);
}

static void add_rounds(Attend *d, Body *body)
{
	Tiling *s = &d->scores;
	const Ix *rounds = rounds_of(d), *none = number(s, 0);
	add(s, body, tiling_load(s, &s->rows, none, !has_all_steps(d)));
	add(s, body, tiling_store(s, &s->rows, none));
	if (d->ahead)
		add(s, body, load(d, none));
	PUSH(d->arena, body->stmts, stmt_for(d->arena, d->round, none, rounds, round_body(d, rounds)));
}

static void make(Attend *d)
{
	Tiling *s = &d->scores, *r = &d->result;
	Body body = {0};
	set_up(d);
	declare(d, &body, r->sums, 0);
	declare(d, &body, s->sums, 0);
	declare(d, &body, d->tops, -INFINITY);
	declare(d, &body, d->totals, 0);
	tiling_declare_next(s, &body, &s->rows);
	tiling_declare_next(s, &body, &s->columns);
	tiling_declare_next(r, &body, &r->columns);
	add_rounds(d, &body);
	attend_totals(d, &body);
	add(r, &body, is_tensor(d->found) ? mma_elements(r) : tiling_elements(r));
	d->kernel->body = tiling_grid(r, body_block(&body));
}

void bind_attention(const Transform *t, Kernel *kernel, const AttentionWanted *wanted)
{
	*kernel = wanted->attention->kernel;
	Attend d = {.program = t->program,
		    .arena = t->program->arena,
		    .kernel = kernel,
		    .found = wanted->attention,
		    .tile = wanted->tile,
		    .routine = wanted->routine,
		    .registers = t->options->gpu->registers};
	d.score_tile = score_tile(t->program, wanted->attention, wanted->tile);
	d.result_tile = result_tile(t->program, wanted->attention, wanted->tile);
	d.scores = tiling_new(&d, &wanted->attention->scores, &d.score_tile);
	d.result = tiling_new(&d, &wanted->attention->result, &d.result_tile);
	make(&d);
}
