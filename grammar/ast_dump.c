/* The syntax tree as S-expressions, one statement a line.
 *
 *   expr  := number | "string" | name | (. a name) | (call f a (= key b)) | (OP a b)
 *          | (.T a) | (@ a i) | (with E (= h S) d) | (param w TYPE = INIT)
 *          | (iterate n (= h x) i E) | (iterate n (= (h c) x) i E) | (scan n (= h x) i (until C) E) | (if C A B) | (let (= a E) (= (b c) E) BODY)
 *          | (tuple a b : label) | (outputs ...) | (batches ...)
 *          | (spec r1; r2 => l)                       a string that was parsed as a specification
 *
 * E with update { steps } is (update E STEP...). Compose is `*`. Shapes and specifications are written as in the language; of an affine form
 * every coefficient is shown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/ast.h"

static void dump_expr(FILE *out, const AstExpr *e);
static void dump_steps(FILE *out, const AstStep *steps, uint32_t n);

static void dump_name(FILE *out, Name name)
{
	fputs(name.sym ? name.sym : "-", out);
}

/* The fewest digits that read back as the same number; always with a point or an exponent. */
static void dump_shortest(FILE *out, double value)
{
	char text[40];
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fprintf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void dump_number(FILE *out, const AstExpr *e)
{
	if (e->is_integer)
		fprintf(out, "%lld", (long long)e->integer);
	else if (isnan(e->number))
		fputs("nan", out);
	else
		dump_shortest(out, e->number);
}

/* ---- specifications ---- */

static void dump_coef(FILE *out, AstCoef coef)
{
	if (coef.name.sym)
		fputs(coef.name.sym, out);
	else
		fprintf(out, "%lld", (long long)coef.value);
}

static void dump_parts(FILE *out, const AstSpecAxis *axis)
{
	for (uint32_t i = 0; i < axis->nparts; i++) {
		fputs(i ? "^" : "", out);
		if (axis->parts[i].letter.sym)
			fputs(axis->parts[i].letter.sym, out);
		else if (axis->parts[i].rest)
			fputc('_', out);
		else
			fprintf(out, "%lld", (long long)axis->parts[i].number);
	}
}

static void dump_affine(FILE *out, const AstSpecAxis *axis)
{
	static const char *const marks[] = {"+", "<+", "<+?", "=+", "=+?"};
	dump_coef(out, axis->stride);
	fprintf(out, "*%s", axis->name.sym);
	if (axis->kernel.sym) {
		fprintf(out, " %s", marks[axis->mark]);
		if (axis->before.written) {
			fputc('[', out);
			dump_coef(out, axis->before);
			fputs(", ", out);
			dump_coef(out, axis->after);
			fputc(']', out);
		}
		fputc(' ', out);
		dump_coef(out, axis->dilation);
		fprintf(out, "*%s", axis->kernel.sym);
	}
	for (uint32_t i = 0; i < axis->nmore; i++) {
		fputs(" + ", out);
		dump_coef(out, axis->more[i].coef);
		fprintf(out, "*%s", axis->more[i].name.sym);
	}
	if (axis->offset)
		fprintf(out, " + %lld", (long long)axis->offset);
}

static void dump_spec_axis(FILE *out, const AstSpecAxis *axis)
{
	switch (axis->kind) {
	case SPEC_LETTER:
		fprintf(out, axis->bracketed ? "[%s]" : "%s", axis->name.sym);
		break;
	case SPEC_INDEX: fprintf(out, "%lld", (long long)axis->number); break;
	case SPEC_PLACEHOLDER: fputs("_", out); break;
	case SPEC_AFFINE: dump_affine(out, axis); break;
	case SPEC_CONCAT: dump_parts(out, axis); break;
	case SPEC_JOIN:
		for (uint32_t i = 0; i < axis->nparts; i++)
			fprintf(out, "%s%s", i ? " " : "(", axis->parts[i].letter.sym);
		fputc(')', out);
		break;
	}
}

static void dump_spec_row(FILE *out, const AstSpecRow *row)
{
	const char *separator = "";
	for (uint32_t i = 0; i <= row->naxes; i++) {
		if (row->var_at == (int32_t)i) {
			fprintf(out, "%s..%s..", separator, row->var.sym);
			separator = ", ";
		}
		if (i == row->naxes)
			break;
		fputs(separator, out);
		dump_spec_axis(out, &row->axes[i]);
		separator = ", ";
	}
}

static void dump_spec_tensor(FILE *out, const AstSpecTensor *tensor)
{
	fputc('[', out);
	if (tensor->rows[ROW_BATCH].written) {
		dump_spec_row(out, &tensor->rows[ROW_BATCH]);
		fputs(" | ", out);
	}
	if (tensor->rows[ROW_INPUT].written) {
		dump_spec_row(out, &tensor->rows[ROW_INPUT]);
		fputs(" -> ", out);
	}
	dump_spec_row(out, &tensor->rows[ROW_OUTPUT]);
	fputc(']', out);
}

static void dump_spec(FILE *out, const AstSpec *spec)
{
	fputs(spec->single_letters ? "(spec letters" : "(spec names", out);
	for (uint32_t i = 0; i < spec->noperands; i++) {
		fputc(' ', out);
		dump_spec_tensor(out, &spec->operands[i]);
	}
	fputs(" => ", out);
	dump_spec_tensor(out, &spec->result);
	fputc(')', out);
}

static void dump_string(FILE *out, const char *text, uint32_t len)
{
	fputc('"', out);
	for (uint32_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\n')
			fputs("\\n", out);
		else if (c < 0x20 || c == 0x7F)
			fprintf(out, "\\x%02X", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* ---- shapes ---- */

static void dump_shape_row(FILE *out, const AstShapeRow *row)
{
	const char *separator = "";
	for (uint32_t i = 0; i <= row->naxes; i++) {
		if (row->var_at == (int32_t)i) {
			fprintf(out, row->var.sym ? "%s..%s.." : "%s...", separator, row->var.sym);
			separator = ", ";
		}
		if (i == row->naxes)
			break;
		fputs(separator, out);
		if (row->axes[i].label.sym)
			fprintf(out, "%s:", row->axes[i].label.sym);
		if (row->axes[i].size)
			dump_expr(out, row->axes[i].size);
		else
			fputc('_', out);
		separator = ", ";
	}
}

static void dump_type(FILE *out, Dtype dtype, const AstShape *shape)
{
	if (dtype != DTYPE_NONE)
		fprintf(out, " %s", dtype_name(dtype));
	if (!shape)
		return;
	fputs(" [", out);
	if (shape->rows[ROW_BATCH].written) {
		dump_shape_row(out, &shape->rows[ROW_BATCH]);
		fputs(" | ", out);
	}
	if (shape->rows[ROW_INPUT].written) {
		dump_shape_row(out, &shape->rows[ROW_INPUT]);
		fputs(" -> ", out);
	}
	dump_shape_row(out, &shape->rows[ROW_OUTPUT]);
	fputc(']', out);
}

/* ---- expressions ---- */

static void dump_after(FILE *out, const AstExpr *e)
{
	fputc(' ', out);
	dump_expr(out, e);
}

static void dump_names(FILE *out, const Name *names, uint32_t n)
{
	fputc('(', out);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? " " : "", out);
		dump_name(out, names[i]);
	}
	fputc(')', out);
}

static void dump_bind(FILE *out, const AstBind *bind)
{
	fputs(bind->value ? " (= " : " ", out);
	if (bind->nnames == 1)
		dump_name(out, bind->names[0]);
	else
		dump_names(out, bind->names, bind->nnames);
	if (!bind->value)
		return;
	dump_type(out, bind->dtype, bind->shape);
	dump_after(out, bind->value);
	fputc(')', out);
}

static void dump_call(FILE *out, const AstExpr *e)
{
	fputs("(call", out);
	for (uint32_t i = 0; i < e->nargs; i++) {
		bool keyed = e->keys && e->keys[i].sym;
		if (keyed)
			fprintf(out, " (= %s", e->keys[i].sym);
		dump_after(out, e->args[i]);
		fputs(keyed ? ")" : "", out);
	}
	fputs(e->nbinds ? " ;" : "", out);
	for (uint32_t i = 0; i < e->nbinds; i++)
		dump_bind(out, &e->binds[i]);
	fputc(')', out);
}

static void dump_list(FILE *out, const char *head, const AstExpr *e)
{
	fprintf(out, "(%s", head);
	for (uint32_t i = 0; i < e->nargs; i++)
		dump_after(out, e->args[i]);
	if (e->label.sym)
		fprintf(out, " : %s", e->label.sym);
	fputc(')', out);
}

static void dump_binding_form(FILE *out, const AstExpr *e)
{
	bool with = e->kind == AST_WITH;
	fputs(with ? "(with" : "(let", out);
	if (with)
		dump_after(out, e->args[0]);
	for (uint32_t i = 0; i < e->nbinds; i++)
		dump_bind(out, &e->binds[i]);
	if (!with)
		dump_after(out, e->args[0]);
	fputc(')', out);
}

static void dump_param(FILE *out, const AstExpr *e)
{
	fprintf(out, "(param %s", e->name.sym);
	dump_type(out, e->dtype, e->shape);
	if (e->nargs) {
		fputs(" =", out);
		dump_after(out, e->args[0]);
	}
	fputc(')', out);
}

static void dump_iterate(FILE *out, const AstExpr *e)
{
	fputs(e->kind == AST_SCAN ? "(scan" : "(iterate", out);
	dump_after(out, e->args[0]);
	dump_bind(out, &e->binds[0]);
	if (e->name.sym)
		fprintf(out, " %s", e->name.sym);
	if (e->nargs > 2) {
		fputs(" (until", out);
		dump_after(out, e->args[2]);
		fputc(')', out);
	}
	dump_after(out, e->args[1]);
	fputc(')', out);
}

static void dump_expr(FILE *out, const AstExpr *e)
{
	switch (e->kind) {
	case AST_NUMBER: dump_number(out, e); break;
	case AST_STRING:
		if (e->spec && !e->spec->broken)
			dump_spec(out, e->spec);
		else
			dump_string(out, e->text, e->len);
		break;
	case AST_NAME: dump_name(out, e->name); break;
	case AST_MEMBER:
		fputs("(.", out);
		dump_after(out, e->args[0]);
		fprintf(out, " %s)", e->name.sym);
		break;
	case AST_CALL: dump_call(out, e); break;
	case AST_UNARY:
	case AST_BINARY: dump_list(out, op_symbol(e->op), e); break;
	case AST_COMPOSE: dump_list(out, "*", e); break;
	case AST_TRANSPOSE: dump_list(out, ".T", e); break;
	case AST_SLICE: dump_list(out, "@", e); break;
	case AST_WITH:
	case AST_LET_IN: dump_binding_form(out, e); break;
	case AST_UPDATE:
	case AST_WRITE:
		fputs(e->kind == AST_WRITE ? "(write" : "(update", out);
		dump_after(out, e->args[0]);
		dump_steps(out, e->steps, e->nsteps);
		fputc(')', out);
		break;
	case AST_PARAM: dump_param(out, e); break;
	case AST_SCAN:
	case AST_ITERATE: dump_iterate(out, e); break;
	case AST_IF: dump_list(out, "if", e); break;
	case AST_TUPLE: dump_list(out, "tuple", e); break;
	case AST_OUTPUTS: dump_list(out, "outputs", e); break;
	case AST_BATCHES: dump_list(out, "batches", e); break;
	case AST_SHAPED:
		fputs("(:", out);
		dump_after(out, e->args[0]);
		dump_type(out, DTYPE_NONE, e->shape);
		fputc(')', out);
		break;
	case AST_FILE: dump_list(out, "file", e); break;
	case AST_ERROR: fputs("(error)", out); break;
	}
}

/* ---- statements ---- */

static void dump_param_list(FILE *out, const AstParam *params, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? " " : "", out);
		if (params[i].value || params[i].dtype != DTYPE_NONE)
			fputs(params[i].value ? "(= " : "(", out);
		dump_name(out, params[i].name);
		if (params[i].dtype != DTYPE_NONE)
			fprintf(out, " %s)", dtype_name(params[i].dtype));
		if (params[i].value) {
			dump_after(out, params[i].value);
			fputc(')', out);
		}
	}
}

