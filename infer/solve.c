/* The engine: two work queues, the equations' taken before the inequalities', and the stages.
 *
 * A constraint or edge is queued when a class or row variable that it mentions has changed
 * (occurrence lists), never by scanning. Every run of one either changes something that only grows
 * (classes merge, values appear, rows get axes up to ROW_LIMIT) or does nothing: the queues run
 * dry.
 */
#include "infer/close.h"

#define EDGE_BIT 0x80000000u

static void index_binds(Solver *s)
{
	const Graph *graph = s->graph;
	s->first_bind = ARENA_ARRAY(s->arena, uint32_t, graph->nodes.n + 1);
	s->next_bind = ARENA_ARRAY(s->arena, uint32_t, graph->binds.n + 1);
	for (size_t i = 0; i < graph->nodes.n; i++)
		s->first_bind[i] = NONE;
	for (size_t i = graph->binds.n; i-- > 0;) {
		s->next_bind[i] = s->first_bind[graph->binds.at[i].node];
		s->first_bind[graph->binds.at[i].node] = (uint32_t)i;
	}
}

Solver *solver_new(const Graph *graph, Arena *arena, Diags *diags)
{
	Solver *s = ARENA_NEW(arena, Solver);
	s->graph = graph;
	s->sizes = graph->sizes;
	s->arena = arena;
	s->diags = diags;
	s->rows = arena_alloc_n(arena, graph->nodes.n + 1, sizeof *s->rows);
	s->mended = ARENA_ARRAY(arena, uint64_t, graph->nodes.n + 1);
	s->totals = ARENA_ARRAY(arena, CellId, graph->nodes.n + 1);
	s->captures = ARENA_ARRAY(arena, CellId, graph->captures.n + 1);
	for (size_t i = 0; i < graph->captures.n; i++)
		s->captures[i] = NONE;
	index_binds(s);
	return s;
}

/* ---- queues ---- */

static bool is_inequality(const Con *con)
{
	return con->kind == CON_ROW_LE;
}

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

static bool take(Solver *s, uint32_t *id)
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

static void con_run(Solver *s, ConId id)
{
	Con *con = &s->cons.at[id];
	con->queued = false;
	if (con->done)
		return;
	switch (con->kind) {
	case CON_ROW_EQ: row_equal_run(s, id); break;
	case CON_ROW_LE: row_refine_run(s, id); break;
	default: relation_run(s, id);
	}
}

void propagate(Solver *s)
{
	uint32_t id;
	/* falls: the solution moves up an order without endless climbs: see inference.md */
	do {
		while (take(s, &id)) {
			if (id & EDGE_BIT) {
				s->edges.at[id & ~EDGE_BIT].queued = false;
				edge_run(s, id & ~EDGE_BIT);
			} else {
				con_run(s, id);
			}
		}
	} while (linear_run(s)); /* falls: open cells */
}

/* ---- the run ---- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void start(Solver *s, uint64_t shuffle)
{
	size_t n = s->cons.n;
	ConId *order = ARENA_ARRAY(s->arena, ConId, n + 1);
	for (size_t i = 0; i < n; i++)
		order[i] = (ConId)i;
	for (size_t i = n; shuffle && i > 1; i--) {
		size_t j = next_random(&shuffle) % i;
		ConId t = order[i - 1];
		order[i - 1] = order[j];
		order[j] = t;
	}
	for (size_t i = 0; i < n; i++)
		con_wake(s, order[i]);
}

void solver_run(Solver *s, int last_stage, uint64_t shuffle)
{
	s->shuffle = shuffle;
	s->stage = 1;
	s->ngenerated = (uint32_t)s->cells.n;
	check_circles(s);
	if (s->nerrors > 0)
		return;
	start(s, shuffle);
	propagate(s);
	for (int stage = 2; stage <= last_stage && s->nerrors == 0; stage++) {
		s->stage = stage;
		close_stage(s, stage);
	}
	for (NodeId id = 0; id < s->graph->nodes.n && s->nerrors == 0; id++)
		check_ranks(s, id);
}
