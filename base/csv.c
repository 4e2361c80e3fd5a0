/* .csv: numbers as text, a line a row, between commas, semicolons or tabs; the first line may name the columns.
 *
 *   ""       the whole table, [rows, columns]
 *   "age"    a column, [rows]; without names they are called 1, 2, ...
 *   "a,c..e" those columns, [rows, 4]
 *
 * Lines and fields are counted when the file is opened; numbers are read when an array is asked for, so that a column of
 * words is in nobody's way. They are doubles, rounded to the type that is asked for.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"

enum { COLUMNS_MAX = 1 << 16, SELECTIONS_MAX = 64 };

typedef struct Selection {
	uint32_t *columns; /* owned */
	uint32_t n;
} Selection;

typedef struct Csv {
	char *text; /* owned; ends with '\0' */
	const char *rows, *end;
	char delimiter;
	uint32_t ncolumns, first_line; /* of the rows */
	size_t nrows;
	Selection *selections; /* owned; SELECTIONS_MAX of them */
	uint32_t nselections;
} Csv;

typedef struct Field {
	const char *at;
	size_t n;
} Field;

/* ---- text ---- */

/* The line at *at, which goes on behind it, without what ends it, a CR, LF or both; false at the end. */
static bool next_line(const char **at, const char *end, Field *line)
{
	if (*at >= end)
		return false;
	*line = (Field){*at, strcspn(*at, "\r\n")};
	*at += line->n;
	*at += **at == '\r';
	*at += **at == '\n';
	return true;
}

static Field trim(Field field)
{
	while (field.n > 0 && (*field.at == ' ' || *field.at == '\t'))
		field = (Field){field.at + 1, field.n - 1};
	while (field.n > 0 && (field.at[field.n - 1] == ' ' || field.at[field.n - 1] == '\t'))
		field.n--;
	return field;
}

/* The next field of the line, which loses it and the delimiter behind it; `more` says whether there is one behind that. In
 * quotation marks a field holds delimiters. */
static Field next_field(Field *line, char delimiter, bool *more)
{
	size_t n = 0;
	bool quoted = false;
	for (; n < line->n && (quoted || line->at[n] != delimiter); n++)
		quoted ^= line->at[n] == '"';
	Field field = trim((Field){line->at, n});
	*more = n < line->n;
	*line = (Field){line->at + n + *more, line->n - n - *more};
	if (field.n >= 2 && *field.at == '"' && field.at[field.n - 1] == '"')
		field = trim((Field){field.at + 1, field.n - 2});
	return field;
}

static bool is_blank(Field line) { return trim(line).n == 0; }

/* Requires: the field stands in a text that ends with '\0'. */
static bool read_number(Field field, double *number)
{
	char *stop;
	if (field.n == 0 || isspace((unsigned char)*field.at))
		return false;
	*number = strtod(field.at, &stop);
	return stop == field.at + field.n;
}

/* ---- opening ---- */

static bool read_text(const ArrayFile *file, Csv *csv, ArrayError *error)
{
	csv->text = file->len < SIZE_MAX ? malloc((size_t)file->len + 1) : NULL;
	if (!csv->text)
		return array_fail(error, "not enough memory for %llu bytes",
				  (unsigned long long)file->len);
	if (!array_file_bytes(file, 0, csv->text, (size_t)file->len))
		return array_fail(error, "it cannot be read to its end");
	csv->text[file->len] = '\0';
	csv->end = csv->text + file->len;
	if (memchr(csv->text, '\0', (size_t)file->len))
		return array_fail(error,
				  "it is no text: a byte of it is 0, as in UTF-16; UTF-8 is read");
	return true;
}

/* A semicolon where the line has one, as a comma may be a decimal one then; else what stands between fields first, or a
 * comma where nothing does. */
static char delimiter_of(Field line)
{
	char first = ',';
	bool quoted = false, found = false;
	for (size_t i = 0; i < line.n; i++) {
		quoted ^= line.at[i] == '"';
		if (!quoted && line.at[i] == ';')
			return ';';
		if (!quoted && !found && (line.at[i] == ',' || line.at[i] == '\t')) {
			first = line.at[i];
			found = true;
		}
	}
	return first;
}

static char *name_of(Field field, uint32_t column, bool named)
{
	char number[16];
	snprintf(number, sizeof number, "%u", column);
	return named && field.n > 0 ? strndup(field.at, field.n) : strdup(number);
}

static bool is_natural(Field field)
{
	size_t n = 0;
	while (n < field.n && isdigit((unsigned char)field.at[n]))
		n++;
	return field.n > 0 && n == field.n;
}

/* 1_000, 2020-01-01 and NA are elements that are no numbers. */
static bool is_word(Field field)
{
	bool missing = field.n == 2 && memcmp(field.at, "NA", 2) == 0;
	return field.n > 0 && !missing && !isdigit((unsigned char)*field.at) &&
	       !strchr("+-.", *field.at);
}

