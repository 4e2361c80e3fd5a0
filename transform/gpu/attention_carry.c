/* Three kernels that are attention, in the tables of the last: its iterators of rows and batch are theirs. */
#include <math.h>

#include "base/diag.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/attention.h"

typedef struct Carry {
	Program *program;
	Arena *arena;
	Attention *found;
} Carry;

/* The block of one kernel in the terms of the last. */
static Block carry(const Carry *c, const Kernel *from, Block block, const SameIters *same)
{
	const Ix **iters = kernel_iters(c->arena, from, c->found->kernel.niters);
	for (uint32_t i = 0; i < same->n; i++)
		iters[same->of[i]] = ix_iter(c->arena, same->to[i]);
	return kernel_append(c->program, &c->found->kernel, from, block, iters);
}

/* ---- the softmax ---- */

/* Rewrites `seen` and `factor` into the last kernel's terms. */
static void carry_softmax(const Carry *c)
{
	Attention *a = c->found;
	const Softmax *s = &c->found->parts->softmax;
	Body body = {0};
	PUSH(c->arena, body.stmts, stmt_local(c->arena, s->top, s->seen));
	PUSH(c->arena, body.stmts, stmt_local(c->arena, s->total, s->factor));
	Block block = carry(c, s->kernel, body_block(&body), &c->found->parts->of_softmax);
	a->seen = block.stmts[0]->value;
	a->factor = block.stmts[1]->value;
	a->total = block.stmts[1]->local;
	a->divides = s->divides;
}

/* ---- the scores ---- */

/* The loops of the scores' own grid, in their order, which says what are rows of the product. */
static Block in_loops(const Carry *c, Block body)
{
	const AttentionParts *parts = c->found->parts;
	const SameIters *same = &parts->of_scores;
	const Stmt *loops[GRID_LOOPS];
	for (uint32_t i = grid_loops(parts->scores, loops); i-- > 0;) {
		Stmt *loop = stmt_with(c->arena, loops[i], body);
		for (uint32_t k = 0; k < same->n; k++)
			if (same->of[k] == loops[i]->iter)
				loop->iter = same->to[k];
		body = block_one(c->arena, loop);
	}
	return body;
}

static void carry_scores(const Carry *c)
{
	Attention *a = c->found;
	const AttentionParts *parts = a->parts;
	Block body = carry(c, parts->scores, grid_body(parts->scores), &parts->of_scores);
	Kernel alone = a->kernel;
	alone.body = in_loops(c, body);
	if (!product_of(c->program, &alone, &a->scores))
		BUG("scores that are no product with other iterators");
}

/* What a product stores, of its sum alone. */
static const Value *stored_value(const Carry *c, const Product *product)
{
	uint32_t n = (uint32_t)product->rest.stmts.n;
	ValueTwin *twins = ARENA_ARRAY(c->arena, ValueTwin, n + 1);
	Rewrite rewrite = {.program = c->program,
			   .iters = kernel_iters(c->arena, &c->found->kernel, 0),
			   .values = twins};
	const Value *stored = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const Stmt *stmt = product->rest.stmts.at[i];
		const Value *value = rewrite_alone(&rewrite, stmt->value);
		if (stmt->kind == LOOP_STORE)
			stored = value;
		else
			twins[rewrite.nvalues++] = (ValueTwin){
				value_local(c->arena, &c->found->kernel, stmt->local, NULL, 0), value};
	}
	return stored;
}

typedef struct Load {
	BufferId buffer;
	const Value *at;
} Load;

static void see_load(void *of, const Value *value)
{
	Load *load = of;
	if (value->kind == VALUE_LOAD && value->buffer == load->buffer)
		load->at = value;
}

/* The score where it is loaded. */
static void put_score(const Carry *c)
{
	Attention *a = c->found;
	Load load = {.buffer = a->buffers[0]};
	value_each(a->seen, see_load, &load);
	ValueTwin twin = {load.at, stored_value(c, &a->scores)};
	Rewrite rewrite = {.program = c->program,
			   .iters = kernel_iters(c->arena, &a->kernel, 0),
			   .values = &twin,
			   .nvalues = 1};
	a->seen = rewrite_alone(&rewrite, a->seen);
}

/* ---- masks ---- */

/* A value that is an index, or sums and differences of such; NULL: it is not. */
static const Ix *index_of(const Carry *c, const Value *value)
{
	if (value->kind == VALUE_INDEX)
		return value->ix;
	if (value->kind == VALUE_CONST && dtype_is_integer(value->dtype))
		return ix_const(c->program, value->constant.i);
	if (value->kind != VALUE_OP || (value->op != OP_ADD && value->op != OP_SUB))
		return NULL;
	const Ix *a = index_of(c, value->args[0]), *b = index_of(c, value->args[1]);
	int64_t sign = value->op == OP_ADD ? 1 : -1;
	return a && b ? ix_add(c->program, a, ix_times(c->program, b, sign)) : NULL;
}

/* Of `high >= low`, however it is written: high - low; NULL: it is no such comparison. */
static const Ix *between_of(const Carry *c, const Value *cond)
{
	bool is = cond->kind == VALUE_OP && (cond->op == OP_GE || cond->op == OP_LE ||
					     cond->op == OP_GT || cond->op == OP_LT);
	if (!is || !dtype_is_integer(cond->args[0]->dtype))
		return NULL;
	bool swapped = cond->op == OP_LE || cond->op == OP_LT;
	const Ix *high = index_of(c, cond->args[swapped]), *low = index_of(c, cond->args[!swapped]);
	if (!high || !low)
		return NULL;
	if (cond->op == OP_GT || cond->op == OP_LT)
		high = ix_plus(c->program, high, -1);
	return ix_minus(c->program, high, low);
}

/* where(row + n >= key, ..., -inf): n. */
static const Ix *seen_up_to(const Carry *c, const Value *seen)
{
	const Attention *a = c->found;
	if (seen->kind != VALUE_OP || seen->op != OP_WHERE ||
	    seen->args[2]->kind != VALUE_CONST || seen->args[2]->constant.f != -INFINITY)
		return NULL;
	const Value *cond = seen->args[0];
	while (cond->kind == VALUE_CAST)
		cond = cond->args[0];
	const Ix *between = between_of(c, cond);
	if (!between || !ix_moves_by(c->program, between, a->row, 1) ||
	    !ix_moves_by(c->program, between, a->key, -1))
		return NULL;
	const Ix *row = ix_times(c->program, ix_iter(c->arena, a->row), -1);
	return ix_add(c->program, ix_add(c->program, between, row), ix_iter(c->arena, a->key));
}

void attention_carry(const Joins *j, Attention *a)
{
	Carry c = {j->program, j->program->arena, a};
	carry_softmax(&c);
	carry_scores(&c);
	put_score(&c);
	a->seen_up_to = seen_up_to(&c, a->seen);
}
