/* The functions of the language that are not pointwise: specifications, stack, gather and the rest.
 *
 * `forms` is the list; pointwise functions come from base/ops.def and casts from base/dtype.def.
 */
#include <string.h>

#include "frontend/along.h"
#include "frontend/border.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/forms.h"
#include "frontend/gradient.h"
#include "frontend/indexing.h"
#include "frontend/joined.h"
#include "frontend/letter_size.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/specs.h"
#include "frontend/strides.h"

enum { NAME_SHOWN = 40 }; /* bytes of an operand in a name for messages */

typedef Value FormRun(Build *b, const AstExpr *call);

typedef struct Form {
	const char *name;
	uint32_t least, most; /* arguments, keywords apart */
	FormRun *run;
	const char *usage;
} Form;

/* ---- arguments ---- */

static uint32_t count_positional(const AstExpr *call)
{
	uint32_t n = 0;
	for (uint32_t i = 1; i < call->nargs; i++)
		n += !form_is_key(call, i);
	return n;
}

static const FormWord combines[] = {
	{"mul", OP_MUL}, {"add", OP_ADD}, {"sub", OP_SUB}, {"div", OP_DIV}, {"max", OP_MAX},
	{"min", OP_MIN}, {"where", OP_WHERE}, {"fma", OP_FMA}, {NULL, 0},
};
static const FormWord reduces[] = {
	{"sum", OP_ADD}, {"max", OP_MAX}, {"min", OP_MIN}, {"prod", OP_MUL}, {NULL, 0},
};

/* What another library's word for a border, or for an index outside, is here: one of `words`, or NULL. */
static Sym word_elsewhere(Sym name, const char *const *words, uint32_t n)
{
	static const char *const meant[][2] = {
		{"clip", "clamp"},    {"edge", "clamp"},      {"nearest", "clamp"},
		{"border", "clamp"},  {"replicate", "clamp"}, {"fill", "skip"},
		{"drop", "skip"},     {"ignore", "skip"},     {"zeros", "skip"},
		{"constant", "skip"}, {"raise", "check"},     {"error", "check"},
		{"clamp", "edge"},    {"nearest", "edge"},    {"mirror", "reflect"},
		{"periodic", "wrap"},
	};
	for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
		for (uint32_t k = 0; k < n; k++)
			if (strcmp(meant[i][0], name) == 0 && strcmp(meant[i][1], words[k]) == 0)
				return words[k];
	return NULL;
}

int form_word(Build *b, const AstExpr *expr, const FormWord *words)
{
	const char *list = "";
	Sym names[16];
	uint32_t n = 0;
	for (const FormWord *word = words; word->word; word++) {
		if (expr->kind == AST_NAME && strcmp(expr->name.sym, word->word) == 0)
			return word->value;
		list = arena_printf(b->arena, "%s%s%s", list, n ? ", " : "", word->word);
		names[n++] = word->word;
	}
	diag(b->diags, E0221, expr->span, "one of these words is needed here: %s", list);
	Sym meant = expr->kind == AST_NAME ? word_elsewhere(expr->name.sym, names, n) : NULL;
	if (meant)
		diag_fix(b->diags, expr->span, meant, "it is '%s' here", meant);
	if (meant || (expr->kind == AST_NAME && foreign_explain(b, expr->name)))
		return -1;
	Sym nearest = expr->kind == AST_NAME ? name_nearest(expr->name.sym, names, n) : NULL;
	if (nearest)
		diag_fix(b->diags, expr->span, nearest, "did you mean '%s'?", nearest);
	return -1;
}

static Op op_word(Build *b, const AstExpr *expr, const FormWord *words)
{
	int op = form_word(b, expr, words);
	return op < 0 ? OP_NONE : (Op)op;
}

Op form_reduction(Build *b, const AstExpr *expr) { return op_word(b, expr, reduces); }

