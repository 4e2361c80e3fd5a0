/* An axis of a result into which nothing but 1 broadcasts is 1, whatever reads it; one that a use has
 * given another size is an error, or a guard where it is a dim. The rule runs before parts are
 * paired, for what is known then, and last of all, when every size is.
 */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/rows.h"
#include "infer/trail.h"

/* What broadcasts into one axis of a result. */
typedef struct Met {
	ConId con; /* of the first operand that has a 1 there, or NONE */
	CellId opnd;
	bool wide; /* an operand has another size */
} Met;

static void meet_axes(Solver *s, ConId id, uint32_t nres, Met *met)
{
	FlatRow opnd;
	row_flatten(s, &s->cons.at[id].b, &opnd);
	uint32_t n = opnd.nlead + opnd.ntrail;
	for (uint32_t i = 0; i < n && n <= nres; i++) {
		Met *at = &met[i < opnd.npinned ? i : nres - n + i];
		CellId cell = flat_at(&opnd, i);
		at->wide |= !cell_stretches(s, cell);
		if (at->con == NONE)
			*at = (Met){id, cell, at->wide};
	}
}

static void close_only_one(Solver *s, const char *rule, CellId cell, const Met *met)
{
	Size one = size_const(s->sizes, 1), value = cell_value(s, cell);
	if (met->con == NONE || met->wide || size_same(value, one))
		return;
	if (!sizes_differ(s->sizes, value, one)) {
		cell_set(s, cell, one, (Why){WHY_RULE, met->con, met->opnd, SPAN_NONE, rule});
		return;
	}
	Conflict *c = conflict_new(s, CONFLICT_STRETCHED, met->con);
	c->use = settling_use(s, &s->cons.at[met->con]);
	c->cells[0] = cell, c->cells[1] = met->opnd;
}

void close_only_ones(Solver *s, const char *rule)
{
	FlatRow res;
	Met met[ROW_LIMIT];
	for (ConId id = 0, end; id < s->cons.n; id = end) {
		end = row_makers_end(s, id);
		if (!s->cons.at[id].makes)
			continue;
		row_flatten(s, &s->cons.at[id].a, &res);
		uint32_t n = res.overflow ? 0 : res.nlead + res.ntrail;
		for (uint32_t i = 0; i < n; i++)
			met[i] = (Met){NONE, NONE, false};
		for (ConId con = id; con < end; con++)
			meet_axes(s, con, n, met);
		for (uint32_t i = 0; i < n; i++)
			close_only_one(s, rule, flat_at(&res, i), &met[i]);
	}
}
