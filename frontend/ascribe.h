/* Types that are written behind the names of what is computed: `let y : f32 [n | 10] = E`. */
#ifndef TSR_FRONTEND_ASCRIBE_H
#define TSR_FRONTEND_ASCRIBE_H

#include "frontend/build.h"

typedef struct Ascribed {
	Name name;
	const AstShape *shape; /* NULL: none */
	Dtype dtype;	       /* DTYPE_NONE: none */
	Span span;	       /* the dtype where it is written, else the shape */
} Ascribed;

/* The value as a tensor of that dtype and, where it is not NULL, that shape; an error value after
 * an error. */
Value ascribe(Build *b, Value value, const Ascribed *to, const ShapeDecl *shape);
/* The same of what is written; the value itself where nothing is (control.c). */
Value ascribe_written(Build *b, Value value, const Ascribed *to);

#endif