bool form_operands(Build *b, const AstExpr *call, uint32_t first, SpecParts *parts)
{
	parts->args = ARENA_ARRAY(b->arena, NodeId, call->nargs);
	parts->spans = ARENA_ARRAY(b->arena, Span, call->nargs);
	parts->span = call->span;
	parts->op_span = call->args[0]->span;
	bool good = true;
	for (uint32_t i = first; i < call->nargs; i++) {
		if (form_is_key(call, i))
			continue;
		parts->spans[parts->nargs] = call->args[i]->span;
		parts->args[parts->nargs] = eval_node(b, call->args[i]);
		good = parts->args[parts->nargs++] != NODE_NONE && good;
	}
	return good;
}

static const Spec *spec_argument(Build *b, const AstExpr *call, uint32_t at)
{
	if (at < call->nargs && call->args[at]->kind == AST_STRING)
		return spec_resolve(b, call->args[at]);
	diag(b->diags, E0239, call->span,
	     "a specification in quotes is needed here, such as \"i, j => i\"");
	if (call->args[0]->kind == AST_NAME && form_usage(call->args[0]->name.sym)) {
		form_note_axis(b, call);
		form_fix_axis(b, call);
	}
	return NULL;
}

/* ---- specifications ---- */

static bool combine_fits(Op op, uint32_t nargs)
{
	if (op == OP_WHERE || op == OP_FMA)
		return nargs == 3;
	return nargs == 2 || (nargs > 2 && op != OP_SUB && op != OP_DIV);
}

/* The node of a specification that joins no axes. */
static NodeId plain_spec_node(Build *b, const SpecParts *parts)
{
	bool block = spec_result_concatenates(parts->spec);
	if (!parts->permutes && !(block && spec_only_moves(parts->spec)) &&
	    refuses_words(b, parts->args, parts->spans, parts->nargs))
		return NODE_NONE;
	if (block && refuses_mixed_words(b, parts->args, parts->spans, parts->nargs))
		return NODE_NONE;
	Op op = block || parts->nargs == 1 ? OP_ID : parts->op;
	Dtype joined = block ? nodes_unite(b, parts->args, parts->nargs)
			     : nodes_join_for(b, op, parts->args, parts->spans, parts->nargs);
	if (joined == DTYPE_NONE)
		joined = nodes_join(b, parts->args, parts->nargs);
	if (!block && parts->nargs > 1)
		nodes_widen(b, parts->args, parts->nargs);
	if (block && !spec_only_moves(parts->spec)) {
		joined = dtype_wide(joined);
		for (uint32_t i = 0; i < parts->nargs; i++)
			parts->args[i] = node_cast(b, parts->args[i], joined, parts->spans[i]);
	}
	Dtype dtypes[3] = {joined, joined, joined};
	NodeId id = node_new(b, block ? NODE_BLOCK : NODE_SPEC, parts->span, parts->op_span);
	node_set_args(b, id, parts->args, parts->spans, parts->nargs);
	Node *node = graph_node(b->graph, id);
	node->op = op;
	node->reduce = parts->reduce;
	node->spec = parts->spec;
	node->dtype = block ? joined : op_result_dtype(op, dtypes, op_arity(op));
	node->permutes = parts->permutes;
	node->joins = parts->joins;
	if (parts->permutes || parts->keeps)
		node->dtype = node_dtype(b, parts->args[0]);
	return id;
}

NodeId form_spec_node(Build *b, const SpecParts *parts)
{
	SpecParts apart = *parts;
	const Spec *spec = spec_apart(b, parts->spec);
	apart.spec = spec;
	joined_take_apart(b, parts->spec, apart.args, apart.spans, apart.nargs);
	apart.spec = border_put(b, &apart);
	apart.spec = apart.spec ? strides_gather(b, &apart) : NULL;
	apart.spec = apart.spec ? strides_apart(b, apart.spec) : NULL;
	NodeId id = apart.spec ? plain_spec_node(b, &apart) : NODE_NONE;
	if (id == NODE_NONE)
		return id;
	NodeId whole = strides_scatter(b, &apart, spec, id);
	letter_sizes_settle(b, &apart, id);
	spec_report_to_withs(b, id);
	spec_note_namesakes(b, id);
	return joined_result(b, parts->spec, whole);
}

