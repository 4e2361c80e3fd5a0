/* Elements of i4 and u4: see half_bytes.h. Of the bytes of a parameter
 *
 *   reshape(sum("t^_ => t", reshape(where(half == 0, bytes % 16, (bytes - bytes % 16) / 16))))
 *
 * are its elements, t of them, and an i4 from 8 on is less by 16.
 */
#include "frontend/half_bytes.h"

#include "frontend/nodes.h"
#include "frontend/spec_make.h"

bool refuses_half_bytes(Build *b, Dtype dtype, Span span, const char *what)
{
	if (dtype == DTYPE_NONE || !dtype_is_packed(dtype))
		return false;
	diag(b->diags, E0247, span,
	     "%s is %s, of which two share a byte, and is written element by element: as %s each has one",
	     what, dtype_name(dtype), dtype_name(dtype_alone(dtype)));
	return true;
}

/* ---- which parameters ---- */

static bool assigns(const AstStep *steps, uint32_t n, Sym name)
{
	bool found = false;
	for (uint32_t i = 0; i < n && !found; i++)
		found = (steps[i].kind == STEP_ASSIGN && steps[i].target->name.sym == name) ||
			assigns(steps[i].steps, steps[i].nsteps, name);
	return found;
}

static bool says_all(const ShapeDecl *shape)
{
	bool all = true;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const DeclRow *row = &shape->rows[kind];
		all = all && !row->open && row->var_at < 0;
		for (uint32_t i = 0; i < row->naxes; i++)
			all = all && row->axes[i].size;
	}
	return all;
}

/* The product of all sizes, which are written. */
static const SizeExpr *total_of(Build *b, const ShapeDecl *shape)
{
	const SizeExpr *total = size_expr_number(b, 1, shape->span);
	REQUIRE(says_all(shape));
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < shape->rows[kind].naxes; i++)
			total = size_expr_of(b, SX_MUL, total, shape->rows[kind].axes[i].size);
	return total;
}

bool half_bytes_wanted(const Build *b, Sym name, const ShapeDecl *shape)
{
	bool found = false;
	for (size_t i = 0; i < b->parsed.n && says_all(shape); i++) {
		const AstFile *file = b->parsed.at[i].ast;
		for (uint32_t k = 0; file && k < file->nstmts && !found; k++)
			found = assigns(file->stmts[k].steps, file->stmts[k].nsteps, name);
	}
	return found;
}

void half_bytes_declare(Build *b, NodeId param)
{
	Node *node = graph_node(b->graph, param);
	HalfBytes half = {param, node->shape, total_of(b, node->shape), node->dtype};
	ShapeDecl *bytes = ARENA_NEW(b->arena, ShapeDecl);
	DeclRow *row = &bytes->rows[ROW_OUTPUT];
	bytes->span = node->shape->span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		bytes->rows[kind].var_at = -1;
	row->axes = ARENA_NEW(b->arena, DeclAxis);
	row->naxes = 1;
	row->axes[0] = (DeclAxis){
		.span = bytes->span,
		.size = size_expr_of(b, SX_CEIL, half.total, size_expr_number(b, 2, bytes->span))};
	node = graph_node(b->graph, param);
	node->shape = bytes;
	node->dtype = DTYPE_U8;
	PUSH(b->arena, b->half_bytes, half);
	NodeId whole = half_bytes_read(b, param, node->name_span);
	graph_node(b->graph, param)->packs = whole;
	node_name(b, whole, graph_node(b->graph, param)->name,
		  graph_node(b->graph, param)->name_span);
}

const HalfBytes *half_bytes_of(const Build *b, NodeId id)
{
	for (size_t i = 0; i < b->half_bytes.n; i++)
		if (b->half_bytes.at[i].bytes == id)
			return &b->half_bytes.at[i];
	return NULL;
}

void half_bytes_ascribe(Build *b, const HalfBytes *half, NodeId id)
{
	PUSH(b->arena, b->graph->ascriptions,
	     ((Ascription){id, half->shape, graph_node(b->graph, half->bytes)->name}));
}

