/* Loops at run time, scan(n, h = x, i) until (c) { E }, and the number of their step as a size. */
#ifndef TSR_FRONTEND_SCAN_H
#define TSR_FRONTEND_SCAN_H

#include "frontend/build.h"

/* Of the scan whose body is evaluated. */
typedef struct Carrying {
	Scope *scope; /* of the names that it carries */
	const AstBind *bind;
	const NodeId *tensors; /* by name */
	NodeId *writes;	       /* by name: the step that has written it last; NODE_NONE: none has */
	uint32_t *nwrites;
} Carrying;

/* What a step of a loop is made of: nodes from `first` on, with binds from `first_bind` on. */
typedef struct StepNodes {
	uint32_t loop;
	NodeId first;
	size_t first_bind;
	const NodeId *carried;
	uint32_t ncarried;
} StepNodes;

/* Puts those nodes into the loop that change from step to step (scan_nodes.c). */
void scan_enclose(Build *b, const StepNodes *step);
/* What else than the name of the scan's own stands for the carried tensor stays what it is here (scan_keep.c). */
void scan_keep_old(Build *b, NodeId tensor, Sym name, Span span);
/* As eval, for AST_WRITE: a step that writes what the scan around carries, then E. */
Value eval_write(Build *b, const AstExpr *expr);
/* Build.assign_to (assign.c). */
NodeId eval_assign_to(Build *b, const AstStep *step, NodeId target);
/* As eval, for AST_SCAN: what the loop carries, as the last step leaves it; the error value after an error. */
Value eval_scan(Build *b, const AstExpr *expr);

/* Is the value a tuple of as many as there are names? False after an error (control.c). */
bool bind_check_tuple(Build *b, const AstBind *bind, const Value *value);

#endif