static Value finish_spec(Build *b, const AstExpr *call, uint32_t first, SpecParts *parts)
{
	bool good = form_operands(b, call, first, parts);
	if (!good || !parts->spec || !spec_check_count(b, parts->spec, parts->nargs, call->span))
		return value_error();
	return value_node(form_spec_node(b, parts), call->span);
}

static bool is_border_key(const AstExpr *call, uint32_t i)
{
	return form_is_key(call, i) && strcmp(call->keys[i].sym, "border") == 0;
}

/* A configuration may pass the word on; what else has the name of a word is not meant here. */
static Border *border_argument(Build *b, const AstExpr *expr)
{
	bool word = expr->kind == AST_NAME && border_is_word(expr->name.sym);
	const Binding *binding = word ? scope_find(b->at.scope, expr->name.sym) : NULL;
	bool named = binding &&
		     (binding->value.kind == VALUE_WORD || binding->value.kind == VALUE_NUMBER);
	Value value = {.kind = VALUE_WORD, .word = expr->name.sym};
	Border *border = ARENA_NEW(b->arena, Border);
	bool unknown = expr->kind == AST_NAME && !word && !scope_find(b->at.scope, expr->name.sym);
	Sym meant = unknown ? word_elsewhere(expr->name.sym, border_words, BORDER_NUMBER) : NULL;
	if (meant) {
		diag(b->diags, E0201, expr->span, "nothing is called '%s' here", expr->name.sym);
		diag_fix(b->diags, expr->span, meant, "it is '%s' here", meant);
		return NULL;
	}
	if (!word || named)
		value = eval(b, expr);
	if (unknown && value.kind == VALUE_ERROR)
		diag_note(b->diags, expr->span,
			  "a border is a number or one of these words: skip, edge, reflect, wrap");
	*border = (Border){.kind = BORDER_NUMBER, .span = expr->span};
	if (value.kind == VALUE_WORD)
		border->kind = border_of_word(value.word);
	else if (value.kind == VALUE_NUMBER)
		border->number = value_to_node(b, value);
	else if (value.kind != VALUE_ERROR)
		diag(b->diags, E0221, expr->span,
		     "a border is a number or one of these words: skip, edge, reflect, wrap; and this is %s",
		     value_describe(&value));
	return value.kind == VALUE_WORD || value.kind == VALUE_NUMBER ? border : NULL;
}

/* The border of a form that takes no other arguments with names; false after an error. */
static bool read_border(Build *b, const AstExpr *call, SpecParts *parts)
{
	for (uint32_t i = 1; i < call->nargs; i++)
		if (is_border_key(call, i) && !(parts->border = border_argument(b, call->args[i])))
			return false;
	return true;
}

static bool einsum_keys(Build *b, const AstExpr *call, SpecParts *parts, const AstExpr **op)
{
	for (uint32_t i = 1; i < call->nargs; i++) {
		if (!form_is_key(call, i))
			continue;
		bool combine = strcmp(call->keys[i].sym, "op") == 0;
		if (is_border_key(call, i)) {
			if (!(parts->border = border_argument(b, call->args[i])))
				return false;
			continue;
		}
		if (combine) {
			*op = call->args[i];
			parts->op = op_word(b, call->args[i], combines);
		} else if (strcmp(call->keys[i].sym, "reduce") == 0) {
			parts->reduce = op_word(b, call->args[i], reduces);
		} else {
			diag(b->diags, E0207, call->keys[i].span,
			     "einsum has no argument '%s'; it has op=, reduce= and border=",
			     call->keys[i].sym);
			form_note_key(b, call, i);
			return false;
		}
		if ((combine ? parts->op : parts->reduce) == OP_NONE)
			return false;
	}
	return true;
}

static Value run_einsum(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_MUL, .reduce = OP_ADD};
	const AstExpr *op = NULL;
	if (!einsum_keys(b, call, &parts, &op))
		return value_error();
	parts.spec = spec_argument(b, call, 1);
	uint32_t nargs = count_positional(call) - 1;
	bool block = parts.spec && spec_result_concatenates(parts.spec);
	if (parts.spec && !block && nargs > OPERANDS_MOST) {
		diag(b->diags, E0239, call->span,
		     "einsum combines at most %d operands, and these are %u", OPERANDS_MOST, nargs);
		return value_error();
	}
	if (parts.spec && op && (block || !combine_fits(parts.op, nargs))) {
		diag(b->diags, E0221, op->span, block ? "concatenated operands are not combined"
				: "this operation does not combine that many operands");
		return value_error();
	}
	return finish_spec(b, call, 2, &parts);
}

