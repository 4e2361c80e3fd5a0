/* The run: propagation, then the stages, until there is a conflict. */
#include "infer/close.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/trail.h"

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

static void index_ascriptions(Solver *s)
{
	const Graph *graph = s->graph;
	s->first_ascription = ARENA_ARRAY(s->arena, uint32_t, graph->nodes.n + 1);
	s->next_ascription = ARENA_ARRAY(s->arena, uint32_t, graph->ascriptions.n + 1);
	for (size_t i = 0; i < graph->nodes.n; i++)
		s->first_ascription[i] = NONE;
	for (size_t i = graph->ascriptions.n; i-- > 0;) {
		NodeId id = graph->ascriptions.at[i].node;
		s->next_ascription[i] = s->first_ascription[id];
		s->first_ascription[id] = (uint32_t)i;
	}
}

Solver *solver_new(const Graph *graph, Arena *arena)
{
	Solver *s = ARENA_NEW(arena, Solver);
	s->graph = graph;
	s->sizes = graph->sizes;
	s->arena = arena;
	s->rows = arena_alloc_n(arena, graph->nodes.n + 1, sizeof *s->rows);
	s->totals = ARENA_ARRAY(arena, CellId, graph->nodes.n + 1);
	s->captures = ARENA_ARRAY(arena, CellId, graph->captures.n + 1);
	for (size_t i = 0; i < graph->captures.n; i++)
		s->captures[i] = NONE;
	index_binds(s);
	index_ascriptions(s);
	return s;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void start(Solver *s, uint64_t shuffle)
{
	s->started = true;
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
	if (solver_failed(s))
		return;
	start(s, shuffle);
	propagate(s);
	for (int stage = 2; stage <= last_stage && !solver_failed(s); stage++) {
		s->stage = stage;
		close_stage(s, stage);
	}
	for (NodeId id = 0; id < s->graph->nodes.n && !solver_failed(s); id++)
		check_ranks(s, id);
}

void solver_complete(Solver *s)
{
	size_t found = s->conflicts.n;
	if (s->ngenerated == 0)
		s->ngenerated = (uint32_t)s->cells.n;
	if (!s->started)
		start(s, 0);
	propagate(s);
	close_rest(s);
	s->conflicts.n = found;
}
