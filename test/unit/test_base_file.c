/* Files by name, and what a process leaves behind. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/temporary.h"

/* ROOM: of a path in the test's folder. */
enum { ROOM = 200, THREADS = 4, FILES = 50 };
static char folder[] = "/tmp/tsr_file_XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[ROOM];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void only_regular_files_are_read(void **state)
{
	(void)state;
	const char *why, *path = in_folder("file");
	assert_null(file_open("/tmp", &why));
	assert_string_equal(why, "it is a directory");
	assert_null(file_open("/dev/zero", &why));
	assert_string_equal(why, "it is not a regular file");
	assert_null(file_open(path, &why));
	assert_string_equal(why, "No such file or directory");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(file_open(path, &why));
	assert_string_equal(why, "it is not a regular file");
	assert_false(file_replaceable(path));
	unlink(path);
	FILE *out = fopen(path, "w");
	assert_true(out && file_close(out) && file_replaceable(path));
	FILE *in = file_open(path, &why);
	assert_true(in && getc(in) == EOF);
	fclose(in);
	unlink(path);
}

static void new_files_have_the_rights_that_the_umask_leaves(void **state)
{
	(void)state;
	struct stat st;
	char *name;
	mode_t mask = umask(027);
	int fd = file_new(in_folder("file"), 0666, &name);
	umask(mask);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_memory_equal(name, in_folder("file."), strlen(in_folder("file.")));
	close(fd);
	unlink(name);
	free(name);
	assert_int_equal(file_new(in_folder("none/file"), 0666, &name), -1);
	assert_int_equal(errno, ENOENT);
}

static void a_full_disk_is_told(void **state)
{
	(void)state;
	FILE *out = fopen("/dev/full", "w");
	assert_non_null(out);
	fputs("text", out);
	assert_false(file_close(out));
	assert_int_equal(errno, ENOSPC);
}

static char same[ROOM];

/* Each thread's names, which nobody else has. */
static void *make_files(void *names)
{
	for (int i = 0; i < FILES; i++) {
		int fd = file_new(same, 0600, (char **)names + i);
		close(fd);
	}
	return NULL;
}

static void threads_make_files_of_their_own(void **state)
{
	(void)state;
	pthread_t threads[THREADS];
	char *names[THREADS][FILES];
	snprintf(same, sizeof same, "%s", in_folder("same"));
	for (int t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, make_files, names[t]), 0);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < FILES; i++) {
			assert_int_equal(unlink(names[t][i]), 0); /* each is there once */
			free(names[t][i]);
		}
}

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* A link inside goes, what it leads to stays. */
static void trees_are_removed(void **state)
{
	(void)state;
	const char *dir = temporary_dir();
	char path[ROOM], kept[ROOM];
	assert_non_null(dir);
	snprintf(kept, sizeof kept, "%s", in_folder("kept"));
	assert_int_equal(mkdir(kept, 0700), 0);
	snprintf(path, sizeof path, "%s/link", dir);
	assert_int_equal(symlink(kept, path), 0);
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof path, "%s/%d", dir, i);
		if (i % 100 == 0)
			assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof path, "%s/%d/%d", dir, i / 100 * 100, i);
		write_file(path);
	}
	snprintf(path, sizeof path, "%s", dir);
	temporary_remove(dir);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(rmdir(kept), 0);
}

/* What a process has made when it ends: a file, a tree and a child, whose number it tells. */
static _Noreturn void leave(int words, int number)
{
	int fd;
	signal(number, SIG_DFL); /* as a shell in the background would not have it */
	temporary_guard();
	const char *dir = temporary_dir();
	char names[2][ROOM];
	memset(names, 0, sizeof names);
	snprintf(names[0], ROOM, "%s", temporary_file(in_folder("left"), &fd));
	snprintf(names[1], ROOM, "%s/file", dir);
	write_file(names[1]);
	pid_t child = temporary_fork();
	if (child == 0)
		for (;;)
			pause();
	if (write(words, names, sizeof names) < 0 || write(words, &child, sizeof child) < 0)
		_exit(9);
	if (number)
		kill(getpid(), number);
	exit(5);
}

static void a_process_leaves_nothing(int number)
{
	int ends[2], status;
	char names[2][ROOM];
	pid_t child;
	assert_int_equal(pipe(ends), 0);
	pid_t process = fork();
	if (process == 0)
		leave(ends[1], number);
	close(ends[1]);
	assert_int_equal(read(ends[0], names, sizeof names), sizeof names);
	assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, number);
	assert_int_equal(read(ends[0], &status, 1), 0); /* the child has its end no longer */
	close(ends[0]);
	bool stays = number == SIGKILL;
	assert_int_equal(access(names[0], F_OK) == 0, stays);
	assert_int_equal(access(names[1], F_OK) == 0, stays);
	if (stays) {
		unlink(names[0]);
		unlink(names[1]);
		*strrchr(names[1], '/') = '\0';
		rmdir(names[1]);
	}
}

static void an_end_leaves_nothing(void **state)
{
	(void)state;
	static const int numbers[] = {0, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGKILL};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		a_process_leaves_nothing(numbers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_regular_files_are_read),
		cmocka_unit_test(new_files_have_the_rights_that_the_umask_leaves),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(threads_make_files_of_their_own),
		cmocka_unit_test(trees_are_removed),
		cmocka_unit_test(an_end_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
