/* How large a register tile is: of the sizes that fit the registers the cheapest, in cycles of
 *
 *   one step of the sum = the most of
 *     vectors * rows / fma_ports
 *     loads / load_ports
 *     fma_latency               of an addition to the same element
 *     lines * line_cost         from the second cache
 *
 * and of what blocks of columns cost (tile/cache.c); squares of rows that are transposed for few
 * columns (tile/choose_remainder.c) cost their shuffles as well. The numbers are those of target.def.
 */
#include "lower/tile/plan.h"

#include "base/diag.h"
#include "loops/walk.h"

enum { ASSUMED = TILE_ASSUMED };

/* Vectors that one column of a tile takes in each row. */
static int64_t column_vectors(const Planner *p, int64_t cols)
{
	return p->tile->form == TILE_ACROSS ? tile_vectors(p->tile, tile_width(p->tile, cols))
					    : cols * (p->tile->lanes / p->native);
}

static int64_t tile_loads(const Planner *p, int64_t rows, int64_t cols)
{
	bool across = p->tile->form == TILE_ACROSS;
	return column_vectors(p, cols) + (across ? rows : rows * (p->tile->lanes / p->native));
}

static bool fits_registers(const Planner *p, int64_t rows, int64_t cols)
{
	int64_t vectors = column_vectors(p, cols);
	if (p->tile->matrix)
		return tile_fits_matrix(p, rows, cols);
	int64_t operands = p->tile->form == TILE_ACROSS ? vectors + 1
			   : rows < cols		? rows + 1
							: cols + 1;
	if (p->tile->group > 1 && p->tile->form == TILE_ALONG)
		operands *= 2; /* even and odd bytes */
	if (p->tile->form == TILE_ALONG && p->tile->lanes > p->native)
		operands = 2; /* one part of the lanes after the other */
	if (p->tile->reduce != OP_ADD)
		operands += 2; /* what is added, and which elements are no numbers */
	return rows * vectors + operands <= p->target->registers;
}

/* Steps of the sum, as many as are known. */
static uint64_t steps_of(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	uint64_t n = 1;
	for (uint32_t i = nest->nresult; i < nest->nloops && n < (1 << 24); i++)
		n *= (uint64_t)tile_extent(p, &nest->loops[i], ASSUMED);
	uint64_t at_once =
		(uint64_t)(p->tile->form == TILE_ALONG ? p->tile->lanes : p->tile->group);
	return (n + at_once - 1) / at_once;
}

/* Operands that rows and columns both move: each element of the result reads one of its own. */
static uint64_t element_operands(const Planner *p)
{
	const Loop *row = p->tile->row, *col = p->tile->col;
	uint64_t n = 0;
	for (size_t i = 0; row && col && i < p->sum.at.n; i++)
		n += ix_uses(p->sum.at.at[i], row->var) && ix_uses(p->sum.at.at[i], col->var);
	return n;
}

/* Too many columns of a stream, or elements of which columns move all that they read? */
static bool is_too_large(const Planner *p, int64_t rows, int64_t cols)
{
	if (p->replays)
		return false;
	bool own = !p->tiles && p->tile->form == TILE_ACROSS && element_operands(p) > 0;
	for (size_t i = 0; own && i < p->sum.at.n; i++)
		own = ix_uses(p->sum.at.at[i], p->tile->col->var);
	return (p->streams && cols > p->target->tile_stream * p->native) ||
	       (own && rows * column_vectors(p, cols) > p->target->tile_own);
}

/* What the units need for multiply-adds and loads of vectors, which go side by side. */
static uint64_t busy_half_cycles(const Target *target, uint64_t adds, uint64_t loads)
{
	uint64_t adding = 2 * adds / (uint64_t)target->fma_ports,
		 loading = 2 * loads / (uint64_t)target->load_ports;
	return adding > loading ? adding : loading;
}

/* Eighths of a cycle of one step of the sum in one tile; each load costs a little, or tiles of
 * equal work would be equal. What the columns read stays in the first cache, where it fits, while
 * the rows go by; the rest comes from the second one, where so few rows that one tile may hold them
 * should read it once. */
