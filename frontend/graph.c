/* The text form of the tensor graph: one line a node, then what is said about letters and sizes,
 * then the routines. Specifications are printed with commas, whichever mode they were written in.
 */
#include "base/element.h"
#include "frontend/graph.h"

#include <inttypes.h>
#include <string.h>

const RowKind stored_rows[ROW_KINDS] = {ROW_BATCH, ROW_OUTPUT, ROW_INPUT};

static const char *const kind_names[] = {
	[NODE_INPUT] = "input",		[NODE_PARAM] = "param",	    [NODE_CONST] = "const",
	[NODE_NUMBER] = "number",	[NODE_SIZE] = "size",	    [NODE_SCALAR] = "scalar",
	[NODE_RANGE] = "range",		[NODE_OFFSETS] = "offsets", [NODE_ZEROS] = "zeros",
	[NODE_POINTWISE] = "pointwise", [NODE_CAST] = "cast",	    [NODE_COMPOSE] = "compose",
	[NODE_TRANSPOSE] = "transpose", [NODE_SLICE] = "slice",	    [NODE_SPEC] = "spec",
	[NODE_BLOCK] = "block",		[NODE_STACK] = "stack",	    [NODE_ARGMAX] = "argmax",
	[NODE_GATHER] = "gather",	[NODE_RESHAPE] = "reshape", [NODE_UNIFORMS] = "uniforms",
	[NODE_RANDOM] = "random",	[NODE_SCATTER] = "scatter", [NODE_CUMULATE] = "cumulate",
	[NODE_SORT] = "sort",		[NODE_JOINED] = "joined",   [NODE_GRADIENT] = "gradient",
	[NODE_TANGENT] = "tangent",	[NODE_RULE] = "rule",
};

const char *node_kind_name(const Node *node)
{
	bool least = node->kind == NODE_ARGMAX && node->reduce == OP_MIN;
	REQUIRE(node->kind <= NODE_RULE);
	return least ? "argmin" : kind_names[node->kind];
}

/* ---- sizes ---- */

static int size_precedence(const SizeExpr *expr)
{
	switch (expr->kind) {
	case SX_ADD:
	case SX_SUB: return 1;
	case SX_MUL:
	case SX_DIV: return 2;
	default: return 3;
	}
}

static void size_expr_print(FILE *out, const Graph *graph, const SizeExpr *expr);

static void size_operand(FILE *out, const Graph *graph, const SizeExpr *expr, int precedence)
{
	bool wrap = size_precedence(expr) < precedence;
	if (wrap)
		fputc('(', out);
	size_expr_print(out, graph, expr);
	if (wrap)
		fputc(')', out);
}

static void size_binary(FILE *out, const Graph *graph, const SizeExpr *expr, const char *op)
{
	int precedence = size_precedence(expr);
	bool commutes = expr->kind == SX_ADD || expr->kind == SX_MUL;
	size_operand(out, graph, expr->a, precedence);
	fputs(op, out);
	size_operand(out, graph, expr->b, precedence + !commutes);
}

static void size_expr_print(FILE *out, const Graph *graph, const SizeExpr *expr)
{
	switch (expr->kind) {
	case SX_NUMBER: fprintf(out, "%" PRId64, expr->number); break;
	case SX_FIXED:
		fprintf(out, "%s=%" PRId64, expr->name ? expr->name : "", expr->number);
		break;
	case SX_DIM: fputs(sizes_dim(graph->sizes, expr->dim)->name, out); break;
	case SX_CAPTURE:
		fprintf(out, "$%s.%" PRIu32, graph->captures.at[expr->capture].name, expr->capture);
		break;
	case SX_ADD: size_binary(out, graph, expr, " + "); break;
	case SX_SUB: size_binary(out, graph, expr, " - "); break;
	case SX_MUL: size_binary(out, graph, expr, "*"); break;
	case SX_DIV: size_binary(out, graph, expr, "/"); break;
	case SX_CEIL:
		fputs("ceil(", out);
		size_binary(out, graph, expr, "/");
		fputc(')', out);
		break;
	}
}

/* ---- rows, of shapes and of specifications ---- */

static void decl_row(FILE *out, const Graph *graph, const DeclRow *row)
{
	const char *comma = "";
	for (uint32_t i = 0; i <= row->naxes; i++) {
		if (row->var_at == (int32_t)i) {
			if (row->var)
				fprintf(out, "%s..%s..", comma, row->var);
			else
				fprintf(out, "%s...", comma);
			comma = ", ";
		}
		if (i == row->naxes)
			break;
		const DeclAxis *axis = &row->axes[i];
		fputs(comma, out);
		comma = ", ";
		if (axis->label)
			fprintf(out, "%s:", axis->label);
		if (axis->size)
			size_expr_print(out, graph, axis->size);
		else
			fputc('_', out);
	}
	if (row->open)
		fputc('?', out);
}

