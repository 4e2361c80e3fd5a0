/* A warning of pairs that nobody asked for, of the finished projections: `y - t` of y : [n | 1] and t : [n] is [n | n].
 *
 *   an operation element by element, of which one operand alone has an axis of a size that is spelled through a
 *   dim, and another one alone has another axis of that size,
 *   neither of them put there by a specification's 0, a letter in another row, to_batch, range, reshape, ...,
 *   and each use of the result reduces both axes at once: all pairs are added up.
 *
 * Two axes of one dim are of the same things, so elements that belong together were meant to meet. Numbers that happen to be equal
 * say nothing, and a table of pairs that is looked at as one is what it was made for.
 */
#include "infer/blame.h"
#include "infer/text.h"
#include "infer/trace.h"
#include "infer/warn.h"

#include <string.h>

/* Operations that are looked at, of a program; nothing is told of what is beyond. */
enum { STEPS = 10000 };

typedef struct Pairs {
	const Inference *inference;
	Diags *diags;
	uint32_t *from;	     /* by NodeId: where its operands begin, counted over all nodes */
	uint32_t *first_use; /* by NodeId: an operand that is it; NONE: there is none */
	uint32_t *next_use;  /* by operand */
	NodeId *user;	     /* by operand: whose it is */
	uint32_t *steps;     /* that may still be made */
} Pairs;

/* One axis of a tensor, counted in storage order. */
typedef struct AxisAt {
	NodeId node;
	uint32_t axis;
} AxisAt;

static const Node *node_of(const Pairs *w, NodeId id) { return &w->inference->graph->nodes.at[id]; }

/* The projection, where it is one piece; else NULL. */
static const Piece *piece_of(const Pairs *w, NodeId id)
{
	const Proj *proj = w->inference->projs[id];
	return proj && proj->npieces == 1 ? &proj->pieces[0] : NULL;
}

static bool is_iter(const Index *index, IterId iter)
{
	return index->nterms == 1 && index->terms[0].iter == iter && index->terms[0].coef == 1 &&
	       index->gather < 0;
}

/* The axis of the access that the iterator goes along; NONE: there is none. */
static uint32_t axis_along(const Access *access, IterId iter)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (is_iter(&access->axes[i], iter))
			return i;
	return NONE;
}

static RowKind row_of(const Pairs *w, AxisAt p)
{
	const Shape *shape = &w->inference->shapes[p.node];
	uint32_t at = p.axis;
	for (uint32_t k = 0; k + 1 < ROW_KINDS; k++) {
		uint32_t n = shape->rows[stored_rows[k]].n;
		if (at < n)
			return stored_rows[k];
		at -= n;
	}
	return stored_rows[ROW_KINDS - 1];
}

static bool has_axis_of_one(const Pairs *w, NodeId id)
{
	bool has = false;
	for (RowKind k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < w->inference->shapes[id].rows[k].n; i++)
			has |= w->inference->shapes[id].rows[k].axes[i].stretch;
	return has;
}

/* ---- where an axis comes from ---- */

/* Does a specification put a 0, an axis of 1, into its result? */
static bool puts_one(const Node *node)
{
	bool puts = false;
	for (RowKind k = 0; node->spec && k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < node->spec->result.rows[k].naxes; i++)
			puts |= node->spec->result.rows[k].axes[i].kind == SPEC_INDEX;
	return puts;
}

/* Does an axis of what is computed stand in the row that it has in the operands? Then its operands count. */
static bool keeps_rows(const Node *node)
{
	switch (node->kind) {
	case NODE_POINTWISE:
	case NODE_CAST:
	case NODE_COMPOSE: return true;
	case NODE_SPEC:
	case NODE_ARGMAX:
	case NODE_CUMULATE:
	case NODE_SORT: return node->target == NODE_NONE && !puts_one(node);
	default: return false;
	}
}

/* Has it the axis from inputs, parameters and files, in the row that it has there? NODE_NONE: no; else the last
 * tensor of one operand all the way: where it is to be declared otherwise. */
static NodeId origin_of(const Pairs *w, AxisAt p)
{
	const Node *node = node_of(w, p.node);
	bool data = node->kind == NODE_CONST && node->data && node->data->path;
	if (node->kind == NODE_INPUT || node->kind == NODE_PARAM || data)
		return p.node;
	const Piece *piece = piece_of(w, p.node);
	if (!keeps_rows(node) || !piece || *w->steps == 0)
		return NODE_NONE;
	--*w->steps;
	NodeId origin = NODE_NONE;
	const Index *index = &piece->result.axes[p.axis];
	for (uint32_t i = 0; index->nterms == 1 && i < node->nargs; i++) {
		uint32_t axis = axis_along(&piece->args[i], index->terms[0].iter);
		if (axis == NONE)
			continue;
		AxisAt from = {node->args[i], axis};
		if (row_of(w, from) != row_of(w, p))
			return NODE_NONE;
		NodeId found = origin_of(w, from);
		if (found == NODE_NONE)
			return NODE_NONE;
		origin = node->kind == NODE_CAST ||
					 (node->kind == NODE_POINTWISE && node->nargs == 1)
				 ? found
				 : p.node;
	}
	return origin;
}

