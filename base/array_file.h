/* Files of arrays: .npy, .npz, .safetensors and .gguf, told apart by their first bytes, and .csv, by its name.
 *
 * One representation in memory, whatever the file held: row-major, native byte order, aligned to 64
 * bytes. Files are hostile until read: every length is checked against the file's own before
 * anything is allocated, and what a file says of an array can be had before its elements, which may
 * be a thousand times as long as the file. Nothing here ends the process or uses an arena (the runtime library links
 * it): functions return false with a text.
 *
 * Conversion: a reader asks for the element type that it wants and gets it where every element has
 * an exact image in it. Without a wish, types that the language lacks come as the narrowest that
 * holds them.
 */
#ifndef TSR_BASE_ARRAY_FILE_H
#define TSR_BASE_ARRAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/dtype.h"

enum { ARRAY_RANK_MAX = 32, ARRAY_ALIGNMENT = 64 };
#define ARRAY_BYTES_MAX (UINT64_C(1) << 46) /* what no machine has: refused without asking */

typedef struct Array {
	Dtype dtype;
	int rank;
	int64_t extents[ARRAY_RANK_MAX];
	size_t nelements, bytes;
	void *data; /* owned; never NULL after success */
} Array;

/* Why something failed: one line without the file's name and without a full stop. */
typedef struct ArrayError {
	char text[256];
} ArrayError;

/* Fills *error; false, to be returned. */
bool array_fail(ArrayError *error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An open file with its list of arrays; a .npy has one, named "". */
typedef struct ArrayFile ArrayFile;

/* Opens a file and reads the list of its arrays, without elements. array_file_close ends it,
 * and takes NULL too.
 * NULL, with *error, where it is not such a file. */
ArrayFile *array_file_open(const char *path, ArrayError *error);
/* The same from memory, for .npy, .safetensors and .gguf; `bytes` stays the caller's and must outlive it.
 */
ArrayFile *array_file_memory(const void *bytes, size_t len, ArrayError *error);
void array_file_close(ArrayFile *file);
/* How many arrays it has. */
size_t array_file_count(const ArrayFile *file);
/* The name at an index of the file's order; "" for that of a .npy.
 * Requires: index < array_file_count. */
const char *array_file_name(const ArrayFile *file, size_t index);
/* The index of a name, in the file's order, or -1. */
ptrdiff_t array_file_find(const ArrayFile *file, const char *name);
/* The colon before the key in FILE.npz:KEY, behind a suffix of such files; NULL: there is none. */
const char *array_file_key(const char *text);
/* The index of `key`, which names the array, or columns of a .csv; NULL or "" for a .npy, for a file that holds exactly one, for
 * the one called `wanted`, which may be NULL too, and for the whole table of a .csv without that. -1 with an error. */
ptrdiff_t array_file_pick(ArrayFile *file, const char *key, const char *wanted, ArrayError *error);
/* What array_file_read would make, without data: nothing of the elements is read. False where it
 * would fail whatever they are. */
bool array_file_measure(ArrayFile *file, size_t index, Dtype want, Array *out, ArrayError *error);
/* `want`: DTYPE_NONE takes what comes. On failure *out is zeroed and needs no array_free. */
bool array_file_read(ArrayFile *file, size_t index, Dtype want, Array *out, ArrayError *error);

/* Opens, reads the array that `key` picks and closes. */
bool array_read(const char *path, const char *key, Dtype want, Array *out, ArrayError *error);
/* Writes a .npy, version 1, as NumPy does, byte for byte; small floats but f16 as f32, i4
 * and u4 as i8 and u8. u4x32 has no such form. The
 * file is written in place: a caller that must keep an earlier one writes to a temporary name. */
bool npy_write(const char *path, const Array *array, ArrayError *error);

/* The same to an open stream, which stays open. */
bool npy_print(FILE *out, const Array *array, ArrayError *error);

typedef struct NamedArray {
	const char *name;
	Array array;
} NamedArray;

/* A .safetensors of them to an open stream, which stays open; `module` stands in its metadata. i4 and u4 as i8 and u8;
 * names of printable ASCII. False with *error, and errno where it could not be written. */
bool safetensors_print(FILE *out, const NamedArray *arrays, size_t n, const char *module,
		       ArrayError *error);

/* Zeroed elements; false on overflow or when memory is short. */
bool array_new(Array *out, Dtype dtype, int rank, const int64_t *extents, ArrayError *error);
/* Frees the elements, not the structure, which has none then. */
void array_free(Array *array);
/* The same elements in a dtype that holds them. */
bool array_cast(const Array *array, Dtype dtype, Array *out, ArrayError *error);
/* Elements between neighbours along each axis, row-major; 0 in an array without elements. */
void array_strides(const Array *array, int64_t *strides);
/* The element at an index of the result is that at first + sum of index[i]*strides[i] of `array`;
 * all of these are inside it. */
bool array_gather(const Array *array, int64_t first, int rank, const int64_t *extents,
		  const int64_t *strides, Array *out, ArrayError *error);
/* Axis i of the result is axis order[i] of `array`; order is a permutation of 0 .. rank - 1. */
bool array_permute(const Array *array, const int *order, Array *out, ArrayError *error);

#endif
