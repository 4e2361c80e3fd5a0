/* Specifications: which forms they fit, what they do, and letters of theirs that are also names of
 * sizes.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/nodes.h"
#include "frontend/specs.h"

static bool resolve_tensor(Build *b, const AstSpec *spec, const AstSpecTensor *tensor,
			   SpecTensor *out)
{
	bool good = true;
	out->span = tensor->span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const AstSpecRow *row = &tensor->rows[kind];
		SpecRow *to = &out->rows[kind];
		*to = (SpecRow){.naxes = row->naxes, .var_at = row->written ? row->var_at : -1,
				.var = row->var.sym, .written = row->written, .span = row->span};
		to->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
		for (uint32_t i = 0; i < row->naxes; i++)
			good = spec_resolve_axis(b, spec, &row->axes[i], &to->axes[i]) && good;
	}
	return good;
}

/* Brackets are for forms that give them a meaning. */
static bool has_no_brackets(Build *b, const SpecTensor *tensor)
{
	bool none = true;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			if (!axis->bracketed)
				continue;
			diag(b->diags, E0251, axis->span, "this form has no use for brackets");
			diag_fix(b->diags, axis->span, axis->letter, "an axis is its letter alone");
			none = false;
		}
	return none;
}

const Spec *spec_resolve(Build *b, AstExpr *string)
{
	const Spec *spec = spec_resolve_bracketed(b, string);
	bool good = spec && has_no_brackets(b, &spec->result);
	for (uint32_t i = 0; spec && i < spec->noperands; i++)
		good = has_no_brackets(b, &spec->operands[i]) && good;
	return good ? spec : NULL;
}

const Spec *spec_resolve_bracketed(Build *b, AstExpr *string)
{
	const AstSpec *ast = parse_spec(b->parse, string);
	if (ast->broken)
		return NULL;
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = ast->span, .single_letters = ast->single_letters,
		       .noperands = ast->noperands};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, ast->noperands);
	bool good = resolve_tensor(b, ast, &ast->result, &spec->result);
	for (uint32_t i = 0; i < ast->noperands; i++)
		good = resolve_tensor(b, ast, &ast->operands[i], &spec->operands[i]) && good;
	return good ? spec : NULL;
}

const Spec *spec_reduce_all(Build *b, Span span)
{
	static const char *const own[] = {"batch", "input", "output"};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .single_letters = true, .noperands = 1};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 1);
	spec->operands[0].span = spec->result.span = span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		Sym var = sym_cstr(b->symbols, own[kind]);
		spec->operands[0].rows[kind] =
			(SpecRow){.var_at = 0, .var = var, .written = true, .span = span};
		spec->result.rows[kind] = (SpecRow){.var_at = -1, .span = span};
	}
	return spec;
}

/* `...` of that kind, with an axis on the side of the bar or without. */
static SpecRow row_at_bar(Build *b, RowKind kind, bool has_axis, Span span)
{
	static const char *const own[] = {"batch", "input", "output"};
	SpecRow row = {.var_at = has_axis && kind == ROW_OUTPUT,
		       .var = sym_cstr(b->symbols, own[kind]),
		       .naxes = has_axis,
		       .written = true,
		       .span = span};
	row.axes = ARENA_ARRAY(b->arena, SpecAxis, 1);
	row.axes[0] = (SpecAxis){.kind = SPEC_LETTER,
				 .span = span,
				 .stride = 1,
				 .dilation = 1,
				 .letter = sym_cstr(b->symbols, "_1")};
	return row;
}

const Spec *spec_over_bar(Build *b, RowKind to, Span span)
{
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 1};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 1);
	spec->operands[0].span = spec->result.span = span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		bool moves = kind != ROW_INPUT;
		spec->operands[0].rows[kind] = row_at_bar(b, kind, moves && kind != to, span);
		spec->result.rows[kind] = row_at_bar(b, kind, kind == to, span);
	}
	return spec;
}

/* ---- letters that have the name of something else ---- */

/* The size that a value is; NULL: it is none. */
static const SizeExpr *size_of(Build *b, const Value *value, Span span)
{
	int64_t number;
	if (value->kind == VALUE_SIZE)
		return value->size;
	bool whole = value->kind == VALUE_NUMBER && value_get_integer(value, &number);
	return whole && number >= 0 ? size_expr_number(b, number, span) : NULL;
}

static void note_namesake(Build *b, NodeId node, Sym letter, const Binding *binding)
{
	const Value *value = &binding->value;
	const SizeExpr *size = size_of(b, value, binding->span);
	bool scalar = value->kind == VALUE_TENSOR &&
		      graph_node(b->graph, value->node)->kind == NODE_SCALAR;
	bool place = size || (scalar && dtype_is_integer(node_dtype(b, value->node)));
	if (size || scalar)
		PUSH(b->arena, b->graph->namesakes,
		     ((Namesake){node, letter, size, place, binding->span}));
}

