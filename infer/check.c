/* The independent checker: every shape and every projection against the graph, node by node.
 *
 * For each operation it reads off what is asked of every axis (check_expect.c), looks at the form
 * of the projection (check_struct.c), at each index (check_map.c), at which pieces there are
 * (check_pieces.c), at the size relations (check_relate.c), at bounds (check_bounds.c) and at what
 * is written (check_write.c); then at the clauses of the whole program. It runs after inference in
 * every build: a violation is a bug of the compiler, never of the program.
 */
#include "frontend/differentiable.h"
#include "infer/check.h"

#include <inttypes.h>

static bool is_leaf(NodeKind kind) { return kind < NODE_POINTWISE; }

static bool check_operation(Checker *c)
{
	if (!c->proj)
		return check_fail(c, "the operation has no projection");
	if (c->node->spec && c->node->spec->noperands != c->node->nargs)
		return check_fail(c, "the specification has another number of operands");
	if (!check_expect(c) || !check_structure(c))
		return false;
	if (c->proj->linear)
		return check_sizes(c) && check_writes(c) && check_joined(c);
	check_learn_sizes(c);
	return check_maps(c) && check_pieces(c) && check_sizes(c) && check_bounds(c) &&
	       check_writes(c);
}

static bool same_shape(Checker *c, NodeId one, NodeId other)
{
	const Shape *a = &c->inference->shapes[one], *b = &c->inference->shapes[other];
	bool same = true;
	for (int k = 0; k < ROW_KINDS && same; k++) {
		same = a->rows[k].n == b->rows[k].n;
		for (uint32_t i = 0; i < a->rows[k].n && same; i++)
			same = holds_equal(c, a->rows[k].axes[i].size, b->rows[k].axes[i].size);
	}
	return same;
}

/* An assignment has its target's shape, what stands in an initialiser its parameter's. */
static void check_same_shape(Checker *c, NodeId other, const char *what)
{
	if (!same_shape(c, c->id, other))
		check_fail(c, "its shape is not that of %s", what);
}

/* It has the shape of what it is taken with respect to, and its direction that of what it is taken of, which is one
 * number where there is none. */
static void check_gradient(Checker *c)
{
	const Node *node = c->node;
	if (c->proj) {
		check_fail(c, "a gradient has a projection");
		return;
	}
	check_same_shape(c, node->args[1], "what it is taken with respect to");
	if (node->nargs == 2 && shape_naxes(&c->inference->shapes[node->args[0]]) > 0)
		check_fail(c, "it is taken of several numbers");
	if (node->nargs == 3 && !same_shape(c, node->args[0], node->args[2]))
		check_fail(c, "its direction has another shape than what it is taken of");
}

/* It has the shape of what moves, and its direction that of what it is taken with respect to. */
static void check_tangent(Checker *c)
{
	const Node *node = c->node;
	if (c->proj)
		check_fail(c, "a tangent has a projection");
	check_same_shape(c, node->args[0], "what it is taken of");
	if (!same_shape(c, node->args[1], node->args[2]))
		check_fail(c,
			   "its direction has another shape than what it is taken with respect to");
}

static void check_rule(Checker *c)
{
	const Node *node = c->node;
	uint32_t m = graph_rule_results(c->inference->graph, node), n = node->nargs / 2 - m;
	if (c->proj)
		check_fail(c, "a rule has a projection");
	for (uint32_t i = 2 * m; i < 2 * m + n; i++)
		if (!same_shape(c, node->args[i], node->args[i + n]))
			check_fail(c, "gradient %" PRIu32 " that a rule gives has another shape than its tensor",
				   i - 2 * m + 1);
}

const char *check_node(Checker *c, NodeId id)
{
	c->id = id;
	c->node = graph_node(c->inference->graph, id);
	c->proj = c->inference->projs[id];
	c->why = NULL;
	c->nbeyond = sizes_nbeyond(c->sizes);
	if (c->node->kind == NODE_GRADIENT)
		check_gradient(c);
	else if (c->node->kind == NODE_TANGENT)
		check_tangent(c);
	else if (c->node->kind == NODE_RULE)
		check_rule(c);
	else if (!is_leaf(c->node->kind))
		check_operation(c);
	else if (c->proj)
		check_fail(c, "a leaf has a projection");
	else
		check_leaf(c);
	if (!c->why && c->node->target != NODE_NONE)
		check_same_shape(c, c->node->target, "what it assigns to");
	if (!c->why && c->node->like != NODE_NONE)
		check_same_shape(c, c->node->like, "the parameter that it initialises");
	return c->why;
}

/* ---- what the program says about sizes ---- */

static bool check_require(Checker *c, const Require *require)
{
	Size a = check_size_expr(c, require->a), b = check_size_expr(c, require->b);
	switch (require->op) {
	case REQUIRE_EQ: return holds_equal(c, a, b);
	case REQUIRE_GE: return holds_ge(c, a, b);
	case REQUIRE_DIVIDES: return holds_divides(c, a, b);
	}
	return false;
}

/* The size of a letter of a node, as an axis of that letter has it; of a row variable: the product.
 */
static Size letter_size(Checker *c, const SpecTensor *tensor, NodeId id, Sym letter)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		const SpecRow *written = &tensor->rows[k];
		const Row *row = &c->inference->shapes[id].rows[k];
		if (row->n < written->naxes)
			continue;
		uint32_t middle = row->n - written->naxes;
		if (written->var_at >= 0 && written->var == letter) {
			Size product = size_const(c->sizes, 1);
			for (uint32_t i = 0; i < middle; i++)
				product = size_mul(c->sizes, product,
						   row->axes[(uint32_t)written->var_at + i].size);
			return product;
		}
		for (uint32_t i = 0; i < written->naxes; i++) {
			bool before = written->var_at < 0 || i < (uint32_t)written->var_at;
			if (written->axes[i].kind == SPEC_LETTER &&
			    written->axes[i].letter == letter)
				return row->axes[before ? i : i + middle].size;
		}
	}
	return SIZE_BAD;
}

