/* Margins that a tensor's buffer may have, and its elements with them. */
#include "lower/gen/lowering.h"

Size margins_extent(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis)
{
	Size size = shape_axis(lower_shape(lower, node), axis)->size;
	const Margin *margin = &margins->axes[axis];
	return size_add(lower->sizes, size_add(lower->sizes, margin->before, size), margin->after);
}

Size margins_stride(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis)
{
	Size stride = size_const(lower->sizes, 1);
	for (uint32_t i = shape_naxes(lower_shape(lower, node)); --i > axis;)
		stride = size_mul(lower->sizes, stride, margins_extent(lower, node, margins, i));
	return stride;
}

Size margins_elements(const Lower *lower, NodeId node, const Margins *margins)
{
	if (shape_naxes(lower_shape(lower, node)) == 0)
		return size_const(lower->sizes, 1);
	return size_mul(lower->sizes, margins_stride(lower, node, margins, 0),
			margins_extent(lower, node, margins, 0));
}

const Margins *margins_known(const Lower *lower, NodeId node)
{
	const Margins *margins = infer_margins(lower->inference, node, OP_ADD);
	for (uint32_t i = 0; margins && i < shape_naxes(lower_shape(lower, node)); i++)
		if (size_is_bad(margins->axes[i].before) || size_is_bad(margins->axes[i].after))
			return NULL;
	return margins;
}

bool margin_is_none(const Lower *lower, const Margin *margin)
{
	return size_is(lower->sizes, margin->before, 0) && size_is(lower->sizes, margin->after, 0);
}
