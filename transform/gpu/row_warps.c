/* Sums of rows by warps: matrices times vectors.
 *
 *   grid i in 0..2                     grid rows in 0..ceil(n/8)
 *     grid j in 0..n of 32               local part, other : f32 [8, 32 | 2] = 0
 *       local acc = 0                    block row in 0..8
 *       for k in 0..c              ->      block lane in 0..32
 *         acc += w[j*c + k]*x[i*c + k]       if 8*rows + row < n
 *       y[i*n + j] = acc                       unroll round in 0..ceil(c/128)
 *                                                vector k in 0..4
 *                                                  part[row, lane, 0] += w[...]*x[...]
 *                                                  part[row, lane, 1] += w[...]*x[c + ...]
 *                                        block row in 0..8                        and with 8, 4, 2, 1 for 16
 *                                          block lane in 0..32
 *                                            other[row, lane, ...] = part[row, lane, ...] + part[row, (lane + 16)%32, ...]
 *                                        block row in 0..8
 *                                          block lane in 0..32
 *                                            if lane < 1 && 8*rows + row < n
 *                                              unroll i in 0..2
 *                                                local acc = 0
 *                                                acc += other[row, lane, i]
 *                                                y[i*n + 8*rows + row] = acc
 *
 * A lane reads 16 bytes at a time of the narrowest operand, all that it reads of a row before it
 * adds where that is no more than the GPU's row says; of longer rows 2, 4 or 8 warps have parts,
 * whose sums one thread adds up in their order. Of a few vectors each thread has the sums of all,
 * so that the matrix is read once. The order of additions follows from the sizes. Of a length
 * that is known at run time only there is a loop of rounds, and wide reads are in a condition where rows may begin anywhere.
 * Terms that have a factor for each group of the row, such as scales of weights of four bits, are added without it, and what lanes have of
 * a group is multiplied:
 *
 *   for g in 0..c/32                                 unroll round in 0..c/1024
 *     for k in 0..32                           ->      local group : f32 [1] = 0
 *       acc += w[j*c + g*32 + k]*x[...]*d[j*c/32 + g]  vector k in 0..32
 *                                                        group[0] += w[j*c + round*1024 + lane*32 + k]*x[...]
 *                                                      part[row, lane, 0] += group[0]*d[j*c/32 + round*32 + lane]
 *
 * Chosen where a kernel has one sum of what rows.c shares out; a schedule says `vector k 32; block j 8`: the threads that have
 * a row, and rows of a block.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/rewrite.h"
#include "transform/gpu/row_warps.h"

/* ---- made ---- */

static const Ix *iter(const RowWarps *w, IterVar i) { return ix_iter(w->arena, i); }

static IterVar new_iter(const RowWarps *w, const char *name)
{
	return bind_iter(w->program, w->kernel, name);
}

/* The threads of a block: of a row, those of its warps. */
typedef struct Threads {
	IterVar row, warp, lane;
} Threads;

static Threads threads_of(const RowWarps *w)
{
	return (Threads){new_iter(w, "row"), w->warps > 1 ? new_iter(w, "warp") : 0,
			 new_iter(w, "lane")};
}

static Block in_threads(const RowWarps *w, const Threads *i, Block body)
{
	body = block_one(w->arena, stmt_loop(w->program, LOOP_BLOCK, i->lane, w->gpu->warp, body));
	if (w->warps > 1)
		body = block_one(w->arena,
				 stmt_loop(w->program, LOOP_BLOCK, i->warp, w->warps, body));
	return block_one(w->arena, stmt_loop(w->program, LOOP_BLOCK, i->row, w->rows, body));
}

/* The thread's number among those of its row. */
static const Ix *in_row(const RowWarps *w, const Threads *i)
{
	const Ix *lane = iter(w, i->lane);
	return w->warps > 1 ? ix_times_plus(w->program, iter(w, i->warp), w->gpu->warp, lane)
			    : lane;
}

static LocalId new_local(const RowWarps *w, const char *name)
{
	KernelLocal local = {.name = name, .dtype = w->sum.set->value->dtype};
	local.extent[local.rank++] = (uint32_t)w->rows;
	if (w->warps > 1)
		local.extent[local.rank++] = (uint32_t)w->warps;
	local.extent[local.rank++] = (uint32_t)w->gpu->warp;
	local.nthreads = local.rank;
	local.extent[local.rank++] = (uint32_t)w->vectors;
	return bind_local(w->program, w->kernel, local);
}

