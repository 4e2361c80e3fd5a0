#include "frontend/anew.h"

#include <string.h>

#include "frontend/nodes.h"
#include "frontend/written.h"

static void make_room(Build *b, Anew *anew)
{
	NodeId n = (NodeId)b->graph->nodes.n;
	if (n <= anew->ncopies)
		return;
	AnewCopy *copies = ARENA_ARRAY(b->arena, AnewCopy, n);
	if (anew->ncopies)
		memcpy(copies, anew->copies, anew->ncopies * sizeof *copies);
	for (NodeId id = anew->ncopies; id < n; id++)
		copies[id].made = NODE_NONE;
	anew->copies = copies;
	anew->ncopies = n;
}

void anew_keep(Build *b, NodeId id)
{
	make_room(b, b->anew);
	AnewCopy *copy = &b->anew->copies[id];
	if (copy->made == NODE_NONE)
		copy->made = id;
	copy->keeps = true;
}

/* ---- copying ---- */

/* Is there a copy that was evaluated, or one of after the last write? */
static bool is_copied(const Anew *anew, NodeId id)
{
	const AnewCopy *copy = &anew->copies[id];
	return copy->made != NODE_NONE && (copy->keeps || copy->nwrites == anew->nwrites);
}

static NodeId operand_now(const Anew *anew, NodeId id)
{
	return is_copied(anew, id) ? anew->copies[id].made : id;
}

static bool is_stale(Build *b, NodeId id, const NodeId *written, size_t nwritten)
{
	const Node *node = graph_node(b->graph, id);
	for (uint32_t k = 0; k < node->nargs; k++) {
		if (operand_now(b->anew, node->args[k]) != node->args[k])
			return true;
		for (size_t i = 0; i < nwritten; i++)
			if (written[i] == node->args[k])
				return true;
	}
	return false;
}

/* What is said about its letters and its shape; a size that has a name has it from the first. */
static void copy_equations(Build *b, NodeId from, NodeId to)
{
	Graph *graph = b->graph;
	for (size_t i = 0, n = graph->binds.n; i < n; i++) {
		Bind bind = graph->binds.at[i];
		if (bind.node != from || !bind.size)
			continue;
		bind.node = to;
		PUSH(b->arena, graph->binds, bind);
	}
	for (size_t i = 0, n = graph->ascriptions.n; i < n; i++) {
		Ascription ascription = graph->ascriptions.at[i];
		if (ascription.node != from)
			continue;
		ascription.node = to;
		PUSH(b->arena, graph->ascriptions, ascription);
	}
}

static NodeId copy_node(Build *b, NodeId id)
{
	Node copy = *graph_node(b->graph, id);
	const NodeId *args = copy.args;
	NodeId to = (NodeId)b->graph->nodes.n;
	copy.args = ARENA_ARRAY(b->arena, NodeId, copy.nargs);
	for (uint32_t k = 0; k < copy.nargs; k++)
		copy.args[k] = operand_now(b->anew, args[k]);
	PUSH(b->arena, b->graph->nodes, copy);
	copy_equations(b, id, to);
	written_copied(b, id, to);
	b->work += b->graph->binds.n + b->graph->ascriptions.n;
	return to;
}

static bool can_be_copied(const Node *node)
{
	return node->loop == 0 && node->target == NODE_NONE && node->kind != NODE_ZEROS;
}

NodeId anew_copy(Build *b, NodeId id, NodeId first, const NodeId *written, size_t nwritten)
{
	Anew *anew = b->anew;
	NodeId last = (NodeId)b->graph->nodes.n; /* what sets a tensor of a loop stands behind it */
	make_room(b, anew);
	anew->copies[id].keeps = false;
	Reach reach = reach_with_rules(b, id);
	b->work += last;
	for (NodeId at = 0; at < last; at++) {
		bool own = at >= anew->start && at < first;
		if (own || !reach_has(b, &reach, at) || is_copied(anew, at) ||
		    !is_stale(b, at, written, nwritten))
			continue;
		if (!can_be_copied(graph_node(b->graph, at)))
			return NODE_NONE;
		anew->copies[at] = (AnewCopy){copy_node(b, at), anew->nwrites, false};
	}
	return operand_now(anew, id);
}
