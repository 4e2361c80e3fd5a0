/* Windows whose coefficients are sizes: the places of their elements, and what the axis has to be. */
#ifndef TSR_FRONTEND_WINDOWS_H
#define TSR_FRONTEND_WINDOWS_H

#include "frontend/eval.h"

typedef struct Window {
	Build *b;
	const SpecAxis *axis;
	bool written; /* by what a letter of a result says, and not read */
	bool margins; /* its places leave the axis by these; of others that are read border_put's tensor has them */
	const SizeExpr *stride, *dilation, *windows;
	const SizeExpr *kernel; /* elements of a window; NULL: the axis has no kernel letter */
	const SizeExpr *before; /* the axis, of its places; NULL: none */
	const SizeExpr *after;
} Window;

/* Sizes of letters are those of the node that is made of `parts`. Requires: of what is read nothing is
 * padded but by border_put, or border_is_late. */
Window window_of(Build *b, SpecParts *parts, const SpecAxis *axis, bool written);
/* "s, k => s, k", or "s => s" without a kernel, in these letters: i64 places on the axis. */
NodeId window_places(const Window *w, const Sym letters[2]);
/* May places lie outside the axis? */
bool window_pads(const Window *w);
/* The same places, those outside the axis of so many elements as far on this side of the first or last one;
 * that it has more than the margins is a guard. */
NodeId window_reflected(const Window *w, NodeId places, const SizeExpr *size);
/* A guard: the axis has as many elements as the margins on either side of it. */
void window_require_margins(const Window *w, const SizeExpr *size);
/* 1 where a place is on the axis of so many elements, else 0, in the dtype. */
NodeId window_inside(const Window *w, NodeId places, const SizeExpr *size, Dtype dtype);
/* Says what size the axis has which is `letter` of the node, or the windows where that is how many fit.
 * `into`: of a tensor that is there, which may be longer where a place is given by name. */
void window_say_size(const Window *w, SpecParts *parts, NodeId node, Sym letter, bool into);
/* Is there a scalar of a routine, or the number of a step, in it? No axis has such a size. */
bool size_is_late(const SizeExpr *size);
/* A guard that the size is at least that, for what it is in the program; an error where it is a number
 * that is not. */
void size_require_least(Build *b, const SizeExpr *size, int64_t least, const char *as);

#endif
