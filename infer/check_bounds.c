/* Every index of every piece is within its axis, wherever the piece runs at all: from the least
 * value of each iterator to the greatest, so the two ends decide. Guarded indices and those read
 * from operands are checked when the program runs; how far guarded ones leave an operand is what
 * its margins say. */
#include "infer/check.h"

/* Which is its least value, and one more than its greatest? */
static void index_ends(Checker *c, const Index *index, Size *least, Size *end)
{
	*least = *end = index->offset;
	for (uint32_t t = 0; t < index->nterms; t++) {
		Size last = size_plus(c->sizes, c->proj->iters[index->terms[t].iter].extent, -1);
		Size far = size_scale(c->sizes, last, index->terms[t].coef);
		if (index->terms[t].coef > 0)
			*end = size_add(c->sizes, *end, far);
		else
			*least = size_add(c->sizes, *least, far);
	}
	*end = size_plus(c->sizes, *end, 1);
}

static bool index_in_bounds(Checker *c, const Index *index, const Axis *axis, const Size *extents,
			    uint32_t n)
{
	Size least, end;
	index_ends(c, index, &least, &end);
	if (!holds_ge_where(c, least, size_const(c->sizes, 0), extents, n))
		return check_fail(c, "an index falls below 0: it starts at %s",
				  size_text(c->arena, c->sizes, least));
	if (!holds_ge_where(c, axis->size, end, extents, n))
		return check_fail(c, "an index leaves its axis of size %s: it reaches %s",
				  size_text(c->arena, c->sizes, axis->size),
				  size_text(c->arena, c->sizes, size_plus(c->sizes, end, -1)));
	return true;
}

/* Does an element that an operand may hold outside change nothing in what is reduced? */
static bool has_neutral(const Node *node)
{
	if (node->kind != NODE_SPEC)
		return false;
	switch (node->reduce) {
	case OP_NONE:
	case OP_ADD: return node->nargs == 1 || node->op == OP_MUL;
	case OP_MAX:
	case OP_MIN: return node->nargs == 1 || node->op == OP_ADD;
	case OP_MUL: return node->nargs == 1;
	default: return false;
	}
}

/* The reads of an operand are within its margins for the operation's reduction, where it has
 * some. */
static bool access_in_margins(Checker *c, uint32_t arg, const Access *access, const Size *extents,
			      uint32_t n)
{
	Op reduce = c->node->reduce == OP_NONE ? OP_ADD : c->node->reduce;
	const Margins *m = has_neutral(c->node)
				   ? infer_margins(c->inference, c->node->args[arg], reduce)
				   : NULL;
	for (uint32_t i = 0; m && access->present && i < access->naxes; i++) {
		const Margin *margin = &m->axes[i];
		Size least, end;
		if (!access->axes[i].guarded || size_is_bad(margin->before) ||
		    size_is_bad(margin->after))
			continue;
		index_ends(c, &access->axes[i], &least, &end);
		Size first = size_scale(c->sizes, margin->before, -1);
		Size size = c->args[arg].axes[i].axis->size;
		if (!holds_ge_where(c, least, first, extents, n) ||
		    !holds_ge_where(c, size_add(c->sizes, size, margin->after), end, extents, n))
			return check_fail(c, "a padded read leaves the margins of operand %u", arg);
	}
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
					      piece->niters) ||
			    !access_in_margins(c, arg, &piece->args[arg], extents, piece->niters))
				return false;
	}
	return true;
}
