/* One routine's frame: what it takes and gives, and what it must compute before anything that the
 * caller can see is written.
 */
#include <string.h>

#include "frontend/needed.h"
#include "loops/build.h"
#include "lower/gen/tables.h"

/* ---- what comes first ---- */

bool node_checks(const Tables *t, NodeId id, uint32_t arg)
{
	const Node *node = tables_node(t, id);
	if (arg == 0 || arg >= node->nargs || !node_kind_indexes(node->kind) || t->own_check[id])
		return false;
	return node->kind == NODE_SLICE || node->mode == INDEX_CHECKED;
}

/* Does a check read the tensor where the node stands: as its index, or as what an index is computed from? */
static bool is_checked_from(const Tables *t, NodeId id, NodeId tensor)
{
	const Node *node = tables_node(t, id);
	bool reads = t->pre_check[id] && node_reads(node, tensor);
	for (uint32_t arg = 1; arg < node->nargs; arg++)
		reads |= node->args[arg] == tensor && node_checks(t, id, arg);
	return reads;
}

/* What stands behind the assignment at `at`, and would have to be checked before it; NODE_NONE: nothing. The
 * assignment itself, where it would have to come before all checks. */
static NodeId checked_behind(const Tables *t, const NodeId *nodes, uint32_t n, uint32_t at)
{
	NodeId target = tables_node(t, nodes[at])->target;
	if (t->pre_check[nodes[at]])
		return nodes[at];
	for (uint32_t k = at + 1; k < n; k++)
		if (is_checked_from(t, nodes[k], target))
			return nodes[k];
	return NODE_NONE;
}

/* What an index depends on is computed before all that a caller can see is written: what is read of an assigned tensor then
 * is what it held before. */
static bool pre_checks_hold(Tables *t, const NodeId *nodes, uint32_t n)
{
	bool good = true;
	for (uint32_t k = 0; k < n && good; k++) {
		const Node *node = tables_node(t, nodes[k]);
		NodeId target = node->target, reads;
		if (target == NODE_NONE || !t->pre_check[target] || tables_node(t, target)->carried)
			continue;
		reads = checked_behind(t, nodes, n, k);
		if (reads == NODE_NONE)
			continue;
		good = false;
		diag(t->diags, E0922, tables_node(t, reads)->span,
		     "an index depends on this, which reads '%s' behind a step that assigns to it",
		     tables_node(t, target)->name);
		diag_note(t->diags, node->span, "routine '%s' assigns to it here",
			  t->routine->name);
		diag_note(
			t->diags, SPAN_NONE,
			"it would be checked before the routine writes anything; with mode = clamp, wrap or skip nothing is checked");
	}
	return good;
}

/* The outermost loop that the node is in; 0: none. */
static uint32_t whole_loop(const Tables *t, NodeId id)
{
	uint32_t loop = tables_node(t, id)->loop;
	while (t->graph->loops.at[loop].parent) /* falls: towards the outermost */
		loop = t->graph->loops.at[loop].parent;
	return loop;
}

/* A loop is a pre-check as a whole: one that makes an index, or checks one in its steps. What it sets is, too. */
static bool pre_check_loops(Tables *t, const NodeId *nodes, uint32_t n)
{
	bool more = false, *pre_check = ARENA_ARRAY(t->scratch, bool, t->graph->loops.n + 1);
	for (uint32_t k = 0; k < n; k++) {
		const Node *node = tables_node(t, nodes[k]);
		bool own = node->target != NODE_NONE && tables_node(t, node->target)->carried;
		more |= own && t->pre_check[node->target] && !t->pre_check[nodes[k]];
		t->pre_check[nodes[k]] |= own && t->pre_check[node->target];
		bool checks = t->pre_check[nodes[k]];
		for (uint32_t arg = 1; arg < node->nargs && !checks; arg++)
			checks = node_checks(t, nodes[k], arg);
		pre_check[whole_loop(t, nodes[k])] |= checks;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t loop = whole_loop(t, nodes[k]);
		NodeId target = tables_node(t, nodes[k])->target;
		if (!loop || !pre_check[loop])
			continue;
		more |= !t->pre_check[nodes[k]];
		t->pre_check[nodes[k]] = true;
		if (target != NODE_NONE)
			t->pre_check[target] = true;
	}
	return more;
}

/* Backwards, as operands come before what reads them: one pass finds everything that an index
 * depends on, another what a loop among that depends on. */
