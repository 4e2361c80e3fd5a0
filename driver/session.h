/* A compilation that belongs to its caller: tsrc, tests and tools that stay, such as a language
 * server.
 *
 *   SessionOptions options;
 *   session_options_init(&options);
 *   Session *s = session_open(&options);
 *   session_text(s, "net.tsr", text, strlen(text));      or session_read(s, "net.tsr")
 *   if (session_run(s, "loops") == SESSION_DONE)         each stage once, in order
 *           session_dump(s, "shapes", stdout);
 *   diags_print(session_diags(s), stderr);               as data: session_diags(s)->list
 *   session_close(s);
 *
 * A session never ends the process, prints nothing but what it is asked for and leaves nothing
 * behind. (Signals are the process's: one that writes into a pipe that its reader has left gets
 * SIGPIPE.) Several may be open at once; one thread at a time may use each of them. What a session
 * returns it owns, until it is closed. What its caller's options point to must live as long.
 *
 * Two kinds of failure: errors in the source are diagnostics, after which no further stage runs
 * and what was made before them can still be asked for. Where memory ends, or the compiler has a
 * fault, the session itself has failed: session_failure says why, and there is nothing left to do
 * but to read its diagnostics and to close it.
 */
#ifndef TSR_DRIVER_SESSION_H
#define TSR_DRIVER_SESSION_H

#include "base/trap.h"
#include "codegen/codegen.h"
#include "driver/pipeline.h"
#include "frontend/frontend.h"
#include "infer/infer.h"
#include "tensor/tensor.h"

typedef enum SessionStatus {
	SESSION_DONE,
	SESSION_ERRORS, /* among the diagnostics */
	SESSION_FAILED	/* session_failure says why */
} SessionStatus;

typedef struct SessionOptions {
	FrontendOptions frontend; /* imports are looked for in its folders, then in `library` */
	const char *library;	  /* NULL: none */
	InferOptions infer;
	DiagOptions diag;
	bool repairs; /* of errors, each tried: up to some hundred compilations to shapes */
	const char *march;	 /* what target_find takes */
	const char
		*triple; /* of target_triple: what `march` must be of; NULL: this machine's kind */
	const char *target_file; /* path of changes of it (target/target.h); NULL: none */
	CodeOptions code;
	const char *prefix;	      /* of C names; NULL: the stem of the source's path */
	const char *schedule;	      /* path of what is asked of schedules; NULL: nothing */
	const char *schedule_text;    /* not NULL: that as text, `schedule` its name in messages */
	const char *from; /* the source is what --dump prints of this stage (session_reads); NULL: a program */
	const struct GpuTarget
		*gpu;	/* loops are bound to its threads; NULL: for the CPU of `march` */
	F32Matmul f32_matmul; /* of a GPU */
	int64_t promote;      /* terms of a sum by tensor cores; 0: all; -1: what is usual */
	bool no_policy; /* compiles the loops of stage `naive` as they are; takes no schedule */
	int64_t grain, max_workspace; /* -1: the target's; any */
	bool checked, no_prepack;
	const char *cache_dir; /* of compiled kernels; NULL: none */
	size_t memory;	       /* bytes that the compilation may hold; 0: any */
} SessionOptions;

/* What tsrc does without options: warnings by default, -O2 for this machine, 4 GiB, repairs; no
 * library, no cache. */
void session_options_init(SessionOptions *options);

/* ---- from source to a stage ---- */

/* NULL: there is no memory. */
Session *session_open(const SessionOptions *options);
/* Discards what is not committed, frees everything. NULL does nothing. */
void session_close(Session *session);

/* The program, from a file ("-": standard input) or from memory (copied; `path` is its name, and
 * imports beside it are found there). A file that cannot be read is a diagnostic. Requires: the
 * session has no program yet. */
SessionStatus session_read(Session *session, const char *path);
SessionStatus session_text(Session *session, const char *path, const char *text, size_t len);

