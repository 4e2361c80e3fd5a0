/* Shapes and dtypes that are written for what is computed: `let y : f32 [n | 10] = E`.
 *
 * The shape becomes an equation between sizes, for inference; the dtype is looked at here. What
 * waits for a neighbour's dtype takes the written one, and nothing else changes: there is no cast.
 */
#include <string.h>

#include "frontend/ascribe.h"
#include "frontend/nodes.h"

static void note_cast(Build *b, Span value, Dtype dtype)
{
	const char *text = source_text(b->diags->sources, b->arena, value);
	const char *cast = dtype_name(dtype);
	if (*text && !strchr(text, '\n'))
		diag_fix(b->diags, value, arena_printf(b->arena, "%s(%s)", cast, text),
			 "%s(...) converts it", cast);
	else
		diag_note(b->diags, value, "%s(...) converts it", cast);
}

/* False after an error. */
static bool check_dtype(Build *b, NodeId id, const Ascribed *to, Span value)
{
	if (to->dtype == DTYPE_NONE)
		return true;
	Dtype dtype = written_dtype(b, to->dtype, to->span);
	if (dtype != to->dtype)
		return false;
	node_settle(b, id, dtype);
	if (node_dtype(b, id) == dtype)
		return true;
	diag(b->diags, E0244, to->span, "'%s' is said to be %s here, and it is %s", to->name.sym,
	     dtype_name(dtype), dtype_name(node_dtype(b, id)));
	note_cast(b, value, dtype);
	return false;
}

/* What is computed of numbers, sizes and scalars alone has the axes that are written for it, as a number has: one of
 * these, or a function of one, is multiplied by such a number, 1. */
static NodeId spread(Build *b, NodeId id, const ShapeDecl *shape, Span span)
{
	const Node *node = graph_node(b->graph, id);
	Dtype dtype = node_dtype(b, id);
	bool has = node->kind == NODE_NUMBER || (node->kind == NODE_POINTWISE && node->nargs > 1);
	for (int k = 0; k < ROW_KINDS; k++)
		if (shape->rows[k].naxes > 0 && !has &&
		    (dtype == DTYPE_NONE || dtype_wide(dtype) == dtype)) {
			NodeId args[] = {value_to_node(b, value_integer(1, span)), id};
			return node_pointwise(b, OP_MUL, args, (Span[]){span, span}, 2, span, span);
		}
	return id;
}

Value ascribe(Build *b, Value value, const Ascribed *to, const ShapeDecl *shape)
{
	bool scales = value_scales(&value), left = value_scales_left(&value);
	NodeId id = value_to_node(b, value);
	if (id == NODE_NONE || !check_dtype(b, id, to, value.span))
		return value_error();
	if (shape && scales)
		id = spread(b, id, shape, value.span);
	if (shape)
		PUSH(b->arena, b->graph->ascriptions, ((Ascription){id, shape, to->name.sym}));
	Value tensor = value_node(id, value.span);
	tensor.scales = scales;
	tensor.scales_left = left;
	return tensor;
}
