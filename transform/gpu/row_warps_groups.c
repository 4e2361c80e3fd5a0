/* Sums over groups of a row, for each of which something is read once, such as the scale of weights of four bits:
 *
 *   for g in 0..n                                      for k in 0..n*32
 *     for k in 0..32                             ->      acc += w[j*n*32 + k] * x[k] * d[j*n + g]        where g = k/32
 *       acc += w[j*n*32 + g*32 + k] * x[g*32 + k] * d[j*n + g]
 *
 * g is an iterator that no loop has then, and the same for neighbours that are read at once (wide.c). Loops that all loads go through
 * as through one are one, too.
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "transform/gpu/row_warps.h"

enum { LOADS_MOST = 8 };

typedef struct Groups {
	Program *program;
	const Stmt *outer, *inner;
	ValueTwin twins[LOADS_MOST]; /* loads of an element, by both iterators, and by that of the row */
	uint32_t n;
	bool any, wrong; /* any: some are of a group */
	Size extent;	 /* of both */
} Groups;

static void see_value(void *of, const Value *value)
{
	Groups *g = of;
	bool outer = value->ix && ix_uses(value->ix, g->outer->iter);
	bool inner = value->ix && ix_uses(value->ix, g->inner->iter);
	if (value->kind != VALUE_LOAD) {
		g->wrong |= outer || inner;
		return;
	}
	g->any |= outer && !inner;
	if (!inner)
		return;
	g->wrong |= g->n == LOADS_MOST || !ix_goes_on(g->program, value->ix, g->outer, g->inner);
	const Ix *ix = g->wrong ? NULL : ix_without(g->program, value->ix, g->outer->iter);
	if (ix)
		g->twins[g->n++] = (ValueTwin){value, value_load(g->program, value->buffer, ix)};
}

static const Value *of_row(const RowWarps *w, const Groups *g)
{
	Rewrite rewrite = {.program = w->program,
			   .iters = kernel_iters(w->arena, w->kernel, 0),
			   .values = g->twins,
			   .nvalues = g->n,
			   .span = w->kernel->span};
	return rewrite_alone(&rewrite, w->sum.set->value);
}

/* Are the two innermost loops as one? */
static bool may_join(const RowWarps *w, Groups *g)
{
	Sizes *sizes = w->program->sizes;
	uint32_t n = w->wide.n;
	int64_t each;
	if (n < 2 || w->wide.each)
		return false;
	*g = (Groups){.program = w->program,
		      .outer = w->wide.loops[n - 2],
		      .inner = w->wide.loops[n - 1]};
	value_each(w->sum.set->value, see_value, g);
	g->extent = size_mul(sizes, g->outer->hi->size, g->inner->hi->size);
	return !g->wrong && !size_is_bad(g->extent) &&
	       (!g->any || size_is_const(sizes, g->inner->hi->size, &each));
}

/* A statement to be looked at, which no kernel has. */
static Stmt *looked_at(const RowWarps *w, const Stmt *stmt)
{
	Stmt *copy = ARENA_NEW(w->arena, Stmt);
	*copy = *stmt;
	return copy;
}

static void join(RowWarps *w, const Groups *g)
{
	Stmt *set = looked_at(w, w->sum.set), *loop = looked_at(w, g->inner);
	set->value = of_row(w, g);
	loop->body = block_one(w->arena, set);
	loop->hi = ix_size(w->arena, g->extent);
	w->sum.set = set;
	w->wide.loops[w->wide.n-- - 2] = loop;
	w->wide.group = g->outer->iter;
	if (g->any)
		size_is_const(w->program->sizes, g->inner->hi->size, &w->wide.each);
}

void row_warps_join_loops(RowWarps *w)
{
	Groups g;
	while (may_join(w, &g))
		join(w, &g);
}

/* Puts the factors into two products, NULL being 1. */
static void split(const RowWarps *w, const Value *value, const Value **same, const Value **rest)
{
	if (value->kind == VALUE_OP && value->op == OP_MUL) {
		split(w, value->args[0], same, rest);
		split(w, value->args[1], same, rest);
		return;
	}
	const Value **to = value_uses_iter(value, row_warps_loop(w)->iter) ? rest : same;
	*to = *to ? value_binary(w->arena, OP_MUL, *to, value) : value;
}

void row_warps_split_terms(RowWarps *w)
{
	const Value *same = NULL, *others = NULL;
	const Stmt *set = w->sum.set;
	bool may = w->wide.each && w->t->options->tensor_cores && set->acc == OP_ADD &&
		   set->value->dtype == DTYPE_F32;
	if (may)
		split(w, set->value, &same, &others);
	w->scale = others ? same : NULL;
	w->term = w->scale ? others : set->value;
}
