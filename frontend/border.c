/* Borders: what a window reads beyond an axis that has margins.
 *
 *   2*o =+[1, 2] k  of an axis i   becomes   2*o <+ k  of an axis before^i^after
 *
 * The larger tensor is a concatenation of 3^d operands for d axes with margins: of each axis the
 * elements themselves, those before and those after. All but the value read the same tensor:
 *
 *              before        after
 *   edge       0*l ^ _       _ ^ 0*r        its first and its last element
 *   reflect    1 ^ -l ^ _    _ ^ -r ^ 1     from the second one on, and back from the last but one
 *   wrap       _ ^ l         r ^ _          its last and its first elements
 *
 * where `-l` goes through a part from its end, `0*l` stays, and `_` is the rest. So each copies a box
 * without a check, and that the axis is long enough is what any part of an axis asks for.
 *
 * Without margins a mark that pads has windows whose middles stand on the axis, so of what they reach
 * beyond their first element, (k - 1)*dilation, a half is before it, rounded up, and the rest behind
 * it; and of `=+` the axis is the stride times as long as there are windows.
 *
 * Margins that are sizes, or stand beside coefficients that are, are a border of the number that
 * changes no result, where nothing else is said.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/border.h"
#include "frontend/eval.h"
#include "frontend/letter_size.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/specs.h"
#include "frontend/windows.h"

enum { AXES_MOST = 6 }; /* with a border at once: 3^6 boxes */

const char *const border_words[] = {"skip", "edge", "reflect", "wrap"};

BorderKind border_of_word(Sym name)
{
	BorderKind kind = BORDER_SKIP;
	while (kind < BORDER_NUMBER && strcmp(border_words[kind], name) != 0) /* falls: words */
		kind++;
	return kind < BORDER_NUMBER ? kind : BORDER_SKIP;
}

bool border_is_word(Sym name) { return strcmp(border_words[border_of_word(name)], name) == 0; }

/* ---- which axes have one ---- */

static bool is_centred(const SpecAxis *axis)
{
	return axis->kernel && (axis->mark == MARK_PADDED || axis->mark == MARK_PADDED_CEIL);
}

static bool has_sizes(const SpecAxis *axis)
{
	return axis->stride_size || axis->dilation_size || axis->before_size || axis->after_size;
}

static bool has_margins(const SpecAxis *axis)
{
	return axis->padded &&
	       (axis->before + axis->after > 0 || axis->before_size || axis->after_size);
}

bool border_is_late(const SpecAxis *axis)
{
	const SizeExpr *sizes[] = {axis->dilation_size, axis->before_size, axis->after_size};
	bool late = false;
	for (int i = 0; i < 3; i++)
		late |= sizes[i] && size_is_late(sizes[i]);
	return late && (has_margins(axis) || is_centred(axis));
}

static bool has_border(const SpecAxis *axis)
{
	return (has_margins(axis) || is_centred(axis)) && !border_is_late(axis);
}

/* Windows that read nothing where they leave the axis, but are none that projections have. */
static bool has_sized_border(const SpecAxis *axis) { return has_border(axis) && has_sizes(axis); }

/* The first axis of the tensor for which that holds, or NULL. */
static const SpecAxis *find_axis(const SpecTensor *tensor, bool (*holds)(const SpecAxis *))
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
			if (holds(&tensor->rows[kind].axes[i]))
				return &tensor->rows[kind].axes[i];
	return NULL;
}

static bool pads_any(const SpecAxis *axis) { return axis->padded || is_centred(axis); }

static bool is_placed_and_centred(const SpecAxis *axis) { return is_centred(axis) && axis->shift; }

static bool refuse_place(Build *b, const SpecAxis *axis)
{
	diag(b->diags, E0246, axis->span, "beside a place by name the margins of a border are written");
	diag_note(b->diags, axis->span, "they stand behind the mark: '=+[1]', '=+?[1, 2]'");
	return false;
}

