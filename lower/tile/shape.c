/* What is known of a tile's shape: the vectors of its rows, the pieces that they are stored in. */
#include "lower/tile/tile.h"

enum { LEAST_VECTOR = 16 };

/* Vectors that a row of lanes takes, narrow ones and single elements counted; no instruction adds
 * the group of a single lane. */
int64_t tile_vectors(const Tile *tile, int64_t lanes)
{
	int64_t least = LEAST_VECTOR / dtype_bytes(tile->nest->value->dtype);
	int64_t n = lanes / tile->lanes, rest = lanes % tile->lanes;
	for (int64_t width = tile->lanes / 2; width >= least && width > 1; width /= 2) {
		n += rest / width;
		rest %= width;
	}
	return n + rest * tile->group;
}

/* Columns of a dim: some go one by one, and others are packed behind them. */
static bool tile_is_open(const Tile *tile)
{
	int64_t extent;
	return tile->col &&
	       !size_is_const(tile->nest->gen->program->sizes, tile->col->extent, &extent);
}

int64_t tile_width(const Tile *tile, int64_t cols)
{
	int64_t vectors = (cols + tile->lanes - 1) / tile->lanes;
	bool fills = tile->pack >= 0 || tile->over_read >= 0;
	bool goes_on = tile->blocks.steps ||
		       tile->nest->carries; /* the sum so far is in the result, as wide as that */
	bool filled = fills && !goes_on && !tile_is_open(tile) &&
		      (tile->stores_rows || tile->matrix || tile_vectors(tile, cols) > vectors);
	return filled ? vectors * tile->lanes : cols;
}

int64_t tile_last_block(const Tile *tile)
{
	const TilePart *part = &tile->cols.at[0];
	int64_t lo, hi;
	const Sizes *sizes = tile->nest->gen->program->sizes;
	REQUIRE(size_is_const(sizes, part->lo, &lo) && size_is_const(sizes, part->hi, &hi) &&
		lo == 0);
	return (hi - 1) / tile->blocks.cols * tile->blocks.cols;
}

static int64_t part_lanes(const Tile *tile) { return tile->order.least; }

/* Are there whole lanes, and none of half as many behind them? */
static bool has_plain_lanes(const Tile *tile)
{
	int64_t extent;
	return !size_is_const(tile->nest->gen->program->sizes, tile->along->extent, &extent) ||
	       (extent >= tile->lanes && extent % tile->lanes < part_lanes(tile));
}

bool tile_may_lane_tree(const Tile *tile, int64_t rows, int64_t cols)
{
	int64_t part = part_lanes(tile);
	return tile_native(tile) >= part && tile_native(tile) <= tile->lanes &&
	       rows * cols % tile_native(tile) == 0 && cols % part == 0 && has_plain_lanes(tile);
}

/* Where the piece that begins at a lane of the tile ends. */
int64_t tile_piece_end(const Tile *tile, int64_t lane)
{
	int64_t round = (lane / tile->collapse.round + 1) * tile->collapse.round,
		vector = (lane / tile->lanes + 1) * tile->lanes;
	return round < vector ? round : vector;
}

int64_t tile_pieces(const Tile *tile, int64_t cols)
{
	int64_t n = 0;
	for (int64_t lane = 0; lane < cols; lane = tile_piece_end(tile, lane))
		n++;
	return n;
}
