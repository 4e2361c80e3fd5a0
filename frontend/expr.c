/* Expressions to values: one case an expression kind, the larger ones in files of their own.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/anew.h"
#include "frontend/border.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"
#include "frontend/passed.h"
#include "frontend/scan.h"
#include "frontend/updates.h"

/* ---- names ---- */

static Value constant_of(Sym name, Span span)
{
	static const struct {
		const char *name;
		double value;
	} constants[] = {
		{"inf", __builtin_inf()},
		{"nan", __builtin_nan("")},
		{"pi", 3.14159265358979323846},
	};
	for (int i = 0; i < 3; i++) {
		if (strcmp(name, constants[i].name) == 0)
			return value_number(constants[i].value, span);
	}
	return value_error();
}

static Value eval_name(Build *b, const AstExpr *expr)
{
	Sym name = expr->name.sym;
	Binding *binding = scope_find(b->at.scope, name);
	if (binding) {
		Value value = binding->value;
		value.span = expr->span;
		if (value.kind == VALUE_TENSOR)
			value.node = anew_read(b->anew, value.node);
		return b->wants_size ? value_as_passed(value) : value;
	}
	Value constant = constant_of(name, expr->span);
	if (constant.kind != VALUE_ERROR)
		return constant;
	if (form_exists(name))
		return (Value){.kind = VALUE_BUILTIN, .builtin = name, .span = expr->span};
	if (border_is_word(name))
		return (Value){.kind = VALUE_WORD, .word = name, .span = expr->span};
	scope_report_unknown(b, (Name){name, expr->span});
	return value_error();
}

/* ---- pointwise ---- */

Value eval_pointwise(Build *b, Op op, const Value *args, uint32_t nargs, const AstExpr *expr)
{
	Value folded;
	NodeId nodes[3];
	Span spans[3];
	bool scales = true, left = true;
	if (value_fold(b, op, args, nargs, expr->span, &folded))
		return folded;
	for (uint32_t i = 0; i < nargs; i++) {
		nodes[i] = value_to_node(b, args[i]);
		spans[i] = args[i].span;
		scales = scales && value_scales(&args[i]);
		left = left && value_scales_left(&args[i]);
	}
	Value value = value_node(
		node_pointwise(b, op, nodes, spans, nargs, expr->span, expr->op_span), expr->span);
	value.scales = scales;
	value.scales_left = left;
	return value;
}

static bool any_error(const Value *args, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i].kind == VALUE_ERROR)
			return true;
	}
	return false;
}

static Value eval_operation(Build *b, const AstExpr *expr)
{
	Value args[2] = {value_error(), value_error()};
	for (uint32_t i = 0; i < expr->nargs; i++)
		args[i] = eval(b, expr->args[i]);
	if (any_error(args, expr->nargs))
		return value_error();
	if (expr->kind != AST_COMPOSE)
		return eval_pointwise(b, expr->op, args, expr->nargs, expr);
	if (value_scales_left(&args[0]) || value_scales(&args[1]))
		return eval_pointwise(b, OP_MUL, args, 2, expr);
	NodeId a = value_to_node(b, args[0]), c = value_to_node(b, args[1]);
	return value_node(node_compose(b, a, c, expr), expr->span);
}

/* ---- forms with one operand ---- */

static NodeId unary_node(Build *b, NodeKind kind, const AstExpr *expr)
{
	NodeId arg = eval_node(b, expr->args[0]);
	if (arg == NODE_NONE)
		return NODE_NONE;
	node_settle(b, arg, DTYPE_NONE);
	NodeId id = node_new(b, kind, expr->span, expr->op_span);
	node_set_args(b, id, &arg, &expr->args[0]->span, 1);
	graph_node(b->graph, id)->dtype = node_dtype(b, arg);
	return id;
}

/* The index of `a @ i` when it is not known now: the value of one integer when the program runs. */
static NodeId index_node(Build *b, const AstExpr *expr, NodeId of, Value index)
{
	NodeId at = value_to_node(b, index);
	if (at == NODE_NONE)
		return NODE_NONE;
	node_settle(b, at, DTYPE_I32);
	if (value_scales(&index) && dtype_is_integer(node_dtype(b, at)))
		return at;
	diag(b->diags, E0231, index.span,
	     "the index of '@' is an integer, a size or a routine's integer scalar, and this is %s of %s",
	     value_describe(&index), dtype_name(node_dtype(b, at)));
	if (dtype_is_integer(node_dtype(b, at)))
		diag_note(
			b->diags, index.span,
			"gather(table, ids) takes the elements of its leftmost output axis at the ids");
	else if (index.kind == VALUE_TENSOR)
		foreign_product(b, expr, of, at);
	return NODE_NONE;
}

