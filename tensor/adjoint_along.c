/* What comes through operations along an axis: sums and products up to each place, and elements that are found at places.
 *
 *   sorted     at the places that they come from
 *   extremes   where the elements up to there are least or greatest: record = an element beyond all before it,
 *              place of a result = the last record up to it
 *   products   zeros = how many are 0 up to a place, rest = the product of those that are not. What a result has of an element
 *              is rest / element where zeros is 0, rest where it is the only 0, 0 elsewhere
 */
#include "tensor/adjoint_loops.h"
#include "tensor/adjoint_rules.h"

/* ---- at places ---- */

NodeId adjoint_gathered(const Adjoint *a, const Space *space, const Read *args, uint32_t nargs,
			IndexMode mode)
{
	Node gather = adjoint_plain(a, NODE_GATHER, OP_NONE, adjoint_dtype(a, args[0].node));
	gather.mode = mode;
	return adjoint_node(a, &gather, &space->shape, space->own, args, nargs);
}

void adjoint_scattered(const Adjoint *a, const Access *to, const Read *places, uint32_t nplaces,
		       IndexMode mode)
{
	NodeId args[OPERANDS_MOST];
	const Access *accesses[OPERANDS_MOST];
	Access unchecked = access_without_checks(a->g->program->arena, to);
	Read given = adjoint_given(a, 0);
	Node scatter = adjoint_plain(a, NODE_SCATTER, OP_NONE, adjoint_dtype(a, given.node));
	args[0] = given.node;
	accesses[0] = given.access;
	for (uint32_t i = 0; i < nplaces; i++) {
		args[i + 1] = places[i].node;
		accesses[i + 1] = places[i].access;
	}
	bool checked = mode == INDEX_CHECKED && a->steps->loop; /* by steps of the loop forward */
	scatter.reduce = OP_ADD;
	scatter.mode = checked ? INDEX_CLAMPED : mode;
	PieceAccesses piece = {checked ? &unchecked : to, accesses};
	adjoint_give_part(a, 0, &(Part){scatter, &piece, 1, args, nplaces + 1});
}

/* The access of operand 0 with an index in the place of that along the line. */
static Access along_line(const Adjoint *a, IterId line, Index index)
{
	Arena *arena = a->g->program->arena;
	const Access *from = &a->proj->pieces[0].args[0];
	Access access = {true, ARENA_ARRAY(arena, Index, from->naxes + 1), from->naxes};
	for (uint32_t i = 0; i < from->naxes; i++) {
		bool is_line = from->axes[i].nterms == 1 && from->axes[i].terms[0].iter == line;
		access.axes[i] = is_line ? index : from->axes[i];
	}
	return access;
}

/* Results are elements of the operand at these places of the line. */
static void give_at(const Adjoint *a, IterId line, Read places, IndexMode mode)
{
	Index index = {.offset = size_const(a->g->program->sizes, 0),
		       .gather = 1,
		       .guarded = mode == INDEX_SKIPPED,
		       .mode = mode};
	Access at = along_line(a, line, index);
	Space result = adjoint_result_space(a);
	Read given = adjoint_given(a, 0);
	if (a->forward)
		adjoint_add(
			a, 0,
			adjoint_gathered(a, &result, (Read[]){{given.node, &at}, places}, 2, mode));
	else
		adjoint_scattered(a, &at, &places, 1, mode);
}

/* Along the reader's axis, as the reader goes. */
static Node along_node(const Adjoint *a, Op reduce, Dtype dtype)
{
	Node node = adjoint_plain(a, a->node->kind, a->node->op, dtype);
	node.reduce = reduce;
	node.along = a->node->along;
	return node;
}

void adjoint_of_sorted(const Adjoint *a)
{
	IterId line = proj_along(a->proj).from;
	Node places = along_node(a, a->node->reduce, DTYPE_I32);
	Read x = adjoint_operand(a, 0);
	if (line == UINT32_MAX) {
		adjoint_give(a, 0, adjoint_given(a, 0));
		return;
	}
	places.along.ids = true;
	Space result = adjoint_result_space(a);
	give_at(a, line,
		(Read){adjoint_node(a, &places, &result.shape, result.own, &x, 1), result.own},
		INDEX_CLAMPED);
}

/* ---- up to each place ---- */

/* A line: its iterator in the operand, and that of places up to which it goes; tensors of the result's shape are read at
 * either. */
typedef struct Line {
	const Adjoint *a;
	AlongIters iters;
	Space result;	/* at places */
	Access operand; /* the operand's element there */
	Access elements; /* of a tensor of the result's shape, the element that belongs to an element of the operand */
} Line;

static Access exchanged(const Adjoint *a, const Access *old, IterId from, IterId to)
{
	Arena *arena = a->g->program->arena;
	Access access = {true, ARENA_ARRAY(arena, Index, old->naxes + 1), old->naxes};
	for (uint32_t i = 0; i < old->naxes; i++) {
		Index *index = &access.axes[i];
		*index = old->axes[i];
		index->terms = ARENA_ARRAY(arena, IndexTerm, index->nterms + 1);
		for (uint32_t t = 0; t < index->nterms; t++) {
			index->terms[t] = old->axes[i].terms[t];
			if (index->terms[t].iter == from)
				index->terms[t].iter = to;
		}
	}
	return access;
}

static Line line_of(const Adjoint *a)
{
	Line line = {a, proj_along(a->proj), adjoint_result_space(a), {0}, {0}};
	const Piece *piece = &a->proj->pieces[0];
	line.operand = exchanged(a, &piece->args[0], line.iters.from, line.iters.to);
	line.elements = exchanged(a, &piece->result, line.iters.to, line.iters.from);
	return line;
}

