/* From a file's elements to an array: axis order, byte order, then the element type.
 *
 * A type converts to another as a whole when every value has an exact image there: an integer of b
 * bits fits a float with at least b bits of significand, or an integer type whose range includes its
 * own. Otherwise each element is compared with its image.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"
#include "base/element.h"

typedef struct ElementRow {
	const char *name;
	size_t bytes;
	char class;  /* F, I, U */
	int bits;    /* of the significand, or of the magnitude of an integer */
	int range;   /* bits of the exponent of a float */
	Dtype dtype; /* what it becomes without a wish */
} ElementRow;

static const ElementRow rows[] = {
	[ELEMENT_F64] = {"f64", 8, 'F', 53, 11, DTYPE_F64},
	[ELEMENT_F32] = {"f32", 4, 'F', 24, 8, DTYPE_F32},
	[ELEMENT_F16] = {"f16", 2, 'F', 11, 5, DTYPE_F16},
	[ELEMENT_BF16] = {"bf16", 2, 'F', 8, 8, DTYPE_BF16},
	[ELEMENT_F8E4M3] = {"f8e4m3", 1, 'F', 4, 4, DTYPE_F8E4M3},
	[ELEMENT_F8E5M2] = {"f8e5m2", 1, 'F', 3, 5, DTYPE_F8E5M2},
	[ELEMENT_I64] = {"i64", 8, 'I', 63, 0, DTYPE_I64},
	[ELEMENT_I32] = {"i32", 4, 'I', 31, 0, DTYPE_I32},
	[ELEMENT_I16] = {"i16", 2, 'I', 15, 0, DTYPE_I32},
	[ELEMENT_I8] = {"i8", 1, 'I', 7, 0, DTYPE_I8},
	[ELEMENT_U64] = {"u64", 8, 'U', 64, 0, DTYPE_NONE},
	[ELEMENT_U32] = {"u32", 4, 'U', 32, 0, DTYPE_U32},
	[ELEMENT_U16] = {"u16", 2, 'U', 16, 0, DTYPE_I32},
	[ELEMENT_U8] = {"u8", 1, 'U', 8, 0, DTYPE_U8},
	[ELEMENT_BOOL] = {"bool", 1, 'U', 1, 0, DTYPE_BOOL},
	[ELEMENT_I4] = {"i4", 1, 'I', 3, 0, DTYPE_I4},
	[ELEMENT_U4] = {"u4", 1, 'U', 4, 0, DTYPE_U4},
	[ELEMENT_OTHER] = {"?", 0, 'X', 0, 0, DTYPE_NONE},
};

size_t element_bytes(Element element)
{
	return rows[element].bytes;
}

static Element element_of(Dtype dtype)
{
	for (Element e = 0; e < ELEMENT_OTHER; e++)
		if (strcmp(rows[e].name, dtype_name(dtype)) == 0)
			return e;
	return ELEMENT_OTHER;
}

static bool exact(Element from, Element to)
{
	const ElementRow *a = &rows[from], *b = &rows[to];
	if (from == to)
		return true;
	if (a->class == 'X' || b->class == 'X' || to == ELEMENT_BOOL)
		return false;
	if (a->class == 'F')
		return b->class == 'F' && a->bits <= b->bits && a->range <= b->range;
	if (b->class ==
	    'F') /* -2^b has one significant bit, and every range here holds 2^16 but f16's */
		return a->bits <= b->bits && (to != ELEMENT_F16 || a->bits <= 11);
	return a->bits <= b->bits && (a->class == 'U' || b->class == 'I');
}

bool layout_measure(Layout *layout, ArrayError *error)
{
	bool empty = false;
	uint64_t n = 1, bytes;
	for (int i = 0; i < layout->rank; i++)
		empty |= layout->extents[i] == 0;
	for (int i = 0; i < layout->rank && !empty; i++)
		if (__builtin_mul_overflow(n, (uint64_t)layout->extents[i], &n))
			return array_fail(error, "its shape has more elements than can be counted");
	n = empty ? 0 : n;
	if (__builtin_mul_overflow(n, element_bytes(layout->element), &bytes) ||
	    bytes > SIZE_MAX / 2)
		return array_fail(error, "its shape has more bytes than can be counted");
	layout->nelements = n;
	layout->bytes = bytes;
	return true;
}

static void swap_bytes(unsigned char *at, size_t n, size_t width)
{
	for (size_t i = 0; i < n; i++, at += width)
		for (size_t a = 0, b = width - 1; a < b; a++, b--) {
			unsigned char t = at[a];
			at[a] = at[b];
			at[b] = t;
		}
}

