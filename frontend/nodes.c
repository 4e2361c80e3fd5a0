/* Nodes: making them, and giving them dtypes.
 *
 * A number, a size and a literal have no dtype of their own: they take their neighbour's when they
 * meet one, and so does arithmetic between them. Such nodes wait with DTYPE_NONE; node_settle
 * decides for a node and for all that waits below it. What is not written as an integer, or
 * divides, is never made an integer: beside an integer it is f32. Where no neighbour says, numbers
 * are f32, and sizes, with the integers beside them, i32.
 *
 * bf16, f16, i8 and u8 are types of storage: an operation on them gives their wide type, and reads
 * each operand widened, without a cast. What moves elements only keeps their type.
 */
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "frontend/build.h"
#include "frontend/nodes.h"
#include "frontend/random.h"

NodeId node_new(Build *b, NodeKind kind, Span span, Span op_span)
{
	Node node = {.kind = kind,
		     .op = OP_NONE,
		     .reduce = OP_NONE,
		     .dtype = DTYPE_NONE,
		     .span = span,
		     .op_span = op_span,
		     .site = b->at.site,
		     .recomputes = b->recomputes,
		     .like = NODE_NONE,
		     .packs = NODE_NONE,
		     .target = NODE_NONE,
		     .acc = OP_NONE};
	PUSH(b->arena, b->graph->nodes, node);
	return (NodeId)(b->graph->nodes.n - 1);
}

void node_set_args(Build *b, NodeId id, const NodeId *args, const Span *spans, uint32_t nargs)
{
	Node *node = graph_node(b->graph, id);
	node->nargs = nargs;
	node->args = ARENA_ARRAY(b->arena, NodeId, nargs);
	node->arg_spans = ARENA_ARRAY(b->arena, Span, nargs);
	memcpy(node->args, args, nargs * sizeof *args);
	memcpy(node->arg_spans, spans, nargs * sizeof *spans);
}

NodeId node_move_last(Build *b, NodeId id)
{
	Node copy = *graph_node(b->graph, id);
	PUSH(b->arena, b->graph->nodes, copy);
	for (With *with = b->at.withs; with; with = with->outer)
		PUSH(b->arena, with->nodes, (NodeId)(b->graph->nodes.n - 1));
	return (NodeId)(b->graph->nodes.n - 1);
}

Dtype node_dtype(const Build *b, NodeId id) { return graph_node(b->graph, id)->dtype; }

void node_name(Build *b, NodeId id, Sym name, Span span)
{
	Node *node = graph_node(b->graph, id);
	if (node->name || node->kind == NODE_NUMBER)
		return;
	node->name = name;
	node->name_span = span;
}

void listing_add(Build *b, Sym name, NodeId node, Span span)
{
	PUSH(b->arena, b->graph->listing, ((Listing){name, node, span}));
}

/* ---- dtypes ---- */

Dtype written_dtype(Build *b, Dtype dtype, Span span)
{
	if (dtype == DTYPE_NONE)
		return DTYPE_F32;
	if (dtype == DTYPE_U4X32) {
		diag(b->diags, E0242, span,
		     "u4x32 stands inside expressions alone: u4x32(...) makes "
		     "random words of integers there");
		return DTYPE_I32;
	}
	return dtype;
}

/* An operation on integers that computes in f32. */
static bool wants_float(Op op)
{
	Dtype integers[3] = {DTYPE_I32, DTYPE_I32, DTYPE_I32};
	return !op_gives_truth(op) && dtype_is_float(op_result_dtype(op, integers, op_arity(op)));
}

static bool is_floating(const Node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_CONST: return !node->is_integer;
	case NODE_SIZE: return node->size_expr->divides;
	case NODE_POINTWISE: return wants_float(node->op);
	default: return false;
	}
}

static bool is_sized(const Node *node) { return node->kind == NODE_SIZE || node->has_sizes; }

