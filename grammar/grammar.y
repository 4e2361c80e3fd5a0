/* The grammar of programs (LALR(1), no conflicts). Actions only make nodes: see tree.h and tree_stmt.h.
 *
 * Every statement starts with a keyword and juxtaposition means nothing, so nothing ends a
 * statement; `;` may stand between. Reserved everywhere: dim require input param const let fn
 * output routine import in with iterate scan if then else for, and the numbers inf nan pi. Contextual,
 * and names elsewhere: as divides via forward backward update init params except until adjoint. `input` and `output` may also
 * be the first argument of a call, for stack(output, ...).
 *
 * There is no recovery in the grammar: parse.c feeds only tokens that are accepted, and unwinds
 * the stack to a list of statements or steps after an error. */
%name FileParse
%token_prefix GRAMMAR_
%token_type {Token}
%extra_context {Tree *t}
%stack_size 0
%start_symbol file

%include {
#define NDEBUG 1 /* the template's traces and its checks of its own tables */
#include <stdlib.h>

#include "base/held.h"
#include "grammar/parsers.h"
#include "grammar/tree.h"
#include "grammar/tree_stmt.h"

/* the parser and its stack, which the template takes and frees */
#define malloc  held_malloc
#define realloc held_realloc
#define free    held_free

#define YYNOERRORRECOVERY 1
#define NO_NAME ((Name){0})
}

%syntax_error { BUG("the parser was fed token %d, which it does not accept", yymajor); }
%stack_overflow { BUG("the parser's stack is out of memory"); }

%fallback NAME AS DIVIDES VIA FORWARD BACKWARD UPDATE INIT PARAMS EXCEPT UNTIL ADJOINT.

%type name       {Name}
%type opt_comma  {int}
%type type       {Type}
%type opt_type   {Type}
%type ascribed   {Type}
%type shape      {AstShape *}
%type row        {Row *}
%type axes       {Row *}
%type axis       {AstShapeAxis}
%type row_var    {Token}
%type dim        {AstStmt}
%type an_input   {AstStmt}
%type a_param    {AstStmt}
%type a_const    {AstStmt}
%type a_let      {AstStmt}
%type an_output  {AstStmt}
%type arg        {Arg}
%type withbind   {AstBind}
%type given      {Binds *}
%type givenlist  {Binds *}
%type letbind    {AstBind}
%type counter    {Name}
%type until      {AstExpr *}
%type scanned    {AstExpr *}
%type args       {Exprs *}
%type arglist    {Exprs *}
%type exprs      {Exprs *}
%type except     {Exprs *}
%type names      {Names *}
%type namelist   {Names *}
%type results    {Names *}
%type params     {Params *}
%type paramlist  {Params *}
%type rule       {AstRule *}
%type modes      {Params *}
%type modelist   {Params *}
%type scalars    {Params *}
%type scalarlist {Params *}
%type scalar     {AstParam}
%type withbinds  {Binds *}
%type letbinds   {Binds *}
%type stepbinds  {Binds *}
%type steps      {Steps *}
%type step       {AstStep}
%type at_least   {AstExpr *}
%type opt_init   {AstExpr *}
%type via        {AstExpr *}
%type expr       {AstExpr *}
%type withs      {AstExpr *}
%type or         {AstExpr *}
%type and        {AstExpr *}
%type comparison {AstExpr *}
%type sum        {AstExpr *}
%type product    {AstExpr *}
%type unary      {AstExpr *}
%type power      {AstExpr *}
%type slice      {AstExpr *}
%type postfix    {AstExpr *}
%type path       {AstExpr *}
%type applied    {AstExpr *}
%type primary    {AstExpr *}
%type place      {AstExpr *}
%type literal    {AstExpr *}
%type product_op {Token}
%type compare_op {Token}

/* ---- statements ---- */

file ::= stmts.

stmts ::= .
stmts ::= stmts SEMI.
stmts ::= stmts stmt.

