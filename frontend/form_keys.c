/* Arguments with names that a form does not have, as elsewhere.
 *
 *   sum(x, axis=1)                             axes by number (form_axis.c)
 *   permute("b, (h d) => h, b, d", x, h=2)     permute("b, (h d) => h, b, d", x) with (h=2)
 */
#include <ctype.h>
#include <string.h>

#include "frontend/build.h"
#include "frontend/forms.h"

bool form_takes_keys(Sym name)
{
	static const char *const names[] = {"einsum", "gather", "scatter"};
	bool takes = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		takes |= strcmp(name, names[i]) == 0;
	return takes;
}

static bool is_letter_of(const char *spec, const char *name)
{
	size_t n = strlen(name);
	bool found = false;
	for (const char *at = spec; (at = strstr(at, name)) != NULL && !found; at += n) {
		bool joined = isalnum((unsigned char)at[n]) || at[n] == '_';
		found = !joined && (at == spec || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'));
	}
	return found;
}

/* The arguments from `first` on, where all have the names of letters: "h = 2, w = 3"; else NULL. */
static const char *letters(Build *b, const AstExpr *call, uint32_t first)
{
	const char *spec = NULL;
	for (uint32_t i = 1; i < first; i++)
		if (call->args[i]->kind == AST_STRING)
			spec = source_text(b->sources, b->arena, call->args[i]->span);
	for (uint32_t i = first; spec && i < call->nargs; i++)
		if (!form_is_key(call, i) || !is_letter_of(spec, call->keys[i].sym))
			return NULL;
	Span span = call->keys[first].span;
	span.end = call->args[call->nargs - 1]->span.end;
	return spec ? source_text(b->sources, b->arena, span) : NULL;
}

void form_note_key(Build *b, const AstExpr *call, uint32_t at)
{
	static const char *const axes[] = {"axis", "dim", "axes", "keepdims", "keepdim"};
	Sym key = call->keys[at].sym;
	const char *sizes = letters(b, call, at);
	bool axis = false;
	for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
		axis |= strcmp(key, axes[i]) == 0;
	Span span = {call->span.file, call->args[at - 1]->span.end, call->span.end};
	if (axis) {
		form_note_axis(b, call);
		form_fix_axis(b, call);
	} else if (sizes)
		diag_fix(b->diags, span, arena_printf(b->arena, ") with (%s)", sizes),
			 "the sizes of letters stand behind the form");
	else if (scope_find(b->at.scope, key))
		diag_note(b->diags, call->keys[at].span, "to compare, write '=='");
}
