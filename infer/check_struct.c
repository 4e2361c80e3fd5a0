/* The form of a projection: ids in range, every iterator in one factor, every piece over exactly
 * the iterators that its indices mention, at most one of each factor, the result's before the
 * reduced ones; what one axis runs over in turn is of one factor. */
#include "infer/check.h"

#include <inttypes.h>

static bool check_index(Checker *c, const Index *index)
{
	if (size_is_bad(index->offset))
		return check_fail(c, "an index has no offset");
	if (index->gather >= 0 && ((uint32_t)index->gather >= c->proj->nargs || index->nterms > 0))
		return check_fail(c, "an index is read from an operand that does not exist");
	const Node *node = c->node;
	if (index->gather >= 0 &&
	    !dtype_is_integer(graph_node(c->inference->graph, node->args[index->gather])->dtype))
		return check_fail(c, "an index is read that is no integer");
	for (uint32_t t = 0; t < index->nterms; t++) {
		if (index->terms[t].iter >= c->proj->niters)
			return check_fail(c, "an index mentions iterator %u of %u",
					  index->terms[t].iter, c->proj->niters);
		if (index->terms[t].coef == 0)
			return check_fail(c, "an index has a term with coefficient 0");
		for (uint32_t u = 0; u < t; u++)
			if (index->terms[u].iter == index->terms[t].iter)
				return check_fail(c, "an index mentions an iterator twice");
	}
	return true;
}

static bool check_access(Checker *c, const Access *access, const ExpectTensor *expect)
{
	if (!access->present)
		return true;
	if (access->naxes != expect->n)
		return check_fail(c, "%u indices for %u axes", access->naxes, expect->n);
	for (uint32_t i = 0; i < access->naxes; i++)
		if (!check_index(c, &access->axes[i]))
			return false;
	return true;
}

static bool check_factors(Checker *c, uint32_t *factor_of)
{
	const Proj *proj = c->proj;
	for (uint32_t f = 0; f < proj->nfactors; f++)
		for (uint32_t i = 0; i < proj->factors[f].niters; i++) {
			IterId iter = proj->factors[f].iters[i];
			if (iter >= proj->niters || factor_of[iter] != 0)
				return check_fail(
					c, "an iterator is in two factors, or does not exist");
			factor_of[iter] = f + 1;
		}
	for (IterId i = 0; i < proj->niters; i++) {
		if (factor_of[i] == 0)
			return check_fail(c, "iterator %u is in no factor", i);
		if (size_is_bad(proj->iters[i].extent))
			return check_fail(c, "iterator %u has no extent", i);
		if (!proj->iters[i].name)
			return check_fail(c, "iterator %u has no name", i);
	}
	return true;
}

static void mention(const Access *access, bool *mentioned, uint32_t *n)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		for (uint32_t t = 0; t < access->axes[i].nterms; t++) {
			*n += !mentioned[access->axes[i].terms[t].iter];
			mentioned[access->axes[i].terms[t].iter] = true;
		}
}

static bool check_piece_iters(Checker *c, const Piece *piece, bool *mentioned)
{
	const Proj *proj = c->proj;
	uint32_t nresult = 0, n;
	mention(&piece->result, mentioned, &nresult);
	for (IterId i = 0; i < proj->niters; i++)
		if (mentioned[i] && proj->iters[i].reduced)
			return check_fail(c, "'%s' is reduced, and the result mentions it",
					  proj->iters[i].name);
	n = nresult;
	for (uint32_t arg = 0; arg < proj->nargs; arg++)
		mention(&piece->args[arg], mentioned, &n);
	if (piece->niters != n)
		return check_fail(c, "a piece runs over %u iterators and mentions %u",
				  piece->niters, n);
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		if (iter >= proj->niters || !mentioned[iter])
			return check_fail(
				c,
				"a piece runs over an iterator twice, or over one that it never mentions");
		mentioned[iter] = false;
		if (proj->iters[iter].reduced != (i >= nresult))
			return check_fail(
				c,
				"'%s' is out of order: the result's iterators come first, then the reduced",
				proj->iters[iter].name);
	}
	return true;
}

