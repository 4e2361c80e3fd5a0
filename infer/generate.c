/* The constraints of a graph, node by node in the order of the program (C the result, A and B
 * operands; `refines` is written <=; rows that are the same need no constraint: they are shared):
 *
 *   pointwise of 2 or 3     C_k <= A_k, C_k <= B_k            for each row k
 *   pointwise of 1; cast    C = A
 *   a * b                   A_input <= B_output, C_batch <= A_batch, C_batch <= B_batch,
 *                           C_input = B_input, C_output = A_output
 *   transpose               C_input = A_output, C_output = A_input, C_batch = A_batch
 *   a @ i                   A_batch = size, C_batch           the other rows are shared
 *   specification           each row of each operand = the row as written
 *   stack                   C_row = count, A_row              all operands have equal rows
 *   gather                  A_output = size, C_output; C_input = A_input, C_batch = B_batch
 *   reshape                 product of A's axes = product of C's
 *   joined axes             as a specification: each joined axis = product of its letters
 *   gradient of y to x      C = x; of a direction c: c = y
 *   numbers of words        4 * product of A's axes = product of C's
 *
 * Nodes without operands: generate_leaf.c; specifications: generate_spec.c.
 */
#include "frontend/differentiable.h"
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/rows.h"
#include "infer/trail.h"

#include <string.h>

static Span arg_span(const Solver *s, NodeId id, int32_t arg)
{
	const Node *node = &s->graph->nodes.at[id];
	if (arg >= 0 && (uint32_t)arg < node->nargs && node->arg_spans)
		return node->arg_spans[arg];
	return span_is_none(node->op_span) ? node->span : node->op_span;
}

static RowTerm *arg_rows(Solver *s, NodeId id, uint32_t arg)
{
	return s->rows[s->graph->nodes.at[id].args[arg]];
}

static void rows_equal(Solver *s, NodeId node, int32_t arg, RowKind row, RowTerm a, RowTerm b)
{
	con_new(s, (Con){.kind = CON_ROW_EQ,
			 .node = node,
			 .arg = arg,
			 .row = row,
			 .span = arg_span(s, node, arg),
			 .a = a,
			 .b = b});
}

static ConId row_refines(Solver *s, NodeId node, int32_t arg, RowKind row, RowTerm res,
			 RowTerm opnd)
{
	return con_new(s, (Con){.kind = CON_ROW_LE,
				.node = node,
				.arg = arg,
				.row = row,
				.span = arg_span(s, node, arg),
				.a = res,
				.b = opnd});
}

/* The open row of a result, which its operands make, or of a routine's own tensor, which all that is
 * assigned to it makes; a parameter that a routine sets has uses as well. */
static void row_made(Solver *s, NodeId node, int32_t arg, RowKind row)
{
	const RowTerm *res = &s->rows[node][row];
	NodeId target = s->graph->nodes.at[node].target;
	bool makes = target == NODE_NONE || node_is_own(&s->graph->nodes.at[target]);
	ConId con = row_refines(s, node, arg, row, *res, arg_rows(s, node, (uint32_t)arg)[row]);
	s->cons.at[con].makes = makes;
	s->vars.at[res->var].made |= makes;
}

/* ---- operations ---- */

/* A row of a parameter that this use could not do without. */
static void must_know(Solver *s, const RowTerm *row)
{
	if (row->var != NONE)
		s->vars.at[rowvar_root(s, row->var)].must = true;
}

/* In an initialiser: the rows of the parameter, to which other operands broadcast. */
static void generate_like(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	for (int k = 0; k < ROW_KINDS; k++) {
		s->rows[id][k] = s->rows[node->like][k];
		for (uint32_t i = 0; i < node->nargs; i++)
			if (s->graph->nodes.at[node->args[i]].like != node->like)
				row_refines(s, id, (int32_t)i, (RowKind)k, s->rows[id][k],
					    arg_rows(s, id, i)[k]);
	}
}