stmt ::= dims.
dims ::= DIM(K) dim(D).       { tree_stmt(t, K, D); }
dims ::= dims COMMA dim(D).   { tree_stmt(t, (Token){.span = D.name.span}, D); }
dim(R) ::= name(N) at_least(G). {
	R = (AstStmt){.kind = STMT_DIM, .name = N, .at_least = tree_at_least(t, G),
	              .at_least_span = G ? G->span : SPAN_NONE};
}
dim(R) ::= name(N) EQ sum(S) at_least(G). {
	R = (AstStmt){.kind = STMT_DIM, .name = N, .expr = S, .at_least = tree_at_least(t, G),
	              .at_least_span = G ? G->span : SPAN_NONE};
}
at_least(R) ::= .              { R = NULL; }
at_least(R) ::= GE NUMBER(N).  { R = tree_number(t, N); }

stmt ::= REQUIRE(K) sum(A) EQEQ sum(B). { tree_require(t, K, REQUIRE_EQ, (AstExpr *[]){A, B}); }
stmt ::= REQUIRE(K) sum(A) GE sum(B). { tree_require(t, K, REQUIRE_GE, (AstExpr *[]){A, B}); }
stmt ::= REQUIRE(K) sum(A) DIVIDES sum(B). {
	tree_require(t, K, REQUIRE_DIVIDES, (AstExpr *[]){A, B});
}