bool tables_find_pre_checks(Tables *t, const NodeId *nodes, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		t->pre_check[nodes[k]] = t->own_check[nodes[k]];
	do { /* falls: nodes that are no pre-checks */
		for (uint32_t k = n; k-- > 0;) {
			NodeId id = nodes[k];
			const Node *node = tables_node(t, id);
			for (uint32_t arg = 1; arg < node->nargs; arg++)
				t->pre_check[node->args[arg]] |= node_checks(t, id, arg);
			for (uint32_t i = 0; t->pre_check[id] && i < node->nargs; i++)
				t->pre_check[node->args[i]] = true;
		}
	} while (t->graph->loops.n > 1 && pre_check_loops(t, nodes, n));
	return pre_checks_hold(t, nodes, n);
}

/* ---- indices that are read ---- */

const Ix *index_in_axis(Program *program, const Ix *index, IndexMode mode, Size size)
{
	Arena *arena = program->arena;
	const Ix *last = ix_size(arena, size_plus(program->sizes, size, -1));
	switch (mode) {
	case INDEX_CLAMPED:
		index = ix_binary(program, IX_MIN, index, last);
		return ix_binary(program, IX_MAX, index, ix_const(program, 0));
	case INDEX_WRAPPED:
		return ix_binary(program, IX_MOD, index, ix_size(arena, size));
	default: return index;
	}
}

static bool finds_size(const Access *access, const Shape *shape, uint32_t arg, Size *size)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (access->axes[i].gather == (int32_t)arg) {
			*size = shape_axis(shape, i)->size;
			return true;
		}
	return false;
}

static void add_check(Tables *t, NodeId id, uint32_t arg, Size size)
{
	const Node *node = tables_node(t, id), *ids = tables_node(t, node->args[arg]);
	const char *text =
		arena_printf(t->arena, "an index%s%s is outside [0, %s)", ids->name ? " in " : "",
			     ids->name ? ids->name : "", size_text(t->arena, t->sizes, size));
	PUSH(t->arena, t->program->checks,
	     ((Check){
		     .kind = CHECK_INDEX, .a = size, .b = size, .span = node->span, .text = text}));
}

static Size indexed_size(const Tables *t, NodeId id, uint32_t arg)
{
	const Node *node = tables_node(t, id);
	const Piece *piece = &tables_proj(t, id)->pieces[0];
	Size size = SIZE_BAD;
	bool found = finds_size(&piece->args[0], tables_shape(t, node->args[0]), arg, &size) ||
		     finds_size(&piece->result, tables_shape(t, id), arg, &size);
	REQUIRE(found);
	return size;
}

CheckId tables_index_check(Tables *t, NodeId id, uint32_t arg, Size *size)
{
	const Node *node = tables_node(t, id);
	*size = indexed_size(t, id, arg);
	if (t->checks[id] == CHECK_NONE) {
		t->checks[id] = (CheckId)t->program->checks.n;
		for (uint32_t i = 1; i < node->nargs; i++)
			add_check(t, id, i, indexed_size(t, id, i));
	}
	return t->checks[id] + arg - 1;
}

/* ---- the routine's row ---- */

/* `names` and `spans` are of results; inputs have their own names. */
static TensorArg *make_args(Tables *t, const NodeId *nodes, const Sym *names, const Span *spans,
			    uint32_t n, BufferKind kind)
{
	TensorArg *args = ARENA_ARRAY(t->arena, TensorArg, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const Node *node = tables_node(t, nodes[i]);
		args[i].name = names ? names[i] : node->name;
		args[i].span = spans ? spans[i] : SPAN_NONE;
		args[i].type = tables_type(t, node->packs != NODE_NONE ? node->packs : nodes[i]);
		args[i].buffer =
			tables_buffer(t, (Buffer){.kind = kind,
						  .name = args[i].name,
						  .dtype = node->dtype,
						  .arg = i,
						  .elements = tables_elements(t, nodes[i])});
	}
	return args;
}

static void note_written(const SizeExpr *size, bool *dims)
{
	if (!size)
		return;
	if (size->kind == SX_DIM)
		dims[size->dim] = true;
	note_written(size->a, dims);
	note_written(size->b, dims);
}

/* The dims that the inputs' shapes are written with, whatever is left of them: they are arguments. */
static const bool *written_dims(Tables *t)
{
	bool *dims = ARENA_ARRAY(t->arena, bool, sizes_ndims(t->sizes) + 1);
	for (uint32_t i = 0; i < t->routine->ninputs; i++) {
		const ShapeDecl *shape = tables_node(t, t->routine->inputs[i])->shape;
		for (RowKind row = 0; shape && row < ROW_KINDS; row++)
			for (uint32_t axis = 0; axis < shape->rows[row].naxes; axis++)
				note_written(shape->rows[row].axes[axis].size, dims);
	}
	return dims;
}

