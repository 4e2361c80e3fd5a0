/* .npy: magic, version, header length, a Python dict, the elements.
 *
 * The dict is read by a small parser of exactly what NumPy writes: three keys, each once, in any
 * order; strings without escapes, True and False, a tuple of non-negative integers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"
#include "base/element.h"

typedef struct Reader {
	const char *at, *end;
	Layout *layout;
	ArrayError *error;
} Reader;

static void skip_space(Reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

static bool take_char(Reader *r, char c)
{
	skip_space(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_word(Reader *r, const char *word)
{
	size_t n = strlen(word);
	skip_space(r);
	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static bool bad(Reader *r, const char *what)
{
	return array_fail(r->error, "its .npy header is malformed: %s", what);
}

/* A quoted string into text[room]. */
static bool take_string(Reader *r, char *text, size_t room)
{
	size_t n = 0;
	skip_space(r);
	if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
		return false;
	char quote = *r->at++;
	for (; r->at < r->end && *r->at != quote; r->at++) {
		if (*r->at == '\\' || *r->at < ' ' || n + 1 >= room)
			return false;
		text[n++] = *r->at;
	}
	text[n] = '\0';
	return take_char(r, quote);
}

static bool take_extent(Reader *r, int64_t *extent)
{
	int64_t value = 0;
	skip_space(r);
	const char *start = r->at;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *r->at - '0', &value))
			return bad(r, "an extent is too large");
	if (r->at == start)
		return bad(r, r->at < r->end && *r->at == '-'
				      ? "an extent is negative"
				      : "'shape' is not a tuple of integers");
	if (r->at < r->end && *r->at == 'L') /* Python 2 */
		r->at++;
	*extent = value;
	return true;
}

static bool take_shape(Reader *r)
{
	Layout *l = r->layout;
	if (!take_char(r, '('))
		return bad(r, "'shape' is not a tuple of integers");
	l->rank = 0;
	bool comma = true;
	while (!take_char(r, ')')) {
		if (!comma)
			return bad(r, "'shape' is not a tuple of integers");
		if (l->rank == ARRAY_RANK_MAX)
			return array_fail(r->error, "it has more than %d axes", ARRAY_RANK_MAX);
		if (!take_extent(r, &l->extents[l->rank++]))
			return false;
		comma = take_char(r, ',');
	}
	return (l->rank != 1 || comma) || bad(r, "'shape' is not a tuple of integers");
}

/* "<f4": byte order, kind, width. Types that only NumPy has are named when the array is read. */
static bool take_descr(Reader *r)
{
	static const struct {
		const char *descr;
		Element element;
	} known[] = {
		{"f8", ELEMENT_F64}, {"f4", ELEMENT_F32}, {"f2", ELEMENT_F16}, {"i8", ELEMENT_I64},
		{"i4", ELEMENT_I32}, {"i2", ELEMENT_I16}, {"i1", ELEMENT_I8},  {"u8", ELEMENT_U64},
		{"u4", ELEMENT_U32}, {"u2", ELEMENT_U16}, {"u1", ELEMENT_U8},  {"b1", ELEMENT_BOOL},
	};
	Layout *l = r->layout;
	skip_space(r);
	if (r->at < r->end && *r->at == '[')
		return array_fail(r->error, "its elements are structures, which is not supported");
	if (!take_string(r, l->type, sizeof l->type))
		return bad(r, "'descr' is not a short string");
	l->element = ELEMENT_OTHER;
	const char *type = l->type;
	l->swapped = *type == '>';
	if (*type && strchr("<>=|", *type))
		type++;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(type, known[i].descr) == 0)
			l->element = known[i].element;
	if (element_bytes(l->element) <= 1)
		l->swapped = false;
	return true;
}

static bool take_order(Reader *r)
{
	r->layout->fortran = take_word(r, "True");
	return r->layout->fortran || take_word(r, "False") ||
	       bad(r, "'fortran_order' is neither True nor False");
}

