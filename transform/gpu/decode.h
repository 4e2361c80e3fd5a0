/* Attention of few rows, of which the keys go in slices: what decode_expand.c reads off kernels, decode_find.c finds in
 * it, and decode.c makes loops of, those of clusters in decode_cluster.c. */
#ifndef TSR_TRANSFORM_GPU_DECODE_H
#define TSR_TRANSFORM_GPU_DECODE_H

#include "transform/gpu/attention.h"

enum { SEGMENTS_MOST = 4, MEMBERS_MOST = 12, STORES_MOST = 4 };

/* What a fold is to attention: the sum of a score's products, the maximum of a row, the sum of its weights, that of weights
 * times values; or something else, of the row's own. */
typedef enum FoldUse { FOLD_OTHER, FOLD_SCORE, FOLD_TOP, FOLD_TOTAL, FOLD_SUM } FoldUse;

/* local = acc of all `value`, iter from 0 to extent. */
typedef struct Fold {
	LocalId local;
	Op acc;
	IterVar iter;
	Sym name; /* of the loop */
	Size extent;
	const Value *value;
	bool inside; /* another fold's value is made of it */
	FoldUse use;
	uint32_t segment;	/* of all but OTHER */
	const Value *factor; /* SUM: it times all of it, or (`divides`) what divides it; NULL: 1 */
	bool divides;
} Fold;

/* Neighbouring keys, such as those of a cache, or those that are new: scores of queries and keys, what is seen of them, and
 * values. A weight is exp(seen - top). */
typedef struct Segment {
	IterVar key, step; /* step: of the elements of a query and a key */
	Sym name; /* of the loop over keys */
	Size keys;
	int64_t steps;
	LocalId score; /* in `seen` */
	const Value *seen, *top;
	const Value *query, *key_value, *value;
	Dtype weights; /* what these are rounded to before they multiply values */
	LocalId top_local, total_local, sum_local;
} Segment;

/* What a kernel stores of rows and columns, in its own tables, and the kernels that it alone makes use of. */
typedef struct Decode {
	Kernel kernel; /* with the iterators and locals of what follows */
	VEC(Fold) folds; /* one behind those that it is made of */
	const Stmt *stores[STORES_MOST];
	const Value *stored[STORES_MOST];
	uint32_t nstores;
	uint32_t members[MEMBERS_MOST]; /* the other kernels, */
	uint32_t nmembers;
	BufferId buffers[MEMBERS_MOST]; /* and what they store */
	uint32_t nbuffers;
	Segment segments[SEGMENTS_MOST];
	uint32_t nsegments;
	const Stmt *column; /* the grid's innermost loop: elements of a value */
	int64_t columns;
	const Stmt *rows[GRID_LOOPS], *batch[GRID_LOOPS]; /* the others: those that share keys, or do not */
	uint32_t nrows, nbatch;
	int64_t nqueries; /* iterations of all rows */
} Decode;

/* What the kernels of a routine do, by number; by buffer its maker, UINT32_MAX: none, or several. */
typedef struct DecodeFacts {
	const uint32_t *makers;
	const uint8_t *levels; /* 1: it takes exponents or maxima; 2: it sums what such a kernel stores */
	const bool *products;
} DecodeFacts;
DecodeFacts decode_facts(const Joins *joins);

/* decode_expand.c: what kernel `number` stores of folds, with what kernels store for it alone in place of loads; false: some
 * of it is something else. Requires: a kernel of the routine. */
bool decode_expand(const Joins *joins, const DecodeFacts *facts, uint32_t number, Decode *decode);
/* decode_find.c: Is it attention of a few rows, as far as the program says how many? */
bool decode_find(const Joins *joins, const DecodeFacts *facts, uint32_t number, Decode *decode);

/* ... Is it one of the other kernels? */
bool decode_has_member(const Decode *d, uint32_t kernel);

/* Keys of a slice, and blocks of a cluster, which have slices in turn; 0 blocks: each slice is a block's of the grid. */
typedef struct DecodeCut {
	int64_t keys, blocks;
} DecodeCut;

/* decode.c: Do such slices fit into the shared memory of a block, and are operands read by wide accesses?
 * Makes the kernels of the slices, one for each segment, and lets `kernel` put together what they come to; or of a
 * cluster's blocks `kernel` alone. */
typedef struct DecodeWanted {
	const Decode *decode;
	DecodeCut cut;
	uint32_t routine;
} DecodeWanted;
bool decode_fits(const Transform *t, const Decode *decode, DecodeCut cut);
void bind_decode(const Transform *t, Kernel *kernel, const DecodeWanted *wanted, Kernel *slices);

/* decode_choose.c: which slices, where kernel `number` is such attention and that pays; NULL: it is left. */
typedef struct DecodeChosen {
	const Decode *decode;
	DecodeCut cut; /* keys 0: there is none */
} DecodeChosen;
const DecodeChosen *decode_choose(const Joins *joins, const DecodeFacts *facts, uint32_t number);
/* ... Makes the slices, and of the kernel what they come to, in the place of those that it alone makes use of, and writes it into
 * the schedule; its number is the one that is returned then. Requires: what was chosen of it, and kernels as they were. */
uint32_t decode_make(Joins *joins, const DecodeChosen *chosen, uint32_t number);

#endif
