/* tsr: what a compiled model exports, and libtsr, which loads and runs one.
 *
 * A compiled model needs none of this: its own header declares plain C functions. This header is
 * for programs that load models by name. The part between the guards TSR_CALL_H stands in every
 * generated header too. C99 and C++.
 */
#ifndef TSR_H
#define TSR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TSR_CALL_H
#define TSR_CALL_H
/* What a caller may pass to a routine; NULL will do. The routine writes *message (when `message` is
 * not NULL) with a static text whenever it returns a code other than 0 and TSR_BAD_CALL. */
typedef struct tsr_call {
	uint32_t abi; /* TSR_ABI */
	uint32_t flags; /* 0; TSR_NO_GRAPH, of code for a GPU */
	const char **message;
	/* Runs task(arg, i) for i in [0, n), on any threads; NULL: serially. */
	void (*parallel)(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg);
	void *pool;
} tsr_call;
enum {
	TSR_ABI = 2,
	TSR_NO_GRAPH = 1, /* launches go to the device one by one, not as a graph */
	TSR_OK = 0,
	TSR_BAD_CPU = 1,     /* the module was built for a CPU with other features */
	TSR_BAD_DIM = 2,     /* a dim is negative, below its declared minimum, or too large */
	TSR_BAD_POINTER = 3, /* a needed pointer is NULL or not aligned */
	TSR_BAD_CALL = 4,    /* the call's abi is not TSR_ABI, or its flags are not 0 */
	TSR_NOT_PACKED = 5,  /* the module's `pack` was never called on the state */
	TSR_NO_DEVICE = 6,   /* of code for a GPU: there is no driver, or no GPU that runs it */
	TSR_BAD_DEVICE = 7,  /* of code for a GPU: the driver failed, as when memory is short */
	TSR_CHECK_FIRST = 16 /* + k: the k-th check of the module's table failed */
};
/* Elements of type bf16 and f16 are their bits: the upper half of a float, and IEEE 754
 * binary16. */
typedef uint16_t tsr_bf16;
typedef uint16_t tsr_f16;
#endif
#ifndef TSR_F8_H
#define TSR_F8_H
/* Those of f8e4m3 and f8e5m2 as the Open Compute Project's 8-bit formats have them; e4m3 has no
 * infinities. */
typedef uint8_t tsr_f8e4m3;
typedef uint8_t tsr_f8e5m2;
/* i4 and u4 lie two a byte, in arrays of uint8_t: element i, in storage order, in the lower half of byte i / 2
 * where i is even, else in the upper one; behind an odd number of elements the upper half is 0. i4 is two's
 * complement. */
#endif

/* ---- the exported table: every module has one tsr_module, named `<prefix>_module`, and the weak
 * alias `tsr_module_table` by which a loader finds it in a shared object ---- */

/* A size in postfix: pairs (code, argument), codes in the order of tsr_size_code; length in pairs.
 * DIM's argument is an index into the module's dims; the operators take two values from the stack
 * (DIV is exact, FLOOR rounds down) and ignore their argument. */
enum tsr_size_code { TSR_SIZE_CONST, TSR_SIZE_DIM, TSR_SIZE_ADD, TSR_SIZE_SUB, TSR_SIZE_MUL, TSR_SIZE_DIV, TSR_SIZE_FLOOR };
typedef struct tsr_size {
	const int64_t *code;
	int64_t n;
	const char *text; /* "2*n + 1" */
} tsr_size;

typedef struct tsr_tensor {
	const char *name;
	const char *dtype; /* "f32" */
	const char *type;  /* "f32 [n | 28, 28, 1]" */
	int32_t nbatch, noutput, ninput;
	int32_t line;		   /* of the module's source that names a result; 0: not known */
	const tsr_size *sizes;     /* storage order: batch, output, input */
	const char *const *labels; /* likewise; NULL entries */
	tsr_size offset;           /* of a parameter: bytes from the state's start */
} tsr_tensor;