bool array_new(Array *out, Dtype dtype, int rank, const int64_t *extents, ArrayError *error)
{
	Layout layout = {.element = ELEMENT_I8, .rank = rank};
	memset(out, 0, sizeof *out);
	if (rank > ARRAY_RANK_MAX)
		return array_fail(error, "more than %d axes", ARRAY_RANK_MAX);
	memcpy(layout.extents, extents, (size_t)rank * sizeof *extents);
	if (!layout_measure(&layout, error))
		return false;
	out->dtype = dtype;
	out->rank = rank;
	memcpy(out->extents, extents, (size_t)rank * sizeof *extents);
	out->nelements = layout.nelements;
	if (!dtype_room(dtype, layout.nelements, &out->bytes) ||
	    !(out->data = array_room(out->bytes))) {
		memset(out, 0, sizeof *out);
		return array_fail(error, "not enough memory for %zu elements", layout.nelements);
	}
	memset(out->data, 0, out->bytes);
	return true;
}

void array_free(Array *array)
{
	free(array->data);
	memset(array, 0, sizeof *array);
}

bool array_gather(const Array *array, int64_t first, int rank, const int64_t *extents,
		  const int64_t *strides, Array *out, ArrayError *error)
{
	int64_t index[ARRAY_RANK_MAX] = {0}, at = first;
	size_t width = dtype_bytes(array->dtype);
	if (!array_new(out, array->dtype, rank, extents, error))
		return false;
	const char *from = array->data;
	char *to = out->data;
	for (size_t i = 0; i < out->nelements; i++) {
		if (dtype_is_packed(array->dtype))
			scalar_write(array->dtype, to, (int64_t)i,
				     scalar_read(array->dtype, from, at));
		else
			memcpy(to + i * width, from + (size_t)at * width, width);
		for (int axis = rank - 1; axis >= 0; axis--) {
			at += strides[axis];
			if (++index[axis] < extents[axis])
				break;
			at -= strides[axis] * extents[axis];
			index[axis] = 0;
		}
	}
	return true;
}

void array_strides(const Array *array, int64_t *strides)
{
	int64_t n = array->nelements > 0;
	for (int i = array->rank - 1; i >= 0; i--) {
		strides[i] = n;
		n *= n > 0 ? array->extents[i] : 0;
	}
}

bool array_permute(const Array *array, const int *order, Array *out, ArrayError *error)
{
	int64_t strides[ARRAY_RANK_MAX], moved[ARRAY_RANK_MAX], extents[ARRAY_RANK_MAX];
	array_strides(array, strides);
	for (int i = 0; i < array->rank; i++) {
		extents[i] = array->extents[order[i]];
		moved[i] = strides[order[i]];
	}
	return array_gather(array, 0, array->rank, extents, moved, out, error);
}

static double load_float(Element element, const void *at)
{
	switch (element) {
	case ELEMENT_F64: return *(const double *)at;
	case ELEMENT_F32: return (double)*(const float *)at;
	case ELEMENT_F16: return (double)f16_value(*(const uint16_t *)at);
	case ELEMENT_F8E4M3: return (double)f8e4m3_value(*(const uint8_t *)at);
	case ELEMENT_F8E5M2: return (double)f8e5m2_value(*(const uint8_t *)at);
	default: return (double)bf16_value(*(const uint16_t *)at);
	}
}

static int64_t load_integer(Element element, const void *at)
{
	switch (element) {
	case ELEMENT_I64: return *(const int64_t *)at;
	case ELEMENT_I32: return *(const int32_t *)at;
	case ELEMENT_I16: return *(const int16_t *)at;
	case ELEMENT_I8: return *(const int8_t *)at;
	case ELEMENT_U32: return *(const uint32_t *)at;
	case ELEMENT_U16: return *(const uint16_t *)at;
	case ELEMENT_BOOL: return *(const uint8_t *)at != 0;
	default: return *(const uint8_t *)at;
	}
}

static void convert(Element from, const char *raw, Array *out)
{
	size_t width = element_bytes(from);
	bool real = rows[from].class == 'F', to_real = dtype_is_float(out->dtype);
	for (size_t i = 0; i < out->nelements; i++) {
		const char *at = raw + i * width;
		int64_t integer = real ? 0 : load_integer(from, at);
		double number = real ? load_float(from, at) : (double)integer;
		Scalar value = to_real ? (Scalar){.f = number} : (Scalar){.i = integer};
		scalar_write(out->dtype, out->data, (int64_t)i, value);
	}
}

/* Any element as it is: a long double has 64 bits of significand. */
static long double load_any(Element element, const void *at)
{
	if (element == ELEMENT_U64)
		return (long double)*(const uint64_t *)at;
	return rows[element].class == 'F' ? (long double)load_float(element, at)
					  : (long double)load_integer(element, at);
}

