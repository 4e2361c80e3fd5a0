/* The command line: response files are expanded, the options that compilers traditionally spell
 * with one dash and several letters (-MF, -###) become long options, and argp does the rest. */
#include "driver/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli_help.h"
#include "base/completion.h"
#include "base/nearest.h"
#include "driver/options_given.h"
#include "driver/options_table.h"
#include "driver/pipeline.h"
#include "target/gpu.h"

enum { THREADS_MOST = 1024 };	      /* of a pool */
#define TUNE_MOST 1e7		      /* seconds */
#define GRAIN_MOST ((int64_t)1 << 60) /* no loop has as much work */

_Noreturn void usage(const char *what, const char *word)
{
	bool stage = strncmp(what, "stage", 5) == 0;
	const char *near = NULL;
	uint32_t best = UINT32_MAX;
	for (int i = 0; i < pipeline_length && stage; i++) {
		uint32_t score = name_nearness(word, pipeline[i].name);
		near = score < best ? pipeline[i].name : near;
		best = score < best ? score : best;
	}
	fprintf(stderr, "tsrc: unknown %s '%s'%s%s%s\nTry '%s' for the list.\n", what, word,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		stage ? "tsrc --dump=help" : "tsrc --help");
	exit(2);
}

static const char doc_text[] =
	"Compile a tensor program to a shared object and a C header.\v"
	"@FILE reads options from FILE; FILE - is standard input.\n"
	"Exit status: 0 done; 1 errors in the input, or in reading or writing; 2 bad usage; "
	"3 a bug in the compiler.";

static void words_split(Arena *arena, Words *words, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, ",");
		if (n)
			PUSH(arena, *words, arena_strndup(arena, list, n));
		list += n + (list[n] == ',');
	}
}

/* Is it one of the words of the list, which has blanks between? */
static bool word_among(const char *word, const char *list)
{
	const char *at = strstr(list, word);
	size_t n = strlen(word);
	return at && n > 0 && (at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
}

static int64_t number_arg(struct argp_state *state, const char *what, const char *text)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < 0)
		argp_error(state, "%s wants a non-negative integer, not '%s'", what, text);
	return value;
}

/* 64, 64K, 64M or 64G: bytes. */
static int64_t bytes_arg(struct argp_state *state, const char *text)
{
	static const char units[] = "KMG";
	size_t n = strspn(text, "0123456789"), nunit = strlen(text + n);
	const char *unit = nunit ? strchr(units, text[n]) : NULL;
	if (n == 0 || nunit > 1 || (nunit && !unit))
		argp_error(state,
			   "--max-workspace wants a whole number of bytes, K, M or G, not '%s'",
			   text);
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	int64_t value = strtoll(text, NULL, 10); /* INT64_MAX where it is larger */
	if (value > INT64_MAX >> (shift + 2))
		argp_error(state, "--max-workspace=%s is too large", text);
	return value << shift;
}

static void set_grain(Options *o, struct argp_state *state, const char *arg)
{
	int64_t grain = number_arg(state, "--grain", arg);
	o->session.grain = grain < GRAIN_MOST ? grain : GRAIN_MOST;
}

static Define define_arg(const Options *o, struct argp_state *state, const char *what,
			 const char *arg)
{
	const char *equals = strchr(arg, '=');
	if (!equals || equals == arg)
		argp_error(state, "%s wants NAME=N, not '%s'", what, arg);
	return (Define){arena_strndup(o->arena, arg, (size_t)(equals - arg)),
			number_arg(state, what, equals + 1)};
}

static void set_define(Options *o, struct argp_state *state, const char *arg)
{
	PUSH(o->arena, o->defines, define_arg(o, state, "-D", arg));
}

static void set_tune(Options *o, struct argp_state *state, const char *arg)
{
	char *end;
	o->tunes = true;
	o->tune_seconds = strtod(arg, &end);
	if (!isdigit((unsigned char)*arg) || *end || o->tune_seconds > TUNE_MOST)
		argp_error(state, "--tune wants seconds, not '%s'", arg);
}

