/* .gguf, llama.cpp's files: a header, metadata, a table of tensors, their elements.
 *
 *   "GGUF", version 2 or 3, numbers of tensors and of metadata; each of these a name, a type and a
 *   value; each tensor a name, its extents with the fastest first, a type, and an offset behind the
 *   table, which ends at a multiple of the metadata's general.alignment, 32 where it is not there.
 *
 * All numbers are little endian. A tensor of blocks of 32 elements along its last axis, each with a
 * scale of f16 in front (Q8_0: 32 bytes; Q4_0: 16, of which the lower halves are the first elements,
 * 8 standing for 0), is three arrays: NAME, the products with the scales; NAME.q, the integers, i8;
 * NAME.d, the scales.
 *
 * The table is read through a window, and what it claims is compared with the file's length before
 * anything is allocated for it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"
#include "base/element.h"

enum {
	NAME_MOST = 1 << 16, /* bytes */
	WINDOW = 1 << 14,
	BLOCK = 32,	   /* elements */
	AT_ONCE = 256,	   /* blocks */
	TENSOR_LEAST = 24, /* bytes of a tensor in the table, and more than of metadata: */
	METADATA_LEAST = 13
};

typedef enum Part { PART_WHOLE, PART_INTEGERS, PART_SCALES, PART_COUNT } Part;

typedef struct Tensor {
	uint32_t type;
	int rank;
	int64_t extents[ARRAY_RANK_MAX]; /* row-major */
	uint64_t offset, bytes;		 /* in the file */
} Tensor;

typedef struct Table {
	Tensor *tensors; /* owned */
	size_t n, room;
} Table;

typedef struct Window {
	const ArrayFile *file;
	uint64_t at;	/* the next byte */
	uint64_t first; /* of `bytes` */
	size_t n;
	ArrayError *error;
	unsigned char bytes[WINDOW];
} Window;

typedef struct TypeRow {
	const char *name;
	Element element; /* of blocks: of the array NAME */
	unsigned block;	 /* bytes of one; 0: elements alone */
} TypeRow;

static const TypeRow types[] = {
	[0] = {"F32", ELEMENT_F32, 0},	   [1] = {"F16", ELEMENT_F16, 0},
	[2] = {"Q4_0", ELEMENT_F32, 18},   [3] = {"Q4_1", ELEMENT_OTHER, 0},
	[6] = {"Q5_0", ELEMENT_OTHER, 0},  [7] = {"Q5_1", ELEMENT_OTHER, 0},
	[8] = {"Q8_0", ELEMENT_F32, 34},   [9] = {"Q8_1", ELEMENT_OTHER, 0},
	[10] = {"Q2_K", ELEMENT_OTHER, 0}, [11] = {"Q3_K", ELEMENT_OTHER, 0},
	[12] = {"Q4_K", ELEMENT_OTHER, 0}, [13] = {"Q5_K", ELEMENT_OTHER, 0},
	[14] = {"Q6_K", ELEMENT_OTHER, 0}, [15] = {"Q8_K", ELEMENT_OTHER, 0},
	[24] = {"I8", ELEMENT_I8, 0},	   [25] = {"I16", ELEMENT_I16, 0},
	[26] = {"I32", ELEMENT_I32, 0},	   [27] = {"I64", ELEMENT_I64, 0},
	[28] = {"F64", ELEMENT_F64, 0},	   [30] = {"BF16", ELEMENT_BF16, 0},
};

/* NULL: a type without a row. */
static const TypeRow *type_row(uint32_t type)
{
	bool known = type < sizeof types / sizeof *types && types[type].name;
	return known ? &types[type] : NULL;
}

/* ---- the header's numbers ---- */

static bool bad(ArrayError *error, const char *what)
{
	return array_fail(error, "its header is malformed: %s", what);
}

static bool ends_early(const Window *w)
{
	return array_fail(w->error, "its header is malformed: the file ends early");
}

static uint64_t rest(const Window *w) { return w->file->len - w->at; }

static bool skip(Window *w, uint64_t n)
{
	if (n > rest(w))
		return ends_early(w);
	w->at += n;
	return true;
}

