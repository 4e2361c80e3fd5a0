/* Memory that elements take: see room.h. */
#include "base/room.h"

Size size_room(Sizes *sizes, Size elements, Dtype dtype)
{
	if (dtype_is_packed(dtype))
		return size_is_bad(elements) ? elements : size_ceil(sizes, elements, 2);
	return size_scale(sizes, elements, (int64_t)dtype_bytes(dtype));
}
