/* What decides, repeats and names inside expressions: `if`, `iterate`, `let ... in` and `with`. */
#include <inttypes.h>
#include <string.h>

#include "frontend/ascribe.h"
#include "frontend/eval.h"
#include "frontend/inside.h"
#include "frontend/nodes.h"
#include "frontend/scan.h"
#include "frontend/specs.h"

/* ---- if ---- */

Value eval_if(Build *b, const AstExpr *expr)
{
	Value condition = eval_wanting_size(b, expr->args[0]);
	double truth;
	if (condition.kind == VALUE_ERROR)
		return value_error();
	if (!value_get_number(&condition, &truth)) {
		diag(b->diags, E0211, expr->args[0]->span,
		     "the condition of 'if' must be known when the program is compiled, and this is %s",
		     value_scales(&condition) ? "known only when it runs"
					      : value_describe(&condition));
		diag_note(b->diags, expr->op_span,
			  "where(condition, a, b) chooses between elements");
		return value_error();
	}
	for (With *with = b->at.withs; with; with = with->outer)
		with->partial = true;
	const AstExpr *chosen = expr->args[truth != 0 ? 1 : 2];
	return b->named == expr ? eval_named(b, chosen, b->named_as) : eval(b, chosen);
}

/* ---- names bound to values ---- */

Value ascribe_written(Build *b, Value value, const Ascribed *to)
{
	if (value.kind == VALUE_ERROR || (!to->shape && to->dtype == DTYPE_NONE))
		return value;
	const ShapeDecl *shape = to->shape ? shape_decl(b, to->shape, SHAPE_ASCRIBED) : NULL;
	return to->shape && !shape ? value_error() : ascribe(b, value, to, shape);
}

/* What is written behind the one name holds. */
static Value ascribe_bind(Build *b, const AstBind *bind, Value value)
{
	value.span = bind->value->span;
	return ascribe_written(
		b, value, &(Ascribed){bind->names[0], bind->shape, bind->dtype, bind->type_span});
}

static void bind_one(Build *b, Name name, Value value, BindEach *each)
{
	if (each && value.kind != VALUE_ERROR)
		each(b, name, &value);
	scope_declare(b, b->at.scope, name, value);
}

static Value tuple_item(Build *b, const AstBind *bind, const Value *tuple, uint32_t i)
{
	if (bind->value->kind == AST_TUPLE && bind->value->nargs == bind->nnames && !tuple)
		return eval_named(b, bind->value->args[i], bind->names[i].sym);
	if (!tuple)
		return value_error();
	Value item = tuple->items[i];
	item.from = item.from ? item.from : tuple->from;
	return item;
}

bool bind_check_tuple(Build *b, const AstBind *bind, const Value *value)
{
	if (value->kind == VALUE_TUPLE && value->nitems == bind->nnames)
		return true;
	if (value->kind == VALUE_TUPLE)
		diag(b->diags, E0222, bind->value->span,
		     "this tuple has %" PRIu32 " values, and %" PRIu32 " names take it apart",
		     value->nitems, bind->nnames);
	else if (value->kind != VALUE_ERROR)
		diag(b->diags, E0222, bind->value->span,
		     "a tuple of %" PRIu32 " values is taken apart here, and this is %s",
		     bind->nnames, value_describe(value));
	bool loop = bind->value->kind == AST_SCAN || bind->value->kind == AST_ITERATE;
	if (value->kind != VALUE_ERROR)
		diag_note(b->diags,
			  span_join(bind->names[0].span, bind->names[bind->nnames - 1].span),
			  "the names");
	if (loop && value->kind == VALUE_TENSOR)
		diag_note(
			b->diags, bind->value->args[1]->span,
			"beside what is carried a step gives what is stacked: let next = ... in (next, next)");
	return false;
}