static uint64_t step_cycles(const Planner *p, int64_t rows, int64_t cols, uint64_t steps)
{
	bool across = p->tile->form == TILE_ACROSS;
	uint64_t col_vectors = (uint64_t)column_vectors(p, cols);
	uint64_t row_vectors = (uint64_t)(tile_loads(p, rows, cols)) - col_vectors;
	uint64_t adds = (uint64_t)rows * col_vectors,
		 of_elements = across ? element_operands(p) : 0;
	if (of_elements)
		row_vectors = of_elements * adds;
	uint64_t loads = row_vectors + col_vectors;
	uint64_t bytes = (uint64_t)p->target->vector_bytes;
	uint64_t moved = across ? 0 : row_vectors * bytes;
	if (col_vectors * bytes * steps > (uint64_t)p->target->l1_bytes)
		moved += col_vectors * bytes;
	if (p->streams && tile_extent(p, p->tile->row, 0) > 0)
		loads += col_vectors;
	uint64_t most = p->tile->matrix
				? tile_matrix_half_cycles(p, rows, cols)
				: busy_half_cycles(p->target, adds, row_vectors + col_vectors);
	uint64_t move =
		(uint64_t)(p->tile->prepacked ? p->target->line_cost_panel : p->target->line_cost);
	if (moved * move > most * p->target->line_bytes)
		most = moved * move / p->target->line_bytes;
	if (p->tile->pack < 0 && tile_extent(p, p->tile->row, INT32_MAX) <= p->target->tile_rows)
		loads += moved * (uint64_t)p->target->line_cost_few / p->target->line_bytes;
	uint64_t waits = p->tile->matrix ? 0 : 2 * (uint64_t)p->target->fma_latency;
	return 4 * (most > waits ? most : waits) + loads + tile_strided_cycles(p, rows);
}

/* Rows of the last part of the columns where lanes run along them: squares, then tiles of what is
 * left; none where they do not. */
static TileParts remainder_rows(const Planner *p, const TileParts *cols)
{
	TileParts parts = {0};
	int64_t rows = tile_extent(p, p->tile->row, 0), whole = rows / p->native * p->native;
	int64_t width = cols->at[cols->n - 1].step;
	if (!tile_is_remainder(p, cols))
		return parts;
	tile_add_part(p, &parts, 0, whole, p->native);
	parts.at[0].transposed = true;
	while (whole < rows) {
		int64_t step = rows - whole;
		while (!fits_registers(p, step, width))
			step--;
		tile_add_part(p, &parts, whole, whole + step, step);
		whole += step;
	}
	return parts;
}

/* Eighths of cycles of squares that are transposed, and of their elements, which are stored row by row: a
 * shuffle a cycle, three multiply-adds in two. */
static uint64_t transposed_cycles(const Planner *p, int64_t cols, uint64_t steps)
{
	uint64_t side = (uint64_t)p->native, collapsed = (uint64_t)__builtin_ctzll(side);
	uint64_t squares = (steps + side - 1) / side;
	return squares * side * (3 * collapsed + 2 * (uint64_t)cols) * 4 / 3 + 32 * side;
}

/* Eighths of cycles of one tile. */
static uint64_t tile_cycles(const Planner *p, const TilePart *row, const TilePart *col)
{
	uint64_t steps = steps_of(p);
	int64_t nr = row->step, nc = col->step;
	const Target *target = p->target;
	bool odd = nc % (16 / dtype_bytes(p->tile->nest->value->dtype)) != 0;
	int64_t element = odd ? target->sum_cost_odd : target->sum_cost;
	if (p->tile->form == TILE_ALONG && tile_may_lane_tree(p->tile, nr, nc))
		element = target->sum_cost_lane_sum;
	int64_t stores = p->tile->collapse.round ? tile_pieces(p->tile, nc) : column_vectors(p, nc);
	uint64_t finish =
		(uint64_t)(p->tile->form == TILE_ALONG ? element * nr * nc
						       : target->store_cost * nr * stores);
	if (row->transposed)
		return transposed_cycles(p, nc, steps);
	if (p->tile->stores_rows)
		finish = tile_transposed_cycles(p, nr, nc);
	if (p->tile->form == TILE_ACROSS && !p->tile->stores_rows)
		finish += 2 * finish * (uint64_t)(tile_sum_blocks(p, row, col) - 1);
	return steps * step_cycles(p, nr, nc, steps) + finish + (uint64_t)target->tile_start;
}

static uint64_t cycles_of(const Planner *p, const TileParts *rows, const TileParts *cols,
			  const TileParts *remainder)
{
	uint64_t total = 0;
	for (uint32_t j = 0; j < cols->n; j++) {
		const TileParts *of = remainder->n && j + 1 == cols->n ? remainder : rows;
		for (uint32_t i = 0; i < of->n; i++) {
			uint64_t count = (uint64_t)(tile_part_count(p, of, i, p->tile->row) *
						    tile_part_count(p, cols, j, p->tile->col));
			total += count * tile_cycles(p, &of->at[i], &cols->at[j]);
		}
	}
	return total / 8;
}

