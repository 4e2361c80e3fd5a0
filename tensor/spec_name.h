/* What a specification calls the axes of a tensor, also those of one element, which have no iterator in
 * its projection. */
#ifndef TSR_TENSOR_SPEC_NAME_H
#define TSR_TENSOR_SPEC_NAME_H

#include "frontend/graph.h"
#include "infer/infer.h"

typedef struct SpecName {
	Sym name;   /* a letter, or a row variable; NULL: an axis without */
	int64_t at; /* among the row variable's axes; -1: a letter */
} SpecName;

/* Of axis i of a row that has n. */
SpecName spec_name(const SpecRow *row, uint32_t n, uint32_t i);
/* Has some axis of a tensor of that shape the name? */
bool spec_has_name(const SpecTensor *tensor, const Shape *shape, SpecName name);

#endif
