/* Which kinds of dims a size is made of. */
#ifndef TSR_BASE_SIZE_DIMS_H
#define TSR_BASE_SIZE_DIMS_H

#include "base/size.h"

/* The dim of a that was declared last; false: there is none. */
bool size_last_dim(const Sizes *sizes, Size a, DimId *dim);
/* Is a made of numbers and dims that the caller of a routine passes? */
bool size_is_of_args(const Sizes *sizes, Size a);

#endif
