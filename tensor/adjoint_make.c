/* Operations that gradients are made of. */
#include "infer/project.h"
#include "tensor/accesses.h"
#include "tensor/adjoint.h"

#include <string.h>

static Arena *arena_of(const Adjoint *a) { return a->g->program->arena; }

static Proj *make_proj(const Adjoint *a, const Shape *shape, const PieceAccesses *pieces,
		       uint32_t npieces, uint32_t nargs)
{
	Proj *proj = accesses_proj(arena_of(a), a->proj, pieces, npieces, nargs);
	project_facts(a->g->program->sizes, shape, proj);
	return proj;
}

/* ---- nodes ---- */

static Sym name_of(const Adjoint *a, const Node *node)
{
	const char *format = a->forward ? "jvp_%s" : "grad_%s";
	return node->name ? sym_printf(a->g->graph->symbols, format, node->name) : NULL;
}

/* What is there of operand `arg`, and what is given: a node's adjoint or tangent. */
static NodeId from_node(const Adjoint *a, uint32_t arg)
{
	return a->forward ? a->node->args[arg] : a->id;
}

static NodeId to_node(const Adjoint *a, uint32_t arg)
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

/* What is like the reader, and no assignment. */
static Node plain_node(const Adjoint *a, NodeKind kind, Op op, Dtype dtype)
{
	return (Node){.kind = kind,
		      .op = op,
		      .reduce = OP_NONE,
		      .dtype = dtype,
		      .span = a->node->span,
		      .op_span = a->node->op_span,
		      .site = a->node->site,
		      .like = NODE_NONE,
		      .packs = NODE_NONE,
		      .target = NODE_NONE,
		      .acc = OP_NONE,
		      .used = true};
}

static NodeId add_node(const Adjoint *a, Node node, const Shape *shape, Proj *proj,
		       const NodeId *args, uint32_t nargs)
{
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
	REQUIRE(nargs <= OPERANDS_MOST);
	for (uint32_t i = 0; i < nargs; i++) {
		ids[i] = args[i].node;
		accesses[i] = args[i].access;
	}
	PieceAccesses piece = {result, accesses};
	return add_node(a, *like, shape, make_proj(a, shape, &piece, 1, nargs), ids, nargs);
}

/* ---- what points read ---- */

Dtype adjoint_dtype(const Adjoint *a, NodeId node) { return graph_node(a->g->graph, node)->dtype; }

static const Access *no_axes(const Adjoint *a)
{
	Access *access = ARENA_NEW(arena_of(a), Access);
	*access = (Access){.present = true};
	return access;
}

Read adjoint_alone(const Adjoint *a, NodeId node) { return (Read){node, no_axes(a)}; }

/* Is it one number, which stands for all elements of an adjoint? */
static bool is_uniform(const Adjoint *a, NodeId node)
{
	return shape_naxes(&a->g->inference->shapes[node]) == 0;
}

Read adjoint_number(const Adjoint *a, double number, Dtype dtype)
{
	Node node = plain_node(a, NODE_NUMBER, OP_NONE, dtype);
	node.number = number;
	node.integer = (int64_t)number;
	node.is_integer = (double)node.integer == number;
	NodeId id = rebuild_add(a->g, node, (Shape){0}, NULL, NULL);
	return (Read){id, no_axes(a)};
}

bool adjoint_is_number(const Adjoint *a, Read read, double number)
{
	const Node *node = graph_node(a->g->graph, read.node);
	return node->kind == NODE_NUMBER && node->number == number;
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
	Read given = {a->of[from_node(a, arg)], from_access(a, &a->proj->pieces[0], arg)};
	if (is_uniform(a, given.node))
		given.access = no_axes(a);
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
	IndexTerm *term = ARENA_NEW(arena_of(a), IndexTerm);
	*term = (IndexTerm){iter, 1};
	row->axes[row->n++] = (Axis){.size = a->proj->iters[iter].extent};
	own->axes[own->naxes++] = (Index){.terms = term,
					  .nterms = 1,
					  .offset = size_const(a->g->program->sizes, 0),
					  .gather = -1};
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
	Node node = plain_node(a, NODE_OFFSETS, OP_NONE, DTYPE_I32);
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

static Dtype dtype_of(const Adjoint *a, Read read)
{
	return dtype_wide(graph_node(a->g->graph, read.node)->dtype);
}

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
		operands[0] = applied(a, space, plain_node(a, NODE_CAST, OP_NONE, dtype), args, 1);
	for (uint32_t i = 0; i < nargs; i++)
		dtypes[i] = dtype;
	return applied(a, space,
		       plain_node(a, NODE_POINTWISE, op, op_result_dtype(op, dtypes, (int)nargs)),
		       operands, nargs);
}

