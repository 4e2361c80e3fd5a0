/* What operands are given: in the steps of a loop that is gone through backwards, too.
 *
 *   an operand of the loop itself	all that its readers give, in each step anew
 *   one that stands outside of it	what each step gives, added up in a tensor beside the loop, or, where that takes
 *					less (adjoint_waiting.c), by one operation over all steps behind the loop
 */
#include "infer/project.h"
#include "tensor/adjoint_loops.h"

#include <string.h>

static Arena *arena_of(const Adjoint *a) { return a->g->program->arena; }

static Sym name_of(const Adjoint *a, NodeId id)
{
	const Node *node = tensor_node(a->g->program, id);
	const char *format = a->forward ? "jvp_%s" : "grad_%s";
	return node->name ? sym_printf(a->g->graph->symbols, format, node->name) : NULL;
}

NodeId adjoint_from(const Adjoint *a, uint32_t arg)
{
	return a->forward ? a->node->args[arg] : a->id;
}

/* What is given: a node's adjoint or tangent. */
static NodeId given_to(const Adjoint *a, uint32_t arg)
{
	return a->forward ? a->id : a->node->args[arg];
}

/* Which element of it belongs to a point. */
static const Access *from_access(const Adjoint *a, const Piece *piece, uint32_t arg)
{
	return a->forward ? &piece->args[arg] : &piece->result;
}

static const Access *to_access(const Adjoint *a, const Piece *piece, uint32_t arg)
{
	return a->forward ? &piece->result : &piece->args[arg];
}

/* ---- sums over steps ---- */

/* Does it stand outside of the loop whose steps are gone through? */
static bool is_outside(const Adjoint *a, NodeId id)
{
	const Graph *graph = a->g->program->graph;
	const Node *node = graph_node(graph, id);
	uint32_t loop = a->steps->loop;
	const Carried *carried = graph_carried(graph, id);
	return loop && !graph_loop_in(graph, node->loop, loop) &&
	       (!carried || graph_set_in(graph, carried) != loop);
}

/* Each step adds it to a tensor beside the loop. Requires: it has the type of the operand's adjoint. */
static void accumulate(const Adjoint *a, NodeId to, Node node, Proj *proj, const NodeId *args,
		       uint32_t nargs)
{
	const Shape *shape = tensor_shape(a->g->program, to);
	uint32_t parent = a->g->graph->loops.at[a->steps->now].parent;
	NodeId sum = loop_tensor(a->g, node.dtype, shape, a->node->span, parent, false);
	graph_node(a->g->graph, sum)->name = name_of(a, to);
	node.name = NULL;
	node.target = sum;
	node.acc = OP_ADD;
	loop_set_step(a->g, sum, adjoint_add_node(a, node, shape, proj, args, nargs));
	PUSH(arena_of(a), a->steps->waiting,
	     ((Waiting){.to = to, .reader = a->id, .given = sum}));
}

/* ---- the sum of what is given ---- */

static void add(const Adjoint *a, NodeId to, NodeId node)
{
	NodeId *sum = &a->of[to];
	const Shape *shape = tensor_shape(a->g->program, to);
	Dtype dtype = dtype_wide(tensor_node(a->g->program, to)->dtype);
	if (adjoint_dtype(a, node) != dtype)
		node = adjoint_over_shape(a, adjoint_plain(a, NODE_CAST, OP_NONE, dtype), shape,
					  &node, 1);
	if (is_outside(a, to)) {
		bool alone = adjoint_is_uniform(a, node);
		accumulate(a, to, adjoint_plain(a, NODE_POINTWISE, OP_ID, dtype),
			   elementwise_proj(a->g, shape, a->node->span, 1, &alone), &node, 1);
		return;
	}
	if (*sum == NODE_NONE) {
		*sum = node;
		return;
	}
	Node sum_of = adjoint_plain(a, NODE_POINTWISE, OP_ADD, dtype);
	sum_of.name = name_of(a, to);
	*sum = adjoint_over_shape(a, sum_of, shape, (NodeId[]){*sum, node}, 2);
}

