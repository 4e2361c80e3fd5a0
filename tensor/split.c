/* Passes that make several nodes of one, each by a rewrite of its own: sorted elements, products of
 * several operands, reductions, and elementwise operations over a short last axis.
 *
 * Nodes are inserted, so all get new numbers (routines, projections and shapes; what lowering does
 * not read stays as it is: other lists, a parameter's `initial`, letters).
 */
#include "tensor/split.h"
#include "tensor/passes.h"

#include <string.h>

enum {
	ARGS_MOST = 3
}; /* of an elementwise operation, each of which may be one more node, or two of two */

/* ---- projections ---- */

typedef struct Renaming {
	const Proj *old;
	Proj *proj;
	Piece *piece;
	IterId now[SPLIT_ITERS]; /* by old iterator; UINT32_MAX: none */
} Renaming;

static Access renamed_access(Renaming *r, Arena *arena, const Access *old)
{
	Access access = {old->present, ARENA_ARRAY(arena, Index, old->naxes + 1), old->naxes};
	for (uint32_t a = 0; a < old->naxes; a++) {
		Index *index = &access.axes[a];
		*index = old->axes[a];
		index->terms = ARENA_ARRAY(arena, IndexTerm, index->nterms + 1);
		for (uint32_t t = 0; t < index->nterms; t++) {
			IterId *iter = &r->now[old->axes[a].terms[t].iter];
			index->terms[t] = old->axes[a].terms[t];
			if (*iter == UINT32_MAX) {
				*iter = r->proj->niters++;
				r->proj->iters[*iter] = r->old->iters[index->terms[t].iter];
				r->piece->iters[r->piece->niters++] = *iter;
			}
			index->terms[t].iter = *iter;
		}
	}
	return access;
}

/* Every iterator runs by itself. */
static void add_factors(Arena *arena, Proj *proj)
{
	proj->nfactors = proj->niters;
	proj->factors = ARENA_ARRAY(arena, Factor, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++) {
		proj->factors[i] = (Factor){ARENA_NEW(arena, IterId), 1};
		proj->factors[i].iters[0] = i;
	}
}

Proj *split_proj(const TensorProgram *program, const Proj *old, const Access *result,
		const Access *const *args, uint32_t nargs)
{
	Arena *arena = program->arena;
	Renaming r = {.old = old, .proj = ARENA_NEW(arena, Proj), .piece = ARENA_NEW(arena, Piece)};
	memset(r.now, 0xff, sizeof r.now);
	r.proj->iters = ARENA_ARRAY(arena, Iter, SPLIT_ITERS);
	r.piece->iters = ARENA_ARRAY(arena, IterId, SPLIT_ITERS);
	r.piece->args = ARENA_ARRAY(arena, Access, nargs);
	r.piece->result = renamed_access(&r, arena, result);
	uint32_t nresult = r.proj->niters;
	for (uint32_t i = 0; i < nargs; i++)
		r.piece->args[i] = renamed_access(&r, arena, args[i]);
	for (IterId i = 0; i < r.proj->niters; i++)
		r.proj->iters[i].reduced = i >= nresult;
	add_factors(arena, r.proj);
	r.proj->pieces = r.piece;
	r.proj->npieces = 1;
	r.proj->nargs = nargs;
	return r.proj;
}

/* ---- nodes ---- */

static NodeId add_node(Split *g, Node node, Shape shape, Proj *proj, Margins *margins)
{
	NodeId id = (NodeId)g->graph->nodes.n++;
	g->graph->nodes.at[id] = node;
	g->inference->shapes[id] = shape;
	g->inference->projs[id] = proj;
	g->inference->margins[id] = margins;
	return id;
}

static NodeId made(Split *g, NodeId id)
{
	PUSH(g->program->arena, g->program->made, id);
	return id;
}

static Node with_args(const Split *g, const Node *of, const NodeId *args, uint32_t nargs)
{
	Node node = *of;
	node.args = ARENA_ARRAY(g->program->arena, NodeId, nargs);
	memcpy(node.args, args, nargs * sizeof *args);
	node.nargs = nargs;
	node.arg_spans = NULL;
	node.spec = NULL;
	return node;
}

NodeId split_first(Split *g, const Node *node, const char *prefix, const NodeId *args,
		  uint32_t nargs, Shape shape, Proj *proj)
{
	Node first = with_args(g, node, args, nargs);
	first.name =
		sym_printf(g->graph->symbols, "%s_%s", prefix, node->name ? node->name : "sum");
	first.target = first.packs = NODE_NONE;
	first.acc = OP_NONE;
	first.clear = false;
	return made(g, add_node(g, first, shape, proj, NULL));
}

void split_last(Split *g, NodeId id, const Node *node, const NodeId *args, uint32_t nargs,
	       Proj *proj)
{
	g->now[id] = made(g, add_node(g, with_args(g, node, args, nargs),
				      *tensor_shape(g->program, id), proj,
				      g->program->inference->margins[id]));
}

static NodeId now(const Split *g, NodeId old) { return old == NODE_NONE ? old : g->now[old]; }

