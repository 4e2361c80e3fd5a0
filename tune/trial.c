/* Children: each makes one session, or loads what such a session has left, says its result in a line
 * and ends. What it makes for a while lies in the search's own directory, which goes with the search.
 */
#include "tune/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <stb/stb_ds.h>
#include <xxhash.h>

#include "base/held.h"

enum { CPU_SECONDS = 3600 };
#define MEMORY_MOST ((uint64_t)8 << 30) /* that a child may take beside what this process has */

double now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- compiling ---- */

Session *trial_session(const Trials *trials, const Candidate *candidate)
{
	SessionOptions options = *trials->request->session;
	options.repairs = false;
	options.cache_dir = arena_printf(trials->arena, "%s/cache", trials->dir);
	if (candidate && candidate->text) {
		options.schedule_text = candidate->text;
		options.no_policy = candidate->complete;
	}
	Session *s = session_open(&options);
	if (s)
		session_text(s, trials->request->input, trials->source, strlen(trials->source));
	return s;
}

const char *trial_path(const Trials *trials, uint32_t number)
{
	return arena_printf(trials->arena, "%s/%u.so", trials->dir, number);
}

/* Sums that add in the same order, and tensors that are computed in the same places: there a product
 * and the sum behind it may be rounded once. */
static uint64_t bits_of(Session *s, Arena *arena)
{
	const Schedule *made = session_program(s)->made;
	Text text = text_new();
	session_dump(s, "sums", text.out);
	for (size_t i = 0; i < made->entries.n; i++) {
		const ScheduleEntry *entry = &made->entries.at[i];
		const Choice inside[] = {CHOICE_FUSE, CHOICE_INLINE, CHOICE_ROW_BLOCK, CHOICE_FUSE_ROWS};
		for (size_t k = 0; k < sizeof inside / sizeof *inside; k++) {
			const ScheduleClause *clause = entry_clause(entry, inside[k]);
			if (asks_on(clause))
				fprintf(text.out, "%s: %s\n", entry->name,
					schedule_clause_text(arena, clause));
		}
	}
	size_t n;
	const char *all = text_take(text, arena, &n);
	return XXH64(all, n, 0);
}

static uint64_t loops_of(Session *s)
{
	size_t n = 0;
	const char *loops = session_dump_text(s, "loops", &n);
	return loops ? XXH64(loops, n, 0) : 0;
}

static int say_code(const Trial *trial, Session *s)
{
	EmitReport report = {0};
	TrialCode code = {.loops = loops_of(s)};
	TrialKnown *known = trial->of->known;
	if (hmgeti(known, code.loops) >= 0)
		return TRIAL_KNOWN;
	if (session_write(s, "so", trial_path(trial->of, trial->number), &report) != SESSION_DONE ||
	    session_commit(s) != SESSION_DONE)
		return 1;
	code.bits = bits_of(s, trial->of->arena);
	code.tolerance = session_tolerance(s);
	printf("%" PRIx64 " %" PRIx64 " %a\n", code.loops, code.bits, code.tolerance);
	return 0;
}

/* A failure of the session is one of the child. */
static int compile(void *arg)
{
	const Trial *trial = arg;
	child_limit(MEMORY_MOST, CPU_SECONDS);
	setenv("TMPDIR", trial->of->dir, 1);
	Session *s = trial_session(trial->of, trial->candidate);
	int status = 1;
	if (s && session_run_all(s) == SESSION_DONE)
		status = say_code(trial, s);
	if (s && status == 1)
		diags_print(session_diags(s), stdout);
	return s && session_failure(s)->kind ? failure_status(session_failure(s)) : status;
}

void trial_compile(Trial *trial) { trial->child = child_start(trial->of->arena, compile, trial); }

bool trial_code(const ChildResult *result, TrialCode *code)
{
	return sscanf(result->text, "%" SCNx64 " %" SCNx64 " %la", &code->loops, &code->bits,
		      &code->tolerance) == 3;
}

/* ---- timing ---- */

static int measure(void *arg)
{
	child_limit(MEMORY_MOST, CPU_SECONDS);
	return measure_run(arg, stdout);
}

void trial_measure(Trial *trial, const Measure *how)
{
	trial->child = child_start(trial->of->arena, measure, (void *)how);
}

/* ---- waiting ---- */

/* Its group, and with it what it has started. */
static void end_child(const Child *child)
{
	if (child->pid && kill((pid_t)-child->pid, SIGKILL) != 0)
		kill((pid_t)child->pid, SIGKILL);
}

static void end_all(Trial *trials, size_t n, bool late)
{
	for (size_t i = 0; i < n; i++)
		if (trials[i].child.pid) {
			trials[i].late = late;
			end_child(&trials[i].child);
		}
}

static void take_signals(Watch *watch)
{
	struct signalfd_siginfo info;
	while (read(watch->signals, &info, sizeof info) == sizeof info)
		watch->stopped = true;
}

/* Until a child has ended, a signal has come or so many seconds have passed. */
static void wait_for(Watch *watch, const Trial *trials, size_t n, double seconds)
{
	struct pollfd *at = calloc(n + 1, sizeof *at);
	REQUIRE(at);
	at[0] = (struct pollfd){.fd = watch->signals, .events = POLLIN};
	for (size_t i = 0; i < n; i++)
		at[i + 1].fd = trials[i].child.pid ? trials[i].child.words : -1;
	double ms = seconds > 0 ? ceil(seconds * 1e3) : 0;
	poll(at, n + 1, ms < 1e9 ? (int)ms : (int)1e9);
	take_signals(watch);
	free(at);
}

/* Has the child closed its words? */
static bool has_ended(const Child *child)
{
	struct pollfd at = {.fd = child->words};
	return !child->pid || poll(&at, 1, 0) > 0;
}

static size_t collect(Trial *trials, size_t n, ChildResult *results)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		Child *child = &trials[i].child;
		if (!child->pid)
			continue;
		if (has_ended(child)) {
			results[i] = child_end(trials[i].of->arena, child);
			child->pid = 0;
		} else {
			left++;
		}
	}
	return left;
}

void trials_wait(Watch *watch, Trial *trials, size_t n, double limit, ChildResult *results)
{
	double end = now_seconds() + limit;
	for (size_t i = 0; i < n; i++)
		if (!trials[i].child.pid)
			results[i] = (ChildResult){.text = trials[i].child.why};
	while (collect(trials, n, results)) {
		double now = now_seconds(), until = fmin(end, watch->deadline);
		if (now < until && !watch->stopped) {
			wait_for(watch, trials, n, until - now);
			continue;
		}
		watch->stopped |= now >= watch->deadline;
		end_all(trials, n, !watch->stopped);
	}
}
