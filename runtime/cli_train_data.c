/* The data of tsr train: arrays of inputs, their rows, and the order in which an epoch takes them.
 *
 * The leftmost axis of the first input that has batch axes is that of examples, a dim or a number; another input has rows where its
 * leftmost batch axis is the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/threefry.h"
#include "runtime/session.h"
#include "runtime/cli_train.h"

/* Bytes: of fewer nothing is read while it trains; of a row that small a read takes longer than a step, so such arrays are read
 * whole up to MOST. */
enum { READ_WHOLE = 1 << 24, SMALL_ROW = 1 << 10, READ_WHOLE_MOST = 1 << 30 };

/* ---- which axes are of rows ---- */

static const tsr_size *leftmost(const tsr_tensor *tensor)
{
	const tsr_size *size = tensor->nbatch > 0 ? &tensor->sizes[0] : NULL;
	bool plain = size && size->n == 1 &&
		     (size->code[0] == TSR_SIZE_DIM || size->code[0] == TSR_SIZE_CONST);
	return plain ? size : NULL;
}

static bool same_size(const tsr_size *a, const tsr_size *b)
{
	return a && b && a->code[0] == b->code[0] && a->code[1] == b->code[1];
}

/* Rows of a packed type begin with a byte. */
static int check_rows(const Column *column)
{
	size_t per_row = column->whole.extents[0]
				 ? column->whole.nelements / (size_t)column->whole.extents[0]
				 : 0;
	return !dtype_is_packed(column->whole.dtype) || per_row % 2 == 0
		       ? STATUS_OK
		       : report("%s=%s: an example has %zu elements of %s, and half a byte cannot be taken",
				column->of->name, column->of->text, per_row,
				dtype_name(column->whole.dtype));
}

/* All columns that have rows have as many. */
static int count_rows(Table *table)
{
	const Column *first = NULL;
	for (size_t i = 0; i < table->ncolumns; i++) {
		Column *column = &table->columns[i];
		const tsr_size *size = leftmost(column->of->tensor);
		if (!size || column->whole.rank == 0)
			continue;
		if (!first) {
			first = column;
			table->rows = column->whole.extents[0];
			table->fixed = size->code[0] == TSR_SIZE_CONST ? size->code[1] : 0;
		}
		bool same = same_size(size, leftmost(first->of->tensor));
		column->has_rows =
			same && (!table->fixed || column->whole.extents[0] == table->rows);
		if (same && !table->fixed && column->whole.extents[0] != table->rows)
			return report("%s=%s has %lld examples, and %s=%s %lld: axis %s of both",
				      first->of->name, first->of->text, (long long)table->rows,
				      column->of->name, column->of->text,
				      (long long)column->whole.extents[0], size->text);
		if (column->has_rows && check_rows(column) != STATUS_OK)
			return STATUS_ERROR;
	}
	return first ? STATUS_OK
		     : report("no file is of an input with a batch axis that is a dim or a number: there are no "
			      "examples to train with");
}

/* ---- reading ---- */

static Dtype wanted(const Column *column)
{
	return dtype_from_name(column->of->tensor->dtype, strlen(column->of->tensor->dtype));
}

static int report_column(const Column *column, const ArrayError *why)
{
	const Assignment *a = column->of;
	return report("%s: %s (%s '%s')", a->text, why->text, a->tensor->type, a->name);
}

/* What the file says of the array, which stays open. */
static int open_column(Column *column, Assignment *a)
{
	ArrayError why;
	column->of = a;
	column->file = assignment_open(a, &why);
	ptrdiff_t index = column->file ? assignment_pick(a, column->file, &why) : -1;
	column->index = (size_t)index;
	if (index < 0 ||
	    !array_file_measure(column->file, column->index, wanted(column), &column->whole, &why))
		return report_column(column, &why);
	if (column->whole.rank == tensor_rank(a->tensor))
		return STATUS_OK;
	char came[200];
	array_file_measure(column->file, column->index, DTYPE_NONE, &column->whole, &why);
	extents_text(column->whole.extents, column->whole.rank, came, sizeof came);
	return report("%s: input '%s' is %s, and the file has %s %s", a->text, a->name,
		      a->tensor->type, dtype_name(column->whole.dtype), came);
}

