/* Nests of numbers that are known, as constants with a shape. */
#include "frontend/literal.h"
#include "frontend/nodes.h"

const ShapeDecl *literal_shape(Build *b, const Nest *nest, Span span)
{
	ShapeDecl *decl = ARENA_NEW(b->arena, ShapeDecl);
	decl->span = span;
	for (RowKind row = 0; row < ROW_KINDS; row++) {
		DeclRow *to = &decl->rows[row];
		to->var_at = -1;
		to->axes = ARENA_ARRAY(b->arena, DeclAxis, nest->n);
		for (uint32_t level = 0; level < nest->n; level++) {
			if (nest->rows[level] == row)
				to->axes[to->naxes++] =
					(DeclAxis){nest->spans[level], nest->labels[level],
						   size_expr_number(b, nest->extents[level],
								    nest->spans[level])};
		}
	}
	return decl;
}

NodeId literal_node(Build *b, Span span, const ShapeDecl *shape, ConstData data)
{
	NodeId id = node_new(b, NODE_CONST, span, span);
	ConstData *copy = ARENA_NEW(b->arena, ConstData);
	*copy = data;
	graph_node(b->graph, id)->shape = shape;
	graph_node(b->graph, id)->data = copy;
	return id;
}

NodeId literal_from_tuple(Build *b, const Value *tuple)
{
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, tuple->nitems);
	Span *spans = ARENA_ARRAY(b->arena, Span, tuple->nitems);
	long double *numbers = ARENA_ARRAY(b->arena, long double, tuple->nitems);
	Nest nest = {
		.n = 1, .rows = {ROW_INPUT}, .extents = {tuple->nitems}, .spans = {tuple->span}};
	bool integers = true, sizes = false, known = true;
	for (uint32_t i = 0; i < tuple->nitems && known; i++) {
		known = value_get_exact(&tuple->items[i], &numbers[i]);
		integers = integers && value_is_whole(&tuple->items[i]);
		sizes = sizes || tuple->items[i].kind == VALUE_SIZE;
	}
	if (known) {
		NodeId id = literal_node(b, tuple->span, literal_shape(b, &nest, tuple->span),
				       (ConstData){numbers, tuple->nitems, NULL});
		graph_node(b->graph, id)->is_integer = integers;
		graph_node(b->graph, id)->has_sizes = sizes;
		return id;
	}
	if (!limits_hold(b, tuple->span)) /* one tuple may stand in many places of others */
		return NODE_NONE;
	b->depth++;
	bool all = true;
	for (uint32_t i = 0; i < tuple->nitems && all; i++) {
		args[i] = value_to_node(b, tuple->items[i]);
		spans[i] = tuple->items[i].span;
		all = args[i] != NODE_NONE;
	}
	b->depth--;
	return !all ? NODE_NONE : node_stack(b, ROW_INPUT, args, spans, tuple->nitems, tuple->span);
}
