/* Guards: what must hold of the symbolic sizes for the solution to be right.
 *
 * They are read off the finished solution, in the order of the program: every size that is written
 * must be the size of its class, every relation must hold of the sizes that its cells have, every
 * require must hold. What holds for all values is no guard. guards_reduce.c keeps those that others
 * do not imply.
 */
#include "base/integer.h"
#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_program.h"
#include "infer/cells.h"
#include "infer/guards.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/trail.h"

#include "infer/affine.h"
#include "infer/generate.h"
#include "infer/trace.h"

typedef struct Collector {
	Solver *s;
	Guards found;
	int64_t *zeros; /* by DimId */
} Collector;

/* The product of the numbers that a divides by; 0: by something that is no number, or too large. */
static int64_t denominator(Collector *c, Size a, bool *quotient)
{
	SizeOp *ops;
	int64_t by = 1;
	size_t n = size_program(c->s->arena, c->s->sizes, a, &ops);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].code != SIZE_DIV)
			continue;
		*quotient = true;
		if (ops[i - 1].code != SIZE_CONST ||
		    __builtin_mul_overflow(by, ops[i - 1].arg, &by))
			by = 0;
	}
	return by;
}

/* 2 | n/8 is 16 | n: that the quotient is exact has a guard of its own, which follows from this. */
static void clear_quotient(Collector *c, Guard *g, int64_t *by)
{
	bool quotient = false, again = false;
	int64_t of = denominator(c, g->a, &quotient), product;
	if (!quotient || of == 0 || __builtin_mul_overflow(*by, of, &product))
		return;
	Size whole = size_scale(c->s->sizes, g->a, of);
	if (size_is_bad(whole) || (denominator(c, whole, &again), again))
		return;
	g->a = whole;
	*by = product;
}

/* b | a for a constant b, in least terms: 2*n - 4 by 4 is n by 2, as is 3*n by 2. */
static void simplify_divides(Collector *c, Guard *g)
{
	Sizes *sizes = c->s->sizes;
	int64_t by, rest;
	if (!size_is_const(sizes, g->b, &by) || by < 2)
		return;
	clear_quotient(c, g, &by);
	if (size_eval(sizes, g->a, c->zeros, &rest)) /* its constant: as a remainder */
		g->a = size_plus(sizes, g->a, (rest % by + by) % by - rest);
	for (int64_t p = 2; p <= 64; p++) {
		/* falls: coefficients */
		while ((by % p == 0 || greatest_divisor(by, p) == 1) && !size_is(sizes, g->a, 0) &&
		       size_divides(sizes, size_const(sizes, p), g->a)) {
			g->a = size_div(sizes, g->a, size_const(sizes, p));
			by /= by % p == 0 ? p : 1;
		}
	}
	g->b = size_const(sizes, by);
}

/* n - 4 >= 0 is n >= 4, where that is shorter. */
static void move_constant(Collector *c, Size *varying, Size *number)
{
	Sizes *sizes = c->s->sizes;
	SizeOp *ops;
	int64_t constant;
	if (!size_eval(sizes, *varying, c->zeros, &constant) || constant == 0)
		return;
	Size rest = size_plus(sizes, *varying, -constant);
	if (size_is_bad(rest) || size_program(c->s->arena, sizes, rest, &ops) >=
					 size_program(c->s->arena, sizes, *varying, &ops))
		return;
	*varying = rest;
	*number = size_plus(sizes, *number, -constant);
}

/* 2*n >= 3 is n >= 2, and 7 >= 2*n is 3 >= n. */
static void simplify_ge(Collector *c, Guard *g)
{
	Sizes *sizes = c->s->sizes;
	int64_t number, value;
	bool least = size_is_const(sizes, g->b, &number);
	if (least == size_is_const(sizes, g->a, &value))
		return;
	Size *varying = least ? &g->a : &g->b, *constant = least ? &g->b : &g->a;
	move_constant(c, varying, constant);
	if (!size_is_const(sizes, *constant, &number))
		return;
	for (int64_t p = 2; p <= 64; p++) {
		/* falls: coefficients of what is no constant */
		while (size_divides(sizes, size_const(sizes, p), *varying)) {
			*varying = size_div(sizes, *varying, size_const(sizes, p));
			number = number / p + (least ? number % p > 0 : -(number % p < 0));
		}
	}
	*constant = size_const(sizes, number);
}

