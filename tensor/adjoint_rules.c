/* What each kind of operation gives to its operands. */
#include "infer/project.h"
#include "tensor/adjoint.h"

static bool counts(const Adjoint *a, uint32_t arg)
{
	return a->path[a->node->args[arg]] &&
	       node_passes_gradient(a->g->program->graph, a->id, arg);
}

/* ---- reductions by other than sums ---- */

/* What is given, at each point of the operation; of a tangent that a window reads outside of its tensor 0. */
static Read given_at_points(const Adjoint *a, const Space *whole)
{
	Read given = adjoint_given(a, 0);
	Node window = *a->node;
	window.name = NULL;
	window.reduce = OP_ADD;
	if (a->forward)
		given = (Read){adjoint_node(a, &window, &whole->shape, whole->own, &given, 1),
			       whole->own};
	return given;
}

/* The greatest or least: all of it to the first element that is it, in the order of the projection.
 *
 *   place = of each element that is read       first = least place of those equal to the result
 */
static void give_extreme(const Adjoint *a)
{
	Space whole = adjoint_whole_space(a), result = adjoint_result_space(a);
	Read x = adjoint_operand(a, 0), place = adjoint_place(a);
	Node window = *a->node, least = *a->node;
	window.name = least.name = NULL;
	Read element = {adjoint_node(a, &window, &whole.shape, whole.own, &x, 1), whole.own};
	Read equal = adjoint_apply(a, &whole, OP_EQ, (Read[]){element, adjoint_result(a)}, 2);
	Read none = adjoint_number(a, INT32_MAX, DTYPE_I32);
	Read candidate = adjoint_apply(a, &whole, OP_WHERE, (Read[]){equal, place, none}, 3);
	least.op = OP_ID;
	least.reduce = OP_MIN;
	least.dtype = DTYPE_I32;
	Read first = {adjoint_node(a, &least, &result.shape, result.own, &candidate, 1),
		      result.own};
	Read is_first = adjoint_apply(a, &whole, OP_EQ, (Read[]){first, place}, 2);
	Read zero = adjoint_number(a, 0, dtype_wide(a->node->dtype));
	Read given = given_at_points(a, &whole);
	adjoint_give(a, 0, adjoint_apply(a, &whole, OP_WHERE, (Read[]){is_first, given, zero}, 3));
}

/* A product: the product of the others, where one or several may be 0.
 *
 *   zeros = how many are 0         rest = product of those that are not
 *   given: rest / x where none is, rest to the only one that is, 0 elsewhere
 */
static void give_product(const Adjoint *a)
{
	Space whole = adjoint_whole_space(a), result = adjoint_result_space(a);
	Dtype dtype = dtype_wide(a->node->dtype);
	Read one = adjoint_number(a, 1, dtype), zero = adjoint_number(a, 0, dtype),
	     x = adjoint_operand(a, 0);
	Node window = *a->node, sum = *a->node;
	window.name = sum.name = NULL;
	Read element = {adjoint_node(a, &window, &whole.shape, whole.own, &x, 1), whole.own};
	Read is_zero = adjoint_apply(a, &whole, OP_EQ, (Read[]){element, zero}, 2);
	Read count = adjoint_apply(a, &whole, OP_WHERE, (Read[]){is_zero, one, zero}, 3);
	Read factor = adjoint_apply(a, &whole, OP_WHERE, (Read[]){is_zero, one, element}, 3);
	Read rest = {adjoint_node(a, &window, &result.shape, result.own, &factor, 1), result.own};
	sum.reduce = OP_ADD;
	Read zeros = {adjoint_node(a, &sum, &result.shape, result.own, &count, 1), result.own};
	Read only = adjoint_apply(a, &result, OP_EQ, (Read[]){zeros, one}, 2);
	Read none = adjoint_apply(a, &result, OP_EQ, (Read[]){zeros, zero}, 2);
	Read to_zero = adjoint_apply(a, &result, OP_WHERE, (Read[]){only, rest, zero}, 3);
	Read to_others = adjoint_apply(a, &result, OP_WHERE, (Read[]){none, rest, zero}, 3);
	Read others = adjoint_apply(a, &whole, OP_DIV, (Read[]){to_others, factor}, 2);
	Read each = adjoint_apply(a, &whole, OP_WHERE, (Read[]){is_zero, to_zero, others}, 3);
	Read given = given_at_points(a, &whole);
	adjoint_give(a, 0, adjoint_apply(a, &whole, OP_MUL, (Read[]){given, each}, 2));
}

