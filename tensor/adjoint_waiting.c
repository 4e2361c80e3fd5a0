/* What the steps of a loop give to a tensor outside of it, by one operation behind the loop.
 *
 *   in each step	to[..] += given[..] * h[..]
 *   behind the loop	to[..] += all_given[step, ..] * all_h[step, ..]		step is one more iterator
 *
 * What changes from step to step is stored for all of them; what is read from a tensor of all steps is read there again. So
 * products of rows become one product of matrices, and what each step writes into its own place is written once. It is done
 * where storing takes less than adding to the tensor in each step does.
 */
#include "infer/project.h"
#include "tensor/adjoint_loops.h"

#include <string.h>

static Arena *arena_of(const Adjoint *a) { return a->g->program->arena; }

/* An operation over all steps, as it is made from one of a step. */
typedef struct Whole {
	const Adjoint *a;
	DimId step;
	IterId iter; /* the number of the step */
	bool mentioned; /* by an access: it is counted once a step */
} Whole;

/* ---- indices ---- */

static bool uses_step(const Whole *w, Size size)
{
	return size_uses_dim(w->a->g->program->sizes, size, w->step);
}

/* The index with the iterator for the number of the step; false: it is no multiple of it that is added. */
static bool index_over_steps(Whole *w, Index *index)
{
	Sizes *sizes = w->a->g->program->sizes;
	Size coef, rest;
	int64_t factor;
	if (!uses_step(w, index->offset))
		return true;
	if (!size_split(sizes, index->offset, size_dim(sizes, w->step), &coef, &rest) ||
	    uses_step(w, rest) || !size_is_const(sizes, coef, &factor))
		return false;
	IndexTerm *terms = ARENA_ARRAY(arena_of(w->a), IndexTerm, index->nterms + 1);
	if (index->nterms)
		memcpy(terms, index->terms, index->nterms * sizeof *terms);
	terms[index->nterms] = (IndexTerm){w->iter, factor};
	index->terms = terms;
	index->nterms++;
	index->offset = rest;
	w->mentioned = true;
	return true;
}

/* `first`: an index in front, or NULL. */
static bool access_over_steps(Whole *w, const Access *access, const Index *first, Access *now)
{
	const Access unchecked = access_without_checks(arena_of(w->a), access);
	uint32_t n = 0;
	*now = (Access){access->present, ARENA_ARRAY(arena_of(w->a), Index, access->naxes + 2), 0};
	if (first)
		now->axes[n++] = *first;
	for (uint32_t i = 0; i < access->naxes; i++)
		now->axes[n++] = unchecked.axes[i];
	now->naxes = n;
	for (uint32_t i = 0; i < n; i++)
		if (!index_over_steps(w, &now->axes[i]))
			return false;
	return true;
}

/* ---- operands ---- */

static bool varies(const Adjoint *a, NodeId id)
{
	const Node *node = graph_node(a->g->graph, id);
	return graph_loop_in(a->g->graph, node->loop, a->steps->now) ||
	       node->carried > a->steps->carried;
}

static bool is_plain_copy(const Node *node)
{
	return (node->kind == NODE_SLICE || (node->kind == NODE_SPEC && node->op == OP_ID)) &&
	       node->nargs == 1;
}

/* The tensor of all steps that it is read from, at an index for each; NODE_NONE: it is computed. */
static NodeId read_from(const Whole *w, NodeId id, const Index **at)
{
	const Adjoint *a = w->a;
	const Node *node = graph_node(a->g->graph, id);
	const Proj *proj = a->g->inference->projs[id];
	if (!proj || !is_plain_copy(node) || !proj_is_plain(proj) || proj_reduces(proj) ||
	    varies(a, node->args[0]) || graph_node(a->g->graph, node->args[0])->dtype != node->dtype)
		return NODE_NONE;
	const Access *from = &proj->pieces[0].args[0], *to = &proj->pieces[0].result;
	if (from->naxes != to->naxes + 1 || from->axes[0].nterms || from->axes[0].gather >= 0 ||
	    from->axes[0].guarded)
		return NODE_NONE;
	const Access others = {true, from->axes + 1, to->naxes};
	*at = &from->axes[0];
	return proj_same_access(&others, to) ? node->args[0] : NODE_NONE;
}

/* ---- whether ---- */

static double elements(const Adjoint *a, const Shape *shape)
{
	double n = 1;
	for (uint32_t i = 0; i < shape_naxes(shape); i++)
		n *= tensor_guess(a->g->program, shape_axis(shape, i)->size);
	return n;
}

/* About how many elements a step adds to. */
static double written(const Adjoint *a, NodeId to, const Part *part)
{
	double n = 0;
	if (part->node.kind == NODE_SCATTER)
		return elements(a, tensor_shape(a->g->program, to));
	for (uint32_t p = 0; p < part->npieces; p++) {
		double points = 1;
		for (IterId i = 0; i < a->proj->niters; i++)
			if (access_mentions(part->pieces[p].result, i))
				points *= tensor_guess(a->g->program, a->proj->iters[i].extent);
		n += points;
	}
	return n;
}

