/* Messages of axes that meet: sizes and labels that differ. */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"

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
static void note_one(Blame *b, CellId cell)
{
	Solver *s = b->s;
	const Cell *c = cell_at(s, cell);
	if (size_is(s->sizes, c->value, 1) && !cell_stretches(s, cell))
		diag_note(b->diags, b->blamed, "a 1 %s",
			  c->label
				  ? "with a label does not broadcast"
				  : "that a dim spells does not broadcast: sizes of dims never do");
}

/* Operands that have fewer axes than the result, and some of them on the left: these were written
 * before a row variable. */
static void note_sides(Blame *b, ConId at)
{
	Solver *s = b->s;
	FlatRow res, opnd;
	const Con *here = &s->cons.at[at];
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_ROW_LE || con->node != here->node || con->row != here->row)
			continue;
		row_flatten(s, &con->a, &res);
		row_flatten(s, &con->b, &opnd);
		if (opnd.npinned > 0 && opnd.nlead + opnd.ntrail < res.nlead + res.ntrail)
			diag_note(
				b->diags, con->span,
				"%s has %s axes that were written before a row variable: they meet the "
				"others from the left",
				tensor_text(s, con->node, con->arg), row_kind_text(con->row));
	}
}

/* An axis of an operand, which the specification says by a letter, or has under a row variable. */
static void tell_meeting(Blame *b, ConId con, CellId cell, Size said, Size has)
{
	Solver *s = b->s;
	const char *axis = axis_text(s, con, cell);
	if (*axis == '\'') /* a letter */
		blame(b, con, "%s is %s, and %s has %s there", axis, blame_size(b, said),
		      tensor_text(s, s->cons.at[con].node, s->cons.at[con].arg),
		      blame_size(b, has));
	else
		blame(b, con, "%s is %s, and the specification says %s", axis, blame_size(b, has),
		      blame_size(b, said));
}

void tell_sizes(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	CellId x = c->cells[0], y = c->cells[1];
	ConId con = c->con;
	Meeting m;
	bool meeting = find_meeting(s, x, y, con, &m);
	if (meeting) {
		bool turned = cell_root(s, flat_at(&m.spec, m.at)) != cell_root(s, x);
		x = flat_at(&m.spec, m.at);
		y = flat_at(&m.tensor, m.at);
		tell_meeting(b, con, x, c->sizes[turned], c->sizes[!turned]);
	} else if (con != NONE && s->cons.at[con].kind == CON_ROW_LE) {
		blame(b, con, "%s is %s, and this has %s: neither is the broadcasting 1",
		      axis_text(s, con, x), blame_size(b, c->sizes[0]), blame_size(b, c->sizes[1]));
		note_one(b, x);
		note_one(b, y);
		note_sides(b, con);
	} else {
		blame(b, con, "%s is %s, and here it is %s", axis_text(s, con, x),
		      blame_size(b, c->sizes[0]), blame_size(b, c->sizes[1]));
		note_rule(b, con);
	}
	blame_born(b, x);
	blame_born(b, y);
	if (meeting) {
		suggest_swap(b, con, m.at);
		return;
	}
	suggest_operand(b, con);
	suggest_compose(b, con);
}

void tell_stretched(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	ConId at = c->use == NONE ? c->con : c->use;
	const Con *con = &s->cons.at[at];
	blame(b, at,
	      "%s is %s, and %s is computed from 1 there, which broadcasts in pointwise forms "
	      "alone",
	      axis_text(s, at, c->cells[0]), cell_size_text(s, c->cells[0]),
	      tensor_text(s, con->node, at == c->con ? -1 : con->arg));
	blame_born(b, c->cells[0]);
	if (at != c->con)
		diag_note(b->diags, s->cons.at[c->con].span, "this is 1 there");
	blame_born(b, c->cells[1]);
}

static void note_labels(Blame *b, const Conflict *c)
{
	for (int i = 0; i < 2; i++)
		diag_note(b->diags, b->s->cells.at[c->born[i]].span, "labelled '%s' here",
			  c->labels[i]);
}

void tell_labels(Blame *b, const Conflict *c)
{
	blame(b, c->con, "%s is labelled '%s' and '%s'", axis_text(b->s, c->con, c->cells[0]),
	      c->labels[0], c->labels[1]);
	note_labels(b, c);
}

void tell_part_labels(Blame *b, const Conflict *c)
{
	blame(b, c->con, "parts of this axis are labelled '%s' and '%s'", c->labels[0],
	      c->labels[1]);
	note_labels(b, c);
}

void tell_too_large(Blame *b, const Conflict *c)
{
	blame(b, c->con, "%s is larger than a size may be: %s",
	      axis_text(b->s, c->con, c->cells[0]), c->limit);
}