static void dump_params(FILE *out, const AstParam *params, uint32_t n)
{
	fputs(" (", out);
	dump_param_list(out, params, n);
	fputc(')', out);
}

static void dump_assign(FILE *out, const AstStep *step)
{
	fprintf(out, "(=%s%s", step->clear || step->acc == OP_NONE ? ":" : "",
	        step->acc == OP_NONE  ? ""
	        : step->acc == OP_MUL ? "*"
	        : op_symbol(step->acc) ? op_symbol(step->acc)
	                               : op_name(step->acc));
	dump_after(out, step->target);
	dump_after(out, step->expr);
	if (step->via) {
		fputs(" via", out);
		dump_after(out, step->via);
	}
	fputc(')', out);
}

static void dump_step(FILE *out, const AstStep *step)
{
	switch (step->kind) {
	case STEP_ASSIGN: dump_assign(out, step); break;
	case STEP_LET:
		fputs("(let", out);
		for (uint32_t i = 0; i < step->nbinds; i++)
			dump_bind(out, &step->binds[i]);
		fputc(')', out);
		break;
	case STEP_FORWARD:
	case STEP_UPDATE:
	case STEP_BACKWARD:
		fputs(step->kind == STEP_FORWARD  ? "(forward"
		      : step->kind == STEP_UPDATE ? "(update"
						  : "(backward",
		      out);
		dump_after(out, step->expr);
		fputc(')', out);
		break;
	case STEP_INIT: fputs("(init)", out); break;
	case STEP_FOR:
		fprintf(out, "(for %s", step->name.sym);
		dump_after(out, step->expr);
		for (uint32_t i = 0; i < step->npatterns; i++)
			dump_after(out, step->patterns[i]);
		if (step->nexcepted)
			fputs(" except", out);
		for (uint32_t i = 0; i < step->nexcepted; i++)
			dump_after(out, step->excepted[i]);
		dump_steps(out, step->steps, step->nsteps);
		fputc(')', out);
		break;
	case STEP_CALL: dump_expr(out, step->expr); break;
	case STEP_ERROR: fputs("(error)", out); break;
	}
}

