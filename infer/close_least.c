/* Closing rules for sizes that are as small as reads and writes let them be: axes read in rounded
 * steps, axes with fixed indices, and axes that are written as parts in several ways.
 *
 * Of a whole and its parts with fixed indices the parts come first: `=> 2` is three elements, and
 * an axis into which it is concatenated follows, however small the index is that is read of it
 * there.
 */
#include "base/size_order.h"
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/trail.h"

#include "infer/affine.h"

/* `node`: whose axis it is, for warnings. */
static void close_steps(Solver *s, const char *rule, ConId id, NodeId node)
{
	const Con *con = &s->cons.at[id];
	if (con->kind != CON_AFFINE || con->done || cell_known(s, con->cells[0]) ||
	    !cell_known(s, con->cells[1]))
		return;
	Size k = con->cells[2] == NONE ? SIZE_BAD : cell_value(s, con->cells[2]);
	if (con->axis->mark == MARK_VALID_FLOOR && size_is_bad(k))
		return;
	Spot spot = {.node = node, .row = con->row, .cell = con->cells[0], .var = NONE};
	close_choose(s, rule, &spot,
		     affine_in(s->sizes, con->axis, cell_value(s, con->cells[1]), k), NONE, id);
	propagate(s);
}

void close_rounded(Solver *s, const char *rule)
{
	for (ConId id = 0; id < s->cons.n && !solver_stops(s); id++)
		close_steps(s, rule, id, s->cons.at[id].node);
}

/* The part that is what the others leave: the last of an axis that is read from a place on. */
static CellId rest_of(const Con *con)
{
	uint32_t cell = con->ncells - 1;
	if (con->kind == CON_ADD)
		return con->cells[cell];
	for (uint32_t i = con->axis->nparts; i-- > 0 && !con->axis->parts[i].rest;)
		cell -= spec_part_is_solved(&con->axis->parts[i]);
	return con->cells[cell];
}

/* What a step's window reaches is chosen before what is behind it. */
static void close_reached(Solver *s, CellId reached)
{
	for (const Occ *o = cell_at(s, reached)->occs.first; o; o = o->next)
		if (o->kind == OCC_CON && s->cons.at[o->id].kind == CON_AFFINE &&
		    s->cons.at[o->id].cells[0] == reached) {
			close_steps(s, "rounded", o->id, NODE_NONE);
			return;
		}
}

void close_rests(Solver *s, const char *rule)
{
	for (size_t i = 0; i < s->rests.n && !solver_stops(s); i++) {
		ConId id = s->rests.at[i];
		const Con *con = &s->cons.at[id];
		CellId rest = rest_of(con);
		if (con->kind == CON_ADD)
			close_reached(s, con->cells[2]);
		if (cell_known(s, rest) || !cell_known(s, con->cells[0]) || con->done)
			continue;
		Spot spot = {.node = NODE_NONE, .cell = rest, .var = NONE};
		close_choose(s, rule, &spot, size_const(s->sizes, 0), NONE, id);
		propagate(s);
	}
}

/* ---- fixed indices ---- */

/* The constraint of the axis's greatest fixed index; NONE: it has none. */
static ConId greatest_index(const Solver *s, CellId cell)
{
	ConId greatest = NONE;
	for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (con && con->kind == CON_AT_LEAST &&
		    (greatest == NONE || con->number > s->cons.at[greatest].number))
			greatest = o->id;
	}
	return greatest;
}

int64_t least_index(const Solver *s, CellId cell)
{
	ConId con = greatest_index(s, cell);
	return con == NONE ? 0 : s->cons.at[con].number;
}

/* What the sum of parts has without those that are open; SIZE_BAD: the relation is another. */
static Size known_parts(Solver *s, const Con *con)
{
	Size sum = size_const(s->sizes, con->number);
	if (con->kind != CON_CONCAT && con->kind != CON_ADD)
		return SIZE_BAD;
	for (uint32_t i = 1; i < con->ncells; i++)
		if (cell_known(s, con->cells[i]))
			sum = size_add(s->sizes, sum, cell_value(s, con->cells[i]));
	return sum;
}

typedef enum Made { MADE_NOT, MADE_LESS, MADE_MORE } Made;

/* Is the open size the result of a relation, and have its parts more than this number of elements,
 * or a symbolic one, by themselves? */
static Made made_of_parts(Solver *s, CellId cell, int64_t number)
{
	Made made = MADE_NOT;
	for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || con->kind < CON_AFFINE || con->done ||
		    cell_root(s, con->cells[0]) != cell)
			continue;
		int64_t least;
		Size size = known_parts(s, con);
		if (!size_is_bad(size) &&
		    (!size_is_const(s->sizes, size, &least) || least > number))
			return MADE_MORE;
		made = MADE_LESS;
	}
	return made;
}

void close_at_least(Solver *s, const char *rule)
{
	for (int round = 0; round < 2; round++) {
		Spots open = open_cells(s);
		for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
			CellId cell = cell_root(s, open.at[i].cell);
			ConId con = cell_known(s, cell) ? NONE : greatest_index(s, cell);
			if (con == NONE || s->cells.at[cell].param)
				continue;
			int64_t number = s->cons.at[con].number;
			Made made = made_of_parts(s, cell, number);
			if (round == 0 ? made != MADE_NOT : made == MADE_MORE)
				continue;
			close_choose(s, rule, &open.at[i], size_const(s->sizes, number), NONE, con);
			propagate(s);
		}
	}
}

/* ---- several ways to write an axis as parts ---- */

/* The least size that the parts can have together, where they may be as small as can be. */
static Size least_sum(Solver *s, const Con *con)
{
	Size sum = size_const(s->sizes, con->number);
	for (uint32_t i = 1; i < con->ncells; i++) {
		const Cell *c = cell_at(s, con->cells[i]);
		int64_t index = least_index(s, cell_root(s, con->cells[i]));
		Size least = size_const(s->sizes, index > 0 ? index : !c->may_be_empty);
		sum = size_add(s->sizes, sum, size_is_bad(c->value) ? least : c->value);
	}
	return sum;
}

/* The longest of the sums that the open axis is; SIZE_BAD: it is no more than one, or which is the
 * longest depends on dims. */
static Size longest_sum(Solver *s, CellId cell)
{
	Size longest = SIZE_BAD;
	uint32_t n = 0;
	for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || con->kind != CON_CONCAT || con->done ||
		    cell_root(s, con->cells[0]) != cell)
			continue;
		Size sum = least_sum(s, con);
		bool more = n++ == 0 || size_ge(s->sizes, sum, longest);
		if (!more && !size_ge(s->sizes, longest, sum))
			return SIZE_BAD;
		longest = more ? sum : longest;
	}
	return n > 1 ? longest : SIZE_BAD;
}

void close_longest(Solver *s, const char *rule)
{
	Spots open = open_cells(s);
	for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
		CellId cell = cell_root(s, open.at[i].cell);
		Size longest = cell_known(s, cell) ? SIZE_BAD : longest_sum(s, cell);
		if (size_is_bad(longest))
			continue;
		close_choose(s, rule, &open.at[i], longest, NONE, NONE);
		propagate(s);
	}
}
