/* Edits of a string that could not be read as a specification: each sign in it as another one,
 * those near the place first. */
#include "grammar/edits.h"

#include <string.h>

enum { COST_SIGN = 4, REACH = 24 /* of signs on either side of the place */ };

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

void edits_of_text(Edits *e)
{
	static const char *const signs[] = {"=>", "->", ";", ",", "|"};
	enum { SIGNS = sizeof signs / sizeof signs[0] };
	Span place = e->places[0], text = string_around(e, place);
	const char *all = span_is_none(text) ? "" : edit_text(e, text);
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
