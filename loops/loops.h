/* The loop IR: what every back end sees, and all that it sees.
 *
 *   program := params consts buffers checks kernels routines
 *   routine := dims scalars inputs outputs, guards, then kernels in order; one workspace
 *   loop    := neighbouring kernels of a routine, and loops, that run in steps
 *   buffer  := kind dtype elements [place]         flat, row-major, in elements of its dtype
 *   kernel  := name, iterators, locals, stmt
 *   stmt    := KIND ITER in [lo, hi) step stmt*    hi <= lo: no iteration; KIND: for, unroll, vector, parallel
 *            | parallel ITER in [0, hi) slot SLOT of n stmt*
 *            | for ITER in [lo, hi) step outlined stmt*  a function of its own
 *            | vector ITER in [0, hi) of n stmt*          lanes from hi <= n on do nothing
 *            | grid ITER in [0, hi) [of n] stmt*          threads of a GPU, n of a block side by side
 *            | grid ITER in [0, hi) [turn TURN of n] [raster n] stmt*    its order; blocks that take turns
 *            | cluster ITER in [0, n) stmt*               blocks of one cluster of a GPU
 *            | block ITER in [0, n) [behind m] stmt*      threads of one block of a GPU, from the thread m on
 *            | warp ITER in [0, n) stmt*                  threads of a warp of a GPU
 *            | matrix ITER in [0, n) stmt                 rows of a product of matrices (loops/matrix.h)
 *            | group ITER in [0, n) stmt                  products of a warpgroup (loops/group.h)
 *            | barrier [cluster]                          threads of a block, or of a cluster, wait for each other
 *            | async BUF[ix] = BUF[ix] [if COND && ...]   a copy to shared memory, of 0 where a condition fails
 *            | commit                                     ends a group of a thread's copies
 *            | wait N                                     all but the last N groups have come
 *            | wait products N                            all but the last N loops of a group are done
 *            | copy BUF[ix] = BUF[ix of N in size by size, ...] at MBARRIER, ix    boxes of a tensor by TMA
 *            | copy BUF[ix] = BUF[ix of N in size by size, ix from N step N of size in size by size, ...] windows ix of N
 *              at MBARRIER, ix                            ... windows of one (loops/group.h)
 *            | arrive MBARRIER, ix [bytes N]              a thread has come to a completion
 *            | await MBARRIER, ix                         ... waits for it
 *            | if COND && ... stmt*
 *            | local L : DTYPE [d, ...] = value    every element is set to value
 *            | local L : DTYPE [t, ... | d, ...] = value   each thread of a block has one
 *            | local L : DTYPE [..., m, n] ROLE of MATRIX = value   the threads of a warp hold each matrix together
 *            | L[ix, ...] (ACC)= value
 *            | BUF[ix] (ACC)= value                       BUF of i4 or u4: ix even, a u8 of two elements
 *            | stream BUF[ix] = BUF[ix]                   past the caches
 *            | check lo <= ix < hi, CHECK          else the routine returns that check's code
 *            | prefetch [near] BUF[ix]             a hint: ix may be outside BUF; near: to the first cache
 *   value   := BUF[ix] | L[ix, ...] | constant | op(value, ...) | fast op(value, ...) | far op(value, ...) | cast(value) | key(value)
 *            | index(ix) | scalar S
 *   ix      := size | ITER | ix + ix | ix * ix | ix / ix (floor) | ix % ix (floored) | min | max | int(value)
 *   cond    := ix < ix | ix <= ix | ix == ix
 *
 * A value has one dtype, and so have the arguments of an op: conversions are explicit. An
 * accumulation `x ACC= v` is x = ACC(x, v) in x's dtype. bf16 and f16 are loaded, cast and stored; ops are
 * wide, but those of integers that loops/vector/narrow.c makes, in i8, u8, i16 and u16, which no buffer has. A constant of u4x32 is an integer's: its upper two words are 0. Iterators
 * and index arithmetic are int64. Sizes are expressions over the routine's dims.
 *
 * `fast op` is op of arguments that `far op`, i32, is 0 of: then its fast path, if it has one, gives the
 * same bits. To the interpreter none is far.
 *
 * `key(x)`, of f32 an i32 and of f64 an i64, is in the order of x: 0 of both zeros, the greatest integer of
 * NaN.
 *
 * A schedule is data here: the kind of a loop says how a back end runs it, and every kind means the
 * same as LOOP_SERIAL to the interpreter. The bounds of UNROLL and VECTOR are constants.
 *
 * A VECTOR loop runs its statements one after another, each for all lanes: its body holds no loops,
 * no conditions and no checks, and indices move by 0 or 1 a lane, those of locals on one axis: the
 * last, or the first of two in a local that is read transposed. A local may also be read at indices
 * with / and % of the lane: each lane one of its own. Those of buffers, where nothing is added to
 * them, move by up to LANES_STRIDE (of AVX-512, stores of up to LANES_MASKED are masked vectors);
 * loads of 4 bytes and of 2 bf16 a lane by as many.
 *
 * With `of n` a VECTOR loop has n lanes, and hi is any index: the lanes behind it are masked. Its body
 * is locals and stores of floats.
 *
 * A MATRIX loop, over rows, holds one loop over words that is unrolled, and that one VECTOR loop of one
 * statement: each lane adds the products of a word, 4 of bytes or 2 of bf16, of a row's word that lanes share
 * and of the lane's own, to acc[r, lane]. Back ends may run it as instructions that multiply matrices, where
 * the loops around it that hold nothing else leave acc in the processor.
 *
 * A serial loop of a local that is loaded, element after element, and of conditions under which it is stored to the end of
 * a list, or in front of it, back ends may run as instructions that store the lanes of a mask next to each other
 * (codegen/compaction.h).
 *
 * What is OUTLINED takes no local from outside, has no check, and is in no loop that is unrolled or
 * outlined.
 *
 * A PARALLEL loop stands at the top of a kernel, or under conditions there, from 0, with at most 2^30
 * iterations, without checks or locals from outside; no two iterations touch one element that either stores. The
 * interpreter watches that. With `slot SLOT of n` at most n iterations run at a time, and those
 * have different numbers 0 <= SLOT < n. What an iteration reads of a scratch buffer it has stored
 * itself.
 *
 * A GRID loop, from 0 to a size, is the only statement of its kernel, or of the GRID loop around it, but that another
 * grid of the same blocks, of prefetches alone, may stand in front of a kernel's own: a block runs it before it waits for the
 * kernels in front. Such loops are one iteration a thread of a GPU. `of n` says how many of them lie in one block along the loop
 * (1 without it), the innermost loop fastest; a block has the product of these numbers. No two iterations
 * touch one element that either stores, and nothing is scratch. Checks may stand in them: the least code of
 * those that fail is the kernel's. The interpreter watches that too. A kernel without is one thread's.
 *
 * A grid has a block for each iteration of all its loops, in their order; with `raster n` on the last but one of them
 * n iterations of it are made for each one of the loop inside, so that neighbouring blocks read the same. With `turn TURN
 * of n` on the innermost there are n blocks at most: each makes one iteration after another, of which TURN counts those
 * before. Threads of different loops of a block, which mbarriers keep from each other, go on to their next turn each
 * at its own pace; there is no BARRIER then. What is shared stays from turn to turn, and only places in it and
 * completions are made of TURN.
 *
 * BLOCK loops make an iteration of the grid a block's: n threads run one such loop, or, where one is all
 * that another one holds, as many as both have together, the inner loop fastest. What stands outside of them
 * all threads do, each for itself: it stores nothing, and GRID loops around have one thread. No two iterations
 * of a BLOCK loop touch one element that either stores, nor set a local of outside. A `shared` buffer is the
 * block's own: scratch, of a constant size, without a place in the workspace.
 *
 * CLUSTER loops make an iteration of the grid a cluster's: n blocks run one such loop, an iteration each. The
 * innermost GRID loop holds them alone, of one n, each with a `barrier cluster` behind. No two iterations of one
 * touch one element that either stores, but in shared buffers, of which each block has its own. Of a shared buffer of
 * `cluster n` each has a part, iteration i the i-th, which the others read: an index into it is a multiple of a
 * part's elements, which says the block, and a rest below them. Only the block itself stores there. So a block
 * neither reads what another has not stored yet, nor ends, or goes on to the grid's next iteration, before the others
 * have read what it stored.
 *
 * BARRIER stands outside of BLOCK loops. Between two barriers, or the ends of the grid's iteration, what one
 * thread stores no other touches; where a loop holds barriers, its rounds follow each other.
 *
 * An ASYNC store, of 16 bytes by a VECTOR loop in a loop of a block, may be made at any time until
 * its thread waits for its group: what it stores nobody touches before that, and no other thread
 * before a BARRIER behind.
 *
 * A STREAM store is the only statement of a serial loop in which it and what it loads go on by one element: back ends run
 * the loop as one copy that leaves no line of the result in the caches, and reads none of it before. What it stores is seen by
 * other threads when the iteration of the PARALLEL loop around, or the kernel, ends.
 *
 * A local with axes in front of a bar is private: each thread of a block has one, and BLOCK loops with those
 * numbers of threads touch their own, at their iterators. It stands outside of BLOCK loops, and nothing
 * outside of them touches it. Where the innermost of them has 32 threads, a warp, they may read what another
 * thread of the warp has, at any index but an iterator: by an assignment that all of them make, to another
 * local, as the value or as an argument of its operation (loops/verify_exchange.c).
 *
 * A local with a ROLE is matrices, its last two axes: an operand or the sums of an instruction of
 * target/matrix.def. What is set to an operand is rounded to the instruction's format. WARP loops
 * stand in loops of a block, two or three of them each the only statement of the one around, and
 * alone touch such locals; 32 threads share out their iterations. With two a nest is for each
 * element of matrices, which it has at its iterators, or for each two of sums, which are lanes of a
 * VECTOR loop in it, or a load of a matrix from shared memory; with
 * three it adds a product of matrices to sums, as tensor cores add (matrix_sum). No two threads
 * touch one element that either stores: fragment.h.
 *
 * COPY stores a box of a tensor, in one of the threads of a block: for all numbers below the N of each axis, the first
 * axis the fastest, buf[ix], buf[ix + 1], ... is the element at the axes' indices and those numbers, times the
 * strides, or 0 where one of these is not below its axis' size. It stores them at any time until a completion of the
 * MBARRIER has been awaited.
 *
 * An UNROLL loop `through BUFFER[IX] to BUFFER[AXES]` is one of boxes of a result, of the warps of a warpgroup:
 * group.h.
 *
 * A buffer of `arrivals N` is a ring of mbarriers: the elements take completions in turn, number v the element v modulo
 * its elements. A completion is there when N threads (iterations of loops of a block around, where those hold loops of a
 * warp warps) have arrived, and the bytes have come that they said would; nothing is below 0. AWAIT waits for it. So
 * threads that stand in different loops of a block go on each at its own pace, and the rounds of a loop around both
 * need no BARRIER: mbarriers.h.
 *
 * A `swizzled` buffer is shared, of bf16, f16 or f32; copies store to it, of f32 what is rounded to tf32, and products of a
 * warpgroup read it, nothing else touches it. The hardware stores 16 bytes of each 128 elsewhere there, which only these two see.
 *
 * On a GPU a VECTOR loop stands in a loop of a block or of a grid, and its lanes are whole 16 bytes of what they
 * touch, or 8, or two lanes 4; of buffers those begin at a multiple of as many elements.
 *
 * Trees are immutable once built: passes rebuild. Sub-trees may be shared.
 */
