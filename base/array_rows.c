/* Rows of arrays in files: where one begins follows from its number, as .npy and .safetensors hold them. */
#include "base/array_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"

struct ArrayRows {
	ArrayFile *file;
	size_t index;
	Dtype want;
	Layout first; /* of the first row */
};

/* Do rows lie one behind the other, each a whole number of bytes? */
static bool has_rows(const ArrayFile *file, const Layout *layout, Dtype want)
{
	return file->format->load == array_file_load && !layout->fortran && layout->rank > 0 &&
	       layout->extents[0] > 0 && !dtype_is_packed(want) &&
	       layout->bytes % (uint64_t)layout->extents[0] == 0;
}

ArrayRows *array_rows_open(ArrayFile *file, size_t index, Dtype want)
{
	ArrayError why;
	Array plan;
	Layout layout;
	if (!file->format->measure(file, index, &layout, &why) ||
	    !array_plan(&layout, want, &plan, &why) || !has_rows(file, &layout, want))
		return NULL;
	ArrayRows *rows = malloc(sizeof *rows);
	if (!rows)
		return NULL;
	*rows = (ArrayRows){file, index, want, layout};
	rows->first.bytes /= (uint64_t)layout.extents[0];
	rows->first.nelements /= (size_t)layout.extents[0];
	rows->first.extents[0] = 1;
	rows->first.integers = !dtype_is_float(plan.dtype);
	return rows;
}

bool array_rows_read(ArrayRows *rows, int64_t row, void *to, ArrayError *error)
{
	Layout layout = rows->first;
	Array made;
	void *raw;
	layout.offset += (uint64_t)row * layout.bytes;
	if (!array_file_load(rows->file, rows->index, &layout, &raw, error) ||
	    !array_decode(&layout, raw, rows->want, &made, error))
		return false;
	memcpy(to, made.data, made.bytes);
	array_free(&made);
	return true;
}

void array_rows_close(ArrayRows *rows) { free(rows); }