/* n <= WINDOW bytes of the file from w->at on, which move it; NULL with an error. */
static const unsigned char *take_bytes(Window *w, size_t n)
{
	if (n > rest(w)) {
		ends_early(w);
		return NULL;
	}
	if (w->at < w->first || w->at - w->first > w->n || n > w->n - (w->at - w->first)) {
		w->first = w->at;
		w->n = rest(w) < WINDOW ? (size_t)rest(w) : WINDOW;
		if (!array_file_bytes(w->file, w->first, w->bytes, w->n)) {
			w->n = 0;
			array_fail(w->error, "it cannot be read");
			return NULL;
		}
	}
	const unsigned char *bytes = w->bytes + (w->at - w->first);
	w->at += n;
	return bytes;
}

static uint64_t number(const unsigned char *bytes, size_t n)
{
	uint64_t value = 0;
	while (n-- > 0)
		value = value << 8 | bytes[n];
	return value;
}

static bool take_number(Window *w, size_t n, uint64_t *value)
{
	const unsigned char *bytes = take_bytes(w, n);
	*value = bytes ? number(bytes, n) : 0;
	return bytes;
}

/* malloc'd, without bytes 0; NULL with an error. */
static char *take_name(Window *w)
{
	uint64_t n;
	if (!take_number(w, 8, &n))
		return NULL;
	if (n > rest(w) || n > NAME_MOST) {
		bad(w->error, "a name is longer than the file or the limit");
		return NULL;
	}
	char *name = malloc(n + 1);
	if (!name) {
		array_fail(w->error, "out of memory");
		return NULL;
	}
	name[n] = '\0';
	if (array_file_bytes(w->file, w->at, name, n) && strlen(name) == n && skip(w, n))
		return name;
	bad(w->error, "a name has a byte 0");
	free(name);
	return NULL;
}

/* ---- metadata ---- */

enum { META_STRING = 8, META_ARRAY = 9 };

/* Bytes of a value; 0 of a string, an array and what is unknown. */
static size_t meta_bytes(uint64_t type)
{
	static const unsigned char bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
	return type < sizeof bytes ? bytes[type] : 0;
}

static bool skip_strings(Window *w, uint64_t n)
{
	uint64_t len;
	for (uint64_t i = 0; i < n; i++)
		if (!take_number(w, 8, &len) || !skip(w, len))
			return false;
	return true;
}

static bool skip_array(Window *w)
{
	uint64_t type, n, all;
	if (!take_number(w, 4, &type) || !take_number(w, 8, &n))
		return false;
	if (type == META_STRING)
		return skip_strings(w, n);
	if (meta_bytes(type) == 0)
		return bad(w->error, "an array of metadata has elements of an unknown type");
	if (__builtin_mul_overflow(n, (uint64_t)meta_bytes(type), &all))
		return ends_early(w);
	return skip(w, all);
}

static bool take_alignment(Window *w, uint64_t type, uint64_t *alignment)
{
	if (type != 4 || !take_number(w, 4, alignment))
		return bad(w->error, "general.alignment is no u32");
	return (*alignment > 0 && (*alignment & (*alignment - 1)) == 0) ||
	       bad(w->error, "general.alignment is no power of two");
}

static bool take_metadata(Window *w, uint64_t *alignment)
{
	uint64_t type = 0;
	char *name = take_name(w);
	bool ok = name && take_number(w, 4, &type);
	if (!ok)
		;
	else if (strcmp(name, "general.alignment") == 0)
		ok = take_alignment(w, type, alignment);
	else if (type == META_STRING)
		ok = skip_strings(w, 1);
	else if (type == META_ARRAY)
		ok = skip_array(w);
	else
		ok = meta_bytes(type) > 0
			     ? skip(w, meta_bytes(type))
			     : bad(w->error, "a value of metadata has an unknown type");
	free(name);
	return ok;
}

/* ---- tensors ---- */

static bool bad_tensor(Window *w, const char *name, const char *what)
{
	return array_fail(w->error, "its header is malformed: tensor '%.80s': %s", name, what);
}

static bool take_extents(Window *w, const char *name, Tensor *t)
{
	uint64_t rank, extent;
	if (!take_number(w, 4, &rank))
		return false;
	if (rank > ARRAY_RANK_MAX)
		return bad_tensor(w, name, "more than 32 axes");
	t->rank = (int)rank;
	for (int i = t->rank - 1; i >= 0; i--) {
		if (!take_number(w, 8, &extent))
			return false;
		if (extent > INT64_MAX)
			return bad_tensor(w, name, "an extent is too large");
		t->extents[i] = (int64_t)extent;
	}
	return true;
}

