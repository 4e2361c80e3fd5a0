/* Edits of a word that is not what it should be: another name that is seen there, the name's
 * declaration, a declaration that is missing.
 *
 *   output y = relu(hiden)              'hidden', wherever the line has the word
 *   let centerd = ...                   declared as 'centred', where that is not known
 *   input x : [n | 4]                   'dim n' before it
 *   fn mean() = sum("i => ", a)         'a' among its arguments
 */
#include <ctype.h>
#include <string.h>

#include "base/nearest.h"
#include "grammar/edits.h"

enum {
	COST_NEAR = 4,
	COST_DECLARED = 5,
	COST_LACKS = 8,
	COST_FAR = 9,
	WORDS = 64,
	OPERANDS = 12,
	USES_MOST = 100
};

static bool in_word(char c) { return c == '_' || isalnum((unsigned char)c); }

bool edit_is_word(const char *text)
{
	size_t n = 0;
	while (in_word(text[n]))
		n++;
	return n > 0 && text[n] == '\0' && !isdigit((unsigned char)*text);
}

/* ---- names that are seen at the main place ---- */

static void add_name(Seen *w, Name name)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->at[i].sym == name.sym)
			return;
	if (name.sym && w->n < w->room)
		w->at[w->n++] = name;
}

static void add_bound(Seen *w, const AstExpr *expr)
{
	if (!expr)
		return;
	if (expr->kind == AST_ITERATE || expr->kind == AST_SCAN)
		add_name(w, expr->name);
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		const AstBind *bind = &expr->binds[i];
		for (uint32_t k = 0; k < bind->nnames && (expr->kind != AST_WITH || !bind->value);
		     k++)
			add_name(w, bind->names[k]);
		add_bound(w, bind->value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++)
		add_bound(w, expr->args[i]);
}

static void add_local(Seen *w, const AstStmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconfigs; i++)
		add_name(w, stmt->configs[i].name);
	for (uint32_t i = 0; i < stmt->nparams; i++)
		add_name(w, stmt->params[i].name);
	add_bound(w, stmt->expr);
}

static void add_declared(Seen *w, const AstStmt *stmt)
{
	if (stmt->kind == STMT_LET)
		for (uint32_t i = 0; i < stmt->nnames; i++)
			add_name(w, stmt->names[i]);
	else if (stmt->kind != STMT_ROUTINE && stmt->kind != STMT_IMPORT)
		add_name(w, stmt->name);
}

static bool holds(Span outer, Span inner)
{
	return outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end;
}

Seen edit_words(const Edits *e)
{
	Seen w = {.at = ARENA_ARRAY(e->arena, Name, WORDS), .room = WORDS};
	Span place = e->places[0];
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		if (holds(e->file->stmts[i].span, place))
			add_local(&w, &e->file->stmts[i]);
	for (uint32_t i = e->file->nstmts; i-- > 0;)
		if (e->file->stmts[i].span.end <= place.start)
			add_declared(&w, &e->file->stmts[i]);
	return w;
}

/* ---- the word as another one ---- */

typedef struct Line {
	const char *text;
	uint32_t start, end; /* in the file */
} Line;

static Line line_of(const Edits *e, Span place)
{
	const Source *source = source_at(e->sources, place.file);
	Line line = {source->text, place.start, place.start};
	while (line.start > 0 && line.text[line.start - 1] != '\n')
		line.start--;
	while (line.end < source->len && line.text[line.end] != '\n')
		line.end++;
	return line;
}

static bool is_declaration(const Edits *e, uint32_t at)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		if (e->file->stmts[i].name.sym && e->file->stmts[i].name.span.start == at)
			return true;
	return false;
}

/* From the first to the last use of the word on the line, outside of strings and comments; nothing where
 * there are more than USES_MOST, each of which makes the text longer. */
static Edit everywhere(const Edits *e, const char *word, const char *to)
{
	Line line = line_of(e, e->places[0]);
	Edit edit = {.span = {e->places[0].file, 0, 0}, .text = ""};
	bool quoted = false;
	uint32_t uses = 0;
	for (uint32_t i = line.start, n = 1; i < line.end && (quoted || line.text[i] != '#');
	     i += n) {
		n = 1;
		quoted ^= line.text[i] == '"';
		while (in_word(line.text[i]) && i + n < line.end && in_word(line.text[i + n]))
			n++;
		if (quoted || n != strlen(word) || strncmp(line.text + i, word, n) != 0 ||
		    (i > line.start && line.text[i - 1] == '.') || is_declaration(e, i))
			continue;
		if (++uses > USES_MOST)
			return (Edit){.text = ""};
		if (edit.span.end == 0)
			edit.span.start = edit.span.end = i;
		edit.text = arena_printf(e->arena, "%s%.*s%s", edit.text, (int)(i - edit.span.end),
					 line.text + edit.span.end, to);
		edit.span.end = i + n;
	}
	return edit;
}