static Read apply(const Line *line, Op op, const Read *args, uint32_t nargs)
{
	return adjoint_apply(line->a, &line->result, op, args, nargs);
}

/* Up to each place, of what elements of the operand are, in the result's shape. */
static Read up_to(const Line *line, Op reduce, Along along, Read read)
{
	Node node = along_node(line->a, reduce, adjoint_dtype(line->a, read.node));
	node.along = along;
	read.access = &line->elements;
	return (Read){adjoint_node(line->a, &node, &line->result.shape, line->result.own, &read, 1),
		      line->result.own};
}

static void give_extremes(const Line *line)
{
	const Adjoint *a = line->a;
	Along along = a->node->along, before = along;
	bool max = a->node->reduce == OP_MAX;
	before.exclusive = true;
	Read x = {adjoint_operand(a, 0).node, &line->operand};
	Read record = apply(line, OP_ID, &x, 1);
	record = up_to(line, a->node->reduce, before, record);
	record = apply(line, max ? OP_GT : OP_LT, (Read[]){x, record}, 2);
	Read none = adjoint_number(a, along.reverse ? INT32_MAX : INT32_MIN, DTYPE_I32);
	Read at = apply(line, OP_WHERE,
			(Read[]){record, adjoint_offsets(a, &line->iters.to, 1), none}, 3);
	at = up_to(line, along.reverse ? OP_MIN : OP_MAX, along, at);
	/* without a record the first is it; of what stands before the first, nothing */
	give_at(a, line->iters.from, at, along.exclusive ? INDEX_SKIPPED : INDEX_CLAMPED);
}

/* Each element has from each result up to it, or each result from each element, what `read` is there. */
static Read carried(const Line *line, Read read)
{
	Along along = line->a->node->along;
	along.reverse ^= !line->a->forward;
	return up_to(line, OP_ADD, along, read);
}

static void give_products(const Line *line)
{
	const Adjoint *a = line->a;
	Along along = a->node->along;
	Dtype dtype = dtype_wide(a->node->dtype);
	Read one = adjoint_number(a, 1, dtype), zero = adjoint_number(a, 0, dtype);
	Read x = {adjoint_operand(a, 0).node, &line->operand};
	Read is_zero = apply(line, OP_EQ, (Read[]){x, zero}, 2);
	Read factor = apply(line, OP_WHERE, (Read[]){is_zero, one, x}, 3);
	Read count = apply(line, OP_WHERE, (Read[]){is_zero, one, zero}, 3);
	Read zeros = up_to(line, OP_ADD, along, count), rest = up_to(line, OP_MUL, along, factor);
	Read none = apply(line, OP_EQ, (Read[]){zeros, zero}, 2);
	Read only = apply(line, OP_EQ, (Read[]){zeros, one}, 2);
	Read all = apply(line, OP_WHERE, (Read[]){none, rest, zero}, 3);
	Read others = apply(line, OP_WHERE, (Read[]){only, rest, zero}, 3),
	     given = adjoint_given(a, 0);
	if (a->forward) {
		given.access = &line->operand;
		Read to_zero = apply(line, OP_WHERE, (Read[]){is_zero, given, zero}, 3);
		Read rate = apply(line, OP_DIV, (Read[]){given, factor}, 2);
		Read to_others = apply(line, OP_WHERE, (Read[]){is_zero, zero, rate}, 3);
		to_zero = apply(line, OP_MUL, (Read[]){others, carried(line, to_zero)}, 2);
		to_others = apply(line, OP_MUL, (Read[]){all, carried(line, to_others)}, 2);
		adjoint_add(a, 0, apply(line, OP_ADD, (Read[]){to_zero, to_others}, 2).node);
		return;
	}
	Read to_zero = carried(line, apply(line, OP_MUL, (Read[]){given, others}, 2));
	Read to_others = carried(line, apply(line, OP_MUL, (Read[]){given, all}, 2));
	to_others = apply(line, OP_DIV, (Read[]){to_others, factor}, 2);
	Read sum = apply(line, OP_WHERE, (Read[]){is_zero, to_zero, to_others}, 3);
	Node moved = adjoint_plain(a, NODE_SPEC, OP_ID, dtype);
	moved.reduce = OP_ADD;
	sum.access = &line->elements;
	adjoint_add(a, 0,
		    adjoint_node(a, &moved, tensor_shape(a->g->program, a->node->args[0]),
				 &a->proj->pieces[0].args[0], &sum, 1));
}

/* The sums up to each place: those from each place on. */
static void give_sums(const Adjoint *a)
{
	Node back = along_node(a, OP_ADD, adjoint_dtype(a, a->of[a->id]));
	Read given = adjoint_given(a, 0);
	back.along.reverse = !back.along.reverse;
	adjoint_add(a, 0,
		    adjoint_node(a, &back, tensor_shape(a->g->program, a->node->args[0]),
				 &a->proj->pieces[0].args[0], &given, 1));
}

void adjoint_of_cumulated(const Adjoint *a)
{
	if (a->node->reduce == OP_ADD) {
		give_sums(a);
		return;
	}
	Line line = line_of(a);
	if (line.iters.from == UINT32_MAX) /* one element */
		adjoint_give(a, 0,
			     a->node->along.exclusive
				     ? adjoint_number(a, 0, dtype_wide(a->node->dtype))
				     : adjoint_given(a, 0));
	else if (a->node->reduce == OP_MUL)
		give_products(&line);
	else
		give_extremes(&line);
}
