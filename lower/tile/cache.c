/* How far tiles go before they turn back: blocks of rows, of columns and of the sum, from the
 * caches.
 *
 *   stream   few rows past an operand that is larger than the second cache: columns in blocks and the
 *            sum in blocks, so that it is read once, in pieces of its rows; what the tiles add to
 *            waits in the result, which stays in the second cache
 *   sum      several tiles past operands that do not stay in the second cache: as many steps of the first loop of the sum, or
 *            of the one inside it, as do, around the loops of the result that read these again
 *   rows     rows whose operand does not stay in the second cache, past all columns
 *   panels   columns of an operand that is packed, as many as stay in the second cache, each block packed
 *            where its tiles begin (tile/block.c)
 *
 * A schedule may ask for others; what a tile cannot do is refused.
 */
#include "lower/tile/plan.h"

#include "base/diag.h"
#include "base/integer.h"
#include "loops/linear.h"
#include "loops/walk.h"

/* Tiles that go past what they read, for which blocks of the sum pay. */
enum { SUM_TILES = 3 };

/* Bytes of the elements that some loops go through; -1: not known, or very many. */
static int64_t bytes_over(const Planner *p, uint32_t from, uint32_t to, const Loop *and)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = dtype_bytes(nest->value->dtype) / p->tile->group, extent;
	for (uint32_t i = from; i < to; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &extent) || extent > INT32_MAX / bytes)
			return -1;
		bytes *= extent;
	}
	extent = tile_extent(p, and, -1);
	return extent < 0 || extent > ((int64_t)1 << 40) / bytes ? -1 : bytes * extent;
}

bool tile_stores_once(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	BufferId to = nest->target.buffer;
	bool once = !nest->scattered;
	for (size_t i = 0; i < p->sum.from.n; i++)
		once = once && p->sum.from.at[i] != to;
	for (size_t i = 0; i < p->store.from.n; i++)
		once = once && p->store.from.at[i] != to;
	return once;
}

/* Can the operand be packed a block of columns at a time? */
static bool may_pack_blocks(const Planner *p, const TileParts *cols)
{
	const Tile *tile = p->tile;
	int64_t extent;
	return tile->pack >= 0 && !tile->prepacked && tile->nest->guards.n == 0 &&
	       tile_sets(tile) && !cols->at[0].single &&
	       tile_is_const(p, tile->col->extent, &extent);
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
	return p->program->buffers.at[nest->target.buffer].dtype == nest->value->dtype &&
	       tile_sets(p->tile) && p->tile->form == TILE_ACROSS &&
	       tile_lane_steps(p->tile) == 1 && !p->tile->stores_rows && !p->tile->collapse.round;
}

/* Are blocks of the first loop of the sum alone possible: is it as long for all steps of the others? */
static bool may_block_steps(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	return p->tile->col && p->tile->pack < 0 && may_wait(p) && nest->proj->niters <= 64 &&
	       !nest_is_guarded(nest, &nest->loops[nest->nresult]);
}

/* Loops of the result around rows and columns whose steps read again what others did: they go inside of blocks of the
 * sum alone. */
static uint64_t loops_that_share(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	uint64_t loops = 0;
	for (uint32_t i = 0; i < nest->nresult; i++) {
		const Loop *loop = &nest->loops[i];
		if (loop != p->tile->row && loop != p->tile->col && tile_stays(p, loop))
			loops |= (uint64_t)1 << loop->iter;
	}
	return loops;
}

/* ---- as asked ---- */

