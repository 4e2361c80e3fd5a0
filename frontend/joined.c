/* Specifications with joined axes to specifications without, and nodes between them.
 *
 * The axes of (h d) are neighbours in storage order, h the outer one, and their product is the
 * axis; so joining and taking apart moves nothing. An operand with joined axes becomes a
 * NODE_JOINED that has them one by one, which the specification then reads, and its result is
 * joined by another one. The specification of a NODE_JOINED has one operand, and joins on one side
 * of the arrow: its other axes are letters that stand on both sides.
 *
 * A stride that is a size, g*s + 1, is such an axis too: (s r) with r = g, of which the place 1 of r is
 * read or written. So g divides the axis, and that is the guard of any joined axis.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/joined.h"
#include "frontend/nodes.h"
#include "frontend/specs.h"

static bool row_joins(const SpecRow *row)
{
	for (uint32_t i = 0; i < row->naxes; i++)
		if (row->axes[i].kind == SPEC_JOIN)
			return true;
	return false;
}

static bool tensor_joins(const SpecTensor *tensor)
{
	bool joins = false;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		joins = joins || row_joins(&tensor->rows[kind]);
	return joins;
}

bool spec_result_joins(const Spec *spec) { return tensor_joins(&spec->result); }

bool spec_joins(const Spec *spec)
{
	bool joins = tensor_joins(&spec->result);
	for (uint32_t i = 0; i < spec->noperands; i++)
		joins = joins || tensor_joins(&spec->operands[i]);
	return joins;
}

static SpecAxis axis_apart(const SpecPart *part)
{
	if (!part->letter)
		return (SpecAxis){
			.kind = SPEC_INDEX, .span = part->span, .index = part->size, .among = true};
	return spec_letter(part->letter, part->span);
}

/* The row with an axis for each letter of a joined one. */
static SpecRow row_apart(Build *b, const SpecRow *row)
{
	SpecRow out = *row;
	uint32_t n = 0;
	for (uint32_t i = 0; i < row->naxes; i++)
		n += row->axes[i].kind == SPEC_JOIN ? row->axes[i].nparts : 1;
	out.axes = ARENA_ARRAY(b->arena, SpecAxis, n);
	out.naxes = 0;
	for (uint32_t i = 0; i < row->naxes; i++) {
		const SpecAxis *axis = &row->axes[i];
		if (row->var_at == (int32_t)i)
			out.var_at = (int32_t)out.naxes;
		for (uint32_t p = 0; axis->kind == SPEC_JOIN && p < axis->nparts; p++)
			out.axes[out.naxes++] = axis_apart(&axis->parts[p]);
		if (axis->kind != SPEC_JOIN)
			out.axes[out.naxes++] = *axis;
	}
	if (row->var_at == (int32_t)row->naxes)
		out.var_at = (int32_t)out.naxes;
	return out;
}

static SpecTensor tensor_apart(Build *b, const SpecTensor *tensor)
{
	SpecTensor out = *tensor;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		out.rows[kind] = row_apart(b, &tensor->rows[kind]);
	return out;
}

const Spec *spec_apart(Build *b, const Spec *spec)
{
	if (!spec_joins(spec))
		return spec;
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *spec;
	out->operands = ARENA_ARRAY(b->arena, SpecTensor, spec->noperands);
	for (uint32_t i = 0; i < spec->noperands; i++)
		out->operands[i] = tensor_apart(b, &spec->operands[i]);
	out->result = tensor_apart(b, &spec->result);
	return out;
}

/* ---- nodes ---- */

/* The joined axis with letters for strides that are sizes. */
static SpecAxis name_strides(Build *b, const SpecAxis *axis, uint32_t *n)
{
	SpecAxis out = *axis;
	out.parts = ARENA_ARRAY(b->arena, SpecPart, axis->nparts);
	for (uint32_t i = 0; i < axis->nparts; i++) {
		out.parts[i] = axis->parts[i];
		if (!out.parts[i].letter)
			out.parts[i].letter = sym_printf(b->symbols, "_%" PRIu32, ++*n);
	}
	return out;
}

/* The tensor with a letter of its own for each axis that joins nothing and is no letter. */
static SpecTensor only_letters(Build *b, const SpecTensor *tensor)
{
	SpecTensor out = *tensor;
	uint32_t n = 0;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &out.rows[kind];
		row->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			bool plain = axis->kind == SPEC_LETTER || axis->kind == SPEC_JOIN;
			row->axes[i] = axis->kind == SPEC_JOIN ? name_strides(b, axis, &n) : *axis;
			row->axes[i].bracketed = false;
			if (!plain)
				row->axes[i] = (SpecAxis){
					.kind = SPEC_LETTER,
					.span = axis->span,
					.letter = sym_printf(b->symbols, "_%" PRIu32, ++n),
					.stride = 1,
					.dilation = 1};
		}
	}
	return out;
}

static void bind_strides(Build *b, const SpecTensor *tensor, NodeId id)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			for (uint32_t p = 0; axis->kind == SPEC_JOIN && p < axis->nparts; p++) {
				const SpecPart *part = &axis->parts[p];
				Bind bind = {id, part->letter, part->span, part->extent,
					     CAPTURE_NONE};
				if (part->extent)
					PUSH(b->arena, b->graph->binds, bind);
			}
		}
}

static NodeId joined_node(Build *b, const Spec *spec, NodeId arg, Span span)
{
	NodeId id = node_new(b, NODE_JOINED, span, spec->span);
	node_set_args(b, id, &arg, &span, 1);
	graph_node(b->graph, id)->spec = spec;
	graph_node(b->graph, id)->dtype = node_dtype(b, arg);
	bind_strides(b, &spec->operands[0], id);
	bind_strides(b, &spec->result, id);
	return id;
}

static Spec *joined_spec(Build *b, Span span)
{
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 1};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 1);
	return spec;
}

void joined_take_apart(Build *b, const Spec *spec, NodeId *args, const Span *spans, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (!tensor_joins(&spec->operands[i]))
			continue;
		Spec *apart = joined_spec(b, spec->operands[i].span);
		apart->operands[0] = only_letters(b, &spec->operands[i]);
		apart->result = tensor_apart(b, &apart->operands[0]);
		args[i] = joined_node(b, apart, args[i], spans[i]);
	}
}

NodeId joined_result(Build *b, const Spec *spec, NodeId id)
{
	if (id == NODE_NONE || !tensor_joins(&spec->result))
		return id;
	Spec *join = joined_spec(b, spec->result.span);
	join->result = only_letters(b, &spec->result);
	join->operands[0] = tensor_apart(b, &join->result);
	return joined_node(b, join, id, graph_node(b->graph, id)->span);
}
