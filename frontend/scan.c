/* Loops at run time: scan(n, h = x, i) until (c) { E }.
 *
 * What is carried is a tensor of its own, which an assignment sets before the loop and another at the end
 * of each step; what E gives beside it goes into a tensor of n of them, the step's into its own place. The
 * number of the step is a dim that stands for it, so that it may be written wherever a size may be, and
 * tensors are read and written at places that it gives.
 *
 *   h =: x                          before
 *   nodes of E, h =: E[0]           in each step
 *   all =: E[1] via "...=> z + i, ..."
 *
 * A step may write what is carried before its end: h =ACC F via "spec" in E. That goes into the tensor itself, so nothing of
 * it is copied, and behind it the tensor is what the write has left. The grammar has it where no value is in hand that would be
 * read behind it: at the beginning of the body, and behind the `in` of a `let` or of another write there.
 *
 * Every node that depends on neither what is carried nor the number of the step stays outside the loop.
 */
#include <string.h>

#include "frontend/ascribe.h"
#include "frontend/eval.h"
#include "frontend/late_dims.h"
#include "frontend/nodes.h"
#include "frontend/passed.h"
#include "frontend/scan.h"
#include "frontend/specs.h"
#include "frontend/windows.h"

enum { LOOPS_MOST = 1000 };

typedef struct Scan {
	const AstExpr *expr;
	const AstBind *bind;
	uint32_t loop;
	NodeId first; /* of the nodes of E */
	size_t first_bind;
	NodeId *carried;
	Carrying carrying;
	VEC(Value) results;
} Scan;

static GraphLoop *loop_of(Build *b, const Scan *scan) { return &b->graph->loops.at[scan->loop]; }

/* ---- the number of a step ---- */

static const SizeExpr *step_of(Build *b, const Scan *scan, Span span)
{
	return size_expr_new(
		b, (SizeExpr){.kind = SX_DIM, .span = span, .dim = loop_of(b, scan)->step});
}

/* ---- tensors that the loop sets ---- */

static const ShapeDecl *shape_of(Build *b, const SizeExpr *count, bool number, Span span)
{
	ShapeDecl *decl = ARENA_NEW(b->arena, ShapeDecl);
	decl->span = span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		decl->rows[kind] = (DeclRow){.var_at = number ? -1 : 0};
	if (!count)
		return decl;
	DeclRow *batch = &decl->rows[ROW_BATCH];
	batch->axes = ARENA_NEW(b->arena, DeclAxis);
	*batch->axes = (DeclAxis){.span = span, .size = count};
	batch->naxes = 1;
	batch->var_at = 1;
	return decl;
}

/* It belongs to the loop around. */
static NodeId own_tensor(Build *b, const Scan *scan, Dtype dtype, const ShapeDecl *shape, Span span,
			 Carried carried)
{
	NodeId id = node_new(b, NODE_ZEROS, span, span);
	Node *node = graph_node(b->graph, id);
	node->dtype = dtype;
	node->shape = shape;
	node->loop = loop_of(b, scan)->parent;
	carried.tensor = id;
	PUSH(b->arena, b->graph->carried, carried);
	graph_node(b->graph, id)->carried = (uint32_t)b->graph->carried.n;
	return id;
}

/* tensor =: value; exact: of the tensor's own shape, else it may broadcast. */
static NodeId assign(Build *b, NodeId tensor, NodeId value, Span span, bool exact)
{
	value = node_cast(b, value, node_dtype(b, tensor), span);
	NodeId id = node_pointwise(b, OP_ID, &value, &span, 1, span, span);
	graph_node(b->graph, id)->target = tensor;
	graph_node(b->graph, id)->exact = exact;
	return id;
}

/* ---- the specification that puts a step's result into its place ---- */

static SpecRow any_row(Build *b, const char *var, Span span)
{
	return (SpecRow){.var_at = 0, .var = sym_cstr(b->symbols, var), .written = true, .span = span};
}

static SpecTensor any_tensor(Build *b, Span span)
{
	SpecTensor tensor = {.span = span};
	tensor.rows[ROW_BATCH] = any_row(b, "batch", span);
	tensor.rows[ROW_OUTPUT] = any_row(b, "output", span);
	tensor.rows[ROW_INPUT] = any_row(b, "input", span);
	return tensor;
}

