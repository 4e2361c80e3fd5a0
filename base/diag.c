/* Collects diagnostics and holds the table of codes. Repetitions (the same code, place and text)
 * are dropped, so that a fault met on several paths is reported once; after the limit of errors
 * further ones are dropped too. */
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/diag_print.h"
#include "base/trap.h"

typedef struct Row {
	const char *code;
	Severity severity;
	const char *name, *title, *text, *bad, *good;
} Row;

#define SEVERITY_OF_ERROR   SEVERITY_ERROR
#define SEVERITY_OF_WARNING SEVERITY_WARNING
static const Row rows[] = {
#define DIAG(code, severity, name, title, text, bad, good)                                         \
	{#code, SEVERITY_OF_##severity, name, title, text, bad, good},
#include "base/diag.def"
#undef DIAG
};

enum { DEFAULT_ERROR_LIMIT = 20, WARNING_LIMIT = 1000, FIRST_SEEN = 64, FILL = 90 };

void diag_options_init(DiagOptions *options)
{
	*options = (DiagOptions){.format = DIAG_TEXT, .error_limit = DEFAULT_ERROR_LIMIT};
	for (int code = 0; code < DIAG_COUNT; code++)
		options->on[code] = rows[code].severity == SEVERITY_WARNING;
}

void diags_init(Diags *ds, Arena *arena, const Sources *sources)
{
	*ds = (Diags){.arena = arena, .sources = sources};
	diag_options_init(&ds->options);
}

static Severity severity_of(const DiagOptions *options, DiagCode code)
{
	if (rows[code].severity == SEVERITY_ERROR)
		return SEVERITY_ERROR;
	bool error =
		options->on[code] == 2 || (options->on[code] == 1 && options->warnings_are_errors);
	return error ? SEVERITY_ERROR : SEVERITY_WARNING;
}

static uint64_t hash_of(const Diag *d)
{
	uint32_t key[4] = {(uint32_t)d->code, d->span.file, d->span.start, d->span.end};
	return XXH3_64bits_withSeed(d->text, strlen(d->text), XXH3_64bits(key, sizeof key));
}

static bool same(const Diag *a, const Diag *b)
{
	return a->code == b->code && a->span.file == b->span.file &&
	       a->span.start == b->span.start && a->span.end == b->span.end &&
	       strcmp(a->text, b->text) == 0;
}

/* The slot of the equal diagnostic, or the free one. */
static uint32_t *seen_slot(const Diags *ds, const Diag *d)
{
	for (uint64_t i = hash_of(d);; i++) {
		uint32_t *slot = &ds->seen[i & (ds->nseen - 1)];
		if (!*slot || same(&ds->list.at[*slot - 1], d))
			return slot;
	}
}

/* A table for `nseen` slots, from the list. */
static void index_seen(Diags *ds, size_t nseen)
{
	ds->nseen = nseen;
	ds->seen = ARENA_ARRAY(ds->arena, uint32_t, ds->nseen);
	for (size_t i = 0; i < ds->list.n; i++)
		*seen_slot(ds, &ds->list.at[i]) = (uint32_t)i + 1;
}

/* Is there room for one more of that severity? */
static bool within_limits(const Diags *ds, Severity severity)
{
	if (severity == SEVERITY_WARNING)
		return ds->nwarnings < WARNING_LIMIT;
	return ds->options.error_limit <= 0 || ds->nerrors < ds->options.error_limit;
}

static void count(Diags *ds, Severity severity)
{
	if (severity == SEVERITY_WARNING)
		ds->nwarnings++;
	else
		ds->nerrors++;
	if (!within_limits(ds, SEVERITY_ERROR))
		ds->overflow = true;
}

void diag(Diags *ds, DiagCode code, Span span, const char *fmt, ...)
{
	Diag d = {.code = code, .severity = severity_of(&ds->options, code), .span = span};
	ds->silent = (rows[code].severity == SEVERITY_WARNING && !ds->options.on[code]) ||
	             !within_limits(ds, d.severity);
	if (ds->silent)
		return;
	va_list args;
	va_start(args, fmt);
	d.text = arena_vprintf(ds->arena, fmt, args);
	va_end(args);
	if (2 * (ds->list.n + 1) > ds->nseen)
		index_seen(ds, ds->nseen ? 2 * ds->nseen : FIRST_SEEN);
	uint32_t *slot = seen_slot(ds, &d);
	ds->silent = *slot != 0;
	if (ds->silent)
		return;
	PUSH(ds->arena, ds->list, d);
	*slot = (uint32_t)ds->list.n;
	count(ds, d.severity);
}

static void attach(Diags *ds, DiagNote note, const char *fmt, va_list args)
{
	if (ds->silent || ds->list.n == 0)
		return;
	note.text = arena_vprintf(ds->arena, fmt, args);
	Diag *last = &ds->list.at[ds->list.n - 1];
	PUSH(ds->arena, last->notes, note);
}

void diag_note(Diags *ds, Span span, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	attach(ds, (DiagNote){.span = span}, fmt, args);
	va_end(args);
}

void diag_fix(Diags *ds, Span span, const char *replacement, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	const char *copy = arena_strndup(ds->arena, replacement, strlen(replacement));
	attach(ds, (DiagNote){.span = span, .replacement = copy}, fmt, args);
	va_end(args);
}

void diag_applied(Diags *ds, Span span, const char *function)
{
	diag_note(ds, span, "in '%s', applied here", function);
	if (!ds->silent && ds->list.n > 0) {
		Diag *last = &ds->list.at[ds->list.n - 1];
		last->notes.at[last->notes.n - 1].applied = function;
	}
}

/* The place where the file applies a function, and the one inside it, are exchanged. What notes said
 * of the former is left out. */
static void to_file(Diags *ds, Diag *d, uint32_t file)
{
	const DiagNote *at = NULL;
	for (size_t i = 0; i < d->notes.n && !at; i++)
		if (d->notes.at[i].applied && d->notes.at[i].span.file == file)
			at = &d->notes.at[i];
	if (!at || d->span.file == 0 || d->span.file == file)
		return;
	Span inside = d->span, outside = at->span;
	VEC(DiagNote) notes = {0};
	const char *text = arena_printf(ds->arena, "it is here inside '%s'", at->applied);
	PUSH(ds->arena, notes, ((DiagNote){.span = inside, .text = text}));
	for (size_t i = 0; i < d->notes.n; i++) {
		const DiagNote *note = &d->notes.at[i];
		if (note->replacement || memcmp(&note->span, &outside, sizeof outside) != 0)
			PUSH(ds->arena, notes, *note);
	}
	d->span = outside;
	d->notes.at = notes.at;
	d->notes.n = notes.n;
	d->notes.cap = notes.cap;
}

void diags_to_file(Diags *ds, uint32_t file)
{
	for (size_t i = 0; i < ds->list.n; i++)
		to_file(ds, &ds->list.at[i], file);
	if (ds->nseen > 0)
		index_seen(ds, ds->nseen);
}

void diag_rank(Diags *ds, uint64_t rank)
{
	if (!ds->silent && ds->list.n > 0)
		ds->list.at[ds->list.n - 1].rank = rank;
}

/* Insertion, which is stable: there are few that are ranked, and most are in order. */
void diags_sort(Diags *ds, size_t first)
{
	Diag *at = ds->list.at;
	for (size_t i = first + 1; i < ds->list.n; i++) {
		Diag moved = at[i];
		size_t k = i;
		for (; k > first && at[k - 1].rank > moved.rank; k--)
			at[k] = at[k - 1];
		at[k] = moved;
	}
	if (ds->nseen > 0)
		index_seen(ds, ds->nseen);
}

void diags_print(const Diags *ds, FILE *out)
{
	switch (ds->options.format) {
	case DIAG_TEXT: diags_print_text(ds, out); break;
	case DIAG_JSON: diags_print_json(ds, out); break;
	case DIAG_SARIF: diags_print_sarif(ds, out); break;
	}
}

const char *severity_name(Severity severity)
{
	static const char *const names[] = {"error", "warning", "note"};
	return names[severity];
}

const char *diag_code_name(DiagCode code)
{
	return rows[code].code;
}

const char *diag_code_title(DiagCode code)
{
	return rows[code].title;
}

const char *diag_code_text(DiagCode code)
{
	return rows[code].text;
}

Severity diag_code_severity(DiagCode code)
{
	return rows[code].severity;
}

/* Sets every warning of that name, or all for NULL; false when there is none of the name. */
static bool set_named(DiagOptions *options, const char *name, int value)
{
	bool found = name == NULL;
	for (int code = 0; code < DIAG_COUNT; code++) {
		if (rows[code].severity != SEVERITY_WARNING)
			continue;
		if (name && (!rows[code].name || strcmp(rows[code].name, name) != 0))
			continue;
		found = true;
		if (value != 1 || options->on[code] == 0) /* -WNAME keeps an earlier -Werror=NAME */
			options->on[code] = (signed char)value;
	}
	return found;
}

bool diag_set_warning(DiagOptions *options, const char *word)
{
	if (strncmp(word, "-W", 2) == 0)
		word += 2;
	if (strcmp(word, "all") == 0)
		return set_named(options, NULL, 1);
	if (strcmp(word, "no-all") == 0)
		return set_named(options, NULL, 0);
	if (strcmp(word, "error") == 0 || strcmp(word, "no-error") == 0) {
		options->warnings_are_errors = word[0] == 'e';
		return true;
	}
	if (strncmp(word, "error=", 6) == 0)
		return set_named(options, word + 6, 2);
	if (strncmp(word, "no-error=", 9) == 0)
		return set_named(options, word + 9, 3);
	if (strncmp(word, "no-", 3) == 0)
		return set_named(options, word + 3, 0);
	return set_named(options, word, 1);
}

/* Fills the lines of a text: its own line ends count as spaces, but for an empty line, which parts
 * paragraphs, and a line that starts with a space, which stays. */
static void print_filled(FILE *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t gap = strspn(text, " \n"), word = strcspn(text + gap, " \n");
		const char *line_end = memchr(text, '\n', gap);
		bool breaks = line_end && line_end + 1 < text + gap;
		if (breaks)
			fprintf(out, "%.*s", (int)gap, text);
		else if (column)
			fputc(column + 1 + word > FILL ? '\n' : ' ', out);
		column = breaks || column + 1 + word > FILL ? word : column + 1 + word;
		fprintf(out, "%.*s", (int)word, text + gap);
		text += gap + word;
	}
	fputc('\n', out);
}

