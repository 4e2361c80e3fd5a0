/* Makes the nodes of the syntax tree. Every expression knows its depth; one that would be deeper
 * than AST_DEPTH_LIMIT is reported once a statement and replaced by AST_ERROR, so that every later
 * walk over the tree may recurse. */
#include "grammar/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Span tree_span(const Tree *tree, Span start)
{
	return span_join(start, tree->last.span);
}

static const char *text_of(const Tree *tree, Span span)
{
	return tree->source->text + span.start;
}

Name tree_name(Tree *tree, Token name)
{
	uint32_t n = name.span.end - name.span.start;
	return (Name){sym_intern(tree->parse->symbols, text_of(tree, name.span), n), name.span};
}

static bool is_complex(const char *name, uint32_t n)
{
	return (n >= 7 && strncmp(name, "complex", 7) == 0) ||
	       (n == 3 && (strncmp(name, "c64", 3) == 0 || strncmp(name, "c32", 3) == 0)) ||
	       (n == 4 && strncmp(name, "c128", 4) == 0);
}

static bool is_text(const char *name, uint32_t n)
{
	static const char *const names[] = {"string", "str", "text", "char"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0)
			return true;
	return false;
}

Dtype tree_dtype(Tree *tree, Token name)
{
	uint32_t n = name.span.end - name.span.start;
	Dtype dtype = dtype_from_name(text_of(tree, name.span), n);
	if (dtype != DTYPE_NONE)
		return dtype;
#define DTYPE(NAME, text, ...) " " text
#define LOOP_DTYPE(...)
	static const char all[] =
#include "base/dtype.def"
		;
#undef DTYPE
	TREE_ERROR(tree, E0108, name.span, "'%.*s' is not an element type: these are%s", (int)n,
		   text_of(tree, name.span), all);
	if (is_complex(text_of(tree, name.span), n))
		diag_note(
			tree->parse->diags, name.span,
			"there are no complex numbers: keep the real and the imaginary part in two "
			"tensors");
	if (is_text(text_of(tree, name.span), n))
		diag_note(
			tree->parse->diags, name.span,
			"there are no texts: a tokeniser's numbers are i32, the bytes of a text u8");
	Dtype meant = dtype_elsewhere(text_of(tree, name.span), n);
	if (meant != DTYPE_NONE)
		diag_fix(tree->parse->diags, name.span, dtype_name(meant), "did you mean '%s'?",
			 dtype_name(meant));
	return dtype;
}

/* ---- expressions ---- */

static AstExpr *node(Tree *tree, AstKind kind, Span start, Span op_span)
{
	AstExpr *e = ARENA_NEW(tree->parse->perm, AstExpr);
	e->kind = kind;
	e->op = OP_NONE;
	e->dtype = DTYPE_NONE;
	e->span = tree_span(tree, start);
	e->op_span = op_span;
	e->depth = 1;
	return e;
}

static void raise_depth(Tree *tree, AstExpr *e, const AstExpr *below)
{
	if (below && below->depth >= e->depth)
		e->depth = below->depth + 1;
	if (e->depth <= AST_DEPTH_LIMIT)
		return;
	if (!tree->too_deep)
		TREE_ERROR(tree, E0109, e->op_span,
			   "this expression is nested more than %d levels deep", AST_DEPTH_LIMIT);
	tree->too_deep = true;
	Span span = e->span;
	*e = (AstExpr){.kind = AST_ERROR, .op = OP_NONE, .dtype = DTYPE_NONE, .span = span,
	               .op_span = span, .depth = 1};
}

/* Makes args[n] the children of e. */
static AstExpr *adopt(Tree *tree, AstExpr *e, AstExpr *const *args, uint32_t n)
{
	e->args = ARENA_ARRAY(tree->parse->perm, AstExpr *, n);
	memcpy(e->args, args, n * sizeof *args);
	e->nargs = n;
	for (uint32_t i = 0; i < n && e->kind != AST_ERROR; i++)
		raise_depth(tree, e, args[i]);
	return e;
}

static AstExpr *adopt_binds(Tree *tree, AstExpr *e, const Binds *binds)
{
	if (e->kind == AST_ERROR)
		return e;
	e->binds = binds->items.at;
	e->nbinds = (uint32_t)binds->items.n;
	for (uint32_t i = 0; i < binds->items.n && e->kind != AST_ERROR; i++)
		raise_depth(tree, e, binds->items.at[i].value);
	return e;
}

