/* Why a row has no end: the graph of ranks.
 *
 *   res refines opnd   rank(res) >= rank(opnd)         a row = its known axes + its variable, so
 *   a = b              both ways                       rank(p) >= rank(q) + k for the variables
 *
 * A circle of these whose ks add up to more than 0 has no solution: each row would have to be
 * longer than the next. It is searched before anything is solved, by longest paths (Bellman and
 * Ford), and shown with its places. A row that has too many axes without one, or with one that
 * turns around in the order of the program more than ROUNDS times, meets ROW_LIMIT.
 */
#include "infer/rows.h"
#include "infer/solver.h"
#include "infer/trail.h"

#include <string.h>

enum { ROUNDS = 256 };

typedef struct RankEdge { /* rank(more) >= rank(less) + k */
	RowVarId more, less;
	int64_t k;
	ConId con;
} RankEdge;

typedef struct Ranks {
	Solver *s;
	VEC(RankEdge) edges;
	int64_t *least;	   /* by RowVarId */
	uint32_t *because; /* by RowVarId: the edge that gave it, or NONE */
} Ranks;

/* The variable a row ends in (NONE: closed), and the axes around it. */
static RowVarId variable_of(Solver *s, const RowTerm *row, int64_t *axes)
{
	const RowTerm *t = row;
	*axes = (int64_t)t->nlead + t->ntrail;
	while (t->var != NONE) { /* falls: solved variables to follow: no circles */
		RowVarId var = rowvar_root(s, t->var);
		if (!s->vars.at[var].solved)
			return var;
		t = &s->vars.at[var].value;
		*axes += (int64_t)t->nlead + t->ntrail;
	}
	return NONE;
}

static void collect_edges(Ranks *r)
{
	Solver *s = r->s;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		int64_t na, nb;
		if (con->kind > CON_ROW_LE)
			continue;
		RowVarId a = variable_of(s, &con->a, &na), b = variable_of(s, &con->b, &nb);
		if (a == NONE || b == NONE)
			continue;
		RankEdge forth = {a, b, nb - na, id}, back = {b, a, na - nb, id};
		PUSH(s->arena, r->edges, forth);
		if (con->kind == CON_ROW_EQ)
			PUSH(s->arena, r->edges, back);
	}
}

/* A variable on a circle of `because`, or NONE. */
static RowVarId find_circle(Ranks *r, uint32_t *seen, uint32_t *round)
{
	uint32_t nvars = (uint32_t)r->s->vars.n;
	for (RowVarId start = 0; start < nvars; start++) {
		RowVarId v = start;
		++*round;
		while (!seen[v] && r->because[v] != NONE) { /* falls: variables not seen */
			seen[v] = *round;
			v = r->edges.at[r->because[v]].less;
		}
		if (seen[v] == *round && r->because[v] != NONE)
			return v;
	}
	return NONE;
}

static bool relax(Ranks *r, uint32_t edge)
{
	const RankEdge *e = &r->edges.at[edge];
	if (r->least[e->less] + e->k <= r->least[e->more])
		return false;
	r->least[e->more] = r->least[e->less] + e->k;
	r->because[e->more] = edge;
	return true;
}

/* Measure: at most ROUNDS rounds, each over all edges twice. */
static RowVarId longest_paths(Ranks *r)
{
	Solver *s = r->s;
	size_t n = s->vars.n;
	r->least = ARENA_ARRAY(s->arena, int64_t, n + 1);
	r->because = ARENA_ARRAY(s->arena, uint32_t, n + 1);
	uint32_t *seen = ARENA_ARRAY(s->arena, uint32_t, n + 1);
	for (size_t i = 0; i < n; i++)
		r->because[i] = NONE;
	bool changed = true;
	for (int round = 0; round < ROUNDS && changed; round++) {
		changed = false;
		for (uint32_t i = 0; i < 2 * r->edges.n;
		     i++) /* there and back: long chains take a round */
			changed |= relax(r, i < r->edges.n ? i : 2 * (uint32_t)r->edges.n - 1 - i);
		uint32_t mark = 0;
		for (size_t i = 0; i < n; i++)
			seen[i] = 0;
		RowVarId on = changed ? find_circle(r, seen, &mark) : NONE;
		if (on != NONE)
			return on;
	}
	return NONE;
}

static void note_circle(Ranks *r, RowVarId on)
{
	Solver *s = r->s;
	VEC(ConId) circle = {0};
	RowVarId v = on;
	do {
		PUSH(s->arena, circle, r->edges.at[r->because[v]].con);
		v = r->edges.at[r->because[v]].less;
	} while (v != on); /* falls: the circle */
	size_t first = 0; /* the constraint that comes first in the program leads */
	for (size_t i = 1; i < circle.n; i++) {
		if (circle.at[i] < circle.at[first])
			first = i;
	}
	Conflict *c = conflict_new(s, CONFLICT_RANK_CIRCLE, circle.at[first]);
	for (size_t i = 0; i < circle.n; i++)
		PUSH(s->arena, c->cons, circle.at[(first + i) % circle.n]);
}

void check_circles(Solver *s)
{
	Ranks r = {.s = s};
	collect_edges(&r);
	RowVarId on = longest_paths(&r);
	if (on != NONE)
		note_circle(&r, on);
}

void check_ranks(Solver *s, NodeId id)
{
	FlatRow f;
	for (RowKind k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[id][k], &f);
		if (!f.overflow)
			continue;
		Conflict *c = conflict_new(s, CONFLICT_MANY_AXES, NONE);
		c->node = id;
		c->row = k;
	}
}