/* ---- places that integers hold ---- */

static Dtype given_dtype(const Adjoint *a) { return graph_node(a->g->graph, a->of[a->id])->dtype; }

/* What was read at places is added up there. */
static void give_scattered(const Adjoint *a, const Access *to, const Read *places, uint32_t nplaces,
			   IndexMode mode)
{
	Read args[OPERANDS_MOST];
	Node scatter = *a->node;
	args[0] = adjoint_given(a, 0);
	for (uint32_t i = 0; i < nplaces; i++)
		args[i + 1] = places[i];
	scatter.kind = NODE_SCATTER;
	scatter.op = OP_NONE;
	scatter.reduce = OP_ADD;
	scatter.mode = mode;
	scatter.dtype = given_dtype(a);
	scatter.spec = NULL;
	scatter.along = (Along){0};
	scatter.size_expr = NULL;
	adjoint_add(a, 0,
		    adjoint_node(a, &scatter, tensor_shape(a->g->program, a->node->args[0]), to,
				 args, nplaces + 1));
}

static void give_gathered_from(const Adjoint *a)
{
	Read places[OPERANDS_MOST];
	for (uint32_t i = 1; i < a->node->nargs; i++)
		places[i - 1] = adjoint_operand(a, i);
	give_scattered(a, &a->proj->pieces[0].args[0], places, a->node->nargs - 1, a->node->mode);
}

/* What is read at places, operands from 1 on. */
static NodeId gathered(const Adjoint *a, const Space *space, const Read *args, uint32_t nargs)
{
	Node gather = *a->node;
	gather.kind = NODE_GATHER;
	gather.op = gather.reduce = OP_NONE;
	gather.dtype = graph_node(a->g->graph, args[0].node)->dtype;
	gather.spec = NULL;
	gather.along = (Along){0};
	gather.size_expr = NULL;
	gather.name = NULL;
	return adjoint_node(a, &gather, &space->shape, space->own, args, nargs);
}

/* What was added up at places is read there. */
static void give_scattered_from(const Adjoint *a)
{
	Read args[OPERANDS_MOST];
	Space whole = adjoint_whole_space(a);
	args[0] = adjoint_given(a, 0);
	for (uint32_t i = 1; i < a->node->nargs; i++)
		args[i] = adjoint_operand(a, i);
	adjoint_give(a, 0, (Read){gathered(a, &whole, args, a->node->nargs), whole.own});
}

/* ---- along an axis ---- */

/* The sums up to each place: those from each place on. */
static void give_cumulated(const Adjoint *a)
{
	Node back = *a->node;
	Read given = adjoint_given(a, 0);
	back.along.reverse = !back.along.reverse;
	back.dtype = given_dtype(a);
	back.spec = NULL;
	back.name = NULL;
	adjoint_add(a, 0,
		    adjoint_node(a, &back, tensor_shape(a->g->program, a->node->args[0]),
				 &a->proj->pieces[0].args[0], &given, 1));
}

/* The access of operand 0 with the places, which are operand 1, along the line. */
static Access at_places(const Adjoint *a, IterId line)
{
	Arena *arena = a->g->program->arena;
	const Access *from = &a->proj->pieces[0].args[0];
	Access access = {true, ARENA_ARRAY(arena, Index, from->naxes + 1), from->naxes};
	for (uint32_t i = 0; i < from->naxes; i++) {
		const Index *index = &from->axes[i];
		access.axes[i] = *index;
		if (index->nterms == 1 && index->terms[0].iter == line)
			access.axes[i] = (Index){.offset = size_const(a->g->program->sizes, 0),
						 .gather = 1,
						 .mode = INDEX_CLAMPED};
	}
	return access;
}

