/* What comes through folds: einsums and reductions of other than sums of products, and scatters.
 *
 *   points   all iterators of a piece          element = what is reduced there, the operands combined
 *   max, min the first element that is it      place = of a point, among those of one result
 *                                              first = the least place of those equal to the result
 *   set      the last element                  last = the greatest place
 *   prod     the product of the others         zeros = how many are 0, rest = the product of those that are not;
 *                                              rest / element where none is, rest to the only one that is, 0 elsewhere
 *
 * An element's part is the operation's derivative where operands are combined. Pieces of one operation, of axes that are parts,
 * are looked at one after another, over all of which there is one first element, and one product.
 */
#include "tensor/adjoint_rules.h"

/* A piece, and what its elements have of what is given: the factor, and nothing where `gate` is 0. */
typedef struct Points {
	Adjoint at; /* the operation with this piece alone */
	Space whole;
	Read operands[OPERANDS_MOST]; /* at each point */
	uint32_t args[OPERANDS_MOST]; /* which they are: those that the piece has */
	uint32_t noperands;
	Read combined[OPERANDS_MOST]; /* of so many of them and one more */
	Read gate, factor;	      /* node NODE_NONE: there is none */
} Points;

static const Read nothing = {NODE_NONE, NULL};

/* ---- elements ---- */

static Read at_points(const Points *p, NodeId node) { return (Read){node, p->whole.own}; }

static Read apply(const Points *p, Op op, const Read *args, uint32_t nargs)
{
	return adjoint_apply(&p->at, &p->whole, op, args, nargs);
}

static Read number(const Points *p, double number)
{
	return adjoint_number(&p->at, number, dtype_wide(p->at.node->dtype));
}

static Node spec_node(const Points *p, Op op, Op reduce, Dtype dtype)
{
	Node node = adjoint_plain(&p->at, NODE_SPEC, op, dtype);
	node.reduce = reduce;
	return node;
}

/* What each point reads, which is 0 outside. */
static Read window(const Points *p, Read read)
{
	Node node = spec_node(p, OP_ID, OP_ADD, adjoint_dtype(&p->at, read.node));
	if (!access_is_guarded(read.access))
		return read;
	return at_points(p, adjoint_node(&p->at, &node, &p->whole.shape, p->whole.own, &read, 1));
}

/* The element of a tensor of the result's shape that belongs to a point. */
static Read result_at(const Points *p, NodeId node)
{
	Read args[OPERANDS_MOST] = {{node, &p->at.proj->pieces[0].result}};
	if (p->at.node->kind != NODE_SCATTER)
		return shape_naxes(&p->at.g->inference->shapes[node]) == 0
			       ? adjoint_alone(&p->at, node)
			       : window(p, args[0]);
	for (uint32_t i = 1; i < p->at.node->nargs; i++)
		args[i] = adjoint_operand(&p->at, i);
	return at_points(
		p, adjoint_gathered(&p->at, &p->whole, args, p->at.node->nargs, p->at.node->mode));
}

/* What is reduced to each element of the result. */
static NodeId reduced_at(const Points *p, Op reduce, Read read)
{
	Node node = spec_node(p, OP_ID, reduce, adjoint_dtype(&p->at, read.node));
	Read args[OPERANDS_MOST] = {read};
	uint32_t nargs = 1;
	if (p->at.node->kind == NODE_SCATTER) {
		node.kind = NODE_SCATTER;
		node.op = OP_NONE;
		node.mode = p->at.node->mode;
		for (; nargs < p->at.node->nargs; nargs++)
			args[nargs] = adjoint_operand(&p->at, nargs);
	}
	return adjoint_node(&p->at, &node, tensor_shape(p->at.g->program, p->at.id),
			    &p->at.proj->pieces[0].result, args, nargs);
}

/* What is reduced at each point: the neutral element where the operation leaves it out. */
static Read element_of(const Points *p)
{
	const Node *like = p->at.node;
	Node node = spec_node(p, p->noperands > 1 ? like->op : OP_ID, like->reduce, like->dtype);
	Read args[OPERANDS_MOST];
	for (uint32_t i = 0; i < p->noperands; i++)
		args[i] = adjoint_operand(&p->at, p->args[i]);
	return at_points(
		p, adjoint_node(&p->at, &node, &p->whole.shape, p->whole.own, args, p->noperands));
}

/* ---- what operands are given ---- */