static void print_indented(FILE *out, const char *head, const char *program)
{
	if (!program)
		return;
	fprintf(out, "\n%s\n\n", head);
	while (*program) {
		size_t len = strcspn(program, "\n");
		fprintf(out, "%s%.*s\n", len ? "    " : "", (int)len, program);
		program += len + (program[len] == '\n');
	}
}

bool diag_explain(FILE *out, const char *code)
{
	for (int i = 0; i < DIAG_COUNT; i++) {
		const Row *row = &rows[i];
		if (strcasecmp(row->code, code) != 0)
			continue;
		fprintf(out, "%s: %s\n\n", row->code, row->title);
		print_filled(out, row->text);
		if (row->name)
			fprintf(out,
				"\nThis warning is switched by -W%s, -Wno-%s and -Werror=%s.\n",
				row->name, row->name, row->name);
		print_indented(out, "A program that shows it:", row->bad);
		print_indented(out, "The same, mended:", row->good);
		return true;
	}
	return false;
}

void diag_list(FILE *out)
{
	for (int i = 0; i < DIAG_COUNT; i++)
		fprintf(out, "%s  %s\n", rows[i].code, rows[i].title);
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
	char text[sizeof((Failure *)0)->text];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	trap_fail(FAILURE_BUG, "%s:%d: %s", file, line, text);
}