/* What nodes that wait become beside `dtype`; DTYPE_NONE: beside none. */
static Dtype dtype_beside(const Build *b, const NodeId *waiting, size_t n, Dtype dtype)
{
	bool floating = false, sized = false;
	for (size_t i = 0; i < n; i++) {
		const Node *node = graph_node(b->graph, waiting[i]);
		floating = floating || is_floating(node);
		sized = sized || is_sized(node);
	}
	if (dtype == DTYPE_NONE)
		return sized && !floating ? DTYPE_I32 : DTYPE_F32;
	return floating && !dtype_is_float(dtype) ? DTYPE_F32 : dtype;
}

static int compare_ids(const void *a, const void *b)
{
	NodeId x = *(const NodeId *)a, y = *(const NodeId *)b;
	return (x > y) - (x < y);
}

/* ---- literals: numbers that hold each i64 and f64, to the dtype ---- */

static bool in_range(Build *b, const Node *node, long double value)
{
	Scalar least = op_neutral(OP_MAX, node->dtype), greatest = op_neutral(OP_MIN, node->dtype);
	if (!dtype_is_integer(node->dtype) ||
	    (value >= (long double)least.i && value <= (long double)greatest.i))
		return true;
	diag(b->diags, E0232, node->span, "%.20Lg is outside the range of %s", value,
	     dtype_name(node->dtype));
	return false;
}

static Scalar settled(long double value, Dtype dtype)
{
	if (dtype_is_integer(dtype) && dtype != DTYPE_BOOL)
		return (Scalar){.i = (int64_t)value};
	return scalar_convert((Scalar){.f = (double)value}, DTYPE_F64, dtype);
}

/* Converts what waited as long doubles to the dtype that was settled; checks the range of integers. */
static void literal_finish(Build *b, NodeId id)
{
	Node *node = graph_node(b->graph, id);
	if (node->kind == NODE_NUMBER && node->is_integer)
		in_range(b, node, (long double)node->integer);
	if (node->kind != NODE_CONST)
		return;
	const long double *from = node->data->bytes;
	int64_t n = node->data->count;
	ConstData *data = ARENA_NEW(b->arena, ConstData);
	*data = *node->data;
	size_t bytes;
	REQUIRE(dtype_room(node->dtype, (size_t)n, &bytes));
	void *to = arena_alloc(b->arena, bytes);
	for (int64_t i = 0; i < n && in_range(b, node, from[i]); i++)
		scalar_write(node->dtype, to, i, settled(from[i], node->dtype));
	data->bytes = to;
	node->data = data;
}

/* ---- waiting nodes ---- */

static void mark(Build *b, NodeIds *waiting, NodeId id)
{
	Node *node = graph_node(b->graph, id);
	if (node->dtype != DTYPE_NONE)
		return;
	node->dtype = DTYPE_F32; /* marks it as seen */
	PUSH(b->arena, *waiting, id);
}

/* All that waits below the nodes from `first` on; the least of these. */
static NodeId mark_below(Build *b, NodeIds *waiting, size_t first)
{
	NodeId least = NODE_NONE;
	for (size_t i = first; i < waiting->n; i++) {
		const Node *user = graph_node(b->graph, waiting->at[i]);
		for (uint32_t k = 0; k < user->nargs; k++)
			mark(b, waiting, user->args[k]);
		least = waiting->at[i] < least ? waiting->at[i] : least;
	}
	return least;
}

/* Does it wait, and an operand no more? */
static bool is_left_waiting(const Build *b, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	bool left = false;
	for (uint32_t k = 0; k < node->nargs; k++)
		left |= node_dtype(b, node->args[k]) != DTYPE_NONE;
	return left && node->kind == NODE_POINTWISE && node->dtype == DTYPE_NONE;
}

/* Those of some nodes that wait, all that waits below them, and what was computed of any of these before, get one
 * dtype. */
