/* Modes of functions (modes.h): a list of what applications around the one at hand gave, the nearest first. */
#include "frontend/modes.h"

bool modes_refuse(Build *b, const AstExpr *call)
{
	if (call->nbinds == 0)
		return true;
	diag(b->diags, E0266, call->binds[0].names[0].span,
	     "modes are given where a function of the program is applied to tensors, behind these");
	return false;
}

/* In front of `end`, which is not looked at. */
static Mode *find(Mode *modes, const Mode *end, Sym name)
{
	while (modes != end && modes->name.sym != name)
		modes = modes->outer;
	return modes == end ? NULL : modes;
}

Mode *modes_give(Build *b, Mode *modes, const Mode *around, Name name, Value value)
{
	const Mode *before = find(modes, around, name.sym);
	if (before) {
		diag(b->diags, E0208, name.span, "the mode '%s' is given twice", name.sym);
		diag_note(b->diags, before->name.span, "it is given here first");
		return NULL;
	}
	Mode *mode = ARENA_NEW(b->arena, Mode);
	*mode = (Mode){modes, name, value, false};
	return mode;
}

Mode *modes_take(Mode *modes, Sym name)
{
	Mode *mode = find(modes, NULL, name);
	if (mode)
		mode->taken = true;
	return mode;
}

static void report_untaken(Build *b, const AstStmt *fn, const Mode *mode)
{
	Sym *names = ARENA_ARRAY(b->arena, Sym, fn->nmodes + 1);
	for (uint32_t i = 0; i < fn->nmodes; i++)
		names[i] = fn->modes[i].name.sym;
	diag(b->diags, E0266, mode->name.span,
	     "neither '%s' nor a function that it applies has the mode '%s'", fn->name.sym,
	     mode->name.sym);
	Sym nearest = name_nearest(mode->name.sym, names, fn->nmodes);
	if (nearest)
		diag_fix(b->diags, mode->name.span, nearest, "did you mean '%s'?", nearest);
	else
		diag_note(b->diags, fn->name.span, "'%s' is declared here", fn->name.sym);
}

void modes_check_taken(Build *b, const AstStmt *fn, const AstExpr *call, const Mode *modes)
{
	for (uint32_t i = 0; i < call->nbinds; i++, modes = modes->outer)
		if (!modes->taken)
			report_untaken(b, fn, modes);
}