/* ---- where it goes ---- */

static bool all_reduced(const Pairs *w, NodeId id, uint32_t a, uint32_t b);

/* Does this use, of operand `arg`, reduce both axes, or hand them on to what does? */
static bool is_reduced(const Pairs *w, NodeId user, uint32_t arg, uint32_t a, uint32_t b)
{
	const Node *node = node_of(w, user);
	if (node_kind_differentiates(node->kind) || node->kind == NODE_RULE)
		return true;
	const Piece *piece = piece_of(w, user);
	const Proj *proj = w->inference->projs[user];
	if (!piece || !piece->args[arg].present || node->target != NODE_NONE)
		return false;
	const Index *x = &piece->args[arg].axes[a], *y = &piece->args[arg].axes[b];
	if (x->nterms != 1 || y->nterms != 1)
		return false;
	IterId i = x->terms[0].iter, j = y->terms[0].iter;
	if (node->kind != NODE_POINTWISE && node->kind != NODE_CAST)
		return node->kind == NODE_SPEC && i != j && proj->iters[i].reduced &&
		       proj->iters[j].reduced;
	for (uint32_t k = 0; k < node->nargs; k++) /* beside another table of pairs it is one */
		if (node->args[k] != node->args[arg] && axis_along(&piece->args[k], i) != NONE &&
		    axis_along(&piece->args[k], j) != NONE)
			return false;
	uint32_t at = axis_along(&piece->result, i), also = axis_along(&piece->result, j);
	return at != NONE && also != NONE && all_reduced(w, user, at, also);
}

static bool is_result(const Pairs *w, NodeId id)
{
	const Graph *graph = w->inference->graph;
	bool result = false;
	for (size_t i = 0; i < graph->routines.n; i++)
		for (uint32_t k = 0; k < graph->routines.at[i].noutputs; k++)
			result |= graph->routines.at[i].outputs[k] == id;
	return result;
}

static bool all_reduced(const Pairs *w, NodeId id, uint32_t a, uint32_t b)
{
	if (*w->steps == 0 || is_result(w, id))
		return false;
	--*w->steps;
	bool reduced = true, some = false;
	for (uint32_t use = w->first_use[id]; use != NONE && reduced; use = w->next_use[use]) {
		NodeId user = w->user[use];
		reduced = is_reduced(w, user, use - w->from[user], a, b);
		some |= node_of(w, user)->kind == NODE_SPEC ||
			node_of(w, user)->kind == NODE_POINTWISE ||
			node_of(w, user)->kind == NODE_CAST;
	}
	return reduced && some;
}

static void list_uses(Pairs *w, Arena *arena)
{
	const Graph *graph = w->inference->graph;
	uint32_t n = 0;
	w->from = ARENA_ARRAY(arena, uint32_t, graph->nodes.n + 1);
	w->first_use = ARENA_ARRAY(arena, uint32_t, graph->nodes.n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		w->first_use[id] = NONE;
		w->from[id] = n;
		n += graph->nodes.at[id].used ? graph->nodes.at[id].nargs : 0;
	}
	w->next_use = ARENA_ARRAY(arena, uint32_t, n + 1);
	w->user = ARENA_ARRAY(arena, NodeId, n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		for (uint32_t i = 0; node->used && i < node->nargs; i++) {
			uint32_t use = w->from[id] + i;
			w->user[use] = id;
			w->next_use[use] = w->first_use[node->args[i]];
			w->first_use[node->args[i]] = use;
		}
	}
}

/* ---- the warning ---- */

/* Declared with the other's axes they meet one by one. */
static void suggest_shape(const Pairs *w, NodeId operand, NodeId origin, NodeId other)
{
	const Node *declared = node_of(w, origin);
	const Sizes *sizes = w->inference->sizes;
	Arena *arena = w->diags->arena;
	if (declared->kind != NODE_INPUT || !declared->shape || span_is_none(declared->shape->span))
		return;
	const char *shape = shape_text(arena, sizes, &w->inference->shapes[other]);
	const char *own = shape_text(arena, sizes, &w->inference->shapes[operand]);
	if (origin == operand ||
	    strcmp(own, shape_text(arena, sizes, &w->inference->shapes[origin])) == 0)
		diag_fix(w->diags, declared->shape->span, shape,
			 "of these axes, each element of '%s' meets its own", declared->name);
}