static void add_operation(const Adjoint *a, NodeId to, const Node *node, Proj *proj,
			  const NodeId *args, uint32_t nargs)
{
	const Shape *shape = tensor_shape(a->g->program, to);
	if (is_outside(a, to) && node->kind == NODE_SPEC &&
	    node->dtype == dtype_wide(tensor_node(a->g->program, to)->dtype))
		accumulate(a, to, *node, proj, args, nargs);
	else
		add(a, to, adjoint_add_node(a, *node, shape, proj, args, nargs));
}

void adjoint_add(const Adjoint *a, uint32_t arg, NodeId node) { add(a, given_to(a, arg), node); }

void adjoint_give_part(const Adjoint *a, uint32_t arg, const Part *part)
{
	NodeId to = given_to(a, arg);
	if (is_outside(a, to) && adjoint_waits(a, to, part))
		return;
	Proj *proj = adjoint_proj(a, tensor_shape(a->g->program, to), part->pieces, part->npieces,
				  part->nargs);
	add_operation(a, to, &part->node, proj, part->args, part->nargs);
}

void adjoint_give_waiting(Adjoint *a, const Steps *over)
{
	for (size_t i = 0; i < over->waiting.n; i++) {
		const Waiting *w = &over->waiting.at[i];
		a->id = w->reader;
		a->node = tensor_node(a->g->program, w->reader);
		if (w->given != NODE_NONE)
			add(a, w->to, w->given);
		else
			add_operation(a, w->to, &w->node, w->proj, w->args, w->nargs);
	}
}

/* ---- what operands are given ---- */

/* Is each iterator in what is given, in `read` (NULL: nothing), or, with `others`, in what another operand reads: is what is
 * given once a point counted as often as there are points? */
static bool counts_points(const Adjoint *a, uint32_t arg, bool others, const Access *read)
{
	for (uint32_t p = 0; p < a->proj->npieces; p++) {
		const Piece *piece = &a->proj->pieces[p];
		for (uint32_t i = 0; piece->args[arg].present && i < piece->niters; i++) {
			bool there = access_mentions(to_access(a, piece, arg), piece->iters[i]) ||
				     (read && access_mentions(read, piece->iters[i]));
			for (uint32_t k = 0; others && k < a->node->nargs; k++)
				there |= k != arg &&
					 access_mentions(&piece->args[k], piece->iters[i]);
			if (!there)
				return false;
		}
	}
	return true;
}

/* Sums, or one element each. */
static Node sum_node(const Adjoint *a, uint32_t arg, Op op, Dtype dtype)
{
	Node node = adjoint_plain(a, NODE_SPEC, op, dtype);
	node.reduce = OP_ADD;
	node.name = name_of(a, given_to(a, arg));
	return node;
}

void adjoint_give(const Adjoint *a, uint32_t arg, Read read)
{
	const Access *to = to_access(a, &a->proj->pieces[0], arg);
	const Shape *shape = tensor_shape(a->g->program, given_to(a, arg));
	Space result = adjoint_result_space(a);
	if (!a->forward && !counts_points(a, arg, false, read.access))
		read = adjoint_apply(a, &result, OP_ID, &read, 1);
	if (!counts_points(a, arg, false, read.access)) {
		Space whole = adjoint_whole_space(a);
		read = adjoint_apply(a, &whole, OP_ID, &read, 1);
	}
	bool same = proj_same_access(to, read.access) &&
		    shape_same_sizes(shape, &a->g->inference->shapes[read.node]);
	PieceAccesses piece = {to, &read.access};
	Node sum = sum_node(a, arg, OP_ID, adjoint_dtype(a, read.node));
	if (same || adjoint_is_uniform(a, read.node))
		adjoint_add(a, arg, read.node);
	else
		adjoint_give_part(a, arg, &(Part){sum, &piece, 1, &read.node, 1});
}