static Size bound_size(Checker *c, const Bind *bind)
{
	const Node *node = graph_node(c->inference->graph, bind->node);
	Size size = letter_size(c, &node->spec->result, bind->node, bind->letter);
	for (uint32_t i = 0; i < node->nargs && size_is_bad(size); i++)
		size = letter_size(c, &node->spec->operands[i], node->args[i], bind->letter);
	const LetterSizes *letters =
		c->inference->letters ? &c->inference->letters[bind->node] : NULL;
	for (uint32_t i = 0; letters && i < letters->n && size_is_bad(size); i++)
		if (letters->at[i].letter == bind->letter)
			size = letters->at[i].size;
	return size;
}

static bool check_bind(Checker *c, const Bind *bind)
{
	const Node *node = graph_node(c->inference->graph, bind->node);
	if (!node->used || !node->spec)
		return true;
	Size size = bound_size(c, bind);
	if (size_is_bad(size)) /* a kernel's letter: its projection was checked against its axis */
		return true;
	if (bind->size && !holds_equal(c, size, check_size_expr(c, bind->size)))
		return check_fail(c, "'%s' was set to %s and is %s", bind->letter,
				  size_text(c->arena, c->sizes, check_size_expr(c, bind->size)),
				  size_text(c->arena, c->sizes, size));
	if (bind->capture != CAPTURE_NONE &&
	    !holds_equal(c, size, c->inference->captures[bind->capture]))
		return check_fail(c, "'%s' was captured as another size", bind->letter);
	return true;
}

const char *check_program(Checker *c)
{
	const Graph *graph = c->inference->graph;
	c->why = NULL;
	c->nbeyond = sizes_nbeyond(c->sizes);
	for (uint32_t i = 0; i < graph->requires.n && !c->why; i++)
		if (!check_require(c, &graph->requires.at[i]))
			check_fail(c, "requirement %" PRIu32 " is neither met nor guarded", i + 1);
	for (uint32_t i = 0; i < graph->binds.n && !c->why; i++)
		check_bind(c, &graph->binds.at[i]);
	for (uint32_t i = 0; i < graph->ascriptions.n && !c->why; i++) {
		const Ascription *written = &graph->ascriptions.at[i];
		if (graph_node(graph, written->node)->used)
			check_declared(c, written->shape, &c->inference->shapes[written->node]);
	}
	return c->why;
}

/* ---- the report ---- */

static void report_node(FILE *report, const Checker *c, uint64_t nproved, uint64_t ntested)
{
	const Node *node = c->node;
	fprintf(report, "%%%" PRIu32 " %s", c->id, node_kind_name(node));
	if (node->name)
		fprintf(report, " %s", node->name);
	fputc(' ', report);
	shape_print(report, c->sizes, &c->inference->shapes[c->id]);
	fprintf(report, ": holds (%" PRIu64 " proved, %" PRIu64 " tested)\n", c->nproved - nproved,
		c->ntested - ntested);
}

void infer_verify(const Inference *inference, FILE *report)
{
	const Graph *graph = inference->graph;
	Arena *lasting = arena_new();
	Checker c;
	checker_init(&c, inference, lasting);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		uint64_t nproved = c.nproved, ntested = c.ntested;
		if (!graph_node(graph, id)->used)
			continue;
		const char *why = check_node(&c, id);
		if (why)
			BUG("%%%" PRIu32 " (%s %s): %s", id, node_kind_name(c.node),
			    shape_text(lasting, c.sizes, &inference->shapes[id]), why);
		if (report)
			report_node(report, &c, nproved, ntested);
	}
	const char *why = check_program(&c);
	if (why)
		BUG("%s", why);
	if (report)
		fprintf(report,
			"the program's requirements and bindings hold; %" PRIu64
			" statements proved, %" PRIu64 " tested on examples\n",
			c.nproved, c.ntested);
	arena_free(lasting);
}

/* ---- projections alone ---- */

static ExpectTensor axes_of(Checker *c, NodeId id)
{
	const Shape *shape = &c->inference->shapes[id];
	ExpectTensor tensor = {.n = shape_naxes(shape)};
	tensor.axes = ARENA_ARRAY(c->arena, Expect, tensor.n + 1);
	for (uint32_t i = 0; i < tensor.n; i++)
		tensor.axes[i].axis = shape_axis(shape, i);
	return tensor;
}

const char *check_projection(Checker *c, NodeId id)
{
	c->why = NULL;
	c->id = id;
	c->node = graph_node(c->inference->graph, id);
	c->proj = c->inference->projs[id];
	c->result = axes_of(c, id);
	c->args = ARENA_ARRAY(c->arena, ExpectTensor, c->node->nargs + 1);
	for (uint32_t i = 0; i < c->node->nargs; i++)
		c->args[i] = axes_of(c, c->node->args[i]);
	if (!c->proj)
		check_fail(c, "the operation has no projection");
	else if (check_structure(c) && check_bounds(c))
		check_writes(c);
	return c->why;
}

void infer_verify_projections(const Inference *inference, const NodeId *nodes, size_t n)
{
	Arena *lasting = arena_new();
	Checker c;
	checker_init(&c, inference, lasting);
	for (size_t i = 0; i < n; i++) {
		const char *why = check_projection(&c, nodes[i]);
		if (why)
			BUG("%%%" PRIu32 " (%s %s): %s", nodes[i], node_kind_name(c.node),
			    shape_text(lasting, c.sizes, &inference->shapes[nodes[i]]), why);
	}
	arena_free(lasting);
}