/* The operands' places of an axis of the operation that each of them alone has. */
static void warn_pair(const Pairs *w, NodeId id, const uint32_t arg[2], const IterId iter[2])
{
	const Node *node = node_of(w, id);
	const Piece *piece = piece_of(w, id);
	Solver *s = w->inference->trace->solver;
	NodeId origin[2];
	for (int i = 0; i < 2; i++) {
		AxisAt p = {node->args[arg[i]], axis_along(&piece->args[arg[i]], iter[i])};
		origin[i] = origin_of(w, p);
		if (origin[i] == NODE_NONE)
			return;
	}
	if (!all_reduced(w, id, axis_along(&piece->result, iter[0]),
			 axis_along(&piece->result, iter[1])))
		return;
	const Sizes *sizes = w->inference->sizes;
	Arena *arena = w->diags->arena;
	const Shape *shapes = w->inference->shapes;
	const char *size = size_text(arena, sizes, w->inference->projs[id]->iters[iter[0]].extent);
	diag(w->diags, W0312, span_is_none(node->op_span) ? node->span : node->op_span,
	     "%s is %s and %s is %s: this is %s, each of %s with each of %s, and all of them are reduced",
	     tensor_text(s, id, (int32_t)arg[0]),
	     shape_text(arena, sizes, &shapes[node->args[arg[0]]]),
	     tensor_text(s, id, (int32_t)arg[1]),
	     shape_text(arena, sizes, &shapes[node->args[arg[1]]]),
	     shape_text(arena, sizes, &shapes[id]), size, size);
	blame_sites(blame_new(s, w->inference, w->diags), id);
	for (int i = 0; i < 2; i++)
		suggest_shape(w, node->args[arg[i]], origin[i], node->args[arg[1 - i]]);
	diag_note(
		w->diags, node->span,
		"an axis of 1 that a specification makes, sum(\"i => i, 0\", a), says that all pairs are meant");
}

/* Does this operand alone go along the iterator? */
static bool is_alone(const Node *node, const Piece *piece, uint32_t arg, IterId iter)
{
	for (uint32_t i = 0; i < node->nargs; i++)
		if (i != arg && access_mentions(&piece->args[i], iter))
			return false;
	return axis_along(&piece->args[arg], iter) != NONE;
}

static bool is_spelled(const Sizes *sizes, Size size)
{
	int64_t n;
	return !size_is_bad(size) && !size_is_const(sizes, size, &n);
}

/* The operand that alone has the axis; NONE: there is none. */
static uint32_t only_operand(const Node *node, const Piece *piece, IterId iter)
{
	for (uint32_t a = 0; a < node->nargs; a++)
		if (is_alone(node, piece, a, iter))
			return a;
	return NONE;
}

/* Have two operands an axis each that no other has, of one size? */
static bool is_pair(const Pairs *w, NodeId id, IterId i, IterId j, uint32_t arg[2])
{
	const Node *node = node_of(w, id);
	const Iter *iters = w->inference->projs[id]->iters;
	const Piece *piece = piece_of(w, id);
	arg[0] = only_operand(node, piece, i);
	arg[1] = only_operand(node, piece, j);
	return size_same(iters[i].extent, iters[j].extent) &&
	       is_spelled(w->inference->sizes, iters[i].extent) && arg[0] != NONE &&
	       arg[1] != NONE && arg[0] != arg[1] &&
	       !(has_axis_of_one(w, node->args[arg[0]]) && has_axis_of_one(w, node->args[arg[1]]));
}

/* The first pair of axes, told by the order of the operands. */
static void find_pair(const Pairs *w, NodeId id)
{
	uint32_t niters = w->inference->projs[id]->niters, arg[2];
	for (IterId i = 0; i < niters; i++)
		for (IterId j = i + 1; j < niters; j++) {
			if (!is_pair(w, id, i, j, arg))
				continue;
			bool turned = arg[1] < arg[0];
			warn_pair(w, id, turned ? (uint32_t[]){arg[1], arg[0]} : arg,
				  turned ? (IterId[]){j, i} : (IterId[]){i, j});
			return;
		}
}

void warn_pairs(const Inference *inference, Diags *diags)
{
	uint32_t steps = STEPS;
	Pairs w = {.inference = inference, .diags = diags, .steps = &steps};
	const Graph *graph = inference->graph;
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = &graph->nodes.at[id];
		if (!node->used || node->kind != NODE_POINTWISE || node->nargs < 2 ||
		    node->like != NODE_NONE || node->target != NODE_NONE || !piece_of(&w, id))
			continue;
		if (!w.from)
			list_uses(&w, inference->trace->solver->arena);
		find_pair(&w, id);
	}
}
