/* Diagnostics as text for people:
 *
 *   FILE:LINE:COL: error: TEXT [E0123]
 *      12 | let y = w * x
 *         |         ^~~~~
 *
 * A line is cut into cells, one for each code point, with the columns it takes on a terminal;
 * tabs become spaces, and what would not show or would steer the terminal (control and format
 * characters, invalid bytes) becomes <U+202E> or <ff>. Long lines are cropped around the marked
 * part: first by bytes, so that the work is bounded, then by columns. */
#include "base/diag_print.h"

#include <string.h>
#include <utf8proc.h>

enum { VIEW = 100, LEFT_CONTEXT = 40, CUT = 256, TAB = 8, MAX_CELLS = 4 * CUT, NOTES = 7 };

typedef struct Cell {
	char text[12];
	int column, width;
} Cell;

/* A line to show, with bytes [from, to) marked; `mark` for the first column, `tail` for the
 * others. */
typedef struct Excerpt {
	uint32_t line;
	const char *text;
	size_t len, from, to;
	char mark, tail;
	bool cut_left, cut_right; /* text is a part of a longer line */
} Excerpt;

typedef struct Printer {
	FILE *out;
	const Diags *ds;
} Printer;

static const char bold[] = "\33[1m", red[] = "\33[1;31m", magenta[] = "\33[1;35m",
		  cyan[] = "\33[1;36m", green[] = "\33[1;32m", plain[] = "\33[0m";

static void paint(const Printer *p, const char *color)
{
	if (p->ds->options.color)
		fputs(color, p->out);
}

/* May the code point be sent to a terminal as it is? */
static bool shows(utf8proc_int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CO:
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP: return false;
	default: return true;
	}
}

/* Makes the cell of the first code point; returns the number of bytes it came from. */
static size_t make_cell(const char *text, size_t len, int column, Cell *cell)
{
	utf8proc_int32_t c;
	unsigned char byte = (unsigned char)text[0];
	*cell = (Cell){.column = column};
	if (byte == '\t') {
		cell->width = TAB - column % TAB;
		memset(cell->text, ' ', (size_t)cell->width);
		return 1;
	}
	utf8proc_ssize_t n =
		utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &c);
	if (n <= 0) {
		cell->width = snprintf(cell->text, sizeof cell->text, "<%02x>", byte);
		return 1;
	}
	if (shows(c)) {
		memcpy(cell->text, text, (size_t)n);
		cell->width = utf8proc_charwidth(c);
	} else {
		cell->width = snprintf(cell->text, sizeof cell->text, "<U+%04X>", (unsigned)c);
	}
	return (size_t)n;
}

static void print_clean(const Printer *p, const char *text)
{
	Cell cell;
	for (size_t len = strlen(text), at = 0; at < len;) {
		at += make_cell(text + at, len - at, 0, &cell);
		fputs(cell.text, p->out);
	}
}

