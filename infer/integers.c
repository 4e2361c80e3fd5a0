/* Integers that are made of sizes: sizes as tensors, and indices of axes and elements, also those
 * that argmax and sort find.
 *
 * A size is wider than the dtypes of integers, so each asks for the guard that its values fit:
 * nothing wraps. Where they cannot fit, that is an error.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/guards.h"
#include "infer/rows.h"
#include "infer/trace.h"
#include "infer/trail.h"

static bool fits(Solver *s, const Node *node, Size value)
{
	int64_t known;
	if (!size_is_const(s->sizes, value, &known) ||
	    (known >= op_neutral(OP_MAX, node->dtype).i && known <= op_neutral(OP_MIN, node->dtype).i))
		return true;
	Conflict *c = conflict_new(s, CONFLICT_INTEGER, NONE);
	c->node = (NodeId)(node - s->graph->nodes.at);
	c->span = node->span;
	c->number = known;
	return false;
}

static void ask_ge(Solver *s, Size a, Size b, Span span)
{
	PUSH(s->arena, s->asked, ((Guard){.kind = GUARD_GE, .a = a, .b = b, .span = span}));
}

static void ask_size(Solver *s, const Node *node)
{
	Size value = size_as_number(s, node->size_expr);
	bool narrow = dtype_is_integer(node->dtype) && node->dtype != DTYPE_I64;
	if (size_is_bad(value) || !narrow || !fits(s, node, value))
		return;
	ask_ge(s, size_const(s->sizes, op_neutral(OP_MIN, node->dtype).i), value, node->span);
	ask_ge(s, value, size_const(s->sizes, op_neutral(OP_MAX, node->dtype).i), node->span);
}

/* Indices below `end`. */
static void ask_indices(Solver *s, const Node *node, Size end)
{
	if (node->dtype == DTYPE_I64) /* as every size is */
		return;
	Size most = size_const(s->sizes, op_neutral(OP_MIN, node->dtype).i + 1);
	if (!size_is_bad(end) && fits(s, node, size_plus(s->sizes, end, -1)))
		ask_ge(s, most, end, node->span);
}

/* Places of an axis, which are i32 whatever the node is made of. */
static void ask_places(Solver *s, const Node *node, Size end)
{
	if (node->dtype == DTYPE_I32)
		ask_indices(s, node, end);
	else if (!size_is_bad(end))
		ask_ge(s, size_const(s->sizes, op_neutral(OP_MIN, DTYPE_I32).i + 1), end,
		       node->span);
}

static Size elements_of(Solver *s, NodeId id)
{
	FlatRow f;
	Size elements = size_const(s->sizes, 1);
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[id][k], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			elements = size_mul(s->sizes, elements, cell_value(s, flat_at(&f, i)));
	}
	return elements;
}

/* The axis that an argmax or a sort goes along. */
static CellId searched_axis(Solver *s, const Node *node)
{
	const Spec *spec = node->spec;
	FlatRow f;
	for (int k = 0; k < ROW_KINDS; k++) {
		const SpecRow *row = &spec->operands[0].rows[k];
		row_flatten(s, &s->rows[node->args[0]][k], &f);
		uint32_t middle = f.nlead + f.ntrail - row->naxes;
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &row->axes[i];
			bool before = row->var_at < 0 || i < (uint32_t)row->var_at;
			if (axis->kind == SPEC_PLACEHOLDER ||
			    (axis->kind == SPEC_LETTER &&
			     (node->along.letter ? axis->letter == node->along.letter
						 : !spec_tensor_has(&spec->result, axis->letter))))
				return flat_at(&f, before ? i : i + middle);
		}
	}
	return NONE;
}

/* How many elements it has. */
static Size searched(Solver *s, const Node *node)
{
	CellId axis = searched_axis(s, node);
	return axis == NONE ? SIZE_BAD : cell_value(s, axis);
}

/* The first of the elements: are there as many? */
static void ask_first(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	for (size_t i = 0; i < s->graph->binds.n; i++) {
		const Bind *bind = &s->graph->binds.at[i];
		if (bind->node != id || !bind->size)
			continue;
		Size first = size_as_number(s, bind->size), all = searched(s, node);
		if (size_is_bad(first) || size_is_bad(all))
			continue;
		ask_ge(s, all, first, bind->span);
		s->asked.at[s->asked.n - 1].other = origin_near(s, searched_axis(s, node)).span;
	}
}

/* An index is taken into its axis, clamped or wrapped, where that has an element. */
static void ask_element(Solver *s, const Node *node, NodeId tensor, const SpecTensor *spec)
{
	FlatRow f;
	for (int k = 0; k < ROW_KINDS; k++) {
		const SpecRow *row = &spec->rows[k];
		row_flatten(s, &s->rows[tensor][k], &f);
		uint32_t middle = f.nlead + f.ntrail - row->naxes;
		for (uint32_t i = 0; i < row->naxes; i++) {
			bool before = row->var_at < 0 || i < (uint32_t)row->var_at;
			CellId cell = flat_at(&f, before ? i : i + middle);
			if (row->axes[i].bracketed)
				ask_ge(s, cell_value(s, cell), size_const(s->sizes, 1), node->span);
		}
	}
}

static void ask_elements(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	FlatRow f;
	if (node->mode != INDEX_CLAMPED && node->mode != INDEX_WRAPPED)
		return;
	if (node->kind == NODE_SCATTER) {
		ask_element(s, node, id, &node->spec->result);
	} else if (node->spec) {
		ask_element(s, node, node->args[0], &node->spec->operands[0]);
	} else {
		row_flatten(s, &s->rows[node->args[0]][ROW_OUTPUT], &f);
		ask_ge(s, cell_value(s, flat_at(&f, 0)), size_const(s->sizes, 1), node->span);
	}
}

void ask_integers(Solver *s)
{
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		if (!node->used)
			continue;
		switch (node->kind) {
		case NODE_SIZE: ask_size(s, node); break;
		case NODE_RANGE: ask_indices(s, node, size_as_number(s, node->size_expr)); break;
		case NODE_OFFSETS: ask_indices(s, node, elements_of(s, id)); break;
		case NODE_SORT:
			ask_places(s, node, searched(s, node));
			ask_first(s, id);
			break;
		case NODE_ARGMAX: ask_indices(s, node, searched(s, node)); break;
		case NODE_GATHER:
		case NODE_SCATTER: ask_elements(s, id); break;
		default: break;
		}
	}
}
