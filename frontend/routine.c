/* Routines: their scalars, their steps in order (assign.c), their results.
 *
 * Nodes of a routine run in the order of their ids, so what a routine reads of the file's own
 * tensors is computed before its steps. What depends on a parameter that a step has written is
 * refused there, but for `forward` and `backward`, which compute it anew (anew.c).
 */
#include "frontend/anew.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/training.h"

typedef struct Written { /* a target outside the routine, and the first step that writes it */
	NodeId target;
	Span span;
	Span step; /* of the routine's own that it is, or is in */
} Written;

struct RoutineBuild {
	NodeId start;        /* nodes below belong to the file */
	int nerrors;	     /* before its first step */
	Span step;	     /* of its own steps, the one at hand */
	VEC(NodeId) writes;  /* assignment nodes */
	VEC(Written) written;
	VEC(NodeId) forward; /* evaluated, and copies */
	Anew anew;
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

/* Is it computed from nothing? What a loop sets has no operands. */
static bool is_leaf(const Build *b, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	return node->nargs == 0 && !node->carried;
}

/* The first step that wrote a parameter that a tensor of the file depends on; NULL: there is
 * none. */
static const Written *stale_by(Build *b, NodeId id)
{
	RoutineBuild *r = b->routine;
	if (id >= r->start || r->written.n == 0 || contains(r->forward.at, r->forward.n, id) ||
	    is_leaf(b, id))
		return NULL;
	Reach reach = reach_from(b, &id, 1);
	for (size_t i = 0; i < r->written.n; i++) {
		if (reach_has(b, &reach, r->written.at[i].target))
			return &r->written.at[i];
	}
	return NULL;
}

static Span before(Span span) { return (Span){span.file, span.start, span.start}; }

/* `forward` takes the names of the file. Requires: the tensor is read in a step of the routine's own, or is its result. */
static void suggest_forward(Build *b, NodeId id, Span written)
{
	Sym name = graph_node(b->graph, id)->name;
	const Binding *binding = name ? scope_find(b->at.scope, name) : NULL;
	if (!binding || binding->value.kind != VALUE_TENSOR || binding->value.node != id)
		return;
	const char *step = arena_printf(b->arena, "forward %s; ", name);
	diag_fix(b->diags, before(written), step, "'forward %s' before that keeps what it was",
		 name);
	if (b->routine->step.start > written.start)
		diag_fix(b->diags, before(b->routine->step), step,
			 "'forward %s' behind it computes it anew", name);
}

static bool check_fresh(Build *b, NodeId id, Span span)
{
	const Written *written = stale_by(b, id);
	if (!written)
		return true;
	const char *name = graph_node(b->graph, written->target)->name;
	diag(b->diags, E0917, span,
	     "this depends on '%s', which an earlier step has written: is it what it was, or computed "
	     "anew?",
	     name);
	diag_note(b->diags, written->span, "'%s' is written here", name);
	suggest_forward(b, id, written->step);
	return false;
}

Span routine_writes_of(Build *b, const NodeIds *of)
{
	RoutineBuild *r = b->routine;
	Reach reach = reach_from(b, of->at, of->n);
	for (size_t i = 0; i < r->written.n; i++)
		if (reach_has(b, &reach, r->written.at[i].target))
			return r->written.at[i].span;
	return (Span){0};
}

bool routine_check_step(Build *b, NodeId first, Span span)
{
	for (NodeId id = first; id < b->graph->nodes.n && b->routine->written.n; id++) {
		const Node *node = graph_node(b->graph, id);
		for (uint32_t k = 0; k < node->nargs; k++) {
			bool reads = k != 1 || !node_kind_differentiates(node->kind);
			if (reads && !check_fresh(b, node->args[k], span))
				return false;
		}
	}
	return true;
}

void routine_add_write(Build *b, NodeId id, Span span)
{
	RoutineBuild *r = b->routine;
	r->anew.nwrites++;
	NodeId target = graph_node(b->graph, id)->target;
	bool known = target >= r->start;
	PUSH(b->arena, r->writes, id);
	for (size_t i = 0; i < r->written.n; i++)
		known = known || r->written.at[i].target == target;
	if (!known)
		PUSH(b->arena, r->written, ((Written){target, span, r->step}));
}

/* ---- steps ---- */

static void eval_forward(Build *b, const AstStep *step)
{
	AnewReads reads = b->anew->reads;
	b->anew->reads = READS_FILE;
	NodeId id = eval_node(b, step->expr);
	b->anew->reads = reads;
	if (id != NODE_NONE)
		routine_evaluate(b, id, (NodeId)b->graph->nodes.n);
}

/* As it is computed from what parameters are now. */
static NodeId computed_now(Build *b, NodeId id, NodeId first)
{
	RoutineBuild *r = b->routine;
	if ((id >= r->start && id < first) || r->written.n == 0 || is_leaf(b, id))
		return id;
	NodeId *targets = ARENA_ARRAY(b->arena, NodeId, r->written.n);
	for (size_t i = 0; i < r->written.n; i++)
		targets[i] = r->written.at[i].target;
	return anew_copy(b, id, first, targets, r->written.n);
}

NodeId routine_evaluate(Build *b, NodeId id, NodeId first)
{
	NodeId now = computed_now(b, id, first);
	anew_keep(b, id);
	PUSH(b->arena, b->routine->forward, now);
	PUSH(b->arena, b->routine->roots, now);
	return now;
}

/* Can a later step write the tensor, or a parameter that it is computed from? */
static bool may_change(const Build *b, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	if (node->kind == NODE_ZEROS)
		return !node->carried;
	bool packed = node->dtype != DTYPE_NONE && dtype_is_packed(node->dtype);
	return !packed && (node->kind == NODE_PARAM || (id < b->routine->start && node->nargs > 0));
}

/* Where the value stands in what a `let` gives; all of that where it was written elsewhere. */
static Span place_in(Span given, Span value)
{
	bool inside =
		value.file == given.file && value.start >= given.start && value.end <= given.end;
	return inside ? value : given;
}

/* A name of a `let` stands for what its value holds here, whatever later steps write: what can
 * change is copied. */
void routine_keep(Build *b, Value *value, Span given)
{
	Span span = place_in(given, value->span);
	if (value->kind == VALUE_TUPLE) {
		Value *items = ARENA_ARRAY(b->arena, Value, value->nitems);
		for (uint32_t i = 0; i < value->nitems; i++) {
			items[i] = value->items[i];
			routine_keep(b, &items[i], span);
		}
		value->items = items;
	}
	if (value->kind != VALUE_TENSOR)
		return;
	if (!check_fresh(b, value->node, span)) {
		*value = value_error();
		return;
	}
	value->node = value_to_node(b, *value);
	if (may_change(b, value->node))
		value->node = node_pointwise(b, OP_ID, &value->node, &span, 1, span, span);
	PUSH(b->arena, b->routine->forward, value->node);
	PUSH(b->arena, b->routine->roots, value->node);
}

static void eval_let(Build *b, const AstStep *step)
{
	NodeId first = (NodeId)b->graph->nodes.n;
	for (uint32_t i = 0; i < step->nbinds; i++)
		bind_in_scope(b, &step->binds[i]);
	if (!routine_check_step(b, first, step->span))
		return;
	for (uint32_t i = 0; i < step->nbinds; i++)
		for (uint32_t k = 0; k < step->binds[i].nnames; k++) {
			Binding *binding = scope_here(b->at.scope, step->binds[i].names[k].sym);
			if (binding)
				routine_keep(b, &binding->value, step->binds[i].value->span);
		}
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

static void refuse_init(Build *b, const AstStep *step)
{
	diag(b->diags, E0914, step->span, "'init' is not supported yet");
	diag_note(
		b->diags, step->span,
		"parameters get what they start with before any routine runs, by PREFIX_init or 'tsr run'; a step may set one anew: w =: 0");
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
	case STEP_LET: eval_let(b, step); break;
	case STEP_FORWARD: eval_forward(b, step); break;
	case STEP_BACKWARD: eval_backward(b, step); break;
	case STEP_UPDATE: eval_update(b, step); break;
	case STEP_INIT: refuse_init(b, step); break;
	case STEP_FOR: eval_for(b, step); break;
	case STEP_CALL: eval_step_call(b, step); break;
	case STEP_ERROR: break;
	}
}

void eval_all_steps(Build *b, const AstStep *steps, uint32_t n)
{
	const StepList list = {b->at.steps, steps, n};
	b->at.steps = &list;
	for (uint32_t i = 0; i < n && limits_hold(b, steps[i].span); i++) {
		b->routine->step = list.outer ? b->routine->step : steps[i].span;
		eval_step(b, &steps[i]);
	}
	b->at.steps = list.outer;
}

/* ---- the statement ---- */

bool routine_name_is_free(Build *b, Name name)
{
	uint32_t had = name_index_get(&b->routines, name.sym);
	if (had == UINT32_MAX)
		return true;
	diag(b->diags, E0202, name.span, "the routine '%s' is declared twice", name.sym);
	diag_note(b->diags, b->graph->routines.at[had].span, "'%s' is declared here first",
		  name.sym);
	return false;
}

static Dtype scalar_dtype(Build *b, const AstParam *param)
{
	Dtype dtype = written_dtype(b, param->dtype, param->name.span);
	if (dtype_wide(dtype) == dtype)
		return dtype;
	diag(b->diags, E0911, param->name.span,
	     "a scalar cannot be %s yet; f64, f32, i64, i32 and u32 are supported", dtype_name(dtype));
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
		scalars[i] = (ScalarArg){param->name.sym,  param->name.span, dtype,
					 param->type_span, DIM_NONE,	     SPAN_NONE};
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
		if (!binding && b->diags->nerrors > b->routine->nerrors)
			return false; /* the step that would make it may be the one that failed */
		if (!binding) {
			diag(b->diags, E0235, name.span,
			     "the result '%s' is neither assigned in the routine nor declared",
			     name.sym);
			return false;
		}
		Value value = binding->value;
		value.span = name.span;
		routine->outputs[i] = value_to_node(b, value);
		if (routine->outputs[i] != NODE_NONE)
			routine->outputs[i] = anew_read(b->anew, routine->outputs[i]);
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
	NodeId start = (NodeId)b->graph->nodes.n;
	RoutineBuild state = {.start = start, .nerrors = b->diags->nerrors, .anew.start = start};
	Routine routine = {
		.name = stmt->name.sym, .span = stmt->name.span, .nscalars = stmt->nconfigs};
	b->routine = &state;
	b->anew = &state.anew;
	b->place = stmt->name.sym;
	b->at.scope = scope_new(b, outer.scope);
	routine.scalars = b->scalars = declare_scalars(b, stmt);
	b->backward.n = 0;
	eval_all_steps(b, stmt->steps, stmt->nsteps);
	bool good = find_results(b, stmt, &routine);
	b->at = outer;
	b->routine = NULL;
	b->anew = NULL;
	b->backward.n = 0;
	b->scalars = NULL;
	b->place = NULL;
	for (size_t i = 0; i < state.writes.n; i++)
		PUSH(b->arena, state.roots, state.writes.at[i]);
	if (good)
		routine_add(b, routine, state.roots.at, state.roots.n);
}
