/* A contraction in register tiles, private to tile*.c.
 *
 *   across   the lanes are cells of the result: every cell adds its products in their order
 *            for K: unroll r in rows: vector lane in cols:
 *              acc[r, lane] += a[i + r, k] * b[k, j + lane]
 *   along    the lanes are steps of a sum, added up at the end
 *            for K step lanes: unroll r, c: vector lane:
 *              acc[r, c, lane] += a[i + r, k + lane] * b[j + c, k + lane]
 */
#ifndef TSR_LOWER_TILE_H
#define TSR_LOWER_TILE_H

#include "lower/nest.h"

typedef enum TileForm { TILE_ACROSS, TILE_ALONG } TileForm;

/* Tiles along one loop: [lo, hi) in steps of `step`; with one tile the loop is gone. */
typedef struct TilePart {
	Size lo, hi;
	int64_t step;
	bool single;
	bool edge;	 /* where padded reads may fall outside: loops of the sum are cut there */
	bool transposed; /* lanes run along the rows (tile_remainder.c) */
	const Ix *from, *to; /* instead of lo and hi, which are all rows then; NULL: they hold */
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
	SumOrder order; /* in which a cell adds */
	int64_t lanes;	/* ALONG: steps at a time; ACROSS: of one vector of the machine */
	int64_t native; /* of one vector of the machine */
	TileParts rows, cols;
	TileParts
		remainder; /* rows of the last part of the columns, where the first is turned; n 0: `rows` */
	int transposed;	 /* then: the operand that rows move, by its place in the value */
	uint64_t cycles; /* estimated, with 32 for every symbolic extent */
	int pack;	 /* the operand that is copied, by its place in the value; -1: none */
	int over_read; /* the operand that is read beyond its columns (tile_over_read.c); -1: none */
	int64_t step_strided; /* its elements between two steps of the innermost sum */
	LoopKind pack_kind;   /* how its lanes are copied */
	BufferId packed;
	/* ACROSS: the result lies along the rows, so that sums are turned before they are stored */
	bool stores_rows;
	/* ACROSS: of columns of two loops (tile_collapse.c) the extent of the inner one and the
	 * outer one's iterator; 0: the columns are one loop */
	int64_t round;
	IterId collapsed;
	Sym merged;  /* the outer one's name */
	int squared; /* ACROSS: the operand that is turned in squares (tile_transpose_square.c); -1: none */
	bool has_sums; /* groups: cells begin with what is in `sums`, one for each row */
	BufferId sums;
	bool prepacked; /* when the state is packed: the operand is a parameter */
	bool apart;	/* every cell of the result is stored once and read nowhere else */
	int prefetched; /* the operand whose next panel or columns are prefetched ahead; -1: none */
	bool by_blocks; /* the copy is of one block of columns, made where its tiles begin */
	bool copies;	/* the tile at hand reads the operand where it lies, and copies it */
	uint64_t movers; /* by IterId: loops that move it */
	TileBlocks blocks;
	int64_t height, width;	/* rows and columns of the tile at hand */
	const TilePart *at_col; /* likewise */
	TilePart inside;	/* of the rows: where padded reads that they move stay inside */
	bool cuts;		/* one loop of the sum decides which rows read inside: */
	IterId cut;
	GuardedList guards, inner; /* all, and those that rows do not move */
	const Loop *window; /* of the sum: rows share reads that it moves as they do; NULL: none */
	bool by_rows;	    /* tiles go along a row first: nothing of a column is read again */
	const Loop *traversal;	/* of the result: tiles go along it first; NULL: none */
	int64_t traversal_rows; /* in blocks of so many; 0: all at once */
	bool beside; /* ALONG: what columns store and load there lies beside each other */
	IterVar r, c, q, lane;
	IterVar first_row, first_col, first_step; /* of the block */
	IterVar panel;				  /* of columns, while they are packed */
} Tile;

static inline const Target *tile_target(const Tile *tile) { return nest_target(tile->nest); }