void bind_names(Build *b, const AstBind *bind, BindEach *each)
{
	if (bind->nnames == 1) {
		Value value = eval_named(b, bind->value, bind->names[0].sym);
		bind_one(b, bind->names[0], ascribe_bind(b, bind, value), each);
		return;
	}
	bool written = bind->value->kind == AST_TUPLE && bind->value->nargs == bind->nnames &&
		       !bind->value->label.sym;
	Value value = value_error();
	bool fits = written;
	if (!written) {
		value = eval(b, bind->value);
		fits = bind_check_tuple(b, bind, &value);
	}
	Value *items = ARENA_ARRAY(b->arena, Value, bind->nnames);
	for (uint32_t i = 0; i < bind->nnames; i++)
		items[i] = fits ? tuple_item(b, bind, written ? NULL : &value, i) : value_error();
	for (uint32_t i = 0; i < bind->nnames; i++)
		bind_one(b, bind->names[i], items[i], each);
}

/* Local names are not listed, but what they name is called so in messages. */
static void name_local(Build *b, Name name, Value *value)
{
	inside_note(b, name, value);
	if (value->kind == VALUE_TENSOR && graph_node(b->graph, value->node)->name_span.file == 0)
		graph_node(b->graph, value->node)->name_span = name.span;
}

void bind_in_scope(Build *b, const AstBind *bind) { bind_names(b, bind, name_local); }

Value eval_let_in(Build *b, const AstExpr *expr)
{
	Scope *outer = b->at.scope;
	b->at.scope = scope_new(b, outer);
	for (uint32_t i = 0; i < expr->nbinds; i++)
		bind_names(b, &expr->binds[i], name_local);
	Value value = b->named == expr ? eval_named(b, expr->args[0], b->named_as)
				       : eval(b, expr->args[0]);
	b->at.scope = outer;
	return value;
}

/* ---- with ---- */

/* The last specification before this place that has the letter; NULL: none has. */
static const Spec *other_spec(const Build *b, Sym letter)
{
	for (size_t i = b->graph->nodes.n; i-- > 0;) {
		const Spec *spec = b->graph->nodes.at[i].spec;
		if (spec && spec_has_letter(spec, letter))
			return spec;
	}
	return NULL;
}

static void list_letters(Build *b, const With *with, Sym letter)
{
	const Spec *other = other_spec(b, letter);
	for (size_t i = 0; i < with->nodes.n && i < 4; i++) {
		const Spec *spec = graph_node(b->graph, with->nodes.at[i])->spec;
		const char *letters = spec_letters(b, spec);
		if (*letters)
			diag_note(b->diags, spec->span, "this specification has %s", letters);
	}
	if (other)
		diag_note(b->diags, other->span,
			  "this one has '%s': 'with' stands in the expression that the specification is in",
			  letter);
	else if (with->nodes.n == 0)
		diag_note(b->diags, SPAN_NONE,
			  "there is no specification in the expression itself; "
			  "those of the functions that it calls are not reached by 'with'");
}

/* Has a `with` inside this one set the letter of that specification? */
static bool is_set_inside(const Build *b, const With *with, const Bind *bind)
{
	for (size_t i = with->first; i < b->graph->binds.n && bind->size; i++) {
		const Bind *inner = &b->graph->binds.at[i];
		if (inner->node == bind->node && inner->letter == bind->letter && inner->size &&
		    inner->span.start != bind->span.start)
			return true;
	}
	return false;
}

static void apply_bind(Build *b, const With *with, Bind bind)
{
	bool found = false;
	for (size_t i = 0; i < with->nodes.n; i++) {
		bind.node = with->nodes.at[i];
		if (!spec_has_letter(graph_node(b->graph, bind.node)->spec, bind.letter))
			continue;
		if (!is_set_inside(b, with, &bind))
			PUSH(b->arena, b->graph->binds, bind);
		found = true;
	}
	if (found || with->partial || b->stopped)
		return;
	diag(b->diags, E0218, bind.span, "no specification here has an axis or row variable '%s'",
	     bind.letter);
	list_letters(b, with, bind.letter);
	Sym nearest = spec_nearest_letter(b, with, bind.letter);
	if (nearest)
		diag_fix(b->diags, bind.span, nearest, "did you mean '%s'?", nearest);
}

