/* What an axis comes to at each of its places, by the threads of a block.
 *
 *   grid r in 0..n of 256              grid rows in 0..n
 *     local acc = 0                      local own : f32 [1, 8, 32 | 8]; carry : f32 [1, 8, 32 | 1] = 0
 *     for t in 0..c                      for round in 0..ceil(c/2048)
 *       acc += x[r*c + t]                  own[row, warp, lane, e] = x[r*c + place], or 0 behind the end
 *       y[r*c + t] = acc                     where place = round*2048 + warp*256 + e*32 + lane
 *                                          other[...] = own[row, warp, (lane + 31)%32, e]     and with 30, 28, 24, 16
 *                                          if 1 <= lane: own[...] = other[...] + own[...]       for 31, and 2 .. for 1
 *                                          other[...] = own[row, warp, 31, e]
 *                                          sum[...] = 0
 *                                          own[..., e] = sum + own[..., e]; sum += other[..., e]     for each e
 *                                          if lane < 1: parts[warp] = sum
 *                                          barrier
 *                                          before[...] = carry, + parts[w] of each warp w in front
 *                                          carry[...] += parts[w] of all
 *                                          y[r*c + place] = before + own[..., e]
 *                                          barrier
 *
 * So a line is read and stored once, by neighbouring lanes at neighbouring places, in whichever direction it runs. Lines that lie
 * side by side have lanes along these: a thread adds up its `each` places one after another, and the warps of a block follow each
 * other along the line. What an exclusive sum stores is what stands one place earlier. The order of additions follows from the
 * number of places, if that is known, and from the GPU's row; it is the same in every run.
 */
#include "loops/rewrite.h"
#include "transform/gpu/one_sum.h"
#include "transform/gpu/cumulate.h"

typedef struct Make {
	const Cumulate *s;
	IterVar blocks;
	const Ix *round;
	LocalId own, other, sum, before, carry;
	BufferId parts; /* of warps, where there are several */
} Make;

/* The threads of a block. */
typedef struct Threads {
	IterVar row, warp, lane;
} Threads;

/* ---- small things ---- */

static const Ix *number(const Make *m, int64_t n) { return ix_const(m->s->program, n); }

static const Ix *iter(const Make *m, IterVar i) { return ix_iter(m->s->arena, i); }

static IterVar new_iter(const Make *m, const char *name)
{
	return bind_iter(m->s->program, m->s->kernel, name);
}

static Op op_of(const Make *m) { return m->s->set->acc; }

static void push(const Make *m, Body *body, const Stmt *stmt)
{
	PUSH(m->s->arena, body->stmts, stmt);
}

static LocalId new_local(const Make *m, const char *name, int64_t each)
{
	const Cumulate *s = m->s;
	KernelLocal local = {.name = name,
			     .dtype = s->set->value->dtype,
			     .rank = 4,
			     .nthreads = 3,
			     .extent = {(uint32_t)s->rows, (uint32_t)s->warps,
					(uint32_t)s->gpu->warp, (uint32_t)each}};
	return bind_local(s->program, s->kernel, local);
}

static Threads threads_of(const Make *m)
{
	return (Threads){new_iter(m, "row"), new_iter(m, "warp"), new_iter(m, "lane")};
}

static void in_threads(const Make *m, Body *to, const Threads *i, const Body *body)
{
	const Cumulate *s = m->s;
	Block all = body_block(body);
	all = block_one(s->arena, stmt_loop(s->program, LOOP_BLOCK, i->lane, s->gpu->warp, all));
	all = block_one(s->arena, stmt_loop(s->program, LOOP_BLOCK, i->warp, s->warps, all));
	push(m, to, stmt_loop(s->program, LOOP_BLOCK, i->row, s->rows, all));
}

/* What a lane of the thread's warp has there. */
static const Value *of_lane(const Make *m, LocalId local, const Threads *i, const Ix *lane,
			    const Ix *at)
{
	const Ix **ixs = ARENA_ARRAY(m->s->arena, const Ix *, LOCAL_AXES);
	ixs[0] = iter(m, i->row);
	ixs[1] = iter(m, i->warp);
	ixs[2] = lane;
	ixs[3] = at;
	return value_local(m->s->arena, m->s->kernel, local, ixs, 4);
}

static const Value *own_of(const Make *m, LocalId local, const Threads *i, const Ix *at)
{
	return of_lane(m, local, i, iter(m, i->lane), at);
}

/* `local[at] = value`, of the thread's. */
static void set(const Make *m, Body *body, const Value *element, const Value *value)
{
	push(m, body, stmt_set_at(m->s->arena, element, OP_NONE, value));
}