static void generate_pointwise(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	if (node->like != NODE_NONE) {
		generate_like(s, id);
		return;
	}
	for (int k = 0; k < ROW_KINDS; k++) {
		if (node->nargs == 1 && (node->target == NODE_NONE || node->exact)) {
			s->rows[id][k] = arg_rows(s, id, 0)[k];
			continue;
		}
		s->rows[id][k] = row_open(s, NULL, node->span);
		for (uint32_t i = 0; i < node->nargs; i++)
			row_made(s, id, (int32_t)i, (RowKind)k);
	}
}

static void generate_compose(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	RowTerm *a = arg_rows(s, id, 0), *b = arg_rows(s, id, 1), *c = s->rows[id];
	must_know(s, &a[ROW_OUTPUT]);
	must_know(s, &b[ROW_OUTPUT]);
	must_know(s, &b[ROW_INPUT]);
	row_refines(s, id, 1, ROW_INPUT, a[ROW_INPUT], b[ROW_OUTPUT]);
	c[ROW_BATCH] = row_open(s, NULL, node->span);
	row_made(s, id, 0, ROW_BATCH);
	row_made(s, id, 1, ROW_BATCH);
	c[ROW_INPUT] = b[ROW_INPUT];
	c[ROW_OUTPUT] = a[ROW_OUTPUT];
	if (node->target == NODE_NONE)
		return;
	c[ROW_INPUT] = row_open(s, NULL, node->span);
	c[ROW_OUTPUT] = row_open(s, NULL, node->span);
	row_made(s, id, 1, ROW_INPUT);
	row_made(s, id, 0, ROW_OUTPUT);
}

static void generate_transpose(Solver *s, NodeId id)
{
	RowTerm *a = arg_rows(s, id, 0);
	s->rows[id][ROW_BATCH] = a[ROW_BATCH];
	s->rows[id][ROW_INPUT] = a[ROW_OUTPUT];
	s->rows[id][ROW_OUTPUT] = a[ROW_INPUT];
}

/* [cell, rest] */
static RowTerm prepend(Solver *s, CellId cell, RowTerm rest)
{
	RowTerm row = rest;
	bool closed = rest.var == NONE && !rest.nlead;
	uint32_t n = (closed ? rest.ntrail : rest.nlead) + 1;
	CellId *cells = ARENA_ARRAY(s->arena, CellId, n);
	cells[0] = cell;
	if (n > 1)
		memcpy(cells + 1, closed ? rest.trail : rest.lead, (n - 1) * sizeof *cells);
	row.pinned = false;
	if (closed) {
		row.trail = cells;
		row.ntrail = n;
	} else {
		row.lead = cells;
		row.nlead = n;
	}
	return row;
}

static void generate_slice(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	RowTerm *a = arg_rows(s, id, 0);
	CellId size = cell_new(s, NULL, node->arg_spans[0]);
	memcpy(s->rows[id], a, sizeof s->rows[id]);
	s->rows[id][ROW_BATCH] = row_open(s, NULL, node->span);
	must_know(s, &a[ROW_BATCH]);
	rows_equal(s, id, 0, ROW_BATCH, a[ROW_BATCH], prepend(s, size, s->rows[id][ROW_BATCH]));
	if (node->nargs > 1 || node->size_expr)
		return;
	CellId *cells = ARENA_ARRAY(s->arena, CellId, 1);
	cells[0] = size;
	con_new(s, (Con){.kind = CON_AT_LEAST,
			 .node = id,
			 .arg = 0,
			 .row = ROW_BATCH,
			 .span = arg_span(s, id, -1),
			 .cells = cells,
			 .ncells = 1,
			 .number = node->slice_index + 1});
}