CaptureId declare_capture(Build *b, Name name)
{
	CaptureId id = (CaptureId)b->graph->captures.n;
	PUSH(b->arena, b->graph->captures, ((Capture){name.sym, name.span, false}));
	const SizeExpr *size = size_expr_new(b, (SizeExpr){.kind = SX_CAPTURE, .span = name.span,
							   .capture = id});
	const Binding *old = scope_here(b->at.scope, name.sym);
	if (!scope_declare(b, b->at.scope, name, value_size(size, name.span)) &&
	    old->value.kind == VALUE_SIZE)
		diag_fix(b->diags, name.span, arena_printf(b->arena, "%s = %s", name.sym, name.sym),
			 "the letter has the size '%s' so", name.sym);
	return id;
}

/* Captures are visible inside the expression, so they are declared first; then the sizes that are
 * set are evaluated, then the expression, whose specifications report to `with`. */
Value eval_with(Build *b, const AstExpr *expr)
{
	With with = {.outer = b->at.withs, .expr = expr, .first = b->graph->binds.n};
	Bind *binds = ARENA_ARRAY(b->arena, Bind, expr->nbinds);
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		Name name = expr->binds[i].names[0];
		binds[i] = (Bind){.letter = name.sym, .span = name.span, .capture = CAPTURE_NONE};
		if (!expr->binds[i].value)
			binds[i].capture = declare_capture(b, name);
	}
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		if (expr->binds[i].value)
			binds[i].size = eval_size(b, expr->binds[i].value);
	}
	with.binds = binds;
	b->at.withs = &with;
	Value value = b->named == expr ? eval_named(b, expr->args[0], b->named_as)
				       : eval(b, expr->args[0]);
	b->at.withs = with.outer;
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		if ((binds[i].size || binds[i].capture != CAPTURE_NONE) &&
		    value.kind != VALUE_ERROR)
			apply_bind(b, &with, binds[i]);
	}
	return value;
}

/* ---- iterate ---- */

typedef struct Copies {
	const AstBind *bind;
	Value *carried;	  /* what the next copy starts from: one for each name of `bind` */
	VEC(Value) items; /* the tuples of all copies, one after another */
	uint32_t nitems, ncopies;
} Copies;

enum { WORK_OF_COPY = 4 };

/* One copy in a scope of its own. */
static Value eval_copy(Build *b, const AstExpr *expr, const Copies *copies, uint32_t number)
{
	Activation outer = b->at;
	b->work += WORK_OF_COPY;
	b->at.scope = scope_new(b, outer.scope);
	b->at.params = param_scope_copy(b, expr, number);
	for (uint32_t i = 0; i < copies->bind->nnames; i++)
		scope_declare(b, b->at.scope, copies->bind->names[i], copies->carried[i]);
	if (expr->name.sym)
		scope_declare(b, b->at.scope, expr->name, value_integer(number, expr->name.span));
	Value value = eval(b, expr->args[1]);
	b->at = outer;
	return value;
}

static Value stack_copies(Build *b, const AstExpr *expr, const Copies *copies, uint32_t item)
{
	NodeId *args = ARENA_ARRAY(b->arena, NodeId, copies->ncopies);
	Span *spans = ARENA_ARRAY(b->arena, Span, copies->ncopies);
	for (uint32_t i = 0; i < copies->ncopies; i++) {
		const Value *value = &copies->items.at[i * copies->nitems + item];
		args[i] = value_to_node(b, *value);
		spans[i] = value->span;
	}
	return value_node(node_stack(b, ROW_BATCH, args, spans, copies->ncopies, expr->span),
			  expr->span);
}

static Value finish_copies(Build *b, const AstExpr *expr, const Copies *copies)
{
	uint32_t ncarried = copies->bind->nnames;
	uint32_t n = copies->nitems > ncarried ? copies->nitems : ncarried;
	if (copies->items.n == 0 && ncarried == 1)
		return copies->carried[0];
	Value *items = ARENA_ARRAY(b->arena, Value, n);
	for (uint32_t i = 0; i < n; i++)
		items[i] = i < ncarried ? copies->carried[i] : stack_copies(b, expr, copies, i);
	return value_results(items, n, expr->span);
}

static bool iterate_count(Build *b, const AstExpr *expr, int64_t *count)
{
	if (!eval_integer(b, expr->args[0], "the number of copies", count))
		return false;
	if (*count >= 0 && *count <= LIMIT_ITERATE)
		return true;
	diag(b->diags, E0236, expr->args[0]->span,
	     "the number of copies is from 0 to %d, and this is %" PRId64, LIMIT_ITERATE, *count);
	return false;
}

