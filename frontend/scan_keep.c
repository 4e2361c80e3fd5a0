/* What stands for a tensor that a scan carries as it was, before a step writes it: a name of a `let`, or of a member. It
 * gets a copy of the tensor, which costs nothing where nobody reads it.
 */
#include "frontend/inside.h"
#include "frontend/nodes.h"
#include "frontend/scan.h"

typedef struct Keeping {
	Build *b;
	NodeId tensor, copy; /* NODE_NONE: not made yet */
	Span span;
} Keeping;

static bool keep_value(Keeping *k, Value *value);

static bool keep_names(Keeping *k, Scope *scope, Sym except)
{
	bool kept = false;
	for (size_t i = 0; i < scope->names.n; i++)
		if (scope->names.at[i].name != except)
			kept |= keep_value(k, &scope->names.at[i].value);
	return kept;
}

static bool keep_items(Keeping *k, Value *value)
{
	bool kept = false;
	Value *items = ARENA_ARRAY(k->b->arena, Value, value->nitems);
	for (uint32_t i = 0; i < value->nitems; i++) {
		items[i] = value->items[i];
		kept |= keep_value(k, &items[i]);
	}
	if (kept)
		value->items = items;
	return kept;
}

/* Was it the tensor, or does it hold what was? */
static bool keep_value(Keeping *k, Value *value)
{
	if (value->kind == VALUE_TUPLE)
		return keep_items(k, value);
	if (value->kind == VALUE_INSTANCE && value->instance->configs)
		return keep_names(k, value->instance->configs, NULL);
	if (value->kind != VALUE_TENSOR || value->node != k->tensor)
		return false;
	if (k->copy == NODE_NONE)
		k->copy = node_pointwise(k->b, OP_ID, &k->tensor, &k->span, 1, k->span, k->span);
	value->node = k->copy;
	return true;
}

void scan_keep_old(Build *b, NodeId tensor, Sym name, Span span)
{
	Keeping keeping = {b, tensor, NODE_NONE, span};
	const Carrying *carrying = b->at.carrying;
	for (Scope *scope = b->at.scope; scope != carrying->scope; scope = scope->parent)
		keep_names(&keeping, scope, NULL);
	keep_names(&keeping, carrying->scope, name);
	for (size_t i = 0; i < b->locals.n; i++)
		keep_value(&keeping, &b->locals.at[i].value);
}
