/* A tensor program to unscheduled loops.
 *
 *   routine := for each node that is needed, in the order of the graph:
 *                a check of each index that is gathered, what it is computed from before that
 *                a kernel for each operation, into a buffer of its own
 *              copies of results that have another home
 *   init    := for each parameter that starts with an expression, a kernel over its elements; all that
 *              the expression is made of is a local there
 *
 * Numbers, sizes, scalars, ranges and offsets have no buffer: they are expressions where they are
 * read. A result is computed where the caller wants it; an assignment has its target's place.
 *
 * Invariant: a node's kernels stand behind those of its operands, and nothing that the caller can
 * see is written before every gathered index is checked.
 */
#include <stdlib.h>
#include <string.h>

#include "lower/naive/builder.h"

/* ---- what a routine needs ---- */

static void need(Naive *naive, NodeId id)
{
	if (!naive->needed[id])
		naive->nodes[naive->nnodes++] = id;
	naive->needed[id] = true;
	naive->tables.names[id] = NULL;
	naive->buffers[id] = BUFFER_NONE;
}

/* What its results and assignments reach. Tables by node serve one routine after the other, so what
 * a routine has needed is taken back. */
static void find_needed(Naive *naive)
{
	const Tables *t = &naive->tables;
	const Routine *routine = t->routine;
	for (uint32_t i = 0; i < naive->nnodes; i++)
		naive->needed[naive->nodes[i]] = false;
	naive->nnodes = 0;
	for (uint32_t i = 0; i < routine->noutputs; i++)
		need(naive, routine->outputs[i]);
	for (uint32_t i = 0; i < routine->norder; i++) {
		const Node *node = tables_node(t, routine->order[i]);
		if (node->target == NODE_NONE)
			continue;
		need(naive, routine->order[i]);
		need(naive, node->target);
	}
	for (uint32_t i = 0; i < naive->nnodes; i++) {
		const Node *node = tables_node(t, naive->nodes[i]);
		for (uint32_t k = 0; k < node->nargs; k++)
			need(naive, node->args[k]);
	}
	qsort(naive->nodes, naive->nnodes, sizeof *naive->nodes, compare_nodes);
}

/* ---- where a node is ---- */

/* Is it nowhere in memory: a number, a size, a scalar, a range, each element's own offset? */
static bool is_expression(const Node *node)
{
	return node->target == NODE_NONE &&
	       (node->kind == NODE_NUMBER || node->kind == NODE_SIZE || node->kind == NODE_SCALAR ||
		node->kind == NODE_RANGE || node->kind == NODE_OFFSETS);
}

static BufferId temporary(Tables *t, NodeId id)
{
	const Node *node = tables_node(t, id);
	return tables_buffer(t, (Buffer){.kind = BUFFER_TEMP,
					 .name = tables_name(t, id),
					 .span = node->span,
					 .site = node->site,
					 .dtype = node->dtype,
					 .elements = tables_elements(t, id)});
}

/* Nothing that is computed early may go into an output. */
static BufferId buffer_of(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	if (node->target != NODE_NONE)
		return naive->buffers[node->target];
	if (node->kind == NODE_INPUT)
		return tables_input(t, id);
	if (node->kind == NODE_PARAM)
		return tables_param(t, id);
	if (node->kind == NODE_CONST)
		return tables_const(t, id);
	if (is_expression(node))
		return BUFFER_NONE;
	BufferId output = t->pre_check[id] ? BUFFER_NONE : tables_output(t, id);
	return output == BUFFER_NONE ? temporary(t, id) : output;
}

/* ---- kernels ---- */

static void emit_check(Naive *naive, NodeId id, uint32_t arg)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	Size size;
	CheckId check = tables_index_check(t, id, arg, &size);
	Sym name = sym_printf(t->program->symbols, "check_%s", node->name ? node->name : "index");
	Builder b = build_new(naive, tables_unique(t, name), node->span);
	Size n = tables_elements(t, node->args[arg]);
	bool one = size_is(t->sizes, n, 1);
	IterVar e = 0;
	Body body = {0};
	const Ix *at = one ? build_const(&b, 0) : build_flat(&b, &e);
	const Ix *index = expression_as_index(b.arena, element_flat(&b, node->args[arg], at));
	build_add(&b, &body, stmt_check(t->program, index, ix_size(b.arena, size), check));
	if (!one)
		build_wrap(&b, &body, e, n);
	build_add(&b, &b.top, body.stmts.at[0]);
	build_end(&b);
}

