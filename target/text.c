/* A target as text: printed whole, read by lines (target.h has the grammar). */
#include "target/target.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"

typedef struct NumberRow {
	const char *group, *name; /* one of them is NULL */
	size_t at;		  /* in struct Target */
	int64_t least, most;
	const char *unit, *meaning;
} NumberRow;

static const NumberRow rows[] = {
#define GROUP(text) {.group = text},
#define NUMBER(name_, value, least_, most_, unit_, meaning_) \
	{.name = #name_,                                     \
	 .at = offsetof(Target, name_),                      \
	 .least = least_,                                    \
	 .most = most_,                                      \
	 .unit = unit_,                                      \
	 .meaning = meaning_},
#include "target/target.def"
#undef GROUP
#undef NUMBER
};
enum { NROWS = sizeof rows / sizeof *rows };

static const char *const words[] = {"like", "name", "tune", "features"};
enum { NWORDS = sizeof words / sizeof *words };

static int64_t *number_of(Target *target, const NumberRow *row)
{
	return (int64_t *)((char *)target + row->at);
}

static int64_t value_of(const Target *target, const NumberRow *row)
{
	return *(const int64_t *)((const char *)target + row->at);
}

/* ---- printing ---- */

typedef struct NumberText {
	char text[32];
} NumberText;

/* "48K" of bytes; other numbers as they are. */
static NumberText text_of(const NumberRow *row, int64_t value)
{
	NumberText to;
	bool bytes = strcmp(row->unit, "bytes") == 0 && value > 0;
	int shift = !bytes ? 0 : value % (1 << 20) == 0 ? 20 : value % (1 << 10) == 0 ? 10 : 0;
	snprintf(to.text, sizeof to.text, "%" PRId64 "%s", value >> shift,
		 shift == 20   ? "M"
		 : shift == 10 ? "K"
			       : "");
	return to;
}

static void put_number(FILE *out, const NumberRow *row, int64_t value)
{
	fprintf(out, "%-21s %7s  # [%s] %s\n", row->name, text_of(row, value).text, row->unit,
		row->meaning);
}

void target_dump(FILE *out, const Target *target)
{
	fprintf(out, "name %s\ntune %s\nfeatures", target->name, target->tune);
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (target->features >> f & 1)
			fprintf(out, " %s", feature_rows[f].name);
	fprintf(out, "\n");
	for (int i = 0; i < NROWS; i++)
		if (rows[i].group)
			fprintf(out, "\n# %s\n", rows[i].group);
		else
			put_number(out, &rows[i], value_of(target, &rows[i]));
}

void target_compare(FILE *out, const Target *given, const Target *usual)
{
	for (int i = 0; i < NROWS; i++) {
		if (rows[i].group || value_of(given, &rows[i]) == value_of(usual, &rows[i]))
			continue;
		fprintf(out, "%s is %s here, %s as shipped\n", rows[i].name,
			text_of(&rows[i], value_of(given, &rows[i])).text,
			text_of(&rows[i], value_of(usual, &rows[i])).text);
	}
}

/* ---- checks ---- */

void target_limit(Target *target)
{
	for (int i = 0; i < NROWS; i++) {
		int64_t *value = rows[i].name ? number_of(target, &rows[i]) : NULL;
		if (value && *value < rows[i].least)
			*value = rows[i].least;
		if (value && *value > rows[i].most)
			*value = rows[i].most;
	}
}

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

