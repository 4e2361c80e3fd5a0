/* Schedules as tables: what is asked, what was made, and whether the two agree. */
#include "schedule/schedule.h"

#include <limits.h>
#include <stdlib.h>

#include <stb/stb_ds.h>

#include "base/nearest.h"
#include "target/gpu.h"

static const char *const words[] = {
#define CHOICE(id, word, names, example, meaning, needs) word,
#include "schedule/schedule.def"
#undef CHOICE
};

void schedule_free(Schedule *schedule)
{
	if (schedule) {
		hmfree(schedule->index);
		hmfree(schedule->nodes);
	}
}

/* ---- what is asked ---- */

ScheduleClause *entry_clause(const ScheduleEntry *entry, Choice choice)
{
	for (size_t i = 0; i < entry->clauses.n; i++)
		if (entry->clauses.at[i].choice == choice)
			return &entry->clauses.at[i];
	return NULL;
}

static ScheduleClause *find_clause(const Schedule *asked, Sym name, Choice choice)
{
	ScheduleName *names = asked->index;
	ptrdiff_t i = hmgeti(names, name);
	return i < 0 ? NULL : entry_clause(&asked->entries.at[names[i].value], choice);
}

static Sym line_name(const Schedule *asked, const Program *program, Span span)
{
	if (span.file != asked->file)
		return NULL;
	return sym_printf(program->symbols, "@%u",
			  source_place(program->sources, span.file, span.start).line);
}

ScheduleClause *schedule_asked(const Schedule *asked, const Program *program, Sym name, Span span,
			       Choice choice)
{
	if (!asked)
		return NULL;
	ScheduleClause *clause = find_clause(asked, name, choice);
	Sym line = clause ? NULL : line_name(asked, program, span);
	if (line)
		clause = find_clause(asked, line, choice);
	return clause || !asked->complete ? clause : (ScheduleClause *)&asked->none;
}

static uint64_t node_key(uint32_t routine, uint32_t node) { return (uint64_t)routine << 32 | node; }

void schedule_complete(Schedule *asked)
{
	asked->complete = true;
	asked->none = (ScheduleClause){.off = true, .implied = true};
	for (size_t i = 0; i < asked->entries.n; i++) {
		const ScheduleClause *clause = entry_clause(&asked->entries.at[i], CHOICE_NODE);
		if (!asks_on(clause) || clause->items.n != 1 || clause->items.at[0].n == 0)
			continue;
		const ScheduleItem *item = &clause->items.at[0];
		uint32_t routine = item->n > 1 ? (uint32_t)item->numbers[1] : 0;
		hmput(asked->nodes, node_key(routine, (uint32_t)item->numbers[0]), (uint32_t)i);
	}
}

const ScheduleEntry *schedule_node(const Schedule *asked, uint32_t routine, uint32_t node)
{
	ScheduleNode *nodes = asked->nodes;
	ptrdiff_t i = hmgeti(nodes, node_key(routine, node));
	if (i < 0)
		i = hmgeti(nodes, node_key(0, node));
	return i < 0 ? NULL : &asked->entries.at[nodes[i].value];
}

bool asks_off(const ScheduleClause *asked) { return asked && asked->off; }
bool says_off(const ScheduleClause *asked) { return asked && asked->off && !asked->implied; }
bool asks_on(const ScheduleClause *asked) { return asked && !asked->off; }

bool asks_name(const ScheduleClause *asked, uint32_t item, Sym name)
{
	if (!asked || asked->off || item >= asked->items.n)
		return true;
	return asked->items.at[item].name == name;
}

ScheduleItem *clause_item(const ScheduleClause *clause, Sym name)
{
	for (size_t i = 0; i < clause->items.n; i++)
		if (clause->items.at[i].name == name)
			return &clause->items.at[i];
	return NULL;
}

bool asks_any(const ScheduleClause *asked, Sym name)
{
	return !asked || (!asked->off && asked->items.n == 0) || clause_item(asked, name);
}

int64_t asks_number(const ScheduleClause *asked, Sym name)
{
	const ScheduleItem *item = asked ? clause_item(asked, name) : NULL;
	return item && item->n ? item->numbers[0] : 0;
}

/* The numbers asked for are the first of those made. */
static bool starts_with(const ScheduleItem *asked, const int64_t *numbers, uint32_t n)
{
	for (uint32_t i = 0; i < asked->n; i++)
		if (i >= n || asked->numbers[i] != numbers[i])
			return false;
	return true;
}

bool asks_numbers(const ScheduleClause *asked, uint32_t item, const int64_t *numbers, uint32_t n)
{
	if (!asked || asked->off || item >= asked->items.n)
		return true;
	return starts_with(&asked->items.at[item], numbers, n);
}

/* ---- what was made ---- */

