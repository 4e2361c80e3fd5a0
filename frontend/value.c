/* Values that are known, or nearly known, while the program is read: numbers and sizes.
 *
 * Integers stay exact while they fit 63 bits and become floating numbers beyond. Arithmetic between
 * sizes stays a size; a known size stays one leaf that remembers the dim it was spelled through,
 * since such a size never broadcasts. Everything that cannot be folded becomes nodes of the graph.
 */
#include <math.h>

#include "frontend/build.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"

Value value_error(void) { return (Value){.kind = VALUE_ERROR}; }

Value value_integer(int64_t integer, Span span)
{
	return (Value){.kind = VALUE_NUMBER, .is_integer = true, .integer = integer,
		       .number = (double)integer, .span = span};
}

Value value_number(double number, Span span)
{
	return (Value){.kind = VALUE_NUMBER, .number = number, .span = span};
}

Value value_size(const SizeExpr *size, Span span)
{
	return (Value){.kind = VALUE_SIZE, .size = size, .span = span};
}

Value value_node(NodeId node, Span span)
{
	if (node == NODE_NONE)
		return value_error();
	return (Value){.kind = VALUE_TENSOR, .node = node, .span = span};
}

Value value_results(const Value *items, uint32_t n, Span span)
{
	return (Value){
		.kind = VALUE_TUPLE, .results = true, .items = items, .nitems = n, .span = span};
}

const char *value_describe(const Value *value)
{
	switch (value->kind) {
	case VALUE_NUMBER: return "a number";
	case VALUE_SIZE: return "a size";
	case VALUE_TENSOR: return "a tensor";
	case VALUE_TUPLE: return "a tuple";
	case VALUE_FN: return "a function";
	case VALUE_STEPS: return "a routine of steps";
	case VALUE_INSTANCE: return "an instance of a function";
	case VALUE_BUILTIN: return "a function of the language";
	case VALUE_WORD: return "a word for borders";
	case VALUE_MODULE: return "an imported file";
	case VALUE_ERROR: break;
	}
	return "nothing";
}

bool value_get_integer(const Value *value, int64_t *out)
{
	if (value->kind == VALUE_SIZE)
		return size_expr_value(value->size, out);
	if (value->kind != VALUE_NUMBER)
		return false;
	if (value->is_integer) {
		*out = value->integer;
		return true;
	}
	if (value->number != floor(value->number) || fabs(value->number) > 0x1p53)
		return false;
	*out = (int64_t)value->number;
	return true;
}

bool value_get_number(const Value *value, double *out)
{
	int64_t integer;
	if (value->kind == VALUE_NUMBER) {
		*out = value->number;
		return true;
	}
	if (!value_get_integer(value, &integer))
		return false;
	*out = (double)integer;
	return true;
}

bool value_get_exact(const Value *value, long double *out)
{
	int64_t integer;
	double number = 0;
	bool whole = value_is_whole(value) && value_get_integer(value, &integer);
	if (!whole && !value_get_number(value, &number))
		return false;
	*out = whole ? (long double)integer : (long double)number;
	return true;
}

bool value_is_whole(const Value *value)
{
	return value->kind == VALUE_SIZE ? !value->size->divides
					 : value->kind == VALUE_NUMBER && value->is_integer;
}

bool value_is_known(const Value *value)
{
	double number;
	return value_get_number(value, &number);
}

bool value_scales(const Value *value)
{
	return value->kind == VALUE_NUMBER || value->kind == VALUE_SIZE ||
	       (value->kind == VALUE_TENSOR && value->scales);
}

bool value_scales_left(const Value *value)
{
	return value_scales(value) || (value->kind == VALUE_TENSOR && value->scales_left);
}

/* ---- folding ---- */

static bool power(int64_t base, int64_t exponent, int64_t *out)
{
	int64_t result = 1;
	if (exponent < 0 || exponent > 62)
		return false;
	for (int64_t i = 0; i < exponent; i++) {
		if (__builtin_mul_overflow(result, base, &result))
			return false;
	}
	*out = result;
	return true;
}

