/* Readers of array files: good files give their numbers, hostile ones a text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/array_file.h"
#include "base/element.h"

typedef struct Bytes {
	unsigned char at[4096];
	size_t len;
} Bytes;

static void append(Bytes *b, const void *data, size_t n)
{
	assert_true(b->len + n <= sizeof b->at);
	memcpy(b->at + b->len, data, n);
	b->len += n;
}

/* A .npy of the given version with this dict and these elements. */
static Bytes npy(int version, const char *dict, const void *data, size_t n)
{
	Bytes b = {.len = 0};
	uint32_t len = (uint32_t)strlen(dict);
	unsigned char head[12] = {
		0x93,           'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, len & 255,
		len >> 8 & 255, 0,   0};
	append(&b, head, version == 1 ? 10 : 12);
	append(&b, dict, len);
	append(&b, data, n);
	return b;
}

static Bytes tensors(const char *header, const void *data, size_t n)
{
	Bytes b = {.len = 0};
	uint64_t len = strlen(header);
	append(&b, &len, sizeof len);
	append(&b, header, len);
	append(&b, data, n);
	return b;
}

/* Reads array 0; "" or the text of the failure. */
static const char *try_read(const void *bytes, size_t len, Dtype want, Array *out)
{
	static ArrayError error;
	error.text[0] = '\0';
	memset(out, 0, sizeof *out);
	unsigned char *copy = malloc(len + 1); /* exactly sized: sanitizers see a read beyond it */
	memcpy(copy, bytes, len);
	ArrayFile *file = array_file_memory(copy, len, &error);
	if (file) {
		assert_int_equal(array_file_count(file) > 0, 1);
		array_file_read(file, 0, want, out, &error);
	}
	array_file_close(file);
	free(copy);
	return error.text;
}

static void rejects(Bytes b, Dtype want, const char *text)
{
	Array array;
	const char *why = try_read(b.at, b.len, want, &array);
	if (!strstr(why, text))
		fail_msg("expected '%s' in '%s'", text, why);
	array_free(&array);
}

static void floats_come_as_they_are(void **state)
{
	(void)state;
	Array a;
	float data[6] = {1, 2, 3, 4, 5, 6};
	for (int version = 1; version <= 3; version++) {
		Bytes b = npy(version,
			      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
			      data, sizeof data);
		assert_string_equal(try_read(b.at, b.len, DTYPE_F32, &a), "");
		assert_int_equal(a.rank, 2);
		assert_int_equal(a.extents[0], 2);
		assert_int_equal(a.extents[1], 3);
		assert_memory_equal(a.data, data, sizeof data);
		assert_int_equal((uintptr_t)a.data % ARRAY_ALIGNMENT, 0);
		array_free(&a);
	}
}

static void fortran_order_is_turned(void **state)
{
	(void)state;
	Array a;
	int32_t data[6] = {1, 2, 3, 4, 5, 6}, rows[6] = {1, 3, 5, 2, 4, 6};
	Bytes b = npy(1, "{\"shape\":(2,3),\"descr\":\"<i4\",\"fortran_order\":True}", data,
		      sizeof data);
	assert_string_equal(try_read(b.at, b.len, DTYPE_I32, &a), "");
	assert_memory_equal(a.data, rows, sizeof rows);
	array_free(&a);
}

static void the_other_byte_order_is_swapped(void **state)
{
	(void)state;
	Array a;
	const unsigned char data[4] = {0x3f, 0x80, 0, 0};
	Bytes b = npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (), }", data,
		      sizeof data);
	assert_string_equal(try_read(b.at, b.len, DTYPE_F64, &a), "");
	assert_int_equal(a.rank, 0);
	assert_int_equal(a.nelements, 1);
	assert_true(*(double *)a.data == 1.0);
	array_free(&a);
}

static void halves_convert_exactly(void **state)
{
	(void)state;
	Array a;
	/* 1, -2, 65504, the least subnormal, inf, 2^-14, -0 */
	const uint16_t data[7] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x0400, 0x8000};
	const float expected[7] = {1, -2, 65504, 0x1p-24f, 1.0f / 0.0f, 0x1p-14f, -0.0f};
	Bytes b = npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (7,), }", data,
		      sizeof data);
	assert_string_equal(try_read(b.at, b.len, DTYPE_F32, &a), "");
	assert_memory_equal(a.data, expected, sizeof expected);
	array_free(&a);
	const uint16_t brain[2] = {0x3f80, 0xc040};
	b = tensors("{\"x\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", brain,
		    sizeof brain);
	assert_string_equal(try_read(b.at, b.len, DTYPE_F32, &a), "");
	assert_true(((float *)a.data)[0] == 1.0f && ((float *)a.data)[1] == -3.0f);
	array_free(&a);
}

