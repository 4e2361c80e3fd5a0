/* What a session leaves: temporary files that back ends and dumps write, committed together. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/held.h"
#include "driver/state.h"
#include "infer/dump.h"
#include "loops/parse.h"
#include "verify/verify.h"

typedef struct Writing {
	Session *s;
	const char *kind, *path;
	EmitReport *report;
	const SessionDeps *deps;
	FILE *out;
	double tolerance; /* check_gradients */
	bool sums; /* compare: of sums, whether they add as was written down */
} Writing;

static Emit emit_of(Session *s)
{
	const SessionOptions *o = &s->options;
	return (Emit){.program = s->vectors,
		      .arena = s->perm,
		      .diags = &s->diags,
		      .options = &o->code,
		      .prefix = o->prefix ? o->prefix : path_identifier(s->perm, s->input),
		      .source = s->input,
		      .shared = &s->module};
}

static bool write_view(const Writing *w, const char *temp)
{
	Session *s = w->s;
	FILE *out = held_file(fopen(temp, "w"));
	if (!out)
		return false;
	if (strcmp(w->kind, "dot") == 0)
		infer_dump_dot(out, s->inference);
	else
		stage_dump(out, s, w->kind);
	if (held_close(out) == 0)
		return true;
	diag(&s->diags, E0602, SPAN_NONE, "cannot write '%s': %s", w->path, strerror(errno));
	return false;
}

static bool write_backend(const Writing *w, const Backend *backend, const char *temp)
{
	Emit emit = emit_of(w->s);
	emit.output = temp;
	emit.name = w->path;
	emit.cache = w->s->options.cache_dir;
	emit.report = w->report;
	return backend->emit(&emit);
}

/* Whoever fails without a diagnostic gets one. */
static void written(Session *s, bool good)
{
	if (!good && !s->diags.nerrors)
		diag(&s->diags, E0602, SPAN_NONE, "cannot write the output");
}

/* A text of loops has no elements of large constants. */
static bool is_whole(Session *s)
{
	if (!s->first || program_is_whole(s->program))
		return true;
	diag(&s->diags, E0612, (Span){s->file, 0, 0},
	     "the elements of a large constant are left out of this text: no code can be made of it");
	return false;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;
	return strcmp(b, "-") != 0 && stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
	       of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino && S_ISREG(of_a.st_mode);
}

/* What the program is made of is never written over. NULL after an error. */
static const char *output_add(const Writing *w)
{
	Session *s = w->s;
	bool read = is_same_file(w->path, s->input);
	for (size_t i = 0; s->graph && i < s->graph->files.n && !read; i++)
		read = is_same_file(w->path, s->graph->files.at[i]);
	if (!read)
		return outputs_add(&s->outputs, w->path);
	diag(&s->diags, E0602, SPAN_NONE, "cannot write '%s': the program is read from it",
	     w->path);
	return NULL;
}

static void write_kind(void *of)
{
	const Writing *w = of;
	const Backend *backend = backend_named(w->kind);
	if (backend && !is_whole(w->s))
		return;
	const char *temp = output_add(w);
	written(w->s, temp && (backend ? write_backend(w, backend, temp) : write_view(w, temp)));
}

SessionStatus session_write(Session *s, const char *kind, const char *path, EmitReport *report)
{
	Writing w = {.s = s, .kind = kind, .path = path, .report = report};
	SessionStatus status = backend_named(kind) ? session_run_all(s) : SESSION_DONE;
	return status == SESSION_DONE ? session_guard(s, write_kind, &w) : status;
}

static void write_deps(void *of)
{
	const Writing *w = of;
	Session *s = w->s;
	DepRule rule = {w->deps->targets, w->deps->ntargets, NULL, 0, w->deps->phony};
	const char *library = s->options.library;
	VEC(const char *) files = {0};
	if (s->options.schedule && !s->options.schedule_text)
		PUSH(s->perm, files, s->options.schedule);
	if (s->options.target_file && strcmp(s->options.target_file, "-") != 0)
		PUSH(s->perm, files, s->options.target_file);
	for (size_t i = 0; i < s->graph->files.n; i++) {
		const char *file = s->graph->files.at[i];
		bool from_library = library && strncmp(file, library, strlen(library)) == 0;
		if (!(w->deps->user_only && from_library))
			PUSH(s->perm, files, file);
	}
	rule.files = files.at;
	rule.nfiles = files.n;
	const char *temp = output_add(w);
	FILE *out = temp ? held_file(fopen(temp, "w")) : NULL;
	if (out)
		deps_print(out, &rule);
	written(s, out && held_close(out) == 0);
}

SessionStatus session_write_deps(Session *s, const char *path, const SessionDeps *deps)
{
	Writing w = {.s = s, .path = path, .deps = deps};
	return session_guard(s, write_deps, &w);
}

static void commit(void *of)
{
	Session *s = of;
	if (!s->diags.nerrors)
		outputs_commit(&s->outputs);
	outputs_end(&s->outputs);
}

SessionStatus session_commit(Session *s) { return session_guard(s, commit, s); }

/* The unscheduled loops, their temporaries in memory; NULL: there are none. */
static const Program *callable_naive(Session *s)
{
	const Program *naive = session_naive(s);
	if (!naive)
		return NULL;
	Program any = *naive;
	any.options.max_workspace = NULL;
	return transform_run(TRANSFORM_PASSES - 1, &any, NULL, &s->diags);
}

static void compare(void *of)
{
	const Writing *w = of;
	Session *s = w->s;
	Emit emit = emit_of(s);
	const Program *naive = session_unscheduled(s) || w->sums ? NULL : callable_naive(s);
	if (naive)
		loops_verify(naive);
	if (w->sums)
		verify_sums(&emit, s->tensors[TENSOR_PASSES - 1]->inference, w->out, 1);
	else
		verify_run(&emit, naive, session_operations(s), w->out, 1);
}

SessionStatus session_compare(Session *s, FILE *report, bool sums)
{
	Writing w = {.s = s, .out = report, .sums = sums};
	SessionStatus status = session_run_all(s);
	return status == SESSION_DONE ? session_guard(s, compare, &w) : status;
}

static void check_gradients(void *of)
{
	const Writing *w = of;
	Session *s = w->s;
	const Program *naive = callable_naive(s);
	GradientTask task = {.inference = session_operations(s),
			     .arena = s->perm,
			     .diags = &s->diags,
			     .report = w->out,
			     .seed = 1,
			     .tolerance = w->tolerance};
	if (naive)
		verify_gradients(&task, naive);
}

SessionStatus session_check_gradients(Session *s, FILE *report, double tolerance)
{
	Writing w = {.s = s, .out = report, .tolerance = tolerance};
	SessionStatus status = session_run(s, "naive");
	return status == SESSION_DONE ? session_guard(s, check_gradients, &w) : status;
}

typedef struct Tolerance {
	Session *s;
	double most;
} Tolerance;

static void find_tolerance(void *of)
{
	Tolerance *t = of;
	Emit emit = emit_of(t->s);
	t->most = verify_tolerance(&emit);
}

double session_tolerance(Session *s)
{
	Tolerance t = {.s = s};
	session_guard(s, find_tolerance, &t);
	return t.most;
}
