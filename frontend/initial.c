/* Parameters: each is made where it stands, once in its parameter scope, and starts with a number, or
 * with an expression, which becomes an assignment to the parameter in the graph's routine `init`.
 *
 *   {w : [..i.. -> 10] = sqrt(2 / i) * normal()}
 *
 * The expression is evaluated once, where its parameter is made. A row variable of the written
 * shape is a size in it: the product of the axes that it stands for, captured from a specification
 * over the parameter that no routine computes. Random numbers start from the seed of `init`, in a
 * stream that the parameter's name keys.
 *
 * Parameters are set before any routine runs, in the order in which they are made: what is read is numbers,
 * sizes, constants, random numbers and the first values of parameters that stand before. Where what is
 * computed is elementwise or moves axes, one loop writes the parameter in place and needs no other memory
 * (`elementwise`).
 */
#include <math.h>
#include <string.h>

#include "frontend/carried.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/inside.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/specs.h"

/* ---- numbers ---- */

static bool is_of_dtype(Dtype dtype, double number)
{
	if (dtype_is_float(dtype))
		return true;
	Scalar least = op_neutral(OP_MAX, dtype), greatest = op_neutral(OP_MIN, dtype);
	return number == floor(number) && number >= (double)least.i && number <= (double)greatest.i;
}

static void set_number(Build *b, NodeId param, double number, Span span)
{
	Node *node = graph_node(b->graph, param);
	node->init = INIT_CONSTANT;
	node->init_value = number;
	if (!is_of_dtype(node->dtype, number))
		diag(b->diags, E0232, span, "%.17g is no number of %s", number,
		     dtype_name(node->dtype));
}

/* ---- what an initialiser may be made of ---- */

typedef enum Part { PART_ELEMENTS, PART_WHOLE, PART_LATER } Part;

/* Is it computed in the steps of a loop, or set by them or before them? */
static bool is_of_loop(const Build *b, const Node *node)
{
	return node->loop || node->carried ||
	       (node->target != NODE_NONE && graph_node(b->graph, node->target)->carried);
}

static Part part_of(const Build *b, const Node *node)
{
	if (is_of_loop(b, node))
		return PART_WHOLE;
	switch (node->kind) {
	case NODE_INPUT:
	case NODE_ZEROS: return PART_LATER;
	case NODE_SCALAR: return node->dtype == DTYPE_U4X32 ? PART_ELEMENTS : PART_LATER;
	case NODE_SPEC: return spec_keeps_axes(node->spec) ? PART_ELEMENTS : PART_WHOLE;
	case NODE_PARAM:
	case NODE_NUMBER:
	case NODE_SIZE:
	case NODE_RANGE:
	case NODE_OFFSETS:
	case NODE_CONST:
	case NODE_RANDOM:
	case NODE_CAST:
	case NODE_TRANSPOSE: return PART_ELEMENTS;
	case NODE_POINTWISE: return node->target == NODE_NONE ? PART_ELEMENTS : PART_LATER;
	default: return node->target == NODE_NONE ? PART_WHOLE : PART_LATER;
	}
}

static void report_part(Build *b, const Node *node, Span whole)
{
	const char *name = node->name ? node->name : "this";
	diag(b->diags, E0243, node->name ? whole : node->span,
	     "a parameter starts before any routine runs, and this depends on '%s'", name);
	if (node->name)
		diag_note(b->diags, node->name_span, "'%s' is declared here", name);
}

/* The nodes that a value is made of, each listed once; first those that it is made of
 * elementwise. */
typedef struct Parts {
	NodeId param;
	NodeIds all;
} Parts;

/* A node's stamp is the parameter that listed it last. */
static void list_part(Build *b, Parts *parts, NodeId id)
{
	while (b->listed.n <= id)
		PUSH(b->arena, b->listed, NODE_NONE);
	if (b->listed.at[id] == parts->param)
		return;
	b->listed.at[id] = parts->param;
	PUSH(b->arena, parts->all, id);
}

