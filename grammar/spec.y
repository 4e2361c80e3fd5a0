/* The grammar of specifications (LALR(1), no conflicts): "r1; r2 => l". Actions only make nodes:
 * see spec_tree.h. parse_spec.c feeds a comma between two axes that stand side by side, where the
 * mode allows that, so the commas of the grammar are all there are. */
%name SpecParse
%token_prefix GRAMMAR_SPEC_
%token_type {Token}
%extra_context {SpecTree *t}
%stack_size 0
%start_symbol spec

%include {
#define NDEBUG 1 /* the template's traces and its checks of its own tables */
#include <stdlib.h>

#include "base/held.h"
#include "grammar/parsers.h"
#include "grammar/spec_tree.h"

/* the parser and its stack, which the template takes and frees */
#define malloc  held_malloc
#define realloc held_realloc
#define free    held_free

#define YYNOERRORRECOVERY 1
}

%syntax_error { BUG("the parser was fed token %d, which it does not accept", yymajor); }
%stack_overflow { BUG("the parser's stack is out of memory"); }

%type tensor {AstSpecTensor}
%type row    {SpecRow *}
%type items  {SpecRow *}
%type axis   {AstSpecAxis}
%type form   {SpecTerms *}
%type term   {SpecTerm}
%type margins {SpecMargins}
%type coef   {AstCoef}
%type parts  {SpecParts *}
%type part   {Token}
%type joint  {SpecParts *}
%type joined {SpecParts *}

spec ::= operands IMPLIES tensor(T). { t->result = T; }

operands ::= tensor(T).                { spec_operand(t, T); }
operands ::= operands SEMI tensor(T).  { spec_operand(t, T); }

tensor(R) ::= row(O).                          { R = spec_tensor(t, (SpecRow *[]){NULL, NULL, O}); }
tensor(R) ::= row(I) ARROW row(O).             { R = spec_tensor(t, (SpecRow *[]){NULL, I, O}); }
tensor(R) ::= row(B) BAR row(O).               { R = spec_tensor(t, (SpecRow *[]){B, NULL, O}); }
tensor(R) ::= row(B) BAR row(I) ARROW row(O).  { R = spec_tensor(t, (SpecRow *[]){B, I, O}); }

row(R) ::= .                 { R = spec_row(t, NULL, NULL); }
row(R) ::= items(L).         { R = L; }
row(R) ::= items(L) COMMA.   { R = L; }

items(R) ::= axis(A).                    { R = spec_row(t, NULL, &A); }
items(R) ::= ELLIPSIS(V).                { R = spec_row_var(t, NULL, V); }
items(R) ::= ROWVAR(V).                  { R = spec_row_var(t, NULL, V); }
items(R) ::= items(L) COMMA axis(A).     { R = spec_row(t, L, &A); }
items(R) ::= items(L) COMMA ELLIPSIS(V). { R = spec_row_var(t, L, V); }
items(R) ::= items(L) COMMA ROWVAR(V).   { R = spec_row_var(t, L, V); }

axis(R) ::= UNDERSCORE(U).   { R = spec_placeholder(U); }
axis(R) ::= form(F).         { R = spec_form(t, F); }
axis(R) ::= parts(L).        { R = spec_concat(t, L); }
axis(R) ::= LBRACKET(B) NAME(L) RBRACKET.  { R = spec_bracketed(t, B, L); }
axis(R) ::= LPAREN(P) joint(L) RPAREN. { R = spec_join(t, P.span, L); }
axis(R) ::= joined(L).       { R = spec_join(t, L->items.at[0].span, L); }

form(R) ::= term(T).                  { R = spec_terms(t, NULL, NULL, T); }
form(R) ::= form(L) PLUS(O) term(T).  { R = spec_terms(t, L, &O, T); }
form(R) ::= form(L) MARK(O) term(T).  { R = spec_terms(t, L, &O, T); }
form(R) ::= form(L) MARK(O) margins(M) term(T). { R = spec_margins(spec_terms(t, L, &O, T), M); }

margins(R) ::= LBRACKET coef(A) RBRACKET.               { R = (SpecMargins){A, A}; }
margins(R) ::= LBRACKET coef(A) COMMA coef(B) RBRACKET. { R = (SpecMargins){A, B}; }
coef(R) ::= INT(N).   { R = spec_coef(t, N); }
coef(R) ::= NAME(N).  { R = spec_coef(t, N); }

term(R) ::= INT(N).                { R = spec_term(t, &N, NULL); }
term(R) ::= NAME(L).               { R = spec_term(t, NULL, &L); }
term(R) ::= INT(N) STAR NAME(L).   { R = spec_term(t, &N, &L); }
term(R) ::= NAME(N) STAR NAME(L).  { R = spec_term(t, &N, &L); }

parts(R) ::= part(A) CARET part(B). { R = spec_parts(t, spec_parts(t, NULL, A), B); }
parts(R) ::= parts(L) CARET part(B). { R = spec_parts(t, L, B); }
part(R) ::= NAME(T).   { R = T; }
part(R) ::= INT(T).    { R = T; }
part(R) ::= UNDERSCORE(T). { R = T; }

joint(R) ::= NAME(A).             { R = spec_parts(t, NULL, A); }
joint(R) ::= joint(L) NAME(B).    { R = spec_parts(t, L, B); }
joined(R) ::= NAME(A) AMP NAME(B).    { R = spec_parts(t, spec_parts(t, NULL, A), B); }
joined(R) ::= joined(L) AMP NAME(B).  { R = spec_parts(t, L, B); }

%token ERROR.

%code {
#include "grammar/replay.h"

#define GRAMMAR_SPEC_END 0
#undef TOKEN /* the template's */
static const unsigned char terminals[SPEC_TOKEN_COUNT] = {
#define SPEC_TOKEN(name, label, class) [SPEC_TOKEN_##name] = GRAMMAR_SPEC_##name,
#include "lexer/tokens.def"
#undef SPEC_TOKEN
};

void *spec_parse_new(SpecTree *tree) { return SpecParseAlloc(malloc, tree); }
void spec_parse_free(void *parser) { SpecParseFree(parser, free); }
void spec_parse_feed(void *parser, Token token) { SpecParse(parser, terminals[token.kind], token); }
bool spec_parse_accepts(const void *parser, int kind)
{
	return replay_accepts(parser, terminals[kind]);
}
}
