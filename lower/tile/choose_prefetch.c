/* Whether tiles prefetch what the next ones read, and which operand. */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

/* Does the loop of the result bring further tiles past a panel? */
bool tile_is_of_rows(const Tile *tile, const Loop *loop)
{
	return loop == tile->row || (loop != tile->col && !(tile->movers >> loop->iter & 1));
}

/* At least as many as are `assumed` where the tiles' own loop is not known, and one picture of a
 * batch. */
static int64_t rows_past(const Planner *p, int64_t assumed)
{
	const Nest *nest = p->tile->nest;
	int64_t rows = 1;
	for (uint32_t i = 0; i < nest->nresult && rows < p->target->prefetch_rows; i++) {
		const Loop *loop = &nest->loops[i];
		if (tile_is_of_rows(p->tile, loop))
			rows *= tile_extent(p, loop, loop == p->tile->row ? assumed : 1);
	}
	return rows;
}

/* Bytes of the panels that tiles of all columns read. */
static int64_t panel_bytes(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes =
		dtype_bytes(nest->value->dtype) / p->tile->group * tile_extent(p, p->tile->col, 1);
	for (uint32_t i = nest->nresult; i < nest->nloops && bytes < p->target->prefetch_bytes; i++)
		bytes *= tile_extent(p, &nest->loops[i], 1);
	return bytes;
}

/* Are the panels of a type of storage that is computed with in a wide one? Four bytes of a lane are
 * one instruction. */
bool tile_is_narrow(const Tile *tile, BufferId from)
{
	Dtype dtype = tile->nest->gen->program->buffers.at[from].dtype;
	return tile->group < 4 && dtype_bytes(dtype) < dtype_bytes(tile->nest->value->dtype);
}

static bool panels_pay(const Planner *p)
{
	int64_t rows = rows_past(p, TILE_ASSUMED),
		least = tile_is_narrow(p->tile, p->sum.from.at[p->tile->pack])
				? 1
				: p->target->prefetch_height;
	return rows >= least && rows < p->target->prefetch_rows &&
	       panel_bytes(p) >= p->target->prefetch_bytes;
}

/* The operand that columns move and rows do not, of blocks of columns and steps past a known number
 * of rows; -1: there is none. */
static int streamed(const Planner *p)
{
	const Tile *tile = p->tile;
	int64_t rows;
	int found = -1; /* one only: two would share the time of a tile's steps */
	if ((tile->pack >= 0 && !tile->by_blocks) || !tile->blocks.steps || !tile->blocks.cols ||
	    (tile->row && !tile_is_const(p, tile->row->extent, &rows)))
		return -1;
	/* a block that is packed is followed by that of the next columns where its steps are the last */
	if (tile->pack >= 0 && tile_extent(p, &tile->nest->loops[tile->nest->nresult], 0) == 0)
		return -1;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		const Ix *at = p->sum.at.at[i];
		if (!ix_uses(at, tile->col->var) || (tile->row && ix_uses(at, tile->row->var)))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

/* Elements of a round of the loop where an operand lies along the sum from end to end, one round
 * behind the other; 0: it does not. */
static int64_t elements_between(const Planner *p, const Ix *at, const Loop *loop)
{
	const Nest *nest = p->tile->nest;
	int64_t elements = 1, extent;
	for (uint32_t i = nest->nloops; i-- > nest->nresult;) {
		Size by = ix_stride(p->program, at, nest->loops[i].var);
		if (!tile_is_const(p, nest->loops[i].extent, &extent) ||
		    !size_is(p->program->sizes, by, elements))
			return 0;
		elements *= extent;
	}
	Size by = ix_stride(p->program, at, loop->var);
	return size_is(p->program->sizes, by, elements) ? elements : 0;
}

/* The one operand whose rows go past the columns, all of them before the next columns; -1: there
 * are more, or it does not lie row by row. */
static int rows_operand(const Planner *p)
{
	const Tile *tile = p->tile;
	int found = -1, n = 0;
	if (tile->form != TILE_ACROSS || tile->blocks.steps || tile->over_read >= 0)
		return -1;
	for (size_t i = 0; tile->row && i < p->sum.at.n; i++)
		if ((int)i != tile->pack && ix_uses(p->sum.at.at[i], tile->row->var)) {
			found = elements_between(p, p->sum.at.at[i], tile->row) ? (int)i : -1;
			n++;
		}
	return n == 1 ? found : -1;
}

static bool rows_pay(const Planner *p, int load)
{
	int64_t row = elements_between(p, p->sum.at.at[load], p->tile->row);
	row *= dtype_bytes(p->program->buffers.at[p->sum.from.at[load]].dtype);
	return row >= p->target->prefetch_row &&
	       tile_extent(p, p->tile->row, INT32_MAX) > p->target->l2_bytes / row;
}

/* The operand of the columns that may be prefetched; -1: none. */
static int columns_operand(const Planner *p)
{
	const Tile *tile = p->tile;
	if (!tile->prepacked)
		return streamed(p);
	bool has_time =
		p->replays ||
		(tile->row && tile->rows.at[0].step >= tile_target(tile)->prefetch_height) ||
		tile_is_narrow(tile, p->sum.from.at[tile->pack]);
	return has_time && !tile->blocks.steps ? tile->pack : -1;
}

/* Memory is ahead of a single row by itself, which reads few rows of the operand from end to end. */
static bool columns_pay(const Planner *p)
{
	return p->tile->prepacked ? panels_pay(p) : tile_extent(p, p->tile->row, 0) > 1;
}

/* An operand of two elements a byte that lies along the sum, column by column: a line of it takes so many
 * instructions that memory is not ahead by itself. -1: there is none. */
static int packed_operand(const Planner *p)
{
	const Tile *tile = p->tile;
	if (tile->form != TILE_ALONG || !tile->col || tile->group > 1 || tile->pack >= 0)
		return -1;
	for (size_t i = 0; i < p->sum.at.n; i++)
		if (dtype_is_packed(p->program->buffers.at[p->sum.from.at[i]].dtype) &&
		    elements_between(p, p->sum.at.at[i], tile->col))
			return (int)i;
	return -1;
}

/* From memory, for tiles of few rows (tile/prefetch.c), where there may be so few. */
static bool packed_pays(const Planner *p)
{
	return rows_past(p, 1) < p->target->prefetch_height &&
	       panel_bytes(p) >= p->target->prefetch_bytes;
}

/* Is the operand one that is asked for, also as what tiles read to compute it, or one that pays
 * where nothing is? */
static bool is_prefetched(const Planner *p, int load, bool pays)
{
	const Gen *gen = p->tile->nest->gen;
	const ScheduleClause *asked = p->prefetches;
	if (load < 0 || asks_off(asked) || p->tile->matrix)
		return false;
	if (!asks_on(asked) || asked->items.n == 0)
		return pays || asks_on(asked);
	BufferId buffer = p->sum.from.at[load];
	return gen_asks_operand(gen, CHOICE_PREFETCH, buffer) ||
	       gen_asks_operand(gen, CHOICE_PREFETCH, tile_read_buffer(p->tile, buffer));
}

void tile_choose_prefetch(Planner *p)
{
	int cols = columns_operand(p), rows = rows_operand(p), packed = packed_operand(p);
	p->tile->prefetched = p->tile->word > 1 ? -1 /* one line after the other, slowly */
			      : is_prefetched(p, packed, packed >= 0 && packed_pays(p)) ? packed
			      : is_prefetched(p, cols, cols >= 0 && columns_pay(p))	? cols
			      : is_prefetched(p, rows, rows >= 0 && rows_pay(p, rows))	? rows
											: -1;
}
