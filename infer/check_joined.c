/* Joined axes: row by row, an axis (h d) of one side is the product of neighbours of the other side,
 * and all other axes stand on both. */
#include "infer/check.h"

/* A row of the side that joins, and the same row of the other one. */
typedef struct Sides {
	const SpecRow *spec;
	const Row *joins, *apart;
} Sides;

static bool check_axis(Checker *c, Size joins, Size apart)
{
	return holds_equal(c, joins, apart) ||
	       check_fail(c, "a joined axis has size %s, its letters have %s",
			  size_text(c->arena, c->sizes, joins),
			  size_text(c->arena, c->sizes, apart));
}

static bool check_row(Checker *c, const Sides *sides)
{
	uint32_t variable = sides->spec->var_at < 0 ? 0 : sides->joins->n - sides->spec->naxes;
	uint32_t at = 0, other = 0;
	if (sides->joins->n < sides->spec->naxes)
		return check_fail(c, "a row has fewer axes than its specification");
	for (uint32_t i = 0; i <= sides->spec->naxes; i++) {
		bool here = sides->spec->var_at == (int32_t)i;
		for (uint32_t k = 0; here && k < variable; k++, at++, other++)
			if (other >= sides->apart->n || !check_axis(c, sides->joins->axes[at].size,
								    sides->apart->axes[other].size))
				return check_fail(c, "a row variable has other axes");
		if (i == sides->spec->naxes)
			break;
		const SpecAxis *axis = &sides->spec->axes[i];
		uint32_t parts = axis->kind == SPEC_JOIN ? axis->nparts : 1;
		Size product = size_const(c->sizes, 1);
		if (other + parts > sides->apart->n)
			return check_fail(c, "a joined row lacks axes");
		for (uint32_t k = 0; k < parts; k++)
			product = size_mul(c->sizes, product, sides->apart->axes[other++].size);
		if (!check_axis(c, sides->joins->axes[at++].size, product))
			return false;
	}
	return (at == sides->joins->n && other == sides->apart->n) ||
	       check_fail(c, "a joined row has too many axes");
}

static bool tensor_joins(const SpecTensor *tensor)
{
	for (int k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++)
			if (tensor->rows[k].axes[i].kind == SPEC_JOIN)
				return true;
	return false;
}

bool check_joined(Checker *c)
{
	if (c->node->kind != NODE_JOINED)
		return true;
	const Spec *spec = c->node->spec;
	const Shape *result = &c->inference->shapes[c->id];
	const Shape *operand = &c->inference->shapes[c->node->args[0]];
	bool of_result = tensor_joins(&spec->result);
	for (int k = 0; k < ROW_KINDS; k++) {
		Sides sides = {of_result ? &spec->result.rows[k] : &spec->operands[0].rows[k],
			       of_result ? &result->rows[k] : &operand->rows[k],
			       of_result ? &operand->rows[k] : &result->rows[k]};
		if (!check_row(c, &sides))
			return false;
	}
	return true;
}