static void generate_stack(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	RowTerm *a = arg_rows(s, id, 0);
	memcpy(s->rows[id], a, sizeof s->rows[id]);
	for (int k = 0; k < ROW_KINDS; k++) {
		must_know(s, &a[k]);
		for (uint32_t i = 1; i < node->nargs; i++) {
			must_know(s, &arg_rows(s, id, i)[k]);
			rows_equal(s, id, (int32_t)i, (RowKind)k, arg_rows(s, id, i)[k], a[k]);
		}
	}
	CellId count = cell_written(s, size_const(s->sizes, node->nargs), false, node->span);
	cell_label(s, count, node->stack_label);
	s->rows[id][node->stack_row] = prepend(s, count, a[node->stack_row]);
}

static void generate_gather(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	RowTerm *table = arg_rows(s, id, 0), *ids = arg_rows(s, id, 1);
	CellId size = cell_new(s, NULL, node->arg_spans[0]);
	RowTerm rest = row_open(s, NULL, node->span);
	for (int k = 0; k < ROW_KINDS; k++)
		must_know(s, &table[k]);
	rows_equal(s, id, 0, ROW_BATCH, table[ROW_BATCH], row_closed());
	rows_equal(s, id, 0, ROW_OUTPUT, table[ROW_OUTPUT], prepend(s, size, rest));
	rows_equal(s, id, 1, ROW_INPUT, ids[ROW_INPUT], row_closed());
	rows_equal(s, id, 1, ROW_OUTPUT, ids[ROW_OUTPUT], row_closed());
	s->rows[id][ROW_BATCH] = ids[ROW_BATCH];
	s->rows[id][ROW_INPUT] = table[ROW_INPUT];
	s->rows[id][ROW_OUTPUT] = rest;
}

/* The shape of one operand, `like`; a direction has that of the other one. */
static void generate_derivative(Solver *s, NodeId id, uint32_t like)
{
	memcpy(s->rows[id], arg_rows(s, id, like), sizeof s->rows[id]);
	for (int k = 0; k < ROW_KINDS && s->graph->nodes.at[id].nargs > 2; k++)
		rows_equal(s, id, 2, (RowKind)k, arg_rows(s, id, 2)[k],
			   arg_rows(s, id, 1 - like)[k]);
}

/* The gradients that a written rule gives have the shapes of what they are with respect to. */
static void generate_rule(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	uint32_t m = graph_rule_results(s->graph, node), n = node->nargs / 2 - m;
	for (int k = 0; k < ROW_KINDS; k++) {
		s->rows[id][k] = row_closed();
		for (uint32_t i = 2 * m; i < 2 * m + n; i++)
			rows_equal(s, id, (int32_t)(i + n), (RowKind)k, arg_rows(s, id, i + n)[k],
				   arg_rows(s, id, i)[k]);
	}
}

/* uniform(seed): the seed is one cell, the shape is that of the uses, or of the parameter that it
 * initialises. */
static void generate_random(Solver *s, NodeId id)
{
	generate_leaf(s, id);
	for (int k = 0; k < ROW_KINDS; k++) {
		rows_equal(s, id, 0, (RowKind)k, arg_rows(s, id, 0)[k], row_closed());
	}
}

/* total = factor * product of the rows' axes */
static void product_of(Solver *s, NodeId id, int32_t arg, CellId total, int64_t factor,
		       const RowTerm *rows)
{
	Con con = {.kind = CON_PRODUCT,
		   .node = id,
		   .arg = arg,
		   .span = arg_span(s, id, arg),
		   .ncells = 1,
		   .number = factor,
		   .nrows = ROW_KINDS};
	con.cells = ARENA_ARRAY(s->arena, CellId, 1);
	con.rows = ARENA_ARRAY(s->arena, RowTerm, ROW_KINDS);
	con.cells[0] = total;
	for (int k = 0; k < ROW_KINDS; k++)
		con.rows[k] = rows[stored_rows[k]];
	con_new(s, con);
}