/* CPUs that this process may run on. */
static int cpus(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

static void set_threads(Options *o, struct argp_state *state, const char *arg)
{
	int64_t n = number_arg(state, "--threads", arg);
	if (n > THREADS_MOST)
		argp_error(state, "--threads wants at most %d, not '%s'", THREADS_MOST, arg);
	o->threads = n > 0 ? (int)n : cpus();
}

static void set_tune_with(Options *o, struct argp_state *state, const char *arg)
{
	Words words = {0};
	Defines sizes = {0};
	words_split(o->arena, &words, arg);
	for (size_t i = 0; i < words.n; i++)
		PUSH(o->arena, sizes, define_arg(o, state, "--tune-with", words.at[i]));
	if (!words.n)
		argp_error(state, "--tune-with wants NAME=N, not '%s'", arg);
	PUSH(o->arena, o->tune_with, sizes);
}

static void set_color(Options *o, struct argp_state *state, const char *when)
{
	const char *term = getenv("TERM");
	bool plain = getenv("NO_COLOR") || (term && strcmp(term, "dumb") == 0);
	if (strcmp(when, "always") == 0)
		o->session.diag.color = true;
	else if (strcmp(when, "never") == 0)
		o->session.diag.color = false;
	else if (strcmp(when, "auto") == 0)
		o->session.diag.color = !plain && isatty(STDERR_FILENO);
	else
		argp_error(state, "-fdiagnostics-color wants auto, always or never, not '%s'",
			   when);
}

static void set_format(Options *o, struct argp_state *state, const char *format)
{
	if (strcmp(format, "text") == 0)
		o->session.diag.format = DIAG_TEXT;
	else if (strcmp(format, "json") == 0)
		o->session.diag.format = DIAG_JSON;
	else if (strcmp(format, "sarif") == 0)
		o->session.diag.format = DIAG_SARIF;
	else
		argp_error(state, "-fdiagnostics-format wants text, json or sarif, not '%s'",
			   format);
}

static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);
	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

static void set_f(Options *o, struct argp_state *state, const char *arg)
{
	const char *value;
	if (strcmp(arg, "syntax-only") == 0)
		o->syntax_only = true;
	else if ((value = after(arg, "diagnostics-color=")))
		set_color(o, state, value);
	else if ((value = after(arg, "diagnostics-format=")))
		set_format(o, state, value);
	else if ((value = after(arg, "error-limit=")))
		o->session.diag.error_limit = (int)number_arg(state, "-ferror-limit", value);
	else
		argp_error(state, "unknown option -f%s", arg);
}

static void set_machine(Options *o, struct argp_state *state, const char *arg)
{
	const char *cpu = after(arg, "arch=");
	if (strcmp(arg, "arch") == 0)
		argp_error(state, "-march wants a CPU: -march=x86-64-v3");
	if (!cpu)
		argp_error(state, "unknown option -m%s", arg);
	if (!target_find(cpu, &(Target){0})) {
		fprintf(stderr, "tsrc: unknown CPU '%s'; known are:\n", cpu);
		target_list(stderr);
		exit(2);
	}
	o->session.march = cpu;
}

static void set_opt_level(Options *o, struct argp_state *state, const char *arg)
{
	if (strlen(arg) != 1 || arg[0] < '0' || arg[0] > '3')
		argp_error(state, "-O wants 0, 1, 2 or 3, not '%s'", arg);
	o->session.code.opt_level = arg[0] - '0';
}

/* One that is named again has its code once. */
static void add_gpu(Options *o, const GpuTarget *gpu)
{
	bool known = o->session.gpu == gpu;
	for (size_t i = 0; i < o->gpus.n; i++)
		known |= o->gpus.at[i] == gpu;
	if (!o->session.gpu)
		o->session.gpu = gpu;
	else if (!known)
		PUSH(o->arena, o->gpus, gpu);
}

/* ":sm_80,sm_90a,cpu". False: one of them is not known, or none is a GPU. */
static bool set_gpus(Options *o, const char *list)
{
	Words words = {0};
	o->gpus.n = 0;
	o->with_cpu = false;
	o->session.gpu = *list ? NULL : gpu_find(list);
	words_split(o->arena, &words, *list == ':' ? list + 1 : "");
	for (size_t i = 0; i < words.n; i++) {
		const GpuTarget *gpu = gpu_find(arena_printf(o->arena, ":%s", words.at[i]));
		if (strcmp(words.at[i], "cpu") == 0)
			o->with_cpu = true;
		else if (!gpu)
			return false;
		else
			add_gpu(o, gpu);
	}
	return o->session.gpu != NULL;
}

static void set_target(Options *o, const char *arg)
{
	const char *gpu = after(arg, "cuda");
	if (!gpu || !set_gpus(o, gpu))
		o->session.gpu = NULL;
	o->session.triple = strcmp(arg, "aarch64-linux-gnu") == 0 ? "aarch64-linux-gnu" : NULL;
	if (o->session.gpu || o->session.triple || strcmp(arg, "cpu") == 0)
		return;
	fprintf(stderr,
		"tsrc: unknown target '%s'; known are:\ncpu, aarch64-linux-gnu, cuda and cuda:NAME[,NAME...][,cpu], with NAME one of ",
		arg);
	gpu_list(stderr);
	fputc('\n', stderr);
	exit(2);
}

