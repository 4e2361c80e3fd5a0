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

#endif
