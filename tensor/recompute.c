/* What gradients compute again, as within recompute(E), since that takes less time than to keep it: a table whose elements
 * are short sums, with all that follows up to the contraction that adds it up, where a softmax or another reduction of its
 * rows is between.
 *
 *   scores = sum over d of q * k                   64 products an element: the table
 *   p = softmax of scores over t                   its rows are reduced
 *   y = sum over t of p * v                        its rows are added up: the end
 *
 * A gradient of y would read p, and what p is made of: a row as long as the sum of y for each row of y. An element that is
 * kept is stored and read again once or more, from memory where tables are large; forward and backward go in blocks of rows
 * where neither keeps it (lower/row_block.c). All else stays as it is:
 *
 *   what others than the expression read too, which is kept anyway
 *   where the loss is linear in y: its gradient needs no y, so that one block of rows goes forward and backward
 *   what the expression reads, and all that a loop, a step or a written rule makes
 *
 * Which they are is found here; adjoint_recompute.c computes again. The numbers of the batch have no part in it, as the order
 * of additions depends on it.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/differentiable.h"
#include "infer/dump.h"
#include "tensor/passes.h"

#define NO_ROW UINT32_MAX

typedef struct Tables {
	const TensorProgram *program;
	NodeId *of; /* by node: a table that its expression begins with; NODE_NONE: it is of none */
	NodeId *first; /* by table: another one of the same expression, or itself */
	uint32_t *
		row; /* by node of one: which of its axes the table's row is; NO_ROW: none, the row is reduced */
	bool *ends;			/* by node: it adds up rows */
	bool *reduces, *stored, *again; /* by table that is its own `first` */
} Tables;

/* The table that stands for the node's expression; NODE_NONE: it is of none. */
static NodeId table_of(const Tables *t, NodeId id)
{
	NodeId table = t->of[id];
	while (table != NODE_NONE && t->first[table] != table) /* falls: `first` is the lower one */
		table = t->first[table];
	return table;
}

static bool is_inside(const Tables *t, NodeId id) { return t->of[id] != NODE_NONE && !t->ends[id]; }

/* May it be computed again: elementwise, or a plain sum, in no loop, of no step? */
static bool may_be_again(const TensorProgram *program, NodeId id)
{
	const Node *node = tensor_node(program, id);
	const Proj *proj = tensor_proj(program, id);
	return (node->kind == NODE_POINTWISE || node->kind == NODE_CAST ||
		node->kind == NODE_SPEC) &&
	       proj && proj_is_plain(proj) && !proj_is_guarded(proj) && !node->loop &&
	       node->target == NODE_NONE && !node->ruled && !node->recomputes;
}

static bool is_contraction(const TensorProgram *program, NodeId id)
{
	const Node *node = tensor_node(program, id);
	return node->kind == NODE_SPEC && node->nargs == 2 && may_be_again(program, id) &&
	       proj_reduces(tensor_proj(program, id)) && node_reduce_op(node) == OP_ADD;
}

/* ---- tables ---- */

/* Steps of the sum; 0: not known. */
static int64_t steps_of(const TensorProgram *program, NodeId id)
{
	const Proj *proj = tensor_proj(program, id);
	int64_t steps = 1, n;
	for (IterId i = 0; i < proj->niters; i++) {
		if (!proj->iters[i].reduced)
			continue;
		if (!size_is_const(program->sizes, proj->iters[i].extent, &n) ||
		    n > INT32_MAX / steps)
			return 0;
		steps *= n;
	}
	return steps;
}

/* Does an element cost less again than from memory, and is a row long, also beside its sum, or may it be? */
static bool is_table(const TensorProgram *program, NodeId id)
{
	const Shape *shape = tensor_shape(program, id);
	uint32_t naxes = shape_naxes(shape);
	int64_t steps = is_contraction(program, id) ? steps_of(program, id) : 0, row;
	if (steps < 1 || steps > program->again.steps || naxes == 0)
		return false;
	return !size_is_const(program->sizes, shape_axis(shape, naxes - 1)->size, &row) ||
	       (row >= steps && row >= program->again.row);
}

/* ---- what follows from them ---- */

/* The iterator that goes along an axis of an operand, from its first element to its last; NO_ROW: none does. */
static uint32_t iter_along(const TensorProgram *program, NodeId id, uint32_t arg, uint32_t axis)
{
	const Index *index = &tensor_proj(program, id)->pieces[0].args[arg].axes[axis];
	int64_t offset;
	bool along = index->nterms == 1 && index->gather < 0 && index->terms[0].coef == 1 &&
		     size_is_const(program->sizes, index->offset, &offset) && offset == 0;
	return along ? index->terms[0].iter : NO_ROW;
}

/* The node is of the expressions of its operands, which are one from here on. */
static void join(Tables *t, NodeId id)
{
	const Node *node = tensor_node(t->program, id);
	for (uint32_t i = 0; i < node->nargs; i++) {
		NodeId a = table_of(t, id), b = table_of(t, node->args[i]);
		if (!is_inside(t, node->args[i]) || a == b)
			continue;
		if (a == NODE_NONE) {
			t->of[id] = b;
			continue;
		}
		NodeId low = a < b ? a : b, high = a < b ? b : a;
		t->first[high] = low;
		t->reduces[low] |= t->reduces[high];
	}
}

