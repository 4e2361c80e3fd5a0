/* Sizes read back from what size_print has printed. */
#ifndef TSR_BASE_SIZE_TEXT_H
#define TSR_BASE_SIZE_TEXT_H

#include "base/size.h"

/* floor(a / b) where a is as it was printed: a floor that is still in it stays. */
Size size_floor_written(Sizes *sizes, Size a, int64_t b);

#endif
