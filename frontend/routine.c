/* Routines: steps to assignment nodes.
 *
 * An assignment is a node with a target. Nodes of a routine run in the order of their ids, so what
 * a routine reads of the file's own tensors is computed before its steps; reading anew what depends
 * on a parameter that a step has written would need it computed again, and is refused.
 */
#include <string.h>

#include "frontend/build.h"

typedef struct Written { /* a target outside the routine, and the first step that writes it */
	NodeId target;
	Span span;
} Written;

struct RoutineBuild {
	NodeId start;        /* nodes below belong to the file */
	VEC(NodeId) writes;  /* assignment nodes */
	VEC(Written) written;
	VEC(NodeId) forward; /* evaluated before anything was written */
	VEC(NodeId) roots;
};

/* ---- reading after writing ---- */

static bool contains(const NodeId *ids, size_t n, NodeId id)
{
	for (size_t i = 0; i < n; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

/* The first step that wrote a parameter that a tensor of the file depends on; NULL: there is
 * none. */
static const Written *stale_by(Build *b, NodeId id)
{
	RoutineBuild *r = b->routine;
	if (id >= r->start || r->written.n == 0 || contains(r->forward.at, r->forward.n, id) ||
	    graph_node(b->graph, id)->nargs == 0)
		return NULL;
	Reach reach = reach_from(b, &id, 1);
	for (size_t i = 0; i < r->written.n; i++) {
		if (reach.seen[r->written.at[i].target])
			return &r->written.at[i];
	}
	return NULL;
}

/* `forward` takes the names of the file. */
static void suggest_forward(Build *b, NodeId id, Span written)
{
	Sym name = graph_node(b->graph, id)->name;
	const Binding *binding = name ? scope_find(b->at.scope, name) : NULL;
	written.end = written.start;
	if (binding && binding->value.kind == VALUE_TENSOR && binding->value.node == id)
		diag_fix(b->diags, written, arena_printf(b->arena, "forward %s; ", name),
			 "'forward %s' before that keeps what it was", name);
}

static bool check_fresh(Build *b, NodeId id, Span span)
{
	const Written *written = stale_by(b, id);
	if (!written)
		return true;
	const char *name = graph_node(b->graph, written->target)->name;
	diag(b->diags, E0917, span,
	     "this depends on '%s', which an earlier step has written: computing it again is not "
	     "supported yet", name);
	diag_note(b->diags, written->span, "'%s' is written here", name);
	suggest_forward(b, id, written->span);
	return false;
}

/* Nodes made since `first` read only what is fresh. */
static bool check_step(Build *b, NodeId first, Span span)
{
	for (NodeId id = first; id < b->graph->nodes.n && b->routine->written.n; id++) {
		const Node *node = graph_node(b->graph, id);
		for (uint32_t k = 0; k < node->nargs; k++) {
			if (!check_fresh(b, node->args[k], span))
				return false;
		}
	}
	return true;
}

/* ---- assignments ---- */

/* The operation and the operands of `f(a, b) via "..."`; any other expression is one operand. */
static Op split_operation(Build *b, const AstExpr *expr, AstExpr *const **args, uint32_t *nargs)
{
	Op op = OP_NONE;
	*args = expr->args;
	*nargs = expr->nargs;
	if (expr->kind == AST_BINARY || expr->kind == AST_UNARY)
		op = expr->op;
	else if (expr->kind == AST_COMPOSE)
		op = OP_MUL;
	else if (expr->kind == AST_CALL && expr->args[0]->kind == AST_NAME &&
		 !scope_find(b->at.scope, expr->args[0]->name.sym)) {
		const char *name = expr->args[0]->name.sym;
		op = op_from_name(name, strlen(name));
		*args = expr->args + 1;
		*nargs = expr->nargs - 1;
	}
	return op != OP_NONE && (uint32_t)op_arity(op) == *nargs ? op : OP_NONE;
}

static Op reduce_of(Op acc)
{
	switch (acc) {
	case OP_MUL:
	case OP_DIV: return OP_MUL;
	case OP_MAX:
	case OP_MIN:
	case OP_AND:
	case OP_OR: return acc;
	default: return OP_ADD;
	}
}

static NodeId eval_via(Build *b, const AstStep *step)
{
	AstExpr *const *args;
	uint32_t nargs;
	NodeId nodes[3];
	Span spans[3];
	Op op = split_operation(b, step->expr, &args, &nargs);
	if (op == OP_NONE) {
		op = OP_ID;
		args = (AstExpr *const *)&step->expr;
		nargs = 1;
	}
	SpecParts parts = {.op = op, .reduce = reduce_of(step->acc), .args = nodes, .spans = spans,
			   .nargs = nargs, .span = step->span, .op_span = step->op_span};
	bool good = true;
	for (uint32_t i = 0; i < nargs; i++) {
		nodes[i] = eval_node(b, args[i]);
		spans[i] = args[i]->span;
		good = good && nodes[i] != NODE_NONE;
	}
	parts.spec = step->via->kind == AST_STRING ? spec_resolve(b, step->via) : NULL;
	if (!good || !parts.spec || !spec_check_count(b, parts.spec, nargs, step->expr->span))
		return NODE_NONE;
	NodeId id = form_spec_node(b, &parts);
	if (id == NODE_NONE)
		return id;
	if (nargs == 1 && op != OP_ID)
		graph_node(b->graph, id)->op = op;
	node_settle(b, id, DTYPE_NONE);
	return id;
}

static NodeId own_tensor(Build *b, const AstStep *step, Dtype dtype)
{
	Name name = step->target->name;
	name.span = step->target->span;
	NodeId id = node_new(b, NODE_ZEROS, name.span, name.span);
	graph_node(b->graph, id)->dtype = dtype;
	node_name(b, id, name.sym, name.span);
	if (!scope_declare(b, b->at.scope, name, value_node(id, name.span)))
		return NODE_NONE;
	scope_here(b->at.scope, name.sym)->kind = BINDING_OWN;
	return id;
}

/* The tensor on the left: a parameter, or the routine's own. Made on its first assignment. */
static NodeId find_target(Build *b, const AstStep *step, bool *fresh)
{
	const AstExpr *target = step->target;
	bool known = target->kind != AST_NAME || scope_find(b->at.scope, target->name.sym);
	*fresh = !known && !scope_declares_later(b, target->name);
	if (*fresh)
		return NODE_NONE;
	NodeId id = target->kind == AST_NAME || target->kind == AST_MEMBER ? eval_node(b, target)
									   : NODE_NONE;
	const Node *node = id == NODE_NONE ? NULL : graph_node(b->graph, id);
	if (node && (node->kind == NODE_PARAM || node->kind == NODE_ZEROS))
		return id;
	if (!node && (target->kind == AST_NAME || target->kind == AST_MEMBER))
		return NODE_NONE;
	diag(b->diags, E0234, target->span,
	     "only parameters and a routine's own tensors can be assigned");
	if (node && node->name)
		diag_note(b->diags, node->name_span, "'%s' is declared here", node->name);
	return NODE_NONE;
}

/* Without `via` the operation's default applies, and its result is copied. */
static NodeId copy_node(Build *b, const AstStep *step, NodeId value, Dtype dtype)
{
	value = node_cast(b, value, dtype, step->expr->span);
	return node_pointwise(b, OP_ID, &value, &step->expr->span, 1, step->span, step->op_span);
}

/* A target of storage: what is added to it is added to its widened value, and rounded once. */
static NodeId accumulated(Build *b, const AstStep *step, NodeId target, NodeId value)
{
	NodeId args[2] = {target, value};
	Span spans[2] = {step->target->span, step->expr->span};
	if (step->clear) {
		Dtype dtype = dtype_wide(node_dtype(b, target));
		Scalar neutral = op_neutral(step->acc, dtype);
		args[0] = node_new(b, NODE_NUMBER, spans[0], spans[0]);
		Node *number = graph_node(b->graph, args[0]);
		number->is_integer = dtype_is_integer(dtype);
		number->integer = number->is_integer ? neutral.i : 0;
		number->number = number->is_integer ? (double)neutral.i : neutral.f;
	}
	return node_pointwise(b, step->acc, args, spans, 2, step->span, step->op_span);
}

static bool check_target_dtype(Build *b, const AstStep *step, NodeId id, NodeId target)
{
	Dtype left = node_dtype(b, target), right = node_dtype(b, id);
	if (left == right)
		return true;
	diag(b->diags, E0231, step->span,
	     "the left side is %s and the right side %s: write a cast %s(...)", dtype_name(left),
	     dtype_name(right), dtype_name(left));
	diag_note(b->diags, graph_node(b->graph, target)->name_span,
		  "the left side is declared here");
	return false;
}

static void add_write(Build *b, NodeId id, Span span)
{
	RoutineBuild *r = b->routine;
	NodeId target = graph_node(b->graph, id)->target;
	bool known = target >= r->start;
	PUSH(b->arena, r->writes, id);
	for (size_t i = 0; i < r->written.n; i++)
		known = known || r->written.at[i].target == target;
	if (!known)
		PUSH(b->arena, r->written, ((Written){target, span}));
}

static void eval_assign(Build *b, const AstStep *step)
{
	bool fresh;
	NodeId first = (NodeId)b->graph->nodes.n;
	NodeId target = find_target(b, step, &fresh);
	if (target == NODE_NONE && !fresh)
		return;
	/* The value is made before a new target, so that it cannot read it. */
	NodeId value = step->via ? NODE_NONE : eval_node(b, step->expr);
	if (!step->via && (value == NODE_NONE || refuses_words(b, &value, &step->expr->span, 1)))
		return;
	NodeId id = step->via ? eval_via(b, step) : NODE_NONE;
	if (step->via && id == NODE_NONE)
		return;
	if (fresh) {
		node_settle(b, step->via ? id : value, DTYPE_NONE);
		target = own_tensor(b, step, node_dtype(b, step->via ? id : value));
	}
	if (target == NODE_NONE)
		return;
	if (step->via && fresh)
		id = node_move_last(b, id);
	Op acc = step->acc;
	Dtype dtype = node_dtype(b, target);
	if (!step->via && acc != OP_NONE && dtype_wide(dtype) != dtype) {
		value = accumulated(b, step, target, value);
		acc = OP_NONE;
	}
	if (!step->via)
		id = copy_node(b, step, value, dtype);
	if (!check_target_dtype(b, step, id, target) || !check_step(b, first, step->span))
		return;
	Node *node = graph_node(b->graph, id);
	node->target = target;
	node->acc = acc;
	node->clear = step->clear && acc == step->acc;
	add_write(b, id, step->span);
}

/* ---- other steps ---- */

static void eval_forward(Build *b, const AstStep *step)
{
	const Binding *binding = scope_find(b->at.scope, step->name.sym);
	if (!binding) {
		scope_report_unknown(b, step->name);
		return;
	}
	Value value = binding->value;
	value.span = step->name.span;
	NodeId id = value_to_node(b, value);
	if (id == NODE_NONE)
		return;
	bool again = b->routine->written.n &&
		     contains(b->routine->forward.at, b->routine->forward.n, id);
	if (again)
		b->routine->forward.n = 0;
	if (!check_fresh(b, id, step->span))
		return;
	PUSH(b->arena, b->routine->forward, id);
	PUSH(b->arena, b->routine->roots, id);
}

/* The place and the target, as it is written. */
static Sym target_place(Build *b, Sym place, const AstExpr *target)
{
	if (target->kind == AST_MEMBER)
		place = target_place(b, place, target->args[0]);
	else if (target->kind != AST_NAME)
		return place;
	return sym_printf(b->symbols, "%s.%s", place, target->name.sym);
}

/* The place of a step is its routine and its target. */
static void eval_placed(Build *b, const AstStep *step)
{
	Sym place = b->place;
	b->place = target_place(b, place, step->target);
	eval_assign(b, step);
	b->place = place;
}

static void eval_step(Build *b, const AstStep *step)
{
	switch (step->kind) {
	case STEP_ASSIGN: eval_placed(b, step); break;
	case STEP_FORWARD: eval_forward(b, step); break;
	case STEP_BACKWARD:
		diag(b->diags, E0913, step->span, "'backward' is not supported yet");
		break;
	case STEP_INIT: diag(b->diags, E0914, step->span, "'init' is not supported yet"); break;
	case STEP_FOR:
		diag(b->diags, E0914, step->span, "'for' over parameters is not supported yet");
		break;
	case STEP_CALL:
		diag(b->diags, E0914, step->span,
		     "a routine that calls a routine is not supported yet");
		break;
	case STEP_ERROR: break;
	}
}

/* ---- the statement ---- */

bool routine_name_is_free(Build *b, Name name)
{
	for (size_t i = 0; i < b->graph->routines.n; i++) {
		const Routine *old = &b->graph->routines.at[i];
		if (old->name != name.sym)
			continue;
		diag(b->diags, E0202, name.span, "the routine '%s' is declared twice", name.sym);
		diag_note(b->diags, old->span, "'%s' is declared here first", name.sym);
		return false;
	}
	return true;
}

static Dtype scalar_dtype(Build *b, const AstParam *param)
{
	Dtype dtype = written_dtype(b, param->dtype, param->name.span);
	if (dtype_wide(dtype) == dtype)
		return dtype;
	diag(b->diags, E0911, param->name.span,
	     "a scalar cannot be %s yet; f64, f32 and i32 are supported", dtype_name(dtype));
	return dtype_wide(dtype);
}

static ScalarArg *declare_scalars(Build *b, const AstStmt *stmt)
{
	ScalarArg *scalars = ARENA_ARRAY(b->arena, ScalarArg, stmt->nconfigs);
	for (uint32_t i = 0; i < stmt->nconfigs; i++) {
		const AstParam *param = &stmt->configs[i];
		Dtype dtype = scalar_dtype(b, param);
		uint32_t clash = name_index_get(&b->entries, param->name.sym);
		if (clash != UINT32_MAX) {
			diag(b->diags, E0202, param->name.span,
			     "'%s' is declared twice: inputs, parameters, "
			     "dims and scalars share one set of names",
			     param->name.sym);
			diag_note(b->diags, b->entry_spans.at[clash], "'%s' is declared here first",
				  param->name.sym);
		}
		scalars[i] = (ScalarArg){param->name.sym, param->name.span, dtype};
		NodeId id = node_new(b, NODE_SCALAR, param->name.span, param->name.span);
		graph_node(b->graph, id)->dtype = dtype;
		graph_node(b->graph, id)->scalar_index = i;
		node_name(b, id, param->name.sym, param->name.span);
		Value value = value_node(id, param->name.span);
		value.scales = true;
		scope_declare(b, b->at.scope, param->name, value);
	}
	return scalars;
}

static bool find_results(Build *b, const AstStmt *stmt, Routine *routine)
{
	routine->noutputs = stmt->nnames;
	routine->outputs = ARENA_ARRAY(b->arena, NodeId, stmt->nnames);
	routine->output_names = ARENA_ARRAY(b->arena, Sym, stmt->nnames);
	routine->output_spans = ARENA_ARRAY(b->arena, Span, stmt->nnames);
	for (uint32_t i = 0; i < stmt->nnames; i++) {
		Name name = stmt->names[i];
		Binding *binding = scope_find(b->at.scope, name.sym);
		if (!binding) {
			diag(b->diags, E0235, name.span,
			     "the result '%s' is neither assigned in the routine nor declared",
			     name.sym);
			return false;
		}
		Value value = binding->value;
		value.span = name.span;
		routine->outputs[i] = value_to_node(b, value);
		routine->output_names[i] = name.sym;
		routine->output_spans[i] = name.span;
		if (routine->outputs[i] == NODE_NONE ||
		    !check_fresh(b, routine->outputs[i], name.span))
			return false;
		PUSH(b->arena, b->routine->roots, routine->outputs[i]);
	}
	return true;
}

void eval_routine(Build *b, const AstStmt *stmt)
{
	if (!routine_name_is_free(b, stmt->name))
		return;
	Activation outer = b->at;
	RoutineBuild state = {.start = (NodeId)b->graph->nodes.n};
	Routine routine = {
		.name = stmt->name.sym, .span = stmt->name.span, .nscalars = stmt->nconfigs};
	b->routine = &state;
	b->place = stmt->name.sym;
	b->at.scope = scope_new(b, outer.scope);
	routine.scalars = declare_scalars(b, stmt);
	for (uint32_t i = 0; i < stmt->nsteps && limits_hold(b, stmt->steps[i].span); i++)
		eval_step(b, &stmt->steps[i]);
	bool good = find_results(b, stmt, &routine);
	b->at = outer;
	b->routine = NULL;
	b->place = NULL;
	for (size_t i = 0; i < state.writes.n; i++)
		PUSH(b->arena, state.roots, state.writes.at[i]);
	if (good)
		routine_add(b, routine, state.roots.at, state.roots.n);
}
