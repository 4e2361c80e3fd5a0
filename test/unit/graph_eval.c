#include "test/unit/graph_eval.h"

#include <math.h>

int64_t graph_eval_size(const GraphEval *e, Size size)
{
	int64_t value;
	REQUIRE(size_eval(e->inference->sizes, size, e->dims, &value));
	return value;
}

int64_t graph_eval_elements(const GraphEval *e, NodeId node)
{
	const Shape *shape = &e->inference->shapes[node];
	int64_t n = 1;
	for (uint32_t i = 0; i < shape_naxes(shape); i++)
		n *= graph_eval_size(e, shape_axis(shape, i)->size);
	return n;
}

typedef struct Point {
	GraphEval *e;
	NodeId id;
	const Node *node;
	const Proj *proj;
	const Piece *piece;
	int64_t *at; /* by IterId */
	bool failed;
} Point;

static int64_t flat(Point *p, NodeId tensor, const Access *access, bool *outside);

static int64_t index_of(Point *p, const Index *index)
{
	if (index->gather >= 0) {
		bool outside = false;
		NodeId ids = p->node->args[index->gather];
		return (int64_t)p->e->values[ids][flat(p, ids, &p->piece->args[index->gather], &outside)];
	}
	int64_t at = graph_eval_size(p->e, index->offset);
	for (uint32_t t = 0; t < index->nterms; t++)
		at += index->terms[t].coef * p->at[index->terms[t].iter];
	return at;
}

/* The place of an access; outside: a guarded index has left its axis. */
static int64_t flat(Point *p, NodeId tensor, const Access *access, bool *outside)
{
	int64_t place = 0;
	for (uint32_t i = 0; i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		int64_t n = graph_eval_size(p->e, shape_axis(&p->e->inference->shapes[tensor], i)->size);
		int64_t at = index_of(p, index);
		bool in = at >= 0 && at < n;
		if (!in && index->gather >= 0)
			p->failed = true;
		else if (!in)
			REQUIRE(index->guarded);
		*outside |= !in;
		place = place * n + at;
	}
	return place;
}

static Op op_of(const Node *node)
{
	switch (node->kind) {
	case NODE_COMPOSE: return OP_MUL;
	case NODE_POINTWISE:
	case NODE_SPEC: return node->op;
	default: return OP_ID;
	}
}

static double scalar_op(Op op, const double *x, uint32_t n)
{
	Scalar args[3] = {{.f = x[0]}, {.f = n > 1 ? x[1] : 0}, {.f = n > 2 ? x[2] : 0}};
	return op_eval(op, DTYPE_F64, args).f;
}

static double combined(const Node *node, const double *x, uint32_t n)
{
	Op op = op_of(node);
	if (op == OP_ID || n == 1)
		return op_arity(op) == 1 ? scalar_op(op, x, 1) : x[0];
	if ((uint32_t)op_arity(op) == n)
		return scalar_op(op, x, n);
	double value = x[0];
	for (uint32_t i = 1; i < n; i++)
		value = scalar_op(op, (double[]){value, x[i]}, 2);
	return value;
}

static bool sums(const Point *p)
{
	bool reduces = !p->proj->injective;
	return reduces && (p->node->kind == NODE_SPEC || p->node->kind == NODE_COMPOSE);
}

/* One argmax candidate: larger than all before it in its cell. */
static void argmax_step(Point *p, double *best, int64_t cell, double value)
{
	for (uint32_t i = 0; i < p->proj->niters; i++)
		if (p->proj->iters[i].reduced && value > best[cell]) {
			best[cell] = value;
			p->e->values[p->id][cell] = (double)p->at[i];
		}
}

