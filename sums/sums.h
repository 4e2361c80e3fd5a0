/* In which order a reduction adds: decided here for all that make loops of it, from what every
 * member of a batch has in common.
 *
 *   in turn    acc = acc + term, one after another, in the order of the loops
 *   in lanes   partial sums side by side, of terms that follow each other along the last loop:
 *
 *     steps       0 .. 64            .. 96          .. 104          .. 107
 *     along j     64 lanes, whole    16 lanes       8 lanes, 4 ..   one after another
 *     added to    acc[0..64)         acc[0..16)     part8, part4    rest
 *
 *     acc[l] = (acc[l] + acc[l + 16]) + (acc[l + 32] + acc[l + 48])      64 lanes become 16
 *     acc[l] = acc[l] + acc[l + 8], then + part8[l]; the same of 4       16 become 4
 *     sum    = ((acc[0] + acc[1]) + (acc[2] + acc[3])) + rest            the least are pairs
 *
 *   in parts   all elements side by side, `rows` steps of the one reduced loop at a time, in parts of
 *              `part_rows` steps each; or each element in `rows` lanes of its own
 *
 *     lane[r*elements + c] += term of step s + r of element c, for s in steps of `rows`
 *     lane[..] of all parts one after another; then of all r in pairs, pairs of pairs; then + rest
 *
 *   in runs    what a long axis comes to at each of its places: runs of `run` places, each in turn
 *              from the neutral element on, which begin where all runs before them end
 *
 *     y[s*run + i]  = before[s] + (x[s*run] + ... + x[s*run + i])      the first run adds no `before`
 *     before[s + 1] = before[s] + sum of run s
 *
 * Nothing here knows how many members a batch has: a loop's extent is that of one of them, and
 * whether an extent is known counts as much as what it is.
 */
#ifndef TSR_SUMS_SUMS_H
#define TSR_SUMS_SUMS_H

#include "base/ops.h"
#include "base/size.h"
#include "target/target.h"

typedef struct SumLoop {
	Size extent; /* of one member; 1 where the loop goes over members alone */
	bool reduced;
	bool guarded; /* an index that may leave its axis moves with it */
	bool bounded; /* ... and ends there as the innermost of the loops that move it */
} SumLoop;

/* What lies where: by how many elements each loop moves to another one. SIZE_BAD: not by a number
 * of elements. */
typedef struct SumRead {
	const Size *by; /* by place of the loop */
} SumRead;

/* What is known of a reduction where its loops are made. */
typedef struct SumFacts {
	Sizes *sizes;
	const Target *target;
	Op reduce;
	Dtype dtype;	      /* that is added in */
	bool batched;	      /* the result has batch axes */
	const SumLoop *loops; /* outermost first: those of the result, then the reduced ones */
	uint32_t nloops, nresult;
	const SumRead *reads; /* elements that a term is made from, those that are shared first */
	uint32_t nreads;
	SumRead store;
	uint32_t nguards;
	bool guards_stay; /* each ends a reduced loop */
	bool has_lanes;	  /* vector instructions have the reduction */
	/* of a term: vector instructions make it of what is read; it has parts that are computed
	 * once; it reads one element, however often; the loops' numbers are in it; random words
	 * are */
	bool in_vectors, shares, reads_one, counts, words;
	int64_t short_most; /* terms of a sum that is one expression, as far as elements that it reads */
	bool asked;	    /* who makes it is asked for, and need not pay */
	uint32_t nelements; /* that a term reads, each once */
	bool row_block;	    /* the loops are part of a block of rows */
	bool independent;   /* no element is added to from two places of the loops of the result */
} SumFacts;

enum { SUM_ASSUMED = 32 }; /* of an extent that is not known, where work is counted */
/* Lanes of a sum of products hold so many bytes, whatever the widest vector is. */
enum { SUM_LANES_BYTES = 64 };

/* Who makes the loops. */
typedef enum SumWay {
	SUM_WAY_PARTS,	/* lanes_parts.c: few elements, side by side or each in lanes of its own */
	SUM_WAY_ACROSS, /* tiles whose lanes are elements of the result */
	SUM_WAY_ALONG,	/* tiles whose lanes are steps of the last loop */
	SUM_WAY_LANES,	/* lanes.c: the last loop in lanes, element by element */
	SUM_WAY_SHORT,	/* nest/short.c: one expression */
	SUM_WAY_LOOPS,	/* plain loops */
} SumWay;

typedef enum SumForm { SUM_NONE, SUM_IN_TURN, SUM_IN_LANES, SUM_IN_PARTS, SUM_IN_RUNS } SumForm;

