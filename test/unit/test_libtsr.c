/* libtsr on the module of fake_module.c: sizes, dims, arguments, parameters, state. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/array_file.h"
#include "fake_module.h"

static float x_data[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y_data[9] = {1, 2, 3};

static tsr_array f32(void *data, int rank, int64_t e0, int64_t e1)
{
	tsr_array a = {.dtype = "f32", .rank = rank, .extents = {e0, e1}, .data = data};
	a.bytes = sizeof(float) * (size_t)(e0 * (rank > 1 ? e1 : 1));
	return a;
}

typedef struct Fixture {
	tsr_model *model;
	tsr_session *s;
	tsr_error error;
} Fixture;

static Fixture start(const char *routine)
{
	Fixture f = {0};
	f.model = tsr_wrap(&fake_module, &f.error);
	assert_non_null(f.model);
	f.s = tsr_session_new(f.model, routine, &f.error);
	assert_non_null(f.s);
	return f;
}

static void finish(Fixture *f)
{
	tsr_session_free(f->s);
	tsr_close(f->model);
}

static void fails(Fixture *f, int code, int expected, const char *text)
{
	assert_int_equal(code, expected);
	assert_int_equal(f->error.code, expected);
	if (!strstr(f->error.text, text))
		fail_msg("expected '%s' in '%s'", text, f->error.text);
}

static void set(Fixture *f, const char *name, tsr_array a)
{
	assert_int_equal(tsr_set_input(f->s, name, &a, &f->error), TSR_OK);
}

static void a_routine_runs(void **state)
{
	(void)state;
	Fixture f = start("forward");
	set(&f, "x", f32(x_data, 2, 2, 4));
	set(&f, "y", f32(y_data, 1, 9, 0));
	fails(&f, tsr_execute(f.s, &f.error), TSR_FAIL_ORDER, "not prepared");
	tsr_set_seed(f.s, 2);
	assert_int_equal(tsr_prepare(f.s, &f.error), TSR_OK);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_ORDER, "already");
	assert_int_equal(tsr_dim_value(f.s, "m"), 4);
	assert_int_equal(tsr_dim_value(f.s, "n"), 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tsr_execute(f.s, &f.error), TSR_OK);
	const tsr_array *z = tsr_output(f.s, "z");
	const float expected[6] = {28, 52, 76, 84, 172, 260};
	assert_int_equal(z->rank, 2);
	assert_int_equal(z->extents[0], 2);
	assert_memory_equal(z->data, expected, sizeof expected);
	assert_int_equal((uintptr_t)z->data % 64, 0);
	assert_int_equal(tsr_traffic(f.s), 4 * (8 + 9 + 6 + 12 + 3));
	assert_null(tsr_output(f.s, "w"));
	finish(&f);
}

static void dims_come_from_affine_extents(void **state)
{
	(void)state;
	Fixture f = start("forward");
	tsr_array expected;
	set(&f, "y", f32(y_data, 1, 9, 0));
	assert_int_equal(tsr_resolve(f.s, &f.error), TSR_OK);
	assert_int_equal(tsr_dim_value(f.s, "m"), 4);
	fails(&f, tsr_expected(f.s, "x", &expected, &f.error), TSR_FAIL_DIM, "dim n is not known");
	assert_int_equal(tsr_set_dim(f.s, "n", 2, &f.error), TSR_OK);
	assert_int_equal(tsr_resolve(f.s, &f.error), TSR_OK);
	assert_int_equal(tsr_expected(f.s, "x", &expected, &f.error), TSR_OK);
	assert_int_equal(expected.extents[1], 4);
	assert_int_equal(expected.bytes, 32);
	finish(&f);
	f = start("forward");
	set(&f, "y", f32(y_data, 1, 8, 0));
	fails(&f, tsr_resolve(f.s, &f.error), TSR_FAIL_DIM, "no m makes 2*m + 1 that");
	finish(&f);
}

static void conflicts_name_both(void **state)
{
	(void)state;
	Fixture f = start("forward");
	set(&f, "x", f32(x_data, 2, 2, 4));
	assert_int_equal(tsr_set_dim(f.s, "n", 3, &f.error), TSR_OK);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_DIM,
	      "dim n is 3 by n=3, but axis 0 of input 'x' is 2");
	finish(&f);
	f = start("forward");
	set(&f, "x", f32(x_data, 2, 2, 4));
	set(&f, "y", f32(y_data, 1, 7, 0));
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_TYPE,
	      "input 'y': axis 0 must be 9 (m is 4 by axis 1 of input 'x'), not 7");
	finish(&f);
	f = start("forward");
	set(&f, "x", f32(x_data, 2, 0, 4));
	fails(&f, tsr_resolve(f.s, &f.error), TSR_FAIL_DIM,
	      "dim n is 0 by axis 0 of input 'x', but it must be at least 1");
	finish(&f);
}

static void wrong_arguments_are_told(void **state)
{
	(void)state;
	Fixture f = start("forward");
	tsr_array a = f32(x_data, 1, 8, 0);
	fails(&f, tsr_set_input(f.s, "x", &a, &f.error), TSR_FAIL_TYPE,
	      "expected f32 [n | m], array n x m, came f32 array 8");
	a.dtype = "f64";
	a.rank = 2;
	fails(&f, tsr_set_input(f.s, "x", &a, &f.error), TSR_FAIL_TYPE, "came f64");
	fails(&f, tsr_set_input(f.s, "w", &a, &f.error), TSR_FAIL_NAME, "no input 'w'");
	fails(&f, tsr_set_input(f.s, NULL, &a, &f.error), TSR_FAIL_NAME, "no input");
	fails(&f, tsr_set_input(f.s, "x", NULL, &f.error), TSR_FAIL_TYPE, "0 to 32 axes");
	a.dtype = NULL;
	fails(&f, tsr_set_input(f.s, "x", &a, &f.error), TSR_FAIL_TYPE, "has a dtype");
	a.dtype = "f32";
	a.rank = 33;
	fails(&f, tsr_set_input(f.s, "x", &a, &f.error), TSR_FAIL_TYPE, "0 to 32 axes");
	char dtype[] = "f32"; /* the caller's, who need not keep it */
	set(&f, "x", f32(x_data, 2, 2, 4));
	tsr_array longer = f32(x_data, 1, 7, 0);
	longer.dtype = dtype;
	assert_int_equal(tsr_set_input(f.s, "y", &longer, &f.error), TSR_OK);
	memset(dtype, '?', sizeof dtype - 1);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_TYPE, "came f32 array 7");
	finish(&f);
	f = start("forward");
	fails(&f, tsr_set_dim(f.s, "q", 1, &f.error), TSR_FAIL_NAME, "no dim 'q'");
	fails(&f, tsr_set_dim(f.s, "n", -1, &f.error), TSR_FAIL_DIM, "cannot be -1");
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_MISSING,
	      "input 'x' is missing: expected f32 [n | m]");
	assert_null(tsr_session_new(f.model, "backward", &f.error));
	assert_int_equal(f.error.code, TSR_FAIL_NAME);
	finish(&f);
	f = start("scale");
	fails(&f, tsr_set_scalar(f.s, "k", 1.5, &f.error), TSR_FAIL_TYPE, "i32");
	fails(&f, tsr_set_scalar(f.s, "k", 1e10, &f.error), TSR_FAIL_TYPE, "i32");
	assert_int_equal(tsr_set_scalar(f.s, "k", 7, &f.error), TSR_OK);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_MISSING, "scalar 'a' is missing");
	finish(&f);
}

