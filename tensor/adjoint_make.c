/* Operations that gradients are made of. */
#include "infer/project.h"
#include "tensor/accesses.h"
#include "tensor/adjoint_loops.h"

#include <string.h>

static Arena *arena_of(const Adjoint *a) { return a->g->program->arena; }

Proj *adjoint_proj(const Adjoint *a, const Shape *shape, const PieceAccesses *pieces,
		   uint32_t npieces, uint32_t nargs)
{
	Proj *proj = accesses_proj(arena_of(a), a->proj, pieces, npieces, nargs);
	project_facts(a->g->program->sizes, shape, proj);
	return proj;
}

/* ---- nodes ---- */

Node adjoint_plain(const Adjoint *a, NodeKind kind, Op op, Dtype dtype)
{
	Node node = rebuild_plain(kind, op, dtype, a->node->span);
	node.op_span = a->node->op_span;
	node.site = a->node->site;
	return node;
}

/* The innermost of the loops of operands and of the reader: each of them is in the others. */
static uint32_t loop_of(const Adjoint *a, const NodeId *args, uint32_t nargs)
{
	uint32_t loop = adjoint_loop(a, a->node->loop);
	for (uint32_t i = 0; i < nargs; i++) {
		uint32_t own = graph_node(a->g->graph, args[i])->loop;
		loop = own > loop ? own : loop;
	}
	return loop;
}

NodeId adjoint_add_node(const Adjoint *a, Node node, const Shape *shape, Proj *proj,
			const NodeId *args, uint32_t nargs)
{
	node.loop = loop_of(a, args, nargs);
	node.args = ARENA_ARRAY(arena_of(a), NodeId, nargs + 1);
	memcpy(node.args, args, nargs * sizeof *args);
	node.nargs = nargs;
	NodeId id = rebuild_make(a->g, node, *shape, proj);
	if (proj)
		margins_add(a->g->inference, id, arena_of(a));
	return id;
}

NodeId adjoint_node(const Adjoint *a, const Node *like, const Shape *shape, const Access *result,
		    const Read *args, uint32_t nargs)
{
	NodeId ids[OPERANDS_MOST];
	const Access *accesses[OPERANDS_MOST];
	Node node = *like;
	REQUIRE(nargs <= OPERANDS_MOST);
	node.target = NODE_NONE;
	for (uint32_t i = 0; i < nargs; i++) {
		ids[i] = args[i].node;
		accesses[i] = args[i].access;
	}
	PieceAccesses piece = {result, accesses};
	return adjoint_add_node(a, node, shape, adjoint_proj(a, shape, &piece, 1, nargs), ids, nargs);
}

/* ---- what points read ---- */

Dtype adjoint_dtype(const Adjoint *a, NodeId node) { return graph_node(a->g->graph, node)->dtype; }

const Access *adjoint_no_axes(const Adjoint *a)
{
	Access *access = ARENA_NEW(arena_of(a), Access);
	*access = (Access){.present = true};
	return access;
}

Read adjoint_alone(const Adjoint *a, NodeId node) { return (Read){node, adjoint_no_axes(a)}; }

bool adjoint_is_uniform(const Adjoint *a, NodeId node)
{
	return shape_naxes(&a->g->inference->shapes[node]) == 0;
}

Read adjoint_number(const Adjoint *a, double number, Dtype dtype)
{
	Node node = adjoint_plain(a, NODE_NUMBER, OP_NONE, dtype);
	node.number = number;
	node.integer = (int64_t)number;
	node.is_integer = (double)node.integer == number;
	NodeId id = rebuild_add(a->g, node, (Shape){0}, NULL, NULL);
	return (Read){id, adjoint_no_axes(a)};
}

NodeId adjoint_or_zero(const Adjoint *a, NodeId given, Dtype dtype)
{
	return given == NODE_NONE ? adjoint_number(a, 0, dtype).node : given;
}

Read adjoint_operand(const Adjoint *a, uint32_t arg)
{
	return (Read){adjoint_now(a, a->node->args[arg]), &a->proj->pieces[0].args[arg]};
}

Read adjoint_result(const Adjoint *a)
{
	return (Read){adjoint_now(a, a->id), &a->proj->pieces[0].result};
}

Read adjoint_given(const Adjoint *a, uint32_t arg)
{
	const Piece *piece = &a->proj->pieces[0];
	Read given = {a->of[adjoint_from(a, arg)], a->forward ? &piece->args[arg] : &piece->result};
	if (adjoint_is_uniform(a, given.node))
		given.access = adjoint_no_axes(a);
	return given;
}

Space adjoint_result_space(const Adjoint *a)
{
	return (Space){*tensor_shape(a->g->program, a->id), &a->proj->pieces[0].result};
}

/* The axis of an iterator, if there is none yet. */
static void add_axis(const Adjoint *a, Row *row, Access *own, IterId iter)
{
	if (access_mentions(own, iter))
		return;
	row->axes[row->n++] = (Axis){.size = a->proj->iters[iter].extent};
	own->axes[own->naxes++] = index_of_iter(arena_of(a), a->g->program->sizes, iter);
}

