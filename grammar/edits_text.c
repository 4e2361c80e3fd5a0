/* Edits of a string that could not be read as a specification: a sign that is missing at the place,
 * first those that the string has elsewhere; each sign in it as another one, those near first. */
#include "grammar/edits.h"

#include <string.h>

enum { COST_SIGN = 4, COST_RARE = 6, REACH = 24 /* of signs on either side of the place */ };

/* The text between the quotes around the place, on its line; SPAN_NONE: it lies in no string. */
static Span string_around(const Edits *e, Span place)
{
	const Source *source = source_at(e->sources, place.file);
	uint32_t start = place.start, end = place.start;
	while (start > 0 && source->text[start - 1] != '"' && source->text[start - 1] != '\n')
		start--;
	while (end < source->len && source->text[end] != '"' && source->text[end] != '\n')
		end++;
	bool quoted = start > 0 && source->text[start - 1] == '"' && end < source->len &&
		      source->text[end] == '"';
	return quoted ? (Span){place.file, start, end} : SPAN_NONE;
}

static uint32_t distance(Span place, uint32_t at)
{
	return at < place.start ? place.start - at : at - place.start;
}

/* Before what stands at the place. */
static void missing(Edits *e, Span text)
{
	static const char *const signs[] = {"<+?", "<+", "=+?", "=+", "|",
					    "->",  ";",	 "=>",	",",  "^"};
	const char *all = edit_text(e, text);
	uint32_t at = e->places[0].start;
	bool has[sizeof signs / sizeof signs[0]];
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		has[i] = strstr(all, signs[i]) != NULL;
		if (i > 0 && strncmp(signs[i], signs[i - 1], 2) == 0) /* `<+?` holds `<+` */
			has[i] = has[i] && !has[i - 1];
		edit_add(e, has[i] ? COST_SIGN : COST_RARE, (Span){text.file, at, at},
			 arena_printf(e->arena, "%s ", signs[i]),
			 arena_printf(e->arena, "it would fit with '%s' here", signs[i]));
	}
}

void edits_of_text(Edits *e)
{
	static const char *const signs[] = {"=>", "->", ";", ",", "|"};
	enum { SIGNS = sizeof signs / sizeof signs[0] };
	Span place = e->places[0], text = string_around(e, place);
	const char *all = span_is_none(text) ? "" : edit_text(e, text);
	if (*all)
		missing(e, text);
	uint32_t n = 0;
	for (uint32_t i = 0; all[i] && n < REACH; i++)
		for (uint32_t k = 0; k < SIGNS; k++) {
			size_t len = strlen(signs[k]);
			if (strncmp(all + i, signs[k], len) != 0)
				continue;
			uint32_t at = text.start + i;
			for (uint32_t to = 0; to < SIGNS; to++)
				edit_add(e, COST_SIGN + distance(place, at) / 4,
					 (Span){text.file, at, at + (uint32_t)len}, signs[to],
					 arena_printf(e->arena, "it would fit with '%s' for '%s'",
						      signs[to], signs[k]));
			i += (uint32_t)len - 1;
			n++;
			break;
		}
}
