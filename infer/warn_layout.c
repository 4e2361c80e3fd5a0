/* A warning of pictures and signals whose channels come first, as PyTorch's do, where windows take them for a side:
 * [n | 3, 32, 32] is a picture of 3 rows with 32 channels.
 *
 *   an operand of a specification with windows along all of its output axes but the last,
 *   that is an input, or made of one element by element,
 *   whose first axis is as short as channels are, and no longer than its window, beside others that are long.
 *
 * Deep in a network sides are as short as windows; what a caller passes seldom is.
 */
#include "infer/blame.h"
#include "infer/text.h"
#include "infer/trace.h"
#include "infer/warn.h"

enum { CHANNELS_MOST = 4, SIDE_LEAST = 8, SIGNAL_LEAST = 64, STEPS_MOST = 16 };

typedef struct Layout {
	const Inference *inference;
	Diags *diags;
} Layout;

static const Node *node_of(const Layout *w, NodeId id)
{
	return &w->inference->graph->nodes.at[id];
}

/* The input that it is made of element by element; NODE_NONE: there is none. */
static NodeId input_of(const Layout *w, NodeId id, int steps)
{
	const Node *node = node_of(w, id);
	NodeId found = node->kind == NODE_INPUT ? id : NODE_NONE;
	bool moves_nothing = node->kind == NODE_POINTWISE || node->kind == NODE_CAST;
	for (uint32_t i = 0; moves_nothing && i < node->nargs && steps > 0 && found == NODE_NONE;
	     i++)
		found = input_of(w, node->args[i], steps - 1);
	return found;
}

/* How far the window along the axis reaches; 0: there is none, or it is not known. */
static int64_t window_along(const Layout *w, NodeId id, const SpecAxis *axis)
{
	const Proj *proj = w->inference->projs[id];
	int64_t n = 0;
	for (uint32_t i = 0; axis->kind == SPEC_AFFINE && axis->kernel && i < proj->niters; i++)
		if (proj->iters[i].name == axis->kernel &&
		    !size_is_const(w->inference->sizes, proj->iters[i].extent, &n))
			n = 0;
	return n;
}

/* Are the channels of the operand first, as far as its sizes tell? */
static bool is_turned(const Layout *w, NodeId id, const SpecTensor *spec, const Row *row)
{
	const SpecRow *axes = &spec->rows[ROW_OUTPUT];
	int64_t first, size, least = row->n == 2 ? SIGNAL_LEAST : SIDE_LEAST;
	int32_t nletters = axes->var_at < 0 ? (int32_t)axes->naxes : axes->var_at;
	if (row->n < 2 || row->n > 4 || nletters + 1 < (int32_t)row->n ||
	    !size_is_const(w->inference->sizes, row->axes[0].size, &first) ||
	    first > (row->n == 2 ? 1 : CHANNELS_MOST))
		return false;
	for (uint32_t i = 0; i + 1 < row->n; i++)
		if (window_along(w, id, &axes->axes[i]) < 2)
			return false;
	for (uint32_t i = 1; i < row->n; i++)
		if (!size_is_const(w->inference->sizes, row->axes[i].size, &size) || size < least)
			return false;
	return window_along(w, id, &axes->axes[0]) >= first;
}

/* "32, 32, 3" for "3, 32, 32", and what makes one order of the other. */
static void suggest_last(const Layout *w, NodeId input, const Row *row)
{
	const Node *node = node_of(w, input);
	Arena *arena = w->diags->arena;
	const DeclRow *declared = &node->shape->rows[ROW_OUTPUT];
	const char *moved = "", *letters[] = {"t", "h, w", "d, h, w"};
	if (declared->naxes != row->n)
		return;
	for (uint32_t i = 1; i < row->n; i++)
		moved = arena_printf(arena, "%s%s, ", moved,
				     source_text(w->diags->sources, arena, declared->axes[i].span));
	diag_fix(w->diags, span_join(declared->axes[0].span, declared->axes[row->n - 1].span),
		 arena_printf(arena, "%s%s", moved,
			      source_text(w->diags->sources, arena, declared->axes[0].span)),
		 "channels are the last axis here");
	diag_note(
		w->diags, node->name_span,
		"permute(\"... | c, %s => ... | %s, c\", %s) makes them that where the caller has them first",
		letters[row->n - 2], letters[row->n - 2], node->name);
}

static bool warn_operand(const Layout *w, NodeId id, const SpecTensor *spec, NodeId operand)
{
	const Row *row = &w->inference->shapes[operand].rows[ROW_OUTPUT];
	const Sizes *sizes = w->inference->sizes;
	if (!is_turned(w, id, spec, row))
		return false;
	NodeId input = input_of(w, operand, STEPS_MOST);
	if (input == NODE_NONE)
		return false;
	const Node *node = node_of(w, id);
	diag(w->diags, W0313, node->span,
	     "windows go along all axes of '%s', %s, but the last: are its channels the first, %s?",
	     node_of(w, input)->name,
	     shape_text(w->diags->arena, sizes, &w->inference->shapes[input]),
	     size_text(w->diags->arena, sizes, row->axes[0].size));
	blame_sites(blame_new(w->inference->trace->solver, w->inference, w->diags), id);
	suggest_last(w, input, row);
	return true;
}

/* Does the specification read the parameter beside an input with channels first, as its one number and the dim behind it tell? */
static NodeId turned_beside(const Layout *w, const Node *node, NodeId param)
{
	int64_t first;
	if (node->kind != NODE_SPEC || node->nargs != 2 || node->args[1] != param)
		return NODE_NONE;
	const SpecRow *axes = &node->spec->operands[0].rows[ROW_OUTPUT];
	const Row *row = &w->inference->shapes[node->args[0]].rows[ROW_OUTPUT];
	bool windows = axes->naxes > 0 && axes->axes[0].kind == SPEC_AFFINE && axes->axes[0].kernel;
	bool turned = windows && row->n > 2 && row->n < 5 &&
		      size_is_const(w->inference->sizes, row->axes[0].size, &first) &&
		      first <= CHANNELS_MOST &&
		      !size_is_const(w->inference->sizes, row->axes[row->n - 1].size, &first);
	return turned ? input_of(w, node->args[0], STEPS_MOST) : NODE_NONE;
}

void suggest_channels_last(const Inference *inference, Diags *diags, NodeId param)
{
	Layout w = {inference, diags};
	for (NodeId id = 0; id < inference->graph->nodes.n; id++) {
		NodeId input = turned_beside(&w, node_of(&w, id), param);
		if (input == NODE_NONE)
			continue;
		suggest_last(&w, input,
			     &inference->shapes[node_of(&w, id)->args[0]].rows[ROW_OUTPUT]);
		return;
	}
}

void warn_layout(const Inference *inference, Diags *diags)
{
	Layout w = {inference, diags};
	bool told = false;
	for (NodeId id = 0; id < inference->graph->nodes.n && !told; id++) {
		const Node *node = node_of(&w, id);
		if (!node->used || node->kind != NODE_SPEC || node->target != NODE_NONE ||
		    !inference->projs[id])
			continue;
		for (uint32_t i = 0; i < node->nargs && !told; i++)
			told = warn_operand(&w, id, &node->spec->operands[i], node->args[i]);
	}
}
