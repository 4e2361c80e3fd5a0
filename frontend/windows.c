/* Windows whose coefficients are sizes: an index map has numbers for coefficients, so these places are
 * computed.
 *
 *   place = stride*s + dilation*k + offset + shift - before
 *
 * Of an axis of v elements with s windows of k, where reach = dilation*(k - 1):
 *
 *   <+            v = g*(s - 1) + reach + 1 + offset - before - after
 *   <+?           v is that, or up to g - 1 more
 *   =+            v = g*s; where it is read, with the margins of frontend/border.c, g*s + reach
 *   =+?  written  v = g*s, or up to g - 1 less
 *   g*s + offset  v = g*s
 *
 * From a place that is given by name on, or where a scalar or the number of a step counts, the axis is at
 * least so long. How many windows follows from the axis where the stride is a number, and is else said
 * by `with` or by another operand.
 */
#include "frontend/windows.h"

#include "frontend/border.h"
#include "frontend/late_dims.h"
#include "frontend/letter_size.h"
#include "frontend/nodes.h"
#include "frontend/specs.h"

/* ---- sizes ---- */

static const SizeExpr *number(const Window *w, int64_t value)
{
	return size_expr_number(w->b, value, w->axis->span);
}

static const SizeExpr *sum(const Window *w, const SizeExpr *a, const SizeExpr *c)
{
	return size_expr_of(w->b, SX_ADD, a, c);
}

static const SizeExpr *difference(const Window *w, const SizeExpr *a, const SizeExpr *c)
{
	return size_expr_of(w->b, SX_SUB, a, c);
}

static const SizeExpr *product(const Window *w, const SizeExpr *a, const SizeExpr *c)
{
	return size_expr_of(w->b, SX_MUL, a, c);
}

bool size_is_late(const SizeExpr *size)
{
	return size->kind == SX_DIM ? late_dim_is(size->dim)
				    : size->a && (size_is_late(size->a) || size_is_late(size->b));
}

/* g*s + offset without a kernel: the axis has g elements for each s. */
static bool divides(const Window *w)
{
	return !w->axis->kernel && !w->axis->shift && !size_is_late(w->stride);
}

static bool is_centred(const SpecAxis *axis)
{
	return axis->mark == MARK_PADDED || axis->mark == MARK_PADDED_CEIL;
}

/* dilation*(k - 1), of which a half, rounded up, stands before an axis that is centred. */
static const SizeExpr *reach_of(const Window *w)
{
	return w->kernel ? difference(w, product(w, w->dilation, w->kernel), w->dilation)
			 : number(w, 0);
}

void size_require_least(Build *b, const SizeExpr *size, int64_t least, const char *as)
{
	int64_t value;
	if (size_expr_value(size, &value) && value >= least)
		return;
	PUSH(b->arena, b->graph->requires,
	     ((Require){REQUIRE_GE, size, size_expr_number(b, least, size->span), size->span, false, as}));
}

static void set_margins(Window *w)
{
	const SpecAxis *axis = w->axis;
	if (is_centred(axis)) {
		w->before = size_expr_of(w->b, SX_CEIL, reach_of(w), number(w, 2));
		w->after = difference(w, reach_of(w), w->before);
	} else if (axis->padded) {
		w->before = size_expr_or(w->b, axis->before_size, axis->before, axis->span);
		w->after = size_expr_or(w->b, axis->after_size, axis->after, axis->span);
	}
}

Window window_of(Build *b, SpecParts *parts, const SpecAxis *axis, bool written)
{
	Span span = axis->span;
	Window w = {.b = b,
		    .axis = axis,
		    .written = written,
		    .stride = size_expr_or(b, axis->stride_size, axis->stride, span),
		    .dilation = size_expr_or(b, axis->dilation_size, axis->dilation, span),
		    .windows = letter_size(b, parts, axis->letter, span)};
	size_require_least(b, w.stride, divides(&w) ? axis->offset + 1 : 1, "a stride");
	if (axis->kernel) {
		w.kernel = letter_size(b, parts, axis->kernel, span);
		size_require_least(b, w.dilation, 1, "a dilation");
	}
	w.margins = (written && axis->kernel) || border_is_late(axis);
	if (w.margins)
		set_margins(&w);
	return w;
}

/* What the axis has at least, and all of it where the mark leaves nothing out. */
static const SizeExpr *extent(const Window *w)
{
	const SpecAxis *axis = w->axis;
	const SizeExpr *all = product(w, w->stride, w->windows);
	if (divides(w) || (w->margins && axis->mark == MARK_PADDED))
		return all;
	if (w->margins && axis->mark == MARK_PADDED_CEIL)
		return difference(w, sum(w, all, number(w, 1)), w->stride);
	if (axis->kernel)
		all = sum(w, all, product(w, w->dilation, w->kernel));
	if (axis->mark == MARK_PADDED)
		return difference(w, all, w->dilation);
	all = sum(w, all, number(w, 1 + axis->offset));
	if (axis->shift)
		all = sum(w, all, axis->shift);
	all = difference(w, all, axis->kernel ? sum(w, w->stride, w->dilation) : w->stride);
	return w->before ? difference(w, all, sum(w, w->before, w->after)) : all;
}

