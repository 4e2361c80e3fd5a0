/* A contraction in register tiles: what a tile is, and what is known of its values and its shape.
 * tile/plan.h decides, tile/emit.h makes its code.
 *
 *   across   the lanes are elements of the result: every element adds its products in their order
 *            for K: unroll r in rows: vector lane in cols:
 *              acc[r, lane] += a[i + r, k] * b[k, j + lane]
 *   along    the lanes are steps of a sum, added up at the end
 *            for K step lanes: unroll r, c: vector lane:
 *              acc[r, c, lane] += a[i + r, k + lane] * b[j + c, k + lane]
 */
#ifndef TSR_LOWER_TILE_H
#define TSR_LOWER_TILE_H

#include "lower/gen/zeros.h"
#include "lower/nest/nest.h"

typedef enum TileForm { TILE_ACROSS, TILE_ALONG } TileForm;

/* What a tile prefetches in each step of its sum (tile/prefetch.c). */
typedef enum TilePrefetch {
	TILE_PREFETCH_NONE,
	TILE_PREFETCH_ROWS,    /* of the next tile */
	TILE_PREFETCH_COLUMNS, /* the next ones of an operand that is streamed */
	TILE_PREFETCH_PANEL,   /* a share of the next one */
	TILE_PREFETCH_NEAR,    /* the present panel or columns, some steps ahead */
} TilePrefetch;

/* Tiles along one loop: [lo, hi) in steps of `step`; with one tile the loop is gone. */
typedef struct TilePart {
	Size lo, hi;
	int64_t step;
	bool single;
	bool edge;	 /* where padded reads may fall outside: loops of the sum are cut there */
	bool transposed; /* lanes run along the rows (tile/choose_remainder.c) */
	const Ix *from, *to;   /* instead of lo and hi, which are all rows then; NULL: they hold */
} TilePart;

typedef struct TileParts {
	TilePart at[8];
	uint32_t n;
} TileParts;

/* How far tiles go in one loop before the next loop moves on; 0: to its end. */
typedef struct TileBlocks {
	int64_t rows, cols, steps; /* of the first part; of the first part; of the outermost sum */
	int64_t within;		   /* of the sum inside it, where `steps` is 1 */
} TileBlocks;

/* Columns of two loops of the result (tile/collapse.c). */
typedef struct TileCollapse {
	int64_t round; /* the extent of the inner one; 0: columns are one loop */
	IterId outer;
	Sym name; /* the outer one's */
} TileCollapse;

/* A loop of the result that tiles go along first (tile/traversal.c); NULL: none. */
typedef struct TileTraversal {
	const Loop *loop;
	int64_t rows; /* in blocks of so many; 0: all at once */
} TileTraversal;

/* What follows from the sums (tile/choose_finish.c). */
typedef struct TileFinish {
	bool masked;  /* a tile of which a mask hides all elements has no sums (tile/masked.c) */
	bool fission; /* functions of the sums have loops of their own (tile/fission.c) */
	bool flat;    /* ... which name no index: one loop where rows are no whole vectors */
	bool vectors; /* ALONG: vectors compute it, of columns, which store and load what is contiguous */
} TileFinish;

/* Steps of the sum that are left out, since a mask makes a factor of it 0 there (tile/zeros.c). */
typedef struct TileZeros {
	Zeros at[ZEROS_MOST];
	const Loop *along[ZEROS_MOST]; /* the loop along which what is hidden is one number */
	uint32_t n;		       /* 0: there are none */
	uint32_t operand;	       /* the factor */
	LocalId whole; /* of code that is made: other than 0 where none may be left out */
} TileZeros;

/* The tile of which code is made. */
typedef struct TileNow {
	int64_t height, width; /* rows and columns */
	const TilePart *col;
} TileNow;