/* Cycles of what all tiles read of a parameter's panels besides, where these do not stay in the
 * first cache while tiles go past them: of tiles that are equal else, few rows wait more often. */
static uint64_t panel_lines(const Planner *p, const TileParts *rows, const TileParts *cols)
{
	uint64_t steps = steps_of(p), lines = 0;
	if (!p->tile->prepacked || p->tile->form != TILE_ACROSS)
		return 0;
	for (uint32_t j = 0; j < cols->n; j++) {
		int64_t vectors = column_vectors(p, cols->at[j].step);
		uint64_t bytes = (uint64_t)(vectors * p->target->vector_bytes);
		for (uint32_t i = 0; i < rows->n && bytes * steps > (uint64_t)p->target->l1_bytes;
		     i++)
			lines += (uint64_t)(tile_part_count(p, rows, i, p->tile->row) *
					    tile_part_count(p, cols, j, p->tile->col)) *
				 (bytes / p->target->line_bytes);
	}
	return lines * steps * (uint64_t)p->target->line_cost_again / 8;
}

static bool parts_are_asked(const Planner *p, uint32_t item, const TileParts *parts)
{
	int64_t steps[ITEM_NUMBERS];
	for (uint32_t i = 0; i < parts->n; i++)
		steps[i] = parts->at[i].step;
	bool all = !p->replays || (asks_on(p->tiles) && item < p->tiles->items.n &&
				   p->tiles->items.at[item].n == parts->n);
	return all && asks_numbers(p->tiles, item, steps, parts->n);
}

/* A packed panel that is filled up with zeros is wider than its columns: no other lies behind
 * it. */
static bool panels_overlap(const Tile *tile, const TileParts *cols)
{
	bool overlap = false;
	for (uint32_t i = 0; i < cols->n && tile->pack >= 0; i++) {
		const TilePart *part = &cols->at[i];
		bool last = part->single && i + 1 == cols->n;
		overlap |= !last && tile_width(tile, part->step) > part->step;
	}
	return overlap;
}

static bool fit_registers(const Planner *p, const TileParts *rows, const TileParts *cols)
{
	bool fit = true;
	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t j = 0; j < cols->n; j++)
			fit = fit && fits_registers(p, rows->at[i].step, cols->at[j].step);
	return fit;
}

static void consider(Planner *p, int64_t rows, int64_t cols, bool join)
{
	Tile *tile = p->tile;
	TileParts r = tile_parts_of(p, tile->row, rows, false),
		  c = tile_parts_of(p, tile->col, cols, join);
	if (panels_overlap(tile, &c) || is_too_large(p, rows, cols) || !tile_has_collapsed(p, &c))
		return;
	if (!fit_registers(p, &r, &c))
		return;
	if (!parts_are_asked(p, 0, &r) || !parts_are_asked(p, 1, &c))
		return;
	TileParts remainder = remainder_rows(p, &c);
	uint64_t cycles = cycles_of(p, &r, &c, &remainder);
	cycles +=
		cycles / (uint64_t)tile_extent(p, tile->col, 1) * (uint64_t)tile_block_cost(p, &c);
	uint64_t cost = cycles + panel_lines(p, &r, &c);
	bool fewer = r.n + c.n < tile->rows.n + tile->cols.n; /* of equal ones: less code, chunks alike */
	if (tile->rows.n && (cost > p->cost || (cost == p->cost && !fewer)))
		return;
	p->cost = cost;
	tile->rows = r;
	tile->cols = c;
	tile->remainder = remainder;
	tile->cycles = cycles;
}

static bool is_step(const Planner *p, const Loop *loop, int64_t step)
{
	int64_t extent;
	if (!loop)
		return step == 1;
	if (tile_is_const(p, loop->extent, &extent))
		return step <= extent;
	if (loop == p->tile->row && !p->tile->inside.from && tile_is_whole(p, loop->extent, step))
		return true;
	if (p->tile->matrix && step % p->target->matrix_rows == 0)
		return true;
	return step == 1 || step == 2 || step == 4 || step == 6 || step == 8 || step == 12;
}