/* 2*n = 6 is n = 3, and n = 5*n is n = 0. */
static void simplify_eq(Sizes *sizes, Guard *g)
{
	Size more = size_sub(sizes, g->a, g->b);
	more = size_ge(sizes, g->a, g->b) ? more : size_scale(sizes, more, -1);
	DimId dim;
	for (int64_t p = 2; p <= 64; p++) {
		/* falls: the coefficient */
		while (!size_is(sizes, more, 0) && size_divides(sizes, size_const(sizes, p), more))
			more = size_div(sizes, more, size_const(sizes, p));
	}
	if (size_is_dim(sizes, more, &dim)) {
		g->a = more;
		g->b = size_const(sizes, 0);
	}
	for (int64_t p = 2; p <= 64; p++) {
		Size by = size_const(sizes, p);
		/* falls: coefficients */
		while (!size_is(sizes, g->a, 0) && !size_is(sizes, g->b, 0) &&
		       size_divides(sizes, by, g->a) && size_divides(sizes, by, g->b)) {
			g->a = size_div(sizes, g->a, by);
			g->b = size_div(sizes, g->b, by);
		}
	}
}

static void guard_add(Collector *c, Guard g)
{
	if (!guard_over_steps(c->s, &g))
		return;
	if (g.kind == GUARD_EQ && !size_is_bad(g.a) && !size_is_bad(g.b))
		simplify_eq(c->s->sizes, &g);
	if (g.kind == GUARD_GE && !size_is_bad(g.a) && !size_is_bad(g.b))
		simplify_ge(c, &g);
	if (g.kind == GUARD_DIVIDES && !size_is_bad(g.a) && !size_is_bad(g.b))
		simplify_divides(c, &g);
	if (g.kind == GUARD_DIVIDES && !size_is_bad(g.b) &&
	    !size_ge(c->s->sizes, g.b, size_const(c->s->sizes, 1)))
		guard_add(c, (Guard){.kind = GUARD_GE,
				     .a = g.b,
				     .b = size_const(c->s->sizes, 1),
				     .span = g.span,
				     .other = g.other});
	if (size_is_bad(g.a) || size_is_bad(g.b)) {
		Conflict *large = conflict_new(c->s, CONFLICT_LARGE_GUARD, NONE);
		large->span = g.span;
		large->limit = sizes_limit_text(c->s->sizes);
		return;
	}
	if (!guard_holds(c->s->sizes, &g))
		PUSH(c->s->arena, c->found, g);
}

static void ask_of_con(Collector *c, GuardKind kind, Size a, Size b, const Con *con)
{
	guard_add(c, (Guard){.kind = kind,
			     .a = a,
			     .b = b,
			     .span = con->span,
			     .other = SPAN_NONE,
			     .relation = (uint32_t)(con - c->s->cons.at) + 1});
}

/* Where the size of an axis is written that is read or written from a named place on; SPAN_NONE:
 * another relation. */
static Span axis_written(Solver *s, const Con *con)
{
	bool named = con->axis && con->kind == CON_ADD;
	for (uint32_t i = 0; con->kind == CON_CONCAT && con->axis && i < con->axis->nparts; i++)
		named |= con->axis->parts[i].extent != NULL || con->axis->parts[i].rest;
	return named ? origin_near(s, con->cells[0]).span : SPAN_NONE;
}

static void not_negative(Collector *c, Size a, const Con *con)
{
	ask_of_con(c, GUARD_GE, a, size_const(c->s->sizes, 0), con);
}

/* ---- what the constraints ask for ---- */

