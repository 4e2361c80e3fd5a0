/* Where the sizes and rows of a message come from: notes with the places that they passed, and
 * where they were born.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"

#include <string.h>

enum { STEPS_SHOWN = 6, ORIGINS_SHOWN = 6 };

/* Places that a message has shown as origins of sizes. */
typedef struct Origins {
	Span at[ORIGINS_SHOWN];
	int n;
} Origins;

static bool origin_new(Origins *o, Span span)
{
	if (span_is_none(span) || o->n == ORIGINS_SHOWN)
		return false;
	for (int i = 0; i < o->n; i++) {
		if (span_same(o->at[i], span))
			return false;
	}
	o->at[o->n++] = span;
	return true;
}

/* Where the size is written, and the dim or the configuration that it has its name from. */
static void note_written(Blame *b, CellId cell)
{
	Solver *s = b->s;
	Origin origin = origin_near(s, cell);
	const char *size = cell_size_text(s, cell);
	const char *name = source_text(b->diags->sources, s->arena, origin.also);
	diag_note(b->diags, origin.span, "%s comes from here", size);
	if (*name && strcmp(name, size) != 0)
		diag_note(b->diags, origin.also, "'%s' is %s", name, size);
}

static void note_relation(Blame *b, CellId cell, Origins *o);

static void note_origin(Blame *b, CellId cell, CellId result, Origins *o)
{
	Solver *s = b->s;
	const Cell *c = cell_at(s, cell);
	if (size_is_bad(c->value) || cell_root(s, cell) == cell_root(s, result))
		return;
	if (c->why.kind == WHY_RELATION || c->why.kind == WHY_SYSTEM) {
		note_relation(b, cell, o);
	} else if (c->why.kind == WHY_WRITTEN) {
		Span span = origin_near(s, cell).span;
		if (origin_new(o, span))
			note_written(b, cell);
	}
}

/* A size that is computed, and where what it is computed from comes from. Falls: places shown. */
static void note_relation(Blame *b, CellId cell, Origins *o)
{
	Solver *s = b->s;
	ConId id = cell_at(s, cell)->why.con;
	const Con *con = &s->cons.at[id];
	FlatRow f;
	if (!origin_new(o, con->span))
		return;
	diag_note(b->diags, con->span, "%s is computed here: %s", cell_size_text(s, cell),
		  con_text(s, id));
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE)
			note_origin(b, con->cells[i], cell, o);
	}
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			note_origin(b, flat_at(&f, i), cell, o);
	}
}

/* Where the program's own file has what the constraint is of: where it applies the function, for
 * one of another file. */
static Span place_of_con(const Solver *s, const Con *con)
{
	uint32_t site = con->node == NODE_NONE ? 0 : s->graph->nodes.at[con->node].site;
	Span outer = con->span, place = con->span;
	for (uint32_t i = site; i; i = s->graph->sites.at[i].parent) /* falls: as in rank_of */
		outer = s->graph->sites.at[i].span;
	for (; site && place.file != outer.file; site = s->graph->sites.at[site].parent)
		place = s->graph->sites.at[site].span;
	return place;
}

static NodeId tensor_of(const Solver *s, const Con *con)
{
	if (con->kind != CON_ROW_EQ || con->node == NODE_NONE)
		return NODE_NONE;
	return con->arg < 0 ? con->node : s->graph->nodes.at[con->node].args[con->arg];
}

/* Does one letter of the constraint's specification stand for two axes, which are of this class? */
static bool ties(Solver *s, const Con *con, CellId root)
{
	FlatRow spec;
	uint32_t n = 0;
	if (!s->graph->nodes.at[con->node].spec)
		return false;
	row_flatten(s, &con->b, &spec);
	for (uint32_t i = 0; i < spec.nlead + spec.ntrail; i++)
		n += cell_root(s, flat_at(&spec, i)) == root;
	return n > 1;
}

/* The letters that make two axes of a tensor on the way one size. */
static void note_ties(Blame *b, CellId cell, const Path *path)
{
	Solver *s = b->s;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		NodeId tensor = tensor_of(s, con);
		bool met = false;
		for (size_t i = 0; i < path->n && tensor != NODE_NONE && !met; i++)
			met = path->at[i].con != NONE && path->at[i].con != id &&
			      tensor_of(s, &s->cons.at[path->at[i].con]) == tensor;
		if (!met || span_same(con->span, b->blamed) || !ties(s, con, cell_root(s, cell)))
			continue;
		diag_note(b->diags, con->span, "two axes of %s are equal because of this",
			  tensor_text(s, tensor, -1));
		return;
	}
}

/* The operations that the size comes through, the nearest first. */
static void note_steps(Blame *b, CellId cell)
{
	Solver *s = b->s;
	const char *size = cell_size_text(s, cell);
	Path path = proof_path(s, cell, origin_near(s, cell).cell);
	Span last = b->blamed;
	for (size_t i = 0, shown = 0; i < path.n && shown < STEPS_SHOWN; i++) {
		const Con *con = path.at[i].con == NONE ? NULL : &s->cons.at[path.at[i].con];
		Span place = con ? place_of_con(s, con) : last;
		if (!con || span_same(place, last) || span_same(place, b->blamed))
			continue;
		shown++;
		last = place;
		if (span_same(place, con->span))
			diag_note(b->diags, place, "%s is %s here too",
				  axis_text(s, path.at[i].con, path.at[i].to), size);
		else
			diag_note(b->diags, place, "%s comes through here", size);
	}
	note_ties(b, cell, &path);
}

