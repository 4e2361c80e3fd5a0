/* The steps of a scatter by the rows of the target that they add to: a bucket is a range of rows,
 * and its steps are listed in their order, so that threads share buckets.
 *
 *   length = ceil(steps / PARTS)
 *   for part in 0..PARTS
 *     for b in 0..buckets: counts[part, b] = 0
 *     for e of the part: counts[part, row(ids[e]) / rows] += 1
 *   for b in 0..buckets: starts[b] = what all buckets before it have
 *     for part in 0..PARTS: counts[part, b] = starts[b] + what earlier parts have in it
 *   starts[buckets] = all
 *   for part in 0..PARTS: for e of the part: steps[counts[part, row(ids[e]) / rows]++] = e
 *   for b in 0..buckets: for i in starts[b]..starts[b + 1]
 *     for R': result[ids[steps[i]], R'] ACC= x[steps[i], R']
 *
 * Counting costs a few operations a step, whatever the rows. What is read of a list is held inside
 * by minima and maxima, which change nothing.
 */
#include "lower/scatter.h"

typedef struct Buckets {
	Scatter *s;
	Program *program;
	Arena *arena;
	BufferId counts, starts, list;
	int64_t rows, parts, ahead;
	bool prefetches;
	Size n, length; /* buckets; steps of a part */
} Buckets;

static void push(const Buckets *b, Body *body, const Stmt *stmt)
{
	PUSH(b->arena, body->stmts, stmt);
}

static const Ix *size(const Buckets *b, Size value) { return ix_size(b->arena, value); }

static const Ix *count_at(const Buckets *b, const Ix *part, const Ix *bucket)
{
	return ix_add(b->program, ix_mul(b->program, part, size(b, b->n)), bucket);
}

static const Value *whole(const Buckets *b, const Ix *ix)
{
	return value_index(b->arena, DTYPE_I64, ix);
}

static const Stmt *set(const Buckets *b, BufferId buffer, const Ix *at, const Ix *value)
{
	return stmt_store(b->arena, buffer, at, OP_NONE, whole(b, value));
}

static const Ix *read(const Buckets *b, BufferId buffer, const Ix *at)
{
	return ix_value(b->arena, value_load(b->program, buffer, at));
}

/* An index in a local of the body. */
static const Ix *named(const Buckets *b, const char *name, const Ix *ix, Body *body)
{
	return ix_value(b->arena, gen_let(b->s->gen, body, name, whole(b, ix)));
}

/* In [0, end) */
static const Ix *inside(const Buckets *b, const Ix *ix, Size end)
{
	const Ix *last = size(b, size_plus(b->program->sizes, end, -1));
	ix = ix_binary(b->program, IX_MAX, ix, scatter_const(b->s, 0));
	return ix_binary(b->program, IX_MIN, ix, last);
}

/* ---- the steps of a part ---- */

typedef void EachStep(const Buckets *b, const Ix *e, const Ix *at, Body *body);

static void count_step(const Buckets *b, const Ix *e, const Ix *at, Body *body)
{
	(void)e;
	push(b, body,
	     stmt_store(b->arena, b->counts, at, OP_ADD, value_number(b->arena, DTYPE_I64, 1)));
}

static void list_step(const Buckets *b, const Ix *e, const Ix *at, Body *body)
{
	const Ix *place = named(b, "place", read(b, b->counts, at), body);
	push(b, body, set(b, b->list, inside(b, place, b->s->steps), e));
	push(b, body, set(b, b->counts, at, ix_add(b->program, place, scatter_const(b->s, 1))));
}

/* For each step of the part, with the place of its bucket's count. */
static void each_step(const Buckets *b, const Ix *part, EachStep *each, Body *body)
{
	Scatter *s = b->s;
	ScatterStep step = {0};
	Body inner = {0}, one = {0};
	IterVar t = scatter_iter(s, "t");
	const Ix *first = ix_mul(b->program, part, size(b, b->length));
	const Ix *left = ix_add(b->program, size(b, s->steps),
				ix_mul(b->program, first, scatter_const(s, -1)));
	const Ix *e = ix_add(b->program, first, scatter_at(s, t));
	scatter_set_steps(s, e);
	scatter_step(s, &step);
	const Ix *bucket = ix_binary(b->program, IX_DIV, step.row, scatter_const(s, b->rows));
	bucket = inside(b, named(b, "bucket", bucket, &inner), b->n);
	each(b, e, count_at(b, part, bucket), &inner);
	scatter_end_step(s, &step, body_block(&inner), &one);
	const Ix *end = ix_binary(b->program, IX_MIN, size(b, b->length), left);
	push(b, body, scatter_loop(s, t, end, &one, false));
}