static void guards_and_great_sizes_are_told(void **state)
{
	(void)state;
	Fixture f = start("forward");
	static float many[1 + 2 * 101];
	set(&f, "x", f32(many, 2, 1, 101));
	set(&f, "y", f32(many, 1, 203, 0));
	assert_int_equal(tsr_prepare(f.s, &f.error), TSR_OK);
	fails(&f, tsr_execute(f.s, &f.error), TSR_CHECK_FIRST,
	      "fake.tsr:1:5: m must be at most 100");
	finish(&f);
	f = start("scale");
	tsr_set_scalar(f.s, "a", 1, NULL);
	tsr_set_scalar(f.s, "k", 1, NULL);
	tsr_set_dim(f.s, "m", 1, NULL);
	tsr_set_dim(f.s, "n", INT64_C(1) << 62, NULL);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_MEMORY, "output 't' is too large");
	tsr_set_dim(f.s, "n", INT64_C(1) << 58, NULL);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_MEMORY, "not enough memory");
	tsr_set_dim(f.s, "n", 1, NULL);
	tsr_set_dim(f.s, "m", INT64_C(1) << 62, NULL);
	fails(&f, tsr_prepare(f.s, &f.error), TSR_FAIL_DIM, "cannot be computed");
	tsr_set_dim(f.s, "m", 1, NULL);
	assert_int_equal(tsr_prepare(f.s, &f.error), TSR_OK);
	finish(&f);
}

