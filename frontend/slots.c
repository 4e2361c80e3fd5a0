/* Slots: tensors of the state that belong to a parameter, such as the moments of an optimiser. */
#include <string.h>

#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/training.h"

static Sym full_name(const Build *b, NodeId param, Sym name)
{
	return sym_printf(b->symbols, "%s.%s", graph_node(b->graph, param)->name, name);
}

static NodeId slot_find(const Build *b, NodeId param, Sym name)
{
	uint32_t at = name_index_get(&b->slots, full_name(b, param, name));
	return at == UINT32_MAX ? NODE_NONE : at;
}

/* Does a step, or one inside of it, assign a slot of the name? */
static bool assigns(const AstStep *steps, uint32_t n, Sym name)
{
	bool found = false;
	for (uint32_t i = 0; i < n && !found; i++) {
		const AstExpr *target = steps[i].kind == STEP_ASSIGN ? steps[i].target : NULL;
		found = (target && target->kind == AST_MEMBER && target->name.sym == name) ||
			assigns(steps[i].steps, steps[i].nsteps, name);
	}
	return found;
}

NodeId slot_read(Build *b, NodeId param, const AstExpr *expr)
{
	bool assigned = false;
	for (const StepList *list = b->at.steps; list; list = list->outer)
		assigned |= assigns(list->steps, list->n, expr->name.sym);
	return assigned ? slot_make(b, param, expr) : slot_find(b, param, expr->name.sym);
}

NodeId slot_make(Build *b, NodeId param, const AstExpr *expr)
{
	NodeId old = slot_find(b, param, expr->name.sym);
	Sym full = full_name(b, param, expr->name.sym);
	if (old != NODE_NONE)
		return old;
	if (strcmp(expr->name.sym, "grad") == 0 || strcmp(expr->name.sym, "T") == 0) {
		diag(b->diags, E0234, expr->span,
		     "'%s' of a tensor is computed, and cannot be assigned", expr->name.sym);
		return NODE_NONE;
	}
	if (!entry_declare(b, full, expr->name.span))
		return NODE_NONE;
	NodeId id = node_new(b, NODE_PARAM, expr->span, expr->name.span);
	const Node *of = graph_node(b->graph, param);
	Node *node = graph_node(b->graph, id);
	node->shape = of->shape;
	node->like = param;
	node->dtype = dtype_wide(of->dtype);
	node->init = INIT_CONSTANT;
	node_name(b, id, full, expr->name.span);
	PUSH(b->arena, b->graph->params, id);
	listing_add(b, full, id, expr->name.span);
	name_index_set(b->arena, &b->slots, full, id);
	return id;
}
