/* Guards: what must hold of the symbolic sizes for the solution to be right.
 *
 * They are read off the finished solution, in the order of the program: every size that is written
 * must be the size of its class, every relation must hold of the sizes that its cells have, every
 * require must hold. What holds for all values is no guard; what can hold for none is an error.
 *
 * Reduction: equations of a dim replace it in everything else (the later dim by the earlier); a
 * guard that then holds for all values follows from the others, as does one that repeats or weakens
 * another.
 */
#include "infer/solver.h"

#include <inttypes.h>

#include "infer/trace.h"

typedef struct Collector {
	Solver *s;
	Inference *inference;
	const Sources *sources;
	VEC(Guard) found;
	Size *dims;	/* by DimId: what replaces it */
	uint32_t *from; /* by DimId: the guard that says so, plus 1 */
	uint32_t ndims;
} Collector;

enum { COMPARED = 400 }; /* guards kept that a new one is compared with */

static bool holds(const Sizes *sizes, const Guard *g)
{
	switch (g->kind) {
	case GUARD_EQ: return size_same(g->a, g->b);
	case GUARD_GE: return size_ge(sizes, g->a, g->b);
	case GUARD_DIVIDES: return size_divides(sizes, g->b, g->a);
	}
	return false;
}

static bool never_divides(Sizes *sizes, Size a, Size b)
{
	int64_t x, y;
	if (!size_is_const(sizes, b, &y) || y <= 1)
		return false;
	if (size_is_const(sizes, a, &x))
		return x % y != 0;
	for (int64_t rest = 1; rest < y && rest < 64; rest++) {
		if (size_divides(sizes, b, size_plus(sizes, a, -rest)))
			return true;
	}
	return false;
}

static bool never_holds(Sizes *sizes, const Guard *g)
{
	switch (g->kind) {
	case GUARD_EQ: return sizes_differ(sizes, g->a, g->b);
	case GUARD_GE: return size_ge(sizes, g->b, size_plus(sizes, g->a, 1));
	case GUARD_DIVIDES: return never_divides(sizes, g->a, g->b);
	}
	return false;
}

/* b | a for a constant b, in least terms: 2*n - 4 by 4 is n by 2. */
static void simplify_divides(Collector *c, Guard *g)
{
	Sizes *sizes = c->s->sizes;
	int64_t by, rest;
	if (!size_is_const(sizes, g->b, &by) || by < 2)
		return;
	int64_t *zeros = ARENA_ARRAY(c->s->arena, int64_t, c->ndims + 1);
	if (size_eval(sizes, g->a, zeros, &rest)) /* its constant: as a remainder */
		g->a = size_plus(sizes, g->a, (rest % by + by) % by - rest);
	for (int64_t p = 2; p <= by && p <= 64; p++) {
		while (by % p == 0 && by >= p && size_divides(sizes, size_const(sizes, p), g->a)) {
			g->a = size_div(sizes, g->a, size_const(sizes, p));
			by /= p;
		}
	}
	g->b = size_const(sizes, by);
}

/* 2*n >= 3 is n >= 2. */
static void simplify_ge(Sizes *sizes, Guard *g)
{
	int64_t least, value;
	if (!size_is_const(sizes, g->b, &least) || size_is_const(sizes, g->a, &value))
		return;
	for (int64_t p = 2; p <= 64; p++) {
		while (size_divides(sizes, size_const(sizes, p), g->a)) {
			g->a = size_div(sizes, g->a, size_const(sizes, p));
			least = least / p + (least % p > 0);
		}
	}
	g->b = size_const(sizes, least);
}

static void add(Collector *c, Guard g)
{
	if (g.kind == GUARD_GE && !size_is_bad(g.a) && !size_is_bad(g.b))
		simplify_ge(c->s->sizes, &g);
	if (g.kind == GUARD_DIVIDES && !size_is_bad(g.a) && !size_is_bad(g.b))
		simplify_divides(c, &g);
	if (g.kind == GUARD_DIVIDES && !size_is_bad(g.b) &&
	    !size_ge(c->s->sizes, g.b, size_const(c->s->sizes, 1)))
		add(c, (Guard){GUARD_GE, g.b, size_const(c->s->sizes, 1), g.span, g.other, NULL});
	if (size_is_bad(g.a) || size_is_bad(g.b)) {
		blame_at(c->s, E0347, g.span, "a size here is too large, or has too many terms");
		return;
	}
	if (!holds(c->s->sizes, &g))
		PUSH(c->s->arena, c->found, g);
}

static void add_con(Collector *c, GuardKind kind, Size a, Size b, const Con *con)
{
	add(c, (Guard){kind, a, b, con->span, SPAN_NONE, NULL});
}

