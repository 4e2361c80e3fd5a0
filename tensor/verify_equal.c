/* A checker of what `common` says: that each tensor that is read instead of another is equal to it.
 *
 * Two tensors are equal if they are one, or if one operation of the same attributes, type, shape and
 * index maps makes both of operands that are equal in turn, in the program before the pass. Pairs are
 * followed down to leaves by a list of what is still to be shown, so that no chain is too long. It knows
 * nothing of keys, and asks for each field by itself.
 */
#include <stb/stb_ds.h>
#include <string.h>

#include "base/diag.h"
#include "tensor/passes.h"

typedef struct Pair {
	NodeId a, b;
} Pair;

typedef struct PairSet {
	uint64_t key;
	bool value;
} PairSet;

typedef struct Equal {
	const TensorProgram *program;
	Arena *arena;
	bool *varies;  /* by NodeId: follows from what a routine assigns to */
	bool *initial; /* by NodeId: belongs to an initialiser */
	PairSet *seen; /* stb_ds table */
	VEC(Pair) todo;
} Equal;

/* ---- fields ---- */

static bool same_shape(const Shape *a, const Shape *b)
{
	for (int row = 0; row < ROW_KINDS; row++) {
		if (a->rows[row].n != b->rows[row].n)
			return false;
		for (uint32_t i = 0; i < a->rows[row].n; i++)
			if (!size_same(a->rows[row].axes[i].size, b->rows[row].axes[i].size))
				return false;
	}
	return true;
}

static bool same_index(const Index *a, const Index *b)
{
	bool same = a->nterms == b->nterms && size_same(a->offset, b->offset) &&
		    a->guarded == b->guarded && a->gather == b->gather && a->mode == b->mode;
	for (uint32_t t = 0; same && t < a->nterms; t++)
		same = a->terms[t].iter == b->terms[t].iter && a->terms[t].coef == b->terms[t].coef;
	return same;
}

static bool same_access(const Access *a, const Access *b)
{
	bool same = a->present == b->present && (!a->present || a->naxes == b->naxes);
	for (uint32_t i = 0; same && a->present && i < a->naxes; i++)
		same = same_index(&a->axes[i], &b->axes[i]);
	return same;
}

static bool same_piece(const Piece *a, const Piece *b, uint32_t nargs)
{
	bool same = a->niters == b->niters && same_access(&a->result, &b->result);
	for (uint32_t i = 0; same && i < a->niters; i++)
		same = a->iters[i] == b->iters[i];
	for (uint32_t i = 0; same && i < nargs; i++)
		same = same_access(&a->args[i], &b->args[i]);
	return same;
}

static bool same_proj(const Proj *a, const Proj *b)
{
	if (!a || !b)
		return a == b;
	bool same = a->niters == b->niters && a->npieces == b->npieces && a->nargs == b->nargs &&
		    a->clear == b->clear && a->linear == b->linear &&
		    (!a->linear || a->width == b->width);
	for (uint32_t i = 0; same && i < a->niters; i++)
		same = size_same(a->iters[i].extent, b->iters[i].extent) &&
		       a->iters[i].reduced == b->iters[i].reduced;
	for (uint32_t p = 0; same && p < a->npieces; p++)
		same = same_piece(&a->pieces[p], &b->pieces[p], a->nargs);
	return same;
}

static bool same_data(const Node *a, const Node *b)
{
	size_t bytes = 0;
	return a->data->count == b->data->count &&
	       dtype_room(a->dtype, (size_t)a->data->count, &bytes) &&
	       (bytes == 0 || memcmp(a->data->bytes, b->data->bytes, bytes) == 0);
}

/* The same operation, whatever its operands are? */
static bool same_operation(const Node *a, const Node *b)
{
	return a->kind == b->kind && a->op == b->op && a->reduce == b->reduce &&
	       a->mode == b->mode && a->dtype == b->dtype && a->nargs == b->nargs &&
	       a->loop == b->loop && a->packs == b->packs && a->normal == b->normal &&
	       a->along.exclusive == b->along.exclusive && a->along.reverse == b->along.reverse &&
	       a->along.descending == b->along.descending && a->along.ids == b->along.ids;
}

/* ---- pairs ---- */

static const char *leaf_refused(const Equal *e, const Node *a, const Node *b)
{
	bool same = true;
	switch (a->kind) {
	case NODE_INPUT:
	case NODE_PARAM:
	case NODE_ZEROS: return "it is memory of its own";
	case NODE_RANDOM: return "it is a stream of random numbers";
	case NODE_NUMBER:
		same = a->is_integer == b->is_integer && a->integer == b->integer &&
		       memcmp(&a->number, &b->number, sizeof a->number) == 0;
		break;
	case NODE_SIZE:
		same = size_same(infer_size(e->program->inference, a->size_expr),
				 infer_size(e->program->inference, b->size_expr));
		break;
	case NODE_SCALAR: same = a->scalar_index == b->scalar_index; break;
	case NODE_CONST: same = same_data(a, b); break;
	default: break;
	}
	return same ? NULL : "its number is another";
}

