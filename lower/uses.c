/* What a routine needs of the graph, and who uses it: which nodes its results and assignments
 * reach, the users of each one, the first node of each name, and the first assignment that a node
 * must come before.
 */
#include <stb/stb_ds.h>

#include "lower/lowering.h"

static void mark_needed(Lower *lower)
{
	const Routine *routine = lower->routine;
	NodePlan *plan = lower->plan;
	for (uint32_t i = 0; i < routine->noutputs; i++)
		plan[routine->outputs[i]].needed = plan[routine->outputs[i]].output = true;
	for (uint32_t i = 0; i < routine->norder; i++) {
		const Node *node = lower_node(lower, routine->order[i]);
		if (node->target == NODE_NONE)
			continue;
		plan[routine->order[i]].needed = true;
		plan[node->target].needed = plan[node->target].mutated = true;
	}
	for (NodeId id = (NodeId)lower->graph->nodes.n; id-- > 0;) {
		const Node *node = lower_node(lower, id);
		for (uint32_t i = 0; plan[id].needed && i < node->nargs; i++) {
			plan[node->args[i]].needed = true;
			plan[node->args[i]].nuses++;
		}
	}
}

static void list_uses(Lower *lower)
{
	uint32_t n = (uint32_t)lower->graph->nodes.n, total = 0;
	lower->first_use = ARENA_ARRAY(lower->scratch, uint32_t, n + 2);
	for (NodeId id = 0; id < n; id++) {
		lower->first_use[id + 1] = total; /* filled up to the next one's start below */
		total += lower->plan[id].nuses;
	}
	lower->uses = ARENA_ARRAY(lower->scratch, Use, total + 1);
	for (NodeId id = 0; id < n; id++) {
		const Node *node = lower_node(lower, id);
		for (uint32_t i = 0; lower->plan[id].needed && i < node->nargs; i++)
			lower->uses[lower->first_use[node->args[i] + 1]++] = (Use){id, i};
	}
}

typedef struct NamedNode {
	Sym key;
	NodeId value;
} NamedNode;

/* Marks the first node of each name. */
static void mark_first(Lower *lower)
{
	NamedNode *seen = NULL;
	for (NodeId id = 0; id < lower->graph->nodes.n; id++) {
		Sym name = lower_node(lower, id)->name;
		if (!name || !lower->plan[id].needed || hmgeti(seen, name) >= 0)
			continue;
		hmput(seen, name, id);
		lower->plan[id].first = true;
	}
	hmfree(seen);
}

/* The first assignment behind a node to what it reads. Nodes stand in the order of the routine's
 * steps. */
static void find_assignments(Lower *lower)
{
	NodeId n = (NodeId)lower->graph->nodes.n;
	const Routine *routine = lower->routine;
	NodeId *next = ARENA_ARRAY(lower->scratch, NodeId, n + 1); /* by target, + 1 */
	uint32_t step = routine->norder;
	for (NodeId id = n; id-- > 0;) {
		const Node *node = lower_node(lower, id);
		NodePlan *plan = &lower->plan[id];
		for (uint32_t i = 0; plan->needed && i < node->nargs; i++)
			if (next[node->args[i]] && next[node->args[i]] - 1 < plan->last)
				plan->last = next[node->args[i]] - 1;
		if (step > 0 && routine->order[step - 1] == id) {
			step--;
			if (node->target != NODE_NONE)
				next[node->target] = id + 1;
		}
	}
}

/* ... also through operands that may be fused into it. */
static void find_last(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	for (uint32_t i = 0; i < node->nargs; i++) {
		const NodePlan *arg = &lower->plan[node->args[i]];
		if (!arg->mutated && arg->last < plan->last)
			plan->last = arg->last;
	}
}

void uses_find(Lower *lower)
{
	mark_needed(lower);
	mark_first(lower);
	list_uses(lower);
	find_assignments(lower);
	for (NodeId id = 0; id < lower->graph->nodes.n; id++)
		if (lower->plan[id].needed)
			find_last(lower, id);
}