static bool decl_row_empty(const DeclRow *row)
{
	return row->naxes == 0 && row->var_at < 0 && !row->open;
}

static void decl_print(FILE *out, const Graph *graph, const ShapeDecl *decl)
{
	if (!decl) {
		fputs("[? | ? -> ?]", out);
		return;
	}
	fputc('[', out);
	if (!decl_row_empty(&decl->rows[ROW_BATCH])) {
		decl_row(out, graph, &decl->rows[ROW_BATCH]);
		fputs(decl_row_empty(&decl->rows[ROW_OUTPUT]) &&
				      decl_row_empty(&decl->rows[ROW_INPUT]) ? " |" : " | ", out);
	}
	if (!decl_row_empty(&decl->rows[ROW_INPUT])) {
		decl_row(out, graph, &decl->rows[ROW_INPUT]);
		fputs(decl_row_empty(&decl->rows[ROW_OUTPUT]) ? " ->" : " -> ", out);
	}
	decl_row(out, graph, &decl->rows[ROW_OUTPUT]);
	fputc(']', out);
}

static void affine_print(FILE *out, const Graph *graph, const SpecAxis *axis)
{
	static const char *const marks[] = {
		[MARK_NONE] = "+", [MARK_VALID] = "<+", [MARK_VALID_FLOOR] = "<+?",
		[MARK_PADDED] = "=+", [MARK_PADDED_CEIL] = "=+?",
	};
	if (axis->stride != 1)
		fprintf(out, "%" PRId64 "*", axis->stride);
	fputs(axis->letter, out);
	const char *plus = "+";
	if (axis->kernel)
		plus = marks[axis->padded ? axis->mark + (MARK_PADDED - MARK_VALID) : axis->mark];
	if (axis->offset != 0) {
		fprintf(out, " %s %" PRId64, plus, axis->offset);
		plus = "+";
	}
	if (axis->kernel) {
		fprintf(out, " %s", plus);
		if (axis->padded)
			fprintf(out, "[%" PRId64 ", %" PRId64 "]", axis->before, axis->after);
		fputc(' ', out);
		if (axis->dilation != 1)
			fprintf(out, "%" PRId64 "*", axis->dilation);
		fputs(axis->kernel, out);
	}
	if (axis->shift) {
		fputs(" + ", out);
		size_expr_print(out, graph, axis->shift);
	}
}

static void part_print(FILE *out, const Graph *graph, const SpecPart *part)
{
	static const char *const runs[] = {"", "-", "0*"};
	if (part->letter)
		fprintf(out, "%s%s", runs[part->run], part->letter);
	else if (part->extent)
		size_expr_print(out, graph, part->extent);
	else if (part->rest)
		fputc('_', out);
	else
		fprintf(out, "%" PRId64, part->size);
}

static void spec_axis_print(FILE *out, const Graph *graph, const SpecAxis *axis)
{
	switch (axis->kind) {
	case SPEC_LETTER: fprintf(out, axis->bracketed ? "[%s]" : "%s", axis->letter); break;
	case SPEC_INDEX: fprintf(out, "%" PRId64, axis->index); break;
	case SPEC_PLACEHOLDER: fputc('_', out); break;
	case SPEC_AFFINE: affine_print(out, graph, axis); break;
	case SPEC_CONCAT:
		for (uint32_t i = 0; i < axis->nparts; i++) {
			if (i)
				fputc('^', out);
			part_print(out, graph, &axis->parts[i]);
		}
		break;
	case SPEC_JOIN:
		for (uint32_t i = 0; i < axis->nparts; i++)
			fprintf(out, "%s%s", i ? " " : "(", axis->parts[i].letter);
		fputc(')', out);
		break;
	}
}

static void spec_row_print(FILE *out, const Graph *graph, const SpecRow *row, RowKind kind)
{
	static const char *const own[] = {"batch", "input", "output"};
	const char *comma = "";
	for (uint32_t i = 0; i <= row->naxes; i++) {
		if (row->var_at == (int32_t)i) {
			fputs(comma, out);
			comma = ", ";
			if (row->var == NULL || strcmp(row->var, own[kind]) == 0)
				fputs("...", out);
			else
				fprintf(out, "..%s..", row->var);
		}
		if (i == row->naxes)
			break;
		fputs(comma, out);
		comma = ", ";
		spec_axis_print(out, graph, &row->axes[i]);
	}
}

