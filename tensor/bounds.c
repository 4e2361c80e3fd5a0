/* Bounds of indices: those that lie inside their axis whatever the data is are not checked.
 *
 *   best[n] = argmax of scores[n, v] along v     y[n, k] = table[best[n], k]     table : [v, k]
 *
 * Places that argmax, sort and topk find, range and constants are at least 0 and below a size, and so is what copies
 * them, picks some of them or casts them to a type that is as wide. Where the axis is no shorter than that, a check
 * would never fail; all that the index depends on would have to be computed before anything is stored.
 */
#include "base/size_order.h"
#include "sums/sums.h"
#include "tensor/accesses.h"
#include "tensor/passes.h"

typedef struct Bounds {
	const TensorProgram *program;
	/* by NodeId: its elements are at least 0 and below this, which is 0 only where it has none; SIZE_BAD: not known */
	Size *end;
} Bounds;

/* ---- what is known of a tensor ---- */

static Size extent_along(const Bounds *b, NodeId id)
{
	const Proj *proj = tensor_proj(b->program, id);
	IterId from = proj_along(proj).from;
	return from == UINT32_MAX ? size_const(b->program->sizes, 1) : proj->iters[from].extent;
}

/* Of an empty line the greatest has a place, too. */
static Size end_of_argmax(const Bounds *b, NodeId id)
{
	const Proj *proj = tensor_proj(b->program, id);
	Sizes *sizes = b->program->sizes;
	Size extent = size_const(sizes, 1);
	for (uint32_t i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced)
			extent = proj->iters[i].extent;
	return size_ge(sizes, extent, size_const(sizes, 1)) ? extent : SIZE_BAD;
}

static int64_t integer_at(const Node *node, int64_t i)
{
	const void *bytes = node->data->bytes;
	switch (node->dtype) {
	case DTYPE_I64: return ((const int64_t *)bytes)[i];
	case DTYPE_I32: return ((const int32_t *)bytes)[i];
	case DTYPE_U32: return ((const uint32_t *)bytes)[i];
	case DTYPE_I8: return ((const int8_t *)bytes)[i];
	case DTYPE_U8: return ((const uint8_t *)bytes)[i];
	default: return -1;
	}
}

static Size end_of_constant(const Bounds *b, const Node *node)
{
	int64_t most = 0;
	for (int64_t i = 0; i < node->data->count; i++) {
		int64_t at = integer_at(node, i);
		if (at < 0 || at == INT64_MAX)
			return SIZE_BAD;
		most = at > most ? at : most;
	}
	return size_const(b->program->sizes, most + 1);
}

static Size end_of_number(const Bounds *b, const Node *node)
{
	bool is = dtype_is_integer(node->dtype) && node->number >= 0 && node->number < INT32_MAX;
	return is ? size_const(b->program->sizes, (int64_t)node->number + 1) : SIZE_BAD;
}

/* Integers of a type that holds those of the operand's. */
static Size end_of_cast(const Bounds *b, const Node *node)
{
	Dtype from = tensor_node(b->program, node->args[0])->dtype;
	bool holds = dtype_is_integer(from) && dtype_is_integer(node->dtype) &&
		     (dtype_bytes(node->dtype) > dtype_bytes(from) ||
		      (dtype_bytes(node->dtype) == dtype_bytes(from) && !dtype_is_unsigned(from)));
	return holds ? b->end[node->args[0]] : SIZE_BAD;
}

/* Of operands that all have the same. */
static Size end_of_all(const Bounds *b, const Node *node)
{
	Size end = b->end[node->args[0]];
	for (uint32_t i = 1; i < node->nargs && !size_is_bad(end); i++)
		if (size_is_bad(b->end[node->args[i]]) || !size_same(b->end[node->args[i]], end))
			end = SIZE_BAD;
	return end;
}

static bool copies_elements(const Bounds *b, NodeId id)
{
	const Node *node = tensor_node(b->program, id);
	const Proj *proj = tensor_proj(b->program, id);
	return node->nargs == 1 && node->op == OP_ID && proj->npieces == 1 && proj->surjective &&
	       !proj_is_guarded(proj) && !proj_reduces(proj);
}

static Size end_of(const Bounds *b, NodeId id)
{
	const Node *node = tensor_node(b->program, id);
	bool computes = node->nargs > 0;
	if (node->target != NODE_NONE || (computes && !tensor_proj(b->program, id)))
		return SIZE_BAD;
	switch (node->kind) {
	case NODE_CONST: return end_of_constant(b, node);
	case NODE_NUMBER: return end_of_number(b, node);
	case NODE_RANGE: return shape_elements(b->program->sizes, tensor_shape(b->program, id));
	case NODE_ARGMAX: return end_of_argmax(b, id);
	case NODE_SORT: return node->along.ids ? extent_along(b, id) : b->end[node->args[0]];
	case NODE_CAST: return end_of_cast(b, node);
	case NODE_SPEC: return copies_elements(b, id) ? b->end[node->args[0]] : SIZE_BAD;
	case NODE_GATHER: return node->mode == INDEX_SKIPPED ? SIZE_BAD : b->end[node->args[0]];
	case NODE_TRANSPOSE:
	case NODE_RESHAPE:
	case NODE_JOINED:
	case NODE_SLICE: return b->end[node->args[0]];
	case NODE_STACK: return end_of_all(b, node);
	default: return SIZE_BAD;
	}
}

/* ---- indices ---- */

static bool find_axis(const Access *access, const Shape *shape, uint32_t arg, Size *size)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (access->axes[i].gather == (int32_t)arg) {
			*size = shape_axis(shape, i)->size;
			return true;
		}
	return false;
}

static bool is_inside(const Bounds *b, NodeId id, uint32_t arg)
{
	const Node *node = tensor_node(b->program, id);
	const Proj *proj = tensor_proj(b->program, id);
	Size axis, end = b->end[node->args[arg]];
	return !size_is_bad(end) && proj->npieces == 1 &&
	       (find_axis(&proj->pieces[0].args[0], tensor_shape(b->program, node->args[0]), arg,
			  &axis) ||
		find_axis(&proj->pieces[0].result, tensor_shape(b->program, id), arg, &axis)) &&
	       size_ge(b->program->sizes, axis, end);
}

static bool are_inside(const Bounds *b, NodeId id)
{
	const Node *node = tensor_node(b->program, id);
	bool inside = (node->kind == NODE_GATHER || node->kind == NODE_SCATTER) &&
		      node->mode == INDEX_CHECKED && tensor_proj(b->program, id);
	for (uint32_t arg = 1; arg < node->nargs && inside; arg++)
		inside = is_inside(b, id, arg);
	return inside;
}

/* ---- the program ---- */

bool unchecked_indices(TensorProgram *program)
{
	size_t n = program->graph->nodes.n;
	Bounds b = {program, ARENA_ARRAY(program->scratch, Size, n + 1)};
	Graph *graph = NULL;
	Inference *inference = NULL;
	for (NodeId id = 0; id < n; id++) {
		b.end[id] = end_of(&b, id);
		if (!are_inside(&b, id))
			continue;
		if (!graph)
			tensor_own_tables(program, &graph, &inference);
		graph->nodes.at[id].mode = INDEX_CLAMPED;
		inference->projs[id] = proj_without_checks(program->arena, inference->projs[id]);
		PUSH(program->arena, program->made, id);
	}
	return graph != NULL;
}
