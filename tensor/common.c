/* Equal tensors are one: what is written twice is computed once, as if it had a name.
 *
 * What may equal another gets a key, the words that say what its elements are: operation, type, shape,
 * index maps, and the node that stands for each operand. Nodes of one key are equal, and the first
 * of them stands for all. What reads the others reads the first instead, where that saves a sum or
 * a function (WORTH); what is cheap stays where it is, to be computed inside its users. What
 * follows a sum element by element goes with it, so that it still ends that sum's kernel.
 *
 * Invariant: a node and the one that stands for it have the same bits whenever both are computed.
 * So nothing stands for an input, a parameter, a stream of random numbers or what a routine assigns
 * to, and no tensor of margins of its own goes: its readers are padded.
 */
#include <stb/stb_ds.h>
#include <string.h>
#include <xxhash.h>

#include "tensor/passes.h"

enum { WORTH = 16, CONST_BYTES = 1024 };

typedef struct KeyMap {
	uint64_t key;
	NodeId value;
} KeyMap;

typedef struct Key {
	uint64_t *at;
	size_t n, cap;
} Key;

typedef struct Common {
	TensorProgram *program;
	NodeId *same;  /* by NodeId: the first that is equal */
	uint32_t *cost; /* of its elements, from tensors that are computed anyway */
	bool *alone;   /* equal to nothing else */
	Key *keys;
	KeyMap *first; /* stb_ds table: by hash, the first of its keys */
	NodeId *next;  /* of the same hash */
} Common;

static void put(Common *common, Key *key, uint64_t word)
{
	PUSH(common->program->scratch, *key, word);
}

/* ---- keys ---- */

static void put_shape(Common *common, Key *key, const Shape *shape)
{
	for (int row = 0; row < ROW_KINDS; row++) {
		put(common, key, shape->rows[row].n);
		for (uint32_t i = 0; i < shape->rows[row].n; i++) {
			put(common, key, shape->rows[row].axes[i].size.id);
			put(common, key, (uintptr_t)shape->rows[row].axes[i].label);
		}
	}
}

static void put_access(Common *common, Key *key, const Access *access)
{
	put(common, key, access->present ? access->naxes : UINT64_MAX);
	for (uint32_t i = 0; access->present && i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		put(common, key, index->nterms);
		put(common, key, index->offset.id);
		put(common, key, index->guarded);
		put(common, key, (uint64_t)index->gather);
		put(common, key, index->mode);
		for (uint32_t t = 0; t < index->nterms; t++) {
			put(common, key, index->terms[t].iter);
			put(common, key, (uint64_t)index->terms[t].coef);
		}
	}
}

static void put_proj(Common *common, Key *key, const Proj *proj)
{
	put(common, key, proj->linear ? (uint64_t)proj->width : 0);
	put(common, key, proj->niters);
	put(common, key, proj->npieces);
	for (uint32_t i = 0; i < proj->niters; i++) {
		put(common, key, proj->iters[i].extent.id);
		put(common, key, proj->iters[i].reduced);
	}
	for (uint32_t p = 0; p < proj->npieces; p++) {
		const Piece *piece = &proj->pieces[p];
		put(common, key, piece->niters);
		for (uint32_t i = 0; i < piece->niters; i++)
			put(common, key, piece->iters[i]);
		put_access(common, key, &piece->result);
		for (uint32_t i = 0; i < proj->nargs; i++)
			put_access(common, key, &piece->args[i]);
	}
}

static void put_bytes(Common *common, Key *key, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
		uint64_t word = 0;
		memcpy(&word, (const char *)bytes + i, n - i < sizeof word ? n - i : sizeof word);
		put(common, key, word);
	}
}

static void put_data(Common *common, Key *key, const Node *node)
{
	size_t bytes = 0;
	dtype_room(node->dtype, (size_t)node->data->count, &bytes);
	put(common, key, bytes);
	if (bytes <= CONST_BYTES)
		put_bytes(common, key, node->data->bytes, bytes);
	else
		put(common, key, (uintptr_t)node->data->bytes);
}

static void put_leaf(Common *common, Key *key, const Node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
		put(common, key, node->is_integer);
		put(common, key, (uint64_t)node->integer);
		put_bytes(common, key, &node->number, sizeof node->number);
		break;
	case NODE_SIZE:
		put(common, key, infer_size(common->program->inference, node->size_expr).id);
		break;
	case NODE_SCALAR: put(common, key, node->scalar_index); break;
	case NODE_CONST: put_data(common, key, node); break;
	default: break;
	}
}

static Key key_of(Common *common, NodeId id)
{
	const Node *node = tensor_node(common->program, id);
	const Proj *proj = tensor_proj(common->program, id);
	Key key = {0};
	put(common, &key, node->kind);
	put(common, &key, node->op);
	put(common, &key, node->reduce);
	put(common, &key, node->dtype);
	put(common, &key,
	    node->along.exclusive | node->along.reverse << 1 | node->along.descending << 2 |
		    node->along.ids << 3);
	put(common, &key, node->nargs);
	put(common, &key, node->loop);
	put(common, &key, node->again);
	put(common, &key, node->packs);
	for (uint32_t i = 0; i < node->nargs; i++)
		put(common, &key, common->same[node->args[i]]);
	put_shape(common, &key, tensor_shape(common->program, id));
	put_leaf(common, &key, node);
	if (proj)
		put_proj(common, &key, proj);
	return key;
}

/* ---- which nodes are equal ---- */