typedef struct tsr_scalar {
	const char *name;
	const char *dtype;
} tsr_scalar;

typedef struct tsr_dim {
	const char *name;
	int64_t at_least;
} tsr_dim;

typedef struct tsr_check {
	const char *text; /* for people */
	const char *place; /* "conv_net.tsr:12:5" */
} tsr_check;

/* dims: the routine's dims, in its order. scalars: each in the first bytes of a double or int64_t
 * cell. inputs, outputs: in the routine's order. Returns TSR_OK or a code. */
typedef int (*tsr_invoke)(const tsr_call *call, const int64_t *dims, const void *const *scalars,
			  const void *const *inputs, void *const *outputs, void *state, void *workspace);

typedef struct tsr_routine {
	const char *name;      /* "forward" */
	const char *signature; /* the C declaration */
	tsr_invoke invoke;
	int32_t ndims, nscalars, ninputs, noutputs;
	const int32_t *dims; /* indices into the module's dims */
	const tsr_scalar *scalars;
	const tsr_tensor *inputs, *outputs;
	tsr_size workspace; /* bytes */
	const int32_t *params; /* indices into the module's params that it reads */
	int64_t nparams;
} tsr_routine;

typedef struct tsr_module {
	uint32_t abi; /* TSR_ABI */
	uint32_t bytes; /* sizeof(tsr_module) */
	const char *name;     /* prefix */
	const char *source;   /* "conv_net.tsr" */
	const char *producer; /* "tsrc 0.1.0" */
	const char *target;   /* "x86-64", or "C" for any */
	const char *features; /* CPU features required, space separated */
	int32_t ndims, nparams, nroutines, nchecks;
	const tsr_dim *dims;
	const tsr_tensor *params;
	const tsr_routine *routines;
	const tsr_check *checks;
	tsr_size state; /* bytes */
	/* Runs the initialisers, then `pack`; dims are the module's, in order (those that the size
	 * of the state and the initialisers use are read). */
	int (*init)(const int64_t *dims, void *state, uint64_t seed);
	/* Copies parameters to where the routines read them: to be called after parameters were
	 * written, by whom ever but init and the routines themselves, and before the next call of a
	 * routine. */
	int (*pack)(const tsr_call *call, const int64_t *dims, void *state);
} tsr_module;

/* ---- code for a GPU in a module ---- */

/* Exported as tsr_gpu_code_table, a weak name, by a module that has code for a GPU. */
typedef struct tsr_gpu_code {
	uint32_t abi, bytes; /* TSR_ABI, sizeof(tsr_gpu_code), or up to `more` */
	const tsr_module *table;
	const char *text; /* PTX with its plan in front */
	const char *const *more; /* such texts for other GPUs, then NULL; NULL: none */
	const tsr_module *
		cpu; /* the same program for a CPU, which is called where there is no device; NULL: none */
} tsr_gpu_code;
enum {
	TSR_GPU_INIT = -1,
	TSR_GPU_PACK = -2,
	TSR_GPU_STATE_SIZE = -3,
	TSR_GPU_WAIT = -4,
	TSR_GPU_DEVICE = 1 << 20,
	TSR_GPU_WORKSPACE = 1 << 21
};

/* ---- libtsr: loads a module, binds a routine's arguments, runs it ----
 *
 *   tsr_error error;
 *   tsr_model *model = tsr_open("conv_net.so", &error);
 *   tsr_session *s = tsr_session_new(model, "forward", &error);
 *   tsr_set_input(s, "image", &image, &error);
 *   tsr_load_params(s, "conv_net.safetensors", NULL, &error);
 *   tsr_prepare(s, &error);                       sizes, memory, parameters
 *   tsr_execute(s, &error);                       as often as wanted
 *   const tsr_array *probs = tsr_output(s, "probs");
 *
 * Functions return TSR_OK, a module's positive code, or a negative tsr_failure, and then fill
 * *error when it is not NULL; those that make something return NULL instead, those that ask for
 * something NULL, 0 or -1. Nothing exits and nothing is global: a model may be shared between
 * threads, a session belongs to one at a time. A session must be freed before its model is closed.
 * Names and tables that functions return belong to the module. */

