/* What is put together of several tensors and then put in another order, in that order at once.
 *
 *   s[j, p, q] = a[p, q] where j = 0, b[p, q] where j = 1      stack
 *   y[p, j, q] = s[j, p, q]
 * becomes
 *   y[p, j, q] = a[p, q] where j = 0, b[p, q] where j = 1
 *
 * Index maps compose: where a piece writes s at some index, it writes y where y's map puts that. So s is no
 * tensor any more, and nothing is copied. It is the only reader of s that puts it in order, each element once; all
 * elements of y are such. What is no concatenation is computed inside its readers anyway. The pieces' loops become one
 * (lower/nest_join.c).
 */
#include <string.h>

#include "sums/sums.h"
#include "tensor/accesses.h"
#include "tensor/passes.h"

typedef struct Permute {
	TensorProgram *program;
	const Node *node; /* that permutes */
	const Proj *proj; /* its */
	const Proj *from; /* of what it permutes */
} Permute;

/* ---- whether ---- */

/* Is the axis of `size` elements one iterator, from its first to its last element, or one element? */
static bool is_whole_axis(const Permute *p, const Index *index, Size size)
{
	const Sizes *sizes = p->program->sizes;
	if (index->gather >= 0 || index->guarded || !size_is(sizes, index->offset, 0))
		return false;
	if (index->nterms == 0)
		return size_is(sizes, size, 1);
	return index->nterms == 1 && index->terms[0].coef == 1 &&
	       size_same(p->proj->iters[index->terms[0].iter].extent, size);
}

static bool mentions_again(const Access *access, uint32_t axis)
{
	for (uint32_t i = 0; i < axis && access->axes[axis].nterms; i++)
		if (access->axes[i].nterms &&
		    access->axes[i].terms[0].iter == access->axes[axis].terms[0].iter)
			return true;
	return false;
}

/* Does it move each element of its operand to a place of its own, and fill the result so? */
static bool moves_all(const Permute *p)
{
	const Proj *proj = p->proj;
	const Access *arg = &proj->pieces[0].args[0];
	const Shape *shape = tensor_shape(p->program, p->node->args[0]);
	if (proj->linear || proj->npieces != 1 || !proj->injective || !proj->surjective ||
	    proj_is_guarded(proj) || proj_reduces(proj) || !arg->present)
		return false;
	uint32_t iters = 0;
	for (uint32_t a = 0; a < arg->naxes; a++) {
		if (!is_whole_axis(p, &arg->axes[a], shape_axis(shape, a)->size) ||
		    mentions_again(arg, a))
			return false;
		iters += arg->axes[a].nterms;
	}
	return iters == proj->pieces[0].niters;
}

static bool is_put_together(const Permute *p, const Node *node)
{
	const Proj *from = p->from;
	return (node->kind == NODE_STACK || node->kind == NODE_BLOCK) &&
	       node->target == NODE_NONE && node->dtype == p->node->dtype &&
	       node->loop == p->node->loop && from && !from->linear && from->npieces > 1 &&
	       !proj_reduces(from) && !proj_writes_guarded(from);
}

/* Is nothing assigned between what is put together and the node, which might be read? */
static bool reads_the_same(const Permute *p, NodeId id)
{
	for (NodeId i = p->node->args[0] + 1; i < id; i++)
		if (tensor_node(p->program, i)->target != NODE_NONE)
			return false;
	return true;
}

/* The last axis of more than one element; NULL: there is none. */
static const Index *last_axis(const Access *access)
{
	for (uint32_t a = access->naxes; a-- > 0;)
		if (access->axes[a].nterms > 0)
			return &access->axes[a];
	return NULL;
}

/* Which axis of what is permuted the iterator goes along.
 * Requires: each iterator goes along one. */
static uint32_t axis_of(const Permute *p, IterId iter)
{
	const Access *arg = &p->proj->pieces[0].args[0];
	uint32_t a = 0;
	while (arg->axes[a].nterms == 0 || arg->axes[a].terms[0].iter != iter)
		a++;
	return a;
}

/* Is the axis in the piece as long as lanes are, or as a dim? */
static bool is_long(const Permute *p, const Index *index)
{
	int64_t lanes = SUM_LANES_BYTES / (int64_t)dtype_bytes(p->node->dtype), n;
	return index->nterms == 1 && index->terms[0].coef == 1 &&
	       (!size_is_const(p->program->sizes, p->from->iters[index->terms[0].iter].extent,
			       &n) ||
		n >= lanes);
}

/* Are neighbours of the result elements of all pieces in turn, or long rows that were rows before? Shorter ones are
 * copied in lanes, and rows from columns in squares, once they are there. */
static bool lies_well(const Permute *p)
{
	const Index *last = last_axis(&p->proj->pieces[0].result),
		    *before = last_axis(&p->proj->pieces[0].args[0]);
	if (!last || last->nterms != 1 || last->terms[0].coef != 1)
		return false;
	uint32_t axis = axis_of(p, last->terms[0].iter);
	bool in_turn = true, rows = before->terms[0].iter == last->terms[0].iter;
	for (uint32_t i = 0; i < p->from->npieces; i++) {
		const Index *at = &p->from->pieces[i].result.axes[axis];
		in_turn &= at->nterms == 0;
		rows &= is_long(p, at);
	}
	return in_turn || rows;
}

