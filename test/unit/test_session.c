/* Sessions: programs from memory, good and bad, one after another and at once on threads; what is
 * left of one that fails. make asan shows what leaks, make tsan what threads share. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver/session.h"

static const char good[] = "dim n >= 1\n"
			   "input x : [n, 5 -> 7]\n"
			   "input y : [7 -> 3]\n"
			   "param w : [7]\n"
			   "output z = relu(y * x)\n"
			   "output s = sum(\"i => \", w .* w)\n";
static const char no_size[] = "input x : [5 -> 7]\ninput y : [8 -> 3]\noutput z = y * x\n";
static const char no_name[] = "input x : [5]\noutput z = x + yy\n";
static const char no_syntax[] = "input x : [5\noutput z = = x\n";
static const char unused[] = "input x : [5]\ninput u : [5]\noutput z = x + x\n";

/* A network whose first layer has so many inputs. */
static void layers(char *text, size_t most, int n)
{
	size_t at = (size_t)snprintf(text, most, "dim b\ninput x : [b | %d]\nlet h0 = x\n", n);
	for (int i = 0; i < 4; i++)
		at += (size_t)snprintf(text + at, most - at,
				       "param w%d : [%d -> %d]\nlet h%d = tanh(w%d * h%d)\n", i,
				       n + i, n + i + 1, i + 1, i, i);
	snprintf(text + at, most - at, "output y = h4\n");
}

static SessionOptions options_of(void)
{
	SessionOptions options;
	session_options_init(&options);
	options.march = "x86-64-v3";
	return options;
}

static Session *given(const SessionOptions *options, const char *text)
{
	Session *s = session_open(options);
	assert_non_null(s);
	assert_int_equal(session_text(s, "net.tsr", text, strlen(text)), SESSION_DONE);
	return s;
}

/* ---- one ---- */

static void a_program_goes_to_a_stage_and_on(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	assert_false(session_has(s, "ast"));
	assert_null(session_dump_text(s, "graph", NULL));
	assert_int_equal(session_run(s, "graph"), SESSION_DONE);
	assert_non_null(session_graph(s));
	assert_null(session_inference(s));
	assert_null(session_tensors(s));
	assert_false(session_explain_closed(s, stdout));
	size_t len;
	const char *graph = session_dump_text(s, "graph", &len);
	assert_int_equal(strlen(graph), len);
	assert_non_null(strstr(graph, "relu"));
	assert_int_equal(session_run(s, "loops"), SESSION_DONE);
	assert_true(session_has(s, "loops") && session_has(s, "shapes:3") && session_has(s, "dot"));
	assert_string_equal(session_dump_text(s, "graph", NULL), graph);
	assert_non_null(strstr(session_dump_text(s, "shapes", NULL), "z : f32 [n, 5 -> 3]"));
	assert_non_null(session_program(s));
	assert_int_equal(session_run(s, "ast"), SESSION_DONE);
	assert_int_equal(session_diags(s)->list.n, 0);
	session_close(s);
	session_close(NULL);
}

static void every_stage_can_be_shown(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	for (int i = 0; i < pipeline_length; i++) {
		assert_int_equal(session_run(s, pipeline[i].name), SESSION_DONE);
		size_t len = 0;
		assert_non_null(session_dump_text(s, pipeline[i].name, &len));
		assert_true(len > 0 || strcmp(pipeline[i].name, "guards") == 0);
		for (int k = i + 1; k < pipeline_length; k++)
			assert_true(!session_has(s, pipeline[k].name));
	}
	session_close(s);
}

static void an_answer_that_there_is_not_is_an_error(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	FILE *out = fopen("/dev/null", "w");
	assert_int_equal(session_run(s, "shapes"), SESSION_DONE);
	assert_true(session_explain_shape(s, "z", out) && session_explain_closed(s, out) &&
		    session_report(s, out));
	assert_int_equal(session_diags(s)->nerrors, 0);
	assert_false(session_unshown(s, out));
	assert_true(session_explain_shape(s, "zz", out));
	assert_int_equal(session_diags(s)->nerrors, 1);
	assert_int_equal(session_run(s, "proj"), SESSION_ERRORS);
	assert_true(session_dump(s, "proj", out));
	assert_int_equal(session_run(s, "loops"), SESSION_ERRORS);
	assert_false(session_dump(s, "loops", out));
	fclose(out);
	session_close(s);
}