static Value run_sum(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID, .reduce = OP_ADD};
	bool all = count_positional(call) == 1 && call->args[1]->kind != AST_STRING;
	if (!read_border(b, call, &parts))
		return value_error();
	parts.spec = all ? spec_reduce_all(b, call->span) : spec_argument(b, call, 1);
	return finish_spec(b, call, all ? 1 : 2, &parts);
}

static Value run_reduce(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID};
	parts.reduce = op_word(b, call->args[1], reduces);
	if (parts.reduce == OP_NONE || !read_border(b, call, &parts))
		return value_error();
	bool all = count_positional(call) == 2 && call->args[2]->kind != AST_STRING;
	parts.spec = all ? spec_reduce_all(b, call->span) : spec_argument(b, call, 2);
	return finish_spec(b, call, all ? 2 : 3, &parts);
}

static Value run_permute(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID, .reduce = OP_ADD, .permutes = true};
	parts.spec = spec_argument(b, call, 1);
	if (!parts.spec || !spec_check_count(b, parts.spec, 1, call->span) ||
	    !spec_check_permute(b, spec_apart(b, parts.spec), call->op_span))
		return value_error();
	return finish_spec(b, call, 2, &parts);
}

static Value move_over_bar(Build *b, const AstExpr *call, RowKind to)
{
	SpecParts parts = {.op = OP_ID, .reduce = OP_ADD, .permutes = true};
	parts.spec = spec_over_bar(b, to, call->span);
	return finish_spec(b, call, 1, &parts);
}

static Value run_to_batch(Build *b, const AstExpr *call)
{
	return move_over_bar(b, call, ROW_BATCH);
}
static Value run_to_output(Build *b, const AstExpr *call)
{
	return move_over_bar(b, call, ROW_OUTPUT);
}

static Value run_concat(Build *b, const AstExpr *call)
{
	SpecParts parts = {.op = OP_ID, .reduce = OP_ADD, .joins = true};
	parts.spec = spec_argument(b, call, 1);
	if (parts.spec && !spec_result_concatenates(parts.spec)) {
		diag(b->diags, E0239, parts.spec->span,
		     "concat needs a concatenated axis in the result, such as \"x; y => x^y\"");
		return value_error();
	}
	return finish_spec(b, call, 2, &parts);
}

/* The place of the greatest or of the least. */
static Value find_place(Build *b, const AstExpr *call, Op reduce)
{
	SpecParts parts = {.op = OP_ID};
	const Spec *spec = spec_argument(b, call, 1);
	parts.spec = spec ? spec_apart(b, spec) : NULL;
	if (!form_operands(b, call, 2, &parts) || !spec ||
	    !spec_check_count(b, spec, parts.nargs, call->span) ||
	    !spec_check_argmax(b, parts.spec, call->args[0]->name.sym) ||
	    refuses_words(b, parts.args, parts.spans, 1))
		return value_error();
	node_settle(b, parts.args[0], DTYPE_NONE);
	joined_take_apart(b, spec, parts.args, parts.spans, 1);
	NodeId id = node_new(b, NODE_ARGMAX, call->span, call->args[0]->span);
	node_set_args(b, id, parts.args, parts.spans, 1);
	graph_node(b->graph, id)->spec = parts.spec;
	graph_node(b->graph, id)->reduce = reduce;
	graph_node(b->graph, id)->dtype = DTYPE_I32;
	spec_report_to_withs(b, id);
	return value_node(joined_result(b, spec, id), call->span);
}

static Value run_argmax(Build *b, const AstExpr *call) { return find_place(b, call, OP_MAX); }

static Value run_argmin(Build *b, const AstExpr *call) { return find_place(b, call, OP_MIN); }

/* ---- other forms ---- */