static void ask(Planner *p, const Loop *loop, const TileParts *parts, int64_t *block)
{
	const ScheduleClause *asked = p->blocks;
	int64_t step = parts ? parts->at[0].step : 1;
	for (uint32_t i = 0; loop && i < asked->items.n; i++) {
		const ScheduleItem *item = &asked->items.at[i];
		if (item->name == p->tile->nest->gen->frame.iters.at[loop->var].name &&
		    item->n == 1 && item->numbers[0] > 0 && item->numbers[0] % step == 0)
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
	tile->by_blocks = tile->blocks.cols && may_pack_blocks(p, &tile->cols) &&
			  (!tile->blocks.steps || !tile->pack_along);
	if (!tile->by_blocks && !may_block(p))
		tile->blocks = (TileBlocks){.steps = may_block_steps(p) ? tile->blocks.steps : 0};
	if (tile->blocks.steps && !tile->blocks.rows && !tile->blocks.cols && may_block_steps(p)) {
		const Nest *nest = tile->nest;
		const Loop *within = &nest->loops[nest->nresult + 1];
		tile->sharing = loops_that_share(p);
		if (tile->blocks.steps == 1 && nest->nloops > nest->nresult + 2 && tile->cut != within)
			ask(p, within, NULL, &tile->blocks.within);
		if (tile->blocks.within >= tile_extent(p, within, 0))
			tile->blocks.within = 0;
	}
}

/* ---- as it pays ---- */

static int64_t rounded(int64_t block, int64_t step)
{
	return block > step ? block / step * step : step;
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
	int64_t most = p->target->l2_panels / bytes < p->target->block_rows
			       ? p->target->l2_panels / bytes
			       : p->target->block_rows;
	if (most == 0 || rows <= p->target->l2_panels / bytes || cols <= 2 * tile->cols.at[0].step)
		return;
	int64_t blocks = (tiles * step + most - 1) / most;
	tile->blocks.rows = (tiles + blocks - 1) / blocks * step;
}

/* Columns beyond one half of all that the busier of two threads has, which take blocks in turn. */
static int64_t left_over(int64_t whole, int64_t all, int64_t block)
{
	int64_t busy[2] = {0}, last = (whole - 1) / block * block;
	for (int64_t first = 0; first < whole; first += block)
		busy[busy[1] < busy[0]] += first == last ? all - first : block;
	return (busy[0] > busy[1] ? busy[0] : busy[1]) - (all + 1) / 2;
}

/* Rows of a block, the same of all blocks where they are known; 0: all. */
static int64_t panel_rows(const Planner *p)
{
	const Tile *tile = p->tile;
	int64_t step = tile->rows.at[0].step, rows, block = p->target->panel_rows;
	if (!tile->row)
		return 0;
	if (tile_is_const(p, tile->row->extent, &rows)) {
		int64_t blocks = rows / p->target->panel_rows;
		if (blocks < 2)
			return 0;
		block = (rows + blocks - 1) / blocks;
	}
	return (block + step - 1) / step * step;
}

/* What blocks of columns cost, in columns: what one of two threads waits, and what each block does
 * before its tiles. */
static int64_t block_cost(const Planner *p, const TileParts *cols, int64_t block)
{
	int64_t all = tile_extent(p, p->tile->col, 0), whole;
	REQUIRE(tile_is_const(p, cols->at[0].hi, &whole));
	return left_over(whole, all, block) +
	       all * cols->at[0].step / (p->target->panel_block * block);
}

/* Columns of a block of least cost, `most` at most. */
static int64_t cheapest_block(const Planner *p, const TileParts *cols, int64_t most)
{
	int64_t step = cols->at[0].step, best = INT64_MAX, found = 0;
	for (int64_t block = rounded(most, step); block > 0; block -= step) {
		int64_t cost = block_cost(p, cols, block);
		if (cost >= best)
			continue;
		best = cost;
		found = block;
	}
	return found;
}

/* Steps of blocks that are alike, `most` at most. */
static int64_t alike(int64_t all, int64_t most)
{
	return divide_up(all, divide_up(all, most > 1 ? most : 1));
}

/* Steps of a block of panels past few rows, which leave a panel in the first cache, and are copied row by row while
 * the next ones are fetched; 0: rows are many, or the sum is one block. */
static int64_t panel_steps(const Planner *p, int64_t cols)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = bytes_over(p, nest->nresult + 1, nest->nloops, NULL), all;
	if (p->tile->pack_along || bytes <= 0 || !may_wait(p) ||
	    !tile_is_const(p, nest->loops[nest->nresult].extent, &all) ||
	    tile_extent(p, p->tile->row, TILE_ASSUMED) > p->target->stream_rows)
		return 0;
	return alike(all, p->target->l1_bytes / (bytes * cols));
}