/* Lanes of a symbolic extent: whole vectors, then halves. */
static bool is_width(const Planner *p, int64_t cols)
{
	int64_t extent;
	bool known = !p->tile->col || tile_is_const(p, p->tile->col->extent, &extent);
	return p->tile->form == TILE_ALONG || known ? is_step(p, p->tile->col, cols)
						    : cols % p->native == 0;
}

/* Rows of the tiles that go past panels of such columns. Eight divide what programs have more often
 * than six do, and leave no tiles of two rows, which wait for the second cache; but they are not
 * worth a last panel of few columns, least of all to a single row. */
static int64_t panel_height(const Planner *p, int64_t cols)
{
	bool even = tile_extent(p, p->tile->col, 1) % cols == 0;
	return even && fits_registers(p, p->target->tile_panel_even, cols)
		       ? p->target->tile_panel_even
		       : p->target->tile_panel;
}

/* Eighths of cycles of a step past all panels of such columns, for as many rows as all heights
 * divide; 0: they do not fit. */
static uint64_t panel_cycles(const Planner *p, int64_t cols, bool join)
{
	TileParts parts = tile_parts_of(p, p->tile->col, cols, join);
	uint64_t cycles = 0, steps = steps_of(p);
	int64_t height = panel_height(p, cols), bytes = p->target->vector_bytes;
	for (uint32_t i = 0; i < parts.n; i++) {
		int64_t width = parts.at[i].step, vectors = column_vectors(p, width);
		if (!fits_registers(p, height, width))
			return 0;
		uint64_t lines = (uint64_t)(vectors * bytes * p->target->line_cost_again /
					    p->target->line_bytes);
		cycles += (uint64_t)tile_part_count(p, &parts, i, p->tile->col) *
			  (step_cycles(p, height, width, steps) + lines);
	}
	return cycles * (uint64_t)(p->target->tile_panel_even * p->target->tile_panel) /
	       (uint64_t)height;
}

/* Does a window go along the rows: does a step of the sum read what other rows read? */
static bool has_window_rows(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	bool window = false;
	for (size_t i = 0; i < p->sum.at.n && p->tile->row; i++)
		for (uint32_t k = nest->nresult; k < nest->nloops; k++)
			window |= tile_stride(p, p->sum.at.at[i], p->tile->row) == 1 &&
				  tile_extent(p, &nest->loops[k], 2) > 1 &&
				  tile_stride(p, p->sum.at.at[i], &nest->loops[k]) == 1;
	return window;
}

/* Are the rows those of a picture, so that tiles are bound to their extent? */
static bool has_picture_rows(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	bool further = has_window_rows(p);
	for (uint32_t i = 0; i < nest->nresult; i++)
		further |= &nest->loops[i] != tile->row && &nest->loops[i] != tile->col &&
			   !(tile->movers >> nest->loops[i].iter & 1);
	return further && tile_extent(p, tile->row, 0) > 1;
}

/* Rows and columns together. `even`: no columns are left over, where whole vectors allow it. */
static void consider_across(Planner *p, bool even)
{
	int64_t extent = tile_extent(p, p->tile->col, 1);
	int64_t by = p->tile->collapse.round ? p->tile->collapse.round : p->native;
	even = even && extent % p->native == 0;
	for (int64_t rows = 1; rows <= p->target->tile_rows; rows++)
		for (int64_t cols = by;
		     is_step(p, p->tile->row, rows) && fits_registers(p, rows, cols); cols += by) {
			if (even && (extent % cols != 0 || tile_rows_meet(p, rows)))
				continue;
			consider(p, rows, cols, false);
			consider(p, rows, cols, true);
		}
}

/* Tiles of a parameter that is packed with the state: its panels are the same whatever the rows
 * are, unless these are those of a picture. */
static void consider_panels(Planner *p)
{
	if (has_picture_rows(p)) {
		consider_across(p, true);
		return;
	}
	uint64_t least = 0;
	int64_t cols = p->native;
	bool joined = false;
	for (int64_t n = p->native; fits_registers(p, 1, n); n += p->native)
		for (int join = 0; join < 2; join++) {
			uint64_t cycles = panel_cycles(p, n, join);
			if (cycles == 0 || (least && cycles >= least))
				continue;
			least = cycles;
			cols = n;
			joined = join;
		}
	for (int64_t rows = 1; rows <= p->target->tile_rows; rows++)
		if (is_step(p, p->tile->row, rows))
			consider(p, rows, cols, joined);
}

