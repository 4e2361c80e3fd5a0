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
	const Ix *left = ix_add(gen->program, ix_size(gen->arena, part->hi),
				ix_times(gen->program, ix_iter(gen->arena, first), -1));
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
	loop->independent = tile->independent && first != tile->first_step;
	return block_of(gen, loop);
}

/* The outermost loop of the sum. */
static const Loop *blocked_sum(const Tile *tile) { return &tile->nest->loops[tile->nest->nresult]; }

static const Ix *block_end(const Tile *tile)
{
	Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix_iter(gen->arena, tile->first_step),
		      tile_const(tile, tile->blocks.steps));
}

Block tile_steps_before(const Tile *tile, uint32_t end, Block body)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	if (!tile->blocks.steps)
		return nest_wrap(nest, nest->nresult, end, nest->nresult, body);
	const Loop *sum = blocked_sum(tile);
	REQUIRE(end > nest->nresult);
	body = nest_wrap(nest, nest->nresult + 1, end, nest->nresult, body);
	const Ix *last =
		ix_binary(gen->program, IX_MIN, ix_size(gen->arena, sum->extent), block_end(tile));
	return gen_steps(gen, sum->var, ix_iter(gen->arena, tile->first_step), last, 1, body);
}

Block tile_steps(const Tile *tile, Block body)
{
	return tile_steps_before(tile, tile->nest->nloops, body);
}

Block tile_only_if(const Tile *tile, CondKind kind, const Ix *a, const Ix *b, Block body)
{
	Gen *gen = tile->nest->gen;
	return block_of(gen, stmt_if_one(gen->arena, (Cond){kind, a, b}, body));
}

Block tile_unless_first(const Tile *tile, Block body)
{
	const Ix *first = ix_iter(tile->nest->gen->arena, tile->first_step);
	return tile_only_if(tile, COND_LT, tile_const(tile, 0), first, body);
}

Block tile_if_last(const Tile *tile, bool last, Block body)
{
	const Ix *end = block_end(tile);
	const Ix *extent = ix_size(tile->nest->gen->arena, blocked_sum(tile)->extent);
	return last ? tile_only_if(tile, COND_LE, extent, end, body)
		    : tile_only_if(tile, COND_LT, end, extent, body);
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
