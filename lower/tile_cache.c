/* How far tiles go before they turn back: blocks of rows, of columns and of the sum, from the caches.
 *
 *   stream   few rows past an operand that is larger than the second cache: columns in blocks and the
 *            sum in blocks, so that it is read once, in pieces of its rows; what the tiles add to
 *            waits in the result, which stays in the second cache
 *   rows     rows whose operand does not stay in the second cache, past all columns
 *
 * A schedule may ask for others; what a tile cannot do is refused.
 */
#include "lower/tile.h"

#include "base/diag.h"

/* Bytes that stay in the second cache; rows of a block, the fewest that pay. */
enum { BLOCK_BYTES = 3 << 18, BLOCK_ROWS = 192, BLOCK_LEAST = 32 };
/* Bytes of an operand from which on it is streamed, rows that it is streamed past at most; columns and
 * steps of a block. */
enum { STREAM_BYTES = 1 << 20, STREAM_ROWS = 63, STREAM_COLS = 1024, STREAM_STEPS = 96 };

/* Bytes of the elements that some loops go through; -1: not known, or very many. */
static int64_t bytes_over(const Planner *p, uint32_t from, uint32_t to, const Loop *and)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = dtype_bytes(nest->value->dtype), extent;
	for (uint32_t i = from; i < to; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &extent) || extent > INT32_MAX / bytes)
			return -1;
		bytes *= extent;
	}
	extent = tile_extent(p, and, -1);
	return extent < 0 || extent > ((int64_t)1 << 40) / bytes ? -1 : bytes * extent;
}

/* Are row and column the innermost loops of the result, so that blocks of them are? */
static bool may_block(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	if (!tile->col || nest->guards.n > 0)
		return false;
	for (uint32_t i = 0; tile->pack >= 0 && i < nest->nresult; i++) {
		const Loop *loop = &nest->loops[i];
		if (loop != tile->row && loop != tile->col && !(tile->movers >> loop->iter & 1))
			return false;
	}
	return true;
}

/* May the sum so far wait in the result? */
static bool may_wait(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	BufferId to = nest->target.buffer;
	bool apart = nest->target.acc == OP_NONE &&
		     p->program->buffers.at[to].dtype == nest->value->dtype;
	for (size_t i = 0; i < p->sum.from.n; i++)
		apart = apart && p->sum.from.at[i] != to;
	for (size_t i = 0; i < p->store.from.n; i++)
		apart = apart && p->store.from.at[i] != to;
	return apart && p->tile->form == TILE_ACROSS;
}

/* ---- as asked ---- */

static void ask(Planner *p, const Loop *loop, const TileParts *parts, int64_t *block)
{
	const ScheduleClause *asked = p->blocks;
	int64_t step = parts ? parts->at[0].step : 1;
	for (uint32_t i = 0; loop && i < asked->items.n; i++) {
		const ScheduleItem *item = &asked->items.at[i];
		if (item->name == p->tile->nest->gen->iters.at[loop->var].name && item->n == 1 &&
		    item->numbers[0] > 0 && item->numbers[0] % step == 0)
			*block = item->numbers[0];
	}
}

static void as_asked(Planner *p)
{
	Tile *tile = p->tile;
	ask(p, tile->row, &tile->rows, &tile->blocks.rows);
	if (tile->form == TILE_ACROSS)
		ask(p, tile->col, &tile->cols, &tile->blocks.cols);
	if (may_wait(p))
		ask(p, &tile->nest->loops[tile->nest->nresult], NULL, &tile->blocks.steps);
}

/* ---- as it pays ---- */

static int64_t rounded(int64_t block, int64_t step)
{
	return block > step ? block / step * step : step;
}

static void choose_stream(Planner *p)
{
	Tile *tile = p->tile;
	tile->blocks.cols = rounded(STREAM_COLS, tile->cols.at[0].step);
	tile->blocks.steps = STREAM_STEPS;
}

static void choose_rows(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	int64_t rows, cols, bytes = bytes_over(p, nest->nresult, nest->nloops, NULL);
	if (!tile->row || bytes < 0 || !tile_is_const(p, tile->row->extent, &rows) ||
	    !tile_is_const(p, tile->col->extent, &cols))
		return;
	int64_t step = tile->rows.at[0].step, tiles = rows / step;
	int64_t most = BLOCK_BYTES / bytes < BLOCK_ROWS ? BLOCK_BYTES / bytes : BLOCK_ROWS;
	if (most < BLOCK_LEAST || rows <= BLOCK_BYTES / bytes ||
	    cols <= 2 * tile->cols.at[0].step)
		return;
	int64_t blocks = (tiles * step + most - 1) / most;
	tile->blocks.rows = (tiles + blocks - 1) / blocks * step;
}

bool tile_streams(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	if (asks_off(p->blocks) || tile->form != TILE_ACROSS || tile->pack >= 0 || !may_block(p) ||
	    !may_wait(p))
		return false;
	return tile_extent(p, tile->row, INT32_MAX) <= STREAM_ROWS &&
	       bytes_over(p, nest->nresult, nest->nloops, tile->col) > STREAM_BYTES;
}

void tile_choose_blocks(Planner *p)
{
	if (asks_off(p->blocks) || !may_block(p))
		return;
	if (asks_on(p->blocks) && p->blocks->items.n > 0)
		as_asked(p);
	else if (p->streams)
		choose_stream(p);
	else if (p->tile->form == TILE_ALONG)
		choose_rows(p);
}