stmt ::= inputs.
inputs ::= INPUT(K) an_input(S).       { tree_stmt(t, K, S); }
inputs ::= inputs COMMA an_input(S).   { tree_stmt(t, (Token){.span = S.name.span}, S); }
an_input(R) ::= name(N) type(T). {
	R = (AstStmt){.kind = STMT_INPUT, .name = N, .dtype = T.dtype, .shape = T.shape};
}
stmt ::= declared.
declared ::= PARAM(K) a_param(S).          { tree_stmt(t, K, S); }
declared ::= declared COMMA a_param(S).    { tree_stmt(t, (Token){.span = S.name.span}, S); }
a_param(R) ::= name(N) opt_type(T) opt_init(E). {
	R = (AstStmt){.kind = STMT_PARAM, .name = N, .dtype = T.dtype, .shape = T.shape, .expr = E};
}
stmt ::= consts.
consts ::= CONST(K) a_const(S).        { tree_stmt(t, K, S); }
consts ::= consts COMMA a_const(S).    { tree_stmt(t, (Token){.span = S.name.span}, S); }
a_const(R) ::= name(N) opt_type(T) EQ expr(E). {
	R = (AstStmt){.kind = STMT_CONST, .name = N, .dtype = T.dtype, .shape = T.shape, .expr = E};
}
stmt ::= lets.
lets ::= LET(K) a_let(S).              { tree_stmt(t, K, S); }
lets ::= lets COMMA a_let(S).          { tree_stmt(t, (Token){.span = S.names[0].span}, S); }
a_let(R) ::= name(N) ascribed(T) EQ expr(E). {
	Names *one = tree_names(t, NULL, N);
	R = (AstStmt){.kind = STMT_LET, .name = N, .names = one->items.at, .nnames = 1,
	              .dtype = T.dtype, .type_span = T.span, .shape = T.shape, .expr = E};
}
a_let(R) ::= LPAREN names(L) RPAREN EQ expr(E). {
	R = (AstStmt){.kind = STMT_LET, .names = L->items.at, .nnames = (uint32_t)L->items.n,
	              .dtype = DTYPE_NONE, .expr = E};
}
stmt ::= FN(K) name(N) LPAREN params(P) RPAREN EQ expr(E) rule(R). {
	AstStmt s = {.kind = STMT_FN, .name = N, .expr = E, .rule = R};
	tree_set_params(t, &s, NULL, P);
	tree_stmt(t, K, s);
}
stmt ::= FN(K) name(N) LPAREN params(P) SEMI modelist(M) opt_comma RPAREN EQ expr(E) rule(R). {
	AstStmt s = {.kind = STMT_FN, .name = N, .expr = E, .rule = R};
	tree_set_params(t, &s, NULL, P);
	tree_set_modes(&s, M);
	tree_stmt(t, K, s);
}
stmt ::= FN(K) name(N) LPAREN params(C) RPAREN LPAREN params(P) modes(M) RPAREN EQ expr(E) rule(R). {
	AstStmt s = {.kind = STMT_FN, .name = N, .expr = E, .has_configs = true, .rule = R};
	tree_set_params(t, &s, C, P);
	tree_set_modes(&s, M);
	tree_stmt(t, K, s);
}
rule(R) ::= .                                                  { R = NULL; }
rule(R) ::= ADJOINT(K) LPAREN names(N) RPAREN EQ expr(E).      { R = tree_rule(t, K, N, E); }
stmt ::= outputs.
outputs ::= OUTPUT(K) an_output(S).      { tree_stmt(t, K, S); }
outputs ::= outputs COMMA an_output(S).  { tree_stmt(t, (Token){.span = S.name.span}, S); }
outputs ::= OUTPUT(K) LPAREN names(L) RPAREN EQ expr(E).          { tree_outputs(t, K, L, E); }
outputs ::= outputs COMMA LPAREN(K) names(L) RPAREN EQ expr(E).   { tree_outputs(t, K, L, E); }
an_output(R) ::= name(N) ascribed(T) opt_init(E). {
	R = (AstStmt){.kind = STMT_OUTPUT, .name = N, .dtype = T.dtype, .type_span = T.span,
	              .shape = T.shape, .expr = E};
}
stmt ::= ROUTINE(K) name(N) LPAREN scalars(C) RPAREN results(R) LBRACE steps(S) RBRACE. {
	AstStmt s = {.kind = STMT_ROUTINE, .name = N, .names = R ? R->items.at : NULL,
	             .nnames = R ? (uint32_t)R->items.n : 0};
	tree_set_params(t, &s, C, NULL);
	s.steps = S ? S->items.at : NULL;
	s.nsteps = S ? (uint32_t)S->items.n : 0;
	tree_typed(t, &s);
	tree_stmt(t, K, s);
}
stmt ::= ROUTINE(K) name(N) LPAREN scalars(C) RPAREN LPAREN params(P) RPAREN LBRACE steps(S) RBRACE. {
	AstStmt s = {.kind = STMT_ROUTINE, .name = N, .has_configs = true};
	tree_set_params(t, &s, C, P);
	s.steps = S ? S->items.at : NULL;
	s.nsteps = S ? (uint32_t)S->items.n : 0;
	tree_typed(t, &s);
	tree_stmt(t, K, s);
}
stmt ::= IMPORT(K) STRING(S).            { tree_import(t, K, S, NO_NAME); }
stmt ::= IMPORT(K) STRING(S) AS name(N). { tree_import(t, K, S, N); }
stmt ::= IMPORT(K) NAME(S).              { tree_import(t, K, S, NO_NAME); }
stmt ::= IMPORT(K) NAME(S) AS name(N).   { tree_import(t, K, S, N); }

name(R) ::= NAME(T). { R = tree_name(t, T); }

names(R) ::= namelist(L) opt_comma.      { R = L; }
namelist(R) ::= name(N).                 { R = tree_names(t, NULL, N); }
namelist(R) ::= namelist(L) COMMA name(N). { R = tree_names(t, L, N); }

opt_comma(R) ::= .      { R = 0; }
opt_comma(R) ::= COMMA. { R = 1; }

opt_init(R) ::= .           { R = NULL; }
opt_init(R) ::= EQ expr(E). { R = E; }

