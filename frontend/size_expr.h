/* Sizes as the program writes them, names resolved: nothing is solved here. */
#ifndef TSR_FRONTEND_SIZE_EXPR_H
#define TSR_FRONTEND_SIZE_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/size.h"
#include "base/symbol.h"

typedef uint32_t CaptureId;
#define CAPTURE_NONE UINT32_MAX

typedef enum SizeExprKind {
	SX_NUMBER,
	SX_DIM,
	SX_FIXED,
	SX_CAPTURE,
	SX_ADD,
	SX_SUB,
	SX_MUL,
	SX_DIV,
	SX_CEIL
} SizeExprKind;

/* sx := number | symbolic dim
 *     | fixed dim             its value; spelled through a name, so it never broadcasts
 *     | captured size | sx (+ - * /) sx      where / is exact (a guard where undecided)
 *     | ceil(sx / number)                   floor(sx / k) is ceil((sx + 1) / k) - 1 */
typedef struct SizeExpr SizeExpr;
struct SizeExpr {
	SizeExprKind kind;
	Span span; /* where it is used or, of a configuration, given */
	Span also; /* the dim, or where the configuration's name is used; SPAN_NONE: neither */
	int64_t number;  /* NUMBER, FIXED */
	Sym name;        /* FIXED: the dim's name */
	DimId dim;       /* DIM */
	CaptureId capture;
	const SizeExpr *a, *b;
	bool divides;     /* a quotient stands in it: as a tensor it is one of numbers, a float */
	uint32_t nleaves; /* bounded by SIZE_LEAVES_LIMIT */
	uint32_t depth;   /* bounded by SIZE_DEPTH_LIMIT: every walk may recurse */
};

enum { SIZE_LEAVES_LIMIT = 65536, SIZE_DEPTH_LIMIT = 1000 };

#endif
