/* New constraints and rows. */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/solver.h"

#include <string.h>

ConId con_new(Solver *s, Con con)
{
	ConId id = (ConId)s->cons.n;
	PUSH(s->arena, s->cons, con);
	for (uint32_t i = 0; i < con.ncells; i++) {
		if (con.cells[i] != NONE)
			occs_add(s, &cell_at(s, con.cells[i])->occs, OCC_CON, id);
	}
	return id;
}

RowTerm row_open(Solver *s, Sym name, Span span)
{
	return (RowTerm){.var = rowvar_new(s, name, span), .pinned = true};
}

RowTerm row_cells(Solver *s, const CellId *cells, uint32_t n)
{
	RowTerm row = {.var = NONE, .ntrail = n};
	row.trail = ARENA_ARRAY(s->arena, CellId, n + 1);
	if (n > 0)
		memcpy(row.trail, cells, n * sizeof *cells);
	return row;
}