params(R) ::= .                        { R = NULL; }
params(R) ::= paramlist(L) opt_comma.  { R = L; }
paramlist(R) ::= name(N) opt_init(E). {
	R = tree_params(t, NULL, (AstParam){N, E, DTYPE_NONE, SPAN_NONE});
}
paramlist(R) ::= paramlist(L) COMMA name(N) opt_init(E). {
	R = tree_params(t, L, (AstParam){N, E, DTYPE_NONE, SPAN_NONE});
}
modes(R) ::= .                             { R = NULL; }
modes(R) ::= SEMI modelist(L) opt_comma.   { R = L; }
modelist(R) ::= name(N) EQ expr(E). {
	R = tree_params(t, NULL, (AstParam){N, E, DTYPE_NONE, SPAN_NONE});
}
modelist(R) ::= modelist(L) COMMA name(N) EQ expr(E). {
	R = tree_params(t, L, (AstParam){N, E, DTYPE_NONE, SPAN_NONE});
}
scalars(R) ::= .                         { R = NULL; }
scalars(R) ::= scalarlist(L) opt_comma.  { R = L; }
scalarlist(R) ::= scalar(S).                     { R = tree_params(t, NULL, S); }
scalarlist(R) ::= scalarlist(L) COMMA scalar(S).  { R = tree_params(t, L, S); }
scalar(R) ::= name(N) COLON NAME(D).  { R = (AstParam){N, NULL, tree_dtype(t, D), D.span}; }
scalar(R) ::= name(N) opt_init(E).    { R = (AstParam){N, E, DTYPE_NONE, SPAN_NONE}; }
results(R) ::= .                   { R = NULL; }
results(R) ::= ARROW namelist(L).  { R = L; }

/* ---- shapes ---- */

opt_type(R) ::= .                     { R = (Type){DTYPE_NONE, NULL, SPAN_NONE}; }
opt_type(R) ::= type(T).              { R = T; }
type(R) ::= COLON shape(S).           { R = (Type){DTYPE_NONE, S, S->span}; }
type(R) ::= COLON NAME(D) shape(S).   { R = (Type){tree_dtype(t, D), S, D.span}; }
/* what is said of a tensor that is computed */
ascribed(R) ::= opt_type(T).              { R = T; }
ascribed(R) ::= COLON NAME(D).            { R = (Type){tree_dtype(t, D), NULL, D.span}; }

shape(R) ::= LBRACKET(K) row(O) RBRACKET. { R = tree_shape(t, K, (Row *[]){NULL, NULL, O}); }
shape(R) ::= LBRACKET(K) row(I) ARROW row(O) RBRACKET. {
	R = tree_shape(t, K, (Row *[]){NULL, I, O});
}
shape(R) ::= LBRACKET(K) row(B) BAR row(O) RBRACKET. {
	R = tree_shape(t, K, (Row *[]){B, NULL, O});
}
shape(R) ::= LBRACKET(K) row(B) BAR row(I) ARROW row(O) RBRACKET. {
	R = tree_shape(t, K, (Row *[]){B, I, O});
}
/* `[|` and `|]` are single tokens: the bar beside an empty row. */
shape(R) ::= LBRACKET(K) row(B) BARRBRACK. {
	R = tree_shape(t, K, (Row *[]){B, NULL, tree_row(t, NULL, NULL)});
}
shape(R) ::= LBRACKBAR(K) row(O) RBRACKET. {
	R = tree_shape(t, K, (Row *[]){tree_row(t, NULL, NULL), NULL, O});
}
shape(R) ::= LBRACKBAR(K) row(I) ARROW row(O) RBRACKET. {
	R = tree_shape(t, K, (Row *[]){tree_row(t, NULL, NULL), I, O});
}

row(R) ::= .                   { R = tree_row(t, NULL, NULL); }
row(R) ::= axes(L) opt_comma.  { R = L; }

axes(R) ::= axis(A).                { R = tree_row(t, NULL, &A); }
axes(R) ::= row_var(V).             { R = tree_row_var(t, NULL, V); }
axes(R) ::= axes(L) COMMA axis(A).  { R = tree_row(t, L, &A); }
axes(R) ::= axes(L) COMMA row_var(V). { R = tree_row_var(t, L, V); }