/* Columns of a block of panels; 0: the copy stays in the second cache as it is. */
static int64_t panel_columns(const Planner *p, const TileParts *cols, int64_t steps)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = bytes_over(p, nest->nresult, nest->nloops, NULL);
	bool few = tile_extent(p, p->tile->row, p->target->panel_few) < p->target->panel_few;
	int64_t most = few ? p->target->l2_soon : p->target->l2_panels;
	if (bytes < 0 || bytes * tile_extent(p, p->tile->col, 0) <= most)
		return 0;
	if (steps) {
		bytes = bytes_over(p, nest->nresult + 1, nest->nloops, NULL) * steps;
		most = p->target->l2_soon;
	}
	return cheapest_block(p, cols, most / bytes);
}

int64_t tile_block_cost(const Planner *p, const TileParts *cols)
{
	bool blocks = !p->replays && may_pack_blocks(p, cols);
	int64_t block = blocks ? panel_columns(p, cols, panel_steps(p, cols->at[0].step)) : 0;
	return block ? block_cost(p, cols, block) : 0;
}

/* Lines of a step of a tile's columns: one more where steps are no whole lines apart. */
static int64_t step_lines(const Planner *p, int64_t cols)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = dtype_bytes(nest->value->dtype), line = p->target->line_bytes, step,
		more = 0;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		const Ix *at = p->sum.at.at[i];
		Size by = ix_stride(p->program, at, nest->loops[nest->nresult].var);
		if (ix_uses(at, p->tile->col->var) &&
		    (size_is_bad(by) || !tile_is_const(p, by, &step) || step * bytes % line != 0))
			more = line - bytes;
	}
	return divide_up(cols * bytes + more, line);
}

bool tile_steps_meet(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes = dtype_bytes(nest->value->dtype), step;
	bool meet = false;
	for (size_t i = 0; i < p->sum.at.n && nest->nloops > nest->nresult; i++) {
		const Ix *at = p->sum.at.at[i];
		Size by = ix_stride(p->program, at, nest->loops[nest->nloops - 1].var);
		meet |= ix_uses(at, p->tile->col->var) && !size_is_bad(by) &&
			tile_is_const(p, by, &step) && step > 0 &&
			step * bytes % p->target->l1_way_bytes == 0;
	}
	return meet;
}

/* Steps of a block of the sum past rows that go by in tiles of `height`: by the rows, since the more
 * there are, the longer a block's columns serve, and the more sums are stored behind it; and as many
 * as leave the columns of a tile in the first cache, where further tiles of rows read them. A single
 * row reads few rows of the operand side by side, as memory delivers them. */
static int64_t stream_steps(const Planner *p, int64_t height, int64_t cols)
{
	const Target *target = p->target;
	const Nest *nest = p->tile->nest;
	int64_t rows = tile_extent(p, p->tile->row, TILE_ASSUMED),
		most = target->stream_steps_row * rows,
		cached = target->l1_bytes / (target->line_bytes * step_lines(p, cols));
	if (rows == 1)
		return target->stream_steps_single;
	for (uint32_t i = nest->nresult + 1; i < nest->nloops; i++)
		cached /= tile_extent(p, &nest->loops[i], 1);
	if (rows > height && cached < most && !tile_steps_meet(p))
		most = cached;
	return alike(tile_extent(p, &nest->loops[nest->nresult], most), most);
}

int64_t tile_sum_blocks(const Planner *p, const TilePart *row, const TilePart *col)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = p->streams ? stream_steps(p, row->step, col->step)
			: p->tile->pack >= 0 && !p->tile->prepacked && !p->replays
				? panel_steps(p, col->step)
				: 0;
	return steps ? divide_up(tile_extent(p, &nest->loops[nest->nresult], steps), steps) : 1;
}

