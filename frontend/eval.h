/* Evaluation: expressions to values, statements to the graph. */
#ifndef TSR_FRONTEND_EVAL_H
#define TSR_FRONTEND_EVAL_H

#include "frontend/build.h"

/* ---- expr.c ---- */

/* What an expression is: a tensor, a number, a size, a function, an instance, a module or a tuple;
 * an error value after an error, which every user of it passes on in silence. */
Value eval(Build *b, const AstExpr *expr);
/* The same under a name that `let` gives. */
Value eval_named(Build *b, const AstExpr *expr, Sym name);
/* The same as a tensor; NODE_NONE after an error. */
NodeId eval_node(Build *b, const AstExpr *expr);
Value eval_pointwise(Build *b, Op op, const Value *args, uint32_t nargs, const AstExpr *expr);

/* ---- sizes.c ---- */

/* Where an unknown name can only be meant for a size, none but sizes are offered. */
Value eval_wanting_size(Build *b, const AstExpr *expr);
/* NULL after an error (E0210). */
const SizeExpr *eval_size(Build *b, const AstExpr *expr);
/* An expression that must be an integer now. */
bool eval_integer(Build *b, const AstExpr *expr, const char *what, int64_t *out);

typedef enum ShapeUse { SHAPE_INPUT, SHAPE_PARAM, SHAPE_CONST, SHAPE_ASCRIBED } ShapeUse;
/* NULL after an error. */
const ShapeDecl *shape_decl(Build *b, const AstShape *shape, ShapeUse use);
/* Of a parameter without a written shape: no batch axes, the other rows open. */
const ShapeDecl *shape_decl_open_param(Build *b, Span span);

/* ---- control.c ---- */

/* As eval, for an expression of that kind (AST_IF, AST_ITERATE, AST_LET_IN, AST_WITH). */
Value eval_if(Build *b, const AstExpr *expr);
Value eval_iterate(Build *b, const AstExpr *expr);
Value eval_let_in(Build *b, const AstExpr *expr);
Value eval_with(Build *b, const AstExpr *expr);
/* Binds one name, or takes a tuple apart; each value goes through `each`. */
typedef void BindEach(Build *b, Name name, Value *value);
void bind_names(Build *b, const AstBind *bind, BindEach *each);
/* Binds names that are known to the end of the scope at hand. */
void bind_in_scope(Build *b, const AstBind *bind);
/* A name in the current scope for a size that only inference knows. */
CaptureId declare_capture(Build *b, Name name);

/* ---- call.c ---- */

/* As eval, for a call of a form, a function or an instance, and for `a.name`. */
Value eval_call(Build *b, const AstExpr *expr);
Value eval_member(Build *b, const AstExpr *expr);

/* ---- form_names.c ---- */

/* Is it a form, a function of elements (base/ops.def) or an element type, which is a cast? */
bool form_exists(const char *name);
/* Candidates for did-you-mean: the i-th name, NULL past the end. */
const char *form_name(uint32_t i);

/* ---- forms.c ---- */

/* As eval, for a call of what form_exists finds; checks the number of arguments. */
Value eval_form(Build *b, Sym name, const AstExpr *call);
/* A specification's operation from parts (SPEC, or BLOCK where the result concatenates). */
typedef struct SpecParts {
	const Spec *spec;
	Op op, reduce;
	NodeId *args;
	Span *spans;
	uint32_t nargs;
	Span span, op_span;
	bool permutes, joins; /* permute: elements of any dtype; concat */
	bool keeps;	      /* the dtype of the one operand */
	bool into;	      /* a step's, which writes a tensor that is there */
	struct Border *border; /* frontend/border.h */
	VEC(Bind) binds;       /* of the node that is made (frontend/letter_size.h) */
} SpecParts;
/* NODE_NONE after an error. */
NodeId form_spec_node(Build *b, const SpecParts *parts);

/* ---- const.c ---- */

/* A `const` statement: data from a literal, an expression over constants, or a file. */
void eval_const(Build *b, const AstStmt *stmt);

/* ---- initial.c ---- */

/* The parameter that stands here, in the current parameter scope: made the first time, found
 * afterwards. NODE_NONE after an error. */
NodeId param_inline(Build *b, const AstExpr *expr);
NodeId param_statement(Build *b, const AstStmt *stmt);

/* ---- assign.c ---- */

/* The step of the routine at hand as a node that writes its target; nothing after an error. */
void eval_assign(Build *b, const AstStep *step);

/* ---- routine.c ---- */

/* Do the nodes made since `first` read only what is as it was when the routine began? False after
 * the error. */
bool routine_check_step(Build *b, NodeId first, Span span);
/* Adds a node with a target to what the routine writes. */
void routine_add_write(Build *b, NodeId id, Span span);
/* Evaluates the tensor before the steps behind this, which read what it is now: the node that is it, a copy where a step has
 * written what it is computed from. Nodes from `first` on are the step's own. */
NodeId routine_evaluate(Build *b, NodeId id, NodeId first);
/* The value as it is now, whatever later steps write; `span` is where it is given. */
void routine_keep(Build *b, Value *value, Span span);
void eval_all_steps(Build *b, const AstStep *steps, uint32_t n);
void eval_routine(Build *b, const AstStmt *stmt);
/* False after an error: the file has a routine of that name. */
bool routine_name_is_free(Build *b, Name name);

/* ---- stmt.c ---- */

/* The statements in order, until a limit stops it; then the functions that nothing has applied. */
void eval_file(Build *b, const AstFile *file);

/* ---- import.c ---- */

/* Declares an import's module in the current scope; where it cannot be read, as an error value, so that
 * its uses report nothing more. A file is parsed once, however often it is imported. */
void eval_import(Build *b, const AstStmt *stmt);

/* ---- resolve.c ---- */

/* Reports unknown names in the body of a function that nothing has applied. */
void resolve_unapplied(Build *b, const Function *fn);

/* ---- unused.c ---- */

/* Warns of dims, constants, lets, parameters and scalars that nothing in the file mentions. */
void warn_unused(Build *b, const AstFile *file);

#endif
