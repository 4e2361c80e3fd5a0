/* Why a size is open, beside the message that nothing determines it. */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/warn.h"

#include <inttypes.h>
#include <string.h>

enum { NOTES_SHOWN = 3, ERRORS_TRACED = 200 }; /* NOTES_SHOWN: of each kind */

/* The open sizes that would be known if this one were, or it if they were: by root. */
static bool *tied_to(Solver *s, CellId start)
{
	bool *tied = ARENA_ARRAY(s->arena, bool, s->cells.n + 1);
	VEC(CellId) work = {0};
	tied[cell_root(s, start)] = true;
	PUSH(s->arena, work, cell_root(s, start));
	for (size_t i = 0; i < work.n; i++) { /* falls: cells not marked yet */
		for (const Occ *o = s->cells.at[work.at[i]].occs.first; o; o = o->next) {
			const Edge *e = o->kind == OCC_EDGE ? &s->edges.at[o->id] : NULL;
			const Con *con = e ? NULL : &s->cons.at[o->id];
			CellId ends[2] = {e ? e->res : NONE, e ? e->opnd : NONE};
			const CellId *cells = e ? ends : con->cells;
			for (uint32_t k = 0; k < (e ? 2 : con->ncells); k++) {
				CellId to = cells[k] == NONE ? NONE : cell_root(s, cells[k]);
				if (to == NONE || tied[to] || cell_known(s, to))
					continue;
				tied[to] = true;
				PUSH(s->arena, work, to);
			}
		}
	}
	return tied;
}

static void note_letters(Blame *b, const bool *tied)
{
	Solver *s = b->s;
	for (size_t i = 0, shown = 0; i < s->letters.n && shown < NOTES_SHOWN; i++) {
		const LetterCell *l = &s->letters.at[i];
		if (!l->only_result || !tied[cell_root(s, l->cell)])
			continue;
		shown++;
		diag_note(b->diags, l->span, "it is open because only the result has '%s' here",
			  l->letter);
	}
}

/* Known totals with several open factors, of which one would give the size. */
static void note_totals(Blame *b, const bool *tied)
{
	Solver *s = b->s;
	FlatRow f;
	uint32_t shown = 0;
	for (ConId id = 0; id < s->cons.n && shown < NOTES_SHOWN; id++) {
		const Con *con = &s->cons.at[id];
		bool factor = false;
		if (con->kind != CON_PRODUCT || !cell_known(s, con->cells[0]) ||
		    !size_is_bad(product_value(s, con)))
			continue;
		for (uint32_t r = 0; r < con->nrows; r++) {
			row_flatten(s, &con->rows[r], &f);
			for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
				factor |= tied[cell_root(s, flat_at(&f, i))];
		}
		if (!factor)
			continue;
		shown++;
		diag_note(b->diags, con->span, "this total leaves it open: %s", con_text(s, id));
	}
}

static bool is_part_of_concat(Solver *s, const Con *con, CellId cell)
{
	bool part = false;
	for (uint32_t i = 1; con->kind == CON_CONCAT && i < con->ncells; i++)
		part |= cell_root(s, con->cells[i]) == cell_root(s, cell);
	return part;
}

static void note_splits(Blame *b, CellId whole, CellId part)
{
	Solver *s = b->s;
	uint32_t shown = 0;
	for (const Occ *o = cell_at(s, whole)->occs.first; o && shown < NOTES_SHOWN; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || con->kind != CON_CONCAT || is_part_of_concat(s, con, part) ||
		    cell_root(s, con->cells[0]) != cell_root(s, whole))
			continue;
		shown++;
		diag_note(b->diags, con->span, "the axis that it is a part of is %s here",
			  con_text(s, o->id));
	}
}

static void note_parts(Blame *b, CellId cell)
{
	Solver *s = b->s;
	for (const Occ *o = cell_at(s, cell)->occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || !is_part_of_concat(s, con, cell))
			continue;
		note_splits(b, con->cells[0], cell);
		return;
	}
}

