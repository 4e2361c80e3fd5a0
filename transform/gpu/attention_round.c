/* What the threads of a block do in a round of attention: scores, weights, sums. */
#include <math.h>

#include "transform/gpu/attend.h"

static const Value *loaded(const Attend *d, BufferId buffer, const Ix *at)
{
	return value_load(d->program, buffer, at);
}

static const Value *op(const Attend *d, Op which, const Value *a, const Value *b)
{
	const Value *args[] = {a, b};
	return value_op(d->arena, which, DTYPE_F32, args, b ? 2 : 1);
}

static const Value *where(const Attend *d, Op which, const Value *const *compared, const Value *then,
			  const Value *otherwise)
{
	const Value *args[] = {value_op(d->arena, which, DTYPE_F32, compared, 2), then, otherwise};
	return value_op(d->arena, OP_WHERE, DTYPE_F32, args, 3);
}

/* ---- elements ---- */

static const Stmt *set(const Attend *d, const Value *to, Op acc, const Value *value)
{
	return stmt_set_at(d->arena, to, acc, value);
}

static Block one(const Attend *d, const Stmt *stmt) { return block_one(d->arena, stmt); }

static LocalId scalar(Attend *d, const char *name)
{
	return tiling_local(&d->result, (KernelLocal){.name = name});
}

static const Value *read(const Attend *d, LocalId local)
{
	return value_local(d->arena, d->kernel, local, NULL, 0);
}

/* The value where the row is this one and the local that value. */
static const Value *value_in_row(const Attend *d, const Value *value, const Ix **iters,
				 const Ix *row, ValueTwin local)
{
	iters[d->found->row] = row;
	Rewrite rewrite = {.program = d->program,
			   .iters = iters,
			   .values = &local,
			   .nvalues = 1,
			   .span = d->kernel->span};
	return rewrite_alone(&rewrite, value);
}

/* ---- scores ---- */

/* What the row sees of a sum. */
static const Value *seen_of(const Attend *d, const Value *sum, const Ix *row, const Ix *key)
{
	const Ix **iters = kernel_iters(d->arena, d->kernel, 0);
	ValueTwin twin = {read(d, d->found->scores.declared->local), sum};
	iters[d->found->key] = key;
	return value_in_row(d, d->found->seen, iters, row, twin);
}

static Block clear_score(void *of, const Value *score, const Ix *row, const Ix *column)
{
	const Attend *d = of;
	(void)row;
	(void)column;
	return one(d, set(d, score, OP_NONE, zero(&d->scores)));
}

/* Where `seen` has a score. */
static const Ix *seen_at(const Attend *d, const Ix *key, const Ix *row)
{
	const Ix *line = ix_times(d->program, key, d->tile->rows + QUAD);
	return ix_add(d->program, line, row);
}

/* seen = what the row sees of it; behind the last key -inf. */
static Block see_score(void *of, const Value *score, const Ix *row, const Ix *column)
{
	Attend *d = of;
	const Tiling *s = &d->scores;
	const Ix *whole_row = tiling_side_at(s, &s->rows, row);
	const Ix *key = tiling_side_at(s, &s->columns, column);
	LocalId seen = scalar(d, "seen");
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, seen, attend_real(d, -INFINITY)));
	Block own = one(d, stmt_set(d->arena, seen, OP_NONE, seen_of(d, score, whole_row, key)));
	own = if_below(s, key, sized(s, s->product->columns.extent), own);
	add(s, &body, if_below(s, whole_row, sized(s, s->product->rows.extent), own));
	PUSH(d->arena, body.stmts,
	     stmt_store(d->arena, d->seen, seen_at(d, column, row), OP_NONE, read(d, seen)));
	return body_block(&body);
}

void attend_scores(Attend *d, Body *body)
{
	Tiling *s = &d->scores;
	add(s, body, tiling_each(s, &(ElementVisit){clear_score, d, false}));
	add(s, body, tiling_add_steps(s, number(s, 0), s->product->sum.extent));
	add(s, body, tiling_each(s, &(ElementVisit){see_score, d, false}));
}

/* ---- rows ---- */

typedef struct RowIters {
	IterVar part, row, key;
} RowIters;

static RowIters row_iters(Attend *d)
{
	Tiling *r = &d->result;
	return (RowIters){tiling_iter(r, "part"), tiling_iter(r, "row"), tiling_iter(r, "key")};
}

