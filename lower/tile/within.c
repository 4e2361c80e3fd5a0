/* Where tiles and blocks of tiles begin and end: loops over them, and conditions. */
#include "base/diag.h"
#include "lower/tile/build.h"
#include "lower/tile/copies.h"

bool tile_rows_blocked(const Tile *tile, const TilePart *part)
{
	return tile->blocks.rows && part == &tile->rows.at[0] && !part->single;
}

bool tile_cols_blocked(const Tile *tile, const TilePart *part)
{
	return tile->blocks.cols && part == &tile->cols.at[0] && !part->single;
}

const Ix *tile_first(const Tile *tile, const Loop *loop, const TilePart *part)
{
	Gen *gen = tile->nest->gen;
	if (part->single)
		return ix_size(gen->arena, part->lo);
	const Ix *first = ix_iter(gen->arena, loop->var);
	if (tile_rows_blocked(tile, part))
		return ix_add(gen->program, ix_iter(gen->arena, tile->first_row), first);
	if (tile_cols_blocked(tile, part))
		return ix_add(gen->program, ix_iter(gen->arena, tile->first_col), first);
	return first;
}

Block tile_part_loop(const Tile *tile, const Loop *loop, const TilePart *part, Block body)
{
	Gen *gen = tile->nest->gen;
	if (!loop || part->single)
		return body;
	const Ix *lo = part->from ? part->from : ix_size(gen->arena, part->lo);
	const Ix *hi = part->to ? part->to : ix_size(gen->arena, part->hi);
	Stmt *stmt =
		stmt_step(gen->arena, stmt_for(gen->arena, loop->var, lo, hi, body), part->step);
	stmt->independent = tile->nest->independent;
	return block_of(gen, stmt);
}

/* for var in 0..min(block, hi - first) step the part's */
Block tile_within(const Tile *tile, const Loop *loop, const TilePart *part, IterVar first,
		  int64_t block, Block body)
{
	Gen *gen = tile->nest->gen;
	const Ix *left =
		ix_minus(gen->program, ix_size(gen->arena, part->hi), ix_iter(gen->arena, first));
	const Ix *end = ix_binary(gen->program, IX_MIN, tile_const(tile, block), left);
	return gen_steps(gen, loop->var, tile_const(tile, 0), end, part->step, body);
}

const Ix *tile_blocks_end(const Tile *tile, const Loop *loop, const TileParts *parts)
{
	Gen *gen = tile->nest->gen;
	int64_t known;
	bool whole = size_is_const(gen->program->sizes, parts->at[0].hi, &known);
	return ix_size(gen->arena, whole ? parts->at[0].hi : loop->extent);
}

Block tile_over_blocks(const Tile *tile, IterVar first, const Ix *end, int64_t block, Block body)
{
	Gen *gen = tile->nest->gen;
	Stmt *loop = stmt_step(gen->arena,
			       stmt_for(gen->arena, first, tile_const(tile, 0), end, body), block);
	bool sum = first == tile->first_step || (tile->blocks.within && first == tile->first_within);
	loop->independent = tile->independent && !sum;
	return block_of(gen, loop);
}

/* The loops of the sum that go in blocks: the outermost one, and the next one where a step of that is too much. */
enum { SUM_OUTER, SUM_WITHIN };

static const Loop *blocked_sum(const Tile *tile, int which)
{
	return &tile->nest->loops[tile->nest->nresult + (uint32_t)which];
}

static const Ix *sum_extent(const Tile *tile, int which)
{
	return ix_size(tile->nest->gen->arena, blocked_sum(tile, which)->extent);
}

/* The loop of the sum over the present block. */
static Block block_steps(const Tile *tile, int which, IterVar first, int64_t block, Block body)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix *lo = ix_iter(gen->arena, first);
	const Ix *hi = ix_binary(gen->program, IX_MIN, sum_extent(tile, which),
				 ix_add(gen->program, lo, tile_const(tile, block)));
	return nest_wrap_range(nest, nest->nresult + (uint32_t)which, nest->nresult, lo, hi, body);
}

Block tile_steps_before(const Tile *tile, uint32_t end, Block body)
{
	const Nest *nest = tile->nest;
	const TileBlocks *blocks = &tile->blocks;
	uint32_t first = nest->nresult + (blocks->steps > 0) + (blocks->within > 0);
	REQUIRE(end >= first);
	body = nest_wrap(nest, first, end, nest->nresult, body);
	if (blocks->within)
		body = block_steps(tile, SUM_WITHIN, tile->first_within, blocks->within, body);
	if (blocks->steps)
		body = block_steps(tile, SUM_OUTER, tile->first_step, blocks->steps, body);
	return body;
}

Block tile_steps(const Tile *tile, Block body)
{
	return tile_steps_before(tile, tile->nest->nloops, body);
}

Block tile_over_steps(const Tile *tile, Block body)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	if (blocks->within)
		body = tile_over_blocks(tile, tile->first_within, sum_extent(tile, SUM_WITHIN),
					blocks->within, body);
	const Ix *end = ix_binary(gen->program, IX_MAX, tile_const(tile, 1), sum_extent(tile, SUM_OUTER));
	return tile_over_blocks(tile, tile->first_step, end, blocks->steps, body);
}

/* Steps of the sum before the present block, in steps of the innermost loop that goes in blocks. */
static const Ix *steps_done(const Tile *tile)
{
	Gen *gen = tile->nest->gen;
	const Ix *first = ix_iter(gen->arena, tile->first_step);
	if (!tile->blocks.within)
		return first;
	first = ix_mul(gen->program, first, sum_extent(tile, SUM_WITHIN));
	return ix_add(gen->program, first, ix_iter(gen->arena, tile->first_within));
}

Block tile_only_if(const Tile *tile, CondKind kind, const Ix *a, const Ix *b, Block body)
{
	Gen *gen = tile->nest->gen;
	return block_of(gen, stmt_if_one(gen->arena, (Cond){kind, a, b}, body));
}

Block tile_unless_first(const Tile *tile, Block body)
{
	return tile_only_if(tile, COND_LT, tile_const(tile, 0), steps_done(tile), body);
}

Block tile_if_last(const Tile *tile, bool last, Block body)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	int64_t block = blocks->within ? blocks->within : blocks->steps;
	const Ix *end = ix_add(gen->program, steps_done(tile), tile_const(tile, block));
	const Ix *all = sum_extent(tile, SUM_OUTER);
	if (blocks->within)
		all = ix_mul(gen->program, all, sum_extent(tile, SUM_WITHIN));
	return last ? tile_only_if(tile, COND_LE, all, end, body)
		    : tile_only_if(tile, COND_LT, end, all, body);
}

Block tile_unless_masked(const Tile *tile, Block steps)
{
	Gen *gen = tile->nest->gen;
	if (!tile->finish.masked)
		return steps;
	Cond *conds = ARENA_ARRAY(gen->arena, Cond, TILE_MASKS);
	uint32_t n = tile_masks(tile, conds);
	return n ? block_of(gen, stmt_if(gen->arena, conds, n, steps)) : steps;
}