static void not_negative(Collector *c, Size a, const Con *con)
{
	add_con(c, GUARD_GE, a, size_const(c->s->sizes, 0), con);
}

/* ---- what the constraints ask for ---- */

static void ask_affine(Collector *c, const Con *con)
{
	Solver *s = c->s;
	const SpecAxis *axis = con->axis;
	Size in = cell_value(s, con->cells[0]), over = cell_value(s, con->cells[1]);
	Size k = con->cells[2] == NONE ? SIZE_BAD : cell_value(s, con->cells[2]);
	bool rounds = axis->mark == MARK_VALID_FLOOR || axis->mark == MARK_PADDED_CEIL;
	bool valid = axis->kernel && (axis->mark == MARK_VALID || axis->mark == MARK_VALID_FLOOR);
	Size window = affine_window(s->sizes, axis, k);
	const Why *why = &cell_at(s, con->cells[0])->why;
	if (!rounds && why->kind == WHY_RELATION && &s->cons.at[why->con] == con) {
		not_negative(c, in, con);
		return;
	}
	why = con->cells[2] == NONE ? why : &cell_at(s, con->cells[2])->why;
	if (valid && !rounds && why->kind == WHY_RELATION && &s->cons.at[why->con] == con) {
		Size last = size_scale(s->sizes, size_plus(s->sizes, over, -1), axis->stride);
		Size span = size_plus(s->sizes, size_sub(s->sizes, in, last), -1 - axis->offset);
		add_con(c, GUARD_GE, span, size_const(s->sizes, 0), con);
		add_con(c, GUARD_DIVIDES, span, size_const(s->sizes, axis->dilation), con);
		return;
	}
	if (!size_is_bad(window))
		add_con(c, GUARD_GE, in, window, con);
	if (!rounds)
		add_con(c, GUARD_DIVIDES, affine_dividend(s->sizes, axis, in, k),
			size_const(s->sizes, axis->stride), con);
	add_con(c, GUARD_EQ, over, affine_over(s->sizes, axis, in, k), con);
}

static void ask_sum(Collector *c, const Con *con)
{
	Solver *s = c->s;
	Size sum = size_const(s->sizes, con->number);
	for (uint32_t i = 1; i < con->ncells; i++) {
		sum = size_add(s->sizes, sum, cell_value(s, con->cells[i]));
		not_negative(c, cell_value(s, con->cells[i]), con);
	}
	add_con(c, GUARD_EQ, cell_value(s, con->cells[0]), sum, con);
}

static bool has_quotient(Collector *c, Size size)
{
	SizeOp *ops;
	size_t n = size_program(c->s->arena, c->s->sizes, size, &ops);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].code == SIZE_DIV)
			return true;
	}
	return false;
}

/* Was part = total / others? Then it must divide. */
static bool ask_quotient(Collector *c, Size total, Size part, Size others, const Con *con)
{
	if (!has_quotient(c, part))
		return false;
	if (size_is(c->s->sizes, others, 0) ||
	    !size_same(size_div(c->s->sizes, total, others), part))
		return false;
	add_con(c, GUARD_DIVIDES, total, others, con);
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
		add_con(c, GUARD_EQ, p, product, con);
}

static void ask_product(Collector *c, const Con *con)
{
	Solver *s = c->s;
	VEC(Size) axes = {0};
	FlatRow f;
	Size product = size_const(s->sizes, 1), total = cell_value(s, con->cells[0]);
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			PUSH(s->arena, axes, cell_value(s, flat_at(&f, i)));
			product = size_mul(s->sizes, product, axes.at[axes.n - 1]);
		}
	}
	bool quotient = false;
	for (size_t i = 0; i < axes.n; i++) {
		Size others = size_const(s->sizes, 1);
		for (size_t j = 0; j < axes.n; j++)
			others = j == i ? others : size_mul(s->sizes, others, axes.at[j]);
		quotient |= !size_is_bad(others) && ask_quotient(c, total, axes.at[i], others, con);
	}
	if (!quotient && !size_same(product, total))
		add_con(c, GUARD_EQ, total, product, con);
}

static void ask_con(Collector *c, ConId id)
{
	const Con *con = &c->s->cons.at[id];
	switch (con->kind) {
	case CON_AFFINE: ask_affine(c, con); break;
	case CON_CONCAT:
	case CON_ADD: ask_sum(c, con); break;
	case CON_MUL: ask_mul(c, con); break;
	case CON_PRODUCT: ask_product(c, con); break;
	case CON_AT_LEAST:
		add_con(c, GUARD_GE, cell_value(c->s, con->cells[0]),
			size_const(c->s->sizes, con->number), con);
		break;
	default: break;
	}
}