axis(R) ::= sum(E).                       { R = tree_axis(t, E->span, NO_NAME, E); }
axis(R) ::= UNDERSCORE(U).                { R = tree_axis(t, U.span, NO_NAME, NULL); }
axis(R) ::= name(N) COLON sum(E).         { R = tree_axis(t, N.span, N, E); }
axis(R) ::= name(N) COLON UNDERSCORE.     { R = tree_axis(t, N.span, N, NULL); }

row_var(R) ::= ELLIPSIS(T). { R = T; }
row_var(R) ::= ROWVAR(T).   { R = T; }

/* ---- routines ---- */

steps(R) ::= .               { R = NULL; }
steps(R) ::= steps(L) SEMI.  { R = L; }
steps(R) ::= steps(L) step(S). { R = tree_steps(t, L, S); }

step(R) ::= place(P) ASSIGN(A) expr(E) via(V). {
	R = (AstStep){.kind = STEP_ASSIGN, .span = P->span, .op_span = A.span, .target = P, .expr = E,
	              .via = V};
}
step(R) ::= LET(K) stepbinds(L). {
	R = (AstStep){.kind = STEP_LET, .span = K.span, .op_span = K.span};
	R.binds = L->items.at;
	R.nbinds = (uint32_t)L->items.n;
}
step(R) ::= FORWARD(K) place(P). {
	R = (AstStep){.kind = STEP_FORWARD, .span = K.span, .op_span = K.span, .expr = P};
}
step(R) ::= BACKWARD(K) expr(E). {
	R = (AstStep){.kind = STEP_BACKWARD, .span = K.span, .op_span = K.span, .expr = E};
}
step(R) ::= UPDATE(K) place(P). {
	R = (AstStep){.kind = STEP_UPDATE, .span = K.span, .op_span = K.span, .expr = P};
}
step(R) ::= INIT(K). { R = (AstStep){.kind = STEP_INIT, .span = K.span, .op_span = K.span}; }
step(R) ::= FOR(K) name(N) IN PARAMS LPAREN exprs(E) opt_comma RPAREN except(X) LBRACE steps(S) RBRACE. {
	R = (AstStep){.kind = STEP_FOR, .span = K.span, .op_span = K.span, .name = N,
	              .expr = E->items.at[0]};
	R.patterns = E->items.at + 1;
	R.npatterns = (uint32_t)E->items.n - 1;
	R.excepted = X ? X->items.at : NULL;
	R.nexcepted = X ? (uint32_t)X->items.n : 0;
	R.steps = S ? S->items.at : NULL;
	R.nsteps = S ? (uint32_t)S->items.n : 0;
}
except(R) ::= .                                       { R = NULL; }
except(R) ::= EXCEPT LPAREN exprs(E) opt_comma RPAREN. { R = E; }
step(R) ::= place(P) LPAREN args(L) RPAREN. {
	R = (AstStep){.kind = STEP_CALL, .span = P->span, .op_span = P->span, .expr = tree_call(t, P, L)};
}
step(R) ::= place(P) LPAREN args(C) RPAREN LPAREN args(L) RPAREN. {
	R = (AstStep){.kind = STEP_CALL, .span = P->span, .op_span = P->span,
	              .expr = tree_call(t, tree_call(t, P, C), L)};
}
place(R) ::= name(N).               { R = tree_name_expr(t, N); }
place(R) ::= UPDATE(T).             { R = tree_name_expr(t, tree_name(t, T)); }
place(R) ::= place(P) DOT name(N).  { R = tree_member(t, P, N); }
via(R) ::= .                { R = NULL; }
via(R) ::= VIA STRING(S).   { R = tree_spec(t, tree_string(t, S)); }

/* ---- expressions, loosest first ---- */

expr(R) ::= withs(A).                                { R = A; }
expr(R) ::= IF(K) expr(C) THEN expr(A) ELSE expr(B). { R = tree_if(t, K, (AstExpr *[]){C, A, B}); }
expr(R) ::= LET(K) letbinds(L) IN expr(E).           { R = tree_let_in(t, K, L, E); }

