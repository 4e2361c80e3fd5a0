/* The engine: what is queued runs until nothing is.
 *
 * Every run of a constraint or edge either changes something that only grows (classes merge, values
 * appear, rows get axes up to ROW_LIMIT) or does nothing: the queues run dry. Relations that leave
 * several sizes open are then taken together (linear.c).
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/solver.h"

static void con_run(Solver *s, ConId id)
{
	Con *con = &s->cons.at[id];
	con->queued = false;
	if (con->done)
		return;
	switch (con->kind) {
	case CON_ROW_EQ: row_equal_run(s, id); break;
	case CON_ROW_LE: row_refine_run(s, id); break;
	default: relation_run(s, id);
	}
}

void propagate(Solver *s)
{
	uint32_t id;
	/* falls: the solution moves up an order without endless climbs: see inference.md */
	do {
		while (queue_take(s, &id)) {
			if (id & EDGE_BIT) {
				s->edges.at[id & ~EDGE_BIT].queued = false;
				edge_run(s, id & ~EDGE_BIT);
			} else {
				con_run(s, id);
			}
		}
	} while (linear_run(s)); /* falls: open cells */
}

void bounds_refresh(Solver *s)
{
	for (size_t i = 0; i < s->cells.n; i++)
		s->cells.at[i].bound_kind = BOUND_NONE;
	for (uint32_t i = 0; i < s->edges.n; i++)
		edge_wake(s, i);
	propagate(s);
}
