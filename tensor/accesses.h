/* Projections from accesses that are there. */
#ifndef TSR_TENSOR_ACCESSES_H
#define TSR_TENSOR_ACCESSES_H

#include "tensor/tensor.h"

/* What a piece writes and reads, in iterators of another projection. */
typedef struct PieceAccesses {
	const Access *result;
	const Access *const *args;
} PieceAccesses;

/* A projection with the iterators of `old` that accesses mention, in that order; those that a piece's result does not have are
 * reduced there. What else it says is the caller's. It belongs to the arena. */
Proj *accesses_proj(Arena *arena, const Proj *old, const PieceAccesses *pieces, uint32_t npieces,
		    uint32_t nargs);

/* The index that is the iterator. It belongs to the arena. */
Index index_of_iter(Arena *arena, Sizes *sizes, IterId iter);

/* Lists the iterator among those of the piece, once. Requires: room for it. */
void piece_list_iter(Piece *piece, IterId iter);

/* The access whose indices, which are known to be inside, are not checked again. It belongs to the arena. */
Access access_without_checks(Arena *arena, const Access *access);
/* The same of all accesses of a projection. */
Proj *proj_without_checks(Arena *arena, const Proj *proj);

#endif