static void visit(Point *p, double *out, double *best)
{
	double x[8] = {0};
	uint32_t n = 0;
	bool outside = false;
	int64_t cell = flat(p, p->id, &p->piece->result, &outside);
	for (uint32_t i = 0; i < p->node->nargs; i++) {
		bool index = (p->node->kind == NODE_GATHER || p->node->kind == NODE_SLICE) && i == 1;
		if (!p->piece->args[i].present || index)
			continue;
		int64_t at = flat(p, p->node->args[i], &p->piece->args[i], &outside);
		if (outside || p->failed)
			return;
		x[n++] = p->e->values[p->node->args[i]][at];
	}
	double value = combined(p->node, x, n);
	if (best)
		argmax_step(p, best, cell, value);
	else if (sums(p))
		out[cell] = scalar_op(p->node->kind == NODE_SPEC ? p->node->reduce : OP_ADD,
				      (double[]){out[cell], value}, 2);
	else
		out[cell] = value;
}

static void visit_all(Point *p, uint32_t depth, double *out, double *best)
{
	if (depth == p->piece->niters) {
		visit(p, out, best);
		return;
	}
	IterId iter = p->piece->iters[depth];
	int64_t extent = graph_eval_size(p->e, p->proj->iters[iter].extent);
	for (p->at[iter] = 0; p->at[iter] < extent; p->at[iter]++)
		visit_all(p, depth + 1, out, best);
}

static bool eval_operation(GraphEval *e, NodeId id, double *out, int64_t n)
{
	Point p = {.e = e, .id = id, .node = graph_node(e->inference->graph, id), .proj = e->inference->projs[id]};
	double *best = NULL;
	if (p.proj->linear) {
		for (int64_t i = 0; i < n; i++)
			out[i] = e->values[p.node->args[0]][i];
		return true;
	}
	if (p.node->kind == NODE_ARGMAX)
		best = ARENA_ARRAY(e->arena, double, (size_t)n + 1);
	Op reduce = p.node->kind == NODE_SPEC ? p.node->reduce : OP_ADD;
	for (int64_t i = 0; i < n; i++) {
		out[i] = best ? 0 : op_neutral(reduce, DTYPE_F64).f;
		if (best)
			best[i] = -(double)INFINITY;
	}
	p.at = ARENA_ARRAY(e->arena, int64_t, p.proj->niters + 1);
	for (uint32_t i = 0; i < p.proj->npieces; i++) {
		p.piece = &p.proj->pieces[i];
		visit_all(&p, 0, out, best);
	}
	return !p.failed;
}

static void eval_leaf(GraphEval *e, const Node *node, double *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		switch (node->kind) {
		case NODE_NUMBER: out[i] = node->is_integer ? (double)node->integer : node->number; break;
		case NODE_SCALAR: out[i] = e->scalars[node->scalar_index].f; break;
		case NODE_RANGE:
		case NODE_OFFSETS: out[i] = (double)i; break;
		case NODE_CONST: out[i] = (double)((const float *)node->data->bytes)[i]; break;
		default: out[i] = 0;
		}
}

/* target ACC= value, cell by cell; a projection that does not cover the target keeps the other
 * cells. */
static void assign(GraphEval *e, const Node *node, const double *value, int64_t n)
{
	double *to = e->values[node->target];
	Op acc = node->acc;
	for (int64_t i = 0; i < n; i++) {
		double old = node->clear ? op_neutral(acc == OP_NONE ? OP_ADD : acc, DTYPE_F64).f : to[i];
		to[i] = acc == OP_NONE ? value[i] : scalar_op(acc, (double[]){old, value[i]}, 2);
	}
}

bool graph_eval(GraphEval *e, NodeId n)
{
	for (NodeId id = 0; id < n; id++) {
		const Node *node = graph_node(e->inference->graph, id);
		if (node->kind == NODE_INPUT || node->kind == NODE_PARAM)
			continue;
		int64_t elements = graph_eval_elements(e, id);
		double *out = e->values[id] = ARENA_ARRAY(e->arena, double, (size_t)elements + 1);
		if (!e->inference->projs[id])
			eval_leaf(e, node, out, elements);
		else if (!eval_operation(e, id, out, elements))
			return false;
		if (node->target != NODE_NONE)
			assign(e, node, out, elements);
	}
	return true;
}
