/* Windows whose coefficients are sizes: `g*s <+ k`, `s <+ g*k`. */
#ifndef TSR_FRONTEND_STRIDES_H
#define TSR_FRONTEND_STRIDES_H

#include "frontend/eval.h"

/* Gathers what such windows of each operand read: args become tensors with an axis for each letter,
 * and the specification that is returned reads these. Requires: it is border_put's. */
const Spec *strides_gather(Build *b, SpecParts *parts);
/* The first such window of the tensor, or NULL. */
const SpecAxis *spec_find_sized(const SpecTensor *tensor);

#endif
