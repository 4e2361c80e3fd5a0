/* Registers and shapes of products of matrices: see matrix_tiles.h. */
#include "codegen/matrix_tiles.h"

#include "base/integer.h"

enum { SUMS = 0, ROWS = 4, COLUMNS = 6, REGISTERS = 8 };

MatrixTiles matrix_tiles(const Target *target, const MatrixProduct *m)
{
	int64_t columns = target->matrix_row_bytes / TILE_WORD_BYTES;
	return (MatrixTiles){
		.rows = m->nrows,
		.tile_rows = target->matrix_rows,
		.tile_columns = columns,
		.row_tiles = divide_up(m->nrows, target->matrix_rows),
		.column_tiles = divide_up(m->ncolumns, columns),
		.row_bytes = target->matrix_row_bytes,
	};
}

bool matrix_fits_tiles(const Target *target, const MatrixProduct *m)
{
	if (!target_has_matrix(target, m->a->dtype == DTYPE_BF16))
		return false;
	MatrixTiles tiles = matrix_tiles(target, m);
	return m->nwords == tiles.tile_columns && m->ncolumns % tiles.tile_columns == 0 &&
	       tiles.row_tiles * tiles.column_tiles <= ROWS - SUMS;
}

int tiles_sums(const MatrixTiles *tiles, int64_t row_tile, int64_t column_tile)
{
	return SUMS + (int)(row_tile * tiles->column_tiles + column_tile);
}

int tiles_rows(const MatrixTiles *tiles, int64_t row_tile)
{
	return ROWS + (row_tile > 0 && row_tile + 1 == tiles->row_tiles);
}

int tiles_columns(int64_t column_tile) { return COLUMNS + (int)(column_tile % 2); }

uint64_t tiles_shape(const MatrixTiles *tiles)
{
	uint64_t shape = 0;
	uint8_t rows[REGISTERS] = {0};
	rows[COLUMNS] = rows[COLUMNS + 1] = (uint8_t)tiles->tile_columns; /* a row for each word */
	for (int64_t i = 0; i < tiles->row_tiles; i++) {
		int64_t left = tiles->rows - i * tiles->tile_rows;
		uint8_t here = (uint8_t)(left < tiles->tile_rows ? left : tiles->tile_rows);
		rows[tiles_rows(tiles, i)] = here;
		for (int64_t j = 0; j < tiles->column_tiles; j++)
			rows[tiles_sums(tiles, i, j)] = here;
	}
	for (int t = 0; t < REGISTERS; t++)
		shape |= (uint64_t)rows[t] << 8 * t;
	return shape;
}

/* Palette 1; in bytes 16 to 31 the bytes of a row of each register, in 48 to 55 its rows, 0 of those
 * that are not used. */
void tiles_config(const MatrixTiles *tiles, uint64_t words[TILE_CONFIG_WORDS])
{
	uint64_t shape = tiles_shape(tiles);
	for (int i = 0; i < TILE_CONFIG_WORDS; i++)
		words[i] = i == 0 ? 1 : i == 6 ? shape : 0;
	for (int t = 0; t < REGISTERS; t++)
		if (shape >> 8 * t & 0xff)
			words[2 + t / 4] |= (uint64_t)tiles->row_bytes << 16 * (t % 4);
}

const char *tiles_instruction(const MatrixProduct *m)
{
	bool a = m->a->dtype == DTYPE_I8, b = m->b->dtype == DTYPE_I8;
	return m->a->dtype == DTYPE_BF16 ? "tdpbf16ps"
	       : a			 ? b ? "tdpbssd" : "tdpbsud"
	       : b			 ? "tdpbusd"
					 : "tdpbuud";
}