/* A number in the file's type, what is wanted, and the number that comes; or its text, which has no
 * image there. */
static void only_exact_conversions(void **state)
{
	(void)state;
	static const struct {
		const char *descr;
		int width;
		union {
			double f8;
			float f4;
			int64_t i8;
			uint64_t u8;
			int32_t i4;
			uint8_t b1;
		} number;
		Dtype want;
		const char *bad;
	} rows[] = {
		{"<f8", 8, {.f8 = 0.5}, DTYPE_F32, NULL},
		{"<f8", 8, {.f8 = 0.1}, DTYPE_F32, "0.1, is no f32: convert with .astype(\"float32\")"},
		{"<f8", 8, {.f8 = 1e300}, DTYPE_F32, "1e+300, is no f32"},
		{"<f8", 8, {.f8 = 0x1p-149}, DTYPE_F32, NULL},
		{"<f8", 8, {.f8 = 0x1p-150}, DTYPE_F32, "is no f32"},
		{"<f8", 8, {.f8 = -7}, DTYPE_I32, NULL},
		{"<f8", 8, {.f8 = 0x1p31}, DTYPE_I32, "2.14748365e+09, is no i32"},
		{"<f8", 8, {.f8 = 0.5}, DTYPE_I32, "0.5, is no i32: convert with .astype(\"int32\")"},
		{"<f8", 8, {.f8 = NAN}, DTYPE_I32, "nan, is no i32"},
		{"<f8", 8, {.f8 = INFINITY}, DTYPE_I64, "inf, is no i64"},
		{"<f8", 8, {.f8 = 0x1p63}, DTYPE_I64, "is no i64"},
		{"<f8", 8, {.f8 = -0x1p63}, DTYPE_I64, NULL},
		{"<f4", 4, {.f4 = 300}, DTYPE_U8, "300, is no u8: convert with .astype(\"uint8\")"},
		{"<f4", 4, {.f4 = 255}, DTYPE_U8, NULL},
		{"<i8", 8, {.i8 = INT64_MAX}, DTYPE_F64, "9223372036854775807, is no f64"},
		{"<i8", 8, {.i8 = INT64_MIN}, DTYPE_F32, NULL},
		{"<i8", 8, {.i8 = (1 << 24) + 1}, DTYPE_F32, "16777217, is no f32"},
		{"<i8", 8, {.i8 = (1 << 24) + 2}, DTYPE_F32, NULL},
		{"<i8", 8, {.i8 = -129}, DTYPE_I8, "-129, is no i8"},
		{"<i8", 8, {.i8 = 257}, DTYPE_BF16, "257, is no bf16"},
		{"<i8", 8, {.i8 = 70000}, DTYPE_F16, "70000, is no f16"},
		{"<u8", 8, {.u8 = UINT64_MAX}, DTYPE_F64, "18446744073709551615, is no f64"},
		{"<u8", 8, {.u8 = UINT64_C(1) << 63}, DTYPE_F32, NULL},
		{"<u8", 8, {.u8 = 3}, DTYPE_I32, NULL},
		{"<i4", 4, {.i4 = -1}, DTYPE_U8, "-1, is no u8"},
		{"<i4", 4, {.i4 = INT32_MIN}, DTYPE_F64, NULL},
		{"|b1", 1, {.b1 = 1}, DTYPE_U8, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char dict[100];
		Array a;
		snprintf(dict, sizeof dict,
			 "{'descr': '%s', 'fortran_order': False, 'shape': (), }", rows[i].descr);
		Bytes b = npy(1, dict, &rows[i].number, (size_t)rows[i].width);
		if (rows[i].bad) {
			rejects(b, rows[i].want, rows[i].bad);
			continue;
		}
		assert_string_equal(try_read(b.at, b.len, rows[i].want, &a), "");
		Scalar got = scalar_read(rows[i].want, a.data, 0);
		double came = dtype_is_float(rows[i].want) ? got.f : (double)got.i;
		double sent = rows[i].descr[1] == 'f'	? rows[i].width == 8 ? rows[i].number.f8
									     : (double)rows[i].number.f4
			      : rows[i].descr[1] == 'u' ? (double)rows[i].number.u8
			      : rows[i].width == 8	? (double)rows[i].number.i8
			      : rows[i].width == 4	? (double)rows[i].number.i4
							: 1;
		assert_true(came == sent);
		array_free(&a);
	}
}

/* NumPy has no bf16: floats become one where none is rounded. */
static void floats_become_halves(void **state)
{
	(void)state;
	static const Dtype halves[] = {DTYPE_BF16, DTYPE_F16};
	static const uint16_t bits[2][3] = {{0x3fa0, 0x7f80, 0x8000}, {0x3d00, 0x7c00, 0x8000}};
	const float good[3] = {1.25f, INFINITY, -0.0f}, bad[3] = {1, 2, 1.0001f};
	const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
	for (int i = 0; i < 2; i++) {
		Array a;
		Bytes b = npy(1, dict, good, sizeof good);
		assert_string_equal(try_read(b.at, b.len, halves[i], &a), "");
		assert_int_equal(a.dtype, halves[i]);
		assert_memory_equal(a.data, bits[i], sizeof bits[i]);
		array_free(&a);
		rejects(npy(1, dict, bad, sizeof bad), halves[i], "its element 2, 1.00010002, is no ");
	}
}

static void bf16_is_written_as_f32(void **state)
{
	(void)state;
	uint16_t bits[2] = {0x3fa0, 0xff80};
	Array back, array = {.dtype = DTYPE_BF16, .rank = 1, .extents = {2}, .nelements = 2,
			     .bytes = sizeof bits, .data = bits};
	ArrayError error;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	assert_true(npy_print(out, &array, &error));
	fclose(out);
	assert_string_equal(try_read((unsigned char *)text, len, DTYPE_F32, &back), "");
	assert_true(((float *)back.data)[0] == 1.25f && ((float *)back.data)[1] == -INFINITY);
	array_free(&back);
	free(text);
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "

static void hostile_npy(void **state)
{
	(void)state;
	static const struct {
		const char *dict, *text;
	} rows[] = {
		{HEAD "(2,), }", "ends early"},
		{HEAD "(9223372036854775807, 9223372036854775807), }", "can be counted"},
		{HEAD "(4611686018427387904,), }", "can be counted"},
		{HEAD "(99999999999999999999,), }", "too large"},
		{HEAD "(-1,), }", "negative"},
		{HEAD "(2), }", "not a tuple"},
		{HEAD "2, }", "not a tuple"},
		{HEAD "(1.5,), }", "not a tuple"},
		{HEAD "(1,", "not a tuple"},
		{HEAD "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
		 "more than 32 axes"},
		{"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "neither True nor False"},
		{"{'descr': '<f4', 'shape': (1,), }", "is missing"},
		{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
		 "twice"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key"},
		{"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
		 "structures"},
		{"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
		 "<c8, which is not supported"},
		{"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
		 "|O, which is not supported"},
		{"{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,), }",
		 "not a short string"},
		{"{" HEAD "(1,), }", "string keys"},
		{HEAD "(1,), } x", "follows"},
		{HEAD "(1,) 'x': 1}", "string keys"},
		{"", "not a dict"},
		{"{", "string keys"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		rejects(npy(1, rows[i].dict, "abcd", 4), DTYPE_NONE, rows[i].text);
	rejects(npy(4, HEAD "(1,), }", "abcd", 4), DTYPE_NONE, "version");
}

static void every_truncation_is_told(void **state)
{
	(void)state;
	float data[2] = {1, 2};
	Bytes b = npy(1, HEAD "(2,), }", data, sizeof data);
	Bytes s = tensors("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", data,
			  sizeof data);
	Array a;
	for (size_t n = 0; n < b.len; n++)
		assert_string_not_equal(try_read(b.at, n, DTYPE_F32, &a), "");
	for (size_t n = 0; n < s.len; n++)
		assert_string_not_equal(try_read(s.at, n, DTYPE_F32, &a), "");
	assert_string_equal(try_read(b.at, b.len, DTYPE_F32, &a), "");
	array_free(&a);
	assert_string_equal(try_read(s.at, s.len, DTYPE_F32, &a), "");
	array_free(&a);
}

/* Every single-byte change either reads or is told; nothing crashes. */
static void damaged_bytes_are_survived(void **state)
{
	(void)state;
	float data[2] = {1, 2};
	Bytes all[2] = {npy(2, HEAD "(2,), }", data, sizeof data),
			tensors("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
				data, sizeof data)};
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < all[k].len; i++)
			for (int value = 0; value < 256; value += 5) {
				Bytes b = all[k];
				Array a;
				b.at[i] = (unsigned char)value;
				try_read(b.at, b.len, DTYPE_NONE, &a);
				array_free(&a);
			}
}

static void write_text(const char *path, const char *text, size_t n)
{
	FILE *out = fopen(path, "w");
	assert_int_equal(fwrite(text, 1, n, out), n);
	fclose(out);
}

/* Tables, whole and by columns, read or are told, whatever one of their bytes is, and wherever they end. */
static void damaged_tables_are_survived(void **state)
{
	(void)state;
	static const char values[] = "\0\r\n\t \",;.+-#1aeNx\377",
			  whole[] = "a,\"b\",c\r\n1,.5,\t3\n4,nan,\"6\"";
	static const char *const keys[] = {"", "a", "a..c", "c,a", "1..3", "b..", "\""};
	char path[] = "/tmp/tsr_csv_XXXXXX.csv";
	close(mkstemps(path, 4));
	ArrayError error;
	Array a;
	write_text(path, whole, sizeof whole - 1);
	assert_true(array_read(path, "a..c", DTYPE_F32, &a, &error));
	assert_int_equal(a.extents[0], 2);
	assert_true(((float *)a.data)[1] == 0.5f && ((float *)a.data)[5] == 6);
	array_free(&a);
	for (size_t i = 0; i < sizeof whole - 1; i++)
		for (size_t k = 0; k <= sizeof values; k++) {
			char text[sizeof whole];
			const char *key = keys[(i + k) % (sizeof keys / sizeof *keys)];
			memcpy(text, whole, sizeof whole);
			text[i] = values[k % sizeof values];
			write_text(path, text, k == sizeof values ? i : sizeof whole - 1);
			error.text[0] = '\0';
			if (!array_read(path, key, k % 2 ? DTYPE_F32 : DTYPE_I32, &a, &error))
				assert_string_not_equal(error.text, "");
			array_free(&a);
		}
	unlink(path);
}

#define X(shape, offsets)                                                                          \
	"{\"x\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void hostile_safetensors(void **state)
{
	(void)state;
	static const struct {
		const char *header, *text;
	} rows[] = {
		{X("[2]", "[0,9]"), "beyond the end"},
		{X("[2]", "[0,4]"), "do not fit"},
		{X("[1]", "[4,0]"), "not a pair"},
		{X("[1]", "[0]"), "not a pair"},
		{X("[1]", "[-4,0]"), "not a pair"},
		{X("[1]", "[0,18446744073709551616]"), "malformed"},
		{X("[-1]", "[0,4]"), "natural"},
		{X("[1.0]", "[0,4]"), "natural"},
		{X("[4611686018427387904,4611686018427387904]", "[0,8]"), "can be counted"},
		{X("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"),
		 "32 axes"},
		{X("3", "[0,4]"), "no shape"},
		{"{\"x\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "no dtype"},
		{"{\"x\":3}", "no dtype"},
		{"{\"x\":{\"dtype\":\"F6_E2M3\",\"shape\":[8],\"data_offsets\":[0,8]}}",
		 "F6_E2M3, which is not supported"},
		{"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		 "\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}",
		 "overlap"},
		{"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		 "\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
		 "the array 'x' is in it twice"},
		{"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
		 "duplicate"},
		{X("[1]", "[0,4]") " x", "follows"},
		{"{\"x\" 3}", "':' expected"},
		{"{3:3}", "a name is no string"},
		{"{\"__metadata__\":{\"a\":3}}", "metadata are strings"},
		{"{\"__metadata__\":[]}", "not a JSON object"},
		{"{\"x\":", "malformed"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		rejects(tensors(rows[i].header, "abcdefgh", 8), DTYPE_NONE, rows[i].text);
	Bytes b = tensors("{}", "", 0);
	b.at[7] = 0x80;
	rejects(b, DTYPE_NONE, "more than the file");
	Bytes deep = {.len = 0};
	uint64_t len = 4000;
	append(&deep, &len, sizeof len);
	deep.at[deep.len++] = '{';
	memset(deep.at + deep.len, '[', 3999);
	deep.len += 3999;
	rejects(deep, DTYPE_NONE, "malformed");
}

static void names_are_listed_in_order(void **state)
{
	(void)state;
	ArrayError error;
	float data[2] = {1, 2};
	Bytes b = tensors(
		"{\"__metadata__\":{\"a\":\"b\"},\"second\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},"
		"\"first\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
		data, sizeof data);
	ArrayFile *file = array_file_memory(b.at, b.len, &error);
	assert_non_null(file);
	assert_int_equal(array_file_count(file), 2);
	assert_int_equal(array_file_find(file, "second"), 0);
	assert_int_equal(array_file_find(file, "first"), 1);
	assert_int_equal(array_file_find(file, "__metadata__"), -1);
	Array a;
	assert_true(array_file_read(file, 0, DTYPE_F32, &a, &error));
	assert_true(*(float *)a.data == 2);
	array_free(&a);
	array_file_close(file);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	char path[] = "/tmp/tsr_npy_XXXXXX";
	close(mkstemp(path));
	ArrayError error;
	Array a, b;
	int64_t extents[3] = {2, 0, 3};
	for (int rank = 0; rank <= 3; rank++) {
		assert_true(array_new(&a, DTYPE_F64, rank, extents, &error));
		for (size_t i = 0; i < a.nelements; i++)
			((double *)a.data)[i] = (double)i + 0.5;
		assert_true(npy_write(path, &a, &error));
		assert_true(array_read(path, NULL, DTYPE_F64, &b, &error));
		assert_int_equal(b.rank, rank);
		assert_int_equal(b.bytes, a.bytes);
		assert_memory_equal(b.data, a.data, a.bytes);
		array_free(&a);
		array_free(&b);
	}
	assert_false(array_read(path, "key", DTYPE_F64, &b, &error));
	assert_non_null(strstr(error.text, "no ':key'"));
	unlink(path);
	assert_false(array_read(path, NULL, DTYPE_F64, &b, &error));
	assert_string_equal(error.text, "No such file or directory");
	assert_false(array_read("/tmp", NULL, DTYPE_F64, &b, &error));
	assert_non_null(strstr(error.text, "it is a directory"));
}

static void what_is_no_zip_is_told(void **state)
{
	(void)state;
	char path[] = "/tmp/tsr_npz_XXXXXX";
	static const char bytes[] = "PK\3\4 and no more of it";
	int fd = mkstemp(path);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
	ArrayError error;
	assert_null(array_file_open(path, &error));
	assert_memory_equal(error.text, "it cannot be read as a .npz: ", 29);
	unlink(path);
}

static void axes_are_permuted(void **state)
{
	(void)state;
	ArrayError error;
	Array a, b;
	const int64_t extents[3] = {2, 3, 4};
	const int order[3] = {2, 0, 1};
	assert_true(array_new(&a, DTYPE_I32, 3, extents, &error));
	for (int i = 0; i < 24; i++)
		((int32_t *)a.data)[i] = i;
	assert_true(array_permute(&a, order, &b, &error));
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			for (int k = 0; k < 4; k++)
				assert_int_equal(((int32_t *)b.data)[(k * 2 + i) * 3 + j],
						 (i * 3 + j) * 4 + k);
	array_free(&a);
	array_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_come_as_they_are),
		cmocka_unit_test(fortran_order_is_turned),
		cmocka_unit_test(the_other_byte_order_is_swapped),
		cmocka_unit_test(halves_convert_exactly),
		cmocka_unit_test(only_exact_conversions),
		cmocka_unit_test(floats_become_halves),
		cmocka_unit_test(bf16_is_written_as_f32),
		cmocka_unit_test(hostile_npy),
		cmocka_unit_test(every_truncation_is_told),
		cmocka_unit_test(damaged_bytes_are_survived),
		cmocka_unit_test(damaged_tables_are_survived),
		cmocka_unit_test(hostile_safetensors),
		cmocka_unit_test(names_are_listed_in_order),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_no_zip_is_told),
		cmocka_unit_test(axes_are_permuted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
