/* Which iterators of a projection go along the axis of cumulate and sort. */
#include "infer/infer.h"

const IndexTerm *access_term(const Access *access, uint32_t naxes, IterId iter)
{
	for (uint32_t i = 0; i < naxes && i < access->naxes; i++)
		for (uint32_t t = 0; t < access->axes[i].nterms; t++)
			if (access->axes[i].terms[t].iter == iter)
				return &access->axes[i].terms[t];
	return NULL;
}

bool access_mentions(const Access *access, IterId iter)
{
	return access_term(access, access->naxes, iter) != NULL;
}

AlongIters proj_along(const Proj *proj)
{
	AlongIters along = {UINT32_MAX, UINT32_MAX};
	const Piece *piece = &proj->pieces[0];
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		if (proj->iters[iter].reduced)
			along.from = iter;
		else if (!access_mentions(&piece->args[0], iter))
			along.to = iter;
	}
	return along;
}