static void sizes_are_evaluated(void **state)
{
	(void)state;
	const int64_t dims[2] = {7, -1};
	int64_t value;
	int64_t code[6] = {TSR_SIZE_CONST, -7, TSR_SIZE_CONST, 2, TSR_SIZE_FLOOR, 0};
	tsr_size size = {code, 3, "floor(-7/2)"};
	assert_int_equal(tsr_size_value(&size, &fake_module, dims, &value), TSR_OK);
	assert_int_equal(value, -4);
	code[4] = TSR_SIZE_DIV;
	assert_int_equal(tsr_size_value(&size, &fake_module, dims, &value), TSR_FAIL_DIM);
	code[3] = 0;
	assert_int_equal(tsr_size_value(&size, &fake_module, dims, &value), TSR_FAIL_DIM);
	code[2] = TSR_SIZE_DIM;
	code[3] = 1;
	assert_int_equal(tsr_size_value(&size, &fake_module, dims, &value), TSR_FAIL_DIM);
	size.n = 0;
	assert_int_equal(tsr_size_value(&size, &fake_module, dims, &value), TSR_FAIL_DIM);
}

static void state_is_saved_and_shared(void **state)
{
	(void)state;
	char path[] = "/tmp/tsr_state_XXXXXX";
	close(mkstemp(path));
	Fixture f = start("scale");
	tsr_array b;
	tsr_set_scalar(f.s, "a", 2.5, NULL);
	tsr_set_scalar(f.s, "k", -3, NULL);
	tsr_set_dim(f.s, "m", 4, NULL);
	tsr_set_dim(f.s, "n", 2, NULL);
	assert_int_equal(tsr_prepare(f.s, &f.error), TSR_OK);
	assert_int_equal(tsr_execute(f.s, &f.error), TSR_OK);
	assert_int_equal(((int32_t *)tsr_output(f.s, "t")->data)[1], -3);
	assert_int_equal(tsr_param(f.s, "b", &b, &f.error), TSR_OK);
	assert_true(((float *)b.data)[2] == 2.5f);
	assert_int_equal(tsr_save_state(f.s, path, &f.error), TSR_OK);

	Fixture g = start("forward");
	set(&g, "x", f32(x_data, 2, 2, 4));
	set(&g, "y", f32(y_data, 1, 9, 0));
	assert_int_equal(tsr_load_state(g.s, path, &g.error), TSR_OK);
	assert_int_equal(tsr_prepare(g.s, &g.error), TSR_OK);
	assert_int_equal(tsr_execute(g.s, &g.error), TSR_OK);
	assert_true(((float *)tsr_output(g.s, "z")->data)[0] == 14 + 2.5f + 1);
	assert_int_equal(tsr_share_state(g.s, f.s, &g.error), TSR_OK);
	finish(&g);

	g = start("forward"); /* other sizes: m is 1 */
	set(&g, "x", f32(x_data, 2, 2, 1));
	set(&g, "y", f32(y_data, 1, 3, 0));
	assert_int_equal(tsr_load_state(g.s, path, &g.error), TSR_OK);
	fails(&g, tsr_prepare(g.s, &g.error), TSR_FAIL_TYPE, "other parameters or sizes");
	finish(&g);
	finish(&f);

	f = start("forward");
	assert_int_equal(truncate(path, 140), 0);
	fails(&f, tsr_load_state(f.s, path, &f.error), TSR_FAIL_FILE, "cut short");
	assert_int_equal(truncate(path, 4), 0);
	fails(&f, tsr_load_state(f.s, path, &f.error), TSR_FAIL_FILE, "not a state");
	unlink(path);
	fails(&f, tsr_load_state(f.s, path, &f.error), TSR_FAIL_FILE, "No such file");
	finish(&f);
}

static void write_tensors(const char *path, const char *header, const float *data, size_t n)
{
	uint64_t length = strlen(header);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	fwrite(&length, sizeof length, 1, file);
	fwrite(header, 1, length, file);
	fwrite(data, sizeof *data, n, file);
	fclose(file);
}

/* A file of parameters: b of three floats. */
static void write_params(const char *path, const float *b)
{
	write_tensors(path, "{\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}", b, 3);
}

static void holds(Fixture *f, const float *b)
{
	tsr_array got;
	set(f, "x", f32(x_data, 2, 2, 4));
	set(f, "y", f32(y_data, 1, 9, 0));
	assert_int_equal(tsr_prepare(f->s, &f->error), TSR_OK);
	assert_int_equal(tsr_param(f->s, "b", &got, &f->error), TSR_OK);
	assert_memory_equal(got.data, b, 3 * sizeof *b);
	finish(f);
}