static void spec_tensor_print(FILE *out, const Graph *graph, const SpecTensor *tensor)
{
	if (tensor->rows[ROW_BATCH].written) {
		spec_row_print(out, graph, &tensor->rows[ROW_BATCH], ROW_BATCH);
		fputs(" | ", out);
	}
	if (tensor->rows[ROW_INPUT].written) {
		spec_row_print(out, graph, &tensor->rows[ROW_INPUT], ROW_INPUT);
		fputs(" -> ", out);
	}
	spec_row_print(out, graph, &tensor->rows[ROW_OUTPUT], ROW_OUTPUT);
}

static void spec_print(FILE *out, const Graph *graph, const Spec *spec)
{
	for (uint32_t i = 0; i < spec->noperands; i++) {
		if (i)
			fputs("; ", out);
		spec_tensor_print(out, graph, &spec->operands[i]);
	}
	fputs(" => ", out);
	spec_tensor_print(out, graph, &spec->result);
}

/* ---- nodes ---- */

static void number_print(FILE *out, const Node *node)
{
	if (node->is_integer)
		fprintf(out, " %" PRId64, node->integer);
	else
		fprintf(out, " %.17g", node->number);
}

static void const_print(FILE *out, const Node *node)
{
	if (node->data->path) {
		fprintf(out, " file \"%s\"", node->data->path);
		return;
	}
	fprintf(out, " %" PRId64 " elements", node->data->count);
	for (int64_t i = 0; i < node->data->count && i < 8; i++) {
		fputs(i ? ", " : ": ", out);
		Scalar element = scalar_read(node->dtype, node->data->bytes, i);
		if (dtype_is_float(node->dtype))
			fprintf(out, "%.*g", node->dtype == DTYPE_F64 ? 17 : 9, element.f);
		else
			fprintf(out, "%" PRId64, element.i);
	}
	if (node->data->count > 8)
		fputs(", ...", out);
}

static void leaf_print(FILE *out, const Graph *graph, const Node *node)
{
	switch (node->kind) {
	case NODE_INPUT:
		fputc(' ', out);
		decl_print(out, graph, node->shape);
		break;
	case NODE_PARAM:
		fputc(' ', out);
		decl_print(out, graph, node->shape);
		if (node->init == INIT_EXPRESSION)
			fprintf(out, " = %%%" PRIu32, node->initial);
		else if (node->init == INIT_UNIFORM)
			fputs(" uniform", out);
		else
			fprintf(out, " = %.17g", node->init_value);
		break;
	case NODE_CONST:
		fputc(' ', out);
		decl_print(out, graph, node->shape);
		const_print(out, node);
		break;
	case NODE_NUMBER: number_print(out, node); break;
	case NODE_SCALAR: fprintf(out, " %" PRIu32, node->scalar_index); break;
	case NODE_SIZE:
	case NODE_RANGE:
		fputc(' ', out);
		size_expr_print(out, graph, node->size_expr);
		break;
	default: break;
	}
}

static void op_print(FILE *out, const Graph *graph, const Node *node)
{
	static const char *const rows[] = {"batch", "input", "output"};
	switch (node->kind) {
	case NODE_POINTWISE: fprintf(out, " %s", op_name(node->op)); break;
	case NODE_SPEC:
		fprintf(out, " %s %s", op_name(node->op), op_name(node->reduce));
		if (node->permutes)
			fputs(" permute", out);
		break;
	case NODE_STACK: fprintf(out, " %s", rows[node->stack_row]); break;
	case NODE_CUMULATE:
		fprintf(out, " %s%s%s along %s", op_name(node->reduce),
			node->along.exclusive ? " exclusive" : "",
			node->along.reverse ? " reverse" : "", node->along.letter);
		break;
	case NODE_SORT:
		fprintf(out, "%s%s along %s", node->along.ids ? " ids" : "",
			node->along.descending ? " descending" : "", node->along.letter);
		break;
	case NODE_RANDOM:
		fprintf(out, " %s of '%s'", node->normal ? "normal" : "uniform", node->place);
		break;
	default: break;
	}
	if (node->spec) {
		fputs(" \"", out);
		spec_print(out, graph, node->spec);
		fputc('"', out);
	}
}

bool graph_loop_in(const Graph *graph, uint32_t inner, uint32_t outer)
{
	while (inner > outer) /* falls: a loop stands behind the one that it is in */
		inner = graph->loops.at[inner].parent;
	return inner == outer;
}

