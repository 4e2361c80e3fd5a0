/* tsrc: options in, a session, what was asked for out. The stages are rows of driver/pipeline.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stack.h"
#include "base/temporary.h"
#include "codegen/nvrtc_process.h"
#include "driver/jobs.h"
#include "driver/lists.h"
#include "driver/variants.h"
#include "target/measure.h"
#include "tune/tune.h"

typedef struct Client {
	double start; /* in ms */
	Options options;
	Session *session;
	Variants variants;
	bool failed; /* to make one of them */
} Client;

/* What was asked of a stage that has run. */
static void show(Client *c, const char *stage)
{
	const Options *o = &c->options;
	bool all = false, shapes = strcmp(stage, "shapes") == 0;
	for (size_t i = 0; i < o->dump.n; i++)
		all |= strcmp(o->dump.at[i], "all") == 0;
	bool asked = all;
	for (size_t i = 0; i < o->dump.n; i++)
		asked |= strcmp(o->dump.at[i], stage) == 0;
	if (all)
		printf("---- %s: %s\n", stage, pipeline[stage_index(stage)].makes);
	if (asked)
		session_dump(c->session, stage, stdout);
	for (size_t i = 0; shapes && i < o->dump.n; i++)
		if (stage_step(o->dump.at[i]))
			session_dump(c->session, o->dump.at[i], stdout);
	for (size_t i = 0; shapes && i < o->explain_shapes.n; i++)
		session_explain_shape(c->session, o->explain_shapes.at[i], stdout);
	if (shapes && o->explain_closed)
		session_explain_closed(c->session, stdout);
}

/* Beside the verifiers, which run in any case. */
static void report(Client *c, const char *stage)
{
	if (c->options.verify && strcmp(stage, "constraints") == 0)
		session_report(c->session, stdout);
	if (c->options.verbose && strcmp(stage, "loops") == 0)
		session_unshown(c->session, stderr);
}

/* Runs the stages up to `last`, or to one with errors. */
static void run_stages(Client *c, int last)
{
	double phase_ms = 0;
	const char *from = c->options.session.from;
	for (int i = from ? stage_index(from) : 0; i <= last; i++) {
		const Stage *stage = &pipeline[i];
		bool ends = i == last || strcmp(pipeline[i + 1].phase, stage->phase) != 0;
		double start = now_ms();
		session_run(c->session, stage->name);
		if (!session_has(c->session, stage->name) || session_failure(c->session)->kind)
			return;
		report(c, stage->name);
		phase_ms += now_ms() - start;
		if (ends && c->options.time_report)
			list_phase(stderr, stage->phase, phase_ms);
		phase_ms = ends ? 0 : phase_ms;
		show(c, stage->name);
	}
}

static void compile(Client *c)
{
	const Options *o = &c->options;
	Session *s = c->session;
	Jobs jobs = jobs_plan(o, session_diags(s));
	int last = jobs_last_stage(o, &jobs);
	if (session_read(s, o->input) != SESSION_DONE)
		return;
	run_stages(c, last);
	if (!session_diags(s)->nerrors && o->check_grad > 0 && last >= stage_index("naive")) {
		fflush(stdout);
		session_check_gradients(s, stdout, o->check_grad);
	}
	if (!session_diags(s)->nerrors && o->verify_run && last == pipeline_length - 1) {
		fflush(stdout);
		session_compare(s, stdout, o->verify_sums);
	}
	if (session_diags(s)->nerrors || session_failure(s)->kind || o->stop)
		return;
	if (jobs.n && !o->dry_run && !variants_make(o, &c->variants))
		c->failed = true;
	else
		jobs_run(o, s, &jobs);
}

/* ---- the schedule that is measured to be the fastest ---- */

