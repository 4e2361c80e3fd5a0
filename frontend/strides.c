/* Windows whose coefficients are sizes, as gathers and scatters at places that are computed
 * (frontend/windows.c):
 *
 *   sum("g*s <+ d*k => s", x)   is   sum("s, k => s", gather("[v]; s, k => s, k", x, g*s + d*k))
 *   sum("s, k => g*s <+ d*k", x)   is   scatter("s, k; s, k => [v]", x, g*s + d*k)
 *
 * Of a result its other axes are made first, with an axis for each letter of its windows.
 */
#include <inttypes.h>

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

/* The node that indexes: operand 0, which `from` is of, and the places of each window. */
static NodeId indexing_node(const Indexed *x, NodeKind kind, NodeId arg, Window *windows)
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
		args[i] = window_places(&windows[i - 1], &x->letters[i - 1][1]);
		spans[i] = x->windows[i - 1]->span;
		spec->operands[i] = graph_node(b->graph, args[i])->spec->result;
	}
	NodeId id = node_new(b, kind, spans[0], spans[0]);
	node_set_args(b, id, args, spans, n);
	Node *node = graph_node(b->graph, id);
	node->spec = spec;
	node->dtype = node_dtype(b, arg);
	node->mode = INDEX_CHECKED;
	return id;
}

/* ---- operands ---- */

static NodeId gather_node(const Indexed *x, SpecParts *parts, NodeId arg)
{
	Build *b = x->b;
	Window *windows = ARENA_ARRAY(b->arena, Window, x->nwindows);
	for (uint32_t i = 0; i < x->nwindows; i++)
		windows[i] = window_of(b, parts, x->windows[i], false);
	node_settle(b, arg, DTYPE_NONE);
	NodeId id = indexing_node(x, NODE_GATHER, arg, windows);
	for (uint32_t i = 0; i < x->nwindows; i++)
		window_say_size(&windows[i], parts, id, x->letters[i][0], false);
	return id;
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
	Dtype dtype = node_dtype(b, made);
	NodeId id = indexing_node(&x, NODE_SCATTER, made, windows);
	Node *node = graph_node(b->graph, id);
	bool keeps = parts->keeps && parts->reduce == OP_ADD;
	node->reduce = keeps ? OP_ID : parts->reduce == OP_NONE ? OP_ADD : parts->reduce;
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