static void emit_node(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	BufferId to = naive->buffers[id];
	if (node_is_caller_data(node) || to == BUFFER_NONE)
		return;
	if (node->target != NODE_NONE) {
		assignment_emit(naive, id);
		return;
	}
	if (node->kind == NODE_ZEROS && graph_sets_whole(t->graph, id))
		return;
	const Buffer *buffer = &t->program->buffers.at[to];
	Builder b = build_new(
		naive, buffer->kind == BUFFER_TEMP ? buffer->name : tables_name(t, id), node->span);
	if (node->kind == NODE_ZEROS) {
		build_fill(&b, to, scalar_of(node->dtype, 0));
	} else {
		whole_fill(&b, id, to, operation_neutral(node));
		operation_emit(&b, id, to);
	}
	build_end(&b);
}

static void emit_copy(Naive *naive, NodeId id, const TensorArg *output)
{
	Tables *t = &naive->tables;
	Builder b = build_new(naive, tables_unique(t, output->name), tables_node(t, id)->span);
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(&b, &e);
	build_add(&b, &body,
		  build_store(&b, output->buffer, at, OP_NONE, element_flat(&b, id, at)));
	build_wrap_flat(&b, e, tables_elements(t, id), &body);
	build_end(&b);
}

/* What indices are computed from comes first, each check right behind it. */
static void emit_all(Naive *naive)
{
	Tables *t = &naive->tables;
	for (uint32_t i = 0; i < naive->nnodes; i++) {
		NodeId id = naive->nodes[i];
		naive->loop = tables_loop(t, id);
		for (uint32_t arg = 1; arg < tables_node(t, id)->nargs; arg++)
			if (node_checks(t, id, arg))
				emit_check(naive, id, arg);
		if (t->pre_check[id])
			emit_node(naive, id);
	}
	for (uint32_t i = 0; i < naive->nnodes; i++) {
		naive->loop = tables_loop(t, naive->nodes[i]);
		if (!t->pre_check[naive->nodes[i]])
			emit_node(naive, naive->nodes[i]);
	}
	naive->loop = 0;
	for (uint32_t i = 0; i < t->routine->noutputs; i++) {
		NodeId id = t->routine->outputs[i];
		const TensorArg *output = &t->program->routines.at[t->routine_id].outputs[i];
		if (naive->buffers[id] != output->buffer)
			emit_copy(naive, id, output);
	}
}

static BufferId number_of(const Naive *naive, NodeId id)
{
	return id == NODE_NONE ? BUFFER_NONE : naive->buffers[id];
}

static void emit_routine(Naive *naive, uint32_t routine)
{
	Tables *t = &naive->tables;
	memset(&naive->kernels, 0, sizeof naive->kernels);
	tables_begin(t, routine);
	find_needed(naive);
	if (!tables_find_pre_checks(t, naive->nodes, naive->nnodes))
		return;
	tables_open(t);
	for (uint32_t i = 0; i < naive->nnodes; i++)
		naive->buffers[naive->nodes[i]] = buffer_of(naive, naive->nodes[i]);
	emit_all(naive);
	for (uint32_t i = 1; i < t->graph->loops.n; i++)
		tables_end_loop(t, i, number_of(naive, t->graph->loops.at[i].until),
				number_of(naive, t->graph->loops.at[i].made));
	tables_close(t, naive->kernels.at, (uint32_t)naive->kernels.n);
	arena_reset(t->scratch);
}

/* ---- what parameters start with ---- */

