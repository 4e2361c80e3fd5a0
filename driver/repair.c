/* Repairs that were tried: an error's edits are applied one at a time, the likeliest first, and the
 * text is compiled to shapes again.
 *
 *   Diags with errors, tree -> the same with repairs, those first that make the program compile
 *
 * A repair that inference knew of is tried too: it goes where it leaves what was said. Everything
 * of a trial is freed with it. How many trials there are is bounded by the memory that they take,
 * not by time, so the same program has the same messages whatever the machine.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/diag_print.h"
#include "driver/repair.h"

enum { ERRORS_MENDED = 3, REPAIRS = 4, GUESSES = 3 };
enum {
	TRIALS = 400,
	SEARCH_TRIALS = 32,
	TRIAL_BYTES = 256 << 20,
	COST_SPREAD = 3,
	COST_OFFERED = 5,
	COST_SURE = 10
};

/* What a trial leaves, the better the less. */
typedef enum Left { LEFT_NOTHING, LEFT_WARNINGS, LEFT_OTHERS, LEFT_MORE, LEFT_SAME } Left;

typedef struct Found {
	const Edit *at[REPAIRS];
	uint32_t n;
	int nerrors; /* that the first one leaves */
} Found;

typedef struct Repairs {
	Session *s;
	Diag *d;
	int nerrors, nwarnings; /* before */
	int nleft;		/* errors that the last trial left */
	uint32_t cost;		/* of the first repair found */
	bool empty;		/* did it leave a letter without elements? */
	size_t trials, bytes;	/* that may still be made, and taken by them */
	Arena *scratch;
	VEC(uint64_t) tried; /* hashes of texts */
} Repairs;

/* ---- one trial ---- */

static const char *edited(const Repairs *r, Arena *arena, Span span, const char *text)
{
	const Source *source = source_at(&r->s->sources, r->s->file);
	return arena_printf(arena, "%.*s%s%s", (int)span.start, source->text, text,
			    source->text + span.end);
}

static size_t count_same(const Repairs *r, const Diags *diags)
{
	size_t n = 0;
	for (size_t i = 0; i < diags->list.n; i++)
		n += diags->list.at[i].code == r->d->code &&
		     strcmp(diags->list.at[i].text, r->d->text) == 0;
	return n;
}

/* Text, names, sizes: a stage that finds errors is the last one. */
static int stage_of(DiagCode code) { return code < E0201 ? 0 : code < E0301 ? 1 : 2; }

/* An error of an earlier stage hides those of later ones, and one of sizes what nothing
 * determines. */
static bool hides(DiagCode error, DiagCode other)
{
	bool last = other == E0307 || other == E0308;
	return stage_of(error) < stage_of(other) || (last && error != E0307 && error != E0308);
}

/* Until names are settled, what is wrong elsewhere stays as it was; then, another thing that is
 * wrong at the same place tells that the edit has not mended it. */
static bool says_more(const Repairs *r, const Diags *diags, const Edit *edit)
{
	const Diags *before = &r->s->diags;
	Span at = r->d->span;
	if (edit->span.end <= at.start)
		at.start += (uint32_t)strlen(edit->text) - (edit->span.end - edit->span.start);
	for (size_t i = 0; i < diags->list.n; i++) {
		const Diag *d = &diags->list.at[i];
		if (d->severity != SEVERITY_ERROR)
			continue;
		bool known = stage_of(d->code) == 2 &&
			     (d->span.file != at.file || d->span.start != at.start);
		for (size_t k = 0; k < before->list.n && !known && stage_of(d->code) < 2; k++)
			known = before->list.at[k].code == d->code &&
				strcmp(before->list.at[k].text, d->text) == 0;
		if (!known)
			return true;
	}
	return false;
}

static bool comes_as_far(const Repairs *r, const Diags *diags)
{
	for (size_t i = 0; i < diags->list.n; i++)
		if (diags->list.at[i].severity == SEVERITY_ERROR &&
		    hides(diags->list.at[i].code, r->d->code))
			return false;
	return true;
}

/* Warnings that axes fit only as repeats, or as the one element of a dim. */
static size_t count_stretched(const Diags *diags)
{
	static const char one[] = "it must be 1 when the program runs";
	size_t n = 0;
	for (size_t i = 0; i < diags->list.n; i++) {
		const Diag *d = &diags->list.at[i];
		n += d->code == W0304 || (d->code == W0401 && strstr(d->text, one) != NULL);
	}
	return n;
}