static bool is_large(const Column *column)
{
	const Array *whole = &column->whole;
	bool small = whole->bytes < (uint64_t)SMALL_ROW * (uint64_t)whole->extents[0];
	return whole->bytes >= (small ? READ_WHOLE_MOST : READ_WHOLE);
}

/* Elements, all of them, unless they are many, of rows, and each row can be read for itself. */
static int read_column(Column *column)
{
	ArrayError why;
	if (column->has_rows && is_large(column))
		column->rows = array_rows_open(column->file, column->index, wanted(column));
	if (column->rows)
		return STATUS_OK;
	bool good =
		array_file_read(column->file, column->index, wanted(column), &column->whole, &why);
	array_file_close(column->file);
	column->file = NULL;
	return good ? STATUS_OK : report_column(column, &why);
}

int table_read(Table *table, const tsr_routine *routine, Assignment *values, size_t nvalues)
{
	int status = STATUS_OK;
	*table = (Table){.columns = calloc(nvalues + 1, sizeof *table->columns)};
	if (!table->columns)
		return report("out of memory");
	for (int32_t r = 0; r < routine->ninputs; r++)
		for (size_t i = 0; i < nvalues && status == STATUS_OK; i++)
			if (values[i].tensor == &routine->inputs[r] &&
			    (values[i].kind == VALUE_FILE || values[i].kind == VALUE_LIST))
				status =
					open_column(&table->columns[table->ncolumns++], &values[i]);
	if (status == STATUS_OK)
		status = count_rows(table);
	for (size_t i = 0; i < table->ncolumns && status == STATUS_OK; i++)
		status = read_column(&table->columns[i]);
	return status;
}

void table_free(Table *table)
{
	for (size_t i = 0; i < table->ncolumns; i++) {
		array_free(&table->columns[i].whole);
		array_rows_close(table->columns[i].rows);
		array_file_close(table->columns[i].file);
	}
	free(table->columns);
}

/* ---- rows ---- */

bool table_batch(const Column *column, int64_t rows, Array *out, ArrayError *why)
{
	int64_t extents[ARRAY_RANK_MAX];
	const Array *whole = &column->whole;
	memcpy(extents, whole->extents, sizeof extents);
	if (column->has_rows)
		extents[0] = rows;
	if (!array_new(out, whole->dtype, whole->rank, extents, why))
		return false;
	if (!column->has_rows)
		memcpy(out->data, whole->data, whole->bytes);
	return true;
}

int table_gather(const Column *column, const int64_t *order, int64_t n, void *to)
{
	ArrayError why;
	const Array *whole = &column->whole;
	size_t row = whole->extents[0] ? whole->bytes / (size_t)whole->extents[0] : 0;
	for (int64_t i = 0; i < n; i++) {
		char *place = (char *)to + (size_t)i * row;
		if (!column->rows)
			memcpy(place, (const char *)whole->data + (size_t)order[i] * row, row);
		else if (!array_rows_read(column->rows, order[i], place, &why))
			return report_column(column, &why);
	}
	return STATUS_OK;
}

/* A number below n: the upper half of the product with 64 random bits. */
static int64_t below(int64_t n, uint64_t seed, uint64_t epoch, uint64_t index)
{
	uint64_t bits = (uint64_t)threefry_word(seed, epoch, 2 * index) << 32 |
			threefry_word(seed, epoch, 2 * index + 1);
	return (int64_t)(((unsigned __int128)bits * (uint64_t)n) >> 64);
}

/* Fisher and Yates. */
void table_order(int64_t *order, int64_t n, const uint64_t *seed, uint64_t epoch)
{
	for (int64_t i = 0; i < n; i++)
		order[i] = i;
	for (int64_t i = n - 1; i > 0 && seed; i--) {
		int64_t k = below(i + 1, *seed, epoch, (uint64_t)i), held = order[i];
		order[i] = order[k];
		order[k] = held;
	}
}
