#include "codegen/nvrtc_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/held.h"
#include "codegen/subprocess.h"

enum { STATUS_ABSENT = 10, STATUS_WRITE };
enum { SECONDS = 1800, STACK = 8 << 20, PERSONALITY_ASK = 0xffffffff };
/* The descriptors of the worker. */
enum { FD_TEXT = 3, FD_ANSWER, FD_LIBRARY, FD_BUILTINS, FD_COUNT, FD_ABOVE = 16 };

/* In front of the text; of the log, the PTX and the machine code. */
typedef struct Question {
	size_t ntext;
	int opt_level;
	char architecture[32];
} Question;

typedef struct Answer {
	bool good, fixed;
	char version[32];
	size_t nlog, nptx, ncubin;
} Answer;

typedef struct Run {
	const NvrtcJob *job;
	Arena *arena;
	int question, answer;
	unsigned seconds;
} Run;

/* ---- what goes between the two ---- */

static bool put(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	for (ssize_t done; n; at += done, n -= (size_t)done) {
		done = write(fd, at, n);
		if (done <= 0)
			return false;
	}
	return true;
}

/* All of the file, a NUL behind; NULL where it cannot be read. */
static char *take(Arena *arena, int fd, size_t *n)
{
	struct stat is;
	if (fstat(fd, &is) != 0)
		return NULL;
	*n = (size_t)is.st_size;
	char *bytes = ARENA_ARRAY(arena, char, *n + 1);
	for (size_t at = 0; at < *n;) {
		ssize_t got = pread(fd, bytes + at, *n - at, (off_t)at);
		if (got <= 0)
			return NULL;
		at += (size_t)got;
	}
	return bytes;
}

static bool put_question(int fd, const NvrtcJob *job)
{
	Question q = {.ntext = strlen(job->text), .opt_level = job->opt_level};
	snprintf(q.architecture, sizeof q.architecture, "%s", job->architecture);
	return put(fd, &q, sizeof q) && put(fd, job->text, q.ntext);
}

static bool put_answer(int fd, const NvrtcOutput *made, const char *version)
{
	Answer a = {.good = made->good, .ncubin = made->cubin ? made->ncubin : 0};
	a.fixed = (personality(PERSONALITY_ASK) & ADDR_NO_RANDOMIZE) != 0;
	a.nlog = made->log ? strlen(made->log) : 0;
	a.nptx = made->ptx ? strlen(made->ptx) : 0;
	snprintf(a.version, sizeof a.version, "%s", version);
	return put(fd, &a, sizeof a) && put(fd, made->log, a.nlog) && put(fd, made->ptx, a.nptx) &&
	       put(fd, made->cubin, a.ncubin);
}

/* ---- in the child ---- */

static int compile(Arena *arena, const Nvrtc *nvrtc, const char *question, int answer)
{
	Question q;
	memcpy(&q, question, sizeof q);
	NvrtcOutput made =
		nvrtc_compile(arena, nvrtc, question + sizeof q, q.architecture, q.opt_level);
	if (put_answer(answer, &made, nvrtc_version(arena, nvrtc)))
		return 0;
	printf("%s\n", strerror(errno));
	return STATUS_WRITE;
}

_Noreturn void nvrtc_worker(void)
{
	Arena *arena = arena_new();
	const char *why = "its text cannot be read";
	size_t n = 0;
	const char *question = take(arena, FD_TEXT, &n);
	bool has_builtins = fcntl(FD_BUILTINS, F_GETFD) >= 0;
	const Nvrtc *nvrtc =
		question && n >= sizeof(Question)
			? nvrtc_load(arena, arena_printf(arena, "/proc/self/fd/%d", FD_LIBRARY),
				     has_builtins
					     ? arena_printf(arena, "/proc/self/fd/%d", FD_BUILTINS)
					     : NULL,
				     &why)
			: NULL;
	if (!nvrtc)
		printf("%s\n", why);
	child_leave(nvrtc ? compile(arena, nvrtc, question, FD_ANSWER) : STATUS_ABSENT);
}

/* Makes the descriptors those of the worker; one that is -1 is closed there. */
static bool place(const int fds[FD_COUNT])
{
	int above[FD_COUNT];
	for (int i = FD_TEXT; i < FD_COUNT; i++)
		above[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, FD_ABOVE);
	for (int i = FD_TEXT; i < FD_COUNT; i++) {
		if (above[i] < 0)
			close(i);
		else if (dup2(above[i], i) < 0)
			return false;
	}
	return true;
}

/* Where mappings begin depends on how large a stack may be. */
static void limit_stack(void)
{
	struct rlimit now;
	if (getrlimit(RLIMIT_STACK, &now) != 0)
		return;
	now.rlim_cur = now.rlim_max < STACK ? now.rlim_max : STACK;
	setrlimit(RLIMIT_STACK, &now);
}

/* Returns where the program cannot be run. */
static void begin_worker(Arena *arena, const Nvrtc *nvrtc)
{
	const char *path = nvrtc_path(nvrtc), *folders = getenv("LD_LIBRARY_PATH");
	const char *builtins = path ? nvrtc_builtins(arena, path) : NULL;
	const int fds[FD_COUNT] = {
		[FD_TEXT] = FD_TEXT,
		[FD_ANSWER] = FD_ANSWER,
		[FD_LIBRARY] = path ? open(path, O_RDONLY | O_CLOEXEC) : -1,
		[FD_BUILTINS] = builtins ? open(builtins, O_RDONLY | O_CLOEXEC) : -1,
	};
	char *const argv[] = {NVRTC_WORKER, NULL};
	/* What nvrtc keeps in a cache came from processes of other addresses. */
	char *const envp[] = {"LC_ALL=C", "CUDA_CACHE_DISABLE=1",
			      folders ? arena_printf(arena, "LD_LIBRARY_PATH=%s", folders) : NULL,
			      NULL};
	if (!path || fds[FD_LIBRARY] < 0 || !place(fds))
		return;
	int now = personality(PERSONALITY_ASK);
	if (now >= 0)
		personality((unsigned long)now | ADDR_NO_RANDOMIZE);
	limit_stack();
	if (chdir("/") == 0)
		execve("/proc/self/exe", argv, envp);
	if (now >= 0) /* the addresses here stay random */
		personality((unsigned long)now);
}