/* Is there an axis that the border could stand around, and none that it could not? */
static bool check_border(Build *b, const Spec *spec, const Border *border)
{
	const SpecAxis *written = find_axis(&spec->result, pads_any), *any = NULL;
	for (uint32_t i = 0; i < spec->noperands && !any; i++)
		any = find_axis(&spec->operands[i], pads_any);
	for (uint32_t i = 0; i < spec->noperands; i++) {
		const SpecAxis *placed = find_axis(&spec->operands[i], is_placed_and_centred);
		if (placed)
			return refuse_place(b, placed);
	}
	if (any && !written)
		return true;
	diag(b->diags, E0246, border->span,
	     written ? "a border is read, and this specification writes across one"
		     : "a border stands around an axis whose mark pads, and there is none here");
	diag_note(
		b->diags, written ? written->span : spec->span,
		written ? "what falls outside here is not written"
			: "marks that pad are '=+' and '=+?', with margins or without: '=+[1, 2]'");
	return false;
}

/* ---- the larger tensor ---- */

typedef struct Bordered { /* an axis with a border */
	const SpecAxis *axis;
	RowKind row;
	uint32_t at;		    /* of the row's axes */
	Sym inside, before, after; /* letters: the elements themselves, and those around them */
	const SizeExpr *size_before, *size_after; /* NULL: there are none */
} Bordered;

typedef struct Larger {
	Build *b;
	SpecParts *parts;
	const Border *border;
	bool (*has)(const SpecAxis *); /* which axes have one */
	SpecTensor letters; /* the operand with a letter of its own for each axis */
	Bordered axes[AXES_MOST];
	uint32_t naxes;
	NodeId arg;
	Span span;
	SpecTensor *operands; /* of the concatenation, with what they are of and where that stands */
	NodeId *args;
	Span *spans;
	uint32_t nargs;
} Larger;

/* A letter that the tensor does not have. */
static Sym new_letter(const Larger *l, Sym stem, const char *suffix)
{
	Sym letter = sym_printf(l->b->symbols, "%s_%s", stem, suffix);
	while (spec_tensor_count(&l->letters, letter)) /* falls: letters of the tensor as long */
		letter = sym_printf(l->b->symbols, "%s_", letter);
	return letter;
}

/* Gives each axis a letter; false where too many have a border. */
static bool name_axes(Larger *l, const SpecTensor *tensor)
{
	uint32_t n = 0;
	l->letters = *tensor;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &l->letters.rows[kind];
		row->axes = ARENA_ARRAY(l->b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			bool own = axis->kind == SPEC_LETTER &&
				   spec_tensor_count(tensor, axis->letter) == 1;
			row->axes[i] = spec_letter(
				own ? axis->letter : sym_printf(l->b->symbols, "_%" PRIu32, ++n),
				axis->span);
			if (!l->has(axis))
				continue;
			if (l->naxes == AXES_MOST)
				return false;
			l->axes[l->naxes++] = (Bordered){.axis = axis, .row = kind, .at = i};
		}
	}
	for (uint32_t i = 0; i < l->naxes; i++) {
		Bordered *axis = &l->axes[i];
		axis->inside = new_letter(l, axis->axis->letter, "in");
		axis->before = new_letter(l, axis->axis->letter, "before");
		axis->after = new_letter(l, axis->axis->letter, "after");
		l->letters.rows[axis->row].axes[axis->at].letter = axis->inside;
	}
	return true;
}

/* The size of a margin; NULL: it has no elements. */
static const SizeExpr *margin(const SizeExpr *size)
{
	int64_t number;
	return size_expr_value(size, &number) && number <= 0 ? NULL : size;
}

/* Half of what a window reaches beyond its first element, rounded up, and the rest. */
static void centre(const Larger *l, Bordered *axis)
{
	Build *b = l->b;
	const SpecAxis *from = axis->axis;
	Span span = from->span;
	const SizeExpr *one = size_expr_number(b, 1, span), *two = size_expr_number(b, 2, span),
		       *dilation = size_expr_or(b, from->dilation_size, from->dilation, span),
		       *kernel = letter_size(b, l->parts, from->kernel, span),
		       *reach = size_expr_of(b, SX_MUL, size_expr_of(b, SX_SUB, kernel, one),
					     dilation),
		       *before = size_expr_of(b, SX_CEIL, reach, two),
		       *after = size_expr_of(b, SX_SUB, reach, before);
	size_require_least(b, kernel, 1, "the elements of a window with a border");
	if (from->offset > 0)
		after = size_expr_of(b, SX_ADD, after, size_expr_number(b, from->offset, span));
	axis->size_before = margin(before);
	axis->size_after = margin(after);
}

