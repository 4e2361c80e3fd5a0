/* Messages of relations between sizes: one that has no solution, or several together. */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/text.h"

#include <inttypes.h>
#include <string.h>

/* Where the sizes that the relation knows come from. */
static void note_known(Blame *b, const Con *con)
{
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE && cell_known(b->s, con->cells[i]))
			blame_born(b, con->cells[i]);
	}
}

/* What the relation says, with the sizes in it, and where these come from. */
void tell_fraction(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	blame(b, c->con, "%s would have to be %s, which is no size",
	      axis_text(b->s, c->con, c->cells[0]), blame_size(b, c->sizes[0]));
	diag_note(b->diags, con->span, "%s", con_text(b->s, c->con));
	note_known(b, con);
}

void tell_window(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	blame(b, c->con, "the window spans %s elements, and the axis has only %s",
	      blame_size(b, c->sizes[1]), blame_size(b, c->sizes[0]));
	blame_born(b, con->cells[0]);
	if (con->cells[2] != NONE)
		blame_born(b, con->cells[2]);
}

void tell_steps(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	const SpecAxis *axis = con->axis;
	int64_t rest = 0, size = 0;
	size_is_const(s->sizes, c->sizes[1], &rest);
	size_is_const(s->sizes, c->sizes[0], &size);
	int64_t over = ((rest % axis->stride) + axis->stride) % axis->stride;
	blame(b, c->con,
	      "an axis of %" PRId64 " does not divide into steps of %" PRId64 ": %" PRId64
	      " left over",
	      size, axis->stride, over);
	blame_born(b, con->cells[0]);
	if (con->cells[2] != NONE && axis->mark == MARK_VALID)
		blame_born(b, con->cells[2]);
	diag_note(b->diags, con->span, "%" PRId64 " or %" PRId64 " elements would divide",
		  size - over, size - over + axis->stride);
	if (axis->mark == MARK_VALID)
		diag_note(b->diags, con->span, "'<+?' instead of '<+' leaves the rest unread");
	if (axis->mark == MARK_PADDED)
		diag_note(b->diags, con->span,
			  "'=+?' instead of '=+' takes one more, partial step");
}

void tell_kernel(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	blame(b, c->con, "no size of '%s' fits: %s elements in %s steps of %" PRId64,
	      con->axis->kernel, blame_size(b, c->sizes[0]), blame_size(b, c->sizes[1]),
	      con->axis->stride);
	blame_born(b, con->cells[0]);
	blame_born(b, con->cells[1]);
}

void tell_parts(Blame *b, const Conflict *c)
{
	const Con *con = &b->s->cons.at[c->con];
	const char *border = con->axis ? con->axis->border : NULL;
	if (border) {
		blame(b, c->con, "the border '%s' needs an axis of %s or more, and this one is %s",
		      border, blame_size(b, c->sizes[1]), blame_size(b, c->sizes[0]));
		blame_born(b, con->cells[0]);
		return;
	}
	blame(b, c->con, "the parts have %s elements together, more than the %s of the axis",
	      blame_size(b, c->sizes[1]), blame_size(b, c->sizes[0]));
	note_known(b, con);
}

/* What is left for parts that are one size is no multiple of their number. */
void tell_equal_parts(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	blame(b, c->con, "%s elements do not divide into %" PRId64 " equal parts",
	      blame_size(b, c->sizes[0]), c->number);
	CellId last = NONE;
	for (uint32_t i = 1; i < con->ncells; i++) {
		if (cell_root(s, con->cells[i]) != cell_root(s, c->cells[0]))
			continue;
		if (last != NONE)
			blame_equal(b, last, con->cells[i]);
		last = con->cells[i];
	}
	blame_born(b, con->cells[0]);
}

void tell_multiple(Blame *b, const Conflict *c)
{
	blame(b, c->con, "%s is not a multiple of %" PRId64, blame_size(b, c->sizes[0]), c->number);
	note_known(b, &b->s->cons.at[c->con]);
}

