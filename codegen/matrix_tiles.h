/* How a product of matrices (loops/matrix.h) lies in the tiles of AMX.
 *
 * Sums are in registers 0 to 3, row tile by row tile; rows in 4, the last ones in 5; columns in 6 and 7.
 */
#ifndef TSR_CODEGEN_MATRIX_TILES_H
#define TSR_CODEGEN_MATRIX_TILES_H

#include "loops/matrix.h"

enum { TILE_WORD_BYTES = 4, TILE_CONFIG_WORDS = 8 };

typedef struct MatrixTiles {
	int64_t rows;			   /* of all */
	int64_t tile_rows, tile_columns;   /* of a whole tile of sums; words of a row of an operand too */
	int64_t row_tiles, column_tiles;
	int64_t row_bytes;
} MatrixTiles;

/* The tiles of a product, of which the last along rows and columns may be partial. Requires: the target's
 * matrix_rows and matrix_row_bytes are not 0. */
MatrixTiles matrix_tiles(const Target *target, const MatrixProduct *product);
/* Has the target instructions for the elements, and are there as many registers, each full of words and
 * columns? */
bool matrix_fits_tiles(const Target *target, const MatrixProduct *product);
/* The registers of a tile of sums, rows, columns. */
int tiles_sums(const MatrixTiles *tiles, int64_t row_tile, int64_t column_tile);
int tiles_rows(const MatrixTiles *tiles, int64_t row_tile);
int tiles_columns(int64_t column_tile);
/* The rows of each register, a byte each; what ldtilecfg reads then. */
uint64_t tiles_shape(const MatrixTiles *tiles);
void tiles_config(const MatrixTiles *tiles, uint64_t words[TILE_CONFIG_WORDS]);
/* "tdpbf16ps" */
const char *tiles_instruction(const MatrixProduct *product);

#endif