static Block row_threads(const Attend *d, const RowIters *i, Block body)
{
	body = loop_of(&d->result, LOOP_BLOCK, i->row, d->tile->rows, body);
	return loop_of(&d->result, LOOP_BLOCK, i->part, d->nparts, body);
}

static const Value *row_local(const Attend *d, const RowIters *i, LocalId local)
{
	const Tiling *r = &d->result;
	const Ix *at[] = {iter(r, i->part), iter(r, i->row), number(r, 0)};
	return tiling_element(r, local, at);
}

/* The part's own of what is shared of the row. */
static const Ix *part_at(const Attend *d, const Ix *part, const Ix *row)
{
	return ix_times_plus(d->program, part, d->tile->rows, row);
}

static const Stmt *store_part(const Attend *d, const RowIters *i, BufferId to, const Value *value)
{
	const Ix *at = part_at(d, iter(&d->result, i->part), iter(&d->result, i->row));
	return stmt_store(d->arena, to, at, OP_NONE, value);
}

static const Ix *own_key(const Attend *d, const RowIters *i)
{
	const Tiling *r = &d->result;
	return plus(r, times(r, iter(r, i->part), d->tile->keys / d->nparts), iter(r, i->key));
}

static const Value *own_seen(const Attend *d, const RowIters *i)
{
	return loaded(d, d->seen, seen_at(d, own_key(d, i), iter(&d->result, i->row)));
}

static const Stmt *store_weight(const Attend *d, const RowIters *i, const Value *weight)
{
	const Tiling *r = &d->result;
	const Ix *stage_step[] = {number(r, 0), own_key(d, i)};
	const Ix *at = tiling_shared(r, &r->rows, stage_step, iter(r, i->row));
	Dtype dtype = d->program->buffers.at[d->weights].dtype;
	return stmt_store(d->arena, d->weights, at, OP_NONE,
			  dtype == DTYPE_F32 ? weight : value_cast(d->arena, dtype, weight));
}

static Block each_key(const Attend *d, const RowIters *i, Block body)
{
	return loop_of(&d->result, LOOP_SERIAL, i->key, d->tile->keys / d->nparts, body);
}

/* parts = the greatest of what the part sees and the maximum so far */
static Block part_tops(Attend *d)
{
	RowIters i = row_iters(d);
	const Tiling *r = &d->result;
	LocalId most = scalar(d, "most");
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, most, row_local(d, &i, d->tops)));
	add(r, &body, each_key(d, &i, one(d, stmt_set(d->arena, most, OP_MAX, own_seen(d, &i)))));
	PUSH(d->arena, body.stmts, store_part(d, &i, d->parts, read(d, most)));
	return row_threads(d, &i, body_block(&body));
}

/* What all parts have of the row, in their order. */
static const Value *all_parts(const Attend *d, Op which, const Ix *row)
{
	const Value *all = loaded(d, d->parts, part_at(d, ix_const(d->program, 0), row));
	for (int64_t p = 1; p < d->nparts; p++)
		all = op(d, which, all,
			 loaded(d, d->parts, part_at(d, ix_const(d->program, p), row)));
	return all;
}

/* weights = exp(seen - base), which are added up */
static void add_weights(Attend *d, Body *body, const RowIters *i, LocalId base, LocalId sum)
{
	LocalId weight = scalar(d, "weight");
	const Value *value = op(d, OP_EXP, op(d, OP_SUB, own_seen(d, i), read(d, base)), NULL);
	Body each = {0};
	PUSH(d->arena, each.stmts, stmt_local(d->arena, weight, value));
	PUSH(d->arena, each.stmts, store_weight(d, i, read(d, weight)));
	PUSH(d->arena, each.stmts, stmt_set(d->arena, sum, OP_ADD, read(d, weight)));
	add(&d->result, body, each_key(d, i, body_block(&each)));
}

