/* Steps of a loop that write what it carries in place, as operations that give the tensor as it is behind each: where gradients
 * go through the loop, which need the tensor as it was before, too.
 *
 *   c =: E via "r => l"      c' = where(written, w, c)          w = E in the elements that l reaches
 *   c =+ E via "r => l"      c' = c + w                         w = E there, added up, and 0 elsewhere
 *   what reads c behind it   reads c'; the last one is what the next step begins with
 */
#include <string.h>

#include "frontend/carried.h"
#include "frontend/needed.h"
#include "tensor/adjoint_loops.h"

/* ---- which ---- */

/* What a gradient or a tangent goes through of a program. */
typedef struct Through {
	const TensorProgram *program;
	const LoopRange *ranges;
	bool *loops;   /* by loop: steps of it are on the way of one */
	bool *has;     /* by tensor: what it is taken of depends on it */
	bool *written; /* by number of what loops carry: its writes become operations */
	bool any;
} Through;

static void find_loops(const Through *t, NodeId y, NodeId x)
{
	const Graph *graph = t->program->graph;
	bool *reached, *path;
	gradient_paths(graph, t->program->scratch, y, &x, 1, &reached, &path);
	memset(t->loops, 0, (graph->loops.n + 1) * sizeof *t->loops);
	for (NodeId id = 0; id <= y; id++)
		for (uint32_t loop = graph_node(graph, id)->loop;
		     loop && adjoint_concerns(graph, path, id); loop = graph->loops.at[loop].parent)
			t->loops[loop] = true;
}

static void find_needed(const Through *t, NodeId y)
{
	const Graph *graph = t->program->graph;
	Needed needed = {graph, t->has,
			 ARENA_ARRAY(t->program->scratch, NodeId, graph->nodes.n + 1), 0};
	memset(t->has, 0, (graph->nodes.n + 1) * sizeof *t->has);
	needed_add(&needed, y);
	needed_follow(&needed);
}

static bool goes_through(const Through *t, uint32_t loop)
{
	bool goes = false;
	for (; loop; loop = t->program->graph->loops.at[loop].parent)
		goes |= t->loops[loop];
	return goes;
}

/* Behind all that the steps of a loop compute, but for whether it ends. */
static NodeId end_of_step(const Graph *graph, uint32_t loop)
{
	NodeId end = 0;
	if (graph->loops.at[loop].until == NODE_NONE)
		return (NodeId)graph->nodes.n;
	for (size_t i = 0; i < graph->carried.n; i++)
		if (graph->carried.at[i].first != NODE_NONE && graph->carried.at[i].step > end &&
		    graph_set_in(graph, &graph->carried.at[i]) == loop)
			end = graph->carried.at[i].step;
	return end;
}

/* Do its steps read the tensor behind what sets it? */
static bool is_read_behind(const Graph *graph, const Carried *carried)
{
	uint32_t loop = graph_set_in(graph, carried);
	NodeId end = end_of_step(graph, loop);
	bool is = false;
	for (NodeId id = carried->step + 1; id < end && !is; id++)
		is = graph_loop_in(graph, graph_node(graph, id)->loop, loop) &&
		     node_reads(graph_node(graph, id), carried->tensor);
	return is;
}

/* Do its steps write the tensor otherwise than whole, at their end? */
static bool is_written(const Graph *graph, const Carried *carried)
{
	return carried->first != NODE_NONE &&
	       (carried->written || graph_writes_carried(graph, carried->step) ||
		is_read_behind(graph, carried));
}

static void mark_written(Through *t, const Node *gradient)
{
	const Graph *graph = t->program->graph;
	bool looked = false;
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *carried = &graph->carried.at[i];
		if (t->written[i] || !is_written(graph, carried))
			continue;
		if (!looked) {
			looked = true;
			find_loops(t, gradient->args[0], gradient->args[1]);
			find_needed(t, gradient->args[0]);
		}
		t->written[i] =
			t->has[carried->tensor] && goes_through(t, graph_set_in(graph, carried));
		t->any |= t->written[i];
	}
}

