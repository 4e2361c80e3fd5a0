#include "base/size_fits.h"

bool size_fits(Diags *diags, const Sizes *sizes, Size size, Span span, const char *what)
{
	if (size_is_bad(size))
		diag(diags, E0511, span, "%s cannot be computed as one size: %s", what,
		     sizes_limit_text(sizes));
	return !size_is_bad(size);
}
