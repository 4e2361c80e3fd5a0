/* libtsr in careless hands: pointers that are NULL, arrays that are not what they say, calls out of
 * order and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_module.h"

static float x_data[12] = {0, 1, 2, 3, 4, 5, 6, 7}, y_data[11] = {1, 2, 3};

static tsr_array f32(void *data, int rank, int64_t e0, int64_t e1)
{
	tsr_array a = {.dtype = "f32", .rank = rank, .extents = {e0, e1}, .data = data};
	a.bytes = sizeof(float) * (size_t)(e0 * (rank > 1 ? e1 : 1));
	return a;
}

static tsr_session *start(tsr_model **model, const char *routine)
{
	*model = tsr_wrap(&fake_module, NULL);
	tsr_session *s = tsr_session_new(*model, routine, NULL);
	assert_non_null(s);
	return s;
}

/* forward for m = 4 or 5, n = 2; x and y take no more than they have. */
static tsr_session *prepared(const tsr_model *model, int64_t m)
{
	tsr_session *s = tsr_session_new(model, "forward", NULL);
	tsr_array x = f32(x_data, 2, 2, m), y = f32(y_data, 1, 2 * m + 1, 0);
	assert_int_equal(tsr_set_input(s, "x", &x, NULL), TSR_OK);
	assert_int_equal(tsr_set_input(s, "y", &y, NULL), TSR_OK);
	assert_int_equal(tsr_prepare(s, NULL), TSR_OK);
	return s;
}

static void finish(tsr_session *s, tsr_model *model)
{
	tsr_session_free(s);
	tsr_close(model);
}

#define REFUSES(call)                                                                              \
	do {                                                                                       \
		error.code = 0;                                                                    \
		assert_int_equal(call, TSR_FAIL_ARGUMENT);                                         \
		assert_int_equal(error.code, TSR_FAIL_ARGUMENT);                                   \
		assert_non_null(strstr(error.text, "is NULL"));                                    \
	} while (0)
#define MAKES_NOTHING(call)                                                                        \
	do {                                                                                       \
		error.code = 0;                                                                    \
		assert_null(call);                                                                 \
		assert_int_equal(error.code, TSR_FAIL_ARGUMENT);                                   \
	} while (0)

static void null_handles_are_told(void **state)
{
	(void)state;
	tsr_error error;
	tsr_array a = f32(x_data, 2, 2, 4);
	int64_t value;
	MAKES_NOTHING(tsr_open(NULL, &error));
	MAKES_NOTHING(tsr_wrap(NULL, &error));
	MAKES_NOTHING(tsr_session_new(NULL, "forward", &error));
	REFUSES(tsr_set_dim(NULL, "n", 1, &error));
	REFUSES(tsr_set_input(NULL, "x", &a, &error));
	REFUSES(tsr_set_param(NULL, "w", &a, &error));
	REFUSES(tsr_set_scalar(NULL, "a", 1, &error));
	REFUSES(tsr_load_params(NULL, "p.npz", NULL, &error));
	REFUSES(tsr_load_state(NULL, "p.state", &error));
	REFUSES(tsr_resolve(NULL, &error));
	REFUSES(tsr_expected(NULL, "x", &a, &error));
	REFUSES(tsr_prepare(NULL, &error));
	REFUSES(tsr_share_state(NULL, NULL, &error));
	REFUSES(tsr_execute(NULL, &error));
	REFUSES(tsr_param(NULL, "w", &a, &error));
	REFUSES(tsr_pack(NULL, &error));
	REFUSES(tsr_save_state(NULL, "p.state", &error));
	assert_int_equal(tsr_size_value(NULL, &fake_module, &value, &value), TSR_FAIL_ARGUMENT);
	assert_null(tsr_table(NULL));
	assert_null(tsr_find_routine(NULL, "forward"));
	assert_null(tsr_session_routine(NULL));
	assert_null(tsr_output(NULL, "z"));
	assert_null(tsr_output_at(NULL, 0));
	assert_int_equal(tsr_has_param(NULL, "w"), 0);
	assert_int_equal(tsr_traffic(NULL), 0);
	assert_int_equal(tsr_dim_value(NULL, "n"), -1);
	assert_int_equal(tsr_pool_threads(NULL), 1);
	tsr_set_seed(NULL, 1);
	tsr_set_pool(NULL, NULL);
	tsr_pool_call(NULL, NULL);
	tsr_pool_free(NULL);
	tsr_session_free(NULL);
	tsr_close(NULL);
}

