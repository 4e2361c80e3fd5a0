/* Kernels, statements, values and indices: the inner half of the loop IR, whose grammar stands in loops/loops.h. */
#ifndef TSR_LOOPS_KERNEL_H
#define TSR_LOOPS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/ops.h"
#include "base/size.h"
#include "base/source.h"
#include "base/symbol.h"
#include "target/matrix.h"

typedef uint32_t IterVar;  /* index into kernel.iters */
typedef uint32_t LocalId;  /* index into kernel.locals */
typedef uint32_t BufferId; /* index into program.buffers */
typedef uint32_t CheckId;  /* index into program.checks */
typedef uint32_t KernelId;

typedef struct Value Value;
typedef struct Ix Ix;
typedef struct Stmt Stmt;

typedef enum IxKind {
	IX_SIZE,
	IX_ITER,
	IX_ADD,
	IX_MUL,
	IX_DIV,
	IX_MOD,
	IX_MIN,
	IX_MAX,
	IX_VALUE
} IxKind;

struct Ix {
	IxKind kind : 16;
	bool reads; /* it holds a VALUE */
	union {
		Size size;    /* SIZE */
		IterVar iter; /* ITER */
	};
	const Ix *a, *b;
	const Value *value; /* VALUE: an integer value */
};

typedef enum ValueKind {
	VALUE_LOAD,
	VALUE_LOCAL,
	VALUE_CONST,
	VALUE_OP,
	VALUE_FAR,
	VALUE_CAST,
	VALUE_KEY,
	VALUE_INDEX,
	VALUE_SCALAR
} ValueKind;

struct Value {
	ValueKind kind;
	Dtype dtype;
	Op op;		      /* OP, FAR */
	bool fast_path;	      /* OP: its arguments are in the fast path's range */
	const Value *args[3]; /* OP, FAR; CAST, KEY: args[0] */
	uint32_t nargs;
	BufferId buffer;      /* LOAD, at ix */
	LocalId local;	      /* LOCAL, at ixs */
	const Ix *ix;	      /* LOAD, INDEX (converted to dtype) */
	const Ix *const *ixs; /* LOCAL */
	uint32_t nixs;
	Scalar constant; /* CONST */
	Span span;	 /* OP: the source that asked for it, as far as it is known */
	uint32_t scalar; /* SCALAR: the routine's argument */
};

typedef enum CondKind { COND_LT, COND_LE, COND_EQ } CondKind;

typedef struct Cond {
	CondKind kind;
	const Ix *a, *b;
} Cond;

typedef enum LoopKind {
	LOOP_SERIAL,
	LOOP_UNROLL,
	LOOP_VECTOR,
	LOOP_PARALLEL,
	LOOP_GRID,
	LOOP_CLUSTER,
	LOOP_BLOCK,
	LOOP_WARP,
	LOOP_MATRIX,
	LOOP_GROUP
} LoopKind;

typedef enum LoopStmtKind {
	LOOP_FOR,
	LOOP_IF,
	LOOP_LOCAL,
	LOOP_SET,
	LOOP_STORE,
	LOOP_CHECK,
	LOOP_PREFETCH,
	LOOP_BARRIER,
	LOOP_COMMIT,
	LOOP_WAIT,
	LOOP_COPY,
	LOOP_ARRIVE,
	LOOP_AWAIT
} LoopStmtKind;

/* One axis of a tensor, of which a copy takes `box` elements from `at` on; those from `extent` on are 0. Of a copy of windows
 * an axis behind the first has `windows` of them, `step` apart, the first at `low`; `at` is from where a window begins on. */
typedef struct TensorAxis {
	const Ix *at;
	Size extent, stride; /* stride: elements between neighbours */
	int64_t box;
	Size windows;
	int64_t low, step; /* step 0: none */
} TensorAxis;
enum { TENSOR_AXES_MOST = 5 };

enum { CLUSTER_MOST = 8 }; /* blocks that every GPU with clusters runs together */
enum { SLOTS_MAX = 64, LANES_STRIDE = 64, LANES_MASKED = 4, LANES_OF = 64 };

typedef struct Block {
	const Stmt *const *stmts;
	uint32_t n;
} Block;

/* Of a serial loop, until it is cut (lower/row_block_masks.c): outside of lo..hi it does `masked` instead, nothing where that has
 * no statements; lo..hi may be taken wider, as whole runs of iterations. */
