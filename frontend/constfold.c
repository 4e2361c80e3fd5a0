/* Constant expressions: pointwise arithmetic over literals, carried out now.
 *
 * The nodes below the expression are visited in the order of their ids, operands first; each gets
 * its elements as doubles. Operands have the same extents, or are one number. Anything else is
 * refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "frontend/build.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"

enum { FOLD_ELEMENTS_LIMIT = 1 << 24 };

typedef struct Folded {
	NodeId id;
	const ShapeDecl *shape; /* NULL: one number */
	const Scalar *elements;
	int64_t count;
} Folded;

typedef struct Fold {
	Arena *scratch;
	VEC(Folded) done; /* ascending ids */
	int64_t total;
} Fold;

static int compare_folded(const void *a, const void *b)
{
	NodeId x = ((const Folded *)a)->id, y = ((const Folded *)b)->id;
	return (x > y) - (x < y);
}

static bool refuse(Build *b, const Node *node)
{
	diag(b->diags, E0916, node->span,
	     "only arithmetic between literals of one shape is supported in a constant yet");
	return false;
}

static Folded *find(Fold *fold, NodeId id)
{
	Folded key = {.id = id};
	return bsearch(&key, fold->done.at, fold->done.n, sizeof key, compare_folded);
}

static Scalar *load(Arena *scratch, const Node *node)
{
	Scalar *out = ARENA_ARRAY(scratch, Scalar, (size_t)node->data->count);
	for (int64_t i = 0; i < node->data->count; i++)
		out[i] = scalar_read(node->dtype, node->data->bytes, i);
	return out;
}

static bool same_shape(const ShapeDecl *a, const ShapeDecl *c)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		if (a->rows[kind].naxes != c->rows[kind].naxes)
			return false;
		for (uint32_t i = 0; i < a->rows[kind].naxes; i++) {
			int64_t x, y;
			if (!size_expr_value(a->rows[kind].axes[i].size, &x) ||
			    !size_expr_value(c->rows[kind].axes[i].size, &y) || x != y)
				return false;
		}
	}
	return true;
}

static Scalar eval_at(Build *b, const Node *node, Folded *const *args, int64_t at)
{
	Scalar scalars[3];
	Dtype from = dtype_wide(node_dtype(b, node->args[0]));
	for (uint32_t k = 0; k < node->nargs; k++)
		scalars[k] = args[k]->elements[args[k]->shape ? at : 0];
	if (node->kind == NODE_CAST)
		return scalar_convert(scalars[0], from, node->dtype);
	return scalar_convert(op_eval(node->op, from, scalars), from, node->dtype);
}

static bool fold_operation(Build *b, Fold *fold, const Node *node, Folded *out)
{
	Folded *args[3];
	out->count = 1;
	for (uint32_t k = 0; k < node->nargs; k++) {
		args[k] = find(fold, node->args[k]);
		if (!args[k]->shape)
			continue;
		if (out->shape && !same_shape(out->shape, args[k]->shape))
			return refuse(b, node);
		out->shape = args[k]->shape;
		out->count = args[k]->count;
	}
	if ((fold->total += out->count) > FOLD_ELEMENTS_LIMIT) {
		diag(b->diags, E0236, node->span,
		     "this constant takes too much arithmetic to compile");
		return false;
	}
	Scalar *elements = ARENA_ARRAY(fold->scratch, Scalar, (size_t)out->count);
	for (int64_t i = 0; i < out->count; i++)
		elements[i] = eval_at(b, node, args, i);
	out->elements = elements;
	return true;
}

static bool fold_one(Build *b, Fold *fold, Folded *out)
{
	const Node *node = graph_node(b->graph, out->id);
	if (node->dtype == DTYPE_U4X32)
		return refuse(b, node);
	if (node->kind == NODE_POINTWISE || node->kind == NODE_CAST)
		return fold_operation(b, fold, node, out);
	if (node->kind == NODE_CONST) {
		out->shape = node->shape;
		out->count = node->data->count;
		out->elements = load(fold->scratch, node);
		return true;
	}
	if (node->kind != NODE_NUMBER)
		return refuse(b, node);
	Scalar *number = ARENA_NEW(fold->scratch, Scalar);
	if (dtype_is_integer(node->dtype))
		number->i = node->integer;
	else
		*number = scalar_convert((Scalar){.f = node->number}, DTYPE_F64, node->dtype);
	out->elements = number;
	out->count = 1;
	return true;
}

/* What the expression reaches, each once; refuses early what cannot be folded. */
static bool collect(Build *b, Fold *fold, NodeId root)
{
	char *seen = arena_alloc(fold->scratch, root + 1);
	PUSH(fold->scratch, fold->done, ((Folded){.id = root}));
	seen[root] = 1;
	for (size_t i = 0; i < fold->done.n; i++) {
		const Node *node = graph_node(b->graph, fold->done.at[i].id);
		if (node->kind != NODE_POINTWISE && node->kind != NODE_CAST &&
		    node->kind != NODE_CONST && node->kind != NODE_NUMBER)
			return refuse(b, node);
		for (uint32_t k = 0; k < node->nargs; k++) {
			if (!seen[node->args[k]])
				PUSH(fold->scratch, fold->done, ((Folded){.id = node->args[k]}));
			seen[node->args[k]] = 1;
		}
	}
	qsort(fold->done.at, fold->done.n, sizeof *fold->done.at, compare_folded);
	return true;
}

static const void *store(Build *b, const Folded *folded, Dtype dtype)
{
	size_t room;
	REQUIRE(dtype_room(dtype, (size_t)folded->count, &room));
	char *bytes = arena_alloc(b->arena, room);
	for (int64_t i = 0; i < folded->count; i++)
		scalar_write(dtype, bytes, i, folded->elements[i]);
	return bytes;
}

static NodeId fold_in(Build *b, Fold *fold, NodeId node)
{
	if (!collect(b, fold, node))
		return NODE_NONE;
	for (size_t i = 0; i < fold->done.n; i++) {
		if (!fold_one(b, fold, &fold->done.at[i]))
			return NODE_NONE;
	}
	const Folded *result = &fold->done.at[fold->done.n - 1];
	const Node *from = graph_node(b->graph, node);
	if (!result->shape) {
		refuse(b, from);
		return NODE_NONE;
	}
	ConstData data = {store(b, result, from->dtype), result->count, NULL};
	Dtype dtype = from->dtype;
	NodeId id = literal_node(b, from->span, result->shape, data);
	graph_node(b->graph, id)->dtype = dtype;
	return id;
}

NodeId const_fold(Build *b, NodeId node)
{
	if (graph_node(b->graph, node)->kind == NODE_CONST)
		return node;
	Fold fold = {.scratch = arena_new()};
	NodeId id = fold_in(b, &fold, node);
	arena_free(fold.scratch);
	return id;
}