withs(R) ::= or(A).                                                { R = A; }
withs(R) ::= withs(A) WITH(K) LPAREN withbinds(L) opt_comma RPAREN. { R = tree_with(t, K, A, L); }
withs(R) ::= withs(A) WITH(K) UPDATE LBRACE steps(S) RBRACE.        { R = tree_update(t, K, A, S); }

or(R) ::= and(A).                { R = A; }
or(R) ::= or(A) OR(O) and(B).    { R = tree_binary(t, OP_OR, O, A, B); }

and(R) ::= comparison(A).                 { R = A; }
and(R) ::= and(A) AND(O) comparison(B).   { R = tree_binary(t, OP_AND, O, A, B); }

comparison(R) ::= sum(A).                      { R = A; }
comparison(R) ::= sum(A) compare_op(O) sum(B). { R = tree_binary(t, OP_NONE, O, A, B); }

compare_op(R) ::= LT(O).   { R = O; }
compare_op(R) ::= LE(O).   { R = O; }
compare_op(R) ::= GT(O).   { R = O; }
compare_op(R) ::= GE(O).   { R = O; }
compare_op(R) ::= EQEQ(O). { R = O; }
compare_op(R) ::= NE(O).   { R = O; }

sum(R) ::= product(A).                   { R = A; }
sum(R) ::= sum(A) PLUS(O) product(B).    { R = tree_binary(t, OP_ADD, O, A, B); }
sum(R) ::= sum(A) MINUS(O) product(B).   { R = tree_binary(t, OP_SUB, O, A, B); }

product(R) ::= unary(A).                           { R = A; }
product(R) ::= product(A) STAR(O) unary(B).        { R = tree_compose(t, O, A, B); }
product(R) ::= product(A) product_op(O) unary(B).  { R = tree_binary(t, OP_NONE, O, A, B); }

product_op(R) ::= DOTSTAR(O). { R = O; }
product_op(R) ::= SLASH(O).   { R = O; }
product_op(R) ::= PERCENT(O). { R = O; }

unary(R) ::= power(A).            { R = A; }
unary(R) ::= MINUS(O) unary(A).   { R = tree_unary(t, OP_NEG, O, A); }
unary(R) ::= NOT(O) unary(A).     { R = tree_unary(t, OP_NOT, O, A); }

power(R) ::= slice(A).                   { R = A; }
power(R) ::= slice(A) POW(O) unary(B).   { R = tree_binary(t, OP_POW, O, A, B); }

slice(R) ::= postfix(A).                 { R = A; }
slice(R) ::= slice(A) AT(O) postfix(I).  { R = tree_slice(t, O, A, I); }

postfix(R) ::= path(A).                         { R = A; }
postfix(R) ::= literal(A).                      { R = A; }
postfix(R) ::= applied(A).                      { R = A; }
/* what begins with a name: with a shape behind it, it may be an argument */
path(R) ::= name(N).                          { R = tree_name_expr(t, N); }
path(R) ::= path(A) DOT name(N).              { R = tree_member(t, A, N); }
path(R) ::= path(A) LPAREN args(L) given(M) RPAREN.    { R = tree_call_in(t, A, L, M); }
applied(R) ::= primary(A).                    { R = A; }
applied(R) ::= applied(A) DOT name(N).        { R = tree_member(t, A, N); }
applied(R) ::= applied(A) LPAREN args(L) given(M) RPAREN. { R = tree_call_in(t, A, L, M); }
applied(R) ::= literal(A) DOT name(N).        { R = tree_member(t, A, N); }
applied(R) ::= literal(A) LPAREN args(L) given(M) RPAREN. { R = tree_call_in(t, A, L, M); }

