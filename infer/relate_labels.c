/* What a relation says of its sizes beside their values.
 *
 * Labels: a concatenated axis has the label of its parts, a strided or windowed axis that of its
 * steps, both ways, and of its window. Two different labels are an error.
 *
 * Dims: a size that follows from one that a dim spells does not broadcast either. That is said of
 * every size of a relation once all are known, whichever was found from the others, so it does not
 * depend on the order; one that is a number by itself stays one (cell_spelled).
 */
#include "infer/cells.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/solver.h"

static void spread(Solver *s, ConId id, CellId from, CellId to)
{
	if (from == NONE || to == NONE)
		return;
	const Cell *a = cell_at(s, from), *b = cell_at(s, to);
	if (!a->label || a->label == b->label || a->broken || b->broken)
		return;
	if (!b->label) {
		cell_label(s, to, a->label);
		return;
	}
	conflict_labels(s, CONFLICT_PART_LABELS, id, to, from);
	cell_at(s, from)->broken = cell_at(s, to)->broken = true;
}

void relation_labels(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	if (con->kind == CON_AFFINE) {
		spread(s, id, con->cells[1], con->cells[0]);
		spread(s, id, con->cells[2], con->cells[0]);
		spread(s, id, con->cells[0], con->cells[1]);
	}
	for (uint32_t i = 1; con->kind == CON_CONCAT && i < con->ncells; i++)
		spread(s, id, con->cells[i], con->cells[0]);
}

static bool add_known(Solver *s, CellId cell)
{
	PUSH(s->arena, s->tied, cell_root(s, cell));
	return cell_known(s, cell);
}

/* The sizes that follow from one another, in `tied`; false where one is not known yet. */
static bool tied_cells(Solver *s, const Con *con)
{
	FlatRow f;
	s->tied.n = 0;
	bool padded = con->kind == CON_AFFINE &&
		      (con->axis->mark == MARK_PADDED || con->axis->mark == MARK_PADDED_CEIL);
	uint32_t n = padded ? 2 : con->ncells; /* no padded axis depends on its window */
	bool known = con->kind >= CON_AFFINE;
	for (uint32_t i = 0; known && i < n; i++)
		known = con->cells[i] == NONE || add_known(s, con->cells[i]);
	for (uint32_t r = 0; known && r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		known = f.var == NONE;
		for (uint32_t i = 0; known && i < f.nlead + f.ntrail; i++)
			known = add_known(s, flat_at(&f, i));
	}
	return known;
}

void relation_spells(Solver *s, ConId id)
{
	CellId from = NONE;
	bool several = false;
	if (s->cons.at[id].done || !tied_cells(s, &s->cons.at[id]))
		return;
	for (size_t i = 0; i < s->tied.n; i++) {
		const Cell *c = cell_at(s, s->tied.at[i]);
		if (!c->spelled && !c->follows)
			continue;
		several |= from != NONE && from != s->tied.at[i];
		from = s->tied.at[i];
	}
	bool window = s->cons.at[id].kind == CON_AFFINE && s->tied.n == 3;
	for (size_t i = 0; from != NONE && i < s->tied.n - window;
	     i++) { /* a window keeps its own */
		if (s->tied.at[i] != from || several)
			cell_spell(s, s->tied.at[i], true);
	}
}
