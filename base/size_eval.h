/* What sizes become where dims have values, or are other sizes. */
#ifndef TSR_BASE_SIZE_EVAL_H
#define TSR_BASE_SIZE_EVAL_H

#include "base/size.h"

/* The value under values[ndims]; false on overflow or when a quotient does not divide. */
bool size_eval(const Sizes *sizes, Size a, const int64_t *values, int64_t *out);
/* Is the value, or one on the way to it, beyond 64 bits? */
bool size_overflows(const Sizes *sizes, Size a, const int64_t *values);
/* a with every dim replaced by a size. */
Size size_substitute(Sizes *sizes, Size a, const Size *by_dim);

#endif