static const Value *both(const Make *m, const Value *a, const Value *b)
{
	return value_binary(m->s->arena, op_of(m), a, b);
}

static const Value *neutral(const Make *m) { return fold_neutral(m->s->arena, m->s->set); }

static void unroll(const Make *m, Body *to, IterVar e, int64_t n, const Body *body)
{
	if (n > 0)
		push(m, to, stmt_loop(m->s->program, LOOP_UNROLL, e, n, body_block(body)));
}

static void in_cond(const Make *m, Body *to, Cond cond, const Body *body)
{
	push(m, to, stmt_if_one(m->s->arena, cond, body_block(body)));
}

/* ---- places ---- */

static const Ix *place_of(const Make *m, const Threads *i, IterVar e)
{
	const Cumulate *s = m->s;
	const Ix *at = ix_times_plus(m->s->program, iter(m, i->warp), s->each, iter(m, e));
	if (s->along)
		at = ix_times_plus(m->s->program, at, s->gpu->warp, iter(m, i->lane));
	at = ix_times_plus(m->s->program, m->round, cumulate_round(s), at);
	return ix_add(s->program, s->from, at);
}

/* The number of the line along the innermost loop of the grid. */
static const Ix *line_of(const Make *m, const Threads *i)
{
	const Ix *at =
		ix_times_plus(m->s->program, iter(m, m->blocks), m->s->rows, iter(m, i->row));
	return m->s->along ? at
			   : ix_times_plus(m->s->program, at, m->s->gpu->warp, iter(m, i->lane));
}

static const Stmt *line_loop(const Cumulate *s) { return s->lines[s->n - 1]; }

/* The statements, at the thread's line, if there is one. */
static void at_line(const Make *m, Body *to, const Threads *i, const Ix **iters, const Body *body)
{
	const Cumulate *s = m->s;
	const Ix *line = s->n ? line_of(m, i) : NULL;
	if (line)
		iters[line_loop(s)->iter] = line;
	Body own = {0};
	body_append(s->arena, &own, one_sum_own(s->program, s->kernel, iters, body_block(body)));
	if (line)
		in_cond(m, to, (Cond){COND_LT, line, line_loop(s)->hi}, &own);
	else
		body_append(s->arena, to, body_block(&own));
}

/* Those in front of the sum's own local. */
static void add_locals(const Make *m, Body *body)
{
	for (uint32_t i = 0; i + 2 < m->s->body.n; i++)
		push(m, body, m->s->body.stmts[i]);
}

/* ... at place e of the thread's. */
static void at_place(const Make *m, Body *to, const Threads *i, IterVar e, const Body *body)
{
	const Cumulate *s = m->s;
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0), *place = place_of(m, i, e);
	iters[s->loop->iter] = place;
	Body inside = {0};
	at_line(m, &inside, i, iters, body);
	in_cond(m, to, (Cond){COND_LT, place, s->end}, &inside);
}

/* ---- what a thread has ---- */

/* carry = what the sum begins with */
static void begin(const Make *m, Body *to)
{
	Threads i = threads_of(m);
	Body own = {0}, body = {0};
	add_locals(m, &own);
	set(m, &own, own_of(m, m->carry, &i, number(m, 0)), m->s->first->value);
	at_line(m, &body, &i, kernel_iters(m->s->arena, m->s->kernel, 0), &own);
	in_threads(m, to, &i, &body);
}

/* own[e] = the element, or what adds nothing */
static void take(const Make *m, Body *to)
{
	const Cumulate *s = m->s;
	Threads i = threads_of(m);
	IterVar e = new_iter(m, "e");
	const Value *element = own_of(m, m->own, &i, iter(m, e));
	Body own = {0}, each = {0}, body = {0};
	add_locals(m, &own);
	for (uint32_t k = 0; k + 2 < s->loop->body.n; k++)
		push(m, &own, s->loop->body.stmts[k]);
	set(m, &own, element, s->set->value);
	set(m, &each, element, neutral(m));
	at_place(m, &each, &i, e, &own);
	unroll(m, &body, e, s->each, &each);
	in_threads(m, to, &i, &body);
}

/* other[e] = what another lane has in own[e] */
static void exchange(const Make *m, Body *to, const Threads *i, const Ix *lane)
{
	IterVar e = new_iter(m, "e");
	Body each = {0}, body = {0};
	set(m, &each, own_of(m, m->other, i, iter(m, e)), of_lane(m, m->own, i, lane, iter(m, e)));
	unroll(m, &body, e, m->s->each, &each);
	in_threads(m, to, i, &body);
}

