/* What the code of tiles is made with, decided once the tiles are: the order of their loops, the
 * buffers that are filled before them, and how.
 *
 *   packed_b   the operand's panels (tile/pack.c): a temporary of the call, or of a block of
 *              columns; of a parameter in the state, of a constant among the constants (prepack_declare.c)
 *   sums_a     what rows of bytes begin with (tile/groups.c)
 *
 * An operand that another kernel makes may be computed where it is copied (inline_producer.c).
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/copies.h"
#include "lower/tile/plan.h"

/* ---- the order of loops ---- */

/* Where a loop stands: what moves the packed operand, columns, what does not or shares blocks of the sum, rows, sums, and last
 * the one that lanes run along. Without packing all but rows stand before the columns. */
static int rank_of(const Tile *tile, const Loop *loop)
{
	if (loop == tile->traversal.loop)
		return 1;
	if (loop == tile->col)
		return 2;
	if (loop == tile->row)
		return 4;
	if (loop->reduced)
		return loop == tile->along ? 6 : 5;
	bool within = tile->pack >= 0 ? !(tile->movers >> loop->iter & 1)
				      : tile->sharing && tile->sharing >> loop->iter & 1;
	return within ? 3 : 0;
}

/* The same loop among those that are sorted; NULL of none. */
static Loop *moved_to(const Nest *nest, Loop *sorted, const Loop *loop)
{
	for (uint32_t i = 0; loop && i < nest->nloops; i++)
		if (sorted[i].iter == loop->iter)
			return &sorted[i];
	return NULL;
}

/* Sorts the loops by rank, otherwise as they are. */
static void order_loops(Tile *tile)
{
	Nest *nest = tile->nest;
	Loop *sorted = ARENA_ARRAY(nest->gen->arena, Loop, nest->nloops + 1);
	uint32_t n = 0;
	tile->outer = 0;
	for (int rank = 0; rank <= 6; rank++)
		for (uint32_t i = 0; i < nest->nloops; i++) {
			if (rank_of(tile, &nest->loops[i]) != rank)
				continue;
			tile->outer += rank == 0;
			sorted[n++] = nest->loops[i];
		}
	tile->row = moved_to(nest, sorted, tile->row);
	tile->col = moved_to(nest, sorted, tile->col);
	tile->along = moved_to(nest, sorted, tile->along);
	tile->cut = moved_to(nest, sorted, tile->cut);
	tile->window = moved_to(nest, sorted, tile->window);
	tile->traversal.loop = moved_to(nest, sorted, tile->traversal.loop);
	nest->loops = sorted;
}

/* ---- the packed operand ---- */

const Value *tile_packed_load(const Tile *tile)
{
	const Value *load = tile_load(tile->nest->value, (uint32_t)tile->pack);
	bool narrow = tile->prepacked || tile->group > 1;
	return narrow && load->nargs ? load->args[0] : load;
}

bool tile_has_steps_of(const Tile *tile, const Loop *loop)
{
	const Nest *nest = tile->nest;
	return tile->prepacked && loop != tile->col && loop != tile->row && nest->merged.n == 0 &&
	       (nest->reader_steps & tile->movers) >> loop->iter & 1;
}

bool tile_moves_panels(const Tile *tile, const Loop *loop)
{
	return !tile->by_blocks && loop != tile->col && (tile->movers >> loop->iter & 1) &&
	       !tile_has_steps_of(tile, loop);
}

Size tile_packed_steps(const Tile *tile)
{
	const Nest *nest = tile->nest;
	Sizes *sizes = nest->gen->program->sizes;
	Size steps = size_const(sizes, 1);
	bool blocked = tile_packs_steps(tile);
	if (blocked)
		steps = size_const(sizes, tile->blocks.steps);
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (tile_has_steps_of(tile, &nest->loops[i]))
			steps = size_mul(sizes, steps, nest->loops[i].extent);
	for (uint32_t i = nest->nresult + blocked; i < nest->nloops; i++)
		steps = size_mul(sizes, steps, tile_group_extent(tile, &nest->loops[i]));
	return steps;
}

