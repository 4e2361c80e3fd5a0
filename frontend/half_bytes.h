/* Elements of i4 and u4, of which none is written by itself. */
#ifndef TSR_FRONTEND_HALF_BYTES_H
#define TSR_FRONTEND_HALF_BYTES_H

#include "frontend/build.h"

/* Would elements of `what`, of the dtype, be written one by one, two of them a byte? Then it is refused. */
bool refuses_half_bytes(Build *b, Dtype dtype, Span span, const char *what);

/* A parameter of i4 or u4 that a step of a routine writes: its node is the array of bytes, u8, in which
 * element 2*i is the lower half of byte i, and reading it makes the tensor of these. */
typedef struct HalfBytes {
	NodeId bytes;
	const ShapeDecl *shape; /* as it is declared: all sizes are written */
	const SizeExpr *total;	/* of elements */
	Dtype dtype;
} HalfBytes;

/* Does a step of the program assign to a parameter of that name, whose shape says all of its sizes? */
bool half_bytes_wanted(const Build *b, Sym name, const ShapeDecl *shape);
/* Makes the node, a parameter of that shape and dtype, such an array. */
void half_bytes_declare(Build *b, NodeId param);
/* NULL: the node is none. */
const HalfBytes *half_bytes_of(const Build *b, NodeId id);
/* The tensor that its bytes hold now; another node as it is. */
NodeId half_bytes_read(Build *b, NodeId id, Span span);
/* The same elements in the shape that is declared for them. */
void half_bytes_ascribe(Build *b, const HalfBytes *half, NodeId id);

#endif