static Through find_through(const TensorProgram *program)
{
	const Graph *graph = program->graph;
	Through t = {.program = program,
		     .loops = ARENA_ARRAY(program->scratch, bool, graph->loops.n + 1),
		     .has = ARENA_ARRAY(program->scratch, bool, graph->nodes.n + 1),
		     .written = ARENA_ARRAY(program->scratch, bool, graph->carried.n + 1)};
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (node_kind_differentiates(graph_node(graph, id)->kind) &&
		    graph_node(graph, id)->used)
			mark_written(&t, graph_node(graph, id));
	return t;
}

/* ---- what a write gives ---- */

static NodeId cast_to(const Adjoint *a, NodeId id, Dtype dtype)
{
	const Shape *shape = &a->g->inference->shapes[id];
	return adjoint_dtype(a, id) == dtype
		       ? id
		       : adjoint_over_shape(a, adjoint_plain(a, NODE_CAST, OP_NONE, dtype), shape,
					    &id, 1);
}

static const Shape *shape_of(const Adjoint *a)
{
	return tensor_shape(a->g->program, a->node->target);
}

static Dtype wide_of(const Adjoint *a)
{
	return dtype_wide(tensor_node(a->g->program, a->node->target)->dtype);
}

/* The right side in the tensor's shape, what folds it elsewhere: added up in the tensor's wide type. */
static NodeId right_side(const Adjoint *a, const NodeId *args)
{
	Node node = *a->node;
	NodeId *operands = ARENA_ARRAY(a->g->program->arena, NodeId, node.nargs + 1);
	bool widens = node.acc != OP_NONE && dtype_wide(node.dtype) != wide_of(a);
	for (uint32_t i = 0; i < node.nargs; i++)
		operands[i] = widens ? cast_to(a, args[i], wide_of(a)) : args[i];
	node.dtype = widens ? wide_of(a) : node.dtype;
	node.target = node.packs = node.like = NODE_NONE;
	node.acc = OP_NONE;
	node.clear = node.exact = false;
	node.name = NULL;
	return adjoint_add_node(a, node, shape_of(a), (Proj *)a->proj, operands, node.nargs);
}

/* Not 0 where an element is written, whether or not anything is added up there. */
static NodeId places_written(const Adjoint *a)
{
	Arena *arena = a->g->program->arena;
	const Access *alone = adjoint_no_axes(a);
	PieceAccesses *pieces = ARENA_ARRAY(arena, PieceAccesses, a->proj->npieces + 1);
	for (uint32_t p = 0; p < a->proj->npieces; p++)
		pieces[p] = (PieceAccesses){&a->proj->pieces[p].result, &alone};
	NodeId one = adjoint_number(a, 1, wide_of(a)).node;
	Node node =
		adjoint_plain(a, a->proj->npieces > 1 ? NODE_BLOCK : NODE_SPEC, OP_ID, wide_of(a));
	node.reduce = OP_ADD;
	Proj *proj = adjoint_proj(a, shape_of(a), pieces, a->proj->npieces, 1);
	return adjoint_add_node(a, node, shape_of(a), proj, &one, 1);
}

/* Is acc(x, the neutral element of what folds the right side) not always x itself? */
static bool changes_all(Op acc)
{
	return acc == OP_NONE || acc == OP_POW || acc == OP_AND || acc == OP_OR;
}

/* The tensor as it is behind the reader, a write; `before`: as it was; `args`: what the reader reads. */
static NodeId behind_write(const Adjoint *a, NodeId before, const NodeId *args)
{
	Dtype stored = tensor_node(a->g->program, a->node->target)->dtype, wide = wide_of(a);
	Op acc = a->node->acc;
	NodeId old = cast_to(a, before, wide), next = cast_to(a, right_side(a, args), wide);
	if (a->node->clear) {
		Scalar neutral = op_neutral(acc, wide);
		double number = dtype_is_float(wide) ? neutral.f : (double)neutral.i;
		old = adjoint_number(a, number, wide).node;
	}
	if (acc != OP_NONE)
		next = adjoint_over_shape(a, adjoint_plain(a, NODE_POINTWISE, acc, wide),
					  shape_of(a), (NodeId[]){old, next}, 2);
	if (!a->node->clear && changes_all(acc) && !a->proj->surjective)
		next = adjoint_over_shape(a, adjoint_plain(a, NODE_POINTWISE, OP_WHERE, wide),
					  shape_of(a), (NodeId[]){places_written(a), next, old}, 3);
	return cast_to(a, next, stored);
}

