/* While a row block is looked for (row_block.c): the root at hand, and what may follow. */
#ifndef TSR_LOWER_ROW_BLOCK_FINDER_H
#define TSR_LOWER_ROW_BLOCK_FINDER_H

#include "lower/row_block.h"

/* A contraction that reads nothing of the row block, and whose result is read at its rows. */
typedef struct RowBlockProducer {
	NodeId node;
	const int *dims; /* by axis of its result */
} RowBlockProducer;

typedef struct Finder {
	Lower *lower;
	RowBlock *row_block;
	SeenList sum, rest; /* of the root at hand: operands of the sum, and of what follows it */
	const Proj *proj;
	int *dim_of; /* by IterId */
	bool ends;   /* it sums over what is there */
	int summed;  /* the iterator of its sum that runs along a dim; -1: none */
	RowBlockProducer producers[ROW_BLOCK_ENDS]; /* that are taken in where they come */
	uint32_t nproducers;
	bool alone; /* there are to be none */
} Finder;

/* What may follow behind a contraction that is not the last one. */
typedef enum Way {
	WAY_NONE, /* nothing: it is the last one */
	WAY_RESULTS, /* what reads no result: further contractions, and sums over the rows; what these read beside it */
	WAY_WIDE, /* all, and contractions beside the first one join */
	WAYS
} Way;

/* Fills in the operands of the sum of a root, and of what follows it, over iterators with the numbers of the
 * projection, none of which runs along a dim so far. */
void row_block_look(Finder *f, NodeId root);
/* May the node be a root; is it a contraction? */
bool row_block_may_be_root(const Lower *lower, NodeId id);
bool row_block_is_contraction(const Lower *lower, NodeId root);
/* May the iterator of the root at hand run along the dim, and no other?
 * Requires: a dim of the row block. */
bool row_block_may_run(const Finder *f, const Ix *ix, int dim);
/* Appends the root at hand; a contraction with an operand from outside. */
void row_block_add_root(Finder *f, NodeId root);
void row_block_keep_end(Finder *f, NodeId root);

/* row_block_producers.c: takes in a contraction that reads nothing of the row block, but an operand of the first
 * one at the same rows: scores of other keys for the same queries. False: it is none such. */
bool row_block_join_end(Finder *f, NodeId id);
/* Finds contractions that the root at hand reads at its rows, also through what is computed before; false: no new
 * one. */
bool row_block_find_producer(Finder *f);
/* Takes the node in that was found so; false: it was not. */
bool row_block_take_producer(Finder *f, NodeId id);

#endif
