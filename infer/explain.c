/* Derivations: trees of steps from a size down to what is written, and lists of what was chosen.
 *
 * A derivation goes along the merges from a cell to the one that its class had its value from
 * (trace.c), then on through what gave that value.
 */
#include "infer/cells.h"
#include "infer/dump.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"

#include <string.h>

enum { DEPTH_SHOWN = 24, LINES_SHOWN = 400 };

/* ---- printing a derivation ---- */

typedef struct Explainer {
	FILE *out;
	Solver *s;
	const Sources *sources;
	bool *seen; /* by root */
	int lines;
} Explainer;

static void print_place(const Explainer *e, Span span)
{
	if (span_is_none(span) || !e->sources)
		return;
	Place place = source_place(e->sources, span.file, span.start);
	fprintf(e->out, " (%s:%u:%u)", place.path, place.line, place.column);
}

static void print_line(Explainer *e, int depth, const char *text, Span span)
{
	fprintf(e->out, "%*s%s", 2 * depth, "", text);
	print_place(e, span);
	fputc('\n', e->out);
	e->lines++;
}

static void explain_cell(Explainer *e, CellId cell, int depth);

/* ---- rows that an operation shares with an operand ---- */

static const char *operation_text(const Node *node)
{
	return node->kind == NODE_POINTWISE ? op_name(node->op) : node_kind_name(node);
}

static const char *owner_text(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	return node->name ? arena_printf(s->arena, "'%s'", node->name) : operation_text(node);
}

/* From a row through the operations that pass it on, a line each; returns where it comes from. */
static RowAt explain_shared(Explainer *e, RowAt at, int depth)
{
	Solver *s = e->s;
	RowAt from = row_shared_with(s->graph, at);
	for (; from.node != NODE_NONE && e->lines <= LINES_SHOWN;
	     at = from, from = row_shared_with(s->graph, at)) {
		const Node *node = &s->graph->nodes.at[at.node];
		const char *by =
			node->name ? arena_printf(s->arena, ", by %s", operation_text(node)) : "";
		print_line(e, depth,
			   arena_printf(s->arena, "%s row of %s: %s row of %s%s",
					row_kind_text(at.row), owner_text(s, at.node),
					row_kind_text(from.row), owner_text(s, from.node), by),
			   span_is_none(node->op_span) ? node->span : node->op_span);
	}
	return at;
}

/* The operand's row that a constraint between rows speaks of. */
static void explain_operand(Explainer *e, const Con *con, int depth)
{
	if (con->kind > CON_ROW_LE || con->node == NODE_NONE || con->arg < 0)
		return;
	const Node *node = &e->s->graph->nodes.at[con->node];
	bool meets = node->kind == NODE_COMPOSE && con->row == ROW_INPUT && con->arg == 1;
	explain_shared(e, (RowAt){node->args[con->arg], meets ? ROW_OUTPUT : con->row}, depth);
	if (meets) /* the row of the left operand, which b's output meets */
		explain_shared(e, (RowAt){node->args[0], ROW_INPUT}, depth);
}

static void explain_relation(Explainer *e, CellId cell, ConId id, int depth)
{
	Solver *s = e->s;
	const Con *con = &s->cons.at[id];
	print_line(e, depth, arena_printf(s->arena, "computed: %s", con_text(s, id)), con->span);
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE && cell_root(s, con->cells[i]) != cell_root(s, cell))
			explain_cell(e, con->cells[i], depth + 1);
	}
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			if (cell_root(s, flat_at(&f, i)) != cell_root(s, cell))
				explain_cell(e, flat_at(&f, i), depth + 1);
		}
	}
	ConId required = NONE;
	if (con->kind == CON_PRODUCT)
		required_name(s, product_value(s, con), &required);
	if (required != NONE)
		print_line(e, depth + 1, con_text(s, required), s->cons.at[required].span);
}

static void explain_why(Explainer *e, CellId cell, int depth)
{
	Solver *s = e->s;
	Why why = cell_at(s, cell)->why;
	switch (why.kind) {
	case WHY_WRITTEN: print_line(e, depth, "written here", origin_near(s, cell).span); break;
	case WHY_RELATION:
	case WHY_SYSTEM: explain_relation(e, cell, why.con, depth); break;
	case WHY_JOIN:
		print_line(e, depth, "the broadcasting 1: its uses have different sizes",
			   s->cons.at[why.con].span);
		if (why.from != NONE)
			explain_cell(e, why.from, depth + 1);
		break;
	case WHY_RULE:
		print_line(e, depth,
			   arena_printf(s->arena, "chosen, not forced: rule %s", why.rule),
			   why.con == NONE ? SPAN_NONE : s->cons.at[why.con].span);
		if (why.from != NONE)
			explain_cell(e, why.from, depth + 1);
		break;
	case WHY_NONE: break;
	}
}