static TuneResult search(Client *c)
{
	const Options *o = &c->options;
	size_t n = o->tune_with.n;
	TuneSizes *sizes = ARENA_ARRAY(o->arena, TuneSizes, n + 1);
	for (size_t i = 0; i < n; i++)
		sizes[i] = (TuneSizes){o->tune_with.at[i].at, o->tune_with.at[i].n};
	TuneRequest request = {.session = &o->session,
			       .input = o->input,
			       .seconds = o->tune_seconds,
			       .threads = o->threads,
			       .sizes = sizes,
			       .nsizes = n,
			       .terminal = isatty(STDERR_FILENO)};
	return tune_search(c->session, &request, o->arena);
}

/* Compiles with what a search finds, as with the same text in a file. */
static void tune(Client *c)
{
	Options *o = &c->options;
	if (session_read(c->session, o->input) != SESSION_DONE)
		return;
	if (o->tune_seconds == 0) {
		tune_list(c->session, o->threads, stdout);
		return;
	}
	TuneResult found = search(c);
	if (session_diags(c->session)->nerrors || session_failure(c->session)->kind)
		return;
	o->session.schedule_text = found.text;
	o->session.no_policy = found.complete;
	if (found.complete)
		fputs("tsrc: tune: the schedule says all: it is for --policy=none\n", stderr);
	session_close(c->session);
	c->session = session_open(&o->session);
	if (!c->session)
		arena_out_of_memory("out of memory");
	compile(c);
}

/* A target file of this machine, and how it differs from what native is without it. */
static void measure(void)
{
	Target usual = {0}, here;
	target_find("native", &usual);
	here = usual;
	target_measure(&here);
	target_dump(stdout, &here);
	fflush(stdout);
	target_compare(stderr, &here, &usual);
}

/* What is asked for without a program; false: a program is. */
static bool answer(const Options *o)
{
	if (o->completion)
		list_completion(stdout, o->arena, o->completion);
	else if (o->measure_target)
		measure();
	else if (o->list_stages)
		list_stages(stdout);
	else if (!o->explain)
		return false;
	else if (!diag_explain(stdout, o->explain)) {
		fprintf(stderr, "tsrc: unknown diagnostic '%s'; there are\n", o->explain);
		diag_list(stderr);
		exit(2);
	}
	return true;
}

/* Messages, then the status: 1 where there were errors. */
static int finish(const Client *c)
{
	const Diags *diags = session_diags(c->session);
	const Failure *failure = session_failure(c->session);
	if (failure->kind) {
		fflush(stdout);
		failure_print(stderr, failure);
		return failure_status(failure);
	}
	if (c->options.time_report)
		fprintf(stderr, "%-12s %9.2f ms\n", "total", now_ms() - c->start);
	setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
	diags_print(diags, stderr);
	fflush(stderr);
	int status = diags->nerrors > 0 || c->failed;
	if ((fflush(stdout) != 0 || ferror(stdout)) && !status) {
		fprintf(stderr, "tsrc: error: cannot write to standard output: %s\n",
			strerror(errno));
		status = 1;
	}
	return status;
}

/* What this process was given: a standard stream that is closed still fails, but no file or pipe that is opened later takes
 * its number; children are waited for. */
static void take_inherited(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
	if (argc == 1 && strcmp(argv[0], NVRTC_FINDER) == 0)
		nvrtc_finder();
	if (argc == 1 && strcmp(argv[0], NVRTC_WORKER) == 0)
		nvrtc_worker();
	Client client = {.start = now_ms()};
	take_inherited();
	stack_require("tsrc");
	temporary_guard();
	Arena *arena = arena_new();
	options_parse(&client.options, arena, argc, argv);
	client.options.session.code.nvrtc_worker = "/proc/self/exe";
	client.options.session.code.parts = &client.variants.parts;
	client.session = session_open(&client.options.session);
	if (!client.session)
		arena_out_of_memory("out of memory");
	bool answered = answer(&client.options);
	if (!answered && client.options.tunes)
		tune(&client);
	else if (!answered && client.options.input)
		compile(&client);
	else if (!answered)
		session_dump_target(client.session, stdout);
	int status = finish(&client);
	variants_end(&client.variants);
	session_close(client.session);
	arena_free(arena);
	return status;
}
