/* Names inside functions: a tensor that a `let` in a body names is a member of what the application
 * gives, and of the instance that is applied once.
 *
 *   fn layer()(x) = let h = {w} * x in relu(h)
 *   let l = layer()
 *   let y = l(x)
 *   output pre = y.h          # or l.h
 *
 * --keep gives such tensors out as results: the instance, what the application is named, the name,
 * dotted: l.y.h; or without the first, or the second, where one tensor is meant.
 */
#include <inttypes.h>
#include <string.h>

#include "frontend/inside.h"

void inside_note(Build *b, Name name, const Value *value)
{
	if (value->kind != VALUE_TENSOR && value->kind != VALUE_TUPLE)
		return;
	Local local = {.name = name.sym, .place = b->place, .params = b->at.params, .in = b->at.in,
		       .value = *value, .span = name.span, .of_routine = b->routine != NULL};
	PUSH(b->arena, b->locals, local);
}

/* ---- members ---- */

typedef struct Matches {
	const Local *first, *other; /* of other applications, or declared again */
	Names names; /* all that there are */
} Matches;

static Matches matches_of(Build *b, const Application *in, const Instance *instance, Sym name)
{
	Matches matches = {0};
	for (size_t i = 0; i < b->locals.n; i++) {
		const Local *local = &b->locals.at[i];
		if (!local->in || (in ? local->in != in : local->in->instance != instance))
			continue;
		PUSH(b->arena, matches.names, local->name);
		if (local->name != name)
			continue;
		if (!matches.first)
			matches.first = local;
		else if (!matches.other)
			matches.other = local;
	}
	return matches;
}

static Value report_several(Build *b, const AstExpr *expr, const Matches *found, bool applied)
{
	diag(b->diags, E0255, expr->name.span, "'%s' names several tensors in it", expr->name.sym);
	const Local *each[] = {found->first, found->other};
	for (int i = 0; i < 2; i++)
		if (applied)
			diag_note(b->diags, each[i]->in->call,
				  "'%s' is applied here%s", each[i]->in->fn->stmt->name.sym,
				  i ? ", too: name what it gives, and take the member of that" : "");
		else
			diag_note(b->diags, each[i]->span, "'%s' is declared here%s",
				  expr->name.sym, i ? ", too" : "");
	return value_error();
}

bool inside_find(Build *b, const Application *in, const Instance *instance, const AstExpr *expr,
		 Value *value, Names *names)
{
	Matches found = matches_of(b, in, instance, expr->name.sym);
	for (size_t i = 0; i < found.names.n; i++)
		PUSH(b->arena, *names, found.names.at[i]);
	if (!found.first)
		return false;
	if (found.other) {
		*value = report_several(b, expr, &found, found.other->in != found.first->in);
		return true;
	}
	*value = found.first->value;
	value->span = expr->span;
	return true;
}

/* ---- --keep ---- */

/* Of a tensor: the instance's name before it and the copy's number behind it, or not; the dotted names
 * of what the application gives, or not. */
static Sym local_name(Build *b, const Local *local, bool instance, bool place)
{
	bool placed = place && local->place;
	return sym_printf(b->symbols, "%s%s%s%s%s", instance ? local->params->prefix : "",
			  placed ? local->place : "", placed ? "." : "", local->name,
			  local->params->suffix);
}

typedef struct Kept {
	Sym name;
	NodeId node;
	Span span;
	bool of_routine;
} Kept;

typedef struct KeptList {
	VEC(Kept) at;
} KeptList;

static void add_tensor(Build *b, KeptList *list, Kept kept)
{
	for (size_t i = 0; i < list->at.n; i++)
		if (list->at.at[i].node == kept.node)
			return;
	PUSH(b->arena, list->at, kept);
}

/* Where the main file has it: the name, or the application that leads to it. */
static Span main_span(const Build *b, const Local *local)
{
	Span span = local->span;
	for (const Application *in = local->in; in && span.file != b->main_file; in = in->outer)
		span = in->call;
	return span;
}

/* All tensors that have the name; every tensor with a name where it is NULL. */
static KeptList named_so(Build *b, Sym name)
{
	KeptList list = {0};
	for (size_t i = 0; i < b->graph->listing.n; i++) {
		const Listing *row = &b->graph->listing.at[i];
		NodeKind kind = graph_node(b->graph, row->node)->kind;
		if (name ? row->name == name : kind != NODE_INPUT && kind != NODE_PARAM && kind != NODE_CONST)
			add_tensor(b, &list, (Kept){row->name, row->node, row->span, false});
	}
	for (size_t i = 0; i < b->locals.n; i++) {
		const Local *local = &b->locals.at[i];
		Sym whole = local_name(b, local, true, true);
		bool meant = !name || whole == name || local_name(b, local, true, false) == name ||
			     local_name(b, local, false, true) == name;
		if (meant && local->value.kind == VALUE_TENSOR)
			add_tensor(b, &list, (Kept){whole, local->value.node, main_span(b, local), local->of_routine});
	}
	return list;
}