/* Nothing where another operand is outside of its tensor: the point is left out. */
static Read inside(const Points *p, uint32_t arg, Read given)
{
	for (uint32_t i = 0; i < p->noperands; i++) {
		const Access *access = &p->at.proj->pieces[0].args[p->args[i]];
		const Shape *shape = tensor_shape(p->at.g->program, p->at.node->args[p->args[i]]);
		if (i == arg || !access_is_guarded(access))
			continue;
		NodeId ones = adjoint_fill(&p->at, shape, number(p, 1).node);
		given = apply(p, OP_MUL, (Read[]){window(p, (Read){ones, access}), given}, 2);
	}
	return given;
}

/* What comes from the operands combined to one of them, or from it. */
static Read through(const Points *p, uint32_t arg, Read given)
{
	Op op = p->at.node->op;
	uint32_t n = p->noperands;
	if (n == 1)
		return given;
	if (op_arity(op) == 3)
		return adjoint_derivative(&p->at, &p->whole, op, arg, p->operands,
					  p->combined[n - 1], given);
	for (uint32_t i = n - 1; i >= 1 && i >= arg; i--) /* falls */
		given = adjoint_derivative(&p->at, &p->whole, op, i == arg,
					   (Read[]){p->combined[i - 1], p->operands[i]},
					   p->combined[i], given);
	return given;
}

static void give_operand(const Points *p, uint32_t arg)
{
	const Adjoint *a = &p->at;
	Read given =
		a->forward ? window(p, adjoint_given(a, p->args[arg])) : result_at(p, a->of[a->id]);
	given = through(p, arg, inside(p, arg, given));
	if (p->gate.node != NODE_NONE)
		given = apply(p, OP_WHERE, (Read[]){p->gate, given, number(p, 0)}, 3);
	if (p->factor.node != NODE_NONE)
		given = apply(p, OP_MUL, (Read[]){given, p->factor}, 2);
	if (a->forward && a->node->kind == NODE_SCATTER)
		adjoint_add(a, p->args[arg], reduced_at(p, OP_ADD, given));
	else
		adjoint_give(a, p->args[arg], given);
}

/* ---- folds ---- */

/* Both, or the first one where there is no other yet. */
static NodeId joined(const Adjoint *a, Op op, NodeId so_far, NodeId more)
{
	return so_far == NODE_NONE ? more
				   : adjoint_elementwise(a, op, tensor_shape(a->g->program, a->id),
							 (NodeId[]){so_far, more}, 2);
}

/* The greatest or least of the elements. The result is it, but of three operands, which may have been combined in another
 * order, with other last places. */
static NodeId extreme_of(const Adjoint *a, const Points *points, const Read *elements,
			 uint32_t npieces)
{
	NodeId most = NODE_NONE;
	if (a->node->nargs < 3 || a->node->kind == NODE_SCATTER)
		return adjoint_now(a, a->id);
	for (uint32_t i = 0; i < npieces; i++)
		most = joined(a, a->node->reduce, most,
			      reduced_at(&points[i], a->node->reduce, elements[i]));
	return most;
}

/* Points have what is reduced first among those of one element of the result. */
static void find_extremes(const Adjoint *a, Points *points, uint32_t npieces)
{
	NodeId found = NODE_NONE, most = NODE_NONE;
	Read *elements = ARENA_ARRAY(a->g->program->scratch, Read, npieces + 1);
	bool set = a->node->reduce == OP_ID;
	const Shape *shape = tensor_shape(a->g->program, a->id);
	Read none = adjoint_number(a, set ? INT32_MIN : INT32_MAX, DTYPE_I32);
	for (uint32_t i = 0; !set && i < npieces; i++)
		elements[i] = element_of(&points[i]);
	if (!set)
		most = extreme_of(a, points, elements, npieces);
	for (uint32_t i = 0; i < npieces; i++) {
		Points *p = &points[i];
		Read place = adjoint_place(&p->at), candidate = place;
		if (!set) {
			Read equal = apply(p, OP_EQ, (Read[]){elements[i], result_at(p, most)}, 2);
			candidate = apply(p, OP_WHERE, (Read[]){equal, place, none}, 3);
		}
		NodeId first = reduced_at(p, set ? OP_MAX : OP_MIN, candidate);
		p->gate = apply(p, OP_EQ, (Read[]){result_at(p, first), place}, 2);
		if (found != NODE_NONE) {
			Read others = result_at(p, found);
			Read no = adjoint_number(a, 0, adjoint_dtype(a, p->gate.node));
			p->gate = apply(p, OP_WHERE, (Read[]){others, no, p->gate}, 3);
		}
		if (i + 1 < npieces) {
			NodeId here = adjoint_elementwise(a, OP_NE, shape,
							  (NodeId[]){first, none.node}, 2);
			found = found == NODE_NONE
					? here
					: adjoint_elementwise(a, OP_MAX, shape,
							      (NodeId[]){found, here}, 2);
		}
	}
}

