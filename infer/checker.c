/* The checker's state, and the first thing that does not hold. */
#include "infer/check.h"

#include <stdarg.h>

void checker_init(Checker *c, const Inference *inference, Arena *arena)
{
	*c = (Checker){.inference = inference, .sizes = inference->sizes, .arena = arena};
}

bool check_fail(Checker *c, const char *fmt, ...)
{
	if (c->why)
		return false;
	va_list args;
	va_start(args, fmt);
	c->why = arena_vprintf(c->arena, fmt, args);
	va_end(args);
	return false;
}