static void ask_leaf(Collector *c, const Leaf *leaf)
{
	Solver *s = c->s;
	Size value = cell_value(s, leaf->cell);
	if (size_same(value, leaf->size))
		return;
	Path path = proof_path(s, leaf->cell, cell_at(s, leaf->cell)->born);
	Span span = leaf->span, other = SPAN_NONE;
	if (path.n > 0 && path.at[0].con != NONE) {
		span = s->cons.at[path.at[0].con].span;
		other = leaf->span;
	}
	bool swap = size_before(s, leaf->size, value);
	add(c, (Guard){GUARD_EQ, swap ? value : leaf->size, swap ? leaf->size : value, span, other,
		       NULL});
}

static void ask_require(Collector *c, const Require *r)
{
	static const GuardKind kinds[] = {[REQUIRE_EQ] = GUARD_EQ,
					  [REQUIRE_GE] = GUARD_GE,
					  [REQUIRE_DIVIDES] = GUARD_DIVIDES};
	bool spelled = false, captured = false;
	Size a = size_of_expr(c->s, r->a, &spelled, &captured);
	Size b = size_of_expr(c->s, r->b, &spelled, &captured);
	if (captured)
		BUG("a captured size is not known after inference");
	if (size_is_bad(a) || size_is_bad(b))
		return;
	if (r->op == REQUIRE_DIVIDES) /* a divides b */
		add(c, (Guard){GUARD_DIVIDES, b, a, r->span, SPAN_NONE, NULL});
	else
		add(c, (Guard){kinds[r->op], a, b, r->span, SPAN_NONE, NULL});
}

/* ---- reduction ---- */

static Guard reduced(Collector *c, const Guard *g)
{
	Guard r = *g;
	r.a = size_substitute(c->s->sizes, g->a, c->dims);
	r.b = size_substitute(c->s->sizes, g->b, c->dims);
	if (size_is_bad(r.a) || size_is_bad(r.b))
		return *g;
	return r;
}

static const char *guard_text(Collector *c, const Guard *g)
{
	Arena *arena = c->inference->graph->arena;
	const char *a = size_text(arena, c->s->sizes, g->a),
		   *b = size_text(arena, c->s->sizes, g->b);
	const char *text = "";
	switch (g->kind) {
	case GUARD_EQ: text = arena_printf(arena, "%s must equal %s", a, b); break;
	case GUARD_GE: text = arena_printf(arena, "%s must be at least %s", a, b); break;
	case GUARD_DIVIDES: text = arena_printf(arena, "%s must be a multiple of %s", a, b); break;
	}
	if (span_is_none(g->span) || !c->sources)
		return text;
	Place place = source_place(c->sources, g->span.file, g->span.start);
	return arena_printf(arena, "%s (%s:%u)", text, place.path, place.line);
}

static void blame_guard(Collector *c, const Guard *g, const Guard *r)
{
	Solver *s = c->s;
	const char *a = size_text(s->arena, s->sizes, g->a),
		   *b = size_text(s->arena, s->sizes, g->b);
	switch (g->kind) {
	case GUARD_EQ: blame_at(s, E0401, g->span, "%s can never equal %s", a, b); break;
	case GUARD_GE: blame_at(s, E0401, g->span, "%s is never at least %s", a, b); break;
	case GUARD_DIVIDES:
		blame_at(s, E0401, g->span, "%s is never a multiple of %s", a, b);
		break;
	}
	if (!s->diags)
		return;
	if (!span_is_none(g->other))
		diag_note(s->diags, g->other, "the other size is written here");
	for (DimId d = 0; d < c->ndims; d++) {
		bool used = size_uses_dim(s->sizes, g->a, d) || size_uses_dim(s->sizes, g->b, d);
		if (c->from[d] && used && !(size_same(r->a, g->a) && size_same(r->b, g->b)))
			diag_note(s->diags, c->found.at[c->from[d] - 1].span,
				  "%s must equal %s because of this", sizes_dim(s->sizes, d)->name,
				  size_text(s->arena, s->sizes, c->dims[d]));
	}
}

static bool usable(Collector *c, Size dim, Size by, DimId *out)
{
	return size_is_dim(c->s->sizes, dim, out) && !size_uses_dim(c->s->sizes, by, *out);
}

