/* What a node is at an index: a load from its buffer or, where it has none, an expression of the
 * index.
 */
#include "lower/naive/builder.h"

static const Value *read_node(void *of, NodeId node, const Ix *const *axes)
{
	return element_at(of, node, axes);
}

static const Value *hold_value(void *of, void *locals, const char *name, const Value *value)
{
	Builder *b = of;
	LocalId local = build_local(b, name, value->dtype);
	build_add(b, locals, stmt_local(b->arena, local, value));
	return build_read(b, local);
}

NodeReader build_reader(Builder *b, Body *locals)
{
	return (NodeReader){.tables = b->t,
			    .program = b->program,
			    .of = b,
			    .read = read_node,
			    .hold = hold_value,
			    .locals = locals};
}

const Ix *storage_index(const Builder *b, NodeId node, const Ix *const *axes)
{
	return tables_flatten(b->program, tables_shape(b->t, node), axes);
}

const Value *element_expression(Builder *b, NodeId id, const Ix *const *axes)
{
	NodeReader r = build_reader(b, b->holds);
	return expression_of_node(&r, id, axes);
}

/* In an initialiser, a local of the element: what several operations read is computed once. */
static const Value *held_value(Builder *b, NodeId id, const Ix *const *axes)
{
	const Value *value = shared_value(b->t, &b->held, id, axes);
	if (value)
		return value;
	value = element_expression(b, id, axes);
	const Node *node = tables_node(b->t, id);
	value = hold_value(b, b->holds, node->name ? tables_name(b->t, id) : "t", value);
	PUSH(b->arena, b->held, ((SharedValue){id, axes, value}));
	return value;
}

const Value *element_at(Builder *b, NodeId id, const Ix *const *axes)
{
	BufferId buffer = b->naive->buffers[id];
	if (buffer != BUFFER_NONE)
		return value_load(b->program, buffer, storage_index(b, id, axes));
	if (b->holds && tables_node(b->t, id)->nargs > 0)
		return held_value(b, id, axes);
	return element_expression(b, id, axes);
}

const Value *element_flat(Builder *b, NodeId id, const Ix *at)
{
	BufferId buffer = b->naive->buffers[id];
	if (buffer != BUFFER_NONE)
		return value_load(b->program, buffer, at);
	return element_expression(b, id, tables_unflatten(b->program, tables_shape(b->t, id), at));
}
