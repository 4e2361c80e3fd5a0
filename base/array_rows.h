/* Rows of an array that are read from its file one at a time: of a set of examples that memory need not hold.
 */
#ifndef TSR_BASE_ARRAY_ROWS_H
#define TSR_BASE_ARRAY_ROWS_H

#include "base/array_file.h"

typedef struct ArrayRows ArrayRows;

/* Rows along the first axis of an array of an open file, which must outlive them, in elements of `want`. NULL where they
 * do not lie one behind the other in the file (another order, packed elements, .npz, .gguf and .csv), or where
 * array_file_measure fails. array_rows_close ends it, and takes NULL too. Requires: index < array_file_count. */
ArrayRows *array_rows_open(ArrayFile *file, size_t index, Dtype want);
/* What array_file_read would make of one row, as bytes; false, with *error, where an element has no exact image or the file has
 * become shorter. Requires: 0 <= row < the first extent. */
bool array_rows_read(ArrayRows *rows, int64_t row, void *to, ArrayError *error);
void array_rows_close(ArrayRows *rows);

#endif
