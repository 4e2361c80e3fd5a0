/* What a compilation leaves: the kinds that the options ask for, each written by a back end or by
 * the dump of a stage, and the rule of dependencies. All files appear together or not at all
 * (main_output.h). */
#include <errno.h>
#include <string.h>

#include "main.h"
#include "main_output.h"

static const Backend *backend_named(const char *name)
{
	for (int i = 0; i < OUTPUT_KINDS; i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}

static const Backend *backend_for_path(const char *path)
{
	const char *dot = strrchr(path_base(path), '.');
	for (int i = 0; dot && i < OUTPUT_KINDS; i++)
		if (strcmp(backends[i].suffix, dot) == 0)
			return &backends[i];
	return NULL;
}

static bool emit_text(Compiler *c, Outputs *outputs, const char *kind, const char *path)
{
	const char *temp = outputs_add(outputs, path);
	FILE *out = temp ? fopen(temp, "w") : NULL;
	if (!out)
		return false;
	if (strcmp(kind, "dot") == 0)
		infer_dump_dot(out, c->inference);
	else
		stage_dump(out, c, kind);
	if (fclose(out) == 0)
		return true;
	diag(&c->diags, E0602, SPAN_NONE, "cannot write '%s': %s", path, strerror(errno));
	return false;
}

Emit jobs_emit(Compiler *c)
{
	const Options *o = &c->options;
	const char *prefix = o->prefix ? o->prefix : path_identifier(c->perm, o->input);
	return (Emit){.program = c->program,
		      .arena = c->perm,
		      .diags = &c->diags,
		      .target = &o->target,
		      .prefix = prefix,
		      .source = o->input,
		      .shared = &c->module};
}

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

static bool emit_backend(Compiler *c, Outputs *outputs, const Backend *backend, const char *path)
{
	const char *temp = outputs_add(outputs, path);
	if (!temp)
		return false;
	double start = now_ms();
	const Options *o = &c->options;
	EmitReport report = {0};
	Emit emit = jobs_emit(c);
	emit.output = temp;
	emit.name = path;
	emit.cache = o->cache_dir;
	emit.report = &report;
	bool good = backend->emit(&emit);
	if (o->verbose && report.cache_refused)
		fprintf(stderr, "tsrc: the cache %s is not used: %s\n", o->cache_dir,
			report.cache_refused);
	if (o->time_report) {
		fprintf(stderr, "%-12s %9.2f ms  %s\n", backend->name, now_ms() - start, path);
		print_report(&report);
	}
	return good;
}

static bool emit_kind(Compiler *c, Outputs *outputs, const char *kind, const char *path)
{
	const Options *o = &c->options;
	if (o->verbose || o->dry_run)
		fprintf(stderr, "tsrc: %s %s -> %s\n", kind, o->input, path);
	if (o->dry_run)
		return true;
	const Backend *backend = backend_named(kind);
	return backend ? emit_backend(c, outputs, backend, path)
		       : emit_text(c, outputs, kind, path);
}

static const char *kind_suffix(Compiler *c, const char *kind)
{
	const Backend *backend = backend_named(kind);
	return backend ? backend->suffix : arena_printf(c->perm, ".%s", kind);
}

static bool known_kind(const char *kind)
{
	bool view = stage_index(kind) >= 0 && !strchr(kind, ':');
	return backend_named(kind) || view || strcmp(kind, "dot") == 0;
}

static void add_job(Compiler *c, Jobs *jobs, const char *kind, const char *path)
{
	for (size_t i = 0; i < jobs->n; i++)
		if (strcmp(jobs->at[i].path, path) == 0 && strcmp(path, "-") != 0)
			return;
	PUSH(c->perm, *jobs, ((Job){kind, path}));
	bool code = strcmp(kind, "so") == 0 || strcmp(kind, "obj") == 0 || strcmp(kind, "c") == 0;
	if (code && strcmp(path, "-") != 0)
		add_job(c, jobs, "header", path_with_suffix(c->perm, path, ".h"));
}

static const char *default_output(Compiler *c, const char *suffix)
{
	const char *input = c->options.input;
	return path_with_suffix(c->perm, strcmp(input, "-") == 0 ? "stdin" : path_base(input),
				suffix);
}

static const char *output_kind(const char *path)
{
	const Backend *backend = backend_for_path(path);
	const char *dot = strrchr(path_base(path), '.');
	if (backend)
		return backend->name;
	if (dot && (strcmp(dot, ".dot") == 0 || strcmp(dot, ".ptx") == 0))
		return dot + 1;
	return "so";
}

Jobs jobs_plan(Compiler *c)
{
	const Options *o = &c->options;
	Jobs jobs = {0};
	for (size_t i = 0; i < o->emit.n; i++) {
		const char *kind = o->emit.at[i];
		if (!known_kind(kind) && strcmp(kind, "ptx") != 0)
			usage("kind for --emit", kind);
		const char *suffix = kind_suffix(c, kind);
		const char *path = !o->output ? default_output(c, suffix)
				   : o->emit.n == 1
					   ? o->output
					   : arena_printf(c->perm, "%s%s", o->output, suffix);
		add_job(c, &jobs, kind, path);
	}
	if (o->emit.n == 0 && !o->stdout_only && !o->syntax_only && !o->stop) {
		const char *path = o->output ? o->output : default_output(c, ".so");
		add_job(c, &jobs, output_kind(path), path);
	}
	for (size_t i = 0; i < jobs.n; i++)
		if (strcmp(jobs.at[i].kind, "ptx") == 0)
			diag(&c->diags, E0901, SPAN_NONE, "PTX output is not supported yet");
	return jobs;
}

static bool emit_deps(Compiler *c, Outputs *outputs, const Jobs *jobs)
{
	const Options *o = &c->options;
	const char *first = jobs->n ? jobs->at[0].path : default_output(c, ".so");
	const char *path = o->deps_file ? o->deps_file : path_with_suffix(c->perm, first, ".d");
	DepRule rule = {o->deps_targets.at, o->deps_targets.n, NULL, 0, o->deps_phony};
	if (!rule.ntargets) {
		rule.targets = &first;
		rule.ntargets = 1;
	}
	const char *library = o->include_dirs.at[o->include_dirs.n - 1];
	Words files = {0};
	if (o->schedule)
		PUSH(c->perm, files, o->schedule);
	for (size_t i = 0; i < c->graph->files.n; i++) {
		const char *file = c->graph->files.at[i];
		bool from_library = strncmp(file, library, strlen(library)) == 0;
		if (!(o->deps_user_only && from_library))
			PUSH(c->perm, files, file);
	}
	rule.files = files.at;
	rule.nfiles = files.n;
	const char *temp = outputs_add(outputs, path);
	FILE *out = temp ? fopen(temp, "w") : NULL;
	if (!out)
		return false;
	deps_print(out, &rule);
	return fclose(out) == 0;
}

void jobs_run(Compiler *c, const Jobs *jobs)
{
	Outputs outputs = {.arena = c->perm, .diags = &c->diags};
	bool good = true;
	for (size_t i = 0; good && i < jobs->n; i++)
		good = emit_kind(c, &outputs, jobs->at[i].kind, jobs->at[i].path);
	if (good && c->options.deps && !c->options.dry_run)
		good = emit_deps(c, &outputs, jobs);
	if (good && !c->diags.nerrors)
		outputs_commit(&outputs);
	outputs_end(&outputs);
	if (!good && !c->diags.nerrors)
		diag(&c->diags, E0602, SPAN_NONE, "cannot write the output");
}
