/* The syntax tree: what was written, with the place of everything, before names are resolved.
 *
 *   file   := stmt*
 *   stmt   := dim | require | input | param | const | let | fn | output | routine | import
 *   expr   := see AstKind; every node has the span of its whole text and of its operator or name
 *   shape  := three rows (batch, input, output) of shape axes, at most one row variable in each
 *   spec   := operand tensors and a result tensor, each of three rows of specification axes
 *
 * Everything lives in the perm arena; names are interned; nothing is shared between parents.
 */
#ifndef TSR_GRAMMAR_AST_H
#define TSR_GRAMMAR_AST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/notation.h"
#include "base/ops.h"
#include "base/source.h"
#include "base/symbol.h"

typedef struct Name {
	Sym sym; /* NULL: absent */
	Span span;
} Name;

typedef struct AstExpr AstExpr;

/* ---- shapes: [batch | input -> output] ---- */

typedef struct AstShapeAxis {
	Span span;
	Name label;    /* "rgb" of rgb:3 */
	AstExpr *size; /* NULL: `_` */
} AstShapeAxis;

typedef struct AstShapeRow {
	bool written;
	AstShapeAxis *axes;
	uint32_t naxes;
	int32_t var_at;  /* the row variable stands before axes[var_at]; -1: none */
	Name var;        /* sym NULL for `...`, the row's own kind */
} AstShapeRow;

typedef struct AstShape {
	Span span;
	AstShapeRow rows[ROW_KINDS];
} AstShape;

/* ---- specifications ---- */

typedef struct AstCoef { /* an integer or the name of one */
	bool written;
	Name name; /* sym NULL: a number */
	int64_t value;
	Span span;
} AstCoef;

typedef struct AstSpecPart {
	Name letter;    /* sym NULL: a skipped part of `number` elements; a letter, or a size */
	int64_t number;
	bool rest;      /* `_`: skipped, as long as the others leave it */
	Span span;
} AstSpecPart;

/* A letter or a size of an affine form, with its coefficient. */
typedef struct AstSpecSummand {
	AstCoef coef;
	Name name;
	Span span;
} AstSpecSummand;

typedef struct AstSpecAxis {
	SpecAxisKind kind;
	bool bracketed;    /* LETTER, written `[v]` */
	Span span;
	Name name;         /* the letter; of AFFINE: `over` */
	int64_t number;    /* of INDEX */
	AstCoef stride;    /* AFFINE, 1 where not written */
	Name kernel;       /* AFFINE; sym NULL: no kernel */
	AstCoef dilation;  /* AFFINE with a kernel */
	int64_t offset;    /* AFFINE */
	bool placed;	   /* AFFINE: a number stands first, `0 + pos` */
	/* AFFINE with a kernel; MARK_NONE where a plain '+' was written: one of the two is a size, or
	 * it is an error later */
	SpecMark mark;
	Span mark_span;
	AstCoef before,
		after; /* behind a mark that pads, `=+[1, 2]`: margins, where they are written */
	AstSpecSummand *more; /* AFFINE: behind over and kernel; in all two are letters at most */
	uint32_t nmore;
	AstSpecPart *parts;
	uint32_t nparts;
} AstSpecAxis;

typedef struct AstSpecRow {
	bool written;
	Span span;
	AstSpecAxis *axes;
	uint32_t naxes;
	int32_t var_at; /* -1: none */
	Name var;       /* "batch", "input" or "output" for `...` */
} AstSpecRow;

typedef struct AstSpecTensor {
	Span span;
	AstSpecRow rows[ROW_KINDS];
} AstSpecTensor;

typedef struct AstSpec {
	Span span; /* inside the quotes */
	bool single_letters;
	AstSpecTensor *operands;
	uint32_t noperands;
	AstSpecTensor result;
	bool broken; /* an error was reported: do not use */
} AstSpec;

/* ---- expressions ---- */

typedef enum AstKind {
	AST_NUMBER, /* 1.5      number, is_integer, integer */
	AST_STRING, /* "..."    text (raw bytes between the quotes), spec parsed on demand by the grammar */
	AST_NAME,   /* x        name */
	AST_MEMBER, /* a.name   args[0], name */
	AST_CALL, /* f(a, k = b; m = c)   args[0] callee, then the arguments; keys[i] names argument i (or NULL); binds: modes */
	AST_UNARY,     /* -a !a    op, args[0] */
	AST_BINARY,    /* a + b    op, args[0..1]; `*` is AST_COMPOSE */
	AST_COMPOSE,   /* a * b */
	AST_TRANSPOSE, /* a.T */
	AST_SLICE,     /* a @ i */
	AST_WITH,      /* E with (h = S, d)   args[0], binds */
	AST_UPDATE,    /* E with update { steps }   args[0], steps */
	AST_PARAM,     /* {w : SHAPE = INIT}  name, dtype, shape, args[0] (init) if nargs */
	AST_ITERATE,   /* iterate(n, h = x, i) { E }   args: n, E; one bind; name i */
	AST_SCAN, /* scan(n, h = x, i) until (C) { E }   args: n, E, C where it is written; likewise */
	AST_IF,	    /* args: condition, then, else */
	AST_LET_IN, /* let a = E1, (b, c) = E2 in E    binds, args[0] body */
	AST_WRITE,  /* h =: F via "..." in E           steps: one; args[0] body */
	AST_TUPLE, /* (a, b): of tuple values and of input axes (decided by the frontend); `(a,)` too */
	AST_OUTPUTS, /* [a, b]   literal of output axes;  label */
	AST_BATCHES, /* [| a, b |] literal of batch axes; label */
	AST_FILE,    /* file("x.npy") of const */
	AST_SHAPED,  /* x : SHAPE, of reshape   args[0], shape */
	AST_ERROR    /* recovered from: already reported */
} AstKind;

