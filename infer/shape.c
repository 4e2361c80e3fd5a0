/* Shapes as text and as lists of axes in storage order (batch, output, input). */
#include "base/held.h"
#include "infer/infer.h"

#include <stdlib.h>

uint32_t shape_naxes(const Shape *shape)
{
	uint32_t n = 0;
	for (int k = 0; k < ROW_KINDS; k++)
		n += shape->rows[k].n;
	return n;
}

const Axis *shape_axis(const Shape *shape, uint32_t i)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		const Row *row = &shape->rows[stored_rows[k]];
		if (i < row->n)
			return &row->axes[i];
		i -= row->n;
	}
	BUG("axis beyond the shape's last");
}

bool shape_same_sizes(const Shape *a, const Shape *b)
{
	bool same = shape_naxes(a) == shape_naxes(b);
	for (uint32_t i = 0; same && i < shape_naxes(a); i++)
		same = size_same(shape_axis(a, i)->size, shape_axis(b, i)->size);
	return same;
}

Size shape_elements(Sizes *sizes, const Shape *shape)
{
	Size product = size_const(sizes, 1);
	for (uint32_t i = 0, n = shape_naxes(shape); i < n; i++)
		product = size_mul(sizes, product, shape_axis(shape, i)->size);
	return product;
}

static bool row_is_empty(const Row *row) { return row->n == 0 && row->gap == 0; }

static void row_print(FILE *out, const Sizes *sizes, const Row *row)
{
	for (uint32_t i = 0; i <= row->n; i++) {
		if (row->gap == i + 1)
			fputs(i > 0 ? ", ..." : "...", out);
		if (i == row->n)
			return;
		if (i > 0 || row->gap == 1)
			fputs(", ", out);
		if (row->axes[i].label)
			fprintf(out, "%s:", row->axes[i].label);
		if (size_is_bad(row->axes[i].size))
			fputc('?', out);
		else
			size_print(out, sizes, row->axes[i].size);
	}
}

void shape_print(FILE *out, const Sizes *sizes, const Shape *shape)
{
	const Row *batch = &shape->rows[ROW_BATCH];
	const Row *input = &shape->rows[ROW_INPUT];
	const Row *output = &shape->rows[ROW_OUTPUT];

	fputc('[', out);
	row_print(out, sizes, batch);
	if (!row_is_empty(batch))
		fputs(row_is_empty(input) && row_is_empty(output) ? " |" : " | ", out);
	row_print(out, sizes, input);
	if (!row_is_empty(input))
		fputs(row_is_empty(output) ? " ->" : " -> ", out);
	row_print(out, sizes, output);
	fputc(']', out);
}

const char *shape_text(Arena *arena, const Sizes *sizes, const Shape *shape)
{
	Text text = text_new();
	shape_print(text.out, sizes, shape);
	return text_take(text, arena, NULL);
}

Size infer_size(const Inference *inference, const SizeExpr *expr)
{
	Sizes *sizes = inference->sizes;
	switch (expr->kind) {
	case SX_NUMBER:
	case SX_FIXED: return size_const(sizes, expr->number);
	case SX_DIM: return size_dim(sizes, expr->dim);
	case SX_CAPTURE: return inference->captures[expr->capture];
	default: break;
	}
	Size a = infer_size(inference, expr->a), b = infer_size(inference, expr->b);
	switch (expr->kind) {
	case SX_ADD: return size_add(sizes, a, b);
	case SX_SUB: return size_sub(sizes, a, b);
	case SX_MUL: return size_mul(sizes, a, b);
	case SX_CEIL: return size_ceil(sizes, a, expr->b->number);
	default: return size_div(sizes, a, b);
	}
}