typedef struct Loads {
	VEC(const Ix *) at;
	VEC(BufferId) from;
	bool plain; /* multiplications and additions of loads and constants */
} Loads;

typedef struct Planner {
	Tile *tile;
	const Target *target;
	Program *program;
	SumFacts facts;	      /* of the nest as it is */
	Loads sum, store;     /* what is read in a step of the sum, and where it is finished */
	int64_t native;	      /* lanes of a vector of the machine */
	bool replays;	      /* all that is chosen is asked for: nothing is by cost */
	bool streams;	      /* the columns' operand goes by once, past few rows */
	bool transposes_rows; /* tiles of few columns may have lanes along the rows */
	uint64_t cost;	      /* of the cheapest sizes so far: cycles, and lines of panels */
	/* asked; NULL: nothing */
	ScheduleClause *tiles, *lanes, *packs, *prepacks, *blocks, *prefetches, *windows,
		*remainders, *traversals, *groups, *stores, *collapses;
} Planner;

enum { TILE_ASSUMED = SUM_ASSUMED }; /* of an extent that is not known */

/* Are two of the loads of one element, wherever the loops are? */
bool tile_reads_same(const Loads *loads, size_t a, size_t b);
/* Is it a load of a type of storage as its wide type? */
bool tile_is_widening(const Value *value);
/* Is it a load that lanes convert: as its wide type, or as another (widen_in_lanes)? */
bool tile_is_converting(const Value *value);
/* Is there a vector instruction for the operation? */
bool tile_has_lanes(Op op, Dtype dtype);
bool tile_is_const(const Planner *p, Size size, int64_t *n);
int64_t tile_extent(const Planner *p, const Loop *loop, int64_t otherwise); /* 1 of no loop */
/* Steps of the sum, `most` or more where they are as many or an extent is not known. */
int64_t tile_known_steps(const Planner *p, int64_t most);
/* tile_parts.c: is the extent a multiple of the step, whatever the dims are? Its tiles of that step
 * and those of what is left, which is added to the last whole one to `join`. */
bool tile_is_whole(const Planner *p, Size extent, int64_t step);
TileParts tile_parts_of(const Planner *p, const Loop *loop, int64_t step, bool join);
void tile_add_part(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step);
/* How many tiles; of a symbolic extent only the first part counts. */
int64_t tile_part_count(const Planner *p, const TileParts *parts, uint32_t i, const Loop *loop);
/* The loop's place in the nest, and in what is known of its sum. */
static inline uint32_t tile_place(const Planner *p, const Loop *loop)
{
	return (uint32_t)(loop - p->tile->nest->loops);
}
/* tile_loops.c: finds lanes along the last loop of the result or along a sum, rows and columns;
 * false: there are none. */
bool tile_find_loops(Planner *p);
/* The operands that a loop leaves where they are, as a set of bits. */
uint64_t tile_stays(const Planner *p, const Loop *loop);
/* Where rows read inside their operand, and the guards that are left there: those that the rows do
 * not move. */
void tile_find_guards(Planner *p);
enum { TILE_ROWS, TILE_COLUMNS }; /* items of `tile` in a schedule */
/* Is the loop what a schedule asks for, where it asks? */
bool tile_is_asked(const Planner *p, const ScheduleClause *asked, uint32_t item, const Loop *loop);
bool tile_is_guarded(const Nest *nest, const Loop *loop);
/* How far a loop moves an index: 0 and 1; -1: any other. */
int tile_stride(const Planner *p, const Ix *ix, const Loop *loop);
/* Does the loop move each by one element or not at all, and, of `some`, at least one? */
bool tile_moves_by_one(const Planner *p, const Loads *loads, const Loop *loop, bool some);
/* tile_strided.c: how far a loop moves an index, where its places are in few lines; -1: they are
 * not. May lanes along the loop store a tile's cells, one beside the other or steps apart? Eighths
 * of cycles a step that rows take more where they are apart. */