static void size_margins(Larger *l)
{
	for (uint32_t i = 0; i < l->naxes; i++) {
		Bordered *axis = &l->axes[i];
		const SpecAxis *from = axis->axis;
		if (is_centred(from)) {
			centre(l, axis);
			continue;
		}
		axis->size_before =
			margin(size_expr_or(l->b, from->before_size, from->before, from->span));
		axis->size_after =
			margin(size_expr_or(l->b, from->after_size, from->after, from->span));
	}
}

typedef enum Side { SIDE_INSIDE, SIDE_BEFORE, SIDE_AFTER, SIDES } Side;

static const SizeExpr *size_of(const Bordered *axis, Side side)
{
	return side == SIDE_BEFORE ? axis->size_before : axis->size_after;
}

static Sym letter_of(const Bordered *axis, Side side)
{
	return side == SIDE_INSIDE ? axis->inside : side == SIDE_BEFORE ? axis->before : axis->after;
}

static SpecAxis concat_axis(Build *b, const SpecPart *parts, uint32_t n, Span span)
{
	SpecAxis out = {.kind = SPEC_CONCAT, .span = span, .stride = 1, .dilation = 1, .nparts = n};
	out.parts = ARENA_ARRAY(b->arena, SpecPart, n);
	memcpy(out.parts, parts, n * sizeof *parts);
	for (uint32_t i = 0; i < n; i++)
		out.parts[i].span = span;
	return out;
}

/* The axis as what stands at that side of it is read: from its beginning or up to its end. */
static SpecAxis read_axis(const Larger *l, const Bordered *axis, Side side)
{
	static const PartRun runs[] = {[BORDER_EDGE] = PART_STILL, [BORDER_REFLECT] = PART_BACKWARD,
				       [BORDER_WRAP] = PART_FORWARD};
	BorderKind kind = l->border->kind;
	bool first = (side == SIDE_BEFORE) != (kind == BORDER_WRAP);
	uint32_t n = 0;
	SpecPart parts[3], rest = {.rest = true};
	SpecPart part = {.letter = letter_of(axis, side), .run = runs[kind], .size = 1};
	if (!first)
		parts[n++] = rest;
	if (first && kind == BORDER_REFLECT)
		parts[n++] = (SpecPart){.size = 1};
	parts[n++] = part;
	if (!first && kind == BORDER_REFLECT)
		parts[n++] = (SpecPart){.size = 1};
	if (first)
		parts[n++] = rest;
	SpecAxis out = concat_axis(l->b, parts, n, axis->axis->span);
	out.border = border_words[kind];
	return out;
}

static SpecTensor copy_letters(const Larger *l)
{
	SpecTensor out = l->letters;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &out.rows[kind];
		row->axes = ARENA_ARRAY(l->b->arena, SpecAxis, row->naxes);
		if (row->naxes > 0)
			memcpy(row->axes, l->letters.rows[kind].axes, row->naxes * sizeof *row->axes);
	}
	return out;
}

/* One number at all places of these sides: an array of its own that nothing stores. */
static SpecTensor number_tensor(const Larger *l, const Side *sides)
{
	SpecAxis axes[AXES_MOST];
	for (uint32_t i = 0; i < l->naxes; i++)
		axes[i] = spec_letter(letter_of(&l->axes[i], sides[i]), l->border->span);
	return spec_outputs(l->b, axes, l->naxes, l->border->span);
}

NodeId border_number(Build *b, const Border *border)
{
	NodeId id = node_new(b, NODE_NUMBER, border->span, border->span);
	Node *node = graph_node(b->graph, id);
	const Node *from = graph_node(b->graph, border->number);
	node->number = from->number;
	node->is_integer = from->is_integer;
	node->integer = from->integer;
	return id;
}

/* The operand that fills the box at these sides of the axes. */
static void add_box(Larger *l, const Side *sides)
{
	bool inside = true;
	SpecTensor tensor = copy_letters(l);
	for (uint32_t i = 0; i < l->naxes; i++) {
		const Bordered *axis = &l->axes[i];
		if (sides[i] != SIDE_INSIDE && l->border->kind != BORDER_NUMBER)
			tensor.rows[axis->row].axes[axis->at] = read_axis(l, axis, sides[i]);
		inside &= sides[i] == SIDE_INSIDE;
	}
	bool number = !inside && l->border->kind == BORDER_NUMBER;
	uint32_t n = l->nargs++;
	l->operands[n] = number ? number_tensor(l, sides) : tensor;
	l->args[n] = number ? border_number(l->b, l->border) : l->arg;
	l->spans[n] = number ? l->border->span : l->span;
}