static NodeId *all_now(const Split *g, const NodeId *old, uint32_t n)
{
	NodeId *ids = ARENA_ARRAY(g->program->arena, NodeId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = now(g, old[i]);
	return ids;
}

static Node renumbered(const Split *g, const Node *old)
{
	Node node = *old;
	node.args = all_now(g, old->args, old->nargs);
	node.target = now(g, old->target);
	node.like = now(g, old->like);
	node.packs = now(g, old->packs);
	return node;
}

static void add_same(Split *g, NodeId id, const Node *node, Proj *proj)
{
	const Inference *inference = g->program->inference;
	g->now[id] = add_node(g, *node, inference->shapes[id], proj, inference->margins[id]);
}

static bool materialize_add(Split *g, NodeId id, Node *node)
{
	Proj *proj = materialize_args(g, id, node);
	if (proj == tensor_proj(g->program, id))
		return false;
	add_same(g, id, node, proj);
	made(g, g->now[id]);
	return true;
}

/* Makes of a node, whose own references are new numbers, several; false: it stays one. */
typedef struct SplitRewrite {
	bool (*may)(const Node *node); /* is it one of those that are looked at? */
	bool (*add)(Split *g, NodeId id, Node *node);
} SplitRewrite;

static void add_old(Split *g, const SplitRewrite *rewrite, NodeId id)
{
	Node node = renumbered(g, tensor_node(g->program, id));
	if (g->initial[id] || !rewrite->may(&node) || !rewrite->add(g, id, &node))
		add_same(g, id, &node, g->program->inference->projs[id]);
}

/* ---- the graph ---- */

static void loops_now(Split *g, const Graph *old)
{
	Arena *arena = g->program->arena;
	g->graph->loops.at = ARENA_ARRAY(arena, GraphLoop, old->loops.n + 1);
	g->graph->carried.at = ARENA_ARRAY(arena, Carried, old->carried.n + 1);
	for (size_t i = 0; i < old->loops.n; i++) {
		g->graph->loops.at[i] = old->loops.at[i];
		g->graph->loops.at[i].until = now(g, old->loops.at[i].until);
	}
	for (size_t i = 0; i < old->carried.n; i++) {
		const Carried *carried = &old->carried.at[i];
		g->graph->carried.at[i] = (Carried){now(g, carried->tensor), now(g, carried->first),
						    now(g, carried->step), carried->whole};
	}
}

static Routine routine_now(const Split *g, const Routine *old)
{
	Routine routine = *old;
	routine.inputs = all_now(g, old->inputs, old->ninputs);
	routine.params = all_now(g, old->params, old->nparams);
	routine.outputs = all_now(g, old->outputs, old->noutputs);
	routine.order = all_now(g, old->order, old->norder);
	return routine;
}

static Split split_new(TensorProgram *program)
{
	size_t n = 1;
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		uint32_t nargs = program->graph->nodes.at[id].nargs;
		bool product = nargs > ARGS_MOST && program->graph->nodes.at[id].kind == NODE_SPEC;
		n += 1 + (product ? nargs : ARGS_MOST + 1);
	}
	Split g = {.program = program,
		     .graph = ARENA_NEW(program->arena, Graph),
		     .inference = ARENA_NEW(program->arena, Inference)};
	*g.graph = *program->graph;
	*g.inference = *program->inference;
	g.graph->nodes.at = ARENA_ARRAY(program->arena, Node, n);
	g.graph->nodes.n = 0;
	g.inference->graph = g.graph;
	g.inference->shapes = ARENA_ARRAY(program->arena, Shape, n);
	g.inference->projs = ARENA_ARRAY(program->arena, Proj *, n);
	g.inference->margins = ARENA_ARRAY(program->arena, Margins *, n);
	g.now = ARENA_ARRAY(program->scratch, NodeId, n);
	g.initial = ARENA_ARRAY(program->scratch, bool, n);
	for (uint32_t i = program->graph->init.norder; i-- > 0;) {
		NodeId id = program->graph->init.order[i];
		const Node *node = &program->graph->nodes.at[id];
		g.initial[id] |= node->elementwise;
		for (uint32_t k = 0; k < node->nargs && g.initial[id]; k++)
			g.initial[node->args[k]] = true;
	}
	return g;
}

/* Is there a node that it may be for? */
static bool may_split(const Graph *graph, const SplitRewrite *rewrite)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (rewrite->may(&graph->nodes.at[id]))
			return true;
	return false;
}

static bool split_nodes(TensorProgram *program, const SplitRewrite *rewrite)
{
	const Graph *old = program->graph;
	if (!may_split(old, rewrite))
		return false;
	Split g = split_new(program);
	for (NodeId id = 0; id < old->nodes.n; id++)
		add_old(&g, rewrite, id);
	if (program->made.n == 0)
		return false;
	g.graph->routines.at = ARENA_ARRAY(program->arena, Routine, old->routines.n + 1);
	for (size_t i = 0; i < old->routines.n; i++)
		g.graph->routines.at[i] = routine_now(&g, &old->routines.at[i]);
	g.graph->init = routine_now(&g, &old->init);
	loops_now(&g, old);
	g.graph->params.at = all_now(&g, old->params.at, (uint32_t)old->params.n);
	program->graph = g.graph;
	program->inference = g.inference;
	return true;
}

/* ---- the passes ---- */

static bool is_sort_node(const Node *node) { return node->kind == NODE_SORT; }
static bool is_product_of_several(const Node *node)
{
	return node->kind == NODE_SPEC && node->nargs >= 3;
}
static bool is_of_one(const Node *node) { return node->kind == NODE_SPEC && node->nargs == 1; }
static bool is_elementwise(const Node *node) { return node->kind == NODE_POINTWISE; }

static bool product_add(Split *g, NodeId id, Node *node)
{
	return reassociate_add(g, id, node) || many_add(g, id, node);
}

bool sorted_elements(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_sort_node, sorted_add});
}

bool reassociate_products(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_product_of_several, product_add});
}

bool two_stage_reductions(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_of_one, two_stage_add});
}

bool materialize_operands(TensorProgram *program)
{
	return split_nodes(program, &(SplitRewrite){is_elementwise, materialize_add});
}
