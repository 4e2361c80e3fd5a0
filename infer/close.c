/* The stages: what becomes of sizes and rows that nothing forces. Stage 1 only propagates. Each
 * rule below runs on a fixed point, looks at open rows or sizes in the order of the program,
 * decides, and propagates to the next fixed point; so the choice never depends on the order of the
 * constraints.
 *
 * Leaves (parameters, offsets, a routine's own tensors, reshapes) can always be broadcast, so
 * nothing forces their shape from below: they take what their uses have. Results have theirs from
 * operands.
 */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/rows.h"
#include "infer/trail.h"

/* Does the decision follow from what is known, or is it made where nothing is? After conflicts more
 * may be unknown than the program leaves open: nothing is guessed then. */
typedef enum Sure { FOLLOWS, GUESSES } Sure;

typedef struct Rule {
	int stage;
	const char *name;
	void (*run)(Solver *s, const char *rule);
	Sure sure;
	const char *says;
} Rule;

static const Rule rules[] = {
	{2, "circle", close_cycles, FOLLOWS,
	 "sizes that refine one another in a circle are one size"},
	{3, "kept-rows", close_kept_rows, FOLLOWS,
	 "a row of a reshape that a specification reads as a row variable is that of its operand, where the rest fits the other rows"},
	{3, "total-rows", close_total_rows, FOLLOWS,
	 "of several open rows of a reshape only the output row stays open"},
	{3, "leaf-row", close_leaf_rows, FOLLOWS,
	 "an open row of a leaf takes the axes that all of its uses have, of those that have some besides it"},
	{4, "leaf-size", close_leaf_bounds, FOLLOWS,
	 "a size of a leaf is what its uses have, or 1 where they differ"},
	{4, "leaf-row-unused", close_unused_rows, GUESSES,
	 "an open row of a leaf that no use, no given product and no reshape bounds gets no axes"},
	{4, "only-ones", close_only_ones, FOLLOWS,
	 "an axis of a result into which nothing but 1 broadcasts is 1, whatever reads it"},
	{4, "parts", close_parts, FOLLOWS,
	 "of one axis that is written as parts in several ways these are paired by place, where they line up"},
	{5, "shifted-rows", close_shifted_rows, FOLLOWS,
	 "rows that are equal but shifted get the least material"},
	{5, "reshaped", close_reshaped, FOLLOWS,
	 "a result of which a reshape is made gets no more axes, and the least sizes"},
	{5, "words", close_words, GUESSES,
	 "random words are one cell where no use gives their numbers axes"},
	{5, "total-row", close_total_row, GUESSES,
	 "the open row of a reshape or given product gets one axis of the rest, unless a dim divides it"},
	{5, "factors", close_factors, GUESSES,
	 "a total with several open factors is the least that both sides can have"},
	{5, "leaf-one", close_leaf_ones, GUESSES,
	 "a size of a leaf without a bound is 1, or 0 for a part that may be empty; one waits that has no place yet in an open result, or into which an open size broadcasts"},
	{6, "result-row", close_result_rows, FOLLOWS,
	 "an open row of a result gets no more axes, one made of open rows of leaves last"},
	{6, "last-rows", close_last_rows, GUESSES,
	 "an open row of a leaf takes what its uses have now, or no axes"},
	{6, "result-one", close_result_ones, FOLLOWS,
	 "a size of a result is 1 where nothing but 1 broadcasts into it"},
	{6, "size-bound", close_bounds, FOLLOWS,
	 "a size is what its uses have, or 1 where they differ"},
	{6, "rest", close_rests, GUESSES,
	 "of an axis of known length that is read from a place on, or up to a rest, all is read that nothing else says"},
	{7, "factors", close_factors, GUESSES,
	 "the same, where other sizes had to be decided first"},
	{7, "rounded", close_rounded, GUESSES,
	 "an axis read in rounded steps is as long as the steps need"},
	{7, "at-least", close_at_least, GUESSES,
	 "an axis with fixed indices holds the greatest of them; where it is made of parts these decide"},
	{7, "undetermined", close_undetermined, GUESSES,
	 "a size of a parameter or kernel that nothing determines is an error"},
	{7, "longest", close_longest, GUESSES,
	 "an axis that is written as parts in several ways is as long as the longest of them"},
	{7, "one", close_ones, GUESSES,
	 "every other size is 1; parts that may be empty go first and are 0"},
	{7, "only-ones", close_only_ones, FOLLOWS,
	 "an axis of a result into which nothing but 1 broadcasts is 1, whatever reads it"},
};

enum { NRULES = sizeof rules / sizeof *rules };

void close_stage(Solver *s, int stage)
{
	for (int i = 0; i < NRULES && !solver_stops(s); i++) {
		if (rules[i].stage == stage) {
			rules[i].run(s, rules[i].name);
			propagate(s);
		}
	}
}

void close_rest(Solver *s)
{
	for (int i = 0; i < NRULES; i++) {
		s->tolerated = s->conflicts.n; /* a rule stops at its first one */
		if (rules[i].sure == FOLLOWS)
			rules[i].run(s, rules[i].name);
		propagate(s);
	}
}

void dump_rules(FILE *out)
{
	for (int i = 0; i < NRULES; i++)
		fprintf(out, "# stage %d  %-16s %s\n", rules[i].stage, rules[i].name,
			rules[i].says);
}

void close_note(Solver *s, const char *rule, const Spot *spot)
{
	PUSH(s->arena, s->events, ((Event){s->stage, rule, *spot}));
}

/* ---- what is open, in the order of the program ---- */

Spots open_rows(Solver *s)
{
	Spots spots = {0};
	FlatRow f;
	if (s->rows_closed)
		return spots;
	bool *seen = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		for (int k = 0; k < ROW_KINDS; k++) {
			row_flatten(s, &s->rows[id][k], &f);
			if (f.var == NONE || seen[f.var])
				continue;
			seen[f.var] = true;
			PUSH(s->arena, spots, ((Spot){id, (RowKind)k, 0, NONE, f.var}));
		}
	}
	s->rows_closed = spots.n == 0;
	return spots;
}

static void add_open(Solver *s, Spots *spots, uint32_t *seen, Spot spot)
{
	spot.cell = cell_root(s, spot.cell);
	const Cell *c = &s->cells.at[spot.cell];
	if (!size_is_bad(c->value))
		return;
	if (!seen[spot.cell]) {
		PUSH(s->arena, *spots, spot);
		seen[spot.cell] = (uint32_t)spots->n;
		return;
	}
	Spot *had = &spots->at[seen[spot.cell] - 1];
	bool leaf = spot.node != NODE_NONE && s->graph->nodes.at[spot.node].kind == NODE_PARAM;
	if (leaf && (had->node == NODE_NONE || s->graph->nodes.at[had->node].kind != NODE_PARAM))
		*had = spot;
}

Spots open_cells(Solver *s)
{
	Spots spots = {0};
	FlatRow f;
	if (s->cells_closed)
		return spots;
	uint32_t *seen = ARENA_ARRAY(s->arena, uint32_t, s->cells.n + 1);
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		for (int k = 0; k < ROW_KINDS; k++) {
			row_flatten(s, &s->rows[id][k], &f);
			for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
				add_open(s, &spots, seen,
					 (Spot){id, (RowKind)k, i, flat_at(&f, i), NONE});
		}
	}
	for (CellId c = 0; c < s->ngenerated; c++)
		add_open(s, &spots, seen, (Spot){NODE_NONE, ROW_OUTPUT, 0, c, NONE});
	s->cells_closed = s->rows_closed && spots.n == 0;
	return spots;
}