static void exchange_by(const Make *m, Body *to, int64_t by)
{
	Threads i = threads_of(m);
	const Ix *warp = number(m, m->s->gpu->warp);
	exchange(m, to, &i,
		 ix_binary(m->s->program, IX_MOD, ix_plus(m->s->program, iter(m, i.lane), by),
			   warp));
}

/* own[e] op= what the lane so many before has */
static void add_lane_before(const Make *m, Body *to, int64_t by)
{
	exchange_by(m, to, m->s->gpu->warp - by);
	Threads i = threads_of(m);
	IterVar e = new_iter(m, "e");
	const Value *own = own_of(m, m->own, &i, iter(m, e));
	Body each = {0}, all = {0}, body = {0};
	set(m, &each, own, both(m, own_of(m, m->other, &i, iter(m, e)), own));
	unroll(m, &all, e, m->s->each, &each);
	in_cond(m, &body, (Cond){COND_LE, number(m, by), iter(m, i.lane)}, &all);
	in_threads(m, to, &i, &body);
}

/* own[e] follows what is before e in the warp; sum = that of all. */
static void chain_places(const Make *m, Body *to)
{
	Threads first = threads_of(m), i;
	exchange(m, to, &first, number(m, m->s->gpu->warp - 1));
	i = threads_of(m);
	IterVar e = new_iter(m, "e");
	const Value *own = own_of(m, m->own, &i, iter(m, e)),
		    *sum = own_of(m, m->sum, &i, number(m, 0));
	Body each = {0}, body = {0};
	set(m, &body, sum, neutral(m));
	set(m, &each, own, both(m, sum, own));
	set(m, &each, sum, both(m, sum, own_of(m, m->other, &i, iter(m, e))));
	unroll(m, &body, e, m->s->each, &each);
	in_threads(m, to, &i, &body);
}

/* own[e] = what stands one place earlier in the warp: of the first lane that is the last lane's of e - 1. */
static void shift_places(const Make *m, Body *to)
{
	exchange_by(m, to, m->s->gpu->warp - 1);
	Threads i = threads_of(m);
	IterVar e = new_iter(m, "e"), behind = new_iter(m, "e");
	Body own = {0}, others = {0}, body = {0}, first = {0}, rest = {0};
	set(m, &own, own_of(m, m->own, &i, iter(m, e)), own_of(m, m->other, &i, iter(m, e)));
	unroll(m, &others, e, m->s->each, &own);
	in_cond(m, &body, (Cond){COND_LE, number(m, 1), iter(m, i.lane)}, &others);
	set(m, &first, own_of(m, m->own, &i, number(m, 0)), neutral(m));
	set(m, &rest, own_of(m, m->own, &i, ix_plus(m->s->program, iter(m, behind), 1)),
	    own_of(m, m->other, &i, iter(m, behind)));
	unroll(m, &first, behind, m->s->each - 1, &rest);
	in_cond(m, &body, (Cond){COND_LT, iter(m, i.lane), number(m, 1)}, &first);
	in_threads(m, to, &i, &body);
}

static void cumulate_warp(const Make *m, Body *to)
{
	for (int64_t by = 1; by < m->s->gpu->warp; by *= 2)
		add_lane_before(m, to, by);
	chain_places(m, to);
	if (m->s->exclusive)
		shift_places(m, to);
}

/* The thread's places, one after another; sum = that of all. */
static void cumulate_thread(const Make *m, Body *to)
{
	Threads i = threads_of(m);
	IterVar e = new_iter(m, "e");
	const Value *own = own_of(m, m->own, &i, iter(m, e)),
		    *sum = own_of(m, m->sum, &i, number(m, 0)), *next = both(m, sum, own);
	const Value *other = own_of(m, m->other, &i, iter(m, e));
	Body each = {0}, body = {0};
	set(m, &body, sum, neutral(m));
	if (m->s->exclusive)
		set(m, &each, other, own);
	set(m, &each, own, m->s->exclusive ? sum : next);
	set(m, &each, sum, m->s->exclusive ? both(m, sum, other) : own);
	unroll(m, &body, e, m->s->each, &each);
	in_threads(m, to, &i, &body);
}

/* ---- what warps have ---- */

static const Ix *part_at(const Make *m, const Threads *i, const Ix *warp)
{
	const Ix *at = ix_times_plus(m->s->program, iter(m, i->row), m->s->warps, warp);
	return m->s->along ? at
			   : ix_times_plus(m->s->program, at, m->s->gpu->warp, iter(m, i->lane));
}