static void set_fp(Options *o, struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "strict") != 0 && strcmp(arg, "default") != 0 && strcmp(arg, "fast") != 0)
		argp_error(state, "--fp wants strict, default or fast, not '%s'", arg);
	o->session.code.strict_fp = arg[0] == 's';
	o->session.code.fast_fp = arg[0] == 'f';
}

static void set_f32_matmul(Options *o, struct argp_state *state, const char *arg)
{
	static const char *const names[] = {
		[F32_IEEE] = "ieee", [F32_3XTF32] = "3xtf32", [F32_TF32] = "tf32"};
	for (F32Matmul how = F32_IEEE; how <= F32_TF32; how++)
		if (strcmp(arg, names[how]) == 0) {
			o->session.f32_matmul = how;
			return;
		}
	argp_error(state, "--f32-matmul wants ieee, 3xtf32 or tf32, not '%s'", arg);
}

static void set_policy(Options *o, struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "default") != 0 && strcmp(arg, "none") != 0)
		argp_error(state, "--policy wants default or none, not '%s'", arg);
	o->session.no_policy = arg[0] == 'n';
}

static void set_input(Options *o, struct argp_state *state, const char *arg)
{
	if (o->input)
		argp_error(state, "one source file at a time: '%s' and '%s'", o->input, arg);
	o->input = arg;
}

/* tsr_module and tsr_call are names of every header. */
static void set_prefix(Options *o, struct argp_state *state, const char *arg)
{
	bool good = isalpha((unsigned char)*arg) || *arg == '_';
	for (const char *c = arg; *c; c++)
		good = good && (isalnum((unsigned char)*c) || *c == '_');
	if (!good || strcmp(arg, "tsr") == 0)
		argp_error(state, "--prefix wants a C identifier other than tsr, not '%s'", arg);
	o->session.prefix = arg;
}

static void set_verify(Options *o, struct argp_state *state, const char *arg)
{
	bool sums = arg && strcmp(arg, "sums") == 0;
	if (arg && !sums && strcmp(arg, "run") != 0)
		argp_error(state, "--verify takes nothing, 'run' or 'sums', not '%s'", arg);
	o->verify_sums |= sums;
	if (arg)
		o->verify_run = true;
	else
		o->verify = true;
}

static void set_check_grad(Options *o, struct argp_state *state, const char *arg)
{
	char *end = NULL;
	o->check_grad = arg ? strtod(arg, &end) : 1e-6;
	if (arg && (*end || end == arg || !(o->check_grad > 0) || o->check_grad > 1))
		argp_error(state, "--check-grad wants a number between 0 and 1, not '%s'", arg);
}

static void set_output(Options *o, struct argp_state *state, const char *arg)
{
	if (o->output && strcmp(o->output, arg) != 0)
		argp_error(
			state,
			"one -o at a time: '%s' and '%s'; --emit=so,c -o STEM writes several kinds",
			o->output, arg);
	o->output = arg;
}

static void set_completion(Options *o, struct argp_state *state, const char *arg)
{
	if (!word_among(arg, completion_shells))
		argp_error(state, "--completion knows %s, not '%s'", completion_shells, arg);
	o->completion = arg;
}

