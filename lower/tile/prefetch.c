/* What tiles read next, prefetched while they work on what they have: the panel of a parameter
 * behind the present one, the next columns of an operand that is streamed, or the rows of the next
 * tile. The first two come from memory once a call, rows that do not stay in the second cache from
 * behind it once a panel or block; without this the first tile past them waits for all of their
 * lines.
 *
 *   for i0 in 0..6*floor(s/6) step 6
 *     local ahead : i64 = (j + 64)*768 + i0*64*768/s     this tile's share of the next panel begins here,
 *     local stride : i64 = (64*6 + s - 1)/s              and goes this far in a step of the sum
 *     for k in 0..768
 *       ... the tile, which reads packed_w[j*768 + k*64 + lane]
 *       prefetch packed_w[int(ahead) + k*int(stride)]
 *
 * Behind the last panel lies the next parameter's first one. It pays where tiles are few: where
 * many go past a panel, it is waited for seldom. The rows of one picture are few enough, whatever
 * its size. Tiles of fewer rows have no time for a share of a panel; a single row waits for lines
 * from behind the second cache, and lines of narrow elements take them so many instructions that
 * too few are under way at once, so they prefetch what is near:
 *
 *   for k in 0..768
 *     ... the tile of one row, which reads f32(packed_w[j*768 + k*64 + lane]), w of bf16
 *     prefetch near packed_w[j*768 + k*64 + 4096]         and [... + 4128], 8 KiB ahead
 *
 *   for g in 0..128: for k in 0..32 step 16             two elements a byte, along the sum
 *     ... the tile of columns c, which reads w[(j + c)*4096 + g*32 + k + lane]
 *     prefetch near w[(j + c)*4096 + g*32 + 16384]     8 KiB ahead
 *
 *   for j in 0..1008 step 48: for i in 0..32 step 8     a block of 1008 columns and 256 steps
 *     local next : i64 = (j + 48)/1008                  behind its last columns come the first ones of the next steps
 *     for k in first_step..first_step + 256
 *       ... the tile, which reads b[k*4096 + first_col + j + lane]
 *       prefetch b[(k + 256*next)*4096 + first_col + j + 48 - 1008*next + 16*(i*3/32) + 15]
 *
 *   for i in 0..1536 step 6: for j in 0..128 step 64     a block of 128 packed columns
 *     local ahead : i64 = (i + 6)*1536 + j*6*1536/128    the next six rows lie behind these, and
 *     for k in 0..1536                                   each tile of the block prefetches its share
 *       ... the tile, which reads packed_b[j*1536 + k*64 + lane]
 *       prefetch a[int(ahead) + k*3]
 */
#include "base/integer.h"
#include "lower/tile/emit.h"

TilePrefetch tile_prefetches(const Tile *tile, const TilePart *row, const TilePart *col)
{
	/* behind the last columns lie no others */
	bool more = col == &tile->cols.at[0] && !col->single,
	     few = row->step < tile_target(tile)->prefetch_height;
	if (tile->prefetched < 0)
		return TILE_PREFETCH_NONE;
	if (tile->form == TILE_ALONG)
		return few ? TILE_PREFETCH_NEAR : TILE_PREFETCH_NONE;
	if (tile->blocks.steps)
		return more ? TILE_PREFETCH_COLUMNS : TILE_PREFETCH_NONE;
	if (!tile->prepacked || tile->prefetched != tile->pack) {
		bool next = row == &tile->rows.at[0] && !row->single && (more || !tile->by_blocks);
		return next ? TILE_PREFETCH_ROWS : TILE_PREFETCH_NONE;
	}
	if (!few && row->step > 1)
		return TILE_PREFETCH_PANEL;
	return row->step == 1 || tile_is_narrow(tile, tile->packed) ? TILE_PREFETCH_NEAR
								    : TILE_PREFETCH_NONE;
}

/* A number that does not change in the tile. */
static const Ix *hoisted(const Tile *tile, const char *name, const Ix *ix, Body *body)
{
	Gen *gen = tile->nest->gen;
	return ix_value(gen->arena,
			gen_let(gen, body, name, value_index(gen->arena, DTYPE_I64, ix)));
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
		if (!tile_is_of_rows(tile, loop))
			continue;
		number = ix_mul(program, number, ix_size(gen->arena, loop->extent));
		number = ix_add(program, number,
				loop == tile->row ? tile_first(tile, loop, row)
						  : nest->by_iter[loop->iter]);
		*all = size_mul(program->sizes, *all, loop->extent);
	}
	return number;
}