static LocalId group_local(const RowWarps *w)
{
	KernelLocal local = {.name = "group", .dtype = w->sum.set->value->dtype, .rank = 1, .extent = {(uint32_t)w->vectors}};
	return bind_local(w->program, w->kernel, local);
}

/* What a lane of the thread's warp has of a vector. */
static const Value *part_at(const RowWarps *w, LocalId local, const Threads *i,
			    const Ix *const *lane_vector)
{
	const Ix **ixs = ARENA_ARRAY(w->arena, const Ix *, LOCAL_AXES);
	uint32_t n = 0;
	ixs[n++] = iter(w, i->row);
	if (w->warps > 1)
		ixs[n++] = iter(w, i->warp);
	ixs[n++] = lane_vector[0];
	ixs[n++] = lane_vector[1];
	return value_local(w->arena, w->kernel, local, ixs, n);
}

/* The number of the row among all, and its condition. */
static const Ix *row_at(const RowWarps *w, IterVar row)
{
	return ix_times_plus(w->program, iter(w, w->blocks), w->rows, iter(w, row));
}

static Cond is_row(const RowWarps *w, IterVar row)
{
	return (Cond){COND_LT, row_at(w, row), w->loops[w->row]->hi};
}

/* In terms of the row. */
static Block at_row(const RowWarps *w, IterVar row, Block body)
{
	const Ix **iters = kernel_iters(w->arena, w->kernel, 0);
	iters[w->loops[w->row]->iter] = row_at(w, row);
	return one_sum_own(w->program, w->kernel, iters, body);
}

/* ---- sums ---- */

/* The value for the vector v. */
static const Value *of_vector(const RowWarps *w, const Value *value, const Ix **iters, int64_t vector)
{
	int64_t rest = vector, n = 1;
	for (uint32_t k = w->n; k-- > 0; rest /= n) {
		n = w->own[k] ? row_warps_extent(w, k) : 1;
		if (w->own[k])
			iters[w->loops[k]->iter] = ix_const(w->program, rest % n);
	}
	Rewrite rewrite = {.program = w->program, .iters = iters, .span = w->kernel->span};
	return rewrite_alone(&rewrite, value);
}

/* part[row, lane, v] op= a value for the vector v. */
static const Stmt *add_to_part(const RowWarps *w, const Threads *i, int64_t vector, const Value *value)
{
	const Ix *at[] = {iter(w, i->lane), ix_const(w->program, vector)};
	return stmt_set_at(w->arena, part_at(w, w->part, i, at), w->sum.set->acc, value);
}

static const Value *group_at(const RowWarps *w, int64_t vector)
{
	const Ix **at = ARENA_ARRAY(w->arena, const Ix *, 1);
	at[0] = ix_const(w->program, vector);
	return value_local(w->arena, w->kernel, w->group, at, 1);
}

/* What is added of each element, in lanes: the sum's term, or, where all terms of a group are times something, the rest of it
 * to group[v]. */
static Block terms_of(const RowWarps *w, const Threads *i)
{
	Body terms = {0};
	for (int64_t v = 0; v < w->vectors; v++) {
		const Value *term = of_vector(w, w->term, kernel_iters(w->arena, w->kernel, 0), v);
		PUSH(w->arena, terms.stmts,
		     w->scale ? stmt_set_at(w->arena, group_at(w, v), OP_ADD, term)
			      : add_to_part(w, i, v, term));
	}
	return body_block(&terms);
}

/* Some elements of a group: local group = 0, the lanes, part[row, lane, v] += group[v] times what the group has in common. */
static Block in_group(const RowWarps *w, const Threads *i, const Ix *first, Block lanes)
{
	const Ix *each = ix_const(w->program, w->wide.each);
	Body body = {0};
	if (w->scale)
		PUSH(w->arena, body.stmts, stmt_local(w->arena, w->group, fold_neutral(w->arena, w->sum.set)));
	body_append(w->arena, &body, lanes);
	for (int64_t v = 0; v < w->vectors && w->scale; v++) {
		const Ix **iters = kernel_iters(w->arena, w->kernel, 0);
		iters[w->wide.group] = ix_binary(w->program, IX_DIV, first, each);
		const Value *times = of_vector(w, w->scale, iters, v);
		PUSH(w->arena, body.stmts,
		     add_to_part(w, i, v, value_binary(w->arena, OP_MUL, group_at(w, v), times)));
	}
	if (size_divides(w->program->sizes, size_const(w->program->sizes, row_warps_steps(w)), w->wide.extent))
		return body_block(&body);
	Cond inside = {COND_LT, first, ix_size(w->arena, w->wide.extent)};
	return block_one(w->arena, stmt_if_one(w->arena, inside, body_block(&body)));
}

