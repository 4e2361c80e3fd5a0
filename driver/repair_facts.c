/* What is known of a message whose repairs are looked for: its places, and the sizes and names that
 * it says. They are read from its text, which is what people read too.
 */
#include <ctype.h>
#include <string.h>

#include "driver/repair.h"

enum { SIZES = 6, PLACES = 16 };

static void collect_places(const Session *s, const Diag *d, Edits *e)
{
	Span *places = ARENA_ARRAY(e->arena, Span, PLACES);
	e->places = places;
	places[e->nplaces++] = d->span;
	for (size_t i = 0; i < d->notes.n && e->nplaces < PLACES; i++)
		if (!d->notes.at[i].replacement && d->notes.at[i].span.file == s->file)
			places[e->nplaces++] = d->notes.at[i].span;
}

static bool said(const Edits *e, const char *size)
{
	for (uint32_t i = 0; i < e->nsizes; i++)
		if (strcmp(e->sizes[i], size) == 0)
			return true;
	return false;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* "input axis 1", "2 output axes" count; they are no sizes. */
static bool counts(const char *before, const char *after)
{
	static const char *const words[] = {"axis",  "axes",	"input",       "output",
					    "batch", "operand", "broadcasting"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(before, words[i]) == 0 ||
		    strncmp(after, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

static bool is_operator(char c) { return c != '\0' && strchr("+-", c) != NULL; }

/* Is what ends, or starts, there a part of a size such as `n + 5`? */
static bool is_part(const char *text, const char *start, const char *end)
{
	while (start > text && start[-1] == ' ')
		start--;
	return (start > text && is_operator(start[-1])) || is_operator(end[strspn(end, " ")]);
}

static void add_size(Edits *e, const char **sizes, const char *size)
{
	if (*size && !said(e, size) && e->nsizes < SIZES)
		sizes[e->nsizes++] = size;
}

/* The numbers in a text, as sizes that something may have been meant to have; those in larger sizes
 * are differences. */
static void collect_sizes(Edits *e, const char **sizes, const char *text)
{
	const char *before = "", *at = text;
	while (*at) {
		size_t n = strspn(at, letters);
		const char *word = arena_strndup(e->arena, at, n), *end = at + n;
		if (n > 0 && isdigit((unsigned char)*word)) {
			if (is_part(text, at, end))
				e->differences |= n == 1 ? 1U << (*word - '0') : 0;
			else if (!counts(before, end + strspn(end, " ")))
				add_size(e, sizes, word);
		}
		before = n > 0 ? word : before;
		at = end + (n == 0);
	}
}

/* A size that comes from a place: as it is said, and the name that stands there. */
static void collect_origin(Edits *e, const char **sizes, const char *text, Span place)
{
	const char *word = edit_text(e, place), *end = strstr(text, " comes from here");
	if (!end)
		return;
	add_size(e, sizes, arena_strndup(e->arena, text, (size_t)(end - text)));
	if (strspn(word, letters) == strlen(word))
		add_size(e, sizes, word);
}

/* Is it the name of something that the file declares? */
static bool is_declared(const Edits *e, const char *name)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		for (uint32_t k = 0; k < e->file->stmts[i].nnames + 1; k++) {
			const AstStmt *stmt = &e->file->stmts[i];
			Sym sym = k < stmt->nnames ? stmt->names[k].sym : stmt->name.sym;
			if (sym && strcmp(sym, name) == 0)
				return true;
		}
	return false;
}

/* The names in quotes, of letters. */
static void collect_names(Edits *e, const char **names, const char *text)
{
	for (const char *at = strchr(text, '\''); at && e->nnames < SIZES; at = strchr(at, '\'')) {
		size_t n = strspn(++at, letters);
		const char *name = arena_strndup(e->arena, at, n);
		if (n > 0 && at[n] == '\'' && !isdigit((unsigned char)*at) && !is_declared(e, name))
			names[e->nnames++] = name;
		at += n + (at[n] == '\'');
	}
}

bool repair_is_inside(Span span, Span all)
{
	return span.file == all.file && all.start <= span.start && span.end <= all.end;
}

Span repair_statement(const Session *s, const Diag *d)
{
	for (uint32_t i = 0; i < s->ast->nstmts; i++) {
		Span all = s->ast->stmts[i].span;
		if (repair_is_inside(d->span, all))
			return all;
	}
	return d->span;
}

/* A name that is an axis of a specification alone; window letters of the statement without a
 * size. */
static void collect_with(const Session *s, const Diag *d, Edits *e)
{
	bool window = d->code == E0308;
	Span all = repair_statement(s, d);
	bool axis = d->code == E0201 && d->notes.n > 0 && strstr(d->notes.at[0].text, "'with (");
	if (axis && e->nnames > 0)
		e->with = e->names[0];
	for (size_t i = 0; window && i < s->diags.list.n; i++) {
		const Diag *other = &s->diags.list.at[i];
		const char *from = strchr(other->text, '\''),
			   *to = from ? strchr(from + 1, '\'') : NULL;
		if (other->code == E0308 && to && repair_is_inside(other->span, all))
			e->with = arena_printf(e->arena, "%s%s%.*s = 3", e->with ? e->with : "",
					       e->with ? ", " : "", (int)(to - from - 1), from + 1);
	}
}

void repair_facts(const Session *s, const Diag *d, Edits *e)
{
	const char **sizes = ARENA_ARRAY(e->arena, const char *, SIZES);
	const char **names = ARENA_ARRAY(e->arena, const char *, SIZES);
	e->sizes = sizes;
	e->names = names;
	collect_places(s, d, e);
	collect_sizes(e, sizes, d->text);
	e->nmain = e->nsizes;
	collect_names(e, names, d->text);
	collect_with(s, d, e);
	for (size_t i = 0; i < d->notes.n; i++)
		if (!d->notes.at[i].replacement) {
			collect_sizes(e, sizes, d->notes.at[i].text);
			collect_origin(e, sizes, d->notes.at[i].text, d->notes.at[i].span);
		}
}
