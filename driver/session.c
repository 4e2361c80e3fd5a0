/* Sessions: every call that computes does so under a trap, whose holder is the session's.
 *
 * Invariant: the first `ran` stages have run without errors; `ran` is the whole pipeline at most.
 * What a failed call has taken is freed; pointers that it has not yet set are still NULL.
 */
#include "driver/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/held.h"
#include "base/stack.h"
#include "driver/state.h"
#include "infer/dump.h"
#include "loops/bounds.h"

#define MEMORY_USUAL ((size_t)4 << 30)

void session_options_init(SessionOptions *options)
{
	*options = (SessionOptions){.march = "native",
				    .code = {.opt_level = 2},
				    .repairs = true,
				    .grain = -1,
				    .promote = -1,
				    .max_workspace = -1,
				    .memory = MEMORY_USUAL};
	diag_options_init(&options->diag);
}

/* Is there as much left of this thread's stack as the deepest source takes? */
static bool stack_fits(Session *s)
{
	if (s->thread != gettid()) {
		s->thread = gettid();
		s->stack_lowest = stack_lowest();
	}
	return !s->stack_lowest ||
	       (const char *)__builtin_frame_address(0) - s->stack_lowest >= STACK_NEEDED;
}

SessionStatus session_guard(Session *s, void (*work)(void *arg), void *arg)
{
	if (s->failure.kind)
		return SESSION_FAILED;
	if (!stack_fits(s)) {
		s->failure.kind = FAILURE_STACK;
		snprintf(s->failure.text, sizeof s->failure.text,
			 "the stack of this thread is too small: %d KiB are needed",
			 STACK_NEEDED >> 10);
		return SESSION_FAILED;
	}
	if (!trap_run(&s->holder, work, arg, &s->failure))
		return SESSION_FAILED;
	return s->diags.nerrors ? SESSION_ERRORS : SESSION_DONE;
}

/* ---- opening and closing ---- */

/* The library is the last folder where imports are looked for. */
static void set_folders(Session *s)
{
	FrontendOptions *to = &s->options.frontend;
	if (!s->options.library)
		return;
	const char **dirs = ARENA_ARRAY(s->perm, const char *, to->ninclude_dirs + 1);
	for (uint32_t i = 0; i < to->ninclude_dirs; i++)
		dirs[i] = to->include_dirs[i];
	dirs[to->ninclude_dirs++] = s->options.library;
	to->include_dirs = dirs;
}

static void set_up(void *of)
{
	Session *s = of;
	s->perm = arena_new();
	arena_limit(s->perm, s->options.memory);
	s->symbols = symbols_new();
	sources_init(&s->sources, s->perm);
	diags_init(&s->diags, s->perm, &s->sources);
	s->diags.options = s->options.diag;
	s->parse = (Parse){s->perm, s->symbols, &s->sources, &s->diags};
	s->outputs = (Outputs){.arena = s->perm, .diags = &s->diags};
	set_folders(s);
}

Session *session_open(const SessionOptions *options)
{
	Session *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->options = *options;
	if (session_guard(s, set_up, s) == SESSION_FAILED && s->failure.kind == FAILURE_MEMORY) {
		session_close(s);
		return NULL;
	}
	return s;
}

void session_close(Session *s)
{
	if (!s)
		return;
	holder_end(&s->holder);
	free(s);
}

/* ---- the program ---- */

typedef struct Given {
	Session *s;
	const char *path, *text; /* text: NULL: it is in the file */
	size_t len;
} Given;

/* "net" and "net.so" may be meant for "net.tsr". */
static void unreadable(Session *s, const char *path, const char *why)
{
	const char *dot = strrchr(path, '.');
	int stem = dot && !strchr(dot, '/') ? (int)(dot - path) : (int)strlen(path);
	const char *meant = arena_printf(s->perm, "%.*s.tsr", stem, path);
	diag(&s->diags, E0601, SPAN_NONE, "cannot read '%s': %s", path, why);
	if (strcmp(meant, path) != 0 && access(meant, R_OK) == 0)
		diag_note(&s->diags, SPAN_NONE, "did you mean '%s'?", meant);
}