/* parts[...] = sum, of the warp. */
static void share_sums(const Make *m, Body *to)
{
	Threads i = threads_of(m);
	Body store = {0}, body = {0};
	push(m, &store,
	     stmt_store(m->s->arena, m->parts, part_at(m, &i, iter(m, i.warp)), OP_NONE,
			own_of(m, m->sum, &i, number(m, 0))));
	if (m->s->along)
		in_cond(m, &body, (Cond){COND_LT, iter(m, i.lane), number(m, 1)}, &store);
	in_threads(m, to, &i, m->s->along ? &body : &store);
	push(m, to, stmt_barrier(m->s->arena, false));
}

/* before = carry, and what the warps in front have; carry = that of all. */
static void add_warps(const Make *m, const Threads *i, Body *body)
{
	const Cumulate *s = m->s;
	const Value *before = own_of(m, m->before, i, number(m, 0)),
		    *carry = own_of(m, m->carry, i, number(m, 0));
	IterVar w = new_iter(m, "w");
	Body each = {0}, front = {0};
	set(m, body, before, carry);
	if (s->warps == 1) {
		set(m, body, carry, both(m, carry, own_of(m, m->sum, i, number(m, 0))));
		return;
	}
	const Value *part = value_load(s->program, m->parts, part_at(m, i, iter(m, w)));
	set(m, &front, before, both(m, before, part));
	in_cond(m, &each, (Cond){COND_LT, iter(m, w), iter(m, i->warp)}, &front);
	set(m, &each, carry, both(m, carry, part));
	unroll(m, body, w, s->warps, &each);
}

/* y[place] = before op own[e] */
static void put(const Make *m, Body *to)
{
	const Cumulate *s = m->s;
	Threads i = threads_of(m);
	IterVar e = new_iter(m, "e");
	Body store = {0}, each = {0}, body = {0};
	add_warps(m, &i, &body);
	const Value *all =
		both(m, own_of(m, m->before, &i, number(m, 0)), own_of(m, m->own, &i, iter(m, e)));
	push(m, &store, stmt_store(s->arena, s->store->buffer, s->store->ix, OP_NONE, all));
	at_place(m, &each, &i, e, &store);
	unroll(m, &body, e, s->each, &each);
	in_threads(m, to, &i, &body);
}

/* ---- all ---- */

static void add_round(const Make *m, Body *to)
{
	take(m, to);
	if (m->s->along)
		cumulate_warp(m, to);
	else
		cumulate_thread(m, to);
	if (m->s->warps > 1)
		share_sums(m, to);
	put(m, to);
}

static void add_rounds(Make *m, Body *to)
{
	const Cumulate *s = m->s;
	Size rounds = size_ceil(s->program->sizes, s->places, cumulate_round(s));
	m->round = number(m, 0);
	if (size_is(s->program->sizes, rounds, 1)) {
		add_round(m, to);
		return;
	}
	Body body = {0};
	IterVar round = new_iter(m, "round");
	m->round = iter(m, round);
	add_round(m, &body);
	if (s->warps > 1)
		push(m, &body, stmt_barrier(s->arena, false));
	push(m, to,
	     stmt_for(s->arena, round, number(m, 0), ix_size(s->arena, rounds), body_block(&body)));
}

/* The grid's loops, the innermost one over blocks of lines. */
static Block in_grid(const Make *m, Block body)
{
	const Cumulate *s = m->s;
	int64_t side = s->rows * (s->along ? 1 : s->gpu->warp);
	for (uint32_t i = s->n; i-- > 0;) {
		Stmt *loop = stmt_with(s->arena, s->lines[i], body);
		loop->threads = 1;
		if (i + 1 == s->n) {
			loop->iter = m->blocks;
			loop->hi = ix_size(s->arena,
					   size_ceil(s->program->sizes, loop->hi->size, side));
		}
		body = block_one(s->arena, loop);
	}
	return body;
}

void bind_cumulate(const Cumulate *s, uint32_t routine)
{
	Make m = {.s = s};
	Body body = {0};
	m.blocks = new_iter(&m, "rows");
	m.own = new_local(&m, "own", s->each);
	m.other = new_local(&m, "other", s->each);
	m.sum = new_local(&m, "sum", 1);
	m.before = new_local(&m, "before", 1);
	m.carry = new_local(&m, "carry", 1);
	if (s->warps > 1)
		m.parts = bind_shared(s->program, s->kernel, routine,
				      (Buffer){.dtype = s->set->value->dtype},
				      s->rows * s->warps * (s->along ? 1 : s->gpu->warp), "parts");
	const LocalId locals[] = {m.own, m.other, m.sum, m.before, m.carry};
	for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
		push(&m, &body, stmt_local(s->arena, locals[i], neutral(&m)));
	if (s->first->value->kind != VALUE_CONST)
		begin(&m, &body);
	add_rounds(&m, &body);
	s->kernel->body = in_grid(&m, body_block(&body));
}