/* An order, over the reduced loops as they are nested. */
typedef struct SumOrder {
	SumForm form;
	bool from_first;   /* IN_TURN: begins with the first term, not with the neutral element */
	bool scattered;	   /* IN_TURN: elements are met from several places: all loops decide */
	int64_t group;	   /* terms along the last loop that are added up before; 1: none are */
	int64_t matrix;	   /* ... as many where an instruction takes them at once; 0: none does */
	int64_t wide;	   /* IN_LANES: so many first, 0: none; then */
	int64_t lanes;	   /* IN_LANES, IN_PARTS */
	int64_t least;	   /* IN_LANES: halves of lanes end there, what is left is added in pairs */
	bool halves;	   /* IN_LANES: of a known extent what is left goes in halves of lanes, down
			    to the least */
	bool far;	   /* IN_LANES: elements are no neighbours */
	bool vectors;	   /* IN_PARTS: lanes are those of vector instructions */
	bool own_lanes;	   /* IN_PARTS: each element has lanes of its own, lane[c*rows + r] */
	int64_t elements;  /* IN_PARTS: side by side where they do not */
	int64_t rows;	   /* IN_PARTS: steps that fill the lanes, a power of two */
	int64_t part_rows; /* IN_PARTS: steps of a part */
	Size whole;	   /* IN_LANES, IN_PARTS: steps in lanes, but for those in halves */
	Size nparts;	   /* IN_PARTS; SIZE_BAD: there are none */
	int64_t run;	   /* IN_RUNS: places */
	int64_t turn_most; /* IN_RUNS: an axis of no more places is added in turn */
} SumOrder;

/* The order in which the reduction adds where it is made in a way; form NONE: it is not made so.
 * ACROSS, LANES and LOOPS: the loops are in their final order; ALONG: the one that lanes run along
 * is `along`.
 *
 * Who makes it is asked for in this order, so that the order follows from the facts:
 *
 *   PARTS            where it may be
 *   ACROSS, ALONG    where tiles fit and pay (lower/tile/plan.c): across where sums_runs says so of
 *                    a loop of the result; else along, unless sums_transposes, which is across
 *   SHORT            where it may be
 *   LANES            where the innermost loop is reduced (sums_innermost) and it may be
 *   LOOPS            else
 *
 * What is chosen by cost today, and decides on an order: whether tiles pay at all (work, reuse and
 * windows of one member); whether rows are transposed (lower/tile/plan.c, by cycles of one member);
 * whether copies of operands join loops (lower/pack_operand.c, lower/pad_choose.c); which reduced
 * loop is the last one (sums_innermost); pairs of bf16 (groups, where rows pay). All count one
 * member.
 */
SumOrder sums_order(const SumFacts *facts, SumWay way, uint32_t along);
/* The order of a sum over a window that is written out term by term: those inside of their axes, from the first on. */
SumOrder sums_window(void);
/* The order in which a cumulation adds along an axis of so many places, whatever the dtype and the
 * operation: IN_TURN or IN_RUNS. */
SumOrder sums_cumulate(const Sizes *sizes, Size extent);
/* May lanes of tiles run so along a loop, ACROSS or ALONG, as operands lie?
 * Requires: a loop of the facts. */
bool sums_runs(const SumFacts *facts, SumWay way, uint32_t loop);
/* May tiles go over the loop? Elements that several tiles add to take these in an order that is every
 * member's of a batch. Requires: a loop of the facts. */
bool sums_keeps(const SumFacts *facts, uint32_t loop);
/* Do lanes along a sum become lanes across a loop of the result, where the one operand that this
 * moves is copied? `steps` of the sum, `at_call`: the copy is made at every call. */
bool sums_transposes(const SumFacts *facts, uint32_t col, int64_t steps, bool at_call);
/* How often one member uses each element of an operand at least: the extents of the result that do
 * not move it, `assumed` for each that is not known. No more than are worth a copy and one loop.
 * Requires: a read of the facts. */
int64_t sums_uses(const SumFacts *facts, uint32_t read, int64_t assumed);
/* The loop to stand innermost: the one whose accesses are cheapest. Requires loops. `reduced`: only
 * reduced ones, where there are any. Without reduced loops, extents may be those of all members. */
uint32_t sums_innermost(const SumFacts *facts, bool reduced);
/* Terms of a sum that is written out as one expression; 0: it is not. */
int64_t sums_short_steps(const SumFacts *facts);
/* The extent of a loop for one member, `otherwise` where it is not known or the loop goes over
 * members alone. Requires: a loop of the facts. */
int64_t sums_extent(const SumFacts *facts, uint32_t loop, int64_t otherwise);
/* Does a reduction over a short last axis, of `last` steps, and over others before one that stays go
 * in two stages, the outer ones first? `outer` steps of these; -1: not known. */
bool sums_in_stages(Dtype dtype, int64_t last, int64_t outer);

/* Sums of products of several operands are those of pairs where that takes fewer steps: as many
 * steps as it takes to store so many elements of a pair, and to read them again. There an extent that is
 * not known, or is that of a batch, counts SUM_ASSUMED. */
double sums_pair_cost(double elements);

/* A reduction as loops were made of it. */
typedef struct SumMade {
	uint32_t node, piece; /* of the tensor program; of the node's projection */
	Sym name;
	Op reduce;
	SumOrder order;
	const uint32_t *iters; /* reduced ones of the projection, outermost first */
	const Sym *names;      /* ... as they are called */
	uint32_t niters, last; /* so many of the last ones are the last loop, as one */
	Size extent;	       /* of the last loop */
} SumMade;

/* "k in lanes of 16, in halves", as docs/ir.md says it. */
const char *sum_text(Arena *arena, const Sizes *sizes, const SumMade *sum);
/* Steps of a loop that are taken `by` at a time, of an extent. */
Size sums_whole(Sizes *sizes, Size extent, int64_t by);

#endif
