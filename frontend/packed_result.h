/* Results of i4 and u4. */
#ifndef TSR_FRONTEND_PACKED_RESULT_H
#define TSR_FRONTEND_PACKED_RESULT_H

#include "frontend/build.h"

/* The bytes of a tensor of i4 or u4 in storage order, as u8: element 2*i in the lower half of byte i,
 * element 2*i + 1 in the upper one, 0 there behind an odd number of them. Others are returned as they
 * are. */
NodeId packed_result(Build *b, NodeId id, Span span);

#endif
