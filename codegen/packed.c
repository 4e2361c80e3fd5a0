#include "codegen/packed.h"

#include "loops/linear.h"
#include "loops/walk.h"

enum { DEPTH_MOST = 8 };

int packed_pattern(Dtype dtype, int pattern)
{
	return dtype == DTYPE_I4 ? (pattern ^ 8) - 8 : pattern;
}

bool packed_is_cast(const PackedLanes *l, const Value *value)
{
	const Value *element = value->kind == VALUE_CAST ? value->args[0] : NULL;
	return element && element->kind == VALUE_LOAD &&
	       dtype_is_packed(l->program->buffers.at[element->buffer].dtype) &&
	       (ix_moves_by(l->program, element->ix, l->lane, 1) ||
		(l->in_words && l->in_words(l->of, element)));
}

static bool is_product(const Value *value)
{
	return value->kind == VALUE_OP && value->op == OP_MUL;
}

/* `load`: of the element, NULL where there is none yet. */
static bool has_table(const PackedLanes *l, const Value *value, const Value **load, int depth)
{
	if (value->dtype != DTYPE_F32 || depth == 0)
		return false;
	if (!l->vary(l->of, value))
		return true;
	if (packed_is_cast(l, value) && (!*load || value_same(*load, value->args[0]))) {
		*load = value->args[0];
		return true;
	}
	if (value->kind != VALUE_OP ||
	    (value->op != OP_ADD && value->op != OP_SUB && value->op != OP_MUL))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (is_product(value->args[i]) || !has_table(l, value->args[i], load, depth - 1))
			return false;
	return true;
}

const Value *packed_in_table(const PackedLanes *l, const Value *value)
{
	const Value *load = NULL;
	return has_table(l, value, &load, DEPTH_MOST) ? load : NULL;
}
