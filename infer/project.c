/* Projections of the operations without a specification: which axes run together, by kind of node.
 *
 * The result's axes each start a class. An operand's row is aligned with a row of classes (from its
 * left for the axes before the place where broadcasting inserts, from its right for the others),
 * and each of its axes joins the class that it meets, except a broadcasting 1, which stays at index
 * 0. project_spec.c does the same for specifications; project_build.c turns the classes into loops.
 */
#include "infer/project.h"

/* A run of classes that an operand's row aligns with. */
typedef struct ClassRow {
	ClassId *at;
	uint32_t n;
} ClassRow;

/* Starts a class for each axis [from, n) of a row of a tensor, and maps the axes to them. */
static ClassRow row_classes(Projector *p, TensorMap *map, const Shape *shape, RowKind kind)
{
	const Row *row = &shape->rows[kind];
	ClassRow classes = {ARENA_ARRAY(p->perm, ClassId, row->n), row->n};
	for (uint32_t i = 0; i < row->n; i++) {
		AxisMap *axis = &map->axes[storage_slot(shape, kind, i)];
		axis->kind = MAP_CLASS;
		axis->cls = classes.at[i] = class_new(p, row->axes[i].size, NULL, p->node->span);
	}
	return classes;
}

/* Joins the axes [from, n) of a row with the classes that they meet. */
static void row_align(Projector *p, TensorMap *map, const Shape *shape, RowKind kind, uint32_t from,
		      ClassRow to)
{
	const Row *row = &shape->rows[kind];
	if (row->n < from || row->n - from > to.n)
		project_bug(p, "an operand has more axes than the result");
	uint32_t lead = row->lead > from ? row->lead - from : 0;
	uint32_t inserted = to.n - (row->n - from);
	for (uint32_t i = from; i < row->n; i++) {
		if (row->axes[i].stretch)
			continue;
		AxisMap *axis = &map->axes[storage_slot(shape, kind, i)];
		ClassId meets = to.at[i - from < lead ? i - from : i - from + inserted];
		axis->kind = MAP_CLASS;
		axis->cls = class_new(p, row->axes[i].size, NULL, p->node->span);
		class_join(p, meets, axis->cls);
	}
}

static ClassRow row_tail(ClassRow row, uint32_t from)
{
	return (ClassRow){row.at + from, row.n - from};
}

typedef struct ResultRows {
	ClassRow rows[ROW_KINDS];
} ResultRows;

static ResultRows result_classes(Projector *p)
{
	ResultRows rows;
	for (int k = 0; k < ROW_KINDS; k++) {
		RowKind kind = stored_rows[k];
		rows.rows[kind] = row_classes(p, &p->result, result_shape(p), kind);
	}
	return rows;
}

static void align_arg(Projector *p, uint32_t arg, const ResultRows *to)
{
	for (int k = 0; k < ROW_KINDS; k++)
		row_align(p, &p->args[arg], arg_shape(p, arg), (RowKind)k, 0, to->rows[k]);
}

static void project_pointwise(Projector *p)
{
	ResultRows rows = result_classes(p);
	for (uint32_t i = 0; i < p->node->nargs; i++)
		align_arg(p, i, &rows);
}

/* a * b: the batch of both, the output of a, the input of b; the input of a runs with the output of
 * b. */
static void project_compose(Projector *p)
{
	ResultRows to = result_classes(p);
	const Shape *a = arg_shape(p, 0), *b = arg_shape(p, 1);
	row_align(p, &p->args[0], a, ROW_BATCH, 0, to.rows[ROW_BATCH]);
	row_align(p, &p->args[0], a, ROW_OUTPUT, 0, to.rows[ROW_OUTPUT]);
	row_align(p, &p->args[1], b, ROW_BATCH, 0, to.rows[ROW_BATCH]);
	row_align(p, &p->args[1], b, ROW_INPUT, 0, to.rows[ROW_INPUT]);
	ClassRow inner = row_classes(p, &p->args[0], a, ROW_INPUT);
	row_align(p, &p->args[1], b, ROW_OUTPUT, 0, inner);
}

static void project_transpose(Projector *p)
{
	ResultRows to = result_classes(p);
	const Shape *a = arg_shape(p, 0);
	row_align(p, &p->args[0], a, ROW_BATCH, 0, to.rows[ROW_BATCH]);
	row_align(p, &p->args[0], a, ROW_OUTPUT, 0, to.rows[ROW_INPUT]);
	row_align(p, &p->args[0], a, ROW_INPUT, 0, to.rows[ROW_OUTPUT]);
}

static void map_gather(AxisMap *axis, int32_t arg)
{
	axis->kind = MAP_GATHER;
	axis->gather = arg;
}

