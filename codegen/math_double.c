/* The formulas of f64. */
#include "codegen/math_build.h"

Formula math_double_formula(Op op)
{
	(void)op;
	return NULL;
}
