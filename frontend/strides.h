/* Windows whose coefficients are sizes: `g*s <+ k`, `s <+ g*k`. */
#ifndef TSR_FRONTEND_STRIDES_H
#define TSR_FRONTEND_STRIDES_H

#include "frontend/eval.h"

/* Gathers what such windows of each operand read: args become tensors with an axis for each letter, and the
 * specification that is returned reads these; NULL after an error. Requires: border_put has been there. */
const Spec *strides_gather(Build *b, SpecParts *parts);
/* Is there such a window in the tensor? The first, or NULL. */
const SpecAxis *spec_find_sized(const SpecTensor *tensor);

#endif
