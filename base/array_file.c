/* Array files: opening by content, lookup by name, reading. The formats are rows of `Format`.
 *
 * Invariant: an open file has its entries twice, in its own order and by name, and no name twice but
 * for columns of a table, which such a name does not find.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array_format.h"
#include "base/element.h"
#include "base/file.h"

bool array_fail(ArrayError *error, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof error->text, fmt, args);
	va_end(args);
	return false;
}

void *array_room(uint64_t n)
{
	if (n > ARRAY_BYTES_MAX)
		return NULL;
	n = n == 0 ? 1 : n;
	return aligned_alloc(ARRAY_ALIGNMENT,
			     (n + ARRAY_ALIGNMENT - 1) / ARRAY_ALIGNMENT * ARRAY_ALIGNMENT);
}

bool array_file_bytes(const ArrayFile *file, uint64_t offset, void *to, size_t n)
{
	if (offset > file->len || n > file->len - offset)
		return false;
	if (file->bytes) {
		memcpy(to, file->bytes + offset, n);
		return true;
	}
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(fileno(file->in), (char *)to + done, n - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

bool array_file_load(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		     ArrayError *error)
{
	(void)index;
	*raw = array_room(layout->bytes);
	if (!*raw)
		return array_fail(error, "not enough memory for %llu bytes",
				  (unsigned long long)layout->bytes);
	if (array_file_bytes(file, layout->offset, *raw, layout->bytes))
		return true;
	free(*raw);
	return array_fail(error, "it cannot be read to its end");
}

bool array_file_add(ArrayFile *file, char *name, uint64_t at, ArrayError *error)
{
	if (name && file->nentries == file->room) {
		size_t room = file->room ? 2 * file->room : 16;
		Entry *entries = realloc(file->entries, room * sizeof *entries);
		file->room = entries ? room : file->room;
		file->entries = entries ? entries : file->entries;
	}
	if (!name || file->nentries == file->room) {
		free(name);
		return array_fail(error, "out of memory");
	}
	file->entries[file->nentries++] = (Entry){name, at};
	return true;
}

/* ---- opening ---- */

/* By the first bytes: each format has its own. A safetensors starts with a length, then '{'. */
static const Format *format_of(const ArrayFile *file)
{
	unsigned char head[9] = {0};
	size_t n = file->len < sizeof head ? (size_t)file->len : sizeof head;
	if (!array_file_bytes(file, 0, head, n))
		return NULL;
	if (memcmp(head, "\x93NUMPY", 6) == 0)
		return &npy_format;
	if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)
		return &npz_format;
	if (memcmp(head, "GGUF", 4) == 0)
		return &gguf_format;
	return n == sizeof head && head[8] == '{' ? &safetensors_format : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const Entry *const *)a)->name, (*(const Entry *const *)b)->name);
}

static bool sort_names(ArrayFile *file, ArrayError *error)
{
	file->by_name = calloc(file->nentries + 1, sizeof *file->by_name);
	if (!file->by_name)
		return array_fail(error, "out of memory");
	for (size_t i = 0; i < file->nentries; i++)
		file->by_name[i] = &file->entries[i];
	qsort(file->by_name, file->nentries, sizeof *file->by_name, by_name);
	for (size_t i = 1; i < file->nentries && !file->format->pick; i++)
		if (by_name(&file->by_name[i - 1], &file->by_name[i]) == 0)
			return array_fail(error, "the array '%.100s' is in it twice",
					  file->by_name[i]->name);
	return true;
}

/* `path`: NULL in memory. */
static bool open_entries(ArrayFile *file, const char *path, ArrayError *error)
{
	size_t n = path ? strlen(path) : 0;
	if (file->len == 0)
		return array_fail(error, "the file is empty");
	file->format = format_of(file);
	if (!file->format && n > 4 && strcasecmp(path + n - 4, ".csv") == 0)
		file->format = &csv_format;
	if (!file->format)
		return array_fail(error,
				  path ? "it is not a .npy, .npz, .safetensors, .gguf or .csv file"
				       : "it is not a .npy, .npz, .safetensors or .gguf file");
	return file->format->open(file, error) && sort_names(file, error);
}

static bool open_path(ArrayFile *file, const char *path, ArrayError *error)
{
	struct stat st;
	const char *why;
	file->in = file_open(path, &why);
	if (!file->in)
		return array_fail(error, "%s", why);
	if (fstat(fileno(file->in), &st) != 0)
		return array_fail(error, "%s", strerror(errno));
	file->len = (uint64_t)st.st_size;
	return open_entries(file, path, error);
}

ArrayFile *array_file_open(const char *path, ArrayError *error)
{
	ArrayFile *file = calloc(1, sizeof *file);
	if (!file) {
		array_fail(error, "out of memory");
		return NULL;
	}
	if (open_path(file, path, error))
		return file;
	array_file_close(file);
	return NULL;
}

ArrayFile *array_file_memory(const void *bytes, size_t len, ArrayError *error)
{
	ArrayFile *file = calloc(1, sizeof *file);
	if (!file) {
		array_fail(error, "out of memory");
		return NULL;
	}
	file->bytes = bytes;
	file->len = len;
	if (open_entries(file, NULL, error))
		return file;
	array_file_close(file);
	return NULL;
}

