/* Files of states: written whole or not at all, by many threads, and refused when they are others'. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_module.h"

enum { ROOM = 300, THREADS = 8, SAVES = 60 };
static char folder[] = "/tmp/tsr_states_XXXXXX", state_path[ROOM];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(state_path, sizeof state_path, "%s/state", folder);
	return 0;
}

static int count_files(void)
{
	int n = 0;
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(state_path);
	return rmdir(folder);
}

/* A session whose parameter b has the seed of w. */
static tsr_session *prepared(const tsr_model *model, uint64_t seed)
{
	tsr_session *s = tsr_session_new(model, "scale", NULL);
	assert_non_null(s);
	tsr_set_scalar(s, "a", 1, NULL);
	tsr_set_scalar(s, "k", 1, NULL);
	tsr_set_dim(s, "m", 1000, NULL);
	tsr_set_dim(s, "n", 2, NULL);
	tsr_set_seed(s, seed);
	assert_int_equal(tsr_prepare(s, NULL), TSR_OK);
	return s;
}

static float first_of(const tsr_model *model, const char *path)
{
	tsr_session *s = tsr_session_new(model, "scale", NULL);
	tsr_array w;
	tsr_set_scalar(s, "a", 1, NULL);
	tsr_set_scalar(s, "k", 1, NULL);
	tsr_set_dim(s, "m", 1000, NULL);
	tsr_set_dim(s, "n", 2, NULL);
	assert_int_equal(tsr_load_state(s, path, NULL), TSR_OK);
	assert_int_equal(tsr_prepare(s, NULL), TSR_OK);
	assert_int_equal(tsr_param(s, "w", &w, NULL), TSR_OK);
	float first = *(float *)w.data;
	tsr_session_free(s);
	return first;
}

/* Names that were once taken lead elsewhere. */
static void links_laid_before_are_not_followed(void **state)
{
	(void)state;
	char other[ROOM], link[ROOM + 40];
	snprintf(other, sizeof other, "%s/other", folder);
	FILE *out = fopen(other, "w");
	fputs("precious", out);
	fclose(out);
	snprintf(link, sizeof link, "%s.%ld.tmp", state_path, (long)getpid());
	assert_int_equal(symlink(other, link), 0);
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	tsr_session *s = prepared(model, 1);
	assert_int_equal(tsr_save_state(s, state_path, NULL), TSR_OK);
	struct stat st;
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(count_files(), 1);
	tsr_session_free(s);
	tsr_close(model);
}

static void *save_often(void *session)
{
	intptr_t wrong = 0;
	for (int i = 0; i < SAVES; i++)
		wrong += tsr_save_state(session, state_path, NULL) != TSR_OK;
	return (void *)wrong;
}

static void threads_save_to_one_file(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	tsr_session *sessions[THREADS];
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	for (int i = 0; i < THREADS; i++) {
		sessions[i] = prepared(model, (uint64_t)i + 1);
		assert_int_equal(pthread_create(&threads[i], NULL, save_often, sessions[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		float first = first_of(model, state_path);
		assert_true(first >= 1 && first <= THREADS);
	}
	for (int i = 0; i < THREADS; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
		tsr_session_free(sessions[i]);
	}
	assert_int_equal(count_files(), 1);
	tsr_close(model);
}

static void a_failed_save_leaves_what_was_there(void **state)
{
	(void)state;
	tsr_error error;
	tsr_model *model = tsr_wrap(&fake_module, NULL);
	tsr_session *s = prepared(model, 3), *other = prepared(model, 4);
	assert_int_equal(tsr_save_state(s, state_path, &error), TSR_OK);
	struct rlimit before, small = {8000, 8000};
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	int code = tsr_save_state(other, state_path, &error);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, was);
	assert_int_equal(code, TSR_FAIL_FILE);
	assert_non_null(strstr(error.text, "File too large"));
	assert_true(first_of(model, state_path) == 3);
	assert_int_equal(count_files(), 1);
	assert_int_equal(tsr_save_state(s, "/proc/state", &error), TSR_FAIL_FILE);
	assert_int_equal(tsr_save_state(s, "/dev/full", &error), TSR_FAIL_FILE);
	assert_string_equal(error.text, "/dev/full: No space left on device");
	tsr_session_free(s);
	tsr_session_free(other);
	tsr_close(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_laid_before_are_not_followed),
		cmocka_unit_test(threads_save_to_one_file),
		cmocka_unit_test(a_failed_save_leaves_what_was_there),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