static Left left_of(const Repairs *r, const Diags *diags, const Edit *edit)
{
	bool rows = r->d->code == E0302 || r->d->code == E0303;
	if (rows && count_stretched(diags) > count_stretched(&r->s->diags))
		return LEFT_SAME;
	if (diags->nerrors == 0)
		return diags->nwarnings > r->nwarnings || r->empty ? LEFT_WARNINGS : LEFT_NOTHING;
	if (count_same(r, diags) >= count_same(r, &r->s->diags))
		return LEFT_SAME;
	return diags->nerrors < r->nerrors && comes_as_far(r, diags) && !says_more(r, diags, edit)
		       ? LEFT_OTHERS
		       : LEFT_MORE;
}

/* Is a letter, or a part of an axis, of no elements? */
static bool has_empty_letter(const Inference *inference)
{
	bool empty = false;
	for (NodeId id = 0; id < inference->graph->nodes.n; id++)
		for (uint32_t i = 0; inference->letters && i < inference->letters[id].n; i++)
			empty |= size_is(inference->sizes, inference->letters[id].at[i].size, 0);
	return empty;
}

/* The diagnostics of a text, compiled up to its shapes and index maps; `empty`: a letter has none. */
static Diags compile(const Session *s, Arena *arena, Symbols *symbols, const char *text,
		     bool *empty)
{
	Sources *sources = ARENA_NEW(arena, Sources);
	Diags diags;
	sources_init(sources, arena);
	diags_init(&diags, arena, sources);
	diags.options = s->diags.options;
	diags.options.warnings_are_errors = false;
	for (int code = 0; code < DIAG_COUNT; code++)
		if (diags.options.on[code] == 2)
			diags.options.on[code] = 1;
	Parse parse = {arena, symbols, sources, &diags};
	uint32_t file =
		source_add(sources, source_at(&s->sources, s->file)->path, text, strlen(text));
	const AstFile *ast = parse_file(&parse, file);
	const Graph *graph = NULL;
	if (diags.nerrors == 0)
		graph = frontend_build(&parse, sources, ast, &s->options.frontend);
	const Inference *inference =
		graph && diags.nerrors == 0 ? infer_run(graph, arena, &diags, NULL) : NULL;
	*empty = inference && has_empty_letter(inference);
	diags_to_file(&diags, file);
	return diags;
}

static Left try_edit(Repairs *r, const Edit *edit)
{
	Arena *arena = arena_new();
	Symbols *symbols = symbols_new();
	Diags diags =
		compile(r->s, arena, symbols, edited(r, arena, edit->span, edit->text), &r->empty);
	Left left = left_of(r, &diags, edit);
	r->nleft = diags.nerrors;
	size_t held = arena_held(arena);
	r->trials = held >= r->bytes ? 0 : r->trials - 1;
	r->bytes -= held < r->bytes ? held : r->bytes;
	symbols_free(symbols);
	arena_free(arena);
	return left;
}

/* ---- one message ---- */

/* Repairs that inference offered stand among the edits, under its own words. */
static void join_offered(const Repairs *r, Edits *e)
{
	uint32_t n = 0;
	for (size_t i = 0; i < r->d->notes.n; i++) {
		const DiagNote *note = &r->d->notes.at[i];
		if (!note->replacement || note->span.file != r->s->file)
			continue;
		Edit *same = edit_find(e, note->span, note->replacement);
		bool own = same && (same->cost < COST_OFFERED || strcmp(same->text, ".*") == 0);
		uint32_t cost = own ? same->cost : COST_OFFERED;
		Edit edit = {note->span, note->replacement, note->text, cost, ++n};
		if (same)
			*same = edit;
		else
			PUSH(e->arena, e->list, edit);
	}
}

/* Keeps the hash of the edited text; was it tried before? */
static bool was_tried(Repairs *r, const Edit *edit)
{
	const char *text = edited(r, r->scratch, edit->span, edit->text);
	uint64_t hash = XXH3_64bits(text, strlen(text));
	arena_reset(r->scratch);
	for (size_t i = 0; i < r->tried.n; i++)
		if (r->tried.at[i] == hash)
			return true;
	PUSH(r->s->perm, r->tried, hash);
	return false;
}

