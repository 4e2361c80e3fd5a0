/* Specifications that no program writes: axes, tensors, and the nodes of them. */
#include "frontend/spec_make.h"

#include "frontend/nodes.h"

SpecAxis spec_letter(Sym letter, Span span)
{
	return (SpecAxis){
		.kind = SPEC_LETTER, .span = span, .letter = letter, .stride = 1, .dilation = 1};
}

SpecTensor spec_outputs(Build *b, const SpecAxis *axes, uint32_t n, Span span)
{
	SpecTensor out = {.span = span};
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		out.rows[kind] = (SpecRow){.var_at = -1, .span = span};
	SpecRow *row = &out.rows[ROW_OUTPUT];
	row->written = true;
	row->axes = ARENA_ARRAY(b->arena, SpecAxis, n);
	for (uint32_t i = 0; i < n; i++)
		row->axes[row->naxes++] = axes[i];
	return out;
}

NodeId spec_node(Build *b, const Spec *spec, Op op, const NodeId *args, uint32_t n)
{
	NodeId id = node_new(b, NODE_SPEC, spec->span, spec->span);
	Span *spans = ARENA_ARRAY(b->arena, Span, n);
	for (uint32_t i = 0; i < n; i++)
		spans[i] = spec->span;
	node_set_args(b, id, args, spans, n);
	Node *node = graph_node(b->graph, id);
	node->op = op;
	node->reduce = OP_ADD;
	node->spec = spec;
	node->dtype = node_dtype(b, args[0]);
	return id;
}
