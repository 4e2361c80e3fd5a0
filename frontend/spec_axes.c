/* The axes of specifications: coefficients resolved to integers, marks checked, and which names are
 * sizes.
 *
 * Named coefficients are configuration values or dims with a value, known when the specification is
 * reached: each instance of a function has its own resolved copy.
 *
 *   stride*o [MARK dilation*k] + size + ...     one letter, two with a mark; the others are sizes
 *   number + size + ...              sizes alone, where a number stands first: one place
 *   size^i^size                                 names that stand in parts of one tensor alone
 *
 * A letter hides what has its name outside. So the last names of an affine form are the sizes, those
 * that stand nowhere else before others; a part is a size where no `with` binds it either.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/nodes.h"
#include "frontend/passed.h"
#include "frontend/specs.h"
#include "frontend/windows.h"

/* ---- coefficients ---- */

static bool is_scalar(Build *b, const Value *value)
{
	return value->kind == VALUE_TENSOR &&
	       graph_node(b->graph, value->node)->kind == NODE_SCALAR;
}

/* A scalar of another type: i32 would be one. */
static void fix_scalar(Build *b, const Binding *binding, const char *may_be)
{
	const Node *node = graph_node(b->graph, binding->value.node);
	const char *text = arena_printf(b->arena, "'%s : i32' %s", node->name, may_be);
	if (b->scalars)
		diag_fix(b->diags, b->scalars[node->scalar_index].type_span, "i32", "%s", text);
	else
		diag_note(b->diags, binding->span, "%s", text);
}

static void refuse_coef(Build *b, const AstCoef *coef, const Binding *binding)
{
	Sym name = coef->name.sym;
	bool scalar = is_scalar(b, &binding->value);
	const char *what = scalar ? arena_printf(b->arena, "a scalar of %s",
						 dtype_name(node_dtype(b, binding->value.node)))
				  : value_describe(&binding->value);
	diag(b->diags, E0217, coef->name.span,
	     "a coefficient is a whole number, a size or an integer scalar, and '%s' is %s", name,
	     what);
	if (scalar)
		fix_scalar(b, binding, "may be a coefficient");
	else
		diag_note(b->diags, binding->span, "'%s' is declared here", name);
}

static bool resolve_number(Build *b, const AstCoef *coef, int64_t least, int64_t *out)
{
	*out = coef->value;
	if (coef->name.sym) {
		Binding *binding = scope_find(b->at.scope, coef->name.sym);
		if (!binding) {
			scope_report_unknown(b, coef->name);
			return false;
		}
		Value value = value_as_passed(binding->value);
		if (!value_get_integer(&value, out)) {
			refuse_coef(b, coef, binding);
			return false;
		}
	}
	if (*out >= least && *out < INT32_MAX)
		return true;
	diag(b->diags, E0217, coef->span, "%s is from %" PRId64 " to %d, and this one is %" PRId64,
	     least == 0 ? "a margin" : "a coefficient", least, INT32_MAX - 1, *out);
	return false;
}

static bool resolve_coef(Build *b, const AstCoef *coef, int64_t *out)
{
	*out = 1;
	return !coef->written || resolve_number(b, coef, 1, out);
}

/* ---- which names are letters ---- */

static bool is_letter_axis(const AstSpecAxis *axis, Sym name)
{
	return axis->kind != SPEC_AFFINE && axis->name.sym == name;
}

static bool axis_has(const AstSpecAxis *axis, Sym name)
{
	bool has = axis->name.sym == name || axis->kernel.sym == name;
	for (uint32_t i = 0; i < axis->nparts; i++)
		has |= axis->parts[i].letter.sym == name;
	for (uint32_t i = 0; i < axis->nmore; i++)
		has |= axis->more[i].name.sym == name;
	return has;
}

/* 0 + name: a number stands first. */
static bool is_placed(const AstSpecAxis *axis) { return axis->placed && axis->mark == MARK_NONE; }

/* Can the name only say from where on the axis goes, as in 0 + name and letter + name? */
static bool is_offset(const AstSpecAxis *axis, Sym name)
{
	return is_placed(axis) ||
	       (axis->kind == SPEC_AFFINE && axis->mark == MARK_NONE && axis->name.sym != name);
}

typedef struct NameUse {
	uint32_t tensors; /* how many have it */
	bool letter;	  /* as an axis of its own */
	bool other;	  /* not as a part */
	bool beside;	  /* not as an offset */
} NameUse;

