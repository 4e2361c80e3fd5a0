/* From the policy's schedule to the best found: a candidate that is faster than the best so far takes
 * its place, and what differs from that in one clause is tried from there on.
 *
 * Candidates are compiled as many at a time as there are CPUs, then timed one at a time while nothing
 * else runs. Nothing is tried twice: neither a text, nor loops that other texts have made.
 */
#include "tune/tune.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <stb/stb_ds.h>
#include <xxhash.h>

#include "base/temporary.h"
#include "tune/candidates.h"
#include "tune/report.h"
#include "tune/trial.h"

enum { LIMIT_TIMES = 5, WHOLE_ROUNDS = 3, BUG_STATUS = 3, SIGNAL_STATUS = 128, NEAR_MOST = 48 };
#define LIMIT_LEAST 1.0 /* seconds */
#define FIRST_LIMIT_LEAST 5.0
#define NEAR_LEAST 0.85 /* times as fast: worth another change beside it */

typedef struct Best {
	uint32_t number; /* of the trial that made it */
	const Candidate *candidate;
	Session *session; /* up to loops */
} Best;

/* How many times as fast as the best so far a change of it is. */
typedef struct Score {
	uint32_t change;
	double times;
} Score;

typedef struct Search {
	Session *session; /* the policy's, up to loops */
	const TuneRequest *request;
	Arena *arena;
	Trials trials;
	Watch watch;
	Report report;
	TrialKnown *tried; /* texts */
	TrialCode policy;  /* what its trial said */
	Best best;
	uint32_t ntrials;
	VEC(uint32_t) refused; /* changes of the best, each once for each of its texts */
	VEC(Score) scores;     /* of changes of the best: one of each that could be timed */
	size_t next;	       /* where the list of candidates goes on */
	double compile_limit, measure_limit; /* seconds */
	sigset_t before;		     /* signals that were held back */
} Search;

/* ---- before the search ---- */

static bool has_size(const TuneSizes *sizes, const char *dim)
{
	for (size_t i = 0; i < sizes->n; i++)
		if (strcmp(sizes->at[i].name, dim) == 0)
			return true;
	return false;
}

static void need_size(Session *s, const char *dim)
{
	diag(session_diags(s), E0613, SPAN_NONE, "--tune: the dim %s has no size to time at", dim);
	diag_note(session_diags(s), SPAN_NONE,
		  "--tune-with=%s=64 says one; -D %s=64 fixes it for good", dim, dim);
}

static bool is_dim(const Program *program, const char *name)
{
	for (DimId d = 0; d < sizes_nargs(program->sizes); d++)
		if (strcmp(sizes_dim(program->sizes, d)->name, name) == 0)
			return true;
	return false;
}

static void check_names(Session *s, const TuneSizes *sizes)
{
	for (size_t i = 0; i < sizes->n; i++)
		if (!is_dim(session_program(s), sizes->at[i].name))
			diag(session_diags(s), E0613, SPAN_NONE,
			     "--tune-with: the program has no symbolic dim %s", sizes->at[i].name);
}

/* Has every dim of every routine a size, each time? */
static bool check_sizes(Session *s, const TuneRequest *request)
{
	static const TuneSizes none = {0};
	const Program *program = session_program(s);
	for (size_t k = 0; k < request->nsizes; k++)
		check_names(s, &request->sizes[k]);
	for (size_t k = 0; k < (request->nsizes ? request->nsizes : 1); k++)
		for (size_t i = 0; i < program->routines.n; i++) {
			const ProgramRoutine *r = &program->routines.at[i];
			const TuneSizes *sizes = request->nsizes ? &request->sizes[k] : &none;
			for (uint32_t d = 0; d < r->ndims; d++) {
				const char *dim = sizes_dim(program->sizes, r->dims[d])->name;
				if (!has_size(sizes, dim))
					need_size(s, dim);
			}
		}
	return session_diags(s)->nerrors == 0;
}

static void takes_longer(Search *s, double limit)
{
	diag(session_diags(s->session), E0614, SPAN_NONE,
	     "--tune: the program cannot be timed: with the policy's schedule it takes longer than %.0f s",
	     limit);
	diag_note(session_diags(s->session), SPAN_NONE,
		  "--tune-with or -D say smaller sizes; more seconds of --tune are a higher limit");
}