static Block weigh(Attend *d)
{
	RowIters i = row_iters(d);
	const Tiling *r = &d->result;
	LocalId top = scalar(d, "most"), base = scalar(d, "base"), factor = scalar(d, "factor"),
		sum = scalar(d, "sum");
	const Value *hidden[] = {read(d, top), attend_real(d, -INFINITY)};
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, top, all_parts(d, OP_MAX, iter(r, i.row))));
	PUSH(d->arena, body.stmts,
	     stmt_local(d->arena, base, where(d, OP_EQ, hidden, zero(r), read(d, top))));
	PUSH(d->arena, body.stmts,
	     stmt_local(d->arena, factor,
			op(d, OP_EXP, op(d, OP_SUB, row_local(d, &i, d->tops), read(d, base)), NULL)));
	PUSH(d->arena, body.stmts, set(d, row_local(d, &i, d->tops), OP_NONE, read(d, top)));
	PUSH(d->arena, body.stmts, stmt_local(d->arena, sum, zero(r)));
	add_weights(d, &body, &i, base, sum);
	PUSH(d->arena, body.stmts,
	     set(d, row_local(d, &i, d->totals), OP_NONE,
		 op(d, OP_ADD, op(d, OP_MUL, row_local(d, &i, d->totals), read(d, factor)), read(d, sum))));
	PUSH(d->arena, body.stmts, store_part(d, &i, d->factors, read(d, factor)));
	return row_threads(d, &i, body_block(&body));
}

void attend_weights(Attend *d, Body *body)
{
	const Tiling *r = &d->result;
	add_barrier(r, body);
	add(r, body, part_tops(d));
	add_barrier(r, body);
	add(r, body, weigh(d));
}

/* ---- sums ---- */

static const Value *shared_factor(const Attend *d, const Ix *row)
{
	return loaded(d, d->factors,
		      part_at(d, ix_const(d->program, 0), row)); /* all parts have the same */
}

/* Of all weights, from their total; no number where that is none, whatever is made of it. */
static const Value *total_factor(const Attend *d, LocalId total, const Ix *row)
{
	const Tiling *r = &d->result;
	ValueTwin twin = {read(d, d->found->total), read(d, total)};
	const Value *factor =
		value_in_row(d, d->found->factor, kernel_iters(d->arena, d->kernel, 0),
			     tiling_side_at(r, &r->rows, row), twin);
	const Value *both[] = {read(d, total), read(d, total)};
	return where(d, OP_EQ, both, factor, attend_real(d, NAN));
}

/* element = element * factor, or divided by it */
static void add_scaled(Attend *d, Body *body, const Value *element, Op which, const Value *factor)
{
	LocalId local = scalar(d, "factor");
	PUSH(d->arena, body->stmts, stmt_local(d->arena, local, factor));
	PUSH(d->arena, body->stmts, set(d, element, OP_NONE, op(d, which, element, read(d, local))));
}

static Block scale_round(void *of, const Value *element, const Ix *row, const Ix *column)
{
	Attend *d = of;
	Body body = {0};
	(void)column;
	add_scaled(d, &body, element, OP_MUL, shared_factor(d, row));
	return body_block(&body);
}

static Block scale_all(void *of, const Value *element, const Ix *row, const Ix *column)
{
	Attend *d = of;
	LocalId total = scalar(d, "total");
	Body body = {0};
	(void)column;
	PUSH(d->arena, body.stmts, stmt_local(d->arena, total, all_parts(d, OP_ADD, row)));
	add_scaled(d, &body, element, d->found->divides ? OP_DIV : OP_MUL,
		   total_factor(d, total, row));
	return body_block(&body);
}

/* A row that sees no key has none: exp(-inf - -inf) is no number. */
static Block share_totals(Attend *d)
{
	RowIters i = row_iters(d);
	const Value *hidden[] = {row_local(d, &i, d->tops), attend_real(d, -INFINITY)};
	const Value *own =
		where(d, OP_EQ, hidden, attend_real(d, NAN), row_local(d, &i, d->totals));
	return row_threads(d, &i, one(d, store_part(d, &i, d->parts, own)));
}

void attend_sums(Attend *d, Body *body)
{
	Tiling *r = &d->result;
	add_barrier(r, body);
	add(r, body, tiling_each(r, &(ElementVisit){scale_round, d, false}));
	add(r, body, tiling_add_steps(r, number(r, 0), size_const(d->program->sizes, d->tile->keys)));
}

Block attend_if_keys(const Attend *d, Block body)
{
	const Tiling *s = &d->scores;
	Size keys = s->product->columns.extent;
	int64_t n;
	return size_is_const(d->program->sizes, keys, &n) && n > 0
		       ? body
		       : if_below(s, number(s, 0), sized(s, keys), body);
}

void attend_totals(Attend *d, Body *body)
{
	Tiling *r = &d->result;
	add(r, body, share_totals(d));
	add_barrier(r, body);
	add(r, body, attend_if_keys(d, tiling_each(r, &(ElementVisit){scale_all, d, false})));
}