static Value run_stack(Build *b, const AstExpr *call)
{
	static const char *const words[] = {"batch", "input", "output"};
	const AstExpr *kind = call->args[1];
	for (RowKind row = 0; row < ROW_KINDS; row++) {
		if (kind->kind != AST_NAME || strcmp(kind->name.sym, words[row]) != 0)
			continue;
		SpecParts parts = {.op = OP_ID};
		if (!form_operands(b, call, 2, &parts))
			return value_error();
		return value_node(
			node_stack(b, row, parts.args, parts.spans, parts.nargs, call->span),
			call->span);
	}
	diag(b->diags, E0221, kind->span,
	     "one of these words is needed here: batch, input, output");
	Span at = {kind->span.file, kind->span.start, kind->span.start};
	diag_fix(b->diags, at, "output, ", "the new axis would be an output axis, the leftmost");
	diag_fix(b->diags, at, "batch, ", "the new axis would be a batch axis, the leftmost");
	return value_error();
}

/* The shape that stands behind the operand is what is reshaped to; false after an error. */
static bool say_shape(Build *b, const AstExpr *arg, NodeId id)
{
	const ShapeDecl *shape = shape_decl(b, arg->shape, SHAPE_ASCRIBED);
	const char *text = source_text(b->sources, b->arena, arg->args[0]->span);
	bool plain = strlen(text) < NAME_SHOWN && !strchr(text, '\n');
	Sym name = sym_printf(b->symbols, plain ? "reshape(%s)" : "reshape", text);
	if (shape)
		PUSH(b->arena, b->graph->ascriptions, ((Ascription){id, shape, name}));
	return shape != NULL;
}

static Value run_reshape(Build *b, const AstExpr *call)
{
	const AstExpr *arg = call->args[1], *operand = arg->kind == AST_SHAPED ? arg->args[0] : arg;
	NodeId from = eval_node(b, operand);
	if (from == NODE_NONE)
		return value_error();
	node_settle(b, from, DTYPE_NONE);
	NodeId id = node_new(b, NODE_RESHAPE, call->span, call->args[0]->span);
	node_set_args(b, id, &from, &operand->span, 1);
	graph_node(b->graph, id)->dtype = node_dtype(b, from);
	if (operand != arg && !say_shape(b, arg, id))
		return value_error();
	return value_node(id, call->span);
}

static Value run_range(Build *b, const AstExpr *call)
{
	const SizeExpr *size = eval_size(b, call->args[1]);
	if (!size)
		return value_error();
	NodeId id = node_new(b, NODE_RANGE, call->span, call->args[0]->span);
	graph_node(b->graph, id)->size_expr = size;
	graph_node(b->graph, id)->dtype = DTYPE_I32;
	return value_node(id, call->span);
}

static Value run_offsets(Build *b, const AstExpr *call)
{
	NodeId id = node_new(b, NODE_OFFSETS, call->span, call->args[0]->span);
	graph_node(b->graph, id)->dtype = DTYPE_I32;
	return value_node(id, call->span);
}

static Value refuse_file(Build *b, const AstExpr *call)
{
	bool quoted = call->args[1]->kind == AST_STRING;
	diag(b->diags, E0224, call->span, "%s",
	     quoted ? "a file's data needs a name: const NAME = file(...)"
		    : "the name of a file stands in quotation marks: file(\"x.npy\")");
	return value_error();
}

static const Form forms[] = {
#define FORM(name, least, most, run, usage) {#name, least, most, run, usage},
#include "frontend/forms.def"
#undef FORM
};
enum { NFORMS = sizeof forms / sizeof *forms };