primary(R) ::= NUMBER(T).   { R = tree_number(t, T); }
primary(R) ::= STRING(T).   { R = tree_string(t, T); }
primary(R) ::= literal(A) COLON name(N). { R = tree_label(t, A, N); }
primary(R) ::= LBRACE(K) name(N) opt_type(T) opt_init(E) RBRACE. { R = tree_param(t, K, N, T, E); }
primary(R) ::= ITERATE(K) LPAREN expr(N) COMMA letbind(H) counter(I) RPAREN LBRACE expr(E) RBRACE. {
	R = tree_iterate(t, K, (AstExpr *[]){N, E, NULL}, tree_binds(t, NULL, H), I);
}
primary(R) ::= SCAN(K) LPAREN expr(N) COMMA letbind(H) counter(I) RPAREN until(C) LBRACE scanned(E) RBRACE. {
	R = tree_iterate(t, K, (AstExpr *[]){N, E, C}, tree_binds(t, NULL, H), I);
}
/* steps that write what the scan carries, behind a `let` or not, then what the step gives */
scanned(R) ::= withs(A).                                { R = A; }
scanned(R) ::= IF(K) expr(C) THEN expr(A) ELSE expr(B). { R = tree_if(t, K, (AstExpr *[]){C, A, B}); }
scanned(R) ::= LET(K) letbinds(L) IN scanned(E).        { R = tree_let_in(t, K, L, E); }
scanned(R) ::= name(N) ASSIGN(A) expr(V) via(S) IN scanned(E). {
	AstStep step = {.kind = STEP_ASSIGN, .op_span = A.span, .expr = V, .via = S};
	R = tree_write(t, N, step, E);
}
counter(R) ::= .                        { R = NO_NAME; }
counter(R) ::= COMMA name(I).           { R = I; }
until(R) ::= .                          { R = NULL; }
until(R) ::= UNTIL LPAREN expr(C) RPAREN. { R = C; }

literal(R) ::= LPAREN(K) exprs(L) RPAREN.         { R = tree_parens(t, K, L, false); }
literal(R) ::= LPAREN(K) exprs(L) COMMA RPAREN.   { R = tree_parens(t, K, L, true); }
literal(R) ::= LBRACKET(K) exprs(L) opt_comma RBRACKET. {
	R = tree_literal(t, AST_OUTPUTS, K, L);
}
literal(R) ::= LBRACKBAR(K) exprs(L) opt_comma BARRBRACK. {
	R = tree_literal(t, AST_BATCHES, K, L);
}
literal(R) ::= LBRACKET(K) RBRACKET.      { R = tree_literal(t, AST_OUTPUTS, K, NULL); }
literal(R) ::= LBRACKBAR(K) BARRBRACK.    { R = tree_literal(t, AST_BATCHES, K, NULL); }

exprs(R) ::= expr(E).                   { R = tree_exprs(t, NULL, E); }
exprs(R) ::= exprs(L) COMMA expr(E).    { R = tree_exprs(t, L, E); }

args(R) ::= .                        { R = NULL; }
args(R) ::= arglist(L) opt_comma.    { R = L; }
arglist(R) ::= arg(A).                   { R = tree_arg(t, NULL, A); }
arglist(R) ::= INPUT(T).                 { R = tree_exprs(t, NULL, tree_word(t, T)); }
arglist(R) ::= OUTPUT(T).                { R = tree_exprs(t, NULL, tree_word(t, T)); }
arglist(R) ::= arglist(L) COMMA arg(A).  { R = tree_arg(t, L, A); }
arg(R) ::= expr(E).            { R = (Arg){E, NO_NAME, NULL}; }
arg(R) ::= path(A) COLON shape(S).     { R = (Arg){A, NO_NAME, S}; }
arg(R) ::= literal(A) COLON shape(S).  { R = (Arg){A, NO_NAME, S}; }
arg(R) ::= name(N) EQ expr(E). { R = (Arg){E, N, NULL}; }

given(R) ::= .                             { R = NULL; }
given(R) ::= SEMI givenlist(L) opt_comma.  { R = L; }
givenlist(R) ::= name(N) EQ expr(E). {
	R = tree_binds(t, NULL, tree_bind(t, tree_names(t, NULL, N), E));
}
givenlist(R) ::= givenlist(L) COMMA name(N) EQ expr(E). {
	R = tree_binds(t, L, tree_bind(t, tree_names(t, NULL, N), E));
}