/* What leaves other errors: likely only where inference says so, or where there were others; what
 * leaves fewer is likelier. */
static void keep(const Repairs *r, Found *found, const Edit *edit, Left left)
{
	if (left == LEFT_MORE && edit->offered)
		left = LEFT_OTHERS;
	Found *of = &found[left];
	bool guessed = left == LEFT_OTHERS && !edit->offered;
	if (left > LEFT_OTHERS || (guessed && (r->nerrors == 1 || stage_of(r->d->code) < 2 ||
					       (of->n > 0 && of->at[0]->offered))))
		return;
	if (of->n > 0 && !edit->offered && r->nleft < of->nerrors)
		of->n = 0;
	if (of->n == 0)
		of->nerrors = r->nleft;
	else if (of->n == (edit->offered ? REPAIRS : GUESSES) ||
		 edit->cost > of->at[0]->cost + COST_SPREAD ||
		 (r->nleft > of->nerrors && !edit->offered))
		return;
	of->at[of->n++] = edit;
}

/* Tries edits until enough make the program compile; those that cost much more than the best that
 * does are not what was meant. */
static void search(Repairs *r, const Edits *e, Found *found)
{
	uint32_t limit = UINT32_MAX;
	r->tried.n = 0;
	for (size_t i = 0; i < e->list.n; i++) {
		const Edit *edit = &e->list.at[i];
		if (edit->cost > limit)
			break;
		if (found[LEFT_NOTHING].n >= (edit->offered ? REPAIRS : GUESSES - 1))
			continue;
		if ((r->trials == 0 && !edit->offered) || was_tried(r, edit))
			continue;
		Left left = r->trials > 0 ? try_edit(r, edit) : LEFT_OTHERS;
		keep(r, found, edit, left);
		if (left == LEFT_NOTHING && edit->cost + COST_SPREAD < limit)
			limit = edit->cost + COST_SPREAD;
	}
}

/* What leaves other errors is shown beside what mends all only where inference knew of it and the
 * latter is far to seek: then it goes first. */
static void choose(Found *shown, const Found *found, bool second)
{
	for (uint32_t i = 0; i < found->n; i++) {
		const Edit *edit = found->at[i];
		if (shown->n >= (edit->offered ? REPAIRS : GUESSES))
			continue;
		if (!second) {
			shown->at[shown->n++] = edit;
		} else if (edit->offered && edit->cost + COST_SPREAD <= shown->at[0]->cost) {
			memmove(&shown->at[1], &shown->at[0], shown->n * sizeof shown->at[0]);
			shown->at[0] = edit;
			shown->n++;
		}
	}
}

/* Is it in a file that is imported, and not the library's? */
static bool is_elsewhere(const Repairs *r, Span span)
{
	const char *library = r->s->options.library;
	const Source *source = source_at(&r->s->sources, span.file);
	size_t n = library ? strlen(library) : 0;
	return source && span.file != r->s->file &&
	       !(n > 0 && strncmp(source->path, library, n) == 0);
}

/* The repairs found stand where the first one stood, or behind the notes. Those of other files are left out where there are some
 * of this one, and those of the library always: they are not tried, and it is not what is mistaken. */
static void attach(Repairs *r, const Found *found)
{
	Arena *arena = r->s->perm;
	VEC(DiagNote) notes = {0};
	size_t i = 0, n = r->d->notes.n;
	while (i < n && !r->d->notes.at[i].replacement)
		PUSH(arena, notes, r->d->notes.at[i++]);
	for (uint32_t k = 0; k < found->n; k++)
		PUSH(arena, notes,
		     ((DiagNote){.span = found->at[k]->span,
				 .text = found->at[k]->why,
				 .replacement = found->at[k]->text}));
	for (; i < n; i++)
		if (!r->d->notes.at[i].replacement ||
		    (found->n == 0 && is_elsewhere(r, r->d->notes.at[i].span)))
			PUSH(arena, notes, r->d->notes.at[i]);
	r->d->notes.at = notes.at;
	r->d->notes.n = notes.n;
	r->d->notes.cap = notes.cap;
}

