/* Products of three operands as two products of two.
 *
 *   y[i, l] = sum over j, k of a[i, j] * b[j, k] * c[k, l]
 * is i*j*k*l steps; it becomes
 *   pair_y[i, k] = sum over j of a[i, j] * b[j, k]
 *   y[i, l]      = sum over k of pair_y[i, k] * c[k, l]
 *
 * Any two of the three may be multiplied first (triple.c). Iterators that they alone have, and the
 * result has not, are summed with them; the others are the axes of what is between, those of batch
 * axes of the result as batch axes. Accesses stay as they are: one that reads 2*i + k keeps both
 * iterators where anything else has them.
 *
 * Nodes are inserted, so all get new numbers, before anything is decided (routines, projections
 * and shapes; what lowering does not read stays as it is: other lists, a parameter's `initial`,
 * letters).
 */
#include <string.h>

#include "lower/triple.h"

/* ---- what is between ---- */

typedef struct Between {
	Shape shape;
	Access access; /* of all its axes, by old iterators */
} Between;

static void add_axis(const Triple *s, Between *b, RowKind kind, uint32_t letter)
{
	Sizes *sizes = s->lower->sizes;
	Row *row = &b->shape.rows[kind];
	Index *index = &b->access.axes[b->access.naxes++];
	bool runs = letter < s->old->niters;
	*index = (Index){.gather = -1, .offset = size_const(sizes, 0), .nterms = runs};
	index->terms = ARENA_ARRAY(s->lower->arena, IndexTerm, 1);
	if (runs)
		index->terms[0] = (IndexTerm){letter, 1};
	row->axes[row->n++] =
		(Axis){.size = runs ? s->old->iters[letter].extent : size_const(sizes, 1)};
}

/* Those of a batch, in the order of the result's axes. */
static void add_batch(const Triple *s, Between *b)
{
	for (uint32_t axis = 0; axis < lower_shape(s->lower, s->id)->rows[ROW_BATCH].n; axis++)
		for (uint32_t i = 0; i < s->nletters; i++)
			if ((s->between & letter_bit(i)) && s->letters[i].axis == axis)
				add_axis(s, b, ROW_BATCH, i);
}

