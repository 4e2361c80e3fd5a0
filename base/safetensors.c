/* .safetensors: the header's length (8 bytes, little endian), the header (JSON), the elements.
 *
 *   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
 *
 * Offsets count from the end of the header. Every tensor's range must lie inside the file, be as
 * long as its shape says, and overlap no other.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"

enum { HEADER_MAX = 100 * 1000 * 1000 }; /* the limit of the reference implementation */

static Element element_named(const char *name)
{
	static const struct {
		const char *name;
		Element element;
	} known[] = {
		{"F64", ELEMENT_F64},   {"F32", ELEMENT_F32}, {"F16", ELEMENT_F16},
		{"BF16", ELEMENT_BF16}, {"I64", ELEMENT_I64}, {"I32", ELEMENT_I32},
		{"I16", ELEMENT_I16},   {"I8", ELEMENT_I8},   {"U64", ELEMENT_U64},
		{"U32", ELEMENT_U32},   {"U16", ELEMENT_U16}, {"U8", ELEMENT_U8},
		{"BOOL", ELEMENT_BOOL},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].element;
	return ELEMENT_OTHER;
}

static bool bad(ArrayError *error, const char *name, const char *what)
{
	return array_fail(error, "its header is malformed: tensor '%.80s': %s", name, what);
}

static bool natural(const json_t *value, int64_t *out)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*out = json_integer_value(value);
	return true;
}

static bool read_shape(const char *name, const json_t *shape, Layout *layout, ArrayError *error)
{
	size_t rank = json_array_size(shape);
	if (!json_is_array(shape))
		return bad(error, name, "no shape");
	if (rank > ARRAY_RANK_MAX)
		return bad(error, name, "more than 32 axes");
	layout->rank = (int)rank;
	for (size_t i = 0; i < rank; i++)
		if (!natural(json_array_get(shape, i), &layout->extents[i]))
			return bad(error, name, "an extent is not a natural number");
	return true;
}

/* `room`: bytes after the header. */
static bool read_entry(Entry *entry, const json_t *value, uint64_t room, ArrayError *error)
{
	Layout *layout = &entry->layout;
	const char *name = entry->name, *type = json_string_value(json_object_get(value, "dtype"));
	const json_t *offsets = json_object_get(value, "data_offsets");
	int64_t begin, end;
	if (!type)
		return bad(error, name, "no dtype");
	snprintf(layout->type, sizeof layout->type, "%s", type);
	layout->element = element_named(type);
	if (!read_shape(name, json_object_get(value, "shape"), layout, error))
		return false;
	if (json_array_size(offsets) != 2 || !natural(json_array_get(offsets, 0), &begin) ||
	    !natural(json_array_get(offsets, 1), &end) || begin > end)
		return bad(error, name, "data_offsets is not a pair [begin, end]");
	if ((uint64_t)end > room)
		return bad(error, name, "data_offsets reach beyond the end of the file");
	if (!layout_measure(layout, error))
		return false;
	if (layout->element != ELEMENT_OTHER && layout->bytes != (uint64_t)(end - begin))
		return bad(error, name, "data_offsets do not fit its shape and dtype");
	layout->offset = (uint64_t)begin; /* from the end of the header, for now */
	layout->bytes = (uint64_t)(end - begin);
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const Layout *x = &(*(const Entry *const *)a)->layout,
		     *y = &(*(const Entry *const *)b)->layout;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool check_overlap(const ArrayFile *file, ArrayError *error)
{
	const Entry **sorted = calloc(file->nentries + 1, sizeof *sorted);
	uint64_t end = 0;
	bool ok = true;
	if (!sorted)
		return array_fail(error, "out of memory");
	for (size_t i = 0; i < file->nentries; i++)
		sorted[i] = &file->entries[i];
	qsort(sorted, file->nentries, sizeof *sorted, by_offset);
	for (size_t i = 0; i < file->nentries && ok; i++) {
		if (sorted[i]->layout.offset < end)
			ok = bad(error, sorted[i]->name, "its bytes overlap another tensor's");
		end = sorted[i]->layout.offset + sorted[i]->layout.bytes;
	}
	free(sorted);
	return ok;
}

static bool read_entries(ArrayFile *file, json_t *root, uint64_t data, ArrayError *error)
{
	const char *name;
	json_t *value;
	if (!json_is_object(root))
		return array_fail(error, "its header is not a JSON object");
	file->entries = calloc(json_object_size(root) + 1, sizeof *file->entries);
	if (!file->entries)
		return array_fail(error, "out of memory");
	json_object_foreach(root, name, value)
	{
		if (strcmp(name, "__metadata__") == 0)
			continue;
		Entry *entry = &file->entries[file->nentries];
		entry->name = strdup(name);
		if (!entry->name)
			return array_fail(error, "out of memory");
		file->nentries++;
		if (!read_entry(entry, value, file->len - data, error))
			return false;
	}
	if (!check_overlap(file, error))
		return false;
	for (size_t i = 0; i < file->nentries; i++)
		file->entries[i].layout.offset += data;
	return true;
}

static bool open_safetensors(ArrayFile *file, ArrayError *error)
{
	unsigned char prefix[8];
	uint64_t len = 0;
	json_error_t why;
	if (!array_file_bytes(file, 0, prefix, sizeof prefix))
		return array_fail(error, "the file ends early");
	for (int i = 7; i >= 0; i--)
		len = len << 8 | prefix[i];
	if (len > file->len - sizeof prefix || len > HEADER_MAX)
		return array_fail(error,
				  "its header claims %llu bytes, more than the file or the limit",
				  (unsigned long long)len);
	char *text = malloc(len + 1);
	if (!text)
		return array_fail(error, "out of memory");
	json_t *root = NULL;
	if (array_file_bytes(file, sizeof prefix, text, len))
		root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	else
		snprintf(why.text, sizeof why.text, "it cannot be read");
	free(text);
	bool ok = root ? read_entries(file, root, sizeof prefix + len, error)
		       : array_fail(error, "its header is malformed: %.160s", why.text);
	json_decref(root);
	return ok;
}

static bool load_safetensors(ArrayFile *file, size_t index, Layout *layout, void **raw,
			     ArrayError *error)
{
	*layout = file->entries[index].layout;
	return array_file_load(file, layout, raw, error);
}

const Format safetensors_format = {open_safetensors, load_safetensors, NULL};
