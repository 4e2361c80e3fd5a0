/* What is made is verified by each stage; here are the numbers, the clauses and the messages. */
#include "test/fuzz/scheduled.h"

#include <string.h>

#include "base/held.h"
#include "verify/verify.h"

enum { BYTES = 1 << 22, ELEMENTS = 1 << 18, REASON_LEAST = 20 };

typedef struct Try {
	const ScheduledProgram *program;
	const DrawnSchedule *drawn;
	FILE *report;
} Try;

static Scheduled wrong(const Try *t, const char *what)
{
	const SessionOptions *o = &t->program->options;
	fprintf(t->report, "---- %s\n%s----\n%s---- -march=%s --grain=%lld%s%s%s", what,
		t->program->text, t->drawn->text, o->march, (long long)o->grain,
		t->drawn->complete ? " --policy=none" : "", o->code.strict_fp ? " --fp=strict" : "",
		o->no_prepack ? " --no-prepack" : "");
	for (size_t i = 0; i < o->frontend.ndefines; i++)
		fprintf(t->report, " -D %s=%lld", o->frontend.defines[i].name,
			(long long)o->frontend.defines[i].value);
	if (o->max_workspace >= 0)
		fprintf(t->report, " --max-workspace=%lld", (long long)o->max_workspace);
	fputc('\n', t->report);
	return SCHEDULED_WRONG;
}

static bool may_refuse(DiagCode code)
{
	return code == E0605 || code == E0606 || code == E0607 || code == E0509 || code == E0510 ||
	       code == E0511;
}

/* Of the first error. */
static const char *error_of(Session *s)
{
	const Diags *diags = session_diags(s);
	for (size_t i = 0; i < diags->list.n; i++)
		if (diags->list.at[i].severity == SEVERITY_ERROR)
			return diags->list.at[i].text;
	return session_failure(s)->text;
}

static Scheduled refused(const Try *t, Session *s)
{
	const Diags *diags = session_diags(s);
	for (size_t i = 0; i < diags->list.n; i++) {
		const Diag *d = &diags->list.at[i];
		if (d->severity == SEVERITY_ERROR &&
		    (!may_refuse(d->code) || strlen(d->text) < REASON_LEAST))
			return wrong(t, arena_printf(t->program->arena, "refused: %s", d->text));
	}
	return SCHEDULED_REFUSED;
}

static bool numbers_right(const Try *t, Session *s)
{
	Text report = text_new();
	const Inference *inference = session_tensors(s)->inference;
	VerifyTask task = {.program = session_program(s),
			   .inference = inference,
			   .arena = t->program->arena,
			   .report = report.out,
			   .seed = 1,
			   .fast = t->program->options.code.fast_fp,
			   .sums = verify_orders(session_program(s), inference, t->program->arena),
			   .steps_first = t->program->steps,
			   .steps_more = t->program->steps / 8,
			   .bytes = BYTES,
			   .elements = ELEMENTS};
	bool right = verify_interpreter(&task);
	const char *text = text_take(report, t->program->arena, NULL);
	if (!right)
		wrong(t, text);
	return right;
}

static Session *open_with(const Try *t, const char *schedule, bool complete)
{
	SessionOptions options = t->program->options;
	options.schedule_text = schedule;
	options.no_policy = complete;
	Session *s = session_open(&options);
	REQUIRE(s);
	session_text(s, "program", t->program->text, t->program->size);
	return s;
}

/* Without what stands behind #. */
static const char *loops_of(const Try *t, Session *s)
{
	const char *dump = session_dump_text(s, "loops", NULL);
	char *text = arena_strndup(t->program->arena, dump, strlen(dump)), *to = text;
	for (const char *at = text; *at;) {
		if (*at == '#')
			at += strcspn(at, "\n");
		else
			*to++ = *at++;
	}
	*to = 0;
	return text;
}

static bool asks_for_itself(const Try *t, Session *s)
{
	const char *schedule = session_dump_text(s, "schedule", NULL);
	Session *other = open_with(t, schedule, true);
	bool same = session_run(other, "loops") == SESSION_DONE &&
		    strcmp(loops_of(t, s), loops_of(t, other)) == 0;
	if (!same)
		wrong(t, arena_printf(t->program->arena,
				      "its own dump with no policy makes other loops: %s\n%s",
				      error_of(other), schedule));
	session_close(other);
	return same;
}

static bool all_made(const Try *t, Session *s)
{
	for (size_t i = 0; i < t->drawn->clauses.n; i++) {
		const DrawnClause *drawn = &t->drawn->clauses.at[i];
		if (drawn_is_made(drawn, session_program(s)))
			continue;
		const char *text = schedule_clause_text(t->program->arena, &drawn->clause);
		wrong(t, arena_printf(t->program->arena, "%s: %s is neither made nor refused", drawn->kernel, text));
		return false;
	}
	return true;
}

static bool more_is_right(const Try *t, Session *s)
{
	Text report = text_new();
	bool right = t->program->more(s, report.out);
	const char *text = text_take(report, t->program->arena, NULL);
	if (!right)
		wrong(t, text);
	return right;
}

static Scheduled made(const Try *t, Session *s)
{
	bool right = all_made(t, s) && numbers_right(t, s) &&
		     (!t->program->again || asks_for_itself(t, s)) &&
		     (!t->program->more || more_is_right(t, s));
	return right ? SCHEDULED_MADE : SCHEDULED_WRONG;
}

Scheduled scheduled_try(const ScheduledProgram *program, const DrawnSchedule *drawn, FILE *report,
			Session **session)
{
	Try t = {program, drawn, report};
	Session *s = *session = open_with(&t, drawn->text, drawn->complete);
	SessionStatus status = session_run_all(s);
	Scheduled outcome = status == SESSION_DONE     ? made(&t, s)
			    : status == SESSION_ERRORS ? refused(&t, s)
						       : SCHEDULED_WRONG;
	if (session_failure(s)->kind)
		outcome = wrong(&t, session_failure(s)->text);
	return outcome;
}
