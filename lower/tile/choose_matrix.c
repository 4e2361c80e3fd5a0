/* Whether a tile's groups of steps (tile/groups.c) are products of matrices, for processors that multiply
 * these in tiles of registers, and how large tiles are then.
 *
 *   a word's steps of rows x columns cost the most of
 *     products * matrix_product       of tiles of matrix_rows rows and a vector of columns
 *     loads * matrix_load             of tiles of rows and of columns
 *
 * Sums of floats are added in another order: there the choice depends on what all members of a batch
 * have in common, and few rows wait for the columns' operand either way.
 */
#include "base/integer.h"
#include "lower/tile/plan.h"

/* Bytes of a word, of as many steps as a lane adds at once. */
enum { WORD = 4 };

/* Words of a row of a matrix tile: steps of rows, or columns. */
static int64_t row_words(const Target *target) { return target->matrix_row_bytes / WORD; }

int64_t tile_matrix_steps(const Tile *tile) { return tile->group * row_words(tile_target(tile)); }

bool tile_is_matrix(const Tile *tile, int64_t cols)
{
	return tile->matrix && tile_width(tile, cols) % row_words(tile_target(tile)) == 0;
}

bool tile_may_be_matrix(const Planner *p)
{
	const Tile *tile = p->tile;
	bool bf16 = dtype_is_float(tile->nest->value->dtype);
	return tile->group > 1 && tile->form == TILE_ACROSS && !asks_off(p->matrices) &&
	       (!p->replays || asks_on(p->matrices)) && target_has_matrix(p->target, bf16) &&
	       p->native * WORD == p->target->matrix_row_bytes &&
	       tile_extent(p, tile->along, INT32_MAX) >= tile_matrix_steps(tile);
}

/* Matrix tiles of rows and of columns. */
static int64_t row_tiles(const Planner *p, int64_t rows)
{
	return divide_up(rows, p->target->matrix_rows);
}

static int64_t column_tiles(const Planner *p, int64_t cols) { return divide_up(cols, p->native); }

/* Half of the registers hold sums. */
bool tile_fits_matrix(const Planner *p, int64_t rows, int64_t cols)
{
	return row_tiles(p, rows) * column_tiles(p, cols) <= p->target->matrix_tiles / 2;
}

uint64_t tile_matrix_half_cycles(const Planner *p, int64_t rows, int64_t cols)
{
	const Target *t = p->target;
	int64_t r = row_tiles(p, rows), c = column_tiles(p, cols);
	int64_t multiplies = r * c * t->matrix_product, loads = (r + c) * t->matrix_load;
	return (uint64_t)(2 * (multiplies > loads ? multiplies : loads) / row_words(t));
}

int64_t tile_matrix_rows(const Planner *p, int64_t at)
{
	int64_t rows = at * p->target->matrix_rows, extent;
	bool known = p->tile->row && tile_is_const(p, p->tile->row->extent, &extent);
	return !p->tile->row ? 1 : known && extent < rows ? extent : rows;
}