/* What is done when it is computed, beside its elements? */
static const char *effect_refused(const Equal *e, NodeId id)
{
	const Node *node = tensor_node(e->program, id);
	if (node->target != NODE_NONE)
		return "it is an assignment";
	if (node->like != NODE_NONE || e->initial[id])
		return "it belongs to an initialiser";
	if (e->varies[id])
		return "it follows from what a routine assigns to";
	if (e->program->inference->margins[id])
		return "it has margins of its own";
	return node->used ? NULL : "it is not computed";
}

static void show(Equal *e, NodeId a, NodeId b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	if (hmgeti(e->seen, key) >= 0)
		return;
	hmput(e->seen, key, true);
	PUSH(e->arena, e->todo, ((Pair){a, b}));
}

/* Why a pair may differ; what remains to be shown goes onto the list. */
static const char *pair_refused(Equal *e, Pair pair)
{
	const Node *a = tensor_node(e->program, pair.a), *b = tensor_node(e->program, pair.b);
	if (pair.a == pair.b)
		return e->varies[pair.a] ? "it follows from what a routine assigns to" : NULL;
	if (!same_operation(a, b))
		return "it is another operation";
	const char *why = leaf_refused(e, a, b);
	why = why ? why : effect_refused(e, pair.a);
	why = why ? why : effect_refused(e, pair.b);
	if (why)
		return why;
	if (!same_shape(tensor_shape(e->program, pair.a), tensor_shape(e->program, pair.b)))
		return "its shape is another";
	if (!same_proj(tensor_proj(e->program, pair.a), tensor_proj(e->program, pair.b)))
		return "its index maps are others";
	for (uint32_t i = 0; i < a->nargs; i++)
		show(e, a->args[i], b->args[i]);
	return NULL;
}

static const char *equal_refused(Equal *e, NodeId a, NodeId b)
{
	const char *why = b < a ? NULL : "it comes after what it stands for";
	show(e, a, b);
	while (e->todo.n && !why)
		why = pair_refused(e, e->todo.at[--e->todo.n]);
	return why;
}

/* ---- programs ---- */

static void mark(Equal *e)
{
	const Graph *graph = e->program->graph;
	size_t n = graph->nodes.n;
	e->varies = ARENA_ARRAY(e->arena, bool, n + 1);
	e->initial = ARENA_ARRAY(e->arena, bool, n + 1);
	for (uint32_t i = 0; i < graph->init.norder; i++)
		e->initial[graph->init.order[i]] = true;
	for (NodeId id = 0; id < n; id++)
		if (graph->nodes.at[id].target != NODE_NONE)
			e->varies[graph->nodes.at[id].target] = true;
	for (NodeId id = 0; id < n; id++) /* operands come first */
		for (uint32_t i = 0; i < graph->nodes.at[id].nargs; i++)
			e->varies[id] |= e->varies[graph->nodes.at[id].args[i]];
}

/* Of nodes that are read, and those that are read instead. */
static const char *reads_refused(Equal *e, const NodeId *before, const NodeId *after, uint32_t n)
{
	const char *why = NULL;
	for (uint32_t i = 0; i < n && !why; i++)
		if (before[i] != after[i])
			why = equal_refused(e, before[i], after[i]);
	return why;
}

static const char *program_refused(Equal *e, const Graph *after)
{
	const Graph *before = e->program->graph;
	const char *why = NULL;
	if (before->nodes.n != after->nodes.n || before->routines.n != after->routines.n)
		return "it has other operations";
	for (NodeId id = 0; id < after->nodes.n && !why; id++) {
		const Node *a = &before->nodes.at[id], *b = &after->nodes.at[id];
		why = same_operation(a, b) ? reads_refused(e, a->args, b->args, a->nargs)
					   : "an operation is another";
	}
	for (size_t i = 0; i < after->routines.n && !why; i++) {
		const Routine *a = &before->routines.at[i], *b = &after->routines.at[i];
		why = a->noutputs == b->noutputs
			      ? reads_refused(e, a->outputs, b->outputs, a->noutputs)
			      : "a routine has other outputs";
	}
	return why;
}

const char *equal_tensors_refused(const TensorProgram *before, const TensorProgram *after)
{
	Equal e = {.program = before, .arena = arena_new()};
	mark(&e);
	const char *why = program_refused(&e, after->graph);
	hmfree(e.seen);
	arena_free(e.arena);
	return why;
}
