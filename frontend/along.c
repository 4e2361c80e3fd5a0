/* The forms that go along one axis of their operand, which stands in brackets where it has several:
 *
 *   cumulate(sum, "r, [t] => r, t", x, exclusive, reverse)
 *   sort("r, [t] => r, t", x, descending), argsort likewise
 *   topk(k, "r, t => r, k", x, ascending)             the axis that the result leaves out
 *
 * All other axes are letters and row variables that stand once on either side, in any order. What
 * topk's result has instead of the axis is one letter of its own, of size k.
 */
#include <string.h>

#include "frontend/along.h"
#include "frontend/eval.h"
#include "frontend/joined.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/specs.h"

/* ---- words behind the operand ---- */

/* Which of the words it is; -1 after an error. */
static int word_of(Build *b, const AstExpr *expr, const Sym *words, uint32_t n)
{
	const char *list = "";
	for (uint32_t i = 0; i < n; i++) {
		if (expr->kind == AST_NAME && strcmp(expr->name.sym, words[i]) == 0)
			return (int)i;
		list = arena_printf(b->arena, "%s%s%s", list, i ? ", " : "", words[i]);
	}
	diag(b->diags, E0221, expr->span, "one of these words is needed here: %s", list);
	Sym nearest = expr->kind == AST_NAME ? name_nearest(expr->name.sym, words, n) : NULL;
	if (nearest)
		diag_fix(b->diags, expr->span, nearest, "did you mean '%s'?", nearest);
	return -1;
}

/* Sets flags[i] for each argument from `first` on that is words[i]. */
static bool read_words(Build *b, const AstExpr *call, uint32_t first, const Sym *words,
		       bool flags[2])
{
	for (uint32_t i = first; i < call->nargs; i++) {
		int word = word_of(b, call->args[i], words, 2);
		if (word < 0)
			return false;
		flags[word] = true;
	}
	return true;
}

/* Largest first? `most` where nothing is said. */
static bool read_order(Build *b, const AstExpr *call, uint32_t first, bool most, bool *descending)
{
	static const Sym orders[] = {"ascending", "descending"};
	bool flags[2] = {false};
	if (!read_words(b, call, first, orders, flags))
		return false;
	*descending = flags[1] || (most && !flags[0]);
	return true;
}

/* ---- which axis ---- */

/* A specification as it is written, and with its joined axes apart. */
typedef struct AlongSpec {
	const Spec *written, *apart; /* NULL after an error */
	Sym along;		     /* the letter of the operand's axis */
} AlongSpec;

/* That of the call's argument; `example` is of one. */
static AlongSpec read_spec(Build *b, const AstExpr *call, uint32_t at, Sym example)
{
	AlongSpec spec = {0};
	if (call->args[at]->kind != AST_STRING) {
		diag(b->diags, E0239, call->args[at]->span,
		     "a specification in quotes is needed here, such as \"%s\"", example);
		return spec;
	}
	spec.written = spec_resolve_bracketed(b, call->args[at]);
	if (spec.written && spec_check_count(b, spec.written, 1, call->span))
		spec.apart = spec_apart(b, spec.written);
	return spec;
}

typedef struct Found {
	const SpecAxis *axis;
	uint32_t n; /* how many there are like it */
} Found;

/* The last axis of a tensor that is bracketed, or that the other one leaves out, or that is a
 * letter. */
typedef enum Which { WHICH_BRACKETED, WHICH_LEFT_OUT, WHICH_LETTER } Which;

static Found find_axis(const SpecTensor *tensor, const SpecTensor *other, Which which)
{
	Found place = {0};
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[kind].axes[i];
			bool letter = axis->kind == SPEC_LETTER;
			bool found = which == WHICH_BRACKETED ? axis->bracketed
				     : which == WHICH_LEFT_OUT
					     ? !letter || !spec_tensor_count(other, axis->letter)
					     : letter;
			if (!found)
				continue;
			place.axis = axis;
			place.n++;
		}
	return place;
}

/* The axis in brackets, or the only letter; NULL after an error. */
static const SpecAxis *marked_axis(Build *b, const Spec *spec, Sym form)
{
	const SpecTensor *operand = &spec->operands[0];
	Found marked = find_axis(operand, &spec->result, WHICH_BRACKETED);
	Found letter = find_axis(operand, &spec->result, WHICH_LETTER);
	if (marked.n == 1)
		return marked.axis;
	if (marked.n == 0 && letter.n == 1)
		return letter.axis;
	if (marked.n > 1) {
		diag(b->diags, E0261, marked.axis->span,
		     "%s goes along one axis, and %u are in brackets", form, marked.n);
		return NULL;
	}
	diag(b->diags, E0261, operand->span, "%s does not say along which axis it goes", form);
	if (letter.n > 1)
		diag_fix(b->diags, letter.axis->span,
			 arena_printf(b->arena, "[%s]", letter.axis->letter),
			 "brackets mark it, such as this one");
	return NULL;
}

