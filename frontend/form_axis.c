/* Reductions along an axis that has a number, as elsewhere.
 *
 *   sum(x, axis=1), x.sum(1)     sum("a, b => a", x)
 *   max(x, axis=0)               reduce(max, "a, b => b", x)
 *   concat([x, y], axis=1)       how the form is written
 *
 * A specification is offered where the declarations of an operand's tensors say how many axes it has.
 */
#include <string.h>

#include "frontend/build.h"
#include "frontend/forms.h"
#include "grammar/spec_side.h"

/* ---- places ---- */

Span form_whole(Build *b, Span span)
{
	const Source *source = source_at(b->sources, span.file);
	int open = 0, lacks = 0;
	for (uint32_t i = span.start; i < span.end; i++) {
		bool closes = source->text[i] == ')';
		lacks += closes && open == 0;
		open += source->text[i] == '(' ? 1 : closes && open > 0 ? -1 : 0;
	}
	for (; lacks > 0 && span.start > 0; span.start--)
		lacks -= source->text[span.start - 1] == '(';
	for (; open > 0 && source->text[span.end]; span.end++)
		open -= source->text[span.end] == ')';
	return span;
}

/* ---- which function ---- */

static const struct Reduction {
	const char *name, *head; /* what stands before the specification */
	bool keeps;		 /* may an axis of one element stay? */
} reductions[] = {
	{"sum", "sum(", true},	       {"max", "reduce(max, ", true},
	{"min", "reduce(min, ", true}, {"prod", "reduce(prod, ", true},
	{"argmax", "argmax(", false},  {"argmin", "argmin(", false},
};

static const struct Reduction *reduction_of(const char *name)
{
	const struct Reduction *found = NULL;
	for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
		if (strcmp(name, reductions[i].name) == 0)
			found = &reductions[i];
	return found;
}

void form_note_axis(Build *b, const AstExpr *call)
{
	const AstExpr *form = call->args[0];
	const char *usage = form->kind == AST_NAME ? form_usage(form->name.sym) : NULL;
	if (!usage || strcmp(form->name.sym, "sum") == 0 || strcmp(form->name.sym, "reduce") == 0)
		diag_note(
			b->diags, form->span,
			"what the result leaves out is reduced: sum(\"i, j => i\", x), reduce(max, \"i, j => i\", x)");
	else
		diag_note(b->diags, form->span, "it is written %s", usage);
}

/* ---- how many axes ---- */

typedef struct Rank {
	bool tensor; /* false: a number */
	int64_t axes[ROW_KINDS];
} Rank;

/* Of a tensor that is declared with all of its axes, none of them input axes, or of a number; else false. */
static bool rank_of_name(Build *b, const AstExpr *name, Rank *rank)
{
	const Binding *binding = scope_find(b->at.scope, name->name.sym);
	if (!binding || binding->value.kind != VALUE_TENSOR)
		return binding &&
		       (binding->value.kind == VALUE_NUMBER || binding->value.kind == VALUE_SIZE);
	const ShapeDecl *shape = graph_node(b->graph, binding->value.node)->shape;
	bool open = !shape || shape->rows[ROW_INPUT].naxes > 0;
	rank->tensor = true;
	for (RowKind row = 0; shape && row < ROW_KINDS; row++) {
		open |= shape->rows[row].var_at >= 0;
		rank->axes[row] = shape->rows[row].naxes;
	}
	return !open;
}

static bool rank_of(Build *b, const AstExpr *expr, Rank *rank);

/* Of an operation by elements: of its tensors, all with as many axes. A product composes two tensors. */
static bool rank_of_operands(Build *b, const AstExpr *expr, uint32_t first, Rank *rank)
{
	for (uint32_t i = first; i < expr->nargs; i++) {
		Rank one = {0};
		if (form_is_key(expr, i) || !rank_of(b, expr->args[i], &one))
			return false;
		if (one.tensor && rank->tensor &&
		    (expr->kind == AST_COMPOSE ||
		     memcmp(one.axes, rank->axes, sizeof one.axes) != 0))
			return false;
		if (one.tensor)
			*rank = one;
	}
	return true;
}

static bool rank_of(Build *b, const AstExpr *expr, Rank *rank)
{
	const AstExpr *called = expr->kind == AST_CALL ? expr->args[0] : NULL;
	switch (expr->kind) {
	case AST_NUMBER: return true;
	case AST_NAME: return rank_of_name(b, expr, rank);
	case AST_UNARY:
	case AST_BINARY:
	case AST_COMPOSE: return rank_of_operands(b, expr, 0, rank);
	case AST_CALL:
		return called->kind == AST_NAME && !scope_find(b->at.scope, called->name.sym) &&
		       (op_from_name(called->name.sym, strlen(called->name.sym)) != OP_NONE ||
			dtype_from_name(called->name.sym, strlen(called->name.sym)) !=
				DTYPE_NONE) &&
		       rank_of_operands(b, expr, 1, rank);
	default: return false;
	}
}

