/* Elements of i4 and u4, of which none is written by itself. */
#ifndef TSR_FRONTEND_HALF_BYTES_H
#define TSR_FRONTEND_HALF_BYTES_H

#include "frontend/build.h"

/* Would elements of `what`, of the dtype, be written one by one, two of them a byte? Then it is refused. */
bool refuses_half_bytes(Build *b, Dtype dtype, Span span, const char *what);

#endif
