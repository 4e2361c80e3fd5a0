/* The bytes of results of i4 and u4: windows of two elements over all of them, of which the last one may
 * end behind them.
 *
 *   u8(einsum("2*i =+?[0, 1] half; half => i", i32(reshape(x)) % 16, 1 + 15*range(2)))
 */
#include "frontend/packed_result.h"

#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/specs.h"

/* "2*i =+?[0, 1] half; half => i" */
static const Spec *pairs_spec(Build *b, Span span)
{
	SpecAxis i = spec_letter(sym_cstr(b->symbols, "i"), span),
		 half = spec_letter(sym_cstr(b->symbols, "half"), span);
	SpecAxis pairs = {.kind = SPEC_AFFINE,
			  .span = span,
			  .letter = i.letter,
			  .kernel = half.letter,
			  .stride = 2,
			  .dilation = 1,
			  .mark = MARK_VALID_FLOOR,
			  .padded = true,
			  .after = 1};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 2, .result = spec_outputs(b, &i, 1, span)};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 2);
	spec->operands[0] = spec_outputs(b, &pairs, 1, span);
	spec->operands[1] = spec_outputs(b, &half, 1, span);
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
