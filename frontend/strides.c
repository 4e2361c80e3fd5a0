/* Windows whose coefficients are sizes, as gathers: an index map has numbers for coefficients, so
 * these places are computed.
 *
 *   sum("g*s <+ d*k => s", x)   is   sum("s, k => s", gather("[v]; s, k => s, k", x, g*s + d*k))
 *
 * Every place is inside, which follows from what binds say of the axis v:
 *
 *   <+    v = g*(s - 1) + d*(k - 1) + 1 + offset
 *   =+    v = g*s + d*(k - 1)                      with the margins of frontend/border.c
 *   <+?   s = ceil((v - d*(k - 1) - offset)/g)     where g is a number
 */
#include <inttypes.h>

#include "frontend/letter_size.h"
#include "frontend/nodes.h"
#include "frontend/specs.h"
#include "frontend/strides.h"

static bool is_sized(const SpecAxis *axis) { return axis->stride_size || axis->dilation_size; }

const SpecAxis *spec_find_sized(const SpecTensor *tensor)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
			if (is_sized(&tensor->rows[kind].axes[i]))
				return &tensor->rows[kind].axes[i];
	return NULL;
}

/* ---- the places of a window ---- */

typedef struct Window {
	Build *b;
	const SpecAxis *axis;
	const SizeExpr *stride, *dilation, *windows, *kernel; /* kernel: elements of a window */
} Window;

static Window window_of(Build *b, SpecParts *parts, const SpecAxis *axis)
{
	Span span = axis->span;
	return (Window){.b = b,
			.axis = axis,
			.stride = size_expr_or(b, axis->stride_size, axis->stride, span),
			.dilation = size_expr_or(b, axis->dilation_size, axis->dilation, span),
			.windows = letter_size(b, parts, axis->letter, span),
			.kernel = letter_size(b, parts, axis->kernel, span)};
}

static NodeId size_node(const Window *w, const SizeExpr *size)
{
	NodeId id = value_to_node(w->b, value_size(size, w->axis->span));
	node_settle(w->b, id, DTYPE_I64);
	return id;
}

/* step*0, step*1, ... */
static NodeId multiples(const Window *w, const SizeExpr *step, const SizeExpr *count)
{
	Build *b = w->b;
	Span spans[2] = {w->axis->span, w->axis->span};
	NodeId range = node_new(b, NODE_RANGE, spans[0], spans[0]);
	graph_node(b->graph, range)->size_expr = count;
	graph_node(b->graph, range)->dtype = DTYPE_I32;
	NodeId args[2] = {node_cast(b, range, DTYPE_I64, spans[0]), size_node(w, step)};
	return node_pointwise(b, OP_MUL, args, spans, 2, spans[0], spans[0]);
}

/* "s; k => s, k": stride*s + offset + dilation*k. */
static NodeId places(const Window *w, const Sym letters[2])
{
	Build *b = w->b;
	Span span = w->axis->span;
	Span spans[2] = {span, span};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	SpecAxis axes[2] = {spec_letter(letters[0], span), spec_letter(letters[1], span)};
	*spec = (Spec){.span = span, .noperands = 2, .result = spec_outputs(b, axes, 2, span)};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 2);
	for (uint32_t i = 0; i < 2; i++)
		spec->operands[i] = spec_outputs(b, &axes[i], 1, span);
	NodeId args[2] = {multiples(w, w->stride, w->windows),
			  multiples(w, w->dilation, w->kernel)};
	NodeId first[2] = {args[0], size_node(w, size_expr_number(b, w->axis->offset, span))};
	if (w->axis->offset != 0)
		args[0] = node_pointwise(b, OP_ADD, first, spans, 2, span, span);
	NodeId id = node_new(b, NODE_SPEC, span, span);
	node_set_args(b, id, args, spans, 2);
	Node *node = graph_node(b->graph, id);
	node->op = OP_ADD;
	node->reduce = OP_ADD;
	node->spec = spec;
	node->dtype = DTYPE_I64;
	return id;
}

/* Where the mark leaves out a rest: how many windows an axis of that size has. */
static const SizeExpr *windows_in(const Window *w, const SizeExpr *size)
{
	Build *b = w->b;
	const SizeExpr *reach = size_expr_of(b, SX_SUB,
					     size_expr_of(b, SX_MUL, w->dilation, w->kernel),
					     w->dilation),
		       *offset = size_expr_number(b, w->axis->offset, w->axis->span);
	size = size_expr_of(b, SX_SUB, size, size_expr_of(b, SX_ADD, reach, offset));
	return size_expr_of(b, SX_CEIL, size, w->stride);
}

/* The size that the axis has. */
static const SizeExpr *extent(const Window *w)
{
	Build *b = w->b;
	const SizeExpr *one = size_expr_number(b, 1, w->axis->span),
		       *reach = size_expr_of(b, SX_MUL, w->dilation, w->kernel),
		       *all = size_expr_of(b, SX_ADD,
					   size_expr_of(b, SX_MUL, w->stride, w->windows), reach),
		       *offset = size_expr_number(b, w->axis->offset, w->axis->span);
	if (w->axis->mark == MARK_PADDED)
		return size_expr_of(b, SX_SUB, all, w->dilation);
	all = size_expr_of(b, SX_ADD, all, size_expr_of(b, SX_ADD, one, offset));
	return size_expr_of(b, SX_SUB, all, size_expr_of(b, SX_ADD, w->stride, w->dilation));
}

/* ---- an operand ---- */

