/* Writes .safetensors (safetensors.c says what they are): arrays one behind the other, in the order in which they come, the
 * header padded to eight bytes. i4 and u4 stand as i8 and u8, which hold them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"

/* "" of a dtype that the format does not have. */
static const char *type_of(Dtype dtype)
{
	static const char *const names[] = {
#define DTYPE(name, text, bits, class, descr, tensors) tensors,
#include "base/dtype.def"
#undef DTYPE
	};
	return names[dtype_alone(dtype)];
}

static uint64_t bytes_of(const Array *array)
{
	return dtype_is_packed(array->dtype) ? array->nelements : array->bytes;
}

/* Names stand in the header as they are. */
static bool check(const NamedArray *named, ArrayError *error)
{
	bool plain = true;
	for (const char *at = named->name; *at; at++)
		plain = plain && isprint((unsigned char)*at) && *at != '"' && *at != '\\';
	if (!plain)
		return array_fail(error, "a name has bytes that are no printable ASCII");
	return *type_of(named->array.dtype) ||
	       array_fail(error, "'%.80s': the format has no element type %s", named->name,
			  dtype_name(named->array.dtype));
}

static void print_member(FILE *out, const NamedArray *named, uint64_t begin)
{
	const Array *array = &named->array;
	fprintf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", named->name, type_of(array->dtype));
	for (int i = 0; i < array->rank; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", array->extents[i]);
	fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
		begin + bytes_of(array));
}

static bool print_header(FILE *out, const NamedArray *arrays, size_t n, const char *module)
{
	char *text = NULL;
	size_t len = 0;
	uint64_t begin = 0;
	FILE *header = open_memstream(&text, &len);
	if (!header)
		return false;
	fprintf(header, "{\"__metadata__\":{\"format\":\"tsr\",\"module\":\"%s\"}", module);
	for (size_t i = 0; i < n; i++) {
		print_member(header, &arrays[i], begin);
		begin += bytes_of(&arrays[i].array);
	}
	fputc('}', header);
	bool good = fclose(header) == 0;
	uint64_t padded = (len + 7) / 8 * 8;
	unsigned char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(padded >> 8 * i);
	good = good && fwrite(length, sizeof length, 1, out) == 1 &&
	       fwrite(text, 1, len, out) == len &&
	       fprintf(out, "%*s", (int)(padded - len), "") >= 0;
	free(text);
	return good;
}

static bool print_elements(FILE *out, const Array *array, ArrayError *error)
{
	Array alone = *array;
	bool packed = dtype_is_packed(array->dtype);
	if (packed && !array_cast(array, dtype_alone(array->dtype), &alone, error))
		return false;
	bool good = fwrite(alone.data, 1, alone.bytes, out) == alone.bytes;
	if (packed)
		array_free(&alone);
	return good || array_fail(error, "%s", strerror(errno));
}

bool safetensors_print(FILE *out, const NamedArray *arrays, size_t n, const char *module,
		       ArrayError *error)
{
	bool good = check(&(NamedArray){module, {.dtype = DTYPE_F32}}, error);
	for (size_t i = 0; i < n && good; i++)
		good = check(&arrays[i], error);
	if (good && !print_header(out, arrays, n, module))
		good = array_fail(error, "%s", strerror(errno));
	for (size_t i = 0; i < n && good; i++)
		good = print_elements(out, &arrays[i].array, error);
	return good;
}