static void cannot_time(Search *s, const ChildResult *result)
{
	diag(session_diags(s->session), E0614, SPAN_NONE, "--tune: the program cannot be timed: %s",
	     result->status == MEASURE_FAILED ? result->text : "its first trial has failed");
}

static Trial trial_new(Search *s, const Candidate *candidate)
{
	return (Trial){.of = &s->trials, .number = s->ntrials++, .candidate = candidate};
}

static Measure measure_of(const Search *s, uint32_t number, const TrialCode *code, bool compares)
{
	return (Measure){
		.arena = s->arena,
		.request = s->request,
		.policy = compares ? trial_path(&s->trials, 0) : NULL,
		.best = trial_path(&s->trials, s->best.number),
		.it = trial_path(&s->trials, number),
		.tolerance = code->bits == s->policy.bits ? 0 : s->policy.tolerance,
	};
}

static double limit_of(double seconds) { return LIMIT_LEAST + LIMIT_TIMES * seconds; }

static bool compile_policy(Search *s, Trial *trial)
{
	ChildResult result = {0};
	double start = now_seconds();
	trial_compile(trial);
	trials_wait(&s->watch, trial, 1, INFINITY, &result);
	if (s->watch.stopped || result.status != 0 || !trial_code(&result, &s->policy))
		return false;
	hmput(s->trials.known, s->policy.loops, true);
	s->compile_limit = limit_of(now_seconds() - start);
	return true;
}

/* As many pairs as the search has seconds: others may take as long as all pairs would. */
static bool measure_policy(Search *s, Trial *trial)
{
	ChildResult result = {0};
	Measured measured;
	double start = now_seconds(),
	       limit = fmax(FIRST_LIMIT_LEAST, limit_of(s->request->seconds));
	Measure measure = measure_of(s, 0, &s->policy, false);
	measure.whole = true;
	measure.seconds = s->request->seconds;
	trial_measure(trial, &measure);
	trials_wait(&s->watch, trial, 1, limit, &result);
	if (s->watch.stopped)
		return false;
	if (trial->late) {
		takes_longer(s, limit);
		return false;
	}
	if (result.status != 0 || !measure_read(result.text, &measured)) {
		cannot_time(s, &result);
		return false;
	}
	s->measure_limit = limit_of((now_seconds() - start) * MEASURE_PAIRS / measured.pairs);
	report_start(&s->report, measured.seconds);
	return true;
}

/* The policy's code, which tells how long one may wait for others. */
static bool first_trial(Search *s)
{
	Trial trial = trial_new(s, NULL);
	return compile_policy(s, &trial) && measure_policy(s, &trial);
}

/* ---- a candidate ---- */

/* What is wrong with it is counted. */
static bool counts_failure(Search *s, const Trial *trial, int status)
{
	Report *r = &s->report;
	const char *what = trial->candidate->what;
	if (status == 0)
		return false;
	if (s->watch.stopped)
		return true;
	r->candidates++;
	if (trial->late) {
		r->late++;
	} else if (status == MEASURE_DIFFERS) {
		r->differs++;
		r->first_difference = r->first_difference ? r->first_difference : what;
	} else if (status == BUG_STATUS || status >= SIGNAL_STATUS) {
		r->crashed++;
		r->first_crash = r->first_crash ? r->first_crash : what;
	} else if (status == TRIAL_KNOWN) {
		r->known++;
	} else {
		r->refused++;
		PUSH(s->arena, s->refused, trial->candidate->change);
	}
	return true;
}

/* Times it beside the best so far; false: it failed. */
static bool measure_one(Search *s, Trial *trial, const Measure *measure, Measured *measured)
{
	ChildResult result = {0};
	trial_measure(trial, measure);
	trials_wait(&s->watch, trial, 1, s->measure_limit, &result);
	if (result.status == 0 && !measure_read(result.text, measured))
		result.status = MEASURE_FAILED;
	return !counts_failure(s, trial, result.status);
}

static void take_best(Search *s, const Trial *trial, double times)
{
	Session *session = trial_session(&s->trials, trial->candidate);
	if (!session || session_run(session, "loops") != SESSION_DONE) {
		session_close(session);
		return;
	}
	if (s->best.session != s->session)
		session_close(s->best.session);
	s->best = (Best){trial->number, trial->candidate, session};
	s->report.times *= times;
	s->report.faster++;
	report_faster(&s->report, trial->candidate->what);
}

