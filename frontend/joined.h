/* Joined axes of specifications: `b, (h d) => b, h, d`. */
#ifndef TSR_FRONTEND_JOINED_H
#define TSR_FRONTEND_JOINED_H

#include "frontend/build.h"

/* Has the specification an axis that joins others? */
bool spec_joins(const Spec *spec);
bool spec_result_joins(const Spec *spec);
/* The same specification with the letters of each joined axis as axes of their own; itself where
 * there is none. */
const Spec *spec_apart(Build *b, const Spec *spec);
/* Takes the joined axes of operands apart: args become nodes that have the axes of spec_apart. */
void joined_take_apart(Build *b, const Spec *spec, NodeId *args, const Span *spans, uint32_t nargs);
/* Joins the axes of a node, which has those of spec_apart, as the result of `spec` has them; the
 * node itself where that joins none. */
NodeId joined_result(Build *b, const Spec *spec, NodeId id);

#endif
