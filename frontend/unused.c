/* Names of the file that nothing mentions: dims, constants, lets, parameters and scalars of routines.
 *
 * A name is mentioned where it stands in the text of the program, whatever scope it means there,
 * also in a branch that was not taken and in a function that nothing applies: there are names too
 * few in the list rather than one too many.
 */
#include <ctype.h>

#include "frontend/build.h"
#include "frontend/eval.h"

typedef struct Mentions {
	Arena *arena;
	Symbols *symbols;
	NameIndex names;
	NameIndex letters; /* of specifications: where each stands first, in spans */
	VEC(Span) spans;
} Mentions;

static void mention(Mentions *m, Sym name)
{
	if (name)
		name_index_set(m->arena, &m->names, name, 1);
}

static bool is_mentioned(const Mentions *m, Sym name)
{
	return name_index_get(&m->names, name) != UINT32_MAX;
}

/* ---- specifications: names of coefficients and sizes ---- */

static void mention_letter(Mentions *m, const AstSpecAxis *axis)
{
	if (!axis->name.sym || name_index_get(&m->letters, axis->name.sym) != UINT32_MAX)
		return;
	name_index_set(m->arena, &m->letters, axis->name.sym, (uint32_t)m->spans.n);
	PUSH(m->arena, m->spans, axis->span);
}

static void mention_axis(Mentions *m, const AstSpecAxis *axis)
{
	mention_letter(m, axis);
	mention(m, axis->stride.name.sym);
	mention(m, axis->dilation.name.sym);
	mention(m, axis->before.name.sym);
	mention(m, axis->after.name.sym);
	for (uint32_t i = 0; axis->kind == SPEC_CONCAT && i < axis->nparts; i++)
		mention(m, axis->parts[i].letter.sym);
	for (uint32_t i = 0; i < axis->nmore; i++) {
		mention(m, axis->more[i].coef.name.sym);
		mention(m, axis->more[i].name.sym);
	}
	if (axis->kernel.sym ||
	    axis->placed) { /* which of them are letters is known where it is used */
		mention(m, axis->name.sym);
		mention(m, axis->kernel.sym);
	}
}

static void mention_tensor(Mentions *m, const AstSpecTensor *tensor)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++) {
			mention_axis(m, &tensor->rows[k].axes[i]);
		}
	}
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A text that nothing has read as a specification: every word. */
static void mention_words(Mentions *m, const char *text, uint32_t len)
{
	for (uint32_t from = 0, to; from < len; from = to + 1) {
		for (to = from; to < len && is_word(text[to]);)
			to++;
		if (to > from)
			mention(m, sym_intern(m->symbols, text + from, to - from));
	}
}

static void mention_text(Mentions *m, const AstExpr *string)
{
	const AstSpec *spec = string->spec;
	if (!spec || spec->broken) {
		mention_words(m, string->text, string->len);
		return;
	}
	for (uint32_t i = 0; i < spec->noperands; i++)
		mention_tensor(m, &spec->operands[i]);
	mention_tensor(m, &spec->result);
}

/* ---- expressions ---- */

static void mention_expr(Mentions *m, const AstExpr *expr);
static void mention_steps(Mentions *m, const AstStep *steps, uint32_t nsteps);

static void mention_shape(Mentions *m, const AstShape *shape)
{
	for (int k = 0; shape && k < ROW_KINDS; k++) {
		for (uint32_t i = 0; i < shape->rows[k].naxes; i++)
			mention_expr(m, shape->rows[k].axes[i].size);
	}
}

/* Falls: the depth of the tree, which the grammar limits. */
static void mention_expr(Mentions *m, const AstExpr *expr)
{
	if (!expr)
		return;
	if (expr->kind == AST_NAME)
		mention(m, expr->name.sym);
	if (expr->kind == AST_STRING)
		mention_text(m, expr);
	mention_shape(m, expr->shape);
	mention_steps(m, expr->steps, expr->nsteps);
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		mention_shape(m, expr->binds[i].shape);
		mention_expr(m, expr->binds[i].value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++)
		mention_expr(m, expr->args[i]);
}

/* ---- statements ---- */

static void mention_steps(Mentions *m, const AstStep *steps, uint32_t nsteps)
{
	for (uint32_t i = 0; i < nsteps; i++) {
		mention(m, steps[i].name.sym);
		mention_expr(m, steps[i].target);
		mention_expr(m, steps[i].expr);
		mention_expr(m, steps[i].via);
		for (uint32_t k = 0; k < steps[i].nbinds; k++) {
			mention_shape(m, steps[i].binds[k].shape);
			mention_expr(m, steps[i].binds[k].value);
		}
		mention_steps(m, steps[i].steps, steps[i].nsteps);
	}
}