/* Points have the product of the others. */
static void find_others(const Adjoint *a, Points *points, uint32_t npieces)
{
	NodeId all_rest = NODE_NONE, all_zeros = NODE_NONE;
	Read *is_zero = ARENA_ARRAY(a->g->program->scratch, Read, npieces + 1);
	for (uint32_t i = 0; i < npieces; i++) {
		const Points *p = &points[i];
		Read element = element_of(p), one = number(p, 1), zero = number(p, 0);
		is_zero[i] = apply(p, OP_EQ, (Read[]){element, zero}, 2);
		Read count = apply(p, OP_WHERE, (Read[]){is_zero[i], one, zero}, 3);
		points[i].factor = apply(p, OP_WHERE, (Read[]){is_zero[i], one, element}, 3);
		all_rest = joined(a, OP_MUL, all_rest, reduced_at(p, OP_MUL, p->factor));
		all_zeros = joined(a, OP_ADD, all_zeros, reduced_at(p, OP_ADD, count));
	}
	for (uint32_t i = 0; i < npieces; i++) {
		Points *p = &points[i];
		Read one = number(p, 1), zero = number(p, 0), rest = result_at(p, all_rest);
		Read zeros = result_at(p, all_zeros);
		Read only = apply(p, OP_EQ, (Read[]){zeros, one}, 2);
		Read none = apply(p, OP_EQ, (Read[]){zeros, zero}, 2);
		Read to_zero = apply(p, OP_WHERE, (Read[]){only, rest, zero}, 3);
		Read to_others = apply(p, OP_WHERE, (Read[]){none, rest, zero}, 3);
		Read others = apply(p, OP_DIV, (Read[]){to_others, p->factor}, 2);
		p->factor = apply(p, OP_WHERE, (Read[]){is_zero[i], to_zero, others}, 3);
	}
}

/* ---- pieces ---- */

static void find_operands(Points *p)
{
	const Piece *piece = &p->at.proj->pieces[0];
	uint32_t n = p->at.node->kind == NODE_SCATTER ? 1 : p->at.node->nargs;
	Op op = p->at.node->op;
	for (uint32_t arg = 0; arg < n; arg++)
		if (piece->args[arg].present) {
			p->operands[p->noperands] = window(p, adjoint_operand(&p->at, arg));
			p->args[p->noperands++] = arg;
		}
	p->combined[0] = p->operands[0];
	for (uint32_t i = 1; i < p->noperands && op_arity(op) == 2; i++)
		p->combined[i] = apply(p, op, (Read[]){p->combined[i - 1], p->operands[i]}, 2);
	if (p->noperands == 3 && op_arity(op) == 3)
		p->combined[2] = apply(p, op, p->operands, 3);
}

static Points *points_of(const Adjoint *a)
{
	Points *points = ARENA_ARRAY(a->g->program->scratch, Points, a->proj->npieces + 1);
	for (uint32_t i = 0; i < a->proj->npieces; i++) {
		Points *p = &points[i];
		p->at = *a;
		p->at.proj = adjoint_piece(a, i);
		p->whole = adjoint_whole_space(&p->at);
		p->gate = p->factor = nothing;
		find_operands(p);
	}
	return points;
}

void adjoint_of_fold(const Adjoint *a)
{
	Points *points = points_of(a);
	Op reduce = a->node->reduce;
	if (reduce == OP_MAX || reduce == OP_MIN || reduce == OP_ID)
		find_extremes(a, points, a->proj->npieces);
	else if (reduce == OP_MUL)
		find_others(a, points, a->proj->npieces);
	for (uint32_t i = 0; i < a->proj->npieces; i++)
		for (uint32_t arg = 0; arg < points[i].noperands; arg++)
			if (adjoint_counts(a, points[i].args[arg]))
				give_operand(&points[i], arg);
}