/* Makes an equation replace a dim, in what is replaced already too. */
static void replace_dim(Collector *c, const Guard *g, uint32_t index)
{
	DimId a, b, dim;
	bool can_a = usable(c, g->a, g->b, &a), can_b = usable(c, g->b, g->a, &b);
	if (!can_a && !can_b)
		return;
	dim = can_a && can_b ? (a > b ? a : b) : can_a ? a : b;
	Size by = dim == a && can_a ? g->b : g->a;
	Size *one = ARENA_ARRAY(c->s->arena, Size, c->ndims + 1);
	for (DimId d = 0; d < c->ndims; d++)
		one[d] = d == dim ? by : size_dim(c->s->sizes, d);
	for (DimId d = 0; d < c->ndims; d++) {
		Size now = size_substitute(c->s->sizes, c->dims[d], one);
		if (size_uses_dim(c->s->sizes, c->dims[d], dim) && !size_is_bad(now))
			c->dims[d] = now;
	}
	c->from[dim] = index + 1;
}

/* Does what is kept already imply g? */
static bool implied(Collector *c, const Guard *g, const Guard *kept, size_t nkept)
{
	Sizes *sizes = c->s->sizes;
	int64_t x, y;
	for (size_t i = 0; i < nkept && i < COMPARED; i++) {
		const Guard *k = &kept[i];
		if (k->kind != g->kind)
			continue;
		if (size_same(k->a, g->a) && size_same(k->b, g->b))
			return true;
		if (g->kind == GUARD_GE &&
		    size_ge(sizes, size_sub(sizes, g->a, g->b), size_sub(sizes, k->a, k->b)))
			return true;
		if (g->kind == GUARD_DIVIDES && size_same(k->a, g->a) &&
		    size_is_const(sizes, k->b, &x) && size_is_const(sizes, g->b, &y) && y != 0 &&
		    x % y == 0)
			return true;
	}
	return false;
}

typedef VEC(Guard) Guards;

/* Keeps a guard unless it follows from others; an error when it contradicts them. */
static bool keep(Collector *c, const Guard *g, Guards *simple)
{
	Guard r = reduced(c, g);
	if (never_holds(c->s->sizes, &r)) {
		blame_guard(c, g, &r);
		return false;
	}
	if (holds(c->s->sizes, &r) || implied(c, &r, simple->at, simple->n))
		return false;
	PUSH(c->s->arena, *simple, r);
	return true;
}

/* A weaker guard that came before a stronger one goes. */
static void drop_weaker(Collector *c, Guards *simple, bool *kept, const uint32_t *index)
{
	for (size_t i = 0; i < simple->n && simple->n <= COMPARED; i++) {
		if (simple->at[i].kind == GUARD_EQ)
			continue;
		if (implied(c, &simple->at[i], simple->at + i + 1, simple->n - i - 1))
			kept[index[i]] = false;
	}
}

static void reduce(Collector *c)
{
	Guards simple = {0};
	VEC(uint32_t) index = {0};
	bool *kept = ARENA_ARRAY(c->s->arena, bool, c->found.n + 1);
	for (int equations = 1; equations >= 0; equations--) {
		for (uint32_t i = 0; i < c->found.n; i++) {
			const Guard *g = &c->found.at[i];
			if ((g->kind == GUARD_EQ) != (equations == 1) || !keep(c, g, &simple))
				continue;
			kept[i] = true;
			PUSH(c->s->arena, index, i);
			Guard r = simple.at[simple.n - 1];
			if (equations)
				replace_dim(c, &r, i);
		}
	}
	drop_weaker(c, &simple, kept, index.at);
	for (uint32_t i = 0; i < c->found.n && c->s->nerrors == 0; i++) {
		if (!kept[i])
			continue;
		Guard g = c->found.at[i];
		g.text = guard_text(c, &g);
		PUSH(c->inference->graph->arena, c->inference->guards, g);
	}
}

void guards_collect(Solver *s, Inference *inference)
{
	Collector c = {.s = s,
		       .inference = inference,
		       .sources = inference->trace->sources,
		       .ndims = sizes_ndims(s->sizes)};
	c.dims = ARENA_ARRAY(s->arena, Size, c.ndims + 1);
	c.from = ARENA_ARRAY(s->arena, uint32_t, c.ndims + 1);
	for (DimId d = 0; d < c.ndims; d++)
		c.dims[d] = size_dim(s->sizes, d);
	size_t asked = s->asked.n;
	for (size_t i = 0; i < s->graph->requires.n; i++)
		ask_require(&c, &s->graph->requires.at[i]);
	for (size_t i = 0; i < asked; i++)
		add(&c, s->asked.at[i]);
	for (size_t i = 0; i < s->leaves.n; i++)
		ask_leaf(&c, &s->leaves.at[i]);
	for (ConId id = 0; id < s->cons.n; id++)
		ask_con(&c, id);
	reduce(&c);
}