/* "... => place + step, ..." of one place. */
static Spec *stack_spec(Build *b, const Scan *scan, Sym place, Span span)
{
	Spec *spec = ARENA_NEW(b->arena, Spec);
	SpecAxis *axis = ARENA_NEW(b->arena, SpecAxis);
	const SizeExpr *step = step_of(b, scan, span);
	*axis = (SpecAxis){
		.kind = SPEC_AFFINE, .span = span, .letter = place, .stride = 1, .shift = step};
	spec->span = span;
	spec->operands = ARENA_NEW(b->arena, SpecTensor);
	spec->noperands = 1;
	spec->operands[0] = any_tensor(b, span);
	spec->result = any_tensor(b, span);
	spec->result.rows[ROW_BATCH].axes = axis;
	spec->result.rows[ROW_BATCH].naxes = 1;
	spec->result.rows[ROW_BATCH].var_at = 1;
	return spec;
}

/* The tensor of n results, of which each step sets its own. */
static Value stack(Build *b, const Scan *scan, Value value)
{
	Span span = value.span;
	NodeId arg = value_to_node(b, value);
	if (arg == NODE_NONE)
		return value_error();
	node_settle(b, arg, DTYPE_NONE);
	NodeId tensor = own_tensor(b, scan, node_dtype(b, arg),
				   shape_of(b, loop_of(b, scan)->count, false, span), span,
				   (Carried){.first = NODE_NONE, .whole = true});
	Sym place = sym_cstr(b->symbols, "place");
	SpecParts parts = {.spec = stack_spec(b, scan, place, span), .op = OP_ID, .reduce = OP_ADD,
			   .args = &arg, .spans = &span, .nargs = 1, .span = span, .op_span = span,
			   .keeps = true};
	With *withs = b->at.withs;
	b->at.withs = NULL;
	NodeId id = form_spec_node(b, &parts);
	b->at.withs = withs;
	if (id == NODE_NONE)
		return value_error();
	node_settle(b, id, DTYPE_NONE);
	graph_node(b->graph, id)->target = tensor;
	graph_carried(b->graph, tensor)->step = id;
	PUSH(b->arena, b->graph->binds,
	     ((Bind){.node = id, .letter = place, .span = span,
		     .size = size_expr_number(b, 1, span), .capture = CAPTURE_NONE}));
	return value_node(tensor, span);
}

/* ---- before the loop ---- */

/* It is from 0 to 2^31, as the number of a step is a dim; a dim itself is. */
static void require_count(Build *b, const SizeExpr *count)
{
	if (count->kind == SX_DIM || count->kind == SX_NUMBER || count->kind == SX_CAPTURE)
		return;
	size_require_least(b, count, 0, "a number of steps");
	PUSH(b->arena, b->graph->requires,
	     ((Require){REQUIRE_GE, size_expr_number(b, DIM_MOST, count->span), count, count->span,
			false, "a number of steps"}));
}

static bool set_count(Build *b, const AstExpr *expr, GraphLoop *loop)
{
	Value count = eval_wanting_size(b, expr);
	int64_t number;
	bool known = value_get_integer(&count, &number);
	loop->count_span = expr->span;
	if (count.kind == VALUE_ERROR)
		return false;
	if (known && (number < 0 || number > DIM_MOST)) {
		diag(b->diags, E0245, expr->span,
		     "the number of steps is from 0 to 2^31, and this is %lld", (long long)number);
		return false;
	}
	if (known)
		loop->count = size_expr_number(b, number, expr->span);
	else if (count.kind == VALUE_SIZE)
		loop->count = count.size;
	else if (!(loop->count = value_of_scalars(b, &count))) {
		diag(b->diags, E0245, expr->span,
		     "the number of steps is a size or a sum of integer scalars of a routine, and this is %s",
		     value_describe(&count));
		return false;
	}
	require_count(b, loop->count);
	loop->most = late_dims_most(b, loop->count);
	return true;
}

static bool open_loop(Build *b, Scan *scan)
{
	const AstExpr *expr = scan->expr;
	GraphLoop loop = {
		.span = expr->op_span, .parent = b->at.loop, .until = NODE_NONE, .made = NODE_NONE};
	Sym name = expr->name.sym ? expr->name.sym : sym_cstr(b->symbols, "step");
	if (!set_count(b, expr->args[0], &loop))
		return false;
	if (b->graph->loops.n > LOOPS_MOST) {
		diag(b->diags, E0236, expr->op_span, "a program has at most %d loops", LOOPS_MOST);
		return false;
	}
	loop.name = name;
	loop.name_span = expr->name.sym ? expr->name.span : expr->op_span;
	loop.step = late_dim_new(b, (Dim){name, loop.name_span, 0, DIM_STEP});
	scan->loop = (uint32_t)b->graph->loops.n;
	PUSH(b->arena, b->graph->loops, loop);
	return true;
}

