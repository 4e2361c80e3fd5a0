/* Axes and tensors of specifications that no program writes. */
#include "frontend/spec_make.h"

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
