/* Products of more than three operands as products of two.
 *
 *   y[i, m] = sum over j, k, l of a[i, j] * b[j, k] * c[k, l] * d[l, m]      for one
 *
 * is a tree of pairs, each adding up the iterators that nothing else has. Its order is that of the fewest
 * steps, as reassociate.c counts them: the best of all trees of up to TREE_MOST operands, by subsets; of
 * more, each time the pair that adds least. Of equally good ones it is the first.
 */
#include <math.h>

#include "tensor/reassociate.h"
#include "tensor/split.h"

enum { TREE_MOST = 12 };

typedef uint32_t Set; /* of operands */

typedef struct Many {
	Split *split;
	const Node *node; /* its operands are new numbers */
	Reassociation *s;
	Set all;
	double *cost; /* by set: of the best tree; NULL: of more than TREE_MOST */
	Set *left;    /* by set: the first part of it */
} Many;

/* What a tree is made of: an operand, or what is between. */
typedef struct Part {
	NodeId node;
	Access access; /* by the old iterators */
	Letters has;
	Set set;
} Part;

static Letters letters_of(const Many *m, Set set)
{
	Letters letters = 0;
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
		cost += reassociation_cells(reassociation_steps(m->s, letters_left(m, a | b)));
	return cost;
}

/* ---- the order ---- */

static void find_best(Many *m)
{
	size_t n = (size_t)m->all + 1;
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

static void add_axis(const Many *m, Shape *shape, Access *access, RowKind kind, uint32_t letter)
{
	Sizes *sizes = m->split->program->sizes;
	const Proj *old = m->s->old;
	bool runs = letter < old->niters;
	Row *row = &shape->rows[kind];
	Index *index = &access->axes[access->naxes++];
	*index = (Index){.gather = -1, .offset = size_const(sizes, 0), .nterms = runs};
	index->terms = ARENA_ARRAY(m->split->program->arena, IndexTerm, 1);
	if (runs)
		index->terms[0] = (IndexTerm){letter, 1};
	row->axes[row->n++] =
		(Axis){.size = runs ? old->iters[letter].extent : size_const(sizes, 1)};
}

/* Letters of the result's batch axes, in their order, then others: those of the sum in front where the result's
 * last axis is among them, which is then the last. */
static Shape shape_between(const Many *m, Letters letters, Access *access)
{
	const Reassociation *s = m->s;
	Arena *arena = m->split->program->arena;
	const Access *result = &s->piece->result;
	Shape shape = {0};
	*access = (Access){true, ARENA_ARRAY(arena, Index, LETTERS_MOST), 0};
	for (int kind = 0; kind < ROW_KINDS; kind++)
		shape.rows[kind].axes = ARENA_ARRAY(arena, Axis, LETTERS_MOST);
	uint32_t nbatch = tensor_shape(s->program, s->id)->rows[ROW_BATCH].n;
	Letters batch = 0;
	for (uint32_t axis = 0; axis < nbatch; axis++)
		for (uint32_t i = 0; i < s->nletters; i++)
			if ((letters & letter_bit(i)) && s->letters[i].axis == axis) {
				batch |= letter_bit(i);
				add_axis(m, &shape, access, ROW_BATCH, i);
			}
	for (int own = 0; own < 2; own++) {
		Letters some = letters & ~batch & (own ? s->result : ~s->result);
		for (uint32_t a = 0; own && a < result->naxes; a++)
			for (uint32_t t = 0; t < result->axes[a].nterms; t++) {
				uint32_t i = result->axes[a].terms[t].iter;
				if (some & letter_bit(i))
					add_axis(m, &shape, access, ROW_OUTPUT, i);
				some &= ~letter_bit(i);
			}
		for (uint32_t i = 0; i < s->nletters; i++)
			if (some & letter_bit(i))
				add_axis(m, &shape, access, ROW_OUTPUT, i);
	}
	return shape;
}

static void set_facts(const Many *m, Proj *proj, bool last)
{
	const Proj *old = m->s->old;
	proj->surjective = !last || old->surjective;
	proj->injective = !proj_reduces(proj) && (!last || proj_is_plain(proj));
	proj->clear = !proj->injective || !proj->surjective || proj_is_guarded(proj);
}

/* The product of two parts; the node itself where they are all. */
static Part multiply(Many *m, NodeId id, const Part *a, const Part *b)
{
	const TensorProgram *program = m->split->program;
	NodeId nodes[] = {a->node, b->node};
	const Access *args[] = {&a->access, &b->access};
	Part part = {.set = a->set | b->set};
	bool last = part.set == m->all;
	if (last) {
		Proj *proj = split_proj(program, m->s->old, &m->s->piece->result, args, 2);
		set_facts(m, proj, true);
		split_last(m->split, id, m->node, nodes, 2, proj);
		return part;
	}
	part.has = letters_left(m, part.set);
	Shape shape = shape_between(m, part.has, &part.access);
	Proj *proj = split_proj(program, m->s->old, &part.access, args, 2);
	set_facts(m, proj, false);
	part.node = split_first(m->split, m->node, "pair", nodes, 2, shape, proj);
	return part;
}

static Part operand(const Many *m, uint32_t i)
{
	return (Part){m->node->args[i], m->s->piece->args[i], m->s->has[i], (Set)1 << i};
}

/* The operand that comes first in the program stands first. */
static Part in_order(Many *m, NodeId id, const Part *a, const Part *b)
{
	bool first = (a->set & -a->set) < (b->set & -b->set);
	return first ? multiply(m, id, a, b) : multiply(m, id, b, a);
}

static Part build(Many *m, NodeId id, Set set)
{
	if (!(set & (set - 1)))
		return operand(m, (uint32_t)__builtin_ctz(set));
	Part a = build(m, id, m->left[set]), b = build(m, id, set & ~m->left[set]);
	return in_order(m, id, &a, &b);
}

static void build_greedily(Many *m, NodeId id)
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
		parts[a] = in_order(m, id, &parts[a], &parts[b]);
		parts[b] = parts[--n];
	}
}

/* Is it a product, of one piece? Where nothing is added up any order is as good. */
static bool suits(const Reassociation *s)
{
	return s->old && s->node->used && s->node->kind == NODE_SPEC && s->node->nargs > 3 &&
	       s->node->nargs <= OPERANDS_MOST && s->node->spec && s->old->npieces == 1 &&
	       !s->old->linear && s->old->niters <= SPLIT_ITERS;
}

bool many_add(Split *g, NodeId id, const Node *node)
{
	Reassociation s = {.program = g->program,
			   .id = id,
			   .node = tensor_node(g->program, id),
			   .old = tensor_proj(g->program, id)};
	s.piece = s.old ? s.old->pieces : NULL;
	if (!suits(&s) || !reassociation_may(&s) || !reassociation_letters(&s))
		return false;
	Many m = {.split = g, .node = node, .s = &s, .all = ((Set)1 << node->nargs) - 1};
	if (node->nargs > TREE_MOST) {
		build_greedily(&m, id);
		return true;
	}
	find_best(&m);
	build(&m, id, m.all);
	return true;
}