/* Integers under an operation whose result is an integer; false: use floating numbers. */
static bool fold_integers(Op op, int64_t a, int64_t c, int64_t *out)
{
	switch (op) {
	case OP_ADD: return !__builtin_add_overflow(a, c, out);
	case OP_SUB: return !__builtin_sub_overflow(a, c, out);
	case OP_MUL: return !__builtin_mul_overflow(a, c, out);
	case OP_NEG: return !__builtin_sub_overflow(0, a, out);
	case OP_POW: return power(a, c, out);
	case OP_DIV:
		if (c == 0 || (a == INT64_MIN && c == -1) || a % c != 0)
			return false;
		*out = a / c;
		return true;
	case OP_MOD:
		if (c == 0 || c == -1)
			return false;
		*out = a % c;
		*out += *out != 0 && ((*out < 0) != (c < 0)) ? c : 0;
		return true;
	case OP_LT: *out = a < c; return true;
	case OP_LE: *out = a <= c; return true;
	case OP_GT: *out = a > c; return true;
	case OP_GE: *out = a >= c; return true;
	case OP_EQ: *out = a == c; return true;
	case OP_NE: *out = a != c; return true;
	case OP_AND: *out = a && c; return true;
	case OP_OR: *out = a || c; return true;
	case OP_NOT: *out = !a; return true;
	case OP_MAX: *out = a > c ? a : c; return true;
	case OP_MIN: *out = a < c ? a : c; return true;
	case OP_ID:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: *out = a; return true;
	case OP_ABS: *out = a; return a >= 0 || !__builtin_sub_overflow(0, a, out);
	case OP_SIGN: *out = (a > 0) - (a < 0); return true;
	case OP_RELU: *out = a > 0 ? a : 0; return true;
	default: return false;
	}
}

static Sym dim_name(const Value *value)
{
	return value->kind == VALUE_SIZE && value->size->kind == SX_FIXED ? value->size->name
									  : NULL;
}

static Value fold_known(Build *b, Op op, const Value *args, uint32_t nargs, Span span)
{
	int64_t integers[3] = {0}, result;
	Scalar scalars[3];
	bool all_integers = true, divides = op == OP_DIV;
	Sym name = NULL;
	for (uint32_t i = 0; i < nargs; i++) {
		value_get_number(&args[i], &scalars[i].f);
		all_integers = value_get_integer(&args[i], &integers[i]) && all_integers &&
			       (args[i].kind == VALUE_SIZE || args[i].is_integer);
		name = name ? name : dim_name(&args[i]);
		divides |= args[i].kind == VALUE_SIZE && args[i].size->divides;
	}
	if (!all_integers || nargs > 2 || !fold_integers(op, integers[0], integers[1], &result)) {
		double number = op_eval(op, DTYPE_F64, scalars).f;
		bool rounds = op == OP_FLOOR || op == OP_CEIL || op == OP_ROUND || op == OP_TRUNC;
		return rounds && fabs(number) < 0x1p53 ? value_integer((int64_t)number, span)
						       : value_number(number, span);
	}
	if (name && !op_gives_truth(op))
		return value_size(size_expr_new(b, (SizeExpr){.kind = SX_FIXED,
							      .span = span,
							      .number = result,
							      .name = name,
							      .divides = divides}),
				  span);
	return value_integer(result, span);
}

/* A sum, product or quotient with a symbolic size in it. */
static bool fold_symbolic(Build *b, Op op, const Value *args, Span span, Value *out)
{
	static const struct { Op op; SizeExprKind kind; } kinds[] = {
		{OP_ADD, SX_ADD}, {OP_SUB, SX_SUB}, {OP_MUL, SX_MUL}, {OP_DIV, SX_DIV},
	};
	const SizeExpr *sides[2];
	for (int i = 0; i < 2; i++) {
		int64_t integer;
		if (args[i].kind == VALUE_SIZE)
			sides[i] = args[i].size;
		else if (args[i].is_integer && value_get_integer(&args[i], &integer))
			sides[i] = size_expr_number(b, integer, args[i].span);
		else
			return false;
	}
	for (int i = 0; i < 4; i++) {
		if (kinds[i].op == op) {
			*out = value_size(size_expr_new(b, (SizeExpr){.kind = kinds[i].kind,
								      .span = span,
								      .a = sides[0],
								      .b = sides[1]}),
					  span);
			return true;
		}
	}
	return false;
}

/* In a size: floor(a / k) and ceil(a / k) of a number k, as dims round. */
static bool fold_rounded(Build *b, Op op, const Value *arg, Span span, Value *out)
{
	const SizeExpr *size = arg->size;
	if (!b->wants_size || (op != OP_FLOOR && op != OP_CEIL) || size->kind != SX_DIV ||
	    size->a->divides || size->b->kind != SX_NUMBER || size->b->number < 1)
		return false;
	const SizeExpr *one = size_expr_number(b, 1, span);
	const SizeExpr *a = op == OP_CEIL ? size->a : size_expr_of(b, SX_ADD, size->a, one);
	const SizeExpr *up = size_expr_of(b, SX_CEIL, a, size->b);
	*out = value_size(op == OP_CEIL ? up : size_expr_of(b, SX_SUB, up, one), span);
	return true;
}