static Value eval_slice(Build *b, const AstExpr *expr)
{
	NodeId args[2] = {eval_node(b, expr->args[0]), NODE_NONE};
	Span spans[2] = {expr->args[0]->span, expr->args[1]->span};
	Value index = eval_wanting_size(b, expr->args[1]);
	int64_t number = 0;
	if (args[0] == NODE_NONE || index.kind == VALUE_ERROR)
		return value_error();
	bool known = value_get_integer(&index, &number);
	if (known && number < 0) {
		diag(b->diags, E0210, index.span, "an index counts from 0, and this is %" PRId64,
		     number);
		return value_error();
	}
	enum { INDEX_BITS = 46 }; /* as many bytes has no tensor */
	if (known && number >= (int64_t)1 << INDEX_BITS) {
		diag(b->diags, E0210, index.span, "no axis has an index of 2^%d or more",
		     INDEX_BITS);
		return value_error();
	}
	bool size = known || index.kind == VALUE_SIZE;
	if (!size && (args[1] = index_node(b, expr, args[0], index)) == NODE_NONE)
		return value_error();
	node_settle(b, args[0], DTYPE_NONE);
	NodeId id = node_new(b, NODE_SLICE, expr->span, expr->op_span);
	node_set_args(b, id, args, spans, size ? 1 : 2);
	graph_node(b->graph, id)->slice_index = number;
	if (size && !known) {
		SizeExpr at = *index.size;
		at.span = spans[1];
		graph_node(b->graph, id)->size_expr = size_expr_new(b, at);
	}
	graph_node(b->graph, id)->dtype = node_dtype(b, args[0]);
	return value_node(id, expr->span);
}

/* ---- tuples and literals ---- */

static Value eval_tuple(Build *b, const AstExpr *expr)
{
	if (expr->label.sym)
		return value_node(eval_literal(b, expr), expr->span);
	Value *items = ARENA_ARRAY(b->arena, Value, expr->nargs);
	for (uint32_t i = 0; i < expr->nargs; i++)
		items[i] = eval(b, expr->args[i]);
	return (Value){
		.kind = VALUE_TUPLE, .items = items, .nitems = expr->nargs, .span = expr->span};
}

static Value eval_number(const AstExpr *expr)
{
	return expr->is_integer ? value_integer(expr->integer, expr->span)
				: value_number(expr->number, expr->span);
}

static Value refuse_string(Build *b, const AstExpr *expr)
{
	diag(b->diags, E0209, expr->span,
	     "a text stands only as the specification of a form such as einsum, or in file(...)");
	return value_error();
}

static Value eval_updated(Build *b, const AstExpr *expr)
{
	NodeId first = (NodeId)b->graph->nodes.n;
	Value value = eval(b, expr->args[0]);
	return value.kind == VALUE_ERROR ? value : update_note(b, expr, value, first);
}

static Value dispatch(Build *b, const AstExpr *expr)
{
	switch (expr->kind) {
	case AST_NUMBER: return eval_number(expr);
	case AST_STRING: return refuse_string(b, expr);
	case AST_NAME: return eval_name(b, expr);
	case AST_MEMBER: return eval_member(b, expr);
	case AST_CALL: return eval_call(b, expr);
	case AST_UNARY:
	case AST_BINARY:
	case AST_COMPOSE: return eval_operation(b, expr);
	case AST_TRANSPOSE: return value_node(unary_node(b, NODE_TRANSPOSE, expr), expr->span);
	case AST_SLICE: return eval_slice(b, expr);
	case AST_WITH: return eval_with(b, expr);
	case AST_UPDATE: return eval_updated(b, expr);
	case AST_PARAM: return value_node(param_inline(b, expr), expr->span);
	case AST_ITERATE: return eval_iterate(b, expr);
	case AST_SCAN: return eval_scan(b, expr);
	case AST_IF: return eval_if(b, expr);
	case AST_LET_IN: return eval_let_in(b, expr);
	case AST_WRITE: return eval_write(b, expr);
	case AST_TUPLE: return eval_tuple(b, expr);
	case AST_OUTPUTS:
	case AST_BATCHES: return value_node(eval_literal(b, expr), expr->span);
	case AST_FILE:
		diag(b->diags, E0224, expr->span,
		     "a file's data needs a name: const NAME = file(...)");
		return value_error();
	case AST_SHAPED:
		diag(b->diags, E0239, expr->op_span,
		     "a shape behind an argument belongs to reshape: reshape(x : [n | 3, 4])");
		return value_error();
	case AST_ERROR: break;
	}
	return value_error();
}

Value eval(Build *b, const AstExpr *expr)
{
	b->depth++;
	Value value = limits_hold(b, expr->span) ? dispatch(b, expr) : value_error();
	b->depth--;
	return value;
}

Value eval_named(Build *b, const AstExpr *expr, Sym name)
{
	const AstExpr *named = b->named;
	Sym named_as = b->named_as, place = b->place;
	if (!place)
		b->place = name;
	else if (name != named_as)
		b->place = sym_printf(b->symbols, "%s.%s", place, name);
	b->named = expr;
	b->named_as = name;
	Value value = eval(b, expr);
	b->place = place;
	b->named = named;
	b->named_as = named_as;
	return value;
}

NodeId eval_node(Build *b, const AstExpr *expr)
{
	Value value = eval(b, expr);
	if (value.kind != VALUE_ERROR)
		value.span = expr->span;
	return value_to_node(b, value);
}
