/* Attention as one kernel: what attention_find.c finds and attention.c makes loops of. */
#ifndef TSR_TRANSFORM_GPU_ATTENTION_H
#define TSR_TRANSFORM_GPU_ATTENTION_H

#include "loops/rewrite.h"
#include "transform/gpu/join.h"
#include "transform/gpu/tile.h"

enum { SAME_MOST = GRID_LOOPS + 1 };

/* A maximum over keys, a sum of exp(seen - top) over them, and what is stored for each. */
typedef struct Softmax {
	const Kernel *kernel;
	const Stmt *loops[3]; /* over the keys: of the maximum, the sum, and what is stored */
	LocalId top, total;
	const Value *seen;
	const Stmt *store;
	const Value *factor;
	bool divides;
	ValueTwin *twins; /* what locals are set to */
	uint32_t ntwins, nloops;
} Softmax;

/* Iterators of one kernel, and those of another that stand for them. */
typedef struct SameIters {
	IterVar of[SAME_MOST], to[SAME_MOST];
	uint32_t n;
} SameIters;

/* attention_find.c: indices of two kernels at the same place: the iterators that move both by as much. False: there are others.
 * ... The one that stands for it; UINT32_MAX: none does. */
bool same_iters(Program *program, const Ix *of, const Ix *to, SameIters *same);
IterVar same_iter(const SameIters *same, IterVar of);

typedef struct AttentionParts {
	Softmax softmax;
	const Kernel *scores;
	SameIters of_softmax, of_scores; /* in the last kernel */
} AttentionParts;

/* Three kernels that are one:
 *
 *   scores[b, row, key] = sum of queries[b, row, k] * keys[b, key, k], and more of that element
 *   top = max of seen, total = sum of exp(seen - top), weights[b, row, key] = exp(seen - top) / total
 *   y[b, row, j] = sum of weights[b, row, key] * values[b, key, j], and more of that element
 *
 * where `seen` is made of the score: a mask hides some. All in the tables of the last one, whose iterators are
 * those of the rows and the keys. */
typedef struct Attention {
	Kernel kernel;
	Product scores, result;
	IterVar row, key;
	const Value *seen;  /* of `scores.declared->local`, the sum of the score's products */
	LocalId total;	    /* in `factor` */
	const Value *factor; /* of all weights of a row: they are exp(seen - top) times it, */
	bool divides;	     /* or divided by it */
	/* the keys that a row sees are those up to row + `seen_up_to`; NULL: there is no such limit */
	const Ix *seen_up_to;
	AttentionParts *parts;
	uint32_t numbers[2];  /* the other kernels, */
	BufferId buffers[2]; /* and what they store */
} Attention;

/* attention_find.c: Is kernel `number` the last of such three? Only `parts`, the products' sizes and who they are is
 * known then. Requires: a kernel of the routine. */
bool attention_find(const Joins *joins, uint32_t number, Attention *found);
/* attention_carry.c: all three in the tables of the last. */
void attention_carry(const Joins *joins, Attention *found);

typedef struct AttentionWanted {
	const Attention *attention;
	const GpuAttention *tile;
	uint32_t routine;
} AttentionWanted;

/* Bytes of shared memory that it has. Requires: depth and columns are known. */
int64_t attention_shared(const Program *program, const Attention *found, const GpuAttention *tile);
/* Has a block a thread for each element of a query or a key that do not lie side by side? Requires the same. */
bool attention_copies(const Program *program, const Attention *found, const GpuAttention *tile);
/* Makes the kernel. */
void bind_attention(const Transform *t, Kernel *kernel, const AttentionWanted *wanted);

/* Has an axis so many elements that tiles pay along it, or does no one know how many? */
static inline bool is_long(const Transform *t, Size size)
{
	int64_t n;
	return !size_is_const(t->program->sizes, size, &n) || n >= t->options->gpu->tile_least;
}

#endif