ScheduleEntry *schedule_entry(Schedule *made, Sym name)
{
	for (; made->nindexed < made->entries.n; made->nindexed++) {
		ScheduleEntry *entry = &made->entries.at[made->nindexed];
		ptrdiff_t known = hmgeti(made->index, entry->name);
		entry->earlier = known < 0 ? 0 : made->index[known].value + 1;
		hmput(made->index, entry->name, made->nindexed);
	}
	ptrdiff_t i = hmgeti(made->index, name);
	return i < 0 ? NULL : &made->entries.at[made->index[i].value];
}

ScheduleClause *entry_make(Arena *arena, ScheduleEntry *entry, Choice choice, bool off)
{
	PUSH(arena, entry->clauses, ((ScheduleClause){.choice = choice, .off = off}));
	return &entry->clauses.at[entry->clauses.n - 1];
}

void clause_add(Arena *arena, ScheduleClause *clause, Sym name, const int64_t *numbers, uint32_t n)
{
	ScheduleItem item = {.name = name};
	for (; item.n < n && item.n < ITEM_NUMBERS; item.n++)
		item.numbers[item.n] = numbers[item.n];
	PUSH(arena, clause->items, item);
}

const char *schedule_clause_text(Arena *arena, const ScheduleClause *clause)
{
	const char *text =
		arena_printf(arena, "%s%s", words[clause->choice], clause->off ? " off" : "");
	for (size_t i = 0; i < clause->items.n; i++) {
		const ScheduleItem *item = &clause->items.at[i];
		text = arena_printf(arena, "%s%s%s%s", text, i ? "," : "", item->name ? " " : "",
				    item->name ? item->name : "");
		for (uint32_t k = 0; k < item->n; k++)
			text = arena_printf(arena, "%s %lld", text, (long long)item->numbers[k]);
	}
	return text;
}

/* ---- do they agree? ---- */

static bool is_made(const ScheduleClause *asked, const ScheduleClause *made)
{
	if (asked->off || !made || made->off)
		return asked->off == (!made || made->off);
	if (asked->items.n == 0)
		return true;
	if (asked->items.n != made->items.n)
		return false;
	for (size_t i = 0; i < asked->items.n; i++)
		if (asked->items.at[i].name != made->items.at[i].name ||
		    !starts_with(&asked->items.at[i], made->items.at[i].numbers,
				 made->items.at[i].n))
			return false;
	return true;
}

static void refuse(const Program *program, const ScheduleEntry *entry, const ScheduleClause *clause,
		   const ScheduleEntry *near, Diags *diags)
{
	diag(diags, E0607, clause->span, "'%s' of %s cannot be made: %s", words[clause->choice],
	     entry->name, schedule_why(program, clause, near, diags->arena));
	const char *text = "";
	for (size_t i = 0; i < near->clauses.n; i++)
		text = arena_printf(diags->arena, "%s%s %s", text, i ? ";" : ", as",
				    schedule_clause_text(diags->arena, &near->clauses.at[i]));
	diag_note(diags, near->span, "%s is computed here%s", near->name, text);
}

/* The kernel that may have been meant: of a like name, or on the nearest line that has one. */
static Sym nearest(const Schedule *asked, const Program *program, Sym name, Arena *arena)
{
	const Schedule *made = program->made;
	const char **names = ARENA_ARRAY(arena, const char *, made->entries.n + 1);
	long line = name[0] == '@' ? atol(name + 1) : 0, least = LONG_MAX;
	Sym found = NULL;
	size_t n = 0;
	for (size_t i = 0; i < made->entries.n; i++) {
		names[n++] = made->entries.at[i].name;
		Sym at = line_name(asked, program, made->entries.at[i].span);
		long far = at ? labs(atol(at + 1) - line) : LONG_MAX;
		if (far < least) {
			least = far;
			found = at;
		}
	}
	return name[0] == '@' ? found : name_nearest(name, names, n);
}

static const ScheduleEqual *equal_of(const Schedule *made, Sym name)
{
	for (size_t i = 0; i < made->equals.n; i++)
		if (made->equals.at[i].name == name)
			return &made->equals.at[i];
	return NULL;
}

/* No kernel has the name; perhaps that of a tensor that is equal to it, or one like it. */
static void no_kernel(const Schedule *asked, const Program *program, const ScheduleEntry *entry,
		      Diags *diags)
{
	const ScheduleEqual *equal = equal_of(program->made, entry->name);
	const char *to = equal && equal->to ? equal->to : "another tensor";
	if (equal) {
		diag(diags, E0606, entry->span,
		     "no kernel of the program is named %s: it is equal to %s, which is read instead",
		     entry->name, to);
		diag_note(diags, equal->span, "%s is computed here", to);
		return;
	}
	diag(diags, E0606, entry->span, "%s",
	     schedule_no_kernel(program, entry->name, diags->arena));
	Sym near = nearest(asked, program, entry->name, diags->arena);
	if (near)
		diag_fix(diags, entry->span, near, "did you mean '%s'?", near);
}

