/* Labels through relations: a concatenated axis has the label of its parts, a strided or windowed
 * axis that of its steps, both ways, and of its window. Two different labels are an error.
 */
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
	blame(s, E0304, id, "parts of this axis are labelled '%s' and '%s'", b->label, a->label);
	if (s->diags) {
		diag_note(s->diags, s->cells.at[b->label_born].span, "labelled '%s' here",
			  b->label);
		diag_note(s->diags, s->cells.at[a->label_born].span, "labelled '%s' here",
			  a->label);
	}
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