static void settle(Build *b, const NodeId *ids, uint32_t n, Dtype dtype)
{
	NodeIds waiting = {0};
	for (uint32_t i = 0; i < n; i++)
		mark(b, &waiting, ids[i]);
	if (waiting.n == 0)
		return;
	for (NodeId id = mark_below(b, &waiting, 0); id < b->graph->nodes.n; id++) {
		size_t first = waiting.n;
		if (!is_left_waiting(b, id))
			continue;
		mark(b, &waiting, id);
		id = mark_below(b, &waiting,
				first); /* others may wait for what is below this one */
	}
	dtype = dtype_beside(b, waiting.at, waiting.n, dtype);
	qsort(waiting.at, waiting.n, sizeof *waiting.at, compare_ids);
	for (size_t i = 0; i < waiting.n; i++) {
		graph_node(b->graph, waiting.at[i])->dtype = dtype;
		literal_finish(b, waiting.at[i]);
	}
}

void node_settle(Build *b, NodeId id, Dtype dtype)
{
	if (id != NODE_NONE)
		settle(b, &id, 1, dtype);
}

NodeId node_cast(Build *b, NodeId id, Dtype dtype, Span span)
{
	if (id == NODE_NONE)
		return id;
	node_settle(b, id, dtype_wide(dtype));
	if (node_dtype(b, id) == dtype)
		return id;
	NodeId cast = node_new(b, NODE_CAST, span, span);
	node_set_args(b, cast, &id, &span, 1);
	graph_node(b->graph, cast)->dtype = dtype;
	return cast;
}

static Dtype join_of(const Build *b, const NodeId *args, uint32_t nargs)
{
	Dtype joined = DTYPE_NONE;
	for (uint32_t i = 0; i < nargs; i++)
		joined = dtype_join(joined, node_dtype(b, args[i]));
	return joined;
}

static void cast_all(Build *b, NodeId *args, uint32_t nargs, Dtype dtype)
{
	for (uint32_t i = 0; i < nargs; i++)
		if (dtype_wide(node_dtype(b, args[i])) != dtype)
			args[i] = node_cast(b, args[i], dtype, graph_node(b->graph, args[i])->span);
}

Dtype nodes_join(Build *b, NodeId *args, uint32_t nargs)
{
	Dtype joined = join_of(b, args, nargs);
	if (joined == DTYPE_NONE)
		settle(b, args, nargs, joined);
	for (uint32_t i = 0; i < nargs; i++)
		node_settle(b, args[i], joined);
	joined = join_of(b, args, nargs);
	cast_all(b, args, nargs, joined);
	return joined;
}

/* The one dtype of all that have one; DTYPE_NONE: there are several, or none. */
static Dtype common_of(const Build *b, const NodeId *args, uint32_t nargs)
{
	Dtype common = DTYPE_NONE;
	for (uint32_t i = 0; i < nargs; i++) {
		Dtype dtype = node_dtype(b, args[i]);
		if (common != DTYPE_NONE && dtype != DTYPE_NONE && dtype != common)
			return DTYPE_NONE;
		common = dtype == DTYPE_NONE ? common : dtype;
	}
	return common;
}

Dtype nodes_unite(Build *b, NodeId *args, uint32_t nargs)
{
	Dtype dtype = common_of(b, args, nargs);
	for (uint32_t i = 0; i < nargs && dtype != DTYPE_NONE; i++)
		node_settle(b, args[i], dtype);
	dtype = common_of(b, args, nargs);
	if (dtype == DTYPE_NONE)
		dtype = nodes_join(b, args, nargs);
	for (uint32_t i = 0; i < nargs; i++)
		args[i] = node_cast(b, args[i], dtype, graph_node(b->graph, args[i])->span);
	return dtype;
}

/* The condition of `where` joins its values: as it is when the dtype agrees, else as 0 or 1. */
static void join_condition(Build *b, NodeId *args, const Span *spans, Dtype dtype)
{
	node_settle(b, args[0], dtype);
	if (dtype_wide(node_dtype(b, args[0])) == dtype)
		return;
	NodeId zero = node_new(b, NODE_NUMBER, spans[0], spans[0]);
	graph_node(b->graph, zero)->is_integer = true;
	NodeId sides[2] = {args[0], zero};
	Span both[2] = {spans[0], spans[0]};
	args[0] = node_cast(b, node_pointwise(b, OP_NE, sides, both, 2, spans[0], spans[0]), dtype,
			    spans[0]);
}

