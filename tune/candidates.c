/* Clauses with one thing changed.
 *
 * Kernels are told apart by what is written of them, with loops and operands by their places: equal
 * layers are one group, whose first member is changed and whose others have the same change with their
 * names. A change is a clause; the text of a candidate is every other clause as it was made, and that
 * one.
 */
#include "tune/candidates.h"

#include <string.h>

#include "base/held.h"
#include "tune/groups.h"

/* Which names the items of a word have, as in schedule.def. */
typedef enum Names { NAMES_LOOP, NAMES_OPERAND, NAMES_KERNEL } Names;
static const struct {
	const char *word;
	Names names;
} words[] = {
#define CHOICE(id, word, names, example, meaning, needs) {word, NAMES_##names},
#include "schedule/schedule.def"
#undef CHOICE
};

enum { ROWS_TRIED = 3, VECTORS_MOST = 6, PARTS_TIMES = 4, PERCENT_SMALL = 1 };

/* In which order changes are tried. */
typedef enum Tier { TIER_NUMBERS, TIER_OFF, TIER_NAMES, TIER_WORD, TIER_WORD_NAMES, TIERS } Tier;

typedef struct Change Change;
struct Change {
	const Change *also; /* another change at once; NULL: none */
	const Group *group;
	ScheduleClause clause,
		first; /* of the first member; first: with the numbers up to the changed one */
	Tier tier;
	bool small;
	uint32_t any; /* number of the change to the word alone; NO_CHANGE */
};

typedef struct Maker {
	Arena *arena;
	const Program *policy, *best;
	int threads;
	Groups groups;
	VEC(Change) changes;
	const Group *group; /* whose changes are made */
} Maker;

/* ---- changes ---- */

static const ScheduleEntry *first_of(const Maker *m) { return m->group->members.at[0]; }

static void add(Maker *m, Tier tier, const ScheduleClause *clause, const ScheduleClause *first)
{
	bool small = m->group->work < m->groups.work / 100 * PERCENT_SMALL;
	PUSH(m->arena, m->changes,
	     ((Change){NULL, m->group, *clause, *first, tier, small, NO_CHANGE}));
}

/* A copy whose items may be changed. */
static ScheduleClause copy_of(Arena *arena, const ScheduleClause *clause)
{
	ScheduleClause copy = {.choice = clause->choice, .off = clause->off};
	for (size_t i = 0; i < clause->items.n; i++)
		PUSH(arena, copy.items, clause->items.at[i]);
	return copy;
}

/* As it is, and with as many numbers of each item as come before and with number `at`. */
static void add_numbers(Maker *m, const ScheduleClause *clause, uint32_t at)
{
	ScheduleClause first = copy_of(m->arena, clause);
	for (size_t i = 0; i < first.items.n; i++)
		first.items.at[i].n = first.items.at[i].n < at + 1 ? first.items.at[i].n : at + 1;
	add(m, TIER_NUMBERS, clause, &first);
}

static void change_number(Maker *m, const ScheduleClause *clause, size_t item, uint32_t at)
{
	int64_t n = clause->items.at[item].numbers[at];
	const int64_t others[] = {2 * n, n / 2};
	for (size_t i = 0; i < 2; i++) {
		ScheduleClause changed = copy_of(m->arena, clause);
		changed.items.at[item].numbers[at] = others[i];
		if (others[i] > 0)
			add_numbers(m, &changed, at);
	}
}

static void change_numbers(Maker *m, const ScheduleClause *clause)
{
	for (size_t i = 0; i < clause->items.n; i++)
		for (uint32_t k = 0; k < clause->items.at[i].n; k++)
			change_number(m, clause, i, k);
}

/* Rows and columns that leave no room for one more row: accumulators, a vector of each column and
 * one element of a row are in registers. */
static void change_tile(Maker *m, const ScheduleClause *clause)
{
	const Target *target = m->best->options.target;
	int64_t lanes = target->vector_bytes / 4;
	if (clause->items.n != 2 || !clause->items.at[0].n || !clause->items.at[1].n)
		return;
	for (int64_t v = 1; v <= VECTORS_MOST; v++)
		for (int64_t less = 0; less < ROWS_TRIED; less++) {
			int64_t rows = (target->registers - 1 - v) / v - less;
			ScheduleClause changed = copy_of(m->arena, clause);
			changed.items.at[0].numbers[0] = rows;
			changed.items.at[1].numbers[0] = v * lanes;
			if (rows > 0)
				add_numbers(m, &changed, 0);
		}
}

