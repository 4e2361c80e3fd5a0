/* Margins: how far padded reads leave the axes of a tensor, for copies and buffers that hold what
 * is around it.
 *
 *   read     x[2*o + 3*k - left?]     leaves x by `left` in front, and behind by
 *                                     2*(O - 1) + 3*(K - 1) - left - (size - 1)
 *   margins  of x, for one element e  on each side of each axis the greatest of all reads whose
 *                                     steps, had they read e, would have changed nothing
 *
 * Each projection is added when it is derived. A margin begins at 0 and only grows; it is frozen
 * when the last projection is there, and lowering lays out by it. Sizes that cannot be compared
 * for all dims leave a margin open (SIZE_BAD): those reads stay under their guards.
 */
#include "base/size_order.h"
#include "infer/infer.h"

/* The reduction that steps of the operation are skipped in, where one element of any operand does
 * what skipping does: 0 of sums of products, the least of maxima (of sums too), ...; OP_NONE: none
 * does. */
static Op skipping_op(const Node *node)
{
	Op reduce = node->reduce == OP_NONE ? OP_ADD : node->reduce;
	bool alone = node->nargs == 1;
	bool has = reduce == OP_ADD			  ? alone || node->op == OP_MUL
		   : reduce == OP_MAX || reduce == OP_MIN ? alone || node->op == OP_ADD
							  : alone && reduce == OP_MUL;
	return has && node->kind == NODE_SPEC ? reduce : OP_NONE;
}

const Margins *infer_margins(const Inference *inference, NodeId node, Op reduce)
{
	const Margins *m = inference->margins ? inference->margins[node] : NULL;
	while (m && m->reduce != reduce) /* falls: kinds of reductions */
		m = m->next;
	return m;
}

static Margins *margins_of(const Inference *inference, NodeId node, Op reduce, Arena *perm)
{
	Margins *m = (Margins *)infer_margins(inference, node, reduce);
	if (m)
		return m;
	uint32_t n = shape_naxes(&inference->shapes[node]);
	m = ARENA_NEW(perm, Margins);
	*m = (Margins){.reduce = reduce, .axes = ARENA_ARRAY(perm, Margin, n + 1)};
	for (uint32_t i = 0; i < n; i++)
		m->axes[i].before = m->axes[i].after = size_const(inference->sizes, 0);
	Margins **end = &inference->margins[node];
	while (*end) /* falls: kinds of reductions */
		end = &(*end)->next;
	return *end = m;
}

static Size greater(const Sizes *sizes, Size a, Size b)
{
	if (size_is_bad(a) || size_is_bad(b))
		return SIZE_BAD;
	return size_ge(sizes, a, b) ? a : size_ge(sizes, b, a) ? b : SIZE_BAD;
}

static void grow(Sizes *sizes, const Proj *proj, const Index *index, Size size, Margin *margin)
{
	Size least = index->offset, greatest = index->offset;
	for (uint32_t t = 0; t < index->nterms; t++) {
		const IndexTerm *term = &index->terms[t];
		Size last = size_plus(sizes, proj->iters[term->iter].extent, -1);
		Size *end = term->coef > 0 ? &greatest : &least;
		*end = size_add(sizes, *end, size_scale(sizes, last, term->coef));
	}
	Size behind = size_plus(sizes, size_sub(sizes, greatest, size), 1);
	margin->before = greater(sizes, margin->before, size_scale(sizes, least, -1));
	margin->after = greater(sizes, margin->after, behind);
}

void margins_add(const Inference *inference, NodeId id, Arena *perm)
{
	const Node *node = graph_node(inference->graph, id);
	const Proj *proj = inference->projs[id];
	Op reduce = skipping_op(node);
	for (uint32_t p = 0; proj && reduce != OP_NONE && p < proj->npieces; p++)
		for (uint32_t arg = 0; arg < proj->nargs; arg++) {
			const Access *access = &proj->pieces[p].args[arg];
			const Shape *shape = &inference->shapes[node->args[arg]];
			for (uint32_t a = 0; access->present && a < access->naxes; a++)
				if (access->axes[a].guarded)
					grow(inference->sizes, proj, &access->axes[a],
					     shape_axis(shape, a)->size,
					     &margins_of(inference, node->args[arg], reduce, perm)
						      ->axes[a]);
		}
}
