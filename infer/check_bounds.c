/* Every index of every piece is within its axis, wherever the piece runs at all: from the least
 * value of each iterator to the greatest, so the two ends decide. Guarded indices and those read
 * from operands are checked when the program runs. */
#include "infer/check.h"

static bool index_in_bounds(Checker *c, const Index *index, const Axis *axis, const Size *extents,
			    uint32_t n)
{
	Size least = index->offset, greatest = index->offset;
	for (uint32_t t = 0; t < index->nterms; t++) {
		Size last = size_plus(c->sizes, c->proj->iters[index->terms[t].iter].extent, -1);
		Size far = size_scale(c->sizes, last, index->terms[t].coef);
		if (index->terms[t].coef > 0)
			greatest = size_add(c->sizes, greatest, far);
		else
			least = size_add(c->sizes, least, far);
	}
	Size end = size_plus(c->sizes, greatest, 1);
	if (!holds_ge_where(c, least, size_const(c->sizes, 0), extents, n))
		return check_fail(c, "an index falls below 0: it starts at %s",
				  size_text(c->arena, c->sizes, least));
	if (!holds_ge_where(c, axis->size, end, extents, n))
		return check_fail(c, "an index leaves its axis of size %s: it reaches %s",
				  size_text(c->arena, c->sizes, axis->size),
				  size_text(c->arena, c->sizes, greatest));
	return true;
}

static bool access_in_bounds(Checker *c, const Access *access, const ExpectTensor *expect,
			     const Size *extents, uint32_t n)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		if (index->gather >= 0 || index->guarded)
			continue;
		if (!index_in_bounds(c, index, expect->axes[i].axis, extents, n))
			return false;
	}
	return true;
}

bool check_bounds(Checker *c)
{
	for (uint32_t i = 0; i < c->proj->npieces; i++) {
		const Piece *piece = &c->proj->pieces[i];
		Size *extents = ARENA_ARRAY(c->arena, Size, piece->niters);
		for (uint32_t k = 0; k < piece->niters; k++)
			extents[k] = c->proj->iters[piece->iters[k]].extent;
		if (!access_in_bounds(c, &piece->result, &c->result, extents, piece->niters))
			return false;
		for (uint32_t arg = 0; arg < c->proj->nargs; arg++)
			if (!access_in_bounds(c, &piece->args[arg], &c->args[arg], extents,
					      piece->niters))
				return false;
	}
	return true;
}
