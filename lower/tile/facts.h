/* What decides on tiles (tile/plan.h): a nest as the planner sees it, its extents, strides and
 * loops, and the parts that extents have.
 */
#ifndef TSR_LOWER_TILE_FACTS_H
#define TSR_LOWER_TILE_FACTS_H

#include "lower/tile/values.h"

typedef struct Planner {
	Tile *tile;
	const Target *target;
	Program *program;
	SumFacts facts;	      /* of the nest as it is */
	Loads sum, store;     /* what is read in a step of the sum, and where it is finished */
	int64_t native;	      /* lanes of a vector of the machine */
	bool replays;	      /* all that is chosen is asked for: nothing is by cost */
	bool streams;	      /* the columns' operand goes by once, past few rows */
	bool transposes_rows; /* tiles of few columns may have lanes along the rows */
	uint64_t cost;	      /* of the cheapest sizes so far: cycles, and lines of panels */
	/* asked; NULL: nothing */
	ScheduleClause *tiles, *lanes, *packs, *prepacks, *blocks, *prefetches, *windows,
		*remainders, *traversals, *groups, *stores, *collapses, *matrices;
} Planner;

/* tile/parts.c: extents. */
bool tile_is_const(const Planner *p, Size size, int64_t *n);
int64_t tile_extent(const Planner *p, const Loop *loop, int64_t otherwise); /* 1 of no loop */
/* Steps of the sum, `most` or more where they are as many or an extent is not known. */
int64_t tile_known_steps(const Planner *p, int64_t most);
/* Is the extent a multiple of the step, whatever the dims are? Its tiles of that step and those of
 * what is left, which is added to the last whole one to `join`. */
bool tile_is_whole(const Planner *p, Size extent, int64_t step);
TileParts tile_parts_of(const Planner *p, const Loop *loop, int64_t step, bool join);
void tile_add_part(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step);
/* How many tiles; of a symbolic extent only the first part counts. */
int64_t tile_part_count(const Planner *p, const TileParts *parts, uint32_t i, const Loop *loop);
/* The loop's place in the nest, and in what is known of its sum. */
static inline uint32_t tile_place(const Planner *p, const Loop *loop)
{
	return (uint32_t)(loop - p->tile->nest->loops);
}

/* tile/edge.c: finds the loop that decides which rows read inside; the parts of rows around it,
 * none where there would be too many.
 * Requires: of tile_cut_parts, that tile_find_cut found constant bounds. */
void tile_find_cut(Planner *p);
TileParts tile_cut_parts(const Planner *p, int64_t extent, int64_t step);
/* Where padded reads that rows move stay inside; false: nowhere, or a guard is of another form. */
bool tile_find_inside(const Planner *p, const Loop *row, TilePart *inside);
/* Of rows whose extent is not known, so that this is found at run time: tiles of `step` and ever smaller ones there,
 * single rows outside. */
TileParts tile_inside_parts(const Planner *p, int64_t step);
int64_t tile_smaller_step(int64_t step); /* a divisor; 0 after 1 */

/* tile/loops.c: the operands that a loop leaves where they are, as a set of bits. */
uint64_t tile_stays(const Planner *p, const Loop *loop);
enum { TILE_ROWS, TILE_COLUMNS }; /* items of `tile` in a schedule */
/* Is the loop what a schedule asks for, where it asks? */
bool tile_is_asked(const Planner *p, const ScheduleClause *asked, uint32_t item, const Loop *loop);
/* How far a loop moves an index: 0 and 1; -1: any other. */
int tile_stride(const Planner *p, const Ix *ix, const Loop *loop);
/* Does the loop move all that is read where the sum is finished by one element or not at all? */
bool tile_moves_by_one(const Planner *p, const Loop *loop);

/* tile/strided.c: how far a loop moves an index, where its places are in few lines; -1: they are
 * not. May lanes along the loop store a tile's elements, contiguous or strided? Eighths
 * of cycles a step that rows take more where they are strided. */
int64_t tile_near_stride(const Planner *p, const Ix *at, const Loop *loop);
bool tile_stores_along(const Planner *p, const Loop *loop);
uint64_t tile_strided_cycles(const Planner *p, int64_t rows);
/* Eighths of cycles of transposing and storing a tile's sums. */
uint64_t tile_transposed_cycles(const Planner *p, int64_t rows, int64_t cols);
/* Elements between two steps of the innermost sum of an operand that may be read beyond its
 * columns; 0: it may not. Requires: one of the loads of the sum. */
int64_t tile_step_strided(const Planner *p, int load);
/* Is the operand asked to be read beyond its columns, by its name or that of what is computed as it is read?
 * Requires: one of the loads of the sum. */
bool tile_asks_over_read(const Planner *p, int load);

#endif
