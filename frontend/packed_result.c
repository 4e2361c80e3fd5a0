/* The bytes of results of i4 and u4: windows of two elements over all of them, the last one perhaps with one
 * behind it.
 *
 *   u8(einsum("2*i =+?[0, 1] half; half => i", i32(reshape(x)) % 16, 1 + 15*range(2)))
 */
#include "frontend/packed_result.h"

#include "frontend/eval.h"
#include "frontend/nodes.h"

static SpecTensor output_axis(Build *b, SpecAxis axis, Span span)
{
	SpecTensor out = {.span = span};
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		out.rows[kind] = (SpecRow){.var_at = -1, .span = span};
	out.rows[ROW_OUTPUT].axes = ARENA_NEW(b->arena, SpecAxis);
	out.rows[ROW_OUTPUT].axes[0] = axis;
	out.rows[ROW_OUTPUT].naxes = 1;
	out.rows[ROW_OUTPUT].written = true;
	return out;
}

/* "2*i =+?[0, 1] half; half => i" */
static const Spec *pairs_spec(Build *b, Span span)
{
	Sym i = sym_cstr(b->symbols, "i"), half = sym_cstr(b->symbols, "half");
	SpecAxis pairs = {.kind = SPEC_AFFINE,
			  .span = span,
			  .letter = i,
			  .kernel = half,
			  .stride = 2,
			  .dilation = 1,
			  .mark = MARK_VALID_FLOOR,
			  .padded = true,
			  .after = 1};
	SpecAxis letters[2] = {
		{.kind = SPEC_LETTER, .span = span, .letter = half, .stride = 1, .dilation = 1},
		{.kind = SPEC_LETTER, .span = span, .letter = i, .stride = 1, .dilation = 1}};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 2, .result = output_axis(b, letters[1], span)};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 2);
	spec->operands[0] = output_axis(b, pairs, span);
	spec->operands[1] = output_axis(b, letters[0], span);
	return spec;
}

static NodeId with_number(Build *b, Op op, NodeId id, int64_t number, Span span)
{
	NodeId args[2] = {id, value_to_node(b, value_integer(number, span))};
	Span spans[2] = {span, span};
	return node_pointwise(b, op, args, spans, 2, span, span);
}

NodeId packed_result(Build *b, NodeId id, Span span)
{
	Dtype dtype = node_dtype(b, id);
	if (dtype == DTYPE_NONE || !dtype_is_packed(dtype))
		return id;
	NodeId all = node_new(b, NODE_RESHAPE, span, span),
	       range = node_new(b, NODE_RANGE, span, span);
	node_set_args(b, all, &id, &span, 1);
	graph_node(b->graph, all)->dtype = dtype;
	graph_node(b->graph, range)->size_expr = size_expr_number(b, 2, span);
	graph_node(b->graph, range)->dtype = DTYPE_I32;
	NodeId args[2] = {with_number(b, OP_MOD, node_cast(b, all, DTYPE_I32, span), 16, span),
			  with_number(b, OP_ADD, with_number(b, OP_MUL, range, 15, span), 1, span)};
	Span spans[2] = {span, span};
	SpecParts parts = {.spec = pairs_spec(b, span),
			   .op = OP_MUL,
			   .reduce = OP_ADD,
			   .args = args,
			   .spans = spans,
			   .nargs = 2,
			   .span = span,
			   .op_span = span};
	NodeId bytes = node_cast(b, form_spec_node(b, &parts), DTYPE_U8, span);
	graph_node(b->graph, bytes)->packs = id;
	return bytes;
}