static void parts(const Buckets *b, bool clears, EachStep *each)
{
	Scatter *s = b->s;
	Body body = {0}, clear = {0};
	IterVar var = scatter_iter(s, "part"), v = scatter_iter(s, "b");
	const Ix *part = scatter_at(s, var);
	if (clears) {
		push(b, &clear,
		     set(b, b->counts, count_at(b, part, scatter_at(s, v)), scatter_const(s, 0)));
		push(b, &body, scatter_loop(s, v, size(b, b->n), &clear, false));
	}
	each_step(b, part, each, &body);
	push(b, &s->gen->top, scatter_loop(s, var, scatter_const(s, b->parts), &body, true));
}

/* ---- where they begin ---- */

static void begin(const Buckets *b)
{
	Scatter *s = b->s;
	Gen *gen = s->gen;
	Body bucket = {0}, count = {0};
	IterVar v = scatter_iter(s, "b"), part = scatter_iter(s, "part");
	const Value *start = gen_let(gen, &gen->top, "before", whole(b, scatter_const(s, 0)));
	const Ix *at = count_at(b, scatter_at(s, part), scatter_at(s, v));
	push(b, &bucket, stmt_store(b->arena, b->starts, scatter_at(s, v), OP_NONE, start));
	const Ix *n = named(b, "count", read(b, b->counts, at), &count);
	push(b, &count, stmt_store(b->arena, b->counts, at, OP_NONE, start));
	push(b, &count, stmt_set_at(b->arena, start, OP_ADD, whole(b, n)));
	push(b, &bucket, scatter_loop(s, part, scatter_const(s, b->parts), &count, false));
	push(b, &gen->top, scatter_loop(s, v, size(b, b->n), &bucket, false));
	push(b, &gen->top, stmt_store(b->arena, b->starts, size(b, b->n), OP_NONE, start));
}

/* ---- rows ---- */

/* Step number `place` of the list. */
static const Ix *listed(const Buckets *b, const Ix *place, Body *body)
{
	const Ix *e = read(b, b->list, inside(b, named(b, "place", place, body), b->s->steps));
	return inside(b, named(b, "e", e, body), b->s->steps);
}

/* The row that is read AHEAD steps on. */
static void prefetch(const Buckets *b, const Ix *place, Body *body)
{
	Scatter *s = b->s;
	place = ix_add(b->program, place, scatter_const(s, b->ahead));
	scatter_set_steps(s, listed(b, place, body));
	push(b, body, scatter_prefetch(s));
}

static void take_buckets(const Buckets *b)
{
	Scatter *s = b->s;
	ScatterStep step = {0};
	Body bucket = {0}, one = {0};
	IterVar v = scatter_iter(s, "b"), t = scatter_iter(s, "t");
	const Ix *at = scatter_at(s, v);
	const Ix *start = named(b, "start", read(b, b->starts, at), &bucket);
	const Ix *next = read(b, b->starts, ix_add(b->program, at, scatter_const(s, 1)));
	const Ix *count = ix_add(b->program, next, ix_mul(b->program, start, scatter_const(s, -1)));
	const Ix *place = ix_add(b->program, start, scatter_at(s, t));
	scatter_begin_carried(s, &bucket);
	if (b->prefetches)
		prefetch(b, place, &one);
	scatter_set_steps(s, listed(b, place, &one));
	scatter_step(s, &step);
	Block row = scatter_row(s, &step, s->to, scatter_const(s, 0));
	gen_append(s->gen, &step.body, row);
	gen_append(s->gen, &one, body_block(&step.body));
	count = ix_binary(b->program, IX_MIN, count, size(b, s->steps));
	push(b, &bucket, scatter_loop(s, t, count, &one, false));
	scatter_end_carried(s, &bucket);
	push(b, &s->gen->top, scatter_loop(s, v, size(b, b->n), &bucket, true));
}

void scatter_buckets(Scatter *s, const ScatterPlan *plan)
{
	Program *program = s->gen->program;
	Sizes *sizes = program->sizes;
	Buckets b = {.s = s,
		     .program = program,
		     .arena = program->arena,
		     .rows = plan->by,
		     .counts = plan->counts,
		     .starts = plan->starts,
		     .list = plan->list,
		     .prefetches = plan->prefetches};
	b.parts = s->gen->lower->target->thread_slots;
	b.ahead = s->gen->lower->target->scatter_ahead;
	b.n = size_ceil(sizes, s->rows, plan->by);
	b.length = size_ceil(sizes, s->steps, b.parts);
	parts(&b, true, count_step);
	begin(&b);
	parts(&b, false, list_step);
	take_buckets(&b);
}