/* How many windows an axis of that size has. */
static const SizeExpr *windows_in(const Window *w, const SizeExpr *size)
{
	if (!w->margins)
		size = difference(w, size, sum(w, reach_of(w), number(w, w->axis->offset)));
	return size_expr_of(w->b, SX_CEIL, size, w->stride);
}

static void require_ge(const Window *w, const SizeExpr *a, const SizeExpr *c)
{
	PUSH(w->b->arena, w->b->graph->requires,
	     ((Require){REQUIRE_GE, a, c, w->axis->span, true, NULL}));
}

void window_say_size(const Window *w, SpecParts *parts, NodeId node, Sym letter, bool into)
{
	Build *b = w->b;
	Span span = w->axis->span;
	const SizeExpr *least = extent(w);
	bool leaves = w->axis->mark == MARK_VALID_FLOOR || w->axis->mark == MARK_PADDED_CEIL;
	bool placed = size_is_late(least) || (w->axis->shift && (!w->written || into));
	bool counts = leaves && !w->written && !placed && !w->axis->stride_size;
	if (!placed && (!leaves || (counts && w->axis->stride == 1))) {
		PUSH(b->arena, b->graph->binds, ((Bind){node, letter, span, least, CAPTURE_NONE}));
		return;
	}
	const SizeExpr *size = letter_size_of_node(b, node, letter, span);
	if (counts) {
		letter_size_bind(b, parts, w->axis->letter, windows_in(w, size));
		return;
	}
	if (w->windows->kind == SX_CAPTURE)
		b->graph->captures.at[w->windows->capture].counts = true;
	require_ge(w, size, least);
	if (!placed)
		require_ge(w, sum(w, least, w->stride), sum(w, size, number(w, 1)));
}

bool window_pads(const Window *w) { return w->before != NULL; }

/* ---- places ---- */

static NodeId size_node(const Window *w, const SizeExpr *size)
{
	NodeId id = value_to_node(w->b, value_size(size, w->axis->span));
	node_settle(w->b, id, DTYPE_I64);
	return id;
}

static NodeId two(const Window *w, Op op, NodeId a, NodeId c)
{
	NodeId args[2] = {a, c};
	Span spans[2] = {w->axis->span, w->axis->span};
	return node_pointwise(w->b, op, args, spans, 2, spans[0], spans[0]);
}

/* step*0, step*1, ... */
static NodeId multiples(const Window *w, const SizeExpr *step, const SizeExpr *count)
{
	Build *b = w->b;
	Span span = w->axis->span;
	NodeId range = node_new(b, NODE_RANGE, span, span);
	graph_node(b->graph, range)->size_expr = count;
	graph_node(b->graph, range)->dtype = DTYPE_I32;
	return two(w, OP_MUL, node_cast(b, range, DTYPE_I64, span), size_node(w, step));
}

/* Of the first element of each window. */
static NodeId first_places(const Window *w)
{
	NodeId id = multiples(w, w->stride, w->windows);
	if (w->axis->offset != 0)
		id = two(w, OP_ADD, id, size_node(w, number(w, w->axis->offset)));
	if (w->axis->shift)
		id = two(w, OP_ADD, id, size_node(w, w->axis->shift));
	if (w->before)
		id = two(w, OP_SUB, id, size_node(w, w->before));
	return id;
}

NodeId window_places(const Window *w, const Sym letters[2])
{
	Build *b = w->b;
	Span span = w->axis->span;
	uint32_t n = w->kernel ? 2 : 1;
	Spec *spec = ARENA_NEW(b->arena, Spec);
	SpecAxis axes[2] = {spec_letter(letters[0], span), spec_letter(letters[1], span)};
	*spec = (Spec){.span = span, .noperands = n, .result = spec_outputs(b, axes, n, span)};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, n);
	for (uint32_t i = 0; i < n; i++)
		spec->operands[i] = spec_outputs(b, &axes[i], 1, span);
	NodeId args[2] = {first_places(w), NODE_NONE};
	if (w->kernel)
		args[1] = multiples(w, w->dilation, w->kernel);
	return spec_node(b, spec, w->kernel ? OP_ADD : OP_ID, args, n);
}

/* ---- places outside the axis ---- */

void window_require_margins(const Window *w, const SizeExpr *size)
{
	require_ge(w, size, w->before);
	require_ge(w, size, w->after);
}

/* min(p, 2*last - p) of |p|: last - |last - |p||. */
NodeId window_reflected(const Window *w, NodeId places, const SizeExpr *size)
{
	const SizeExpr *last = difference(w, size, number(w, 1));
	window_require_margins(w, last);
	Span span = w->axis->span;
	for (int i = 0; i < 2; i++) {
		places = node_pointwise(w->b, OP_ABS, &places, &span, 1, span, span);
		places = two(w, OP_SUB, size_node(w, last), places);
	}
	return places;
}

NodeId window_inside(const Window *w, NodeId places, const SizeExpr *size, Dtype dtype)
{
	NodeId least = two(w, OP_GE, places, size_node(w, number(w, 0)));
	NodeId most = two(w, OP_LT, places, size_node(w, size));
	return node_cast(w->b, two(w, OP_MUL, least, most), dtype, w->axis->span);
}