/* NULL: the number fits the row and the features. */
static const char *why_not(const Target *target, const NumberRow *row, Arena *arena)
{
	int64_t value = value_of(target, row);
	if (value < row->least || value > row->most)
		return arena_printf(arena, "%s is from %" PRId64 " to %" PRId64 " %s", row->name,
				    row->least, row->most, row->unit);
	if (row->at == offsetof(Target, vector_bytes) && !is_power_of_two(value))
		return "vectors are of 16, 32 or 64 bytes";
	if (row->at == offsetof(Target, vector_bytes) &&
	    value > features_vector_bytes(target->features))
		return arena_printf(arena,
				    "vectors of the features are of %" PRId64 " bytes at most",
				    features_vector_bytes(target->features));
	if (row->at == offsetof(Target, vector_bytes) && value < 32 &&
	    target->features & FEATURE_BIT(AVX))
		return "vectors of the features are of 32 bytes at least, as they have avx";
	if (row->at == offsetof(Target, bf16_pairs) && value &&
	    !features_have_pairs(target->features))
		return "the features have no vdpbf16ps: that needs avx512bf16 and avx512vl";
	if (row->at == offsetof(Target, matrix_tiles) && value &&
	    value != features_matrix_tiles(target->features))
		return "there are 8 tiles of matrices with amx-tile, amx-bf16 or amx-int8, and avx512f, "
		       "avx512dq, avx512bw and avx512vl; else 0";
	return NULL;
}

void target_verify(const Target *target)
{
	Arena *arena = arena_new();
	for (int i = 0; i < NROWS; i++) {
		const char *why = rows[i].name ? why_not(target, &rows[i], arena) : NULL;
		if (why)
			BUG("target %s: %s", target->name, why);
	}
	arena_free(arena);
}

/* ---- reading ---- */

typedef struct Reader {
	Target *target;
	Arena *arena;
	Diags *diags;
	uint32_t file;
	const char *start, *at, *end;
	Span given[NROWS]; /* where a line gives the row's number */
	uint32_t nlines;   /* that were read */
} Reader;

static void skip_space(Reader *r)
{
	while (r->at < r->end && *r->at != '\n' && isspace((unsigned char)*r->at))
		r->at++;
	if (r->at < r->end && *r->at == '#')
		while (r->at < r->end && *r->at != '\n')
			r->at++;
}

static bool at_end_of_line(Reader *r)
{
	skip_space(r);
	return r->at == r->end || *r->at == '\n';
}

/* What stands up to the next blank; NULL: the line ends. */
static const char *take_word(Reader *r, Span *span)
{
	if (at_end_of_line(r))
		return NULL;
	const char *from = r->at;
	while (r->at < r->end && !isspace((unsigned char)*r->at) && *r->at != '#')
		r->at++;
	*span = (Span){r->file, (uint32_t)(from - r->start), (uint32_t)(r->at - r->start)};
	return arena_strndup(r->arena, from, (size_t)(r->at - from));
}

/* The word that a line wants behind its first one. */
static const char *take_second(Reader *r, const char *first, Span *span)
{
	const char *word = take_word(r, span);
	if (!word)
		diag(r->diags, E0608, *span, "'%s' stands alone: its value is missing", first);
	return word;
}

static void note_nearest(Reader *r, const char *word, const char *const *names, size_t n)
{
	const char *near = name_nearest(word, names, n);
	if (near)
		diag_note(r->diags, SPAN_NONE, "did you mean '%s'?", near);
}

static void read_like(Reader *r, Span first)
{
	Span span = first;
	const char *name = take_second(r, "like", &span);
	if (r->nlines > 0) {
		diag(r->diags, E0608, first,
		     "'like' is the first line: it would undo those before");
		return;
	}
	if (!name || target_find(name, r->target))
		return;
	diag(r->diags, E0506, span, "unknown processor '%s'", name);
	const char **names;
	size_t n = target_names(r->arena, &names);
	note_nearest(r, name, names, n);
}

static void read_name(Reader *r, Span span)
{
	const char *name = take_second(r, "name", &span);
	r->target->name = name ? name : r->target->name;
}

/* What gcc would not take is told here, with its place. */
static void read_tune(Reader *r, Span span)
{
	const char **names, *tune = take_second(r, "tune", &span);
	size_t n = target_tunes(r->arena, &names);
	for (size_t i = 0; tune && i < n; i++)
		if (strcmp(names[i], tune) == 0) {
			r->target->tune = names[i];
			return;
		}
	if (!tune)
		return;
	diag(r->diags, E0608, span, "there is no tuning for '%s'", tune);
	note_nearest(r, tune, names, n);
}

