/* Pieces of a concatenation in the same loops.
 *
 *   for i in 0..n: y[2*i] = a[i] + b[i]                 for i in 0..n
 *   for i in 0..n: y[2*i + 1] = a[i] - b[i]      ->       y[2*i] = a[i] + b[i]
 *                                                         y[2*i + 1] = a[i] - b[i]
 *
 * where each stores elements of its own and none reads what they store. Loops become one where they go alike, and read
 * the same tensor or store elements of the same lines. What copies rows stays a loop of its own.
 */
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "lower/kernel.h"

typedef struct Join {
	Gen *gen;
	const Ix **iters; /* of the later loops, as those of the earlier ones */
} Join;

static bool is_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->body.n > 0;
}

static bool bounds_alike(const Join *j, const Stmt *a, const Stmt *b)
{
	Rewrite rewrite = {.program = j->gen->program, .iters = j->iters};
	return a->step == b->step && ix_same(a->lo, rewrite_ix(&rewrite, b->lo)) &&
	       ix_same(a->hi, rewrite_ix(&rewrite, b->hi));
}

/* Are both loops around one statement each, down to the same depth, with the same bounds? */
static bool go_alike(const Join *j, const Stmt *a, const Stmt *b)
{
	if (!is_loop(a) || !is_loop(b) || !bounds_alike(j, a, b))
		return false;
	j->iters[b->iter] = ix_iter(j->gen->arena, a->iter);
	const Stmt *in = a->body.stmts[0], *other = b->body.stmts[0];
	if (!is_loop(in) && !is_loop(other))
		return true;
	return a->body.n == 1 && b->body.n == 1 && go_alike(j, in, other);
}

static const Stmt *joined(Join *j, const Stmt *a, const Stmt *b)
{
	Arena *arena = j->gen->arena;
	Body body = {0};
	if (is_loop(a->body.stmts[0])) {
		PUSH(arena, body.stmts, joined(j, a->body.stmts[0], b->body.stmts[0]));
		return stmt_with(arena, a, body_block(&body));
	}
	Rewrite rewrite = {.program = j->gen->program, .iters = j->iters};
	gen_append(j->gen, &body, a->body);
	gen_append(j->gen, &body, rewrite_block(&rewrite, b->body));
	return stmt_with(arena, a, body_block(&body));
}

/* ---- what they touch ---- */

typedef struct Reads {
	const Value *value; /* of the other */
	bool same;	    /* both load from a buffer */
} Reads;

static void see_load(void *of, const Value *value)
{
	Reads *r = of;
	r->same |= value->kind == VALUE_LOAD && value_loads(r->value, value->buffer);
}

/* Are neighbours of the innermost loop neighbours in the result? */
static bool stores_rows(const Nest *nest)
{
	return ix_moves_by(nest->gen->program, nest->at, nest->loops[nest->nloops - 1].var, 1);
}

/* Is it rows of another tensor, which may be stored there in the first place (transform/elide.c)? */
static bool copies_rows(const Nest *nest)
{
	return nest->value->kind == VALUE_LOAD && stores_rows(nest);
}

static bool lie_together(const Nest *a, const Nest *b)
{
	Reads reads = {.value = b->value};
	value_each(a->value, see_load, &reads);
	return (reads.same || (!stores_rows(a) && !stores_rows(b))) && !copies_rows(a) &&
	       !copies_rows(b);
}

static bool stores_elements(const PlannedNest *planned)
{
	const Nest *nest = &planned->nest;
	return planned->plan.form == NEST_STORES && !planned->plan.sums && !planned->plan.cuts &&
	       !nest->phases && nest->nloops > 0 && nest->guards.n == 0 && nest->inner.n == 0 &&
	       nest->copies.n == 0 && nest->target.acc == OP_NONE &&
	       !value_loads(nest->value, nest->target.buffer);
}

bool nests_may_join(const PlannedNest *a, const PlannedNest *b)
{
	return stores_elements(a) && stores_elements(b) && lie_together(&a->nest, &b->nest);
}

void nests_append(Gen *gen, Body *body, Block later)
{
	size_t n = body->stmts.n;
	Join j = {.gen = gen, .iters = ARENA_ARRAY(gen->arena, const Ix *, gen->frame.iters.n + 1)};
	for (IterVar i = 0; i < gen->frame.iters.n; i++)
		j.iters[i] = ix_iter(gen->arena, i);
	if (n > 0 && later.n == 1 && go_alike(&j, body->stmts.at[n - 1], later.stmts[0]))
		body->stmts.at[n - 1] = joined(&j, body->stmts.at[n - 1], later.stmts[0]);
	else
		gen_append(gen, body, later);
}
