/* Sizes of shapes whose names nothing declares: most likely dims that were forgotten.
 *
 *   input q : [b, t | d]        nothing is called 'b' here
 *   input k : [b, s | d]        help: write 'dim b, t, d, s' before it
 *
 * One error tells of all of a file, each name once.
 */
#include "frontend/build.h"
#include "frontend/scope.h"

enum { MOST_MISSING = 32, MOST_LOOKS = 64, MOST_TOLD = 256 };

/* What is looked through: a file from a place on, so many sizes of it at most. */
typedef struct Search {
	Build *b;
	const AstFile *file;
	Span place;
	uint32_t looks;
} Search;

bool missing_dim_is_told(const Build *b, Name name)
{
	for (size_t i = 0; i < b->missing_dims.n; i++) {
		const Name *told = &b->missing_dims.at[i];
		if (told->sym == name.sym && told->span.file == name.span.file)
			return true;
	}
	return false;
}

static bool is_captured(const AstExpr *expr, Sym name)
{
	bool found = false;
	for (uint32_t i = 0; expr && i < expr->nargs && !found; i++)
		found = is_captured(expr->args[i], name);
	for (uint32_t i = 0; expr && i < expr->nbinds && !found; i++) {
		const AstBind *bind = &expr->binds[i];
		found = is_captured(bind->value, name);
		for (uint32_t k = 0; expr->kind == AST_WITH && k < bind->nnames; k++)
			found |= bind->names[k].sym == name;
	}
	return found;
}

/* Is nothing of that name declared or captured, in what stands behind the place neither? */
static bool is_missing(Search *search, Name name)
{
	Build *b = search->b;
	Name from = {.sym = name.sym, .span = search->place};
	if (search->looks++ >= MOST_LOOKS || missing_dim_is_told(b, name) ||
	    scope_find(b->at.scope, name.sym))
		return false;
	bool has = scope_declares_later(b, from) || scope_nearest_size(b, name.sym);
	for (uint32_t i = 0; i < search->file->nstmts && !has; i++)
		has = is_captured(search->file->stmts[i].expr, name.sym);
	return !has;
}

static void add_shape(Search *search, const AstShape *shape)
{
	Build *b = search->b;
	for (RowKind kind = 0; shape && kind < ROW_KINDS; kind++) {
		const AstShapeRow *row = &shape->rows[kind];
		for (uint32_t i = 0; i < row->naxes && b->missing_dims.n < MOST_MISSING; i++) {
			const AstExpr *size = row->axes[i].size;
			if (size && size->kind == AST_NAME && is_missing(search, size->name))
				PUSH(b->arena, b->missing_dims, size->name);
		}
	}
}

/* The statement that the place stands in, and those behind it: the shapes of what they declare. Returns where
 * that statement begins. */
static Span add_file(Search *search)
{
	Span place = search->place, from = place;
	for (uint32_t i = 0; i < search->file->nstmts && search->looks < MOST_LOOKS; i++) {
		const AstStmt *stmt = &search->file->stmts[i];
		if (stmt->span.end <= place.start)
			continue;
		if (stmt->span.start <= place.start)
			from.start = from.end = stmt->span.start;
		if (stmt->kind == STMT_INPUT || stmt->kind == STMT_PARAM)
			add_shape(search, stmt->shape);
	}
	return from;
}

static const AstFile *file_of(const Build *b, Name name)
{
	for (size_t i = 0; i < b->parsed.n; i++)
		if (b->parsed.at[i].ast->file == name.span.file)
			return b->parsed.at[i].ast;
	return NULL;
}

void missing_dims_tell(Build *b, Name name)
{
	size_t first = b->missing_dims.n;
	Search search = {.b = b, .file = file_of(b, name), .place = name.span};
	if (!search.file || b->diags->overflow || first >= MOST_TOLD || !is_missing(&search, name))
		return;
	PUSH(b->arena, b->missing_dims, name);
	Span at = add_file(&search);
	if (b->missing_dims.n == first + 1) {
		diag_note(b->diags, name.span,
			  "a size is declared before its use: 'dim %s' is known when the program runs",
			  name.sym);
		return;
	}
	const char *list = name.sym;
	for (size_t i = first + 1; i < b->missing_dims.n; i++)
		list = arena_printf(b->arena, "%s, %s", list, b->missing_dims.at[i].sym);
	diag_fix(b->diags, at, arena_printf(b->arena, "dim %s\n", list),
		 "sizes are declared before their use; dims are known when the program runs");
}