static void null_names_paths_and_places_are_told(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model;
	tsr_session *s = start(&model, "forward");
	int64_t value;
	const tsr_size *size = &fake_module.state;
	assert_null(tsr_session_new(model, NULL, &error));
	assert_int_equal(error.code, TSR_FAIL_NAME);
	assert_int_equal(tsr_set_dim(s, NULL, 1, &error), TSR_FAIL_NAME);
	assert_int_equal(tsr_set_param(s, NULL, NULL, &error), TSR_FAIL_NAME);
	assert_int_equal(tsr_set_param(s, "w", NULL, &error), TSR_FAIL_TYPE);
	assert_int_equal(tsr_set_scalar(s, NULL, 1, &error), TSR_FAIL_NAME);
	assert_int_equal(tsr_expected(s, NULL, &(tsr_array){0}, &error), TSR_FAIL_NAME);
	REFUSES(tsr_expected(s, "x", NULL, &error));
	REFUSES(tsr_load_params(s, NULL, NULL, &error));
	REFUSES(tsr_load_state(s, NULL, &error));
	assert_int_equal(tsr_size_value(size, NULL, &value, &value), TSR_FAIL_ARGUMENT);
	assert_int_equal(tsr_size_value(size, &fake_module, NULL, &value), TSR_FAIL_ARGUMENT);
	assert_int_equal(tsr_size_value(size, &fake_module, &value, NULL), TSR_FAIL_ARGUMENT);
	tsr_session_free(s);
	s = prepared(model, 4);
	REFUSES(tsr_param(s, "w", NULL, &error));
	assert_int_equal(tsr_param(s, NULL, &(tsr_array){0}, &error), TSR_FAIL_NAME);
	REFUSES(tsr_save_state(s, NULL, &error));
	REFUSES(tsr_share_state(s, NULL, &error));
	assert_null(tsr_output(s, NULL));
	finish(s, model);
}

static void arrays_are_what_they_say(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model;
	tsr_session *s = start(&model, "forward");
	tsr_array x = f32(x_data, 2, 2, 4);
	x.bytes = 31;
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_FAIL_TYPE);
	assert_string_equal(error.text,
			    "input 'x': its extents take 32 bytes, and the array has 31");
	x.bytes = 40; /* room for more */
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_OK);
	x.extents[0] = -2;
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_FAIL_TYPE);
	x.extents[0] = x.extents[1] = INT64_C(1) << 32;
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_FAIL_TYPE);
	x = f32(NULL, 2, 2, 4);
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_BAD_POINTER);
	assert_string_equal(error.text, "input 'x': its data are NULL");
	x = f32((char *)x_data + 2, 2, 2, 4);
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_BAD_POINTER);
	assert_string_equal(error.text, "input 'x': its data are not aligned to 4 bytes");
	tsr_array w = f32((char *)x_data + 1, 2, 3, 2);
	assert_int_equal(tsr_set_param(s, "w", &w, &error), TSR_BAD_POINTER);
	x = f32(NULL, 2, 2, 0);
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_OK);
	finish(s, model);
}

/* Dims follow from the arrays that are set last. */
static void arrays_may_be_set_anew(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model;
	tsr_session *s = start(&model, "forward");
	tsr_array x = f32(x_data, 2, 2, 4), y = f32(y_data, 1, 11, 0), z;
	assert_int_equal(tsr_expected(s, "x", &z, &error), TSR_FAIL_DIM);
	assert_int_equal(tsr_set_dim(s, "m", 5, &error), TSR_OK);
	assert_int_equal(tsr_expected(s, "y", &z, &error), TSR_OK);
	assert_int_equal(z.extents[0], 11);
	assert_int_equal(tsr_set_dim(s, "m", 4, &error), TSR_OK);
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_OK);
	assert_int_equal(tsr_resolve(s, &error), TSR_OK);
	assert_int_equal(tsr_dim_value(s, "n"), 2);
	x = f32(x_data, 2, 1, 5);
	assert_int_equal(tsr_set_input(s, "x", &x, &error), TSR_OK);
	assert_int_equal(tsr_resolve(s, &error), TSR_FAIL_DIM);
	assert_string_equal(error.text, "dim m is 4 by m=4, but axis 1 of input 'x' is 5");
	assert_int_equal(tsr_set_dim(s, "m", 5, &error), TSR_OK);
	assert_int_equal(tsr_set_input(s, "y", &y, &error), TSR_OK);
	assert_int_equal(tsr_prepare(s, &error), TSR_OK);
	assert_int_equal(tsr_dim_value(s, "n"), 1);
	finish(s, model);
}