/* Does the text have this error, and stop at this stage? */
static void refused(const char *text, DiagCode code, const char *before, const char *stage)
{
	SessionOptions options = options_of();
	Session *s = given(&options, text);
	assert_int_equal(session_run(s, "loops"), SESSION_ERRORS);
	assert_int_equal(session_diags(s)->list.at[0].code, code);
	assert_true(!before || session_has(s, before));
	assert_false(session_has(s, stage));
	assert_true(!before || session_dump_text(s, before, NULL));
	assert_int_equal(session_dump_text(s, stage, NULL) != NULL, strcmp(stage, "graph") != 0);
	assert_non_null(session_ast(s));
	assert_int_equal(session_run(s, "loops"), SESSION_ERRORS);
	assert_int_equal(session_failure(s)->kind, FAILURE_NONE);
	session_close(s);
}

static void errors_are_data(void **state)
{
	(void)state;
	refused(no_syntax, E0101, "tokens", "ast");
	refused(no_name, E0201, "ast", "graph");
	refused(no_size, E0301, "graph", "shapes");
	SessionOptions options = options_of();
	Session *s = given(&options, "input x : [3]\ninput y : [4]\nlet z = exp(x)\noutput a = z + y\n");
	assert_int_equal(session_run(s, "shapes"), SESSION_ERRORS);
	assert_false(session_inference(s)->complete);
	assert_non_null(strstr(session_dump_text(s, "shapes", NULL), "z : f32 [3]"));
	assert_null(session_dump_text(s, "proj", NULL));
	session_close(s);
	s = given(&options, unused);
	assert_int_equal(session_run(s, "graph"), SESSION_DONE);
	assert_int_equal(session_diags(s)->nwarnings, 1);
	session_close(s);
	s = session_open(&options);
	assert_int_equal(session_read(s, "/nowhere/net.tsr"), SESSION_ERRORS);
	assert_string_equal(session_diags(s)->list.at[0].text,
			    "cannot read '/nowhere/net.tsr': No such file or directory");
	session_close(s);
}

static void a_schedule_may_be_text(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	assert_int_equal(session_run(s, "loops"), SESSION_DONE);
	char *schedule = strdup(session_dump_text(s, "schedule", NULL)),
	     *loops = strdup(session_dump_text(s, "loops", NULL));
	session_close(s);
	options.schedule_text = schedule;
	s = given(&options, good);
	assert_int_equal(session_run(s, "loops"), SESSION_DONE);
	assert_string_equal(session_dump_text(s, "loops", NULL), loops);
	session_close(s);
	options.schedule_text = "z: no such thing\n";
	s = given(&options, good);
	assert_int_equal(session_run(s, "loops"), SESSION_ERRORS);
	session_close(s);
	free(schedule);
	free(loops);
}

/* ---- files ---- */

static char folder[] = "/tmp/tsr_session_XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && setenv("TMPDIR", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* Files in the folder; removes them. */
static int count_files(void)
{
	int n = 0;
	DIR *dir = opendir(folder);
	for (const struct dirent *at; (at = readdir(dir)) != NULL;) {
		char path[600];
		if (at->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, at->d_name);
		unlink(path);
		n++;
	}
	closedir(dir);
	return n;
}

/* ---- failures ---- */

/* With so much memory, as far as it goes: how far is that? */
static SessionStatus run_within(size_t memory, const char *text, const char *kind)
{
	SessionOptions options = options_of();
	options.memory = memory;
	Session *s = session_open(&options);
	SessionStatus status = s ? session_text(s, "net.tsr", text, strlen(text)) : SESSION_FAILED;
	if (status == SESSION_DONE)
		status = session_run_all(s);
	if (status == SESSION_DONE && kind)
		status = session_write(s, kind, "-", NULL);
	assert_int_equal(status == SESSION_FAILED,
			 !s || session_failure(s)->kind == FAILURE_MEMORY);
	if (s && status == SESSION_FAILED) {
		assert_string_equal(session_failure(s)->text,
				    "the program needs more memory than the compiler may use");
		assert_int_equal(session_run(s, "ast"), SESSION_FAILED);
		assert_int_equal(session_write(s, "c", "-", NULL), SESSION_FAILED);
		assert_null(session_dump_text(s, "tokens", NULL));
	}
	session_close(s);
	assert_int_equal(count_files(), 0);
	return status;
}

