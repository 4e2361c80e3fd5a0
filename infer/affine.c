/* The formulas of affine axes (language: specifications; o is `over`):
 *
 *   valid          in = stride*(o - 1) + 1 + (k - 1)*dilation + offset
 *   padded         in = stride*o
 *   no kernel      in = stride*o, or stride*(o - 1) + offset + 1 where offset >= stride
 *
 * With the marks `<+?` and `=+?` in does not follow from o: the closing rules choose the least one.
 */
#include "infer/affine.h"

#include "base/size_order.h"

Size affine_window(Sizes *sizes, const SpecAxis *axis, Size k)
{
	if (axis->kernel && (axis->mark == MARK_VALID || axis->mark == MARK_VALID_FLOOR)) {
		Size span = size_scale(sizes, size_plus(sizes, k, -1), axis->dilation);
		return size_plus(sizes, size_plus(sizes, span, 1), affine_lead(axis));
	}
	if (!axis->kernel && axis->offset >= axis->stride)
		return size_plus(sizes, size_const(sizes, axis->offset), 1);
	return SIZE_BAD;
}

Size affine_in(Sizes *sizes, const SpecAxis *axis, Size over, Size k)
{
	Size window = affine_window(sizes, axis, k);
	if (size_is_bad(window))
		return size_scale(sizes, over, axis->stride);
	return size_add(sizes, size_scale(sizes, size_plus(sizes, over, -1), axis->stride), window);
}

Size affine_dividend(Sizes *sizes, const SpecAxis *axis, Size in, Size k)
{
	if (axis->mark == MARK_VALID_FLOOR || axis->mark == MARK_PADDED_CEIL)
		return SIZE_BAD;
	Size window = affine_window(sizes, axis, k);
	return size_is_bad(window) ? in : size_sub(sizes, in, window);
}

Size affine_over(Sizes *sizes, const SpecAxis *axis, Size in, Size k)
{
	Size window = affine_window(sizes, axis, k);
	if (axis->mark == MARK_PADDED_CEIL)
		return size_ceil(sizes, in, axis->stride);
	if (size_is_bad(window))
		return size_div(sizes, in, size_const(sizes, axis->stride));
	Size rest = size_sub(sizes, in, window);
	Size steps = axis->mark == MARK_VALID_FLOOR
			     ? size_floor(sizes, rest, axis->stride)
			     : size_div(sizes, rest, size_const(sizes, axis->stride));
	return size_plus(sizes, steps, 1);
}

Size affine_kernel(Sizes *sizes, const SpecAxis *axis, Size in, Size over)
{
	Size last = size_scale(sizes, size_plus(sizes, over, -1), axis->stride);
	Size span = size_plus(sizes, size_sub(sizes, in, last), -1 - affine_lead(axis));
	return size_plus(sizes, size_div(sizes, span, size_const(sizes, axis->dilation)), 1);
}

Size factor_of(Sizes *sizes, Size total, Size other)
{
	bool less = !size_is(sizes, total, 0) && size_divides(sizes, total, other) &&
		    !size_divides(sizes, other, total);
	return less ? size_const(sizes, 1) : size_div(sizes, total, other);
}