int64_t tile_near_stride(const Planner *p, const Ix *at, const Loop *loop);
bool tile_stores_along(const Planner *p, const Loop *loop);
uint64_t tile_strided_cycles(const Planner *p, int64_t rows);
/* The best loop of the result that leaves some operand in place, other than those in `but`, for the
 * rows or the columns; NULL: there is none. */
Loop *tile_reusing_loop(const Planner *p, const Loop * not, uint64_t but, uint32_t item);
/* tile_choose_pack.c: which operand is packed. `found`: tile_find_loops has a tile without it. */
void tile_choose_pack(Planner *p, bool found);
/* Finds rows along which the result lies, and columns of an operand that can be packed, for lanes
 * across these; false: there are none. */
bool tile_choose_transposed(Planner *p);
/* tile_result.c: eighths of cycles of turning and storing a tile's sums; its code. */
uint64_t tile_transposed_cycles(const Planner *p, int64_t rows, int64_t cols);
Block tile_finish_transposed(Tile *tile, const TilePart *row, const TilePart *col, LocalId acc);
/* tile_collapse.c: may so many columns be more with those of another loop? Makes the last loop of
 * the result and another one the columns of tiles, in a nest of the planner's own, of which the
 * values are built again; false: there is none. Do all parts hold whole rounds? Stores that a row
 * of so many columns takes; the tile's code behind its sums. */
bool tile_wants_collapse(const Nest *nest, int64_t columns, int64_t steps, bool copied);
bool tile_collapse(Planner *p, Nest *nest);
bool tile_has_collapsed(const Planner *p, const TileParts *cols);
int64_t tile_pieces(const Tile *tile, int64_t cols);
Block tile_finish_pieces(Tile *tile, const TilePart *col, const Value *cell);
/* Fills in rows, columns and cycles; leaves rows empty where nothing fits. */
void tile_choose_sizes(Planner *p);
/* tile_cache.c: is the result stored, each cell once, and nothing of it read? */
bool tile_stores_apart(const Planner *p);
/* Does it pay to let the columns' operand go by once? */
bool tile_streams(const Planner *p);
/* What blocks of columns of an operand that is packed block by block cost, in columns; 0: it is
 * not. */
int64_t tile_block_cost(const Planner *p, const TileParts *cols);
/* Do the lines of so many rows meet in too few sets of the first cache, which columns need too? */
bool tile_rows_meet(const Planner *p, int64_t rows);
/* Fills in the blocks, from the sizes. */
void tile_choose_blocks(Planner *p);
/* May rows go along the loop: are all its padded reads inside somewhere? */
bool tile_may_be_rows(const Planner *p, const Loop *loop);
/* Fills in form, loops and parts; false: the nest is no contraction that tiles fit. */
bool tile_plan(Tile *tile);
/* Writes the choices down (tile_describe.c). */
void tile_describe(const Planner *p);
/* prepack.c: may the operand, by its place among those of the sum, be read from a copy in the
 * state? */
bool tile_may_prepack(const Planner *p, int load);
/* Finds the copy; false: there was none, and code for it is to be emitted. */
bool prepack_declare(Tile *tile, const Value *load, Dtype dtype, Size elements);
void prepack_emit(const Nest *nest, Block body);
/* prepack_const.c: the panels of a constant. `to`: zeros. */
void prepack_constant(const Tile *tile, const PackedParam *packed, const ProgramConst *from,
		      void *to);
/* tile_pack.c: the copy's buffer (false: it is there already), its code, the value that reads it at
 * a part of the columns. */
bool tile_pack_declare(Tile *tile);
Block tile_pack_fill(Tile *tile);
/* The same of the block of columns at hand; `behind`: of what is left behind the whole tiles
 * alone. */
Block tile_pack_block(Tile *tile, bool behind);
const Value *tile_pack_value(const Tile *tile, const TilePart *col);
/* May the first tiles past a block of whole columns copy it? Their columns at the step at hand,
 * copied. */