/* The value that `h = x` starts with, as a tensor of the dtype that it keeps. */
static bool start_one(Build *b, Scan *scan, uint32_t i, Value value)
{
	Name name = scan->bind->names[i];
	NodeId start = value_to_node(b, value);
	if (start == NODE_NONE)
		return false;
	node_settle(b, start, DTYPE_NONE);
	NodeId tensor = own_tensor(b, scan, node_dtype(b, start), NULL, name.span, (Carried){0});
	node_name(b, tensor, name.sym, name.span);
	NodeId first = assign(b, tensor, start, value.span, false);
	graph_carried(b->graph, tensor)->first = first;
	graph_carried(b->graph, tensor)->step = NODE_NONE;
	scan->carried[i] = tensor;
	return first != NODE_NONE;
}

static bool start_all(Build *b, Scan *scan)
{
	const AstBind *bind = scan->bind;
	Value value = eval(b, bind->value);
	bool good = value.kind != VALUE_ERROR;
	if (bind->nnames > 1 && good && !bind_check_tuple(b, bind, &value))
		return false;
	scan->carried = ARENA_ARRAY(b->arena, NodeId, bind->nnames);
	for (uint32_t i = 0; i < bind->nnames && good; i++) {
		Value item = bind->nnames > 1 ? value.items[i] : value;
		item.span = bind->nnames > 1 ? item.span : bind->value->span;
		if (bind->nnames == 1)
			item = ascribe_written(b, item,
					       &(Ascribed){bind->names[0], bind->shape, bind->dtype,
							   bind->type_span});
		good = item.kind != VALUE_ERROR && start_one(b, scan, i, item);
	}
	return good;
}

/* ---- a step ---- */

static void declare_step(Build *b, const Scan *scan, const Value *values)
{
	const AstExpr *expr = scan->expr;
	b->at.scope = scope_new(b, b->at.scope);
	for (uint32_t i = 0; i < scan->bind->nnames; i++)
		scope_declare(b, b->at.scope, scan->bind->names[i],
			      values ? values[i]
				     : value_node(scan->carried[i], scan->bind->names[i].span));
	if (!expr->name.sym)
		return;
	const SizeExpr *step = step_of(b, scan, expr->name.span);
	scope_declare(b, b->at.scope, expr->name, value_size(step, expr->name.span));
}

static bool check_results(Build *b, const Scan *scan, const Value *value, uint32_t n)
{
	const GraphLoop *loop = loop_of(b, scan);
	uint32_t ncarried = scan->bind->nnames;
	Span body = scan->expr->args[1]->span;
	if (n < ncarried) {
		diag(b->diags, E0222, body, "this gives %u value%s, and %u are carried on", n,
		     n == 1 ? "" : "s", ncarried);
		diag_note(b->diags, span_join(scan->bind->names[0].span,
					      scan->bind->names[ncarried - 1].span), "the names");
		return false;
	}
	bool late = size_is_late(loop->count);
	if (n == ncarried || (!late && scan->expr->nargs < 3))
		return true;
	diag(b->diags, E0245, value->items[ncarried].span,
	     "this would be stacked, a result of each step, and how many steps there are is known only when it runs");
	if (scan->expr->nargs > 2)
		diag_note(b->diags, scan->expr->args[2]->span, "the loop ends early because of this");
	else
		diag_note(b->diags, loop->count_span, "the number of steps is a scalar here, not a size");
	return false;
}

/* What the i-th carried tensor starts with, where it is written by itself; else NULL. */
static const AstExpr *start_of(const AstBind *bind, uint32_t i)
{
	const AstExpr *all = bind->value;
	if (bind->nnames == 1)
		return all;
	return all->kind == AST_TUPLE && all->nargs == bind->nnames ? all->args[i] : NULL;
}

