/* Clauses are drawn in the form of the example that schedule.def gives of their word: so many items, so
 * many numbers each, now and then one more or fewer. Names are those of the kernel, mostly.
 */
#include "test/fuzz/draw.h"

#include <ctype.h>
#include <string.h>

#include "base/held.h"

typedef enum Names { NAMES_LOOP, NAMES_OPERAND, NAMES_KERNEL } Names;
static const struct {
	const char *word;
	Names names;
	const char *example;
} words[] = {
#define CHOICE(id, word, names, example, meaning, needs) {word, NAMES_##names, example},
#include "schedule/schedule.def"
#undef CHOICE
};

static const int64_t numbers[] = {0,  1,  1,  2,  2,  3,  4,  4,  5,  6,   7,	 8,	 8,
				  12, 16, 16, 24, 31, 32, 48, 63, 64, 100, 1000, 1 << 30};

typedef struct Draw {
	Arena *arena;
	Choices *choices;
	const Program *program;
	const int64_t *made;
	bool whole; /* with the clauses that the program has */
	DrawnSchedule drawn;
} Draw;

enum { CANDIDATES = 6 };
#define PICKED(d, list) ((list)[choose((d)->choices, sizeof(list) / sizeof *(list))])

const char *choice_word(Choice choice) { return words[choice].word; }

/* ---- clauses ---- */

static const ScheduleEntry *any_entry(Draw *d)
{
	const Schedule *made = d->program->made;
	return &made->entries.at[choose(d->choices, (uint32_t)made->entries.n)];
}

/* Any name that a clause of the word can have there; "none" where there is no such name. */
static Sym any_name(Draw *d, const ScheduleEntry *entry, Choice choice)
{
	const ScheduleEntry *of = chance(d->choices, 20) ? any_entry(d) : entry;
	Names names = words[choice].names;
	if (names == NAMES_KERNEL)
		return any_entry(d)->name;
	size_t n = names == NAMES_LOOP ? of->loops.n : of->operands.n;
	if (n == 0)
		return sym_intern(d->program->symbols, "none", 4);
	const Sym *at = names == NAMES_LOOP ? of->loops.at : of->operands.at;
	return at[choose(d->choices, (uint32_t)n)];
}

static void draw_item(Draw *d, ScheduleClause *clause, Sym name, uint32_t n)
{
	int64_t drawn[ITEM_NUMBERS];
	n += chance(d->choices, 8) && n + 1 < ITEM_NUMBERS;
	n -= n > 0 && chance(d->choices, 6);
	n = name || n > 0 ? n : 1;
	for (uint32_t i = 0; i < n; i++)
		drawn[i] = PICKED(d, numbers);
	clause_add(d->arena, clause, name, drawn, n);
}

/* As many numbers as stand there behind a name. */
static uint32_t count_numbers(const char **at)
{
	uint32_t n = 0;
	for (; **at && **at != ','; ++*at)
		n += isdigit((unsigned char)**at) && (*at)[-1] == ' ';
	*at += **at == ',';
	return n;
}

/* Each loop once, in any order. */
static void draw_order(Draw *d, const ScheduleEntry *entry, ScheduleClause *clause)
{
	for (size_t i = 0; i < entry->loops.n; i++)
		clause_add(d->arena, clause, entry->loops.at[i], NULL, 0);
	for (size_t i = clause->items.n; i > 1; i--) {
		size_t k = choose(d->choices, (uint32_t)i);
		ScheduleItem item = clause->items.at[k];
		clause->items.at[k] = clause->items.at[i - 1];
		clause->items.at[i - 1] = item;
	}
}

static ScheduleClause draw_new(Draw *d, const ScheduleEntry *entry, Choice choice)
{
	ScheduleClause clause = {.choice = choice};
	const char *at = words[choice].example + strlen(words[choice].word);
	if (chance(d->choices, 2))
		return clause;
	if (choice == CHOICE_ORDER)
		draw_order(d, entry, &clause);
	bool named = choice != CHOICE_NODE;
	while (choice != CHOICE_ORDER && *at && (clause.items.n == 0 || !chance(d->choices, 8))) {
		uint32_t n = count_numbers(&at);
		draw_item(d, &clause, named ? any_name(d, entry, choice) : NULL, n);
	}
	return clause;
}

/* As it was made, with other names or numbers, or fewer. */
static ScheduleClause draw_changed(Draw *d, const ScheduleEntry *entry, const ScheduleClause *made)
{
	ScheduleClause clause = {.choice = made->choice};
	for (size_t i = 0; i < made->items.n; i++) {
		ScheduleItem item = made->items.at[i];
		if (item.name && chance(d->choices, 6))
			item.name = any_name(d, entry, made->choice);
		for (uint32_t k = 0; k < item.n; k++)
			item.numbers[k] =
				chance(d->choices, 3) ? PICKED(d, numbers) : item.numbers[k];
		item.n -= item.n > 1 && chance(d->choices, 2) ? choose(d->choices, item.n) : 0;
		PUSH(d->arena, clause.items, item);
		if (chance(d->choices, 8))
			break;
	}
	return clause;
}

/* A kernel with a word that it has; NULL: one with none was drawn. */
static const ScheduleEntry *any_made(Draw *d, Choice *choice)
{
	const ScheduleEntry *entry = any_entry(d);
	uint32_t n = (uint32_t)entry->clauses.n;
	*choice = n ? entry->clauses.at[choose(d->choices, n)].choice : 0;
	return n ? entry : NULL;
}