static void note_open(Blame *b, CellId cell)
{
	Solver *s = b->s;
	if (b->ntold >= ERRORS_TRACED)
		return;
	const bool *tied = tied_to(s, cell);
	note_letters(b, tied);
	note_totals(b, tied);
	note_parts(b, cell);
}

static Span name_of(const Node *node)
{
	return span_is_none(node->name_span) ? node->span : node->name_span;
}

void tell_open_kernel(Blame *b, const Conflict *c)
{
	blame_at(b, c->span, "nothing determines the size of '%s'", c->letter);
	diag_note(b->diags, c->span, "say it: 'with (%s = 3)'", c->letter);
	blame_sites(b, c->node);
}

void tell_open_count(Blame *b, const Conflict *c)
{
	blame_at(
		b, c->span,
		"nothing says how many '%s' there are, and the axis may be longer: 'with (%s = ...)' does",
		c->letter, c->letter);
}

void tell_open_size(Blame *b, const Conflict *c)
{
	const Node *node = &b->s->graph->nodes.at[c->node];
	blame_at(b, name_of(node), "nothing determines %s axis %" PRId64 " of %s",
		 row_kind_text(c->row), c->number, tensor_text(b->s, c->node, -1));
	diag_note(b->diags, node->span, "a written size would, or a use that has one");
	note_open(b, c->cells[0]);
	blame_sites(b, c->node);
}

/* x * g, where x takes in nothing: the input axes of g go into the result, and no further. */
static void note_composed(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	if (c->row != ROW_INPUT)
		return;
	for (NodeId id = c->node + 1; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		FlatRow in;
		if (node->kind != NODE_COMPOSE || node->args[1] != c->node)
			continue;
		row_flatten(s, &s->rows[node->args[0]][ROW_INPUT], &in);
		bool none = in.var == NONE && in.nlead + in.ntrail == 0;
		diag_note(b->diags, node->op_span,
			  "'*' composes %s with it%s: its input axes are those of the result",
			  tensor_text(s, id, 0), none ? ", which takes in no axes" : "");
		return;
	}
}

void tell_open_row(Blame *b, const Conflict *c)
{
	static const char *const shapes[ROW_KINDS] = {"[3 | ... -> ...]", "[3 -> ...]",
						      "[... -> 3]"};
	const Node *node = &b->s->graph->nodes.at[c->node];
	blame_at(b, name_of(node), "nothing determines the %s axes of %s", row_kind_text(c->row),
		 tensor_text(b->s, c->node, -1));
	const char *dot =
		node->name ? strrchr(node->name, '.') : NULL; /* it is written in a function */
	diag_note(b->diags, node->span, "a shape that says them would, such as '%s%s : %s%s'",
		  dot ? "{" : "",
		  dot	       ? dot + 1
		  : node->name ? node->name
			       : "it",
		  shapes[c->row], dot ? "}" : "");
	note_composed(b, c);
	blame_sites(b, c->node);
}

/* A parameter without a shape that starts at a number such as 0.8 is mostly one number; 0 and 1 are what biases and gains start at. */
static bool is_number_likely(const Node *node)
{
	return node->shape->rows[ROW_OUTPUT].open && node->init == INIT_CONSTANT &&
	       node->init_value != 0 && node->init_value != 1;
}

void tell_param_size(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Node *node = &s->graph->nodes.at[c->node];
	blame_at(b, name_of(node),
		 "%s axis %" PRId64 " of parameter '%s' would be %s, known only when the program "
		 "runs",
		 row_kind_text(c->row), c->number, node->name ? node->name : "?",
		 size_text(s->arena, s->sizes, c->sizes[0]));
	if (node->name) /* what its declaration may say */
		diag_note(b->diags, node->span, "a shape that says so lets it: '%s : %s'",
			  node->name,
			  shape_text(s->arena, s->sizes, &b->inference->shapes[c->node]));
	Span name = name_of(node);
	if (is_number_likely(node))
		diag_fix(b->diags, (Span){name.file, name.end, name.end}, " : []",
			 "it is one number with the shape '[]'");
	suggest_channels_last(b->inference, b->diags, c->node);
	blame_born(b, c->cells[0]);
	blame_sites(b, c->node);
}