static void list_operands(Build *b, Parts *parts, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		list_part(b, parts, node->args[i]);
	const Carried *carried = graph_carried(b->graph, id);
	if (carried) {
		if (carried->first != NODE_NONE)
			list_part(b, parts, carried->first);
		if (carried->step != NODE_NONE)
			list_part(b, parts, carried->step);
		NodeId at = carried->tensor;
		while ((at = graph_next_write(b->graph, carried, at)) != NODE_NONE) /* rises */
			list_part(b, parts, at++);
	}
	if (node->loop && b->graph->loops.at[node->loop].until != NODE_NONE)
		list_part(b, parts, b->graph->loops.at[node->loop].until);
}

static bool is_elementwise(const Node *node)
{
	return node->kind == NODE_POINTWISE || node->kind == NODE_CAST;
}

/* Random numbers and offsets that are read element by element, and what is made of them, have exactly the
 * parameter's shape; by the bounds of their uses alone they might get more axes than it has.
 * Requires: what is listed is elementwise, down to leaves. */
static void set_like(Build *b, NodeId param)
{
	for (NodeId id = param + 1; id < b->listed.n; id++) {
		Node *node = graph_node(b->graph, id);
		if (b->listed.at[id] != param)
			continue;
		bool like = node->kind == NODE_RANDOM || node->kind == NODE_OFFSETS;
		for (uint32_t i = 0; i < node->nargs && is_elementwise(node); i++)
			like = like || graph_node(b->graph, node->args[i])->like == param;
		if (like)
			node->like = param;
	}
}

/* Falls: each node is listed once. */
static bool check_parts(Build *b, NodeId param, NodeId value, Span whole, bool *elementwise)
{
	Parts parts = {.param = param};
	NodeId bad = NODE_NONE;
	list_part(b, &parts, value);
	for (size_t i = 0; i < parts.all.n; i++)
		if (is_elementwise(graph_node(b->graph, parts.all.at[i])))
			list_operands(b, &parts, parts.all.at[i]);
	set_like(b, param);
	*elementwise = true;
	for (size_t i = 0; i < parts.all.n && bad == NODE_NONE; i++) {
		NodeId id = parts.all.at[i];
		Part part = part_of(b, graph_node(b->graph, id));
		*elementwise = *elementwise && part == PART_ELEMENTS;
		if (part == PART_LATER)
			bad = id;
		else
			list_operands(b, &parts, id);
	}
	b->work += parts.all.n;
	if (bad != NODE_NONE)
		report_part(b, graph_node(b->graph, bad), whole);
	return bad == NODE_NONE;
}

/* ---- row variables as sizes ---- */

static bool mentions(const AstExpr *expr, Sym name)
{
	bool found = expr->kind == AST_NAME && expr->name.sym == name;
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = expr->args[i] && mentions(expr->args[i], name);
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = expr->binds[i].value && mentions(expr->binds[i].value, name);
	return found;
}

/* "..., _, ..i.. | ... => ": the rows of the declaration, all of them reduced. */
static const Spec *spec_of_rows(Build *b, const ShapeDecl *shape)
{
	static const char *const own[] = {"(batch)", "(input)", "(output)"};
	Spec *spec = (Spec *)spec_reduce_all(b, shape->span);
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const DeclRow *from = &shape->rows[kind];
		SpecRow *row = &spec->operands[0].rows[kind];
		row->var_at = from->var_at;
		row->var = from->var ? from->var : sym_cstr(b->symbols, own[kind]);
		row->naxes = from->naxes;
		row->axes = ARENA_ARRAY(b->arena, SpecAxis, from->naxes);
		for (uint32_t i = 0; i < from->naxes; i++)
			row->axes[i] =
				(SpecAxis){.kind = SPEC_PLACEHOLDER, .span = from->axes[i].span};
	}
	return spec;
}

