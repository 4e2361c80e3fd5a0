/* Edits that may have been meant: small changes of the text at the places that a message shows.
 *
 *   tree, places, sizes of the message -> edits, the likelier first
 *
 * Nothing here knows whether an edit mends anything: who asks compiles the edited text. An edit is
 * one span of the file and what would stand there.
 */
#ifndef TSR_GRAMMAR_EDITS_H
#define TSR_GRAMMAR_EDITS_H

#include "grammar/ast.h"

typedef struct Edit {
	Span span;
	const char *text; /* what stands there instead */
	const char *why;  /* as a message says it */
	uint32_t cost;    /* the less, the likelier */
	uint32_t offered; /* the message has it already, as its first, second, ...; else 0 */
} Edit;

typedef struct Edits {
	Arena *arena;
	const Sources *sources;
	const AstFile *file;
	const Span *places; /* the first is the main one; those of other files are passed over */
	uint32_t nplaces;
	const char *const *sizes; /* numbers that the message says */
	uint32_t nsizes, nmain;	  /* these are in the message itself, the others in its notes */
	uint32_t differences;	  /* bit i: a size that it says is another one and i */
	const char *const *names; /* that it says in quotes */
	uint32_t nnames;
	const char *with; /* what a missing 'with' would say, or NULL */
	const AstStmt *stmt; /* that is looked through */
	bool counts;	  /* it is about how many axes there are */
	bool differs;	  /* it is about two sizes that are not equal */
	bool unknown;	  /* it is about a name that nothing declares */
	VEC(Edit) list;
} Edits;

/* Fills the list, in any order. */
void edits_near(Edits *e);
/* Likewise, of dims of inputs alone, which may have been meant as batch axes. */
void edits_of_inputs(Edits *e);
/* Likewise, for a text at the main place that is no specification. */
void edits_of_text(Edits *e);
/* Likewise, for a text that does not parse there. */
void edits_of_tokens(Edits *e);
/* Likewise, of the name at the main place. */
void edits_of_word(Edits *e);
/* Likewise, of the tensors that the statement of the main place names. */
void edits_of_operands(Edits *e);
/* Likewise, of the arguments of the call around the main place. */
void edits_of_arguments(Edits *e);
/* Likewise, of those that may have been meant with one batch axis more. */
void edits_of_batches(Edits *e);
/* Likewise, of the element types that declarations have. */
void edits_of_dtypes(Edits *e);
/* In the order of the costs, then of the text. */
void edits_sort(Edits *e);
/* NULL: it is not in the list. */
Edit *edit_find(Edits *e, Span span, const char *text);

/* Internal to grammar/: adds one; of a specification that is `far` from the places. */
void edit_add(Edits *e, uint32_t cost, Span span, const char *text, const char *why);
void edits_of_spec(Edits *e, const AstSpec *spec, uint32_t far);
void edits_of_letters(Edits *e, const AstSpec *spec, uint32_t far);

/* Internal to grammar/: of a shape that is `least` or less from the places; `given`: that of an
 * input, which is seldom what is wrong. */
void edits_of_shape(Edits *e, const AstShape *shape, uint32_t least, bool given);
/* Internal to grammar/: of an expression that is said to have the shape; any of them may be NULL. */
void edits_of_rows(Edits *e, const AstShape *shape, const AstExpr *expr, uint32_t far);
/* Internal to grammar/: how far something that is written there is from the places; the sizes of
 * the message in its place. */
uint32_t edit_far(const Edits *e, Span span);
void edit_sizes(Edits *e, Span span, uint32_t far);

/* Internal to grammar/: the letters that a `with` sets, the axis that parts are joined along. */
void edits_of_binds(Edits *e, const AstExpr *with, uint32_t far);
void edits_of_joins(Edits *e, const AstSpec *spec, uint32_t far);

/* Internal to grammar/: the names that are seen at the main place, the nearest first. */
typedef struct Seen {
	Name *at;
	uint32_t n, room;
} Seen;
Seen edit_words(const Edits *e);
bool edit_is_word(const char *text);

/* Internal to grammar/: what stands there; between the two. */
const char *edit_text(const Edits *e, Span span);
Span edit_gap(Span a, Span b);

#endif
