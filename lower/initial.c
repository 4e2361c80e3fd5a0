/* What parameters start with, where that is an expression of each element's own place: a kernel a parameter,
 * which writes it in place. (Others are steps as those of any routine: routine.c.) Everything between the
 * parameter and its leaves is computed inside, at the element's own indices, so there is no other memory.
 *
 *   without random numbers   for i, j, ...: w[i, j] = value(i, j)
 *   with them                for b in 0..n/4: four numbers of each stream that is read where it is
 *                            written, then w[4*b] = value, ... w[4*b + 3] = value
 *
 * A stream that is read elsewhere (transposed, or along other axes) is hashed anew for each element. Both
 * ways an element has the number that random.c defines, whatever the loops.
 */
#include "base/size_order.h"
#include "lower/kernel.h"

/* One parameter. */
typedef struct Initial {
	Gen *gen;
	NodeId id; /* the assignment */
	const Shape *shape;
	VEC(NodeId) streams;
	const Value *(*numbers)[RANDOM_WORDS]; /* of the block at hand, by stream */
} Initial;

/* ---- what is decided about the nodes ---- */

static void plan_node(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plans_need(lower, id);
	if (node->kind == NODE_PARAM)
		plan->buffer = tables_param(&lower->tables, id);
	else if (node->kind == NODE_CONST && node->data->count != 1)
		plan->buffer = tables_const(&lower->tables, id);
	else
		plan->fused = true;
	/* what is computed more than once becomes a local; so does a number of a stream */
	plan->cost = node->nargs;
	plan->nuses += 2 * (node->kind == NODE_RANDOM);
	for (uint32_t i = 0; i < node->nargs; i++)
		lower->plan[node->args[i]].nuses++;
}

static void plan_all(Lower *lower)
{
	const Routine *init = lower->tables.routine;
	for (uint32_t i = 0; i < init->norder; i++)
		plan_node(lower, init->order[i]);
}

/* The streams that the assignment reads, of its own shape: at the same place in storage order.
 * Falls: operands stand before their results. */
static void find_streams(Initial *in, NodeId id, bool *seen)
{
	const Lower *lower = in->gen->lower;
	const Node *node = lower_node(lower, id);
	if (seen[id])
		return;
	seen[id] = true;
	if (node->kind == NODE_RANDOM && shape_same_sizes(lower_shape(lower, id), in->shape))
		PUSH(in->gen->arena, in->streams, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		find_streams(in, node->args[i], seen);
}

/* ---- loops ---- */

/* The parameter. */
static StoreTarget target_of(const Initial *in)
{
	const Lower *lower = in->gen->lower;
	return (StoreTarget){lower->plan[lower_node(lower, in->id)->target].buffer, OP_NONE};
}

/* The number that a stream has here: found where the expression reads the stream at these axes. */
static void share_number(Initial *in, NodeId stream, const Ix *const *axes, const Value *number)
{
	PUSH(in->gen->arena, in->gen->shared, ((SharedValue){stream, axes, number}));
}

static const Ix **axes_at(Initial *in, const Ix *at)
{
	Gen *gen = in->gen;
	const Ix **axes = tables_unflatten(gen->program, in->shape, at);
	for (uint32_t i = 0; i < shape_naxes(in->shape); i++)
		if (size_is(gen->program->sizes, shape_axis(in->shape, i)->size, 1))
			axes[i] = zero_ix(gen);
	return axes;
}

static void emit_element(Initial *in, const Ix *block, uint32_t number, Body *body, const Size *n)
{
	Gen *gen = in->gen;
	Program *program = gen->program;
	const Ix *at = ix_times(program, block, RANDOM_WORDS);
	at = ix_plus(program, at, number);
	const Ix **axes = axes_at(in, at);
	SharedLocals shared = {0};
	Body own = {0}, *to = n ? &own : body;
	gen_enter(gen, &shared);
	for (size_t i = 0; i < in->streams.n; i++)
		share_number(in, in->streams.at[i], axes, in->numbers[i][number]);
	const Stmt *store = gen_store(gen, target_of(in), at, node_compute(gen, in->id, axes));
	gen_set_shared(gen, to, &shared);
	PUSH(gen->arena, to->stmts, store);
	if (n)
		PUSH(gen->arena, body->stmts, stmt_below(gen, at, *n, &own));
}

/* Blocks [lo, hi); `n`: how many elements there are, where the last block has more. */
static void emit_blocks(Initial *in, Size lo, Size hi, const Size *n)
{
	Gen *gen = in->gen;
	IterVar var = gen_iter(gen, "block");
	const Ix *block = ix_iter(gen->arena, var);
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	NodeReader r = gen_reader(gen);
	in->numbers = arena_alloc(gen->arena, in->streams.n * sizeof *in->numbers);
	for (size_t i = 0; i < in->streams.n; i++)
		expression_of_block(&r, in->streams.at[i], block, in->numbers[i]);
	gen_set_shared(gen, &body, &shared);
	for (uint32_t i = 0; i < RANDOM_WORDS; i++)
		emit_element(in, block, i, &body, i > 0 ? n : NULL);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, var, ix_size(gen->arena, lo), ix_size(gen->arena, hi),
		      body_block(&body)));
}

static void emit_in_blocks(Initial *in)
{
	Sizes *sizes = in->gen->program->sizes;
	Size n = node_elements(in->gen->lower, in->id), whole = size_floor(sizes, n, RANDOM_WORDS);
	if (!size_is(sizes, whole, 0))
		emit_blocks(in, size_const(sizes, 0), whole, NULL);
	if (!size_divides(sizes, size_const(sizes, RANDOM_WORDS), n))
		emit_blocks(in, whole, size_ceil(sizes, n, RANDOM_WORDS), &n);
}

void initial_emit(Lower *lower, NodeId id)
{
	plan_all(lower);
	const Node *param = lower_node(lower, lower_node(lower, id)->target);
	Sym name = lower_unique(lower, sym_printf(lower->program->symbols, "init_%s", param->name));
	Gen gen = gen_new(lower, name, lower_node(lower, id)->span);
	Initial in = {.gen = &gen, .id = id, .shape = lower_shape(lower, id)};
	find_streams(&in, id, ARENA_ARRAY(lower->scratch, bool, id + 1));
	if (in.streams.n)
		emit_in_blocks(&in);
	else
		kernel_over_shape(&gen, id, node_compute, target_of(&in));
	lower_add_kernel(lower, kernel_finish(&gen));
}