/* ---- the program again ---- */

typedef struct Again {
	Adjoint a; /* gives nothing: what operations are made with */
	const Through *through;
	NodeId *behind; /* by tensor, an old number: as it is behind the last write of the step, a new one; NODE_NONE: itself */
} Again;

static const Carried *carried_of(const Again *again, NodeId tensor)
{
	const Graph *graph = again->a.g->program->graph;
	const Carried *carried = tensor == NODE_NONE ? NULL : graph_carried(graph, tensor);
	return carried && again->through->written[carried - graph->carried.at] ? carried : NULL;
}

/* What the node reads, of the tensor as it is there: a new number. */
static NodeId read_now(const Again *again, const Node *node, NodeId id)
{
	const Graph *graph = again->a.g->program->graph;
	const Carried *carried = carried_of(again, id);
	bool inside = carried && graph_loop_in(graph, node->loop, graph_set_in(graph, carried));
	return inside && again->behind[id] != NODE_NONE ? again->behind[id] : again->a.g->now[id];
}

static Node renumbered(const Again *again, NodeId id)
{
	const Node *old = tensor_node(again->a.g->program, id);
	Node node = rebuild_renumbered(again->a.g, id);
	for (uint32_t i = 0; i < node.nargs; i++)
		node.args[i] = read_now(again, old, old->args[i]);
	return node;
}

/* A step of the loop that writes the tensor, which is set at last if that is the end of the step. */
static void take_write(Again *again, NodeId id, const Carried *carried)
{
	Node node = renumbered(again, id);
	adjoint_read(&again->a, id);
	NodeId before = read_now(again, again->a.node, carried->tensor);
	NodeId next = behind_write(&again->a, before, node.args);
	Node *made = graph_node(again->a.g->graph, next);
	made->name = graph_node(again->a.g->program->graph, carried->tensor)->name;
	again->behind[carried->tensor] = next;
	again->a.g->now[id] =
		id == carried->step
			? adjoint_assign(&again->a, again->a.g->now[carried->tensor], next)
			: next;
}

static void take(Again *again, NodeId id)
{
	Rebuild *g = again->a.g;
	NodeId target = graph_node(g->program->graph, id)->target;
	const Carried *carried = carried_of(again, target);
	if (carried && id != carried->first) {
		take_write(again, id, carried);
		return;
	}
	Node node = renumbered(again, id);
	rebuild_same(g, id, &node, g->program->inference->projs[id]);
}

static Again again_start(Rebuild *g, const Through *through)
{
	const Graph *graph = g->program->graph;
	Arena *scratch = g->program->scratch;
	Again again = {
		.a = {.g = g, .loop_now = ARENA_ARRAY(scratch, uint32_t, graph->loops.n + 1)},
		.through = through,
		.behind = ARENA_ARRAY(scratch, NodeId, graph->nodes.n + 1)};
	for (uint32_t loop = 0; loop < graph->loops.n; loop++)
		again.a.loop_now[loop] = loop;
	memset(again.behind, 0xff, (graph->nodes.n + 1) * sizeof *again.behind);
	return again;
}

void functionalize_writes(TensorProgram *program)
{
	Through through = find_through(program);
	if (!through.any)
		return;
	const Graph *old = program->graph;
	Rebuild g = rebuild_start(program);
	Again again = again_start(&g, &through);
	for (NodeId id = 0; id < old->nodes.n; id++)
		take(&again, id);
	for (size_t i = 0; i < old->carried.n; i++)
		if (through.written[i])
			g.graph->carried.at[i].written = false;
	rebuild_gradients(&g, old);
	rebuild_end(&g);
	memset(&program->made, 0, sizeof program->made);
}