/* Does the result mark what the operand does, if anything? */
static bool check_marks(Build *b, const Spec *spec, Sym along)
{
	Found marked = find_axis(&spec->result, &spec->operands[0], WHICH_BRACKETED);
	if (marked.n == 0 || (marked.n == 1 && along && marked.axis->letter == along))
		return true;
	diag(b->diags, E0261, marked.axis->span,
	     along ? "the result marks another axis than the operand"
		   : "the axis that topk goes along is the one that its result leaves out");
	return false;
}

/* ---- the other axes ---- */

static bool refuse_axis(Build *b, Sym form, Span span, const SpecTensor *other)
{
	diag(b->diags, E0261, span,
	     "%s keeps the other axes: each is a letter, or a row variable, that stands once on either side",
	     form);
	if (!span_is_none(other->span))
		diag_note(b->diags, other->span, "the other side");
	return false;
}

/* Does each axis but `own` stand once on either side? */
static bool check_kept(Build *b, Sym form, const SpecTensor *tensor, const SpecTensor *other,
		       Sym own)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &tensor->rows[kind];
		if (row->var_at >= 0 && (spec_tensor_count(tensor, row->var) != 1 ||
					 spec_tensor_count(other, row->var) != 1))
			return refuse_axis(b, form, row->span, other);
		for (uint32_t i = 0; i < row->naxes; i++) {
			const SpecAxis *axis = &row->axes[i];
			bool once = axis->kind == SPEC_LETTER &&
				    spec_tensor_count(tensor, axis->letter) == 1;
			if (!once ||
			    (axis->letter != own && spec_tensor_count(other, axis->letter) != 1))
				return refuse_axis(b, form, axis->span, other);
		}
	}
	return true;
}

/* The specification of a form whose result has the axis too. */
static AlongSpec kept_spec(Build *b, const AstExpr *call, uint32_t at, Sym form)
{
	AlongSpec spec = read_spec(b, call, at, "r, [t] => r, t");
	const Spec *apart = spec.apart;
	const SpecAxis *axis = apart ? marked_axis(b, apart, form) : NULL;
	spec.along = axis ? axis->letter : NULL;
	if (!axis || !check_marks(b, apart, spec.along) ||
	    !check_kept(b, form, &apart->operands[0], &apart->result, NULL) ||
	    !check_kept(b, form, &apart->result, &apart->operands[0], NULL))
		spec.apart = NULL;
	return spec;
}

/* ---- nodes ---- */

/* The operand of a form, its dtype settled and its joined axes apart; NODE_NONE after an error. */
static NodeId operand_of(Build *b, const AlongSpec *spec, const AstExpr *expr)
{
	NodeId x = eval_node(b, expr);
	if (x == NODE_NONE || refuses_words(b, &x, &expr->span, 1))
		return NODE_NONE;
	node_settle(b, x, DTYPE_NONE);
	joined_take_apart(b, spec->written, &x, &expr->span, 1);
	return x;
}

static NodeId along_node(Build *b, NodeKind kind, const AstExpr *call, const AlongSpec *spec,
			 NodeId x, Span span, Along along)
{
	NodeId id = node_new(b, kind, call->span, call->args[0]->span);
	node_set_args(b, id, &x, &span, 1);
	Node *node = graph_node(b->graph, id);
	node->spec = spec->apart;
	node->along = along;
	node->along.letter = spec->along;
	node->dtype = along.ids ? DTYPE_I32 : node_dtype(b, x);
	spec_report_to_withs(b, id);
	return id;
}

static Value along_result(Build *b, const AlongSpec *spec, NodeId id, const AstExpr *call)
{
	return value_node(joined_result(b, spec->written, id), call->span);
}