static void use_in_tensor(const AstSpecTensor *tensor, Sym name, NameUse *use)
{
	bool has = false;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const AstSpecAxis *axis = &tensor->rows[kind].axes[i];
			if (!axis_has(axis, name))
				continue;
			has = true;
			use->letter |= is_letter_axis(axis, name);
			use->other |= axis->kind != SPEC_CONCAT;
			use->beside |= !is_offset(axis, name);
		}
	use->tensors += has;
}

static NameUse use_in_spec(const AstSpec *spec, Sym name)
{
	NameUse use = {0};
	for (uint32_t i = 0; i < spec->noperands; i++)
		use_in_tensor(&spec->operands[i], name, &use);
	use_in_tensor(&spec->result, name, &use);
	return use;
}

static bool is_bound_by_with(const Build *b, Sym name)
{
	for (const With *with = b->at.withs; with; with = with->outer)
		for (uint32_t i = 0; i < with->expr->nbinds; i++)
			if (with->expr->binds[i].names[0].sym == name)
				return true;
	return false;
}

/* ---- affine forms ---- */

/* A scalar where a size could stand, and which is none. */
static bool report_scalar(Build *b, Name name)
{
	const Binding *binding = scope_find(b->at.scope, name.sym);
	if (!binding || !is_scalar(b, &binding->value))
		return false;
	diag(b->diags, E0217, name.span,
	     "a place in an axis is a whole number, and '%s' is a scalar of %s", name.sym,
	     dtype_name(node_dtype(b, binding->value.node)));
	fix_scalar(b, binding, "is a place too");
	return true;
}

static void report_mark(Build *b, const AstSpecAxis *axis, Sym kernel)
{
	diag(b->diags, E0216, axis->mark_span,
	     "'+' before the kernel letter '%s' does not say what happens at the edges", kernel);
	diag_fix(b->diags, axis->mark_span, "<+", "'<+': only whole windows, sizes must divide");
	diag_fix(b->diags, axis->mark_span, "<+?",
		 "'<+?': only whole windows, the rest is left out");
	diag_fix(b->diags, axis->mark_span, "=+",
		 "'=+': padded, the result has input/stride elements, which must divide");
	diag_fix(b->diags, axis->mark_span, "=+?", "'=+?': padded, rounded up");
}

/* The summands with a name, in the order written; those that are sizes leave it. */
typedef struct Summands {
	AstSpecSummand *at;
	uint32_t n;
} Summands;

static Summands summands_of(Build *b, const AstSpecAxis *axis)
{
	Summands list = {.at = ARENA_ARRAY(b->arena, AstSpecSummand, axis->nmore + 2)};
	list.at[list.n++] = (AstSpecSummand){axis->stride, axis->name, axis->name.span};
	if (axis->kernel.sym)
		list.at[list.n++] = (AstSpecSummand){axis->dilation, axis->kernel, axis->kernel.span};
	for (uint32_t i = 0; i < axis->nmore; i++)
		list.at[list.n++] = axis->more[i];
	return list;
}

static const SizeExpr *add_sizes(Build *b, const SizeExpr *a, const SizeExpr *size, Span span)
{
	return a ? size_expr_new(b, (SizeExpr){.kind = SX_ADD, .span = span, .a = a, .b = size})
		 : size;
}

/* The size that a summand is, with its coefficient; NULL: it is none, or after an error. */
static const SizeExpr *size_of_summand(Build *b, const AstSpecSummand *summand)
{
	const SizeExpr *size = size_of_name(b, summand->name, "an offset"), *by;
	if (!size || !summand->coef.written)
		return size;
	by = summand->coef.name.sym ? size_of_name(b, summand->coef.name, "a coefficient")
				    : size_expr_number(b, summand->coef.value, summand->coef.span);
	return by ? size_expr_new(b, (SizeExpr){.kind = SX_MUL, .span = summand->span, .a = by, .b = size})
		  : NULL;
}

