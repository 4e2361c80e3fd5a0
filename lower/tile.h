/* A contraction in register tiles: what a tile is, and what is known of its values and its shape.
 * tile_plan.h decides, tile_emit.h makes its code.
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

#include "lower/nest.h"
#include "lower/tile_invariant.h"

typedef enum TileForm { TILE_ACROSS, TILE_ALONG } TileForm;

/* What a tile prefetches in each step of its sum (tile_prefetch.c). */
typedef enum TilePrefetch {
	TILE_PREFETCH_NONE,
	TILE_PREFETCH_ROWS,    /* of the next tile */
	TILE_PREFETCH_COLUMNS, /* the next ones of an operand that is streamed */
	TILE_PREFETCH_PANEL,   /* a share of the next one */
	TILE_PREFETCH_NEAR,    /* the present panel, some steps ahead */
	TILE_PREFETCH_ALONG,   /* columns along the sum, some steps ahead */
} TilePrefetch;

/* Tiles along one loop: [lo, hi) in steps of `step`; with one tile the loop is gone. */
typedef struct TilePart {
	Size lo, hi;
	int64_t step;
	bool single;
	bool edge;	 /* where padded reads may fall outside: loops of the sum are cut there */
	bool transposed; /* lanes run along the rows (tile_choose_remainder.c) */
	TilePrefetch prefetch; /* of rows: what their tiles do, if those of the columns prefetch */
	bool prefetches;       /* of columns */
	const Ix *from, *to;   /* instead of lo and hi, which are all rows then; NULL: they hold */
} TilePart;

typedef struct TileParts {
	TilePart at[8];
	uint32_t n;
} TileParts;

/* How far tiles go in one loop before the next loop moves on; 0: to its end. */
typedef struct TileBlocks {
	int64_t rows, cols, steps; /* of the first part; of the first part; of the outermost sum */
} TileBlocks;

typedef struct Tile {
	Nest *nest;
	Op reduce;
	TileForm form;
	Loop *row, *col; /* of the result; NULL: one row, one column. ACROSS: lanes run along col */
	Loop *along;	 /* ALONG: the sum that lanes run along; ACROSS: that groups do, or NULL */
	/* products that a lane adds at once: 4 of bytes, 2 of bf16; ACROSS: of a packed operand,
	 * along `along` */
	int64_t group;
	int64_t word; /* ACROSS: TILE_WORD steps of a packed operand of i4 or u4 are a word of a lane; 1: no
		       * such operand is packed */
	bool matrix; /* groups: whole rounds of steps are products of matrices (tile_choose_matrix.c) */
	SumOrder order; /* in which an element adds */
	int64_t lanes;	/* ALONG: steps at a time; ACROSS: of one vector of the machine */
	int64_t native; /* of one vector of the machine */
	TileParts rows, cols;
	TileParts
		remainder; /* rows of the last part of the columns, where the first is transposed; n 0: `rows` */
	int transposed;	 /* then: the operand that rows move, by its place in the value */
	uint64_t cycles; /* estimated, with 32 for every symbolic extent */
	int pack;	 /* the operand that is copied, by its place in the value; -1: none */
	int over_read; /* the operand that is read beyond its columns (tile_over_read.c); -1: none */
	int64_t step_strided; /* its elements between two steps of the innermost sum */
	LoopKind pack_kind;   /* how its lanes are copied */
	BufferId packed;
	bool fills;	/* it is this kernel's to fill */
	bool inlined;	/* what computes the operand is copied (inline_producer.c) */
	uint32_t outer; /* loops in front of columns and rows (tile_copies.c) */
	/* ACROSS: the result lies along the rows, so that sums are transposed before they are stored */
	bool stores_rows;
	/* ACROSS: of columns of two loops (tile_collapse.c) the extent of the inner one and the
	 * outer one's iterator; 0: the columns are one loop */
	int64_t round;
	IterId collapsed;
	Sym merged; /* the outer one's name */
	int square_operand; /* ACROSS: the operand that is transposed in squares (tile_transpose_square.c); -1: none */
	bool has_sums; /* groups: elements begin with what is in `sums`, one for each row */
	BufferId sums;
	bool prepacked;	  /* when the state is packed: the operand is a parameter */
	bool sets;	  /* the tiles set elements, each once, and read none of them */
	bool independent; /* they store or add to each element once, and read none otherwise */
	int prefetched; /* the operand whose next panel or columns are prefetched ahead; -1: none */
	bool by_blocks; /* the copy is of one block of columns, made where its tiles begin */
	bool first_copies; /* the first rows past the block do, while they read the operand where it lies */
	bool copies;	 /* the tile at hand reads the operand where it lies, and copies it */
	uint64_t movers; /* by IterId: loops that move it */
	TileBlocks blocks;
	int64_t height, width;	/* rows and columns of the tile at hand */
	const TilePart *at_col; /* likewise */
	TilePart inside;	/* of the rows: where padded reads that they move stay inside */
	const Loop *
		cut; /* of the sum: it alone decides which rows read inside; NULL: there is none such */
	GuardedList guards, inner; /* all, and those that rows do not move */
	const Loop *window; /* of the sum: rows share reads that it moves as they do; NULL: none */
	bool by_rows;	    /* tiles go along a row first: nothing of a column is read again */
	const Loop *traversal;	/* of the result: tiles go along it first; NULL: none */
	int64_t traversal_rows; /* in blocks of so many; 0: all at once */
	bool contiguous;	/* ALONG: what columns store and load there is contiguous */
	/* What follows from the sums (tile_choose_finish.c): */
	bool masked;  /* a tile of which a mask hides all elements has no sums (tile_masked.c) */
	bool fission; /* functions of the sums have loops of their own (tile_fission.c) */
	bool fission_flat; /* ... which name no index: one loop where rows are no whole vectors */
	VEC(TileInvariants)
	invariants;   /* ACROSS: what rows share is computed once for them (tile_invariant.c) */
	bool vectors; /* ALONG: vectors compute it, of columns */
	IterVar r, c, q, lane;
	IterVar first_row, first_col, first_step; /* of the block */
	IterVar panel;				  /* of columns, while they are packed */
} Tile;