/* All choices of a side for each axis, but those of no elements. */
static void add_boxes(Larger *l)
{
	Side sides[AXES_MOST] = {0};
	uint32_t at = 0;
	add_box(l, sides);
	while (at < l->naxes) { /* falls: choices to come, in their order */
		bool some = true;
		sides[at]++;
		for (at = 0; at < l->naxes && sides[at] == SIDES; at++) {
			sides[at] = SIDE_INSIDE;
			if (at + 1 < l->naxes)
				sides[at + 1]++;
		}
		if (at == l->naxes)
			return;
		for (uint32_t i = 0; i < l->naxes; i++)
			some &= sides[i] == SIDE_INSIDE || size_of(&l->axes[i], sides[i]);
		if (some)
			add_box(l, sides);
		at = 0;
	}
}

/* before^inside^after for each axis. */
static SpecTensor larger_tensor(const Larger *l)
{
	SpecTensor out = copy_letters(l);
	for (uint32_t i = 0; i < l->naxes; i++) {
		const Bordered *axis = &l->axes[i];
		SpecPart parts[3];
		uint32_t n = 0;
		if (axis->size_before)
			parts[n++] = (SpecPart){.letter = axis->before};
		parts[n++] = (SpecPart){.letter = axis->inside};
		if (axis->size_after)
			parts[n++] = (SpecPart){.letter = axis->after};
		out.rows[axis->row].axes[axis->at] = concat_axis(l->b, parts, n, axis->axis->span);
	}
	return out;
}

static void bind_sizes(const Larger *l, NodeId id)
{
	Build *b = l->b;
	for (uint32_t i = 0; i < l->naxes; i++)
		for (Side side = SIDE_BEFORE; side < SIDES; side++) {
			const Bordered *axis = &l->axes[i];
			Bind bind = {id, letter_of(axis, side), axis->axis->span,
				     size_of(axis, side), CAPTURE_NONE};
			if (bind.size)
				PUSH(b->arena, b->graph->binds, bind);
		}
}

/* Of `stride*o =+ k` the axis has stride*o elements. */
static void bind_strides(const Larger *l, NodeId id)
{
	Build *b = l->b;
	for (uint32_t i = 0; i < l->naxes; i++) {
		const SpecAxis *axis = l->axes[i].axis;
		if (!is_centred(axis) || axis->mark != MARK_PADDED ||
		    (axis->stride == 1 && !axis->stride_size))
			continue;
		const SizeExpr *stride =
			size_expr_or(b, axis->stride_size, axis->stride, axis->span);
		const SizeExpr *windows = letter_size(b, l->parts, axis->letter, axis->span);
		Bind bind = {id, l->axes[i].inside, axis->span,
			     size_expr_of(b, SX_MUL, stride, windows), CAPTURE_NONE};
		PUSH(b->arena, b->graph->binds, bind);
	}
}

static const Spec *larger_spec(const Larger *l)
{
	Spec *spec = ARENA_NEW(l->b->arena, Spec);
	*spec = (Spec){.span = l->letters.span,
		       .operands = l->operands,
		       .noperands = l->nargs,
		       .result = larger_tensor(l)};
	return spec;
}

static NodeId larger_node(Larger *l)
{
	Build *b = l->b;
	uint32_t most = 1;
	for (uint32_t i = 0; i < l->naxes; i++)
		most *= SIDES;
	l->operands = ARENA_ARRAY(b->arena, SpecTensor, most);
	l->args = ARENA_ARRAY(b->arena, NodeId, most);
	l->spans = ARENA_ARRAY(b->arena, Span, most);
	add_boxes(l);
	if (refuses_mixed_words(b, l->args, l->spans, l->nargs))
		return NODE_NONE;
	Dtype dtype = nodes_unite(b, l->args, l->nargs);
	NodeId id = node_new(b, NODE_BLOCK, l->span, l->border->span);
	node_set_args(b, id, l->args, l->spans, l->nargs);
	Node *node = graph_node(b->graph, id);
	node->op = OP_ID;
	node->reduce = OP_ADD;
	node->spec = larger_spec(l);
	node->dtype = dtype;
	bind_sizes(l, id);
	bind_strides(l, id);
	return id;
}

/* ---- operands ---- */