/* An operand is named by its place in the value; -1: there is none such. */
typedef struct Tile {
	Nest *nest;
	Op reduce;
	bool independent; /* the tiles store or add to each element once, and read none otherwise */

	/* what lanes and tiles go along */
	TileForm form;
	Loop *row, *col; /* of the result; NULL: one row, one column. ACROSS: lanes run along col */
	Loop *along;	 /* ALONG: the sum that lanes run along; ACROSS: that groups do, or NULL */
	TileParts rows, cols;
	TileParts
		remainder; /* rows of the last part of the columns, where the first is transposed; n 0: `rows` */
	TileBlocks blocks;
	TileCollapse collapse;
	TileTraversal traversal;
	bool by_rows;	 /* tiles go along a row first: nothing of a column is read again */
	uint64_t cycles; /* estimated, with 32 for every symbolic extent */

	/* the sum */
	SumOrder order; /* in which an element adds */
	int64_t lanes;	/* ALONG: steps at a time; ACROSS: of one vector of the machine */
	int64_t group; /* products that a lane adds at once, along `along`: 4 of bytes, 2 of bf16; 1 */
	int64_t word; /* ACROSS: PACKED_WORD steps of a packed operand of i4 or u4, a word of a lane; or 1 */
	bool matrix; /* groups: whole rounds of steps are products of matrices (tile/choose_matrix.c) */
	int square_operand;   /* that the tile at hand transposes in squares (tile/transpose_square.c) */
	int transposed;	      /* of the remainder: that rows move */
	int over_read;	      /* that is read beyond its columns (tile/over_read.c) */
	int64_t step_strided; /* ... its elements between two steps of the innermost sum */
	const Loop *window; /* of the sum: rows share reads that it moves as they do; NULL: none */

	TileZeros zeros;
	TileZeros
		unused; /* sums that make no difference (tile/unused.c); `along` and `operand` are none */

	/* padded reads */
	GuardedList guards, inner; /* all, and those that rows do not move */
	TilePart inside;	   /* of the rows: where reads that they move stay inside */
	const Loop *
		cut; /* of the sum: it alone decides which rows read inside; NULL: there is none such */

	/* copies and prefetches */
	int pack;	      /* that is copied */
	bool pack_along;      /* it lies along the sum: panels are copied one by one */
	BufferId packed;
	bool fills;	   /* it is this kernel's to fill */
	bool inlined;	   /* what computes the operand is copied (inline_producer.c) */
	bool prepacked;	   /* when the state is packed: the operand is a parameter */
	bool by_blocks;	   /* the copy is of one block of columns, made where its tiles begin */
	uint64_t movers;   /* by IterId: loops that move it */
	uint32_t outer;	   /* loops in front of columns and rows (tile/copies.c) */
	uint64_t sharing;  /* by IterId: loops of the result inside of blocks of the sum, whose steps read what others do */
	BufferId sums; /* groups: what elements begin with, one for each row; BUFFER_NONE: with 0 */
	int prefetched; /* whose next panel or columns are prefetched ahead */

	/* the result */
	bool stores_rows; /* ACROSS: it lies along the rows, so that sums are transposed before they are stored */
	TileFinish finish;

	/* code that is made */
	TileNow now;
	IterVar r, c, q, lane;
	IterVar first_row, first_col, first_step, first_within; /* of the block */
	IterVar panel;				  /* of columns, while they are packed */
} Tile;

static inline const Target *tile_target(const Tile *tile) { return nest_target(tile->nest); }

/* Lanes of one vector of the machine. */
static inline int64_t tile_native(const Tile *tile)
{
	return tile_target(tile)->vector_bytes / (int64_t)dtype_bytes(tile->nest->value->dtype);
}

/* Do the tiles set elements, each once, and read none of them? */
static inline bool tile_sets(const Tile *tile)
{
	return tile->independent && tile->nest->target.acc == OP_NONE;
}

/* Steps of the sum that lie beside each other in a lane of the packed operand. */
static inline int64_t tile_lane_steps(const Tile *tile)
{
	return tile->word > 1 ? tile->word : tile->group;
}

typedef struct Loads {
	VEC(const Ix *) at;
	VEC(BufferId) from;
	bool plain; /* multiplications and additions of loads and constants */
} Loads;

enum { TILE_MASKS = 4 };
enum { TILE_ASSUMED = SUM_ASSUMED }; /* of an extent that is not known */

/* tile/masked.c: conditions that hold where any element of the tile at hand is seen, and how many there are; 0: no
 * mask is known there to hide any. */
uint32_t tile_masks(const Tile *tile, Cond conds[TILE_MASKS]);

/* tile/shape.c: vectors that a row of lanes takes, narrow ones and single elements counted. */
int64_t tile_vectors(const Tile *tile, int64_t lanes);
/* Lanes of a tile of some columns: packed ones are filled up to whole vectors where that saves
 * some, and so are those of an operand that is read beyond its columns. */
int64_t tile_width(const Tile *tile, int64_t cols);
/* Of columns of two loops, where the piece that begins at a lane of the tile ends; stores that a
 * row of so many columns takes. */
int64_t tile_piece_end(const Tile *tile, int64_t lane);
int64_t tile_pieces(const Tile *tile, int64_t cols);
/* Where a block begins that also holds what is left behind the whole tiles. */
int64_t tile_last_block(const Tile *tile);
/* Can lanes of so many elements be added up several elements at a time? */
bool tile_may_lane_tree(const Tile *tile, int64_t rows, int64_t cols);
/* The innermost loop of the sum; NULL: there is none. */
const Loop *tile_last_sum(const Nest *nest);
/* How many of the innermost sum's steps, `stride` elements each, have fewer than `more` elements
 * behind them. */
int64_t tile_last_steps(int64_t more, int64_t stride);
/* Does the loop of the result bring further tiles past a panel? */
bool tile_is_of_rows(const Tile *tile, const Loop *loop);
/* tile/prefetch.c: what tiles of these parts prefetch. */
TilePrefetch tile_prefetches(const Tile *tile, const TilePart *row, const TilePart *col);
/* Is the buffer, of panels, of a type of storage that is computed with in a wide one? */
bool tile_is_narrow(const Tile *tile, BufferId from);
/* tile/choose_matrix.c: steps of the sum in a product of matrices; is a tile of so many columns one? */
int64_t tile_matrix_steps(const Tile *tile);
bool tile_is_matrix(const Tile *tile, int64_t cols);
/* tile/read.c: do the loops of the sum and those of the result whose iterators are `movers` meet an
 * element of the buffer several times, as those of a window do? */
bool tile_reads_again(const Tile *tile, BufferId buffer, uint64_t movers);
/* A number as an index; an index plus an iterator. */
const Ix *tile_const(const Tile *tile, int64_t value);
const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter);

#endif
