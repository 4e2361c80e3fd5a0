/* .safetensors: the header's length (8 bytes, little endian), the header (JSON), the elements.
 *
 *   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
 *
 * Offsets count from the end of the header. Every tensor's range must lie inside the file, be as
 * long as its shape says, and overlap no other.
 *
 * As a tree of JSON a header takes twenty times its length. So its members are read one by one, and
 * what is kept is its text, with the place of each description.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"

enum {
	HEADER_MAX = 100 * 1000 * 1000, /* the limit of the reference implementation */
	VALUE_MAX = 1 << 16             /* bytes of a name or a description */
};

typedef struct Cursor {
	const char *at, *end;
	ArrayError *error;
} Cursor;

/* The bytes of a tensor, from the end of the header. */
typedef struct Reading {
	ArrayFile *file;
	ByteRange *ranges; /* owned, one an entry */
	size_t room;
} Reading;

static Element element_named(const char *name)
{
	static const struct {
		const char *name;
		Element element;
	} known[] = {
		{"F64", ELEMENT_F64},	{"F32", ELEMENT_F32},	     {"F16", ELEMENT_F16},
		{"BF16", ELEMENT_BF16}, {"I64", ELEMENT_I64},	     {"I32", ELEMENT_I32},
		{"I16", ELEMENT_I16},	{"I8", ELEMENT_I8},	     {"U64", ELEMENT_U64},
		{"U32", ELEMENT_U32},	{"U16", ELEMENT_U16},	     {"U8", ELEMENT_U8},
		{"BOOL", ELEMENT_BOOL}, {"F8_E4M3", ELEMENT_F8E4M3}, {"F8_E5M2", ELEMENT_F8E5M2},
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

/* From a description to the layout; `room`: bytes after the header. */
static bool read_layout(const char *name, const json_t *value, uint64_t room, Layout *layout,
			ArrayError *error)
{
	const char *type = json_string_value(json_object_get(value, "dtype"));
	const json_t *offsets = json_object_get(value, "data_offsets");
	int64_t begin, end;
	memset(layout, 0, sizeof *layout);
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
	layout->offset = (uint64_t)begin;
	layout->bytes = (uint64_t)(end - begin);
	return true;
}

/* ---- the text ---- */

static bool malformed(Cursor *c, const char *what)
{
	return array_fail(c->error, "its header is malformed: %.160s", what);
}

static void skip(Cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'))
		c->at++;
}

static bool take_char(Cursor *c, char wanted)
{
	skip(c);
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* The next value, of at most so many bytes; NULL with an error. */
static json_t *take_value(Cursor *c, size_t most)
{
	json_error_t why;
	size_t rest = (size_t)(c->end - c->at);
	json_t *value =
		json_loadb(c->at, rest < most ? rest : most,
			   JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
	if (value)
		c->at += why.position;
	else
		malformed(c, why.text);
	return value;
}

typedef bool (*TakeMember)(Cursor *c, const char *name, Reading *to);

static bool take_member(Cursor *c, TakeMember member, Reading *to)
{
	json_t *name = take_value(c, VALUE_MAX);
	bool ok = name && (json_is_string(name) || malformed(c, "a name is no string")) &&
		  (take_char(c, ':') || malformed(c, "':' expected")) &&
		  member(c, json_string_value(name), to);
	json_decref(name);
	return ok;
}

static bool take_object(Cursor *c, TakeMember member, Reading *to)
{
	if (!take_char(c, '{'))
		return malformed(c, "it is not a JSON object");
	if (take_char(c, '}'))
		return true;
	do
		if (!take_member(c, member, to))
			return false;
	while (take_char(c, ','));
	return take_char(c, '}') || malformed(c, "'}' expected");
}

/* Of the file's metadata, which are texts. */
static bool skip_text(Cursor *c, const char *name, Reading *to)
{
	(void)to;
	if (!take_char(c, '"'))
		return bad(c->error, name, "metadata are strings");
	c->at--;
	json_t *text = take_value(c, (size_t)(c->end - c->at));
	json_decref(text);
	return text != NULL;
}

static bool add_range(Reading *to, const Layout *layout)
{
	size_t index = to->file->nentries - 1;
	if (index == to->room) {
		size_t room = to->room ? 2 * to->room : 16;
		ByteRange *ranges = realloc(to->ranges, room * sizeof *ranges);
		if (!ranges)
			return false;
		to->ranges = ranges;
		to->room = room;
	}
	to->ranges[index] = (ByteRange){layout->offset, layout->offset + layout->bytes, index};
	return true;
}

static bool take_tensor(Cursor *c, const char *name, Reading *to)
{
	ArrayFile *file = to->file;
	Layout layout;
	uint64_t room = file->len - sizeof(uint64_t) - file->header_len;
	if (strcmp(name, "__metadata__") == 0)
		return take_object(c, skip_text, to);
	const char *start = c->at;
	json_t *value = take_value(c, VALUE_MAX);
	bool ok = value && read_layout(name, value, room, &layout, c->error) &&
		  array_file_add(file, strdup(name), (uint64_t)(start - file->header), c->error) &&
		  (add_range(to, &layout) || array_fail(c->error, "out of memory"));
	json_decref(value);
	return ok;
}

static bool check_overlap(const ArrayFile *file, ByteRange *ranges, ArrayError *error)
{
	const ByteRange *second = ranges_overlap(ranges, file->nentries);
	return !second ||
	       bad(error, file->entries[second->index].name, "its bytes overlap another tensor's");
}

static bool read_header(ArrayFile *file, ArrayError *error)
{
	Reading reading = {.file = file};
	Cursor c = {file->header, file->header + file->header_len, error};
	bool ok = take_object(&c, take_tensor, &reading);
	skip(&c);
	if (ok && c.at < c.end)
		ok = malformed(&c, "something follows the object");
	ok = ok && check_overlap(file, reading.ranges, error);
	free(reading.ranges);
	return ok;
}

static bool open_safetensors(ArrayFile *file, ArrayError *error)
{
	unsigned char prefix[sizeof(uint64_t)];
	uint64_t len = 0;
	if (!array_file_bytes(file, 0, prefix, sizeof prefix))
		return array_fail(error, "the file ends early");
	for (int i = 7; i >= 0; i--)
		len = len << 8 | prefix[i];
	if (len > file->len - sizeof prefix || len > HEADER_MAX)
		return array_fail(error,
				  "its header claims %llu bytes, more than the file or the limit",
				  (unsigned long long)len);
	file->header = malloc(len + 1);
	file->header_len = (size_t)len;
	if (!file->header)
		return array_fail(error, "out of memory");
	return array_file_bytes(file, sizeof prefix, file->header, len)
		       ? read_header(file, error)
		       : array_fail(error, "it cannot be read");
}

static bool measure_safetensors(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	const Entry *entry = &file->entries[index];
	uint64_t data = sizeof(uint64_t) + file->header_len;
	Cursor c = {file->header + entry->at, file->header + file->header_len, error};
	json_t *value = take_value(&c, VALUE_MAX);
	bool ok = value && read_layout(entry->name, value, file->len - data, layout, error);
	json_decref(value);
	layout->offset += ok ? data : 0;
	return ok;
}

const Format safetensors_format = {open_safetensors, measure_safetensors, array_file_load, NULL,
				   NULL};