static bool extents_vary(const Whole *w)
{
	for (IterId i = 0; i < w->a->proj->niters; i++)
		if (uses_step(w, w->a->proj->iters[i].extent))
			return true;
	return false;
}

/* Are there as many steps as the tensors of all steps have room for? */
static bool makes_all(const GraphLoop *loop)
{
	return loop->made == NODE_NONE && loop->most == loop->count;
}

/* All accesses over the steps, and the tensors of all steps that are there; about how many elements a step stores for others. False:
 * an index is no multiple of the step's number. */
static bool over_steps(Whole *w, const Part *part, PieceAccesses *pieces, NodeId *from,
		       double *stored)
{
	const Adjoint *a = w->a;
	const Index step = index_of_iter(arena_of(a), a->g->program->sizes, w->iter);
	const Index *first[OPERANDS_MOST];
	*stored = 0;
	for (uint32_t i = 0; i < part->nargs; i++) {
		first[i] = NULL;
		from[i] = varies(a, part->args[i]) ? read_from(w, part->args[i], &first[i])
						   : part->args[i];
		if (from[i] != NODE_NONE)
			continue;
		first[i] = &step;
		w->mentioned = true;
		*stored += elements(a, &a->g->inference->shapes[part->args[i]]);
	}
	for (uint32_t p = 0; p < part->npieces; p++) {
		Access *result = ARENA_NEW(arena_of(a), Access);
		Access *args = ARENA_ARRAY(arena_of(a), Access, part->nargs + 1);
		const Access **all = ARENA_ARRAY(arena_of(a), const Access *, part->nargs + 1);
		if (!access_over_steps(w, part->pieces[p].result, NULL, result))
			return false;
		for (uint32_t i = 0; i < part->nargs; i++) {
			if (!access_over_steps(w, part->pieces[p].args[i], first[i], &args[i]))
				return false;
			all[i] = &args[i];
		}
		pieces[p] = (PieceAccesses){result, all};
	}
	return true;
}

/* ---- all of it ---- */

/* The reader's iterators and the number of the step. */
static Proj *with_step(const Whole *w)
{
	const Adjoint *a = w->a;
	Arena *arena = arena_of(a);
	const GraphLoop *loop = &a->g->graph->loops.at[a->steps->now];
	Proj *proj = ARENA_NEW(arena, Proj);
	*proj = *a->proj;
	proj->iters = ARENA_ARRAY(arena, Iter, proj->niters + 1);
	if (proj->niters)
		memcpy(proj->iters, a->proj->iters, proj->niters * sizeof *proj->iters);
	proj->iters[w->iter] = (Iter){.name = loop->name,
				      .extent = infer_size(a->g->inference, loop->count),
				      .span = loop->span};
	proj->niters++;
	proj->factors = ARENA_ARRAY(arena, Factor, proj->nfactors + 1);
	if (proj->nfactors)
		memcpy(proj->factors, a->proj->factors, proj->nfactors * sizeof *proj->factors);
	Factor *own = &proj->factors[proj->nfactors++];
	own->iters = ARENA_NEW(arena, IterId);
	own->iters[0] = w->iter;
	own->niters = 1;
	return proj;
}

bool adjoint_waits(const Adjoint *a, NodeId to, const Part *part)
{
	Whole w = {.a = a,
		   .step = a->g->graph->loops.at[a->steps->now].step,
		   .iter = a->proj->niters};
	Waiting waiting = {.to = to, .reader = a->id, .given = NODE_NONE, .node = part->node};
	PieceAccesses *pieces = ARENA_ARRAY(arena_of(a), PieceAccesses, part->npieces + 1);
	NodeId from[OPERANDS_MOST];
	double stored, place = written(a, to, part);
	if (!makes_all(&a->g->graph->loops.at[a->steps->now]) || extents_vary(&w) ||
	    !over_steps(&w, part, pieces, from, &stored) || !w.mentioned || stored >= place)
		return false;
	waiting.args = ARENA_ARRAY(arena_of(a), NodeId, part->nargs + 1);
	waiting.nargs = part->nargs;
	for (uint32_t i = 0; i < part->nargs; i++)
		waiting.args[i] = from[i] != NODE_NONE
					  ? from[i]
					  : loop_store(a->g, part->args[i], a->steps->now);
	waiting.proj = accesses_proj(arena_of(a), with_step(&w), pieces, part->npieces, part->nargs);
	project_facts(a->g->program->sizes, tensor_shape(a->g->program, to), waiting.proj);
	if (waiting.node.mode == INDEX_CHECKED)
		waiting.node.mode = INDEX_CLAMPED;
	PUSH(arena_of(a), a->steps->waiting, waiting);
	return true;
}