/* A sign or a word of another language, whose counterpart the message has: no other is meant. */
static bool is_told(const Diag *d)
{
	bool fixed = d->code == E0115 && d->notes.n > 0;
	for (size_t i = 0; i < d->notes.n; i++)
		fixed |= d->notes.at[i].replacement != NULL;
	return d->code == E0117 ||
	       (fixed && (d->code == E0103 || d->code == E0108 || d->code == E0115));
}

static void list_edits(const Repairs *r, Edits *e)
{
	int stage = stage_of(r->d->code);
	if (r->d->code == E0309) { /* a number in place of a dim is not meant */
		edits_of_inputs(e);
		edits_of_batches(e);
	}
	if (r->d->code == E0303)
		edits_of_batches(e);
	if (r->d->code == E0309 || r->d->code == E0210) /* what it says is not what is needed */
		e->nsizes = 0;
	if (r->d->code ==
	    E0203) /* neither another size nor another name is what is declared further down */
		return;
	if (r->s->graph)
		edits_near(e);
	else
		edits_of_text(e);
	if (stage == 0 && !is_told(r->d))
		edits_of_tokens(e);
	if (stage == 1) {
		edits_of_arguments(e);
		if (r->d->code != E0270 && r->d->code != E0913) /* integers have no gradient at all */
			edits_of_dtypes(e);
	}
	if (stage < 2)
		edits_of_word(e);
	else
		edits_of_operands(e);
}

/* Does a repair of it make the whole program compile? */
static bool mend(Repairs *r)
{
	Edits e = {.arena = r->s->perm, .sources = &r->s->sources, .file = r->s->ast};
	Found found[LEFT_SAME] = {0};
	e.counts = r->d->code == E0302 || r->d->code == E0303;
	e.differs = r->d->code == E0301;
	repair_facts(r->s, r->d, &e);
	e.unknown = r->d->code == E0201;
	list_edits(r, &e);
	join_offered(r, &e);
	edits_sort(&e);
	search(r, &e, found);
	Found shown = {0};
	bool mended = found[LEFT_NOTHING].n + found[LEFT_WARNINGS].n > 0;
	for (Left left = LEFT_NOTHING; left <= LEFT_OTHERS; left++)
		choose(&shown, &found[left], left == LEFT_OTHERS && mended);
	r->cost = shown.n > 0 ? shown.at[0]->cost : 0;
	attach(r, &shown);
	return mended;
}

/* One edit mends all of them: the others are its consequences. Those of a text that does not parse, or of the same statement, are
 * not told, nor are axes and sizes elsewhere, but for where the first of them is. */
static void be_brief(Repairs *r)
{
	Diags *diags = &r->s->diags;
	Span all = repair_statement(r->s, r->d), other = SPAN_NONE;
	int stage = stage_of(r->d->code);
	size_t n = 0, mended = (size_t)(r->d - diags->list.at);
	for (size_t i = 0; i < diags->list.n; i++) {
		Diag d = diags->list.at[i];
		bool within = repair_is_inside(d.span, all);
		d.brief = i != mended && diag_code_severity(d.code) == SEVERITY_ERROR;
		if (i == mended)
			r->d = &diags->list.at[n];
		if (d.brief && stage == 2 && !within && span_is_none(other) &&
		    d.span.file == r->s->file)
			other = d.span;
		if (d.brief && (stage != 1 || within))
			diags->nerrors--;
		else
			diags->list.at[n++] = d;
	}
	diags->list.n = n;
	if (!span_is_none(other))
		PUSH(r->s->perm, r->d->notes,
		     ((DiagNote){.span = other, .text = "a repair of it mends this too"}));
}

static uint32_t line_of(const Repairs *r, Span span)
{
	return source_place(&r->s->sources, span.file, span.start).line;
}

/* What a written rule gives has the shape of the tensor, whatever that is. */
static bool is_of_rule(const Diag *d)
{
	static const char says[] = "it is the gradient with respect to this";
	bool found = false;
	for (size_t i = 0; i < d->notes.n; i++)
		found |= strncmp(d->notes.at[i].text, says, sizeof says - 1) == 0;
	return found;
}