static bool check_piece(Checker *c, const Piece *piece, const uint32_t *factor_of)
{
	const Proj *proj = c->proj;
	if (!piece->result.present)
		return check_fail(c, "a piece writes nothing");
	if (!check_access(c, &piece->result, &c->result))
		return false;
	for (uint32_t arg = 0; arg < proj->nargs; arg++)
		if (!check_access(c, &piece->args[arg], &c->args[arg]))
			return false;
	bool *mentioned = ARENA_ARRAY(c->arena, bool, proj->niters);
	bool *running = ARENA_ARRAY(c->arena, bool, proj->nfactors + 1);
	if (!check_piece_iters(c, piece, mentioned))
		return false;
	for (uint32_t i = 0; i < piece->niters; i++) {
		uint32_t factor = factor_of[piece->iters[i]];
		if (running[factor])
			return check_fail(c, "a piece runs over two alternatives of one factor");
		running[factor] = true;
	}
	return true;
}

static const Access *access_of(const Piece *piece, uint32_t access)
{
	return access == 0 ? &piece->result : &piece->args[access - 1];
}

/* The iterators that one axis runs over in one piece after another are alternatives of one
 * factor. */
static bool check_alternatives(Checker *c, const uint32_t *factor_of, uint32_t access,
			       uint32_t axis)
{
	const Proj *proj = c->proj;
	const IndexTerm *first = NULL;
	for (uint32_t i = 0; i < proj->npieces; i++) {
		const Access *a = access_of(&proj->pieces[i], access);
		if (!a->present || a->axes[axis].nterms != 1)
			continue;
		const IndexTerm *term = &a->axes[axis].terms[0];
		first = first ? first : term;
		if (factor_of[first->iter] != factor_of[term->iter])
			return check_fail(c, "one axis runs over two factors in turn");
	}
	return true;
}

/* How many operands a piece has: one where operands are copied, all of them where they are
 * combined. */
static bool check_presence(Checker *c, const Piece *piece)
{
	uint32_t present = 0;
	bool copies = c->node->kind == NODE_BLOCK || c->node->kind == NODE_STACK;
	for (uint32_t arg = 0; arg < c->proj->nargs; arg++)
		present += piece->args[arg].present;
	if (present != (copies ? 1 : c->proj->nargs))
		return check_fail(c, "a piece reads %u of %u operands", present, c->proj->nargs);
	return true;
}

/* Of random words as many bytes are written as are read. */
static bool check_linear(Checker *c)
{
	const Proj *proj = c->proj;
	int64_t width = 1;
	if (c->node->kind == NODE_UNIFORMS)
		width = (int64_t)(dtype_bytes(graph_node(c->inference->graph, c->node->args[0])
						      ->dtype) /
				  dtype_bytes(c->node->dtype));
	if (proj->npieces > 0)
		return check_fail(c, "a reshape has pieces");
	return proj->width == width ||
	       check_fail(c, "an element is written as %" PRId64 ", not as %" PRId64, proj->width,
			  width);
}

bool check_structure(Checker *c)
{
	const Proj *proj = c->proj;
	if (proj->nargs != c->node->nargs)
		return check_fail(c, "%u operands are projected, the operation has %u", proj->nargs,
				  c->node->nargs);
	if (proj->linear != (c->node->kind == NODE_RESHAPE || c->node->kind == NODE_UNIFORMS ||
			     c->node->kind == NODE_JOINED))
		return check_fail(c, "only a reshape runs through its elements in order");
	if (proj->linear)
		return check_linear(c);
	uint32_t *factor_of = ARENA_ARRAY(c->arena, uint32_t, proj->niters);
	if (!check_factors(c, factor_of))
		return false;
	for (uint32_t i = 0; i < proj->npieces; i++)
		if (!check_piece(c, &proj->pieces[i], factor_of) ||
		    !check_presence(c, &proj->pieces[i]))
			return false;
	for (uint32_t access = 0; access <= proj->nargs; access++) {
		uint32_t i = 0;
		while (i < proj->npieces && !access_of(&proj->pieces[i], access)->present)
			i++; /* falls: pieces */
		uint32_t naxes = i < proj->npieces ? access_of(&proj->pieces[i], access)->naxes : 0;
		for (uint32_t axis = 0; axis < naxes; axis++)
			if (!check_alternatives(c, factor_of, access, axis))
				return false;
	}
	return true;
}