/* The layout of an array of a tensor; its bytes are those that it has when it is loaded. */
static bool layout_of(const Tensor *t, Part part, Layout *layout, ArrayError *error)
{
	const TypeRow *row = type_row(t->type);
	memset(layout, 0, sizeof *layout);
	layout->rank = t->rank;
	memcpy(layout->extents, t->extents, sizeof layout->extents);
	layout->element = row ? row->element : ELEMENT_OTHER;
	if (row)
		snprintf(layout->type, sizeof layout->type, "%s", row->name);
	else
		snprintf(layout->type, sizeof layout->type, "type %u", t->type);
	if (part == PART_INTEGERS)
		layout->element = ELEMENT_I8;
	if (part == PART_SCALES) {
		layout->element = ELEMENT_F16;
		layout->extents[t->rank - 1] /= BLOCK;
	}
	layout->dequantised = row && row->block && part == PART_WHOLE;
	layout->offset = t->offset;
	return layout_measure(layout, error);
}

/* How many bytes the elements have in the file. */
static bool measure_tensor(Window *w, const char *name, Tensor *t)
{
	Layout layout;
	const TypeRow *row = type_row(t->type);
	if (!layout_of(t, PART_WHOLE, &layout, w->error))
		return false;
	if (row && row->block && (t->rank == 0 || t->extents[t->rank - 1] % BLOCK != 0))
		return bad_tensor(w, name,
				  "its last axis is no multiple of 32, the blocks of its type");
	t->bytes = row && row->block ? layout.nelements / BLOCK * row->block : layout.bytes;
	return true;
}

static bool add_tensor(Window *w, ArrayFile *file, Table *table, const Tensor *t, const char *name)
{
	const TypeRow *row = type_row(t->type);
	if (table->n == table->room) {
		size_t room = table->room ? 2 * table->room : 16;
		Tensor *tensors = realloc(table->tensors, room * sizeof *tensors);
		if (!tensors)
			return array_fail(w->error, "out of memory");
		table->tensors = tensors;
		table->room = room;
	}
	static const char *const ends[PART_COUNT] = {"", ".q", ".d"};
	for (Part part = 0; part < (row && row->block ? PART_COUNT : 1); part++) {
		char *whole = malloc(strlen(name) + 3);
		if (whole)
			strcat(strcpy(whole, name), ends[part]);
		if (!array_file_add(file, whole, table->n * PART_COUNT + part, w->error))
			return false;
	}
	table->tensors[table->n++] = *t;
	return true;
}

static bool take_tensor(Window *w, ArrayFile *file, Table *table)
{
	Tensor t = {0};
	uint64_t type;
	char *name = take_name(w);
	bool ok = name && take_extents(w, name, &t) && take_number(w, 4, &type) &&
		  take_number(w, 8, &t.offset);
	if (ok) {
		t.type = (uint32_t)type;
		ok = measure_tensor(w, name, &t) && add_tensor(w, file, table, &t, name);
	}
	free(name);
	return ok;
}

static bool check_overlap(const Table *table, ArrayError *error)
{
	ByteRange *ranges = calloc(table->n + 1, sizeof *ranges);
	if (!ranges)
		return array_fail(error, "out of memory");
	for (size_t i = 0; i < table->n; i++) {
		const Tensor *t = &table->tensors[i];
		ranges[i] = (ByteRange){t->offset, t->offset + t->bytes, i};
	}
	bool ok =
		!ranges_overlap(ranges, table->n) || bad(error, "the bytes of two tensors overlap");
	free(ranges);
	return ok;
}

/* Offsets count from `data`, and the elements end inside the file. */
static bool place_tensors(Table *table, uint64_t data, uint64_t alignment, const ArrayFile *file,
			  ArrayError *error)
{
	for (size_t i = 0; i < table->n; i++) {
		Tensor *t = &table->tensors[i];
		if (t->offset % alignment != 0)
			return bad(error, "an offset is no multiple of general.alignment");
		if (data > file->len || t->offset > file->len - data ||
		    t->bytes > file->len - data - t->offset)
			return bad(error, "a tensor reaches beyond the end of the file");
		t->offset += data;
	}
	return check_overlap(table, error);
}

