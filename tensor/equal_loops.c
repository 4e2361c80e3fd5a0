/* Loops that do the same.
 *
 * Of a loop that is in no other are its nodes that are used, those of loops in it, the tensors that it sets, and what is assigned to these before
 * it. Its key are the keys of these in their order, which name each other by places in it, and all else as `same` does. Whether
 * another loop has that key is asked with the numbers of that one's steps in place of its own.
 */
#include "tensor/equal.h"

typedef struct Members {
	VEC(NodeId) at;
	VEC(uint32_t) loops; /* it, and those in it */
	bool alone;	     /* it can equal nothing */
	bool varies;	     /* something that it reads follows from what a routine assigns to */
	EqualKey key;	     /* with its own steps */
} Members;

struct EqualLoops {
	const TensorProgram *program;
	NodeId *same;
	const bool *varies;
	uint32_t *of;	     /* by node: the outermost loop that it is of; 0: none */
	uint32_t *place;     /* by node: among the loop's */
	uint32_t *rank;	     /* by loop: among those of the outermost one */
	Members *loops;	     /* by loop */
	VEC(uint32_t) first; /* outermost loops that equal no earlier one */
};

static uint32_t outermost(const Graph *graph, uint32_t loop)
{
	while (loop && graph->loops.at[loop].parent) /* falls: outwards */
		loop = graph->loops.at[loop].parent;
	return loop;
}

EqualLoops *equal_loops(const TensorProgram *program, NodeId *same, const bool *varies)
{
	const Graph *graph = program->graph;
	size_t n = graph->nodes.n;
	EqualLoops *e = ARENA_NEW(program->scratch, EqualLoops);
	*e = (EqualLoops){.program = program,
			  .same = same,
			  .varies = varies,
			  .of = ARENA_ARRAY(program->scratch, uint32_t, n + 1),
			  .place = ARENA_ARRAY(program->scratch, uint32_t, n + 1),
			  .rank = ARENA_ARRAY(program->scratch, uint32_t, graph->loops.n + 1),
			  .loops = ARENA_ARRAY(program->scratch, Members, graph->loops.n + 1)};
	for (uint32_t loop = 1; loop < graph->loops.n; loop++) {
		Members *outer = &e->loops[outermost(graph, loop)];
		e->rank[loop] = (uint32_t)outer->loops.n;
		PUSH(program->scratch, outer->loops, loop);
	}
	for (NodeId id = 0; id < n; id++)
		e->of[id] = outermost(graph, graph_node(graph, id)->loop);
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *carried = &graph->carried.at[i];
		uint32_t loop = outermost(graph, graph_set_in(graph, carried));
		e->of[carried->tensor] = loop;
		if (carried->first != NODE_NONE)
			e->of[carried->first] = loop;
	}
	for (NodeId id = 0; id < n; id++) {
		if (!graph_node(graph, id)->used)
			e->of[id] = 0;
		if (!e->of[id])
			continue;
		e->place[id] = (uint32_t)e->loops[e->of[id]].at.n;
		PUSH(program->scratch, e->loops[e->of[id]].at, id);
	}
	return e;
}

bool equal_loops_varies(const EqualLoops *e, NodeId reader, NodeId operand)
{
	uint32_t loop = e->of[operand];
	return loop && loop != e->of[reader] ? e->loops[loop].varies : e->varies[operand];
}

/* ---- keys ---- */

static void put_loop(const EqualLoops *e, EqualKey *key, uint32_t loop)
{
	const GraphLoop *of = &e->program->graph->loops.at[loop];
	equal_key_put(key, e->rank[of->parent]);
	equal_key_put_size(key, infer_size(e->program->inference, of->count));
	equal_key_put(key, of->most != NULL);
	if (of->most)
		equal_key_put_size(key, infer_size(e->program->inference, of->most));
	equal_key_put(key, of->down);
	equal_key_put_operand(key, of->until);
	equal_key_put_operand(key, of->made);
}

static void put_member(const EqualLoops *e, EqualKey *key, NodeId id)
{
	const Graph *graph = e->program->graph;
	const Node *node = graph_node(graph, id);
	const Carried *carried = graph_carried(graph, id);
	equal_key_put(key, node->loop ? e->rank[node->loop] : UINT64_MAX);
	equal_key_put_node(key, id);
	equal_key_put_operand(key, node->target);
	equal_key_put(key, node->acc);
	equal_key_put(key, node->clear);
	equal_key_put(key, carried != NULL);
	if (!carried)
		return;
	equal_key_put_operand(key, carried->first);
	equal_key_put_operand(key, carried->step);
	equal_key_put(key, (uint64_t)carried->whole << 1 | carried->written);
}

/* Of an outermost loop, with other sizes in place of dims; NULL: with its own. */
static EqualKey key_of(const EqualLoops *e, uint32_t loop, const Size *by_dim)
{
	const Members *members = &e->loops[loop];
	EqualKey key = {.program = e->program,
			.same = e->same,
			.loop = loop,
			.loop_of = e->of,
			.place = e->place,
			.derivatives = true,
			.by_dim = by_dim};
	for (size_t i = 0; i < members->loops.n; i++)
		put_loop(e, &key, members->loops.at[i]);
	for (size_t i = 0; i < members->at.n; i++)
		put_member(e, &key, members->at.at[i]);
	return key;
}

/* Those of the other loop in place of the numbers of the loop's steps. */
static const Size *steps_of(const EqualLoops *e, uint32_t loop, uint32_t other)
{
	const GraphLoop *loops = e->program->graph->loops.at;
	Sizes *sizes = e->program->sizes;
	Size *by_dim = ARENA_ARRAY(e->program->scratch, Size, sizes_ndims(sizes) + 1);
	for (DimId dim = 0; dim < sizes_ndims(sizes); dim++)
		by_dim[dim] = size_dim(sizes, dim);
	for (size_t i = 0; i < e->loops[loop].loops.n; i++)
		by_dim[loops[e->loops[loop].loops.at[i]].step] =
			size_dim(sizes, loops[e->loops[other].loops.at[i]].step);
	return by_dim;
}

static bool do_the_same(const EqualLoops *e, uint32_t loop, uint32_t other)
{
	const Members *a = &e->loops[loop], *b = &e->loops[other];
	if (a->at.n != b->at.n || a->loops.n != b->loops.n)
		return false;
	EqualKey key = key_of(e, loop, steps_of(e, loop, other));
	return equal_keys_same(&key, &b->key);
}

/* ---- one node after another ---- */

static void close_loop(EqualLoops *e, uint32_t loop)
{
	Members *members = &e->loops[loop];
	if (members->alone || members->varies)
		return;
	for (size_t i = 0; i < e->first.n; i++) {
		if (!do_the_same(e, loop, e->first.at[i]))
			continue;
		for (size_t m = 0; m < members->at.n; m++)
			e->same[members->at.at[m]] = e->loops[e->first.at[i]].at.at[m];
		return;
	}
	members->key = key_of(e, loop, NULL);
	PUSH(e->program->scratch, e->first, loop);
}

void equal_loops_add(EqualLoops *e, NodeId id, bool alone)
{
	const Node *node = tensor_node(e->program, id);
	uint32_t loop = e->of[id];
	Members *members = &e->loops[loop];
	if (!loop)
		return;
	members->alone |= alone && node->kind != NODE_ZEROS && node->target == NODE_NONE;
	for (uint32_t i = 0; i < node->nargs; i++)
		members->varies |=
			e->of[node->args[i]] != loop && equal_loops_varies(e, id, node->args[i]);
	if (id == members->at.at[members->at.n - 1])
		close_loop(e, loop);
}
