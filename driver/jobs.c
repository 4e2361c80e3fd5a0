/* What a compilation leaves: the kinds that the options ask for, each written by a back end or by
 * the dump of a stage, and the rule of dependencies. */
#include "driver/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/output.h"

double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the plan ---- */

static const Backend *backend_for_path(const char *path)
{
	const char *dot = strrchr(path_base(path), '.');
	for (int i = 0; dot && i < OUTPUT_KINDS; i++)
		if (strcmp(backends[i].suffix, dot) == 0)
			return &backends[i];
	return NULL;
}

static const char *kind_suffix(Arena *arena, const char *kind)
{
	const Backend *backend = backend_named(kind);
	return backend ? backend->suffix : arena_printf(arena, ".%s", kind);
}

static bool known_kind(const char *kind)
{
	bool view = stage_index(kind) >= 0 && !strchr(kind, ':');
	return backend_named(kind) || view || strcmp(kind, "dot") == 0;
}

static void add_job(Arena *arena, Jobs *jobs, const char *kind, const char *path)
{
	for (size_t i = 0; i < jobs->n; i++)
		if (strcmp(jobs->at[i].path, path) == 0 && strcmp(path, "-") != 0)
			return;
	PUSH(arena, *jobs, ((Job){kind, path}));
	bool code = strcmp(kind, "so") == 0 || strcmp(kind, "obj") == 0 || strcmp(kind, "c") == 0 ||
		    strcmp(kind, "cu") == 0;
	if (code && strcmp(path, "-") != 0)
		add_job(arena, jobs, "header", path_with_suffix(arena, path, ".h"));
}

static const char *default_output(const Options *o, const char *suffix)
{
	const char *input = o->input;
	return path_with_suffix(o->arena, strcmp(input, "-") == 0 ? "stdin" : path_base(input),
				suffix);
}

/* A suffix that says nothing of the kind; a version stands behind that of a shared object, libnet.so.1. */
static void check_suffix(const Options *o)
{
	const char *dot = strrchr(path_base(o->output), '.'), *all = "";
	if (!dot || dot == path_base(o->output) || backend_for_path(o->output) ||
	    strcmp(dot, ".dot") == 0 || strcmp(dot, ".tsr") == 0 ||
	    strstr(path_base(o->output), ".so."))
		return;
	for (int i = 0; i < OUTPUT_KINDS; i++)
		all = arena_printf(o->arena, "%s%s ", all, backends[i].suffix);
	fprintf(stderr,
		"tsrc: -o %s: no kind of output has the suffix '%s'; there are %s.dot, and --emit=KIND writes to any name\n"
		"Try 'tsrc --help' for the list.\n",
		o->output, dot, all);
	exit(2);
}

static const char *output_kind(const char *path)
{
	const Backend *backend = backend_for_path(path);
	const char *dot = strrchr(path_base(path), '.');
	if (backend)
		return backend->name;
	return dot && strcmp(dot, ".dot") == 0 ? "dot" : "so";
}

/* What is written for a CPU is not written for a GPU, but for the header. */
static void check_target(const Options *o, Diags *diags, const char *kind)
{
	const Backend *backend = backend_named(kind);
	bool gpu = o->session.gpu != NULL;
	if (backend && backend->gpu && !gpu)
		diag(diags, E0901, SPAN_NONE, "'%s' is made for a GPU: --target=cuda makes it",
		     kind);
	else if (backend && backend->gpu && (o->gpus.n || o->with_cpu))
		diag(diags, E0901, SPAN_NONE,
		     "'%s' has code for one GPU, and --target names more: a shared object holds all",
		     kind);
	else if (backend && !backend->gpu && !backend->gpu_too && gpu &&
		 backend->kind != OUTPUT_HEADER)
		diag(diags, E0901, SPAN_NONE, "'%s' is made for a CPU, not by --target=cuda", kind);
}

static bool one_gpu(const Options *o) { return o->session.gpu && !o->gpus.n && !o->with_cpu; }

Jobs jobs_plan(const Options *o, Diags *diags)
{
	Jobs jobs = {0};
	for (size_t i = 0; i < o->emit.n; i++) {
		const char *kind = o->emit.at[i];
		if (!known_kind(kind))
			usage("kind for --emit", kind);
		const char *suffix = kind_suffix(o->arena, kind);
		const char *path = !o->output ? default_output(o, suffix)
				   : o->emit.n == 1
					   ? o->output
					   : arena_printf(o->arena, "%s%s", o->output, suffix);
		add_job(o->arena, &jobs, kind, path);
	}
	if (o->emit.n == 0 && !o->stdout_only && !o->syntax_only && !o->stop) {
		if (o->output)
			check_suffix(o);
		const char *path =
			o->output ? o->output : default_output(o, one_gpu(o) ? ".cu" : ".so");
		add_job(o->arena, &jobs, output_kind(path), path);
	}
	if (o->tunes && jobs.n && strcmp(jobs.at[0].path, "-") != 0)
		add_job(o->arena, &jobs, "schedule",
			path_with_suffix(o->arena, jobs.at[0].path, ".sched"));
	for (size_t i = 0; i < jobs.n; i++)
		check_target(o, diags, jobs.at[i].kind);
	return jobs;
}

