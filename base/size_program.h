/* A size as a postfix program over int64, for emitters. CONST v | DIM d | ADD | SUB | MUL | DIV (exact) | FLOOR; all but
 * the first two take their operands from the stack, the divisor on top. The size SIZE_BAD has no operations. */
#ifndef TSR_BASE_SIZE_PROGRAM_H
#define TSR_BASE_SIZE_PROGRAM_H

#include "base/size.h"

typedef enum SizeCode {
	SIZE_CONST,
	SIZE_DIM,
	SIZE_ADD,
	SIZE_SUB,
	SIZE_MUL,
	SIZE_DIV,
	SIZE_FLOOR
} SizeCode;
typedef struct SizeOp {
	SizeCode code;
	int64_t arg;
} SizeOp;
/* Values that wait while a program runs: no size needs more. Sums are halved down to 64 terms, which
 * leaves up to eight, and each of at most 32 nested quotients has three operands of its own. */
enum { SIZE_STACK = 512 };
/* Appends the program of a; returns the number of operations. Deterministic. */
size_t size_program(Arena *arena, const Sizes *sizes, Size a, SizeOp **ops);

#endif