bool value_fold(Build *b, Op op, const Value *args, uint32_t nargs, Span span, Value *out)
{
	bool known = true;
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i].kind != VALUE_NUMBER && args[i].kind != VALUE_SIZE)
			return false;
		known = known && value_is_known(&args[i]);
	}
	if (known && op != OP_WHERE && op != OP_FMA) {
		*out = fold_known(b, op, args, nargs, span);
		return true;
	}
	return nargs == 2 ? fold_symbolic(b, op, args, span, out)
			  : nargs == 1 && fold_rounded(b, op, args, span, out);
}

/* ---- to nodes ---- */

static NodeId number_node(Build *b, const Value *value)
{
	NodeId id = node_new(b, NODE_NUMBER, value->span, value->span);
	Node *node = graph_node(b->graph, id);
	node->number = value->number;
	node->is_integer = value->is_integer;
	node->integer = value->integer;
	return id;
}

static NodeId size_node(Build *b, const SizeExpr *size, Span span)
{
	static const Op ops[] = {
		[SX_ADD] = OP_ADD, [SX_SUB] = OP_SUB, [SX_MUL] = OP_MUL, [SX_DIV] = OP_DIV};
	if (!size->a || !size->divides) {
		NodeId id = node_new(b, NODE_SIZE, span, span);
		graph_node(b->graph, id)->size_expr = size;
		return id;
	}
	Span spans[2] = {size->a->span, size->b->span};
	NodeId args[2] = {size_node(b, size->a, spans[0]), size_node(b, size->b, spans[1])};
	return node_pointwise(b, ops[size->kind], args, spans, 2, span, span);
}

/* Does a tensor stand in the configuration of an instance, as in `pool(x)` for `pool()(x)`? */
static bool configured_by_tensor(const Instance *instance)
{
	const Scope *configs = instance->configs;
	for (size_t i = 0; i < configs->names.n; i++) {
		if (configs->names.at[i].value.kind == VALUE_TENSOR)
			return true;
	}
	return false;
}

static bool every_config_has_default(const AstStmt *fn)
{
	for (uint32_t i = 0; i < fn->nconfigs; i++) {
		if (!fn->configs[i].value)
			return false;
	}
	return true;
}

/* A function, or an instance, that stands where its application to tensors belongs. */
void function_note_lists(Build *b, const AstStmt *fn)
{
	const char *params = fn->nparams ? fn->params[0].name.sym : "";
	for (uint32_t i = 1; i < fn->nparams; i++)
		params = arena_printf(b->arena, "%s, %s", params, fn->params[i].name.sym);
	diag_note(b->diags, fn->name.span,
		  "'%s' takes a configuration and then tensors: %s(%s)(%s)", fn->name.sym,
		  fn->name.sym, fn->nconfigs ? "..." : "", params);
}

static void note_lists(Build *b, const Value *value)
{
	const AstStmt *fn = value->kind == VALUE_FN ? value->fn->stmt : value->instance->fn->stmt;
	if (!fn->has_configs)
		return;
	function_note_lists(b, fn);
	if (value->kind != VALUE_INSTANCE || !configured_by_tensor(value->instance) ||
	    !every_config_has_default(fn))
		return;
	Span at = value->instance->call->args[0]->span;
	at.start = at.end;
	diag_fix(b->diags, at, "()",
		 "apply the configuration, here all defaults, before the tensors");
}

NodeId value_to_node(Build *b, Value value)
{
	switch (value.kind) {
	case VALUE_ERROR: return NODE_NONE;
	case VALUE_TENSOR: return value.node;
	case VALUE_NUMBER: return number_node(b, &value);
	case VALUE_SIZE: return size_node(b, value.size, value.span);
	case VALUE_TUPLE:
		if (!value.results)
			return literal_from_tuple(b, &value);
		break;
	default: break;
	}
	diag(b->diags, E0209, value.span, "a tensor is needed here, and this is %s",
	     value_describe(&value));
	if (value.kind == VALUE_TUPLE)
		diag_note(b->diags, value.span, "'let (a, b) = ...' names each of its %u values",
			  value.nitems);
	if (value.kind == VALUE_FN || value.kind == VALUE_INSTANCE)
		note_lists(b, &value);
	return NODE_NONE;
}