static inline const Target *tile_target(const Tile *tile) { return nest_target(tile->nest); }

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

enum { TILE_WORD = 8, TILE_MASKS = 4 };
enum { TILE_ASSUMED = SUM_ASSUMED }; /* of an extent that is not known */

/* tile_values.c: are two of the loads of one element, wherever the loops are?
 * Requires: two of the loads. */
bool tile_reads_same(const Loads *loads, size_t a, size_t b);
/* Is it a load of a type of storage as its wide type? */
bool tile_is_widening(const Value *value);
/* Is it a load that lanes convert: as its wide type, or as another (conversion_in_lanes)? */
bool tile_is_converting(const Value *value);
/* Is there a vector instruction for the operation? */
bool tile_has_lanes(Op op, Dtype dtype);
/* The n-th load of a value, in the order of tile_plan's list, widened where it is; the value with
 * another in its place, wherever it reads the same; what it shares stays shared. */
const Value *tile_load(const Value *value, uint32_t n);
const Value *tile_replaced(Arena *arena, const Value *value, const Value *old, const Value *new);
/* Do vector instructions compute a value from what is read; and where they widen what it reads?
 * ... in lanes of the tile, `converts`: what they convert too. */
bool tile_is_simple(const Value *value);
bool tile_in_vectors(const Value *value);
bool tile_computes_in_lanes(const Value *value, bool converts, const Tile *tile);
/* Do vector instructions compute what is stored of an element? */
bool tile_is_in_vectors(const Tile *tile, const Value *value);

/* tile_index.c: a whole number as a sum of iterators, but for what wraps; NULL: it is none. Is that
 * not above what i32 holds, or not below, in every element? */
const Ix *tile_index_of(const Tile *tile, const Value *value);
bool tile_index_fits(const Tile *tile, const Ix *ix, bool below);
/* The value with comparisons of indices as those of the lane's number, where they are such; is a
 * value what these compare? */
const Value *tile_numbers(const Tile *tile, const Value *value);
bool tile_is_number(const Tile *tile, const Value *value);

/* tile_masked.c: conditions that hold where any element of the tile at hand is seen, and how many there are; 0: no
 * mask is known there to hide any. */
uint32_t tile_masks(const Tile *tile, Cond conds[TILE_MASKS]);

/* tile_shape.c: vectors that a row of lanes takes, narrow ones and single elements counted. */
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
/* Is the buffer, of panels, of a type of storage that is computed with in a wide one? */
bool tile_is_narrow(const Tile *tile, BufferId from);
/* tile_choose_matrix.c: steps of the sum in a product of matrices; is a tile of so many columns one? */
int64_t tile_matrix_steps(const Tile *tile);
bool tile_is_matrix(const Tile *tile, int64_t cols);
/* tile_read.c: do the loops of the sum and those of the result whose iterators are `movers` meet an
 * element of the buffer several times, as those of a window do? */
bool tile_reads_again(const Tile *tile, BufferId buffer, uint64_t movers);
/* A number as an index; an index plus an iterator. */
const Ix *tile_const(const Tile *tile, int64_t value);
const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter);

#endif