static const Form *find_form(const char *name)
{
	for (uint32_t i = 0; i < NFORMS; i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	return NULL;
}

static Value run_cast(Build *b, Dtype dtype, const AstExpr *call)
{
	Value value = eval(b, call->args[1]);
	bool scales = value_scales(&value), left = value_scales_left(&value);
	NodeId node = value_to_node(b, value);
	if (node == NODE_NONE || refuses_words(b, &node, &value.span, 1))
		return value_error();
	Value cast = value_node(node_cast(b, node, written_dtype(b, dtype, call->span), call->span),
				call->span);
	cast.scales = scales;
	cast.scales_left = left;
	return cast;
}

static Value run_pointwise(Build *b, Op op, const AstExpr *call)
{
	Value args[3];
	bool good = true;
	for (uint32_t i = 1; i < call->nargs; i++) {
		args[i - 1] = eval(b, call->args[i]);
		good = good && args[i - 1].kind != VALUE_ERROR;
	}
	return good ? eval_pointwise(b, op, args, call->nargs - 1, call) : value_error();
}

static bool takes_border(Sym name)
{
	return strcmp(name, "sum") == 0 || strcmp(name, "reduce") == 0;
}

/* sum("i, j; j, k => i, k", a, b): the sum of a product was meant. */
static void offer_einsum(Build *b, Sym name, const AstExpr *call, uint32_t n)
{
	if (strcmp(name, "sum") == 0 && n > 2 && call->args[1]->kind == AST_STRING)
		diag_fix(b->diags, call->args[0]->span, "einsum",
			 "'sum' takes one tensor; of products of several it is 'einsum'");
}

static bool check_arguments(Build *b, Sym name, const AstExpr *call, uint32_t least, uint32_t most)
{
	uint32_t n = count_positional(call);
	for (uint32_t i = 1; i < call->nargs && !form_takes_keys(name); i++) {
		if (!form_is_key(call, i) || (takes_border(name) && is_border_key(call, i)))
			continue;
		diag(b->diags, E0207, call->keys[i].span, "'%s' has no argument with the name '%s'",
		     name, call->keys[i].sym);
		form_note_key(b, call, i);
		return false;
	}
	if (n >= least && n <= most)
		return true;
	const Form *form = find_form(name);
	if (form)
		diag(b->diags, E0206, call->span, "'%s' does not take %u argument%s; write %s",
		     name, n, n == 1 ? "" : "s", form->usage);
	else
		diag(b->diags, E0206, call->span, "'%s' takes %u argument%s, and %u %s given", name,
		     least, least == 1 ? "" : "s", n, n == 1 ? "is" : "are");
	offer_einsum(b, name, call, n);
	if (n > most && (strcmp(name, "normal") == 0 || strcmp(name, "uniform") == 0))
		diag_note(b->diags, call->span, RANDOM_SCALED);
	if (!form && n == 1 && (strcmp(name, "max") == 0 || strcmp(name, "min") == 0))
		diag_fix(b->diags, call->span,
			 arena_printf(b->arena, "reduce(%s, %s)", name,
				      source_text(b->sources, b->arena, call->args[1]->span)),
			 "'%s' compares two; of all elements of one it is", name);
	return false;
}

/* max("i, j => i", x): the form that reduces was meant. */
static bool refuse_reduction(Build *b, Sym name, const AstExpr *call)
{
	bool word = strcmp(name, "max") == 0 || strcmp(name, "min") == 0;
	if (!word || call->nargs < 2 || call->args[1]->kind != AST_STRING)
		return false;
	Span span = call->args[0]->span;
	diag(b->diags, E0239, call->span, "'%s' compares two tensors, element by element", name);
	if (source_text(b->sources, b->arena, (Span){span.file, span.end, span.end + 1})[0] == '(')
		diag_fix(b->diags, (Span){span.file, span.start, span.end + 1},
			 arena_printf(b->arena, "reduce(%s, ", name),
			 "'reduce' takes a specification");
	return true;
}

Value eval_form(Build *b, Sym name, const AstExpr *call)
{
	size_t len = strlen(name);
	const Form *form = find_form(name);
	Op op = form ? OP_NONE : op_from_name(name, len);
	uint32_t arity = op == OP_NONE ? 1 : (uint32_t)op_arity(op);
	if (refuse_reduction(b, name, call) ||
	    !check_arguments(b, name, call, form ? form->least : arity, form ? form->most : arity))
		return value_error();
	if (form)
		return form->run(b, call);
	return op == OP_NONE ? run_cast(b, dtype_from_name(name, len), call)
			     : run_pointwise(b, op, call);
}