static void read_given(void *of)
{
	const Given *given = of;
	Session *s = given->s;
	const char *why = NULL;
	REQUIRE(!s->file);
	s->first = s->ran = s->options.from ? stage_index(s->options.from) : 0;
	s->input = arena_strndup(s->perm, given->path, strlen(given->path));
	s->file = given->text ? source_add(&s->sources, given->path, given->text, given->len)
			      : source_read(&s->sources, given->path, &why);
	if (!s->file)
		unreadable(s, given->path, why);
	else
		session_find_target(s); /* mistakes of options are told first */
}

SessionStatus session_read(Session *s, const char *path)
{
	Given given = {s, path, NULL, 0};
	return session_guard(s, read_given, &given);
}

SessionStatus session_text(Session *s, const char *path, const char *text, size_t len)
{
	Given given = {s, path, text, len};
	return session_guard(s, read_given, &given);
}

/* ---- stages ---- */

typedef struct Question {
	Session *s;
	const char *name;
	FILE *out;
	const char *text; /* the answer */
	size_t len;
} Question;

/* A view is there whatever errors questions have added since its phase has run. */
static bool run_stage(Session *s, const Stage *stage)
{
	bool read = s->first && stage == &pipeline[s->first];
	if ((!stage->run && !read) || s->stopped)
		return !s->stopped;
	if (read)
		stage_read(s);
	else
		stage->run(s);
	diags_to_file(&s->diags, s->file);
	if (s->diags.nerrors && s->options.repairs && s->ast && !s->tensors[0])
		repairs_offer(s);
	s->stopped = s->diags.nerrors > 0;
	if (!s->stopped && stage->verify)
		stage->verify(s);
	return !s->stopped;
}

static void run_to(void *of)
{
	const Question *q = of;
	int last = stage_index(q->name);
	REQUIRE(last >= 0 && (q->s->file || q->s->diags.nerrors));
	while (q->s->file && q->s->ran <= last && run_stage(q->s, &pipeline[q->s->ran]))
		q->s->ran++;
}

SessionStatus session_run(Session *s, const char *stage)
{
	Question q = {.s = s, .name = stage};
	return session_guard(s, run_to, &q);
}

SessionStatus session_run_all(Session *s)
{
	return session_run(s, pipeline[pipeline_length - 1].name);
}

bool session_has(const Session *s, const char *stage)
{
	const char *shows = strcmp(stage, "dot") == 0 ? "proj" : stage;
	int index = stage_index(shows);
	return index >= 0 && index >= s->first && index < s->ran;
}

/* ---- what code is made for ---- */

/* Is the processor of the kind that --target names? */
static void check_kind(Session *s)
{
	const char *asked = s->options.triple, *triple = target_triple(&s->target);
	if (!asked == !triple)
		return;
	diag(&s->diags, E0506, SPAN_NONE, "'%s' is a processor of %s, and code is to be for %s",
	     s->target.name, triple ? "aarch64" : "x86-64", asked ? "aarch64" : "x86-64");
	diag_note(
		&s->diags, SPAN_NONE,
		asked ? "leave -march out, which then is armv8-a, or name one of aarch64, as neoverse-n1"
		      : "--target=aarch64-linux-gnu makes code for it");
}

void session_find_target(Session *s)
{
	const char *why = NULL, *path = s->options.target_file;
	if (s->target.name)
		return;
	if (s->options
		    .gpu) /* the host's part, and which functions are written out, are the same anywhere */
		s->options.march = "x86-64-v3";
	if (s->options.triple && strcmp(s->options.march, "native") == 0)
		s->options.march = "armv8-a";
	if (!target_find(s->options.march, &s->target)) {
		diag(&s->diags, E0506, SPAN_NONE, "unknown processor '%s'", s->options.march);
		return;
	}
	uint32_t file = path ? source_read(&s->sources, path, &why) : 0;
	if (path && !file)
		diag(&s->diags, E0601, SPAN_NONE, "cannot read '%s': %s", path, why);
	if (file)
		target_read(&s->target, &s->sources, file, s->perm, &s->diags);
	if (!s->diags.nerrors)
		check_kind(s);
}

static void dump_target(void *of)
{
	const Question *q = of;
	session_find_target(q->s);
	if (!q->s->diags.nerrors)
		target_dump(q->out, &q->s->target);
}

SessionStatus session_dump_target(Session *s, FILE *out)
{
	Question q = {.s = s, .out = out};
	return session_guard(s, dump_target, &q);
}

/* ---- questions ---- */