/* The sizes that are asked for, which need not be among those that are tried otherwise. */
static void consider_asked(Planner *p)
{
	const ScheduleClause *asked = p->tiles;
	if (!asks_on(asked) || asked->items.n != 2)
		return;
	const ScheduleItem *rows = &asked->items.at[0], *cols = &asked->items.at[1];
	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t j = 0; j < cols->n; j++)
			if (is_step(p, p->tile->row, rows->numbers[i]) &&
			    is_width(p, cols->numbers[j])) {
				consider(p, rows->numbers[i], cols->numbers[j], false);
				consider(p, rows->numbers[i], cols->numbers[j], true);
			}
	if (p->tile->rows.n == 0)
		p->tiles->refused = arena_printf(
			p->tile->nest->gen->lower->arena,
			"tiles of these sizes, or of what they leave over, do not fit the loops, "
			"the panels or %d registers",
			(int)p->target->registers);
}

/* Sizes for vectors. */
static void choose_lanes(Planner *p)
{
	const Tile *tile = p->tile;
	if (tile->prepacked)
		consider_panels(p);
	if (tile->rows.n > 0)
		return;
	if (tile->form == TILE_ACROSS)
		consider_across(p, false);
	for (int64_t rows = 1; rows <= p->target->tile_rows; rows++) {
		if (!is_step(p, tile->row, rows))
			continue;
		if (tile->form == TILE_ACROSS) {
			int64_t extent = tile_extent(p, tile->col, p->native);
			if (extent < p->native)
				consider(p, rows, extent, false);
			continue;
		}
		for (int64_t cols = 1; fits_registers(p, rows, cols); cols++)
			if (is_step(p, tile->col, cols))
				consider(p, rows, cols, false);
	}
}

/* Of whole matrix tiles; the panels of a parameter are the same whatever the rows are. */
static void consider_matrix(Planner *p)
{
	int64_t extent = tile_extent(p, p->tile->col, INT32_MAX),
		most = p->target->matrix_tiles / 2;
	int64_t panel = most / 2;
	for (int64_t c = 1; c <= most; c++)
		for (int64_t r = 1; r * c <= most; r++)
			if ((!p->tile->prepacked || c == panel) &&
			    (c == 1 || c == panel || (c - 1) * p->native < extent))
				consider(p, tile_matrix_rows(p, r), c * p->native, false);
}

/* Integers are exact in any order: the cheaper way for the rows that there are. */
static void choose_matrix(Planner *p)
{
	Tile *tile = p->tile;
	bool exact = !dtype_is_float(tile->nest->value->dtype) && !asks_on(p->matrices);
	consider_matrix(p);
	if (tile->rows.n > 0 && !exact)
		return;
	Tile matrix = *tile;
	uint64_t cost = p->cost;
	tile->matrix = false;
	tile->rows.n = 0;
	choose_lanes(p);
	if (matrix.rows.n > 0 && (tile->rows.n == 0 || cost < p->cost))
		*tile = matrix;
}

static bool has_extent_of(const Loop *a, const Loop *b)
{
	return a && b ? size_same(a->extent, b->extent) : a == b;
}

/* Parts that are whole tiles of a sum, where it is read. */
static bool are_whole(const TileParts *parts)
{
	bool whole = parts->n > 0;
	for (uint32_t i = 0; i < parts->n; i++)
		whole = whole && !parts->at[i].edge && !parts->at[i].transposed &&
			!parts->at[i].from;
	return whole;
}

/* The sizes of the sum that is to be computed in the steps of this one. */
static void take_inner(Planner *p)
{
	Tile *tile = p->tile;
	const Tile *inner = tile->nest->inner_tile;
	if (!inner || p->tiles || tile->form != TILE_ACROSS || inner->form != TILE_ACROSS ||
	    inner->stores_rows || inner->remainder.n || !has_extent_of(tile->row, inner->row) ||
	    !has_extent_of(tile->col, inner->col) || !are_whole(&inner->rows) ||
	    !are_whole(&inner->cols) || panels_overlap(tile, &inner->cols) ||
	    !fit_registers(p, &inner->rows, &inner->cols))
		return;
	tile->rows = inner->rows;
	tile->cols = inner->cols;
	tile->cycles = cycles_of(p, &tile->rows, &tile->cols, &tile->remainder);
}

void tile_choose_sizes(Planner *p)
{
	Tile *tile = p->tile;
	consider_asked(p);
	if (p->replays || tile->rows.n > 0)
		return;
	take_inner(p);
	if (tile->rows.n > 0)
		return;
	if (tile->matrix)
		choose_matrix(p);
	else
		choose_lanes(p);
}
