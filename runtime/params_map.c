/* From the text of a map to its lines, and from a line and a parameter's name to the name in the
 * file.
 *
 * A line is checked whole when it is read: its parts are there, its arrangement is one, and each
 * `{i+2}` of theirs has its `{i}` in ours. Invariant: what points into a line's text lives as long
 * as the map.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "runtime/params_map.h"
#include "runtime/session.h"

enum { MOST_NUMBERS = 4, MOST_LETTERS = 8, MOST_DIGITS = 9, LINE_BYTES = 1024 };

/* `{i}` or `{i+2}`; end is behind the brace. */
typedef struct Hole {
	char letters[MOST_LETTERS];
	int plus;
	const char *end;
} Hole;

typedef struct Numbers {
	char letters[MOST_NUMBERS][MOST_LETTERS];
	int values[MOST_NUMBERS];
	int n;
} Numbers;

/* ---- numbered names ---- */

static const char *read_number(const char *at, int *value)
{
	const char *start = at;
	for (*value = 0; isdigit((unsigned char)*at) && at - start < MOST_DIGITS; at++)
		*value = 10 * *value + (*at - '0');
	return at > start && !isdigit((unsigned char)*at) ? at : NULL;
}

static bool read_hole(const char *at, Hole *hole)
{
	size_t len = 0;
	for (at++; isalpha((unsigned char)*at) && len + 1 < sizeof hole->letters; at++)
		hole->letters[len++] = *at;
	hole->letters[len] = '\0';
	hole->plus = 0;
	if (*at == '+' && !(at = read_number(at + 1, &hole->plus)))
		return false;
	hole->end = at + 1;
	return len > 0 && *at == '}';
}

static int *find_number(Numbers *numbers, const Hole *hole)
{
	for (int i = 0; i < numbers->n; i++)
		if (strcmp(numbers->letters[i], hole->letters) == 0)
			return &numbers->values[i];
	return NULL;
}

static int *add_number(Numbers *numbers, const Hole *hole)
{
	if (numbers->n == MOST_NUMBERS)
		return NULL;
	memcpy(numbers->letters[numbers->n], hole->letters, sizeof hole->letters);
	numbers->values[numbers->n] = 0;
	return &numbers->values[numbers->n++];
}

/* Every hole of the pattern, which is one of ours, takes a number of the name. */
static bool match(const char *pattern, const char *name, Numbers *numbers)
{
	Hole hole;
	int value, *known;
	for (; *pattern != '{'; pattern++, name++) {
		if (*pattern != *name)
			return false;
		if (*pattern == '\0')
			return true;
	}
	if (!read_hole(pattern, &hole) || !(name = read_number(name, &value)))
		return false;
	known = find_number(numbers, &hole);
	if (!known && (known = add_number(numbers, &hole)))
		*known = value;
	return known && *known == value && match(hole.end, name, numbers);
}

/* Without numbers in ours the name in the file is what is written, braces and all. */
static bool fill(const char *pattern, Numbers *numbers, char theirs[MAP_NAME_BYTES])
{
	size_t used = 0;
	Hole hole;
	while (*pattern && used < MAP_NAME_BYTES - 1) {
		if (numbers->n == 0 || *pattern != '{') {
			theirs[used++] = *pattern++;
			continue;
		}
		int *value = read_hole(pattern, &hole) ? find_number(numbers, &hole) : NULL;
		if (!value)
			return false;
		used += (size_t)snprintf(theirs + used, MAP_NAME_BYTES - used, "%lld",
					 (long long)*value + hole.plus);
		pattern = hole.end;
	}
	if (used >= MAP_NAME_BYTES)
		return false;
	theirs[used] = '\0';
	return *pattern == '\0';
}

bool map_line_matches(const MapLine *line, const char *name, char theirs[MAP_NAME_BYTES])
{
	Numbers numbers = {.n = 0};
	return match(line->ours, name, &numbers) && fill(line->theirs, &numbers, theirs);
}

/* ---- lines ---- */