bool tile_may_copy(Tile *tile);
Block tile_pack_columns(Tile *tile);
/* Where the lane is at the step at hand: in the panel of the part of the columns that is copied, or
 * that tiles read. */
const Ix *tile_pack_to(const Tile *tile, const TilePart *part);
const Ix *tile_pack_ix(const Tile *tile, const TilePart *col);
/* The n-th load of a value, in the order of tile_plan's list, widened where it is; the value with
 * another in its place, wherever it reads the same; what it shares stays shared. */
const Value *tile_load(const Value *value, uint32_t n);
const Value *tile_replaced(Arena *arena, const Value *value, const Value *old, const Value *new);
/* tile_over_read.c: elements between two steps of the innermost sum of an operand that may be read
 * beyond its columns; 0: it may not. The loops over the sum that do so. */
int64_t tile_step_strided(const Planner *p, int load);
Block tile_over_read_steps(Tile *tile, const Value *cell);
/* Where the panel of a part of the columns begins and ends in the copy; which step of the sum it is
 * at the loops at hand. */
const Ix *tile_panel_start(const Tile *tile, const TilePart *col);
const Ix *tile_panel_end(const Tile *tile, const TilePart *col);
const Ix *tile_step_number(const Tile *tile);
Size tile_panel_elements(const Tile *tile, int64_t width);
/* tile_prefetch.c: whether the next panel or columns are prefetched; what a tile does for it in a
 * step of the sum (nothing: an empty block), with what that needs in `before`. */
void tile_choose_prefetch(Planner *p);
Block tile_prefetch(Tile *tile, const TilePart *row, const TilePart *col, Body *before);
/* Vectors that a row of lanes takes, narrow ones and single elements counted. */
int64_t tile_vectors(const Tile *tile, int64_t lanes);
/* Lanes of a tile of some columns: packed ones are filled up to whole vectors where that saves
 * some, and so are those of an operand that is read beyond its columns. */
int64_t tile_width(const Tile *tile, int64_t cols);
/* tile_groups.c: an element as it stands in a copy in groups; a panel of the part of the
 * columns. */
const Value *tile_group_copied(const Tile *tile, const Value *element);
Block tile_group_fill(Tile *tile, const TilePart *part);
/* Steps of a loop of the sum in the copy. */
Size tile_group_extent(const Tile *tile, const Loop *loop);
/* The loops over the sum, which add to the cells of a tile, `prefetch` in each. */
Block tile_group_steps(Tile *tile, const Value *cell, Block prefetch);
/* ... along the loop of the groups alone, for the first rows of the cell's. */
Block tile_group_along(Tile *tile, const Value *cell, int64_t rows, Block prefetch);
/* What cells begin with: the buffer, its code, what those of the present row begin with. Where the
 * tile has sums. */
void tile_group_declare_sums(Tile *tile);
Block tile_group_fill_sums(Tile *tile);
const Value *tile_group_begin(const Tile *tile);
/* tile_read.c: is an operand computed where tiles read it? Then the nest's values are others. */
bool tile_choose_read(Tile *tile);
/* What tiles would read then, of a factor of the sum that is read from `operand`, or that
 * itself. */
BufferId tile_read_buffer(Tile *tile, BufferId operand);
/* Do the loops of the sum and those of the result whose iterators are `movers` meet an element of
 * the buffer several times, as those of a window do? */
bool tile_reads_again(const Tile *tile, BufferId buffer, uint64_t movers);
/* tile_transpose.c: does the last loop of the sum move all that a value of the column `lane` reads
 * by one element, or leave it where it is? Is there a square of it, of known steps? Then the copy of
 * `cols` columns over that loop. `value` and `to` are those of one element, at the loop's iterator
 * and the column `lane`. */