/* Which of the choices that an entry asks for one of those made for it has. */
static void note_made(const ScheduleEntry *entry, const ScheduleEntry *made, bool *good)
{
	for (size_t k = 0; k < entry->clauses.n; k++) {
		const ScheduleClause *clause = &entry->clauses.at[k];
		good[clause->choice] |= is_made(clause, entry_clause(made, clause->choice));
	}
}

/* The last of those made for a line; NULL: none is. */
static const ScheduleEntry *find_line(const Schedule *asked, const Program *program,
				      const ScheduleEntry *entry, bool *good)
{
	const ScheduleEntry *near = NULL;
	for (size_t i = 0; i < program->made->entries.n; i++) {
		const ScheduleEntry *made = &program->made->entries.at[i];
		if (entry->name != line_name(asked, program, made->span))
			continue;
		note_made(entry, made, good);
		near = made;
	}
	return near;
}

/* ... for a name */
static const ScheduleEntry *find_name(const Program *program, const ScheduleEntry *entry,
				      bool *good)
{
	const ScheduleEntry *near = schedule_entry(program->made, entry->name), *made = near;
	for (; made; made = made->earlier ? &program->made->entries.at[made->earlier - 1] : NULL)
		note_made(entry, made, good);
	return near;
}

static void compare_entry(const Schedule *asked, const Program *program, const ScheduleEntry *entry,
			  Diags *diags)
{
	bool good[CHOICE_COUNT] = {0};
	const ScheduleEntry *near = entry->name[0] == '@' ? find_line(asked, program, entry, good)
							  : find_name(program, entry, good);
	if (!near)
		no_kernel(asked, program, entry, diags);
	const ScheduleClause *matrix = entry_clause(entry, CHOICE_MATRIX);
	/* the rest of such a line was chosen for tiles of matrices */
	bool alone = matrix && !good[CHOICE_MATRIX] && schedule_lacks_matrix(program);
	for (size_t k = 0; near && k < entry->clauses.n; k++) {
		const ScheduleClause *clause = &entry->clauses.at[k];
		if (!good[clause->choice] && (!alone || clause == matrix))
			refuse(program, entry, clause, near, diags);
	}
}

void schedule_compare(const Schedule *asked, const Program *program, Diags *diags)
{
	for (size_t i = 0; asked && i < asked->entries.n && !diags->overflow; i++)
		compare_entry(asked, program, &asked->entries.at[i], diags);
}

/* ---- the dump ---- */

/* The clauses that say how a kernel runs, as they were made, or those that complete them. */
static const char *print_clauses(FILE *out, Arena *arena, const ScheduleEntry *entry,
				 bool completing, const char *between)
{
	for (size_t i = 0; i < entry->clauses.n; i++) {
		const ScheduleClause *clause = &entry->clauses.at[i];
		if ((clause->choice >= CHOICE_STAGE) != completing)
			continue;
		fprintf(out, "%s%s", between, schedule_clause_text(arena, clause));
		between = "; ";
	}
	return between;
}

void schedule_dump(FILE *out, const Program *program)
{
	const Target *target = program->options.target;
	if (program->options.gpu)
		fprintf(out, "# for %s\n", program->options.gpu->name);
	else
		fprintf(out, "# for %lld vector registers of %lld bytes%s, grain %lld\n",
			(long long)target->registers, (long long)target->vector_bytes,
			target->matrix_tiles > 0 ? " and tiles of matrices (AMX)" : "",
			(long long)program->options.grain);
	for (size_t i = 0; i < program->made->entries.n; i++) {
		const ScheduleEntry *entry = &program->made->entries.at[i];
		fprintf(out, "%s:", entry->name);
		const char *between = print_clauses(out, program->arena, entry, false, " ");
		print_clauses(out, program->arena, entry, true, between);
		if (entry->facts)
			fprintf(out, "\n\t# %s", entry->facts);
		fprintf(out, "\n");
	}
}

/* Has a nest before it made the same sum in the same order, for other rows? */
static bool is_said(const Program *program, size_t entry, const SumMade *sum, const char *text)
{
	const Schedule *made = program->made;
	for (size_t i = 0; i <= entry; i++)
		for (size_t k = 0; k < made->entries.at[i].sums.n; k++) {
			const SumMade *other = &made->entries.at[i].sums.at[k];
			if (other == sum)
				return false;
			if (other->node == sum->node && other->piece == sum->piece &&
			    strcmp(sum_text(program->arena, program->sizes, other), text) == 0)
				return true;
		}
	return false;
}

void schedule_dump_sums(FILE *out, const Program *program)
{
	for (size_t i = 0; program->made && i < program->made->entries.n; i++) {
		const ScheduleEntry *entry = &program->made->entries.at[i];
		for (size_t k = 0; k < entry->sums.n; k++) {
			const SumMade *sum = &entry->sums.at[k];
			const char *text = sum_text(program->arena, program->sizes, sum);
			if (!is_said(program, i, sum, text))
				fprintf(out, "%s: %s %s\n", sum->name, op_name(sum->reduce), text);
		}
	}
}
