/* libcuda_emu.so: the driver library's entry points over the interpreter of PTX, for tests of what uses them.
 *
 * Work of a stream is done when somebody waits for it, or, with TSR_EMU_SCHEDULE=reverse, at once: what is read or freed too
 * early shows. A failed launch spoils the context, as it does on a device: every call returns its code from then on. What
 * a kernel did wrong is told on stderr. The environment, read by cuInit:
 *
 *   TSR_EMU_SCHEDULE=forward|reverse|random:SEED   the order of threads, blocks, copies and nodes of graphs
 *   TSR_EMU_CC=9.0          the device's compute capability
 *   TSR_EMU_DRIVER=13000    what cuDriverGetVersion says, and so which PTX is accepted
 *   TSR_EMU_DEVICES=1       0: there is no device
 *   TSR_EMU_MEMORY=BYTES    of the device (2 GiB)
 *   TSR_EMU_FAIL=KIND:N,..  the Nth alloc, host (pinned memory), launch, module or graph fails
 *   TSR_EMU_RACES=0         accesses to shared memory without a barrier between them are no faults
 *   TSR_EMU_FUEL=N          instructions that a launch may take (4e9, some 30 seconds)
 *
 * Types and numbers are those of cuda.h, written anew: no header of the toolkit is needed.
 */
#ifndef TSR_PTX_EMU_H
#define TSR_PTX_EMU_H

#include "test/ptx/ptx.h"

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;

enum {
#define X(name, number, text) CUDA_##name = number,
#include "test/ptx/emu_errors.def"
#undef X
};

typedef enum EmuTag {
	TAG_CONTEXT = 0x7073,
	TAG_STREAM,
	TAG_EVENT,
	TAG_MODULE,
	TAG_FUNCTION,
	TAG_GRAPH,
	TAG_EXEC
} EmuTag;

typedef struct CUctx_st {
	EmuTag tag;
	unsigned long long id;
} * CUcontext;

typedef struct CUfunc_st {
	EmuTag tag;
	struct CUmod_st *module;
	const PtxFunction *kernel;
	int dynamic; /* bytes of shared memory that a launch may add */
	struct CUfunc_st *next;
} * CUfunction;

typedef struct CUmod_st {
	EmuTag tag;
	CUcontext context;
	PtxModule *module;
	CUfunction functions;
} * CUmodule;

typedef enum EmuWorkKind {
	WORK_NONE,
	WORK_LAUNCH,
	WORK_TO_DEVICE,
	WORK_TO_HOST,
	WORK_ON_DEVICE,
	WORK_SET,
	WORK_RECORD,
	WORK_WAIT,
	WORK_CALL
} EmuWorkKind;

typedef struct EmuWork {
	EmuWorkKind kind;
	CUfunction function;
	uint32_t grid[3], block[3], cluster[3], dynamic;
	bool early; /* it may begin before the launch in front of it has ended */
	unsigned char *
		params; /* a copy of the kernel's parameters, or of what is copied from pageable memory; owned */
	void **places; /* where each parameter stands in it; owned, or NULL */
	void *host;    /* memory of it, or what `call` is called with */
	void (*call)(void *data); /* of the host */
	CUdeviceptr to, from;
	size_t bytes;
	unsigned value, width;
	struct CUevent_st *event;
	uint64_t count;		    /* of the event: this record of it */
	struct CUstream_st *stream; /* that is waited for */
} EmuWork;

typedef struct CUevent_st {
	EmuTag tag;
	CUcontext context;
	struct CUstream_st *stream; /* in whose queue it is, or NULL */
	uint64_t count;		    /* of times that it was recorded */
	bool recorded;
	double at; /* milliseconds */
} * CUevent;

typedef struct EmuQueue {
	EmuWork *at;
	size_t n, cap;
} EmuQueue;

typedef struct CUstream_st {
	EmuTag tag;
	CUcontext context; /* NULL, the default one: any */
	unsigned flags;
	EmuQueue queue;
	struct CUgraph_st *capturing; /* NULL: it runs */
	int mode;		      /* of the capture */
	struct CUgraphNode_st *last;  /* of the graph that is captured */
	struct CUstream_st *next;
} * CUstream;

typedef struct CUgraphNode_st {
	struct CUgraph_st *graph;
	EmuWork work;
	struct CUgraphNode_st **after; /* what it waits for */
	size_t nafter, number;
	bool done;
} * CUgraphNode;

typedef struct CUgraph_st {
	EmuTag tag;
	CUgraphNode *nodes;
	size_t n, cap;
} * CUgraph;

typedef struct CUgraphExec_st {
	EmuTag tag;
	CUgraph graph; /* a copy of its own; node i is node i of the graph that it was made of */
	CUgraph origin;
} * CUgraphExec;

typedef enum EmuFail {
	FAIL_ALLOC,
	FAIL_HOST,
	FAIL_LAUNCH,
	FAIL_MODULE,
	FAIL_GRAPH,
	FAIL_COUNT
} EmuFail;

/* The process's device. Locked by EMU_ENTER. */
typedef struct Emu {
	bool ready;
	CUresult spoiled; /* what a failed launch has left, or 0 */
	PtxMemory memory;
	PtxSchedule schedule;
	uint64_t launches;
	int cc, driver, devices, retained;
	unsigned long long contexts; /* so many there have been */
	uint64_t fail_at[FAIL_COUNT], count[FAIL_COUNT];
	struct CUctx_st context;
	struct CUstream_st stream; /* the default one, and the first of all */
	char report[1200];
} Emu;

/* emu_state.c */
extern Emu emu;
void emu_lock(void);
CUresult emu_unlock(CUresult result);
/* The thread's. */
CUcontext emu_context(void);
/* The code of a call that may not go on, or 0. need_context: the thread has to have one. */
CUresult emu_may(bool need_context);
/* Counts a call of this kind; true: it is the one that fails. */
bool emu_fails(EmuFail kind);
void emu_tell(const char *text);

#define EMU_CALL(need_context, body)                                                 \
	do {                                                                         \
		emu_lock();                                                          \
		CUresult emu_result = emu_may(need_context);                         \
		return emu_unlock(emu_result != CUDA_SUCCESS ? emu_result : (body)); \
	} while (0)

/* emu_stream.c */
bool emu_is_stream(CUstream stream);
enum { CAPTURE_GLOBAL };
/* An error while a stream is captured in the mode that forbids all that may wait: allocations and loading. */
CUresult emu_may_wait(void);
/* Adds to the stream's queue or to the graph that it captures; takes what the work owns. */
CUresult emu_submit(CUstream stream, EmuWork work);
/* Does what the stream's queue holds. */
CUresult emu_finish(CUstream stream);
CUresult emu_finish_all(void);
void emu_work_free(EmuWork *work);
/* A copy with its own parameters; false: no memory. */
bool emu_work_copy(EmuWork *to, const EmuWork *from);

/* emu_launch.c: a launch with its parameters copied, checked; or what is wrong. */
CUresult emu_launch_work(EmuWork *work, CUfunction f, void **params);
CUresult emu_run(EmuWork *work);

/* emu_graph.c */
CUresult emu_graph_add(CUgraph graph, CUgraphNode *node, const CUgraphNode *after, size_t n,
		       EmuWork work);
CUgraph emu_graph_new(void);

#endif