typedef struct Gathered {
	Build *b;
	SpecParts *parts;
	SpecTensor read;    /* a letter for each axis, in brackets where there is a window */
	SpecTensor made;    /* of what is gathered: two letters for each window */
	SpecTensor instead; /* what the specification reads of that */
	const SpecAxis **windows;
	Sym (*letters)[3]; /* of each window: in brackets, over it, of its elements */
	uint32_t nwindows, nletters;
} Gathered;

static Sym new_letter(Gathered *g) { return sym_printf(g->b->symbols, "_%" PRIu32, ++g->nletters); }

static void add_axis(Gathered *g, RowKind kind, const SpecAxis *axis)
{
	SpecRow *read = &g->read.rows[kind], *made = &g->made.rows[kind],
		*instead = &g->instead.rows[kind];
	SpecAxis letter = spec_letter(new_letter(g), axis->span);
	if (!is_sized(axis)) {
		read->axes[read->naxes++] = made->axes[made->naxes++] = letter;
		instead->axes[instead->naxes++] = *axis;
		return;
	}
	Sym *letters = g->letters[g->nwindows];
	letters[0] = letter.letter;
	letter.bracketed = true;
	read->axes[read->naxes++] = letter;
	for (uint32_t i = 1; i <= 2; i++) {
		letters[i] = new_letter(g);
		made->axes[made->naxes++] = spec_letter(letters[i], axis->span);
	}
	instead->axes[instead->naxes++] = spec_letter(axis->letter, axis->span);
	instead->axes[instead->naxes++] = spec_letter(axis->kernel, axis->span);
	g->windows[g->nwindows++] = axis;
}

static void add_row(Gathered *g, RowKind kind, const SpecRow *row)
{
	SpecTensor *tensors[3] = {&g->read, &g->made, &g->instead};
	for (int k = 0; k < 3; k++) {
		tensors[k]->rows[kind] = *row;
		tensors[k]->rows[kind].axes = ARENA_ARRAY(g->b->arena, SpecAxis, 2 * row->naxes);
		tensors[k]->rows[kind].naxes = 0;
	}
	for (uint32_t i = 0; i <= row->naxes; i++) {
		for (int k = 0; k < 3 && row->var_at == (int32_t)i; k++)
			tensors[k]->rows[kind].var_at = (int32_t)tensors[k]->rows[kind].naxes;
		if (i < row->naxes)
			add_axis(g, kind, &row->axes[i]);
	}
}

static void add_rows(Gathered *g, const SpecTensor *tensor)
{
	uint32_t n = 0;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		n += tensor->rows[kind].naxes;
	g->read = g->made = g->instead = *tensor;
	g->windows = ARENA_ARRAY(g->b->arena, const SpecAxis *, n);
	g->letters = arena_alloc(g->b->arena, n * sizeof *g->letters);
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		add_row(g, kind, &tensor->rows[kind]);
}

/* Of the axis, which is a letter of the gather. */
static void say_size(Gathered *g, const Window *w, NodeId id, Sym letter)
{
	Build *b = g->b;
	bool rest = w->axis->mark == MARK_VALID_FLOOR && w->axis->stride > 1;
	Bind bind = {id, letter, w->axis->span, rest ? NULL : extent(w), CAPTURE_NONE};
	if (rest)
		letter_size_bind(b, g->parts, w->axis->letter,
				 windows_in(w, letter_size_of_node(b, id, letter, w->axis->span)));
	else
		PUSH(b->arena, b->graph->binds, bind);
}

static NodeId gather_node(Gathered *g, NodeId arg, Span span)
{
	Build *b = g->b;
	uint32_t n = g->nwindows + 1;
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, n);
	Span *spans = ARENA_ARRAY(b->arena, Span, n);
	Window *windows = ARENA_ARRAY(b->arena, Window, n);
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = g->read.span, .noperands = n, .result = g->made};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, n);
	spec->operands[0] = g->read;
	args[0] = arg, spans[0] = span;
	for (uint32_t i = 1; i < n; i++) {
		const Sym *letters = &g->letters[i - 1][1];
		windows[i] = window_of(b, g->parts, g->windows[i - 1]);
		args[i] = places(&windows[i], letters);
		spans[i] = g->windows[i - 1]->span;
		spec->operands[i] = graph_node(b->graph, args[i])->spec->result;
	}
	node_settle(b, arg, DTYPE_NONE);
	NodeId id = node_new(b, NODE_GATHER, span, span);
	node_set_args(b, id, args, spans, n);
	Node *node = graph_node(b->graph, id);
	node->spec = spec;
	node->dtype = node_dtype(b, arg);
	node->mode = INDEX_CHECKED;
	for (uint32_t i = 1; i < n; i++)
		say_size(g, &windows[i], id, g->letters[i - 1][0]);
	return id;
}

const Spec *strides_gather(Build *b, SpecParts *parts)
{
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *parts->spec;
	out->operands = ARENA_ARRAY(b->arena, SpecTensor, out->noperands);
	for (uint32_t i = 0; i < out->noperands; i++) {
		Gathered gathered = {.b = b, .parts = parts};
		out->operands[i] = parts->spec->operands[i];
		if (!spec_find_sized(&out->operands[i]))
			continue;
		add_rows(&gathered, &parts->spec->operands[i]);
		parts->args[i] = gather_node(&gathered, parts->args[i], parts->spans[i]);
		out->operands[i] = gathered.instead;
	}
	return out;
}
