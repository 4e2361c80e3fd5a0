/* Windows whose coefficients are sizes, as gathers and scatters at places that are computed
 * (frontend/windows.c):
 *
 *   sum("g*s <+ d*k => s", x)   is   sum("s, k => s", gather("[v]; s, k => s, k", x, g*s + d*k))
 *   sum("s, k => g*s <+ d*k", x)   is   scatter("s, k; s, k => [v]", x, g*s + d*k)
 *
 * Of a result its other axes are made first, with an axis for each letter of its windows.
 */
#include <inttypes.h>

#include "frontend/border.h"
#include "frontend/letter_size.h"
#include "frontend/nodes.h"
#include "frontend/specs.h"
#include "frontend/strides.h"
#include "frontend/windows.h"

bool spec_axis_is_sized(const SpecAxis *axis)
{
	return axis->kind == SPEC_AFFINE &&
	       (axis->stride_size || axis->dilation_size || axis->before_size || axis->after_size);
}

const SpecAxis *spec_find_sized(const SpecTensor *tensor)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
			if (spec_axis_is_sized(&tensor->rows[kind].axes[i]))
				return &tensor->rows[kind].axes[i];
	return NULL;
}

static SpecAxis as_window(const SpecAxis *axis)
{
	if (axis->kind != SPEC_JOIN || axis->parts[axis->nparts - 1].letter)
		return *axis;
	return (SpecAxis){.kind = SPEC_AFFINE,
			  .span = axis->span,
			  .letter = axis->parts[0].letter,
			  .stride = 1,
			  .dilation = 1,
			  .stride_size = axis->parts[1].extent,
			  .offset = axis->parts[1].size};
}

const Spec *spec_strides_as_windows(Build *b, const Spec *spec)
{
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *spec;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &out->result.rows[kind];
		row->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++)
			row->axes[i] = as_window(&spec->result.rows[kind].axes[i]);
	}
	return out;
}

/* ---- a tensor and what is indexed of it ---- */

typedef struct Indexed {
	Build *b;
	SpecTensor whole; /* a letter for each axis, in brackets where there is a window */
	SpecTensor apart; /* a letter for each, and one or two for each window */
	SpecTensor named; /* the same with the letters that the specification has */
	const SpecAxis **windows;
	Sym (*letters)[3]; /* of each window: in brackets, over it, of its elements */
	uint32_t nwindows, nletters;
} Indexed;

static Sym new_letter(Indexed *x) { return sym_printf(x->b->symbols, "_%" PRIu32, ++x->nletters); }

static void add_window(Indexed *x, RowKind kind, const SpecAxis *axis)
{
	SpecRow *apart = &x->apart.rows[kind], *named = &x->named.rows[kind];
	Sym *letters = x->letters[x->nwindows];
	for (uint32_t i = 1; i <= (axis->kernel ? 2 : 1); i++) {
		letters[i] = new_letter(x);
		apart->axes[apart->naxes++] = spec_letter(letters[i], axis->span);
	}
	named->axes[named->naxes++] = spec_letter(axis->letter, axis->span);
	if (axis->kernel)
		named->axes[named->naxes++] = spec_letter(axis->kernel, axis->span);
	x->windows[x->nwindows++] = axis;
}

static void add_axis(Indexed *x, RowKind kind, const SpecAxis *axis)
{
	SpecRow *whole = &x->whole.rows[kind], *apart = &x->apart.rows[kind],
		*named = &x->named.rows[kind];
	SpecAxis letter = spec_letter(new_letter(x), axis->span);
	letter.bracketed = spec_axis_is_sized(axis);
	whole->axes[whole->naxes++] = letter;
	if (letter.bracketed) {
		x->letters[x->nwindows][0] = letter.letter;
		add_window(x, kind, axis);
		return;
	}
	apart->axes[apart->naxes++] = letter;
	named->axes[named->naxes++] = *axis;
}

static void add_row(Indexed *x, RowKind kind, const SpecRow *row)
{
	SpecTensor *tensors[3] = {&x->whole, &x->apart, &x->named};
	for (int k = 0; k < 3; k++) {
		tensors[k]->rows[kind] = *row;
		tensors[k]->rows[kind].axes = ARENA_ARRAY(x->b->arena, SpecAxis, 2 * row->naxes);
		tensors[k]->rows[kind].naxes = 0;
	}
	for (uint32_t i = 0; i <= row->naxes; i++) {
		for (int k = 0; k < 3 && row->var_at == (int32_t)i; k++)
			tensors[k]->rows[kind].var_at = (int32_t)tensors[k]->rows[kind].naxes;
		if (i < row->naxes)
			add_axis(x, kind, &row->axes[i]);
	}
}

