/* The actions of the program grammar that make parameters, shapes, steps of routines and statements. */
#ifndef TSR_GRAMMAR_TREE_STMT_H
#define TSR_GRAMMAR_TREE_STMT_H

#include "grammar/tree.h"

typedef struct Params {
	VEC(AstParam) items;
} Params;

typedef struct Steps {
	VEC(AstStep) items;
} Steps;

typedef struct Row {
	VEC(AstShapeAxis) axes;
	int32_t var_at;
	Name var;
	Span var_span;
} Row;

/* The list with one more behind the others; NULL: a new list. */
Params *tree_params(Tree *tree, Params *list, AstParam param);
Steps *tree_steps(Tree *tree, Steps *list, AstStep step);

/* `a with update { steps }`; steps NULL: none. */
AstExpr *tree_update(Tree *tree, Token with, AstExpr *a, const Steps *steps);
/* name =: ... in body, of a step without a target. */
AstExpr *tree_write(Tree *tree, Name name, AstStep step, AstExpr *body);

/* An axis that reaches from `start` to the last token; size NULL: `_`. */
AstShapeAxis tree_axis(const Tree *tree, Span start, Name label, AstExpr *size);
/* A new row for NULL; appends the axis, if there is one. */
Row *tree_row(Tree *tree, Row *row, const AstShapeAxis *axis);
Row *tree_row_var(Tree *tree, Row *row, Token var);
/* rows[k] is NULL where the row is not written. */
AstShape *tree_shape(Tree *tree, Token start, Row *const rows[ROW_KINDS]);

/* Ends a statement: appends it, unless it failed. */
void tree_stmt(Tree *tree, Token start, AstStmt stmt);
/* `output (A, B) = VALUE`: a let of the tuple, then an output of each name. */
void tree_outputs(Tree *tree, Token start, const Names *names, AstExpr *value);
/* The N of `>= N`: -1 and an error unless it is a whole number. */
int64_t tree_at_least(Tree *tree, const AstExpr *number);
void tree_require(Tree *tree, Token start, RequireOp op, AstExpr *const sides[2]);
void tree_set_params(Tree *tree, AstStmt *stmt, const Params *configs, const Params *params);
/* What a function gives its tensors as gradients, behind the word `adjoint`. */
AstRule *tree_rule(const Tree *tree, Token start, const Names *names, AstExpr *value);
/* NULL: none. */
void tree_set_modes(AstStmt *stmt, const Params *modes);
/* Checks that the scalars of a routine have types, and configurations none. */
void tree_typed(Tree *tree, const AstStmt *routine);
void tree_import(Tree *tree, Token start, Token from, Name as);

#endif
