/* Lanes along rows of a few elements: which columns the loop goes through (row_lanes.c), and their vectors
 * (row_lanes_emit.c); columns that loops of lanes load (row_loads.c). */
#ifndef TSR_LOOPS_VECTOR_ROW_LANES_H
#define TSR_LOOPS_VECTOR_ROW_LANES_H

#include "loops/vector/vector.h"

enum { COLUMNS_MOST = 8, GROUPS_MOST = 8, NO_LOCAL = -1 };

/* Rows of one buffer that the loop goes through. */
typedef struct Columns {
	BufferId buffer;
	const Ix *first;	 /* the first column's index, in terms of the loop's iterator */
	int64_t stride;		 /* elements of a row */
	uint32_t loaded, stored; /* bits of columns */
	Dtype dtype;		 /* of what is computed from, or stored */
	int64_t local;		 /* NO_LOCAL: not yet */
} Columns;

typedef struct RowLanes {
	const Vectoring *t;
	const Stmt *loop;
	bool *own; /* by LocalId: declared in the body */
	Columns groups[GROUPS_MOST];
	uint32_t n;
	bool pays; /* a function, or columns that are stored */
} RowLanes;

/* Why the loop stays as it is, and the columns where it does not; NULL: it does not. */
const char *row_lanes_find(RowLanes *r);
/* How far the index moves with the loop; -1: that is not known. */
int64_t row_lanes_stride(const RowLanes *r, const Ix *ix);
/* The columns that the index is one of, where it may be another's neighbour; how far behind the first. */
Columns *row_lanes_columns(RowLanes *r, BufferId buffer, const Ix *ix, int64_t stride, int64_t *at);
/* Notes an access of a column; false: there are too many, or the columns are no row. */
bool row_lanes_note(RowLanes *r, BufferId buffer, const Ix *ix, int64_t stride, Dtype dtype,
		    bool stored);
/* Are the first and the last column loaded, so that all between the loop's first and last one may be? */
bool row_lanes_ends(const Columns *c);
/* An element, or a cast of one, that the lanes load; NULL: it is none. */
const Value *row_lanes_load(const Value *value);
/* What lanes compute of what is stored: itself, or what is cast, element by element, behind them. */
const Value *row_lanes_computed(const Stmt *stmt);
/* Is it stored as it is computed, lane by lane? */
bool row_lanes_direct(const RowLanes *r, const Stmt *store);

#endif