static void memory_ends_a_session_and_no_other(void **state)
{
	(void)state;
	char text[2000];
	int failed = 0;
	layers(text, sizeof text, 30);
	for (size_t memory = 1; memory < 2 << 20; memory += 48 << 10) {
		SessionStatus status = run_within(memory, text, "c");
		assert_int_not_equal(status, SESSION_ERRORS);
		failed += status == SESSION_FAILED;
	}
	assert_in_range(failed, 5, 40);
	for (size_t memory = 1; memory < 1 << 20; memory += 48 << 10)
		assert_int_not_equal(run_within(memory, no_size, NULL), SESSION_DONE);
	a_program_goes_to_a_stage_and_on(NULL);
}

/* While children run. */
static void memory_ends_a_back_end(void **state)
{
	(void)state;
	size_t least = 64 << 10, step = 64 << 10;
	int failed = 0;
	while (run_within(least, good, NULL) == SESSION_FAILED)
		least += step;
	for (size_t memory = least; failed < 100; memory += step, failed++)
		if (run_within(memory, good, "so") == SESSION_DONE)
			break;
	assert_in_range(failed, 1, 20);
}

static void a_bug_ends_a_session_and_no_other(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	assert_int_equal(session_run(s, "nothing"), SESSION_FAILED);
	assert_int_equal(session_failure(s)->kind, FAILURE_BUG);
	assert_non_null(strstr(session_failure(s)->text, "driver/session.c:"));
	session_close(s);
	a_program_goes_to_a_stage_and_on(NULL);
}

static void *run_on_little(void *of)
{
	Session *s = of;
	session_run(s, "loops");
	return NULL;
}

static void a_small_stack_is_refused(void **state)
{
	(void)state;
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstacksize(&attr, 256 << 10), 0);
	assert_int_equal(pthread_create(&thread, &attr, run_on_little, s), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_int_equal(session_failure(s)->kind, FAILURE_STACK);
	session_close(s);
}

/* ---- outputs ---- */

static void outputs_appear_together(void **state)
{
	(void)state;
	char c[64], header[64], deps[64];
	snprintf(c, sizeof c, "%s/net.c", folder);
	snprintf(header, sizeof header, "%s/net.h", folder);
	snprintf(deps, sizeof deps, "%s/net.d", folder);
	const char *target = c;
	for (int commits = 0; commits < 2; commits++) {
		SessionOptions options = options_of();
		Session *s = given(&options, good);
		assert_int_equal(session_run(s, "loops"), SESSION_DONE);
		assert_int_equal(session_write(s, "c", c, NULL), SESSION_DONE);
		assert_int_equal(session_write(s, "header", header, NULL), SESSION_DONE);
		assert_int_equal(
			session_write_deps(s, deps,
					   &(SessionDeps){.targets = &target, .ntargets = 1}),
			SESSION_DONE);
		assert_int_not_equal(access(c, F_OK), 0);
		if (commits)
			assert_int_equal(session_commit(s), SESSION_DONE);
		assert_int_equal(access(c, F_OK) == 0, commits);
		session_close(s);
		assert_int_equal(count_files(), commits ? 3 : 0);
	}
	SessionOptions options = options_of();
	Session *s = given(&options, good);
	assert_int_equal(session_run(s, "loops"), SESSION_DONE);
	assert_int_equal(session_write(s, "loops", "/nowhere/x", NULL), SESSION_ERRORS);
	assert_int_equal(session_commit(s), SESSION_ERRORS);
	session_close(s);
}

/* ---- several at once ---- */

enum { THREADS = 4, ROUNDS = 3, PROGRAMS = 6 };

static const char *program_text(int program, char *room, size_t most)
{
	static const char *const fixed[] = {good, no_size, no_name};
	if (program < 3)
		return fixed[program];
	layers(room, most, 7 * program);
	return room;
}