typedef struct tsr_model tsr_model;
typedef struct tsr_session tsr_session;

enum tsr_failure {
	TSR_FAIL_MEMORY = -1,  /* memory is short */
	TSR_FAIL_FILE = -2,    /* a file cannot be read or written, or is malformed */
	TSR_FAIL_MODULE = -3,  /* not a module, or one for another version of this library */
	TSR_FAIL_NAME = -4,    /* nothing has that name */
	TSR_FAIL_TYPE = -5,    /* the wrong dtype, rank or extents */
	TSR_FAIL_DIM = -6,     /* a dim is unknown, contradicted, or a size cannot be computed */
	TSR_FAIL_MISSING = -7, /* an input or a scalar was not set */
	TSR_FAIL_ORDER = -8,   /* called before tsr_prepare, or after it */
	TSR_FAIL_ARGUMENT = -9 /* a handle, a path or the place of a result is NULL */
};

enum { TSR_RANK_MAX = 32 };

typedef struct tsr_error {
	int code;
	char text[1024];
} tsr_error;

/* Row-major, axes in storage order (batch, output, input). `data` is aligned for its elements, or
 * else refused with TSR_BAD_POINTER, and may be NULL where there are none; `bytes` is at least what
 * the extents take. */
typedef struct tsr_array {
	const char *dtype; /* "f32" */
	int32_t rank, pad;
	int64_t extents[TSR_RANK_MAX];
	size_t bytes;
	void *data;
} tsr_array;

/* Loads a shared object or a .ptx of tsrc; tsr_close ends it. NULL, with *error, where it is no module that
 * this library and this processor can run. */
tsr_model *tsr_open(const char *path, tsr_error *error);
/* A model that is linked into the program: `&conv_net_module`. */
tsr_model *tsr_wrap(const tsr_module *table, tsr_error *error);
/* Requires: no session of the model is left, and no call of its routines runs. NULL will do. */
void tsr_close(tsr_model *model);
/* The module's table, as long as the model lives; NULL of NULL. */
const tsr_module *tsr_table(const tsr_model *model);
/* NULL when there is none. */
const tsr_routine *tsr_find_routine(const tsr_module *module, const char *name);
/* The value for the module's dims; TSR_FAIL_DIM on overflow, a remainder, or a dim below 0
 * (unknown). */
int tsr_size_value(const tsr_size *size, const tsr_module *module, const int64_t *dims, int64_t *out);

/* A session for calls of one routine, with nothing set. It borrows the model; tsr_session_free ends it with
 * its results and the state that it made. NULL, with *error, where there is no such routine. */
tsr_session *tsr_session_new(const tsr_model *model, const char *routine, tsr_error *error);
void tsr_session_free(tsr_session *session);
/* The routine that it calls; NULL of NULL. */
const tsr_routine *tsr_session_routine(const tsr_session *session);

/* Before tsr_prepare, parameters before the state is made. Arrays are borrowed: inputs until the
 * last tsr_execute, parameters until tsr_prepare or tsr_prepare_state has copied them. The last call
 * for a name counts. */
int tsr_set_dim(tsr_session *session, const char *name, int64_t value, tsr_error *error);
int tsr_set_input(tsr_session *session, const char *name, const tsr_array *array, tsr_error *error);
int tsr_set_param(tsr_session *session, const char *name, const tsr_array *array, tsr_error *error);
/* Also afterwards; an integer scalar takes whole numbers in its range only. */
int tsr_set_scalar(tsr_session *session, const char *name, double value, tsr_error *error);
/* What the initialisers of parameters draw from; 0 at first. Before the state is made. */
void tsr_set_seed(tsr_session *session, uint64_t seed);
/* The parameters of a .safetensors, .npz or .gguf, by dotted name or, with a map, by `ours = theirs
 * [axes]`, one a line: axes are an order (axis i of ours is axis axes[i] of theirs), or `a (b c) =>
 * b c a`; docs/embedding.md has all of it. Parameters that the file lacks, and those of
 * tsr_set_param, are left as they are; what an earlier file had gives way. Of a file with an array
 * that does not fit, alone or beside the others, nothing is taken. */
