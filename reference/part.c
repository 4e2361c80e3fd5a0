/* A part of a routine, with some tensors given: what its results would be if one of them held other numbers. Nothing is
 * forgotten while it runs.
 */
#include <string.h>

#include "base/held.h"
#include "frontend/differentiable.h"
#include "frontend/needed.h"
#include "reference/run.h"

static bool is_given(const Run *run, const RefPart *part, NodeId id)
{
	NodeId target = run_node(run, id)->target;
	return part->given[target == NODE_NONE ? id : target].elements != NULL;
}

/* Steps up to `last` that set a routine's own tensor, which is needed and not given; false: there are no others. */
static bool add_steps(Needed *needed, const bool *given, NodeId last)
{
	for (NodeId id = 0; id < last; id++) {
		NodeId own = node_sets_own(needed->graph, id);
		if (own != NODE_NONE && needed->has[own] && !given[own])
			needed_add(needed, id);
	}
	return needed->nopen > 0;
}

static void find_part(Run *run, const RefPart *part)
{
	size_t n = run->graph->nodes.n;
	bool *given = held_alloc(n + 1, sizeof *given), *seen = held_alloc(n + 1, sizeof *seen);
	run->order = held_alloc(n + 1, sizeof *run->order);
	REQUIRE(given && seen && run->order);
	Needed needed = {run->graph, seen, run->order, 0};
	for (NodeId id = 0; id < n; id++) {
		NodeKind kind = run_node(run, id)->kind;
		bool steps = part->last != NODE_NONE && run_node(run, id)->target != NODE_NONE;
		given[id] = kind == NODE_INPUT || kind == NODE_PARAM ||
			    (is_given(run, part, id) && !steps);
	}
	memcpy(seen, given, n * sizeof *seen);
	const Routine *r = run->routine;
	for (uint32_t i = 0; part->last != NODE_NONE && i < r->norder; i++)
		if (r->order[i] <= part->last)
			needed_add(&needed, r->order[i]);
	NodeId last = 0;
	for (uint32_t i = 0; i < part->nwanted; i++) {
		needed_add(&needed, part->wanted[i]);
		last = part->wanted[i] > last ? part->wanted[i] : last;
	}
	needed_follow(&needed);
	while (add_steps(&needed, given, last)) /* falls: steps that are not needed yet */
		needed_follow(&needed);
	for (NodeId id = 0; id < n; id++)
		if (seen[id] && !given[id])
			run->order[run->norder++] = id;
	held_free(given);
	held_free(seen);
}

/* Copies where steps may write, else the same elements. */
static void take_given(Run *run, const RefPart *part)
{
	for (NodeId id = 0; id < run->graph->nodes.n; id++) {
		const RefTensor *given = &part->given[id];
		if (!given->elements)
			continue;
		run->tensors[id] = *given;
		if (part->last == NODE_NONE)
			continue;
		if (!run_reserve(run, &run->tensors[id], id))
			return;
		if (given->n)
			memcpy(run->tensors[id].elements, given->elements,
			       (size_t)given->n * sizeof *given->elements);
	}
}

RefResult *reference_part(const RefCall *call, const RefPart *part)
{
	const Graph *graph = call->inference->graph;
	Run *run = run_new(call, &graph->routines.at[part->routine]);
	RefResult *result = run->result;
	run->exact = true;
	for (NodeId id = 0; id < graph->nodes.n; id++)
		run->readers[id] = UINT32_MAX;
	run_check_guards(run);
	if (result->outcome == REF_DONE) {
		find_part(run, part);
		result->steps = run_steps(run, run->order, run->norder);
	}
	if (result->steps > part->most_steps)
		result->outcome = REF_TOO_MUCH;
	if (result->outcome == REF_DONE)
		take_given(run, part);
	if (result->outcome == REF_DONE)
		run_compute(run);
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (run->tensors[id].elements == part->given[id].elements)
			run->tensors[id] = (RefTensor){.elements = NULL};
	if (result->outcome == REF_DONE) {
		result->nodes = run->tensors;
		result->nnodes = (uint32_t)graph->nodes.n;
		run->tensors = held_alloc(graph->nodes.n + 1, sizeof *run->tensors);
		REQUIRE(run->tensors);
	}
	run_end(run);
	return result;
}