/* The letters in the order in which an access mentions them. */
static void add_as_in(const Triple *s, Between *b, const Access *order, Letters which,
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
static Between make_between(const Triple *s)
{
	const Access *result = &s->piece->result;
	Between b = {0};
	b.access = (Access){true, ARENA_ARRAY(s->lower->arena, Index, LETTERS_MOST), 0};
	for (int kind = 0; kind < ROW_KINDS; kind++)
		b.shape.rows[kind].axes = ARENA_ARRAY(s->lower->arena, Axis, LETTERS_MOST);
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

/* ---- projections ---- */

static void rename_access(Triple *s, Proj *proj, Piece *piece, const Access *old, Access *access)
{
	*access = (Access){old->present, ARENA_ARRAY(s->lower->arena, Index, old->naxes + 1),
			   old->naxes};
	for (uint32_t a = 0; a < old->naxes; a++) {
		Index *index = &access->axes[a];
		*index = old->axes[a];
		index->terms = ARENA_ARRAY(s->lower->arena, IndexTerm, index->nterms + 1);
		for (uint32_t t = 0; t < index->nterms; t++) {
			IterId *iter = &s->renamed[old->axes[a].terms[t].iter];
			index->terms[t] = old->axes[a].terms[t];
			if (*iter == UINT32_MAX) {
				*iter = proj->niters++;
				proj->iters[*iter] = s->old->iters[index->terms[t].iter];
				piece->iters[piece->niters++] = *iter;
			}
			index->terms[t].iter = *iter;
		}
	}
}

/* One piece: the result's iterators, then those of operands, which are reduced. */
static Proj *new_proj(Triple *s, const Access *result, const Access *a, const Access *b)
{
	Arena *arena = s->lower->arena;
	Proj *proj = ARENA_NEW(arena, Proj);
	Piece *piece = ARENA_NEW(arena, Piece);
	proj->iters = ARENA_ARRAY(arena, Iter, LETTERS_MOST);
	piece->iters = ARENA_ARRAY(arena, IterId, LETTERS_MOST);
	piece->args = ARENA_ARRAY(arena, Access, 2);
	s->renamed = ARENA_ARRAY(s->lower->scratch, IterId, LETTERS_MOST);
	memset(s->renamed, 0xff, LETTERS_MOST * sizeof *s->renamed);
	rename_access(s, proj, piece, result, &piece->result);
	uint32_t nresult = proj->niters;
	rename_access(s, proj, piece, a, &piece->args[0]);
	rename_access(s, proj, piece, b, &piece->args[1]);
	for (IterId i = 0; i < proj->niters; i++)
		proj->iters[i].reduced = i >= nresult;
	proj->pieces = piece;
	proj->npieces = 1;
	proj->nargs = 2;
	return proj;
}

static Proj *first_proj(Triple *s, const Between *b)
{
	Proj *proj = new_proj(s, &b->access, &s->piece->args[s->p], &s->piece->args[s->q]);
	proj->injective = !proj_reduces(proj);
	proj->surjective = true;
	proj->clear = !proj->injective;
	return proj;
}

/* What is between stands where the first of the two stood. */
static Proj *second_proj(Triple *s, const Between *b)
{
	const Access *other = &s->piece->args[s->other];
	Proj *proj = s->other == 0 ? new_proj(s, &s->piece->result, other, &b->access)
				   : new_proj(s, &s->piece->result, &b->access, other);
	proj->surjective = s->old->surjective;
	proj->injective = !proj_reduces(proj) && proj_is_plain(proj);
	proj->clear = !proj->injective;
	return proj;
}

/* ---- the graph ---- */

typedef struct Growing {
	Lower *lower;
	Graph *graph;
	Inference *inference;
	NodeId *now; /* by old number: the new one */
} Growing;

static NodeId add_node(Growing *g, Node node, Shape shape, Proj *proj, Margins *margins)
{
	NodeId id = (NodeId)g->graph->nodes.n++;
	g->graph->nodes.at[id] = node;
	g->inference->shapes[id] = shape;
	g->inference->projs[id] = proj;
	g->inference->margins[id] = margins;
	return id;
}

static NodeId now(const Growing *g, NodeId old) { return old == NODE_NONE ? old : g->now[old]; }

static NodeId *all_now(const Growing *g, const NodeId *old, uint32_t n)
{
	NodeId *ids = ARENA_ARRAY(g->lower->arena, NodeId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = now(g, old[i]);
	return ids;
}

static Node renumbered(const Growing *g, const Node *old)
{
	Node node = *old;
	node.args = all_now(g, old->args, old->nargs);
	node.target = now(g, old->target);
	node.like = now(g, old->like);
	return node;
}

static Node product(const Node *of, NodeId a, NodeId b, Arena *arena)
{
	Node node = *of;
	node.args = ARENA_ARRAY(arena, NodeId, 2);
	node.args[0] = a;
	node.args[1] = b;
	node.nargs = 2;
	node.arg_spans = NULL;
	node.spec = NULL;
	return node;
}

static NodeId add_first(Growing *g, const Triple *s, const Node *node, Proj *proj, const Between *b)
{
	Node first = product(node, node->args[s->p], node->args[s->q], g->lower->arena);
	first.name = sym_printf(g->graph->symbols, "pair_%s", node->name ? node->name : "sum");
	first.target = NODE_NONE;
	first.acc = OP_NONE;
	first.clear = false;
	return add_node(g, first, b->shape, proj, NULL);
}

static void add_pairs(Growing *g, Triple *s, Node node)
{
	Between b = make_between(s);
	NodeId first = add_first(g, s, &node, first_proj(s, &b), &b);
	NodeId other = node.args[s->other];
	Node second = s->other == 0 ? product(&node, other, first, g->lower->arena)
				    : product(&node, first, other, g->lower->arena);
	g->now[s->id] = add_node(g, second, *lower_shape(g->lower, s->id), second_proj(s, &b),
				 g->lower->inference->margins[s->id]);
}

static void add_old(Growing *g, NodeId id)
{
	Lower *lower = g->lower;
	Triple s = {.lower = lower,
		    .id = id,
		    .node = lower_node(lower, id),
		    .old = lower_proj(lower, id)};
	Node node = renumbered(g, s.node);
	if (triple_choose(&s))
		add_pairs(g, &s, node);
	else
		g->now[id] = add_node(g, node, *lower_shape(lower, id), lower->inference->projs[id],
				      lower->inference->margins[id]);
}

static Routine routine_now(const Growing *g, const Routine *old)
{
	Routine routine = *old;
	routine.inputs = all_now(g, old->inputs, old->ninputs);
	routine.params = all_now(g, old->params, old->nparams);
	routine.outputs = all_now(g, old->outputs, old->noutputs);
	routine.order = all_now(g, old->order, old->norder);
	return routine;
}

static Growing grow(Lower *lower)
{
	size_t n = 2 * lower->graph->nodes.n + 1;
	Growing g = {.lower = lower,
		     .graph = ARENA_NEW(lower->arena, Graph),
		     .inference = ARENA_NEW(lower->arena, Inference)};
	*g.graph = *lower->graph;
	*g.inference = *lower->inference;
	g.graph->nodes.at = ARENA_ARRAY(lower->arena, Node, n);
	g.graph->nodes.n = 0;
	g.inference->graph = g.graph;
	g.inference->shapes = ARENA_ARRAY(lower->arena, Shape, n);
	g.inference->projs = ARENA_ARRAY(lower->arena, Proj *, n);
	g.inference->margins = ARENA_ARRAY(lower->arena, Margins *, n);
	g.now = ARENA_ARRAY(lower->scratch, NodeId, n);
	return g;
}

static bool has_three(const Graph *graph)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (graph->nodes.at[id].kind == NODE_SPEC && graph->nodes.at[id].nargs == 3)
			return true;
	return false;
}

void lower_triples(Lower *lower)
{
	const Graph *old = lower->graph;
	if (!has_three(old))
		return;
	Growing g = grow(lower);
	for (NodeId id = 0; id < old->nodes.n; id++)
		add_old(&g, id);
	g.graph->routines.at = ARENA_ARRAY(lower->arena, Routine, old->routines.n + 1);
	for (size_t i = 0; i < old->routines.n; i++)
		g.graph->routines.at[i] = routine_now(&g, &old->routines.at[i]);
	g.graph->init = routine_now(&g, &old->init);
	g.graph->params.at = all_now(&g, old->params.at, (uint32_t)old->params.n);
	lower->graph = g.graph;
	lower->inference = g.inference;
}
