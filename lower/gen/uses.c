/* What a routine needs of the graph, and who uses it: which nodes its results and assignments
 * reach, the users of each one, the first node of each name, and the first assignment that a node
 * must come before.
 *
 * Tables by node are as large as the graph and serve one routine after the other: a routine fills
 * in, and clears, those of the nodes that it needs, so that many routines take no more time than
 * all that they compute.
 */
#include <stb/stb_ds.h>
#include <stdlib.h>

#include "lower/gen/node_facts.h"

void plans_new(Lower *lower)
{
	uint32_t n = (uint32_t)lower->graph->nodes.n;
	lower->plan = ARENA_ARRAY(lower->arena, NodePlan, n + 1);
	lower->first_use = ARENA_ARRAY(lower->arena, uint32_t, n + 1);
	lower->needed = ARENA_ARRAY(lower->arena, NodeId, n + 1);
	lower->nneeded = n;
	for (NodeId id = 0; id < n; id++)
		lower->needed[id] = id;
	plans_clear(lower);
}

void plans_clear(Lower *lower)
{
	for (uint32_t i = 0; i < lower->nneeded; i++) {
		NodeId id = lower->needed[i];
		lower->tables.names[id] = NULL;
		lower->plan[id] = (NodePlan){.root = id,
					     .reduction = NODE_NONE,
					     .inner = NODE_NONE,
					     .phases = NODE_NONE,
					     .buffer = BUFFER_NONE,
					     .padded = BUFFER_NONE,
					     .last = NODE_NONE};
	}
	lower->nneeded = 0;
}

void plans_need(Lower *lower, NodeId id)
{
	if (!lower->plan[id].needed)
		lower->needed[lower->nneeded++] = id;
	lower->plan[id].needed = true;
}

uint32_t ids_from(const NodeId *ids, uint32_t n, NodeId id)
{
	uint32_t least = 0, most = n;
	while (least < most) { /* falls: what lies between */
		uint32_t middle = least + (most - least) / 2;
		if (ids[middle] < id)
			least = middle + 1;
		else
			most = middle;
	}
	return least;
}

uint32_t needed_from(const Lower *lower, NodeId id)
{
	return ids_from(lower->needed, lower->nneeded, id);
}

static void find_needed(Lower *lower)
{
	const Routine *routine = lower->tables.routine;
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		plans_need(lower, routine->outputs[i]);
		lower->plan[routine->outputs[i]].output = true;
	}
	for (uint32_t i = 0; i < routine->norder; i++) {
		const Node *node = lower_node(lower, routine->order[i]);
		if (node->target == NODE_NONE)
			continue;
		plans_need(lower, routine->order[i]);
		plans_need(lower, node->target);
		lower->plan[node->target].mutated = true;
	}
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		const Node *node = lower_node(lower, lower->needed[k]);
		for (uint32_t i = 0; i < node->nargs; i++) {
			plans_need(lower, node->args[i]);
			lower->plan[node->args[i]].nuses++;
		}
	}
	qsort(lower->needed, lower->nneeded, sizeof *lower->needed, compare_nodes);
}

static void list_uses(Lower *lower)
{
	uint32_t total = 0;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		lower->first_use[lower->needed[k]] = total;
		total += lower->plan[lower->needed[k]].nuses;
	}
	lower->uses = ARENA_ARRAY(lower->scratch, Use, total + 1);
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		const Node *node = lower_node(lower, lower->needed[k]);
		for (uint32_t i = 0; i < node->nargs; i++)
			lower->uses[lower->first_use[node->args[i]]++] = (Use){lower->needed[k], i};
	}
	for (uint32_t k = 0; k < lower->nneeded; k++) /* back to where each one's begin */
		lower->first_use[lower->needed[k]] -= lower->plan[lower->needed[k]].nuses;
}

typedef struct NamedNode {
	Sym key;
	NodeId value;
} NamedNode;

/* Marks the first node of each name. */
static void mark_first(Lower *lower)
{
	NamedNode *seen = NULL;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		Sym name = lower_node(lower, id)->name;
		if (!name || hmgeti(seen, name) >= 0)
			continue;
		hmput(seen, name, id);
		lower->plan[id].first = true;
	}
	hmfree(seen);
}

typedef struct NextStep {
	NodeId key; /* what is assigned to */
	NodeId value;
} NextStep;

/* The first assignment behind a node to what it reads. Nodes stand in the order of the routine's
 * steps. */
static void find_assignments(Lower *lower)
{
	const Routine *routine = lower->tables.routine;
	NextStep *next = NULL;
	uint32_t step = routine->norder;
	for (uint32_t k = lower->nneeded; k-- > 0;) {
		NodeId id = lower->needed[k];
		const Node *node = lower_node(lower, id);
		NodePlan *plan = &lower->plan[id];
		for (uint32_t i = 0; next && i < node->nargs; i++) {
			ptrdiff_t at = hmgeti(next, node->args[i]);
			if (at >= 0 && next[at].value < plan->last)
				plan->last = next[at].value;
		}
		while (step > 0 && routine->order[step - 1] > id) /* falls: steps */
			step--;
		if (step > 0 && routine->order[step - 1] == id && node->target != NODE_NONE)
			hmput(next, node->target, id);
	}
	hmfree(next);
}

/* ... also through operands that may be fused into it. */
static void find_last_of_all(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plan->last_of_all = plan->last;
	for (uint32_t i = 0; i < node->nargs; i++) {
		const NodePlan *arg = &lower->plan[node->args[i]];
		if (!arg->mutated && arg->last_of_all < plan->last_of_all)
			plan->last_of_all = arg->last_of_all;
	}
}

void uses_find(Lower *lower)
{
	find_needed(lower);
	mark_first(lower);
	list_uses(lower);
	find_assignments(lower);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		find_last_of_all(lower, lower->needed[k]);
}