/* The leftmost batch axis at a constant index, at a size, or at the one that scalar operand 1 holds. */
static void project_slice(Projector *p)
{
	ResultRows to = result_classes(p);
	const Shape *a = arg_shape(p, 0);
	if (a->rows[ROW_BATCH].n == 0)
		project_bug(p, "a slice of a tensor without batch axes");
	row_align(p, &p->args[0], a, ROW_BATCH, 1, to.rows[ROW_BATCH]);
	row_align(p, &p->args[0], a, ROW_OUTPUT, 0, to.rows[ROW_OUTPUT]);
	row_align(p, &p->args[0], a, ROW_INPUT, 0, to.rows[ROW_INPUT]);
	AxisMap *axis = &p->args[0].axes[storage_slot(a, ROW_BATCH, 0)];
	if (p->node->nargs > 1)
		map_gather(axis, 1);
	else
		axis->offset = p->node->size_expr ? infer_size(p->inference, p->node->size_expr)
						  : size_const(p->sizes, p->node->slice_index);
}

/* The leftmost output axis of the table is read at the integers of operand 1. */
static void project_gather(Projector *p)
{
	ResultRows to = result_classes(p);
	const Shape *table = arg_shape(p, 0);
	if (table->rows[ROW_OUTPUT].n == 0)
		project_bug(p, "a table without output axes");
	row_align(p, &p->args[0], table, ROW_BATCH, 0, to.rows[ROW_BATCH]);
	row_align(p, &p->args[0], table, ROW_OUTPUT, 1, to.rows[ROW_OUTPUT]);
	row_align(p, &p->args[0], table, ROW_INPUT, 0, to.rows[ROW_INPUT]);
	map_gather(&p->args[0].axes[storage_slot(table, ROW_OUTPUT, 0)], 1);
	align_arg(p, 1, &to);
}

/* The new axis is the concatenation of one unit an operand. */
static void project_stack(Projector *p)
{
	ResultRows to = result_classes(p);
	const Node *node = p->node;
	RowKind kind = node->stack_row;
	if (to.rows[kind].n == 0)
		project_bug(p, "a stack without its axis");
	AxisMap *axis = &p->result.axes[storage_slot(result_shape(p), kind, 0)];
	axis->kind = MAP_CONCAT;
	axis->nparts = node->nargs;
	axis->parts = ARENA_ARRAY(p->perm, MapPart, node->nargs);
	to.rows[kind] = row_tail(to.rows[kind], 1);
	for (uint32_t i = 0; i < node->nargs; i++) {
		ClassId unit = class_new(p, size_const(p->sizes, 1), NULL, node->arg_spans[i]);
		p->classes.at[unit].unit = true;
		axis->parts[i].cls = p->args[i].needs = unit;
		align_arg(p, i, &to);
	}
	class_group(p, axis);
}

static Proj *project_reshape(Projector *p)
{
	Proj *proj = ARENA_NEW(p->perm, Proj);
	proj->nargs = p->node->nargs;
	proj->linear = proj->injective = proj->surjective = true;
	proj->width = p->node->kind == NODE_JOINED ? 1 : node_width(p->node->kind);
	return proj;
}

/* False: the node makes its tensor without reading an index (a leaf). */
static bool project_maps(Projector *p)
{
	switch (p->node->kind) {
	case NODE_POINTWISE:
	case NODE_RANDOM:
	case NODE_CAST: project_pointwise(p); return true;
	case NODE_COMPOSE: project_compose(p); return true;
	case NODE_TRANSPOSE: project_transpose(p); return true;
	case NODE_SLICE: project_slice(p); return true;
	case NODE_STACK: project_stack(p); return true;
	case NODE_GATHER:
		if (p->node->spec)
			project_spec(p);
		else
			project_gather(p);
		return true;
	case NODE_SCATTER:
	case NODE_SPEC:
	case NODE_BLOCK:
	case NODE_CUMULATE:
	case NODE_SORT:
	case NODE_ARGMAX: project_spec(p); return true;
	default: return false;
	}
}

Proj *proj_derive(const Inference *inference, NodeId id, Arena *perm, Diags *diags)
{
	const Node *node = graph_node(inference->graph, id);
	Projector p = {.inference = inference,
		       .node = node,
		       .id = id,
		       .sizes = inference->sizes,
		       .perm = perm,
		       .diags = diags};
	if (node_width(node->kind) || node->kind == NODE_JOINED)
		return project_reshape(&p);
	p.result = map_new(&p, result_shape(&p));
	p.args = ARENA_ARRAY(perm, TensorMap, node->nargs);
	for (uint32_t i = 0; i < node->nargs; i++)
		p.args[i] = map_new(&p, arg_shape(&p, i));
	return project_maps(&p) ? project_build(&p) : NULL;
}
