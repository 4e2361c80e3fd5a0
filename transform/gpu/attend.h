/* Attention on its way to loops: what attention.c and attention_round.c share. */
#ifndef TSR_TRANSFORM_GPU_ATTEND_H
#define TSR_TRANSFORM_GPU_ATTEND_H

#include "transform/gpu/attention.h"
#include "transform/gpu/elements.h"

typedef struct Attend {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	const Attention *found;
	const GpuAttention *tile;
	uint32_t routine;
	GpuTile score_tile, result_tile;
	Tiling scores, result; /* the products' tiles */
	IterVar round;
	BufferId seen, weights, factors,
		parts;	      /* shared; without tensor cores `seen` are the weights */
	LocalId tops, totals; /* of a part of each row */
	int64_t nparts, registers;
	bool ahead; /* are keys and values of the next round on their way while threads work on one? */
} Attend;

static inline const Value *attend_real(const Attend *d, double x)
{
	return value_const(d->arena, DTYPE_F32, (Scalar){.f = x});
}

/* attention_round.c: the scores of a round, as rows see them; the weights that they become, behind a barrier; the sums of
 * these times values, behind another. */
void attend_scores(Attend *d, Body *body);
void attend_weights(Attend *d, Body *body);
void attend_sums(Attend *d, Body *body);
/* Where there is a last key, which those behind it are read as. */
Block attend_if_keys(const Attend *d, Block body);
/* Behind all rounds: what weights have in common; sums of no keys stay 0. */
void attend_totals(Attend *d, Body *body);

#endif