/* The best ones first. */
static void note_score(Search *s, uint32_t change, double times)
{
	for (size_t i = 0; i < s->scores.n; i++)
		if (s->scores.at[i].change == change)
			return;
	PUSH(s->arena, s->scores, ((Score){change, times}));
	for (size_t i = s->scores.n - 1; i > 0 && s->scores.at[i - 1].times < times; i--) {
		s->scores.at[i] = s->scores.at[i - 1];
		s->scores.at[i - 1] = (Score){change, times};
	}
}

/* It is the best if it is faster in two processes, whose memory lies in other places. */
static bool is_taken(Search *s, Trial *trial, const TrialCode *code)
{
	Measured first, second;
	Measure measure = measure_of(s, trial->number, code, true);
	if (!measure_one(s, trial, &measure, &first))
		return false;
	measure.policy = NULL;
	bool faster = measure_is_faster(&first);
	if (faster && !measure_one(s, trial, &measure, &second))
		return false;
	s->report.candidates++;
	note_score(s, trial->candidate->change, first.times);
	if (!faster || !measure_is_faster(&second)) {
		s->report.slower++;
		return false;
	}
	take_best(s, trial, fmin(first.times, second.times));
	return true;
}

/* ---- the search ---- */

static bool is_new(Search *s, const Candidate *candidate)
{
	uint64_t key = XXH64(candidate->text, strlen(candidate->text), candidate->complete);
	if (hmgeti(s->tried, key) >= 0)
		return false;
	hmput(s->tried, key, true);
	return true;
}

/* Were both texts refused that ask for its word alone? */
static bool asks_for_nothing(const Search *s, const Candidate *candidate)
{
	int texts = 0;
	for (size_t i = 0; i < s->refused.n && candidate->any != NO_CHANGE; i++)
		texts += s->refused.at[i] == candidate->any;
	return texts >= 2;
}

/* The next candidates of the list, from `next` on and round it; fewer where none is left. */
static size_t pick(Search *s, const Candidates *list, size_t *looked, Trial *batch, size_t most)
{
	size_t n = 0;
	for (; *looked < list->n && n < most; ++*looked, s->next++) {
		const Candidate *candidate = &list->at[s->next % list->n];
		if (!asks_for_nothing(s, candidate) && is_new(s, candidate))
			batch[n++] = trial_new(s, candidate);
	}
	return n;
}

static bool try_code(Search *s, Trial *trial, const ChildResult *result)
{
	TrialCode code;
	int status = result->status;
	if (status == 0 && !trial_code(result, &code))
		status = 1;
	if (counts_failure(s, trial, status))
		return false;
	bool same = hmgeti(s->trials.known, code.loops) >= 0; /* as another one of the batch */
	hmput(s->trials.known, code.loops, true);
	if (same)
		return counts_failure(s, trial, TRIAL_KNOWN) && false;
	return is_taken(s, trial, &code);
}

/* Is one of them faster? The others of the batch that come behind it are left. */
static bool try_batch(Search *s, Trial *batch, size_t n)
{
	ChildResult *results = ARENA_ARRAY(s->arena, ChildResult, n);
	bool taken = false;
	for (size_t i = 0; i < n; i++)
		trial_compile(&batch[i]);
	trials_wait(&s->watch, batch, n, s->compile_limit, results);
	for (size_t i = 0; i < n && !taken && !s->watch.stopped; i++) {
		taken = try_code(s, &batch[i], &results[i]);
		report_progress(&s->report);
	}
	for (size_t i = 0; i < n; i++)
		if (batch[i].number != s->best.number)
			unlink(trial_path(&s->trials, batch[i].number));
	return taken;
}

/* Until one is taken; false: none was, or the time is over. */
static bool try_list(Search *s, const Candidates *list)
{
	size_t places = child_places(), looked = 0;
	Trial *batch = ARENA_ARRAY(s->arena, Trial, places);
	while (list->n && !s->watch.stopped) {
		size_t n = pick(s, list, &looked, batch, places);
		if (n == 0)
			return false;
		if (try_batch(s, batch, n))
			return true;
	}
	return false;
}

/* One change of the best so far, else two at once of those that make it little slower, until one is taken;
 * false: none was, or the time is over. */