static Indexed indexed_of(Build *b, const SpecTensor *tensor)
{
	Indexed x = {.b = b, .whole = *tensor, .apart = *tensor, .named = *tensor};
	uint32_t n = 0;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		n += tensor->rows[kind].naxes;
	x.windows = ARENA_ARRAY(b->arena, const SpecAxis *, n);
	x.letters = arena_alloc(b->arena, n * sizeof *x.letters);
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		add_row(&x, kind, &tensor->rows[kind]);
	return x;
}

/* "s, k" or "s" of that window. */
static SpecTensor places_tensor(const Indexed *x, uint32_t i)
{
	Span span = x->windows[i]->span;
	SpecAxis axes[2] = {spec_letter(x->letters[i][1], span),
			    spec_letter(x->letters[i][2], span)};
	return spec_outputs(x->b, axes, x->windows[i]->kernel ? 2 : 1, span);
}

/* The node that indexes `arg` at the places of each window. */
static NodeId indexing_node(const Indexed *x, NodeKind kind, NodeId arg, const NodeId *places)
{
	Build *b = x->b;
	uint32_t n = x->nwindows + 1;
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, n);
	Span *spans = ARENA_ARRAY(b->arena, Span, n);
	Spec *spec = ARENA_NEW(b->arena, Spec);
	bool gathers = kind == NODE_GATHER;
	*spec = (Spec){
		.span = x->whole.span, .noperands = n, .result = gathers ? x->apart : x->whole};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, n);
	spec->operands[0] = gathers ? x->whole : x->apart;
	args[0] = arg;
	spans[0] = graph_node(b->graph, arg)->span;
	for (uint32_t i = 1; i < n; i++) {
		args[i] = places[i - 1];
		spans[i] = x->windows[i - 1]->span;
		spec->operands[i] = places_tensor(x, i - 1);
	}
	NodeId id = node_new(b, kind, spans[0], spans[0]);
	node_set_args(b, id, args, spans, n);
	Node *node = graph_node(b->graph, id);
	node->spec = spec;
	node->dtype = node_dtype(b, arg);
	node->mode = INDEX_CHECKED;
	return id;
}

static NodeId *places_of(const Indexed *x, const Window *windows)
{
	NodeId *places = ARENA_ARRAY(x->b->arena, NodeId, x->nwindows);
	for (uint32_t i = 0; i < x->nwindows; i++)
		places[i] = window_places(&windows[i], &x->letters[i][1]);
	return places;
}

/* ---- operands ---- */

/* What the margins of windows that no tensor has (border_is_late) are to read; NULL: there are none. */
static bool late_border(const Indexed *x, const SpecParts *parts, const Border **border)
{
	*border = NULL;
	for (uint32_t i = 0; i < x->nwindows && !*border; i++)
		if (border_is_late(x->windows[i]) &&
		    !(*border = border_of(x->b, parts, x->windows[i])))
			return false;
	return true;
}

/* Does a step that is left out give the number already? */
static bool is_zero(const Build *b, const Border *border)
{
	const Node *number = graph_node(b->graph, border->number);
	return number->is_integer ? number->integer == 0 : number->number == 0;
}

static IndexMode mode_of(const Border *border)
{
	static const IndexMode modes[] = {[BORDER_EDGE] = INDEX_CLAMPED,
					  [BORDER_REFLECT] = INDEX_CHECKED,
					  [BORDER_WRAP] = INDEX_WRAPPED,
					  [BORDER_NUMBER] = INDEX_SKIPPED};
	return border ? modes[border->kind] : INDEX_CHECKED;
}

/* "whole => ", for the sizes of its axes alone: no routine computes it. */
static NodeId sizes_node(const Indexed *x, NodeId arg)
{
	Build *b = x->b;
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = *spec_reduce_all(b, x->whole.span);
	spec->operands = ARENA_NEW(b->arena, SpecTensor);
	spec->operands[0] = x->whole;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &spec->operands[0].rows[kind];
		row->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++)
			row->axes[i] = spec_letter(x->whole.rows[kind].axes[i].letter,
						   x->whole.rows[kind].axes[i].span);
	}
	return spec_node(b, spec, OP_ID, &arg, 1);
}