void tables_open(Tables *t)
{
	const Routine *from = t->routine;
	ProgramRoutine routine = {
		.name = from->name, .span = from->span, .nscalars = from->nscalars};
	routine.scalars = ARENA_ARRAY(t->arena, ScalarParam, from->nscalars + 1);
	for (uint32_t i = 0; i < from->nscalars; i++)
		routine.scalars[i] = (ScalarParam){from->scalars[i].name, from->scalars[i].dtype,
						   from->scalars[i].dim};
	routine.ninputs = from->ninputs;
	routine.noutputs = from->noutputs;
	routine.written = written_dims(t);
	routine.inputs = make_args(t, from->inputs, NULL, NULL, from->ninputs, BUFFER_INPUT);
	routine.outputs = make_args(t, from->outputs, from->output_names, from->output_spans,
				    from->noutputs, BUFFER_OUTPUT);
	t->program->routines.at[t->routine_id] = routine;
}

BufferId tables_input(const Tables *t, NodeId id)
{
	const ProgramRoutine *routine = &t->program->routines.at[t->routine_id];
	for (uint32_t i = 0; i < routine->ninputs; i++)
		if (t->routine->inputs[i] == id)
			return routine->inputs[i].buffer;
	BUG("routine %s reads an input that it does not take", t->routine->name);
}

BufferId tables_output(const Tables *t, NodeId id)
{
	const ProgramRoutine *routine = program_routine(t->program, t->routine_id);
	for (uint32_t i = 0; i < routine->noutputs; i++)
		if (t->routine->outputs[i] == id)
			return routine->outputs[i].buffer;
	return BUFFER_NONE;
}

/* ---- from the first to the last ---- */

void tables_begin(Tables *t, uint32_t id)
{
	t->routine = &t->graph->routines.at[id];
	t->routine_id = id;
	memset(t->loops, 0, t->graph->loops.n * sizeof *t->loops);
}

static void take_kernels(const Tables *t, ProgramRoutine *routine, const KernelId *kernels,
			 uint32_t n)
{
	routine->nkernels = n;
	routine->kernels = ARENA_ARRAY(t->arena, KernelId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		routine->kernels[i] = kernels[i];
	tables_order_loops(t, routine->kernels, n);
}

void tables_close(Tables *t, const KernelId *kernels, uint32_t nkernels)
{
	take_kernels(t, &t->program->routines.at[t->routine_id], kernels, nkernels);
}

void tables_begin_init(Tables *t)
{
	ProgramRoutine *init = &t->program->init;
	t->routine = &t->graph->init;
	t->routine_id = (uint32_t)t->program->routines.n + 1;
	init->name = t->routine->name;
	init->workspace = size_const(t->sizes, 0);
	memset(t->loops, 0, t->graph->loops.n * sizeof *t->loops);
}

bool tables_is_initial(const Tables *t, NodeId id)
{
	NodeId target = tables_node(t, id)->target;
	return target != NODE_NONE && tables_node(t, target)->kind == NODE_PARAM;
}

Routine tables_initial(Tables *t, NodeId id)
{
	Routine one = t->graph->init;
	size_t n = t->graph->nodes.n;
	Needed needed = {.graph = t->graph,
			 .has = ARENA_ARRAY(t->scratch, bool, n),
			 .open = ARENA_ARRAY(t->scratch, NodeId, n)};
	needed_add(&needed, id);
	needed_follow(&needed);
	one.order = ARENA_ARRAY(t->scratch, NodeId, one.norder + 1);
	one.norder = 0;
	for (NodeId at = 0; at <= id; at++)
		if (needed.has[at])
			one.order[one.norder++] = at;
	return one;
}

void tables_close_init(Tables *t, const KernelId *kernels, uint32_t nkernels)
{
	ProgramRoutine *init = &t->program->init;
	const ScalarArg *seed = t->routine->scalars;
	take_kernels(t, init, kernels, nkernels);
	if (!nkernels)
		return;
	init->nscalars = t->routine->nscalars;
	init->scalars = ARENA_NEW(t->arena, ScalarParam);
	*init->scalars = (ScalarParam){seed->name, seed->dtype, DIM_NONE};
}
