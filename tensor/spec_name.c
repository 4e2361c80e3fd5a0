/* Names of axes in a specification: see spec_name.h. */
#include "tensor/spec_name.h"

SpecName spec_name(const SpecRow *row, uint32_t n, uint32_t i)
{
	uint32_t lead = row->var_at < 0 ? row->naxes : (uint32_t)row->var_at;
	uint32_t middle = n - row->naxes;
	if (i >= lead && i < lead + middle)
		return (SpecName){row->var, i - lead};
	const SpecAxis *axis = &row->axes[i < lead ? i : i - middle];
	return (SpecName){axis->kind == SPEC_LETTER ? axis->letter : NULL, -1};
}

bool spec_has_name(const SpecTensor *tensor, const Shape *shape, SpecName name)
{
	for (int kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < shape->rows[kind].n; i++) {
			SpecName own = spec_name(&tensor->rows[kind], shape->rows[kind].n, i);
			if (own.name == name.name && own.at == name.at)
				return true;
		}
	return false;
}
