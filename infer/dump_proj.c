/* Projections as text: --dump=proj.
 *
 *   logits = einsum %12  f32 [n | 10]
 *     space  b:n  o:10  i:784   reduce i
 *     result [b | o]  cleared first
 *     arg 0  x [b | i]
 *     arg 1  w [i -> o]
 *
 * Indices stand where the shape's axes stand. `x:3 ^ y:4` is one factor, its parts run one after
 * another, each in a piece of its own. An index with `?` may be outside: that step is skipped.
 * `(arg 1)` is an index that is read from operand 1. In the end the margins that padded reads need:
 *
 *   margins of 0  image [0 | 1 + 1, 1 + 1, 0]
 */
#include "infer/dump.h"
#include "infer/infer.h"

#include <inttypes.h>

static const char *operation_name(const Node *node)
{
	switch (node->kind) {
	case NODE_POINTWISE:
		return op_name(node->op);
	case NODE_SPEC:
		return node->nargs > 1 ? "einsum" : node->permutes ? "permute" : "reduce";
	default: return node_kind_name(node);
	}
}

static void print_operation(FILE *out, const Node *node)
{
	fputs(operation_name(node), out);
	if (node->kind == NODE_SCATTER)
		fprintf(out, " %s", node->reduce == OP_ID ? "set" : op_name(node->reduce));
	if (node->kind != NODE_SPEC || node->permutes)
		return;
	if (node->nargs > 1 && node->op != OP_MUL)
		fprintf(out, " %s", op_name(node->op));
	if (node->nargs == 1 || node->reduce != OP_ADD)
		fprintf(out, " %s", op_name(node->reduce));
}

void infer_dump_name(FILE *out, const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	if (node->name)
		fputs(node->name, out);
	else
		fprintf(out, "%%%" PRIu32, id);
}

static void print_term(FILE *out, const Iter *iter, int64_t coef, bool first)
{
	if (!first)
		fputs(coef < 0 ? " - " : " + ", out);
	else if (coef < 0)
		fputc('-', out);
	if (coef != 1 && coef != -1)
		fprintf(out, "%" PRId64 "*", coef < 0 ? -coef : coef);
	fputs(iter->name, out);
}

static void print_offset(FILE *out, const Sizes *sizes, Size offset, bool first)
{
	int64_t value;
	bool constant = size_is_const(sizes, offset, &value);
	if (constant && value == 0 && !first)
		return;
	DimId dim;
	if (!constant) {
		bool simple = size_is_dim(sizes, offset, &dim);
		fprintf(out, "%s%s", first ? "" : " + ", simple ? "" : "(");
		size_print(out, sizes, offset);
		fputs(simple ? "" : ")", out);
	} else if (first) {
		fprintf(out, "%" PRId64, value);
	} else {
		fprintf(out, value < 0 ? " - %" PRId64 : " + %" PRId64, value < 0 ? -value : value);
	}
}

static void print_index(FILE *out, const Sizes *sizes, const Proj *proj, const Index *index)
{
	if (index->gather >= 0) {
		static const char *const modes[] = {
			[INDEX_CHECKED] = "",
			[INDEX_CLAMPED] = " clamped",
			[INDEX_SKIPPED] = "",
			[INDEX_WRAPPED] = " wrapped",
		};
		fprintf(out, "(arg %" PRId32 "%s)%s", index->gather, modes[index->mode],
			index->guarded ? "?" : "");
		return;
	}
	for (uint32_t t = 0; t < index->nterms; t++)
		print_term(out, &proj->iters[index->terms[t].iter], index->terms[t].coef, t == 0);
	print_offset(out, sizes, index->offset, index->nterms == 0);
	if (index->guarded)
		fputc('?', out);
}

static void print_row(FILE *out, const Inference *inference, const Proj *proj, const Index *axes,
		      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			fputs(", ", out);
		print_index(out, inference->sizes, proj, &axes[i]);
	}
}

/* The indices in the form of the shape: [batch | input -> output]. */
static void print_access(FILE *out, const Inference *inference, const Proj *proj, NodeId id,
			 const Access *access)
{
	const Shape *shape = &inference->shapes[id];
	uint32_t batch = shape->rows[ROW_BATCH].n, input = shape->rows[ROW_INPUT].n;
	uint32_t output = shape->rows[ROW_OUTPUT].n;

	fputc('[', out);
	print_row(out, inference, proj, access->axes, batch);
	if (batch)
		fputs(input || output ? " | " : " |", out);
	print_row(out, inference, proj, access->axes + batch + output, input);
	if (input)
		fputs(output ? " -> " : " ->", out);
	print_row(out, inference, proj, access->axes + batch, output);
	fputc(']', out);
}