static Syms names_of(const Maker *m, Choice choice)
{
	const ScheduleEntry *entry = first_of(m);
	Syms names = {0};
	if (choice == CHOICE_PARALLEL)
		return entry_outer_loops(m->arena, m->best, entry);
	bool loops = words[choice].names == NAMES_LOOP;
	size_t n = loops ? entry->loops.n : entry->operands.n;
	for (size_t i = 0; i < n && words[choice].names != NAMES_KERNEL; i++)
		PUSH(m->arena, names, loops ? entry->loops.at[i] : entry->operands.at[i]);
	return names;
}

static void change_names(Maker *m, const ScheduleClause *clause)
{
	Syms names = names_of(m, clause->choice);
	for (size_t i = 0; i < clause->items.n; i++)
		for (size_t k = 0; k < names.n; k++) {
			ScheduleClause changed = copy_of(m->arena, clause);
			ScheduleItem *old = clause_item(&changed, names.at[k]);
			if (old == &changed.items.at[i])
				continue;
			if (old) /* the two change places */
				old->name = changed.items.at[i].name;
			changed.items.at[i].name = names.at[k];
			add(m, TIER_NAMES, &changed, &changed);
		}
}

static void change_clause(Maker *m, const ScheduleClause *clause)
{
	ScheduleClause off = {.choice = clause->choice, .off = true};
	if (clause->choice == CHOICE_TILE)
		change_tile(m, clause);
	change_numbers(m, clause);
	add(m, TIER_OFF, &off, &off);
	change_names(m, clause);
}

static void add_word(Maker *m, Choice choice)
{
	static const int64_t steps[] = {64, 256};
	ScheduleClause word = {.choice = choice};
	Syms names = names_of(m, choice);
	uint32_t any = (uint32_t)m->changes.n;
	add(m, TIER_WORD, &word, &word);
	for (size_t i = 0; i < names.n; i++) {
		size_t n = choice == CHOICE_BLOCK ? sizeof steps / sizeof *steps : 1;
		for (size_t k = 0; k < n; k++) {
			ScheduleClause named = {.choice = choice};
			clause_add(m->arena, &named, names.at[i], &steps[k],
				   choice == CHOICE_BLOCK);
			add(m, TIER_WORD_NAMES, &named, &named);
			m->changes.at[m->changes.n - 1].any =
				choice == CHOICE_BLOCK ? NO_CHANGE : any;
		}
	}
}

/* So many parts of a loop, and of another one; NULL: of one alone. */
static void add_parts(Maker *m, Sym name, Sym other, int64_t parts)
{
	ScheduleClause cut = {.choice = CHOICE_PARALLEL};
	clause_add(m->arena, &cut, name, &parts, 1);
	if (other)
		clause_add(m->arena, &cut, other, &parts, 1);
	add(m, TIER_NUMBERS, &cut, &cut);
}

/* One loop in as many parts as there are threads, twice and four times as many; two loops in as many each. */
static void add_cuts(Maker *m)
{
	Syms names = names_of(m, CHOICE_PARALLEL);
	for (size_t i = 0; i < names.n; i++) {
		for (int64_t times = 1; times <= PARTS_TIMES; times *= 2)
			add_parts(m, names.at[i], NULL, times * m->threads);
		for (size_t k = i + 1; k < names.n; k++)
			add_parts(m, names.at[i], names.at[k], m->threads);
	}
}

/* What counts with several threads alone, or says what a kernel is. */
static bool is_left(const Maker *m, Choice choice)
{
	return (choice == CHOICE_PARALLEL && m->threads == 1) || choice == CHOICE_NODE ||
	       choice == CHOICE_TEMPORARY;
}

static void change_group(Maker *m)
{
	const ScheduleEntry *entry = first_of(m);
	for (Choice choice = 0; choice < CHOICE_COUNT; choice++) {
		const ScheduleClause *clause = entry_clause(entry, choice);
		if (is_left(m, choice))
			continue;
		if (choice == CHOICE_PARALLEL)
			add_cuts(m);
		if (clause && !clause->off)
			change_clause(m, clause);
		else
			add_word(m, choice);
	}
}

/* ---- texts ---- */

static bool place_in(const Sym *at, size_t n, Sym name, size_t *place)
{
	return name && place_of(at, n, name, strlen(name), place);
}

