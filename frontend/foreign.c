/* What stands here for the names of other languages and libraries.
 *
 * A name that nothing declares is looked up among the words that people bring along (foreign.def), then among
 * the letters of the specifications before it, whose sizes have names only after a `with`.
 */
#include <ctype.h>
#include <string.h>

#include "frontend/build.h"
#include "frontend/specs.h"

enum { ERRORS_EXPLAINED = 20 }; /* looking for a letter goes through the graph */

#define CALLED "a cast is called like the element type"

typedef struct ForeignName {
	const char *names; /* between spaces; those with a '.' fit the ends of paths */
	const char *meant; /* takes its place, or NULL */
	const char *note, *code;
} ForeignName;

static const ForeignName foreign_names[] = {
#define FOREIGN(names, meant, note, code) {names, meant, note, code},
#include "frontend/foreign.def"
#undef FOREIGN
};

/* Are the first n letters of a word the name, in whatever case, with '_' or without? */
static bool is_spelt(const char *word, size_t n, const char *name)
{
	const char *end = word + n;
	for (;; word++, name++) {
		word += word < end && *word == '_';
		name += *name == '_';
		if (word == end || !*name)
			return word == end && !*name;
		if (tolower((unsigned char)*word) != tolower((unsigned char)*name))
			return false;
	}
}

/* Does the word fit an end of the path, `torch.nn.gelu`? */
static bool fits_end(const char *word, size_t n, const char *path)
{
	bool fits = false;
	for (const char *end = path; *end && !fits; end++)
		fits = (end == path || end[-1] == '.' || *end == '.') && is_spelt(word, n, end);
	return fits;
}

static bool has_word(const char *names, const char *path, bool dotted)
{
	bool found = false;
	for (size_t n; *names && !found; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		found = (memchr(names, '.', n) != NULL) == dotted && fits_end(names, n, path);
	}
	return found;
}

static const ForeignName *find_word(const char *path, bool dotted)
{
	const ForeignName *found = NULL;
	for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names && !found; i++)
		if (has_word(foreign_names[i].names, path, dotted))
			found = &foreign_names[i];
	return found;
}

static bool note_word(Build *b, const ForeignName *word, Span span)
{
	if (word && word->meant)
		diag_fix(b->diags, span, word->meant, "%s%s", word->note, word->code);
	else if (word)
		diag_note(b->diags, span, "%s%s", word->note, word->code);
	return word != NULL;
}

static bool note_cast(Build *b, Name name)
{
	Dtype meant = dtype_elsewhere(name.sym, strlen(name.sym));
	if (meant != DTYPE_NONE)
		diag_fix(b->diags, name.span, dtype_name(meant), CALLED);
	return meant != DTYPE_NONE;
}

/* `einsum("i, d; d => i", a, b) / sqrt(d)`: the letter is no name outside of its specification. What a function
 * applied elsewhere has in its own is none of this place's. */
static bool note_letter(Build *b, Name name)
{
	for (NodeId id = (NodeId)b->graph->nodes.n; id-- > 0;) {
		const Node *node = graph_node(b->graph, id);
		if (!node->spec || node->site != b->at.site ||
		    node->spec->span.file != name.span.file ||
		    !spec_has_letter(node->spec, name.sym))
			continue;
		diag_note(
			b->diags, node->spec->span,
			"'%s' is an axis in this specification alone; 'with (%s)' behind the expression names its size",
			name.sym, name.sym);
		return true;
	}
	return false;
}

bool foreign_special(Build *b, Name name)
{
	const char *path = source_text(b->sources, b->arena, name.span);
	return b->diags->nerrors <= ERRORS_EXPLAINED &&
	       note_word(b, find_word(path, true), name.span);
}

bool foreign_explain(Build *b, Name name)
{
	if (b->diags->nerrors > ERRORS_EXPLAINED)
		return false;
	return foreign_special(b, name) || note_word(b, find_word(name.sym, false), name.span) ||
	       note_cast(b, name) || note_letter(b, name);
}

const char *foreign_function(Build *b, Name name, const char **note)
{
	Dtype cast = dtype_elsewhere(name.sym, strlen(name.sym));
	const ForeignName *word = find_word(arena_printf(b->arena, ".%s", name.sym), true);
	word = word ? word : find_word(name.sym, false);
	*note = word		     ? arena_printf(b->arena, "%s%s", word->note, word->code)
		: cast != DTYPE_NONE ? CALLED
				     : NULL;
	return word ? word->meant : cast != DTYPE_NONE ? dtype_name(cast) : NULL;
}