bool blame_computed(Blame *b, CellId cell, Span span)
{
	Solver *s = b->s;
	const Why *why = &cell_at(s, cell)->why;
	if ((why->kind != WHY_RELATION && why->kind != WHY_SYSTEM))
		return false;
	const Con *con = &s->cons.at[why->con];
	b->blamed = span;
	note_relation(b, cell, &(Origins){0});
	for (uint32_t i = 0; i < con->ncells; i++) {
		CellId from = con->cells[i];
		if (from != NONE && cell_root(s, from) != cell_root(s, cell) &&
		    cell_at(s, from)->why.kind == WHY_WRITTEN)
			note_steps(b, from);
	}
	return true;
}

void blame_born(Blame *b, CellId cell)
{
	Solver *s = b->s;
	const char *size = cell_size_text(s, cell);
	note_steps(b, cell);
	const Cell *c = cell_at(s, cell);
	switch (c->why.kind) {
	case WHY_WRITTEN: note_written(b, cell); break;
	case WHY_RELATION:
	case WHY_SYSTEM: note_relation(b, cell, &(Origins){0}); break;
	case WHY_JOIN:
		diag_note(b->diags, s->cons.at[c->why.con].span,
			  "uses of different sizes leave only the broadcasting 1");
		break;
	case WHY_RULE:
		if (c->why.con != NONE)
			diag_note(b->diags, s->cons.at[c->why.con].span,
				  "%s was taken from this use (%s)", size, c->why.rule);
		break;
	case WHY_NONE: break;
	}
}

void blame_axes_born(Blame *b, const Con *con)
{
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(b->s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			blame_born(b, flat_at(&f, i));
	}
}

void blame_settled(Blame *b, const RowTerm *row)
{
	Solver *s = b->s;
	RowVarId id = row->var;
	Span last = b->blamed;
	for (int shown = 0; id != NONE && shown < STEPS_SHOWN; shown++) {
		const RowVar *var = &s->vars.at[id];
		const Con *con = var->why == NONE ? NULL : &s->cons.at[var->why];
		if (con && !span_same(con->span, last) && !span_same(con->span, b->blamed)) {
			last = con->span;
			diag_note(b->diags, last, "the %s row is settled here",
				  row_kind_text(con->row));
		}
		if (var->parent != id)
			id = var->parent;
		else
			id = var->solved ? var->value.var : NONE;
	}
}

/* The operand, or what it is made of by operations without a name; a stream is not made of its
 * seed. */
static NodeId named_below(const Graph *graph, NodeId id)
{
	const Node *node = &graph->nodes.at[id];
	/* falls: node ids */
	while (!node->name && node->nargs == 1 && node->kind != NODE_RANDOM) {
		id = node->args[0];
		node = &graph->nodes.at[id];
	}
	return id;
}

static void note_declared(Blame *b, NodeId id, const char *fmt)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[id];
	if (node->name && !span_is_none(node->name_span))
		diag_note(b->diags, node->name_span, fmt, node->name);
}

void blame_operand(Blame *b, NodeId id, uint32_t arg)
{
	const Graph *graph = b->s->graph;
	note_declared(b, named_below(graph, graph->nodes.at[id].args[arg]),
		      "'%s' is declared here");
}

void blame_operands(Blame *b, NodeId id)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[id];
	NodeId last = NODE_NONE;
	for (uint32_t i = 0; i < node->nargs; i++) {
		NodeId arg = named_below(s->graph, node->args[i]);
		if (arg != last)
			note_declared(b, arg, "'%s' is declared here");
		last = arg;
	}
}

void blame_origin(Blame *b, ConId id)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[id];
	if (con->node == NODE_NONE || con->arg < 0)
		return;
	const Node *node = &s->graph->nodes.at[con->node];
	bool meets = node->kind == NODE_COMPOSE && con->row == ROW_INPUT && con->arg == 1;
	RowAt at = {node->args[con->arg], meets ? ROW_OUTPUT : con->row};
	NodeId shown = named_below(s->graph, at.node);
	for (RowAt from = at; from.node != NODE_NONE; from = row_shared_with(s->graph, from))
		at = from;
	if (at.node != shown)
		note_declared(b, at.node, "that row is the one of '%s'");
}

void blame_equal(Blame *b, CellId x, CellId y)
{
	Solver *s = b->s;
	Path path = proof_path(s, x, y);
	for (size_t i = 0; i < path.n && i < STEPS_SHOWN; i++) {
		const Con *con = path.at[i].con == NONE ? NULL : &s->cons.at[path.at[i].con];
		if (con && con->kind <= CON_CELL_EQ)
			diag_note(b->diags, con->span, "%s and %s are equal because of this",
				  axis_text(s, NONE, x), axis_text(s, NONE, y));
	}
}
