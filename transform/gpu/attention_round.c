/* What the threads of a block do in a round of attention: scores, weights, sums. */
#include <math.h>

#include "transform/gpu/attend.h"

static const Ix *count(const Attend *d, int64_t n)
{
	return ix_const(d->arena, d->program->sizes, n);
}

static const Value *loaded(const Attend *d, BufferId buffer, const Ix *at)
{
	return value_load(d->program, buffer, at);
}

static const Value *op(const Attend *d, Op which, const Value *a, const Value *b)
{
	const Value *args[] = {a, b};
	return value_op(d->arena, which, DTYPE_F32, args, b ? 2 : 1);
}

/* ---- elements of a thread's tile ---- */

typedef struct TileIters {
	IterVar row, column, row_quad, column_quad, i, j; /* threads; fours, and which of them */
} TileIters;

static TileIters tile_iters(Tiling *g)
{
	return (TileIters){tiling_iter(g, "thread"), tiling_iter(g, "lane"), tiling_iter(g, "quad"),
			   tiling_iter(g, "quad"),   tiling_iter(g, "i"),    tiling_iter(g, "j")};
}

static const Value *sum_of(const Tiling *g, const TileIters *t)
{
	const Ix *at[] = {iter(g, t->row), iter(g, t->column),
			  plus(g, times(g, iter(g, t->row_quad), QUAD), iter(g, t->i)),
			  plus(g, times(g, iter(g, t->column_quad), QUAD), iter(g, t->j))};
	return tiling_element(g, g->sums, at);
}

static const Ix *row_of(const Tiling *g, const TileIters *t)
{
	return plus(g, tiling_quad_at(g, &g->rows, t->row, iter(g, t->row_quad)), iter(g, t->i));
}

/* Where the thread's column j is in the tile. */
static const Ix *column_of(const Tiling *g, const TileIters *t)
{
	return plus(g, tiling_quad_at(g, &g->columns, t->column, iter(g, t->column_quad)), iter(g, t->j));
}

static Block each_row(const Tiling *g, const TileIters *t, Block body)
{
	body = loop_of(g, LOOP_UNROLL, t->i, QUAD, body);
	return loop_of(g, LOOP_UNROLL, t->row_quad, g->tile->thread_rows / QUAD, body);
}

static Block each_column(const Tiling *g, const TileIters *t, Block body)
{
	body = loop_of(g, LOOP_UNROLL, t->j, QUAD, body);
	return loop_of(g, LOOP_UNROLL, t->column_quad, g->tile->thread_columns / QUAD, body);
}

static const Stmt *set(const Attend *d, const Value *to, Op acc, const Value *value)
{
	return stmt_set_at(d->arena, to, acc, value);
}

static Block one(const Attend *d, const Stmt *stmt) { return block_one(d->arena, stmt); }

/* ---- scores ---- */

/* What the row sees of a sum, which is one of the thread's. */
static const Value *seen_of(const Attend *d, const TileIters *t, const Ix *row, const Ix *key)
{
	const Tiling *s = &d->scores;
	const Ix **iters = kernel_iters(d->arena, d->kernel, 0);
	iters[d->found->row] = row;
	iters[d->found->key] = key;
	ValueTwin twin = {value_local(d->arena, d->kernel, s->product->declared->local, NULL, 0),
			  sum_of(s, t)};
	Rewrite rewrite = {.program = d->program,
			   .iters = iters,
			   .values = &twin,
			   .nvalues = 1,
			   .span = d->kernel->span};
	return rewrite_alone(&rewrite, d->found->seen);
}

static Block clear_scores(Attend *d)
{
	Tiling *s = &d->scores;
	TileIters t = tile_iters(s);
	Block body = one(d, set(d, sum_of(s, &t), OP_NONE, zero(s)));
	body = each_row(s, &t, each_column(s, &t, body));
	return tiling_threads(s, t.row, t.column, body);
}