withbinds(R) ::= withbind(B).                    { R = tree_binds(t, NULL, B); }
withbinds(R) ::= withbinds(L) COMMA withbind(B). { R = tree_binds(t, L, B); }
withbind(R) ::= name(N).            { R = tree_bind(t, tree_names(t, NULL, N), NULL); }
withbind(R) ::= name(N) EQ expr(E). { R = tree_bind(t, tree_names(t, NULL, N), E); }

stepbinds(R) ::= letbind(B).                    { R = tree_binds(t, NULL, B); }
stepbinds(R) ::= stepbinds(L) COMMA letbind(B). { R = tree_binds(t, L, B); }
letbinds(R) ::= letbind(B).                   { R = tree_binds(t, NULL, B); }
letbinds(R) ::= letbinds(L) COMMA letbind(B). { R = tree_binds(t, L, B); }
letbinds(R) ::= letbinds(L) LET letbind(B).   { R = tree_binds(t, L, B); }
letbind(R) ::= name(N) ascribed(T) EQ expr(E). {
	R = tree_bind(t, tree_names(t, NULL, N), E);
	R.dtype = T.dtype;
	R.type_span = T.span;
	R.shape = T.shape;
}
letbind(R) ::= LPAREN names(N) RPAREN EQ expr(E). { R = tree_bind(t, N, E); }

%token FATARROW COLONEQ ERROR.

%code {
#include "grammar/replay.h"

#define GRAMMAR_END 0
#undef TOKEN /* the template's */
static const unsigned char terminals[TOKEN_COUNT] = {
#define TOKEN(name, label, class) [TOKEN_##name] = GRAMMAR_##name,
#include "lexer/tokens.def"
#undef TOKEN
};

void *file_parse_new(Tree *tree) { return FileParseAlloc(malloc, tree); }
void file_parse_free(void *parser) { FileParseFree(parser, free); }
void file_parse_feed(void *parser, Token token) { FileParse(parser, terminals[token.kind], token); }
bool file_parse_accepts(const void *parser, int kind)
{
	return replay_accepts(parser, terminals[kind]);
}

const Tree *file_parse_tree(const void *parser) { return ((const yyParser *)parser)->t; }

size_t file_parse_depth(const void *parser)
{
	const yyParser *p = parser;
	return (size_t)(p->yytos - p->yystack);
}

bool file_parse_find(const void *parser, int kind, Token *found)
{
	const yyParser *p = parser;
	for (const yyStackEntry *at = p->yytos; at > p->yystack; at--) {
		if (at->major == terminals[kind]) {
			*found = at->minor.yy0;
			return true;
		}
	}
	return false;
}

static bool is_one_of(YYCODETYPE major, int a, int b, int c, int d)
{
	return major == a || major == b || major == c || major == d;
}

bool file_parse_opener(const void *parser, Token *found)
{
	const yyParser *p = parser;
	size_t closed = 0;
	for (const yyStackEntry *at = p->yytos; at > p->yystack; at--) {
		if (is_one_of(at->major, GRAMMAR_RPAREN, GRAMMAR_RBRACE, GRAMMAR_RBRACKET,
		              GRAMMAR_BARRBRACK))
			closed++;
		if (!is_one_of(at->major, GRAMMAR_LPAREN, GRAMMAR_LBRACE, GRAMMAR_LBRACKET,
		               GRAMMAR_LBRACKBAR))
			continue;
		*found = at->minor.yy0;
		if (closed-- == 0)
			return true;
	}
	return false;
}

void file_parse_unwind(void *parser, int kind)
{
	yyParser *p = parser;
	while (p->yytos > p->yystack && (p->yytos->stateno > YY_MAX_SHIFT ||
	                                 yy_find_shift_action(terminals[kind], p->yytos->stateno) >
	                                     YY_MAX_SHIFTREDUCE))
		yy_pop_parser_stack(p);
}
}