/* for i, j, ...: w[i, j, ...] = the expression, at the element's own index */
static void emit_initial(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	NodeId param = tables_node(t, id)->target;
	const Shape *shape = tables_shape(t, id);
	Sym name = sym_printf(t->program->symbols, "init_%s", tables_node(t, param)->name);
	Builder b = build_new(naive, tables_unique(t, name), tables_node(t, id)->span);
	uint32_t naxes = shape_naxes(shape);
	const Ix **axes = ARENA_ARRAY(b.arena, const Ix *, naxes + 1);
	IterVar *vars = ARENA_ARRAY(b.arena, IterVar, naxes + 1);
	Body body = {0};
	b.holds = &body;
	for (uint32_t i = 0; i < naxes; i++) {
		vars[i] = build_iter(&b, sym_cstr(t->program->symbols, "i"));
		axes[i] = size_is(t->sizes, shape_axis(shape, i)->size, 1)
				  ? build_const(&b, 0)
				  : ix_iter(b.arena, vars[i]);
	}
	const Value *value = element_expression(&b, id, axes);
	build_add(&b, &body,
		  build_store(&b, naive->buffers[param], storage_index(&b, id, axes), OP_NONE,
			      value));
	for (uint32_t i = naxes; i-- > 0;)
		if (axes[i]->kind == IX_ITER)
			build_wrap(&b, &body, vars[i], shape_axis(shape, i)->size);
	b.top = body;
	build_end(&b);
}

static void emit_elements(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	for (uint32_t i = 0; i < t->routine->norder; i++) {
		NodeId part = t->routine->order[i];
		const Node *node = tables_node(t, part);
		naive->buffers[part] = node->kind == NODE_PARAM	  ? tables_param(t, part)
				       : node->kind == NODE_CONST ? tables_const(t, part)
								  : BUFFER_NONE;
	}
	emit_initial(naive, id);
}

/* As a step of any routine. */
static void emit_step(Naive *naive)
{
	Tables *t = &naive->tables;
	find_needed(naive);
	if (!tables_find_pre_checks(t, naive->nodes, naive->nnodes))
		return;
	for (uint32_t i = 0; i < naive->nnodes; i++) {
		t->names[naive->nodes[i]] = NULL;
		naive->buffers[naive->nodes[i]] = buffer_of(naive, naive->nodes[i]);
	}
	emit_all(naive);
}

/* Parameters in their order, each for itself. */
static void emit_init(Naive *naive)
{
	Tables *t = &naive->tables;
	const Routine *init = &t->graph->init;
	memset(&naive->kernels, 0, sizeof naive->kernels);
	tables_begin_init(t);
	for (uint32_t i = 0; i < init->norder; i++) {
		NodeId id = init->order[i];
		Routine one;
		if (!tables_is_initial(t, id))
			continue;
		one = tables_initial(t, id);
		t->routine = &one;
		tables_node(t, id)->elementwise ? emit_elements(naive, id) : emit_step(naive);
	}
	t->routine = init;
	tables_close_init(t, naive->kernels.at, (uint32_t)naive->kernels.n);
}

/* ---- the whole ---- */

static void emit_program(Naive *naive)
{
	Tables *t = &naive->tables;
	if (!tables_fill(t))
		return;
	for (uint32_t i = 0; i < t->graph->routines.n; i++)
		emit_routine(naive, i);
	t->program->pack.name = sym_cstr(t->program->symbols, "pack");
	t->program->pack.workspace = size_const(t->sizes, 0);
	emit_init(naive);
}

Program *naive_kernels(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options)
{
	size_t n = tensors->graph->nodes.n + 1;
	int before = diags->nerrors;
	Naive naive = {.tables = tables_new(tensors, sources, perm, diags, options),
		       .buffers = ARENA_ARRAY(perm, BufferId, n),
		       .needed = ARENA_ARRAY(perm, bool, n),
		       .nodes = ARENA_ARRAY(perm, NodeId, n)};
	Program *program = naive.tables.program;
	program->options.grain = 0;
	program->options.prepack &= options->gpu != NULL;
	program->options.pairs = false;
	emit_program(&naive);
	tables_free(&naive.tables);
	return diags->nerrors > before ? NULL : program;
}