static bool take_dict(Reader *r)
{
	static const struct {
		const char *key;
		bool (*take)(Reader *);
	} keys[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
	unsigned seen = 0;
	if (!take_char(r, '{'))
		return bad(r, "not a dict");
	for (bool comma = true; !take_char(r, '}'); comma = take_char(r, ',')) {
		char key[16];
		size_t k = 0;
		if (!comma || !take_string(r, key, sizeof key) || !take_char(r, ':'))
			return bad(r, "not a dict with string keys");
		while (k < 3 && strcmp(keys[k].key, key) != 0)
			k++;
		if (k == 3 || seen & 1u << k)
			return bad(r, k == 3 ? "an unknown key" : "a key stands twice");
		seen |= 1u << k;
		if (!keys[k].take(r))
			return false;
	}
	skip_space(r);
	if (seen != 7)
		return bad(r, "'descr', 'fortran_order' or 'shape' is missing");
	return r->at == r->end || bad(r, "something follows the dict");
}

uint64_t npy_header_bytes(const unsigned char bytes[NPY_PREFIX])
{
	uint32_t len = bytes[8] | (uint32_t)bytes[9] << 8;
	if (memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return 0;
	if (bytes[6] == 1)
		return (uint64_t)len + 10;
	return (uint64_t)(len | (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24) + 12;
}

bool npy_parse(const unsigned char *bytes, size_t len, Layout *layout, ArrayError *error)
{
	memset(layout, 0, sizeof *layout);
	uint64_t header = len < NPY_PREFIX ? 0 : npy_header_bytes(bytes);
	if (header == 0)
		return array_fail(error, "it has no .npy header of version 1, 2 or 3");
	if (header > len)
		return array_fail(error,
				  "its .npy header is longer than the file, or than %d bytes",
				  NPY_HEADER_MAX);
	Reader r = {(const char *)bytes + (bytes[6] == 1 ? 10 : 12), (const char *)bytes + header,
		    layout, error};
	layout->offset = header;
	return take_dict(&r) && layout_measure(layout, error);
}

static bool open_npy(ArrayFile *file, ArrayError *error)
{
	return array_file_add(file, strdup(""), 0, error);
}

static bool measure_npy(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	(void)index;
	size_t n = file->len < NPY_HEADER_MAX ? (size_t)file->len : NPY_HEADER_MAX;
	unsigned char *head = malloc(n);
	if (!head)
		return array_fail(error, "out of memory");
	bool ok = array_file_bytes(file, 0, head, n) ? npy_parse(head, n, layout, error)
						     : array_fail(error, "it cannot be read");
	free(head);
	if (ok && layout->bytes > file->len - layout->offset)
		return array_fail(error,
				  "the file ends early: %llu bytes of elements, %llu expected",
				  (unsigned long long)(file->len - layout->offset),
				  (unsigned long long)layout->bytes);
	return ok;
}

const Format npy_format = {open_npy, measure_npy, array_file_load, NULL, NULL};

/* The shape as Python's repr prints it, and the length of its first extent. */
static int print_shape(FILE *out, const Array *array)
{
	int first = 0;
	fputc('(', out);
	for (int i = 0; i < array->rank; i++) {
		int n = fprintf(out, "%s%lld", i ? ", " : "", (long long)array->extents[i]);
		first = i == 0 ? n : first;
	}
	fputs(array->rank == 1 ? ",)" : ")", out);
	return first;
}

/* The header text and its padding: room for the first extent to grow to 21 digits, then to 64
 * bytes. */
static bool header_text(const Array *array, const char *descr, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	if (!out)
		return false;
	fprintf(out,
		"{'descr': '%s%s', 'fortran_order': False, 'shape': ", descr[1] == '1' ? "|" : "<",
		descr);
	int first = print_shape(out, array);
	fprintf(out, ", }%*s", array->rank > 0 ? 21 - first : 0, "");
	long n = 10 + ftell(out) + 1;
	fprintf(out, "%*s\n", (int)(64 - n % 64), "");
	return fclose(out) == 0;
}

static const char *descr_of(Dtype dtype)
{
	static const char *const descrs[] = {
#define DTYPE(name, text, bits, class, descr, tensors) descr,
#include "base/dtype.def"
#undef DTYPE
	};
	return descrs[dtype];
}

/* What NumPy lacks: small floats as f32, i4 and u4 as bytes. */
static bool print_widened(FILE *out, const Array *array, ArrayError *error)
{
	Array wide;
	bool packed = dtype_is_packed(array->dtype);
	Dtype dtype = packed ? dtype_alone(array->dtype) : dtype_wide(array->dtype);
	if (!array_cast(array, dtype, &wide, error))
		return false;
	bool ok = npy_print(out, &wide, error);
	array_free(&wide);
	return ok;
}

bool npy_print(FILE *out, const Array *array, ArrayError *error)
{
	char *text = NULL;
	size_t len = 0;
	const char *descr = descr_of(array->dtype);
	if (!*descr && dtype_wide(array->dtype) != array->dtype)
		return print_widened(out, array, error);
	if (!*descr)
		return array_fail(error, "NumPy has no element type %s", dtype_name(array->dtype));
	if (!header_text(array, descr, &text, &len) || len > UINT16_MAX) {
		free(text);
		return array_fail(error, "out of memory");
	}
	unsigned char prefix[10] = {0x93, 'N', 'U', 'M',       'P',
				    'Y',  1,   0,   len & 255, (unsigned char)(len >> 8)};
	bool ok = fwrite(prefix, sizeof prefix, 1, out) == 1 && fwrite(text, len, 1, out) == 1 &&
		  fwrite(array->data, 1, array->bytes, out) == array->bytes;
	free(text);
	return ok || array_fail(error, "%s", strerror(errno));
}

bool npy_write(const char *path, const Array *array, ArrayError *error)
{
	FILE *out = fopen(path, "wbe");
	if (!out)
		return array_fail(error, "%s", strerror(errno));
	bool ok = npy_print(out, array, error);
	if (fclose(out) != 0 && ok)
		return array_fail(error, "%s", strerror(errno));
	return ok;
}