Diags *session_diags(Session *s) { return &s->diags; }
const Failure *session_failure(const Session *s) { return &s->failure; }
const Source *session_source(const Session *s) { return source_at(&s->sources, s->file); }
const AstFile *session_ast(const Session *s) { return s->ast; }
const Graph *session_graph(const Session *s) { return s->graph; }
const Inference *session_inference(const Session *s) { return s->inference; }
const Inference *session_operations(const Session *s)
{
	return s->tensors[TENSOR_ADJOINT] ? s->tensors[TENSOR_ADJOINT]->inference : NULL;
}

const Program *session_program(const Session *s) { return s->vectors ? s->vectors : s->program; }

const TensorProgram *session_tensors(const Session *s)
{
	const TensorProgram *last = NULL;
	for (int i = 0; i < TENSOR_PASSES && s->tensors[i]; i++)
		last = s->tensors[i];
	return last;
}

/* Tokens and tree stand for any text, shapes as far as they were found, the rest for what is right. */
static bool is_there(const Session *s, const char *stage)
{
	return session_has(s, stage) || (s->file && !s->first && strcmp(stage, "tokens") == 0) ||
	       (s->ast && strcmp(stage, "ast") == 0) ||
	       (s->inference && strcmp(stage, "shapes") == 0);
}

/* Answers where the stage has run. */
static bool ask(Question *q, const char *stage, void (*answer)(void *of))
{
	return is_there(q->s, stage) && session_guard(q->s, answer, q) != SESSION_FAILED;
}

static void dump(void *of)
{
	const Question *q = of;
	if (strcmp(q->name, "dot") == 0)
		infer_dump_dot(q->out, q->s->inference);
	else
		stage_dump(q->out, q->s, q->name);
}

bool session_dump(Session *s, const char *stage, FILE *out)
{
	Question q = {.s = s, .name = stage, .out = out};
	return ask(&q, stage, dump);
}

static void dump_text(void *of)
{
	Question *q = of;
	Text text = text_new();
	q->out = text.out;
	dump(q);
	q->text = text_take(text, q->s->perm, &q->len);
}

const char *session_dump_text(Session *s, const char *stage, size_t *len)
{
	Question q = {.s = s, .name = stage};
	if (!ask(&q, stage, dump_text))
		return NULL;
	if (len)
		*len = q.len;
	return q.text;
}

static void no_tensor(Session *s, const char *name)
{
	size_t n = strlen(name);
	diag(&s->diags, E0604, SPAN_NONE, "--explain-shape: there is no tensor or axis '%s'", name);
	for (size_t i = 0; i < s->graph->listing.n; i++) {
		const char *full = s->graph->listing.at[i].name;
		size_t len = strlen(full);
		if (len > n && full[len - n - 1] == '.' && strcmp(full + len - n, name) == 0)
			diag_note(&s->diags, SPAN_NONE, "there is '%s'", full);
	}
}

static void explain_shape(void *of)
{
	const Question *q = of;
	if (!infer_explain_shape(q->out, q->s->inference, q->name))
		no_tensor(q->s, q->name);
}

bool session_explain_shape(Session *s, const char *name, FILE *out)
{
	Question q = {.s = s, .name = name, .out = out};
	return ask(&q, "shapes", explain_shape);
}

static void explain_closed(void *of)
{
	const Question *q = of;
	infer_explain_closed(q->out, q->s->inference);
}

bool session_explain_closed(Session *s, FILE *out)
{
	Question q = {.s = s, .out = out};
	return ask(&q, "shapes", explain_closed);
}

static void report(void *of)
{
	const Question *q = of;
	infer_verify(q->s->inference, q->out);
}

bool session_report(Session *s, FILE *out)
{
	Question q = {.s = s, .out = out};
	return ask(&q, "constraints", report);
}

/* As far as can be shown. */
static void list_unshown(void *of)
{
	const Question *q = of;
	IndexUses uses = bounds_unshown(q->s->perm, q->s->program, NULL);
	fprintf(q->out, "tsrc: %zu of %zu indices are not shown to stay inside\n", uses.n,
		uses.total);
	for (size_t i = 0; i < uses.n; i++)
		bounds_print(q->out, q->s->program, &uses.at[i]);
}

bool session_unshown(Session *s, FILE *out)
{
	Question q = {.s = s, .out = out};
	return ask(&q, "loops", list_unshown);
}
