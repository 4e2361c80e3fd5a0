/* Products of more than three operands as products of two.
 *
 *   y[i, m] = sum over j, k, l of a[i, j] * b[j, k] * c[k, l] * d[l, m]      for one
 *
 * is a tree of pairs, each adding up the iterators that nothing else has. Its order is that of the fewest
 * steps, as reassociate.c counts them: the best of all trees of up to TREE_MOST operands, by subsets; of
 * more, each time the pair that adds least. Of equally good ones it is the first.
 */
#include <math.h>

#include "tensor/multiplicand.h"

enum { TREE_MOST = 12 };

typedef uint32_t Set; /* of operands */

typedef struct Many {
	Rebuild *split;
	const Node *node; /* its operands are new numbers */
	Reassociation *s;
	Set all;
	Letters *letters; /* by set: what its operands have; NULL: it is looked for each time */
	double *cost; /* by set: of the best tree; NULL: of more than TREE_MOST */
	Set *left;    /* by set: the first part of it */
} Many;

/* A multiplicand, and the operands that it is made of. */
typedef struct Part {
	Multiplicand of;
	Set set;
} Part;

static Letters letters_of(const Many *m, Set set)
{
	Letters letters = 0;
	if (m->letters)
		return m->letters[set];
	for (uint32_t i = 0; i < m->node->nargs; i++)
		if (set >> i & 1)
			letters |= m->s->has[i];
	return letters;
}

/* What of them the result or an operand outside of the set has. */
static Letters letters_left(const Many *m, Set set)
{
	return letters_of(m, set) & (m->s->result | letters_of(m, m->all & ~set));
}

static Letters letters_in(const Many *m, Set set)
{
	return (set & (set - 1)) ? letters_left(m, set) : letters_of(m, set);
}

/* Of a product of two parts, and of what it makes. */
static double cost_of(const Many *m, Set a, Set b)
{
	double cost = reassociation_steps(m->s, letters_in(m, a) | letters_in(m, b));
	if ((a | b) != m->all)
		cost += sums_pair_cost(reassociation_steps(m->s, letters_left(m, a | b)));
	return cost;
}

/* ---- the order ---- */

static void find_letters(Many *m)
{
	Letters *letters = ARENA_ARRAY(m->split->program->scratch, Letters, (size_t)m->all + 1);
	for (Set set = 1; set <= m->all; set++)
		letters[set] = letters[set & (set - 1)] | m->s->has[__builtin_ctz(set)];
	m->letters = letters;
}

static void find_best(Many *m)
{
	size_t n = (size_t)m->all + 1;
	find_letters(m);
	m->cost = ARENA_ARRAY(m->split->program->scratch, double, n);
	m->left = ARENA_ARRAY(m->split->program->scratch, Set, n);
	for (Set set = 1; set <= m->all; set++) {
		if (!(set & (set - 1)))
			continue;
		m->cost[set] = INFINITY;
		for (Set a = (set - 1) & set; a; a = (a - 1) & set) {
			Set b = set & ~a;
			double cost = a < b ? INFINITY : m->cost[a] + m->cost[b];
			if (cost < m->cost[set])
				cost += cost_of(m, a, b);
			if (cost < m->cost[set]) {
				m->cost[set] = cost;
				m->left[set] = a;
			}
		}
	}
}

/* ---- the graph ---- */

static Part operand(const Many *m, uint32_t i)
{
	return (Part){multiplicand_operand(m->s, m->node, i), (Set)1 << i};
}

/* The product of two parts, that whose first operand comes first in the program in front; the node itself where
 * they are all. */
static Part multiply(Many *m, const Part *a, const Part *b)
{
	Part part = {.set = a->set | b->set};
	if ((a->set & -a->set) > (b->set & -b->set)) {
		const Part *first = b;
		b = a;
		a = first;
	}
	if (part.set == m->all)
		multiply_last(m->split, m->s, m->node, &a->of, &b->of);
	else
		part.of = multiply_two(m->split, m->s, m->node, &a->of, &b->of,
				       letters_left(m, part.set), NULL);
	return part;
}

static Part build(Many *m, Set set)
{
	if (!(set & (set - 1)))
		return operand(m, (uint32_t)__builtin_ctz(set));
	Part a = build(m, m->left[set]), b = build(m, set & ~m->left[set]);
	return multiply(m, &a, &b);
}

static void build_greedily(Many *m)
{
	Part parts[OPERANDS_MOST];
	uint32_t n = m->node->nargs;
	for (uint32_t i = 0; i < n; i++)
		parts[i] = operand(m, i);
	while (n > 1) {
		uint32_t a = 0, b = 1;
		double least = INFINITY;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i + 1; k < n; k++) {
				double cost = cost_of(m, parts[i].set, parts[k].set);
				if (cost < least) {
					least = cost;
					a = i;
					b = k;
				}
			}
		parts[a] = multiply(m, &parts[a], &parts[b]);
		parts[b] = parts[--n];
	}
}

/* Is it a product, of one piece? Where nothing is added up any order is as good. */
static bool suits(const Reassociation *s)
{
	return s->old && s->node->used && s->node->kind == NODE_SPEC && s->node->nargs > 3 &&
	       s->node->nargs <= OPERANDS_MOST && s->old->npieces == 1 && !s->old->linear &&
	       s->old->niters <= SPLIT_ITERS;
}

bool many_add(Rebuild *g, NodeId id, const Node *node)
{
	Reassociation s = {.program = g->program,
			   .id = id,
			   .node = tensor_node(g->program, id),
			   .old = tensor_proj(g->program, id)};
	s.piece = s.old ? s.old->pieces : NULL;
	if (!suits(&s) || !reassociation_distributes(&s) || !reassociation_letters(&s))
		return false;
	Many m = {.split = g, .node = node, .s = &s, .all = ((Set)1 << node->nargs) - 1};
	if (node->nargs > TREE_MOST) {
		build_greedily(&m);
		return true;
	}
	find_best(&m);
	build(&m, m.all);
	return true;
}
