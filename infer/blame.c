/* Messages of the solver: which constraints cannot hold together, each with its place, the axis or
 * letter, the size, and where that size was born.
 *
 * The solver is silent when it runs in a shuffled order: an error is then found again in the order
 * of the program, so that the message never depends on the order.
 */
#include "infer/solver.h"

#include "infer/trace.h"

#include <string.h>

enum { SITES_SHOWN = 8, STEPS_SHOWN = 6, ORIGINS_SHOWN = 6 };

/* File and line of the statement of the program that an error belongs to: where a function is
 * applied, for what stands in the function. */
static uint64_t rank_of(Solver *s, NodeId node, Span span)
{
	uint32_t site = node == NODE_NONE ? 0 : s->graph->nodes.at[node].site;
	for (; site; site = s->graph->sites.at[site]
				    .parent) /* falls: sites are made before those in them */
		span = s->graph->sites.at[site].span;
	if (span_is_none(span))
		return 0;
	return (uint64_t)span.file << 32 |
	       source_place(s->diags->sources, span.file, span.start).line;
}

static void report(Solver *s, DiagCode code, NodeId node, Span span, const char *fmt, va_list args)
{
	s->nerrors++;
	s->blamed = span;
	if (!s->diags)
		return;
	diag(s->diags, code, span, "%s", arena_vprintf(s->arena, fmt, args));
	diag_rank(s->diags, rank_of(s, node, span));
}

bool blame(Solver *s, DiagCode code, ConId con, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	report(s, code, con == NONE ? NODE_NONE : s->cons.at[con].node,
	       con == NONE ? SPAN_NONE : s->cons.at[con].span, fmt, args);
	va_end(args);
	if (con != NONE)
		blame_sites(s, s->cons.at[con].node);
	return s->diags != NULL;
}

void blame_at(Solver *s, DiagCode code, Span span, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	report(s, code, NODE_NONE, span, fmt, args);
	va_end(args);
}

void blame_sites(Solver *s, NodeId node)
{
	if (!s->diags || node == NODE_NONE)
		return;
	uint32_t site = s->graph->nodes.at[node].site;
	for (int i = 0; site && i < SITES_SHOWN; i++) {
		const Site *at = &s->graph->sites.at[site];
		diag_applied(s->diags, at->span, at->name);
		site = at->parent;
	}
}

static bool same_span(Span a, Span b)
{
	return a.file == b.file && a.start == b.start && a.end == b.end;
}

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
		if (same_span(o->at[i], span))
			return false;
	}
	o->at[o->n++] = span;
	return true;
}

/* Where the size is written, and the dim or the configuration that it has its name from. */
static void note_written(Solver *s, CellId cell)
{
	Origin origin = origin_near(s, cell);
	const char *size = cell_size_text(s, cell);
	const char *name = source_text(s->diags->sources, s->arena, origin.also);
	diag_note(s->diags, origin.span, "%s comes from here", size);
	if (*name && strcmp(name, size) != 0)
		diag_note(s->diags, origin.also, "'%s' is %s", name, size);
}

static void note_relation(Solver *s, CellId cell, Origins *o);

static void note_origin(Solver *s, CellId cell, CellId result, Origins *o)
{
	const Cell *c = cell_at(s, cell);
	if (size_is_bad(c->value) || cell_root(s, cell) == cell_root(s, result))
		return;
	if (c->why.kind == WHY_RELATION || c->why.kind == WHY_SYSTEM) {
		note_relation(s, cell, o);
	} else if (c->why.kind == WHY_WRITTEN) {
		Span span = origin_near(s, cell).span;
		if (origin_new(o, span))
			note_written(s, cell);
	}
}

/* A size that is computed, and where what it is computed from comes from. Falls: places shown. */
static void note_relation(Solver *s, CellId cell, Origins *o)
{
	ConId id = cell_at(s, cell)->why.con;
	const Con *con = &s->cons.at[id];
	FlatRow f;
	if (!origin_new(o, con->span))
		return;
	diag_note(s->diags, con->span, "%s is computed here: %s", cell_size_text(s, cell),
		  con_text(s, id));
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE)
			note_origin(s, con->cells[i], cell, o);
	}
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			note_origin(s, flat_at(&f, i), cell, o);
	}
}

/* Where the program's own file has what the constraint is of: where it applies the function, for
 * one of another file. */
