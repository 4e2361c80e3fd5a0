/* The copy of a picture, private to pad.c, which lays it out, pad_choose.c, which decides on it,
 * and pad_copy.c, which fills it. */
#ifndef TSR_LOWER_PAD_H
#define TSR_LOWER_PAD_H

#include "base/diag.h"
#include "lower/nest_plan.h"

enum { PAD_DIMS = 32 };

/* An axis of the copy: an iterator's, or one of the picture's as it is. In the order that they
 * stand in. */
typedef enum CopyRank { RANK_OUTER, RANK_SUM, RANK_LANES } CopyRank;

typedef struct CopyAxis {
	CopyRank rank;
	uint32_t axis;	       /* of the picture */
	const IndexTerm *term; /* NULL: the whole axis */
	Size extent, stride;
	IterVar var;
} CopyAxis;

typedef struct Pad {
	Nest *nest;
	Program *program;
	const Loop *col;
	uint32_t arg;
	const Access *access;
	const Value *load;
	/* the result's last one, of columns of few channels; NULL: `col` is the last */
	const Loop *inner;
	bool strided; /* lanes along `col` read no vector of the picture, or leave it */
	CopyAxis dims[PAD_DIMS];
	uint32_t ndims;
	const Margins *margins; /* the copy is the picture with these; NULL: it is not */
	BufferId buffer;
} Pad;

/* The operand that is copied. */
NodeId pad_picture(const Pad *p);
/* The loop of an iterator; NULL: there is none. */
const Loop *pad_loop(const Nest *nest, IterId iter);
/* Is there a picture that may be copied? Finds the copy's axes. */
bool pad_find_axes(Pad *p);
/* What the copy's axes and each iterator move it by; its elements. */
Size pad_lay_out(Pad *p, PackedOperandLoad *packed_operand);
/* No guard of the picture's is left. */
void pad_drop_guards(Pad *p);
/* Do lanes across another loop of the result, past the picture where it is, take fewer cycles
 * (pad_choose.c)? */
bool pad_is_better_in_place(const Pad *p);
/* The picture's index along an axis at the copy's first element.
 * Requires: an axis of the picture. */
Size pad_first(const Pad *p, uint32_t axis);
/* The loops that fill the copy (pad_copy.c). */
OperandCopy pad_copy(Pad *p);

#endif