/* The clause of the group's first member as one of another member. */
static ScheduleClause translated(Arena *arena, const Change *change, const ScheduleClause *clause,
				 const ScheduleEntry *to)
{
	const ScheduleEntry *from = change->group->members.at[0];
	ScheduleClause copy = copy_of(arena, clause);
	for (size_t i = 0; i < copy.items.n; i++) {
		ScheduleItem *item = &copy.items.at[i];
		size_t at;
		if (place_in(from->loops.at, from->loops.n, item->name, &at) && at < to->loops.n)
			item->name = to->loops.at[at];
		else if (place_in(from->operands.at, from->operands.n, item->name, &at) &&
			 at < to->operands.n)
			item->name = to->operands.at[at];
	}
	return copy;
}

static bool is_member(const Change *change, const ScheduleEntry *entry)
{
	for (size_t i = 0; i < change->group->members.n; i++)
		if (change->group->members.at[i] == entry)
			return true;
	return false;
}

static bool is_changed(const Change *change, const ScheduleEntry *entry)
{
	for (; change; change = change->also)
		if (is_member(change, entry))
			return true;
	return false;
}

/* The change of that word of the kernel; NULL: there is none. */
static const Change *change_of(const Change *change, const ScheduleEntry *entry, Choice choice)
{
	for (; change; change = change->also)
		if (change->clause.choice == choice && is_member(change, entry))
			return change;
	return NULL;
}

static void print_clause(FILE *out, Arena *arena, const ScheduleClause *clause,
			 const char **between)
{
	fprintf(out, "%s%s", *between, schedule_clause_text(arena, clause));
	*between = "; ";
}

/* Other loops may be cut for threads where the kernel has others. */
static ScheduleClause beside_change(Arena *arena, const ScheduleClause *clause)
{
	return clause->choice == CHOICE_PARALLEL && !clause->off
		       ? (ScheduleClause){.choice = CHOICE_PARALLEL}
		       : copy_of(arena, clause);
}

/* Every clause; what is off is so without a word. */
static const char *print_complete(FILE *out, Arena *arena, const ScheduleEntry *entry,
				  const Change *change)
{
	const char *between = " ";
	bool changed = is_changed(change, entry);
	fprintf(out, "%s:", entry->name);
	for (Choice choice = 0; choice < CHOICE_COUNT; choice++) {
		const ScheduleClause *made = entry_clause(entry, choice);
		const Change *of = change_of(change, entry, choice);
		ScheduleClause clause = of     ? translated(arena, of, &of->clause, entry)
					: made ? *made
					       : (ScheduleClause){.off = true};
		if (changed && !of)
			clause = beside_change(arena, &clause);
		if (!clause.off)
			print_clause(out, arena, &clause, &between);
	}
	return between;
}

static bool same_clause(Arena *arena, const ScheduleClause *a, const ScheduleClause *b)
{
	bool off = !a || a->off, other_off = !b || b->off;
	if (off || other_off)
		return off == other_off;
	return strcmp(schedule_clause_text(arena, a), schedule_clause_text(arena, b)) == 0;
}

/* Of another program: names are compared letter by letter. */
static const ScheduleEntry *entry_of(const Program *program, const char *name)
{
	const Schedule *made = program->made;
	for (size_t i = made->entries.n; i-- > 0;)
		if (strcmp(made->entries.at[i].name, name) == 0)
			return &made->entries.at[i];
	return NULL;
}

static void print_different(FILE *out, const Maker *m, const ScheduleEntry *entry,
			    const Change *change)
{
	const char *between = ": ";
	const ScheduleEntry *policy = entry_of(m->policy, entry->name);
	Text text = text_new();
	for (Choice choice = 0; choice < CHOICE_COUNT; choice++) {
		const ScheduleClause *made = entry_clause(entry, choice);
		const ScheduleClause *usual = policy ? entry_clause(policy, choice) : NULL;
		ScheduleClause clause =
			made ? *made : (ScheduleClause){.choice = choice, .off = true};
		const Change *of = change_of(change, entry, choice);
		if (of)
			clause = translated(m->arena, of, &of->first, entry);
		if (choice != CHOICE_NODE && (of || !same_clause(m->arena, made, usual)))
			print_clause(text.out, m->arena, &clause, &between);
	}
	const char *clauses = text_take(text, m->arena, NULL);
	if (*clauses)
		fprintf(out, "%s%s\n", entry->name, clauses);
}

/* Entries of one name, of kernels that are made alike, are one line. */
static bool is_told(const Schedule *made, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (made->entries.at[k].name == made->entries.at[i].name)
			return true;
	return false;
}