/* Takes sizes out of the list until `most` summands are left, which are the letters. */
static void take_sizes(Build *b, const AstSpec *spec, const AstSpecAxis *axis, uint32_t most,
		       Summands *list, SpecAxis *out)
{
	for (int hidden = 0; hidden < 2; hidden++)
		for (uint32_t i = list->n; i-- > 0 && list->n > most;) {
			if (hidden == 0 && use_in_spec(spec, list->at[i].name.sym).letter)
				continue;
			const SizeExpr *size = size_of_summand(b, &list->at[i]);
			if (!size)
				continue;
			out->shift = add_sizes(b, out->shift, size, axis->span);
			memmove(&list->at[i], &list->at[i + 1],
				(list->n - i - 1) * sizeof *list->at);
			list->n--;
		}
}

/* The coefficient where it is a size or a scalar, not known here; NULL: it is a number, or wrong. */
static const SizeExpr *size_of_coef(Build *b, const AstCoef *coef)
{
	const Binding *binding = coef->name.sym ? scope_find(b->at.scope, coef->name.sym) : NULL;
	Value value = binding ? value_as_passed(binding->value) : value_error();
	int64_t number;
	if ((value.kind != VALUE_SIZE && !is_scalar(b, &value)) ||
	    value_get_integer(&value, &number))
		return NULL;
	return size_of_name(b, coef->name, "a coefficient");
}

/* The margins of a mark that pads: whole windows of the axis with these around it. */
static bool resolve_margins(Build *b, const AstSpecAxis *axis, SpecAxis *out)
{
	if (!axis->before.written)
		return true;
	if (axis->mark != MARK_PADDED && axis->mark != MARK_PADDED_CEIL) {
		diag(b->diags, E0134, axis->before.span, "margins stand behind a mark that pads");
		diag_fix(b->diags, axis->mark_span, "=+?", "'=+?': padded, the rest is left out");
		return false;
	}
	out->padded = true;
	out->mark = axis->mark == MARK_PADDED ? MARK_VALID : MARK_VALID_FLOOR;
	out->before_size = size_of_coef(b, &axis->before);
	out->after_size = size_of_coef(b, &axis->after);
	return (out->before_size || resolve_number(b, &axis->before, 0, &out->before)) &&
	       (out->after_size || resolve_number(b, &axis->after, 0, &out->after));
}

/* Beside a place by name an axis has no margins. */
static bool check_sizes(Build *b, const AstCoef *coef, const AstSpecAxis *axis, const SpecAxis *out)
{
	bool sized = out->stride_size || out->dilation_size;
	bool pads = out->padded || out->mark == MARK_PADDED || out->mark == MARK_PADDED_CEIL;
	if (!sized || !pads || !out->shift)
		return true;
	diag(b->diags, E0217, coef->span,
	     "'%s' is a size, and where windows reach beyond their axis no place by name stands beside it",
	     coef->name.sym);
	diag_fix(b->diags, axis->mark_span, "<+", "'<+': only whole windows, from the place on");
	return false;
}

/* stride*letter + offset as (letter r) at the place `offset` of r = stride. */
static void join_stride(Build *b, const AstSpecAxis *axis, const SizeExpr *stride, SpecAxis *out)
{
	out->kind = SPEC_JOIN;
	out->nparts = 2;
	out->parts = ARENA_ARRAY(b->arena, SpecPart, 2);
	out->parts[0] = (SpecPart){.letter = out->letter, .span = axis->span};
	out->parts[1] = (SpecPart){.extent = stride, .size = axis->offset, .span = axis->span};
	out->stride_size = NULL;
	size_require_least(b, stride, axis->offset + 1, "a stride");
}

/* stride*letter [MARK dilation*kernel], of the summands that are letters. */
static bool resolve_stride(Build *b, const Summands *list, const AstSpecAxis *axis, SpecAxis *out)
{
	const AstCoef *coefs[2] = {&list->at[0].coef, out->kernel ? &list->at[1].coef : NULL};
	out->stride_size = size_of_coef(b, coefs[0]);
	if (!out->stride_size && !resolve_coef(b, coefs[0], &out->stride))
		return false;
	if (out->kernel) {
		out->dilation_size = size_of_coef(b, coefs[1]);
		return (out->dilation_size || resolve_coef(b, coefs[1], &out->dilation)) &&
		       resolve_margins(b, axis, out) &&
		       check_sizes(b, coefs[out->stride_size ? 0 : 1], axis, out);
	}
	if (out->stride_size && !out->shift && !size_is_late(out->stride_size))
		join_stride(b, axis, out->stride_size, out);
	return true;
}