static bool continues(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Keeps CUT bytes before the mark, of the mark and behind it. */
static Excerpt cut_bytes(Excerpt e)
{
	size_t low = e.from > CUT ? e.from - CUT : 0, high = e.len;
	while (low < e.from && low > 0 && continues(e.text[low]))
		low++;
	if (e.to - e.from > CUT)
		e.to = e.from + CUT;
	if (high - e.to > CUT)
		high = e.to + CUT;
	while (high < e.len && continues(e.text[high]) && high > e.to)
		high--;
	e.cut_left |= low > 0;
	e.cut_right |= high < e.len;
	e.text += low;
	e.len = high - low;
	e.from -= low;
	e.to -= low;
	return e;
}

/* The cells of the excerpt; sets the columns where the mark starts and ends. */
static int make_cells(const Excerpt *e, Cell *cells, int *start, int *end)
{
	int n = 0, column = 0;
	size_t at = 0;
	*start = *end = -1;
	while (at < e->len && n < MAX_CELLS) {
		if (at >= e->from && *start < 0)
			*start = column;
		if (at >= e->to && *end < 0)
			*end = column;
		at += make_cell(e->text + at, e->len - at, column, &cells[n]);
		column += cells[n++].width;
	}
	if (*start < 0)
		*start = column;
	if (*end < *start)
		*end = column;
	return n;
}

static void print_marks(const Printer *p, const Excerpt *e, int start, int end)
{
	paint(p, green);
	fprintf(p->out, "%*s%c", start, "", e->mark);
	for (int i = start + 1; i < end; i++)
		fputc(e->tail, p->out);
	paint(p, plain);
}

static void print_excerpt(const Printer *p, Excerpt e)
{
	Cell cells[MAX_CELLS];
	int start, end, first = 0;
	e = cut_bytes(e);
	int n = make_cells(&e, cells, &start, &end);
	int last = n, total = n ? cells[n - 1].column + cells[n - 1].width : 0;
	if (total > VIEW && end > VIEW - 4)
		while (first < n && cells[first].column < start - LEFT_CONTEXT)
			first++;
	int left = first < n ? cells[first].column : total;
	while (last > first && cells[last - 1].column + cells[last - 1].width - left > VIEW)
		last--;
	int lead = first > 0 || e.cut_left ? 3 : 0;
	int right = last > first ? cells[last - 1].column + cells[last - 1].width : left;
	fprintf(p->out, "%5u | %s", e.line, lead ? "..." : "");
	for (int i = first; i < last; i++)
		fputs(cells[i].text, p->out);
	fprintf(p->out, "%s\n      | ", last < n || e.cut_right ? "..." : "");
	if (last < n && end > right)
		end = right;
	if (e.mark)
		print_marks(p, &e, start - left + lead, end - left + lead);
	fputc('\n', p->out);
}

/* Line number `line` (from 1) of a source, without its end. */
static Excerpt line_of(const Source *source, uint32_t line)
{
	size_t start = source->lines[line - 1];
	size_t end = line < source->nlines ? source->lines[line] : source->len;
	while (end > start && (source->text[end - 1] == '\n' || source->text[end - 1] == '\r'))
		end--;
	return (Excerpt){.line = line, .text = source->text + start, .len = end - start};
}

static size_t at_most(size_t value, size_t limit)
{
	return value < limit ? value : limit;
}

/* The line of the span's start with the span marked, as far as it reaches in that line. */
static Excerpt excerpt_of(const Printer *p, Span span)
{
	const Source *source = source_at(p->ds->sources, span.file);
	Place place = source_place(p->ds->sources, span.file, span.start);
	Excerpt e = line_of(source, place.line);
	size_t start = source->lines[place.line - 1];
	e.from = at_most(span.start > start ? span.start - start : 0, e.len);
	e.to = at_most(span.end > start ? span.end - start : 0, e.len);
	if (e.to < e.from)
		e.to = e.from;
	e.mark = '^';
	e.tail = '~';
	return e;
}

/* The line as it would be with the replacement, up to the first newline in it. A whole line is
 * shown as one. */
static void print_repair(const Printer *p, const DiagNote *note)
{
	Excerpt e = cut_bytes(excerpt_of(p, note->span));
	Excerpt end =
		cut_bytes(excerpt_of(p, (Span){note->span.file, note->span.end, note->span.end}));
	size_t len = at_most(strcspn(note->replacement, "\n"), CUT);
	bool whole = note->replacement[len] == 0;
	size_t rest = whole ? end.len - end.from : 0;
	char text[3 * CUT];
	memcpy(text, e.text, e.from);
	memcpy(text + e.from, note->replacement, len);
	memcpy(text + e.from + len, end.text + end.from, rest);
	e.text = text;
	e.to = e.from + len;
	e.len = e.to + rest;
	bool line = e.from == 0 && !whole && !note->replacement[len + 1];
	e.cut_right = (!whole && !line) || end.cut_right;
	e.mark = len ? '+' : 0;
	e.tail = '+';
	print_excerpt(p, e);
}

static const char *color_of(const char *kind)
{
	switch (kind[0]) {
	case 'e': return red;
	case 'w': return magenta;
	case 'n': return cyan;
	default: return green;
	}
}

/* FILE:LINE:COL: KIND: TEXT [CODE] */
static void print_head(const Printer *p, Span span, const char *kind, const char *text)
{
	paint(p, bold);
	if (source_at(p->ds->sources, span.file)) {
		Place place = source_place(p->ds->sources, span.file, span.start);
		print_clean(p, place.path);
		fprintf(p->out, ":%u:%u: ", place.line, place.column);
	} else {
		fputs("tsrc: ", p->out);
	}
	paint(p, color_of(kind));
	fprintf(p->out, "%s: ", kind);
	paint(p, plain);
	paint(p, bold);
	print_clean(p, text);
	paint(p, plain);
}

static void print_note(const Printer *p, const DiagNote *note)
{
	print_head(p, note->span, note->replacement ? "help" : "note", note->text);
	fputc('\n', p->out);
	if (!source_at(p->ds->sources, note->span.file))
		return;
	if (note->replacement)
		print_repair(p, note);
	else
		print_excerpt(p, excerpt_of(p, note->span));
}

/* Marks notes with such words, the last ones first, until few enough are left. */
static void leave_out(const Diag *d, const char *words, bool *out, size_t *left)
{
	for (size_t k = d->notes.n; k-- > 0 && d->notes.n - *left > NOTES;) {
		const DiagNote *note = &d->notes.at[k];
		if (note->replacement || out[k] || !strstr(note->text, words))
			continue;
		out[k] = true;
		++*left;
	}
}

/* So many places that all fits one screen: steps on the way go first, then origins; repairs stay,
 * and the other formats have all. */
static void print_notes(const Printer *p, const Diag *d)
{
	static const char *const least[] = {" here too", " comes through here", " comes from here",
					    ""};
	bool *out = ARENA_ARRAY(p->ds->arena, bool, d->notes.n + 1);
	size_t left = 0;
	for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
		leave_out(d, least[i], out, &left);
	for (size_t k = 0; k < d->notes.n; k++)
		if (!out[k])
			print_note(p, &d->notes.at[k]);
	if (left > 0)
		fprintf(p->out, "tsrc: note: -fdiagnostics-format=json has %zu more place%s\n",
			left, left == 1 ? "" : "s");
}

void diags_print_text(const Diags *ds, FILE *out)
{
	Printer p = {out, ds};
	for (size_t i = 0; i < ds->list.n; i++) {
		const Diag *d = &ds->list.at[i];
		print_head(&p, d->span, severity_name(d->severity), d->text);
		fprintf(out, " [%s]\n", diag_code_name(d->code));
		if (source_at(ds->sources, d->span.file))
			print_excerpt(&p, excerpt_of(&p, d->span));
		if (!d->brief)
			print_notes(&p, d);
		else if (d->notes.n > 0)
			fprintf(out, "tsrc: note: a repair of another error mends this one\n");
	}
	if (ds->overflow)
		fprintf(out, "tsrc: note: stopped after %d errors; -ferror-limit=0 shows all\n",
			ds->nerrors);
}
