/* Which operands count in a gradient, and which operations have none yet. */
#include "frontend/carried.h"
#include "frontend/differentiable.h"

static bool is_float(const Graph *graph, NodeId id)
{
	return dtype_is_float(graph_node(graph, id)->dtype);
}

/* Is the function constant between steps in this argument? */
static bool is_step_function(Op op, uint32_t arg)
{
	switch (op) {
	case OP_SIGN:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: return true;
	case OP_RELU_GATE:
	case OP_SAT01_GATE:
	case OP_WHERE: return arg == 0;
	case OP_COPYSIGN: return arg == 1;
	default: return op_gives_truth(op);
	}
}

NodeId node_direction(const Node *node) { return node->nargs > 2 ? node->args[2] : NODE_NONE; }

bool gradients_go_together(const Node *a, const Node *b)
{
	return a->kind == b->kind && a->args[0] == b->args[0] &&
	       node_direction(a) == node_direction(b) &&
	       (a->kind == NODE_GRADIENT || a->args[1] == b->args[1]);
}

uint32_t graph_rule_results(const Graph *graph, const Node *node)
{
	bool rule = node->kind == NODE_RULE;
	uint32_t n = 0;
	while (rule && graph_node(graph, node->args[n])->ruled) /* falls: others follow */
		n++;
	return n;
}

bool node_passes_gradient(const Graph *graph, NodeId id, uint32_t arg)
{
	const Node *node = graph_node(graph, id);
	if (node->stops || !is_float(graph, id) || !is_float(graph, node->args[arg]))
		return false;
	switch (node->kind) {
	case NODE_POINTWISE:
	case NODE_SPEC: return !is_step_function(node->op, arg);
	case NODE_GRADIENT:
	case NODE_TANGENT: return arg != 1; /* it depends on x as operand 0 does */
	case NODE_RULE: return arg >= 2 * graph_rule_results(graph, node) &&
			       arg < node->nargs / 2 + graph_rule_results(graph, node);
	case NODE_ARGMAX:
	case NODE_UNIFORMS:
	case NODE_RANDOM: return false;
	default: return !node_kind_indexes(node->kind) || arg == 0;
	}
}

NodeId node_sets_own(const Graph *graph, NodeId id)
{
	NodeId target = graph_node(graph, id)->target;
	return target != NODE_NONE && node_is_own(graph_node(graph, target)) ? target : NODE_NONE;
}

/* Does a step set a whole tensor, or add to it or take off? */
static bool is_plain_step(const Node *node)
{
	return node->kind == NODE_POINTWISE && node->op == OP_ID &&
	       (node->acc == OP_NONE || node->acc == OP_ADD || node->acc == OP_SUB);
}

const char *node_lacks_gradient(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	NodeId own = node_sets_own(graph, id);
	return own != NODE_NONE && !is_plain_step(node)
		       ? "through a step that writes otherwise than a whole tensor by =:, =+ or =-"
		       : NULL;
}

/* ---- paths ---- */

typedef struct Paths {
	const Graph *graph;
	NodeId y;
	bool *reached, *path;
	bool *given; /* by tensor of a loop: what is assigned to it is on the path */
} Paths;

/* What steps before node `before` have made of a routine's own tensor, or of what a loop carries, is on the way to y. */
static void reach_writers(const Paths *p, NodeId tensor, NodeId before)
{
	bool own = node_is_own(graph_node(p->graph, tensor));
	bool is = own || graph_is_carried(p->graph, tensor);
	for (NodeId id = tensor + 1; is && id < before; id++)
		p->reached[id] |= graph_node(p->graph, id)->target == tensor &&
				  (own || graph_writes_carried(p->graph, id));
}

/* What a loop sets, where y stands behind the loop; else NULL: in a step it is as the one before has left it. */
static const Carried *set_before(const Paths *p, NodeId id)
{
	const Carried *of = graph_carried(p->graph, id);
	return of && of->step != NODE_NONE && of->step <= p->y ? of : NULL;
}

