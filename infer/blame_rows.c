/* Messages of rows: how many axes they have. */
#include "frontend/differentiable.h"
#include "infer/blame.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <string.h>

enum { CIRCLE_SHOWN = 8 };

/* ---- rows that do not have as many axes as are said ---- */

/* gather(table, ids) with ids : [n]: what they are where they are declared. */
static void suggest_ids(Blame *b, const Node *gather)
{
	const Node *ids = &b->s->graph->nodes.at[gather->args[1]];
	const ShapeDecl *shape = ids->shape;
	diag_note(b->diags, gather->op_span,
		  "the indices of 'gather' have batch axes alone: [n |]");
	if ((ids->kind != NODE_INPUT && ids->kind != NODE_PARAM) || !shape ||
	    shape->rows[ROW_OUTPUT].naxes == 0 || shape->rows[ROW_INPUT].naxes > 0 ||
	    shape->rows[ROW_BATCH].naxes > 0)
		return;
	Span end = {shape->span.file, shape->span.end - 1, shape->span.end - 1};
	diag_fix(b->diags, end, " |", "the axes would fit before a bar");
}

/* scan(n, h = x) until (h > 5): the condition and what is made of it stand at one place. */
static void note_until(Blame *b, const Node *node)
{
	const Graph *graph = b->s->graph;
	for (size_t i = 1; i < graph->loops.n; i++) {
		NodeId until = graph->loops.at[i].until;
		Span span = until == NODE_NONE ? SPAN_NONE : graph->nodes.at[until].span;
		if (until != NODE_NONE && span.start == node->span.start &&
		    span.end == node->span.end)
			diag_note(b->diags, span,
				  "what ends a loop is one number: reduce(max, ...) makes one, "
				  "'min' where all must hold");
	}
}

static void note_direction(Blame *b, const Node *node)
{
	bool tangent = node->kind == NODE_TANGENT;
	if (node_kind_differentiates(node->kind) && node->nargs > 2)
		diag_note(b->diags, node->arg_spans[tangent],
			  "the direction of %s, its last operand, has the shape of this",
			  tangent ? "jvp" : "vjp");
}

void note_rule(Blame *b, ConId id)
{
	const Graph *graph = b->s->graph;
	const Con *con = id == NONE ? NULL : &b->s->cons.at[id];
	const Node *node = con && con->node != NODE_NONE ? &graph->nodes.at[con->node] : NULL;
	int32_t arg = con ? con->arg : -1;
	if (node && node->kind == NODE_RULE && arg >= 0)
		diag_note(b->diags,
			  node->arg_spans[(uint32_t)arg + graph_rule_results(graph, node) - node->nargs / 2],
			  "it is the gradient with respect to this, which has the same shape");
}

/* What `@`, gather, directions of gradients and the end of a loop want of their operands. */
static void note_form(Blame *b, ConId id)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[id];
	const Node *node = &s->graph->nodes.at[con->node];
	if (node->kind == NODE_SLICE && con->row == ROW_BATCH)
		diag_note(
			b->diags, node->op_span,
			"'@' takes the leftmost batch axis: [n | ...], or a literal '[| a, b |]'; of another axis "
			"a number in a specification takes a part: sum(\"0, i => i\", x)");
	else if (node->kind == NODE_GATHER && !node->spec && con->arg == 1)
		suggest_ids(b, node);
	note_direction(b, node);
	note_rule(b, id);
	note_until(b, node);
}

static const char *axes_text(Solver *s, const FlatRow *f, const char *kind)
{
	uint32_t n = f->nlead + f->ntrail;
	const char *least = f->var == NONE ? "" : "at least ";
	return n == 0 && f->var == NONE ? arena_printf(s->arena, "no %s axes", kind)
					: arena_printf(s->arena, "%s%u %s ax%s, %s,", least, n,
						       kind, n == 1 ? "is" : "es", flat_text(s, f));
}

/* An operand without a name that a specification of a function makes: where that says its axes. */
static void note_made(Blame *b, const Con *con)
{
	const Graph *graph = b->s->graph;
	const Node *node = con->node == NODE_NONE ? NULL : &graph->nodes.at[con->node];
	if (con->kind != CON_ROW_EQ || !node || con->arg < 0 || (uint32_t)con->arg >= node->nargs)
		return;
	const Node *of = &graph->nodes.at[node->args[con->arg]];
	const SpecRow *row = of->spec ? &of->spec->result.rows[con->row] : NULL;
	if (row && row->written && !of->name && of->site != node->site)
		diag_note(b->diags, row->span, "its axes are said here");
}

