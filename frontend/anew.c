#include "frontend/anew.h"

#include <string.h>

#include "frontend/differentiable.h"
#include "frontend/nodes.h"

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

/* One call. */
typedef struct Copying {
	Build *b;
	Reach reach;
	NodeId first, last; /* nodes of the file, and from `first` to `last`, may be copied */
	const NodeId *written;
	size_t nwritten;
	bool *stale;	   /* by node: it is to be copied */
	NodeId *made;	   /* by node: its copy; NODE_NONE: there is none */
	bool *stale_loops; /* by loop that is in none: it is to be copied, with all that is in it */
	uint32_t *loops;   /* by loop: its copy; 0: there is none */
} Copying;

static uint32_t outermost(const Graph *graph, uint32_t loop)
{
	while (loop && graph->loops.at[loop].parent)
		loop = graph->loops.at[loop].parent;
	return loop;
}

/* The loop whose steps the node is in, or set it; 0: there is none. */
static uint32_t loop_of(const Graph *graph, NodeId id)
{
	const Carried *carried = graph_carried(graph, id);
	return outermost(graph,
			 carried ? graph_set_in(graph, carried) : graph_node(graph, id)->loop);
}

/* ---- what is to be copied ---- */

static bool reads_stale(const Copying *c, NodeId id)
{
	const Node *node = graph_node(c->b->graph, id);
	for (uint32_t k = 0; k < node->nargs; k++) {
		NodeId arg = node->args[k];
		if (c->stale[arg] || operand_now(c->b->anew, arg) != arg)
			return true;
		for (size_t i = 0; i < c->nwritten; i++)
			if (c->written[i] == arg)
				return true;
	}
	return node->target != NODE_NONE && c->stale[node->target];
}

/* Marks the node, with the tensor that it sets and its loop, and a rule with its results: each has one. False where nothing
 * changes. */
static bool mark(const Copying *c, NodeId id)
{
	const Graph *graph = c->b->graph;
	const Node *node = graph_node(graph, id);
	uint32_t loop = loop_of(graph, id);
	bool kept = is_copied(c->b->anew, id) && !c->stale_loops[loop];
	if (c->stale[id] || kept || !(c->stale_loops[loop] || reads_stale(c, id)))
		return false;
	c->stale[id] = true;
	if (node->target != NODE_NONE)
		c->stale[node->target] = true;
	for (uint32_t i = 0; i < graph_rule_results(graph, node); i++)
		c->stale[node->args[i]] = true;
	c->stale_loops[loop] = loop > 0;
	return true;
}

static bool may_copy(const Copying *c, NodeId id)
{
	bool own = id >= c->b->anew->start && id < c->first;
	return !own && reach_has(c->b, &c->reach, id);
}

/* What a loop carries stands before what makes it, so that one round is not enough. */
static void find_stale(const Copying *c)
{
	for (bool more = true; more;) { /* falls: nodes that are not marked */
		more = false;
		for (NodeId id = 0; id < c->last; id++)
			if (may_copy(c, id))
				more |= mark(c, id);
		c->b->work += c->last;
	}
}

/* ---- copying ---- */

static uint32_t copy_loop(const Copying *c, uint32_t loop)
{
	if (loop == 0 || c->loops[loop])
		return c->loops[loop];
	GraphLoop copy = c->b->graph->loops.at[loop];
	copy.parent = copy_loop(c, copy.parent);
	c->loops[loop] = (uint32_t)c->b->graph->loops.n;
	PUSH(c->b->arena, c->b->graph->loops, copy);
	return c->loops[loop];
}

/* What a loop sets is the copy of this call inside of it, a rule's result that of the rule, and what stands for the tensor
 * elsewhere. */
static NodeId mapped(const Copying *c, const Node *reader, NodeId id)
{
	bool own = reader->loop || reader->target != NODE_NONE ||
		   (reader->kind == NODE_RULE && graph_node(c->b->graph, id)->ruled);
	return own && c->made[id] != NODE_NONE ? c->made[id] : operand_now(c->b->anew, id);
}

