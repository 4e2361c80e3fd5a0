/* A launch while it runs: blocks of one cluster at a time, their threads, what they wait for.
 *
 * A thread runs until it waits, ends, or has used its turn; the threads of a cluster take turns in the order of the
 * schedule. What a warp does at once waits for the last of its threads, which does it for all. A turn in which nobody
 * could run is a deadlock.
 */
#ifndef TSR_PTX_RUN_H
#define TSR_PTX_RUN_H

#include "test/ptx/ptx.h"
#include "test/ptx/tensor_map.h"

enum { WARP = 32, MOST_THREADS = 1024, BARRIERS = 16 };

typedef enum PtxWait {
	WAIT_NONE,
	WAIT_BARRIER,
	WAIT_CLUSTER,
	WAIT_COLLECTIVE,
	WAIT_TURN,
	WAIT_POLL, /* what it asked for was not so */
	WAIT_ENDED
} PtxWait;

/* An asynchronous copy that has not landed. */
typedef struct PtxCopy {
	uint64_t to, from;
	uint32_t group, bytes, read; /* read: the rest is zero */
} PtxCopy;

/* What is under way for the whole launch: a bulk copy, or an arrival behind the thread's copies. */
typedef struct PtxAsync {
	struct PtxThread *thread;
	PtxInstr *in;
	uint64_t to, from, mbarrier;
	uint32_t bytes, group;
	bool store, arrives, done;
	const PtxTensorMap *
		map; /* of a box of a tensor, which begins at these indices; NULL: bytes are copied */
	int32_t at[TENSOR_AXES];
	int32_t behind[TENSOR_WINDOWS]; /* of windows: how far into them, along each axis */
} PtxAsync;

/* Products of a warpgroup that are under way. */
typedef struct PtxProducts {
	struct PtxThread *threads; /* its first */
	PtxInstr *in;
	uint64_t a, b; /* descriptors */
	bool adds;
	uint32_t group;
} PtxProducts;

typedef struct PtxCall {
	const PtxFunction *function;
	uint64_t *regs;
	uint32_t pc, stack;
} PtxCall;

typedef struct PtxBlock PtxBlock;
typedef struct PtxRun PtxRun;

typedef struct PtxThread {
	PtxBlock *block;
	const PtxFunction *function;
	uint64_t *regs; /* of the frame */
	unsigned char *local;
	uint32_t pc, stack; /* stack: where the frame begins in local memory */
	uint32_t index;	    /* in the block */
	PtxWait wait;
	uint32_t barrier; /* that it waits for */
	bool carry;
	PtxCall *calls;
	uint32_t depth;
	uint32_t group; /* of copies: the one that is open */
	uint64_t phase; /* of the cluster's barrier that it has arrived at */
	uint32_t bulk_group;
	uint32_t products; /* of a warpgroup: the group that is open */
	uint32_t fences;   /* of proxies that it has made */
	bool follows;	   /* it has waited for the launch in front, if its own is early */
	VEC(PtxCopy) copies;
} PtxThread;

typedef struct PtxBarrier {
	uint32_t arrived, expected;
	uint64_t sum, all, any; /* of bar.red */
} PtxBarrier;

/* The last accesses to a byte of shared memory: see race.c. */
typedef struct PtxTouched {
	uint64_t write, read;
	uint64_t away; /* when the cluster had last met before another block read it */
	uint32_t proxy; /* who wrote it last, and how often that thread had fenced: see proxy.c */
} PtxTouched;

struct PtxBlock {
	PtxRun *run;
	PtxThread *threads;
	uint32_t nthreads, rank; /* rank: in its cluster */
	uint32_t at[3];
	unsigned char *shared;
	PtxTouched *touched;		      /* NULL: races are not looked for */
	uint64_t epoch;			      /* grows with every barrier of all threads */
	uint32_t synced[MOST_THREADS / WARP]; /* what each warp has done at once */
	uint64_t
		away; /* when the cluster had last met before another block touched its shared memory */
	bool loose; /* it waits by other means than barriers of all threads */
	PtxBarrier barriers[BARRIERS];
};

