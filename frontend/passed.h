/* Sizes and numbers that are passed as tensors. */
#ifndef TSR_FRONTEND_PASSED_H
#define TSR_FRONTEND_PASSED_H

#include "frontend/build.h"

/* A tensor argument that a size or a number was passed as: that size or number. Others as they
 * are. */
static inline Value value_as_passed(Value value)
{
	if (value.kind != VALUE_TENSOR || !value.passed)
		return value;
	Value passed = *value.passed;
	passed.given = passed.span;
	passed.span = value.span;
	return passed;
}

/* What is made of integer scalars of the routine at hand, sizes and whole numbers by + - *, as a size;
 * NULL: the value is something else. */
const SizeExpr *value_of_scalars(Build *b, const Value *value);
/* The size that a value is; NULL after an error (E0210), in which `what` is needed. */
const SizeExpr *value_to_size(Build *b, const Value *value, const char *what);
/* The size, or the number that is one, that has the name; NULL: nothing has, or what has is none. A
 * number that is no size is an error (E0210). */
const SizeExpr *size_of_name(Build *b, Name name, const char *what);

#endif
