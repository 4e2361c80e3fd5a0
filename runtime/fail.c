/* Errors as a caller gets them. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/session.h"

int session_fail(tsr_error *error, int code, const char *fmt, ...)
{
	va_list args;
	if (!error)
		return code;
	error->code = code;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof error->text, fmt, args);
	va_end(args);
	return code;
}

int session_check_pointer(const void *pointer, const char *what, tsr_error *error)
{
	return pointer ? TSR_OK : session_fail(error, TSR_FAIL_ARGUMENT, "the %s is NULL", what);
}
