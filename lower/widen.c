/* Which operands of bf16 and f16 are copied to f32 before the reductions that read them, and which
 * are widened where they are read.
 *
 *   cast[i] = f32(x[i])        where each element is used often: a load of f32 is cheaper
 *   acc += f32(x[i]) * w[j]    else
 *
 * Products of bf16 that go in pairs (tile_groups.c) read both operands as they are stored. Whether
 * they will is told from the graph, with the rules of tile_choose_pack.c: the operand that the last
 * axis of the result moves is copied for it, a parameter, or what many rows use, whose number is
 * known; the other one is used by many columns, or by a dim of them.
 */
#include "lower/lowering.h"

/* Elements of an operand that is small, and uses from which on widening it pays; the uses of a
 * larger one. */
enum { WIDENED_FEW = 1 << 18, WIDENED_USES = 64, WIDENED_OFTEN = 512, PAIRED_USES = 16 };

static bool mentions(const Access *access, uint32_t axes, IterId iter)
{
	for (uint32_t axis = 0; axis < access->naxes && axis < axes; axis++)
		for (uint32_t t = 0; t < access->axes[axis].nterms; t++)
			if (access->axes[axis].terms[t].iter == iter)
				return true;
	return false;
}

/* Has the operand the columns: does the last axis of the result move it? */
static bool has_columns(const Piece *piece, uint32_t arg)
{
	const Access *result = &piece->result;
	const Index *last = result->naxes ? &result->axes[result->naxes - 1] : NULL;
	return last && last->nterms == 1 &&
	       mentions(&piece->args[arg], UINT32_MAX, last->terms[0].iter);
}

/* Do enough cells of the result, batch axes not counted, read each element of the operand? */
static bool is_used(const Lower *lower, NodeId product, uint32_t arg)
{
	const Proj *proj = lower_proj(lower, product);
	const Piece *piece = &proj->pieces[0];
	uint32_t batch = lower_shape(lower, product)->rows[ROW_BATCH].n;
	bool by_columns = !has_columns(piece, arg) && has_columns(piece, !arg);
	int64_t uses = 1;
	for (uint32_t i = 0; i < piece->niters && uses < PAIRED_USES; i++) {
		IterId iter = piece->iters[i];
		int64_t n;
		if (!size_is_const(lower->sizes, proj->iters[iter].extent, &n))
			n = by_columns ? PAIRED_USES : 1;
		if (!proj->iters[iter].reduced && !mentions(&piece->result, batch, iter) &&
		    !mentions(&piece->args[arg], UINT32_MAX, iter))
			uses *= n;
	}
	return uses >= PAIRED_USES;
}

static bool is_paired(const Lower *lower, NodeId product, uint32_t arg)
{
	const Node *cast = lower_node(lower, lower_node(lower, product)->args[arg]);
	if (cast->kind != NODE_CAST || lower_node(lower, cast->args[0])->dtype != DTYPE_BF16)
		return false;
	bool packed =
		lower->machine->prepack && lower_node(lower, cast->args[0])->kind == NODE_PARAM;
	return packed || is_used(lower, product, arg);
}

/* Is each reader a product of two operands that goes in pairs? */
static bool is_read_in_pairs(const Lower *lower, NodeId id)
{
	uint32_t from = lower->first_use[id], to = lower->first_use[id + 1];
	for (uint32_t i = from; i < to; i++) {
		NodeId user = lower->uses[i].user;
		const Proj *proj = lower_proj(lower, user);
		if (!proj || !proj_reduces(proj) || proj->npieces != 1 ||
		    lower_node(lower, user)->nargs != 2 || !is_paired(lower, user, 0) ||
		    !is_paired(lower, user, 1))
			return false;
	}
	return from < to && lower->machine->pairs;
}

bool widen_first(const Lower *lower, NodeId id, Size elements, Size uses)
{
	const Node *node = lower_node(lower, id);
	Dtype from = node->kind == NODE_CAST ? lower_node(lower, node->args[0])->dtype : DTYPE_F32;
	if (!dtype_is_float(from) || dtype_wide(from) == from || node->dtype != dtype_wide(from) ||
	    is_read_in_pairs(lower, id))
		return false;
	int64_t n;
	bool few = size_is_const(lower->sizes, elements, &n) && n <= WIDENED_FEW;
	return size_ge(lower->sizes, uses,
		       size_scale(lower->sizes, elements, few ? WIDENED_USES : WIDENED_OFTEN));
}