static void ask_affine(Collector *c, ConId id)
{
	Solver *s = c->s;
	const Con *con = &s->cons.at[id];
	const SpecAxis *axis = con->axis;
	Size in = cell_value(s, con->cells[0]), over = cell_value(s, con->cells[1]);
	Size k = con->cells[2] == NONE ? SIZE_BAD : cell_value(s, con->cells[2]);
	bool rounds = axis->mark == MARK_VALID_FLOOR || axis->mark == MARK_PADDED_CEIL;
	bool valid = axis->kernel && (axis->mark == MARK_VALID || axis->mark == MARK_VALID_FLOOR);
	Size window = affine_window(s->sizes, axis, k);
	if (!affine_fits(s, id))
		return;
	const Why *why = &cell_at(s, con->cells[0])->why;
	if (why->kind == WHY_SYSTEM)
		why = &(Why){.con = NONE};
	if (why->con == id) /* found from the others; in rounded steps it was chosen */
		not_negative(c, in, con);
	if (why->con == id && !rounds)
		return;
	why = con->cells[2] == NONE ? why : &cell_at(s, con->cells[2])->why;
	if (valid && !rounds && why->kind == WHY_RELATION && &s->cons.at[why->con] == con) {
		Size last = size_scale(s->sizes, size_plus(s->sizes, over, -1), axis->stride);
		Size span =
			size_plus(s->sizes, size_sub(s->sizes, in, last), -1 - affine_lead(axis));
		not_negative(c, size_plus(s->sizes, span, axis->dilation), con);
		ask_of_con(c, GUARD_DIVIDES, span, size_const(s->sizes, axis->dilation), con);
		return;
	}
	if (!size_is_bad(window))
		ask_of_con(c, GUARD_GE, in, size_plus(s->sizes, window, -axis->stride), con);
	if (!rounds)
		ask_of_con(c, GUARD_DIVIDES, affine_dividend(s->sizes, axis, in, k),
			   size_const(s->sizes, axis->stride), con);
	ask_of_con(c, GUARD_EQ, over, affine_over(s->sizes, axis, in, k), con);
}

/* A part that stands several times, found from the rest: that divides. */
static void ask_repeated(Collector *c, const Con *con, CellId part)
{
	Solver *s = c->s;
	const Why *why = &cell_at(s, part)->why;
	int64_t number;
	if (why->kind != WHY_RELATION || &s->cons.at[why->con] != con ||
	    size_is_const(s->sizes, cell_value(s, part), &number))
		return;
	Size rest = size_plus(s->sizes, cell_value(s, con->cells[0]), -con->number);
	int64_t times = 0;
	for (uint32_t i = 1; i < con->ncells; i++) {
		if (cell_root(s, con->cells[i]) == cell_root(s, part))
			times++;
		else
			rest = size_sub(s->sizes, rest, cell_value(s, con->cells[i]));
	}
	if (times > 1)
		ask_of_con(c, GUARD_DIVIDES, rest, size_const(s->sizes, times), con);
}

static void ask_sum(Collector *c, const Con *con)
{
	Solver *s = c->s;
	Size sum = size_const(s->sizes, con->number);
	Span written = axis_written(s, con);
	for (uint32_t i = 1; i < con->ncells; i++) {
		sum = size_add(s->sizes, sum, cell_value(s, con->cells[i]));
		bool own = con->kind == CON_ADD && i == 2 && con->axis &&
			   (con->axis->kernel || con->axis->stride > 1); /* a relation of its own */
		if (!own)
			guard_add(c, (Guard){.kind = GUARD_GE,
					     .a = cell_value(s, con->cells[i]),
					     .b = size_const(s->sizes, 0),
					     .span = con->span,
					     .other = written});
		ask_repeated(c, con, con->cells[i]);
	}
	ask_of_con(c, GUARD_EQ, cell_value(s, con->cells[0]), sum, con);
}

/* Was part = total / others? Then it must divide: where what is left after cancelling divides by a
 * number, that must. */