/* The load of the operand where loops have other iterators, by their place; NULL: as they are. */
static const Value *load_at(Tile *tile, const Ix *const *at)
{
	Nest *nest = tile->nest;
	const Ix **was = ARENA_ARRAY(nest->gen->arena, const Ix *, nest->nloops);
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Ix **by_iter = &nest->by_iter[nest->loops[i].iter];
		was[i] = *by_iter;
		*by_iter = at[i] ? at[i] : was[i];
	}
	nest_values(nest);
	const Value *load = tile_load(nest->value, (uint32_t)tile->prefetched);
	for (uint32_t i = 0; i < nest->nloops; i++)
		nest->by_iter[nest->loops[i].iter] = was[i];
	while (load->kind != VALUE_LOAD)
		load = load->args[0];
	return load;
}

/* That of the present tile's element in another place: `steps` on in the sum and `cols` on in the columns, and
 * where `next` is 1 by further ones. */
static const Value *moved_load(Tile *tile, const TilePart *col, const int64_t by[2], const Ix *next,
			       const int64_t further[2])
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix **at = ARENA_ARRAY(nest->gen->arena, const Ix *, nest->nloops);
	const Ix *from[] = {nest->by_iter[nest->loops[nest->nresult].iter],
			    tile_first(tile, tile->col, col)};
	const Loop *loops[] = {&nest->loops[nest->nresult], tile->col};
	for (int i = 0; i < 2; i++)
		at[loops[i] - nest->loops] = ix_add(program, ix_plus(program, from[i], by[i]),
						    ix_times(program, next, further[i]));
	return load_at(tile, at);
}

/* The load of the element behind the present columns, in the same step, or of the first column in
 * the next steps. */
static const Value *next_columns(Tile *tile, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	const Ix *behind = ix_plus(gen->program, ix_iter(gen->arena, tile->col->var), col->step);
	const Ix *next = ix_binary(gen->program, IX_DIV, behind, tile_const(tile, blocks->cols));
	return moved_load(tile, col, (int64_t[]){0, col->step}, hoisted(tile, "next", next, before),
			  (int64_t[]){blocks->steps, -blocks->cols});
}

/* The load of the same columns in the next block that is packed, of the next steps or, behind the last ones, of
 * the next columns. */
static const Value *next_block(Tile *tile, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	const Loop *sum = &tile->nest->loops[tile->nest->nresult];
	int64_t steps;
	REQUIRE(size_is_const(gen->program->sizes, sum->extent, &steps));
	int64_t all = divide_up(steps, blocks->steps) * blocks->steps;
	const Ix *end = ix_plus(gen->program, ix_iter(gen->arena, tile->first_step), blocks->steps);
	const Ix *next = ix_binary(gen->program, IX_DIV, end, tile_const(tile, all));
	return moved_load(tile, col, (int64_t[]){blocks->steps, 0},
			  hoisted(tile, "next", next, before), (int64_t[]){-all, blocks->cols});
}

/* Of the lines of the next columns in this step those that fall to these rows, by the last element
 * of each sixteen: columns that begin in the middle of a line, in which the present ones end, end
 * in one line more. */
static Block prefetch_columns(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	int64_t rows = 1;
	REQUIRE(!tile->row || size_is_const(program->sizes, tile->row->extent, &rows));
	const Value *load =
		tile->by_blocks ? next_block(tile, col, before) : next_columns(tile, col, before);
	int64_t elements = tile_target(tile)->line_bytes / dtype_bytes(load->dtype),
		lines = (col->step + elements - 1) / elements;
	const Ix *first = tile_const(tile, 0);
	if (tile->row)
		first = ix_times(program, tile_first(tile, tile->row, row), lines);
	first = hoisted(tile, "line", ix_binary(program, IX_DIV, first, tile_const(tile, rows)),
			before);
	Body prefetches = {0};
	for (int64_t i = 0; i < (row->step * lines + rows - 1) / rows; i++) {
		const Ix *line = ix_times(program, first, elements);
		line = ix_plus(program, line, i * elements + elements - 1);
		PUSH(gen->arena, prefetches.stmts,
		     stmt_prefetch(gen->arena, load->buffer, ix_add(program, load->ix, line),
				   false));
	}
	return body_block(&prefetches);
}