/* ---- what operands are given ---- */

static bool same_shape(const Shape *a, const Shape *b)
{
	bool same = shape_naxes(a) == shape_naxes(b);
	for (uint32_t i = 0; same && i < shape_naxes(a); i++)
		same = size_same(shape_axis(a, i)->size, shape_axis(b, i)->size);
	return same;
}

static Proj *shape_proj(const Adjoint *a, const Shape *shape, uint32_t nargs, const bool *alone)
{
	Arena *arena = arena_of(a);
	uint32_t n = shape_naxes(shape);
	Sizes *sizes = a->g->program->sizes;
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
		IndexTerm *term = ARENA_NEW(arena, IndexTerm);
		*term = (IndexTerm){i, 1};
		proj->iters[i] = (Iter){sym_printf(a->g->graph->symbols, "i%u", i),
					shape_axis(shape, i)->size, false, a->node->span};
		piece->iters[i] = i;
		proj->factors[i] = (Factor){&piece->iters[i], 1};
		piece->result.axes[i] = (Index){
			.terms = term, .nterms = 1, .offset = size_const(sizes, 0), .gather = -1};
	}
	for (uint32_t i = 0; i < nargs; i++)
		piece->args[i] = alone[i] ? *no_axes(a) : piece->result;
	return proj;
}

/* Elements of one shape, one by one; one number stands for all of them. */
static NodeId over_shape(const Adjoint *a, Node node, const Shape *shape, const NodeId *args,
			 uint32_t nargs)
{
	bool alone[3];
	for (uint32_t i = 0; i < nargs; i++)
		alone[i] = is_uniform(a, args[i]);
	return add_node(a, node, shape, shape_proj(a, shape, nargs, alone), args, nargs);
}

NodeId adjoint_elementwise(const Adjoint *a, Op op, const Shape *shape, const NodeId *args,
			   uint32_t nargs)
{
	Dtype dtypes[3] = {DTYPE_NONE};
	for (uint32_t i = 0; i < nargs; i++)
		dtypes[i] = adjoint_dtype(a, args[i]);
	Dtype dtype = op_result_dtype(op, dtypes, (int)nargs);
	return over_shape(a, plain_node(a, NODE_POINTWISE, op, dtype), shape, args, nargs);
}

NodeId adjoint_fill(const Adjoint *a, const Shape *shape, NodeId number)
{
	Dtype dtype = graph_node(a->g->graph, number)->dtype;
	return over_shape(a, plain_node(a, NODE_POINTWISE, OP_ID, dtype), shape, &number, 1);
}

void adjoint_add(const Adjoint *a, uint32_t arg, NodeId node)
{
	NodeId to = to_node(a, arg), *sum = &a->of[to];
	const Node *operand = tensor_node(a->g->program, to);
	const Shape *shape = tensor_shape(a->g->program, to);
	Dtype dtype = dtype_wide(operand->dtype);
	if (graph_node(a->g->graph, node)->dtype != dtype)
		node = over_shape(a, plain_node(a, NODE_CAST, OP_NONE, dtype), shape, &node, 1);
	if (*sum == NODE_NONE) {
		*sum = node;
		return;
	}
	Node add = plain_node(a, NODE_POINTWISE, OP_ADD, dtype);
	add.name = name_of(a, operand);
	*sum = over_shape(a, add, shape, (NodeId[]){*sum, node}, 2);
}

void adjoint_spread(const Adjoint *a, NodeId id)
{
	NodeId *given = &a->of[id];
	const Shape *shape = tensor_shape(a->g->program, id);
	if (is_uniform(a, *given) && shape_naxes(shape) > 0)
		*given = adjoint_fill(a, shape, *given);
}

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
	Node node = plain_node(a, NODE_SPEC, op, dtype);
	node.reduce = OP_ADD;
	node.name = name_of(a, tensor_node(a->g->program, to_node(a, arg)));
	return node;
}