/* The row variables that the initialiser names, each a captured size in a scope of its own. */
static void capture_rows(Build *b, NodeId param, const AstExpr *init)
{
	const ShapeDecl *shape = graph_node(b->graph, param)->shape;
	NodeId all = NODE_NONE;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		Name name = {shape->rows[kind].var, shape->span};
		if (!name.sym || scope_here(b->at.scope, name.sym) || !mentions(init, name.sym))
			continue;
		if (all == NODE_NONE) {
			SpecParts parts = {.spec = spec_of_rows(b, shape),
					   .op = OP_ID,
					   .reduce = OP_ADD,
					   .args = &param,
					   .spans = &name.span,
					   .nargs = 1,
					   .span = name.span,
					   .op_span = name.span};
			all = form_spec_node(b, &parts);
		}
		PUSH(b->arena, b->graph->binds,
		     ((Bind){.node = all,
			     .letter = name.sym,
			     .span = name.span,
			     .capture = declare_capture(b, name)}));
	}
}

/* ---- the expression ---- */

/* What the expression is, as it stands in the parameter's declaration. */
static Value eval_initial(Build *b, NodeId param, Sym name, const AstExpr *init)
{
	Activation outer = b->at;
	Sym initialises = b->initialises;
	b->initialises = name;
	b->at.withs = NULL;
	b->at.scope = scope_new(b, outer.scope);
	capture_rows(b, param, init);
	Value value = eval(b, init);
	b->at = outer;
	b->initialises = initialises;
	return value;
}

/* Floats are rounded to the parameter's type; integers must be asked for. */
static NodeId fitted(Build *b, NodeId param, NodeId value, Span span)
{
	Dtype dtype = node_dtype(b, param);
	node_settle(b, value, dtype_wide(dtype));
	if (!dtype_is_integer(dtype) || dtype_is_integer(node_dtype(b, value)))
		return node_cast(b, value, dtype, span);
	diag(b->diags, E0231, span, "the parameter is %s, and this is %s", dtype_name(dtype),
	     dtype_name(node_dtype(b, value)));
	diag_fix(b->diags, span,
		 arena_printf(b->arena, "%s(%s)", dtype_name(dtype),
			      source_text(b->sources, b->arena, span)),
		 "%s(...) makes integers of it", dtype_name(dtype));
	return NODE_NONE;
}

static void set_expression(Build *b, NodeId param, Value value, Span span)
{
	NodeId id = value_to_node(b, value);
	bool elementwise;
	if (id == NODE_NONE || refuses_words(b, &id, &span, 1) ||
	    !check_parts(b, param, id, span, &elementwise))
		return;
	NodeId like = graph_node(b->graph, id)->like;
	id = fitted(b, param, id, span);
	if (id == NODE_NONE)
		return;
	graph_node(b->graph, id)->like = like;
	id = node_pointwise(b, OP_ID, &id, &span, 1, span, span);
	graph_node(b->graph, id)->like = param;
	graph_node(b->graph, id)->target = param;
	/* of i4 and u4 two elements are one store */
	graph_node(b->graph, id)->elementwise =
		elementwise && !dtype_is_packed(node_dtype(b, param));
	Node *node = graph_node(b->graph, param);
	node->init = INIT_EXPRESSION;
	node->initial = id;
}

static void initial_set(Build *b, NodeId param, Sym name, const AstExpr *init)
{
	Value value = eval_initial(b, param, name, init);
	double number;
	value.span = init->span;
	if (value.kind != VALUE_ERROR && value_get_number(&value, &number))
		set_number(b, param, number, init->span);
	else if (value.kind != VALUE_ERROR)
		set_expression(b, param, value, init->span);
}

/* ---- parameters ---- */

typedef struct ParamDecl {
	Name name;
	const void *site;
	Span span;
	Dtype dtype;
	const AstShape *shape;
	const AstExpr *init;
} ParamDecl;