static bool is_alone(const Common *common, NodeId id)
{
	const Node *node = tensor_node(common->program, id);
	switch (node->kind) {
	case NODE_INPUT:
	case NODE_PARAM:
	case NODE_ZEROS:
	case NODE_RANDOM: return true;
	default: break;
	}
	return !node->used || node->target != NODE_NONE || node->like != NODE_NONE ||
	       common->program->inference->margins[id];
}

/* Also nodes of an initialiser, and what follows from a tensor that a routine assigns to: it is not
 * the same before and after. */
static void mark_alone(Common *common, bool *changes)
{
	const Graph *graph = common->program->graph;
	for (uint32_t i = 0; i < graph->init.norder; i++)
		common->alone[graph->init.order[i]] = true;
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (graph->nodes.at[id].target != NODE_NONE)
			changes[id] = changes[graph->nodes.at[id].target] = true;
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		for (uint32_t i = 0; i < node->nargs; i++)
			changes[id] |= changes[node->args[i]];
		common->alone[id] |= changes[id] || is_alone(common, id);
	}
}

static NodeId first_of(Common *common, NodeId id)
{
	Key key = key_of(common, id);
	uint64_t hash = XXH64(key.at, key.n * sizeof *key.at, 0);
	ptrdiff_t slot = hmgeti(common->first, hash);
	common->keys[id] = key;
	common->next[id] = slot < 0 ? NODE_NONE : common->first[slot].value;
	for (NodeId other = common->next[id]; other != NODE_NONE; other = common->next[other])
		if (common->keys[other].n == key.n &&
		    !memcmp(common->keys[other].at, key.at, key.n * sizeof *key.at))
			return other;
	hmput(common->first, hash, id);
	return id;
}

static bool is_as_large(const Common *common, NodeId a, NodeId b)
{
	return size_same(shape_elements(common->program->sizes, tensor_shape(common->program, a)),
			 shape_elements(common->program->sizes, tensor_shape(common->program, b)));
}

/* Of a node that others could read instead of computing it again. */
static uint32_t cost_of(const Common *common, NodeId id)
{
	const Node *node = tensor_node(common->program, id);
	const Proj *proj = tensor_proj(common->program, id);
	if (!proj)
		return 0;
	bool stored = proj_reduces(proj) || node_is_copy(node);
	uint32_t cost = stored ? WORTH : node_cost(node);
	for (uint32_t i = 0; i < node->nargs && cost < WORTH; i++) {
		const Proj *arg = tensor_proj(common->program, node->args[i]);
		if (node_is_copy(tensor_node(common->program, node->args[i])))
			continue; /* its readers stay where they are */
		if (arg && (!proj_reduces(arg) || is_as_large(common, node->args[i], id)))
			cost += common->cost[node->args[i]];
	}
	return cost;
}

/* ---- the graph ---- */

static bool is_read_instead(const Common *common, NodeId id)
{
	return common->same[id] != id && common->cost[id] >= WORTH;
}

static NodeId *read_instead(const Common *common, const NodeId *nodes, uint32_t n)
{
	NodeId *read = ARENA_ARRAY(common->program->arena, NodeId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		read[i] = is_read_instead(common, nodes[i]) ? common->same[nodes[i]] : nodes[i];
	return read;
}

static bool reads_other(const Node *before, const Node *after)
{
	return memcmp(before->args, after->args, before->nargs * sizeof *before->args) != 0;
}

static void rewire(const Common *common)
{
	TensorProgram *program = common->program;
	Graph *graph = ARENA_NEW(program->arena, Graph);
	*graph = *program->graph;
	graph->nodes.at = ARENA_ARRAY(program->arena, Node, graph->nodes.n + 1);
	graph->routines.at = ARENA_ARRAY(program->arena, Routine, graph->routines.n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		Node *node = &graph->nodes.at[id];
		*node = program->graph->nodes.at[id];
		node->args = read_instead(common, node->args, node->nargs);
		if (tensor_proj(program, id) && reads_other(&program->graph->nodes.at[id], node))
			PUSH(program->arena, program->made, id);
	}
	for (size_t i = 0; i < graph->routines.n; i++) {
		Routine *routine = &graph->routines.at[i];
		*routine = program->graph->routines.at[i];
		routine->outputs = read_instead(common, routine->outputs, routine->noutputs);
	}
	Inference *inference = ARENA_NEW(program->arena, Inference);
	*inference = *program->inference;
	inference->graph = program->graph = graph;
	program->inference = inference;
}

/* For messages: a schedule may name what is not computed. */
static void describe(const Common *common, NodeId id)
{
	TensorProgram *program = common->program;
	const Node *node = tensor_node(program, id), *to = tensor_node(program, common->same[id]);
	if (!node->name)
		return;
	PUSH(program->arena, program->equals, ((TensorEqual){node->name, to->name, to->span}));
}

bool common_tensors(TensorProgram *program)
{
	size_t n = program->graph->nodes.n;
	bool any = false;
	Common common = {.program = program};
	common.same = ARENA_ARRAY(program->scratch, NodeId, n + 1);
	common.cost = ARENA_ARRAY(program->scratch, uint32_t, n + 1);
	common.alone = ARENA_ARRAY(program->scratch, bool, n + 1);
	common.keys = ARENA_ARRAY(program->scratch, Key, n + 1);
	common.next = ARENA_ARRAY(program->scratch, NodeId, n + 1);
	mark_alone(&common, ARENA_ARRAY(program->scratch, bool, n + 1));
	for (NodeId id = 0; id < n; id++) {
		common.same[id] = common.alone[id] ? id : first_of(&common, id);
		common.cost[id] = cost_of(&common, id);
		if (!is_read_instead(&common, id))
			continue;
		describe(&common, id);
		any = true;
	}
	hmfree(common.first);
	if (any)
		rewire(&common);
	return any;
}
