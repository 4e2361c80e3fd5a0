/* Tensors that loops set, as passes make them. */
#include "tensor/loop_tensors.h"

#include <string.h>

#include "infer/project.h"
#include "tensor/accesses.h"

static Arena *arena_of(const Rebuild *g) { return g->program->arena; }

Proj *elementwise_proj(const Rebuild *g, const Shape *shape, Span span, uint32_t nargs,
		       const bool *alone)
{
	Arena *arena = arena_of(g);
	uint32_t n = shape_naxes(shape);
	Proj *proj = ARENA_NEW(arena, Proj);
	Piece *piece = ARENA_NEW(arena, Piece);
	*proj = (Proj){.iters = ARENA_ARRAY(arena, Iter, n + 1),
		       .niters = n,
		       .factors = ARENA_ARRAY(arena, Factor, n + 1),
		       .nfactors = n,
		       .pieces = piece,
		       .npieces = 1,
		       .nargs = nargs,
		       .injective = true,
		       .surjective = true};
	*piece = (Piece){.iters = ARENA_ARRAY(arena, IterId, n + 1),
			 .niters = n,
			 .result = {true, ARENA_ARRAY(arena, Index, n + 1), n},
			 .args = ARENA_ARRAY(arena, Access, nargs + 1)};
	for (IterId i = 0; i < n; i++) {
		proj->iters[i] = (Iter){sym_printf(g->graph->symbols, "i%u", i),
					shape_axis(shape, i)->size, false, span};
		piece->iters[i] = i;
		proj->factors[i] = (Factor){&piece->iters[i], 1};
		piece->result.axes[i] = index_of_iter(arena, g->program->sizes, i);
	}
	for (uint32_t i = 0; i < nargs; i++)
		piece->args[i] = alone[i] ? (Access){.present = true} : piece->result;
	return proj;
}

/* ---- loops ---- */

uint32_t loop_like(Rebuild *g, uint32_t loop, uint32_t parent, bool reversed)
{
	GraphLoop like = g->graph->loops.at[loop];
	like.parent = parent;
	like.down ^= reversed;
	like.until = like.made = NODE_NONE;
	PUSH(arena_of(g), g->graph->loops, like);
	return (uint32_t)g->graph->loops.n - 1;
}

/* The same tensor in the order of the loop's steps: its shape behind an axis of them. Requires: a size says how many
 * there are at most. */
static Shape stacked_shape(const Rebuild *g, const Shape *shape, uint32_t loop)
{
	Shape stacked = *shape;
	const Row *old = &shape->rows[ROW_BATCH];
	Row *row = &stacked.rows[ROW_BATCH];
	*row = (Row){.axes = ARENA_ARRAY(arena_of(g), Axis, old->n + 1), .n = old->n + 1};
	row->axes[0] = (Axis){.size = infer_size(g->inference, g->graph->loops.at[loop].most)};
	if (old->n)
		memcpy(row->axes + 1, old->axes, old->n * sizeof *old->axes);
	return stacked;
}

NodeId loop_tensor(Rebuild *g, Dtype dtype, const Shape *shape, Span span, uint32_t parent,
		   bool whole)
{
	Node node = rebuild_plain(NODE_ZEROS, OP_NONE, dtype, span);
	node.loop = parent;
	NodeId id = rebuild_add(g, node, *shape, NULL, NULL);
	loop_carry(g, id, whole);
	return id;
}

void loop_carry(Rebuild *g, NodeId tensor, bool whole)
{
	PUSH(arena_of(g), g->graph->carried,
	     ((Carried){tensor, NODE_NONE, NODE_NONE, whole, false}));
	graph_node(g->graph, tensor)->carried = (uint32_t)g->graph->carried.n;
}

void loop_set_first(Rebuild *g, NodeId tensor, NodeId first)
{
	graph_carried(g->graph, tensor)->first = first;
}

void loop_set_step(Rebuild *g, NodeId tensor, NodeId step)
{
	graph_carried(g->graph, tensor)->step = step;
}

NodeId loop_count_steps(Rebuild *g, uint32_t loop)
{
	const Shape number = {0};
	const bool alone = true;
	const GraphLoop of = g->graph->loops.at[loop];
	NodeId steps = loop_tensor(g, DTYPE_I32, &number, of.span, of.parent, false);
	Node one = rebuild_plain(NODE_NUMBER, OP_NONE, DTYPE_I32, of.span);
	one.number = 1;
	one.integer = 1;
	one.is_integer = true;
	Node add = rebuild_plain(NODE_POINTWISE, OP_ID, DTYPE_I32, of.span);
	add.args = ARENA_NEW(arena_of(g), NodeId);
	add.args[0] = rebuild_add(g, one, number, NULL, NULL);
	add.nargs = 1;
	add.target = steps;
	add.acc = OP_ADD;
	add.loop = loop;
	loop_set_step(
		g, steps,
		rebuild_make(g, add, number, elementwise_proj(g, &number, of.span, 1, &alone)));
	return steps;
}

/* ---- values of all steps ---- */

/* The access in the tensor of all steps. */
static Access in_step(const Rebuild *g, const Access *access, uint32_t loop)
{
	Access in = {true, ARENA_ARRAY(arena_of(g), Index, access->naxes + 1), access->naxes + 1};
	in.axes[0] = (Index){
		.offset = size_dim(g->program->sizes, g->graph->loops.at[loop].step), .gather = -1};
	memcpy(in.axes + 1, access->axes, access->naxes * sizeof *access->axes);
	return in;
}

static NodeId add_copy(Rebuild *g, NodeId from, const Shape *shape, NodeId target, Proj *proj,
		       uint32_t loop)
{
	const Node *of = graph_node(g->graph, from);
	Node node = rebuild_plain(NODE_SPEC, OP_ID, of->dtype, of->span);
	node.args = ARENA_NEW(arena_of(g), NodeId);
	node.args[0] = from;
	node.nargs = 1;
	node.reduce = OP_ADD;
	node.target = target;
	node.loop = loop;
	project_facts(g->program->sizes, shape, proj);
	return rebuild_make(g, node, *shape, proj);
}

NodeId loop_store(Rebuild *g, NodeId value, uint32_t loop)
{
	const bool alone = false;
	const Node *of = graph_node(g->graph, value);
	Span span = of->span;
	Dtype dtype = of->dtype;
	const Shape *shape = &g->inference->shapes[value];
	Shape stacked = stacked_shape(g, shape, loop);
	Proj *proj = elementwise_proj(g, shape, span, 1, &alone);
	proj->pieces->result = in_step(g, &proj->pieces->result, loop);
	NodeId all = loop_tensor(g, dtype, &stacked, span, g->graph->loops.at[loop].parent, true);
	loop_set_step(g, all, add_copy(g, value, &stacked, all, proj, loop));
	return all;
}

NodeId loop_load(Rebuild *g, NodeId stored, uint32_t loop)
{
	const bool alone = false;
	Shape shape = g->inference->shapes[stored];
	Row *batch = &shape.rows[ROW_BATCH];
	batch->axes++;
	batch->n--;
	Proj *proj = elementwise_proj(g, &shape, graph_node(g->graph, stored)->span, 1, &alone);
	proj->pieces->args[0] = in_step(g, &proj->pieces->result, loop);
	return add_copy(g, stored, &shape, NODE_NONE, proj, loop);
}
