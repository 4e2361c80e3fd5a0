/* The two work queues, the equations' taken before the inequalities'; who mentions what.
 *
 * A constraint or edge is queued when a class or row variable that it mentions has changed
 * (occurrence lists), never by scanning.
 */
#include "infer/cons.h"
#include "infer/solver.h"

static bool is_inequality(const Con *con) { return con->kind == CON_ROW_LE; }

void con_wake(Solver *s, ConId id)
{
	Con *con = &s->cons.at[id];
	if (con->queued || con->done)
		return;
	con->queued = true;
	if (is_inequality(con))
		PUSH(s->arena, s->inequalities, id);
	else
		PUSH(s->arena, s->equations, id);
}

void edge_wake(Solver *s, uint32_t id)
{
	Edge *edge = &s->edges.at[id];
	if (edge->queued || edge->dead)
		return;
	edge->queued = true;
	PUSH(s->arena, s->inequalities, id | EDGE_BIT);
}

void occs_wake(Solver *s, const OccList *list)
{
	for (const Occ *o = list->first; o; o = o->next) {
		if (o->kind == OCC_CON)
			con_wake(s, o->id);
		else
			edge_wake(s, o->id);
	}
}

void occs_add(Solver *s, OccList *list, OccKind kind, uint32_t id)
{
	Occ *o = ARENA_NEW(s->arena, Occ);
	*o = (Occ){kind, id, NULL};
	occs_append(list, &(OccList){o, o});
}

void occs_append(OccList *to, const OccList *from)
{
	if (!from->first)
		return;
	if (to->last)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
}

bool queue_take(Solver *s, uint32_t *id)
{
	if (s->equations_at < s->equations.n) {
		*id = s->equations.at[s->equations_at++];
	} else if (s->inequalities_at < s->inequalities.n) {
		s->equations.n = s->equations_at = 0;
		*id = s->inequalities.at[s->inequalities_at++];
	} else {
		s->equations.n = s->equations_at = 0;
		s->inequalities.n = s->inequalities_at = 0;
		return false;
	}
	return true;
}
