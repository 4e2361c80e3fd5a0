/* Edits of a specification in which each letter is an axis, though its words were meant as names: a comma
 * between words, "b from => b", or behind one, "b | from -> to => b | to", makes every word one axis. */
#include "grammar/edits.h"

#include <ctype.h>
#include <string.h>

enum { COST_WORDS = 4, COST_PAIR = 7, WORD_LEAST = 3 };

typedef struct Words {
	const char *text;     /* the specification with a comma between neighbouring words */
	uint32_t gaps;	      /* commas so put */
	uint32_t end, length; /* the first of the longest words ends there, relative to the text */
} Words;

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static Words words_of(Arena *arena, const char *from)
{
	char *to = arena_alloc(arena, 2 * strlen(from) + 1); /* a comma a letter at most */
	Words words = {.text = to};
	for (uint32_t at = 0; from[at];) {
		uint32_t start = at;
		while (is_letter(from[at]))
			at++;
		if (at - start > words.length)
			words = (Words){words.text, words.gaps, at, at - start};
		uint32_t end = at;
		while (from[at] && !is_letter(from[at]))
			at++;
		bool gap = end > start && at > end && is_letter(from[at]) &&
			   strspn(from + end, " \t\n") == at - end;
		words.gaps += gap;
		to = mempcpy(to, from + start, end - start);
		if (gap)
			*to++ = ',';
		to = mempcpy(to, from + end, at - end);
	}
	return words;
}

void edits_of_letters(Edits *e, const AstSpec *spec, uint32_t far)
{
	if (!spec->single_letters)
		return;
	Words words = words_of(e->arena, edit_text(e, spec->span));
	uint32_t at = spec->span.start + words.end;
	uint32_t cost = far + (words.length >= WORD_LEAST ? COST_WORDS : COST_PAIR);
	const char *why = "a ',' makes each word the name of one axis";
	if (words.length > 1 && words.gaps > 0)
		edit_add(e, cost, spec->span, words.text, why);
	else if (words.length > 1)
		edit_add(e, cost, (Span){spec->span.file, at, at}, ",", why);
}