/* The loop of rounds; of a known few all reads come before the first sum. */
static const Stmt *rounds_of(const RowWarps *w, IterVar round, Block body)
{
	Size rounds = size_ceil(w->program->sizes, w->wide.extent, row_warps_steps(w));
	int64_t n;
	bool few = size_is_const(w->program->sizes, rounds, &n) && n <= w->gpu->row_loads;
	return few ? stmt_loop(w->program, LOOP_UNROLL, round, n, body)
		   : stmt_for(w->arena, round, ix_const(w->program, 0), ix_size(w->arena, rounds),
			      body);
}

static Block in_rounds(RowWarps *w, const Threads *i)
{
	IterVar round = new_iter(w, "round");
	IterVar lane = new_iter(w, w->kernel->iters[row_warps_loop(w)->iter].name);
	const Ix *first = ix_times_plus(w->program, iter(w, round), row_warps_steps(w),
					ix_times(w->program, in_row(w, i), w->wide.width));
	Block body = wide_elements(&w->wide, first, lane);
	if (w->wide.each)
		body = in_group(w, i, first, body);
	body = block_one(w->arena, rounds_of(w, round, body));
	for (uint32_t k = w->wide.first; k-- > 0;) {
		Stmt *loop = stmt_with(w->arena, w->wide.loops[k], body);
		loop->independent = false;
		body = block_one(w->arena, loop);
	}
	return body;
}

static void add_sums(RowWarps *w, Body *body)
{
	Threads i = threads_of(w);
	Body own = {0};
	w->wide.body = terms_of(w, &i);
	one_sum_before(w->arena, &w->sum, &own);
	body_append(w->arena, &own, in_rounds(w, &i));
	Block sums = at_row(w, i.row, body_block(&own));
	sums = block_one(w->arena, stmt_if_one(w->arena, is_row(w, i.row), sums));
	body_append(w->arena, body, in_threads(w, &i, sums));
}

/* ---- of all lanes ---- */

/* to = from op what the lane so many further has of it */
static Block exchange(const RowWarps *w, LocalId to, LocalId from, int64_t by)
{
	Threads i = threads_of(w);
	IterVar vector = new_iter(w, "vector");
	const Ix *lane = iter(w, i.lane), *warp = ix_const(w->program, w->gpu->warp);
	const Ix *own[] = {lane, iter(w, vector)};
	const Ix *others[] = {ix_binary(w->program, IX_MOD, ix_plus(w->program, lane, by), warp),
			      own[1]};
	const Value *sum = value_binary(w->arena, w->sum.set->acc, part_at(w, from, &i, own),
					part_at(w, from, &i, others));
	Block set =
		block_one(w->arena, stmt_set_at(w->arena, part_at(w, to, &i, own), OP_NONE, sum));
	set = block_one(w->arena, stmt_loop(w->program, LOOP_UNROLL, vector, w->vectors, set));
	return in_threads(w, &i, set);
}

/* All lanes have the sum of all then, in `part`. */
static void add_exchanges(RowWarps *w, Body *body)
{
	for (int64_t by = w->gpu->warp / 2; by > 0; by /= 2) {
		LocalId from = w->part;
		body_append(w->arena, body, exchange(w, w->other, from, by));
		w->part = w->other;
		w->other = from;
	}
}

/* ---- behind the sum ---- */

/* The number of the vector that loops of a thread are at. */
static const Ix *vector_at(const RowWarps *w)
{
	const Ix *at = ix_const(w->program, 0);
	for (uint32_t i = 0; i < w->n; i++)
		if (w->own[i])
			at = ix_times_plus(w->program, at, row_warps_extent(w, i),
					   iter(w, w->loops[i]->iter));
	return at;
}

static Block in_own_loops(const RowWarps *w, Block body)
{
	for (uint32_t i = w->n; i-- > 0;)
		if (w->own[i])
			body = block_one(w->arena,
					 stmt_loop(w->program, LOOP_UNROLL, w->loops[i]->iter,
						   row_warps_extent(w, i), body));
	return body;
}

/* What is done with each sum, where this adds it. */
static Block finish(const RowWarps *w, IterVar row, const Stmt *add)
{
	return in_own_loops(w, at_row(w, row, one_sum_with(w->arena, &w->sum, add)));
}

static const Stmt *fold(const RowWarps *w, const Value *from)
{
	return stmt_set(w->arena, w->sum.set->local, w->sum.set->acc, from);
}

static Cond is_first_lane(const RowWarps *w, const Threads *i)
{
	return (Cond){COND_LT, iter(w, i->lane), ix_const(w->program, 1)};
}