/* scores = seen of them; behind the last key -inf. */
static Block see_scores(Attend *d)
{
	Tiling *s = &d->scores;
	TileIters t = tile_iters(s);
	const Ix *row = plus(s, times(s, iter(s, s->rows.tile), d->tile->rows), row_of(s, &t));
	const Ix *key = plus(s, times(s, iter(s, d->round), d->tile->keys), column_of(s, &t));
	const Ix *rows = sized(s, s->product->rows.extent), *keys = sized(s, s->product->columns.extent);
	const Value *score = sum_of(s, &t);
	Body body = {0};
	Block seen = one(d, set(d, score, OP_NONE, seen_of(d, &t, row, key)));
	add(s, &body, if_below(s, row, rows, if_below(s, key, keys, seen)));
	Cond behind = {COND_LE, keys, key};
	add(s, &body, one(d, stmt_if_one(d->arena, behind,
					 one(d, set(d, score, OP_NONE, attend_real(d, -INFINITY))))));
	Block all = each_row(s, &t, each_column(s, &t, body_block(&body)));
	return tiling_threads(s, t.row, t.column, all);
}

static const Ix *weight_at(const Attend *d, const Ix *key, const Ix *row)
{
	return ix_add(d->program, ix_mul(d->program, key, count(d, d->result.rows.pitch)), row);
}

static Block store_scores(Attend *d)
{
	Tiling *s = &d->scores;
	TileIters t = tile_iters(s);
	const Ix *at = weight_at(d, column_of(s, &t), row_of(s, &t));
	Block body = one(d, stmt_store(d->arena, d->weights, at, OP_NONE, sum_of(s, &t)));
	body = each_column(s, &t, each_row(s, &t, body));
	return tiling_threads(s, t.row, t.column, body);
}

void attend_scores(Attend *d, Body *body)
{
	Tiling *s = &d->scores;
	add(s, body, clear_scores(d));
	add(s, body, tiling_add_steps(s, number(s, 0), s->product->sum.extent));
	add(s, body, see_scores(d));
	add(s, body, store_scores(d));
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
	return ix_add(d->program, ix_mul(d->program, part, count(d, d->tile->rows)), row);
}

static const Ix *own_weight(const Attend *d, const RowIters *i)
{
	const Tiling *r = &d->result;
	const Ix *key = plus(r, times(r, iter(r, i->part), d->tile->keys / d->nparts), iter(r, i->key));
	return weight_at(d, key, iter(r, i->row));
}

static Block each_key(const Attend *d, const RowIters *i, Block body)
{
	return loop_of(&d->result, LOOP_SERIAL, i->key, d->tile->keys / d->nparts, body);
}

static LocalId scalar(Attend *d, const char *name)
{
	return tiling_local(&d->result, (KernelLocal){.name = name});
}

static const Value *read(const Attend *d, LocalId local)
{
	return value_local(d->arena, d->kernel, local, NULL, 0);
}

/* parts = the greatest of the part's weights and the maximum so far */
static Block part_tops(Attend *d)
{
	RowIters i = row_iters(d);
	const Tiling *r = &d->result;
	LocalId most = scalar(d, "most");
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, most, row_local(d, &i, d->tops)));
	add(r, &body, each_key(d, &i, one(d, stmt_set(d->arena, most, OP_MAX, loaded(d, d->weights, own_weight(d, &i))))));
	PUSH(d->arena, body.stmts,
	     stmt_store(d->arena, d->parts, part_at(d, iter(r, i.part), iter(r, i.row)), OP_NONE,
			read(d, most)));
	return row_threads(d, &i, body_block(&body));
}

/* What all parts have of the row, in their order. */
static const Value *all_parts(const Attend *d, Op which, const Ix *row)
{
	const Value *all = loaded(d, d->parts, part_at(d, count(d, 0), row));
	for (int64_t p = 1; p < d->nparts; p++)
		all = op(d, which, all, loaded(d, d->parts, part_at(d, count(d, p), row)));
	return all;
}

/* weights = exp(weights - base), which are added up */
static void add_weights(Attend *d, Body *body, const RowIters *i, LocalId base, LocalId sum)
{
	LocalId weight = scalar(d, "weight");
	const Ix *at = own_weight(d, i);
	const Value *value = op(d, OP_EXP, op(d, OP_SUB, loaded(d, d->weights, at), read(d, base)), NULL);
	Body each = {0};
	PUSH(d->arena, each.stmts, stmt_local(d->arena, weight, value));
	PUSH(d->arena, each.stmts, stmt_store(d->arena, d->weights, at, OP_NONE, read(d, weight)));
	PUSH(d->arena, each.stmts, stmt_set(d->arena, sum, OP_ADD, read(d, weight)));
	add(&d->result, body, each_key(d, i, body_block(&each)));
}

