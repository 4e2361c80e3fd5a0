/* Elements of a tile's sums: what tile.c, mma_sums.c and attention do with each. */
#ifndef TSR_TRANSFORM_GPU_ELEMENTS_H
#define TSR_TRANSFORM_GPU_ELEMENTS_H

#include "transform/gpu/tiling.h"

/* tile.c: another local of sums, of which each thread has its own tile. */
LocalId tiling_sums(Tiling *g, const char *name);
/* The statements for an element, with its sum in front. */
Block tiling_finish(const Tiling *g, const Value *sum, const Ix *row, const Ix *column);
/* ... for each; those of four neighbours from `quad` on, of which j counts, as far as there are such columns. */
Block tiling_elements(Tiling *g);
Block tiling_four(const Tiling *g, IterVar j, const Ix *quad, Block body);

/* What is done with an element of the sums, at a row and a column of the tile. */
typedef struct ElementVisit {
	Block (*make)(void *of, const Value *element, const Ix *row, const Ix *column);
	void *of;
	bool wide; /* does it store four neighbours in a row at once? */
} ElementVisit;
/* tile.c: what is given for each element of sums. */
Block tiling_each(Tiling *g, const ElementVisit *visit);
/* mma_sums.c: of sums by matrix instructions the statements for each element; what is given for each. */
Block mma_elements(Tiling *g);
Block mma_each(Tiling *g, const ElementVisit *visit);

/* cluster.c: what blocks of a cluster do, of which the body so far makes the sums of a slice. */
Block cluster_elements(Tiling *g);
/* ... Adds what each of so many blocks does, and their barrier. */
void cluster_add(const Tiling *g, Body *all, IterVar block, int64_t blocks, Block body);

#endif