Value run_cumulate(Build *b, const AstExpr *call)
{
	static const Sym words[] = {"exclusive", "reverse"};
	bool flags[2] = {false};
	Op reduce = form_reduction(b, call->args[1]);
	if (reduce == OP_NONE)
		return value_error();
	AlongSpec spec = kept_spec(b, call, 2, call->args[0]->name.sym);
	if (!spec.apart || !read_words(b, call, 4, words, flags))
		return value_error();
	NodeId x = operand_of(b, &spec, call->args[3]);
	if (x == NODE_NONE)
		return value_error();
	Along along = {.exclusive = flags[0], .reverse = flags[1]};
	NodeId id = along_node(b, NODE_CUMULATE, call, &spec, x, call->args[3]->span, along);
	graph_node(b->graph, id)->reduce = reduce;
	graph_node(b->graph, id)->dtype = dtype_wide(node_dtype(b, x));
	return along_result(b, &spec, id, call);
}

static Value sorted(Build *b, const AstExpr *call, bool ids)
{
	Along along = {.ids = ids};
	AlongSpec spec = kept_spec(b, call, 1, call->args[0]->name.sym);
	if (!spec.apart || !read_order(b, call, 3, false, &along.descending))
		return value_error();
	NodeId x = operand_of(b, &spec, call->args[2]);
	if (x == NODE_NONE)
		return value_error();
	NodeId id = along_node(b, NODE_SORT, call, &spec, x, call->args[2]->span, along);
	return along_result(b, &spec, id, call);
}

Value run_sort(Build *b, const AstExpr *call) { return sorted(b, call, false); }
Value run_argsort(Build *b, const AstExpr *call) { return sorted(b, call, true); }

/* ---- topk ---- */

/* The specification, whose result leaves the axis out, and the letter of the one that it has
 * instead. */
static AlongSpec chosen_spec(Build *b, const AstExpr *call, Sym *own_letter)
{
	AlongSpec spec = read_spec(b, call, 2, "r, t => r, k");
	if (!spec.apart)
		return spec;
	const SpecTensor *operand = &spec.apart->operands[0], *result = &spec.apart->result;
	Found gone = find_axis(operand, result, WHICH_LEFT_OUT),
	      own = find_axis(result, operand, WHICH_LEFT_OUT),
	      marked = find_axis(operand, result, WHICH_BRACKETED);
	bool letters = gone.n == 1 && own.n == 1 && gone.axis->kind == SPEC_LETTER &&
		       own.axis->kind == SPEC_LETTER;
	if (!letters || (marked.n > 0 && (marked.n > 1 || marked.axis != gone.axis))) {
		diag(b->diags, E0261, spec.written->span,
		     "topk goes along the one axis that its result leaves out, and its result has one axis of its own");
		diag_note(b->diags, spec.written->span,
			  "of \"i, j => i, k\" that is j, and k is its result's own");
		spec.apart = NULL;
		return spec;
	}
	spec.along = gone.axis->letter;
	*own_letter = own.axis->letter;
	if (!check_marks(b, spec.apart, NULL) ||
	    !check_kept(b, "topk", operand, result, spec.along) ||
	    !check_kept(b, "topk", result, operand, *own_letter))
		spec.apart = NULL;
	return spec;
}

/* topk("i, j => i, k", 4, x) */
static void report_exchanged(Build *b, const AstExpr *spec, const AstExpr *k)
{
	Arena *arena = b->arena;
	diag(b->diags, E0239, spec->span,
	     "how many elements topk takes stands before the specification");
	diag_fix(b->diags, span_join(spec->span, k->span),
		 arena_printf(arena, "%s, %s", source_text(b->diags->sources, arena, k->span),
			      source_text(b->diags->sources, arena, spec->span)),
		 "the size stands first");
}

Value run_topk(Build *b, const AstExpr *call)
{
	Along along = {0};
	Sym own = NULL;
	if (call->args[1]->kind == AST_STRING) {
		report_exchanged(b, call->args[1], call->args[2]);
		return value_error();
	}
	const SizeExpr *k = eval_size(b, call->args[1]);
	if (!k)
		return value_error();
	AlongSpec spec = chosen_spec(b, call, &own);
	if (!spec.apart || !read_order(b, call, 4, true, &along.descending))
		return value_error();
	NodeId x = operand_of(b, &spec, call->args[3]);
	if (x == NODE_NONE)
		return value_error();
	Value *items = ARENA_ARRAY(b->arena, Value, 2);
	for (uint32_t i = 2; i-- > 0;) { /* places first: the elements are read at them */
		along.ids = i == 1;
		NodeId id = along_node(b, NODE_SORT, call, &spec, x, call->args[3]->span, along);
		PUSH(b->arena, b->graph->binds,
		     ((Bind){id, own, call->args[1]->span, k, CAPTURE_NONE}));
		items[i] = along_result(b, &spec, id, call);
	}
	return value_results(items, 2, call->span);
}
