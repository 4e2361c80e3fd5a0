/* Leaves against their declarations: the rows that are written, the sizes of their axes, their
 * labels, and the number of elements of data. */
#include "infer/check.h"

#include <inttypes.h>

static const char *const row_names[ROW_KINDS] = {"batch", "input", "output"};

static bool check_decl_axis(Checker *c, const DeclAxis *decl, const Axis *axis, int kind)
{
	if (decl->label && decl->label != axis->label)
		return check_fail(c, "an axis declared %s is labelled %s", decl->label,
				  axis->label ? axis->label : "not at all");
	if (!decl->size)
		return true;
	Size declared = check_size_expr(c, decl->size);
	return holds_equal(c, declared, axis->size) ||
	       check_fail(c, "the %s row declares %s and has %s", row_names[kind],
			  size_text(c->arena, c->sizes, declared),
			  size_text(c->arena, c->sizes, axis->size));
}

static bool check_decl_row(Checker *c, const DeclRow *decl, const Row *row, int kind)
{
	if (decl->open)
		return true;
	if (decl->var_at < 0 ? row->n != decl->naxes : row->n < decl->naxes)
		return check_fail(c, "the %s row declares %u axes and has %u", row_names[kind],
				  decl->naxes, row->n);
	for (uint32_t i = 0; i < decl->naxes; i++) {
		bool before = decl->var_at < 0 || i < (uint32_t)decl->var_at;
		uint32_t at = before ? i : row->n - decl->naxes + i;
		if (!check_decl_axis(c, &decl->axes[i], &row->axes[at], kind))
			return false;
	}
	return true;
}

bool check_declared(Checker *c, const ShapeDecl *decl, const Shape *shape)
{
	for (int k = 0; k < ROW_KINDS; k++)
		if (!check_decl_row(c, &decl->rows[k], &shape->rows[k], k))
			return false;
	return true;
}

static bool check_own_axes(Checker *c, const Shape *shape)
{
	for (uint32_t i = 0; i < shape_naxes(shape); i++) {
		const Axis *axis = shape_axis(shape, i);
		if (!holds_size(c, axis->size))
			return check_fail(c, "an axis has no size, or one below 0");
		if (axis->stretch && (axis->label || !size_is(c->sizes, axis->size, 1)))
			return check_fail(c,
					  "a broadcasting axis has a label or a size of its own");
	}
	return true;
}

bool check_leaf(Checker *c)
{
	const Node *node = c->node;
	const Shape *shape = &c->inference->shapes[c->id];
	if (!check_own_axes(c, shape))
		return false;
	if (node->shape && !check_declared(c, node->shape, shape))
		return false;
	if (node->kind == NODE_CONST && node->data &&
	    !size_is(c->sizes, shape_elements(c->sizes, shape), node->data->count))
		return check_fail(c, "%" PRId64 " numbers for a tensor of %s", node->data->count,
				  size_text(c->arena, c->sizes, shape_elements(c->sizes, shape)));
	if (node->kind == NODE_RANGE &&
	    !holds_equal(c, shape_elements(c->sizes, shape), check_size_expr(c, node->size_expr)))
		return check_fail(c, "a range of another length");
	return true;
}
