/* Windows whose coefficients are sizes: `g*s <+ k`, `s <+ g*k`, `g*s + place`. */
#ifndef TSR_FRONTEND_STRIDES_H
#define TSR_FRONTEND_STRIDES_H

#include "frontend/eval.h"

/* Gathers what such windows of each operand read: args become tensors with an axis for each letter,
 * and the specification that is returned reads these; NULL after an error. Requires: it is border_put's. */
const Spec *strides_gather(Build *b, SpecParts *parts);
/* The specification with an axis for each letter of such windows of its result. */
const Spec *strides_apart(Build *b, const Spec *spec);
/* Scatters what strides_apart's specification made: a tensor with the axes of the result of `spec`. */
NodeId strides_scatter(Build *b, SpecParts *parts, const Spec *spec, NodeId made);
/* The elements of what strides_scatter made where something was written, and those of `old` elsewhere.
 * `values`: the former, in the dtype of `old`. */
NodeId strides_keep(Build *b, NodeId scattered, NodeId values, NodeId old);
/* Is it an axis whose places are computed? */
bool spec_axis_is_sized(const SpecAxis *axis);
/* The first such window of the tensor, or NULL. */
const SpecAxis *spec_find_sized(const SpecTensor *tensor);
/* The specification with `g*s + 1` in its result as a window, not as a joined axis. */
const Spec *spec_strides_as_windows(Build *b, const Spec *spec);

#endif