static bool check_numbers(const MapLine *line, ArrayError *why)
{
	Numbers numbers = {.n = 0};
	Hole hole;
	char theirs[MAP_NAME_BYTES];
	for (const char *at = strchr(line->ours, '{'); at; at = strchr(hole.end, '{'))
		if (!read_hole(at, &hole) || hole.plus != 0 ||
		    (!find_number(&numbers, &hole) && !add_number(&numbers, &hole)))
			return array_fail(why, "a number in '%.100s' is written {i}", line->ours);
	return fill(line->theirs, &numbers, theirs) ||
	       array_fail(why, "a number in '%.100s' is {i} or {i+2}, and {i} stands in '%.100s'",
			  line->theirs, line->ours);
}

static char *cut_word(char **at)
{
	char *word = *at + strspn(*at, " \t\r");
	*at = word + strcspn(word, " \t\r");
	if (**at)
		*(*at)++ = '\0';
	return word;
}

/* Takes the line's text apart, in place; *prefix is the text's own after a line that says one. */
static bool parse_line(MapLine *line, const char **prefix, ArrayError *why)
{
	Arrangement how;
	ArrayError inner;
	char *equals = strchr(line->text, '='), *at = line->text;
	if (!equals) {
		const char *keyword = cut_word(&at);
		*prefix = cut_word(&at);
		return (strcmp(keyword, "prefix") == 0 && **prefix && !*cut_word(&at)) ||
		       array_fail(why, "expected `ours = theirs [axes]`");
	}
	*equals = '\0';
	char *behind = equals + 1;
	line->ours = cut_word(&at);
	line->theirs = cut_word(&behind);
	line->axes = behind[strspn(behind, " \t\r,[]()")] ? behind : NULL;
	if (!*line->ours || at[strspn(at, " \t\r")] || !*line->theirs || *line->theirs == '=' ||
	    strlen(line->ours) >= MAP_NAME_BYTES || strlen(line->theirs) >= MAP_NAME_BYTES)
		return array_fail(why, "expected `ours = theirs [axes]`");
	if (line->axes && !arrangement_parse(line->axes, &how, &inner))
		return array_fail(why, "in the axes: %.200s", inner.text);
	return check_numbers(line, why);
}

static bool add_line(ParamsMap *map, MapLine line, ArrayError *why)
{
	if (map->n == map->room) {
		int room = map->room ? 2 * map->room : 64;
		MapLine *lines = realloc(map->lines, (size_t)room * sizeof *lines);
		if (!lines || room > MAP_LINES_MAX) {
			map->lines = lines ? lines : map->lines;
			return array_fail(why,
					  lines ? "a map has at most %d lines" : "out of memory",
					  MAP_LINES_MAX);
		}
		map->lines = lines;
		map->room = room;
	}
	map->lines[map->n++] = line;
	return true;
}

/* Every line that says something is kept, a prefix for those that point at it. */
static bool read_lines(FILE *in, ParamsMap *map, int *number, ArrayError *why)
{
	char text[LINE_BYTES];
	const char *prefix = "";
	while (fgets(text, sizeof text, in)) {
		++*number;
		if (strlen(text) + 1 == sizeof text && text[sizeof text - 2] != '\n')
			return array_fail(why, "the line has more than %d bytes", LINE_BYTES - 2);
		text[strcspn(text, "#\n")] = '\0';
		if (text[strspn(text, " \t\r")] == '\0')
			continue;
		MapLine line = {.number = *number, .prefix = prefix, .text = strdup(text)};
		if (!line.text)
			return array_fail(why, "out of memory");
		if (!add_line(map, line, why)) {
			free(line.text);
			return false;
		}
		if (!parse_line(&map->lines[map->n - 1], &prefix, why))
			return false;
	}
	return true;
}

int params_map_read(const char *path, ParamsMap *map, tsr_error *error)
{
	int number = 0;
	ArrayError why;
	const char *closed;
	*map = (ParamsMap){0};
	FILE *in = file_open(path, &closed);
	if (!in)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, closed);
	bool ok = read_lines(in, map, &number, &why);
	fclose(in);
	return ok ? TSR_OK
		  : session_fail(error, TSR_FAIL_FILE, "%s:%d: %s", path, number, why.text);
}

void params_map_free(ParamsMap *map)
{
	for (int i = 0; i < map->n; i++)
		free(map->lines[i].text);
	free(map->lines);
	*map = (ParamsMap){0};
}
