/* Specifications as the graph has them: resolved, checked, and which letters they have. */
#ifndef TSR_FRONTEND_SPECS_H
#define TSR_FRONTEND_SPECS_H

#include "frontend/build.h"
#include "frontend/spec_make.h"

/* ---- spec_letters.c ---- */

/* Letters and row variables, each once, as many as are shown. */
typedef struct SpecLetters {
	Arena *arena;
	VEC(Sym) names;
	VEC(bool) rows;
} SpecLetters;

/* "'i', 'j' and 'k'", for messages. */
const char *spec_letters(Build *b, const Spec *spec);
/* For an axis of a `with` that no specification has: the letter that is nearest, or NULL. */
Sym spec_nearest_letter(Build *b, const With *with, Sym letter);
bool spec_has_letter(const Spec *spec, Sym letter);
bool spec_operands_have(const Spec *spec, Sym letter);
/* How often the letter, or row variable, stands in the tensor. */
uint32_t spec_tensor_count(const SpecTensor *tensor, Sym letter);
SpecLetters spec_tensor_letters(Arena *arena, const SpecTensor *tensor);

/* ---- spec_axes.c ---- */

/* Resolves the coefficients of one axis of the specification, and the sizes that it names; false
 * after an error. */
bool spec_resolve_axis(Build *b, const AstSpec *spec, const AstSpecAxis *axis, SpecAxis *out);

/* ---- specs.c ---- */

/* The specification in a string, coefficients resolved; NULL after an error. */
const Spec *spec_resolve(Build *b, AstExpr *string);
/* Likewise, for forms that give a bracketed axis a meaning; the other refuses one. */
const Spec *spec_resolve_bracketed(Build *b, AstExpr *string);
/* `...|...->... => ` without operands axes kept: the reduction of everything. */
const Spec *spec_reduce_all(Build *b, Span span);
/* One axis moves over the bar: the first output axis becomes the last batch axis, or back. */
const Spec *spec_over_bar(Build *b, RowKind to, Span span);
bool spec_result_concatenates(const Spec *spec);
/* Is every element of the result one of an operand, so that nothing is added up? False: perhaps
 * not. */
bool spec_only_moves(const Spec *spec);
/* Does every element of the result come from one element of each operand, at letters that stand once in
 * it? */
bool spec_keeps_axes(const Spec *spec);
/* Operand count against the call; reports with both places. */
bool spec_check_count(Build *b, const Spec *spec, uint32_t nargs, Span call);
/* Is it what permute and argmax need? False after the error. `word` is `permute` in the source. */
bool spec_check_permute(Build *b, const Spec *spec, Span word);
bool spec_check_argmax(Build *b, const Spec *spec, Sym form);
/* Notes letters of the result alone that are also names of sizes or scalars, for a warning. */
void spec_note_namesakes(Build *b, NodeId node);
/* Lets the `with`s around know of a node's specification. */
void spec_report_to_withs(Build *b, NodeId node);

#endif