/* ---- what they hold ---- */

static NodeId with_number(Build *b, Op op, NodeId id, int64_t number, Span span)
{
	NodeId args[2] = {id, value_to_node(b, value_integer(number, span))};
	Span spans[2] = {span, span};
	return node_pointwise(b, op, args, spans, 2, span, span);
}

/* "h; b; b => b, h" in letters: the halves of all bytes, the lower one of each first. */
static const Spec *halves_spec(Build *b, Span span)
{
	SpecAxis axes[2] = {spec_letter(sym_cstr(b->symbols, "byte"), span),
			    spec_letter(sym_cstr(b->symbols, "half"), span)};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 3, .result = spec_outputs(b, axes, 2, span)};
	spec->operands = ARENA_ARRAY(b->arena, SpecTensor, 3);
	spec->operands[0] = spec_outputs(b, &axes[1], 1, span);
	spec->operands[1] = spec->operands[2] = spec_outputs(b, &axes[0], 1, span);
	return spec;
}

static NodeId halves(Build *b, NodeId bytes, Span span)
{
	NodeId range = node_new(b, NODE_RANGE, span, span);
	graph_node(b->graph, range)->size_expr = size_expr_number(b, 2, span);
	graph_node(b->graph, range)->dtype = DTYPE_I32;
	NodeId all = node_cast(b, bytes, DTYPE_I32, span);
	NodeId low = with_number(b, OP_MOD, all, 16, span);
	NodeId both[2] = {all, low};
	Span spans[2] = {span, span};
	NodeId high = node_pointwise(b, OP_SUB, both, spans, 2, span, span);
	high = node_cast(b, with_number(b, OP_DIV, high, 16, span), DTYPE_I32, span);
	NodeId args[3] = {range, high, low};
	return spec_node(b, halves_spec(b, span), OP_WHERE, args, 3);
}

static NodeId reshaped(Build *b, NodeId id, Span span)
{
	NodeId all = node_new(b, NODE_RESHAPE, span, span);
	node_set_args(b, all, &id, &span, 1);
	graph_node(b->graph, all)->dtype = node_dtype(b, id);
	return all;
}

/* "t^_ => t": the first `total` of them. */
static NodeId first(Build *b, NodeId id, const SizeExpr *total, Span span)
{
	Sym letter = sym_cstr(b->symbols, "t");
	SpecAxis t = spec_letter(letter, span), whole = t;
	whole.kind = SPEC_CONCAT;
	whole.nparts = 2;
	whole.parts = ARENA_ARRAY(b->arena, SpecPart, 2);
	whole.parts[0] = (SpecPart){.letter = letter, .span = span};
	whole.parts[1] = (SpecPart){.rest = true, .span = span};
	Spec *spec = ARENA_NEW(b->arena, Spec);
	*spec = (Spec){.span = span, .noperands = 1, .result = spec_outputs(b, &t, 1, span)};
	spec->operands = ARENA_NEW(b->arena, SpecTensor);
	spec->operands[0] = spec_outputs(b, &whole, 1, span);
	NodeId some = spec_node(b, spec, OP_ID, &id, 1);
	PUSH(b->arena, b->graph->binds, ((Bind){some, letter, span, total, CAPTURE_NONE}));
	return some;
}

NodeId half_bytes_read(Build *b, NodeId id, Span span)
{
	const HalfBytes *found = half_bytes_of(b, id);
	if (!found)
		return id;
	HalfBytes half = *found;
	NodeId all = first(b, reshaped(b, halves(b, id, span), span), half.total, span);
	if (!dtype_is_unsigned(half.dtype)) {
		NodeId greater = with_number(b, OP_GE, all, 8, span);
		NodeId args[3] = {greater, with_number(b, OP_SUB, all, 16, span), all};
		Span spans[3] = {span, span, span};
		all = node_pointwise(b, OP_WHERE, args, spans, 3, span, span);
	}
	all = reshaped(b, node_cast(b, all, half.dtype, span), span);
	half_bytes_ascribe(b, &half, all);
	return all;
}