/* Sorted elements: back to the places that they come from, or from there. */
static void give_sorted(const Adjoint *a)
{
	IterId line = proj_along(a->proj).from;
	Node places = *a->node;
	Read x = adjoint_operand(a, 0), given = adjoint_given(a, 0);
	if (line == UINT32_MAX) {
		adjoint_give(a, 0, given);
		return;
	}
	places.along.ids = true;
	places.dtype = DTYPE_I32;
	places.spec = NULL;
	places.name = NULL;
	Space result = adjoint_result_space(a);
	Read ids = {adjoint_node(a, &places, &result.shape, result.own, &x, 1), result.own};
	Access to = at_places(a, line);
	if (a->forward)
		adjoint_add(a, 0, gathered(a, &result, (Read[]){{given.node, &to}, ids}, 2));
	else
		give_scattered(a, &to, &ids, 1, INDEX_CLAMPED);
}

/* ---- all kinds ---- */

/* The same elements in storage order. */
static void give_reshaped(const Adjoint *a)
{
	Node node = *a->node;
	Arena *arena = a->g->program->arena;
	Proj *proj = ARENA_NEW(arena, Proj);
	*proj = (Proj){
		.nargs = 1, .linear = true, .injective = true, .surjective = true, .width = 1};
	node.kind = NODE_RESHAPE;
	node.dtype = given_dtype(a);
	node.spec = NULL;
	node.name = NULL;
	node.args = ARENA_NEW(arena, NodeId);
	node.args[0] = a->of[a->id];
	node.arg_spans = NULL;
	adjoint_add(a, 0,
		    rebuild_make(a->g, node, *tensor_shape(a->g->program, a->node->args[0]), proj));
}

static void give_exchanged(const Adjoint *a, bool others)
{
	for (uint32_t arg = 0; arg < a->node->nargs; arg++)
		if (counts(a, arg))
			adjoint_exchange(a, arg, others);
}

static void give_spec(const Adjoint *a)
{
	if (a->node->reduce == OP_MAX || a->node->reduce == OP_MIN)
		give_extreme(a);
	else if (a->node->reduce == OP_MUL)
		give_product(a);
	else
		give_exchanged(a, true);
}

/* Does it treat one number for all elements as what it is? */
static bool takes_uniform(NodeKind kind)
{
	return kind == NODE_POINTWISE || kind == NODE_CAST || kind == NODE_COMPOSE ||
	       kind == NODE_SPEC || kind == NODE_TRANSPOSE || kind == NODE_BLOCK ||
	       kind == NODE_STACK;
}

/* What a side of `where` is made of counts there alone. */
static void mark_chosen(const Adjoint *a)
{
	bool chosen = !a->forward && (a->chosen[a->id] ||
				      (a->node->kind == NODE_POINTWISE && a->node->op == OP_WHERE));
	for (uint32_t i = 0; i < a->node->nargs; i++)
		a->chosen[a->node->args[i]] |= chosen;
}

/* Has it one operand besides places, which it moves or adds up elements of? */
static bool moves_elements(const Node *node)
{
	switch (node->kind) {
	case NODE_GATHER:
	case NODE_SCATTER:
	case NODE_CUMULATE:
	case NODE_RESHAPE:
	case NODE_JOINED: return true;
	case NODE_SLICE: return node->nargs > 1;
	default: return false;
	}
}

void adjoint_rule(const Adjoint *a)
{
	mark_chosen(a);
	if (!a->forward && !takes_uniform(a->node->kind))
		adjoint_spread(a, a->id);
	if (a->forward && moves_elements(a->node)) {
		adjoint_again(a);
		return;
	}
	switch (a->node->kind) {
	case NODE_POINTWISE: adjoint_of_elementwise(a); break;
	case NODE_CAST: adjoint_give(a, 0, adjoint_given(a, 0)); break;
	case NODE_COMPOSE: give_exchanged(a, true); break;
	case NODE_SPEC: give_spec(a); break;
	case NODE_TRANSPOSE:
	case NODE_BLOCK:
	case NODE_STACK: give_exchanged(a, false); break;
	case NODE_SLICE:
		if (a->node->nargs > 1)
			give_gathered_from(a);
		else
			give_exchanged(a, false);
		break;
	case NODE_GATHER: give_gathered_from(a); break;
	case NODE_SCATTER: give_scattered_from(a); break;
	case NODE_CUMULATE: give_cumulated(a); break;
	case NODE_SORT: give_sorted(a); break;
	case NODE_RESHAPE:
	case NODE_JOINED: give_reshaped(a); break;
	default: BUG("a gradient through %s", node_kind_name(a->node->kind));
	}
}