static void dump_steps(FILE *out, const AstStep *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fputc(' ', out);
		dump_step(out, &steps[i]);
	}
}

static void dump_dim(FILE *out, const AstStmt *s)
{
	if (s->expr) {
		fputs(" =", out);
		dump_after(out, s->expr);
	}
	if (!span_is_none(s->at_least_span))
		fprintf(out, " >= %lld", (long long)s->at_least);
}

static void dump_require(FILE *out, const AstStmt *s)
{
	static const char *const ops[] = {"==", ">=", "divides"};
	fprintf(out, " (%s", ops[s->require_op]);
	dump_after(out, s->expr);
	dump_after(out, s->expr2);
	fputc(')', out);
}

static void dump_import(FILE *out, const AstStmt *s)
{
	fprintf(out, s->import_is_path ? " \"%s\"" : " %s", s->text);
	if (s->import_name.sym)
		fprintf(out, " as %s", s->import_name.sym);
}

static void dump_value(FILE *out, const AstStmt *s)
{
	dump_type(out, s->dtype, s->shape);
	if (!s->expr)
		return;
	fputs(" =", out);
	dump_after(out, s->expr);
}

static void dump_rule(FILE *out, const AstRule *rule)
{
	if (!rule)
		return;
	fputs(" (adjoint", out);
	for (uint32_t i = 0; i < rule->nnames; i++)
		fprintf(out, " %s", rule->names[i].sym);
	dump_after(out, rule->expr);
	fputc(')', out);
}