/* Is it a stage whose dump is read back, with SessionOptions.from? Stages before it are not there then. */
bool session_reads(const char *stage);
/* Runs the stages up to this one that have not run, each with its verifier. After a stage with
 * errors none runs. Requires: stage_index(stage) >= 0; a program was given. */
SessionStatus session_run(Session *session, const char *stage);
/* ... and all of them. */
SessionStatus session_run_all(Session *session);
/* Has the stage run, and found no error? */
bool session_has(const Session *session, const char *stage);

/* ---- questions ---- */

/* Never NULL. Callers may add diagnostics of their own. */
Diags *session_diags(Session *session);
/* kind is FAILURE_NONE unless the session has failed. */
const Failure *session_failure(const Session *session);
/* What stages have made so far; NULL: not yet, or errors prevented it. Where errors were found in
 * a tree or a graph it is there without what they concern, for tools that look at incomplete
 * programs. */
const Source *session_source(const Session *session);
const AstFile *session_ast(const Session *session);
const Graph *session_graph(const Session *session);
const Inference *session_inference(const Session *session);
/* Of the operations that gradients are, which the reference evaluates. */
const Inference *session_operations(const Session *session);
const TensorProgram *session_tensors(const Session *session); /* after the last pass that has run */
const Program *session_program(const Session *session);

/* Prints a stage, `shapes:N` or `dot`, the graph for Graphviz. False, and nothing is printed, where
 * it has not run without errors, which tokens and tree need not, nor shapes, where `?` and `...` are
 * unknown; also after a failure. */
bool session_dump(Session *session, const char *stage, FILE *out);
/* The same as a string; NULL instead of false. *len, where not NULL, is its length. */
const char *session_dump_text(Session *session, const char *stage, size_t *len);

/* Prints what code is made for, as stage `target` does; that needs no program. */
SessionStatus session_dump_target(Session *session, FILE *out);

/* Those below need stage `shapes`, or `loops`, and return false where it has not run, or after a
 * failure. */
/* How a size was derived. A name that there is not is a diagnostic. */
bool session_explain_shape(Session *session, const char *name, FILE *out);
/* The sizes and rows that nothing forces, each with the rule that chose it. */
bool session_explain_closed(Session *session, FILE *out);
/* The report of the checker of index maps. */
bool session_report(Session *session, FILE *out);
/* The indices that are not shown to stay inside. */
bool session_unshown(Session *session, FILE *out);

/* ---- outputs: all of them appear when they are committed, or none ---- */

/* Makes a file of a kind: a back end's name, a stage or `dot`; "-" is standard output. The report,
 * where not NULL, is filled in by back ends, which run the stages that have not run. Requires: the
 * stage that it shows has run. */
SessionStatus session_write(Session *session, const char *kind, const char *path,
			    EmitReport *report);

/* The rule of dependencies, for make. */
typedef struct SessionDeps {
	const char *const *targets;
	size_t ntargets;
	bool user_only; /* without the library's files */
	bool phony;	/* a target for every dependency */
} SessionDeps;
SessionStatus session_write_deps(Session *session, const char *path, const SessionDeps *deps);
/* Gives all that was written its names; nothing after errors. */
SessionStatus session_commit(Session *session);
/* Compares the back ends with the reference on random inputs: a line of report each, and a
 * diagnostic where they disagree. `sums`: the bits of sums follow from the order that `sums` prints
 * (verify_sums). Runs the stages that have not run. */
SessionStatus session_compare(Session *session, FILE *report, bool sums);
/* Holds each gradient of the program against differences of what it is the gradient of, which the reference computes
 * on random inputs: a line of report each, and a diagnostic where they differ by more than `tolerance`, relative. Runs
 * the stages that have not run. */
SessionStatus session_check_gradients(Session *session, FILE *report, double tolerance);
/* How far its numbers may be from those of another schedule, relative to the greatest of their array; 0
 * after a failure. Requires: all stages have run. */
double session_tolerance(Session *session);

#endif