/* Rows of a symbolic extent go in blocks too. */
static void choose_stream(Planner *p)
{
	TileBlocks *blocks = &p->tile->blocks;
	int64_t rows = tile_extent(p, p->tile->row, TILE_ASSUMED),
		elements = p->target->stream_elements / rows;
	if (tile_extent(p, p->tile->row, 0) == 0)
		blocks->rows = rounded(p->target->stream_rows, p->tile->rows.at[0].step);
	blocks->cols = cheapest_block(p, &p->tile->cols,
				      elements < p->target->stream_cols ? elements
									: p->target->stream_cols);
	blocks->steps = stream_steps(p, p->tile->rows.at[0].step, p->tile->cols.at[0].step);
}

/* Elements of an operand that tiles of all rows and columns read in a step of the loops of the sum before `from`, those of
 * windows once; 0: not known, or very many. */
static int64_t elements_of_step(const Planner *p, size_t load, uint64_t sharing, uint32_t from)
{
	const Nest *nest = p->tile->nest;
	const Ix *at = p->sum.at.at[load];
	int64_t each = 1, reach = 1, step;
	for (uint32_t k = 0; k < nest->nloops; k++) {
		const Loop *loop = &nest->loops[k];
		bool inside = k >= from || loop == p->tile->row || loop == p->tile->col ||
			      sharing >> loop->iter & 1;
		Size by = ix_stride(p->program, at, loop->var);
		int64_t n = tile_extent(p, loop, 0);
		if (!inside || !ix_uses(at, loop->var))
			continue;
		if (n > INT32_MAX || each > INT32_MAX || size_is_bad(by) ||
		    !tile_is_const(p, by, &step))
			return 0;
		each *= n;
		reach += (step < 0 ? -step : step) * (n - 1);
	}
	return each < reach ? each : reach;
}

/* Bytes that all of these are; 0: not known. */
static int64_t bytes_of_step(const Planner *p, uint64_t sharing, uint32_t from)
{
	int64_t all = 0;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		int64_t n = elements_of_step(p, i, sharing, from);
		if (n <= 0 || n > INT32_MAX)
			return 0;
		all += n * dtype_bytes(p->program->buffers.at[p->sum.from.at[i]].dtype);
	}
	return all;
}

/* Steps that all loops of the sum from one on make. */
static int64_t steps_from(const Planner *p, uint32_t from)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1;
	for (uint32_t i = from; i < nest->nloops; i++)
		steps *= tile_extent(p, &nest->loops[i], 1);
	return steps;
}

/* Steps of the second loop of the sum in a block, where all of them, of so many bytes, leave no room in the second cache;
 * 0: there are no such blocks. */
static int64_t steps_within(const Planner *p, uint64_t sharing, int64_t bytes)
{
	const Nest *nest = p->tile->nest;
	const Loop *loop = &nest->loops[nest->nresult + 1];
	int64_t extent = nest->nloops > nest->nresult + 2 ? tile_extent(p, loop, 0) : 0;
	if (bytes <= p->target->l2_bytes / 2 || extent < 2 || p->tile->cut == loop)
		return 0;
	int64_t one = bytes_of_step(p, sharing, nest->nresult + 2);
	int64_t each = divide_up(bytes - one, extent - 1);
	if (one == 0 || one > p->target->l2_panels || each < 1)
		return 0;
	int64_t block = alike(extent, 1 + (p->target->l2_panels - one) / each);
	return block < extent ? block : 0;
}

/* Tiles that go past the same operands. */
static int64_t tiles_that_share(const Planner *p, uint64_t sharing)
{
	const Tile *tile = p->tile;
	int64_t tiles = divide_up(tile_extent(p, tile->row, 1), tile->rows.at[0].step) *
			divide_up(tile_extent(p, tile->col, 1), tile->cols.at[0].step);
	for (uint32_t i = 0; i < tile->nest->nresult; i++)
		if (sharing >> tile->nest->loops[i].iter & 1)
			tiles *= tile_extent(p, &tile->nest->loops[i], 1);
	return tiles;
}

/* One tile has all columns, and no other loop is left to threads than those that share blocks: two tiles, if they are whole
 * vectors. */