static Block weigh(Attend *d)
{
	RowIters i = row_iters(d);
	const Tiling *r = &d->result;
	LocalId top = scalar(d, "most"), base = scalar(d, "base"), factor = scalar(d, "factor"),
		sum = scalar(d, "sum");
	const Value *lowest = attend_real(d, -INFINITY);
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, top, all_parts(d, OP_MAX, iter(r, i.row))));
	const Value *hidden[] = {value_op(d->arena, OP_EQ, DTYPE_F32, (const Value *[]){read(d, top), lowest}, 2),
				 zero(r), read(d, top)};
	PUSH(d->arena, body.stmts,
	     stmt_local(d->arena, base, value_op(d->arena, OP_WHERE, DTYPE_F32, hidden, 3)));
	PUSH(d->arena, body.stmts,
	     stmt_local(d->arena, factor,
			op(d, OP_EXP, op(d, OP_SUB, row_local(d, &i, d->tops), read(d, base)), NULL)));
	PUSH(d->arena, body.stmts, set(d, row_local(d, &i, d->tops), OP_NONE, read(d, top)));
	PUSH(d->arena, body.stmts, stmt_local(d->arena, sum, zero(r)));
	add_weights(d, &body, &i, base, sum);
	PUSH(d->arena, body.stmts,
	     set(d, row_local(d, &i, d->totals), OP_NONE,
		 op(d, OP_ADD, op(d, OP_MUL, row_local(d, &i, d->totals), read(d, factor)), read(d, sum))));
	PUSH(d->arena, body.stmts,
	     stmt_store(d->arena, d->factors, part_at(d, iter(r, i.part), iter(r, i.row)), OP_NONE,
			read(d, factor)));
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

/* sums = sums * factor of the row, of a thread's rows. */
static Block scale_sums(Attend *d, Op which, const Value *(*factor)(const Attend *d, const Ix *row))
{
	Tiling *r = &d->result;
	TileIters t = tile_iters(r);
	LocalId local = scalar(d, "factor");
	Body body = {0};
	PUSH(d->arena, body.stmts, stmt_local(d->arena, local, factor(d, row_of(r, &t))));
	add(r, &body, each_column(r, &t, one(d, set(d, sum_of(r, &t), OP_NONE, op(d, which, sum_of(r, &t), read(d, local))))));
	return tiling_threads(r, t.row, t.column, each_row(r, &t, body_block(&body)));
}

static const Value *shared_factor(const Attend *d, const Ix *row)
{
	return loaded(d, d->factors, part_at(d, count(d, 0), row)); /* all parts have the same */
}

/* Of all weights, from their total. */
static const Value *total_factor(const Attend *d, const Ix *row)
{
	ValueTwin twin = {value_local(d->arena, d->kernel, d->found->total, NULL, 0),
			  all_parts(d, OP_ADD, row)};
	const Ix **iters = kernel_iters(d->arena, d->kernel, 0);
	iters[d->found->row] = plus(&d->result, times(&d->result, iter(&d->result, d->result.rows.tile), d->tile->rows), row);
	Rewrite rewrite = {.program = d->program,
			   .iters = iters,
			   .values = &twin,
			   .nvalues = 1,
			   .span = d->kernel->span};
	return rewrite_alone(&rewrite, d->found->factor);
}

static Block share_totals(Attend *d)
{
	RowIters i = row_iters(d);
	const Tiling *r = &d->result;
	const Stmt *own = stmt_store(d->arena, d->parts, part_at(d, iter(r, i.part), iter(r, i.row)),
				     OP_NONE, row_local(d, &i, d->totals));
	return row_threads(d, &i, one(d, own));
}

void attend_sums(Attend *d, Body *body)
{
	Tiling *r = &d->result;
	add_barrier(r, body);
	add(r, body, scale_sums(d, OP_MUL, shared_factor));
	add(r, body, tiling_add_steps(r, number(r, 0), size_const(d->program->sizes, d->tile->keys)));
}

void attend_totals(Attend *d, Body *body)
{
	const Tiling *r = &d->result;
	add(r, body, share_totals(d));
	add_barrier(r, body);
	add(r, body, scale_sums(d, d->found->divides ? OP_DIV : OP_MUL, total_factor));
}