/* A constraint as a step, with the operation that it is of. */
static const char *step_text(Solver *s, ConId id)
{
	NodeId node = s->cons.at[id].node;
	if (node == NODE_NONE)
		return arena_printf(s->arena, "by %s", con_text(s, id));
	return arena_printf(s->arena, "by %s: %s", operation_text(&s->graph->nodes.at[node]),
			    con_text(s, id));
}

static void explain_cell(Explainer *e, CellId cell, int depth)
{
	Solver *s = e->s;
	CellId root = cell_root(s, cell);
	Sym name = s->cells.at[cell].name;
	const char *size = cell_size_text(s, cell);
	const char *text = name ? arena_printf(s->arena, "'%s' = %s", name, size)
				: arena_printf(s->arena, "a size of %s", size);
	if (e->seen[root] || depth > DEPTH_SHOWN || e->lines > LINES_SHOWN) {
		print_line(e, depth, arena_printf(s->arena, "%s, as above", text),
			   s->cells.at[cell].span);
		return;
	}
	e->seen[root] = true;
	print_line(e, depth, text, s->cells.at[cell].span);
	Path path = proof_path(s, cell, origin_near(s, cell).cell);
	for (size_t i = 0; i < path.n && e->lines <= LINES_SHOWN; i++) {
		ConId con = path.at[i].con;
		const char *step = con == NONE ? "the same size" : step_text(s, con);
		print_line(e, depth + 1, step, con == NONE ? SPAN_NONE : s->cons.at[con].span);
		if (con != NONE)
			explain_operand(e, &s->cons.at[con], depth + 2);
	}
	explain_why(e, cell, depth + 1);
}

static void print_solved(Explainer *e, const RowVar *v, RowKind kind)
{
	Solver *s = e->s;
	if (v->why == NONE && !v->rule)
		return;
	print_line(e, 1,
		   arena_printf(s->arena, "its %s axes: %s%s", row_kind_text(kind),
				v->why != NONE ? "" : "by rule ",
				v->why != NONE ? step_text(s, v->why) : v->rule),
		   v->why != NONE ? s->cons.at[v->why].span : SPAN_NONE);
}

/* Why a row has the axes that it has: the operations that pass it on, then the constraints and
 * rules that solved its variables. */
static void explain_row(Explainer *e, RowAt at)
{
	Solver *s = e->s;
	const RowTerm *t = &s->rows[at.node][at.row];
	at = explain_shared(e, at, 1);
	while (t->var != NONE) { /* falls: variables not printed: solutions have no circles */
		RowVarId var = t->var, root = rowvar_root(s, t->var);
		print_solved(e, &s->vars.at[var], at.row);
		if (!s->vars.at[root].solved)
			return;
		if (root != var)
			print_solved(e, &s->vars.at[root], at.row);
		t = &s->vars.at[root].value;
	}
}

/* ---- --explain-shape=NAME[.AXIS] ---- */

static const Listing *find_listing(const Graph *graph, const char *name, size_t len)
{
	for (size_t i = 0; i < graph->listing.n; i++) {
		const Listing *l = &graph->listing.at[i];
		if (strlen(l->name) == len && memcmp(l->name, name, len) == 0)
			return l;
	}
	return NULL;
}

/* AXIS: batch1, input2, output1, a label, a letter of the specification that makes it, or a number
 * in storage order; all count from 1. */
static bool axis_wanted(Solver *s, const char *axis, const Spot *spot, Sym label, uint32_t storage)
{
	char text[32];
	if (!axis)
		return true;
	snprintf(text, sizeof text, "%s%u", row_kind_text(spot->row), spot->axis + 1);
	if (strcmp(text, axis) == 0 || (label && strcmp(label, axis) == 0))
		return true;
	Sym letter = s->cells.at[spot->cell].name;
	if (s->graph->nodes.at[spot->node].spec && letter && strcmp(letter, axis) == 0)
		return true;
	snprintf(text, sizeof text, "%u", storage + 1);
	return strcmp(text, axis) == 0;
}

static void explain_axis(Explainer *e, const Spot *spot)
{
	fprintf(e->out, "%s axis %u = %s\n", row_kind_text(spot->row), spot->axis + 1,
		cell_size_text(e->s, spot->cell));
	explain_row(e, (RowAt){spot->node, spot->row});
	memset(e->seen, 0, e->s->cells.n);
	explain_cell(e, spot->cell, 1);
}