/* Where the rows got their axes. */
static void note_rows(Blame *b, ConId id)
{
	const Con *con = &b->s->cons.at[id];
	note_made(b, con);
	blame_settled(b, &con->a);
	blame_settled(b, &con->b);
	if (con->kind == CON_ROW_EQ && con->arg >= 0)
		blame_operand(b, con->node, (uint32_t)con->arg);
	else
		blame_operands(b, con->node);
	blame_origin(b, id);
}

/* Who has another number of axes than an operand of a specification: the one other operand whose row is the same row variable alone,
 * else the specification itself. */
static const char *other_text(Solver *s, const Con *con)
{
	const Node *node = &s->graph->nodes.at[con->node];
	const Spec *spec = node->spec;
	const SpecRow *own = spec && con->arg >= 0 && (uint32_t)con->arg < spec->noperands
				     ? &spec->operands[con->arg].rows[con->row]
				     : NULL;
	int32_t other = -1, n = 0;
	for (uint32_t i = 0; own && own->var && i < spec->noperands; i++) {
		const SpecRow *row = &spec->operands[i].rows[con->row];
		if ((int32_t)i == con->arg || row->var != own->var)
			continue;
		n++;
		other = row->naxes == 0 && own->naxes == 0 ? (int32_t)i : -1;
	}
	return n == 1 && other >= 0 ? arena_printf(s->arena, "%s, which is to have the same, has",
						   tensor_text(s, con->node, other))
				    : "the specification says";
}

void tell_ranks(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	FlatRow has, said;
	if (is_mended(b, c->con) || is_told_of_rows(b, c->con))
		return;
	row_flatten(s, &con->a, &has);
	row_flatten(s, &con->b, &said);
	const char *who = con->written			       ? "the shape that is written says"
			  : s->graph->nodes.at[con->node].spec ? other_text(s, con)
							       : "the operation says";
	const char *whose = con->written ? arena_printf(s->arena, "'%s'", con->written->name)
					 : tensor_text(s, con->node, con->arg);
	blame(b, c->con, "%s has %s and %s %s", whose, axes_text(s, &has, row_kind_text(con->row)),
	      who, said.nlead + said.ntrail || said.var != NONE ? flat_text(s, &said) : "none");
	suggest_rows(b, c->con, has.nlead + has.ntrail);
	note_form(b, c->con);
	note_rows(b, c->con);
}

/* ---- operands with more axes than their results ---- */

/* Is the operand one of those before it too, which has the same fault? */
static bool is_repeated_operand(const Solver *s, const Con *con)
{
	const Node *node = &s->graph->nodes.at[con->node];
	bool repeated = false;
	for (int32_t i = 0; i < con->arg && node->kind == NODE_POINTWISE; i++)
		repeated |= node->args[i] == node->args[con->arg];
	return repeated;
}

/* x + b has the axes of x at least: where a specification allows it fewer, that is the place. */
void tell_use_axes(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	FlatRow res, opnd;
	const Con *con = &s->cons.at[c->con], *use = &s->cons.at[c->use];
	if (is_repeated_operand(s, con) || is_mended(b, c->con) || is_told_of_rows(b, c->con))
		return;
	row_flatten(s, &con->a, &res);
	row_flatten(s, &con->b, &opnd);
	uint32_t n = opnd.nlead + opnd.ntrail;
	PUSH(s->arena, b->told, c->use);
	blame(b, c->use, "%s has at least %u %s %s%s, and %s %s",
	      tensor_text(s, use->node, use->arg), n, row_kind_text(use->row),
	      n == 1 ? "axis" : "axes",
	      opnd.var == NONE ? arena_printf(s->arena, ", %s", flat_text(s, &opnd)) : "",
	      other_text(s, use), res.nlead + res.ntrail ? flat_text(s, &res) : "none");
	suggest_rows(b, c->use, n);
	diag_note(b->diags, con->span, "%s has %s%u", tensor_text(s, con->node, con->arg),
		  opnd.var == NONE ? "" : "at least ", n);
	blame_settled(b, &con->b);
	blame_operand(b, use->node, (uint32_t)use->arg);
	blame_origin(b, c->use);
}

