/* schedules SEED COUNT FILE...: any legal schedule is right.
 *
 * First what is chosen for each file, and what each of its lines behind "#: " asks for, which is legal: as a whole, as
 * dumped, it is made again with no policy at work. So every word of schedule.def is made. Then COUNT programs, half of
 * them those of the files and half random ones (programs.h), each compiled for a processor and with options of its own,
 * then under a few random schedules (draw.h), one from what another has made; the lines of a file are a schedule to
 * begin with. Each is right, as scheduled.h says, or refused with a reason; of one in a few the machine code and the C
 * as well. Prints how many schedules were made. Status 1: something is wrong, or files are given and a word was not
 * made.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fuzz/scheduled.h"

enum { DRAWN = 16, MOST = 4096, STEPS = 1 << 17, NODES_MOST = 200, WRONG_MOST = 30, SECONDS = 60 };
enum {
	ARTEFACTS = 40 /* of one schedule in so many */
};

typedef struct Tally {
	int64_t made[CHOICE_COUNT]; /* clauses that are on, by word */
	int64_t good, refused, wrong, programs;
} Tally;

typedef struct Run {
	Arena *arena;
	Choices choices;
	SessionOptions options;
	ScheduledProgram program;
	Tally *tally;
} Run;

static void choose_options(Run *r)
{
	static const char *const processors[] = {"x86-64", "x86-64-v3", "x86-64-v4",
						 "znver4+amx-tile+amx-bf16+amx-int8"};
	static const int64_t grains[] = {0, 1, 1, 100, 1 << 17};
	static const Define fixed[] = {{"n", 5}, {"m", 16}};
	SessionOptions *o = &r->options;
	Choices *c = &r->choices;
	session_options_init(o);
	o->frontend = (FrontendOptions){.no_files = true, .defines = fixed};
	o->frontend.ndefines = choose(c, 3);
	o->repairs = false;
	o->march = chance(c, 2) ? "native" : processors[choose(c, 4)];
	o->code = (CodeOptions){.opt_level = 1, .strict_fp = chance(c, 4)};
	o->grain = grains[choose(c, 5)];
	o->no_prepack = chance(c, 8);
}

static bool artefacts_right(Session *session, FILE *report)
{
	bool right = session_compare(session, report, true) == SESSION_DONE &&
		     session_diags(session)->nerrors == 0;
	if (!right)
		diags_print(session_diags(session), report);
	return right;
}

static void count(Tally *tally, Scheduled outcome, const DrawnSchedule *drawn)
{
	tally->good += outcome == SCHEDULED_MADE;
	tally->refused += outcome == SCHEDULED_REFUSED;
	tally->wrong += outcome == SCHEDULED_WRONG;
	for (size_t i = 0; outcome == SCHEDULED_MADE && i < drawn->clauses.n; i++)
		tally->made[drawn->clauses.at[i].clause.choice] += !drawn->clauses.at[i].clause.off;
}

/* A schedule that differs from that of the session; the session that has it, or as before. */
static Session *try_schedule(Run *r, Session *s)
{
	DrawnSchedule drawn =
		schedule_draw(r->arena, &r->choices, session_program(s), r->tally->made);
	Session *other;
	r->program.again = chance(&r->choices, 4);
	r->program.more = chance(&r->choices, ARTEFACTS) ? artefacts_right : NULL;
	alarm(SECONDS);
	Scheduled outcome = scheduled_try(&r->program, &drawn, stdout, &other);
	alarm(0);
	count(r->tally, outcome, &drawn);
	bool goes_on = outcome == SCHEDULED_MADE && !chance(&r->choices, 4);
	session_close(goes_on ? s : other);
	return goes_on ? other : s;
}

static Session *compiled(Run *r, const char *schedule)
{
	SessionOptions options = r->options;
	options.schedule_text = schedule;
	Session *s = session_open(&options);
	REQUIRE(s);
	session_text(s, "program", r->program.text, r->program.size);
	SessionStatus status = session_run(s, "graph");
	if (status == SESSION_DONE && session_graph(s)->nodes.n <= NODES_MOST)
		status = session_run_all(s);
	if (status == SESSION_DONE && session_has(s, "loops"))
		return s;
	session_close(s);
	return NULL;
}

/* Longer files are cut. */
static void read_program(Run *r, const char *path)
{
	char *text = arena_alloc(r->arena, MOST + 1);
	FILE *file = fopen(path, "r");
	REQUIRE(file);
	r->program.size = fread(text, 1, MOST, file);
	fclose(file);
	text[r->program.size] = 0;
	r->program.text = text;
}