bool tile_transposes(Tile *tile, const Value *value);
bool tile_fits_squares(Tile *tile, const Value *value, const Ix *to, int64_t cols);
Block tile_transpose_copy(Tile *tile, const Value *value, const Ix *to, int64_t cols);
/* tile_edge.c: finds the loop that decides which rows read inside; the parts of rows around it,
 * none where there would be too many; the sum of a tile at the edge, added to its cells. */
void tile_find_cut(Planner *p);
/* The same for rows whose extent is not known: where reads stay inside, found at run time (false: a
 * guard is of another form), and tiles of `step` and ever smaller ones there, single rows
 * outside. */
bool tile_find_inside(const Planner *p, const Loop *row, TilePart *inside);
TileParts tile_inside_parts(const Planner *p, int64_t step);
int64_t tile_smaller_step(int64_t step); /* a divisor; 0 after 1 */
TileParts tile_cut_parts(const Planner *p, int64_t extent, int64_t step);
Block tile_cut_steps(Tile *tile, const TilePart *part, LocalId acc, Block prefetch);
/* tile_transpose_square.c: the sums of `cells` cells a lane, added to acc[c, lane], in squares of
 * an operand that are turned: lanes go along `across`, which stands at r. */
Block tile_squares(Tile *tile, const Loop *across, int operand, int64_t cells, LocalId acc);
/* Where a row block has few rows: the operand of which others read a turned copy, and loops that go
 * with it; false: there is none. Those of the parts of columns that there are; a tile's sums. */
bool tile_choose_squares(Planner *p);
TileParts tile_square_parts(TileParts halved);
Block tile_square_steps(Tile *tile, const TilePart *row, LocalId acc, const Value *cell);
/* tile_remainder.c: the innermost loop of the sum; NULL: there is none. May lanes run along the
 * rows where columns are few, and are the last of these such? What was chosen; one tile of them. */
const Loop *tile_last_sum(const Nest *nest);
bool tile_may_transpose_rows(const Planner *p);
bool tile_is_remainder(const Planner *p, const TileParts *cols);
void tile_choose_remainder(Planner *p);
Block tile_remainder(Tile *tile, const TilePart *col);
/* tile_window.c: whether the rows of a tile share what they read of a picture. The sum of a tile
 * then, a place of the picture after the other. */
void tile_choose_window(Planner *p);
Block tile_window_steps(Tile *tile, const TilePart *row, LocalId acc);
/* tile_traversal.c: whether tiles go along another loop of the result before they go on. That loop
 * around a tile; its blocks around all tiles. */
void tile_choose_traversal(Planner *p);
Block tile_traversal(const Tile *tile, Block one);
Block tile_traversal_blocks(const Tile *tile, Block all);
/* tile_invariant.c: the value that is stored of a cell, with what rows share in locals that `body`
 * sets. */
const Value *tile_invariant(Tile *tile, const Value *value, Body *body);
/* tile_block.c: all tiles, in blocks or not. `inner`: loops of the result from there on run inside
 * the columns. */
Block tile_all(Tile *tile, uint32_t inner);
Block tile_part_loop(const Tile *tile, const Loop *loop, const TilePart *part, Block body);
/* All tiles, where the packed operand is copied block by block (tile_panel.c). `inner`: loops of
 * the result from there on run inside a block. */
Block tile_panels(Tile *tile, uint32_t inner);
/* The part's loop within the present block, of the columns or rows from `first` on. */
Block tile_within(const Tile *tile, const Loop *loop, const TilePart *part, IterVar first,
		  int64_t block, Block body);