/* ---- the specification ---- */

/* A number that is written, below 0 too. */
static bool read_number(const AstExpr *expr, int64_t *number)
{
	bool minus = expr->kind == AST_UNARY && expr->op == OP_NEG;
	const AstExpr *of = minus ? expr->args[0] : expr;
	*number = minus ? -of->integer : of->integer;
	return of->kind == AST_NUMBER && of->is_integer;
}

/* One side of the specification. `reduced`: what stands for the axis that is reduced. */
static const char *reduction_side(Build *b, const Rank *rank, int64_t axis, const char *reduced)
{
	uint32_t nbatch = (uint32_t)rank->axes[ROW_BATCH],
		 noutput = (uint32_t)rank->axes[ROW_OUTPUT];
	const char **axes = ARENA_ARRAY(b->arena, const char *, nbatch + noutput + 1);
	for (uint32_t i = 0; i < nbatch + noutput; i++)
		axes[i] = i == axis ? reduced : axis_letter(b->arena, i);
	return spec_side(b->arena, axes, nbatch, noutput);
}

typedef struct AxisCall {
	const struct Reduction *reduction;
	const AstExpr *operand, *axis;
	bool keeps;
} AxisCall;

/* The arguments from `first` on: the axis, and whether it stays. */
static bool read_axis(const AstExpr *call, uint32_t first, AxisCall *read)
{
	if (!read->reduction || call->nargs <= first || call->nargs > first + 2)
		return false;
	Sym axis = form_is_key(call, first) ? call->keys[first].sym : "axis";
	read->axis = call->args[first];
	if (strcmp(axis, "axis") != 0 && strcmp(axis, "dim") != 0)
		return false;
	if (call->nargs == first + 1)
		return true;
	const AstExpr *keeps = call->args[first + 1];
	bool no = keeps->kind == AST_NAME &&
		  (strcmp(keeps->name.sym, "False") == 0 || strcmp(keeps->name.sym, "false") == 0);
	read->keeps = !no && !(keeps->kind == AST_NUMBER && keeps->number == 0);
	return form_is_key(call, first + 1) &&
	       strncmp(call->keys[first + 1].sym, "keepdim", 7) == 0 &&
	       (!read->keeps || read->reduction->keeps);
}

static bool fix_axis(Build *b, const AstExpr *call, const AxisCall *read)
{
	Rank rank = {0};
	int64_t axis;
	if (!rank_of(b, read->operand, &rank) || !rank.tensor || !read_number(read->axis, &axis))
		return false;
	int64_t axes = rank.axes[ROW_BATCH] + rank.axes[ROW_OUTPUT];
	axis += axis < 0 ? axes : 0;
	if (axis < 0 || axis >= axes)
		return false;
	const char *reduced = axis_letter(b->arena, (uint32_t)axis);
	const char *operand = source_text(b->sources, b->arena, form_whole(b, read->operand->span));
	diag_fix(b->diags, form_whole(b, call->span),
		 arena_printf(b->arena, "%s\"%s => %s\", %s)", read->reduction->head,
			      reduction_side(b, &rank, axis, reduced),
			      reduction_side(b, &rank, axis, read->keeps ? "0" : ""), operand),
		 "of the axes of '%s' the result leaves out that one", operand);
	return true;
}

void form_fix_axis(Build *b, const AstExpr *call)
{
	AxisCall read = {.operand = call->nargs > 1 ? call->args[1] : NULL};
	read.reduction =
		call->args[0]->kind == AST_NAME ? reduction_of(call->args[0]->name.sym) : NULL;
	if (read_axis(call, 2, &read))
		fix_axis(b, call, &read);
}

bool form_fix_method(Build *b, const AstExpr *call)
{
	const AstExpr *method = call->args[0];
	AxisCall read = {reduction_of(method->name.sym), method->args[0], NULL, false};
	if (read_axis(call, 1, &read))
		return fix_axis(b, call, &read);
	if (call->nargs > 1 || !read.reduction || !read.reduction->keeps)
		return false;
	diag_fix(b->diags, form_whole(b, call->span),
		 arena_printf(b->arena, "%s%s)", read.reduction->head,
			      source_text(b->sources, b->arena, form_whole(b, read.operand->span))),
		 "of all elements there is one");
	return true;
}
