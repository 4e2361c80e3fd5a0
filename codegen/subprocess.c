/* fork, pipe, wait.
 *
 * A child's words go into a pipe, which is read to its end before the wait, so one that says
 * much never blocks. It has no input, leaves no core and has a limit of CPU time. A program that
 * cannot be run says so through a second pipe, which a successful exec closes: what arrives
 * there is the errno of a failed one.
 */
#include "codegen/subprocess.h"

#include "base/diag.h"
#include "base/held.h"
#include "base/temporary.h"
#include "base/trap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 64 << 10, EXEC_FAILED = 127, CPU_SECONDS = 3600, PLACES_MAX = 64 };

typedef struct Exec {
	const char *const *argv;
	const char *dir;
	int report; /* where errno goes when exec fails; closed by exec */
} Exec;

/* Keeps the first TEXT_MAX bytes. */
static const char *read_all(Arena *arena, int fd)
{
	char *text = arena_alloc(arena, TEXT_MAX + 1), spill[4096];
	size_t n = 0;
	for (;;) {
		bool full = n == TEXT_MAX;
		ssize_t got = read(fd, full ? spill : text + n, full ? sizeof spill : TEXT_MAX - n);
		if (got > 0 && !full)
			n += (size_t)got;
		if (got == 0 || (got < 0 && errno != EINTR))
			break;
	}
	held_fd_close(fd);
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = 0;
	return text;
}

/* The exit status, or 128 + the signal, as a shell says it. */
static int wait_for(pid_t pid)
{
	int status = temporary_wait(pid);
	if (status < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Bytes that this process has mapped; 0: unknown. */
static uint64_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	if (!statm)
		return 0;
	bool known = fscanf(statm, "%lu", &pages) == 1;
	fclose(statm);
	return known ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static rlim_t smaller(rlim_t a, rlim_t b) { return a < b ? a : b; }

/* Lowers the limit to `most`. */
static void limit(int resource, rlim_t most)
{
	struct rlimit now;
	if (getrlimit(resource, &now) != 0)
		return;
	now.rlim_cur = smaller(now.rlim_cur, most);
	now.rlim_max = smaller(now.rlim_max, most);
	setrlimit(resource, &now);
}

/* SIGXCPU comes a second before SIGKILL, which does not say what for. */
static void limit_seconds(rlim_t most)
{
	struct rlimit now;
	if (getrlimit(RLIMIT_CPU, &now) != 0)
		return;
	now.rlim_max = smaller(now.rlim_max, most + 1);
	now.rlim_cur = smaller(now.rlim_cur, now.rlim_max > 1 ? now.rlim_max - 1 : 1);
	setrlimit(RLIMIT_CPU, &now);
}

void child_limit(uint64_t bytes, uint64_t seconds)
{
	uint64_t mapped = mapped_bytes();
	if (mapped)
		limit(RLIMIT_AS, mapped + bytes);
	limit_seconds(seconds);
}

#ifdef TSR_COVERAGE /* gcov writes its counts in an exit handler, and _exit runs none */
void __gcov_dump(void);
static void save_counts(void) { __gcov_dump(); }
#else
static void save_counts(void) {}
#endif

void child_leave(int status)
{
	fflush(stdout);
	save_counts();
	_exit(status);
}

typedef struct Work {
	int (*run)(void *arg);
	void *arg;
	int status;
} Work;

static void run_work(void *of)
{
	Work *work = of;
	work->status = work->run(work->arg);
}

/* Files that the parent, and other threads of it, are writing are theirs to flush: the child
 * writes to its standard streams alone, and leaves without exit handlers. A failure is its own
 * too. */
static _Noreturn void child_side(int out, int (*work)(void *arg), void *arg)
{
	int null = open("/dev/null", O_RDONLY);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close(out);
	limit(RLIMIT_CORE, 0);
	limit_seconds(CPU_SECONDS);
	Holder holder = {0};
	Failure failure;
	Work all = {work, arg, 0};
	__fpurge(stdout);
	if (!trap_run(&holder, run_work, &all, &failure)) {
		failure_print(stderr, &failure);
		all.status = failure_status(&failure);
	}
	child_leave(all.status);
}

Child child_start(Arena *arena, int (*work)(void *arg), void *arg)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return (Child){.why = arena_printf(arena, "pipe: %s", strerror(errno))};
	pid_t pid = temporary_fork();
	if (pid < 0) {
		int error = errno;
		close(ends[0]);
		close(ends[1]);
		return (Child){.why = arena_printf(arena, "fork: %s", strerror(error))};
	}
	if (pid == 0)
		child_side(ends[1], work, arg);
	close(ends[1]);
	return (Child){.pid = pid, .words = held_fd(ends[0])};
}

ChildResult child_end(Arena *arena, const Child *child)
{
	if (!child->pid)
		return (ChildResult){.text = child->why};
	ChildResult result = {.ran = true, .text = read_all(arena, child->words)};
	result.status = wait_for((pid_t)child->pid);
	return result;
}

size_t child_any(const Child *children, size_t n)
{
	struct pollfd at[PLACES_MAX];
	REQUIRE(n > 0 && n <= PLACES_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!children[i].pid)
			return i;
		at[i] = (struct pollfd){.fd = children[i].words, .events = POLLIN};
	}
	while (poll(at, n, -1) < 0)
		REQUIRE(errno == EINTR);
	for (size_t i = 0; i < n; i++)
		if (at[i].revents)
			return i;
	return 0;
}

size_t child_places(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < 1 ? 1 : n > PLACES_MAX ? PLACES_MAX : (size_t)n;
}

ChildResult child_fork(Arena *arena, int (*work)(void *arg), void *arg)
{
	Child child = child_start(arena, work, arg);
	return child_end(arena, &child);
}

static int exec_child(void *arg)
{
	const Exec *exec = arg;
	setenv("TMPDIR", exec->dir, 1);
	execvp(exec->argv[0], (char *const *)exec->argv);
	int error = errno;
	if (write(exec->report, &error, sizeof error) != sizeof error)
		return EXEC_FAILED;
	return EXEC_FAILED;
}

ChildResult child_run(Arena *arena, const char *const *argv, const char *dir)
{
	int ends[2], error = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return (ChildResult){.text = arena_printf(arena, "pipe: %s", strerror(errno))};
	held_fd(ends[0]);
	held_fd(ends[1]);
	Exec exec = {argv, dir, ends[1]};
	ChildResult result = child_fork(arena, exec_child, &exec);
	held_fd_close(ends[1]);
	if (read(ends[0], &error, sizeof error) == sizeof error) {
		result.ran = false;
		result.text = arena_printf(arena, "%s", strerror(error));
	}
	held_fd_close(ends[0]);
	return result;
}