/* A letter is near to nothing longer but a second stroke of it. */
static uint32_t nearness(const char *word, const char *to)
{
	bool twice = strlen(to) == 1 && strlen(word) == 2 && word[0] == to[0];
	return twice ? 1 : name_nearness(word, to);
}

/* Is the main place the name of a function in a call? */
static bool is_called(const Edits *e)
{
	const char *text = source_at(e->sources, e->places[0].file)->text + e->places[0].end;
	return text[strspn(text, " ")] == '(';
}

/* A function that nothing declares is none that has another name altogether. */
static void replace(Edits *e, const char *word, bool known, const char *to)
{
	uint32_t near = nearness(word, to);
	if (near == UINT32_MAX && e->unknown && !known && is_called(e))
		return;
	uint32_t cost = near == UINT32_MAX ? COST_FAR : COST_NEAR + near / 3;
	const char *why =
		near == UINT32_MAX
			? arena_printf(e->arena, "it would fit with '%s' for '%s'", to, word)
			: arena_printf(e->arena, "did you mean '%s'?", to);
	Edit edit = {.span = e->places[0], .text = to};
	if (!known)
		edit = everywhere(e, word, to);
	if (edit.span.end > 0)
		edit_add(e, cost, edit.span, edit.text, why);
}

/* What an imported file may have. */
static void members(Edits *e)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstStmt *stmt = &e->file->stmts[i];
		if (stmt->kind == STMT_IMPORT && stmt->import_name.sym)
			edit_add(e, COST_NEAR,
				 (Span){e->places[0].file, e->places[0].start, e->places[0].start},
				 arena_printf(e->arena, "%s.", stmt->import_name.sym),
				 arena_printf(e->arena, "did you mean that of '%s'?",
					      stmt->import_name.sym));
	}
}

/* ---- tensors ---- */

/* Tensors of the file that are declared before the main place, the nearest first. */
static Seen tensors_before(const Edits *e)
{
	Seen seen = {.at = ARENA_ARRAY(e->arena, Name, OPERANDS), .room = OPERANDS};
	for (uint32_t i = e->file->nstmts; i-- > 0;) {
		const AstStmt *stmt = &e->file->stmts[i];
		bool tensor = stmt->kind == STMT_INPUT || stmt->kind == STMT_PARAM ||
			      stmt->kind == STMT_CONST || stmt->kind == STMT_LET;
		if (tensor && stmt->span.end <= e->places[0].start)
			add_declared(&seen, stmt);
	}
	return seen;
}

static bool is_operand(const AstExpr *expr, Sym name)
{
	bool is = false;
	for (uint32_t i = 0; i < expr->nargs; i++)
		is |= expr->args[i]->kind == AST_NAME && expr->args[i]->name.sym == name;
	return is;
}

/* Each operand as another tensor, but not as one that stands beside it. */
static void replace_operands(Edits *e, const AstExpr *expr, const Seen *seen)
{
	bool *beside = ARENA_ARRAY(e->arena, bool, seen->n + 1);
	for (uint32_t k = 0; k < seen->n; k++)
		beside[k] = is_operand(expr, seen->at[k].sym);
	for (uint32_t i = expr->kind == AST_CALL; i < expr->nargs; i++) {
		const AstExpr *arg = expr->args[i];
		for (uint32_t k = 0; k < seen->n && arg->kind == AST_NAME; k++)
			if (!beside[k])
				edit_add(e, COST_FAR + edit_far(e, arg->span), arg->span,
					 seen->at[k].sym,
					 arena_printf(e->arena, "it would fit with '%s' for '%s'",
						      seen->at[k].sym, arg->name.sym));
		replace_operands(e, arg, seen);
	}
	for (uint32_t i = 0; i < expr->nbinds && expr->kind != AST_WITH; i++)
		if (expr->binds[i].value)
			replace_operands(e, expr->binds[i].value, seen);
}

void edits_of_operands(Edits *e)
{
	Seen seen = tensors_before(e);
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		if (holds(e->file->stmts[i].span, e->places[0]) && e->file->stmts[i].expr)
			replace_operands(e, e->file->stmts[i].expr, &seen);
}

/* ---- declarations ---- */

