/* A graph's constraints: generate.c, with generate_leaf.c, generate_spec.c and generate_size.c. */
#ifndef TSR_INFER_GENERATE_H
#define TSR_INFER_GENERATE_H

#include "infer/solver.h"

/* The constraints of a graph, in the order of the program; stops behind the first node with a
 * conflict, and goes on there when it is called again. */
void generate(Solver *s);
/* Of a node without operands: its rows. */
void generate_leaf(Solver *s, NodeId id);
/* Notes that the sizes of a leaf's row are what uses say; `param`: of a parameter. */
void mark_terminal(Solver *s, const RowTerm *row, bool param);
/* The rows of a declaration, whose row variables are its own. */
void declared_rows(Solver *s, const ShapeDecl *shape, RowTerm *rows);
/* Of a node with a specification: an equation for each row of each operand, the rows of its result,
 * the relations of its affine and concatenated axes, and its binds. */
void generate_spec(Solver *s, NodeId id);
/* A new cell that holds the size, or is tied to the captures that stand in it; broken after an
 * error. */
CellId size_cell(Solver *s, const SizeExpr *expr);
/* The size of an expression without captures; asks for the guards of its quotients. */
Size size_of_expr(Solver *s, const SizeExpr *expr, bool *spelled, bool *captured);
/* The value of one that stands for a number, which may be negative, once captures are known; asks
 * likewise. SIZE_BAD after an error. */
Size size_as_number(Solver *s, const SizeExpr *expr);

#endif