/* The layouts differ, their lengths do not. */
static void only_equal_states_are_shared(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	tsr_session *s = prepared(model, 4), *same = prepared(model, 4), *other = prepared(model, 5);
	assert_int_equal(tsr_share_state(s, same, &error), TSR_OK);
	assert_int_equal(tsr_share_state(s, other, &error), TSR_FAIL_TYPE);
	assert_int_equal(tsr_share_state(same, same, &error), TSR_OK); /* it has it */
	assert_int_equal(tsr_share_state(same, s, &error), TSR_OK);
	tsr_session *last = prepared(model, 4);
	assert_int_equal(tsr_share_state(same, last, &error), TSR_OK);
	assert_int_equal(tsr_execute(same, &error), TSR_OK);
	assert_int_equal(tsr_execute(s, &error), TSR_OK); /* on the state that `same` made */
	tsr_session_free(s);
	tsr_session_free(same);
	tsr_session_free(last);
	finish(other, model);
}

/* w : [3, columns] and b : [3], of zeros. */
static void write_params(const char *path, int columns)
{
	char header[300];
	int bytes = 12 * columns;
	snprintf(header, sizeof header,
		 "{\"w\":{\"dtype\":\"F32\",\"shape\":[3,%d],\"data_offsets\":[0,%d]},"
		 "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[%d,%d]}}",
		 columns, bytes, bytes, bytes + 12);
	uint64_t len = strlen(header);
	FILE *out = fopen(path, "wb");
	fwrite(&len, sizeof len, 1, out);
	fputs(header, out);
	for (int i = 0; i < bytes + 12; i++)
		fputc(0, out);
	fclose(out);
}

/* The sizes of the file before say nothing. */
static void another_file_may_have_other_sizes(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model;
	char path[] = "/tmp/tsr_params_XXXXXX";
	close(mkstemp(path));
	tsr_session *s = start(&model, "forward");
	tsr_array x = f32(x_data, 2, 2, 5), y = f32(y_data, 1, 11, 0);
	for (int columns = 3; columns <= 5; columns++) {
		write_params(path, columns);
		assert_int_equal(tsr_load_params(s, path, NULL, &error), TSR_OK);
		assert_int_equal(tsr_resolve(s, &error), TSR_OK);
		assert_int_equal(tsr_dim_value(s, "m"), columns);
	}
	tsr_set_input(s, "x", &x, NULL);
	write_params(path, 4);
	assert_int_equal(tsr_load_params(s, path, NULL, &error), TSR_FAIL_DIM);
	tsr_set_input(s, "y", &y, NULL);
	assert_int_equal(tsr_prepare(s, &error), TSR_OK);
	unlink(path);
	finish(s, model);
}

/* A state that cannot be read is never replaced by the initialisers. */
static void a_damaged_state_stays_refused(void **state)
{
	(void)state;
	tsr_error error;
	char path[] = "/tmp/tsr_state_XXXXXX";
	close(mkstemp(path));
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	tsr_session *s = prepared(model, 4);
	assert_int_equal(tsr_save_state(s, path, &error), TSR_OK);
	assert_int_equal(tsr_load_state(s, path, &error), TSR_FAIL_ORDER);
	tsr_session_free(s);
	FILE *file = fopen(path, "r+b");
	fseek(file, 130, SEEK_SET);
	fputc(9, file);
	fclose(file);
	s = tsr_session_new(model, "forward", &error);
	tsr_array x = f32(x_data, 2, 2, 4), y = f32(y_data, 1, 9, 0);
	tsr_set_input(s, "x", &x, NULL);
	tsr_set_input(s, "y", &y, NULL);
	assert_int_equal(tsr_load_state(s, path, &error), TSR_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tsr_prepare(s, &error), TSR_FAIL_FILE);
		assert_non_null(strstr(error.text, "its checksum is wrong"));
		assert_non_null(strstr(error.text, path));
	}
	unlink(path);
	finish(s, model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_handles_are_told),
		cmocka_unit_test(null_names_paths_and_places_are_told),
		cmocka_unit_test(arrays_are_what_they_say),
		cmocka_unit_test(arrays_may_be_set_anew),
		cmocka_unit_test(only_equal_states_are_shared),
		cmocka_unit_test(another_file_may_have_other_sizes),
		cmocka_unit_test(a_damaged_state_stays_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
