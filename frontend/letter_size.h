/* The size of a letter before its specification is a node's. */
#ifndef TSR_FRONTEND_LETTER_SIZE_H
#define TSR_FRONTEND_LETTER_SIZE_H

#include "frontend/eval.h"

/* What a `with` around says, else captured from the node that is made of `parts`. */
const SizeExpr *letter_size(Build *b, SpecParts *parts, Sym letter, Span span);
/* Sets it. */
void letter_size_bind(Build *b, SpecParts *parts, Sym letter, const SizeExpr *size);
/* Both are the node's, now that it is made. */
void letter_sizes_settle(Build *b, const SpecParts *parts, NodeId id);
/* The size of a letter of this node. */
const SizeExpr *letter_size_of_node(Build *b, NodeId id, Sym letter, Span span);

#endif
