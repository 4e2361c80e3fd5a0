/* Repairs of letters: two that would fit if they changed places.
 *
 *   x : [b | i], w : [i -> o]     "b | o; o -> i => b | i" of (h, w) with h : [b | o] is a weight
 *                                 read backwards: 'o' and 'i' of the second operand
 *
 * In the order in which they are tried: a letter of the same row of the operand, of another row of
 * it (across `->` or `|`), of a row of the other operand that has both.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"

enum { NEAR_CONS = 24 /* of one operation lie this near */ };

/* An operand's row as the tensor has it and as the specification says it. */
typedef struct Written {
	ConId id;
	const Con *con;
	FlatRow tensor, spec;
	uint32_t n;
} Written;

/* The letter that does not fit: its size, and that of the operand's axis. */
typedef struct Misfit {
	Written row;
	Sym letter;
	Size want, have;
} Misfit;

/* False unless the constraint says as many axes of an operand of the node as it has. */
static bool written_of(Solver *s, ConId id, NodeId node, Written *w)
{
	*w = (Written){.id = id, .con = &s->cons.at[id]};
	if (w->con->kind != CON_ROW_EQ || w->con->node != node || w->con->arg < 0)
		return false;
	row_flatten(s, &w->con->a, &w->tensor);
	row_flatten(s, &w->con->b, &w->spec);
	w->n = w->spec.nlead + w->spec.ntrail;
	return w->n == w->tensor.nlead + w->tensor.ntrail;
}

static Sym letter_at(const Solver *s, const Written *w, uint32_t axis)
{
	return s->cells.at[flat_at(&w->spec, axis)].name;
}

static bool has_letter(const Solver *s, const Written *w, Sym letter)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (letter_at(s, w, i) == letter)
			return true;
	return false;
}

static const SpecRow *spec_row(const Solver *s, const Written *w)
{
	return &s->graph->nodes.at[w->con->node].spec->operands[w->con->arg].rows[w->con->row];
}

/* Has the letter its size from this constraint alone, so that another would fit it too? */
static bool known_from(Solver *s, CellId letter, ConId con)
{
	const Cell *c = cell_at(s, letter);
	Path path = c->born == NONE ? (Path){0} : proof_path(s, letter, c->born);
	return path.n > 0 && path.at[0].con == con;
}

/* The one axis of the row that is this letter alone, else NULL. */
static const SpecAxis *letter_axis(const SpecRow *row, Sym letter)
{
	const SpecAxis *found = NULL;
	for (uint32_t i = 0; i < row->naxes; i++) {
		if (row->axes[i].letter != letter)
			continue;
		if (found || row->axes[i].kind != SPEC_LETTER)
			return NULL;
		found = &row->axes[i];
	}
	return found;
}

static bool swap_letters(Blame *b, const SpecRow *of_x, Sym x_name, const SpecRow *of_y, Sym y_name)
{
	Solver *s = b->s;
	const SpecAxis *x = letter_axis(of_x, x_name), *y = letter_axis(of_y, y_name);
	if (!x || !y)
		return false;
	bool before = x->span.start < y->span.start;
	Span first = before ? x->span : y->span, last = before ? y->span : x->span;
	Span gap = {first.file, first.end, last.start};
	const Sources *sources = b->diags->sources;
	diag_fix(b->diags, span_join(first, last),
		 arena_printf(s->arena, "%s%s%s", source_text(sources, s->arena, last),
			      source_text(sources, s->arena, gap),
			      source_text(sources, s->arena, first)),
		 "the sizes would fit with '%s' and '%s' swapped", x_name, y_name);
	return true;
}

/* A letter of the same operand whose axis has the size, and which the axis of the misfit suits. */
static bool swap_within(Blame *b, const Misfit *m, const Written *w)
{
	Solver *s = b->s;
	for (uint32_t i = 0; i < w->n; i++) {
		CellId letter = flat_at(&w->spec, i);
		Sym other = letter_at(s, w, i);
		Size theirs = cell_value(s, letter);
		if (other && other != m->letter &&
		    size_same(cell_value(s, flat_at(&w->tensor, i)), m->want) &&
		    (size_is_bad(theirs) || size_same(theirs, m->have) ||
		     known_from(s, letter, w->id)))
			return swap_letters(b, spec_row(s, &m->row), m->letter, spec_row(s, w),
					    other);
	}
	return false;
}

/* Does another row of an operand have the letter than this one? */
static bool stands_elsewhere(const Solver *s, const Written *w, Sym letter)
{
	const Spec *spec = s->graph->nodes.at[w->con->node].spec;
	for (uint32_t i = 0; i < spec->noperands; i++)
		for (int k = 0; k < ROW_KINDS; k++) {
			const SpecRow *row = &spec->operands[i].rows[k];
			for (uint32_t a = 0; a < row->naxes && row != spec_row(s, w); a++)
				if (row->axes[a].letter == letter)
					return true;
		}
	return false;
}

/* In a row of the other operand that has the letter: one whose axis has the size that it should
 * have. */
static bool swap_there(Blame *b, const Misfit *m, const Written *w)
{
	Solver *s = b->s;
	for (uint32_t i = 0; i < w->n && has_letter(s, w, m->letter); i++) {
		Sym other = letter_at(s, w, i);
		if (other && other != m->letter && !stands_elsewhere(s, w, other) &&
		    size_same(cell_value(s, flat_at(&w->tensor, i)), m->have))
			return swap_letters(b, spec_row(s, w), m->letter, spec_row(s, w), other);
	}
	return false;
}

typedef bool Swap(Blame *b, const Misfit *m, const Written *w);

/* The rows of the node that are near, of the operand itself or of others. */
static bool try_rows(Blame *b, const Misfit *m, bool own, Swap *swap)
{
	Solver *s = b->s;
	ConId id = m->row.id, first = id > NEAR_CONS ? id - NEAR_CONS : 0;
	Written w;
	for (ConId near = first; near < s->cons.n && near < id + NEAR_CONS; near++)
		if (near != id && written_of(s, near, m->row.con->node, &w) &&
		    (w.con->arg == m->row.con->arg) == own && swap(b, m, &w))
			return true;
	return false;
}

void suggest_swap(Blame *b, ConId id, uint32_t at)
{
	Solver *s = b->s;
	NodeId node = s->cons.at[id].node;
	Misfit m;
	if (!written_of(s, id, node, &m.row))
		return;
	m.letter = letter_at(s, &m.row, at);
	m.want = cell_value(s, flat_at(&m.row.spec, at));
	m.have = cell_value(s, flat_at(&m.row.tensor, at));
	if (!m.letter || swap_within(b, &m, &m.row) || try_rows(b, &m, true, swap_within))
		return;
	if (s->graph->nodes.at[node].spec->noperands <= 2)
		try_rows(b, &m, false, swap_there);
}