#ifndef TSR_LOOPS_LOOPS_H
#define TSR_LOOPS_LOOPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/ops.h"
#include "base/size.h"
#include "base/source.h"
#include "base/symbol.h"
#include "loops/kernel.h"
#include "target/target.h"

#define BUFFER_NONE UINT32_MAX
#define PARAM_NONE UINT32_MAX

/* PACKED: a copy or a function of parameters and constants in the state, stored by Program.pack
 * alone. */
typedef enum BufferKind {
	BUFFER_INPUT,
	BUFFER_OUTPUT,
	BUFFER_PARAM,
	BUFFER_CONST,
	BUFFER_TEMP, /* loaded by no kernel before one, or it itself, stores it */
	BUFFER_PACKED
} BufferKind;

typedef struct Buffer {
	BufferKind kind;
	Sym name;      /* as in messages and dumps */
	Span span;     /* TEMP: of the tensor; SPAN_NONE: the span of the kernel that stores it */
	uint32_t site; /* of the tensor, for its place in the program's own file */
	BufferId home; /* itself, or the one that took what it held */
	Dtype dtype;
	Size elements;
	uint32_t routine; /* INPUT, OUTPUT, TEMP: whose it is */
	/* INPUT, OUTPUT: position in its list; PARAM, CONST, PACKED: index into the table */
	uint32_t arg;
	/* TEMP, PACKED: bytes from the start of workspace or state, a multiple of 64; in the state also
	 * those of Program.init on a CPU */
	Size offset;
	/* TEMP: holds nothing between iterations of a loop at the top of a kernel */
	bool scratch;
	bool shared; /* TEMP, scratch: of the threads of a block */
	bool padded; /* TEMP: there is room behind each of its rows, which nothing reads */
	bool panels; /* TEMP, PACKED: of an operand, as clauses `pack` and `prepack` say */
	bool swizzled;	  /* shared: as TMA stores and warpgroups read it */
	int64_t cluster; /* shared: blocks that have a part each, in the order of their numbers; 0: each has its own */
	int64_t arrivals; /* shared: of each completion of its mbarriers; 0: it is none */
} Buffer;

