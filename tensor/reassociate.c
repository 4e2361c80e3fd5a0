/* Which two of three operands are multiplied first, if any.
 *
 * It is asked where multiplication distributes over the reduction: sums of products, and for floats
 * greatest and least sums; greatest minima, least maxima.
 *
 * The order is that of the fewest steps, with what it takes to store what is between and to read
 * it again (sums_pair_cost); the one nest multiplies twice a step. A dim counts as SUM_ASSUMED there,
 * and so does a batch axis, whatever is known of it, also where it is one and has no iterator: a member
 * of a batch has the same bits in any.
 */
#include "tensor/reassociate.h"

#include "tensor/spec_name.h"

enum { BETWEEN_BITS = 40 }; /* no more than 2^40 elements between */

/* ---- letters ---- */

Letters access_letters(const Access *access)
{
	Letters letters = 0;
	for (uint32_t a = 0; a < access->naxes; a++)
		for (uint32_t t = 0; t < access->axes[a].nterms; t++)
			letters |= letter_bit(access->axes[a].terms[t].iter);
	return letters;
}

/* A batch axis of the result, whose iterators are letters of a batch. */
static bool add_batch_axis(Reassociation *s, uint32_t axis, uint32_t naxes)
{
	const Index *index = &s->piece->result.axes[axis];
	for (uint32_t t = 0; t < index->nterms; t++)
		s->letters[index->terms[t].iter] = (Letter){SUM_ASSUMED, axis};
	if (index->nterms > 0 || !s->node->spec) /* a gradient, which has none, adds up batches anyhow */
		return index->nterms <= 1;
	SpecName letter = spec_name(&s->node->spec->result.rows[ROW_BATCH], naxes, axis);
	if (!letter.name)
		return true;
	if (s->nletters == LETTERS_MOST)
		return false;
	s->letters[s->nletters] = (Letter){SUM_ASSUMED, axis};
	s->result |= letter_bit(s->nletters);
	for (uint32_t arg = 0; arg < s->node->nargs; arg++)
		if (spec_has_name(&s->node->spec->operands[arg],
				  tensor_shape(s->program, s->node->args[arg]), letter))
			s->has[arg] |= letter_bit(s->nletters);
	s->nletters++;
	return true;
}

bool reassociation_letters(Reassociation *s)
{
	if (s->old->niters > LETTERS_MOST)
		return false;
	s->nletters = s->old->niters;
	for (uint32_t i = 0; i < s->nletters; i++)
		s->letters[i] = (Letter){tensor_guess(s->program, s->old->iters[i].extent), UINT32_MAX};
	s->result = access_letters(&s->piece->result);
	for (uint32_t arg = 0; arg < s->node->nargs; arg++)
		s->has[arg] = access_letters(&s->piece->args[arg]);
	uint32_t nbatch = tensor_shape(s->program, s->id)->rows[ROW_BATCH].n;
	for (uint32_t axis = 0; axis < nbatch; axis++)
		if (!add_batch_axis(s, axis, nbatch))
			return false;
	return true;
}

/* ---- whether ---- */

/* Is a step that is skipped as good as one that adds a product with 0? For sums alone: the least
 * float is not what a greatest sum skips, beside an infinity. */
bool reassociation_distributes(const Reassociation *s)
{
	const Node *node = s->node;
	Op reduce = node_reduce_op(node);
	if (reduce == OP_ADD)
		return node->op == OP_MUL;
	for (uint32_t arg = 0; arg < s->node->nargs; arg++)
		if (access_is_guarded(&s->piece->args[arg]))
			return false;
	if (reduce != OP_MAX && reduce != OP_MIN)
		return false;
	return node->op == OP_ADD ? dtype_is_float(node->dtype)
				  : node->op == (reduce == OP_MAX ? OP_MIN : OP_MAX);
}

static bool suits(const Reassociation *s)
{
	return s->old && s->node->used && s->node->kind == NODE_SPEC && s->node->nargs == 3 &&
	       s->old->npieces == 1 && !s->old->linear && proj_reduces(s->old);
}

double reassociation_steps(const Reassociation *s, Letters letters)
{
	double n = 1;
	for (uint32_t i = 0; i < s->nletters; i++)
		if (letters & letter_bit(i))
			n *= s->letters[i].extent;
	return n;
}

static Letters letters_between(const Reassociation *s, uint32_t other)
{
	Letters pair = s->has[(other + 1) % 3] | s->has[(other + 2) % 3];
	return pair & (s->result | s->has[other]);
}

/* Of the order that takes operand `other` last. */
static double cost_of(const Reassociation *s, uint32_t other)
{
	Letters pair = s->has[(other + 1) % 3] | s->has[(other + 2) % 3];
	Letters between = letters_between(s, other);
	double elements = reassociation_steps(s, between);
	return reassociation_steps(s, pair) + reassociation_steps(s, between | s->has[other]) +
	       sums_pair_cost(elements);
}

/* Is what is between of a size that may be? */
static bool has_room(const Reassociation *s, uint32_t other)
{
	Sizes *sizes = s->program->sizes;
	Letters between = letters_between(s, other);
	Size elements = size_const(sizes, (int64_t)1 << (62 - BETWEEN_BITS));
	int64_t n;
	for (uint32_t i = 0; i < s->old->niters; i++)
		if (between & letter_bit(i))
			elements = size_mul(sizes, elements, s->old->iters[i].extent);
	return !size_is_bad(elements) && (!size_is_const(sizes, elements, &n) || n > 0);
}

/* Does a pair sum along the last axis of its larger operand, which is read in line then? */
static bool sums_last(const Reassociation *s, uint32_t other)
{
	uint32_t a = (other + 1) % 3, b = (other + 2) % 3;
	uint32_t large =
		reassociation_steps(s, s->has[a]) < reassociation_steps(s, s->has[b]) ? b : a;
	const Access *access = &s->piece->args[large];
	const Index *last = access->naxes ? &access->axes[access->naxes - 1] : NULL;
	return last && last->nterms &&
	       !(letters_between(s, other) & letter_bit(last->terms[last->nterms - 1].iter));
}

/* The cheapest order, of equals one that sums along a last axis, else the first; false: the one
 * nest is cheaper. */
static bool choose_order(Reassociation *s)
{
	double least = 2 * reassociation_steps(s, s->has[0] | s->has[1] | s->has[2] | s->result);
	bool found = false, in_line = false;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t other = 2 - i; /* the operands 0, 1 first, then 0, 2, then 1, 2 */
		double cost = cost_of(s, other);
		bool better = cost == least && found && !in_line && sums_last(s, other);
		if (!(cost < least || better) || !has_room(s, other))
			continue;
		least = cost;
		found = true;
		in_line = sums_last(s, other);
		s->other = other;
	}
	s->p = s->other == 0;
	s->q = s->other == 2 ? 1 : 2;
	s->between = letters_between(s, s->other);
	return found;
}

bool reassociation_choose(Reassociation *s)
{
	s->piece = s->old ? s->old->pieces : NULL;
	return suits(s) && reassociation_distributes(s) && reassociation_letters(s) &&
	       choose_order(s);
}
