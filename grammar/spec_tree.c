/* Makes the tree of a specification. An affine form is read as a list of summands and only then
 * sorted into over, kernel, offset and mark, so that a form that is none gets a message about what
 * it means. */
#include "grammar/spec_tree.h"

#include <string.h>

#define SPEC_ERROR(tree, ...) ((tree)->failed = true, diag((tree)->parse->diags, __VA_ARGS__))

static const int64_t number_limit = (int64_t)1 << 31;

static const char *text_of(const SpecTree *tree, Span span)
{
	return tree->source->text + span.start;
}

static Name spec_name(SpecTree *tree, Token name)
{
	uint32_t n = name.span.end - name.span.start;
	return (Name){sym_intern(tree->parse->symbols, text_of(tree, name.span), n), name.span};
}

/* After an error 1, which may stand anywhere. */
static int64_t number(SpecTree *tree, Span span)
{
	int64_t value = 0;
	for (uint32_t i = span.start; i < span.end; i++) {
		value = 10 * value + (tree->source->text[i] - '0');
		if (value < number_limit)
			continue;
		SPEC_ERROR(tree, E0136, span, "this number is too large: 2147483647 is the limit");
		return 1;
	}
	return value;
}

/* Is there room after n things? Reported once; the driver stops there. */
static bool has_room(SpecTree *tree, size_t n, Span span, const char *text)
{
	if (n < SPEC_LIMIT)
		return true;
	if (!tree->full)
		SPEC_ERROR(tree, E0137, span, text, SPEC_LIMIT);
	tree->full = true;
	return false;
}

/* ---- axes ---- */

SpecTerm spec_term(SpecTree *tree, const Token *coef, const Token *letter)
{
	SpecTerm term = {.coef = {.value = 1}};
	term.span = coef ? span_join(coef->span, tree->last.span) : letter->span;
	if (letter)
		term.letter = spec_name(tree, *letter);
	if (!coef)
		return term;
	term.coef = (AstCoef){.written = true, .span = coef->span};
	if (coef->kind == SPEC_TOKEN_INT)
		term.coef.value = number(tree, coef->span);
	else
		term.coef.name = spec_name(tree, *coef);
	if (letter && coef->kind == SPEC_TOKEN_INT && term.coef.value == 0)
		SPEC_ERROR(tree, E0134, coef->span,
			   "the coefficient of '%s' is 0: it must be at least 1", term.letter.sym);
	return term;
}

static SpecMark mark_of(const SpecTree *tree, Span span)
{
	const char *text = text_of(tree, span);
	if (text[0] == '+')
		return MARK_NONE;
	bool rounds = span.end - span.start == 3;
	if (text[0] == '<')
		return rounds ? MARK_VALID_FLOOR : MARK_VALID;
	return rounds ? MARK_PADDED_CEIL : MARK_PADDED;
}

SpecTerms *spec_terms(SpecTree *tree, SpecTerms *list, const Token *sign, SpecTerm term)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, SpecTerms);
	if (sign) {
		term.mark = mark_of(tree, sign->span);
		term.mark_span = sign->span;
	}
	PUSH(tree->parse->perm, list->items, term);
	return list;
}

AstCoef spec_coef(SpecTree *tree, Token token)
{
	AstCoef coef = {.written = true, .span = token.span};
	if (token.kind == SPEC_TOKEN_INT)
		coef.value = number(tree, token.span);
	else
		coef.name = spec_name(tree, token);
	return coef;
}

SpecTerms *spec_margins(SpecTerms *list, SpecMargins margins)
{
	SpecTerm *last = &list->items.at[list->items.n - 1];
	last->before = margins.before;
	last->after = margins.after;
	return list;
}

/* Adds one summand to the form; false when the form has no place for it. */
static bool add_term(SpecTree *tree, AstSpecAxis *axis, const SpecTerm *term)
{
	if (!term->letter.sym) {
		axis->offset += term->coef.value;
		if (axis->offset < number_limit)
			return true;
		SPEC_ERROR(tree, E0136, term->span,
			   "the offset is too large: 2147483647 is the limit");
	} else if (!axis->name.sym) {
		axis->name = term->letter;
		axis->stride = term->coef;
		return true;
	} else if (!axis->kernel.sym) {
		axis->kernel = term->letter;
		axis->dilation = term->coef;
		return true;
	} else if (has_room(tree, axis->nmore, term->span, "an affine index has at most %d summands")) {
		axis->more[axis->nmore++] =
			(AstSpecSummand){term->coef, term->letter, term->span};
		return true;
	}
	return false;
}

static bool add_mark(SpecTree *tree, AstSpecAxis *axis, const SpecTerm *term)
{
	if (term->mark != MARK_NONE && axis->mark != MARK_NONE) {
		SPEC_ERROR(tree, E0134, term->mark_span, "an affine index has one mark");
		diag_note(tree->parse->diags, axis->mark_span, "the first one is here");
		diag_fix(tree->parse->diags, term->mark_span, "+", "write '+'");
		return false;
	}
	if (term->mark != MARK_NONE || (term->letter.sym && axis->mark == MARK_NONE)) {
		axis->mark = term->mark;
		axis->mark_span = term->mark_span;
		axis->before = term->before;
		axis->after = term->after;
	}
	return true;
}

static void check_form(SpecTree *tree, const AstSpecAxis *axis)
{
	if (!axis->name.sym) {
		SPEC_ERROR(tree, E0134, axis->span, "an affine index needs a letter");
	} else if (!axis->kernel.sym && axis->mark != MARK_NONE) {
		SPEC_ERROR(tree, E0134, axis->mark_span,
		           "a mark stands before a kernel letter, and there is none");
		diag_fix(tree->parse->diags, axis->mark_span, "+", "write '+' for a plain offset");
	}
}