int tsr_load_params(tsr_session *session, const char *path, const char *map, tsr_error *error);
/* The state as tsr_save_state wrote it. The file is opened here; tsr_prepare compares it with the
 * module and reads it. A .safetensors is read here as by tsr_load_params, and must have all parameters:
 * TSR_FAIL_NAME with those that it lacks. */
int tsr_load_state(tsr_session *session, const char *path, tsr_error *error);
/* Was the parameter set, by either of the above? */
int tsr_has_param(const tsr_session *session, const char *name);
/* Works the dims out from what is set so far; conflicts are errors, unknown dims are not. */
int tsr_resolve(tsr_session *session, tsr_error *error);
/* The extents of an input, parameter or output for the dims known so far; `data` is NULL. */
int tsr_expected(const tsr_session *session, const char *name, tsr_array *out, tsr_error *error);

/* Resolves the dims, checks every array, allocates outputs, workspace and state, and fills the
 * state: from set parameters, else the file of parameters, else the state file, else the
 * initialisers. */
int tsr_prepare(tsr_session *session, tsr_error *error);
/* Makes and fills the state alone, as tsr_prepare does: for a session that others share the state
 * of, or whose parameters are read or saved before any input is there. Needs the dims that the
 * sizes of parameters use. */
int tsr_prepare_state(tsr_session *session, tsr_error *error);
/* The session uses the other one's state from now on, which is of the same model and has been made.
 * Before tsr_prepare, the session then makes none of its own, and takes from the other the dims
 * that parameters have. The other session must live as long. Sessions that share a state may run at
 * the same time where no routine of theirs assigns to parameters. */
int tsr_share_state(tsr_session *session, tsr_session *other, tsr_error *error);

/* What tsr_invoke takes behind the call. */
typedef struct tsr_arguments {
	const int64_t *dims;
	const void *const *scalars;
	const void *const *inputs;
	void *const *outputs;
	void *state, *workspace;
	void *stream; /* of tsr_run_device alone: a CUstream; NULL: the default one */
} tsr_arguments;
/* Calls a routine of the model without a session; the state is one that a session made. For code of a CPU it is
 * routine->invoke; for a GPU, whose code has no such function, pointers are the host's too. */
int tsr_run_routine(const tsr_model *model, const tsr_routine *routine, const tsr_call *call,
		    const tsr_arguments *arguments);

/* The same on arrays of a device, in the context that the calling thread has (without one: in the primary one of device 0),
 * put into the stream and not waited for, so that nothing is copied to the host. Inputs and outputs are aligned to 16
 * bytes, and stay there and as they are until the stream is past the call; memory of the host that is pinned will do. The
 * workspace is the device's, of the bytes that tsr_device_workspace says, aligned to 256, and in one call at a time; NULL:
 * the library has its own. The state is the host's, as above; its copy on the device is what the routine uses. Dims, guards
 * and pointers are checked at once. A check of indices is made on the device: where it fails the call writes nothing, and
 * tsr_wait_device has its code. Calls of a model in one context run one after another, whatever their streams. A loop that
 * ends by a number (`until`) waits. In a stream that is being captured, launches go to the caller's graph: TSR_BAD_CALL where
 * the routine was not called before with these dims and this state, assigns to parameters, waits, or has temporaries and the
 * workspace is NULL; the caller orders replays with other calls, and tsr_wait_device tells of the last one. TSR_NO_DEVICE for
 * code of a CPU. */
int tsr_run_device(const tsr_model *model, const tsr_routine *routine, const tsr_call *call,
		   const tsr_arguments *arguments);