/* The last of what the options want to see. */
static int shown_stage(const Options *o)
{
	bool sizes = o->syntax_only || o->explain_shapes.n || o->explain_closed || o->verify ||
		     o->verbose;
	int last = stage_index(sizes ? "proj" : "ast");
	for (size_t i = 0; i < o->dump.n; i++) {
		int stage = strcmp(o->dump.at[i], "all") == 0 ? pipeline_length - 1
							      : stage_index(o->dump.at[i]);
		if (stage < 0)
			usage("stage for --dump", o->dump.at[i]);
		last = stage > last ? stage : last;
	}
	int naive = stage_index("naive");
	last = o->check_grad > 0 && naive > last ? naive : last;
	return o->verify_run ? pipeline_length - 1 : last;
}

int jobs_last_stage(const Options *o, const Jobs *jobs)
{
	int last = shown_stage(o), first = o->session.from ? stage_index(o->session.from) : 0;
	last = last > first ? last : first;
	for (size_t i = 0; i < jobs->n; i++) {
		int stage = stage_index(strcmp(jobs->at[i].kind, "dot") == 0 ? "proj"
									     : jobs->at[i].kind);
		stage = stage < 0 ? pipeline_length - 1 : stage;
		last = stage > last ? stage : last;
	}
	if (o->stop && stage_index(o->stop) < 0)
		usage("stage for --stop", o->stop);
	return o->stop ? stage_index(o->stop) : last;
}

/* ---- the outputs ---- */

static void print_report(const EmitReport *r)
{
	if (!r->compile_ms)
		return;
	fprintf(stderr,
		"  compile    %9.2f ms  %u kernels, %u functions, %u units, %u of them from the cache\n",
		r->compile_ms, r->kernels, r->functions, r->units, r->cached);
	if (r->assemble_ms)
		fprintf(stderr, "  assemble   %9.2f ms\n", r->assemble_ms);
	if (r->link_ms)
		fprintf(stderr, "  link       %9.2f ms\n", r->link_ms);
}

static bool write_job(const Options *o, Session *s, const Job *job)
{
	if (o->verbose || o->dry_run)
		fprintf(stderr, "tsrc: %s %s -> %s\n", job->kind, o->input, job->path);
	if (o->dry_run)
		return true;
	double start = now_ms();
	EmitReport report = {.wants_kernels = o->verbose};
	const Backend *backend = backend_named(job->kind);
	if (backend && backend->kind <= OUTPUT_ASM) /* stages were printed before it takes its time */
		fflush(stdout);
	SessionStatus status = session_write(s, job->kind, job->path, &report);
	if (status == SESSION_FAILED)
		return false;
	if (o->verbose && report.cache_refused)
		fprintf(stderr, "tsrc: the cache %s is not used: %s\n", o->session.cache_dir,
			report.cache_refused);
	if (o->verbose && report.kernel_lines)
		fputs(report.kernel_lines, stderr);
	if (o->time_report && backend) {
		fprintf(stderr, "%-12s %9.2f ms  %s\n", job->kind, now_ms() - start, job->path);
		print_report(&report);
	}
	return status == SESSION_DONE;
}

static bool write_deps(const Options *o, Session *s, const Jobs *jobs)
{
	const char *first = jobs->n ? jobs->at[0].path : default_output(o, ".so");
	const char *path = o->deps_file ? o->deps_file : path_with_suffix(o->arena, first, ".d");
	SessionDeps deps = {o->deps_targets.at, o->deps_targets.n, o->deps_user_only,
			    o->deps_phony};
	if (!deps.ntargets) {
		deps.targets = &first;
		deps.ntargets = 1;
	}
	return session_write_deps(s, path, &deps) == SESSION_DONE;
}

void jobs_run(const Options *o, Session *s, const Jobs *jobs)
{
	bool good = true;
	for (size_t i = 0; good && i < jobs->n; i++)
		good = write_job(o, s, &jobs->at[i]);
	if (good && o->deps && !o->dry_run)
		good = write_deps(o, s, jobs);
	if (good)
		session_commit(s);
}