typedef struct AstBind { /* of WITH, LET_IN, ITERATE and SCAN; of CALL one name and a value */
	Name *names;     /* one, or several for a tuple */
	uint32_t nnames;
	AstExpr *value; /* NULL: a bare capture */
	Span span;
	AstShape *shape; /* of LET_IN, ITERATE and SCAN: what is said of the one name, or NULL */
	Dtype dtype;	 /* likewise; DTYPE_NONE: not written */
	Span type_span;	 /* the dtype where it is written, else the shape */
} AstBind;

struct AstExpr {
	AstKind kind;
	Op op;
	Span span;    /* the whole */
	Span op_span; /* the operator, or the name */
	Name name;
	Name label; /* of literals: `[1, 2] : rgb` labels the axis of the container */
	AstExpr **args;
	uint32_t nargs;
	Name *keys; /* of CALL, nargs of them (keys[0] is unused); NULL when there are none */
	AstBind *binds;
	uint32_t nbinds;
	struct AstStep *steps; /* of UPDATE and WRITE */
	uint32_t nsteps;
	AstShape *shape;
	Dtype dtype; /* DTYPE_NONE: not written */
	AstSpec *spec; /* of STRING: set when the text was parsed as a specification */
	const char *text;
	uint32_t len;
	double number;
	int64_t integer;
	bool is_integer;   /* written without point and exponent, and fits 63 bits */
	bool parenthesised;
	Span outer;	/* of what is parenthesised: with its parentheses */
	uint32_t depth; /* of the tree below, for the cap on nesting */
};

/* The place of an expression with its parentheses, where it has some. */
static inline Span ast_outer(const AstExpr *expr)
{
	return expr->parenthesised ? expr->outer : expr->span;
}

/* ---- statements ---- */

typedef enum AstStmtKind {
	STMT_DIM,     /* name, expr (size or NULL), at_least */
	STMT_REQUIRE, /* require_op, expr, expr2 */
	STMT_INPUT,   /* name, dtype, shape */
	STMT_PARAM,   /* name, dtype, shape or NULL, expr (init or NULL) */
	STMT_CONST,   /* name, dtype, shape or NULL, expr */
	STMT_LET,     /* names, expr; of one name dtype and shape, as of OUTPUT */
	STMT_FN,      /* name, configs (has_configs), params, modes, expr, rule or NULL */
	STMT_OUTPUT,  /* name, expr or NULL; dtype and shape or NULL: what is said of it */
	STMT_ROUTINE, /* name, scalars, results, steps; with two lists: configs (has_configs), params, steps */
	STMT_IMPORT,  /* text (path or name), import_name (`as`), import_is_path */
	STMT_ERROR
} AstStmtKind;

typedef struct AstParam { /* of functions: a configuration or a tensor argument */
	Name name;
	AstExpr *value; /* default, or NULL */
	Dtype dtype;    /* of a routine's scalars */
	Span type_span; /* where that is written */
} AstParam;

/* adjoint (c, d) = E, of a function: names for the gradients of its results, and those of its tensors. */
typedef struct AstRule {
	Name *names;
	uint32_t nnames;
	AstExpr *expr;
	Span span; /* from the word */
} AstRule;

typedef enum AstStepKind {
	STEP_ASSIGN,   /* target ACC= expr via spec; clear for `=:` forms */
	STEP_LET,      /* let a = E, (b, c) = E */
	STEP_FORWARD,  /* forward expr, a name or a dotted one */
	STEP_BACKWARD, /* backward expr */
	STEP_UPDATE,   /* update expr */
	STEP_INIT,     /* init */
	STEP_FOR,      /* for name in params(expr, patterns) except (excepted) { steps } */
	STEP_CALL, /* steps of a routine with two lists: expr is the call, of a call or of a name */
	STEP_ERROR
} AstStepKind;

typedef struct AstStep AstStep;
struct AstStep {
	AstStepKind kind;
	Span span, op_span;
	Name name;
	AstExpr *target, *expr;
	Op acc;     /* OP_NONE: set */
	bool clear; /* a colon before the accumulation: clear first */
	AstExpr *via; /* an AST_STRING, or NULL */
	AstBind *binds; /* LET */
	uint32_t nbinds;
	AstExpr **patterns, **excepted; /* FOR */
	uint32_t npatterns, nexcepted;
	AstStep *steps;
	uint32_t nsteps;
};

typedef struct AstStmt {
	AstStmtKind kind;
	Span span;
	Name name;
	Name *names; /* LET of a tuple; ROUTINE results */
	uint32_t nnames;
	Dtype dtype;
	AstShape *shape;
	Span type_span; /* the dtype where it is written, else the shape */
	AstExpr *expr, *expr2;
	int64_t at_least;
	Span at_least_span;
	RequireOp require_op;
	bool has_configs;
	AstParam *configs; /* FN configurations; ROUTINE scalars, or configurations */
	uint32_t nconfigs;
	AstParam *params;
	uint32_t nparams;
	AstParam *modes; /* FN: behind the tensors, each with its default */
	uint32_t nmodes;
	AstRule *rule;
	AstStep *steps;
	uint32_t nsteps;
	const char *text; /* IMPORT */
	bool import_is_path;
	Name import_name;
} AstStmt;

typedef struct AstFile {
	uint32_t file;
	AstStmt *stmts;
	uint32_t nstmts;
} AstFile;

enum { AST_DEPTH_LIMIT = 1000 }; /* deeper nesting is an error; every walk may recurse */

/* A canonical text of the tree, one statement a line, S-expressions: for tests and --dump=ast. */
void ast_dump(FILE *out, const AstFile *file);

#endif