/* What the left side of `*` takes in, which is too little. */
static const char *takes_text(Solver *s, const Con *con, const FlatRow *in)
{
	const char *who = tensor_text(s, con->node, 0);
	uint32_t n = in->nlead + in->ntrail;
	return n == 0 ? arena_printf(s->arena, "%s has no input axis to meet", who)
		      : arena_printf(s->arena, "%s has only %u input ax%s to meet: %s", who, n,
				     n == 1 ? "is" : "es", flat_text(s, in));
}

static const char *room_text(Solver *s, const FlatRow *res)
{
	uint32_t n = res->nlead + res->ntrail;
	return n == 0 ? "the result has none"
		      : arena_printf(s->arena, "the result has only %u: %s", n, flat_text(s, res));
}

void tell_more_axes(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	FlatRow res, opnd;
	const Con *con = &s->cons.at[c->con];
	if (is_repeated_operand(s, con) || is_mended(b, c->con) || is_told_of_rows(b, c->con))
		return;
	row_flatten(s, &con->a, &res);
	row_flatten(s, &con->b, &opnd);
	bool meets = s->graph->nodes.at[con->node].kind == NODE_COMPOSE && con->row == ROW_INPUT &&
		     con->arg == 1;
	uint32_t n = opnd.nlead + opnd.ntrail;
	blame(b, c->con, "%s has %u %s ax%s, %s, and %s", tensor_text(s, con->node, con->arg), n,
	      row_kind_text(meets ? ROW_OUTPUT : con->row), n == 1 ? "is" : "es",
	      flat_text(s, &opnd), meets ? takes_text(s, con, &res) : room_text(s, &res));
	suggest_compose(b, c->con);
	note_form(b, c->con);
	note_rows(b, c->con);
}

/* ---- rows without an end ---- */

void tell_inside_itself(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	blame(b, c->con, "the %s row of %s would have to contain itself and more axes",
	      row_kind_text(con->row), tensor_text(b->s, con->node, con->arg));
}

void tell_endless(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	blame(b, c->con, "the %s row of %s would have more than %d axes", row_kind_text(con->row),
	      tensor_text(b->s, con->node, con->arg), ROW_LIMIT);
}

/* A row as it was written. */
static const char *written_text(Solver *s, const RowTerm *row)
{
	FlatRow f = {.nlead = row->nlead, .ntrail = row->ntrail, .var = row->var};
	if (row->nlead > 0)
		memcpy(f.lead, row->lead, row->nlead * sizeof *f.lead);
	if (row->ntrail > 0)
		memcpy(f.back + ROW_LIMIT + 1 - row->ntrail, row->trail,
		       row->ntrail * sizeof *f.back);
	return flat_text(s, &f);
}

static const char *edge_text(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	bool meets = s->graph->nodes.at[con->node].kind == NODE_COMPOSE && con->row == ROW_INPUT &&
		     con->arg == 1;
	const char *kind = row_kind_text(con->row);
	const char *right = tensor_text(s, con->node, con->arg);
	if (con->kind == CON_ROW_EQ)
		return arena_printf(s->arena, "the %s row of %s, %s, is %s", kind, right,
				    written_text(s, &con->a), written_text(s, &con->b));
	return arena_printf(s->arena,
			    "the %s row of %s has at least the axes of the %s row of %s, %s", kind,
			    tensor_text(s, con->node, meets ? 0 : -1), meets ? "output" : kind,
			    right, written_text(s, &con->b));
}

void tell_rank_circle(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	blame(b, c->con,
	      c->cons.n == 1 ? "the %s row here would have to be longer than itself"
			     : "these %s rows would each have to be longer than the next",
	      row_kind_text(s->cons.at[c->con].row));
	for (size_t i = 0; i < c->cons.n && i < CIRCLE_SHOWN; i++)
		diag_note(b->diags, s->cons.at[c->cons.at[i]].span, "%s",
			  edge_text(s, c->cons.at[i]));
}

void tell_many_axes(Blame *b, const Conflict *c)
{
	blame_at(b, b->s->graph->nodes.at[c->node].span, "the %s row of %s has more than %d axes",
		 row_kind_text(c->row), tensor_text(b->s, c->node, -1), ROW_LIMIT);
	blame_sites(b, c->node);
}
