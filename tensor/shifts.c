/* Tensors that are shifted, as reads at a distance.
 *
 *   r[i] = u[i + 1] for i in 0..n - 1, else 0     sum("1^i => i^1", u)
 * becomes
 *   r[i] = u[i + 1], where that is an element of u
 *
 * which operations on elements read where they stand, in loops that are cut where it leaves u, as they do small windows
 * (lower/fuse.c). Where anything else reads it, it stays the copy that it is.
 */
#include <string.h>

#include "sums/sums.h"
#include "tensor/accesses.h"
#include "tensor/passes.h"

typedef struct Shift {
	TensorProgram *program;
	NodeId id;
	const Proj *old;
	const Shape *to, *from;
	bool *moved; /* by iterator: its axis is shifted */
	bool any;
} Shift;

/* ---- which ---- */

/* One iterator, that many elements on, as they lie. */
static bool is_plain_index(const Index *index)
{
	return index->nterms == 1 && index->terms[0].coef == 1 && index->gather < 0 &&
	       !index->guarded;
}

static uint32_t axis_of(const Access *access, IterId iter)
{
	uint32_t axis = 0;
	while (axis < access->naxes && access->axes[axis].terms[0].iter != iter)
		axis++;
	return axis;
}

static bool are_plain(const Access *access)
{
	for (uint32_t a = 0; a < access->naxes; a++)
		if (!is_plain_index(&access->axes[a]) ||
		    axis_of(access, access->axes[a].terms[0].iter) != a)
			return false;
	return true;
}

/* Is the axis of the result as long as the operand's, and is an element that is not written just one that would be read
 * outside? */
static bool fits_axis(Shift *s, uint32_t axis)
{
	Sizes *sizes = s->program->sizes;
	const Index *to = &s->old->pieces[0].result.axes[axis];
	const Access *read = &s->old->pieces[0].args[0];
	IterId iter = to->terms[0].iter;
	uint32_t at = axis_of(read, iter);
	if (at == read->naxes)
		return false;
	const Index *from = &read->axes[at];
	Size n = shape_axis(s->to, axis)->size, extent = s->old->iters[iter].extent;
	Size end_to = size_add(sizes, to->offset, extent),
	     end_from = size_add(sizes, from->offset, extent);
	int64_t distance;
	s->moved[iter] = !size_same(extent, n);
	s->any |= s->moved[iter];
	return !s->moved[iter] ||
	       (size_same(n, shape_axis(s->from, at)->size) &&
		size_is_const(sizes, size_sub(sizes, from->offset, to->offset), &distance) &&
		(size_is(sizes, to->offset, 0) || size_is(sizes, from->offset, 0)) &&
		(size_same(end_to, n) || size_same(end_from, n)));
}

static bool is_shift(Shift *s)
{
	const Node *node = tensor_node(s->program, s->id);
	const Proj *proj = s->old;
	if (node->op != OP_ID || node->target != NODE_NONE ||
	    dtype_wide(node->dtype) != node->dtype || node->dtype == DTYPE_BOOL || proj->linear ||
	    proj->npieces != 1 || !proj->injective || proj->surjective ||
	    node_reduce_op(node) != OP_ADD || proj_reduces(proj))
		return false;
	const Access *to = &proj->pieces[0].result, *from = &proj->pieces[0].args[0];
	bool fits = are_plain(to) && are_plain(from) && to->naxes == proj->niters &&
		    from->naxes == to->naxes;
	for (uint32_t axis = 0; fits && axis < to->naxes; axis++)
		fits = fits_axis(s, axis);
	return fits && s->any;
}

/* By NodeId: who reads it? */
typedef struct Readers {
	bool *elements, *others; /* operations on elements; anything else, or the caller */
} Readers;

static Readers find_readers(const TensorProgram *program)
{
	const Graph *graph = program->graph;
	size_t n = graph->nodes.n;
	Readers readers = {ARENA_ARRAY(program->scratch, bool, n + 1),
			   ARENA_ARRAY(program->scratch, bool, n + 1)};
	for (NodeId id = 0; id < n; id++) {
		const Node *node = tensor_node(program, id);
		bool *kind = node->kind == NODE_POINTWISE ? readers.elements : readers.others;
		for (uint32_t i = 0; i < node->nargs && node->used; i++)
			kind[node->args[i]] = true;
	}
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].noutputs; i++)
			readers.others[graph->routines.at[r].outputs[i]] = true;
	return readers;
}

/* ---- how ---- */

static Proj *read_at_distance(const Shift *s)
{
	Arena *arena = s->program->arena;
	Sizes *sizes = s->program->sizes;
	const Piece *old = &s->old->pieces[0];
	uint32_t n = s->old->niters;
	Proj *proj = ARENA_NEW(arena, Proj);
	Piece *piece = ARENA_NEW(arena, Piece);
	*proj = *s->old;
	*piece = *old;
	proj->pieces = piece;
	proj->iters = ARENA_ARRAY(arena, Iter, n + 1);
	memcpy(proj->iters, s->old->iters, n * sizeof *proj->iters);
	piece->args = ARENA_NEW(arena, Access);
	piece->args[0] = old->args[0];
	piece->args[0].axes = ARENA_ARRAY(arena, Index, n + 1);
	piece->result.axes = ARENA_ARRAY(arena, Index, n + 1);
	for (uint32_t axis = 0; axis < n; axis++) {
		const Index *to = &old->result.axes[axis];
		IterId iter = to->terms[0].iter;
		uint32_t at = axis_of(&old->args[0], iter);
		Index *from = &piece->args[0].axes[at];
		piece->result.axes[axis] = index_of_iter(arena, sizes, iter);
		proj->iters[iter].extent = shape_axis(s->to, axis)->size;
		*from = old->args[0].axes[at];
		from->offset = size_sub(sizes, from->offset, to->offset);
		from->guarded = s->moved[iter];
	}
	proj->surjective = true;
	return proj;
}

bool read_shifts(TensorProgram *program)
{
	Graph *graph = NULL;
	Inference *inference = NULL;
	Readers readers = find_readers(program);
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		const Node *node = tensor_node(program, id);
		Shift s = {.program = program, .id = id, .old = tensor_proj(program, id)};
		if (node->kind != NODE_BLOCK || node->nargs != 1 || !s.old ||
		    !readers.elements[id] || readers.others[id])
			continue;
		s.to = tensor_shape(program, id);
		s.from = tensor_shape(program, node->args[0]);
		s.moved = ARENA_ARRAY(program->scratch, bool, s.old->niters + 1);
		if (!is_shift(&s))
			continue;
		if (!graph)
			tensor_own_tables(program, &graph, &inference);
		graph->nodes.at[id].kind = NODE_SPEC;
		graph->nodes.at[id].reduce = OP_NONE;
		graph->nodes.at[id].permutes = true;
		inference->projs[id] = read_at_distance(&s);
		PUSH(program->arena, program->made, id);
	}
	return graph != NULL;
}
