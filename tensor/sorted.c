/* Sorted elements where their places are known: what is read there.
 *
 *   places[r, k] = argsort of x[r, t]        values[r, k] = sort of x[r, t]
 *
 * of the same lines in the same order: values[r, k] = x[r, places[r, k]], and one sort is all.
 */
#include "tensor/split.h"

static bool has_node(const Routine *routine, NodeId id)
{
	uint32_t lo = 0, hi = routine->norder;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (routine->order[middle] < id)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < routine->norder && routine->order[lo] == id;
}

/* Has every routine that computes `id` the other node, too? */
static bool goes_with(const Graph *graph, NodeId id, NodeId other)
{
	for (size_t i = 0; i < graph->routines.n; i++)
		if (has_node(&graph->routines.at[i], id) && !has_node(&graph->routines.at[i], other))
			return false;
	return true;
}

static bool is_sort(const Node *node, bool ids)
{
	return node->kind == NODE_SORT && node->along.ids == ids && node->used &&
	       node->target == NODE_NONE;
}

/* Of k greatest elements there are no more places than k. */
static bool same_extents(const Proj *p, const Proj *q)
{
	bool same = p->niters == q->niters;
	for (uint32_t i = 0; same && i < p->niters; i++)
		same = size_same(p->iters[i].extent, q->iters[i].extent);
	return same;
}

static bool same_lines(const TensorProgram *program, NodeId a, NodeId b)
{
	const Node *one = tensor_node(program, a), *two = tensor_node(program, b);
	const Proj *p = tensor_proj(program, a), *q = tensor_proj(program, b);
	return p && q && one->args[0] == two->args[0] &&
	       one->along.descending == two->along.descending && p->npieces == 1 &&
	       q->npieces == 1 && same_extents(p, q) && proj_same_access(&p->pieces[0].result, &q->pieces[0].result) &&
	       proj_same_access(&p->pieces[0].args[0], &q->pieces[0].args[0]);
}

/* The node before it that gives the places; NODE_NONE: there is none. */
static NodeId places_of(const TensorProgram *program, NodeId id)
{
	for (NodeId other = id; other-- > 0;)
		if (is_sort(tensor_node(program, other), true) && same_lines(program, id, other) &&
		    goes_with(program->graph, id, other))
			return other;
	return NODE_NONE;
}

/* The operand's access with the places, which are the second operand, along its line. */
static Access read_at(const TensorProgram *program, const Proj *proj)
{
	const Access *from = &proj->pieces[0].args[0];
	IterId along = proj_along(proj).from;
	Access access = {true, ARENA_ARRAY(program->arena, Index, from->naxes + 1), from->naxes};
	for (uint32_t i = 0; i < from->naxes; i++) {
		const Index *index = &from->axes[i];
		bool is_line = index->nterms == 1 && index->terms[0].iter == along;
		access.axes[i] = *index;
		if (is_line)
			access.axes[i] = (Index){.offset = size_const(program->sizes, 0),
						 .gather = 1,
						 .mode = INDEX_CLAMPED};
	}
	return access;
}

bool sorted_add(Rebuild *g, NodeId id, Node *node)
{
	const TensorProgram *program = g->program;
	const Proj *proj = tensor_proj(program, id);
	if (!is_sort(node, false) || !proj || proj->niters > SPLIT_ITERS ||
	    proj_along(proj).from == UINT32_MAX)
		return false;
	NodeId places = places_of(program, id);
	if (places == NODE_NONE)
		return false;
	Access read = read_at(program, proj);
	const Access *result = &proj->pieces[0].result, *args[] = {&read, result};
	Proj *at = split_proj(program, proj, result, args, 2);
	at->surjective = at->injective = true;
	Node gather = *node;
	gather.kind = NODE_GATHER;
	gather.mode = INDEX_CLAMPED;
	gather.along = (Along){0};
	split_last(g, id, &gather, (NodeId[]){node->args[0], g->now[places]}, 2, at);
	return true;
}