static bool has_no_axes(Solver *s, NodeId id)
{
	FlatRow f;
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[id][k], &f);
		if (f.var != NONE || f.nlead + f.ntrail > 0)
			return false;
	}
	return true;
}

/* Collects the nodes that the words are made of; false where others than offsets() may have axes.
 * Falls: operands stand before their results. */
static bool only_offsets(Solver *s, NodeId id, bool *seen)
{
	const Node *node = graph_node(s->graph, id);
	bool only = node->kind == NODE_OFFSETS || node->kind == NODE_NUMBER ||
		    node->kind == NODE_POINTWISE || node->kind == NODE_CAST || has_no_axes(s, id);
	if (seen[id])
		return true;
	seen[id] = true;
	bool through = node->kind == NODE_POINTWISE || node->kind == NODE_CAST;
	for (uint32_t i = 0; through && i < node->nargs && only; i++)
		only = only_offsets(s, node->args[i], seen);
	return only;
}

/* Words that only offsets() gives a shape have one axis: as many as numbers are needed. None of
 * these may broadcast, or cells of one offset would have the same numbers. */
static void words_in_a_row(Solver *s, NodeId words)
{
	const Graph *graph = s->graph;
	bool *seen = ARENA_ARRAY(s->arena, bool, words + 1);
	if (!only_offsets(s, words, seen))
		return;
	bool any = false;
	for (NodeId id = 0; id <= words; id++)
		any = any || (seen[id] && graph_node(graph, id)->kind == NODE_OFFSETS);
	CellId cell = cell_new(s, NULL, graph_node(graph, words)->span);
	RowTerm row = row_cells(s, &cell, 1);
	for (NodeId id = 0; any && id <= words; id++)
		for (int k = 0; seen[id] && k < ROW_KINDS; k++)
			if (id == words || graph_node(graph, id)->kind == NODE_OFFSETS)
				rows_equal(s, id, -1, (RowKind)k, s->rows[id][k],
					   k == ROW_OUTPUT ? row : row_closed());
}

static void generate_reshape(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	bool again = node->kind == NODE_RESHAPE &&
		     s->graph->nodes.at[node->args[0]].kind == NODE_RESHAPE;
	CellId total = again ? s->totals[node->args[0]] : cell_new(s, NULL, node->span);
	s->totals[id] = total;
	if (node->kind == NODE_UNIFORMS)
		words_in_a_row(s, node->args[0]);
	for (int k = 0; k < ROW_KINDS; k++) {
		s->rows[id][k] = row_open(s, NULL, node->span);
		mark_terminal(s, &s->rows[id][k], false);
		s->vars.at[s->rows[id][k].var].shaped = true;
		must_know(s, &arg_rows(s, id, 0)[k]);
	}
	product_of(s, id, 0, total, node_width(node->kind), arg_rows(s, id, 0));
	product_of(s, id, -1, total, 1, s->rows[id]);
}

static uint32_t mentions(const SpecTensor *tensor, Sym var)
{
	uint32_t n = 0;
	for (int k = 0; k < ROW_KINDS; k++)
		n += tensor->rows[k].var_at >= 0 && tensor->rows[k].var == var;
	return n;
}

/* Does the specification say nothing of the row? A row variable is all of it, and stands nowhere
 * else. */
static bool asks_nothing(const Solver *s, NodeId id, const SpecRow *row)
{
	const Spec *spec = s->graph->nodes.at[id].spec;
	if (row->var_at < 0 || row->naxes > 0 || s->first_bind[id] != NONE)
		return false;
	uint32_t n = mentions(&spec->result, row->var);
	for (uint32_t i = 0; i < spec->noperands; i++)
		n += mentions(&spec->operands[i], row->var);
	return n == 1;
}

static void generate_spec_node(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	for (uint32_t i = 0; i < node->nargs; i++) {
		for (int k = 0; k < ROW_KINDS; k++)
			if (!asks_nothing(s, id, &node->spec->operands[i].rows[k]))
				must_know(s, &arg_rows(s, id, i)[k]);
	}
	generate_spec(s, id);
}