/* The dtype of what a store gives: of i4 and u4, u8. */
Dtype buffer_stored(const Buffer *buffer);

/* A tensor's type for headers and tables: axes in storage order, batch then output then input. */
typedef struct TensorType {
	Dtype dtype;
	uint32_t nbatch, noutput, ninput;
	Size *sizes;	  /* nbatch + noutput + ninput */
	Sym *labels;	  /* likewise; NULL entries: none */
	const char *text; /* "f32 [n | 28, 28, 1]" */
} TensorType;

typedef struct TensorArg {
	Sym name;
	Span span; /* of a result: where the program names it */
	TensorType type;
	BufferId buffer;
} TensorArg;

/* COMPUTED: by a kernel of Program.init. */
typedef enum ParamInit { PARAM_UNIFORM, PARAM_CONSTANT, PARAM_COMPUTED } ParamInit;

typedef struct ProgramParam {
	Sym name;
	TensorType type;
	Size offset; /* bytes from the state's start, a multiple of 64 */
	ParamInit init;
	double value; /* CONSTANT */
	Size fan_in;  /* UNIFORM in +-1/sqrt(fan_in) */
	uint64_t key; /* XXH64 of the name, seed 0 */
	BufferId buffer;
	bool changes; /* a routine assigns to it */
} ProgramParam;