static bool explain_listing(Explainer *e, const Inference *inference, const Listing *l,
			    const char *axis)
{
	const Shape *shape = &inference->shapes[l->node];
	uint32_t count = 0;
	Spots wanted = {0};
	for (int k = 0; k < ROW_KINDS; k++) {
		RowKind kind = stored_rows[k];
		FlatRow f;
		row_flatten(e->s, &e->s->rows[l->node][kind], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++, count++) {
			Spot spot = {l->node, kind, i, flat_at(&f, i), NONE};
			if (axis_wanted(e->s, axis, &spot, shape->rows[kind].axes[i].label, count))
				PUSH(e->s->arena, wanted, spot);
		}
	}
	if (axis && wanted.n == 0)
		return false;
	fprintf(e->out, "%s : ", l->name);
	shape_print(e->out, inference->sizes, shape);
	fputc('\n', e->out);
	for (size_t i = 0; i < wanted.n; i++)
		explain_axis(e, &wanted.at[i]);
	for (int k = 0; count == 0 && k < ROW_KINDS; k++)
		explain_row(e, (RowAt){l->node, stored_rows[k]});
	return true;
}

bool infer_explain_shape(FILE *out, const Inference *inference, const char *query)
{
	Solver *s = inference->trace->solver;
	Explainer e = {out, s, inference->trace->sources,
		       ARENA_ARRAY(s->arena, bool, s->cells.n + 1), 0};
	const Listing *l = find_listing(inference->graph, query, strlen(query));
	if (l)
		return explain_listing(&e, inference, l, NULL);
	const char *dot = strrchr(query, '.');
	l = dot ? find_listing(inference->graph, query, (size_t)(dot - query)) : NULL;
	return l && explain_listing(&e, inference, l, dot + 1);
}

/* ---- --explain-closed ---- */

static void print_event(Explainer *e, const Event *event)
{
	Solver *s = e->s;
	const Spot *spot = &event->spot;
	fprintf(e->out, "stage %d  %-16s ", event->stage, event->rule);
	if (spot->node != NODE_NONE) {
		const Node *node = &s->graph->nodes.at[spot->node];
		fprintf(e->out, "%%%u %s%s", spot->node,
			node->name ? node->name : operation_text(node),
			spot->cell == NONE ? "" : " ");
		if (spot->cell == NONE)
			fprintf(e->out, " %s row", row_kind_text(spot->row));
		else
			fprintf(e->out, "%s axis %u", row_kind_text(spot->row), spot->axis + 1);
	} else if (spot->cell != NONE) {
		Sym name = cell_at(s, spot->cell)->name;
		fprintf(e->out, "%s", name ? name : "a size");
	}
	if (spot->cell != NONE) {
		fprintf(e->out, " = %s", cell_size_text(s, spot->cell));
	} else if (spot->var != NONE) {
		FlatRow f;
		row_flatten(s, &(RowTerm){.var = spot->var}, &f);
		fprintf(e->out, " = %s", flat_text(s, &f));
	}
	if (spot->node != NODE_NONE)
		print_place(e, s->graph->nodes.at[spot->node].span);
	fputc('\n', e->out);
}

void explain_events(FILE *out, Solver *s, const Sources *sources, int stage)
{
	Explainer e = {out, s, sources, NULL, 0};
	for (size_t i = 0; i < s->events.n; i++) {
		if (s->events.at[i].stage == stage)
			print_event(&e, &s->events.at[i]);
	}
}

/* A row of a result that ended with the axes that it had: no size was chosen. */
static bool ends_only(Solver *s, const Event *event)
{
	FlatRow f;
	if (event->spot.cell != NONE || strcmp(event->rule, "result-row") != 0)
		return false;
	row_flatten(s, &(RowTerm){.var = event->spot.var}, &f);
	return f.nlead + f.ntrail == 0;
}

void infer_explain_closed(FILE *out, const Inference *inference)
{
	Solver *s = inference->trace->solver;
	Explainer e = {out, s, inference->trace->sources, NULL, 0};
	size_t ended = 0;
	for (size_t i = 0; i < s->events.n; i++) {
		if (ends_only(s, &s->events.at[i]))
			ended++;
		else
			print_event(&e, &s->events.at[i]);
	}
	if (s->events.n == ended)
		fputs("no size was chosen: all are forced\n", out);
	if (ended > 0)
		fprintf(out, "%zu open row%s of results got no more axes\n", ended,
			ended == 1 ? "" : "s");
}
