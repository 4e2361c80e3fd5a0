/* Warnings of checks that a routine makes of its dims: where a dim, or a size that dims say, meets another or a number, and
 * where one value of a dim is left. */
#include "base/size_eval.h"
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"
#include "infer/warn.h"

#include <inttypes.h>
#include <string.h>

/* ---- checks that leave a dim one value ---- */

enum { TRIED_DIMS = 3 };
static const int64_t tried[] = {1, 2, 3, 4, 6, 12};
enum { TRIED = sizeof tried / sizeof *tried };

static bool guard_is_met(const Sizes *sizes, const Guard *g, const int64_t *values)
{
	int64_t a, b;
	if (!size_eval(sizes, g->a, values, &a) || !size_eval(sizes, g->b, values, &b))
		return false;
	switch (g->kind) {
	case GUARD_EQ: return a == b;
	case GUARD_GE: return a >= b;
	case GUARD_DIVIDES: return b != 0 && a % b == 0;
	}
	return false;
}

/* The dim that is 1 wherever the guard holds, of dims that are not 0; NONE: there is none. `values`
 * is by DimId. */
static DimId dim_of_one(const Solver *s, const Guard *g, int64_t *values)
{
	DimId dims[TRIED_DIMS];
	uint32_t n = 0, cases = 1, met = 0, ones[TRIED_DIMS] = {0};
	for (DimId d = 0; d < sizes_ndims(s->sizes); d++) {
		if (!size_uses_dim(s->sizes, g->a, d) && !size_uses_dim(s->sizes, g->b, d))
			continue;
		if (n == TRIED_DIMS)
			return NONE;
		dims[n++] = d;
		cases *= TRIED;
	}
	for (uint32_t at = 0; at < cases; at++) {
		for (uint32_t i = 0, rest = at; i < n; i++, rest /= TRIED)
			values[dims[i]] = tried[rest % TRIED];
		if (!guard_is_met(s->sizes, g, values))
			continue;
		met++;
		for (uint32_t i = 0; i < n; i++)
			ones[i] += values[dims[i]] == 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (met > 0 && ones[i] == met)
			return dims[i];
	}
	return NONE;
}

/* ---- dims that meet ---- */

static bool is_required(const Graph *graph, Span span)
{
	bool required = false;
	for (size_t i = 0; i < graph->requires.n; i++) {
		Span r = graph->requires.at[i].span;
		required |= r.file == span.file && r.start == span.start && r.end == span.end;
	}
	return required;
}

/* Where the functions are applied in which a written size has another name. */
static void warn_sites(Blame *b, const Guard *g)
{
	Solver *s = b->s;
	ConId con = g->leaf ? meeting_of(s, s->leaves.at[g->leaf - 1].cell).con : NONE;
	if (con != NONE)
		blame_sites(b, s->cons.at[con].node);
}

/* Where a declared row has an axis of `first` and one of `second` right behind it; SPAN_NONE: nowhere. */
static Span pair_in(const Solver *s, const Diags *diags, const Node *node, Sym first, Sym second)
{
	bool declared = node->kind == NODE_INPUT || node->kind == NODE_PARAM;
	for (RowKind k = 0; k < ROW_KINDS && declared && node->shape; k++) {
		const DeclRow *row = &node->shape->rows[k];
		for (uint32_t i = 0; i + 1 < row->naxes; i++) {
			Span a = row->axes[i].span, b = row->axes[i + 1].span;
			if ((int32_t)i + 1 != row->var_at && row->axes[i].size &&
			    row->axes[i + 1].size &&
			    strcmp(source_text(diags->sources, s->arena, a), first) == 0 &&
			    strcmp(source_text(diags->sources, s->arena, b), second) == 0)
				return span_join(a, b);
		}
	}
	return SPAN_NONE;
}

/* Two dims that meet, and are declared one behind the other in one tensor, the other way round in another. */
static void suggest_order(Blame *b, const Dim *x, const Dim *y)
{
	Solver *s = b->s;
	const Node *with[2] = {NULL, NULL};
	Span at[2] = {SPAN_NONE, SPAN_NONE};
	for (NodeId id = 0; id < s->graph->nodes.n; id++)
		for (int turned = 0; turned < 2; turned++) {
			const Node *node = &s->graph->nodes.at[id];
			Span pair = pair_in(s, b->diags, node, turned ? y->name : x->name,
					    turned ? x->name : y->name);
			if (span_is_none(pair) || with[turned])
				continue;
			with[turned] = node;
			at[turned] = pair;
		}
	for (int i = 0; i < 2 && with[0] && with[1]; i++)
		diag_fix(b->diags, at[i],
			 arena_printf(s->arena, "%s, %s", i ? x->name : y->name,
				      i ? y->name : x->name),
			 "'%s' would have these axes in the order of '%s'", with[i]->name,
			 with[!i]->name);
}

static void warn_two_dims(Blame *blame, const Guard *g, DimId a, DimId b)
{
	const Sizes *sizes = blame->inference->sizes;
	Diags *diags = blame->diags;
	const Dim *x = sizes_dim(sizes, a), *y = sizes_dim(sizes, b);
	diag(diags, W0401, g->span,
	     "'%s' and '%s' meet here: they must be equal when the "
	     "program runs",
	     y->name, x->name);
	warn_sites(blame, g);
	suggest_order(blame, x, y);
	diag_note(diags, x->span, "'%s' is declared here", x->name);
	diag_note(diags, y->span, "'%s' is declared here", y->name);
	diag_note(diags, g->span, "'require %s == %s' says that it is meant", y->name, x->name);
}