/* Is the node a result: by the name, or by any where that is NULL? */
static bool is_result(const Build *b, NodeId node, Sym name)
{
	for (size_t i = 0; i < b->outputs.n; i++)
		if (b->outputs.at[i] == node && (!name || b->output_names.at[i] == name))
			return true;
	return false;
}

static bool names_result(const Build *b, Sym name)
{
	for (size_t i = 0; i < b->output_names.n; i++)
		if (b->output_names.at[i] == name)
			return true;
	return false;
}

static const char *identifier(Build *b, Sym name)
{
	char *text = arena_strndup(b->arena, name, strlen(name));
	for (char *c = text; *c; c++)
		if (*c == '.')
			*c = '_';
	return text;
}

/* A name of C that is free. */
static Sym result_name(Build *b, const Kept *kept)
{
	const char *text = identifier(b, kept->name);
	Sym name = sym_cstr(b->symbols, text);
	for (uint32_t n = 2; names_result(b, name); n++)
		name = sym_printf(b->symbols, "%s_%" PRIu32, text, n);
	return name;
}

/* As a result more, if it is none; by a name of its own that was asked for, also if it is one. */
static void keep(Build *b, const Kept *kept, bool asked)
{
	Sym own = sym_cstr(b->symbols, identifier(b, kept->name));
	if (is_result(b, kept->node, asked ? own : NULL))
		return;
	PUSH(b->arena, b->output_names, result_name(b, kept));
	PUSH(b->arena, b->outputs, kept->node);
	PUSH(b->arena, b->output_spans, kept->span);
}

enum { NAMES_SHOWN = 20 };

static const char *names_text(Build *b, const Names *names)
{
	const char *text = names->at[0];
	for (size_t i = 1; i < names->n && i < NAMES_SHOWN; i++)
		text = arena_printf(b->arena, "%s, %s", text, names->at[i]);
	return names->n > NAMES_SHOWN ? arena_printf(b->arena, "%s, ...", text) : text;
}

static void report_unknown(Build *b, const char *name)
{
	Names names = {0};
	KeptList all = named_so(b, NULL);
	for (size_t i = 0; i < all.at.n; i++)
		PUSH(b->arena, names, all.at.at[i].name);
	diag(b->diags, E0256, SPAN_NONE, "--keep=%s: no tensor has that name", name);
	Sym nearest = name_nearest(name, names.at, (uint32_t)names.n);
	if (nearest)
		diag_note(b->diags, SPAN_NONE, "did you mean '%s'?", nearest);
	else if (names.n > 0)
		diag_note(b->diags, SPAN_NONE, "there are: %s", names_text(b, &names));
}

static void keep_named(Build *b, const char *name)
{
	KeptList found = named_so(b, sym_cstr(b->symbols, name));
	if (found.at.n == 0) {
		report_unknown(b, name);
		return;
	}
	if (found.at.n > 1) {
		diag(b->diags, E0256, SPAN_NONE, "--keep=%s: several tensors have that name", name);
		for (size_t i = 0; i < found.at.n && i < 2; i++)
			diag_note(b->diags, found.at.at[i].span, "this one is '%s'", found.at.at[i].name);
		return;
	}
	Kept *kept = &found.at.at[0];
	kept->name = sym_cstr(b->symbols, name);
	if (!kept->of_routine) {
		keep(b, kept, true);
		return;
	}
	diag(b->diags, E0256, SPAN_NONE, "--keep=%s: it belongs to a routine's step, and 'forward' gives "
	     "kept tensors", name);
	diag_note(b->diags, kept->span, "it is named here");
}

void inside_keep(Build *b)
{
	for (uint32_t i = 0; i < b->options->nkept; i++) {
		if (strcmp(b->options->kept[i], "all") != 0) {
			keep_named(b, b->options->kept[i]);
			continue;
		}
		KeptList all = named_so(b, NULL);
		for (size_t k = 0; k < all.at.n; k++)
			if (!all.at.at[k].of_routine &&
			    graph_node(b->graph, all.at.at[k].node)->dtype != DTYPE_U4X32)
				keep(b, &all.at.at[k], false);
	}
}