void adjoint_give(const Adjoint *a, uint32_t arg, Read read)
{
	const Access *to = to_access(a, &a->proj->pieces[0], arg);
	const Shape *shape = tensor_shape(a->g->program, to_node(a, arg));
	Space result = adjoint_result_space(a);
	if (!a->forward && !counts_points(a, arg, false, read.access))
		read = adjoint_apply(a, &result, OP_ID, &read, 1);
	if (!counts_points(a, arg, false, read.access)) {
		Space whole = adjoint_whole_space(a);
		read = adjoint_apply(a, &whole, OP_ID, &read, 1);
	}
	bool same = proj_same_access(to, read.access) &&
		    same_shape(shape, &a->g->inference->shapes[read.node]);
	Node sum = sum_node(a, arg, OP_ID, graph_node(a->g->graph, read.node)->dtype);
	same |= is_uniform(a, read.node);
	adjoint_add(a, arg, same ? read.node : adjoint_node(a, &sum, shape, to, &read, 1));
}

/* What is there, which is left out of a product where it is 1, and the other operands. */
static uint32_t exchanged_args(const Adjoint *a, uint32_t arg, bool others, NodeId *ids,
			       uint32_t *from)
{
	uint32_t n = 0;
	bool one = adjoint_is_number(a, adjoint_given(a, arg), 1) &&
		   is_uniform(a, a->of[from_node(a, arg)]);
	if (!others || !one || a->node->nargs == 1) {
		from[n] = UINT32_MAX;
		ids[n++] = a->of[from_node(a, arg)];
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
	bool uniform = is_uniform(a, a->of[from_node(a, arg)]);
	PieceAccesses *pieces = ARENA_ARRAY(arena, PieceAccesses, a->proj->npieces + 1);
	*npieces = 0;
	for (uint32_t p = 0; p < a->proj->npieces; p++) {
		const Piece *piece = &a->proj->pieces[p];
		if (!piece->args[arg].present)
			continue;
		const Access **args = ARENA_ARRAY(arena, const Access *, nargs + 1);
		for (uint32_t i = 0; i < nargs; i++)
			args[i] = from[i] != UINT32_MAX ? &piece->args[from[i]]
				  : uniform		? no_axes(a)
							: from_access(a, piece, arg);
		pieces[(*npieces)++] = (PieceAccesses){to_access(a, piece, arg), args};
	}
	return pieces;
}

void adjoint_exchange(const Adjoint *a, uint32_t arg, bool others)
{
	NodeId ids[OPERANDS_MOST];
	uint32_t from[OPERANDS_MOST], npieces;
	const Shape *shape = tensor_shape(a->g->program, to_node(a, arg));
	if (!counts_points(a, arg, others, NULL))
		adjoint_spread(a, from_node(a, arg));
	uint32_t nargs = exchanged_args(a, arg, others, ids, from);
	const PieceAccesses *pieces = exchanged_pieces(a, arg, from, nargs, &npieces);
	Node node = sum_node(a, arg, nargs > 1 ? OP_MUL : OP_ID,
			     graph_node(a->g->graph, a->of[from_node(a, arg)])->dtype);
	if (npieces > 1 && nargs == 1)
		node.kind = NODE_BLOCK;
	Proj *proj = make_proj(a, shape, pieces, npieces, nargs);
	bool uniform = nargs == 1 && is_uniform(a, ids[0]) && from[0] == UINT32_MAX &&
		       proj->injective && proj->surjective;
	adjoint_add(a, arg, uniform ? ids[0] : add_node(a, node, shape, proj, ids, nargs));
}

void adjoint_again(const Adjoint *a)
{
	Node node = rebuild_renumbered(a->g, a->id);
	node.args[0] = a->of[a->node->args[0]];
	node.dtype = graph_node(a->g->graph, node.args[0])->dtype;
	node.name = name_of(a, a->node);
	node.packs = node.like = node.target = NODE_NONE;
	adjoint_add(a, 0,
		    add_node(a, node, tensor_shape(a->g->program, a->id), (Proj *)a->proj,
			     node.args, node.nargs));
}
