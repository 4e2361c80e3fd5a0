/* Which tensors have the same elements.
 *
 * What may equal another gets a key, the words that say what its elements are: operation, type, shape, index maps, and the node
 * that stands for each operand. Nodes of one key are equal, and the first of them stands for all.
 */
#include <stb/stb_ds.h>

#include "tensor/equal.h"

typedef struct KeyMap {
	uint64_t key;
	NodeId value;
} KeyMap;

typedef struct Equal {
	const TensorProgram *program;
	bool derivatives;
	NodeId *same;
	bool *varies; /* by node: it follows from what a routine assigns to */
	EqualKey *keys;
	KeyMap *first;	   /* stb_ds table: by hash, the first of its keys */
	NodeId *next;	   /* of the same hash */
	EqualLoops *loops; /* NULL: their results equal nothing */
} Equal;

/* Is it equal to itself alone? */
static bool is_alone(const Equal *e, NodeId id)
{
	const Node *node = tensor_node(e->program, id);
	switch (node->kind) {
	case NODE_INPUT:
	case NODE_PARAM:
	case NODE_ZEROS:
	case NODE_RANDOM:
	case NODE_GRADIENT:
	case NODE_TANGENT:
	case NODE_RULE: return true;
	default: break;
	}
	return !node->used || node->target != NODE_NONE || node->like != NODE_NONE || node->ruled ||
	       e->program->inference->margins[id];
}

static bool reads_what_varies(const Equal *e, NodeId id)
{
	const Node *node = tensor_node(e->program, id);
	bool varies = e->varies[id];
	for (uint32_t i = 0; i < node->nargs; i++)
		varies |= e->loops ? equal_loops_varies(e->loops, id, node->args[i])
				   : e->varies[node->args[i]];
	return varies;
}

static NodeId first_of(Equal *e, NodeId id)
{
	EqualKey key = {.program = e->program, .same = e->same, .derivatives = e->derivatives};
	equal_key_put(&key, tensor_node(e->program, id)->loop);
	equal_key_put_node(&key, id);
	uint64_t hash = equal_key_hash(&key);
	ptrdiff_t slot = hmgeti(e->first, hash);
	e->keys[id] = key;
	e->next[id] = slot < 0 ? NODE_NONE : e->first[slot].value;
	for (NodeId other = e->next[id]; other != NODE_NONE; other = e->next[other])
		if (equal_keys_same(&e->keys[other], &key))
			return other;
	hmput(e->first, hash, id);
	return id;
}

const NodeId *equal_tensors(const TensorProgram *program, bool derivatives)
{
	const Graph *graph = program->graph;
	size_t n = graph->nodes.n;
	Equal e = {.program = program,
		   .derivatives = derivatives,
		   .same = ARENA_ARRAY(program->scratch, NodeId, n + 1),
		   .varies = ARENA_ARRAY(program->scratch, bool, n + 1),
		   .keys = ARENA_ARRAY(program->scratch, EqualKey, n + 1),
		   .next = ARENA_ARRAY(program->scratch, NodeId, n + 1)};
	bool *initial = ARENA_ARRAY(program->scratch, bool, n + 1);
	for (uint32_t i = 0; i < graph->init.norder; i++)
		initial[graph->init.order[i]] = true;
	for (NodeId id = 0; id < n; id++) {
		e.same[id] = id;
		if (tensor_node(program, id)->target != NODE_NONE)
			e.varies[id] = e.varies[tensor_node(program, id)->target] = true;
	}
	if (derivatives)
		e.loops = equal_loops(program, e.same, e.varies);
	for (NodeId id = 0; id < n; id++) {
		bool alone = initial[id] || is_alone(&e, id);
		e.varies[id] = reads_what_varies(&e, id);
		if (!alone && !e.varies[id])
			e.same[id] = first_of(&e, id);
		if (e.loops)
			equal_loops_add(e.loops, id, alone);
	}
	hmfree(e.first);
	return e.same;
}