/* The iterator that goes along the row of all operands that have one, *any of which is inside; false: they do not agree. */
static bool find_row(const Tables *t, NodeId id, uint32_t *iter, bool *any)
{
	const Node *node = tensor_node(t->program, id);
	*iter = NO_ROW;
	*any = false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		if (!is_inside(t, node->args[i]))
			continue;
		*any = true;
		if (t->row[node->args[i]] == NO_ROW)
			continue;
		uint32_t along = iter_along(t->program, id, i, t->row[node->args[i]]);
		if (along == NO_ROW || (*iter != NO_ROW && *iter != along))
			return false;
		*iter = along;
	}
	return true;
}

/* Elementwise, or a reduction of rows. */
static void follow(Tables *t, NodeId id, uint32_t row)
{
	const Proj *proj = tensor_proj(t->program, id);
	const Access *result = &proj->pieces[0].result;
	for (IterId i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced && i != row)
			return;
	join(t, id);
	t->row[id] = NO_ROW;
	for (uint32_t axis = 0; row != NO_ROW && axis < result->naxes; axis++)
		if (result->axes[axis].nterms == 1 && result->axes[axis].terms[0].iter == row)
			t->row[id] = axis;
	t->reduces[table_of(t, id)] |= proj_reduces(proj);
}

/* The operand whose rows, which were reduced, the contraction adds up; NODE_NONE: it adds up none. */
static NodeId adds_up(const Tables *t, NodeId id)
{
	const Node *node = tensor_node(t->program, id);
	for (uint32_t i = 0; i < node->nargs && is_contraction(t->program, id); i++) {
		NodeId arg = node->args[i];
		if (!is_inside(t, arg) || !t->reduces[table_of(t, arg)] || t->row[arg] == NO_ROW)
			continue;
		uint32_t iter = iter_along(t->program, id, i, t->row[arg]);
		if (iter != NO_ROW && tensor_proj(t->program, id)->iters[iter].reduced)
			return arg;
	}
	return NODE_NONE;
}

static void look_at(Tables *t, NodeId id)
{
	NodeId rows = adds_up(t, id);
	uint32_t row;
	bool any;
	if (rows != NODE_NONE) {
		t->of[id] = table_of(t, rows);
		t->ends[id] = true;
	} else if (is_table(t->program, id)) {
		t->of[id] = id;
		t->row[id] = shape_naxes(tensor_shape(t->program, id)) - 1;
	} else if (may_be_again(t->program, id) && !is_contraction(t->program, id) &&
		   find_row(t, id, &row, &any) && any) {
		follow(t, id, row);
	}
}

/* What others read is kept. */
static void keep_what_others_read(Tables *t)
{
	const Graph *graph = t->program->graph;
	for (NodeId id = 0; id < graph->nodes.n; id++)
		for (uint32_t i = 0; i < graph->nodes.at[id].nargs; i++) {
			NodeId arg = graph->nodes.at[id].args[i];
			if (is_inside(t, arg) && table_of(t, id) != table_of(t, arg))
				t->stored[table_of(t, arg)] = true;
		}
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].noutputs; i++) {
			NodeId output = graph->routines.at[r].outputs[i];
			if (output != NODE_NONE && is_inside(t, output))
				t->stored[table_of(t, output)] = true;
		}
}

/* ---- gradients that need the end's value ---- */

enum { CONSTANT, LINEAR, CURVED };

/* How many operands follow from the end; *curved: one of them is no linear function of it, or others than the first `linear`
 * follow. */
static uint32_t followers(const Node *node, const uint8_t *state, uint32_t linear, bool *curved)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool follows = state[node->args[i]] != CONSTANT;
		n += follows;
		*curved |= follows && (i >= linear || state[node->args[i]] == CURVED);
	}
	return n;
}

/* What a node is of a tensor that its operands follow from. */
static uint8_t curve(const Node *node, const uint8_t *state)
{
	bool moves = node->kind == NODE_SLICE || node->kind == NODE_GATHER ||
		     node->kind == NODE_RESHAPE || node->kind == NODE_JOINED ||
		     node->kind == NODE_TRANSPOSE || node->kind == NODE_CAST;
	bool several = node->kind == NODE_BLOCK || node->kind == NODE_STACK;
	bool computes =
		node->kind == NODE_POINTWISE ||
		(node->kind == NODE_SPEC && (node->reduce == OP_NONE || node->reduce == OP_ADD));
	bool product = node->kind == NODE_COMPOSE || (computes && node->op == OP_MUL);
	bool sum = several || (computes && (node->op == OP_ADD || node->op == OP_SUB ||
					    node->op == OP_NEG || node->op == OP_ID));
	bool curved = false;
	uint32_t linear = moves || (computes && node->op == OP_DIV) ? 1
			  : product || sum			    ? UINT32_MAX
								    : 0;
	uint32_t n = followers(node, state, linear, &curved);
	return n == 0 ? CONSTANT : curved || (product && n > 1) ? CURVED : LINEAR;
}

