/* Products of three operands as two products of two.
 *
 *   y[i, l] = sum over j, k of a[i, j] * b[j, k] * c[k, l]
 * is i*j*k*l steps; it becomes
 *   pair_y[i, k] = sum over j of a[i, j] * b[j, k]
 *   y[i, l]      = sum over k of pair_y[i, k] * c[k, l]
 *
 * Any two of the three may be multiplied first (reassociate.c). Iterators that they alone have, and the
 * result has not, are summed with them; the others are the axes of what is between, those of batch
 * axes of the result as batch axes. Accesses stay as they are: one that reads 2*i + k keeps both
 * iterators where anything else has them.
 */
#include "tensor/multiplicand.h"

/* ---- what is between ---- */

typedef struct Between {
	Shape shape;
	Access access; /* of all its axes, by old iterators */
} Between;

static void add_axis(const Reassociation *s, Between *b, RowKind kind, uint32_t letter)
{
	Sizes *sizes = s->program->sizes;
	Row *row = &b->shape.rows[kind];
	Index *index = &b->access.axes[b->access.naxes++];
	bool runs = letter < s->old->niters;
	*index = (Index){.gather = -1, .offset = size_const(sizes, 0), .nterms = runs};
	index->terms = ARENA_ARRAY(s->program->arena, IndexTerm, 1);
	if (runs)
		index->terms[0] = (IndexTerm){letter, 1};
	row->axes[row->n++] =
		(Axis){.size = runs ? s->old->iters[letter].extent : size_const(sizes, 1)};
}

/* Those of a batch, in the order of the result's axes; `letters` is left without them. */
static void add_batch(const Reassociation *s, Between *b, Letters *letters)
{
	for (uint32_t axis = 0; axis < tensor_shape(s->program, s->id)->rows[ROW_BATCH].n; axis++)
		for (uint32_t i = 0; i < s->nletters; i++)
			if ((*letters & letter_bit(i)) && s->letters[i].axis == axis) {
				*letters &= ~letter_bit(i);
				add_axis(s, b, ROW_BATCH, i);
			}
}

/* The letters in the order in which an access mentions them; NULL: in that of their numbers. */
static void add_as_in(const Reassociation *s, Between *b, const Access *order, Letters letters)
{
	for (uint32_t a = 0; order && a < order->naxes; a++)
		for (uint32_t t = 0; t < order->axes[a].nterms; t++) {
			IterId i = order->axes[a].terms[t].iter;
			if (letters & letter_bit(i))
				add_axis(s, b, ROW_OUTPUT, i);
			letters &= ~letter_bit(i);
		}
	for (uint32_t i = 0; !order && i < s->nletters; i++)
		if (letters & letter_bit(i))
			add_axis(s, b, ROW_OUTPUT, i);
}

/* Axes of the result as the result has them, with those of the sum behind; in front where the result's
 * last are columns of what is between. */
static Between make_between(const Reassociation *s, Letters letters, const Access *sums)
{
	const Access *result = &s->piece->result;
	Between b = {0};
	b.access = (Access){true, ARENA_ARRAY(s->program->arena, Index, LETTERS_MOST), 0};
	for (int kind = 0; kind < ROW_KINDS; kind++)
		b.shape.rows[kind].axes = ARENA_ARRAY(s->program->arena, Axis, LETTERS_MOST);
	const Index *last = result->naxes ? &result->axes[result->naxes - 1] : NULL;
	bool columns =
		last && last->nterms && (letters & letter_bit(last->terms[last->nterms - 1].iter));
	add_batch(s, &b, &letters);
	if (columns)
		add_as_in(s, &b, sums, letters & ~s->result);
	add_as_in(s, &b, result, letters & s->result);
	if (!columns)
		add_as_in(s, &b, sums, letters & ~s->result);
	return b;
}

/* ---- the graph ---- */

Multiplicand multiply_two(Rebuild *g, const Reassociation *s, const Node *node,
			  const Multiplicand *a, const Multiplicand *b, Letters between,
			  const Access *sums)
{
	Between made = make_between(s, between, sums);
	const Access *args[] = {&a->access, &b->access};
	NodeId nodes[] = {a->node, b->node};
	Proj *proj = split_proj(s->program, s->old, &made.access, args, 2);
	proj->injective = !proj_reduces(proj);
	proj->surjective = true;
	proj->clear = !proj->injective || proj_is_guarded(proj);
	return (Multiplicand){split_first(g, node, "pair", nodes, 2, made.shape, proj),
			      made.access};
}

void multiply_last(Rebuild *g, const Reassociation *s, const Node *node, const Multiplicand *a,
		   const Multiplicand *b)
{
	const Access *args[] = {&a->access, &b->access};
	NodeId nodes[] = {a->node, b->node};
	Proj *proj = split_proj(s->program, s->old, &s->piece->result, args, 2);
	proj->surjective = s->old->surjective;
	proj->injective = !proj_reduces(proj) && proj_is_plain(proj);
	proj->clear = !proj->injective || !proj->surjective || proj_is_guarded(proj);
	split_last(g, s->id, node, nodes, 2, proj);
}

Multiplicand multiplicand_operand(const Reassociation *s, const Node *node, uint32_t arg)
{
	return (Multiplicand){node->args[arg], s->piece->args[arg]};
}

bool reassociate_add(Rebuild *g, NodeId id, const Node *node)
{
	Reassociation s = {.program = g->program,
			   .id = id,
			   .node = tensor_node(g->program, id),
			   .old = tensor_proj(g->program, id)};
	if (!reassociation_choose(&s))
		return false;
	Multiplicand p = multiplicand_operand(&s, node, s.p),
		     q = multiplicand_operand(&s, node, s.q),
		     other = multiplicand_operand(&s, node, s.other);
	Multiplicand pair = multiply_two(g, &s, node, &p, &q, s.between, &other.access);
	/* what is between stands where the first of the two stood */
	if (s.other == 0)
		multiply_last(g, &s, node, &other, &pair);
	else
		multiply_last(g, &s, node, &pair, &other);
	return true;
}