Dtype nodes_join_for(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs)
{
	uint32_t first = op == OP_WHERE;
	Dtype joined = join_of(b, args + first, nargs - first);
	if (joined == DTYPE_NONE && !op_gives_truth(op) && !first)
		return DTYPE_NONE;
	joined = nodes_join(b, args + first, nargs - first);
	if (dtype_is_integer(joined) && wants_float(op)) {
		joined = DTYPE_F32;
		cast_all(b, args, nargs, joined);
	}
	if (first)
		join_condition(b, args, spans, joined);
	return joined;
}

NodeId node_pointwise(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs, Span span,
		      Span op_span)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i] == NODE_NONE)
			return NODE_NONE;
	}
	bool on_words = op == OP_ID || op == OP_THREEFRY || op == OP_ZIP || op == OP_ROTATE;
	if (!on_words && refuses_words(b, args, spans, nargs))
		return NODE_NONE;
	Dtype joined = nodes_join_for(b, op, args, spans, nargs);
	Dtype dtypes[3] = {joined, joined, joined};
	NodeId id = node_new(b, NODE_POINTWISE, span, op_span);
	node_set_args(b, id, args, spans, nargs);
	Node *node = graph_node(b->graph, id);
	node->op = op;
	node->dtype = joined == DTYPE_NONE ? DTYPE_NONE
		      : op == OP_ID	   ? node_dtype(b, args[0])
					   : op_result_dtype(op, dtypes, (int)nargs);
	return id;
}

void nodes_widen(Build *b, NodeId *args, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++) {
		Dtype dtype = node_dtype(b, args[i]);
		if (dtype_is_float(dtype))
			args[i] = node_cast(b, args[i], dtype_wide(dtype),
					    graph_node(b->graph, args[i])->span);
	}
}

NodeId node_compose(Build *b, NodeId a, NodeId c, const AstExpr *expr)
{
	if (a == NODE_NONE || c == NODE_NONE)
		return NODE_NONE;
	NodeId args[2] = {a, c};
	Span spans[2] = {expr->args[0]->span, expr->args[1]->span};
	if (refuses_words(b, args, spans, 2))
		return NODE_NONE;
	Dtype dtype = nodes_join(b, args, 2);
	nodes_widen(b, args, 2);
	NodeId id = node_new(b, NODE_COMPOSE, expr->span, expr->op_span);
	node_set_args(b, id, args, spans, 2);
	graph_node(b->graph, id)->op = OP_MUL;
	graph_node(b->graph, id)->reduce = OP_ADD;
	graph_node(b->graph, id)->dtype = dtype;
	return id;
}

static bool all_wait(const Build *b, const NodeId *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (node_dtype(b, ids[i]) != DTYPE_NONE)
			return false;
	}
	return true;
}

NodeId node_stack(Build *b, RowKind row, NodeId *args, const Span *spans, uint32_t nargs, Span span)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i] == NODE_NONE)
			return NODE_NONE;
	}
	if (refuses_mixed_words(b, args, spans, nargs))
		return NODE_NONE;
	if (nargs > LIMIT_STACKED) {
		diag(b->diags, E0932, span,
		     "so many blocks in one operation are not supported yet");
		return NODE_NONE;
	}
	Dtype dtype = all_wait(b, args, nargs) ? DTYPE_NONE : nodes_unite(b, args, nargs);
	NodeId id = node_new(b, NODE_STACK, span, span);
	node_set_args(b, id, args, spans, nargs);
	graph_node(b->graph, id)->stack_row = row;
	graph_node(b->graph, id)->dtype = dtype;
	return id;
}
