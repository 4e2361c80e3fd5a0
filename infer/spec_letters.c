/* Where letters stand in specifications. */
#include "infer/cons.h"
#include "infer/solver.h"

static bool axis_has(const SpecAxis *axis, Sym letter)
{
	for (uint32_t i = 0; i < axis->nparts; i++) {
		if (axis->parts[i].letter == letter)
			return true;
	}
	return axis->letter == letter || axis->kernel == letter;
}

const SpecAxis *spec_axis_of(const SpecTensor *tensor, Sym letter)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++) {
			if (axis_has(&tensor->rows[k].axes[i], letter))
				return &tensor->rows[k].axes[i];
		}
	}
	return NULL;
}

bool spec_tensor_has(const SpecTensor *tensor, Sym letter)
{
	return spec_axis_of(tensor, letter) != NULL;
}
