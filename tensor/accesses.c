/* Projections whose accesses are those of another one in other slots: operations in several steps, gradients. */
#include "tensor/accesses.h"

#include <string.h>

/* A projection under construction. An iterator that some pieces reduce and others do not is two. */
typedef struct Making {
	Arena *arena;
	const Proj *old;
	Proj *proj;
	IterId *now; /* by old iterator, twice: as the result has it, and reduced; UINT32_MAX: none */
} Making;

void piece_list_iter(Piece *piece, IterId iter)
{
	for (uint32_t i = 0; i < piece->niters; i++)
		if (piece->iters[i] == iter)
			return;
	piece->iters[piece->niters++] = iter;
}

static IterId iter_now(Making *m, Piece *piece, IterId old, bool reduced)
{
	IterId *iter = &m->now[2 * old + reduced];
	if (*iter == UINT32_MAX) {
		*iter = m->proj->niters++;
		m->proj->iters[*iter] = m->old->iters[old];
		m->proj->iters[*iter].reduced = reduced;
	}
	piece_list_iter(piece, *iter);
	return *iter;
}

static Access access_now(Making *m, Piece *piece, const Access *old, const Access *result)
{
	Access access = {old->present, ARENA_ARRAY(m->arena, Index, old->naxes + 1), old->naxes};
	for (uint32_t i = 0; i < old->naxes; i++) {
		Index *index = &access.axes[i];
		*index = old->axes[i];
		index->terms = ARENA_ARRAY(m->arena, IndexTerm, index->nterms + 1);
		for (uint32_t t = 0; t < index->nterms; t++) {
			index->terms[t] = old->axes[i].terms[t];
			IterId iter = index->terms[t].iter;
			index->terms[t].iter =
				iter_now(m, piece, iter, !access_mentions(result, iter));
		}
	}
	return access;
}

static bool is_of_factor(const Making *m, const Factor *factor, IterId iter)
{
	for (uint32_t i = 0; i < factor->niters; i++)
		if (m->now[2 * factor->iters[i]] == iter ||
		    m->now[2 * factor->iters[i] + 1] == iter)
			return true;
	return false;
}

/* What is of one old factor is one, in the order of the first iterator of each. */
static void add_factors(Making *m)
{
	bool *taken = ARENA_ARRAY(m->arena, bool, m->proj->niters + 1);
	m->proj->factors = ARENA_ARRAY(m->arena, Factor, m->proj->niters + 1);
	for (IterId first = 0; first < m->proj->niters; first++) {
		const Factor *old = m->old->factors;
		Factor *factor = &m->proj->factors[m->proj->nfactors];
		if (taken[first])
			continue;
		while (!is_of_factor(m, old, first))
			old++; /* falls: factors, of which one has it */
		factor->iters = ARENA_ARRAY(m->arena, IterId, 2 * old->niters);
		for (IterId iter = first; iter < m->proj->niters; iter++)
			if (is_of_factor(m, old, iter)) {
				taken[iter] = true;
				factor->iters[factor->niters++] = iter;
			}
		m->proj->nfactors++;
	}
}

Proj *accesses_proj(Arena *arena, const Proj *old, const PieceAccesses *pieces, uint32_t npieces,
		    uint32_t nargs)
{
	size_t most = 2 * (size_t)old->niters + 1;
	Making m = {arena, old, ARENA_NEW(arena, Proj), ARENA_ARRAY(arena, IterId, most)};
	memset(m.now, 0xff, most * sizeof *m.now);
	*m.proj = (Proj){.nargs = nargs, .npieces = npieces};
	m.proj->iters = ARENA_ARRAY(arena, Iter, most);
	m.proj->pieces = ARENA_ARRAY(arena, Piece, npieces + 1);
	for (uint32_t p = 0; p < npieces; p++) {
		Piece *piece = &m.proj->pieces[p];
		piece->iters = ARENA_ARRAY(arena, IterId, most);
		piece->args = ARENA_ARRAY(arena, Access, nargs + 1);
		piece->result = access_now(&m, piece, pieces[p].result, pieces[p].result);
		for (uint32_t i = 0; i < nargs; i++)
			piece->args[i] = access_now(&m, piece, pieces[p].args[i], pieces[p].result);
	}
	add_factors(&m);
	return m.proj;
}

Index index_of_iter(Arena *arena, Sizes *sizes, IterId iter)
{
	IndexTerm *term = ARENA_NEW(arena, IndexTerm);
	*term = (IndexTerm){iter, 1};
	return (Index){.terms = term, .nterms = 1, .offset = size_const(sizes, 0), .gather = -1};
}

Access access_without_checks(Arena *arena, const Access *access)
{
	Access now = *access;
	now.axes = ARENA_ARRAY(arena, Index, access->naxes + 1);
	for (uint32_t i = 0; i < access->naxes; i++) {
		now.axes[i] = access->axes[i];
		if (now.axes[i].gather >= 0 && now.axes[i].mode == INDEX_CHECKED)
			now.axes[i].mode = INDEX_CLAMPED;
	}
	return now;
}

Proj *proj_without_checks(Arena *arena, const Proj *proj)
{
	Proj *now = ARENA_NEW(arena, Proj);
	*now = *proj;
	now->pieces = ARENA_ARRAY(arena, Piece, proj->npieces + 1);
	for (uint32_t p = 0; p < proj->npieces; p++) {
		Piece *piece = &now->pieces[p];
		*piece = proj->pieces[p];
		piece->result = access_without_checks(arena, &piece->result);
		piece->args = ARENA_ARRAY(arena, Access, proj->nargs + 1);
		for (uint32_t i = 0; i < proj->nargs; i++)
			piece->args[i] = access_without_checks(arena, &proj->pieces[p].args[i]);
	}
	return now;
}