/* Any word; of two half of the time the one that was made less often. */
static Choice new_word(Draw *d)
{
	Choice one = (Choice)choose(d->choices, CHOICE_COUNT),
	       other = (Choice)choose(d->choices, CHOICE_COUNT);
	bool rarer = d->made && d->made[other] < d->made[one];
	return rarer && chance(d->choices, 2) ? other : one;
}

/* A kernel and a word: often one that it has, of a few the one that was made least. */
static const ScheduleEntry *any_word(Draw *d, Choice *choice)
{
	const ScheduleEntry *entry = NULL;
	*choice = new_word(d);
	if (chance(d->choices, 3))
		return any_entry(d);
	for (int i = 0; i < CANDIDATES; i++) {
		Choice other;
		const ScheduleEntry *of = any_made(d, &other);
		bool rarer = of && (!entry || (d->made && d->made[other] < d->made[*choice]));
		*choice = rarer ? other : *choice;
		entry = rarer ? of : entry;
	}
	return entry ? entry : any_entry(d);
}

static ScheduleClause draw_clause(Draw *d, const ScheduleEntry *entry, Choice choice)
{
	const ScheduleClause *made = entry_clause(entry, choice);
	bool on = asks_on(made);
	if (chance(d->choices, on ? 4 : 12))
		return (ScheduleClause){.choice = choice, .off = true};
	return on && !chance(d->choices, 4) ? draw_changed(d, entry, made)
					    : draw_new(d, entry, choice);
}

/* ---- texts ---- */

static const ScheduleClause *drawn_clause(const Draw *d, Sym kernel, Choice choice)
{
	for (size_t i = 0; i < d->drawn.clauses.n; i++) {
		const DrawnClause *of = &d->drawn.clauses.at[i];
		if (of->kernel == kernel && of->clause.choice == choice)
			return &of->clause;
	}
	return NULL;
}

static bool is_drawn(const Draw *d, Sym kernel)
{
	for (size_t i = 0; i < d->drawn.clauses.n; i++)
		if (d->drawn.clauses.at[i].kernel == kernel)
			return true;
	return false;
}

/* Of a kernel that has another clause now some of the others go. */
static void print_entry(Draw *d, FILE *out, const ScheduleEntry *entry)
{
	const char *between = " ";
	bool drawn = is_drawn(d, entry->name);
	fprintf(out, "%s:", entry->name);
	for (Choice choice = 0; choice < CHOICE_COUNT; choice++) {
		const ScheduleClause *clause = drawn_clause(d, entry->name, choice);
		if (!clause && d->whole && !(drawn && chance(d->choices, 4)))
			clause = entry_clause(entry, choice);
		if (!clause)
			continue;
		fprintf(out, "%s%s", between, schedule_clause_text(d->arena, clause));
		between = "; ";
	}
	fputc('\n', out);
}

/* Entries of one name are one line. */
static bool is_told(const Schedule *made, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (made->entries.at[k].name == made->entries.at[i].name)
			return true;
	return false;
}

DrawnSchedule schedule_draw(Arena *arena, Choices *choices, const Program *program,
			    const int64_t *made_before)
{
	Draw d = {.arena = arena, .choices = choices, .program = program, .made = made_before};
	const Schedule *made = program->made;
	d.drawn.complete = chance(choices, 2);
	d.whole = d.drawn.complete || chance(choices, 3);
	for (uint32_t n = made->entries.n ? 1 + choose(choices, 2) * choose(choices, 3) : 0; n > 0; n--) {
		Choice choice;
		const ScheduleEntry *entry = any_word(&d, &choice);
		if (drawn_clause(&d, entry->name, choice))
			continue;
		DrawnClause drawn = {entry->name, draw_clause(&d, entry, choice)};
		PUSH(arena, d.drawn.clauses, drawn);
	}
	Text text = text_new();
	for (size_t i = 0; i < made->entries.n; i++)
		if (!is_told(made, i))
			print_entry(&d, text.out, &made->entries.at[i]);
	d.drawn.text = text_take(text, arena, NULL);
	return d.drawn;
}

/* ---- what was made ---- */

static bool same_item(const ScheduleItem *asked, const ScheduleItem *made)
{
	bool same = (!asked->name || !made->name) ? asked->name == made->name
						  : strcmp(asked->name, made->name) == 0;
	for (uint32_t i = 0; i < asked->n; i++)
		same = same && i < made->n && asked->numbers[i] == made->numbers[i];
	return same;
}

static bool same_clause(const ScheduleClause *asked, const ScheduleClause *made)
{
	bool on = made && !made->off;
	if (asked->off || !on)
		return asked->off == !on;
	bool same = asked->items.n == 0 || asked->items.n == made->items.n;
	for (size_t i = 0; same && i < asked->items.n; i++)
		same = same_item(&asked->items.at[i], &made->items.at[i]);
	return same;
}

bool drawn_is_made(const DrawnClause *drawn, const Program *program)
{
	const Schedule *made = program->made;
	for (size_t i = 0; i < made->entries.n; i++) {
		const ScheduleEntry *entry = &made->entries.at[i];
		if (strcmp(entry->name, drawn->kernel) == 0 &&
		    same_clause(&drawn->clause, entry_clause(entry, drawn->clause.choice)))
			return true;
	}
	return false;
}
