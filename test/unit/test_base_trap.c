/* Traps: what fails under one ends there, and leaves nothing. Leaks show under make asan. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <stb/stb_ds.h>

#include "base/diag.h"
#include "base/held.h"
#include "base/temporary.h"
#include "base/trap.h"

typedef struct Work {
	bool fails;
	Arena *arena;
	int fd;
	char *file, *dir;
	int *ended;
	pid_t child;
} Work;

static void count(void *ended) { ++*(int *)ended; }

static void take_all(void *of)
{
	Work *w = of;
	struct {
		int key, value;
	} *map = NULL;
	w->arena = arena_new();
	for (int i = 0; i < 100; i++)
		hmput(map, i, i);
	void *block = held_alloc(3, 5), *grown = held_realloc(held_malloc(1), 100);
	Text text = text_new();
	fprintf(text.out, "seven %d", 7);
	FILE *file = held_file(fopen("/dev/null", "w"));
	w->fd = held_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	held_add(count, w->ended);
	int fd;
	w->file = strdup(temporary_file(NULL, &fd));
	close(fd);
	w->dir = strdup(temporary_dir());
	w->child = temporary_fork();
	if (w->child == 0)
		for (;;)
			pause();
	if (w->fails)
		REQUIRE(w->fd < 0);
	assert_string_equal(text_take(text, w->arena, NULL), "seven 7");
	held_close(file);
	held_fd_close(w->fd);
	held_drop(count, w->ended);
	held_free(block);
	held_free(grown);
	hmfree(map);
	temporary_remove(w->file);
	free(w->file);
	w->file = NULL;
}

static void free_names(Work *w)
{
	free(w->file);
	free(w->dir);
}

static void a_failure_frees_what_was_taken(void **state)
{
	(void)state;
	Holder holder = {0};
	Failure failure = {0};
	int ended = 0;
	Work w = {.fails = true, .ended = &ended};
	assert_false(trap_run(&holder, take_all, &w, &failure));
	assert_int_equal(failure.kind, FAILURE_BUG);
	assert_non_null(strstr(failure.text, "test_base_trap.c:"));
	assert_non_null(strstr(failure.text, ": w->fd < 0"));
	assert_null(holder.first);
	assert_int_equal(ended, 1);
	assert_int_equal(fcntl(w.fd, F_GETFD), -1);
	assert_int_not_equal(access(w.file, F_OK), 0);
	assert_int_not_equal(access(w.dir, F_OK), 0);
	assert_int_not_equal(kill(w.child, 0), 0);
	free_names(&w);
}

static void what_is_left_is_the_holders(void **state)
{
	(void)state;
	Holder holder = {0};
	Failure failure = {0};
	int ended = 0;
	Work w = {.ended = &ended};
	assert_true(trap_run(&holder, take_all, &w, &failure));
	assert_int_equal(ended, 0);
	assert_non_null(holder.first);
	assert_int_equal(access(w.dir, F_OK), 0);
	arena_alloc(w.arena, 1 << 20);
	arena_free(w.arena);
	holder_end(&holder);
	assert_null(holder.first);
	assert_int_not_equal(access(w.dir, F_OK), 0);
	free_names(&w);
}

static void exhaust(void *of)
{
	Arena *arena = arena_new();
	arena_limit(arena, 1 << 20);
	(void)of;
	for (;;)
		arena_alloc(arena, 1000);
}

static void fail_inside(void *of)
{
	Holder holder = {0};
	Failure *failure = of;
	assert_false(trap_run(&holder, exhaust, NULL, failure));
	held_alloc(1, 1);
	exhaust(NULL);
}

static void traps_nest(void **state)
{
	(void)state;
	Holder holder = {0};
	Failure inner = {0}, outer = {0};
	assert_false(trap_run(&holder, fail_inside, &inner, &outer));
	assert_int_equal(inner.kind, FAILURE_MEMORY);
	assert_string_equal(outer.text, "the program needs more memory than the compiler may use");
	assert_null(holder.first);
	assert_null(trap_holder());
}

static void *exhaust_often(void *of)
{
	int *failures = of;
	for (int i = 0; i < 20; i++) {
		Holder holder = {0};
		Failure failure = {0};
		*failures += !trap_run(&holder, exhaust, NULL, &failure);
	}
	return NULL;
}

static void each_thread_has_its_own(void **state)
{
	(void)state;
	enum { N = 4 };
	pthread_t threads[N];
	int failures[N] = {0};
	for (int i = 0; i < N; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, exhaust_often, &failures[i]), 0);
	for (int i = 0; i < N; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(failures[i], 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_frees_what_was_taken),
					   cmocka_unit_test(what_is_left_is_the_holders),
					   cmocka_unit_test(traps_nest),
					   cmocka_unit_test(each_thread_has_its_own)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