static bool permutes(Permute *p, NodeId id, const uint32_t *readers)
{
	const Node *node = p->node;
	if (node->kind != NODE_SPEC || node->op != OP_ID || node->nargs != 1 ||
	    node->target != NODE_NONE || !node->used || readers[node->args[0]] != 1)
		return false;
	p->from = tensor_proj(p->program, node->args[0]);
	return is_put_together(p, tensor_node(p->program, node->args[0])) && moves_all(p) &&
	       lies_well(p) && reads_the_same(p, id);
}

/* ---- how ---- */

/* Adds a term, to one of the same iterator if there is one. */
static void add_term(Index *index, IndexTerm term)
{
	for (uint32_t t = 0; t < index->nterms; t++)
		if (index->terms[t].iter == term.iter) {
			index->terms[t].coef += term.coef;
			return;
		}
	index->terms[index->nterms++] = term;
}

/* An index of the result, where iterators are what the piece writes there. */
static Index composed_index(const Permute *p, const Index *old, const Piece *piece)
{
	Sizes *sizes = p->program->sizes;
	Index index = {.gather = -1, .offset = old->offset};
	index.terms = ARENA_ARRAY(p->program->arena, IndexTerm, piece->niters + 1);
	for (uint32_t t = 0; t < old->nterms; t++) {
		const IndexTerm *term = &old->terms[t];
		const Index *at = &piece->result.axes[axis_of(p, term->iter)];
		index.offset =
			size_add(sizes, index.offset, size_scale(sizes, at->offset, term->coef));
		for (uint32_t i = 0; i < at->nterms; i++)
			add_term(&index,
				 (IndexTerm){at->terms[i].iter, at->terms[i].coef * term->coef});
	}
	return index;
}

/* The piece's loops in the order of the result's axes. */
static Piece composed_piece(const Permute *p, const Piece *old)
{
	const Access *result = &p->proj->pieces[0].result;
	Arena *arena = p->program->arena;
	Piece piece = *old;
	piece.result.naxes = result->naxes;
	piece.result.axes = ARENA_ARRAY(arena, Index, result->naxes + 1);
	piece.iters = ARENA_ARRAY(arena, IterId, old->niters + 1);
	piece.niters = 0;
	for (uint32_t a = 0; a < result->naxes; a++) {
		Index *index = &piece.result.axes[a];
		*index = composed_index(p, &result->axes[a], old);
		for (uint32_t t = 0; t < index->nterms; t++)
			piece_list_iter(&piece, index->terms[t].iter);
	}
	for (uint32_t i = 0; i < old->niters; i++)
		piece_list_iter(&piece, old->iters[i]);
	return piece;
}

static Proj *composed(const Permute *p)
{
	Proj *proj = ARENA_NEW(p->program->arena, Proj);
	*proj = *p->from;
	proj->pieces = ARENA_ARRAY(p->program->arena, Piece, proj->npieces);
	for (uint32_t i = 0; i < proj->npieces; i++)
		proj->pieces[i] = composed_piece(p, &p->from->pieces[i]);
	return proj;
}

/* The operation that puts together, under the name and in the place of the one that permutes. */
static Node renamed(const Permute *p)
{
	Node node = *tensor_node(p->program, p->node->args[0]);
	node.name = p->node->name;
	node.name_span = p->node->name_span;
	node.span = p->node->span;
	node.site = p->node->site;
	return node;
}

/* ---- the program ---- */

static void count(uint32_t *readers, const NodeId *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] != NODE_NONE)
			readers[ids[i]]++;
}

/* By node: operands of others that it is, and places that ask for it. */
static uint32_t *count_readers(TensorProgram *program)
{
	const Graph *graph = program->graph;
	uint32_t *readers = ARENA_ARRAY(program->scratch, uint32_t, graph->nodes.n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = tensor_node(program, id);
		count(readers, node->args, node->nargs);
		count(readers, (NodeId[]){node->target, node->like, node->packs, node->initial}, 4);
	}
	for (size_t i = 0; i < graph->routines.n; i++)
		count(readers, graph->routines.at[i].outputs, graph->routines.at[i].noutputs);
	for (size_t i = 0; i < graph->loops.n; i++)
		count(readers, (NodeId[]){graph->loops.at[i].until, graph->loops.at[i].made}, 2);
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *c = &graph->carried.at[i];
		count(readers, (NodeId[]){c->tensor, c->first, c->step}, 3);
	}
	return readers;
}

static void begin(TensorProgram *program, Graph **graph, Inference **inference)
{
	size_t n = program->graph->nodes.n;
	Arena *arena = program->arena;
	*graph = ARENA_NEW(arena, Graph);
	**graph = *program->graph;
	(*graph)->nodes.at = ARENA_ARRAY(arena, Node, n + 1);
	memcpy((*graph)->nodes.at, program->graph->nodes.at, n * sizeof(Node));
	*inference = ARENA_NEW(arena, Inference);
	**inference = *program->inference;
	(*inference)->graph = *graph;
	(*inference)->projs = ARENA_ARRAY(arena, Proj *, n + 1);
	memcpy((*inference)->projs, program->inference->projs, n * sizeof(Proj *));
}

bool permute_concatenations(TensorProgram *program)
{
	const uint32_t *readers = count_readers(program);
	Graph *graph = NULL;
	Inference *inference = NULL;
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		Permute p = {.program = program,
			     .node = tensor_node(program, id),
			     .proj = tensor_proj(program, id)};
		if (!p.proj || !permutes(&p, id, readers))
			continue;
		if (!graph)
			begin(program, &graph, &inference);
		graph->nodes.at[id] = renamed(&p);
		inference->projs[id] = composed(&p);
		PUSH(program->arena, program->made, id);
	}
	if (graph) {
		program->graph = graph;
		program->inference = inference;
	}
	return graph != NULL;
}