/* The tile's share of the elements from `first` on, which `all` sums read: from that of its first one, the `number`th,
 * on, and of `each` of them in a step of all. */
static Block prefetch_share(const Tile *tile, BufferId buffer, const Ix *first, Size elements,
			    const Ix *number, const Ix *all, int64_t each, Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	const Ix *behind = ix_mul(program, number, ix_size(gen->arena, elements));
	first = ix_add(program, first, ix_binary(program, IX_DIV, behind, all));
	first = hoisted(tile, "ahead", first, before);
	const Ix *stride = ix_binary(program, IX_DIV, ix_plus(program, all, each - 1), all);
	if (stride->kind != IX_SIZE)
		stride = hoisted(tile, "stride", stride, before);
	const Ix *line = ix_add(program, first, ix_mul(program, tile_step_number(tile), stride));
	return block_of(gen, stmt_prefetch(gen->arena, buffer, line, false));
}

static Block prefetch_panel(const Tile *tile, const TilePart *row, const TilePart *col,
			    Body *before)
{
	int64_t width = tile_width(tile, col->step);
	Size rows;
	const Ix *number = row_number(tile, row, &rows);
	return prefetch_share(tile, tile->packed, tile_panel_end(tile, col),
			      tile_panel_elements(tile, width), number,
			      ix_size(tile->nest->gen->arena, rows), width * row->step, before);
}

/* Of a block of columns each tile has a share. */
static Block prefetch_rows(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	int64_t cols = tile->by_blocks ? tile->blocks.cols : col->step,
		each = row->step * tile->group;
	const Ix **at = ARENA_ARRAY(nest->gen->arena, const Ix *, nest->nloops);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		at[i] = tile_const(tile, 0);
	at[tile->row - nest->loops] = ix_plus(program, tile_first(tile, tile->row, row), row->step);
	const Value *load = load_at(tile, at);
	const Ix *number =
		tile->by_blocks ? ix_iter(nest->gen->arena, tile->col->var) : tile_const(tile, 0);
	return prefetch_share(tile, load->buffer, load->ix, tile_panel_elements(tile, each), number,
			      tile_const(tile, cols), each * col->step, before);
}

/* The lines that begin in so many elements, some steps ahead. */
static Block prefetch_near(const Tile *tile, BufferId buffer, const Ix *at, int64_t elements)
{
	Gen *gen = tile->nest->gen;
	Dtype dtype = gen->program->buffers.at[buffer].dtype;
	int64_t ahead = tile_target(tile)->prefetch_ahead, size = (int64_t)dtype_bytes(dtype),
		of_byte = dtype_is_packed(dtype) ? 2 : 1;
	Body lines = {0};
	for (int64_t i = 0; i < elements * size; i += tile_target(tile)->line_bytes)
		PUSH(gen->arena, lines.stmts,
		     stmt_prefetch(gen->arena, buffer,
				   ix_plus(gen->program, at, (ahead + i) * of_byte / size), true));
	return body_block(&lines);
}

Block tile_prefetch_along(Tile *tile, const TilePart *row, const TilePart *col)
{
	if (tile_prefetches(tile, row, col) != TILE_PREFETCH_NEAR)
		return (Block){0};
	const Ix **as_it_is = ARENA_ARRAY(tile->nest->gen->arena, const Ix *, tile->nest->nloops);
	const Value *load = load_at(tile, as_it_is);
	return gen_loop(tile->nest->gen, LOOP_UNROLL, tile->c, col->step,
			prefetch_near(tile, load->buffer, load->ix, 1));
}

Block tile_prefetch(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	switch (tile_prefetches(tile, row, col)) {
	case TILE_PREFETCH_NONE: break;
	case TILE_PREFETCH_ROWS: return prefetch_rows(tile, row, col, before);
	case TILE_PREFETCH_COLUMNS: return prefetch_columns(tile, row, col, before);
	case TILE_PREFETCH_PANEL: return prefetch_panel(tile, row, col, before);
	case TILE_PREFETCH_NEAR:
		return prefetch_near(tile, tile->packed, tile_panel_step(tile, col),
				     tile_width(tile, col->step) * tile->group);
	}
	return (Block){0};
}