typedef struct ProgramConst {
	Sym name;
	TensorType type;
	const void *bytes; /* elements * dtype_bytes, native order */
	int64_t count;
	BufferId buffer;
} ProgramConst;

typedef enum CheckKind { CHECK_EQ, CHECK_GE, CHECK_DIVIDES, CHECK_INDEX } CheckKind;

/* A condition checked at run time: of sizes at the entry, or of gathered indices (INDEX). Its code
 * is TSR_CHECK_FIRST + its id. */
typedef struct Check {
	CheckKind kind;
	Size a, b;
	Span span;
	const char *text;
} Check;

#define CHECK_NONE UINT32_MAX

typedef struct ScalarParam {
	Sym name;
	Dtype dtype;
	DimId dim; /* of this routine alone, which is its value from the entry on; DIM_NONE */
} ScalarParam;

typedef struct ProgramRoutine {
	Sym name;
	Span span;
	DimId *dims; /* the symbolic dims that it takes, in order of declaration */
	uint32_t ndims;
	const bool *
		written; /* by dim: is the shape of an input written with it? NULL: none; C*0 is 0 */
	ScalarParam *scalars;
	uint32_t nscalars;
	TensorArg *inputs, *outputs;
	uint32_t ninputs, noutputs;
	CheckId *guards; /* of sizes, checked first, in order */
	uint32_t nguards;
	KernelId *kernels;
	uint32_t nkernels;
	Size workspace; /* bytes */
} ProgramRoutine;

/* Temporaries of one size and type. */
typedef struct BufferPair {
	BufferId a, b;
} BufferPair;

/* Neighbouring kernels of one routine run in order, again and again: in each step `step` has the next
 * value, from 0, or, `down`, the one before, to 0. It ends after so many steps, or after as many as `made` holds
 * before the first, where these are fewer, or behind one that leaves `until` other than 0. Behind each step the buffers of a pair
 * change places, one pair behind the other: each has what the other held. */
typedef struct ProgramLoop {
	Span span;
	uint32_t parent; /* the loop that it is in, a lower number; 0: none */
	DimId step;	 /* in sizes of its kernels alone */
	Size count;
	bool down;
	BufferId until, made;	     /* one i32; BUFFER_NONE */
	const BufferPair *exchanges;
	uint32_t nexchanges;
} ProgramLoop;

enum { PACK_STAMP = 0x70735254 };

/* Products of f32: as on a CPU, of sums of two numbers of tf32, of numbers rounded to tf32. */
typedef enum F32Matmul { F32_IEEE, F32_3XTF32, F32_TF32 } F32Matmul;