void array_file_close(ArrayFile *file)
{
	if (!file)
		return;
	if (file->format && file->format->close)
		file->format->close(file);
	for (size_t i = 0; i < file->nentries; i++)
		free(file->entries[i].name);
	free(file->entries);
	free(file->by_name);
	free(file->header);
	if (file->in)
		fclose(file->in);
	free(file);
}

size_t array_file_count(const ArrayFile *file)
{
	return file->nentries;
}

const char *array_file_name(const ArrayFile *file, size_t index)
{
	return file->entries[index].name;
}

ptrdiff_t array_file_find(const ArrayFile *file, const char *name)
{
	const Entry key = {.name = (char *)name}, *wanted = &key;
	const Entry **found = bsearch(&wanted, file->by_name, file->nentries,
				      sizeof *file->by_name, by_name);
	bool twice =
		found &&
		((found > file->by_name && by_name(found - 1, found) == 0) ||
		 (found + 1 < file->by_name + file->nentries && by_name(found, found + 1) == 0));
	return found && !twice ? *found - file->entries : -1;
}

const char *array_file_key(const char *text)
{
	static const char *const suffixes[] = {
		".npz:", ".safetensors:", ".npy:", ".gguf:", ".csv:"};
	const char *colon = NULL;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !colon; i++) {
		const char *found = strstr(text, suffixes[i]);
		colon = found ? found + strlen(suffixes[i]) - 1 : NULL;
	}
	return colon;
}

bool array_file_measure(ArrayFile *file, size_t index, Dtype want, Array *out, ArrayError *error)
{
	Layout layout;
	memset(out, 0, sizeof *out);
	return file->format->measure(file, index, &layout, error) &&
	       array_plan(&layout, want, out, error);
}

bool array_file_read(ArrayFile *file, size_t index, Dtype want, Array *out, ArrayError *error)
{
	Layout layout;
	Array plan;
	void *raw = NULL;
	memset(out, 0, sizeof *out);
	if (!file->format->measure(file, index, &layout, error) ||
	    !array_plan(&layout, want, &plan, error))
		return false;
	layout.integers = !dtype_is_float(plan.dtype);
	return file->format->load(file, index, &layout, &raw, error) &&
	       array_decode(&layout, raw, want, out, error);
}

void array_file_list(const ArrayFile *file, size_t first, char *text, size_t room)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = first; i < file->nentries; i++) {
		const char *name = file->entries[i].name;
		if (used + strlen(name) + 8 > room) {
			snprintf(text + used, room - used, ", ...");
			return;
		}
		used += (size_t)snprintf(text + used, room - used, "%s%s", i > first ? ", " : "",
					 name);
	}
}

/* What a key means that is no name. */
static ptrdiff_t pick_more(ArrayFile *file, const char *key, ArrayError *error)
{
	if (!file->format->pick(file, key, error))
		return -1;
	free(file->by_name);
	file->by_name = NULL;
	return sort_names(file, error) ? (ptrdiff_t)file->nentries - 1 : -1;
}

ptrdiff_t array_file_pick(ArrayFile *file, const char *key, const char *wanted, ArrayError *error)
{
	bool none = !key || !*key;
	char names[120];
	if (none && file->nentries == 1)
		return 0;
	const char *name = none ? wanted : key;
	ptrdiff_t index = name ? array_file_find(file, name) : -1;
	if (index < 0 && file->format->pick && none) /* the whole table */
		index = array_file_find(file, "");
	if (index >= 0)
		return index;
	if (file->format->pick)
		return pick_more(file, name, error);
	array_file_list(file, 0, names, sizeof names);
	if (file->format == &npy_format)
		array_fail(error, "a .npy file holds one array, without a name: no ':%.60s'", key);
	else if (!name)
		array_fail(error, "it holds %zu arrays, where one is wanted (%s)", file->nentries,
			   names);
	else
		array_fail(error, "it has no array '%.60s' (it has: %s)", name, names);
	return -1;
}

bool array_read(const char *path, const char *key, Dtype want, Array *out, ArrayError *error)
{
	memset(out, 0, sizeof *out);
	ArrayFile *file = array_file_open(path, error);
	if (!file)
		return false;
	ptrdiff_t index = array_file_pick(file, key, NULL, error);
	bool ok = index >= 0 && array_file_read(file, (size_t)index, want, out, error);
	array_file_close(file);
	return ok;
}

static int by_place(const void *a, const void *b)
{
	const ByteRange *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

const ByteRange *ranges_overlap(ByteRange *ranges, size_t n)
{
	if (n > 0)
		qsort(ranges, n, sizeof *ranges, by_place);
	for (size_t i = 1; i < n; i++)
		if (ranges[i].begin < ranges[i - 1].end)
			return &ranges[i];
	return NULL;
}

bool array_cast(const Array *array, Dtype dtype, Array *out, ArrayError *error)
{
	if (!array_new(out, dtype, array->rank, array->extents, error))
		return false;
	for (size_t i = 0; i < out->nelements; i++)
		scalar_write(dtype, out->data, (int64_t)i,
			     scalar_read(array->dtype, array->data, (int64_t)i));
	return true;
}
