/* Whole roots of sizes and numbers. */
#ifndef TSR_BASE_SIZE_ROOT_H
#define TSR_BASE_SIZE_ROOT_H

#include "base/size.h"

/* The size of which `power` factors make a, where there is one for all values of the dims; else
 * SIZE_BAD. */
Size size_root(Sizes *sizes, Size a, uint32_t power);
/* The greatest number of which `power` factors make no more than the value. */
int64_t integer_root(int64_t value, uint32_t power);

#endif