static Span place_of(const Solver *s, const Con *con)
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
static void note_ties(Solver *s, CellId cell, const Path *path)
{
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		NodeId tensor = tensor_of(s, con);
		bool met = false;
		for (size_t i = 0; i < path->n && tensor != NODE_NONE && !met; i++)
			met = path->at[i].con != NONE && path->at[i].con != id &&
			      tensor_of(s, &s->cons.at[path->at[i].con]) == tensor;
		if (!met || same_span(con->span, s->blamed) || !ties(s, con, cell_root(s, cell)))
			continue;
		diag_note(s->diags, con->span, "two axes of %s are equal because of this",
			  tensor_text(s, tensor, -1));
		return;
	}
}

/* The operations that the size comes through, the nearest first. */
static void note_steps(Solver *s, CellId cell)
{
	const char *size = cell_size_text(s, cell);
	Path path = proof_path(s, cell, origin_near(s, cell).cell);
	Span last = s->blamed;
	for (size_t i = 0, shown = 0; i < path.n && shown < STEPS_SHOWN; i++) {
		const Con *con = path.at[i].con == NONE ? NULL : &s->cons.at[path.at[i].con];
		Span place = con ? place_of(s, con) : last;
		if (!con || same_span(place, last) || same_span(place, s->blamed))
			continue;
		shown++;
		last = place;
		if (same_span(place, con->span))
			diag_note(s->diags, place, "%s is %s here too",
				  axis_text(s, path.at[i].con, path.at[i].to), size);
		else
			diag_note(s->diags, place, "%s comes through here", size);
	}
	note_ties(s, cell, &path);
}

bool blame_computed(Solver *s, CellId cell, Span span)
{
	const Why *why = &cell_at(s, cell)->why;
	if (!s->diags || (why->kind != WHY_RELATION && why->kind != WHY_SYSTEM))
		return false;
	const Con *con = &s->cons.at[why->con];
	s->blamed = span;
	note_relation(s, cell, &(Origins){0});
	for (uint32_t i = 0; i < con->ncells; i++) {
		CellId from = con->cells[i];
		if (from != NONE && cell_root(s, from) != cell_root(s, cell) &&
		    cell_at(s, from)->why.kind == WHY_WRITTEN)
			note_steps(s, from);
	}
	return true;
}

void blame_born(Solver *s, CellId cell)
{
	if (!s->diags)
		return;
	const char *size = cell_size_text(s, cell);
	note_steps(s, cell);
	const Cell *c = cell_at(s, cell);
	switch (c->why.kind) {
	case WHY_WRITTEN: note_written(s, cell); break;
	case WHY_RELATION:
	case WHY_SYSTEM: note_relation(s, cell, &(Origins){0}); break;
	case WHY_JOIN:
		diag_note(s->diags, s->cons.at[c->why.con].span,
			  "uses of different sizes leave only the broadcasting 1");
		break;
	case WHY_RULE:
		if (c->why.con != NONE)
			diag_note(s->diags, s->cons.at[c->why.con].span,
				  "%s was taken from this use (%s)", size, c->why.rule);
		break;
	case WHY_NONE: break;
	}
}