/* Does the line name its columns? It has a word; a number in it is a name such as 2019, beside a word that stands over a
 * number. In 5.1,3.5,setosa the word is an element. */
static bool names_columns(Field line, Field below, char delimiter)
{
	bool more = true, more_below, words = false, numbers = false, over = false;
	double number;
	while (more) {
		Field field = next_field(&line, delimiter, &more);
		Field under = next_field(&below, delimiter, &more_below);
		bool reads = read_number(field, &number), word = !reads && is_word(field);
		if (reads && !is_natural(field))
			return false;
		words |= word;
		numbers |= reads;
		over |= word && read_number(under, &number);
	}
	return words && (over || !numbers);
}

/* The first line that says something; *at goes on behind it. False: there is none. */
static bool next_row(const char **at, const char *end, Field *line, uint32_t *number)
{
	while (next_line(at, end, line)) {
		++*number;
		if (!is_blank(*line))
			return true;
	}
	return false;
}

/* The entries, from the first line that says something. NumPy puts a '#' before such names. */
static bool add_columns(ArrayFile *file, Csv *csv, ArrayError *error)
{
	const char *at = csv->text, *next;
	Field line, below = {"", 0};
	uint32_t number = 0;
	bool more = true;
	if (strncmp(at, "\xef\xbb\xbf", 3) == 0) /* of UTF-8 */
		at += 3;
	if (!next_row(&at, csv->end, &line, &csv->first_line))
		return array_fail(error, "it has no line that says something");
	csv->delimiter = delimiter_of(line);
	next = at;
	next_row(&next, csv->end, &below, &number);
	bool named = names_columns(line, below, csv->delimiter);
	csv->rows = named ? at : line.at;
	csv->first_line -= !named;
	if (named && *line.at == '#')
		line = (Field){line.at + 1, line.n - 1};
	while (more) {
		Field field = next_field(&line, csv->delimiter, &more);
		if (++csv->ncolumns > COLUMNS_MAX)
			return array_fail(error, "it has more than %d columns", COLUMNS_MAX);
		if (!array_file_add(file, name_of(field, csv->ncolumns, named), csv->ncolumns,
				    error))
			return false;
	}
	return true;
}

static bool count_rows(Csv *csv, ArrayError *error)
{
	const char *at = csv->rows;
	Field line;
	for (uint32_t number = csv->first_line + 1; next_line(&at, csv->end, &line); number++) {
		uint32_t n = 0;
		bool more = !is_blank(line);
		csv->nrows += more;
		for (; more; n++)
			next_field(&line, csv->delimiter, &more);
		if (n > 0 && n != csv->ncolumns)
			return array_fail(error, "line %u has %u field%s, and the first one has %u",
					  number, n, n == 1 ? "" : "s", csv->ncolumns);
	}
	return true;
}

static bool open_csv(ArrayFile *file, ArrayError *error)
{
	Csv *csv = file->archive = calloc(1, sizeof *csv);
	if (!csv || !(csv->selections = calloc(SELECTIONS_MAX, sizeof *csv->selections)))
		return array_fail(error, "out of memory");
	return array_file_add(file, strdup(""), 0, error) && read_text(file, csv, error) &&
	       add_columns(file, csv, error) && count_rows(csv, error);
}

static void close_csv(ArrayFile *file)
{
	Csv *csv = file->archive;
	for (uint32_t i = 0; csv && i < csv->nselections; i++)
		free(csv->selections[i].columns);
	if (csv) {
		free(csv->selections);
		free(csv->text);
	}
	free(csv);
}

/* ---- several columns ---- */

/* The column that the first n bytes name; 0: none does. */
static uint32_t column_of(const ArrayFile *file, const char *name, size_t n)
{
	char *copy = strndup(name, n);
	ptrdiff_t index = copy ? array_file_find(file, copy) : -1;
	free(copy);
	return index < 0 || file->entries[index].at > ((const Csv *)file->archive)->ncolumns
		       ? 0
		       : (uint32_t)file->entries[index].at;
}

/* One name, or two with ".." between them: the first and the last column. */
static bool read_columns(const ArrayFile *file, Field item, uint32_t *first, uint32_t *last)
{
	*first = *last = column_of(file, item.at, item.n);
	for (size_t i = 1; (*first == 0 || *last == 0) && i + 2 < item.n; i++) {
		if (memcmp(item.at + i, "..", 2) != 0)
			continue;
		*first = column_of(file, item.at, i);
		*last = column_of(file, item.at + i + 2, item.n - i - 2);
	}
	return *first > 0 && *last >= *first;
}