/* Does the name stand once in the file? */
static bool is_unused(const Edits *e, Name name)
{
	const Source *source = source_at(e->sources, name.span.file);
	size_t n = strlen(name.sym), found = 0;
	for (const char *at = source->text; (at = strstr(at, name.sym)) != NULL; at += n)
		found += (at == source->text || !in_word(at[-1])) && !in_word(at[n]);
	return found == 1;
}

/* A name like it, or one that nothing uses. */
static void rename_declared(Edits *e, const Seen *words, const char *word)
{
	for (uint32_t i = 0; i < words->n; i++) {
		uint32_t near = name_nearness(word, words->at[i].sym);
		if (near == UINT32_MAX && !is_unused(e, words->at[i]))
			continue;
		edit_add(e, near == UINT32_MAX ? COST_LACKS - 1 : COST_DECLARED + near / 3,
			 words->at[i].span, word,
			 arena_printf(e->arena, "it would fit with '%s' declared as '%s'",
				      words->at[i].sym, word));
	}
}

static const AstExpr *inline_param(const AstExpr *expr, const char *word)
{
	const AstExpr *found = NULL;
	if (expr->kind == AST_PARAM && strcmp(expr->name.sym, word) == 0)
		return expr;
	for (uint32_t i = 0; i < expr->nargs && !found; i++)
		found = inline_param(expr->args[i], word);
	for (uint32_t i = 0; i < expr->nbinds && !found; i++)
		found = expr->binds[i].value ? inline_param(expr->binds[i].value, word) : NULL;
	return found;
}

/* `param w : [4]` before the statement that has {w : [4]}, which is `w` there then. */
static void declare_inline(Edits *e, const char *word)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstStmt *stmt = &e->file->stmts[i];
		const AstExpr *param =
			stmt->expr && stmt->kind != STMT_FN ? inline_param(stmt->expr, word) : NULL;
		if (!param)
			continue;
		Span inside = {param->span.file, param->span.start + 1, param->span.end - 1};
		Span before = {param->span.file, stmt->span.start, param->span.start};
		edit_add(e, COST_NEAR, span_join(before, param->span),
			 arena_printf(e->arena, "param %s\n%s%s", edit_text(e, inside),
				      edit_text(e, before), word),
			 arena_printf(e->arena, "it would fit with 'param %s' declared before",
				      word));
		return;
	}
}

/* A line before the statement. */
static void declare(Edits *e, const char *word)
{
	static const char *const forms[][2] = {
		{"import", "it would fit with this file imported"},
		{"dim", "it would fit with a dim of that name"},
		{"param", "it would fit with a parameter of that name"},
	};
	Span at = e->places[0];
	at.end = at.start = line_of(e, at).start;
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		if (holds(e->file->stmts[i].span, e->places[0]))
			at.end = at.start = e->file->stmts[i].span.start;
	for (uint32_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		edit_add(e, COST_LACKS + (i > 1), at,
			 arena_printf(e->arena, "%s %s\n", forms[i][0], word), forms[i][1]);
}

/* An argument of the function that uses the word. */
static void declare_argument(Edits *e, const char *word)
{
	const char *why = arena_printf(e->arena, "it would fit with '%s' as an argument", word);
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstStmt *stmt = &e->file->stmts[i];
		if (stmt->kind != STMT_FN || !holds(stmt->span, e->places[0]))
			continue;
		const char *text = source_at(e->sources, stmt->span.file)->text;
		for (uint32_t at = stmt->name.span.end; at < stmt->expr->span.start; at++) {
			bool empty = text[at] == ')' && text[at - 1] == '(';
			if (text[at] == ')')
				edit_add(e, COST_LACKS, (Span){stmt->span.file, at, at},
					 arena_printf(e->arena, "%s%s", empty ? "" : ", ", word),
					 why);
			if (text[at] == '(' && text[at + 1] != ')')
				edit_add(e, COST_LACKS, (Span){stmt->span.file, at + 1, at + 1},
					 arena_printf(e->arena, "%s, ", word), why);
		}
	}
}

void edits_of_word(Edits *e)
{
	const char *word = edit_text(e, e->places[0]);
	if (e->places[0].file != e->file->file || !edit_is_word(word))
		return;
	Seen words = edit_words(e);
	bool known = false;
	for (uint32_t i = 0; i < words.n; i++)
		known |= strcmp(words.at[i].sym, word) == 0;
	for (uint32_t i = 0; i < words.n; i++)
		replace(e, word, known, words.at[i].sym);
	if (known || !e->unknown)
		return;
	members(e);
	rename_declared(e, &words, word);
	declare(e, word);
	declare_inline(e, word);
	declare_argument(e, word);
}