/* Nothing makes a number less than it is but a cast. */
static bool check_dtype(Build *b, const Scan *scan, uint32_t i, Value item)
{
	Dtype kept = node_dtype(b, scan->carried[i]), given = node_dtype(b, item.node);
	if (given == kept || (dtype_wide(kept) == kept && dtype_join(kept, given) == kept))
		return true;
	diag(b->diags, E0245, item.span,
	     "'%s' is carried on as %s, and the step gives %s", scan->bind->names[i].sym,
	     dtype_name(kept), dtype_name(given));
	diag_note(b->diags, graph_node(b->graph, scan->carried[i])->name_span, "it starts as %s here",
		  dtype_name(kept));
	const AstExpr *start = start_of(scan->bind, i);
	if (start)
		diag_fix(b->diags, start->span,
			 arena_printf(b->arena, "%s(%s)", dtype_name(given),
				      source_text(b->sources, b->arena, start->span)),
			 "it could start as %s", dtype_name(given));
	return false;
}

/* A carried tensor that is given as it is must be read before any is set. */
static NodeId as_computed(Build *b, const Scan *scan, NodeId id, Span span)
{
	for (uint32_t i = 0; i < scan->bind->nnames; i++)
		if (scan->carried[i] == id)
			return node_pointwise(b, OP_ID, &id, &span, 1, span, span);
	return id;
}

/* Is it what the steps before have made of the tensor, as it stands there? */
static bool stands_written(const Scan *scan, uint32_t i, NodeId id)
{
	return i < scan->bind->nnames && scan->carrying.nwrites[i] && scan->carried[i] == id;
}

/* The tensor as the next step has it. */
static bool carry_on(Build *b, const Scan *scan, uint32_t i, Value item)
{
	bool stands = stands_written(scan, i, item.node);
	NodeId step = stands ? scan->carrying.writes[i]
			     : assign(b, scan->carried[i], item.node, item.span, true);
	Carried *carried = graph_carried(b->graph, scan->carried[i]);
	carried->step = step;
	carried->written = scan->carrying.nwrites[i] > stands;
	return step != NODE_NONE;
}

/* What E gives: first all values, then what they are assigned to. */
static bool end_step(Build *b, Scan *scan, const Value *value)
{
	bool tuple = value->kind == VALUE_TUPLE, good = value->kind != VALUE_ERROR;
	uint32_t n = tuple ? value->nitems : 1, ncarried = scan->bind->nnames;
	if (!good || !check_results(b, scan, value, n))
		return false;
	Value *items = ARENA_ARRAY(b->arena, Value, n);
	for (uint32_t i = 0; i < n && good; i++) {
		items[i] = tuple ? value->items[i] : *value;
		items[i].span = tuple ? items[i].span : scan->expr->args[1]->span;
		NodeId id = value_to_node(b, items[i]);
		good = id != NODE_NONE;
		if (!good)
			break;
		node_settle(b, id, i < ncarried ? node_dtype(b, scan->carried[i]) : DTYPE_NONE);
		if (!stands_written(scan, i, id))
			id = as_computed(b, scan, id, items[i].span);
		items[i] = value_node(id, items[i].span);
		good = i >= ncarried || check_dtype(b, scan, i, items[i]);
	}
	for (uint32_t i = ncarried; i < n && good; i++) {
		PUSH(b->arena, scan->results, stack(b, scan, items[i]));
		good = scan->results.at[scan->results.n - 1].kind != VALUE_ERROR;
	}
	for (uint32_t i = 0; i < ncarried && good; i++)
		good = carry_on(b, scan, i, items[i]);
	return good;
}

/* ---- steps that write what is carried ---- */

static void note_names(Build *b, const AstBind *bind)
{
	diag_note(b->diags, span_join(bind->names[0].span, bind->names[bind->nnames - 1].span),
		  "the scan carries %s", bind->nnames > 1 ? "these" : "this");
}

/* Its place among what the scan around carries; -1 after an error. */
static int64_t find_written(Build *b, const AstExpr *expr)
{
	const Carrying *carrying = b->at.carrying;
	Name name = expr->steps->target->name;
	Binding *binding = scope_find(b->at.scope, name.sym);
	for (uint32_t i = 0; i < carrying->bind->nnames; i++)
		if (carrying->bind->names[i].sym == name.sym &&
		    binding == scope_here(carrying->scope, name.sym))
			return i;
	if (!binding) {
		scope_report_unknown(b, name);
	} else {
		diag(b->diags, E0234, name.span,
		     "a step of scan writes what the scan carries, and '%s' is not", name.sym);
		diag_note(b->diags, binding->span, "'%s' is declared here", name.sym);
	}
	note_names(b, carrying->bind);
	return -1;
}

