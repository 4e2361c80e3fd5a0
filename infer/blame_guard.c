/* Messages of sizes as written, of integers made of sizes, and of guards that cannot hold. */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/guards.h"
#include "infer/relate.h"
#include "infer/text.h"
#include "infer/trace.h"

#include <inttypes.h>
#include <string.h>

/* ---- as written ---- */

void tell_by_zero(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "this size is divided by 0");
}

void tell_no_multiple(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "%" PRId64 " is not a multiple of %" PRId64, c->number, c->divisor);
}

void tell_negative(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "this size is %" PRId64 ", and a size cannot be negative", c->number);
}

void tell_large(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "this size is too large: %s", c->limit);
}

void tell_large_guard(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "a size here is too large: %s", c->limit);
}

void tell_integer(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "%" PRId64 " is outside the range of %s", c->number,
		 dtype_name(b->s->graph->nodes.at[c->node].dtype));
}

void tell_slice(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "index %s is outside an axis of %s", blame_size(b, c->sizes[0]),
		 blame_size(b, c->sizes[1]));
	int64_t number;
	const char *size = blame_size(b, c->sizes[0]);
	if (size_same(c->sizes[0], c->sizes[1]) &&
	    !size_is_const(b->s->sizes, c->sizes[0], &number))
		diag_fix(b->diags, c->span, arena_printf(b->s->arena, "(%s - 1)", size),
			 "places are counted from 0: this is the last one");
	blame_born(b, c->cells[0]);
}

/* ---- steps of a loop ---- */

static void note_loop(Blame *b, const Conflict *c)
{
	const GraphLoop *loop = &b->s->graph->loops.at[c->number];
	diag_note(b->diags, loop->span, "the steps of this loop are counted by '%s'", loop->name);
}

/* What a step writes in place takes its shape from nothing else. */
static void note_unshaped(Blame *b, const Conflict *c)
{
	const Graph *graph = b->s->graph;
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Node *node = graph_node(graph, graph->carried.at[i].tensor);
		if (graph->carried.at[i].first == NODE_NONE ||
		    memcmp(&node->name_span, &c->span, sizeof c->span) != 0)
			continue;
		diag_note(
			b->diags, c->span,
			"a tensor whose parts the steps write has the shape that it starts with: '%s : [...] = 0' says one",
			node->name);
	}
}

void tell_step_size(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "an axis has the size %s, which differs from step to step",
		 blame_size(b, c->sizes[0]));
	note_loop(b, c);
	note_unshaped(b, c);
}

void tell_scalar_size(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "an axis has the size %s, which a scalar of the routine says",
		 blame_size(b, c->sizes[0]));
	diag_note(
		b->diags, c->scalar->span,
		"declared by 'dim %s' instead, it is an argument of the routine too, and may be in sizes",
		c->scalar->name);
}

void tell_step(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "what must hold of sizes here cannot be said of all steps before the first");
	note_loop(b, c);
}

void tell_step_never(Blame *b, const Conflict *c)
{
	const GraphLoop *loop = &b->s->graph->loops.at[c->number];
	blame_at(b, c->span, "this does not fit in step %s = %s: %s is less than %s", loop->name,
		 blame_size(b, c->sizes[0]), blame_size(b, c->guard.a), blame_size(b, c->guard.b));
	note_loop(b, c);
	diag_note(b->diags, loop->count_span, "there are as many steps as this says");
}

/* ---- guards ---- */

/* The equations that say what dims of the guard are. */
static void note_settled(Blame *b, const Conflict *c)
{
	for (size_t i = 0; i < c->settled.n; i++) {
		const SettledDim *settled = &c->settled.at[i];
		diag_note(b->diags, settled->span, "%s must equal %s because of this",
			  sizes_dim(b->s->sizes, settled->dim)->name,
			  blame_size(b, settled->value));
	}
}

void explain_meeting(Blame *b, const Guard *g)
{
	Solver *s = b->s;
	if (g->leaf == 0)
		return;
	const Leaf *leaf = &s->leaves.at[g->leaf - 1];
	ConId con = meeting_of(s, leaf->cell).con;
	Origin origin = origin_near(s, leaf->cell);
	if (!blame_computed(b, leaf->cell, g->span) && !span_is_none(origin.span))
		diag_note(b->diags, origin.span, "%s comes from here",
			  blame_size(b, cell_value(s, leaf->cell)));
	if (is_pointwise_operand(s, con))
		suggest_kept(b, &s->cons.at[con], leaf);
	suggest_batch(b, leaf->cell);
}

/* As many elements as axes can never have, and where these come from. */
static void tell_product(Blame *b, const Guard *g)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[g->product - 1];
	blame_at(b, g->span, "%s elements can never be %s", blame_size(b, product_value(s, con)),
		 blame_size(b, cell_value(s, con->cells[0])));
	blame_born(b, con->cells[0]);
	blame_axes_born(b, con);
}

void tell_never(Blame *b, const Conflict *c)
{
	static const char *const verbs[] = {[GUARD_EQ] = "can never equal",
					    [GUARD_GE] = "is never at least",
					    [GUARD_DIVIDES] = "is never a multiple of"};
	const Guard *g = &c->guard;
	if (g->product)
		tell_product(b, g);
	else
		blame_at(b, g->span, "%s %s %s%s%s", blame_size(b, g->a), verbs[g->kind],
			 blame_size(b, g->b), g->as ? ", as " : "", g->as ? g->as : "");
	if (!span_is_none(g->other))
		diag_note(b->diags, g->other, "the other size is written here");
	note_settled(b, c);
	explain_meeting(b, g);
}

static const char *claim_of(const Blame *b, const Guard *g)
{
	return guard_claim_text(b->s->arena, b->s->sizes, g);
}

/* A guard, and the others that it cannot hold together with. */
void tell_never_all(Blame *b, const Conflict *c)
{
	const Guard *g = &c->guard;
	if (c->others.n == 1)
		blame_at(b, g->span, "%s here, and %s: never both", claim_of(b, g),
			 claim_of(b, &c->others.at[0]));
	else
		blame_at(b, g->span, "%s here, and that with the %zu relations below: never all",
			 claim_of(b, g), c->others.n);
	for (size_t i = 0; i < c->others.n; i++)
		diag_note(b->diags, c->others.at[i].span, "%s because of this",
			  claim_of(b, &c->others.at[i]));
	note_settled(b, c);
}
