/* What was known when: changes since the first conflict, which can be taken back and made again.
 *
 *   entry := a cell or a row variable as it was before a change
 *
 * Conflicts are told when solving has stopped, each as things were when it was found. Exchanging an
 * entry with what stands in the table takes the change back, and exchanging it once more makes it
 * again. Nothing is kept as long as there is no conflict. */
#include "infer/solver.h"
#include "infer/trail.h"

static void trail_push(Solver *s, TrailEntry entry)
{
	PUSH(s->arena, s->trail, entry);
	s->trail_at = s->trail.n;
}

void trail_cell(Solver *s, CellId id)
{
	Cell *now = &s->cells.at[id];
	if (now->kept == s->conflicts.n) /* none yet, or none since */
		return;
	Cell *copy = ARENA_NEW(s->arena, Cell);
	*copy = *now;
	now->kept = (uint32_t)s->conflicts.n;
	trail_push(s, (TrailEntry){.id = id, .cell = copy});
}

void trail_var(Solver *s, RowVarId id)
{
	if (!solver_failed(s))
		return;
	RowVar *copy = ARENA_NEW(s->arena, RowVar);
	*copy = s->vars.at[id];
	trail_push(s, (TrailEntry){.id = id, .var = copy});
}

static void exchange(Solver *s, const TrailEntry *entry)
{
	if (entry->var) {
		RowVar var = s->vars.at[entry->id];
		s->vars.at[entry->id] = *entry->var;
		*entry->var = var;
	} else {
		Cell cell = s->cells.at[entry->id];
		s->cells.at[entry->id] = *entry->cell;
		*entry->cell = cell;
	}
}

void trail_go(Solver *s, size_t to)
{
	while (s->trail_at > to) /* falls: entries in front */
		exchange(s, &s->trail.at[--s->trail_at]);
	while (s->trail_at < to) /* falls: entries behind */
		exchange(s, &s->trail.at[s->trail_at++]);
}