Size tile_packed_columns(const Tile *tile)
{
	Sizes *sizes = tile->nest->gen->program->sizes;
	const TilePart *last = &tile->cols.at[tile->cols.n - 1];
	int64_t more = tile_width(tile, last->step) - last->step, hi;
	if (!tile->by_blocks)
		return size_plus(sizes, last->hi, more);
	REQUIRE(size_is_const(sizes, last->hi, &hi));
	int64_t columns = hi - tile_last_block(tile) + more;
	return size_const(sizes, columns > tile->blocks.cols ? columns : tile->blocks.cols);
}

Size tile_packed_elements(const Tile *tile)
{
	const Nest *nest = tile->nest;
	Sizes *sizes = nest->gen->program->sizes;
	Size elements = size_mul(sizes, tile_packed_columns(tile), tile_packed_steps(tile));
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (tile_moves_panels(tile, &nest->loops[i]))
			elements = size_mul(sizes, elements, nest->loops[i].extent);
	return elements;
}

bool tile_reads_by_lanes(const Tile *tile, const Value *value, IterVar lane)
{
	uint32_t any = 0;
	return value_goes_on(tile->nest->gen->program, value, lane, &any);
}

/* Is each element of the operand read several times to be copied? */
static bool copies_again(const Tile *tile, BufferId operand)
{
	bool blocks =
		tile->by_blocks && (tile->group > 1 || tile_rows_blocked(tile, &tile->rows.at[0]));
	return blocks || tile_reads_again(tile, operand, tile->movers);
}

/* Is what computes the operand read in vectors along the panel's columns or along the sum, where a
 * kernel of its own would be as fast? */
static bool is_fast(Tile *tile, const Value *value)
{
	if (tile->group > 1 || tile->prepacked)
		return true;
	const Loop *lanes = tile->pack_along ? tile_last_sum(tile->nest) : tile->col;
	return tile_reads_by_lanes(tile, value, lanes->var);
}

/* Is the operand copied, or what computes it where it is copied? */
static void choose_inlined(Tile *tile)
{
	const Value *load = tile_packed_operand(tile);
	const Value *value =
		nest_inlined_producer(tile->nest, load, copies_again(tile, load->buffer));
	tile->inlined = value != load && is_fast(tile, value);
	if (tile->inlined)
		nest_note_inlined_producer(tile->nest, load, value);
	if (tile->inlined && !tile->prepacked && tile->prefetched == tile->pack)
		tile->prefetched = -1; /* no buffer holds it */
}

/* Finds the copy, or declares it; is it this kernel's to fill? */
static bool declare_packed(Tile *tile)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Size elements = tile_packed_elements(tile);
	const Value *load = tile_packed_operand(tile);
	Dtype dtype = tile->group > 1 ? tile_group_copied(tile, load)->dtype
				      : tile_packed_load(tile)->dtype;
	if (tile->word > 1)
		dtype = gen->program->buffers.at[load->buffer].dtype;
	if (tile->prepacked)
		return prepack_declare(tile, load, dtype, elements);
	tile->packed = gen_temporary(gen, "packed", gen->program->buffers.at[load->buffer].name,
				     (Buffer){.dtype = dtype,
					      .elements = elements,
					      .scratch = tile->by_blocks,
					      .panels = true});
	return true;
}

/* ---- sums of rows ---- */

static void declare_sums(Tile *tile)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	if (tile->form != TILE_ACROSS || tile->group == 1 || tile_group_moved(tile) == 0)
		return;
	Size elements = size_const(gen->program->sizes, 1);
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (&nest->loops[i] != tile->col)
			elements = size_mul(gen->program->sizes, elements, nest->loops[i].extent);
	BufferId rows = tile_group_rows(tile)->buffer;
	tile->sums = gen_temporary(gen, "sums", gen->program->buffers.at[rows].name,
				   (Buffer){.dtype = DTYPE_I32, .elements = elements});
}

void tile_plan_copies(Tile *tile)
{
	order_loops(tile);
	tile->fills = tile->pack >= 0 && declare_packed(tile);
	if (tile->fills)
		choose_inlined(tile);
	declare_sums(tile);
}
