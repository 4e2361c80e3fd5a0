/* The actions of the specification grammar. Private to grammar/. As in tree.h, a rule's text ends
 * with `last`. */
#ifndef TSR_GRAMMAR_SPEC_TREE_H
#define TSR_GRAMMAR_SPEC_TREE_H

#include "grammar/parse.h"
#include "lexer/lexer.h"

enum { SPEC_LIMIT = 64 }; /* operands, axes of a row, parts of an axis */

typedef struct SpecTree {
	Parse *parse;
	const Source *source;
	Token last;
	bool failed, full; /* full: SPEC_LIMIT was reported */
	VEC(AstSpecTensor) operands;
	AstSpecTensor result;
	bool single_letters;
	bool inside; /* the parentheses of a joined axis: letters stand side by side */
} SpecTree;

/* One summand of an affine form: a number, a letter, or a letter with its coefficient. */
typedef struct SpecTerm {
	AstCoef coef; /* of a number alone: the number */
	Name letter;  /* sym NULL: a number alone */
	Span span;
	SpecMark mark; /* the mark before it */
	Span mark_span;
	AstCoef before, after; /* margins, where they are written behind the mark */
} SpecTerm;

/* What stands around an axis that is read under a mark: `=+[1, 2]`. */
typedef struct SpecMargins {
	AstCoef before, after;
} SpecMargins;

typedef struct SpecTerms {
	VEC(SpecTerm) items;
} SpecTerms;

typedef struct SpecParts {
	VEC(AstSpecPart) items;
} SpecParts;

typedef struct SpecRow {
	VEC(AstSpecAxis) axes;
	int32_t var_at;
	Name var; /* sym NULL: `...` */
	Span span;
} SpecRow;

/* A summand, from the number or name before `*` and from the letter, of which one may be NULL; and the list
 * with one more summand, before which `sign` stands (list NULL: a new list; sign NULL: the first). */
SpecTerm spec_term(SpecTree *tree, const Token *coef, const Token *letter);
SpecTerms *spec_terms(SpecTree *tree, SpecTerms *list, const Token *sign, SpecTerm term);
/* Gives the term behind the last mark these margins. */
SpecTerms *spec_margins(SpecTerms *list, SpecMargins margins);
AstCoef spec_coef(SpecTree *tree, Token token);
SpecParts *spec_parts(SpecTree *tree, SpecParts *list, Token part);
/* A letter, an index or an affine form: reports terms that are none of these. */
AstSpecAxis spec_form(SpecTree *tree, const SpecTerms *terms);
AstSpecAxis spec_concat(SpecTree *tree, const SpecParts *parts);
/* (a b) and a&b: from `start` to the last token. */
AstSpecAxis spec_join(const SpecTree *tree, Span start, const SpecParts *parts);
AstSpecAxis spec_placeholder(Token token);
/* `[v]`, from its opening bracket to the closing one, which stands last. */
AstSpecAxis spec_bracketed(SpecTree *tree, Token open, Token letter);

/* The row with one more axis or with its row variable (row NULL: a new row; axis NULL: no axis is added);
 * and one more operand. More than SPEC_LIMIT of them, and a second row variable, are reported. */
SpecRow *spec_row(SpecTree *tree, SpecRow *row, const AstSpecAxis *axis);
SpecRow *spec_row_var(SpecTree *tree, SpecRow *row, Token var);
void spec_operand(SpecTree *tree, AstSpecTensor operand);
/* rows[k] is NULL where the row is not written. */
AstSpecTensor spec_tensor(SpecTree *tree, SpecRow *const rows[ROW_KINDS]);

#endif