/* The instance that the body of the plain function makes, whose parameter this is; NULL: it is the body's own. */
static const Instance *made_by_plain(const Build *b, const AstStmt *plain)
{
	const Instance *made = NULL;
	for (const Application *at = b->at.in; at && at->fn->stmt != plain; at = at->outer)
		made = at->instance ? at->instance : made;
	return made;
}

static bool report_plain(Build *b, const ParamDecl *decl)
{
	const AstStmt *plain = b->at.params->plain;
	if (!plain)
		return false;
	const Instance *made = made_by_plain(b, plain);
	const char *function = plain->name.sym;
	if (made)
		diag(b->diags, E0212, made->call->span,
		     "this makes parameters, which have no instance to belong to: '%s' is a plain function of tensors",
		     function);
	else
		diag(b->diags, E0212, decl->span,
		     "the parameter '%s' has no instance to belong to: '%s' is a plain function of tensors",
		     decl->name.sym, function);
	diag_note(
		b->diags, plain->name.span,
		"a function with parameters has two lists, of numbers and of tensors: 'fn %s()(x)'; 'let %s_1 = %s()' makes an "
		"instance, and %s_1(x) applies it, each time with the same parameters",
		function, function, function, function);
	return true;
}

static NodeId param_create(Build *b, const ParamDecl *decl)
{
	ParamScope *scope = b->at.params;
	Sym full = sym_printf(b->symbols, "%s%s%s", scope->prefix, decl->name.sym, scope->suffix);
	if (!entry_declare(b, full, decl->name.span))
		return NODE_NONE;
	const ShapeDecl *shape = decl->shape ? shape_decl(b, decl->shape, SHAPE_PARAM)
					     : shape_decl_open_param(b, decl->span);
	if (!shape)
		return NODE_NONE;
	NodeId id = node_new(b, NODE_PARAM, decl->span, decl->name.span);
	Dtype dtype = written_dtype(b, decl->dtype, decl->span);
	Node *node = graph_node(b->graph, id);
	node->shape = shape;
	node->dtype = dtype;
	node->init = dtype_is_float(dtype) ? INIT_UNIFORM : INIT_CONSTANT;
	node_name(b, id, full, decl->name.span);
	if (decl->init)
		initial_set(b, id, full, decl->init);
	PUSH(b->arena, b->graph->params, id);
	listing_add(b, full, id, decl->name.span);
	return id;
}

static NodeId param_find_or_create(Build *b, const ParamDecl *decl)
{
	if (report_plain(b, decl))
		return NODE_NONE;
	Member *old = param_member(b->at.params, decl->name.sym);
	if (old && old->site == decl->site)
		return old->param;
	const Binding *twice = old ? scope_here(b->at.scope, decl->name.sym) : NULL;
	if (twice && memcmp(&twice->span, &old->span, sizeof old->span) == 0)
		return NODE_NONE; /* the scope tells it */
	if (old) {
		diag(b->diags, E0213, decl->name.span, "'%s' names two things in one instance",
		     decl->name.sym);
		diag_note(b->diags, old->span, "'%s' is declared here first", decl->name.sym);
		return NODE_NONE;
	}
	NodeId id = param_create(b, decl);
	param_add_member(b, (Member){.name = decl->name.sym,
				     .site = decl->site,
				     .param = id,
				     .span = decl->name.span});
	return id;
}

NodeId param_inline(Build *b, const AstExpr *expr)
{
	ParamDecl decl = {.name = expr->name,
			  .site = expr,
			  .span = expr->span,
			  .dtype = expr->dtype,
			  .shape = expr->shape,
			  .init = expr->nargs ? expr->args[0] : NULL};
	return param_find_or_create(b, &decl);
}

NodeId param_statement(Build *b, const AstStmt *stmt)
{
	ParamDecl decl = {.name = stmt->name,
			  .site = stmt,
			  .span = stmt->span,
			  .dtype = stmt->dtype,
			  .shape = stmt->shape,
			  .init = stmt->expr};
	return param_find_or_create(b, &decl);
}
