/* The actions of the program grammar: they make the nodes of the tree. Private to grammar/.
 *
 * A rule is reduced when the token after it is known but not yet consumed, so the last token of a
 * rule's text is always `last`: the spans of nodes end there. */
#ifndef TSR_GRAMMAR_TREE_H
#define TSR_GRAMMAR_TREE_H

#include "grammar/parse.h"
#include "lexer/lexer.h"

typedef struct Tree {
	Parse *parse;
	const Source *source;
	uint32_t file;
	Token last;     /* the last token consumed */
	bool failed;    /* the statement is left out: an error was reported in it */
	bool too_deep;  /* ... that it is nested too deeply */
	VEC(AstStmt) stmts;
} Tree;

typedef struct Exprs {
	VEC(AstExpr *) items;
	VEC(Name) keys; /* as many, once one is named; else none */
	bool keyed;
} Exprs;

typedef struct Arg {
	AstExpr *value;
	Name key;
	AstShape *shape; /* of `x : SHAPE`, or NULL */
} Arg;

typedef struct Names {
	VEC(Name) items;
} Names;

typedef struct Binds {
	VEC(AstBind) items;
} Binds;

typedef struct Type {
	Dtype dtype;
	AstShape *shape;
	Span span; /* the dtype where it is written, else the shape */
} Type;

/* Reports a fault of the statement being read, which is then left out. */
#define TREE_ERROR(tree, ...) ((tree)->failed = true, diag((tree)->parse->diags, __VA_ARGS__))

/* The place from `start` to the last token; the name, and the element type, that a token spells
 * (DTYPE_NONE after an error). */
Span tree_span(const Tree *tree, Span start);
Name tree_name(Tree *tree, Token name);
Dtype tree_dtype(Tree *tree, Token name);

/* Nodes, never NULL, in the parse's arena; AST_ERROR where one is nested too deeply. A number that is too
 * large is reported. `sign` is the operator's token; tree_binary reads the operation from it for OP_NONE. */
AstExpr *tree_number(Tree *tree, Token number);
AstExpr *tree_string(Tree *tree, Token string);
AstExpr *tree_name_expr(Tree *tree, Name name);
AstExpr *tree_unary(Tree *tree, Op op, Token sign, AstExpr *a);
AstExpr *tree_binary(Tree *tree, Op op, Token sign, AstExpr *a, AstExpr *b);
AstExpr *tree_compose(Tree *tree, Token sign, AstExpr *a, AstExpr *b);
AstExpr *tree_slice(Tree *tree, Token sign, AstExpr *a, AstExpr *index);
/* a.name; a.T is the transposition. */
AstExpr *tree_member(Tree *tree, AstExpr *a, Name name);
/* Parses a string that holds `=>` as the specification it is; returns it. */
AstExpr *tree_spec(Tree *tree, AstExpr *string);
/* Its arguments that are specifications are parsed, except those of file(). */
AstExpr *tree_call(Tree *tree, AstExpr *callee, const Exprs *args);
/* The same in modes; NULL: none are given. */
AstExpr *tree_call_in(Tree *tree, AstExpr *callee, const Exprs *args, const Binds *modes);
AstExpr *tree_with(Tree *tree, Token with, AstExpr *a, const Binds *binds);
/* Of one operand. */
AstExpr *tree_around(Tree *tree, AstKind kind, Token sign, AstExpr *a);
AstExpr *tree_let_in(Tree *tree, Token let, const Binds *binds, AstExpr *body);
AstExpr *tree_if(Tree *tree, Token start, AstExpr *const args[3]);
AstExpr *tree_param(Tree *tree, Token start, Name name, Type type, AstExpr *init);
/* `iterate` or `scan`, as the token says. args: the number, the body, what ends it or NULL. */
AstExpr *tree_iterate(Tree *tree, Token start, AstExpr *const args[3], const Binds *carried,
		      Name counter);
/* (a): a itself. (a,) and (a, b): a tuple. */
AstExpr *tree_parens(Tree *tree, Token start, const Exprs *items, bool comma);
/* A literal of output or batch axes, which needs an element. */
AstExpr *tree_literal(Tree *tree, AstKind kind, Token start, const Exprs *items);
AstExpr *tree_label(Tree *tree, AstExpr *literal, Name label);

/* The list with one more expression or argument behind the others; NULL: a new list. */
Exprs *tree_exprs(Tree *tree, Exprs *list, AstExpr *item);
Exprs *tree_arg(Tree *tree, Exprs *list, Arg arg);
/* A keyword that stands for a name. */
AstExpr *tree_word(Tree *tree, Token word);
Names *tree_names(Tree *tree, Names *list, Name name);
AstBind tree_bind(Tree *tree, const Names *names, AstExpr *value);
Binds *tree_binds(Tree *tree, Binds *list, AstBind bind);

#endif