/* The next line of the program behind "#: ", from *at on; NULL: there is none. */
static const char *next_line(Run *r, const char **at)
{
	static const char mark[] = "\n#: ";
	const char *found = strstr(*at, mark);
	if (!found)
		return NULL;
	found += strlen(mark);
	*at = found + strcspn(found, "\n");
	return arena_printf(r->arena, "%.*s\n", (int)(*at - found), found);
}

/* All of them: clauses to begin with, where the processor can have them. */
static const char *first_schedule(Run *r)
{
	const char *text = "", *at = r->program.text, *line;
	while ((line = next_line(r, &at)))
		text = arena_printf(r->arena, "%s%s", text, line);
	return text;
}

/* ---- what is known to be legal ---- */

static void count_words(Tally *tally, const Schedule *made)
{
	for (size_t i = 0; i < made->entries.n; i++)
		for (size_t k = 0; k < made->entries.at[i].clauses.n; k++) {
			const ScheduleClause *clause = &made->entries.at[i].clauses.at[k];
			tally->made[clause->choice] += !clause->off;
		}
}

/* Does all that is made with a schedule, or without, ask for itself? */
static bool asks_for_itself(Run *r, const char *schedule)
{
	Session *s = compiled(r, schedule), *other;
	if (!s)
		return false;
	DrawnSchedule whole = {.text = session_dump_text(s, "schedule", NULL), .complete = true};
	bool made = scheduled_try(&r->program, &whole, stdout, &other) == SCHEDULED_MADE;
	if (made)
		count_words(r->tally, session_program(s)->made);
	session_close(other);
	session_close(s);
	return made;
}

static void try_known(Tally *tally, const char *path)
{
	Run r = {.arena = arena_new(), .tally = tally};
	read_program(&r, path);
	session_options_init(&r.options);
	r.options.frontend.no_files = true;
	r.options.repairs = false;
	r.options.march = "x86-64-v4+amx-tile+amx-int8";
	r.program.options = r.options;
	r.program.steps = STEPS;
	r.program.arena = r.arena;
	const char *at = r.program.text, *line = NULL;
	do {
		alarm(SECONDS);
		if (!asks_for_itself(&r, line)) {
			printf("%s: refused, or not made again: %s\n", path,
			       line ? line : "what is chosen");
			tally->wrong++;
		}
		alarm(0);
		line = next_line(&r, &at);
	} while (line);
	arena_free(r.arena);
}

/* ---- what is drawn ---- */

static void try_program(Run *r)
{
	choose_options(r);
	r->program.options = r->options;
	r->program.steps = STEPS;
	r->program.arena = r->arena;
	const char *first = first_schedule(r);
	Session *s = *first && !chance(&r->choices, 3) ? compiled(r, first) : NULL;
	if (!s)
		s = compiled(r, NULL);
	if (!s)
		return;
	r->tally->programs++;
	for (int i = 0; i < DRAWN && r->tally->wrong < WRONG_MOST; i++)
		s = try_schedule(r, s);
	session_close(s);
}

static void run(Tally *tally, uint64_t seed, char **files, uint32_t nfiles)
{
	Run r = {.arena = arena_new(), .choices = {seed * 0x9E3779B97F4A7C15u}, .tally = tally};
	if (nfiles && chance(&r.choices, 2)) {
		read_program(&r, files[choose(&r.choices, nfiles)]);
	} else {
		char *text = arena_alloc(r.arena, MOST + 1);
		r.program.size = program_write(&r.choices, text, MOST);
		text[r.program.size] = 0;
		r.program.text = text;
	}
	try_program(&r);
	arena_free(r.arena);
}

/* How many words were never made, of those that a CPU's loops have. */
static uint32_t missing(const Tally *tally)
{
	uint32_t n = 0;
	for (Choice choice = 0; choice < CHOICE_COUNT; choice++) {
		if (tally->made[choice] > 0 || choice == CHOICE_CLUSTER)
			continue;
		printf("%s was never made\n", choice_word(choice));
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	static Tally tally;
	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	uint64_t seed = strtoull(argv[1], NULL, 10);
	int64_t count = atol(argv[2]);
	for (int i = 3; i < argc; i++)
		try_known(&tally, argv[i]);
	for (int64_t round = 0; round < count && tally.wrong < WRONG_MOST; round++) {
		if (getenv("SCHEDULES_VERBOSE"))
			fprintf(stderr, "%lld\n", (long long)round);
		run(&tally, seed + (uint64_t)round, argv + 3, (uint32_t)(argc - 3));
	}
	printf("%lld programs: %lld schedules made, %lld refused, %lld wrong\n",
	       (long long)tally.programs, (long long)tally.good, (long long)tally.refused,
	       (long long)tally.wrong);
	uint32_t never = argc > 3 ? missing(&tally) : 0;
	return tally.wrong > 0 || never > 0;
}
