/* Where a result that repeats along batch axes has too few of them, and what asks for more:
 *
 *   input ids : i32 [n |]                      the batch axes of the result come from here
 *   input h : [n, t | 8]                       those that its use asks for from here
 *   nn.cross_entropy(linear(h), ids)           the repair: ids : i32 [n, t |]
 */
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/warn.h"

static uint32_t batch_axes(Solver *s, NodeId id)
{
	FlatRow f;
	row_flatten(s, &s->rows[id][ROW_BATCH], &f);
	return f.nlead + f.ntrail;
}

/* The input or parameter with so many batch axes, all of them written, that gives them to a tensor; else NODE_NONE. */
static NodeId giver_of(Solver *s, NodeId id, uint32_t n)
{
	while (id != NODE_NONE) { /* falls: operands stand before their operation */
		const Node *node = &s->graph->nodes.at[id];
		const DeclRow *row = node->shape ? &node->shape->rows[ROW_BATCH] : NULL;
		if ((node->kind == NODE_INPUT || node->kind == NODE_PARAM) && row)
			return row->naxes == n && row->var_at < 0 && n > 0 ? id : NODE_NONE;
		NodeId next = NODE_NONE;
		for (uint32_t i = 0; i < node->nargs && next == NODE_NONE; i++)
			if (node->args[i] < id && batch_axes(s, node->args[i]) == n)
				next = node->args[i];
		id = next;
	}
	return NODE_NONE;
}

static Span batch_span(const Solver *s, NodeId id)
{
	const DeclRow *row = &s->graph->nodes.at[id].shape->rows[ROW_BATCH];
	return span_join(row->axes[0].span, row->axes[row->naxes - 1].span);
}

void warn_batch_givers(Solver *s, NodeId result, NodeId use, uint32_t few, Diags *diags)
{
	const Node *node = &s->graph->nodes.at[use];
	NodeId less = giver_of(s, result, few), more = NODE_NONE;
	for (uint32_t i = 0; i < node->nargs && more == NODE_NONE; i++)
		if (node->args[i] != result)
			more = giver_of(s, node->args[i], batch_axes(s, result));
	if (less == NODE_NONE || more == NODE_NONE)
		return;
	const char *asked = source_text(diags->sources, s->arena, batch_span(s, more));
	diag_note(diags, batch_span(s, more), "'%s' has the batch axes [%s] here",
		  s->graph->nodes.at[more].name, asked);
	diag_fix(diags, batch_span(s, less), asked, "it would fit with those for '%s'",
		 s->graph->nodes.at[less].name);
}