static bool changes_packing(const Change *change)
{
	for (; change; change = change->also)
		if (change->clause.choice == CHOICE_PREPACK)
			return true;
	return false;
}

static const char *text_of(const Maker *m, const Change *change, bool complete)
{
	Text text = text_new();
	const Schedule *made = m->best->made;
	for (size_t i = 0; i < made->entries.n; i++) {
		bool gone =
			changes_packing(change) && entry_is_before(m->best, &made->entries.at[i]);
		if (is_told(made, i) || gone)
			continue;
		if (complete) {
			print_complete(text.out, m->arena, &made->entries.at[i], change);
			fputc('\n', text.out);
		} else {
			print_different(text.out, m, &made->entries.at[i], change);
		}
	}
	return text_take(text, m->arena, NULL);
}

static const char *what_of(Arena *arena, const Change *change)
{
	enum { SHOWN = 3 };
	const char *names = "";
	size_t n = change->group->members.n;
	for (size_t i = 0; i < n && i < SHOWN; i++)
		names = arena_printf(arena, "%s%s%s", names, i ? ", " : "",
				     change->group->members.at[i]->name);
	if (n > SHOWN)
		names = arena_printf(arena, "%s and %zu more", names, n - SHOWN);
	names = arena_printf(arena, "%s: %s", names, schedule_clause_text(arena, &change->clause));
	return change->also ? arena_printf(arena, "%s; %s", names, what_of(arena, change->also))
			    : names;
}

static void put(const Maker *m, Candidates *out, const Change *change, uint32_t number)
{
	const char *what = what_of(m->arena, change);
	PUSH(m->arena, *out,
	     ((Candidate){what, text_of(m, change, false), false, number, change->any}));
	PUSH(m->arena, *out,
	     ((Candidate){what, text_of(m, change, true), true, number, change->any}));
}

static Maker maker_of(Arena *arena, const CandidatesFrom *from)
{
	Maker m = {.arena = arena, .policy = from->policy, .best = from->best};
	m.threads = from->threads;
	m.groups = groups_of(arena, from->best);
	for (size_t i = 0; i < m.groups.all.n; i++) {
		m.group = &m.groups.all.at[i];
		change_group(&m);
	}
	return m;
}

Candidates candidates_of(Arena *arena, const CandidatesFrom *from)
{
	Maker m = maker_of(arena, from);
	Candidates out = {0};
	for (int small = 0; small < 2; small++)
		for (Tier tier = 0; tier < TIERS; tier++)
			for (size_t i = 0; i < m.changes.n; i++)
				if (m.changes.at[i].small == small && m.changes.at[i].tier == tier)
					put(&m, &out, &m.changes.at[i], (uint32_t)i);
	return out;
}

Candidates candidates_pairs(Arena *arena, const CandidatesFrom *from, const uint32_t *changes,
			    size_t n)
{
	Maker m = maker_of(arena, from);
	Candidates out = {0};
	for (size_t last = 1; last < n; last++)
		for (size_t i = 0; i < last; i++) {
			const Change *a = &m.changes.at[changes[i]],
				     *b = &m.changes.at[changes[last]];
			Change both = *a;
			both.also = b;
			both.any = NO_CHANGE;
			if (a->group != b->group || a->clause.choice != b->clause.choice)
				put(&m, &out, &both, 0);
		}
	return out;
}

/* What the policy has and the kernel has not is off. */
static void print_off(FILE *out, const ScheduleEntry *entry, const ScheduleEntry *policy,
		      const char *between)
{
	for (size_t i = 0; policy && i < policy->clauses.n; i++) {
		Choice choice = policy->clauses.at[i].choice;
		const ScheduleClause *made = entry_clause(entry, choice);
		if ((made && !made->off) || choice == CHOICE_NODE)
			continue;
		fprintf(out, "%s%s off", between, words[choice].word);
		between = "; ";
	}
}

const char *candidates_whole(Arena *arena, const Program *policy, const Program *best)
{
	Text text = text_new();
	const Schedule *made = best->made;
	for (size_t i = 0; i < made->entries.n; i++) {
		const ScheduleEntry *entry = &made->entries.at[i];
		if (is_told(made, i))
			continue;
		const char *between = print_complete(text.out, arena, entry, NULL);
		if (policy)
			print_off(text.out, entry, entry_of(policy, entry->name), between);
		fputc('\n', text.out);
	}
	return text_take(text, arena, NULL);
}
