/* The formulas of an affine axis, and of one factor of a total. */
#ifndef TSR_INFER_AFFINE_H
#define TSR_INFER_AFFINE_H

#include "infer/infer.h"

/* The factor of a total beside the other; 1 where that is a multiple of the total, and can only be
 * the total itself: never 1/n. */
Size factor_of(Sizes *sizes, Size total, Size other);
/* How much more of the axis a window needs than its span: its offset, less the margins. */
static inline int64_t affine_lead(const SpecAxis *axis)
{
	return axis->offset - axis->before - axis->after;
}
/* The sizes of an axis `in`, of its steps `over` and of its kernel k, each from the other two; SIZE_BAD where the
 * mark leaves the answer open. k is SIZE_BAD without a kernel letter. */
Size affine_in(Sizes *sizes, const SpecAxis *axis, Size over, Size k);
Size affine_over(Sizes *sizes, const SpecAxis *axis, Size in, Size k);
Size affine_kernel(Sizes *sizes, const SpecAxis *axis, Size in, Size over);
/* What affine_over divides (SIZE_BAD: nothing), and the window that `in` must hold (SIZE_BAD:
 * none). */
Size affine_dividend(Sizes *sizes, const SpecAxis *axis, Size in, Size k);
Size affine_window(Sizes *sizes, const SpecAxis *axis, Size k);
#endif