/* The tensor's own, or those of the tensor that the node sets. */
static void copy_carried(const Copying *c, NodeId from, NodeId to)
{
	Graph *graph = c->b->graph;
	NodeId target = graph_node(graph, from)->target;
	const Carried *was = graph_carried(graph, target == NODE_NONE ? from : target);
	if (!was)
		return;
	if (target == NODE_NONE) {
		PUSH(c->b->arena, graph->carried,
		     ((Carried){to, NODE_NONE, NODE_NONE, was->whole, was->written}));
		graph_node(graph, to)->carried = (uint32_t)graph->carried.n;
		return;
	}
	Carried *carried = graph_carried(graph, c->made[target]);
	*(was->first == from ? &carried->first : &carried->step) = to;
}

static void copy_node(const Copying *c, NodeId id)
{
	Build *b = c->b;
	Node copy = *graph_node(b->graph, id);
	const NodeId *args = copy.args;
	NodeId to = (NodeId)b->graph->nodes.n;
	copy.args = ARENA_ARRAY(b->arena, NodeId, copy.nargs);
	for (uint32_t k = 0; k < copy.nargs; k++)
		copy.args[k] = mapped(c, &copy, args[k]);
	if (copy.target != NODE_NONE)
		copy.target = mapped(c, &copy, copy.target);
	copy.loop = copy_loop(c, copy.loop);
	PUSH(b->arena, b->graph->nodes, copy);
	c->made[id] = to;
	if (!is_copied(b->anew, id)) {
		b->anew->copies[id] = (AnewCopy){to, b->anew->nwrites, false};
		PUSH(b->arena, b->anew->made, ((AnewMade){id, to}));
	}
	copy_carried(c, id, to);
}

static NodeId copy_of(const Copying *c, NodeId id)
{
	return id < c->last ? c->made[id] : NODE_NONE;
}

/* What tables say of nodes, of their copies: letters, but a size that has a name has it from the first; shapes; rules. */
static void copy_said(const Copying *c)
{
	Build *b = c->b;
	Graph *graph = b->graph;
	for (size_t i = 0, n = graph->binds.n; i < n; i++) {
		Bind bind = graph->binds.at[i];
		bind.node = copy_of(c, bind.node);
		if (bind.node != NODE_NONE && bind.size)
			PUSH(b->arena, graph->binds, bind);
	}
	for (size_t i = 0, n = graph->ascriptions.n; i < n; i++) {
		Ascription ascription = graph->ascriptions.at[i];
		ascription.node = copy_of(c, ascription.node);
		if (ascription.node != NODE_NONE)
			PUSH(b->arena, graph->ascriptions, ascription);
	}
	for (size_t i = 0, n = b->rules.n; i < n; i++) {
		AppliedRule rule = b->rules.at[i];
		rule.rule = copy_of(c, rule.rule);
		if (rule.rule != NODE_NONE)
			PUSH(b->arena, b->rules, rule);
	}
	b->work += graph->binds.n + graph->ascriptions.n + b->rules.n;
}

/* What ends the loops. */
static void copy_ends(const Copying *c, uint32_t nloops)
{
	for (uint32_t loop = 1; loop < nloops; loop++) {
		GraphLoop *copy = &c->b->graph->loops.at[c->loops[loop]];
		if (c->loops[loop] && copy->until != NODE_NONE)
			copy->until = c->made[copy->until];
	}
}

NodeId anew_copy(Build *b, NodeId id, NodeId first, const NodeId *written, size_t nwritten)
{
	NodeId last = (NodeId)b->graph->nodes.n; /* what sets a tensor of a loop stands behind it */
	uint32_t nloops = (uint32_t)b->graph->loops.n;
	make_room(b, b->anew);
	b->anew->copies[id].keeps = false;
	Copying c = {.b = b,
		     .reach = reach_with_rules(b, id),
		     .first = first,
		     .last = last,
		     .written = written,
		     .nwritten = nwritten,
		     .stale = ARENA_ARRAY(b->arena, bool, last),
		     .made = ARENA_ARRAY(b->arena, NodeId, last),
		     .stale_loops = ARENA_ARRAY(b->arena, bool, nloops),
		     .loops = ARENA_ARRAY(b->arena, uint32_t, nloops)};
	for (NodeId at = 0; at < last; at++)
		c.made[at] = NODE_NONE;
	find_stale(&c);
	for (NodeId at = 0; at < last; at++)
		if (c.stale[at])
			copy_node(&c, at);
	copy_said(&c);
	copy_ends(&c, nloops);
	return operand_now(b->anew, id);
}
