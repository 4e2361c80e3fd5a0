/* The way between two cells of a class, and where a class has its value from.
 *
 * The merges of a class are a tree over its cells (Cell.proof, kept by dims.c). The way between two
 * cells climbs from the deeper one to the other's depth, then from both until they meet.
 */
#include "infer/cells.h"
#include "infer/trace.h"

enum { ORIGINS_TRIED = 200 };

/* ---- paths in the tree of merges ---- */

static uint32_t depth_of(const Solver *s, CellId cell)
{
	uint32_t depth = 0;
	for (; s->cells.at[cell].proof != NONE; cell = s->cells.at[cell].proof)
		depth++;
	return depth;
}

static void climb(Solver *s, CellId *cell, Path *path, bool down)
{
	const Cell *c = &s->cells.at[*cell];
	Step step = down ? (Step){c->proof, *cell, c->proof_con}
			 : (Step){*cell, c->proof, c->proof_con};
	*cell = c->proof;
	PUSH(s->arena, *path, step);
}

Path proof_path(Solver *s, CellId a, CellId b)
{
	Path up = {0}, down = {0};
	if (cell_root(s, a) != cell_root(s, b))
		return up;
	uint32_t da = depth_of(s, a), db = depth_of(s, b);
	for (; da > db; da--)
		climb(s, &a, &up, false);
	for (; db > da; db--)
		climb(s, &b, &down, true);
	while (a != b) { /* falls: distance to the root */
		climb(s, &a, &up, false);
		climb(s, &b, &down, true);
	}
	for (size_t i = down.n; i-- > 0;)
		PUSH(s->arena, up, down.at[i]);
	return up;
}

/* The number of merges between two cells of a class. */
static uint32_t distance(const Solver *s, CellId a, CellId b)
{
	uint32_t da = depth_of(s, a), db = depth_of(s, b), steps = 0;
	for (; a != b; steps++) {
		bool up = da >= db;
		a = up ? s->cells.at[a].proof : a;
		b = up ? b : s->cells.at[b].proof;
		da -= up;
		db -= !up;
	}
	return steps;
}

Origin origin_near(Solver *s, CellId cell)
{
	const Cell *class = cell_at(s, cell);
	Origin found = {class->born == NONE ? cell : class->born, class->why.span, SPAN_NONE};
	if (class->why.kind != WHY_WRITTEN)
		return found;
	uint32_t least = UINT32_MAX, tried = 0;
	for (size_t i = 0; i < s->leaves.n && tried < ORIGINS_TRIED; i++) {
		const Leaf *leaf = &s->leaves.at[i];
		if (cell_root(s, leaf->cell) != cell_root(s, cell) ||
		    !size_same(leaf->size, class->value))
			continue;
		uint32_t steps = distance(s, cell, leaf->cell);
		if (steps < least)
			found = (Origin){leaf->cell, leaf->span, leaf->also};
		least = steps < least ? steps : least;
		tried++;
	}
	return found;
}

/* The operation that a merge is of; NULL: none, or a step that only hands a tensor on. */
static const Con *con_of_operation(const Solver *s, ConId id)
{
	const Con *con = id == NONE ? NULL : &s->cons.at[id];
	if (!con || con->node == NODE_NONE || s->graph->nodes.at[con->node].target != NODE_NONE)
		return NULL;
	return con;
}

/* The first step to an operand of an operation, another one of which the next step is of; path->n: there is none. */
static size_t first_crossed(const Solver *s, const Path *path)
{
	for (size_t i = 0; i + 1 < path->n; i++) {
		const Con *con = con_of_operation(s, path->at[i].con),
			  *next = con_of_operation(s, path->at[i + 1].con);
		if (con && next && con->node == next->node && con->arg >= 0 && next->arg >= 0 &&
		    con->arg != next->arg)
			return i;
	}
	return path->n;
}

/* The step of an operation that is nearest to the middle, the first of two; 0: there is none. */
static size_t middle_operation(const Solver *s, const Path *path)
{
	size_t best = 0, least = SIZE_MAX;
	for (size_t i = 0; i < path->n; i++) {
		size_t off = 2 * i + 1 > path->n ? 2 * i + 1 - path->n : path->n - 2 * i - 1;
		if (off >= least || !con_of_operation(s, path->at[i].con))
			continue;
		best = i;
		least = off;
	}
	return best;
}

Meeting meeting_of(Solver *s, CellId cell)
{
	Path path = proof_path(s, cell, origin_near(s, cell).cell);
	size_t at = first_crossed(s, &path);
	if (at == path.n)
		at = middle_operation(s, &path);
	return (Meeting){path.n ? path.at[at].con : NONE, (uint32_t)path.n};
}

/* ---- rows that an operation shares with an operand: no constraint says so ---- */

RowAt row_shared_with(const Graph *graph, RowAt at)
{
	const Node *node = &graph->nodes.at[at.node];
	RowKind turned = at.row == ROW_BATCH   ? ROW_BATCH
			 : at.row == ROW_INPUT ? ROW_OUTPUT
					       : ROW_INPUT;
	bool free = node->target == NODE_NONE;
	switch (node->kind) {
	case NODE_POINTWISE:
	case NODE_CAST:
		if (node->nargs == 1 && free)
			return (RowAt){node->args[0], at.row};
		break;
	case NODE_COMPOSE:
		if (free && at.row != ROW_BATCH)
			return (RowAt){node->args[at.row == ROW_INPUT], at.row};
		break;
	case NODE_TRANSPOSE: return (RowAt){node->args[0], turned};
	case NODE_SLICE:
		if (at.row != ROW_BATCH)
			return (RowAt){node->args[0], at.row};
		break;
	case NODE_STACK:
		if (at.row != node->stack_row)
			return (RowAt){node->args[0], at.row};
		break;
	case NODE_GATHER:
		if (!node->spec && at.row != ROW_OUTPUT)
			return (RowAt){node->args[at.row == ROW_BATCH], at.row};
		break;
	default: break;
	}
	return (RowAt){NODE_NONE, at.row};
}
