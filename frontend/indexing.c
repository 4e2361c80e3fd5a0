/* Axes that are indexed by the values of operands.
 *
 *   gather("[v], d; b => b, d", t, ids)     y[b, d] = t[ids[b], d]
 *   scatter("b, d; b => [v], d", x, ids)    y[ids[b], d] += x[b, d]
 *   gather(t, ids)                          the leftmost output axis, by ids with batch axes alone
 *
 * The first axis in brackets, as it is read, is indexed by the second operand, the next by the third.
 * What stands between the rows of a specification of these is a letter, a number or `_`: windows and
 * concatenations are other forms' matter.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/eval.h"
#include "frontend/forms.h"
#include "frontend/indexing.h"
#include "frontend/joined.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/specs.h"

/* ---- arguments with names ---- */

static const FormWord modes[] = {
	{"check", INDEX_CHECKED}, {"clamp", INDEX_CLAMPED}, {"skip", INDEX_SKIPPED},
	{"wrap", INDEX_WRAPPED},  {NULL, 0},
};
static const FormWord folds[] = {
	{"sum", OP_ADD}, {"max", OP_MAX}, {"min", OP_MIN}, {"prod", OP_MUL}, {"set", OP_ID},
	{NULL, 0},
};

typedef struct Words {
	int mode, reduce; /* -1 after an error */
} Words;

static bool read_words(Build *b, const AstExpr *call, bool scatters, Words *words)
{
	*words = (Words){INDEX_CHECKED, OP_ADD};
	for (uint32_t i = 1; i < call->nargs; i++) {
		if (!form_is_key(call, i))
			continue;
		if (strcmp(call->keys[i].sym, "mode") == 0) {
			words->mode = form_word(b, call->args[i], modes);
		} else if (scatters && strcmp(call->keys[i].sym, "reduce") == 0) {
			words->reduce = form_word(b, call->args[i], folds);
		} else {
			diag(b->diags, E0207, call->keys[i].span,
			     scatters ? "scatter has no argument '%s'; it has reduce= and mode="
				      : "gather has no argument '%s'; it has mode=",
			     call->keys[i].sym);
			form_note_key(b, call, i);
			return false;
		}
	}
	return words->mode >= 0 && words->reduce >= 0;
}

/* ---- indices ---- */

/* The operands from 1 on as integers; false after the error. */
static bool settle_indices(Build *b, const char *form, SpecParts *parts)
{
	bool good = true;
	for (uint32_t i = 1; i < parts->nargs; i++) {
		node_settle(b, parts->args[i], DTYPE_I32);
		Dtype dtype = node_dtype(b, parts->args[i]);
		const Node *node = graph_node(b->graph, parts->args[i]);
		if (dtype_is_integer(dtype))
			continue;
		good = false;
		diag(b->diags, E0231, parts->spans[i],
		     "the indices of %s are integers, and these are %s", form, dtype_name(dtype));
		const char *ids = source_text(b->sources, b->arena, parts->spans[i]);
		if (dtype_is_integer(node_dtype(b, parts->args[0])) && parts->nargs == 2)
			diag_fix(b->diags, span_join(parts->spans[0], parts->spans[1]),
				 arena_printf(b->arena, "%s, %s", ids,
					      source_text(b->sources, b->arena, parts->spans[0])),
				 strcmp(form, "gather") == 0
					 ? "the table stands first: gather(table, ids)"
					 : "the indices stand behind");
		else if (node->kind != NODE_INPUT)
			diag_fix(b->diags, parts->spans[i], arena_printf(b->arena, "i32(%s)", ids),
				 "i32(...) makes integers of them");
		else
			diag_note(b->diags, node->span,
				  "declared here: 'i32' before the shape makes them integers");
	}
	return good;
}

/* ---- specifications ---- */

static uint32_t count_brackets(const SpecTensor *tensor, const SpecAxis **first)
{
	uint32_t n = 0;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
			if (tensor->rows[kind].axes[i].bracketed && n++ == 0)
				*first = &tensor->rows[kind].axes[i];
	return n;
}

/* A tensor that has the letter of an axis of `indexed` too, that one where it has it twice; NULL: none
 * has. */
static const SpecTensor *letter_elsewhere(const Spec *spec, const SpecTensor *indexed, Sym letter)
{
	if (indexed != &spec->result && spec_tensor_count(&spec->result, letter))
		return &spec->result;
	for (uint32_t i = 0; i < spec->noperands; i++)
		if (indexed != &spec->operands[i] && spec_tensor_count(&spec->operands[i], letter))
			return &spec->operands[i];
	return spec_tensor_count(indexed, letter) > 1 ? indexed : NULL;
}