/* The last file counts, and what is set by name before any. */
static void files_of_parameters_replace_each_other(void **state)
{
	(void)state;
	char first[] = "/tmp/tsr_first_XXXXXX", second[] = "/tmp/tsr_second_XXXXXX";
	float one[3] = {1, 2, 3}, two[3] = {4, 5, 6}, own[3] = {7, 8, 9};
	close(mkstemp(first));
	close(mkstemp(second));
	write_params(first, one);
	write_params(second, two);
	for (int order = 0; order < 3; order++) {
		Fixture f = start("forward");
		tsr_array b = f32(own, 1, 3, 0);
		if (order == 1)
			assert_int_equal(tsr_set_param(f.s, "b", &b, &f.error), TSR_OK);
		assert_int_equal(tsr_load_params(f.s, first, NULL, &f.error), TSR_OK);
		assert_int_equal(tsr_load_params(f.s, second, NULL, &f.error), TSR_OK);
		if (order == 2)
			assert_int_equal(tsr_set_param(f.s, "b", &b, &f.error), TSR_OK);
		holds(&f, order ? own : two);
	}
	unlink(first);
	unlink(second);
}

/* Of a file with one array that does not fit none is taken: what was there before stays. */
static void a_file_that_is_refused_changes_nothing(void **state)
{
	(void)state;
	char good[] = "/tmp/tsr_good_XXXXXX", bad[] = "/tmp/tsr_bad_XXXXXX";
	float one[3] = {1, 2, 3}, many[10] = {0};
	close(mkstemp(good));
	close(mkstemp(bad));
	write_params(good, one);
	write_tensors(bad,
		      "{\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
		      "\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[24,40]}}",
		      many, 10);
	Fixture f = start("forward");
	assert_int_equal(tsr_load_params(f.s, good, NULL, &f.error), TSR_OK);
	fails(&f, tsr_load_params(f.s, bad, NULL, &f.error), TSR_FAIL_TYPE, "axis 0 must be 3, not 4");
	assert_false(tsr_has_param(f.s, "w"));
	holds(&f, one);
	unlink(good);
	unlink(bad);
}

/* One session makes the state, without its inputs; another uses it and makes none. */
static void state_is_made_alone_and_shared_early(void **state)
{
	(void)state;
	Fixture f = start("scale"), g = start("forward");
	float ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	tsr_array w = f32(ones, 2, 3, 4), theirs;
	fails(&g, tsr_share_state(g.s, f.s, &g.error), TSR_FAIL_ORDER, "no state yet");
	fails(&f, tsr_prepare_state(f.s, &f.error), TSR_FAIL_DIM, "dim m is not known");
	assert_int_equal(tsr_set_param(f.s, "w", &w, &f.error), TSR_OK);
	assert_null(tsr_state(f.s));
	assert_int_equal(tsr_prepare_state(f.s, &f.error), TSR_OK);
	assert_non_null(tsr_state(f.s));
	fails(&f, tsr_prepare_state(f.s, &f.error), TSR_FAIL_ORDER, "a state already");
	fails(&f, tsr_set_param(f.s, "w", &w, &f.error), TSR_FAIL_ORDER, "a state already");
	fails(&f, tsr_load_params(f.s, "none", NULL, &f.error), TSR_FAIL_ORDER, "a state already");
	fails(&f, tsr_load_state(f.s, "none", &f.error), TSR_FAIL_ORDER, "a state already");

	set(&g, "x", f32(x_data, 2, 2, 4));
	set(&g, "y", f32(y_data, 1, 9, 0));
	assert_int_equal(tsr_share_state(g.s, f.s, &g.error), TSR_OK);
	assert_int_equal(tsr_dim_value(g.s, "m"), 4);
	assert_int_equal(tsr_prepare(g.s, &g.error), TSR_OK);
	assert_int_equal(tsr_param(g.s, "w", &w, &g.error), TSR_OK);
	assert_int_equal(tsr_param(f.s, "w", &theirs, &f.error), TSR_OK);
	assert_ptr_equal(w.data, theirs.data);
	assert_int_equal(tsr_execute(g.s, &g.error), TSR_OK);
	float sum = x_data[0] + x_data[1] + x_data[2] + x_data[3];
	assert_true(((float *)tsr_output(g.s, "z")->data)[0] == sum + 1 + y_data[0]);
	finish(&g);

	for (int early = 0; early < 2; early++) { /* m is 1 by x */
		g = start("forward");
		if (early)
			tsr_share_state(g.s, f.s, NULL);
		set(&g, "x", f32(x_data, 2, 2, 1));
		set(&g, "y", f32(y_data, 1, 3, 0));
		tsr_resolve(g.s, NULL);
		tsr_share_state(g.s, f.s, NULL);
		fails(&g, tsr_prepare(g.s, &g.error), TSR_FAIL_DIM,
		      early ? "dim m is 4 by the shared state's parameter 'w'"
			    : "dim m is 1 by axis 1 of input 'x', but 4 in the state");
		if (!early)
			finish(&g);
	}
	finish(&g);
	finish(&f);
}

