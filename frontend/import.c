/* Imports: finding a file, refusing cycles, and evaluating it under its prefix.
 *
 * A name is looked for beside the importing file, then along the include path. A file is parsed
 * once; each import evaluates it anew, because its parameters carry the import's name.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/build.h"
#include "frontend/eval.h"

static const char *real_path(Build *b, const char *path)
{
	char buffer[PATH_MAX];
	const char *real = realpath(path, buffer);
	return arena_strndup(b->arena, real ? real : path, strlen(real ? real : path));
}

/* ---- reading ---- */

static void report_missing(Build *b, const AstStmt *stmt, const char *name)
{
	static const Sym library[] = {"nn.tsr", "optim.tsr"};
	const char *nearest = name_nearest(name, library, 2);
	diag(b->diags, E0226, stmt->span, "there is no file '%s' to import", name);
	if (nearest && strcmp(nearest, name) == 0)
		diag_note(b->diags, SPAN_NONE,
			  "it comes with tsrc, in lib/ beside it or share/tsr/lib where it is installed");
	else if (nearest)
		diag_note(b->diags, stmt->span, "did you mean the library '%.*s'?",
			  (int)strlen(nearest) - 4, nearest);
	diag_note(b->diags, SPAN_NONE, "looked beside '%s'%s", b->file->path,
		  b->options->ninclude_dirs ? " and in:" : "; -I DIR adds places to look");
	for (uint32_t i = 0; i < b->options->ninclude_dirs; i++)
		diag_note(b->diags, SPAN_NONE, "  %s", b->options->include_dirs[i]);
}

static bool check_cycle(Build *b, const AstStmt *stmt, const char *real)
{
	for (const FileState *file = b->file; file; file = file->importer) {
		if (strcmp(file->real_path, real) != 0)
			continue;
		diag(b->diags, E0227, stmt->span, "'%s' imports itself", file->path);
		for (const FileState *link = b->file; link != file; link = link->importer)
			diag_note(b->diags, link->span, "'%s' is imported here", link->path);
		return false;
	}
	if (b->file->depth < LIMIT_IMPORT_DEPTH && b->nimports < LIMIT_IMPORTS)
		return true;
	diag(b->diags, E0236, stmt->span,
	     "imports are nested more than %d deep, or more than %d in all", LIMIT_IMPORT_DEPTH,
	     LIMIT_IMPORTS);
	return false;
}

static const AstFile *parse_once(Build *b, const AstStmt *stmt, const char *path, const char *real)
{
	const char *why;
	for (size_t i = 0; i < b->parsed.n; i++) {
		if (strcmp(b->parsed.at[i].real_path, real) == 0)
			return b->parsed.at[i].ast;
	}
	uint32_t file = source_read(b->sources, path, &why);
	if (!file) {
		diag(b->diags, E0601, stmt->span, "%s: %s", path, why);
		return NULL;
	}
	PUSH(b->arena, b->graph->files, path);
	AstFile *ast = parse_file(b->parse, file);
	PUSH(b->arena, b->parsed, ((ParsedFile){real, ast}));
	return ast;
}

/* ---- names ---- */

static bool is_identifier(const char *text, size_t len)
{
	if (len == 0 || (text[0] >= '0' && text[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_'))
			return false;
	}
	return true;
}

/* What follows `as`, else the file's stem. */
static Name module_name(Build *b, const AstStmt *stmt, const char *path)
{
	if (stmt->import_name.sym)
		return stmt->import_name;
	const char *slash = strrchr(path, '/');
	const char *stem = slash ? slash + 1 : path;
	size_t len = strlen(stem);
	if (len > 4 && strcmp(stem + len - 4, ".tsr") == 0)
		len -= 4;
	if (is_identifier(stem, len))
		return (Name){sym_intern(b->symbols, stem, len), stmt->span};
	diag(b->diags, E0226, stmt->span, "'%.*s' is not a name: import it 'as NAME'", (int)len,
	     stem);
	return (Name){0};
}

/* ---- evaluation ---- */

static Module *eval_module(Build *b, const AstStmt *stmt, const AstFile *ast, FileState *state)
{
	Module *module = ARENA_NEW(b->arena, Module);
	Activation outer = b->at;
	const FileState *importer = b->file;
	module->scope = scope_new(b, NULL);
	module->params = param_scope_new(b, state->prefix, sym_cstr(b->symbols, ""));
	state->importer = importer;
	state->span = stmt->span;
	state->imported = true;
	state->depth = importer->depth + 1;
	b->file = state;
	b->nimports++;
	b->at = (Activation){.scope = module->scope, .params = module->params};
	eval_file(b, ast);
	b->at = outer;
	b->file = importer;
	return module;
}

void eval_import(Build *b, const AstStmt *stmt)
{
	const char *written =
		stmt->import_is_path ? stmt->text : arena_printf(b->arena, "%s.tsr", stmt->text);
	const char *path = import_find(b, written, strlen(written));
	if (!path) {
		report_missing(b, stmt, written);
		if (!stmt->import_is_path || stmt->import_name.sym) /* its uses are no news */
			scope_declare(b, b->at.scope, module_name(b, stmt, written), value_error());
		return;
	}
	const char *real = real_path(b, path);
	Name name = module_name(b, stmt, path);
	const AstFile *ast = NULL;
	int before = b->diags->nerrors;
	if (name.sym && check_cycle(b, stmt, real))
		ast = parse_once(b, stmt, path, real);
	if (!name.sym)
		return;
	Value value = value_error();
	if (ast) {
		Sym prefix = sym_printf(b->symbols, "%s%s.", b->file->prefix, name.sym);
		FileState state = {.path = path, .real_path = real, .prefix = prefix};
		value = (Value){.kind = VALUE_MODULE, .span = stmt->span};
		value.module = eval_module(b, stmt, ast, &state);
		value.module->name = name.sym;
	}
	if (b->diags->nerrors > before) /* what is missing in it is no news */
		value = value_error();
	scope_declare(b, b->at.scope, name, value);
}
