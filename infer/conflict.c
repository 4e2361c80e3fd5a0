/* Records conflicts. */
#include "infer/solver.h"
#include "infer/trail.h"

DiagCode conflict_code(ConflictKind kind)
{
	static const DiagCode codes[] = {
#define CONFLICT(kind, code) [CONFLICT_##kind] = code,
#include "infer/conflict.def"
#undef CONFLICT
	};
	return codes[kind];
}

Conflict *conflict_new(Solver *s, ConflictKind kind, ConId con)
{
	PUSH(s->arena, s->conflicts,
	     ((Conflict){.kind = kind,
			 .known = s->trail.n,
			 .con = con,
			 .use = NONE,
			 .node = con == NONE ? NODE_NONE : s->cons.at[con].node,
			 .span = con == NONE ? SPAN_NONE : s->cons.at[con].span,
			 .cells = {NONE, NONE},
			 .born = {NONE, NONE},
			 .sizes = {SIZE_BAD, SIZE_BAD}}));
	return &s->conflicts.at[s->conflicts.n - 1];
}

Conflict *conflict_sizes(Solver *s, ConflictKind kind, ConId con, Size x, Size y)
{
	Conflict *c = conflict_new(s, kind, con);
	c->sizes[0] = x;
	c->sizes[1] = y;
	return c;
}