static void warn_number(Blame *b, const Guard *g, DimId dim, int64_t n)
{
	Diags *diags = b->diags;
	const Dim *d = sizes_dim(b->inference->sizes, dim);
	diag(diags, W0401, g->span,
	     "'%s' meets %" PRId64 " here: it must be %" PRId64 " when the program runs", d->name,
	     n, n);
	warn_sites(b, g);
	diag_note(diags, d->span, "'%s' is declared here", d->name);
	diag_note(diags, g->span, "'require %s == %" PRId64 "' says that it is meant", d->name, n);
}

static bool uses_scalar(const Sizes *sizes, Size size)
{
	bool uses = false;
	for (DimId dim = 0; dim < sizes_ndims(sizes); dim++)
		uses |= sizes_dim(sizes, dim)->kind != DIM_ARGUMENT &&
			size_uses_dim(sizes, size, dim);
	return uses;
}

/* A dim beside another, or a number? */
static bool is_of_dims(const Sizes *sizes, const Guard *g)
{
	DimId dim;
	int64_t n;
	bool left = size_is_dim(sizes, g->a, &dim), right = size_is_dim(sizes, g->b, &dim);
	return (left && (right || size_is_const(sizes, g->b, &n))) ||
	       (right && size_is_const(sizes, g->a, &n));
}

/* Does an operation want a dim, or a size that dims say, to be equal to another, or to a number? As many elements as a `reshape` has are
 * what it asks for, and where a scalar says a place its caller knows. */
static bool is_meeting(const Inference *inference, const Guard *g)
{
	Solver *s = inference->trace->solver;
	if (g->kind != GUARD_EQ || is_required(inference->graph, g->span))
		return false;
	int64_t *values = ARENA_ARRAY(s->arena, int64_t, sizes_ndims(s->sizes) + 1);
	return is_of_dims(s->sizes, g) ||
	       (!g->product && !uses_scalar(s->sizes, g->a) && !uses_scalar(s->sizes, g->b) &&
		dim_of_one(s, g, values) == NONE);
}

static void warn_computed(Blame *b, const Guard *g)
{
	const char *x = blame_size(b, g->a), *y = blame_size(b, g->b);
	diag(b->diags, W0401, g->span,
	     "'%s' and '%s' meet here: they must be equal when the program runs", x, y);
	warn_sites(b, g);
	if (g->relation) {
		const Con *con = &b->s->cons.at[g->relation - 1];
		blame_born(b, con->cells[con->kind == CON_AFFINE ? 1 : 0]);
	}
	diag_note(b->diags, g->span, "'require %s == %s' says that it is meant", x, y);
}

static void warn_meeting(const Inference *inference, Diags *diags, const Guard *g)
{
	const Sizes *sizes = inference->sizes;
	Blame *blame = blame_new(inference->trace->solver, inference, diags);
	DimId a, b;
	int64_t n;
	bool left = size_is_dim(sizes, g->a, &a), right = size_is_dim(sizes, g->b, &b);
	if (left && right)
		warn_two_dims(blame, g, a, b);
	else if (left && size_is_const(sizes, g->b, &n))
		warn_number(blame, g, a, n);
	else if (right && size_is_const(sizes, g->a, &n))
		warn_number(blame, g, b, n);
	else
		warn_computed(blame, g);
	explain_meeting(blame, g);
}

static bool same_place(const Guard *g, const Guard *h)
{
	return g->span.file == h->span.file && g->span.start == h->span.start &&
	       g->span.end == h->span.end;
}

/* A slip as often as an intention. Of several at one place the first is the warning. */
static void warn_meetings(const Inference *inference, Diags *diags)
{
	const Guard *all = inference->guards.at;
	size_t n = inference->guards.n;
	for (size_t i = 0; i < n; i++) {
		bool told = all[i].given || !is_meeting(inference, &all[i]);
		for (size_t k = 0; k < i && !told; k++)
			told = same_place(&all[k], &all[i]) && is_meeting(inference, &all[k]);
		if (told)
			continue;
		warn_meeting(inference, diags, &all[i]);
		for (size_t k = i + 1; k < n; k++) {
			if (same_place(&all[k], &all[i]) && is_meeting(inference, &all[k]))
				diag_note(diags, all[k].span, "%s and %s meet here too",
					  size_text(diags->arena, inference->sizes, all[k].a),
					  size_text(diags->arena, inference->sizes, all[k].b));
		}
	}
}

static void warn_ones(Solver *s, const Inference *inference, Diags *diags)
{
	int64_t *values = ARENA_ARRAY(s->arena, int64_t, sizes_ndims(s->sizes) + 1);
	for (size_t i = 0; i < inference->guards.n; i++) {
		const Guard *g = &inference->guards.at[i];
		DimId d = dim_of_one(s, g, values);
		bool told = g->kind == GUARD_EQ &&
			    (size_is(s->sizes, g->a, 1) || size_is(s->sizes, g->b, 1));
		if (d == NONE || told || g->given || is_required(inference->graph, g->span))
			continue;
		const Dim *dim = sizes_dim(s->sizes, d);
		diag(diags, W0402, g->span, "this holds only where '%s' is 1: %s", dim->name,
		     g->text);
		diag_note(diags, dim->span, "'%s' is declared here", dim->name);
		diag_note(diags, g->span, "'require %s == 1' says that it is meant", dim->name);
	}
}

void warn_dims(const Inference *inference, Diags *diags)
{
	warn_meetings(inference, diags);
	warn_ones(inference->trace->solver, inference, diags);
}