static bool ask_quotient(Collector *c, Size total, Size part, Size others, const Con *con)
{
	Sizes *sizes = c->s->sizes;
	bool quotient = false, again = false;
	int64_t by = denominator(c, part, &quotient);
	if (!quotient || size_is(sizes, others, 0) ||
	    !size_same(size_div(sizes, total, others), part))
		return false;
	Size whole = size_scale(sizes, part, by);
	if (by != 0 && !size_is_bad(whole) && denominator(c, whole, &again) == 1)
		ask_of_con(c, GUARD_DIVIDES, whole, size_const(sizes, by), con);
	else
		ask_of_con(c, GUARD_DIVIDES, total, others, con);
	return true;
}

static void ask_mul(Collector *c, const Con *con)
{
	Solver *s = c->s;
	Size p = cell_value(s, con->cells[0]);
	Size a = cell_value(s, con->cells[1]), b = cell_value(s, con->cells[2]);
	Size product = size_mul(s->sizes, a, b);
	bool quotient = ask_quotient(c, p, a, b, con) || ask_quotient(c, p, b, a, con);
	if (!quotient && !size_same(product, p))
		ask_of_con(c, GUARD_EQ, p, product, con);
}

static void ask_product(Collector *c, const Con *con)
{
	Solver *s = c->s;
	VEC(Size) axes = {0};
	FlatRow f;
	Size product = size_const(s->sizes, con->number), total = cell_value(s, con->cells[0]);
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			PUSH(s->arena, axes, cell_value(s, flat_at(&f, i)));
			product = size_mul(s->sizes, product, axes.at[axes.n - 1]);
		}
	}
	bool quotient = false;
	for (size_t i = 0; i < axes.n; i++) {
		Size others = size_const(s->sizes, con->number);
		for (size_t j = 0; j < axes.n; j++)
			others = j == i ? others : size_mul(s->sizes, others, axes.at[j]);
		quotient |= !size_is_bad(others) && ask_quotient(c, total, axes.at[i], others, con);
	}
	if (!quotient && !size_same(product, total))
		guard_add(c, (Guard){.kind = GUARD_EQ,
				     .a = total,
				     .b = product,
				     .span = con->span,
				     .product = con_is_written_product(con)
							? 0
							: (uint32_t)(con - s->cons.at) + 1});
}

/* A size that several relations give together: its quotient is one, and it is not negative. */
static void ask_together(Collector *c, const Con *con)
{
	Sizes *sizes = c->s->sizes;
	for (uint32_t i = 0; i < con->ncells; i++) {
		const Cell *cell = con->cells[i] == NONE ? NULL : cell_at(c->s, con->cells[i]);
		bool quotient = false;
		if (!cell || cell->why.kind != WHY_SYSTEM || &c->s->cons.at[cell->why.con] != con)
			continue;
		int64_t by = denominator(c, cell->value, &quotient);
		not_negative(c, cell->value, con);
		if (quotient && by != 0)
			ask_of_con(c, GUARD_DIVIDES, size_scale(sizes, cell->value, by),
				   size_const(sizes, by), con);
	}
}

static void ask_con(Collector *c, ConId id)
{
	const Con *con = &c->s->cons.at[id];
	ask_together(c, con);
	switch (con->kind) {
	case CON_AFFINE: ask_affine(c, id); break;
	case CON_CONCAT:
	case CON_ADD: ask_sum(c, con); break;
	case CON_MUL: ask_mul(c, con); break;
	case CON_PRODUCT: ask_product(c, con); break;
	case CON_AT_LEAST:
		ask_of_con(c, GUARD_GE, cell_value(c->s, con->cells[0]),
			   size_const(c->s->sizes, con->number), con);
		break;
	default: break;
	}
}

/* A written size that has another name. */
static void ask_leaf(Collector *c, const Leaf *leaf)
{
	Solver *s = c->s;
	Size value = cell_value(s, leaf->cell);
	if (size_same(value, leaf->size))
		return;
	Span span = leaf->span, other = SPAN_NONE;
	Meeting met = meeting_of(s, leaf->cell);
	if (met.con != NONE) {
		span = s->cons.at[met.con].span;
		other = leaf->span;
	}
	bool swap = size_before(s, leaf->size, value);
	guard_add(c, (Guard){.kind = GUARD_EQ,
			     .a = swap ? value : leaf->size,
			     .b = swap ? leaf->size : value,
			     .span = span,
			     .other = other,
			     .leaf = (uint32_t)(leaf - s->leaves.at) + 1,
			     .steps = met.steps});
}

