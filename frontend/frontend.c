/* Syntax tree to tensor graph: sets the state up, evaluates the main file, settles what waits. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/inside.h"
#include "frontend/late_dims.h"
#include "frontend/nodes.h"
#include "frontend/rule.h"
#include "frontend/scan.h"
#include "frontend/training.h"

static Graph *graph_new(Build *b)
{
	Graph *graph = ARENA_NEW(b->arena, Graph);
	graph->arena = b->arena;
	graph->symbols = b->symbols;
	graph->sizes = sizes_new(b->arena);
	return graph;
}

static const char *main_path(const Build *b, const AstFile *ast)
{
	const Source *source = source_at(b->sources, ast->file);
	return source ? source->path : "";
}

enum { DIMS_SHOWN = 20 };

static const char *dims_text(Build *b)
{
	const char *text = b->define_names.at[0];
	for (size_t i = 1; i < b->define_names.n && i < DIMS_SHOWN; i++)
		text = arena_printf(b->arena, "%s, %s", text, b->define_names.at[i]);
	return b->define_names.n > DIMS_SHOWN ? arena_printf(b->arena, "%s, ...", text) : text;
}

static void check_defines(Build *b, uint32_t ndefines)
{
	for (uint32_t i = 0; i < ndefines; i++) {
		if (b->define_used[i])
			continue;
		const char *name = b->options->defines[i].name;
		diag(b->diags, E0230, SPAN_NONE, "-D %s: the program declares no dim of that name",
		     name);
		uint32_t ndims = (uint32_t)b->define_names.n;
		Sym nearest = name_nearest(name, b->define_names.at, ndims);
		if (nearest)
			diag_note(b->diags, SPAN_NONE, "did you mean '%s'?", nearest);
		else if (ndims > 0)
			diag_note(b->diags, SPAN_NONE, "its dims are: %s", dims_text(b));
	}
}

/* What is still without a dtype takes f32; users before operands, so that an expression settles
 * whole. */
static void settle_all(Build *b)
{
	for (size_t i = b->graph->nodes.n; i-- > 0;)
		node_settle(b, (NodeId)i, DTYPE_NONE);
}

Graph *frontend_build(Parse *parse, Sources *sources, const AstFile *ast,
		      const FrontendOptions *options)
{
	Build build = {.parse = parse,
		       .assign_to = eval_assign_to,
		       .arena = parse->perm,
		       .symbols = parse->symbols,
		       .sources = sources,
		       .diags = parse->diags,
		       .options = options,
		       .seed = NODE_NONE};
	Build *b = &build;
	Sym none = sym_cstr(b->symbols, "");
	b->graph = graph_new(b);
	const char *path = main_path(b, ast);
	char room[PATH_MAX], *real = realpath(path, room);
	FileState file = {.path = path,
			  .prefix = none,
			  .real_path = arena_strndup(b->arena, real ? real : path,
						     strlen(real ? real : path))};
	b->file = &file;
	PUSH(b->arena, b->parsed, ((ParsedFile){file.real_path, ast}));
	b->define_used = ARENA_ARRAY(b->arena, bool, options->ndefines + 1);
	PUSH(b->arena, b->graph->sites, ((Site){.name = none}));
	PUSH(b->arena, b->graph->loops, ((GraphLoop){.until = NODE_NONE, .made = NODE_NONE}));
	PUSH(b->arena, b->graph->files, path);
	b->at.scope = scope_new(b, NULL);
	b->at.params = param_scope_new(b, none, none);
	b->main_file = ast->file;
	eval_file(b, ast);
	rules_warn_unused(b);
	updates_warn_left(b);
	inside_keep(b);
	late_dims_add(b);
	check_defines(b, options->ndefines);
	settle_all(b);
	if (b->diags->nerrors == 0)
		routines_finish(b);
	if (b->diags->nerrors == 0)
		gradients_check(b);
	if (b->diags->nerrors == 0 && b->graph->routines.n > 0) {
		warn_unused(b, ast);
		warn_powers(b);
	}
	return b->graph;
}