AstExpr *tree_number(Tree *tree, Token number)
{
	AstExpr *e = node(tree, AST_NUMBER, number.span, number.span);
	char text[1024] = {0};
	uint32_t n = number.span.end - number.span.start;
	REQUIRE(n < sizeof text);
	memcpy(text, text_of(tree, number.span), n);
	e->span = number.span;
	if (strcmp(text, "pi") == 0) {
		e->number = 3.14159265358979323846;
		return e;
	}
	char *end;
	e->number = strtod(text, &end); /* reads "inf" and "nan" too */
	REQUIRE(*end == 0);
	if (isinf(e->number) && text[0] != 'i')
		TREE_ERROR(tree, E0105, number.span,
		           "this number is too large: the largest is about 1.8e308");
	errno = 0;
	e->integer = strtoll(text, &end, 10);
	e->is_integer = *end == 0 && end != text && errno == 0;
	if (!e->is_integer)
		e->integer = 0;
	return e;
}

AstExpr *tree_string(Tree *tree, Token string)
{
	AstExpr *e = node(tree, AST_STRING, string.span, string.span);
	e->span = string.span;
	e->text = text_of(tree, string.span) + 1;
	e->len = string.span.end - string.span.start - 2;
	return e;
}

AstExpr *tree_name_expr(Tree *tree, Name name)
{
	AstExpr *e = node(tree, AST_NAME, name.span, name.span);
	e->span = name.span;
	e->name = name;
	return e;
}

AstExpr *tree_unary(Tree *tree, Op op, Token sign, AstExpr *a)
{
	AstExpr *e = node(tree, AST_UNARY, sign.span, sign.span);
	e->op = op;
	return adopt(tree, e, &a, 1);
}

/* The operation of an infix operator, by its symbol. */
static Op infix(const Tree *tree, Span sign)
{
	size_t n = sign.end - sign.start;
	for (int op = 0; op < OP_COUNT; op++) {
		const char *symbol = op_arity(op) == 2 ? op_symbol(op) : NULL;
		if (symbol && strlen(symbol) == n && memcmp(symbol, text_of(tree, sign), n) == 0)
			return op;
	}
	BUG("no operation is written '%.*s'", (int)n, text_of(tree, sign));
}

AstExpr *tree_binary(Tree *tree, Op op, Token sign, AstExpr *a, AstExpr *b)
{
	AstExpr *e = node(tree, AST_BINARY, ast_outer(a), sign.span);
	e->op = op == OP_NONE ? infix(tree, sign.span) : op;
	return adopt(tree, e, (AstExpr *[]){a, b}, 2);
}

AstExpr *tree_compose(Tree *tree, Token sign, AstExpr *a, AstExpr *b)
{
	AstExpr *e = node(tree, AST_COMPOSE, ast_outer(a), sign.span);
	return adopt(tree, e, (AstExpr *[]){a, b}, 2);
}

AstExpr *tree_slice(Tree *tree, Token sign, AstExpr *a, AstExpr *index)
{
	AstExpr *e = node(tree, AST_SLICE, ast_outer(a), sign.span);
	return adopt(tree, e, (AstExpr *[]){a, index}, 2);
}

AstExpr *tree_member(Tree *tree, AstExpr *a, Name name)
{
	bool transposed = strcmp(name.sym, "T") == 0;
	AstExpr *e = node(tree, transposed ? AST_TRANSPOSE : AST_MEMBER, ast_outer(a), name.span);
	e->name = name;
	return adopt(tree, e, &a, 1);
}

AstExpr *tree_spec(Tree *tree, AstExpr *string)
{
	if (string->kind == AST_STRING && memmem(string->text, string->len, "=>", 2))
		parse_spec(tree->parse, string);
	return string;
}

AstExpr *tree_call(Tree *tree, AstExpr *callee, const Exprs *args)
{
	static const Exprs none;
	args = args ? args : &none;
	AstExpr *e = node(tree, AST_CALL, ast_outer(callee), callee->op_span);
	Exprs all = {0};
	PUSH(tree->parse->perm, all.items, callee);
	for (size_t i = 0; i < args->items.n; i++)
		PUSH(tree->parse->perm, all.items, args->items.at[i]);
	adopt(tree, e, all.items.at, (uint32_t)all.items.n);
	bool is_file = callee->kind == AST_NAME && strcmp(callee->name.sym, "file") == 0;
	for (uint32_t i = 1; i < e->nargs && !is_file; i++)
		tree_spec(tree, e->args[i]);
	if (!args->keyed || e->kind == AST_ERROR)
		return e;
	e->keys = ARENA_ARRAY(tree->parse->perm, Name, e->nargs);
	memcpy(e->keys + 1, args->keys.at, args->keys.n * sizeof *e->keys);
	return e;
}

AstExpr *tree_call_in(Tree *tree, AstExpr *callee, const Exprs *args, const Binds *modes)
{
	AstExpr *e = tree_call(tree, callee, args);
	return modes ? adopt_binds(tree, e, modes) : e;
}

