/* Nodes that the members of a batch share: those that are computed for all of them at once.
 *
 *   y[n, j] = sum over k of x[n, k] * exp(w[k, j])
 *
 * For several members exp(w) is computed before, as each would compute it again. A batch of one
 * would not, but numbers may depend on that: the order in which the sum adds up, and whether a
 * product is rounded before something is added. There it has such a node apart as any other batch.
 */
#include "base/pointer_map.h"
#include "lower/node_plan.h"
#include "tensor/spec_name.h"

bool fuse_root_reduces(const Lower *lower, NodeId root)
{
	return proj_reduces(lower_proj(lower, root)) || lower->plan[root].reduction != NODE_NONE;
}

static uint32_t count_ones(const Lower *lower, const Row *batch)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < batch->n; i++)
		n += size_is(lower->sizes, batch->axes[i].size, 1);
	return n;
}

/* Is it a function that tiles do not compute (tile_is_simple), of what has an axis of its own in
 * the place of a batch of one: exp(k), k : [m | d], beside q : [1 | d]? */
static bool hides_sum(const Lower *lower, const Node *node, const Row *own, const Row *batch)
{
	return node->kind == NODE_POINTWISE && !op_is_simple(node->op) &&
	       count_ones(lower, own) < count_ones(lower, batch);
}

/* Is the node the operand, or is that computed from it element by element? `seen`: nodes that were looked at. */
static bool is_of_operand(const Lower *lower, PointerMap *seen, NodeId operand, NodeId id)
{
	const Node *node = lower_node(lower, operand);
	bool found = operand == id;
	bool goes_on = (node->kind == NODE_POINTWISE || node->kind == NODE_CAST) &&
		       !(*pointer_map_at(seen, node))++;
	for (uint32_t i = 0; goes_on && i < node->nargs && !found; i++)
		found = shape_naxes(lower_shape(lower, node->args[i])) ==
				shape_naxes(lower_shape(lower, operand)) &&
			is_of_operand(lower, seen, node->args[i], id);
	return found;
}

/* Has the node an axis of its own for each batch axis of one element that the root has, as the
 * root's specification calls them? Then each member has its own part of it. */
static bool has_members(const Lower *lower, NodeId id, NodeId root, const Row *batch)
{
	const Node *node = lower_node(lower, root);
	PointerMap seen = {.arena = lower->scratch};
	uint32_t arg = 0;
	if (node->kind != NODE_SPEC || !node->spec)
		return false;
	while (arg < node->nargs && !is_of_operand(lower, &seen, node->args[arg], id))
		arg++;
	bool all = arg < node->nargs;
	for (uint32_t i = 0; i < batch->n && all; i++) {
		SpecName name = spec_name(&node->spec->result.rows[ROW_BATCH], batch->n, i);
		all = !size_is(lower->sizes, batch->axes[i].size, 1) ||
		      (name.name && spec_has_name(&node->spec->operands[arg],
						  lower_shape(lower, node->args[arg]), name));
	}
	return all;
}

bool fuse_is_shared(const Lower *lower, NodeId id, NodeId root)
{
	const Node *node = lower_node(lower, id);
	if (root == NODE_NONE || !dtype_is_float(node->dtype))
		return false;
	const Row *batch = &lower_shape(lower, root)->rows[ROW_BATCH];
	const Row *own = &lower_shape(lower, id)->rows[ROW_BATCH];
	bool reduces = fuse_root_reduces(lower, root);
	if (count_ones(lower, batch) == 0 || has_members(lower, id, root, batch))
		return false;
	if (reduces && hides_sum(lower, node, own, batch))
		return true;
	return own->n < batch->n && (node->op == OP_MUL || reduces);
}

/* Does a schedule call the node by its name? */
bool fuse_has_name(const Lower *lower, NodeId id)
{
	return lower_node(lower, id)->name && lower->plan[id].first;
}

/* What a complete schedule asks of a node without a name of its own. */
static ScheduleClause *node_asked(const Lower *lower, NodeId id, Choice choice)
{
	const ScheduleEntry *entry = schedule_node(lower->asked, lower->tables.routine_id + 1, id);
	ScheduleClause *clause = entry ? entry_clause(entry, choice) : NULL;
	return clause ? clause : (ScheduleClause *)&lower->asked->none;
}

ScheduleClause *fuse_asked(const Lower *lower, NodeId id, Choice choice)
{
	const Node *node = lower_node(lower, id);
	if (!lower->asked)
		return NULL;
	if (!fuse_has_name(lower, id))
		return lower_replays(lower) ? node_asked(lower, id, choice) : NULL;
	Sym name = lower_identifier(lower, node->name);
	Sym longer =
		sym_printf(lower->program->symbols, "%s.%s", lower->tables.routine->name, name);
	ScheduleClause *clause =
		schedule_asked(lower->asked, lower->program, longer, SPAN_NONE, choice);
	return clause && !clause->implied
		       ? clause
		       : schedule_asked(lower->asked, lower->program, name, SPAN_NONE, choice);
}