typedef struct Program Program;
struct CodeOptions; /* codegen/codegen.h */

/* What is asked of the loops, beside a schedule. */
typedef struct LowerOptions {
	const Target *target;
	const struct GpuTarget *gpu; /* NULL: for a CPU */
	int64_t grain; /* operations worth a thread's while; 0: one thread */
	bool prepack;  /* may the state hold copies of parameters? */
	bool pairs; /* may sums of bf16 be of pairs? Where the target has them and --fp allows it */
	/* of products on a GPU: may tensor cores add terms? What are those of f32? After how many terms do sums go to f32
	 * additions (0: never; -1: what is usual)? */
	bool tensor_cores;
	F32Matmul f32_matmul;
	int64_t promote;
	const int64_t *max_workspace; /* bytes that a routine may ask for; NULL: any */
	/* Runs the kernels of `pack`, which may store to constants, with the bits that code has under `code`: did all go
	 * well? NULL: no function is computed while compiling. */
	bool (*interpret_pack)(const Program *program, const struct CodeOptions *code);
	const struct CodeOptions *code;
} LowerOptions;

/* What of a program is computed while compiling so far: about how many operations, and bytes of results. */
typedef struct Evaluation {
	int64_t work, bytes;
} Evaluation;

typedef struct Schedule Schedule; /* schedule.h */

/* Where a function is applied; the first is the file itself. */
typedef struct ProgramSite {
	Span span;
	uint32_t parent; /* the application that this one is in; 0: none */
} ProgramSite;

struct Program {
	Arena *arena;
	Symbols *symbols;
	Sizes *sizes;
	const Sources *sources;
	const char *path; /* of the program's own file */
	const ProgramSite *sites;
	VEC(Buffer) buffers;
	VEC(Kernel) kernels;
	VEC(Check) checks;
	uint32_t nguards; /* the first checks: of sizes, as inference found them */
	VEC(ProgramParam) params;
	VEC(ProgramConst) consts;
	VEC(ProgramRoutine) routines;
	VEC(ProgramLoop) loops; /* at[0]: none */
	/* stores the state's copies of parameters; without kernels: there are none */
	ProgramRoutine pack;
	/* stores the parameters that are COMPUTED, from one scalar, the seed, and those that have other
	 * first values; without kernels: there are none. Its temporaries lie in the state, where
	 * the copies of parameters will; for a GPU in a workspace. */
	ProgramRoutine init;
	Size state;	   /* bytes */
	Size stamp;	   /* with copies: where the 4 bytes PACK_STAMP stand once they are made */
	DimId *state_dims; /* dims that the state's size and its first contents need */
	uint32_t nstate_dims;
	/* Have temporaries and copies in the state their places, routines their workspaces, dims and
	 * guards? All after the last pass, none before. */
	bool placed;
	bool changed; /* Did the pass that made it change anything? */
	LowerOptions options;
	Schedule *made; /* what was chosen for the kernels */
};

/* Bytes of the elements, in whole cache lines. */
Size bytes_aligned(Sizes *sizes, Size elements, Dtype dtype);
/* A constant, a parameter that no routine assigns to, or what is packed: does no routine but `pack` store it? */
bool buffer_stays(const Program *program, const Buffer *buffer);
/* Nothing touches the temporary any more: it has no elements. */
void buffer_forget(Program *program, BufferId buffer);
/* The routine of a number; past the last: `pack`, then `init`. */
const ProgramRoutine *program_routine(const Program *program, uint32_t index);

/* Aborts (BUG) on a program that breaks the grammar above: dtypes, scopes of iterators and locals, ids,
 * ranks, accumulations; verify.h tells instead. */
void loops_verify_grammar(const Program *program);
/* ... and on an index that is shown to leave its buffer (bounds.h). */
void loops_verify(const Program *program);
/* An index as in that text. */
void ix_print(FILE *out, const Program *program, const Kernel *kernel, const Ix *ix);
/* The text of docs/ir.md: pseudo-code, one statement a line; loops/parse.h has its grammar. */
void loops_dump(FILE *out, const Program *program);

/* Fills the dims of the parameters' axes, also of those without elements, whose bytes need none, and
 * those of `init`, which its initial values depend on: PREFIX_state_size and PREFIX_init take them. */
void program_list_state_dims(Program *program);

/* Does the relation of sizes hold, which no routine runs without? False too where a size has no
 * value. Requires that it is no check of indices. */
bool program_guard_holds(const Program *program, CheckId guard, const int64_t *dims);

#endif