/* The first letter of the tensor that stands nowhere else, which is likely to be indexed; or NULL. */
static const SpecAxis *likely_indexed(const Spec *spec, const SpecTensor *indexed)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < indexed->rows[kind].naxes; i++) {
			const SpecAxis *axis = &indexed->rows[kind].axes[i];
			if (axis->kind == SPEC_LETTER && !axis->bracketed &&
			    !letter_elsewhere(spec, indexed, axis->letter))
				return axis;
		}
	return NULL;
}

/* The axis in brackets and the letter elsewhere are two things: another letter for the first. */
static void fix_bracket(Build *b, const Spec *spec, const SpecAxis *axis)
{
	static const char *const letters[] = {"v", "u", "k", "p", "q", "r"};
	for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
		Sym letter = sym_intern(b->symbols, letters[k], 1);
		bool used = spec_tensor_count(&spec->result, letter) > 0;
		for (uint32_t i = 0; i < spec->noperands; i++)
			used |= spec_tensor_count(&spec->operands[i], letter) > 0;
		if (used)
			continue;
		diag_fix(b->diags, axis->span, arena_printf(b->arena, "[%s]", letter),
			 "an axis that is read by indices has a letter of its own");
		return;
	}
}

/* What stands in brackets is no letter elsewhere: an operand says where it is. */
static bool check_bracket_letters(Build *b, const Spec *spec, const SpecTensor *indexed)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < indexed->rows[kind].naxes; i++) {
			const SpecAxis *axis = &indexed->rows[kind].axes[i];
			const SpecTensor *other =
				axis->bracketed ? letter_elsewhere(spec, indexed, axis->letter)
						: NULL;
			if (!other)
				continue;
			diag(b->diags, E0252, axis->span,
			     "'%s' is in brackets, where an operand of indices says its place, and a letter elsewhere",
			     axis->letter);
			diag_note(b->diags, other->span, "it is here");
			fix_bracket(b, spec, axis);
			return false;
		}
	return true;
}

/* Brackets stand in one tensor, as many as there are operands of indices. */
static bool check_brackets(Build *b, const Spec *spec, const SpecTensor *indexed, const char *form)
{
	const SpecAxis *axis = NULL;
	const char *where = indexed == &spec->result ? "the result" : "the first operand";
	for (uint32_t i = 0; i <= spec->noperands; i++) {
		const SpecTensor *tensor = i ? &spec->operands[i - 1] : &spec->result;
		if (tensor == indexed || !count_brackets(tensor, &axis))
			continue;
		diag(b->diags, E0252, axis->span, "%s indexes axes of %s, and this is none", form,
		     where);
		diag_note(b->diags, indexed->span, "%s", where);
		return false;
	}
	uint32_t n = count_brackets(indexed, &axis);
	if (n == spec->noperands - 1)
		return check_bracket_letters(b, spec, indexed);
	Span span = span_is_none(indexed->span) ? spec->span : indexed->span;
	diag(b->diags, E0252, span,
	     "%" PRIu32 " %s of %s %s in brackets, for %" PRIu32 " operand%s of indices", n,
	     n == 1 ? "axis" : "axes", where, n == 1 ? "stands" : "stand", spec->noperands - 1,
	     spec->noperands == 2 ? "" : "s");
	diag_note(b->diags, spec->span,
		  "each operand behind the first is the index of one axis in brackets");
	const SpecAxis *likely = n < spec->noperands - 1 ? likely_indexed(spec, indexed) : NULL;
	if (likely)
		diag_fix(b->diags, likely->span, arena_printf(b->arena, "[%s]", likely->letter),
			 "brackets mark it, such as this one");
	return false;
}

static bool check_plain(Build *b, const SpecTensor *tensor, bool result, const char *form)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			bool plain = axis->kind == SPEC_LETTER || axis->kind == SPEC_INDEX ||
				     (axis->kind == SPEC_PLACEHOLDER && !result);
			if (plain)
				continue;
			diag(b->diags, E0252, axis->span, "an axis of %s is a letter or a number",
			     form);
			return false;
		}
	return true;
}

static bool tell_added(Build *b, const Spec *spec, Span span, const char *name)
{
	diag(b->diags, E0253, span, "gather adds nothing up, and its result has no %s", name);
	diag_note(b->diags, spec->result.span, "the result");
	diag_note(b->diags, spec->span, "sum(\"...\", gather(...)) adds up what was gathered");
	return false;
}