void blame_settled(Solver *s, const RowTerm *row)
{
	RowVarId id = row->var;
	Span last = s->blamed;
	for (int shown = 0; s->diags && id != NONE && shown < STEPS_SHOWN; shown++) {
		const RowVar *var = &s->vars.at[id];
		const Con *con = var->why == NONE ? NULL : &s->cons.at[var->why];
		if (con && !same_span(con->span, last) && !same_span(con->span, s->blamed)) {
			last = con->span;
			diag_note(s->diags, last, "the %s row is settled here",
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

static void note_declared(Solver *s, NodeId id, const char *fmt)
{
	const Node *node = &s->graph->nodes.at[id];
	if (node->name && !span_is_none(node->name_span))
		diag_note(s->diags, node->name_span, fmt, node->name);
}

void blame_operands(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	NodeId last = NODE_NONE;
	for (uint32_t i = 0; s->diags && i < node->nargs; i++) {
		NodeId arg = named_below(s->graph, node->args[i]);
		if (arg != last)
			note_declared(s, arg, "'%s' is declared here");
		last = arg;
	}
}

void blame_origin(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	if (!s->diags || con->node == NODE_NONE || con->arg < 0)
		return;
	const Node *node = &s->graph->nodes.at[con->node];
	bool meets = node->kind == NODE_COMPOSE && con->row == ROW_INPUT && con->arg == 1;
	RowAt at = {node->args[con->arg], meets ? ROW_OUTPUT : con->row};
	NodeId shown = named_below(s->graph, at.node);
	for (RowAt from = at; from.node != NODE_NONE; from = row_shared_with(s->graph, from))
		at = from;
	if (at.node != shown)
		note_declared(s, at.node, "that row is the one of '%s'");
}

void blame_equal(Solver *s, CellId a, CellId b)
{
	Path path = proof_path(s, a, b);
	for (size_t i = 0; s->diags && i < path.n && i < STEPS_SHOWN; i++) {
		const Con *con = path.at[i].con == NONE ? NULL : &s->cons.at[path.at[i].con];
		if (con && con->kind <= CON_CELL_EQ)
			diag_note(s->diags, con->span, "%s and %s are equal because of this",
				  axis_text(s, NONE, a), axis_text(s, NONE, b));
	}
}

/* An operand and what the specification says of it, where they meet in sizes a and b: axis `at`. */
typedef struct Meeting {
	FlatRow tensor, spec;
	uint32_t n, at;
} Meeting;

static bool find_meeting(Solver *s, CellId a, CellId b, ConId id, Meeting *m)
{
	const Con *con = id == NONE ? NULL : &s->cons.at[id];
	if (!con || con->kind != CON_ROW_EQ || !s->graph->nodes.at[con->node].spec || con->arg < 0)
		return false;
	row_flatten(s, &con->a, &m->tensor);
	row_flatten(s, &con->b, &m->spec);
	m->n = m->tensor.nlead + m->tensor.ntrail;
	if (m->n != m->spec.nlead + m->spec.ntrail)
		return false;
	CellId x = cell_root(s, a), y = cell_root(s, b);
	for (m->at = 0; m->at < m->n; m->at++) {
		CellId t = cell_root(s, flat_at(&m->tensor, m->at)),
		       p = cell_root(s, flat_at(&m->spec, m->at));
		if ((t == x && p == y) || (t == y && p == x))
			return true;
	}
	return false;
}

/* Why a size of 1 does not stretch. */
static void note_one(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	if (s->diags && size_is(s->sizes, c->value, 1) && !cell_stretches(s, cell))
		diag_note(s->diags, s->blamed, "a 1 %s",
			  c->label
				  ? "with a label does not broadcast"
				  : "that a dim spells does not broadcast: sizes of dims never do");
}

/* Operands that have fewer axes than the result, and some of them on the left: these were written
 * before a row variable. */
static void note_sides(Solver *s, ConId at)
{
	FlatRow res, opnd;
	const Con *here = &s->cons.at[at];
	for (ConId id = 0; s->diags && id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_ROW_LE || con->node != here->node || con->row != here->row)
			continue;
		row_flatten(s, &con->a, &res);
		row_flatten(s, &con->b, &opnd);
		if (opnd.npinned > 0 && opnd.nlead + opnd.ntrail < res.nlead + res.ntrail)
			diag_note(
				s->diags, con->span,
				"%s has %s axes that were written before a row variable: they meet the "
				"others from the left",
				tensor_text(s, con->node, con->arg), row_kind_text(con->row));
	}
}

void blame_sizes(Solver *s, CellId a, CellId b, ConId con)
{
	const char *x = cell_size_text(s, a), *y = cell_size_text(s, b);
	const char *what = axis_text(s, con, a);
	Meeting m;
	bool meeting = find_meeting(s, a, b, con, &m);
	if (meeting) {
		const Con *c = &s->cons.at[con];
		a = flat_at(&m.spec, m.at);
		b = flat_at(&m.tensor, m.at);
		blame(s, E0301, con, "%s is %s, and %s has %s there", axis_text(s, con, a),
		      cell_size_text(s, a), tensor_text(s, c->node, c->arg), cell_size_text(s, b));
	} else if (con != NONE && s->cons.at[con].kind == CON_ROW_LE) {
		blame(s, E0301, con, "%s is %s, and this has %s: neither is the broadcasting 1",
		      what, x, y);
		note_one(s, a);
		note_one(s, b);
		note_sides(s, con);
	} else {
		blame(s, E0301, con, "%s is %s, and here it is %s", what, x, y);
	}
	blame_born(s, a);
	blame_born(s, b);
	if (meeting) {
		suggest_swap(s, con, m.at);
		return;
	}
	suggest_operand(s, con);
	suggest_compose(s, con);
}

void blame_stretched(Solver *s, CellId res, CellId opnd, ConId con)
{
	ConId use = settling_use(s, &s->cons.at[con]);
	ConId at = use == NONE ? con : use;
	const Con *c = &s->cons.at[at];
	blame(s, E0301, at,
	      "%s is %s, and %s is computed from 1 there, which broadcasts in pointwise forms "
	      "alone",
	      axis_text(s, at, res), cell_size_text(s, res),
	      tensor_text(s, c->node, at == con ? -1 : c->arg));
	blame_born(s, res);
	if (s->diags && at != con)
		diag_note(s->diags, s->cons.at[con].span, "this is 1 there");
	blame_born(s, opnd);
}
