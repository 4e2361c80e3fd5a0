/* Literals to data: nested brackets become one array in storage order, or a stack where an element
 * is a tensor.
 *
 *   nest     := levels, outermost first, each an axis of one kind
 *   storage  := the levels of kind batch, then output, then input, each group outermost first
 *
 * A literal waits for its dtype like a number: its elements are long doubles, which hold each i64,
 * until node_settle says what they become.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frontend/eval.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"

typedef struct Fill {
	const Nest *nest;
	long double *out;
	bool integers, sizes;
} Fill;

static bool is_container(const AstExpr *expr)
{
	return expr->kind == AST_OUTPUTS || expr->kind == AST_BATCHES || expr->kind == AST_TUPLE;
}

bool literal_is(const AstExpr *expr) { return is_container(expr); }

static RowKind row_of(const AstExpr *expr)
{
	return expr->kind == AST_OUTPUTS   ? ROW_OUTPUT
	       : expr->kind == AST_BATCHES ? ROW_BATCH
					   : ROW_INPUT;
}

/* Built from numbers alone: evaluating it makes no nodes. */
static bool is_numeric(Build *b, const AstExpr *expr)
{
	switch (expr->kind) {
	case AST_NUMBER: return true;
	case AST_NAME: {
		const Binding *binding = scope_find(b->at.scope, expr->name.sym);
		return binding ? value_is_known(&binding->value) : !form_exists(expr->name.sym);
	}
	case AST_UNARY:
	case AST_BINARY:
	case AST_COMPOSE:
	case AST_OUTPUTS:
	case AST_BATCHES:
	case AST_TUPLE:
		for (uint32_t i = 0; i < expr->nargs; i++) {
			if (is_container(expr->args[i]) && !is_container(expr))
				return false;
			if (!is_numeric(b, expr->args[i]))
				return false;
		}
		return true;
	default: return false;
	}
}

/* ---- nests of numbers ---- */

static bool measure_nest(Build *b, const AstExpr *expr, Nest *nest)
{
	for (; is_container(expr); expr = expr->args[0]) {
		if (expr->nargs == 0) {
			diag(b->diags, E0223, expr->span, "a literal has at least one element");
			return false;
		}
		if (nest->n == LEVELS_MAX) {
			diag(b->diags, E0223, expr->span, "a literal has at most %d axes",
			     LEVELS_MAX);
			return false;
		}
		nest->rows[nest->n] = row_of(expr);
		nest->extents[nest->n] = expr->nargs;
		nest->labels[nest->n] = expr->label.sym;
		nest->spans[nest->n++] = expr->span;
	}
	nest->count = 1;
	static const RowKind inner_first[] = {ROW_INPUT, ROW_OUTPUT, ROW_BATCH};
	for (int k = 0; k < 3; k++) {
		for (uint32_t level = nest->n; level-- > 0;) {
			if (nest->rows[level] != inner_first[k])
				continue;
			nest->strides[level] = nest->count;
			if (__builtin_mul_overflow(nest->count, nest->extents[level], &nest->count))
				nest->count = INT64_MAX;
		}
	}
	return true;
}

static bool report_ragged(Build *b, const AstExpr *expr, const Nest *nest, uint32_t level)
{
	if (level < nest->n && is_container(expr) && row_of(expr) == nest->rows[level])
		diag(b->diags, E0223, expr->span,
		     "%" PRIu32 " elements here, and %" PRId64 " in the first "
		     "one",
		     expr->nargs, nest->extents[level]);
	else
		diag(b->diags, E0223, expr->span,
		     "this element is not of the same form as the first one");
	if (nest->n)
		diag_note(b->diags, nest->spans[level < nest->n ? level : nest->n - 1],
			  "the first one");
	return false;
}

static bool fill(Build *b, const AstExpr *expr, Fill *state, uint32_t level, int64_t at)
{
	const Nest *nest = state->nest;
	bool container = is_container(expr);
	if (container != (level < nest->n) || (container && (row_of(expr) != nest->rows[level] ||
							     expr->nargs != nest->extents[level])))
		return report_ragged(b, expr, nest, level);
	for (uint32_t i = 0; container && i < expr->nargs; i++) {
		if (!fill(b, expr->args[i], state, level + 1, at + i * nest->strides[level]))
			return false;
	}
	if (container)
		return true;
	if (expr->kind == AST_NUMBER) {
		state->out[at] =
			expr->is_integer ? (long double)expr->integer : (long double)expr->number;
		state->integers = state->integers && expr->is_integer;
		return true;
	}
	Value value = eval(b, expr);
	state->integers = state->integers && value_is_whole(&value);
	state->sizes = state->sizes || value.kind == VALUE_SIZE;
	return value_get_exact(&value, &state->out[at]);
}

static NodeId numeric_literal(Build *b, const AstExpr *expr)
{
	Nest nest = {0};
	if (!measure_nest(b, expr, &nest))
		return NODE_NONE;
	/* A ragged literal may measure as far larger than its text. */
	if (nest.count > (int64_t)(expr->span.end - expr->span.start)) {
		diag(b->diags, E0223, expr->span,
		     "the elements of this literal are not of one form");
		return NODE_NONE;
	}
	Fill state = {&nest, ARENA_ARRAY(b->arena, long double, (size_t)nest.count), true, false};
	if (!fill(b, expr, &state, 0, 0))
		return NODE_NONE;
	NodeId id = literal_node(b, expr->span, literal_shape(b, &nest, expr->span),
				 (ConstData){state.out, nest.count, NULL});
	graph_node(b->graph, id)->is_integer = state.integers;
	graph_node(b->graph, id)->has_sizes = state.sizes;
	return id;
}

/* ---- literals with tensors inside ---- */

static NodeId stacked_literal(Build *b, const AstExpr *expr)
{
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, expr->nargs);
	Span *spans = ARENA_ARRAY(b->arena, Span, expr->nargs);
	for (uint32_t i = 0; i < expr->nargs; i++) {
		args[i] = eval_node(b, expr->args[i]);
		spans[i] = expr->args[i]->span;
	}
	NodeId id = node_stack(b, row_of(expr), args, spans, expr->nargs, expr->span);
	if (id != NODE_NONE)
		graph_node(b->graph, id)->stack_label = expr->label.sym;
	return id;
}

NodeId eval_literal(Build *b, const AstExpr *expr)
{
	return is_numeric(b, expr) ? numeric_literal(b, expr) : stacked_literal(b, expr);
}