static void reflect(const Indexed *x, const Window *windows, NodeId arg, NodeId *places)
{
	Build *b = x->b;
	NodeId sizes = sizes_node(x, arg);
	for (uint32_t i = 0; i < x->nwindows; i++)
		if (border_is_late(x->windows[i]))
			places[i] = window_reflected(&windows[i], places[i],
						     letter_size_of_node(b, sizes, x->letters[i][0],
									 x->windows[i]->span));
}

/* "s, k; apart; => apart": the number where a place of that window is outside the axis. */
static NodeId with_number(const Indexed *x, NodeId gathered, NodeId whole, uint32_t i,
			  const Window *window, const Border *border)
{
	Build *b = x->b;
	Node from = *graph_node(b->graph, gathered);
	Span span = window->axis->span;
	NodeId args[3] = {NODE_NONE, whole, border_number(b, border)};
	Dtype dtype = nodes_unite(b, args + 1, 2);
	args[0] = window_inside(window, from.args[i + 1],
				letter_size_of_node(b, gathered, x->letters[i][0], span), dtype);
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 3, .result = x->apart};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 3);
	spec->operands[0] = from.spec->operands[i + 1];
	spec->operands[1] = x->apart;
	spec->operands[2] = spec_outputs(b, NULL, 0, span);
	return spec_node(b, spec, OP_WHERE, args, 3);
}

static NodeId gather_node(const Indexed *x, SpecParts *parts, NodeId arg)
{
	Build *b = x->b;
	const Border *border;
	Window *windows = ARENA_ARRAY(b->arena, Window, x->nwindows);
	if (!late_border(x, parts, &border))
		return NODE_NONE;
	for (uint32_t i = 0; i < x->nwindows; i++)
		windows[i] = window_of(b, parts, x->windows[i], false);
	bool number = border && border->kind == BORDER_NUMBER && !is_zero(b, border);
	if (number) /* it is one of the wide dtype */
		arg = node_cast(b, arg, dtype_wide(node_dtype(b, arg)), x->whole.span);
	node_settle(b, arg, DTYPE_NONE);
	NodeId *places = places_of(x, windows);
	if (border && border->kind == BORDER_REFLECT)
		reflect(x, windows, arg, places);
	NodeId id = indexing_node(x, NODE_GATHER, arg, places), whole = id;
	graph_node(b->graph, id)->mode = mode_of(border);
	for (uint32_t i = 0; i < x->nwindows; i++) {
		window_say_size(&windows[i], parts, id, x->letters[i][0], false);
		if (!border_is_late(x->windows[i]))
			continue;
		if (border->kind == BORDER_WRAP)
			window_require_margins(
				&windows[i],
				letter_size_of_node(b, id, x->letters[i][0], x->windows[i]->span));
		if (number)
			whole = with_number(x, id, whole, i, &windows[i], border);
	}
	return whole;
}

const Spec *strides_gather(Build *b, SpecParts *parts)
{
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *parts->spec;
	out->operands = ARENA_ARRAY(b->arena, SpecTensor, out->noperands);
	for (uint32_t i = 0; i < out->noperands; i++) {
		const SpecTensor *tensor = &parts->spec->operands[i];
		out->operands[i] = *tensor;
		if (!spec_find_sized(tensor))
			continue;
		Indexed x = indexed_of(b, tensor);
		parts->args[i] = gather_node(&x, parts, parts->args[i]);
		if (parts->args[i] == NODE_NONE)
			return NULL;
		out->operands[i] = x.named;
	}
	return out;
}

/* ---- results ---- */

const Spec *strides_apart(Build *b, const Spec *spec)
{
	if (!spec_find_sized(&spec->result))
		return spec;
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *spec;
	out->result = indexed_of(b, &spec->result).named;
	return out;
}

/* What a scatter folds with. */
static Op folds_with(Op reduce)
{
	return reduce == OP_NONE  ? OP_ADD
	       : reduce == OP_AND ? OP_MIN
	       : reduce == OP_OR  ? OP_MAX
				  : reduce;
}

/* 0 or 1 of each element, of which the least is what `&&` makes, the greatest what `||` makes. */
static NodeId truths(Build *b, NodeId id, Span span)
{
	NodeId args[2] = {id, value_to_node(b, value_integer(0, span))};
	Span spans[2] = {span, span};
	Dtype dtype = node_dtype(b, id);
	return node_cast(b, node_pointwise(b, OP_NE, args, spans, 2, span, span), dtype, span);
}