/* The number of a loop's step. */
static bool is_step(const Graph *graph, const Binding *binding)
{
	bool is = false;
	for (size_t i = 1; i < graph->loops.n; i++)
		is |= span_same(graph->loops.at[i].name_span, binding->span);
	return is;
}

/* Letters of one operand alone, with the name of a step. */
static void note_steps(Build *b, NodeId node)
{
	const Spec *spec = graph_node(b->graph, node)->spec;
	for (uint32_t i = 0; i < spec->noperands && b->graph->loops.n > 1; i++) {
		SpecLetters list = spec_tensor_letters(b->arena, &spec->operands[i]);
		for (size_t k = 0; k < list.names.n; k++) {
			Sym letter = list.names.at[k];
			const Binding *binding =
				list.rows.at[k] ? NULL : scope_find(b->at.scope, letter);
			if (binding && is_step(b->graph, binding))
				note_namesake(b, node, letter, binding);
		}
	}
}

void spec_note_namesakes(Build *b, NodeId node)
{
	note_steps(b, node);
	const Spec *spec = graph_node(b->graph, node)->spec;
	SpecLetters list = spec_tensor_letters(b->arena, &spec->result);
	for (size_t i = 0; i < list.names.n; i++) {
		Sym letter = list.names.at[i];
		const Binding *binding = list.rows.at[i] || spec_operands_have(spec, letter)
						 ? NULL
						 : scope_find(b->at.scope, letter);
		if (binding)
			note_namesake(b, node, letter, binding);
	}
}

/* The letters of places by name have one element. */
static void bind_places(Build *b, NodeId node, const SpecTensor *tensor)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			if (axis->kind == SPEC_AFFINE && axis->one)
				PUSH(b->arena, b->graph->binds,
				     ((Bind){.node = node,
					     .letter = axis->letter,
					     .span = axis->span,
					     .size = size_expr_number(b, 1, axis->span),
					     .capture = CAPTURE_NONE}));
		}
}

void spec_report_to_withs(Build *b, NodeId node)
{
	const Spec *spec = graph_node(b->graph, node)->spec;
	for (uint32_t i = 0; i < spec->noperands; i++)
		bind_places(b, node, &spec->operands[i]);
	bind_places(b, node, &spec->result);
	for (With *with = b->at.withs; with; with = with->outer)
		PUSH(b->arena, with->nodes, node);
}

/* ---- checks ---- */

bool spec_result_concatenates(const Spec *spec)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		for (uint32_t i = 0; i < spec->result.rows[kind].naxes; i++) {
			if (spec->result.rows[kind].axes[i].kind == SPEC_CONCAT)
				return true;
		}
	}
	return false;
}

static bool has_brackets(const Spec *spec)
{
	bool has = false;
	for (uint32_t t = 0; t <= spec->noperands; t++) {
		const SpecTensor *tensor = t < spec->noperands ? &spec->operands[t] : &spec->result;
		for (RowKind kind = 0; kind < ROW_KINDS; kind++)
			for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
				has |= tensor->rows[kind].axes[i].bracketed;
	}
	return has;
}

bool spec_check_count(Build *b, const Spec *spec, uint32_t nargs, Span call)
{
	if (spec->noperands == nargs)
		return true;
	diag(b->diags, E0215, spec->span,
	     "this specification describes %" PRIu32 " operand%s, and %" PRIu32 " %s given",
	     spec->noperands, spec->noperands == 1 ? "" : "s", nargs, nargs == 1 ? "is" : "are");
	diag_note(b->diags, call, "the call");
	if (has_brackets(spec))
		diag_note(
			b->diags, spec->span,
			"an axis in brackets takes an operand of indices, which stands behind a ';': \"[v], d; b => b, d\"");
	else if (spec->noperands < nargs)
		diag_note(b->diags, spec->span, "operands are separated by ';'");
	return false;
}

/* Every axis of `tensor` is a letter that stands once in it and once in `other`. */
static bool check_one_to_one(Build *b, const SpecTensor *tensor, const SpecTensor *other)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &tensor->rows[kind];
		if (row->var_at >= 0 && (spec_tensor_count(tensor, row->var) != 1 ||
					 spec_tensor_count(other, row->var) != 1)) {
			diag(b->diags, E0219, row->span,
			     "permute keeps every row variable, and ..%s.. "
			     "does not stand once on either side",
			     row->var);
			diag_note(b->diags, other->span, "the other side");
			return false;
		}
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &row->axes[i];
			if (axis->kind == SPEC_LETTER &&
			    spec_tensor_count(tensor, axis->letter) == 1 &&
			    spec_tensor_count(other, axis->letter) == 1)
				continue;
			diag(b->diags, E0219, axis->span,
			     "permute only reorders axes: every one is a "
			     "letter that stands once on either side");
			diag_note(b->diags, other->span, "the other side");
			return false;
		}
	}
	return true;
}

