/* Axes and tensors of specifications that no program writes. */
#ifndef TSR_FRONTEND_SPEC_MAKE_H
#define TSR_FRONTEND_SPEC_MAKE_H

#include "frontend/build.h"

/* An axis that is a letter alone. */
SpecAxis spec_letter(Sym letter, Span span);
/* A tensor of output axes alone: those n. */
SpecTensor spec_outputs(Build *b, const SpecAxis *axes, uint32_t n, Span span);

#endif