/* What is there, which is left out of a product where it is 1, and the other operands. */
static uint32_t exchanged_args(const Adjoint *a, uint32_t arg, bool others, NodeId *ids,
			       uint32_t *from)
{
	uint32_t n = 0;
	const Node *given = graph_node(a->g->graph, adjoint_given(a, arg).node);
	bool one = given->kind == NODE_NUMBER && given->number == 1 &&
		   adjoint_is_uniform(a, a->of[adjoint_from(a, arg)]);
	if (!others || !one || a->node->nargs == 1) {
		from[n] = UINT32_MAX;
		ids[n++] = a->of[adjoint_from(a, arg)];
	}
	for (uint32_t i = 0; others && i < a->node->nargs; i++)
		if (i != arg) {
			from[n] = i;
			ids[n++] = adjoint_now(a, a->node->args[i]);
		}
	return n;
}

/* The pieces that read the operand, exchanged. */
static PieceAccesses *exchanged_pieces(const Adjoint *a, uint32_t arg, const uint32_t *from, uint32_t nargs,
			     uint32_t *npieces)
{
	Arena *arena = arena_of(a);
	bool uniform = adjoint_is_uniform(a, a->of[adjoint_from(a, arg)]);
	PieceAccesses *pieces = ARENA_ARRAY(arena, PieceAccesses, a->proj->npieces + 1);
	*npieces = 0;
	for (uint32_t p = 0; p < a->proj->npieces; p++) {
		const Piece *piece = &a->proj->pieces[p];
		if (!piece->args[arg].present)
			continue;
		const Access **args = ARENA_ARRAY(arena, const Access *, nargs + 1);
		for (uint32_t i = 0; i < nargs; i++)
			args[i] = from[i] != UINT32_MAX ? &piece->args[from[i]]
				  : uniform		? adjoint_no_axes(a)
							: from_access(a, piece, arg);
		pieces[(*npieces)++] = (PieceAccesses){to_access(a, piece, arg), args};
	}
	return pieces;
}

/* Is one number, which is all that is given, given to every element, once? */
static bool gives_number(const Adjoint *a, uint32_t arg, const Part *part, bool adjoint)
{
	if (part->nargs != 1 || !adjoint || !adjoint_is_uniform(a, part->args[0]))
		return false;
	const Proj *proj = adjoint_proj(a, tensor_shape(a->g->program, given_to(a, arg)),
					part->pieces, part->npieces, part->nargs);
	return proj->injective && proj->surjective;
}

void adjoint_exchange(const Adjoint *a, uint32_t arg, bool others)
{
	NodeId ids[OPERANDS_MOST];
	uint32_t from[OPERANDS_MOST], npieces;
	if (!counts_points(a, arg, others, NULL))
		adjoint_spread(a, adjoint_from(a, arg));
	uint32_t nargs = exchanged_args(a, arg, others, ids, from);
	const PieceAccesses *pieces = exchanged_pieces(a, arg, from, nargs, &npieces);
	Node node = sum_node(a, arg, nargs > 1 ? OP_MUL : OP_ID,
			     adjoint_dtype(a, a->of[adjoint_from(a, arg)]));
	if (npieces > 1 && nargs == 1)
		node.kind = NODE_BLOCK;
	Part part = {node, pieces, npieces, ids, nargs};
	if (gives_number(a, arg, &part, from[0] == UINT32_MAX))
		adjoint_add(a, arg, ids[0]);
	else
		adjoint_give_part(a, arg, &part);
}

void adjoint_again(const Adjoint *a)
{
	Node node = *a->node;
	NodeId args[OPERANDS_MOST];
	REQUIRE(node.nargs <= OPERANDS_MOST);
	for (uint32_t i = 0; i < node.nargs; i++)
		args[i] = i == 0 ? a->of[node.args[0]] : a->value[node.args[i]];
	node.dtype = adjoint_dtype(a, args[0]);
	node.name = name_of(a, a->id);
	node.packs = node.like = node.target = NODE_NONE;
	adjoint_add(a, 0,
		    adjoint_add_node(a, node, tensor_shape(a->g->program, a->id),
				     (Proj *)a->proj, args, node.nargs));
}