/* Does the other tensor have all that this one has, letter by letter? */
static bool is_carried(const SpecTensor *tensor, const SpecTensor *other)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &tensor->rows[kind];
		if (row->var_at >= 0 && !spec_tensor_count(other, row->var))
			return false;
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &row->axes[i];
			bool fixed = axis->kind == SPEC_INDEX;
			if (!fixed &&
			    (axis->kind != SPEC_LETTER || !spec_tensor_count(other, axis->letter)))
				return false;
		}
	}
	return true;
}

/* Does a kernel letter place what is written? Then elements may be written more than once. */
static bool result_has_window(const Spec *spec)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < spec->result.rows[kind].naxes; i++)
			if (spec->result.rows[kind].axes[i].kernel)
				return true;
	return false;
}

/* Does the other tensor have the letters that count along the axis? One part of a concatenation
 * is enough: where another one is active, the result has no place. */
static bool axis_moves(const SpecAxis *axis, const SpecTensor *other)
{
	bool has = false;
	for (uint32_t i = 0; i < axis->nparts; i++)
		has = has ||
		      (axis->parts[i].letter && spec_tensor_count(other, axis->parts[i].letter));
	switch (axis->kind) {
	case SPEC_INDEX: return true;
	case SPEC_LETTER: return spec_tensor_count(other, axis->letter) > 0;
	case SPEC_AFFINE:
		return spec_tensor_count(other, axis->letter) &&
		       (!axis->kernel || spec_tensor_count(other, axis->kernel));
	case SPEC_CONCAT: return has;
	default: return false;
	}
}

static bool tensor_moves(const SpecTensor *tensor, const SpecTensor *other)
{
	bool moves = true;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &tensor->rows[kind];
		moves = moves && (row->var_at < 0 || spec_tensor_count(other, row->var));
		for (uint32_t i = 0; i < row->naxes; i++)
			moves = moves && axis_moves(&row->axes[i], other);
	}
	return moves;
}

bool spec_only_moves(const Spec *spec)
{
	bool moves = !result_has_window(spec);
	for (uint32_t i = 0; i < spec->noperands; i++)
		moves = moves && tensor_moves(&spec->operands[i], &spec->result);
	return moves;
}

bool spec_keeps_axes(const Spec *spec)
{
	bool keeps = !result_has_window(spec);
	for (uint32_t i = 0; i < spec->noperands; i++)
		keeps = keeps && is_carried(&spec->operands[i], &spec->result);
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &spec->result.rows[kind];
		keeps = keeps &&
			(row->var_at < 0 || spec_tensor_count(&spec->result, row->var) == 1);
		for (uint32_t i = 0; i < row->naxes && keeps; i++) {
			const SpecAxis *axis = &row->axes[i];
			keeps = axis->kind == SPEC_LETTER
					? spec_tensor_count(&spec->result, axis->letter) == 1
					: axis->kind == SPEC_INDEX && axis->index == 0 &&
						  !axis->among;
		}
	}
	return keeps;
}

bool spec_check_permute(Build *b, const Spec *spec, Span word)
{
	if (check_one_to_one(b, &spec->operands[0], &spec->result) &&
	    check_one_to_one(b, &spec->result, &spec->operands[0]))
		return true;
	if (is_carried(&spec->result, &spec->operands[0]))
		diag_fix(b->diags, word, "sum",
			 "sum drops, repeats and adds axes (=> i, 0) as well");
	return false;
}

bool spec_check_argmax(Build *b, const Spec *spec, Sym form)
{
	const SpecTensor *operand = &spec->operands[0];
	uint32_t reduced = 0;
	bool plain = !spec_result_concatenates(spec) && !result_has_window(spec);
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &operand->rows[kind];
		plain = plain &&
			(row->var_at < 0 || spec_tensor_count(&spec->result, row->var) > 0);
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &row->axes[i];
			plain = plain && axis->kind != SPEC_AFFINE && axis->kind != SPEC_CONCAT;
			reduced += axis->kind == SPEC_PLACEHOLDER ||
				   (axis->kind == SPEC_LETTER &&
				    !spec_tensor_count(&spec->result, axis->letter));
		}
	}
	if (plain && reduced == 1)
		return true;
	if (plain)
		diag(b->diags, E0332, spec->span,
		     "%s reduces exactly one axis, and this specification reduces %" PRIu32 "%s",
		     form, reduced,
		     spec->single_letters && reduced > 1 ? ": without a ',' each letter is an axis"
							 : "");
	else
		diag(b->diags, E0332, spec->span,
		     "%s takes no windows, no concatenations and no row variables that the result omits",
		     form);
	return false;
}
