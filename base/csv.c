/* .csv: numbers as text, a line a row, between commas, semicolons or tabs; the first line may name the columns.
 *
 *   ""       the whole table, [rows, columns]
 *   "age"    a column, [rows]; without names they are called 1, 2, ...
 *   "a,c..e" those columns, [rows, 4]; one that shares its name is read with the whole table, or in a range
 *
 * Lines that begin with '#' are no rows; the last of those before the first row may name the columns, as NumPy writes them.
 * Lines and fields are counted when the file is opened; numbers are read when an array is asked for, so that a column of
 * words is in nobody's way. They are doubles, rounded to the type that is asked for.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_format.h"
#include "base/csv_text.h"

enum { COLUMNS_MAX = 1 << 16, SELECTIONS_MAX = 64 };

typedef struct Selection {
	uint32_t *columns; /* owned */
	uint32_t n;
} Selection;

typedef struct Csv {
	char *text; /* owned; ends with '\0' */
	Lines rows; /* before the first one */
	uint32_t ncolumns;
	size_t nrows;
	Selection *selections; /* owned; SELECTIONS_MAX of them */
	uint32_t nselections;
} Csv;

/* ---- text ---- */

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

/* Of quotation marks that are doubled there is one. */
static char *name_of(Field field, uint32_t column, bool named)
{
	char number[16];
	snprintf(number, sizeof number, "%u", column);
	char *name = named && field.n > 0 ? strndup(field.at, field.n) : strdup(number);
	for (char *mark = name; mark && (mark = strstr(mark, "\"\"")); mark++)
		memmove(mark, mark + 1, strlen(mark));
	return name;
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
		Field field = field_next(&line, delimiter, &more);
		Field under = field_next(&below, delimiter, &more_below);
		bool reads = read_number(field, &number), word = !reads && is_word(field);
		if (reads && !is_natural(field))
			return false;
		words |= word;
		numbers |= reads;
		over |= word && read_number(under, &number);
	}
	return words && (over || !numbers);
}

/* To the next line that says something, which is not taken; false: there is none. The last comment before it, where there is
 * one, in `*comment`. */
static bool find_row(Lines *lines, Field *line, Field *comment)
{
	for (Lines before = *lines; lines_next(lines, line); before = *lines) {
		if (line_is_comment(*line))
			*comment = *line;
		else if (!line_is_blank(*line)) {
			*lines = before;
			return true;
		}
	}
	return false;
}

static uint32_t count_fields(Field line, char delimiter)
{
	uint32_t n = 0;
	for (bool more = true; more; n++)
		field_next(&line, delimiter, &more);
	return n;
}

/* What stands behind the '#' of a comment, where it names the columns of the row below it, as NumPy writes them; one that is a text
 * of several words does not. */
static bool commented_names(Field *comment, Field row, char delimiter)
{
	if (comment->n == 0)
		return false;
	Field text = field_trim(*comment);
	text = field_trim((Field){text.at + 1, text.n - 1});
	uint32_t n = count_fields(text, delimiter);
	*comment = text;
	return (row.n == 0 || n == count_fields(row, delimiter)) &&
	       (n > 1 || !memchr(text.at, ' ', text.n)) && names_columns(text, row, delimiter);
}

static bool fail_open(const Lines *lines, ArrayError *error)
{
	return array_fail(error, "a quotation mark in line %u is not closed", lines->number);
}

/* The line that names the columns, before the rows or behind a '#', and else the first of them. */
static bool find_columns(Csv *csv, const char *end, Field *line, bool *named, ArrayError *error)
{
	bool marked = strncmp(csv->text, "\xef\xbb\xbf", 3) == 0; /* of UTF-8 */
	Lines *rows = &csv->rows;
	Field row = {"", 0}, below = row, comment = row, none = row;
	*rows = lines_of(csv->text + (marked ? 3 : 0), end, '\0');
	bool found = find_row(rows, &row, &comment);
	rows->delimiter = delimiter_of(found ? row : comment);
	Lines behind = *rows;
	if (found && lines_next(&behind, &row) /* parted by that alone */) {
		Lines second = behind;
		if (behind.open)
			return fail_open(&behind, error);
		find_row(&second, &below, &none);
	}
	bool first = found && names_columns(row, below, csv->rows.delimiter);
	*named = first || commented_names(&comment, row, csv->rows.delimiter);
	*line = first || !*named ? row : comment;
	if (first)
		*rows = behind;
	return found || *named || array_fail(error, "it has no line that says something");
}

