/* Equations between sizes that say what a dim is, and sizes without those dims. */
#ifndef TSR_INFER_REPLACED_H
#define TSR_INFER_REPLACED_H

#include "base/size.h"

typedef struct Replaced Replaced;

/* A table without equations, in the arena, for the dims that `sizes` has now. */
Replaced *replaced_new(Sizes *sizes, Arena *arena);
/* Makes a = b replace a dim of it, if it can be solved for one: the last for which it loses nothing
 * of what is known of the dim, else the last. Not where a dim of it is replaced already. */
bool replaced_by_equation(Replaced *r, Size a, Size b, DimId *dim);
/* a without the dims that are replaced, or SIZE_BAD where that is too large. */
Size replaced_now(const Replaced *r, Size a);

#endif