/* Is a gradient taken of what is no linear function of the end, or in a direction that follows from it? */
static bool is_needed_again(const TensorProgram *program, uint8_t *state, NodeId end)
{
	const Graph *graph = program->graph;
	memset(state, CONSTANT, graph->nodes.n);
	state[end] = LINEAR;
	for (NodeId id = end + 1; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		state[id] = curve(node, state);
		NodeId c = node->kind == NODE_GRADIENT && node->used ? node_direction(node)
								     : NODE_NONE;
		if (node->kind == NODE_GRADIENT && node->used &&
		    (state[node->args[0]] == CURVED ||
		     (state[node->args[0]] == LINEAR && c != NODE_NONE && state[c] != CONSTANT)))
			return true;
	}
	return false;
}

/* ---- all of them ---- */

static bool takes_gradients(const Graph *graph)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (graph->nodes.at[id].kind == NODE_GRADIENT && graph->nodes.at[id].used)
			return true;
	return false;
}

static Tables find_tables(const TensorProgram *program)
{
	size_t n = program->graph->nodes.n + 1;
	Arena *arena = program->scratch;
	Tables t = {.program = program,
		    .of = ARENA_ARRAY(arena, NodeId, n),
		    .first = ARENA_ARRAY(arena, NodeId, n),
		    .row = ARENA_ARRAY(arena, uint32_t, n),
		    .ends = ARENA_ARRAY(arena, bool, n),
		    .reduces = ARENA_ARRAY(arena, bool, n),
		    .stored = ARENA_ARRAY(arena, bool, n),
		    .again = ARENA_ARRAY(arena, bool, n)};
	uint8_t *state = ARENA_ARRAY(arena, uint8_t, n);
	for (NodeId id = 0; id < n; id++)
		t.of[id] = NODE_NONE, t.first[id] = id;
	for (NodeId id = 0; id + 1 < n; id++)
		look_at(&t, id);
	keep_what_others_read(&t);
	for (NodeId id = 0; id + 1 < n; id++)
		if (t.ends[id] && !t.stored[table_of(&t, id)] && !t.again[table_of(&t, id)])
			t.again[table_of(&t, id)] = is_needed_again(program, state, id);
	return t;
}

/* The program with nodes of its own. */
static Graph *copy_graph(TensorProgram *program)
{
	Graph *graph = ARENA_NEW(program->arena, Graph);
	Inference *inference = ARENA_NEW(program->arena, Inference);
	*graph = *program->graph;
	graph->nodes.at = ARENA_ARRAY(program->arena, Node, graph->nodes.n + 1);
	graph->nodes.cap = graph->nodes.n;
	memcpy(graph->nodes.at, program->graph->nodes.at, graph->nodes.n * sizeof(Node));
	*inference = *program->inference;
	inference->graph = graph;
	program->graph = graph;
	program->inference = inference;
	return graph;
}

static uint32_t most_of(const Graph *graph)
{
	uint32_t most = 0;
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (graph->nodes.at[id].recomputes > most)
			most = graph->nodes.at[id].recomputes;
	return most;
}

bool recompute_tables(TensorProgram *program)
{
	if (program->again.steps == 0 || !takes_gradients(program->graph))
		return false;
	Tables t = find_tables(program);
	size_t n = program->graph->nodes.n;
	uint32_t *number = ARENA_ARRAY(program->scratch, uint32_t, n + 1),
		 most = most_of(program->graph);
	Graph *graph = NULL;
	for (NodeId id = 0; id < n; id++) {
		NodeId table = table_of(&t, id);
		if (table == NODE_NONE || !t.again[table])
			continue;
		graph = graph ? graph : copy_graph(program);
		if (!number[table])
			number[table] = ++most;
		graph->nodes.at[id].recomputes = number[table];
	}
	return graph != NULL;
}

/* ---- the dump ---- */

static void dump_expression(FILE *out, const TensorProgram *program, uint32_t number)
{
	const Graph *graph = program->graph;
	const char *between = "";
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		if (graph->nodes.at[id].recomputes != number)
			continue;
		fputs(between, out);
		infer_dump_name(out, graph, id);
		between = ", ";
	}
	fputs(" again\n", out);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		if (node->recomputes != number || node->kind != NODE_SPEC || node->nargs != 2)
			continue;
		fputs("  ", out);
		infer_dump_name(out, graph, id);
		if (tensor_node(program, node->args[0])->recomputes == number ||
		    tensor_node(program, node->args[1])->recomputes == number) {
			fputs("  the end: adds up rows\n", out);
			continue;
		}
		fputs("  a table of ", out);
		size_print(out, program->sizes,
			   shape_elements(program->sizes, tensor_shape(program, id)));
		fprintf(out, " elements, sums of %" PRId64 " products\n", steps_of(program, id));
	}
}

void recompute_dump(FILE *out, const TensorProgram *program)
{
	const TensorProgram *before = program->tagged;
	if (!program->changed)
		fputs("(unchanged)\n", out);
	for (uint32_t number = most_of(before->graph) + 1; number <= most_of(program->graph);
	     number++)
		dump_expression(out, program, number);
}
