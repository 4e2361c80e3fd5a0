/* Diagnostics: errors and warnings about the user's input. They accumulate; the driver stops
 * between stages when there are errors. A compiler bug is another thing: BUG and REQUIRE.
 *
 * Every code is one row of base/diag.def. A diagnostic has a main place, notes with further places
 * ("born here"), and perhaps repairs (a replacement text for a span).
 *
 *   diag(ds, E0301, span, "axis '%s' is %s here", ...);
 *   diag_note(ds, other, "and %s here", ...);            attaches to the diagnostic before it
 *   diag_fix(ds, span, "..*", "write '.*' to multiply pointwise");
 */
#ifndef TSR_BASE_DIAG_H
#define TSR_BASE_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/source.h"

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING } Severity;

typedef enum DiagCode {
#define DIAG(code, severity, name, title, text, bad, good) code,
#include "base/diag.def"
#undef DIAG
	DIAG_COUNT
} DiagCode;

typedef enum DiagFormat { DIAG_TEXT, DIAG_JSON, DIAG_SARIF } DiagFormat;

typedef struct DiagNote {
	Span span;
	const char *text;
	const char *replacement; /* not NULL: a repair */
	const char *applied;	 /* not NULL: where the function of that name is applied */
} DiagNote;

typedef struct Diag {
	DiagCode code;
	Severity severity; /* after -Werror and -W options */
	Span span;
	const char *text;
	uint64_t rank; /* for diags_sort */
	bool brief;    /* a repair of another one mends it: as text without its notes */
	VEC(DiagNote) notes;
} Diag;

typedef struct DiagOptions {
	DiagFormat format;
	bool color;
	int error_limit;            /* 0: none; default 20 */
	/* a warning: 0 off, 1 on, 2 an error, 3 on even under -Werror */
	signed char on[DIAG_COUNT];
	bool warnings_are_errors;   /* -Werror */
} DiagOptions;

typedef struct Diags {
	Arena *arena;
	const Sources *sources;
	DiagOptions options;
	VEC(Diag) list;
	uint32_t *seen; /* hash table of 1 + index into list, to drop repetitions */
	size_t nseen;   /* its size, a power of two */
	int nerrors, nwarnings;
	bool silent;   /* the last diag() was switched off: its notes are dropped */
	bool overflow; /* the error limit was reached: the driver stops at the next stage */
} Diags;

/* A list without diagnostics, with default options. What is reported is stored in the arena; its places
 * are in `sources`. Both are borrowed. */
void diags_init(Diags *ds, Arena *arena, const Sources *sources);
/* Reports at `span`. Nothing is added where the warning is off, the limit of errors or warnings is
 * reached, or an equal one (code, place and text) is there; its notes are dropped then. */
void diag(Diags *ds, DiagCode code, Span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A further place of the last one reported, and a repair of it: `replacement`, which is copied,
 * instead of what stands at `span`. */
void diag_note(Diags *ds, Span span, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_fix(Diags *ds, Span span, const char *replacement, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A note that the function whose body has the main place is applied there; the innermost first. */
void diag_applied(Diags *ds, Span span, const char *function);
/* What is in a function of another file is told where `file` applies it; its own place is a note. */
void diags_to_file(Diags *ds, uint32_t file);
/* The rank of the diagnostic before it (0 without). */
void diag_rank(Diags *ds, uint64_t rank);
/* Puts the diagnostics from `first` on in the order of their ranks, and of discovery where these
 * are equal. */
void diags_sort(Diags *ds, size_t first);
/* Prints what has accumulated, in the order of the list. Text, JSON or SARIF. */
void diags_print(const Diags *ds, FILE *out);

/* "E0123", and the row's other columns. */
const char *diag_code_name(DiagCode code);
const char *diag_code_title(DiagCode code);
/* -Wname, -Wno-name, -Werror=name, -Wall, -Werror: false when the name is unknown. */
bool diag_set_warning(DiagOptions *options, const char *word);
void diag_options_init(DiagOptions *options);
/* The long text for --explain=CODE; false when there is no such code. */
bool diag_explain(FILE *out, const char *code);
/* All codes with their titles, a line each. */
void diag_list(FILE *out);

/* Compiler bugs, in all builds: a failure (base/trap.h), without a trap a message with file:line on
 * stderr and exit status 3. */
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define BUG(...)      bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define REQUIRE(cond) ((cond) ? (void)0 : bug_at(__FILE__, __LINE__, "%s", #cond))

#endif