Block tile_only_if(const Tile *tile, CondKind kind, const Ix *a, const Ix *b, Block body);
bool tile_rows_blocked(const Tile *tile, const TilePart *part);
/* Where blocks end: behind the whole tiles, or behind all of an extent that is not known. */
const Ix *tile_blocks_end(const Tile *tile, const Loop *loop, const TileParts *parts);
/* Blocks from 0 to `end`; those of rows and columns store cells of their own. */
Block tile_over_blocks(const Tile *tile, IterVar first, const Ix *end, int64_t block, Block body);
/* Where a block begins that also holds what is left behind the whole tiles. */
int64_t tile_last_block(const Tile *tile);
/* Row or column of a tile's first cell. */
const Ix *tile_first(const Tile *tile, const Loop *loop, const TilePart *part);
/* The loops over the sum, or over its present block, around a body. */
Block tile_steps(const Tile *tile, Block body);
/* The body where the sum so far is in the result; where the sum is complete, or is not. */
Block tile_unless_first(const Tile *tile, Block body);
Block tile_if_last(const Tile *tile, bool last, Block body);
/* tile.c: nothing chosen; is the nest a contraction that register tiles fit, and in which? Their
 * code; one tile. */
Tile tile_new(Nest *nest, Op reduce);
bool tile_choose(Nest *nest, Op reduce, Tile *tile);
void tile_emit(Tile *tile);
Block tile_one(Tile *tile, const TilePart *row, const TilePart *col);
/* The code of one tile of rows x cols cells whose first one is at by_iter. */
Block tile_along(Tile *tile, int64_t rows, int64_t cols);
/* tile_lane_tree.c: can lanes of so many cells be added up several cells at a time? */
bool tile_may_lane_tree(const Tile *tile, int64_t rows, int64_t cols);
/* The sums over all lanes of acc[r, c, lane], for as many cells as a vector has lanes, the first of
 * which is `base`, row by row of `cols`: a local of one vector. */
LocalId tile_lane_tree(Tile *tile, Body *body, LocalId acc, int64_t cols, int64_t base);
/* A number as an index; an index plus an iterator; an element of a local. A local of the sums'
 * type; a loop of a kind. */
const Ix *tile_const(const Tile *tile, int64_t value);
const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter);
const Value *tile_local(const Tile *tile, LocalId local, const Ix *const *ixs, uint32_t nixs);
LocalId tile_declare(const Tile *tile, const char *name, const int64_t *extents, uint32_t rank);
Block tile_unroll(const Tile *tile, LoopKind kind, IterVar iter, int64_t extent, Block body);
/* The statement for so many lanes. */
Block tile_in_lanes(const Tile *tile, int64_t lanes, const Stmt *stmt);
/* The value over the loops as by_iter has them, added to the cell. */
Block tile_add(Tile *tile, const Value *cell);
/* Do vector instructions compute a value from what is read; and where they widen what it reads? */
bool tile_is_simple(const Value *value);
bool tile_in_vectors(const Value *value);
/* A loop over the cells of the tile at hand, those that its columns are filled up with too. */
Block tile_over_cells(const Tile *tile, Block body);
/* Loops over its rows and columns. */
Block tile_over(const Tile *tile, LoopKind rows, LoopKind lanes, Block body);
/* tile_index.c: a whole number as a sum of iterators, but for what wraps; NULL: it is none. Is that
 * not above what i32 holds, or not below, in every cell? */
const Ix *tile_index_of(const Tile *tile, const Value *value);
bool tile_index_fits(const Tile *tile, const Ix *ix, bool below);
/* The value with comparisons of indices as those of the lane's number, where they are such; is a
 * value what these compare? */
const Value *tile_numbers(const Tile *tile, const Value *value);
bool tile_is_number(const Tile *tile, const Value *value);
/* tile_masked.c: the loops over the sum of the tile at hand, where any of its cells is seen. */
Block tile_unless_masked(const Tile *tile, Block steps);
/* tile_fission.c: do vector instructions compute what is stored of a cell? */
bool tile_is_in_vectors(const Tile *tile, const Value *value);
/* Does something else follow from its sums, so that it is stored in several passes? These. */
bool tile_needs_fission(Tile *tile, const Value *sum);
Block tile_finish_in_fission(Tile *tile, const Value *sum);
/* What follows from the finished sum, stored; from all sums of `height` x `width` cells, in
 * lanes. */
Block tile_store(Tile *tile, const Value *sum);
Block tile_finish(Tile *tile, const Value *cell);

#endif