Carried *graph_carried(const Graph *graph, NodeId tensor)
{
	uint32_t carried = graph_node(graph, tensor)->carried;
	return carried ? &graph->carried.at[carried - 1] : NULL;
}

uint32_t graph_set_in(const Graph *graph, const Carried *carried)
{
	return carried->step == NODE_NONE ? 0 : graph_node(graph, carried->step)->loop;
}

bool graph_sets_whole(const Graph *graph, NodeId tensor)
{
	const Carried *carried = graph_carried(graph, tensor);
	return carried && carried->whole;
}

bool graph_is_carried(const Graph *graph, NodeId tensor)
{
	const Carried *carried = graph_carried(graph, tensor);
	return carried && carried->first != NODE_NONE;
}

static void node_print(FILE *out, const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	fprintf(out, "%%%" PRIu32 " = %s", id, node_kind_name(node));
	op_print(out, graph, node);
	leaf_print(out, graph, node);
	for (uint32_t i = 0; i < node->nargs; i++)
		fprintf(out, "%s%%%" PRIu32, i ? ", " : " ", node->args[i]);
	if (node->kind == NODE_SLICE && node->size_expr) {
		fputs(" @ ", out);
		size_expr_print(out, graph, node->size_expr);
	} else if (node->kind == NODE_SLICE && node->nargs == 1) {
		fprintf(out, " @ %" PRId64, node->slice_index);
	}
	if (node->like != NODE_NONE)
		fprintf(out, " like %%%" PRIu32, node->like);
	if (node->target != NODE_NONE)
		fprintf(out, " into %%%" PRIu32 " =%s%s", node->target, node->clear ? ":" : "",
			node->acc == OP_NONE ? ":" : op_name(node->acc));
	if (node->loop)
		fprintf(out, " loop %" PRIu32, node->loop);
	fprintf(out, " : %s", dtype_name(node->dtype));
	if (node->name)
		fprintf(out, "  # %s%s", node->name, node->used ? "" : " (unused)");
	else if (!node->used)
		fputs("  # (unused)", out);
	fputc('\n', out);
}

static void routine_print(FILE *out, const Graph *graph, const Routine *routine)
{
	fprintf(out, "routine %s(", routine->name);
	for (uint32_t i = 0; i < routine->nscalars; i++)
		fprintf(out, "%s%s : %s", i ? ", " : "", routine->scalars[i].name,
			dtype_name(routine->scalars[i].dtype));
	fputs(") inputs", out);
	for (uint32_t i = 0; i < routine->ninputs; i++)
		fprintf(out, " %s", graph_node(graph, routine->inputs[i])->name);
	fputs("; params", out);
	for (uint32_t i = 0; i < routine->nparams; i++)
		fprintf(out, " %s", graph_node(graph, routine->params[i])->name);
	fputs("; outputs", out);
	for (uint32_t i = 0; i < routine->noutputs; i++)
		fprintf(out, " %s=%%%" PRIu32, routine->output_names[i], routine->outputs[i]);
	fprintf(out, "; %" PRIu32 " nodes\n", routine->norder);
}

static void bind_print(FILE *out, const Graph *graph, const Bind *bind)
{
	fprintf(out, "with %%%" PRIu32 " %s", bind->node, bind->letter);
	if (bind->capture != CAPTURE_NONE) {
		fprintf(out, " as $%s.%" PRIu32, graph->captures.at[bind->capture].name,
			bind->capture);
	} else {
		fputs(" = ", out);
		size_expr_print(out, graph, bind->size);
	}
	fputc('\n', out);
}

void graph_dump(FILE *out, const Graph *graph)
{
	static const char *const requires[] = {" == ", " >= ", " divides "};
	for (NodeId id = 0; id < graph->nodes.n; id++)
		node_print(out, graph, id);
	for (size_t i = 0; i < graph->binds.n; i++)
		bind_print(out, graph, &graph->binds.at[i]);
	for (size_t i = 0; i < graph->requires.n; i++) {
		const Require *require = &graph->requires.at[i];
		fputs("require ", out);
		size_expr_print(out, graph, require->a);
		fputs(requires[require->op], out);
		size_expr_print(out, graph, require->b);
		fputc('\n', out);
	}
	for (size_t i = 0; i < graph->routines.n; i++)
		routine_print(out, graph, &graph->routines.at[i]);
	if (graph->init.norder)
		routine_print(out, graph, &graph->init);
}
