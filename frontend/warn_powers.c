/* Powers of integers whose exponents are known to go below 0: they are integers, and so 0 there. */
#include "frontend/nodes.h"

/* The elements of a tensor of integers lie between; not known: any may be. */
typedef struct Between {
	bool known;
	double least, greatest;
} Between;

enum { DEPTH = 16 }; /* operations behind each other that are looked at */

static Between between(const Build *b, NodeId id, int depth);

/* Whatever the size is, the first element is 0, and the last one no less. */
static Between of_range(void) { return (Between){true, 0, INT32_MAX}; }

static Between of_product(Between x, Between y)
{
	double ends[] = {x.least * y.least, x.least * y.greatest, x.greatest * y.least,
			 x.greatest * y.greatest};
	Between product = {true, ends[0], ends[0]};
	for (int i = 1; i < 4; i++) {
		product.least = ends[i] < product.least ? ends[i] : product.least;
		product.greatest = ends[i] > product.greatest ? ends[i] : product.greatest;
	}
	return product;
}

static Between of_operation(const Build *b, const Node *node, int depth)
{
	const Between none = {0};
	Between x = between(b, node->args[0], depth),
		y = node->nargs > 1 ? between(b, node->args[1], depth) : x;
	if (!x.known || !y.known || node->nargs > 2)
		return none;
	switch (node->op) {
	case OP_ID: return x;
	case OP_NEG: return (Between){true, -x.greatest, -x.least};
	case OP_ADD: return (Between){true, x.least + y.least, x.greatest + y.greatest};
	case OP_SUB: return (Between){true, x.least - y.greatest, x.greatest - y.least};
	case OP_MUL: return of_product(x, y);
	default: return none;
	}
}

static Between between(const Build *b, NodeId id, int depth)
{
	const Node *node = graph_node(b->graph, id);
	double number = node->is_integer ? (double)node->integer : node->number;
	if (depth == 0)
		return (Between){0};
	switch (node->kind) {
	case NODE_NUMBER: return (Between){true, number, number};
	case NODE_RANGE: return of_range();
	case NODE_CAST:
		return dtype_is_integer(node->dtype) ? between(b, node->args[0], depth - 1)
						     : (Between){0};
	case NODE_POINTWISE: return of_operation(b, node, depth - 1);
	default: return (Between){0};
	}
}

static bool is_of_one(Between base)
{
	return base.known && base.least == base.greatest && (base.least == 1 || base.least == -1);
}

static void warn_of(Build *b, const Node *node)
{
	Between exponent = between(b, node->args[1], DEPTH);
	Span base = node->arg_spans[0];
	size_t before = b->diags->list.n;
	if (!exponent.known || exponent.least >= 0 || is_of_one(between(b, node->args[0], DEPTH)))
		return;
	diag(b->diags, W0210, node->op_span,
	     "a power of integers is an integer, and so 0 where the exponent is below 0");
	if (b->diags->list.n == before)
		return;
	diag_note(b->diags, node->arg_spans[1], "the exponent goes below 0");
	diag_fix(b->diags, base,
		 arena_printf(b->arena, "f32(%s)", source_text(b->sources, b->arena, base)),
		 "of floats it has fractions");
}

void warn_powers(Build *b)
{
	for (NodeId id = 0; id < b->graph->nodes.n; id++) {
		const Node *node = graph_node(b->graph, id);
		if (node->kind == NODE_POINTWISE && node->op == OP_POW && node->used &&
		    dtype_is_integer(node->dtype) && node->nargs == 2)
			warn_of(b, node);
	}
}
