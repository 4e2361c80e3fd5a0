/* A constraint as messages and dumps write it. */
#include "base/held.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <inttypes.h>

static void print_relation(FILE *out, Solver *s, const Con *con)
{
	static const char *const infix[] = {
		[CON_CONCAT] = " + ", [CON_ADD] = " + ", [CON_MUL] = " * "};
	fprintf(out, "%s = ", cell_size_text(s, con->cells[0]));
	for (uint32_t i = 1; i < con->ncells; i++)
		fprintf(out, "%s%s", i > 1 ? infix[con->kind] : "",
			cell_size_text(s, con->cells[i]));
	if (con->number)
		fprintf(out, "%s%" PRId64, con->ncells > 1 ? " + " : "", con->number);
}

static void print_affine(FILE *out, Solver *s, const Con *con)
{
	static const char *const marks[] = {" + ", " <+ ", " <+? ", " =+ ", " =+? "};
	const SpecAxis *axis = con->axis;
	fprintf(out, "%s = size of ", cell_size_text(s, con->cells[0]));
	if (axis->stride != 1)
		fprintf(out, "%" PRId64 "*", axis->stride);
	fprintf(out, "%s[%s]", axis->letter, cell_size_text(s, con->cells[1]));
	if (axis->kernel) {
		fputs(marks[axis->mark], out);
		if (axis->padded)
			fprintf(out, "[%" PRId64 ", %" PRId64 "] ", axis->before, axis->after);
		if (axis->offset)
			fprintf(out, "%" PRId64 " + ", axis->offset);
		if (axis->dilation != 1)
			fprintf(out, "%" PRId64 "*", axis->dilation);
		fprintf(out, "%s[%s]", axis->kernel, cell_size_text(s, con->cells[2]));
	} else if (axis->offset) {
		fprintf(out, " + %" PRId64, axis->offset);
	}
}

static const char *row_text(Solver *s, const RowTerm *row)
{
	FlatRow f;
	row_flatten(s, row, &f);
	return flat_text(s, &f);
}

static const char *named_text(Solver *s, CellId cell)
{
	Sym name = s->cells.at[cell].name;
	return name ? name : cell_size_text(s, cell);
}

static void print_factors(FILE *out, Solver *s, const Con *con)
{
	FlatRow f;
	row_flatten(s, &con->rows[0], &f);
	fprintf(out, "%s = ", cell_size_text(s, con->cells[0]));
	for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
		fprintf(out, "%s%s", i > 0 ? " * " : "", cell_size_text(s, flat_at(&f, i)));
}

static void print_con(FILE *out, Solver *s, const Con *con)
{
	switch (con->kind) {
	case CON_ROW_EQ:
		fprintf(out, "%s of %s: %s = %s", row_kind_text(con->row),
			tensor_text(s, con->node, con->arg), row_text(s, &con->a),
			row_text(s, &con->b));
		break;
	case CON_ROW_LE:
		fprintf(out, "%s of %s: %s refines %s", row_kind_text(con->row),
			tensor_text(s, con->node, con->arg), row_text(s, &con->a),
			row_text(s, &con->b));
		break;
	case CON_CELL_EQ:
		fprintf(out, "%s = %s", named_text(s, con->cells[0]),
			cell_size_text(s, con->cells[1]));
		break;
	case CON_AT_LEAST:
		fprintf(out, "%s >= %" PRId64, cell_size_text(s, con->cells[0]), con->number);
		break;
	case CON_AFFINE: print_affine(out, s, con); break;
	case CON_CONCAT:
	case CON_ADD:
	case CON_MUL: print_relation(out, s, con); break;
	case CON_PRODUCT:
		if (con_is_written_product(con)) {
			print_factors(out, s, con);
			break;
		}
		fprintf(out, "%s = ", cell_size_text(s, con->cells[0]));
		if (con->number != 1)
			fprintf(out, "%" PRId64 " * ", con->number);
		fputs("product of", out);
		for (uint32_t r = 0; r < con->nrows; r++)
			fprintf(out, " %s", row_text(s, &con->rows[r]));
		break;
	}
}

const char *con_text(Solver *s, ConId id)
{
	Text text = text_new();
	print_con(text.out, s, &s->cons.at[id]);
	return text_take(text, s->arena, NULL);
}