struct PtxRun {
	const PtxLaunch *launch;
	PtxReport *report;
	PtxMemory *memory;
	Arena *arena;
	PtxBlock *blocks; /* of a cluster */
	uint32_t nblocks, nthreads, shared_bytes;
	uint32_t arrived;		     /* at the cluster's barrier */
	uint64_t epoch, random, fuel, phase; /* phase: how often all have arrived */
	uint64_t met;			     /* the epoch when all had last arrived, or begun */
	VEC(PtxAsync) asyncs;
	VEC(PtxProducts) products;
	bool failed;
};

/* run.c */
/* Until it waits, ends or has used its turn. False: it did nothing. */
bool ptx_thread_run(PtxThread *thread);
const PtxInstr *ptx_thread_at(const PtxThread *thread);
/* Tells what the thread did, once; the launch ends. */
void ptx_fault(PtxThread *thread, PtxFault fault, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t ptx_random(PtxRun *run);

/* access.c: where these bytes are, or NULL after a fault. */
typedef enum PtxAccess { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } PtxAccess;
unsigned char *ptx_touch(PtxThread *thread, PtxInstr *in, PtxSpace space, uint64_t address,
			 uint32_t bytes, PtxAccess access);

/* race.c: false after a fault. offset: in the shared memory of `owner`. */
bool ptx_race(PtxThread *thread, PtxBlock *owner, uint64_t offset, uint32_t bytes,
	      PtxAccess access);
/* ... The thread ends. */
void ptx_race_end(PtxThread *thread);

/* proxy.c: a thread writes these bytes; a copy to global memory will read them. False: a fault. Requires of the first:
 * races are looked for. */
bool ptx_proxy_write(PtxThread *thread, PtxBlock *owner, uint64_t offset, uint32_t bytes);
bool ptx_proxy_sees(PtxThread *thread, uint64_t from, uint32_t bytes);

/* barrier.c */
void ptx_barrier(PtxThread *thread, const PtxInstr *in, uint32_t which, uint32_t count,
		 uint64_t value);
/* What all threads wait for, where none can run. */
void ptx_deadlock(PtxRun *run);

/* warp.c: the thread has come to an instruction that its warp does at once. */
void ptx_collective(PtxThread *thread, PtxInstr *in);

/* matrix.c: ldmatrix, stmatrix, mma of the threads of a warp. */
bool ptx_matrix(PtxThread *const *lanes, PtxInstr *in);

/* group.c: a thread has come to a product of its warpgroup; products of all groups but the last `under_way` are made; are
 * there any others? */
void ptx_group_multiply(PtxThread *thread, PtxInstr *in);
void ptx_group_wait(PtxThread *thread, int64_t under_way);
bool ptx_group_works(const PtxThread *thread);

/* tensor_copy.c: the copy that the instruction asks for, with the bytes that it counts for; what it does. False: a
 * fault. */
bool ptx_tensor_begin(PtxThread *thread, PtxInstr *in, PtxAsync *copy);
bool ptx_tensor_copy(PtxThread *thread, PtxInstr *in, const PtxAsync *copy);

/* mbarrier.c. False: the thread waits, or has failed. */
bool ptx_mbarrier(PtxThread *thread, PtxInstr *in);
void ptx_bulk(PtxThread *thread, PtxInstr *in);
void ptx_bulk_wait(PtxThread *thread, int64_t under_way);
/* Do copies that the thread asked for still read shared memory? */
bool ptx_bulk_reads(const PtxThread *thread);

/* copy.c. late: does what is asynchronous happen as late as it may? */
bool ptx_late(PtxRun *run);
void ptx_copy_begin(PtxThread *thread, PtxInstr *in, uint64_t to, uint64_t from, uint64_t read);
void ptx_copy_commit(PtxThread *thread);
/* Copies of all groups but the last `under_way` land; -1: all, even those of no group. */
void ptx_copy_wait(PtxThread *thread, PtxInstr *in, int64_t under_way);

/* An operand's value. */
static inline uint64_t ptx_value(const PtxThread *t, int32_t at)
{
	return at >= 0 ? t->regs[at] : t->function->consts.at[~at];
}

#endif