/* False where x has no exact image in the array's type. */
static bool store_exactly(Array *out, size_t i, long double x)
{
	int64_t at = (int64_t)i;
	if (dtype_is_float(out->dtype)) {
		scalar_write(out->dtype, out->data, at, (Scalar){.f = (double)x});
		long double image = (long double)scalar_read(out->dtype, out->data, at).f;
		return image == x || (image != image && x != x);
	}
	if (!(x >= -0x1p63L && x < 0x1p63L))
		return false;
	scalar_write(out->dtype, out->data, at, (Scalar){.i = (int64_t)x});
	return (long double)scalar_read(out->dtype, out->data, at).i == x;
}

static bool no_image(Element from, const char *raw, size_t i, Dtype to, ArrayError *error)
{
	char number[40];
	const char *at = raw + i * element_bytes(from);
	if (rows[from].class == 'F')
		snprintf(number, sizeof number, "%.9g", load_float(from, at));
	else if (from == ELEMENT_U64)
		snprintf(number, sizeof number, "%llu", (unsigned long long)*(const uint64_t *)at);
	else
		snprintf(number, sizeof number, "%lld", (long long)load_integer(from, at));
	const ElementRow *row = &rows[element_of(to)];
	const char *class = row->class == 'F' ? "float" : row->class == 'I' ? "int" : "uint";
	if (to == DTYPE_BOOL)
		return array_fail(error, "its element %zu, %s, is no bool: convert with .astype(bool)",
				  i, number);
	bool lacking = dtype_is_packed(to) || (dtype_is_small_float(to) && to != DTYPE_F16);
	if (lacking) /* in NumPy */
		return array_fail(error, "its element %zu, %s, is no %s", i, number, row->name);
	return array_fail(error, "its element %zu, %s, is no %s: convert with .astype(\"%s%zu\")",
			  i, number, row->name, class, 8 * row->bytes);
}

static bool convert_exactly(Element from, const char *raw, Array *out, ArrayError *error)
{
	size_t width = element_bytes(from);
	for (size_t i = 0; i < out->nelements; i++)
		if (!store_exactly(out, i, load_any(from, raw + i * width))) {
			no_image(from, raw, i, out->dtype, error);
			array_free(out);
			return false;
		}
	return true;
}

/* The type that the array gets, DTYPE_NONE after an error. */
static Dtype target(const Layout *layout, Dtype want, ArrayError *error)
{
	const char *type =
		layout->element == ELEMENT_OTHER ? layout->type : rows[layout->element].name;
	Dtype dtype = want == DTYPE_NONE ? rows[layout->element].dtype : want;
	if (dtype == DTYPE_NONE)
		array_fail(error, "its elements are %s, which is not supported", type);
	else if (layout->element == ELEMENT_OTHER || element_of(dtype) == ELEMENT_OTHER) {
		array_fail(error, "expected elements of type %s, but the file holds %s",
			   dtype_name(dtype), type);
		return DTYPE_NONE;
	}
	return dtype;
}

bool array_plan(const Layout *layout, Dtype want, Array *out, ArrayError *error)
{
	Dtype dtype = target(layout, want, error);
	memset(out, 0, sizeof *out);
	if (dtype == DTYPE_NONE)
		return false;
	*out = (Array){.dtype = dtype, .rank = layout->rank, .nelements = layout->nelements};
	memcpy(out->extents, layout->extents, sizeof out->extents);
	return dtype_room(dtype, layout->nelements, &out->bytes) ||
	       array_fail(error, "its shape has more bytes than can be counted");
}

/* Row-major order for a file whose first axis is the fastest: the array read backwards, transposed.
 */
static bool from_fortran(Array *array, ArrayError *error)
{
	int order[ARRAY_RANK_MAX];
	Array turned, backwards = *array;
	for (int i = 0; i < array->rank; i++) {
		order[i] = array->rank - 1 - i;
		backwards.extents[i] = array->extents[order[i]];
	}
	bool ok = array_permute(&backwards, order, &turned, error);
	array_free(array);
	if (ok)
		*array = turned;
	return ok;
}

bool array_decode(const Layout *layout, void *raw, Dtype want, Array *out, ArrayError *error)
{
	Element from = layout->element;
	bool ok = array_plan(layout, want, out, error);
	if (ok && layout->swapped)
		swap_bytes(raw, layout->nelements, element_bytes(from));
	if (ok && element_of(out->dtype) == from) {
		out->data = raw;
	} else {
		ok = ok && array_new(out, out->dtype, layout->rank, layout->extents, error);
		bool rounds = layout->dequantised && dtype_is_float(out->dtype);
		if (ok && (rounds || exact(from, element_of(out->dtype))))
			convert(from, raw, out);
		else
			ok = ok && convert_exactly(from, raw, out, error);
		free(raw);
	}
	if (!ok)
		memset(out, 0, sizeof *out);
	return ok && (!layout->fortran || layout->rank < 2 || from_fortran(out, error));
}