/* A written rule goes on from any of its results, which stand before it, and what reads them behind it. */
static bool has_result(const Paths *p, NodeId id, const bool *those)
{
	const Node *node = graph_node(p->graph, id);
	bool any = false;
	for (uint32_t i = 0; i < graph_rule_results(p->graph, node); i++)
		any |= those[node->args[i]];
	return any;
}

static bool reach_one(const Paths *p, NodeId id)
{
	bool more = id != NODE_NONE && !p->reached[id];
	if (more)
		p->reached[id] = true;
	return more;
}

/* What the loop before y sets the tensor by, before it, and in its steps; false: that was reached. */
static bool reach_setters(const Paths *p, NodeId tensor)
{
	const Carried *of = set_before(p, tensor);
	bool more = of && reach_one(p, of->first);
	more |= of && reach_one(p, of->step);
	NodeId at = tensor;
	while (of && (at = graph_next_write(p->graph, of, at)) != NODE_NONE) /* rises */
		more |= reach_one(p, at++);
	return more;
}

static void reach(const Paths *p)
{
	p->reached[p->y] = true;
	for (NodeId id = p->y + 1; id-- > 0;) {
		const Node *node = graph_node(p->graph, id);
		p->reached[id] |= has_result(p, id, p->reached);
		for (uint32_t arg = 0; p->reached[id] && arg < node->nargs; arg++)
			if (node_passes_gradient(p->graph, id, arg)) {
				p->reached[node->args[arg]] = true;
				reach_writers(p, node->args[arg], id);
			}
		if (p->reached[id] && reach_setters(p, id))
			id = set_before(p, id)->step + 1; /* each once */
	}
}

/* Is the operand on the path as the node reads it? What gradients are taken with respect to is the tensor behind its
 * loop, where y is. */
static bool is_read_on_path(const Paths *p, NodeId id, uint32_t arg)
{
	NodeId operand = graph_node(p->graph, id)->args[arg];
	const Carried *of = set_before(p, operand);
	return p->path[operand] && node_passes_gradient(p->graph, id, arg) &&
	       (!of || p->given[operand] ||
		!graph_loop_in(p->graph, graph_node(p->graph, id)->loop,
			       graph_set_in(p->graph, of)));
}

/* The results of a written rule depend on what its operands do. */
static void path_to_results(const Paths *p, NodeId id)
{
	const Node *node = graph_node(p->graph, id);
	for (uint32_t i = 0; p->path[id] && i < graph_rule_results(p->graph, node); i++)
		p->path[node->args[i]] |= p->reached[node->args[i]];
}

static void find_path(const Paths *p)
{
	for (NodeId id = 0; id <= p->y; id++) {
		const Node *node = graph_node(p->graph, id);
		for (uint32_t arg = 0; p->reached[id] && arg < node->nargs; arg++)
			p->path[id] |= is_read_on_path(p, id, arg);
		path_to_results(p, id);
		NodeId target = p->path[id] ? node->target : NODE_NONE;
		if (p->path[id] && node_sets_own(p->graph, id) != NODE_NONE)
			p->path[target] = true;
		if (target == NODE_NONE || !set_before(p, target) || p->given[target])
			continue;
		p->given[target] = p->path[target] = true;
		id = target; /* each once */
	}
}

void gradient_paths(const Graph *graph, Arena *arena, NodeId y, const NodeId *to, size_t nto,
		    bool **reached, bool **path)
{
	Paths p = {graph, y, ARENA_ARRAY(arena, bool, y + 1), ARENA_ARRAY(arena, bool, y + 1),
		   ARENA_ARRAY(arena, bool, y + 1)};
	reach(&p);
	for (size_t i = 0; i < nto; i++)
		if (to[i] <= y)
			p.path[to[i]] = p.reached[to[i]];
	find_path(&p);
	*reached = p.reached;
	*path = p.path;
}
