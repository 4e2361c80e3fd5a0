/* Elements of i4 and u4: see half_bytes.h. */
#include "frontend/half_bytes.h"

bool refuses_half_bytes(Build *b, Dtype dtype, Span span, const char *what)
{
	if (dtype == DTYPE_NONE || !dtype_is_packed(dtype))
		return false;
	diag(b->diags, E0247, span,
	     "%s is %s, of which two share a byte, and is written element by element: as %s each has one",
	     what, dtype_name(dtype), dtype_name(dtype_alone(dtype)));
	return true;
}
