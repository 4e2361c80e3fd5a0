/* Bytes of a .sched file to the table of what is asked; the grammar is at the head of schedule.h.
 * One pass without look-ahead; after an error the rest of the line is skipped. */
#include <ctype.h>
#include <stb/stb_ds.h>
#include <string.h>

#include "schedule/schedule.h"

enum { ITEMS_MAX = 64, NUMBER_MAX = 1 << 30 };

typedef struct Reader {
	Schedule *schedule;
	Symbols *symbols;
	Diags *diags;
	uint32_t file;
	const char *start, *at, *end;
} Reader;

static Span span_from(const Reader *r, const char *from)
{
	return (Span){r->file, (uint32_t)(from - r->start), (uint32_t)(r->at - r->start)};
}

static void skip_space(Reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
	if (r->at < r->end && *r->at == '#')
		while (r->at < r->end && *r->at != '\n')
			r->at++;
}

static bool take_char(Reader *r, char c)
{
	skip_space(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static bool at_name(Reader *r)
{
	skip_space(r);
	return r->at < r->end &&
	       (*r->at == '@' || (is_word(*r->at) && !isdigit((unsigned char)*r->at)));
}

static bool at_number(Reader *r)
{
	skip_space(r);
	return r->at < r->end && isdigit((unsigned char)*r->at);
}

static Sym take_name(Reader *r)
{
	const char *from = r->at++;
	while (r->at < r->end && (is_word(*r->at) || *r->at == '.'))
		r->at++;
	return sym_intern(r->symbols, from, (size_t)(r->at - from));
}

/* Shows what stands there, and goes to the end of the line. */
static bool fail(Reader *r, const char *wanted)
{
	skip_space(r);
	const char *from = r->at;
	r->at += r->at < r->end && *r->at != '\n';
	while (r->at < r->end && is_word(*r->at) && is_word(r->at[-1]))
		r->at++;
	diag(r->diags, E0605, span_from(r, from), "expected %s", wanted);
	while (r->at < r->end && *r->at != '\n')
		r->at++;
	return false;
}

/* A margin alone may be 0. */
static bool take_numbers(Reader *r, Choice choice, ScheduleItem *item)
{
	int64_t least = choice == CHOICE_HALO ? 0 : 1;
	while (at_number(r)) {
		int64_t n = 0;
		if (item->n == ITEM_NUMBERS)
			return fail(r, "fewer numbers");
		for (; r->at < r->end && isdigit((unsigned char)*r->at); r->at++)
			n = n > NUMBER_MAX ? n : n * 10 + (*r->at - '0');
		if (n < least || n > NUMBER_MAX)
			return fail(r, least ? "a number from 1 to 2^30 before this"
					     : "a number from 0 to 2^30 before this");
		item->numbers[item->n++] = n;
	}
	return true;
}

static bool take_items(Reader *r, ScheduleClause *clause)
{
	do {
		ScheduleItem item = {0};
		if (clause->items.n == ITEMS_MAX)
			return fail(r, "fewer loops");
		if (at_name(r))
			item.name = take_name(r);
		else if (!at_number(r))
			return fail(r, "a name or a number");
		if (!take_numbers(r, clause->choice, &item))
			return false;
		clause->off |= item.name && strcmp(item.name, "off") == 0;
		PUSH(r->schedule->arena, clause->items, item);
	} while (take_char(r, ','));
	if (clause->off && clause->items.n > 1)
		return fail(r, "nothing after 'off'");
	clause->items.n = clause->off ? 0 : clause->items.n;
	return true;
}

static bool find_choice(const char *word, Choice *choice)
{
	static const char *const words[] = {
#define CHOICE(id, text, names, example, meaning, needs) text,
#include "schedule/schedule.def"
#undef CHOICE
	};
	for (*choice = 0; *choice < CHOICE_COUNT; (*choice)++)
		if (strcmp(words[*choice], word) == 0)
			return true;
	return false;
}

static bool take_clause(Reader *r, ScheduleEntry *entry)
{
	static const char wanted[] = "one of"
#define CHOICE(id, word, names, example, meaning, needs) " '" word "'"
#include "schedule/schedule.def"
#undef CHOICE
		;
	ScheduleClause clause = {0};
	skip_space(r);
	const char *from = r->at;
	if (!at_name(r) || !find_choice(take_name(r), &clause.choice)) {
		r->at = from;
		return fail(r, wanted);
	}
	if ((at_name(r) || at_number(r)) && !take_items(r, &clause))
		return false;
	clause.span = span_from(r, from);
	if (entry_clause(entry, clause.choice)) {
		r->at = from;
		return fail(r, "each word once for a kernel");
	}
	PUSH(r->schedule->arena, entry->clauses, clause);
	return true;
}

/* The entry of the name, a new one where it is the first of that name. */
static ScheduleEntry *open_entry(Reader *r, Sym name, Span span)
{
	Schedule *schedule = r->schedule;
	ptrdiff_t i = hmgeti(schedule->index, name);
	if (i < 0) {
		hmput(schedule->index, name, (uint32_t)schedule->entries.n);
		PUSH(schedule->arena, schedule->entries,
		     ((ScheduleEntry){.name = name, .span = span}));
		return &schedule->entries.at[schedule->entries.n - 1];
	}
	return &schedule->entries.at[schedule->index[i].value];
}

static bool take_line(Reader *r)
{
	if (!at_name(r))
		return fail(r, "the name of a kernel, or @LINE");
	const char *from = r->at;
	Sym name = take_name(r);
	ScheduleEntry *entry = open_entry(r, name, span_from(r, from));
	if (!take_char(r, ':'))
		return fail(r, "':' after the name of a kernel");
	if (at_name(r))
		do {
			if (!take_clause(r, entry))
				return false;
		} while (take_char(r, ';'));
	skip_space(r);
	return r->at == r->end || *r->at == '\n' || fail(r, "';' or the end of the line");
}

Schedule *schedule_parse(Sources *sources, Symbols *symbols, Diags *diags, uint32_t file,
			 uint32_t program, Arena *arena)
{
	const Source *source = source_at(sources, file);
	Schedule *schedule = ARENA_NEW(arena, Schedule);
	*schedule = (Schedule){.arena = arena, .file = program};
	Reader r = {.schedule = schedule, .symbols = symbols, .diags = diags, .file = file};
	r.start = r.at = source->text;
	r.end = source->text + source->len;
	while (r.at < r.end && !diags->overflow) {
		skip_space(&r);
		if (r.at < r.end && *r.at != '\n')
			take_line(&r);
		r.at += r.at < r.end;
	}
	return schedule;
}