/* Has the result all that operands have, brackets aside? */
static bool check_moves(Build *b, const Spec *spec)
{
	for (uint32_t i = 0; i < spec->noperands; i++)
		for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
			const SpecRow *row = &spec->operands[i].rows[kind];
			if (row->var_at >= 0 && !spec_tensor_count(&spec->result, row->var))
				return tell_added(b, spec, row->span, "such row of axes");
			for (uint32_t k = 0; k < row->naxes; k++) {
				const SpecAxis *axis = &row->axes[k];
				bool moves = axis->bracketed || axis->kind == SPEC_INDEX ||
					     (axis->kind == SPEC_LETTER &&
					      spec_tensor_count(&spec->result, axis->letter));
				if (!moves)
					return tell_added(
						b, spec, axis->span,
						axis->kind == SPEC_LETTER
							? arena_printf(b->arena, "'%s'", axis->letter)
							: "'_'");
			}
		}
	return true;
}

static bool check_spec(Build *b, const Spec *spec, const SpecParts *parts, bool scatters)
{
	const char *form = scatters ? "scatter" : "gather";
	const SpecTensor *indexed = scatters ? &spec->result : &spec->operands[0];
	if (!spec_check_count(b, spec, parts->nargs, parts->span) ||
	    !check_brackets(b, spec, indexed, form) || !check_plain(b, &spec->result, true, form))
		return false;
	for (uint32_t i = 0; i < spec->noperands; i++)
		if (!check_plain(b, &spec->operands[i], false, form))
			return false;
	return scatters || check_moves(b, spec);
}

/* ---- the forms ---- */

static NodeId indexing_node(Build *b, NodeKind kind, const AstExpr *call, const SpecParts *parts)
{
	NodeId id = node_new(b, kind, call->span, call->args[0]->span);
	node_set_args(b, id, parts->args, parts->spans, parts->nargs);
	graph_node(b->graph, id)->spec = parts->spec;
	graph_node(b->graph, id)->dtype = node_dtype(b, parts->args[0]);
	if (!parts->spec)
		return id;
	spec_report_to_withs(b, id);
	spec_note_namesakes(b, id);
	return id;
}

static bool gathers_rows(Build *b, const AstExpr *call, const SpecParts *parts)
{
	if (parts->nargs == 2)
		return true;
	diag(b->diags, E0206, call->span,
	     "'gather' takes %" PRIu32 " argument%s here; write gather(table, ids) or "
	     "gather(\"[v]d; b => bd\", a, ids)",
	     parts->nargs, parts->nargs == 1 ? "" : "s");
	return false;
}

Value indexing_gather(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID};
	Words words;
	bool written = call->args[1]->kind == AST_STRING;
	if (!read_words(b, call, false, &words))
		return value_error();
	const Spec *spec = written ? spec_resolve_bracketed(b, call->args[1]) : NULL;
	parts.spec = spec ? spec_apart(b, spec) : NULL;
	if (!form_operands(b, call, written ? 2 : 1, &parts) || (written && !parts.spec))
		return value_error();
	if (written ? !check_spec(b, parts.spec, &parts, false) : !gathers_rows(b, call, &parts))
		return value_error();
	node_settle(b, parts.args[0], DTYPE_NONE);
	if (!settle_indices(b, "gather", &parts))
		return value_error();
	if (spec)
		joined_take_apart(b, spec, parts.args, parts.spans, parts.nargs);
	NodeId id = indexing_node(b, NODE_GATHER, call, &parts);
	graph_node(b->graph, id)->mode = (IndexMode)words.mode;
	return value_node(spec ? joined_result(b, spec, id) : id, call->span);
}

Value indexing_scatter(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID};
	Words words;
	if (!read_words(b, call, true, &words))
		return value_error();
	if (call->args[1]->kind != AST_STRING) {
		diag(b->diags, E0239, call->span,
		     "a specification in quotes is needed here, such as \"b, d; b => [v], d\"");
		return value_error();
	}
	const Spec *spec = spec_resolve_bracketed(b, call->args[1]);
	parts.spec = spec ? spec_apart(b, spec) : NULL;
	if (!form_operands(b, call, 2, &parts) || !parts.spec ||
	    !check_spec(b, parts.spec, &parts, true) ||
	    refuses_words(b, parts.args, parts.spans, 1))
		return value_error();
	node_settle(b, parts.args[0], DTYPE_NONE);
	if (!settle_indices(b, "scatter", &parts))
		return value_error();
	joined_take_apart(b, spec, parts.args, parts.spans, parts.nargs);
	NodeId id = indexing_node(b, NODE_SCATTER, call, &parts);
	Node *node = graph_node(b->graph, id);
	node->mode = (IndexMode)words.mode;
	node->reduce = (Op)words.reduce;
	if (node->reduce != OP_ID)
		node->dtype = dtype_wide(node->dtype);
	return value_node(joined_result(b, spec, id), call->span);
}
