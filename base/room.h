/* Memory that elements take, of sizes that are expressions. */
#ifndef TSR_BASE_ROOM_H
#define TSR_BASE_ROOM_H

#include "base/dtype.h"
#include "base/size.h"

/* Bytes of so many elements, one behind the other; SIZE_BAD where they cannot be counted. */
Size size_room(Sizes *sizes, Size elements, Dtype dtype);

#endif