static void read_features(Reader *r, Span first)
{
	Span span;
	uint64_t set = 0;
	for (const char *word; (word = take_word(r, &span)) != NULL;) {
		if (features_add(&set, word, strlen(word)))
			continue;
		const char *names[FEATURE_COUNT];
		for (int f = 0; f < FEATURE_COUNT; f++)
			names[f] = feature_rows[f].name;
		diag(r->diags, E0608, span, "unknown feature '%s'", word);
		note_nearest(r, word, names, FEATURE_COUNT);
	}
	if (features_are_mixed(set))
		diag(r->diags, E0608, first,
		     "these features are not of one kind of processor: 'simd' stands with every "
		     "other one of aarch64, and with none of x86-64");
	r->target->features = set;
	r->target->vector_bytes = features_vector_bytes(set);
	r->target->registers = features_registers(set);
	r->target->bf16_pairs &= features_have_pairs(set);
	r->target->matrix_tiles = features_matrix_tiles(set);
	r->target->row_columns = features_row_columns(set, r->target->row_columns);
}

/* Digits, K or M. */
static bool number_from(const char *word, int64_t *value)
{
	*value = 0;
	for (; isdigit((unsigned char)*word) && *value < INT64_MAX / 16; word++)
		*value = *value * 10 + (*word - '0');
	int shift = *word == 'K' ? 10 : *word == 'M' ? 20 : 0;
	*value = *value > INT64_MAX >> 24 ? INT64_MAX : *value << shift;
	return !word[shift > 0];
}

static void read_number(Reader *r, int row, Span span)
{
	const char *word = take_second(r, rows[row].name, &span);
	int64_t value;
	if (!word)
		return;
	if (!isdigit((unsigned char)*word) || !number_from(word, &value)) {
		diag(r->diags, E0608, span, "expected a number, which K or M may follow, not '%s'",
		     word);
		return;
	}
	*number_of(r->target, &rows[row]) = value;
	r->given[row] = span;
}

static void unknown_line(Reader *r, const char *word, Span span)
{
	const char *names[NROWS + NWORDS];
	size_t n = 0;
	for (; n < NWORDS; n++)
		names[n] = words[n];
	for (int i = 0; i < NROWS; i++)
		if (rows[i].name)
			names[n++] = rows[i].name;
	diag(r->diags, E0608, span, "a target has no '%s'", word);
	note_nearest(r, word, names, n);
	while (take_word(r, &span))
		;
}

static void read_line(Reader *r)
{
	Span span;
	const char *word = take_word(r, &span);
	int row = 0;
	while (row < NROWS && !(rows[row].name && strcmp(rows[row].name, word) == 0))
		row++;
	if (row < NROWS)
		read_number(r, row, span);
	else if (strcmp(word, "like") == 0)
		read_like(r, span);
	else if (strcmp(word, "features") == 0)
		read_features(r, span);
	else if (strcmp(word, "name") == 0)
		read_name(r, span);
	else if (strcmp(word, "tune") == 0)
		read_tune(r, span);
	else
		unknown_line(r, word, span);
	if (at_end_of_line(r))
		return;
	word = take_word(r, &span);
	diag(r->diags, E0608, span, "'%s' is one word too many", word);
	while (take_word(r, &span))
		;
}

void target_read(Target *target, const Sources *sources, uint32_t file, Arena *arena, Diags *diags)
{
	const Source *source = source_at(sources, file);
	Reader r = {.target = target, .arena = arena, .diags = diags, .file = file};
	r.start = r.at = source->text;
	r.end = source->text + source->len;
	for (; r.at < r.end; r.at++)
		if (!at_end_of_line(&r)) {
			read_line(&r);
			r.nlines++;
		}
	for (int i = 0; i < NROWS; i++) {
		const char *why = rows[i].name ? why_not(target, &rows[i], arena) : NULL;
		if (why && !span_is_none(r.given[i]))
			diag(diags, E0608, r.given[i], "%s", why);
	}
}
