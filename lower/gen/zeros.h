/* Where a mask makes a tensor 0: comparisons of indices, as key <= row, whose failure makes an element 0, found by
 * going through what computes it:
 *
 *   s = where(key <= row, scores, -inf);  e = exp(s - top);  p = e * share      p is 0 where key > row
 *   g = where(key <= row, grad, 0)                                             and so is g
 *
 * p is 0 unless `top` or `share` is no number there. As neither depends on the key, what is hidden of a row is
 * the same for all of its keys, so that one of them tells.
 */
#ifndef TSR_LOWER_ZEROS_H
#define TSR_LOWER_ZEROS_H

#include "lower/gen/gen.h"

enum { ZEROS_MOST = 4, EXPRESSION_MOST = 512 /* operations that are looked at */ };

/* Elements where less <= more, or `strict` less < more, fails are 0: all of them (`sure`), or all along the iterator
 * if one is. */
typedef struct Zeros {
	const Ix *less, *more; /* i32 */
	bool strict, sure;
} Zeros;

/* Those of a node at indices, of which `along` is an iterator; at most ZEROS_MOST of them. What the indices wrap to as
 * i32 is not looked at. */
uint32_t zeros_find(Gen *gen, NodeId node, const Ix *const *axes, IterVar along,
		    Zeros zeros[ZEROS_MOST]);
/* Those of a contraction with a kernel of its own, at the indices of its result: where they fail, an element that is less
 * than 1e30 makes no difference, since all that read it multiply it, or it and a term, by what is 0 or no number there,
 * or are behind a mask.
 * All are `sure`. */
uint32_t zeros_unused(Gen *gen, NodeId node, const Ix *const *axes, Zeros zeros[ZEROS_MOST]);

/* ---- expressions of elements and comparisons in them ---- */

/* Is the node computed of its operands element by element, whether it has a kernel or not? */
bool zeros_is_expression(const Lower *lower, NodeId id);
/* What is no expression: a load of no buffer, with the iterators that it moves along. */
const Value *zeros_opaque(Gen *gen, NodeId id, const Ix *const *axes);
/* Does the value compare two integers by their order? */
bool zeros_compares(const Value *value);
/* The comparison as `less <= more` or `less < more`, of indices; false: it is none of these. It holds where `comparison`
 * is `comes_out`. */
bool zeros_of(Program *program, const Value *comparison, bool comes_out, Zeros *zeros);
/* A whole number as a sum of iterators, but for what wraps; NULL: it is none. */
const Ix *value_as_index(Program *program, const Value *value);

#endif