/* Options of the rule of dependencies. */
static error_t parse_deps(Options *o, int key, const char *arg)
{
	switch (key) {
	case KEY_MD: o->deps = true; break;
	case KEY_MMD: o->deps = o->deps_user_only = true; break;
	case KEY_MF: o->deps_file = arg; break;
	case KEY_MT: PUSH(o->arena, o->deps_targets, arg); break;
	case KEY_MP: o->deps_phony = true; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Options of how code computes, and those of dependencies. */
static error_t parse_code(Options *o, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_FP: set_fp(o, state, arg); break;
	case KEY_GRAIN: set_grain(o, state, arg); break;
	case KEY_CHECKED: o->session.checked = true; break;
	case KEY_NO_PREPACK: o->session.no_prepack = true; break;
	case KEY_MAX_WORKSPACE: o->session.max_workspace = bytes_arg(state, arg); break;
	case KEY_SCHEDULE: o->session.schedule = arg; break;
	case KEY_POLICY: set_policy(o, state, arg); break;
	case KEY_TUNE: set_tune(o, state, arg); break;
	case KEY_THREADS: set_threads(o, state, arg); break;
	case KEY_TUNE_WITH: set_tune_with(o, state, arg); break;
	case KEY_F32_MATMUL: set_f32_matmul(o, state, arg); break;
	case KEY_GPU_PROMOTE: o->session.promote = number_arg(state, "--gpu-promote", arg); break;
	default: return parse_deps(o, key, arg);
	}
	return 0;
}

/* Is the target all that is asked for? It needs no program. */
static bool prints_target(const Options *o)
{
	return o->measure_target || (o->dump.n == 1 && strcmp(o->dump.at[0], "target") == 0);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	Options *o = state->input;
	switch (key) {
	case 'o': set_output(o, state, arg); break;
	case KEY_EMIT: words_split(o->arena, &o->emit, arg); break;
	case KEY_DUMP:
		words_split(o->arena, &o->dump, arg);
		if (o->dump.n == 0)
			argp_error(state, "--dump names a stage, or 'all', or 'help' for the list");
		o->list_stages |= strcmp(arg, "help") == 0;
		break;
	case KEY_STOP: o->stop = arg; break;
	case KEY_FROM: o->session.from = arg; break;
	case 'f': set_f(o, state, arg); break;
	case KEY_PREFIX: set_prefix(o, state, arg); break;
	case 'O': set_opt_level(o, state, arg); break;
	case 'g': o->session.code.debug = true; break;
	case 'm': set_machine(o, state, arg); break;
	case KEY_TARGET: set_target(o, arg); break;
	case KEY_MEASURE_TARGET: o->measure_target = true; break;
	case KEY_TARGET_FILE: o->session.target_file = arg; break;
	case KEY_NO_CACHE: o->no_cache = true; break;
	case KEY_CACHE_DIR: o->session.cache_dir = arg; break;
	case KEY_KEEP: words_split(o->arena, &o->kept, arg); break;
	case 'I': PUSH(o->arena, o->include_dirs, arg); break;
	case 'D': set_define(o, state, arg); break;
	case 'W':
		if (!diag_set_warning(&o->session.diag, arg))
			argp_error(state, "unknown warning -W%s", arg);
		break;
	case KEY_EXPLAIN: o->explain = arg; break;
	case KEY_EXPLAIN_SHAPE: PUSH(o->arena, o->explain_shapes, arg); break;
	case KEY_EXPLAIN_CLOSED: o->explain_closed = true; break;
	case KEY_VERIFY: set_verify(o, state, arg); break;
	case KEY_CHECK_GRAD: set_check_grad(o, state, arg); break;
	case KEY_SHUFFLE:
		o->session.infer.shuffle = (uint64_t)number_arg(state, "--shuffle", arg);
		break;
	case KEY_TIME_REPORT: o->time_report = true; break;
	case KEY_COMPLETION: set_completion(o, state, arg); break;
	case 'v': o->verbose = true; break;
	case KEY_DRY_RUN: o->dry_run = true; break;
	case ARGP_KEY_ARG: set_input(o, state, arg); break;
	case ARGP_KEY_END:
		options_check(o, state);
		if (!o->input && !o->explain && !o->completion && !o->list_stages &&
		    !prints_target(o))
			argp_error(state, "no source file");
		break;
	default: return parse_code(o, key, arg, state);
	}
	return 0;
}

static const struct argp_child children[] = {{&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp options_argp = {options_table, parse_one, "FILE.tsr", doc_text,
				  children,	NULL,	   NULL};

/* ---- all of them ---- */

void options_parse(Options *options, Arena *arena, int argc, char **argv)
{
	memset(options, 0, sizeof *options);
	options->arena = arena;
	session_options_init(&options->session);
	Words words = options_words(arena, argc, argv);
	argp_err_exit_status = 2;
	argp_program_version = "tsrc " TSR_VERSION;
	struct argp_state plain = {0};
	set_color(options, &plain, "auto");
	cli_check_options(&options_argp, (int)words.n - 1, (char **)words.at);
	argp_parse(&options_argp, (int)words.n - 1, (char **)words.at, ARGP_NO_HELP, NULL, options);
	options->threads = options->threads ? options->threads : 1;
	if (options->no_cache)
		options->session.cache_dir = NULL;
	else if (!options->session.cache_dir)
		options->session.cache_dir = options_cache_dir(arena);
	FrontendOptions *frontend = &options->session.frontend;
	frontend->include_dirs = options->include_dirs.at;
	frontend->ninclude_dirs = (uint32_t)options->include_dirs.n;
	frontend->defines = options->defines.at;
	frontend->ndefines = (uint32_t)options->defines.n;
	frontend->kept = options->kept.at;
	frontend->nkept = (uint32_t)options->kept.n;
	options->session.library = options_library_dir(arena);
	bool prints = options->dump.n || options->explain_shapes.n || options->explain_closed ||
		      options->verify || options->verify_run || options->check_grad > 0;
	options->stdout_only = prints && !options->output && !options->emit.n;
}