typedef struct LoopMask {
	const Ix *lo, *hi; /* NULL: the loop's own */
	Block masked;
	int64_t run;
} LoopMask;

struct Stmt {
	LoopStmtKind kind;
	Span span;    /* the source that asked for it: debug lines */
	IterVar iter; /* FOR */
	LoopKind loop;
	const Ix *lo, *hi; /* FOR, CHECK */
	int64_t step;	   /* FOR, > 0 */
	/* FOR: no iteration stores an element that another touches, but in scratch buffers */
	bool independent;
	/* stores other elements than the statements before it in its block, from the last one that is
	 * not disjoint on, and neither reads what the others store */
	bool disjoint;
	/* FOR, where nslots > 0: PARALLEL: a slot of at most SLOTS_MAX; GRID: a block's turn, of nslots blocks */
	IterVar slot;
	int64_t nslots;
	int64_t raster; /* FOR, GRID: iterations that are made for each one of the loop inside; 0: one */
	const LoopMask *mask; /* FOR; NULL: all of it */
	bool outlined;	   /* FOR, SERIAL: back ends may make a function of it */
	int64_t lanes;	   /* FOR, VECTOR: of which those from hi on are masked; 0: none is */
	int64_t threads; /* FOR, GRID: of a block along the loop; BLOCK: that stand before its first */
	/* IF: all must hold; STORE, async: where one does not, 0 is stored and nothing read */
	const Cond *conds;
	uint32_t nconds;
	Block body;	      /* FOR, IF */
	LocalId local;	      /* LOCAL, SET */
	const Ix *const *ixs; /* SET */
	uint32_t nixs;
	BufferId buffer;    /* STORE, PREFETCH, COPY; FOR of boxes: the shared one they go through */
	const Ix *ix;	    /* STORE, CHECK, PREFETCH, COPY, FOR of boxes: of the first element */
	bool async;	    /* STORE: of what is loaded, there behind a WAIT for its group */
	bool stream;	    /* STORE: of what is loaded, past the caches */
	int64_t pending;    /* WAIT: groups that may not have come */
	bool products;	    /* WAIT: of products of a warpgroup, not of copies */
	const TensorAxis *
		axes; /* COPY, of the tensor that `value` loads the first element of; FOR of boxes, UNROLL, of `tensor`: of the
			 first box; the innermost first */
	uint32_t naxes;
	const Ix *window; /* COPY of windows: the number of the first one; NULL: it has none */
	BufferId tensor; /* FOR of boxes: what iterations store */
	BufferId
		mbarrier; /* COPY, ARRIVE, AWAIT, at the number `visit` of all that complete there */
	const Ix *visit;
	int64_t bytes;	    /* ARRIVE: of copies that belong to it */
	bool cluster;	    /* BARRIER: of all threads of a cluster's blocks */
	bool near;	    /* PREFETCH: to the first cache, not to the second */
	Op acc;		    /* SET, STORE: OP_NONE or an operation */
	const Value *value; /* LOCAL, SET, STORE, COPY */
	CheckId check;	    /* CHECK */
};

typedef struct KernelIter {
	Sym name;
} KernelIter;

enum { LOCAL_AXES = 6 };

typedef struct KernelLocal {
	Sym name;
	Dtype dtype;
	uint32_t rank;	    /* 0: one scalar */
	uint32_t extent[LOCAL_AXES]; /* constants: registers, not memory */
	uint32_t nthreads; /* the first axes that number threads of a block, each with its own */
	MatrixRole
		role; /* the last two axes are a matrix that the threads of a warp hold; NONE: not */
	MatrixOp matrix; /* ... an operand or the sums of that instruction */
} KernelLocal;

/* Is the element of a private local that of another thread of the warp? */
static inline bool is_of_warp(const KernelLocal *local, const Ix *const *ixs)
{
	return local->nthreads > 0 && ixs[local->nthreads - 1]->kind != IX_ITER;
}

typedef struct Kernel {
	Sym name; /* from the tensor it makes; unique in the program; a C identifier */
	Span span;
	KernelIter *iters;
	uint32_t niters;
	KernelLocal *locals;
	uint32_t nlocals;
	Block body;
	uint32_t site; /* the application that it comes from, among Program.sites */
	bool alone;    /* is not to be fused with others over the same rows */
	uint32_t loop; /* among Program.loops: the innermost one that it is in; 0: none */
} Kernel;

#endif
