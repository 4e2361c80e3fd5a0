/* What lowering asks of a projection before it decides which kernel computes a node.
 *
 * A node may be computed inside another's kernel only where its result's index gives every iterator
 * back: from the element that the reader asks for follows the iteration that computes it. So it is
 * where each result axis is one iterator of its own, or a fixed index that is the axis's only one
 * (surjective), and no axis is computed, read or bounded.
 */
#include <stdlib.h>

#include "base/size_order.h"
#include "tensor/tensor.h"

bool proj_is_plain(const Proj *proj)
{
	if (proj->linear || proj->npieces != 1)
		return false;
	const Piece *piece = &proj->pieces[0];
	uint32_t nresult = 0;
	for (uint32_t i = 0; i < piece->niters; i++)
		nresult += !proj->iters[piece->iters[i]].reduced;
	for (uint32_t i = 0; i < piece->result.naxes; i++) {
		const Index *index = &piece->result.axes[i];
		if (index->nterms > 1 || index->gather >= 0 || index->guarded)
			return false;
		if (index->nterms == 0)
			continue;
		for (uint32_t j = 0; j < i; j++)
			if (piece->result.axes[j].nterms == 1 &&
			    piece->result.axes[j].terms[0].iter == index->terms[0].iter)
				return false;
		nresult--;
		if (index->terms[0].coef != 1)
			return false;
	}
	return nresult == 0 && proj->surjective;
}

bool proj_computes_elements(const Proj *proj)
{
	return proj_is_plain(proj) || (proj->disjoint && proj->surjective);
}

bool proj_reduces(const Proj *proj)
{
	for (uint32_t i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced)
			return true;
	return false;
}

bool access_is_guarded(const Access *access)
{
	for (uint32_t axis = 0; access->present && axis < access->naxes; axis++)
		if (access->axes[axis].guarded)
			return true;
	return false;
}

bool proj_writes_guarded(const Proj *proj)
{
	for (uint32_t p = 0; p < proj->npieces; p++)
		if (access_is_guarded(&proj->pieces[p].result))
			return true;
	return false;
}

bool proj_is_guarded(const Proj *proj)
{
	for (uint32_t p = 0; p < proj->npieces; p++)
		for (uint32_t i = 0; i < proj->nargs; i++)
			if (access_is_guarded(&proj->pieces[p].args[i]))
				return true;
	return proj_writes_guarded(proj);
}

static bool index_same(const Index *a, const Index *b)
{
	if (a->nterms != b->nterms || !size_same(a->offset, b->offset) || a->gather != b->gather ||
	    a->mode != b->mode || a->guarded != b->guarded)
		return false;
	for (uint32_t t = 0; t < a->nterms; t++)
		if (a->terms[t].iter != b->terms[t].iter || a->terms[t].coef != b->terms[t].coef)
			return false;
	return true;
}

bool proj_same_access(const Access *a, const Access *b)
{
	if (a->present != b->present || a->naxes != b->naxes)
		return false;
	for (uint32_t i = 0; i < a->naxes; i++)
		if (!index_same(&a->axes[i], &b->axes[i]))
			return false;
	return true;
}

bool proj_is_identity(const Piece *piece, uint32_t arg)
{
	return proj_same_access(&piece->result, &piece->args[arg]);
}

/* The first iterator of an index that has fewer values inside of the axis than it has, whatever the others are; -1: there
 * is none. */
static int64_t bounded_iter(const Sizes *sizes, const Proj *proj, const Index *index, Size size)
{
	for (uint32_t t = 0; index->guarded && t < index->nterms; t++) {
		const IndexTerm *term = &index->terms[t];
		if (labs((long)term->coef) == 1 && size_ge(sizes, proj->iters[term->iter].extent, size))
			return term->iter;
	}
	return -1;
}

/* Values of an iterator at which all of an operand's axes are read, at most. */
static Size values_inside(const Sizes *sizes, const Proj *proj, const Access *access,
			  const Shape *shape, IterId iter)
{
	Size extent = proj->iters[iter].extent;
	uint32_t mentioned = 0;
	for (uint32_t axis = 0; axis < access->naxes; axis++) {
		const Index *index = &access->axes[axis];
		Size size = shape_axis(shape, axis)->size;
		if (bounded_iter(sizes, proj, index, size) == iter)
			extent = size;
		for (uint32_t t = 0; t < index->nterms; t++)
			mentioned += index->terms[t].iter == iter;
	}
	return mentioned == 1 ? extent : proj->iters[iter].extent;
}

Size proj_arg_space(Sizes *sizes, const Proj *proj, uint32_t arg, const Shape *shape)
{
	Size total = size_const(sizes, 0);
	for (uint32_t p = 0; p < proj->npieces; p++) {
		const Piece *piece = &proj->pieces[p];
		const Access *access = &piece->args[arg];
		Size product = size_const(sizes, 1);
		for (uint32_t i = 0; access->present && i < piece->niters; i++)
			product = size_mul(sizes, product,
					   values_inside(sizes, proj, access, shape,
							 piece->iters[i]));
		if (access->present)
			total = size_add(sizes, total, product);
	}
	return total;
}