void tell_index(Blame *b, const Conflict *c)
{
	blame(b, c->con, "index %" PRId64 " is outside an axis of %s", c->number,
	      blame_size(b, c->sizes[0]));
	const Con *con = &b->s->cons.at[c->con];
	blame_born(b, con->cells[0]);
	if (con->arg >= 0 || con->node == NODE_NONE || !b->s->graph->nodes.at[con->node].spec)
		return;
	if (c->number == 1)
		diag_fix(b->diags, con->span, "0", "an axis of 1 is a 0 in the result");
	else
		diag_note(b->diags, con->span,
			  "in a result a number is one place of its axis; an axis of %" PRId64
			  " is a letter, 'with (k = %" PRId64 ")' behind the expression",
			  c->number, c->number);
}

/* ---- several together ---- */

/* What the relation says its unnamed result is: the text behind "? = ", or NULL. */
static const char *require_side(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	if (con->node != NODE_NONE || cell_known(s, con->cells[0]) || letter_of(s, con->cells[0]))
		return NULL;
	const char *text = con_text(s, id), *side = strstr(text, " = ");
	return side ? side + 3 : NULL;
}

/* Two relations with one result that has no name are the two sides of a require: one note with the
 * second. */
static bool note_require(Blame *b, const Conflict *c, size_t i)
{
	Solver *s = b->s;
	ConId id = c->cons.at[i];
	const char *side = require_side(s, id);
	for (size_t k = 0; side && k < c->cons.n; k++) {
		ConId other = c->cons.at[k];
		if (k == i || !require_side(s, other) ||
		    cell_root(s, s->cons.at[other].cells[0]) !=
			    cell_root(s, s->cons.at[id].cells[0]))
			continue;
		if (k < i)
			diag_note(b->diags, s->cons.at[id].span, "%s = %s", require_side(s, other),
				  side);
		return true;
	}
	return false;
}

void tell_system(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	if (c->cells[0] == NONE)
		blame(b, c->con, "no sizes solve the relations below together");
	else if (c->divisor == 1)
		blame(b, c->con, "%s would have to be %" PRId64, axis_text(s, c->use, c->cells[0]),
		      c->number);
	else
		blame(b, c->con, "%s would have to be %" PRId64 "/%" PRId64 ", which is no size",
		      axis_text(s, c->use, c->cells[0]), c->number, c->divisor);
	for (size_t i = 0; i < c->cons.n; i++) {
		const Con *con = &s->cons.at[c->cons.at[i]];
		if (note_require(b, c, i))
			continue;
		diag_note(b->diags, con->span, "%s", con_text(s, c->cons.at[i]));
		if (con->node != NODE_NONE && cell_known(s, con->cells[0]))
			blame_born(b, con->cells[0]);
	}
}

void tell_totals(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	blame(b, c->con,
	      c->kind == CONFLICT_TOTALS
		      ? "no sizes fill these totals together"
		      : "the axes of these totals are too many to try: write sizes of some");
	for (size_t i = 0; i < c->cons.n; i++) {
		const Con *con = &s->cons.at[c->cons.at[i]];
		diag_note(b->diags, con->span, "%s", con_text(s, c->cons.at[i]));
		blame_born(b, con->cells[0]);
	}
	for (size_t i = 0; i < c->ties.n; i++)
		diag_note(b->diags, s->cons.at[c->ties.at[i]].span, "%s",
			  con_text(s, c->ties.at[i]));
	NodeId met = NODE_NONE;
	for (size_t i = 0; i < c->meets.n; i++) {
		const Con *con = c->meets.at[i] == NONE ? NULL : &s->cons.at[c->meets.at[i]];
		if (con && con->node != met)
			diag_note(b->diags, con->span, "they meet here");
		met = con ? con->node : met;
	}
}
