/* Bytes to syntax tree: the lexer's tokens through two Lemon grammars. */
#ifndef TSR_GRAMMAR_PARSE_H
#define TSR_GRAMMAR_PARSE_H

#include "base/diag.h"
#include "base/symbol.h"
#include "grammar/ast.h"

typedef struct Parse {
	Arena *perm;
	Symbols *symbols;
	const Sources *sources;
	Diags *diags;
} Parse;

/* Parses one source text. Never NULL; errors are in diags, statements that failed are left out.
 * Arguments of calls (other than file) and `via` strings in which `=>` stands are parsed as
 * specifications at once; whether a string without it should have been one is for the frontend to
 * say (parse_spec). */
AstFile *parse_file(Parse *parse, uint32_t file);

/* Parses the text of an AST_STRING as a specification (once: the result is kept in string->spec).
 * Never NULL; look at ->broken. Requires: an AST_STRING. */
AstSpec *parse_spec(Parse *parse, AstExpr *string);

/* Prints the tokens of a source text, one a line: `LINE:COL KIND text`. */
void tokens_dump(FILE *out, Parse *parse, uint32_t file);

#endif