/* What follows the statement's keyword and name. */
static void dump_rest(FILE *out, const AstStmt *s)
{
	switch (s->kind) {
	case STMT_DIM: dump_dim(out, s); break;
	case STMT_REQUIRE: dump_require(out, s); break;
	case STMT_IMPORT: dump_import(out, s); break;
	case STMT_FN:
		if (s->has_configs)
			dump_params(out, s->configs, s->nconfigs);
		fputs(" (", out);
		dump_param_list(out, s->params, s->nparams);
		fputs(s->nmodes ? " ; " : "", out);
		dump_param_list(out, s->modes, s->nmodes);
		fputc(')', out);
		dump_after(out, s->expr);
		dump_rule(out, s->rule);
		break;
	case STMT_ROUTINE:
		dump_params(out, s->configs, s->nconfigs);
		if (s->has_configs)
			dump_params(out, s->params, s->nparams);
		if (s->nnames) {
			fputs(" -> ", out);
			dump_names(out, s->names, s->nnames);
		}
		dump_steps(out, s->steps, s->nsteps);
		break;
	case STMT_INPUT:
	case STMT_PARAM:
	case STMT_CONST:
	case STMT_LET:
	case STMT_OUTPUT: dump_value(out, s); break;
	case STMT_ERROR: break;
	}
}

static void dump_stmt(FILE *out, const AstStmt *s)
{
	static const char *const words[] = {"dim", "require", "input", "param", "const", "let",
	                                    "fn", "output", "routine", "import", "error"};
	fprintf(out, "(%s", words[s->kind]);
	if (s->name.sym)
		fprintf(out, " %s", s->name.sym);
	else if (s->kind == STMT_LET) {
		fputc(' ', out);
		dump_names(out, s->names, s->nnames);
	}
	dump_rest(out, s);
	fputs(")\n", out);
}

void ast_dump(FILE *out, const AstFile *file)
{
	for (uint32_t i = 0; i < file->nstmts; i++)
		dump_stmt(out, &file->stmts[i]);
}