static void written_parameters_count_once_packed(void **state)
{
	(void)state;
	Fixture f = start("forward");
	tsr_array w;
	set(&f, "x", f32(x_data, 2, 2, 4));
	set(&f, "y", f32(y_data, 1, 9, 0));
	fails(&f, tsr_pack(f.s, &f.error), TSR_FAIL_ORDER, "no state yet");
	tsr_set_seed(f.s, 2);
	assert_int_equal(tsr_prepare(f.s, &f.error), TSR_OK);
	assert_int_equal(tsr_param(f.s, "w", &w, &f.error), TSR_OK);
	memset(w.data, 0, w.bytes);
	assert_int_equal(tsr_execute(f.s, &f.error), TSR_OK);
	const float *z = tsr_output(f.s, "z")->data;
	assert_true(z[0] == 28);
	assert_int_equal(tsr_pack(f.s, &f.error), TSR_OK);
	assert_int_equal(tsr_execute(f.s, &f.error), TSR_OK);
	assert_true(z[0] == y_data[0] + 1);
	finish(&f);
}

static void *run_often(void *model)
{
	tsr_error error;
	tsr_array x = f32(x_data, 2, 2, 4), y = f32(y_data, 1, 9, 0);
	intptr_t wrong = 0;
	for (int i = 0; i < 200; i++) {
		tsr_session *s = tsr_session_new(model, "forward", &error);
		tsr_set_input(s, "x", &x, &error);
		tsr_set_input(s, "y", &y, &error);
		wrong += tsr_prepare(s, &error) != TSR_OK || tsr_execute(s, &error) != TSR_OK ||
			 ((float *)tsr_output(s, "z")->data)[5] != 216;
		tsr_session_free(s);
	}
	return (void *)wrong;
}

static void a_model_is_shared_between_threads(void **state)
{
	(void)state;
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_often, model), 0);
	for (int i = 0; i < 3; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	tsr_close(model);
}

static void not_a_module(void **state)
{
	(void)state;
	tsr_error error;
	tsr_module other = fake_module;
	other.abi = 99;
	assert_null(tsr_wrap(&other, &error));
	assert_int_equal(error.code, TSR_FAIL_MODULE);
	other = fake_module;
	other.nparams = -1;
	assert_null(tsr_wrap(&other, &error));
	assert_string_equal(error.text, "the module's table is damaged: its parameters or state");
	tsr_routine routine = fake_module.routines[0];
	static const int32_t beyond[] = {0, 2};
	routine.dims = beyond;
	other = fake_module;
	other.nroutines = 1;
	other.routines = &routine;
	assert_null(tsr_wrap(&other, &error));
	assert_string_equal(error.text, "the module's table is damaged: its routines");
	static const int64_t lone[] = {TSR_SIZE_CONST, 1, TSR_SIZE_ADD, 0};
	other = fake_module;
	other.state = (tsr_size){lone, 2, "1 +"};
	assert_null(tsr_wrap(&other, &error));
	assert_null(tsr_open("/does/not/exist.so", &error));
	assert_int_equal(error.code, TSR_FAIL_FILE);
	assert_null(tsr_open("/etc/passwd", &error));
	assert_int_equal(error.code, TSR_FAIL_MODULE);
	assert_non_null(strstr(error.text, "not a shared object"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_routine_runs),
		cmocka_unit_test(dims_come_from_affine_extents),
		cmocka_unit_test(conflicts_name_both),
		cmocka_unit_test(wrong_arguments_are_told),
		cmocka_unit_test(guards_and_great_sizes_are_told),
		cmocka_unit_test(sizes_are_evaluated),
		cmocka_unit_test(state_is_saved_and_shared),
		cmocka_unit_test(files_of_parameters_replace_each_other),
		cmocka_unit_test(a_file_that_is_refused_changes_nothing),
		cmocka_unit_test(state_is_made_alone_and_shared_early),
		cmocka_unit_test(written_parameters_count_once_packed),
		cmocka_unit_test(a_model_is_shared_between_threads),
		cmocka_unit_test(not_a_module),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