static void halve_columns(Planner *p, uint64_t sharing)
{
	Tile *tile = p->tile;
	int64_t step = tile->cols.at[0].step;
	bool one = tile->cols.n == 1 && tile->cols.at[0].single && tile->rows.n == 1 &&
		   tile->rows.at[0].single && step % (2 * p->native) == 0;
	for (uint32_t i = 0; i < tile->nest->nresult; i++) {
		const Loop *loop = &tile->nest->loops[i];
		one = one && (loop == tile->row || loop == tile->col || sharing >> loop->iter & 1);
	}
	if (one)
		tile->cols = tile_parts_of(p, tile->col, step / 2, false);
}

/* Operands that do not stay in the second cache while several tiles go past them, as pictures past the gradient of a kernel:
 * as much of the sum as does, in whole steps of its first loop, or of the one inside it, which are enough for what it costs to
 * store the sums behind them and to go on. */
static void choose_sum(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const Target *target = p->target;
	uint32_t first = nest->nresult;
	uint64_t sharing = loops_that_share(p);
	int64_t bytes = bytes_of_step(p, sharing, first + 1);
	int64_t all = tile_extent(p, &nest->loops[first], TILE_ASSUMED);
	if (!target->sum_block_steps || bytes == 0 || nest->nloops == first + 1 ||
	    all * bytes <= target->l2_bytes || tiles_that_share(p, sharing) < SUM_TILES)
		return;
	TileBlocks blocks = {.within = steps_within(p, sharing, bytes)};
	blocks.steps = blocks.within ? 1 : alike(all, target->l2_panels / bytes);
	int64_t steps = blocks.within ? blocks.within * steps_from(p, first + 2)
				      : blocks.steps * steps_from(p, first + 1);
	if (steps < target->sum_block_steps || (!blocks.within && bytes > target->l2_bytes))
		return;
	tile->blocks = blocks;
	tile->sharing = sharing;
	halve_columns(p, sharing);
}

static void choose_panels(Planner *p)
{
	Tile *tile = p->tile;
	int64_t steps = panel_steps(p, tile->cols.at[0].step);
	tile->blocks.cols = panel_columns(p, &tile->cols, steps);
	tile->by_blocks = tile->blocks.cols > 0;
	tile->blocks.steps = tile->by_blocks ? steps : 0;
	tile->blocks.rows = tile->by_blocks ? panel_rows(p) : 0;
}

bool tile_streams(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	if (p->replays || asks_off(p->blocks) || tile->form != TILE_ACROSS || tile->pack >= 0 ||
	    !may_block(p) || !may_wait(p))
		return false;
	return tile_extent(p, tile->row, TILE_ASSUMED) <= p->target->stream_rows &&
	       bytes_over(p, nest->nresult, nest->nloops, tile->col) > p->target->l2_bytes;
}

void tile_choose_blocks(Planner *p)
{
	bool panels = may_pack_blocks(p, &p->tile->cols);
	if (asks_off(p->blocks) || !(panels || may_block(p) || may_block_steps(p)))
		return;
	if (asks_on(p->blocks) && p->blocks->items.n > 0)
		as_asked(p);
	else if (panels)
		choose_panels(p);
	else if (p->streams)
		choose_stream(p);
	else if (p->tile->form == TILE_ALONG)
		choose_rows(p);
	else if (may_block_steps(p))
		choose_sum(p);
}

bool tile_rows_meet(const Planner *p, int64_t rows)
{
	for (size_t i = 0; p->tile->row && i < p->sum.at.n; i++) {
		int64_t step;
		Size stride = ix_stride(p->program, p->sum.at.at[i], p->tile->row->var);
		if (size_is_bad(stride) || !tile_is_const(p, stride, &step) || step <= 0)
			continue;
		step *= dtype_bytes(p->program->buffers.at[p->sum.from.at[i]].dtype);
		int64_t shared = step & -step;
		if (rows >
		    p->target->l1_ways * p->target->l1_way_bytes /
			    (shared < p->target->l1_way_bytes ? shared : p->target->l1_way_bytes))
			return true;
	}
	return false;
}
