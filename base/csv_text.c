/* Lines and fields of a table. A quotation mark opens a quoted text where it begins a field, and nowhere else, so that 5" is one. */
#include "base/csv_text.h"

static bool is_delimiter(char c, char delimiter)
{
	return delimiter ? c == delimiter : c == ',' || c == ';' || c == '\t';
}

static bool ends_line(char c) { return c == '\r' || c == '\n'; }

/* Behind the quoted text that begins at `at`; the end where it is not closed. */
static const char *skip_quoted(const char *at, const char *end, bool *open)
{
	for (at++; at < end; at++) {
		if (*at != '"')
			continue;
		if (at + 1 == end || at[1] != '"')
			return at + 1;
		at++;
	}
	*open = true;
	return end;
}

/* The delimiter behind the field, what ends the line, or the end. */
static const char *skip_field(const char *at, const char *end, char delimiter, bool *open)
{
	while (at < end && *at == ' ')
		at++;
	if (at < end && *at == '"')
		at = skip_quoted(at, end, open);
	while (at < end && !is_delimiter(*at, delimiter) && !ends_line(*at))
		at++;
	return at;
}

Lines lines_of(const char *text, const char *end, char delimiter)
{
	return (Lines){.at = text, .end = end, .delimiter = delimiter, .next = 1};
}

static const char *skip_line(Lines *lines)
{
	const char *at = lines->at, *end = lines->end;
	if (line_is_comment((Field){at, (size_t)(end - at)})) {
		while (at < end && !ends_line(*at))
			at++;
		return at;
	}
	at = skip_field(at, end, lines->delimiter, &lines->open);
	while (at < end && !ends_line(*at)) /* it is a delimiter */
		at = skip_field(at + 1, end, lines->delimiter, &lines->open);
	return at;
}

static uint32_t count_lines(Field text)
{
	uint32_t n = 0;
	for (size_t i = 0; i < text.n; i++)
		n += text.at[i] == '\n' ||
		     (text.at[i] == '\r' && (i + 1 == text.n || text.at[i + 1] != '\n'));
	return n;
}

bool lines_next(Lines *lines, Field *line)
{
	if (lines->at >= lines->end)
		return false;
	lines->open = false;
	const char *at = skip_line(lines);
	*line = (Field){lines->at, (size_t)(at - lines->at)};
	lines->number = lines->next;
	lines->next += 1 + count_lines(*line);
	at += at < lines->end && *at == '\r';
	at += at < lines->end && *at == '\n';
	lines->at = at;
	return true;
}

Field field_trim(Field field)
{
	while (field.n > 0 && (*field.at == ' ' || *field.at == '\t'))
		field = (Field){field.at + 1, field.n - 1};
	while (field.n > 0 && (field.at[field.n - 1] == ' ' || field.at[field.n - 1] == '\t'))
		field.n--;
	return field;
}

Field field_next(Field *line, char delimiter, bool *more)
{
	bool open = false;
	const char *end = line->at + line->n, *at = skip_field(line->at, end, delimiter, &open);
	while (at < end && !is_delimiter(*at, delimiter)) /* a name may have what ends lines */
		at++;
	size_t n = (size_t)(at - line->at);
	Field field = field_trim((Field){line->at, n});
	*more = at < end;
	*line = (Field){at + *more, line->n - n - *more};
	if (field.n >= 2 && *field.at == '"' && field.at[field.n - 1] == '"')
		field = field_trim((Field){field.at + 1, field.n - 2});
	return field;
}

bool line_is_blank(Field line) { return field_trim(line).n == 0; }

bool line_is_comment(Field line)
{
	Field text = field_trim(line);
	return text.n > 0 && *text.at == '#';
}