/* Whole windows of the axis with its border. */
static SpecAxis without_margins(const SpecAxis *axis)
{
	SpecAxis out = *axis;
	bool padded = axis->mark == MARK_PADDED, sized = axis->stride_size || axis->dilation_size;
	if (is_centred(axis) && !(padded && sized))
		out.mark = padded && axis->stride == 1 ? MARK_VALID : MARK_VALID_FLOOR;
	out.padded = false;
	out.before = out.after = 0;
	out.before_size = out.after_size = NULL;
	return out;
}

static SpecTensor tensor_without(Build *b, const SpecTensor *tensor, bool (*has)(const SpecAxis *))
{
	SpecTensor out = *tensor;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		SpecRow *row = &out.rows[kind];
		row->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			row->axes[i] = has(axis) ? without_margins(axis) : *axis;
		}
	}
	return out;
}

/* The number that a reduction's result does not change by. */
static NodeId neutral_number(Build *b, const SpecParts *parts, Span span)
{
	Dtype dtype = dtype_wide(node_dtype(b, parts->args[0]));
	Op reduce = parts->reduce == OP_NONE ? OP_ADD : parts->reduce;
	NodeId id = node_new(b, NODE_NUMBER, span, span);
	Node *node = graph_node(b->graph, id);
	Scalar neutral = op_neutral(reduce, dtype == DTYPE_NONE ? DTYPE_F32 : dtype);
	node->is_integer = dtype != DTYPE_NONE && dtype_is_integer(dtype);
	node->integer = node->is_integer ? neutral.i : 0;
	node->number = node->is_integer ? (double)neutral.i : neutral.f;
	return id;
}

/* What skips where margins are sizes; NULL after an error. The number is an operand as others are, so
 * of several operands a sum of products alone has one. */
static const Border *skipping(Build *b, const SpecParts *parts, const SpecAxis *axis)
{
	bool one = parts->nargs == 1, products = parts->op == OP_MUL && parts->reduce == OP_ADD;
	if (!one && !products) {
		diag(b->diags, E0246, axis->span,
		     "margins that are sizes are skipped in a sum of products, or of one operand");
		diag_note(b->diags, parts->span, "'border =' says what stands in them here");
		return NULL;
	}
	Border *border = ARENA_NEW(b->arena, Border);
	*border = (Border){BORDER_NUMBER, neutral_number(b, parts, axis->span), axis->span};
	return border;
}

static bool skips(const SpecParts *parts)
{
	return !parts->border || parts->border->kind == BORDER_SKIP;
}

const Border *border_of(Build *b, const SpecParts *parts, const SpecAxis *axis)
{
	return skips(parts) ? skipping(b, parts, axis) : parts->border;
}

static bool put_around(Build *b, SpecParts *parts, uint32_t arg, SpecTensor *out)
{
	const SpecTensor *tensor = &parts->spec->operands[arg];
	Larger l = {.b = b,
		    .parts = parts,
		    .border = parts->border,
		    .has = skips(parts) ? has_sized_border : has_border,
		    .arg = parts->args[arg],
		    .span = parts->spans[arg]};
	const SpecAxis *axis = find_axis(tensor, l.has);
	*out = tensor_without(b, tensor, l.has);
	if (!axis)
		return true;
	if (!(l.border = border_of(b, parts, axis)))
		return false;
	if (skips(parts)) /* the number is one of the wide dtype */
		l.arg = node_cast(b, l.arg, dtype_wide(node_dtype(b, l.arg)), l.span);
	if (!name_axes(&l, tensor)) {
		diag(b->diags, E0932, l.border->span,
		     "borders of more than %d axes at once are not supported yet", AXES_MOST);
		return false;
	}
	size_margins(&l);
	parts->args[arg] = larger_node(&l);
	return parts->args[arg] != NODE_NONE;
}

const Spec *border_put(Build *b, SpecParts *parts)
{
	bool written = parts->border && parts->border->kind != BORDER_SKIP;
	if (written && !check_border(b, parts->spec, parts->border))
		return NULL;
	Spec *out = ARENA_NEW(b->arena, Spec);
	*out = *parts->spec;
	out->operands = ARENA_ARRAY(b->arena, SpecTensor, out->noperands);
	for (uint32_t i = 0; i < out->noperands; i++)
		if (!put_around(b, parts, i, &out->operands[i]))
			return NULL;
	return out;
}