static void print_space(FILE *out, const Inference *inference, const Proj *proj)
{
	const char *before = "  reduce ";
	fputs("  space ", out);
	for (uint32_t f = 0; f < proj->nfactors; f++)
		for (uint32_t i = 0; i < proj->factors[f].niters; i++) {
			const Iter *iter = &proj->iters[proj->factors[f].iters[i]];
			fprintf(out, "%s%s:", i ? " ^ " : f ? "  " : " ", iter->name);
			size_print(out, inference->sizes, iter->extent);
		}
	if (proj->nfactors == 0)
		fputs(" one step", out);
	for (uint32_t i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced) {
			fprintf(out, "%s%s", before, proj->iters[i].name);
			before = ", ";
		}
	fputc('\n', out);
}

static void print_piece(FILE *out, const Inference *inference, NodeId id, const Piece *piece)
{
	const Node *node = graph_node(inference->graph, id);
	const Proj *proj = inference->projs[id];
	fputs("  result ", out);
	print_access(out, inference, proj, id, &piece->result);
	if (piece == proj->pieces && proj->clear)
		fputs("  cleared first", out);
	fputc('\n', out);
	for (uint32_t arg = 0; arg < proj->nargs; arg++) {
		if (!piece->args[arg].present)
			continue;
		fprintf(out, "  arg %" PRIu32 "  ", arg);
		infer_dump_name(out, inference->graph, node->args[arg]);
		fputc(' ', out);
		print_access(out, inference, proj, node->args[arg], &piece->args[arg]);
		fputc('\n', out);
	}
}

static void print_node(FILE *out, const Inference *inference, NodeId id)
{
	const Node *node = graph_node(inference->graph, id);
	const Proj *proj = inference->projs[id];
	infer_dump_name(out, inference->graph, id);
	fputs(" = ", out);
	print_operation(out, node);
	if (node->name)
		fprintf(out, " %%%" PRIu32, id);
	if (node->target != NODE_NONE) {
		fputs(" into ", out);
		infer_dump_name(out, inference->graph, node->target);
	}
	fprintf(out, "  %s ", dtype_name(node->dtype));
	shape_print(out, inference->sizes, &inference->shapes[id]);
	fputc('\n', out);
	if (proj->linear) {
		fputs("  element by element in storage order", out);
		if (proj->width > 1)
			fprintf(out, ", each written as %" PRId64 " neighbours", proj->width);
		fputs("\n  arg 0  ", out);
		infer_dump_name(out, inference->graph, node->args[0]);
		fputc(' ', out);
		shape_print(out, inference->sizes, &inference->shapes[node->args[0]]);
		fputc('\n', out);
		return;
	}
	print_space(out, inference, proj);
	for (uint32_t i = 0; i < proj->npieces; i++)
		print_piece(out, inference, id, &proj->pieces[i]);
	if (proj->npieces == 0)
		fputs("  nothing is written: cleared only\n", out);
}

static void print_margin(FILE *out, const Sizes *sizes, const Margin *margin)
{
	if (size_is(sizes, margin->before, 0) && size_is(sizes, margin->after, 0)) {
		fputc('0', out);
		return;
	}
	size_print(out, sizes, margin->before);
	fputs(" + ", out);
	size_print(out, sizes, margin->after);
}

static void print_neutral(FILE *out, Op reduce, Dtype dtype)
{
	Scalar neutral = op_neutral(reduce, dtype);
	if (dtype_is_integer(dtype))
		fprintf(out, "%" PRId64, neutral.i);
	else
		fprintf(out, "%g", neutral.f);
}

static void print_margin_row(FILE *out, const Sizes *sizes, const Margin *axes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		print_margin(out, sizes, &axes[i]);
	}
}

static void print_margins(FILE *out, const Inference *inference, NodeId id, const Margins *margins)
{
	const Shape *shape = &inference->shapes[id];
	uint32_t batch = shape->rows[ROW_BATCH].n, input = shape->rows[ROW_INPUT].n;
	uint32_t output = shape->rows[ROW_OUTPUT].n;
	fputs("margins of ", out);
	print_neutral(out, margins->reduce, graph_node(inference->graph, id)->dtype);
	fputs("  ", out);
	infer_dump_name(out, inference->graph, id);
	fputs(" [", out);
	print_margin_row(out, inference->sizes, margins->axes, batch);
	if (batch)
		fputs(input || output ? " | " : " |", out);
	print_margin_row(out, inference->sizes, margins->axes + batch + output, input);
	if (input)
		fputs(output ? " -> " : " ->", out);
	print_margin_row(out, inference->sizes, margins->axes + batch, output);
	fputs("]\n", out);
}

void infer_dump_proj(FILE *out, const Inference *inference)
{
	for (NodeId id = 0; id < inference->graph->nodes.n; id++)
		if (inference->projs[id])
			print_node(out, inference, id);
	for (NodeId id = 0; id < inference->graph->nodes.n; id++)
		for (const Margins *m = inference->margins[id]; m; m = m->next)
			print_margins(out, inference, id, m);
}