static bool add_columns(ArrayFile *file, Csv *csv, const char *end, ArrayError *error)
{
	Field line;
	bool named = false, more = true;
	if (!find_columns(csv, end, &line, &named, error))
		return false;
	while (more) {
		Field field = field_next(&line, csv->rows.delimiter, &more);
		if (++csv->ncolumns > COLUMNS_MAX)
			return array_fail(error, "it has more than %d columns", COLUMNS_MAX);
		if (!array_file_add(file, name_of(field, csv->ncolumns, named), csv->ncolumns,
				    error))
			return false;
	}
	return true;
}

/* The next row; lines behind it are still to be read. */
static bool next_row(Lines *lines, Field *line)
{
	Field comment;
	return find_row(lines, line, &comment) && lines_next(lines, line);
}

static bool count_rows(Csv *csv, ArrayError *error)
{
	Lines lines = csv->rows;
	Field line;
	for (; next_row(&lines, &line); csv->nrows++) {
		uint32_t n = count_fields(line, csv->rows.delimiter);
		if (lines.open)
			return fail_open(&lines, error);
		if (n != csv->ncolumns)
			return array_fail(error, "line %u has %u field%s, and the first one has %u",
					  lines.number, n, n == 1 ? "" : "s", csv->ncolumns);
	}
	return true;
}

static bool open_csv(ArrayFile *file, ArrayError *error)
{
	Csv *csv = file->archive = calloc(1, sizeof *csv);
	if (!csv || !(csv->selections = calloc(SELECTIONS_MAX, sizeof *csv->selections)))
		return array_fail(error, "out of memory");
	return array_file_add(file, strdup(""), 0, error) && read_text(file, csv, error) &&
	       add_columns(file, csv, csv->text + file->len, error) && count_rows(csv, error);
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

static bool is_twice(const ArrayFile *file, Field name)
{
	uint32_t n = 0;
	for (size_t i = 1; i < file->nentries; i++)
		n += strlen(file->entries[i].name) == name.n &&
		     memcmp(file->entries[i].name, name.at, name.n) == 0;
	return n > 1;
}

/* Why the item names no columns, and the name that it is about: of a range the end that is wrong, if one is. */
static const char *what_is_wrong(const ArrayFile *file, Field item, Field *of)
{
	*of = item;
	for (size_t i = 1; i + 2 < item.n; i++) {
		Field ends[2] = {{item.at, i}, {item.at + i + 2, item.n - i - 2}};
		if (memcmp(item.at + i, "..", 2) != 0)
			continue;
		for (int k = 0; k < 2; k++)
			if (is_twice(file, ends[k])) {
				*of = ends[k];
				return "several columns are called";
			}
		bool first = column_of(file, ends[0].at, ends[0].n) > 0,
		     last = column_of(file, ends[1].at, ends[1].n) > 0;
		if (first && last)
			return "its last column stands before its first:";
		if (first || last) {
			*of = ends[first];
			return "it has no column";
		}
	}
	return is_twice(file, item) ? "several columns are called" : "it has no column";
}

static bool select_columns(const ArrayFile *file, const char *key, Selection *selection,
			   ArrayError *error)
{
	Field rest = {key, strlen(key)};
	char names[120];
	for (bool more = true; more;) {
		Field item = field_next(&rest, ',', &more);
		uint32_t first, last;
		if (!read_columns(file, item, &first, &last)) {
			Field of;
			const char *what = what_is_wrong(file, item, &of);
			array_file_list(file, 1, names, sizeof names);
			return array_fail(error, "%s '%.*s' (it has: %s)", what,
					  (int)(of.n < 60 ? of.n : 60), of.at, names);
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
		Field field = field_next(&line, csv->rows.delimiter, &more);
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
	Lines lines = csv->rows;
	Field line;
	while (next_row(&lines, &line)) {
		if (!read_row(csv, line, reader, lines.number, error))
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