static bool read_header(Window *w, ArrayFile *file, Table *table)
{
	uint64_t version, tensors, metadata, alignment = 32;
	if (!skip(w, 4) || !take_number(w, 4, &version) || !take_number(w, 8, &tensors) ||
	    !take_number(w, 8, &metadata))
		return false;
	if (version != 2 && version != 3)
		return array_fail(w->error,
				  "it is a .gguf of version %llu: 2 and 3 are read, little endian",
				  (unsigned long long)version);
	if (tensors > rest(w) / TENSOR_LEAST || metadata > rest(w) / METADATA_LEAST)
		return bad(w->error,
			   "it claims more tensors or metadata than the file has room for");
	for (uint64_t i = 0; i < metadata; i++)
		if (!take_metadata(w, &alignment))
			return false;
	for (uint64_t i = 0; i < tensors; i++)
		if (!take_tensor(w, file, table))
			return false;
	uint64_t data = (w->at + alignment - 1) / alignment * alignment;
	return place_tensors(table, data, alignment, file, w->error);
}

static bool open_gguf(ArrayFile *file, ArrayError *error)
{
	Table *table = calloc(1, sizeof *table);
	Window *window = calloc(1, sizeof *window);
	bool ok = table && window;
	file->archive = table; /* closed with the file */
	if (ok) {
		window->file = file;
		window->error = error;
		ok = read_header(window, file, table);
	} else {
		array_fail(error, "out of memory");
	}
	free(window);
	return ok;
}

static void close_gguf(ArrayFile *file)
{
	Table *table = file->archive;
	if (table)
		free(table->tensors);
	free(table);
}

static const Tensor *tensor_at(const ArrayFile *file, size_t index, Part *part)
{
	const Table *table = file->archive;
	*part = (Part)(file->entries[index].at % PART_COUNT);
	return &table->tensors[file->entries[index].at / PART_COUNT];
}

static bool measure_gguf(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	Part part;
	const Tensor *t = tensor_at(file, index, &part);
	return layout_of(t, part, layout, error);
}

/* ---- blocks ---- */

/* The integers of a block. */
static void unpack(const unsigned char *block, unsigned bytes, int8_t q[BLOCK])
{
	const unsigned char *from = block + 2;
	if (bytes == 34) {
		memcpy(q, from, BLOCK);
		return;
	}
	for (int i = 0; i < BLOCK / 2; i++) {
		q[i] = (int8_t)((from[i] & 15) - 8);
		q[i + BLOCK / 2] = (int8_t)((from[i] >> 4) - 8);
	}
}

/* What a block is in one of the three arrays. */
static void put_block(Part part, const unsigned char *block, unsigned bytes, void *raw, size_t at)
{
	int8_t q[BLOCK];
	uint16_t scale = (uint16_t)(block[0] | block[1] << 8);
	unpack(block, bytes, q);
	if (part == PART_SCALES)
		((uint16_t *)raw)[at] = scale;
	else if (part == PART_INTEGERS)
		memcpy((int8_t *)raw + at * BLOCK, q, BLOCK);
	else
		for (size_t i = 0; i < BLOCK; i++) /* exact: 11 bits times 8 */
			((float *)raw)[at * BLOCK + i] = f16_value(scale) * (float)q[i];
}

static bool load_blocks(const ArrayFile *file, const Tensor *t, Part part, void *raw)
{
	unsigned bytes = type_row(t->type)->block;
	unsigned char some[AT_ONCE * 34];
	uint64_t n = t->bytes / bytes;
	for (uint64_t at = 0; at < n;) {
		size_t now = n - at < AT_ONCE ? (size_t)(n - at) : AT_ONCE;
		if (!array_file_bytes(file, t->offset + at * bytes, some, now * bytes))
			return false;
		for (size_t i = 0; i < now; i++, at++)
			put_block(part, some + i * bytes, bytes, raw, (size_t)at);
	}
	return true;
}

static bool load_gguf(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		      ArrayError *error)
{
	Part part;
	const Tensor *t = tensor_at(file, index, &part);
	if (type_row(t->type)->block == 0)
		return array_file_load(file, index, layout, raw, error);
	*raw = array_room(layout->bytes);
	if (!*raw)
		return array_fail(error, "not enough memory for %llu bytes",
				  (unsigned long long)layout->bytes);
	if (load_blocks(file, t, part, *raw))
		return true;
	free(*raw);
	*raw = NULL;
	return array_fail(error, "it cannot be read to its end");
}

const Format gguf_format = {open_gguf, measure_gguf, load_gguf, close_gguf, NULL};
