/* What tiles fill before they read it: panels of an operand, sums of rows. tile/copies.c decides, once the tiles are
 * chosen; tile/pack.h is the code.
 */
#ifndef TSR_LOWER_TILE_COPIES_H
#define TSR_LOWER_TILE_COPIES_H

#include "lower/tile/values.h"

/* Decides the order of the loops, the buffers of copies and sums, and what is prefetched. Requires:
 * what else is chosen is decided, and the nest is no look. */
void tile_plan_copies(Tile *tile);
/* prepack_declare.c: finds the copy in the state, or declares it: is it new, so that a kernel is to fill it? */
bool prepack_declare(Tile *tile, const Value *load, Dtype dtype, Size elements);
/* prepack_const.c: the panels of a constant. `to`: zeros. */
void prepack_constant(const Tile *tile, const PackedParam *packed, const ProgramConst *from,
		      void *to);

/* prepack.c: is it a parameter or a constant that contractions as a rule read from panels that are
 * made before the call? May one of some elements be? */
bool prepack_suits(const Lower *lower, BufferId buffer);
bool prepack_suits_size(const Lower *lower, Size elements);

/* The load of the operand that is packed, as it is copied; steps of the sum and columns
 * of the copy, all loops counted through and the last columns filled up. */
const Value *tile_packed_load(const Tile *tile);
/* ... without the cast around it. */
static inline const Value *tile_packed_operand(const Tile *tile)
{
	const Value *packed = tile_packed_load(tile);
	return packed->nargs ? packed->args[0] : packed;
}
/* Is the copy of one block of the sum? */
static inline bool tile_packs_steps(const Tile *tile)
{
	return tile->by_blocks && tile->blocks.steps > 0;
}
Size tile_packed_steps(const Tile *tile);
Size tile_packed_columns(const Tile *tile);
/* Elements of the copy: of all panels, or of those of a block of columns. */
Size tile_packed_elements(const Tile *tile);
/* Are the loop's iterations steps of a panel, as they are of the sum that reads the result (compute_at.c)? */
bool tile_has_steps_of(const Tile *tile, const Loop *loop);
/* Has the copy other panels for each iteration of the loop? */
bool tile_moves_panels(const Tile *tile, const Loop *loop);
/* Are lanes neighbours in everything that is read, or the same? */
bool tile_reads_by_lanes(const Tile *tile, const Value *value, IterVar lane);
/* tile/groups.c: steps of a loop of the sum in the copy; an element as it stands there; what is added to
 * bytes that are copied (0: they keep their type); the load of the rows. */
Size tile_group_extent(const Tile *tile, const Loop *loop);
const Value *tile_group_copied(const Tile *tile, const Value *element);
int64_t tile_group_moved(const Tile *tile);
const Value *tile_group_rows(const Tile *tile);
/* tile/within.c: is the part in blocks of rows? */
bool tile_rows_blocked(const Tile *tile, const TilePart *part);

#endif