static void generate_node(Solver *s, NodeId id)
{
	switch (s->graph->nodes.at[id].kind) {
	case NODE_POINTWISE:
	case NODE_CAST: generate_pointwise(s, id); break;
	case NODE_COMPOSE: generate_compose(s, id); break;
	case NODE_TRANSPOSE: generate_transpose(s, id); break;
	case NODE_SLICE: generate_slice(s, id); break;
	case NODE_SPEC:
	case NODE_BLOCK:
	case NODE_SCATTER:
	case NODE_CUMULATE:
	case NODE_SORT:
	case NODE_JOINED:
	case NODE_ARGMAX: generate_spec_node(s, id); break;
	case NODE_STACK: generate_stack(s, id); break;
	case NODE_GATHER:
		if (s->graph->nodes.at[id].spec)
			generate_spec_node(s, id);
		else
			generate_gather(s, id);
		break;
	case NODE_GRADIENT: generate_derivative(s, id, 1); break;
	case NODE_TANGENT: generate_derivative(s, id, 0); break;
	case NODE_RULE: generate_rule(s, id); break;
	case NODE_RANDOM: generate_random(s, id); break;
	case NODE_UNIFORMS:
	case NODE_RESHAPE: generate_reshape(s, id); break;
	default: generate_leaf(s, id);
	}
}

/* The rows that are written for what the node computes. */
static void generate_ascriptions(Solver *s, NodeId id)
{
	const Graph *graph = s->graph;
	for (uint32_t i = s->first_ascription[id]; i != NONE; i = s->next_ascription[i]) {
		const Ascription *written = &graph->ascriptions.at[i];
		RowTerm rows[ROW_KINDS];
		declared_rows(s, written->shape, rows);
		for (int k = 0; k < ROW_KINDS; k++) {
			con_new(s, (Con){.kind = CON_ROW_EQ,
					 .node = id,
					 .arg = -1,
					 .row = (RowKind)k,
					 .span = written->shape->span,
					 .written = written,
					 .a = s->rows[id][k],
					 .b = rows[k]});
		}
	}
}

static void generate_requires(Solver *s)
{
	for (size_t i = 0; i < s->graph->requires.n; i++) {
		const Require *r = &s->graph->requires.at[i];
		bool spelled = false, a = false, b = false;
		if (r->numbers)
			continue;
		size_of_expr(s, r->a, &spelled, &a);
		size_of_expr(s, r->b, &spelled, &b);
		if (r->op != REQUIRE_EQ || solver_stops(s))
			continue; /* a guard, when all captured sizes are known */
		CellId *cells = ARENA_ARRAY(s->arena, CellId, 2);
		cells[0] = size_cell(s, r->a);
		cells[1] = size_cell(s, r->b);
		ConId con = con_new(s, (Con){.kind = CON_CELL_EQ,
					     .node = NODE_NONE,
					     .arg = -1,
					     .span = r->span,
					     .cells = cells,
					     .ncells = 2,
					     .done = !a && !b});
		if (!a && !b)
			required_add(s, cell_value(s, cells[0]), cell_value(s, cells[1]), con);
	}
}

void generate(Solver *s)
{
	for (; s->nnodes < s->graph->nodes.n && !solver_stops(s); s->nnodes++) {
		NodeId id = s->nnodes;
		const Node *node = &s->graph->nodes.at[id];
		generate_node(s, id);
		check_ranks(s, id);
		bool equals = node->target != NODE_NONE && node->like == NODE_NONE;
		for (int k = 0; equals && k < ROW_KINDS; k++)
			rows_equal(s, id, -1, (RowKind)k, s->rows[id][k], s->rows[node->target][k]);
		generate_ascriptions(s, id);
	}
	generate_requires(s);
}