static void mention_stmt(Mentions *m, const AstStmt *stmt)
{
	if (stmt->kind == STMT_OUTPUT && !stmt->expr)
		mention(m, stmt->name.sym);
	mention_expr(m, stmt->expr);
	mention_expr(m, stmt->expr2);
	mention_expr(m, stmt->rule ? stmt->rule->expr : NULL);
	mention_shape(m, stmt->shape);
	for (uint32_t i = 0; stmt->kind == STMT_ROUTINE && i < stmt->nnames; i++)
		mention(m, stmt->names[i].sym);
	for (uint32_t i = 0; i < stmt->nconfigs; i++)
		mention_expr(m, stmt->configs[i].value);
	for (uint32_t i = 0; i < stmt->nmodes; i++)
		mention_expr(m, stmt->modes[i].value);
	mention_steps(m, stmt->steps, stmt->nsteps);
}

/* ---- what is declared ---- */

typedef struct Unused {
	Build *b;
	const Mentions *mentions;
} Unused;

/* Some of several names that take a tuple apart may stay unused; so may one that begins with _. */
static bool check_names(Unused *u, const Name *names, uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++) {
		if (is_mentioned(u->mentions, names[i].sym) || names[i].sym[0] == '_')
			return true;
	}
	diag(u->b->diags, W0204, names[0].span, "nothing uses %s '%s'", what, names[0].sym);
	return false;
}

/* Whoever calls a letter like a dim or a scalar may have meant the place that it says. */
static void check_place(Unused *u, const Name *name, const char *what)
{
	uint32_t at = name_index_get(&u->mentions->letters, name->sym);
	if (check_names(u, name, 1, what) || at == UINT32_MAX)
		return;
	diag_note(u->b->diags, u->mentions->spans.at[at],
		  "here '%s' is a letter, which goes along the whole axis; 0 + %s is the element "
		  "at its place",
		  name->sym, name->sym);
}

/* Does the expression capture a size by a name that is mentioned? It is of use for that. */
static bool captures(const Unused *u, const AstExpr *expr)
{
	bool any = false;
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		const AstBind *bind = &expr->binds[i];
		any |= expr->kind == AST_WITH && !bind->value &&
		       is_mentioned(u->mentions, bind->names[0].sym);
		any |= bind->value && captures(u, bind->value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++)
		any |= captures(u, expr->args[i]);
	return any;
}

static void check_let(Unused *u, const Name *names, uint32_t n, const AstExpr *value)
{
	if (!captures(u, value))
		check_names(u, names, n, "the name");
}

static void check_expr(Unused *u, const AstExpr *expr)
{
	if (!expr)
		return;
	for (uint32_t i = 0; i < expr->nbinds; i++) {
		const AstBind *bind = &expr->binds[i];
		if (expr->kind == AST_LET_IN)
			check_let(u, bind->names, bind->nnames, bind->value);
		check_expr(u, bind->value);
	}
	for (uint32_t i = 0; i < expr->nargs; i++)
		check_expr(u, expr->args[i]);
}

static void check_steps(Unused *u, const AstStep *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const AstStep *step = &steps[i];
		for (uint32_t k = 0; k < step->nbinds; k++) {
			check_let(u, step->binds[k].names, step->binds[k].nnames,
				  step->binds[k].value);
			check_expr(u, step->binds[k].value);
		}
		check_expr(u, step->expr);
		check_steps(u, step->steps, step->nsteps);
	}
}

static void check_stmt(Unused *u, const AstStmt *stmt)
{
	check_steps(u, stmt->steps, stmt->nsteps);
	check_expr(u, stmt->expr);
	check_expr(u, stmt->rule ? stmt->rule->expr : NULL);
	switch (stmt->kind) {
	case STMT_DIM: check_place(u, &stmt->name, "the dim"); break;
	case STMT_CONST: check_place(u, &stmt->name, "the constant"); break;
	case STMT_PARAM: check_names(u, &stmt->name, 1, "the parameter"); break;
	case STMT_LET: check_let(u, stmt->names, stmt->nnames, stmt->expr); break;
	case STMT_ROUTINE:
		for (uint32_t i = 0; i < stmt->nconfigs; i++)
			check_place(u, &stmt->configs[i].name, "the scalar");
		break;
	default: break;
	}
}

void warn_unused(Build *b, const AstFile *file)
{
	Mentions mentions = {.arena = b->arena, .symbols = b->symbols};
	Unused unused = {b, &mentions};
	for (uint32_t i = 0; i < file->nstmts; i++)
		mention_stmt(&mentions, &file->stmts[i]);
	for (uint32_t i = 0; i < file->nstmts; i++)
		check_stmt(&unused, &file->stmts[i]);
}