NodeId strides_scatter(Build *b, SpecParts *parts, const Spec *spec, NodeId made)
{
	if (!spec_find_sized(&spec->result))
		return made;
	Indexed x = indexed_of(b, &spec->result);
	Window *windows = ARENA_ARRAY(b->arena, Window, x.nwindows);
	bool pads = false;
	for (uint32_t i = 0; i < x.nwindows; i++) {
		windows[i] = window_of(b, parts, x.windows[i], true);
		pads |= window_pads(&windows[i]);
	}
	node_settle(b, made, DTYPE_NONE);
	if (parts->reduce == OP_AND || parts->reduce == OP_OR)
		made = truths(b, made, parts->span);
	Dtype dtype = node_dtype(b, made);
	NodeId id = indexing_node(&x, NODE_SCATTER, made, places_of(&x, windows));
	Node *node = graph_node(b->graph, id);
	bool keeps = parts->keeps && parts->reduce == OP_ADD;
	node->reduce = keeps ? OP_ID : folds_with(parts->reduce);
	node->mode = pads ? INDEX_SKIPPED : INDEX_CHECKED;
	node->dtype = keeps ? dtype : dtype_wide(dtype);
	for (uint32_t i = 0; i < x.nwindows; i++)
		window_say_size(&windows[i], parts, id, x.letters[i][0], parts->into);
	return node_cast(b, id, dtype, graph_node(b->graph, id)->span);
}

/* Axes that are letters have the same sizes in both nodes. */
static void bind_axes(Build *b, const SpecTensor *tensor, NodeId from, NodeId to)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			const SizeExpr *size =
				letter_size_of_node(b, from, axis->letter, axis->span);
			PUSH(b->arena, b->graph->binds,
			     ((Bind){to, axis->letter, axis->span, size, CAPTURE_NONE}));
		}
}

/* 1 for each element. */
static NodeId ones_of(Build *b, NodeId id, Span span)
{
	Span spans[3] = {span, span, span};
	NodeId args[3] = {id, value_to_node(b, value_number(1, span)),
			  value_to_node(b, value_number(1, span))};
	NodeId all = node_pointwise(b, OP_WHERE, args, spans, 3, span, span);
	node_settle(b, all, DTYPE_NONE);
	return all;
}

/* Not 0 where the node has an element of its operands: its other axes may leave some, as `1^k` and `2*k` do. */
static NodeId reached_elements(Build *b, NodeId made)
{
	while (graph_node(b->graph, made)->kind == NODE_CAST ||
	       graph_node(b->graph, made)->kind == NODE_POINTWISE) /* falls: towards leaves */
		made = graph_node(b->graph, made)->args[0];
	Node node = *graph_node(b->graph, made);
	if (node.kind != NODE_SPEC)
		return ones_of(b, made, node.span);
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, node.nargs);
	for (uint32_t i = 0; i < node.nargs; i++)
		args[i] = ones_of(b, node.args[i], node.span);
	NodeId id = node_new(b, NODE_SPEC, node.span, node.span);
	node_set_args(b, id, args, node.arg_spans, node.nargs);
	Node *reached = graph_node(b->graph, id);
	reached->op = node.nargs == 2 ? OP_MUL : node.op;
	reached->reduce = OP_ADD;
	reached->spec = node.spec;
	reached->dtype = node_dtype(b, args[0]);
	return id;
}

/* 1 at each of the places that the node writes, 0 elsewhere. */
static NodeId written_places(Build *b, NodeId scattered)
{
	Node node = *graph_node(b->graph, scattered);
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, node.nargs);
	for (uint32_t i = 1; i < node.nargs; i++)
		args[i] = node.args[i];
	args[0] = reached_elements(b, node.args[0]);
	NodeId id = node_new(b, NODE_SCATTER, node.span, node.span);
	node_set_args(b, id, args, node.arg_spans, node.nargs);
	Node *mask = graph_node(b->graph, id);
	mask->spec = node.spec;
	mask->mode = node.mode;
	mask->reduce = OP_ID;
	mask->dtype = node_dtype(b, args[0]);
	bind_axes(b, &node.spec->result, scattered, id);
	return id;
}

NodeId strides_keep(Build *b, NodeId scattered, NodeId values, NodeId old)
{
	Span span = graph_node(b->graph, scattered)->span;
	Span spans[3] = {span, span, span};
	while (graph_node(b->graph, scattered)->kind == NODE_CAST) /* falls: towards leaves */
		scattered = graph_node(b->graph, scattered)->args[0];
	NodeId args[3] = {written_places(b, scattered), values, old};
	return node_pointwise(b, OP_WHERE, args, spans, 3, span, span);
}