/* Waits for the stream: TSR_OK, or the code of the first call of the model in this context that has failed since the last
 * wait and is over. */
int tsr_wait_device(const tsr_model *model, const tsr_call *call, void *stream);
/* Memory of the device in the context that the thread has; NULL will do to free. Copies wait for the calls of the model
 * before them, and are over when the function returns. */
int tsr_device_allocate(const tsr_model *model, size_t bytes, void **at, tsr_error *error);
void tsr_device_free(const tsr_model *model, void *at);
int tsr_device_write(const tsr_model *model, void *device, const void *host, size_t bytes,
		     tsr_error *error);
int tsr_device_read(const tsr_model *model, void *host, const void *device, size_t bytes,
		    tsr_error *error);
/* Bytes of the device's memory that temporaries of the routine take for these dims, the routine's; TSR_FAIL_DIM: they cannot
 * be counted. */
int tsr_device_workspace(const tsr_model *model, const tsr_routine *routine, const int64_t *dims,
			 int64_t *bytes);

/* ---- several GPUs ---- */

/* Processes with a GPU each, the members of a group, give each other arrays of their devices, through NVIDIA's NCCL:
 *
 *   tsr_group_id id;                            one of them: tsr_group_new_id(&id, &error), and sends it to all
 *   tsr_group_member who = {rank, ranks};       all of them, each for itself, the GPU's context being the thread's:
 *   tsr_group_join(&id, who, &group, &error);
 *   tsr_exchange what = {.dtype = "f32", .n = n, .from = gradient, .to = gradient, .workspace = w, .stream = stream};
 *   tsr_group_sum(group, &what, &error);        all of them, in the same order
 *   tsr_group_leave(group);
 *
 * NCCL is TSR_NCCL of the environment (empty: there is to be none), else libnccl.so.2; TSR_NO_DEVICE without it. */
typedef struct tsr_group tsr_group;
typedef struct tsr_group_id {
	char bytes[128];
} tsr_group_id;
typedef struct tsr_group_member {
	int32_t rank, ranks; /* 0 <= rank < ranks */
} tsr_group_member;
/* Makes the id of a new group, which all members pass to tsr_group_join. */
int tsr_group_new_id(tsr_group_id *id, tsr_error *error);
/* Waits for all members. In the context that the thread has; without one, in the primary one of device 0. */
int tsr_group_join(const tsr_group_id *id, tsr_group_member member, tsr_group **group,
		   tsr_error *error);
/* When no stream has work of the group, and no graph that it is in will be replayed. NULL will do. */
void tsr_group_leave(tsr_group *group);

/* Arrays of the device, of elements of any dtype that lie side by side. */
typedef struct tsr_exchange {
	const char *dtype;
	size_t n; /* elements; the same for all members */
	const void *from;
	void *to;	 /* may be `from` */
	void *workspace; /* of tsr_group_sum alone */
	void *stream;	 /* a CUstream; NULL: the default one */
} tsr_exchange;
/* Each of these puts its work into the stream, or into the graph that is captured there, and does not wait. All members
 * call it, in the same order. */
/* to[i] = from[i] of rank 0 + from[i] of rank 1 + ..., one after another in that order whatever connects the GPUs, so that
 * all members have the same bits in each run; bf16 and f16 are added in f32 and rounded once. Of f32, f64, bf16, f16, i32,
 * i64 and u32; TSR_FAIL_TYPE else. A member adds a part, and all give each other their parts: what an all-reduce sends. */
int tsr_group_sum(tsr_group *group, const tsr_exchange *what, tsr_error *error);
/* Bytes of the device's memory that tsr_group_sum takes as its workspace; 0 where it takes none. */
size_t tsr_group_sum_workspace(const tsr_group *group, const char *dtype, size_t n);
/* to = the n elements of rank 0, then those of rank 1, ...: ranks * n elements. */
int tsr_group_gather(tsr_group *group, const tsr_exchange *what, tsr_error *error);
/* to = from of the rank `root`; `from` of the others is not read. */
int tsr_group_broadcast(tsr_group *group, const tsr_exchange *what, int32_t root, tsr_error *error);
/* TSR_BAD_DEVICE where a member or a connection has failed; all that the group can do then is to be left. */
int tsr_group_check(tsr_group *group, tsr_error *error);

