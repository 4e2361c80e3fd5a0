/* Specifications that no program writes: axes, tensors, and the nodes of them. */
#ifndef TSR_FRONTEND_SPEC_MAKE_H
#define TSR_FRONTEND_SPEC_MAKE_H

#include "frontend/build.h"

/* An axis that is a letter alone. */
SpecAxis spec_letter(Sym letter, Span span);
/* A tensor of output axes alone: those n. */
SpecTensor spec_outputs(Build *b, const SpecAxis *axes, uint32_t n, Span span);
/* The node of n operands of one dtype: the operation joins them, and sums go over what the result
 * leaves out. */
NodeId spec_node(Build *b, const Spec *spec, Op op, const NodeId *args, uint32_t n);

#endif