/* The limit holds whatever this process does with alarms. */
static void limit_time(unsigned seconds)
{
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(seconds);
}

/* Finds the library, and compiles; `begins`: as the worker, where that can begin. */
static int find_and_compile(Arena *arena, const int text_answer[2], bool begins)
{
	const char *why = NULL;
	size_t n;
	const Nvrtc *nvrtc = nvrtc_open(arena, &why);
	if (!nvrtc) {
		printf("%s\n", why);
		return STATUS_ABSENT;
	}
	if (begins)
		begin_worker(arena, nvrtc);
	const char *question = take(arena, text_answer[0], &n);
	return question ? compile(arena, nvrtc, question, text_answer[1]) : STATUS_WRITE;
}

_Noreturn void nvrtc_finder(void)
{
	child_leave(find_and_compile(arena_new(), (const int[]){FD_TEXT, FD_ANSWER}, true));
}

/* Returns where the program cannot be run. */
static void begin_finder(const Run *r)
{
	const int fds[FD_COUNT] = {[FD_TEXT] = r->question,
				   [FD_ANSWER] = r->answer,
				   [FD_LIBRARY] = -1,
				   [FD_BUILTINS] = -1};
	char *const argv[] = {NVRTC_FINDER, NULL};
	if (place(fds))
		execv(r->job->program, argv);
}

static int child(void *of)
{
	const Run *r = of;
	limit_time(r->seconds);
	if (r->job->program)
		begin_finder(r);
	return find_and_compile(r->arena, (const int[]){r->question, r->answer}, false);
}

/* ---- here ---- */

/* False where it is not whole. */
static bool read_answer(const Run *r, NvrtcAnswer *to)
{
	size_t n = 0;
	const char *bytes = take(r->arena, r->answer, &n);
	Answer a;
	if (!bytes || n < sizeof a)
		return false;
	memcpy(&a, bytes, sizeof a);
	if (n - sizeof a != a.nlog + a.nptx + a.ncubin)
		return false;
	const char *log = bytes + sizeof a, *ptx = log + a.nlog, *cubin = ptx + a.nptx;
	to->fixed = a.fixed;
	to->version = arena_printf(r->arena, "%s", a.version);
	to->output.good = a.good;
	to->output.log = arena_printf(r->arena, "%.*s", (int)a.nlog, log);
	to->output.ptx = arena_printf(r->arena, "%.*s", (int)a.nptx, ptx);
	to->output.cubin = ARENA_ARRAY(r->arena, char, a.ncubin + 1);
	memcpy(to->output.cubin, cubin, a.ncubin);
	to->output.ncubin = a.ncubin;
	return true;
}

static const char *how_it_ended(const Run *r, const ChildResult *result)
{
	if (result->status == 128 + SIGALRM)
		return arena_printf(r->arena, "it took longer than %u s (TSRC_NVRTC_SECONDS)",
				    r->seconds);
	if (*result->text)
		return result->text;
	return arena_printf(r->arena, "its process ended with status %d%s%s", result->status,
			    result->status > 128 ? ": " : "",
			    result->status > 128 ? strsignal(result->status - 128) : "");
}

static NvrtcAnswer answer_of(const Run *r, const ChildResult *result)
{
	NvrtcAnswer answer = {.end = NVRTC_REFUSED};
	if (!result->ran || result->status != 0 || !read_answer(r, &answer)) {
		bool absent = result->ran && result->status == STATUS_ABSENT;
		answer.end = absent ? NVRTC_ABSENT : NVRTC_REFUSED;
		answer.why = how_it_ended(r, result);
	} else if (answer.output.good) {
		answer.end = NVRTC_MADE;
	} else {
		answer.why =
			arena_printf(r->arena, "nvrtc %s: %s", answer.version, answer.output.log);
	}
	return answer;
}

static unsigned seconds(void)
{
	const char *asked = getenv("TSRC_NVRTC_SECONDS");
	long n = asked ? strtol(asked, NULL, 10) : 0;
	return n > 0 && n < 1000000 ? (unsigned)n : SECONDS;
}

NvrtcAnswer nvrtc_run(Arena *arena, const NvrtcJob *job)
{
	Run r = {.job = job, .arena = arena, .seconds = seconds()};
	r.question = held_fd(memfd_create("question", MFD_CLOEXEC));
	r.answer = held_fd(memfd_create("answer", MFD_CLOEXEC));
	NvrtcAnswer answer = {.end = NVRTC_REFUSED};
	if (r.question < 0 || r.answer < 0 || !put_question(r.question, job)) {
		answer.why = arena_printf(arena, "a file in memory: %s", strerror(errno));
	} else {
		ChildResult result = child_fork(arena, child, &r);
		answer = answer_of(&r, &result);
	}
	if (r.question >= 0)
		held_fd_close(r.question);
	if (r.answer >= 0)
		held_fd_close(r.answer);
	return answer;
}
