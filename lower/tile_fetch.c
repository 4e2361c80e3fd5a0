/* The panel behind the present one, fetched while tiles work on this one. Parameters come from memory once a
 * call; without this the first tile past a panel waits for all of it.
 *
 *   for i0 in 0..6*floor(s/6) step 6
 *     local ahead : i64 = (j + 64)*768 + i0*64*768/s     this tile's share of the next panel begins here,
 *     local stride : i64 = (64*6 + s - 1)/s              and goes this far in a step of the sum
 *     for k in 0..768
 *       ... the tile, which reads packed_w[j*768 + k*64 + lane]
 *       prefetch packed_w[int(ahead) + k*int(stride)]
 *
 * Behind the last panel lies the next parameter's first one. It pays where tiles are few: where many go past
 * a panel, it is waited for seldom. The rows of one picture are few enough, whatever its size.
 */
#include "lower/tile.h"

/* Rows past a panel from which on it is not fetched; bytes of a copy from which on it is; the fewest rows of a
 * tile that has time for it. */
enum { FETCH_ROWS = 4096, FETCH_BYTES = 1 << 16, FETCH_HEIGHT = 4 };

/* Does the loop of the result bring further tiles past a panel? */
static bool is_of_rows(const Tile *tile, const Loop *loop)
{
	return loop == tile->row || (loop != tile->col && !(tile->movers >> loop->iter & 1));
}

/* At least as many as are assumed where the tiles' own loop is not known, and one picture of a batch. */
static int64_t rows_past(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t rows = 1;
	for (uint32_t i = 0; i < nest->nresult && rows < FETCH_ROWS; i++) {
		const Loop *loop = &nest->loops[i];
		if (is_of_rows(p->tile, loop))
			rows *= tile_extent(p, loop, loop == p->tile->row ? TILE_ASSUMED : 1);
	}
	return rows;
}

/* Bytes of the panels that tiles of all columns read. */
static int64_t panel_bytes(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t bytes =
		dtype_bytes(nest->value->dtype) / p->tile->group * tile_extent(p, p->tile->col, 1);
	for (uint32_t i = nest->nresult; i < nest->nloops && bytes < FETCH_BYTES; i++)
		bytes *= tile_extent(p, &nest->loops[i], 1);
	return bytes;
}

static bool pays(const Planner *p)
{
	int64_t rows = rows_past(p);
	return rows >= FETCH_HEIGHT && rows < FETCH_ROWS && panel_bytes(p) >= FETCH_BYTES;
}

void tile_choose_fetch(Planner *p)
{
	Tile *tile = p->tile;
	bool may = tile->prepacked && tile->row && tile->rows.at[0].step >= FETCH_HEIGHT && !tile->blocks.steps;
	if (may) {
		Sym name = p->program->buffers.at[p->sum.from.at[tile->pack]].name;
		may = asks_name(p->fetches, 0, lower_identifier(tile->nest->gen->lower, name));
	}
	tile->fetches = may && !asks_off(p->fetches) && (asks_on(p->fetches) || pays(p));
	if (!may && asks_on(p->fetches))
		p->fetches->refused = "tiles of 4 rows or more fetch panels of a parameter that is packed";
}

/* A number that does not change in the tile. */
static const Ix *kept(const Tile *tile, const char *name, const Ix *ix, Body *body)
{
	Gen *gen = tile->nest->gen;
	LocalId local = gen_local(gen, name, DTYPE_I64);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, local, value_index(gen->arena, DTYPE_I64, ix)));
	return ix_value(gen->arena, gen_local_value(gen, local));
}

/* The number of the tile's first row among all that go past a panel. */
static const Ix *row_number(const Tile *tile, const TilePart *row, Size *all)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Program *program = gen->program;
	const Ix *number = tile_const(tile, 0);
	*all = size_const(program->sizes, 1);
	for (uint32_t i = 0; i < nest->nresult; i++) {
		const Loop *loop = &nest->loops[i];
		if (!is_of_rows(tile, loop))
			continue;
		number = ix_mul(program, number, ix_size(gen->arena, loop->extent));
		number = ix_add(program, number, loop == tile->row ? tile_first(tile, loop, row)
								   : nest->by_iter[loop->iter]);
		*all = size_mul(program->sizes, *all, loop->extent);
	}
	return number;
}

Block tile_fetch(const Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	int64_t width = tile_width(tile, col->step);
	Size rows;
	if (!tile->fetches || row->step < FETCH_HEIGHT)
		return (Block){0};
	const Ix *number = row_number(tile, row, &rows), *all = ix_size(gen->arena, rows);
	const Ix *first = ix_mul(program, number, ix_size(gen->arena, tile_panel_elements(tile, width)));
	first = ix_add(program, tile_panel_end(tile, col), ix_binary(program, IX_DIV, first, all));
	first = kept(tile, "ahead", first, before);
	const Ix *share = ix_add(program, all, tile_const(tile, width * row->step - 1));
	share = ix_binary(program, IX_DIV, share, all);
	if (share->kind != IX_SIZE)
		share = kept(tile, "stride", share, before);
	const Ix *line = ix_add(program, first, ix_mul(program, tile_step_number(tile), share));
	return block_of(gen, stmt_prefetch(gen->arena, tile->packed, line));
}