/* What the entry points of a module for a GPU call: `what` is the number of a routine, TSR_GPU_DEVICE more for arrays of a
 * device, TSR_GPU_WORKSPACE more for the bytes of their workspace; or one of TSR_GPU_INIT (dims: the module's; the first
 * scalar: the seed), TSR_GPU_PACK (dims: the module's; -1: unknown), TSR_GPU_STATE_SIZE and TSR_GPU_WAIT (for the stream).
 * Sizes are left at `state` as an int64_t. The code is loaded once for a process, which then holds the module's memory. */
int tsr_enter_gpu(const tsr_gpu_code *code, int32_t what, const tsr_call *call,
		  const tsr_arguments *arguments);

/* After tsr_prepare; what the inputs' memory holds may change between runs. A routine that refuses
 * returns its code, and has written nothing. */
int tsr_execute(tsr_session *session, tsr_error *error);

/* Threads for tsr_call.parallel. They belong to the pool, one call at a time: a call that finds
 * them at work, from inside a task or from another thread, runs on its own thread. Results do not
 * depend on the number of threads. A pool is no longer of use in the child of a fork. */
typedef struct tsr_pool tsr_pool;
/* The caller counts as one of the threads; 0: as many as the CPUs that this thread may run on. Up
 * to that many are pinned, one to a CPU, and wait 50 us for work before they sleep. They block the
 * signals that are sent to the process. NULL after a failure. */
tsr_pool *tsr_pool_new(int32_t threads, tsr_error *error);
/* Ends its threads. Requires: no call uses it, and no session will. NULL will do. */
void tsr_pool_free(tsr_pool *pool);
/* With the caller's; 1 of NULL. */
int32_t tsr_pool_threads(const tsr_pool *pool);
/* Sets `parallel` and `pool` of the call; NULL: serial. */
void tsr_pool_call(tsr_pool *pool, tsr_call *call);
/* What the session's runs use from now on; NULL: one thread. The pool is borrowed. */
void tsr_set_pool(tsr_session *session, tsr_pool *pool);
/* Are the launches of code for a GPU one graph from the second run on (not 0: what holds at first), or given to the
 * device one by one? */
void tsr_set_graph(tsr_session *session, int graph);
/* After tsr_prepare, owned by the session; NULL when nothing has that name. */
const tsr_array *tsr_output(const tsr_session *session, const char *name);
/* The same by its place among the routine's outputs; NULL: there is none. */
const tsr_array *tsr_output_at(const tsr_session *session, int32_t index);
/* A parameter's place in the state, once there is one. After writing there call tsr_pack. Of code for a GPU it
 * holds what routines have assigned by the time of this call. */
int tsr_param(const tsr_session *session, const char *name, tsr_array *out, tsr_error *error);
/* The state that the session uses, for tsr_run_routine and calls of the module's own functions; NULL before it is
 * made. */
void *tsr_state(const tsr_session *session);
/* The routines take note of parameters that were written into the state. */
int tsr_pack(tsr_session *session, tsr_error *error);
/* Written to a temporary name beside `path`, to the disk, then renamed. A .safetensors has the parameters by name, any other
 * file as they stand in memory. */
int tsr_save_state(const tsr_session *session, const char *path, tsr_error *error);
/* Bytes of inputs, outputs and read parameters: what one run must move at least. */
uint64_t tsr_traffic(const tsr_session *session);
/* The session's value of a dim of the module, or -1. */
int64_t tsr_dim_value(const tsr_session *session, const char *name);

#ifdef __cplusplus
}
#endif
#endif