/* 0 + pos: a place by names that are offsets wherever they stand, as a letter of its own, of one element, from there on. */
static bool resolve_place(Build *b, const AstSpec *spec, const AstSpecAxis *axis,
			  const Summands *list, SpecAxis *out)
{
	if (!is_placed(axis))
		return false;
	const SizeExpr *place = NULL;
	for (uint32_t i = 0; i < list->n; i++) {
		NameUse use = use_in_spec(spec, list->at[i].name.sym);
		bool letter = use.letter || (use.tensors > 1 && use.beside);
		const SizeExpr *size = letter ? NULL : size_of_summand(b, &list->at[i]);
		if (!size)
			return false;
		place = add_sizes(b, place, size, axis->span);
	}
	out->letter = sym_printf(b->symbols, "at_%s", list->at[0].name.sym);
	while (use_in_spec(spec, out->letter).tensors) /* rises: it is longer */
		out->letter = sym_printf(b->symbols, "%s_", out->letter);
	out->shift = place;
	out->one = true;
	return true;
}

static bool resolve_affine(Build *b, const AstSpec *spec, const AstSpecAxis *axis, SpecAxis *out)
{
	Summands list = summands_of(b, axis);
	uint32_t most = axis->kernel.sym && axis->mark != MARK_NONE ? 2 : 1;
	int errors = b->diags->nerrors;
	out->offset = axis->offset;
	if (resolve_place(b, spec, axis, &list, out) || b->diags->nerrors > errors)
		return b->diags->nerrors == errors;
	take_sizes(b, spec, axis, most, &list, out);
	out->letter = list.at[0].name.sym;
	if (list.n == most) {
		out->kernel = most == 2 ? list.at[1].name.sym : NULL;
		out->mark = most == 2 ? axis->mark : MARK_NONE;
		return resolve_stride(b, &list, axis, out);
	}
	if (b->diags->nerrors > errors)
		return false;
	for (uint32_t i = list.n; i-- > most;)
		if (report_scalar(b, list.at[i].name))
			return false;
	if (list.n == 2) {
		report_mark(b, axis, list.at[1].name.sym);
		return false;
	}
	diag(b->diags, E0134, list.at[2].span, "an affine index has at most two letters");
	diag_note(b->diags, list.at[0].span, "'%s' is the first, '%s' the second",
		  list.at[0].name.sym, list.at[1].name.sym);
	return false;
}

/* ---- parts ---- */

static void resolve_part(Build *b, const AstSpec *spec, const AstSpecAxis *axis,
			 const AstSpecPart *part, SpecPart *out)
{
	*out = (SpecPart){.letter = part->letter.sym,
			  .size = part->number,
			  .rest = part->rest,
			  .span = part->span};
	if (axis->kind != SPEC_CONCAT || !out->letter || is_bound_by_with(b, out->letter))
		return;
	NameUse use = use_in_spec(spec, out->letter);
	if (use.tensors > 1 || use.other)
		return;
	out->extent = size_of_name(b, part->letter, "a part");
	if (out->extent)
		out->letter = NULL;
}

static bool check_rest(Build *b, const SpecAxis *axis)
{
	const SpecPart *first = NULL;
	for (uint32_t i = 0; i < axis->nparts; i++) {
		const SpecPart *part = &axis->parts[i];
		if (part->rest && first) {
			diag(b->diags, E0134, part->span, "one part of an axis is the rest of it");
			diag_note(b->diags, first->span, "the first one is here");
			return false;
		}
		first = part->rest ? part : first;
	}
	return true;
}

bool spec_resolve_axis(Build *b, const AstSpec *spec, const AstSpecAxis *axis, SpecAxis *out)
{
	*out = (SpecAxis){.kind = axis->kind,
			  .bracketed = axis->bracketed,
			  .span = axis->span,
			  .letter = axis->name.sym,
			  .index = axis->number,
			  .stride = 1,
			  .dilation = 1,
			  .nparts = axis->nparts};
	if (axis->kind == SPEC_AFFINE)
		return resolve_affine(b, spec, axis, out);
	if (axis->kind != SPEC_CONCAT && axis->kind != SPEC_JOIN)
		return true;
	out->parts = ARENA_ARRAY(b->arena, SpecPart, axis->nparts);
	for (uint32_t i = 0; i < axis->nparts; i++)
		resolve_part(b, spec, axis, &axis->parts[i], &out->parts[i]);
	return check_rest(b, out);
}
