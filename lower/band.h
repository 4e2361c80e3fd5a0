/* A band: kernels that share rows, computed a block of rows at a time, so that what goes between
 * them is as small as a block. Private to band*.c, tile.c, tile_square.c, value.c, nest_set_up.c,
 * kernel.c, produce.c and routine.c.
 *
 *   scores[h, s, t] = sum of q[h, s, d] * k[h, t, d]   for h
 *   p[h, s, t] = softmax of scores over t                turned[d, t] = k[h, t, d]
 *   y[h, s, d] = sum of p[h, s, t] * v[h, t, d]          for first in 0..S step 64
 *                                                          scores[s, t], p[s, t] of 64 rows
 *                                                          y[h, first + s, d]
 */
#ifndef TSR_LOWER_BAND_H
#define TSR_LOWER_BAND_H

#include "lower/nest.h"

enum {
	BAND_DIMS = 8,
	BAND_ROOTS = 16,
	BAND_BEFORE = 16,
	BAND_ENDS = 4,
	BAND_FIXED = -2, /* instead of a dim: an axis that is read at one index */
	BAND_PLACES = BAND_ROOTS + BAND_ENDS
};

/* An axis that every kernel of the band walks along in the same way. In each kernel of the band the
 * iterator of dim i has number i; that of the rows is the block's first row. */
typedef struct BandDim {
	Sym name;
	Size extent;
	bool dropped; /* it was none */
} BandDim;

/* A kernel of the band. */
typedef struct BandRoot {
	NodeId root, nest; /* what it computes; the node whose projection its loops follow */
	int *dims;	   /* by axis of the result: a dim, or -1 */
	bool kept; /* others read it too: a cell a row, which is stored where it always is */
	Sym name;  /* of the kernel at hand, where it is stored there */
} BandRoot;

/* An operand that is read, with an index an axis. */
typedef struct Seen {
	NodeId node;
	const Ix *const *axes;
} Seen;

typedef struct SeenList {
	Seen *at;
	size_t n, cap;
} SeenList;

/* A contraction that reads an operand from outside, of which every block reads all of its rows'
 * dims. */
typedef struct BandEnd {
	NodeId nest;
	SeenList seen; /* operands of the sum */
	int *dims;     /* by IterId: a dim, or -1 */
} BandEnd;

/* An operand that is copied with the columns as its last axes. */
typedef struct BandTurned {
	NodeId node;
	const Ix *const *axes; /* as it is read */
	int *dims;	       /* by axis: a dim, BAND_FIXED, or -1 */
	int *order;	       /* by axis: its position in the copy; -1: it has none */
	int nsums, naxes;      /* positions: those of sums, which are the first ones; all */
} BandTurned;

/* Where a tensor is within the band: a block of its rows, or a copy with its axes in another order.
 */
typedef struct BandPlace {
	NodeId node;
	BufferId buffer;
	int *dims;		/* by axis: a dim, BAND_FIXED, or -1 */
	Size *strides;		/* by axis */
	const Ix *const *fixed; /* by axis: the index of those that are BAND_FIXED */
} BandPlace;

typedef struct Band {
	BandDim dims[BAND_DIMS];
	uint32_t ndims;
	bool single;   /* no kernel has a loop over the rows: there is one */
	uint32_t rows; /* the dim that goes in blocks; the others have one cell at a time */
	int64_t block; /* rows of a block */
	Size height;   /* rows of the blocks at hand */
	BandRoot roots[BAND_ROOTS];
	uint32_t nroots;
	NodeId before[BAND_BEFORE]; /* between the roots, but of no concern to them: computed first
				     */
	uint32_t nbefore;
	BandEnd ends[BAND_ENDS];
	uint32_t nends;
	BandTurned turned[BAND_ENDS];
	uint32_t nturned, nturns; /* contractions that read these */
	bool in_place; /* the blocks at hand have few rows: tiles turn what others read a copy of */
	uint32_t nsquared; /* contractions of theirs that do so */
	BandPlace places[BAND_PLACES];
	uint32_t nplaces;
	bool failed; /* an access did not fit a place: what was emitted is of no use */
} Band;

/* The longest band that begins with a root; false: none. */
bool band_find(Lower *lower, NodeId root, Band *band);
/* What goes in blocks of how many rows, and what is copied; false: it does not pay. */
bool band_choose(Lower *lower, Band *band, const ScheduleClause *asked);
/* band_turn.c: adds the operand of a contraction that rows leave where it is to those that are
 * turned, where that pays; its axes are `dims` of the band, as in BandTurned. */
void band_choose_turned(Lower *lower, Band *band, const BandEnd *end, const Seen *seen, int *dims);
/* Is the operand a parameter along the sum that a dim moves? Its panels are for tiles of no band,
 * which add up in another order than those that read the parameter. */
bool band_hides_panels(const Lower *lower, const BandEnd *end, const Seen *seen, const int *dims);
/* Are rows so few, as a number, that they wait for no copies? */
bool band_has_few(const Lower *lower, const Band *band);
/* Are the rows a batch axis of the first contraction's result? */
bool band_is_batch(const Lower *lower, const Band *band);
/* The root of the band that a node is; NULL: it is none. */
const BandRoot *band_root(const Band *band, NodeId node);
/* Its kernels, appended to the routine in place of those of its roots; false: nothing was done. */
bool band_emit(Lower *lower, Band *band);

/* Writes down that the kernel of a root is asked to be in no band, where it is. */
void band_describe_off(Lower *lower, NodeId root);
/* Writes `band off` down for those that could have begun the band and did not: a schedule that asks
 * for the band would begin it there. */
void band_describe_passed(Lower *lower, const Band *band);

/* ---- while a kernel of the band at hand (lower.band) is emitted ---- */

/* The dim that an iterator of the nest runs along; -1: none. */
int band_dim_of(const Nest *nest, IterId iter);
/* The iterators where they are in the whole tensors. */
const Ix *const *band_whole(const Nest *nest);
/* Where the tensor is, read or stored at these indices; NULL: where it always is. */
const BandPlace *band_place(const Lower *lower, NodeId node, const Ix *const *axes);
const Ix *band_index(Gen *gen, const BandPlace *place, const Ix *const *axes);
/* A place of that name for a node. */
BandPlace *band_add_place(Lower *lower, NodeId node, Sym name, const int *dims);
/* band_turned.c: elements from one row of a place to the next, an odd number of cache lines where
 * rows are long, since rows a power of two apart would meet in few sets of the first cache. */
Size band_row_stride(const Lower *lower, Size row, Dtype dtype);
/* The place of a copy; the kernel that fills it. */
void band_place_turned(Lower *lower, const BandTurned *turned);
void band_emit_turned(Lower *lower, const BandTurned *turned, const BandPlace *place);

#endif
