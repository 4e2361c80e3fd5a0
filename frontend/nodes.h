/* Nodes of the graph, and the sizes that are written in them. */
#ifndef TSR_FRONTEND_NODES_H
#define TSR_FRONTEND_NODES_H

#include "frontend/build.h"

/* ---- nodes.c ---- */

/* A node of a kind at the current site; operands are set by the callers. */
NodeId node_new(Build *b, NodeKind kind, Span span, Span op_span);
void node_set_args(Build *b, NodeId id, const NodeId *args, const Span *spans, uint32_t nargs);
/* Gives a node that waits its neighbour's dtype; DTYPE_NONE: i32 where sizes and integers alone are
 * in it, else f32. Nothing on others. */
void node_settle(Build *b, NodeId id, Dtype dtype);
NodeId node_cast(Build *b, NodeId id, Dtype dtype, Span span);
/* Brings operands to one wide dtype; returns it. Those that it is the wide dtype of stay as they
 * are. */
Dtype nodes_join(Build *b, NodeId *args, uint32_t nargs);
/* The same for the operands of an operation, to the dtype that it computes in; DTYPE_NONE where all
 * of them still wait for a neighbour. */
Dtype nodes_join_for(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs);
/* Brings the operands to one dtype; NODE_NONE where one of them is, so that an error is told
 * once. */
NodeId node_pointwise(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs, Span span,
		      Span op_span);
NodeId node_compose(Build *b, NodeId a, NodeId c, const AstExpr *expr);
NodeId node_stack(Build *b, RowKind row, NodeId *args, const Span *spans, uint32_t nargs, Span span);
/* Casts floats of storage to their wide type: the operands of a product, which lowering may widen
 * once for many uses. */
void nodes_widen(Build *b, NodeId *args, uint32_t nargs);
/* Brings parts of one array to one dtype, which is kept where all have it. */
Dtype nodes_unite(Build *b, NodeId *args, uint32_t nargs);
/* The dtype that is written, f32 where none is; one that is not supported yet is reported. */
Dtype written_dtype(Build *b, Dtype dtype, Span span);
Dtype node_dtype(const Build *b, NodeId id);
/* The same node behind all others, so that its id follows theirs; the old one is left unused. */
NodeId node_move_last(Build *b, NodeId id);
/* The first name stays; a number has none. */
void node_name(Build *b, NodeId id, Sym name, Span span);
/* What --dump=shapes lists, in order. */
void listing_add(Build *b, Sym name, NodeId node, Span span);

/* ---- size_expr.c ---- */

/* The size in the arena, never NULL: the number 1 after an error, which one of too many parts, or nested too
 * deeply, is. Long sums become balanced trees. */
const SizeExpr *size_expr_number(Build *b, int64_t number, Span span);
const SizeExpr *size_expr_new(Build *b, SizeExpr expr);
/* The size, or the number where it is NULL. */
const SizeExpr *size_expr_or(Build *b, const SizeExpr *size, int64_t number, Span span);
/* a KIND c, a number where both are. */
const SizeExpr *size_expr_of(Build *b, SizeExprKind kind, const SizeExpr *a, const SizeExpr *c);
/* Is it known now? Then *out is it. */
bool size_expr_value(const SizeExpr *expr, int64_t *out);

/* ---- constfold.c ---- */

/* The elements and shape of an expression over constants: a NODE_CONST, or NODE_NONE after an
 * error. */
NodeId const_fold(Build *b, NodeId node);

/* ---- reach.c ---- */

/* All that some nodes need, themselves included. */
typedef struct Reach {
	uint32_t mark;
	VEC(NodeId) nodes;
} Reach;
Reach reach_from(Build *b, const NodeId *roots, size_t nroots);
/* ... and all that gradients of it may need: rules of what it is computed from, too. */
Reach reach_with_rules(Build *b, NodeId root);
/* Is the node among them? Of the last one found alone. */
bool reach_has(const Build *b, const Reach *reach, NodeId id);
/* Adds a routine with what its roots reach: its nodes in order, its inputs and parameters. */
void routine_add(Build *b, Routine routine, const NodeId *roots, size_t nroots);
/* Adds `forward`, marks what is used, warns of unused inputs. */
void routines_finish(Build *b);

/* Warns of powers of integers whose exponents go below 0 (warn_powers.c). */
void warn_powers(Build *b);

#endif
