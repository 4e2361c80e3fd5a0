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
#include "tensor/split.h"
#include "tensor/reassociate.h"

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

/* Those of a batch, in the order of the result's axes. */
static void add_batch(const Reassociation *s, Between *b)
{
	for (uint32_t axis = 0; axis < tensor_shape(s->program, s->id)->rows[ROW_BATCH].n; axis++)
		for (uint32_t i = 0; i < s->nletters; i++)
			if ((s->between & letter_bit(i)) && s->letters[i].axis == axis)
				add_axis(s, b, ROW_BATCH, i);
}

/* The letters in the order in which an access mentions them. */
static void add_as_in(const Reassociation *s, Between *b, const Access *order, Letters which,
		      Letters *done)
{
	for (uint32_t a = 0; a < order->naxes; a++)
		for (uint32_t t = 0; t < order->axes[a].nterms; t++) {
			IterId i = order->axes[a].terms[t].iter;
			if (!(which & letter_bit(i) & ~*done))
				continue;
			*done |= letter_bit(i);
			add_axis(s, b, ROW_OUTPUT, i);
		}
}

/* Axes of the result as the result has them, with those of the sum as the third operand has them
 * behind; in front where the result's last are columns of what is between. */
static Between make_between(const Reassociation *s)
{
	const Access *result = &s->piece->result;
	Between b = {0};
	b.access = (Access){true, ARENA_ARRAY(s->program->arena, Index, LETTERS_MOST), 0};
	for (int kind = 0; kind < ROW_KINDS; kind++)
		b.shape.rows[kind].axes = ARENA_ARRAY(s->program->arena, Axis, LETTERS_MOST);
	Letters done = 0, own = s->between & s->result, sum = s->between & ~s->result;
	add_batch(s, &b);
	for (uint32_t i = 0; i < s->nletters; i++)
		if (s->letters[i].axis != UINT32_MAX)
			done |= letter_bit(i);
	const Index *last = result->naxes ? &result->axes[result->naxes - 1] : NULL;
	bool columns =
		last && last->nterms && (own & letter_bit(last->terms[last->nterms - 1].iter));
	if (columns)
		add_as_in(s, &b, &s->piece->args[s->other], sum, &done);
	add_as_in(s, &b, result, own, &done);
	add_as_in(s, &b, &s->piece->args[s->other], sum, &done);
	return b;
}

/* ---- the graph ---- */

static Proj *first_proj(const Reassociation *s, const Between *b)
{
	const Access *args[] = {&s->piece->args[s->p], &s->piece->args[s->q]};
	Proj *proj = split_proj(s->program, s->old, &b->access, args, 2);
	proj->injective = !proj_reduces(proj);
	proj->surjective = true;
	proj->clear = !proj->injective || !proj->surjective || proj_is_guarded(proj);
	return proj;
}

/* What is between stands where the first of the two stood. */
static Proj *second_proj(const Reassociation *s, const Between *b)
{
	const Access *other = &s->piece->args[s->other];
	const Access *args[] = {s->other == 0 ? other : &b->access,
				s->other == 0 ? &b->access : other};
	Proj *proj = split_proj(s->program, s->old, &s->piece->result, args, 2);
	proj->surjective = s->old->surjective;
	proj->injective = !proj_reduces(proj) && proj_is_plain(proj);
	proj->clear = !proj->injective || !proj->surjective || proj_is_guarded(proj);
	return proj;
}

bool reassociate_add(Split *g, NodeId id, const Node *node)
{
	Reassociation s = {.program = g->program,
		    .id = id,
		    .node = tensor_node(g->program, id),
		    .old = tensor_proj(g->program, id)};
	if (!reassociation_choose(&s))
		return false;
	Between b = make_between(&s);
	NodeId both[] = {node->args[s.p], node->args[s.q]};
	NodeId first = split_first(g, node, "pair", both, 2, b.shape, first_proj(&s, &b));
	NodeId other = node->args[s.other];
	NodeId args[] = {s.other == 0 ? other : first, s.other == 0 ? first : other};
	split_last(g, id, node, args, 2, second_proj(&s, &b));
	return true;
}