/* The first values of a tuple, or the one value, become what the next copy starts from. */
static bool set_carried(Build *b, Copies *copies, const Value *value, Span span)
{
	bool tuple = value->kind == VALUE_TUPLE, good = true;
	for (uint32_t i = 0; i < copies->bind->nnames && good; i++) {
		Value item = tuple ? value->items[i] : *value;
		copies->carried[i] = value_node(value_to_node(b, item), tuple ? item.span : span);
		if (copies->bind->nnames == 1)
			copies->carried[0] = ascribe_bind(b, copies->bind, copies->carried[0]);
		good = copies->carried[i].kind != VALUE_ERROR;
	}
	return good;
}

/* (h, c) = x: each name starts with a value of its own. */
static void fix_carried(Build *b, const AstBind *bind)
{
	const char *value = source_text(b->diags->sources, b->arena, bind->value->span), *all = "";
	for (uint32_t i = 0; i < bind->nnames; i++)
		all = arena_printf(b->arena, "%s%s%s", all, i ? ", " : "", value);
	if (!strchr(value, '\n'))
		diag_fix(b->diags, bind->value->span, arena_printf(b->arena, "(%s)", all),
			 "a tuple has a value for each name that is carried on");
}

static bool start_copies(Build *b, Copies *copies)
{
	const AstBind *bind = copies->bind;
	Value value = eval(b, bind->value);
	copies->carried = ARENA_ARRAY(b->arena, Value, bind->nnames);
	if (value.kind == VALUE_ERROR)
		return false;
	if (bind->nnames > 1 && !bind_check_tuple(b, bind, &value)) {
		if (value.kind != VALUE_TUPLE)
			fix_carried(b, bind);
		return false;
	}
	if (bind->nnames == 1) /* a tuple is none that could be carried */
		copies->carried[0] = ascribe_bind(
			b, bind, value_node(value_to_node(b, value), bind->value->span));
	return bind->nnames == 1 ? copies->carried[0].kind != VALUE_ERROR
				 : set_carried(b, copies, &value, bind->value->span);
}

static bool check_copy(Build *b, const AstExpr *expr, const Copies *copies, uint32_t nitems)
{
	const AstBind *bind = copies->bind;
	if (nitems != copies->nitems) {
		diag(b->diags, E0222, expr->args[1]->span,
		     "copy %" PRIu32 " gives %" PRIu32 " values, and the first one gives %" PRIu32,
		     copies->ncopies - 1, nitems, copies->nitems);
		return false;
	}
	if (nitems >= bind->nnames)
		return true;
	diag(b->diags, E0222, expr->args[1]->span,
	     "this gives %" PRIu32 " value%s, and %" PRIu32 " are carried on", nitems,
	     nitems == 1 ? "" : "s", bind->nnames);
	diag_note(b->diags, span_join(bind->names[0].span, bind->names[bind->nnames - 1].span),
		  "the names");
	return false;
}

/* Takes the carried values out of a copy's result, and keeps them all; false after an error. */
static bool carry(Build *b, const AstExpr *expr, const Value *value, Copies *copies)
{
	bool tuple = value->kind == VALUE_TUPLE;
	uint32_t nitems = tuple ? value->nitems : 1;
	if (copies->ncopies++ == 0)
		copies->nitems = nitems;
	if (value->kind == VALUE_ERROR || !check_copy(b, expr, copies, nitems))
		return false;
	for (uint32_t i = 0; tuple && i < nitems; i++)
		PUSH(b->arena, copies->items, value->items[i]);
	return set_carried(b, copies, value, expr->args[1]->span);
}

Value eval_iterate(Build *b, const AstExpr *expr)
{
	int64_t count;
	Copies copies = {.bind = &expr->binds[0]};
	bool good = start_copies(b, &copies);
	if (!iterate_count(b, expr, &count))
		return value_error();
	for (uint32_t i = 0; i < count && good; i++) {
		Value value = eval_copy(b, expr, &copies, i);
		good = carry(b, expr, &value, &copies);
	}
	return good ? finish_copies(b, expr, &copies) : value_error();
}