AstExpr *tree_around(Tree *tree, AstKind kind, Token sign, AstExpr *a)
{
	return adopt(tree, node(tree, kind, ast_outer(a), sign.span), &a, 1);
}

AstExpr *tree_with(Tree *tree, Token with, AstExpr *a, const Binds *binds)
{
	return adopt_binds(tree, tree_around(tree, AST_WITH, with, a), binds);
}

AstExpr *tree_let_in(Tree *tree, Token let, const Binds *binds, AstExpr *body)
{
	AstExpr *e = node(tree, AST_LET_IN, let.span, let.span);
	return adopt_binds(tree, adopt(tree, e, &body, 1), binds);
}

AstExpr *tree_if(Tree *tree, Token start, AstExpr *const args[3])
{
	return adopt(tree, node(tree, AST_IF, start.span, start.span), args, 3);
}

AstExpr *tree_param(Tree *tree, Token start, Name name, Type type, AstExpr *init)
{
	AstExpr *e = node(tree, AST_PARAM, start.span, name.span);
	e->name = name;
	e->dtype = type.dtype;
	e->shape = type.shape;
	return init ? adopt(tree, e, &init, 1) : e;
}

AstExpr *tree_iterate(Tree *tree, Token start, AstExpr *const args[3], const Binds *carried,
		      Name counter)
{
	AstKind kind = start.kind == TOKEN_SCAN ? AST_SCAN : AST_ITERATE;
	AstExpr *e = node(tree, kind, start.span, start.span);
	e->name = counter;
	return adopt_binds(tree, adopt(tree, e, args, args[2] ? 3 : 2), carried);
}

AstExpr *tree_parens(Tree *tree, Token start, const Exprs *items, bool comma)
{
	if (items->items.n > 1 || comma)
		return tree_literal(tree, AST_TUPLE, start, items);
	AstExpr *e = items->items.at[0];
	e->parenthesised = true;
	e->outer = tree_span(tree, start.span);
	return e;
}

AstExpr *tree_literal(Tree *tree, AstKind kind, Token start, const Exprs *items)
{
	AstExpr *e = node(tree, kind, start.span, start.span);
	if (items)
		return adopt(tree, e, items->items.at, (uint32_t)items->items.n);
	TREE_ERROR(tree, E0110, e->span, "a literal needs at least one element");
	return e;
}

/* x : SHAPE */
static AstExpr *shaped(Tree *tree, AstExpr *a, AstShape *shape)
{
	AstExpr *e = node(tree, AST_SHAPED, ast_outer(a), shape->span);
	e->shape = shape;
	return adopt(tree, e, (AstExpr *[]){a}, 1);
}

AstExpr *tree_label(Tree *tree, AstExpr *literal, Name label)
{
	AstKind kind = literal->kind;
	if (kind == AST_ERROR)
		return literal;
	bool container = kind == AST_TUPLE || kind == AST_OUTPUTS || kind == AST_BATCHES;
	if (!container || literal->parenthesised)
		TREE_ERROR(tree, E0111, label.span, "only the brackets of a literal take a label");
	literal->label = label;
	literal->span = tree_span(tree, literal->span);
	return literal;
}

/* ---- lists ---- */

AstExpr *tree_word(Tree *tree, Token word)
{
	return tree_name_expr(tree, tree_name(tree, word));
}

Exprs *tree_exprs(Tree *tree, Exprs *list, AstExpr *item)
{
	return tree_arg(tree, list, (Arg){item, {0}, NULL});
}

Exprs *tree_arg(Tree *tree, Exprs *list, Arg arg)
{
	Arena *arena = tree->parse->perm;
	list = list ? list : ARENA_NEW(arena, Exprs);
	if (arg.key.sym && !list->keyed) {
		list->keyed = true;
		for (size_t i = 0; i < list->items.n; i++)
			PUSH(arena, list->keys, (Name){0});
	}
	PUSH(arena, list->items, arg.shape ? shaped(tree, arg.value, arg.shape) : arg.value);
	if (list->keyed)
		PUSH(arena, list->keys, arg.key);
	return list;
}

Names *tree_names(Tree *tree, Names *list, Name name)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, Names);
	PUSH(tree->parse->perm, list->items, name);
	return list;
}

AstBind tree_bind(Tree *tree, const Names *names, AstExpr *value)
{
	return (AstBind){.names = names->items.at,
			 .nnames = (uint32_t)names->items.n,
			 .value = value,
			 .dtype = DTYPE_NONE,
			 .span = tree_span(tree, names->items.at[0].span)};
}

Binds *tree_binds(Tree *tree, Binds *list, AstBind bind)
{
	list = list ? list : ARENA_NEW(tree->parse->perm, Binds);
	PUSH(tree->parse->perm, list->items, bind);
	return list;
}
