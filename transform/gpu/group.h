/* Products in tiles by warpgroups: what tile.c, group.c and mma_group.c share. */
#ifndef TSR_TRANSFORM_GPU_GROUP_H
#define TSR_TRANSFORM_GPU_GROUP_H

#include "transform/gpu/tensor.h"
#include "transform/gpu/tiling.h"

/* mma_group.c: what the warps of warpgroups do in a round, with a stage of the ring; and behind the last one. */
typedef struct GroupRound {
	const Stmt *full, *wait, *empty; /* before the products, and behind them */
	const Ix *rows, *columns;	 /* where the stage begins */
	int64_t row_part, column_part;	 /* elements from one part of an operand to the next */
} GroupRound;
Block mma_group(Tiling *g, const GroupRound *round);
Block mma_group_end(Tiling *g);

/* group_boxes.c: whether the result is stored in boxes, where threads have lanes of it, and their buffer; its bytes; matrices
 * of a warp's sums that one has. */
void group_boxes(Tiling *g, bool has_lanes);
int64_t group_boxes_bytes(const Tiling *g);
int64_t group_box_matrices(const Tiling *g);
/* The loop over those of a warp, number `row`, from a row and a column on. */
Block group_box_loop(Tiling *g, IterVar box, const Ix *row, const Ix *row_at, const Ix *column_at,
		     Block body);

/* group_operands.c: the tensor of an operand's part; taps are axes of it, or, where it goes through them as through one, one at the innermost. */
bool group_tensor(Program *program, const Product *product, const GroupSum *sum, bool rows,
		  int part, TmaTensor *t);

/* group.c: sides, rings and sums of a tile by warpgroups; all rounds of the sum. Requires: group_fits. */
void group_set_up(Tiling *g);
void group_rounds(Tiling *g, Body *body);

#endif
