/* Elements of i4 and u4, of which programs store none. */
#ifndef TSR_FRONTEND_HALF_BYTES_H
#define TSR_FRONTEND_HALF_BYTES_H

#include "frontend/build.h"

/* Would `what`, of the dtype, be stored two elements a byte? Then it is refused. */
bool refuses_half_bytes(Build *b, Dtype dtype, Span span, const char *what);

#endif
