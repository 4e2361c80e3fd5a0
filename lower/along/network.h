/* Lines in order by a network of comparisons, and what else has items sorted by one (quicksort.c).
 *
 *   network.c        what network there is for a line, and the line before and behind it
 *   network_rows.c   comparisons of rows, and of rows in registers
 *   network_lanes.c  lanes that are merged
 */
#ifndef TSR_LOWER_ALONG_NETWORK_H
#define TSR_LOWER_ALONG_NETWORK_H

#include "lower/along/lines_emit.h"

/* Appends the loops that sort one line, of at least one element. */
void sort_by_network(const Lines *lines, const SortWay *way, Body *line);
/* The same of a line that is longer than a network (quicksort.c). */
void sort_by_parts(const Lines *lines, const SortWay *way, Body *line);

enum { MERGES_MOST = 8 };

typedef struct Network {
	const Lines *l;
	const SortWay *way;
	Dtype dtype;	 /* of what is compared */
	const Ix *count; /* of items, at least one, no more than rows hold */
	uint32_t merges; /* of rows, at most */
	uint32_t lane_merges;
	const Ix *rows;	   /* a power of two, from way->tile to way->rows */
	const Ix *first;   /* of the merges of rows that are made */
	LocalId low, tile; /* a vector; rows in registers */
	LocalId upper
		[MERGES_MOST]; /* vectors that are 1 in the upper half of each 2, 4, 8, ... lanes */
	IterVar lane, q;       /* of vectors, of registers */
} Network;

/* A network for items in the first half of way->items. */
Network network_new(const Lines *lines, const SortWay *way);
/* Appends how many rows that number of items fills. */
void network_begin(Network *network, const Ix *count, Body *into);
/* Sorts the items; then the one at a place, which is below the count. */
void network_sort(Network *network, Body *into);
const Value *network_ordered(const Network *network, const Ix *at);
/* A new number that begins with 0. */
LocalId network_new_count(const Network *network, const char *name, Body *into);
/* Stores the line's element to the items as it is compared, NaN as infinity; adds 1 to `special`, unless that is NULL,
 * where it is zero or NaN. */
void network_copy_element(const Network *network, const Ix *from, const Ix *to,
			  const LocalId *special, Body *into);
/* The result's element of what was compared. */
const Stmt *network_keep(const Network *network, const Ix *at, const Value *value);
/* Stores the zeros and NaN of the result in the order in which they stand, where there are any that it matters to. */
void network_restore(const Network *network, LocalId special, Body *into);

/* ---- between these files ---- */

/* As lines_const. */
const Ix *network_ix(const Network *network, int64_t value);
/* The lane of the vector at hand. */
const Ix *network_lane(const Network *network);
const Value *network_number(const Network *network, double value);
/* What no element stands behind, or in front of. */
const Value *network_end(const Network *network, bool last);

/* A new local, of zeros: a vector; the rows of a square or a tile. */
LocalId network_vector(const Network *network, Body *body, const char *name);
LocalId network_vectors(const Network *network, Body *body, const char *name, int64_t n);
/* The lane of a vector; of a row of vectors. */
const Value *network_at(const Network *network, LocalId vector, const Ix *at);
const Value *network_of_row(const Network *network, LocalId rows, const Ix *row, const Ix *lane);
void network_set(const Network *network, Body *body, const Value *element, const Value *value);
/* The lane of a row of the items. */
const Value *network_row(const Network *network, const Ix *row);
const Stmt *network_store(const Network *network, const Ix *row, const Value *value);

/* Append the body: for all lanes; for [0, trips) of registers. */
void network_each_lane(const Network *network, Body *into, const Body *body);
void network_each_register(const Network *network, Body *into, int64_t trips, const Body *body);

/* ---- network_rows.c ---- */

/* a < b ? a : b, or what is left over: instructions have just these. */
const Value *network_first(const Network *network, const Value *a, const Value *b, bool other);
/* Sorts the lanes of each way->tile neighbouring rows. */
void network_sort_tiles(const Network *network, Body *into);
/* Orders rows that are above/2, above/4, ... and `least` apart, powers of two. */
void network_order_strides(const Network *network, int64_t above, int64_t least, Body *into);
/* Orders the first rows of each run with the last of the next one. */
void network_order_runs(const Network *network, int64_t run, Body *into);

/* ---- network_lanes.c ---- */

/* Sets the vectors that say which lanes are upper ones. */
void network_set_uppers(Network *network, Body *into);
/* Merges runs of 2^log lanes, but for what is less than a lane apart. */
void network_merge_lanes(const Network *network, uint32_t log, Body *into);

#endif