static bool improve(Search *s)
{
	CandidatesFrom from = {session_program(s->session), session_program(s->best.session),
			       s->request->threads};
	Candidates list = candidates_of(s->arena, &from);
	uint32_t near[NEAR_MOST];
	size_t n = 0;
	s->scores.n = s->refused.n = 0;
	if (try_list(s, &list))
		return true;
	for (; n < s->scores.n && n < NEAR_MOST && s->scores.at[n].times > NEAR_LEAST; n++)
		near[n] = s->scores.at[n].change;
	list = candidates_pairs(s->arena, &from, near, n);
	s->next = 0;
	return try_list(s, &list);
}

/* ---- after the search ---- */

/* How much faster the best is than the policy's, in pairs of these two: what noise has made of several
 * comparisons does not add up. */
static void measure_gain(Search *s, bool signalled)
{
	Measured m;
	ChildResult result = {0};
	Trial trial = {.of = &s->trials};
	if (s->best.session == s->session || signalled)
		return;
	Measure measure = measure_of(s, s->best.number, &s->policy, false);
	measure.best = trial_path(&s->trials, 0);
	measure.whole = true;
	s->watch.stopped = false;
	s->watch.deadline = INFINITY;
	trial_measure(&trial, &measure);
	trials_wait(&s->watch, &trial, 1, s->measure_limit, &result);
	if (result.status != 0 || s->watch.stopped || !measure_read(result.text, &m))
		return;
	s->report.times = m.times;
	if (m.times > 1)
		return;
	session_close(s->best.session);
	s->best = (Best){.session = s->session};
	s->report.times = 1;
}

/* A text that makes the best's loops beside the policy: what the policy adds to one is off in the next. Where
 * none does, that of the best, without a policy. */
static TuneResult result_of(Search *s)
{
	const Program *best = session_program(s->best.session),
		      *policy = session_program(s->session);
	const char *loops = session_dump_text(s->best.session, "loops", NULL);
	TuneResult result = {candidates_whole(s->arena, NULL, best), true};
	Session *last = NULL;
	if (s->best.session == s->session)
		return (TuneResult){0};
	for (int i = 0; i < WHOLE_ROUNDS && result.complete; i++) {
		Candidate it = {.text = candidates_whole(s->arena, policy, best)};
		Session *session = trial_session(&s->trials, &it);
		session_close(last);
		last = session;
		if (!session || session_run(session, "loops") != SESSION_DONE)
			break;
		policy = session_program(session);
		if (strcmp(session_dump_text(session, "loops", NULL), loops) == 0)
			result = (TuneResult){it.text, false};
	}
	session_close(last);
	return result;
}

static void hold_signals(Search *s)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &s->before);
	s->watch.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	REQUIRE(s->watch.signals >= 0);
}

static void search(Search *s)
{
	if (!first_trial(s))
		return;
	s->report.start = now_seconds();
	s->watch.deadline = s->report.start + s->request->seconds;
	while (!s->watch.stopped && improve(s))
		;
	bool signalled = s->watch.stopped && now_seconds() < s->watch.deadline;
	measure_gain(s, signalled);
	report_end(&s->report, signalled);
}

TuneResult tune_search(Session *session, const TuneRequest *request, Arena *arena)
{
	Search s = {.session = session, .request = request, .arena = arena};
	TuneResult result = {0};
	if (session_run(session, "loops") != SESSION_DONE || !check_sizes(session, request))
		return result;
	s.trials = (Trials){arena, request, session_source(session)->text, temporary_dir(), NULL};
	if (!s.trials.dir) {
		diag(session_diags(session), E0501, SPAN_NONE,
		     "cannot make a temporary directory: %s", strerror(errno));
		return result;
	}
	s.report = (Report){.terminal = request->terminal,
			    .seconds = request->seconds,
			    .threads = request->threads,
			    .times = 1};
	s.watch.deadline = INFINITY;
	s.best.session = session;
	hold_signals(&s);
	search(&s);
	result = result_of(&s);
	if (s.best.session != session)
		session_close(s.best.session);
	hmfree(s.tried);
	hmfree(s.trials.known);
	temporary_remove(s.trials.dir);
	close(s.watch.signals);
	sigprocmask(SIG_SETMASK, &s.before, NULL);
	return result;
}

void tune_list(Session *session, int threads, FILE *out)
{
	if (session_run(session, "loops") != SESSION_DONE)
		return;
	Arena *arena = arena_new();
	const Program *program = session_program(session);
	CandidatesFrom from = {program, program, threads};
	Candidates list = candidates_of(arena, &from);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i].complete)
			fprintf(out, "%s\n", list.at[i].what);
	arena_free(arena);
}