/* The first lane of the row's warp. */
static void finish_in_warps(const RowWarps *w, Body *body)
{
	Threads i = threads_of(w);
	const Ix *at[] = {iter(w, i.lane), vector_at(w)};
	Block own = finish(w, i.row, fold(w, part_at(w, w->part, &i, at)));
	Cond *both = ARENA_ARRAY(w->arena, Cond, 2);
	both[0] = is_first_lane(w, &i);
	both[1] = is_row(w, i.row);
	own = block_one(w->arena, stmt_if(w->arena, both, 2, own));
	body_append(w->arena, body, in_threads(w, &i, own));
}

/* sums[row, warp, vector] = what the row's warp has */
static void share_sums(const RowWarps *w, Body *body, BufferId sums)
{
	Threads i = threads_of(w);
	IterVar vector = new_iter(w, "vector");
	const Ix *at[] = {iter(w, i.lane), iter(w, vector)};
	const Ix *to = ix_times_plus(
		w->program, ix_times_plus(w->program, iter(w, i.row), w->warps, iter(w, i.warp)),
		w->vectors, at[1]);
	Block own = block_one(w->arena,
			      stmt_store(w->arena, sums, to, OP_NONE, part_at(w, w->part, &i, at)));
	own = block_one(w->arena, stmt_loop(w->program, LOOP_UNROLL, vector, w->vectors, own));
	own = block_one(w->arena, stmt_if_one(w->arena, is_first_lane(w, &i), own));
	body_append(w->arena, body, in_threads(w, &i, own));
	PUSH(w->arena, body->stmts, stmt_barrier(w->arena, false));
}

/* One thread for each row adds up those of its warps. */
static void finish_in_block(const RowWarps *w, Body *body, uint32_t routine)
{
	BufferId sums = bind_shared(w->program, w->kernel, routine,
				    (Buffer){.dtype = w->sum.set->value->dtype},
				    w->rows * w->warps * w->vectors, "sums");
	share_sums(w, body, sums);
	IterVar row = new_iter(w, "row"), warp = new_iter(w, "warp");
	const Ix *from = ix_times_plus(
		w->program, ix_times_plus(w->program, iter(w, row), w->warps, iter(w, warp)),
		w->vectors, vector_at(w));
	const Stmt *add =
		stmt_loop(w->program, LOOP_SERIAL, warp, w->warps,
			  block_one(w->arena, fold(w, value_load(w->program, sums, from))));
	Block own = finish(w, row, add);
	own = block_one(w->arena, stmt_if_one(w->arena, is_row(w, row), own));
	PUSH(w->arena, body->stmts, stmt_loop(w->program, LOOP_BLOCK, row, w->rows, own));
}

/* ---- all ---- */

/* The grid's loops but those of a thread, that of rows over blocks of them. */
static Block in_grid(const RowWarps *w, Block body)
{
	for (uint32_t i = w->n; i-- > 0;) {
		if (w->own[i])
			continue;
		Stmt *loop = stmt_with(w->arena, w->loops[i], body);
		loop->threads = 1;
		if (i == w->row) {
			loop->iter = w->blocks;
			loop->hi = ix_size(w->arena,
					   size_ceil(w->program->sizes, loop->hi->size, w->rows));
		}
		body = block_one(w->arena, loop);
	}
	return body;
}

static void make(RowWarps *w, uint32_t routine)
{
	const Value *neutral = fold_neutral(w->arena, w->sum.set);
	Body body = {0};
	w->blocks = new_iter(w, "rows");
	w->part = new_local(w, "part");
	w->other = new_local(w, "other");
	row_warps_split_terms(w);
	if (w->scale)
		w->group = group_local(w);
	PUSH(w->arena, body.stmts, stmt_local(w->arena, w->part, neutral));
	PUSH(w->arena, body.stmts, stmt_local(w->arena, w->other, neutral));
	add_sums(w, &body);
	add_exchanges(w, &body);
	if (w->warps > 1)
		finish_in_block(w, &body, routine);
	else
		finish_in_warps(w, &body);
	w->kernel->body = in_grid(w, body_block(&body));
}

bool row_warps_pay(const Transform *t, Kernel *kernel)
{
	RowWarps w;
	return row_warps_decide(t, kernel, &w);
}

void bind_row_warps(const Transform *t, Kernel *kernel, uint32_t routine)
{
	RowWarps w;
	REQUIRE(row_warps_decide(t, kernel, &w));
	row_warps_note(&w);
	make(&w, routine);
}
