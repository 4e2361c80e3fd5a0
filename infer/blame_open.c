/* Why a size is open, beside the message that nothing determines it. */
#include "infer/solver.h"

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

static void note_letters(Solver *s, const bool *tied)
{
	for (size_t i = 0, shown = 0; i < s->letters.n && shown < NOTES_SHOWN; i++) {
		const LetterCell *l = &s->letters.at[i];
		if (!l->only_result || !tied[cell_root(s, l->cell)])
			continue;
		shown++;
		diag_note(s->diags, l->span, "it is open because only the result has '%s' here",
			  l->letter);
	}
}

/* Known totals with several open factors, of which one would give the size. */
static void note_totals(Solver *s, const bool *tied)
{
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
		diag_note(s->diags, con->span, "this total leaves it open: %s", con_text(s, id));
	}
}

static bool is_part(Solver *s, const Con *con, CellId cell)
{
	bool part = false;
	for (uint32_t i = 1; con->kind == CON_CONCAT && i < con->ncells; i++)
		part |= cell_root(s, con->cells[i]) == cell_root(s, cell);
	return part;
}

static void note_splits(Solver *s, CellId whole, CellId part)
{
	uint32_t shown = 0;
	for (const Occ *o = cell_at(s, whole)->occs.first; o && shown < NOTES_SHOWN; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || con->kind != CON_CONCAT || is_part(s, con, part) ||
		    cell_root(s, con->cells[0]) != cell_root(s, whole))
			continue;
		shown++;
		diag_note(s->diags, con->span, "the axis that it is a part of is %s here",
			  con_text(s, o->id));
	}
}

static void note_parts(Solver *s, CellId cell)
{
	for (const Occ *o = cell_at(s, cell)->occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || !is_part(s, con, cell))
			continue;
		note_splits(s, con->cells[0], cell);
		return;
	}
}

void blame_open(Solver *s, CellId cell)
{
	if (!s->diags || s->nerrors >= ERRORS_TRACED)
		return;
	const bool *tied = tied_to(s, cell);
	note_letters(s, tied);
	note_totals(s, tied);
	note_parts(s, cell);
}