/* Where all that mends the program stands in one other line, and is likely, the mistake is there:
 * it is the main place, and where it was found is the first note. An index outside its axis,
 * relations that never hold, rules of gradients and what is not supported stay where they are. */
static void move_to_repair(Repairs *r)
{
	const Span found = r->d->span;
	Span to = SPAN_NONE;
	if (r->d->code == E0306 || r->d->code >= E0401 || r->cost > COST_SURE || is_of_rule(r->d))
		return;
	for (size_t i = 0; i < r->d->notes.n; i++) {
		const DiagNote *note = &r->d->notes.at[i];
		if (!note->replacement)
			continue;
		if (strchr(note->replacement, '\n')) /* a line that is missing */
			return;
		if (!span_is_none(to) && line_of(r, note->span) != line_of(r, to))
			return;
		to = span_is_none(to) ? note->span : to;
	}
	if (span_is_none(to) || line_of(r, to) == line_of(r, found))
		return;
	r->d->span = to;
	r->d->text = arena_printf(r->s->perm, "%s (line %u)", r->d->text, line_of(r, found));
	PUSH(r->s->perm, r->d->notes, ((DiagNote){.span = found}));
	memmove(&r->d->notes.at[1], &r->d->notes.at[0],
		(r->d->notes.n - 1) * sizeof r->d->notes.at[0]);
	r->d->notes.at[0] = (DiagNote){.span = found, .text = "it is found here"};
}

/* Errors and warnings as a trial counts them, which knows no warnings as errors. A search for whole
 * sizes may take long: few of them. */
static Repairs repairs_new(Session *s)
{
	Repairs r = {.s = s, .trials = TRIALS, .bytes = TRIAL_BYTES, .scratch = arena_new()};
	r.nerrors = s->diags.nerrors;
	r.nwarnings = s->diags.nwarnings;
	for (size_t i = 0; i < s->diags.list.n; i++) {
		const Diag *d = &s->diags.list.at[i];
		bool raised = d->severity == SEVERITY_ERROR &&
			      diag_code_severity(d->code) == SEVERITY_WARNING;
		r.nerrors -= raised;
		r.nwarnings += raised;
		if (d->code == E0348)
			r.trials = SEARCH_TRIALS;
	}
	return r;
}

static bool is_of_sizes(const Diag *d) { return d->code == E0301 || d->code == E0348; }
static bool is_of_rows(const Diag *d) { return d->code == E0302 || d->code == E0303; }

static bool is_alike(const Diag *d, const Diag *other)
{
	return memcmp(&d->span, &other->span, sizeof d->span) == 0 &&
	       ((is_of_sizes(d) && is_of_sizes(other)) || (is_of_rows(d) && is_of_rows(other)));
}

/* Sizes, or numbers of axes, that disagree at one place in several ways are told once: whoever has mended the first sees
 * what is left. */
static void tell_places_once(Diags *diags)
{
	size_t kept = 0;
	for (size_t i = 0; i < diags->list.n; i++) {
		const Diag d = diags->list.at[i];
		bool again = false;
		for (size_t k = 0; k < kept; k++)
			again |= is_alike(&d, &diags->list.at[k]);
		if (again)
			diags->nerrors--;
		else
			diags->list.at[kept++] = d;
	}
	diags->list.n = kept;
}

/* No edit mends a limit: a program at it is as large as one may be. A scalar as a size is mended where it
 * is declared, and other operands do not have the gradient that is missing. */
static bool stays(DiagCode code)
{
	return code == E0913 || code == E0236 || code == E0237 || code == E0305 || code == E0349 ||
	       code == E0351;
}

/* Trials are C strings. */
void repairs_offer(Session *s)
{
	const Source *source = source_at(&s->sources, s->file);
	if (strlen(source->text) < source->len)
		return;
	Repairs r = repairs_new(s);
	for (size_t i = 0, n = 0; i < s->diags.list.n && n < ERRORS_MENDED; i++) {
		r.d = &s->diags.list.at[i];
		if (diag_code_severity(r.d->code) != SEVERITY_ERROR || r.d->span.file != s->file ||
		    stays(r.d->code))
			continue;
		n++;
		if (mend(&r)) {
			be_brief(&r);
			move_to_repair(&r);
			break;
		}
	}
	tell_places_once(&s->diags);
	arena_free(r.scratch);
}