/* All that a program shows: loops and C, or its messages; malloc'ed. */
static char *outcome(int program)
{
	char room[2000], *shown = NULL;
	size_t len;
	SessionOptions options = options_of();
	options.prefix = "net";
	const char *text = program_text(program, room, sizeof room);
	Session *s = given(&options, text);
	FILE *out = open_memstream(&shown, &len);
	if (session_run_all(s) == SESSION_DONE) {
		char path[100], line[4096];
		snprintf(path, sizeof path, "%s/%lx.c", folder, (unsigned long)pthread_self());
		for (int i = 0; i < pipeline_length; i++)
			assert_true(session_dump(s, pipeline[i].name, out));
		session_write(s, "c", path, NULL);
		session_commit(s);
		FILE *in = fopen(path, "r");
		while (in && fgets(line, sizeof line, in))
			fputs(line, out);
		if (in)
			fclose(in);
		unlink(path);
	}
	diags_print(session_diags(s), out);
	session_close(s);
	fclose(out);
	return shown;
}

typedef struct Runner {
	pthread_t thread;
	int first;
	char *shown[ROUNDS];
} Runner;

static void *run_rounds(void *of)
{
	Runner *runner = of;
	for (int i = 0; i < ROUNDS; i++)
		runner->shown[i] = outcome((runner->first + i) % PROGRAMS);
	return NULL;
}

static void threads_compile_as_one_does(void **state)
{
	(void)state;
	char *alone[PROGRAMS];
	Runner runners[THREADS] = {0};
	for (int i = 0; i < PROGRAMS; i++)
		alone[i] = outcome(i);
	assert_non_null(strstr(alone[0], "tsr_module"));
	assert_non_null(strstr(alone[1], "E0301"));
	for (int i = 0; i < THREADS; i++) {
		runners[i].first = 2 * i;
		assert_int_equal(pthread_create(&runners[i].thread, NULL, run_rounds, &runners[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(runners[i].thread, NULL);
		for (int k = 0; k < ROUNDS; k++) {
			assert_string_equal(runners[i].shown[k],
					    alone[(runners[i].first + k) % PROGRAMS]);
			free(runners[i].shown[k]);
		}
	}
	for (int i = 0; i < PROGRAMS; i++)
		free(alone[i]);
}

/* A shared object of a program, twice, through a cache that others use at the same time. */
static void *make_so(void *of)
{
	Runner *runner = of;
	for (int i = 0; i < 2; i++) {
		char cache[64], path[64];
		snprintf(cache, sizeof cache, "%s/cache", folder);
		snprintf(path, sizeof path, "%s/%d.so", folder, runner->first);
		SessionOptions options = options_of();
		options.cache_dir = cache;
		Session *s = given(&options, good);
		bool done = session_run_all(s) == SESSION_DONE &&
			    session_write(s, "so", path, NULL) == SESSION_DONE &&
			    session_commit(s) == SESSION_DONE;
		runner->shown[i] = done ? strdup(path) : NULL;
		session_close(s);
	}
	return NULL;
}

static void threads_make_shared_objects(void **state)
{
	(void)state;
	Runner runners[2] = {{.first = 0}, {.first = 1}};
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&runners[i].thread, NULL, make_so, &runners[i]), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(runners[i].thread, NULL);
		for (int k = 0; k < 2; k++) {
			assert_non_null(runners[i].shown[k]);
			free(runners[i].shown[k]);
		}
	}
	char cache[64], entry[600];
	snprintf(cache, sizeof cache, "%s/cache", folder);
	DIR *dir = opendir(cache);
	for (const struct dirent *at; dir && (at = readdir(dir)) != NULL;) {
		snprintf(entry, sizeof entry, "%s/%s", cache, at->d_name);
		unlink(entry);
	}
	closedir(dir);
	assert_int_equal(rmdir(cache), 0);
	assert_int_equal(count_files(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_goes_to_a_stage_and_on),
		cmocka_unit_test(every_stage_can_be_shown),
		cmocka_unit_test(an_answer_that_there_is_not_is_an_error),
		cmocka_unit_test(errors_are_data),
		cmocka_unit_test(a_schedule_may_be_text),
		cmocka_unit_test(memory_ends_a_session_and_no_other),
		cmocka_unit_test(memory_ends_a_back_end),
		cmocka_unit_test(a_bug_ends_a_session_and_no_other),
		cmocka_unit_test(a_small_stack_is_refused),
		cmocka_unit_test(outputs_appear_together),
		cmocka_unit_test(threads_compile_as_one_does),
		cmocka_unit_test(threads_make_shared_objects),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