AstSpecAxis spec_form(SpecTree *tree, const SpecTerms *terms)
{
	const SpecTerm *first = &terms->items.at[0];
	AstSpecAxis axis = {.kind = SPEC_AFFINE, .span = span_join(first->span, tree->last.span)};
	axis.stride.value = axis.dilation.value = 1;
	if (terms->items.n == 1 && !first->coef.written) {
		axis.kind = SPEC_LETTER;
		axis.name = first->letter;
		return axis;
	}
	if (terms->items.n == 1 && !first->letter.sym) {
		axis.kind = SPEC_INDEX;
		axis.number = first->coef.value;
		return axis;
	}
	axis.placed = !first->letter.sym;
	axis.more = ARENA_ARRAY(tree->parse->perm, AstSpecSummand, terms->items.n);
	for (size_t i = 0; i < terms->items.n; i++)
		if (!add_term(tree, &axis, &terms->items.at[i]) ||
		    (i > 0 && !add_mark(tree, &axis, &terms->items.at[i])))
			return axis;
	check_form(tree, &axis);
	return axis;
}

SpecParts *spec_parts(SpecTree *tree, SpecParts *list, Token token)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, SpecParts);
	AstSpecPart part = {.span = token.span};
	if (token.kind == SPEC_TOKEN_INT)
		part.number = number(tree, token.span);
	else if (token.kind == SPEC_TOKEN_UNDERSCORE)
		part.rest = true;
	else
		part.letter = spec_name(tree, token);
	if (has_room(tree, list->items.n, part.span, "an axis has at most %d parts"))
		PUSH(tree->parse->perm, list->items, part);
	return list;
}

AstSpecAxis spec_concat(SpecTree *tree, const SpecParts *parts)
{
	return (AstSpecAxis){.kind = SPEC_CONCAT,
	                     .span = span_join(parts->items.at[0].span, tree->last.span),
	                     .parts = parts->items.at,
	                     .nparts = (uint32_t)parts->items.n};
}

AstSpecAxis spec_join(const SpecTree *tree, Span start, const SpecParts *parts)
{
	return (AstSpecAxis){.kind = SPEC_JOIN,
			     .span = span_join(start, tree->last.span),
			     .parts = parts->items.at,
			     .nparts = (uint32_t)parts->items.n};
}

AstSpecAxis spec_placeholder(Token token)
{
	return (AstSpecAxis){.kind = SPEC_PLACEHOLDER, .span = token.span};
}

AstSpecAxis spec_bracketed(SpecTree *tree, Token open, Token letter)
{
	return (AstSpecAxis){.kind = SPEC_LETTER,
			     .span = span_join(open.span, tree->last.span),
			     .name = spec_name(tree, letter),
			     .bracketed = true};
}

/* ---- rows and tensors ---- */

SpecRow *spec_row(SpecTree *tree, SpecRow *row, const AstSpecAxis *axis)
{
	if (!row) {
		row = ARENA_NEW(tree->parse->perm, SpecRow);
		row->var_at = -1;
		uint32_t at = tree->last.span.end;
		row->span = axis ? axis->span : (Span){tree->last.span.file, at, at};
	}
	if (axis && has_room(tree, row->axes.n, axis->span, "a row has at most %d axes"))
		PUSH(tree->parse->perm, row->axes, *axis);
	row->span = span_join(row->span, axis ? axis->span : row->span);
	return row;
}

SpecRow *spec_row_var(SpecTree *tree, SpecRow *row, Token var)
{
	if (!row) {
		row = spec_row(tree, NULL, NULL);
		row->span = var.span;
	}
	if (row->var_at >= 0) {
		SPEC_ERROR(tree, E0112, var.span, "a row has at most one row variable");
		diag_note(tree->parse->diags, row->var.span, "the first one is here");
		return row;
	}
	row->span = span_join(row->span, var.span);
	row->var_at = (int32_t)row->axes.n;
	row->var = (Name){NULL, var.span};
	if (var.kind == SPEC_TOKEN_ROWVAR) {
		Token name = var;
		name.span.start += 2;
		name.span.end -= 2;
		row->var.sym = spec_name(tree, name).sym;
	}
	return row;
}

AstSpecTensor spec_tensor(SpecTree *tree, SpecRow *const rows[ROW_KINDS])
{
	static const char *const kinds[ROW_KINDS] = {"batch", "input", "output"};
	AstSpecTensor tensor = {.span = SPAN_NONE};
	for (int k = 0; k < ROW_KINDS; k++) {
		AstSpecRow *row = &tensor.rows[k];
		row->var_at = -1;
		if (!rows[k])
			continue;
		*row = (AstSpecRow){true,
				    rows[k]->span,
				    rows[k]->axes.at,
				    (uint32_t)rows[k]->axes.n,
				    rows[k]->var_at,
				    rows[k]->var};
		if (row->var_at >= 0 && !row->var.sym)
			row->var.sym = sym_cstr(tree->parse->symbols, kinds[k]);
		tensor.span = span_join(tensor.span, row->span);
	}
	return tensor;
}

void spec_operand(SpecTree *tree, AstSpecTensor operand)
{
	if (has_room(tree, tree->operands.n, operand.span,
		     "a specification has at most %d operands"))
		PUSH(tree->parse->perm, tree->operands, operand);
}
