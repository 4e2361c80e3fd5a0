/* The data of literals: nested brackets as levels of axes. */
#ifndef TSR_FRONTEND_LITERAL_H
#define TSR_FRONTEND_LITERAL_H

#include "frontend/build.h"

enum { LEVELS_MAX = 32 };

/* The levels of a nest, outermost first, each an axis of one kind. */
typedef struct Nest {
	uint32_t n;
	RowKind rows[LEVELS_MAX];
	int64_t extents[LEVELS_MAX], strides[LEVELS_MAX];
	Sym labels[LEVELS_MAX];
	Span spans[LEVELS_MAX];
	int64_t count;
} Nest;

/* A declared shape with an axis for each level. */
const ShapeDecl *literal_shape(Build *b, const Nest *nest, Span span);

/* ---- literal_data.c ---- */

/* A constant. */
NodeId literal_node(Build *b, Span span, const ShapeDecl *shape, ConstData data);
/* Of numbers a constant, else a stack of input axes. */
NodeId literal_from_tuple(Build *b, const Value *tuple);

/* ---- literal.c ---- */

/* `[...]`, `[|...|]`, or `(...)` as input axes: data when all elements are numbers, else a
 * stack. */
NodeId eval_literal(Build *b, const AstExpr *expr);
bool literal_is(const AstExpr *expr);

/* ---- value.c ---- */

/* A number or a size that is known now, in a type that holds each i64 too; says nothing. */
bool value_get_exact(const Value *value, long double *out);

#endif