static bool select_columns(const ArrayFile *file, const char *key, Selection *selection,
			   ArrayError *error)
{
	Field rest = {key, strlen(key)};
	char names[120];
	for (bool more = true; more;) {
		Field item = next_field(&rest, ',', &more);
		uint32_t first, last;
		if (!read_columns(file, item, &first, &last)) {
			array_file_list(file, 1, names, sizeof names);
			return array_fail(error, "it has no column '%.*s' (it has: %s)",
					  (int)(item.n < 60 ? item.n : 60), item.at, names);
		}
		if (selection->n + (last - first) >= COLUMNS_MAX)
			return array_fail(error, "more than %d columns", COLUMNS_MAX);
		while (first <= last)
			selection->columns[selection->n++] = first++;
	}
	return true;
}

static bool pick_csv(ArrayFile *file, const char *key, ArrayError *error)
{
	Csv *csv = file->archive;
	if (csv->nselections == SELECTIONS_MAX)
		return array_fail(error, "more than %d times several columns", SELECTIONS_MAX);
	Selection *selection = &csv->selections[csv->nselections++];
	selection->columns = calloc(COLUMNS_MAX, sizeof *selection->columns);
	if (!selection->columns)
		return array_fail(error, "out of memory");
	return select_columns(file, key, selection, error) &&
	       array_file_add(file, strdup(key), csv->ncolumns + csv->nselections, error);
}

/* ---- reading ---- */

static bool measure_csv(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	const Csv *csv = file->archive;
	uint64_t at = file->entries[index].at;
	*layout = (Layout){.element = ELEMENT_F64, .dequantised = true, .rank = 2};
	layout->extents[0] = (int64_t)csv->nrows;
	if (at == 0)
		layout->extents[1] = csv->ncolumns;
	else if (at <= csv->ncolumns)
		layout->rank = 1;
	else
		layout->extents[1] = csv->selections[at - csv->ncolumns - 1].n;
	return layout_measure(layout, error);
}

typedef struct Reader {
	bool *wanted;	 /* by column, from 1 */
	double *numbers; /* of one row, likewise */
	const uint32_t *columns;
	uint32_t n;
	bool integers;
} Reader;

static bool refuse(ArrayError *error, Field field, uint32_t line, uint32_t column, const char *why)
{
	return array_fail(error, "line %u, field %u: '%.*s' %s", line, column,
			  (int)(field.n < 60 ? field.n : 60), field.at, why);
}

/* The numbers of a row's fields that are wanted. */
static bool read_row(const Csv *csv, Field line, const Reader *reader, uint32_t number,
		     ArrayError *error)
{
	bool more = true;
	for (uint32_t i = 1; more; i++) {
		Field field = next_field(&line, csv->delimiter, &more);
		double *to = &reader->numbers[i];
		if (!reader->wanted[i])
			continue;
		if (!read_number(field, to))
			return refuse(error, field, number, i,
				      memchr(field.at, ',', field.n) && !is_word(field)
					      ? "is no number: a decimal point is '.'"
					      : "is no number");
		if (reader->integers && fabs(*to) >= 0x1p53)
			return refuse(error, field, number, i,
				      "is no integer below 2^53, as those of a table are");
	}
	return true;
}

static bool read_rows(const Csv *csv, const Reader *reader, double *out, ArrayError *error)
{
	const char *at = csv->rows;
	Field line;
	for (uint32_t number = csv->first_line + 1; next_line(&at, csv->end, &line); number++) {
		if (is_blank(line))
			continue;
		if (!read_row(csv, line, reader, number, error))
			return false;
		for (uint32_t i = 0; i < reader->n; i++)
			*out++ = reader->numbers[reader->columns[i]];
	}
	return true;
}

static bool load_csv(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		     ArrayError *error)
{
	const Csv *csv = file->archive;
	uint64_t at = file->entries[index].at;
	size_t room = (size_t)csv->ncolumns + 1;
	bool *wanted = calloc(room, sizeof *wanted), good;
	double *numbers = calloc(room, sizeof *numbers);
	uint32_t *columns = calloc(room, sizeof *columns);
	Reader reader = {wanted, numbers, columns, layout->rank < 2 ? 1 : csv->ncolumns,
			 layout->integers};
	*raw = array_room(layout->bytes);
	good = wanted && numbers && columns && *raw;
	if (!good)
		array_fail(error, "not enough memory for %llu bytes",
			   (unsigned long long)layout->bytes);
	for (uint32_t i = 0; good && i < reader.n; i++)
		columns[i] = at == 0 ? i + 1 : (uint32_t)at;
	if (good && at > csv->ncolumns) {
		reader.columns = csv->selections[at - csv->ncolumns - 1].columns;
		reader.n = csv->selections[at - csv->ncolumns - 1].n;
	}
	for (uint32_t i = 0; good && i < reader.n; i++)
		wanted[reader.columns[i]] = true;
	good = good && read_rows(csv, &reader, *raw, error);
	free(wanted);
	free(numbers);
	free(columns);
	if (!good)
		free(*raw);
	return good;
}

const Format csv_format = {open_csv, measure_csv, load_csv, close_csv, pick_csv};