static void ask_require(Collector *c, const Require *r)
{
	static const GuardKind kinds[] = {[REQUIRE_EQ] = GUARD_EQ,
					  [REQUIRE_GE] = GUARD_GE,
					  [REQUIRE_DIVIDES] = GUARD_DIVIDES};
	bool spelled = false, captured = false;
	Size a = r->numbers ? size_as_number(c->s, r->a)
			    : size_of_expr(c->s, r->a, &spelled, &captured);
	Size b = r->numbers ? size_as_number(c->s, r->b)
			    : size_of_expr(c->s, r->b, &spelled, &captured);
	if (captured)
		BUG("a captured size is not known after inference");
	if (size_is_bad(a) || size_is_bad(b))
		return;
	if (r->op == REQUIRE_DIVIDES) /* a divides b */
		guard_add(c, (Guard){.kind = GUARD_DIVIDES,
				     .a = b,
				     .b = a,
				     .span = r->span,
				     .other = SPAN_NONE});
	else
		guard_add(c, (Guard){.kind = kinds[r->op],
				     .a = a,
				     .b = b,
				     .span = r->span,
				     .other = SPAN_NONE,
				     .as = r->as});
}

static Span slice_span(const Node *node) { return node->size_expr->span; }

/* `a @ i` with a size for i: it lies inside its axis; where a step says i, in every step that there is,
 * which may be none. */
static void ask_slice(Collector *c, const Node *node)
{
	Solver *s = c->s;
	FlatRow batch;
	bool spelled = false, captured = false;
	Size index = size_of_expr(s, node->size_expr, &spelled, &captured);
	row_flatten(s, &s->rows[node->args[0]][ROW_BATCH], &batch);
	if (size_is_bad(index) || batch.nlead + batch.ntrail == 0)
		return;
	CellId axis = flat_at(&batch, 0);
	Size size = cell_value(s, axis);
	if (counts_steps(s, index) || !size_ge(s->sizes, index, size)) {
		guard_add(c, (Guard){.kind = GUARD_GE,
				     .a = size,
				     .b = size_plus(s->sizes, index, 1),
				     .span = slice_span(node),
				     .other = SPAN_NONE});
		return;
	}
	Conflict *outside = conflict_sizes(s, CONFLICT_SLICE, NONE, index, size);
	outside->span = slice_span(node);
	outside->cells[0] = axis;
}

static void ask_slices(Collector *c)
{
	const Graph *graph = c->s->graph;
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		if (node->kind == NODE_SLICE && node->size_expr)
			ask_slice(c, node);
	}
}

void guards_collect(Solver *s, Inference *inference)
{
	Collector c = {.s = s, .zeros = ARENA_ARRAY(s->arena, int64_t, sizes_ndims(s->sizes) + 1)};
	ask_slices(&c);
	ask_integers(s);
	size_t asked = s->asked.n;
	for (size_t i = 0; i < s->graph->requires.n; i++)
		ask_require(&c, &s->graph->requires.at[i]);
	for (size_t i = 0; i < asked; i++)
		guard_add(&c, s->asked.at[i]);
	for (CellId cell = 0; cell < s->cells.n; cell++) {
		if (cell_root(s, cell) == cell && s->cells.at[cell].born != NONE)
			proof_reroot(s, s->cells.at[cell].born);
	}
	for (size_t i = 0; i < s->leaves.n; i++)
		ask_leaf(&c, &s->leaves.at[i]);
	for (ConId id = 0; id < s->cons.n; id++)
		ask_con(&c, id);
	guards_of_scalars(s, inference);
	guards_reduce(s, inference, &c.found);
	guards_of_steps(s, inference);
}