Value eval_write(Build *b, const AstExpr *expr)
{
	const AstStep *step = expr->steps;
	int64_t at = find_written(b, expr);
	if (at < 0)
		return value_error();
	Carrying *carrying = b->at.carrying;
	NodeId tensor = carrying->tensors[at];
	scan_keep_old(b, tensor, step->target->name.sym, step->target->span);
	NodeId id = b->assign_to(b, step, tensor);
	if (id == NODE_NONE)
		return value_error();
	carrying->writes[at] = id;
	carrying->nwrites[at]++;
	return eval(b, expr->args[0]);
}

/* ---- until ---- */

static NodeId own_number(Build *b, const Scan *scan, const char *name, NodeId value, Span span)
{
	NodeId tensor = own_tensor(b, scan, DTYPE_I32, shape_of(b, NULL, true, span), span,
				   (Carried){.first = NODE_NONE});
	node_name(b, tensor, sym_cstr(b->symbols, name), span);
	NodeId step = assign(b, tensor, value, span, true);
	graph_carried(b->graph, tensor)->step = step;
	return step == NODE_NONE ? NODE_NONE : tensor;
}

/* steps =: i + 1, and whether it ends: of what the step has left. */
static bool end_until(Build *b, Scan *scan)
{
	const AstExpr *condition = scan->expr->args[2];
	Span span = condition->span;
	declare_step(b, scan, NULL);
	const AstExpr *outer = b->stepped;
	b->stepped = scan->expr->args[1];
	NodeId value = eval_node(b, condition);
	b->stepped = outer;
	if (value == NODE_NONE)
		return false;
	node_settle(b, value, DTYPE_NONE);
	NodeId zero = value_to_node(b, value_integer(0, span));
	NodeId ends = node_pointwise(b, OP_NE, (NodeId[]){value, zero}, (Span[]){span, span}, 2, span,
				     span);
	if (ends == NODE_NONE)
		return false;
	node_settle(b, ends, DTYPE_I32);
	NodeId until = own_number(b, scan, "until", node_cast(b, ends, DTYPE_I32, span), span);
	const SizeExpr *step = step_of(b, scan, span);
	const SizeExpr *next = size_expr_of(b, SX_ADD, step, size_expr_number(b, 1, span));
	NodeId count = value_to_node(b, value_size(next, span));
	node_settle(b, count, DTYPE_I64); /* which holds any number of steps */
	NodeId steps = own_number(b, scan, "steps", node_cast(b, count, DTYPE_I32, span), span);
	if (until == NODE_NONE || steps == NODE_NONE)
		return false;
	loop_of(b, scan)->until = until;
	PUSH(b->arena, scan->results, value_node(steps, scan->expr->span));
	return true;
}

/* ---- all ---- */

static Value result_of(Build *b, const Scan *scan)
{
	uint32_t n = scan->bind->nnames + (uint32_t)scan->results.n;
	Value *items = ARENA_ARRAY(b->arena, Value, n);
	for (uint32_t i = 0; i < n; i++)
		items[i] = i < scan->bind->nnames
				   ? value_node(scan->carried[i], scan->expr->span)
				   : scan->results.at[i - scan->bind->nnames];
	if (n == 1)
		return items[0];
	return value_results(items, n, scan->expr->span);
}

/* Behind this the body's steps may write what is carried. */
static void open_body(Build *b, Scan *scan)
{
	uint32_t n = scan->bind->nnames;
	scan->carrying = (Carrying){.scope = b->at.scope,
				    .bind = scan->bind,
				    .tensors = scan->carried,
				    .writes = ARENA_ARRAY(b->arena, NodeId, n),
				    .nwrites = ARENA_ARRAY(b->arena, uint32_t, n)};
	b->at.carrying = &scan->carrying;
}

Value eval_scan(Build *b, const AstExpr *expr)
{
	Scan scan = {.expr = expr, .bind = &expr->binds[0]};
	if (!open_loop(b, &scan) || !start_all(b, &scan))
		return value_error();
	Activation outer = b->at;
	b->at.loop = scan.loop;
	scan.first = (NodeId)b->graph->nodes.n;
	scan.first_bind = b->graph->binds.n;
	declare_step(b, &scan, NULL);
	open_body(b, &scan);
	Value value = eval(b, expr->args[1]);
	bool good = end_step(b, &scan, &value) && (expr->nargs < 3 || end_until(b, &scan));
	b->at = outer;
	if (!good)
		return value_error();
	scan_enclose(b, &(StepNodes){.loop = scan.loop,
				     .first = scan.first,
				     .first_bind = scan.first_bind,
				     .carried = scan.carried,
				     .ncarried = scan.bind->nnames});
	return result_of(b, &scan);
}