Space adjoint_whole_space(const Adjoint *a)
{
	Arena *arena = arena_of(a);
	const Piece *piece = &a->proj->pieces[0];
	const Access *first = &piece->args[0];
	Access *own = ARENA_NEW(arena, Access);
	Space space = {.own = own};
	Row *row = &space.shape.rows[ROW_OUTPUT];
	row->axes = ARENA_ARRAY(arena, Axis, piece->niters + 1);
	*own = (Access){true, ARENA_ARRAY(arena, Index, piece->niters + 1), 0};
	for (uint32_t axis = 0; axis < first->naxes; axis++)
		for (uint32_t t = 0; t < first->axes[axis].nterms; t++)
			add_axis(a, row, own, first->axes[axis].terms[t].iter);
	for (uint32_t i = 0; i < piece->niters; i++)
		add_axis(a, row, own, piece->iters[i]);
	return space;
}

Read adjoint_offsets(const Adjoint *a, const IterId *iters, uint32_t n)
{
	Access *access = ARENA_NEW(arena_of(a), Access);
	Shape shape = {0};
	Row *row = &shape.rows[ROW_OUTPUT];
	row->axes = ARENA_ARRAY(arena_of(a), Axis, n + 1);
	*access = (Access){true, ARENA_ARRAY(arena_of(a), Index, n + 1), 0};
	for (uint32_t i = 0; i < n; i++)
		add_axis(a, row, access, iters[i]);
	Node node = adjoint_plain(a, NODE_OFFSETS, OP_NONE, DTYPE_I32);
	return (Read){rebuild_add(a->g, node, shape, NULL, NULL), access};
}

Read adjoint_place(const Adjoint *a)
{
	const Piece *piece = &a->proj->pieces[0];
	IterId *reduced = ARENA_ARRAY(a->g->program->scratch, IterId, piece->niters + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < piece->niters; i++)
		if (a->proj->iters[piece->iters[i]].reduced)
			reduced[n++] = piece->iters[i];
	return adjoint_offsets(a, reduced, n);
}

const Proj *adjoint_piece(const Adjoint *a, uint32_t number)
{
	const Piece *piece = &a->proj->pieces[number];
	uint32_t nargs = a->proj->nargs;
	const Access **args = ARENA_ARRAY(arena_of(a), const Access *, nargs + 1);
	for (uint32_t i = 0; i < nargs; i++)
		args[i] = &piece->args[i];
	PieceAccesses alone = {&piece->result, args};
	return a->proj->npieces == 1 ? a->proj
				     : accesses_proj(arena_of(a), a->proj, &alone, 1, nargs);
}

/* ---- elementwise ---- */

static Dtype dtype_of(const Adjoint *a, Read read) { return dtype_wide(adjoint_dtype(a, read.node)); }

static Read applied(const Adjoint *a, const Space *space, Node node, const Read *args,
		    uint32_t nargs)
{
	return (Read){adjoint_node(a, &node, &space->shape, space->own, args, nargs), space->own};
}

Read adjoint_apply(const Adjoint *a, const Space *space, Op op, const Read *args, uint32_t nargs)
{
	Read operands[3];
	Dtype dtypes[3], dtype = dtype_of(a, args[nargs - 1]);
	memcpy(operands, args, nargs * sizeof *args);
	if (op == OP_WHERE && dtype_of(a, args[0]) != dtype)
		operands[0] = applied(a, space, adjoint_plain(a, NODE_CAST, OP_NONE, dtype), args, 1);
	for (uint32_t i = 0; i < nargs; i++)
		dtypes[i] = dtype;
	return applied(a, space,
		       adjoint_plain(a, NODE_POINTWISE, op, op_result_dtype(op, dtypes, (int)nargs)),
		       operands, nargs);
}

/* ---- in one shape ---- */

NodeId adjoint_over_shape(const Adjoint *a, Node node, const Shape *shape, const NodeId *args,
			  uint32_t nargs)
{
	bool alone[3];
	for (uint32_t i = 0; i < nargs; i++)
		alone[i] = adjoint_is_uniform(a, args[i]);
	Proj *proj = elementwise_proj(a->g, shape, a->node->span, nargs, alone);
	return adjoint_add_node(a, node, shape, proj, args, nargs);
}

NodeId adjoint_elementwise(const Adjoint *a, Op op, const Shape *shape, const NodeId *args,
			   uint32_t nargs)
{
	Dtype dtypes[3] = {DTYPE_NONE};
	for (uint32_t i = 0; i < nargs; i++)
		dtypes[i] = adjoint_dtype(a, args[i]);
	Dtype dtype = op_result_dtype(op, dtypes, (int)nargs);
	return adjoint_over_shape(a, adjoint_plain(a, NODE_POINTWISE, op, dtype), shape, args,
				  nargs);
}

NodeId adjoint_fill(const Adjoint *a, const Shape *shape, NodeId number)
{
	return adjoint_elementwise(a, OP_ID, shape, &number, 1);
}

void adjoint_spread(const Adjoint *a, NodeId id)
{
	NodeId *given = &a->of[id];
	const Shape *shape = tensor_shape(a->g->program, id);
	if (adjoint_is_uniform(a, *given) && shape_naxes(shape) > 0)
		*given = adjoint_fill(a, shape, *given);
}

