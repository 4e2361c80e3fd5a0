/* Arguments with names that a form does not have: axes by number, sizes of letters, as elsewhere.
 *
 *   sum(x, axis=1)                             what the result leaves out is reduced
 *   permute("b, (h d) => h, b, d", x, h=2)     permute("b, (h d) => h, b, d", x) with (h=2)
 */
#include <ctype.h>
#include <string.h>

#include "frontend/build.h"
#include "frontend/forms.h"

void form_note_reduction(Build *b, const AstExpr *call)
{
	diag_note(
		b->diags, call->args[0]->span,
		"what the result leaves out is reduced: sum(\"i, j => i\", x), reduce(max, \"i, j => i\", x)");
}

bool form_takes_keys(Sym name)
{
	static const char *const names[] = {"einsum", "gather", "scatter"};
	bool takes = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		takes |= strcmp(name, names[i]) == 0;
	return takes;
}

static bool is_letter_of(const char *spec, const char *name)
{
	size_t n = strlen(name);
	bool found = false;
	for (const char *at = spec; (at = strstr(at, name)) != NULL && !found; at += n) {
		bool joined = isalnum((unsigned char)at[n]) || at[n] == '_';
		found = !joined && (at == spec || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'));
	}
	return found;
}

/* The arguments from `first` on, where all have the names of letters: "h = 2, w = 3"; else NULL. */
static const char *letters(Build *b, const AstExpr *call, uint32_t first)
{
	const char *spec = NULL;
	for (uint32_t i = 1; i < first; i++)
		if (call->args[i]->kind == AST_STRING)
			spec = source_text(b->sources, b->arena, call->args[i]->span);
	for (uint32_t i = first; spec && i < call->nargs; i++)
		if (!form_is_key(call, i) || !is_letter_of(spec, call->keys[i].sym))
			return NULL;
	Span span = call->keys[first].span;
	span.end = call->args[call->nargs - 1]->span.end;
	return spec ? source_text(b->sources, b->arena, span) : NULL;
}

/* ---- sum(x, axis=1) ---- */

/* The shape of a tensor that is declared with all of its axes, none of them input axes; else NULL. */
static const ShapeDecl *declared_shape(Build *b, const AstExpr *operand)
{
	const Binding *binding =
		operand->kind == AST_NAME ? scope_find(b->at.scope, operand->name.sym) : NULL;
	if (!binding || binding->value.kind != VALUE_TENSOR)
		return NULL;
	const ShapeDecl *shape = graph_node(b->graph, binding->value.node)->shape;
	bool open = !shape || shape->rows[ROW_INPUT].naxes > 0;
	for (RowKind row = 0; shape && row < ROW_KINDS; row++)
		open |= shape->rows[row].var_at >= 0;
	return open ? NULL : shape;
}

/* A number that is written, below 0 too. */
static bool read_number(const AstExpr *expr, int64_t *number)
{
	bool minus = expr->kind == AST_UNARY && expr->op == OP_NEG;
	const AstExpr *of = minus ? expr->args[0] : expr;
	*number = minus ? -of->integer : of->integer;
	return of->kind == AST_NUMBER && of->is_integer;
}

/* One side of the specification. `reduced`: what stands for the axis that is reduced, NULL: nothing. */
static const char *reduction_side(Build *b, const ShapeDecl *shape, int64_t axis,
				  const char *reduced)
{
	static const RowKind rows[] = {ROW_BATCH, ROW_OUTPUT};
	const char *side = "";
	int64_t at = 0;
	for (size_t k = 0; k < 2; k++) {
		const char *row = "";
		for (uint32_t i = 0; i < shape->rows[rows[k]].naxes; i++, at++) {
			const char *letter = arena_printf(b->arena, "%c", 'a' + (int)(at % 26));
			letter = at == axis ? reduced : letter;
			if (letter)
				row = arena_printf(b->arena, "%s%s%s", row, *row ? ", " : "",
						   letter);
		}
		side = k == 0 && *row ? arena_printf(b->arena, "%s | ", row)
				      : arena_printf(b->arena, "%s%s", side, row);
	}
	return side;
}

static void fix_axis(Build *b, const AstExpr *call, uint32_t at)
{
	Sym more = at + 1 < call->nargs ? call->keys[at + 1].sym : NULL;
	bool keeps = more && strncmp(more, "keepdim", 7) == 0;
	const ShapeDecl *shape = at == 2 ? declared_shape(b, call->args[1]) : NULL;
	int64_t axis;
	if (!shape || strcmp(call->args[0]->name.sym, "sum") != 0 || (more && !keeps) ||
	    (keeps && at + 2 < call->nargs && call->keys[at + 2].sym) ||
	    !read_number(call->args[at], &axis))
		return;
	int64_t rank = (int64_t)shape->rows[ROW_BATCH].naxes + shape->rows[ROW_OUTPUT].naxes;
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank)
		return;
	const char *reduced = arena_printf(b->arena, "%c", 'a' + (int)(axis % 26));
	diag_fix(b->diags, call->span,
		 arena_printf(b->arena, "sum(\"%s => %s\", %s)",
			      reduction_side(b, shape, axis, reduced),
			      reduction_side(b, shape, axis, keeps ? "0" : NULL),
			      call->args[1]->name.sym),
		 "of the axes of '%s' the result leaves out that one", call->args[1]->name.sym);
}

void form_note_key(Build *b, const AstExpr *call, uint32_t at)
{
	static const char *const axes[] = {"axis", "dim", "axes", "keepdims", "keepdim"};
	Sym key = call->keys[at].sym;
	const char *sizes = letters(b, call, at);
	bool axis = false;
	for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
		axis |= strcmp(key, axes[i]) == 0;
	Span span = {call->span.file, call->args[at - 1]->span.end, call->span.end};
	if (axis) {
		form_note_reduction(b, call);
		fix_axis(b, call, at);
	} else if (sizes)
		diag_fix(b->diags, span, arena_printf(b->arena, ") with (%s)", sizes),
			 "the sizes of letters stand behind the form");
	else if (scope_find(b->at.scope, key))
		diag_note(b->diags, call->keys[at].span, "to compare, write '=='");
}
