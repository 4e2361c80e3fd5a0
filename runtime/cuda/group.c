/* A group of processes with a GPU each: sums, gathered arrays and broadcasts through NCCL.
 *
 * NCCL's own sums add in an order that depends on what connects the GPUs. So a sum is made of what
 * has none: each member has an equal part of the elements, gets that part of all others, adds them
 * in the order of the ranks (add.h), and gives the sums to all others. A member sends 2 * (ranks -
 * 1) / ranks times the array, as in a ring.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/add.h"
#include "runtime/cuda/nccl.h"
#include "runtime/session.h"

enum { THREADS = 256, BLOCKS_MOST = 1 << 16 };

struct tsr_group {
	Driver driver;
	Nccl nccl;
	NcclComm comm;
	int rank, ranks;
	CUcontext context;
	CUdevice device;
	bool retained; /* is the context the device's primary one, held here? */
	CUmodule module;
};

/* ---- errors ---- */

static int driver_check(const tsr_group *g, CUresult result, const char *what, tsr_error *error)
{
	char text[600];
	if (result == CUDA_SUCCESS)
		return TSR_OK;
	driver_text(&g->driver, result, what, text, sizeof text);
	return session_fail(error, TSR_BAD_DEVICE, "%s", text);
}

static int nccl_check(const Nccl *nccl, NcclResult result, tsr_error *error)
{
	return result == NCCL_SUCCESS ? TSR_OK
				      : session_fail(error, TSR_BAD_DEVICE, "NCCL: %s",
						     nccl->ncclGetErrorString(result));
}

/* ---- the group ---- */

int tsr_group_new_id(tsr_group_id *id, tsr_error *error)
{
	Nccl nccl;
	int code = session_check_pointer(id, "place for the id", error);
	if (code == TSR_OK)
		code = nccl_open(&nccl, error);
	return code == TSR_OK ? nccl_check(&nccl, nccl.ncclGetUniqueId(id), error) : code;
}

/* The thread's context, or the primary one of device 0, which is the thread's from now on. */
static int enter(tsr_group *g, tsr_error *error)
{
	const Driver *d = &g->driver;
	int code = driver_check(g, d->cuCtxGetCurrent(&g->context), "the context", error);
	if (code != TSR_OK || g->context)
		return code;
	code = driver_check(g, d->cuDeviceGet(&g->device, 0), "device 0", error);
	if (code == TSR_OK)
		code = driver_check(g, d->cuDevicePrimaryCtxRetain(&g->context, g->device),
				    "device 0", error);
	g->retained = code == TSR_OK;
	return code == TSR_OK
		       ? driver_check(g, d->cuCtxSetCurrent(g->context), "the context", error)
		       : code;
}

static int join(tsr_group *g, const tsr_group_id *id, tsr_error *error)
{
	char why[600];
	int code = driver_open(&g->driver, why, sizeof why);
	if (code != TSR_OK)
		return session_fail(error, code, "%s", why);
	code = nccl_open(&g->nccl, error);
	if (code == TSR_OK)
		code = enter(g, error);
	if (code == TSR_OK)
		code = driver_check(
			g, g->driver.cuModuleLoadDataEx(&g->module, add_ptx, 0, NULL, NULL),
			"the kernels that add", error);
	if (code == TSR_OK)
		code = nccl_check(&g->nccl,
				  g->nccl.ncclCommInitRank(&g->comm, g->ranks, *id, g->rank),
				  error);
	return code;
}

int tsr_group_join(const tsr_group_id *id, tsr_group_member member, tsr_group **group,
		   tsr_error *error)
{
	int code = session_check_pointer(id, "id", error);
	if (code == TSR_OK)
		code = session_check_pointer(group, "place for the group", error);
	if (code != TSR_OK)
		return code;
	*group = NULL;
	if (member.ranks < 1 || member.rank < 0 || member.rank >= member.ranks)
		return session_fail(error, TSR_FAIL_ARGUMENT, "there is no rank %d of %d",
				    (int)member.rank, (int)member.ranks);
	tsr_group *g = calloc(1, sizeof *g);
	if (!g)
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	g->rank = member.rank;
	g->ranks = member.ranks;
	code = join(g, id, error);
	if (code == TSR_OK)
		*group = g;
	else
		tsr_group_leave(g);
	return code;
}

static bool has_failed(const tsr_group *g)
{
	NcclResult result = NCCL_SUCCESS;
	return g->nccl.ncclCommGetAsyncError(g->comm, &result) != NCCL_SUCCESS ||
	       (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS);
}

static void leave(tsr_group *g)
{
	if (g->comm && has_failed(g))
		g->nccl.ncclCommAbort(g->comm);
	else if (g->comm)
		g->nccl.ncclCommDestroy(g->comm);
	if (g->module)
		g->driver.cuModuleUnload(g->module);
}

/* A group that has failed would wait for the others. The thread has the context that it had; one that is held here ends
 * with the group, and is nobody's from now on. */
void tsr_group_leave(tsr_group *g)
{
	CUcontext before = NULL;
	if (!g)
		return;
	if (g->context && g->driver.cuCtxGetCurrent(&before) == CUDA_SUCCESS)
		g->driver.cuCtxSetCurrent(g->context);
	leave(g);
	if (g->context)
		g->driver.cuCtxSetCurrent(g->retained && before == g->context ? NULL : before);
	if (g->retained)
		g->driver.cuDevicePrimaryCtxRelease_v2(g->device);
	free(g);
}

int tsr_group_check(tsr_group *g, tsr_error *error)
{
	NcclResult result = NCCL_SUCCESS;
	int code = session_check_pointer(g, "group", error);
	if (code == TSR_OK)
		code = nccl_check(&g->nccl, g->nccl.ncclCommGetAsyncError(g->comm, &result), error);
	if (code != TSR_OK || result == NCCL_IN_PROGRESS)
		return code;
	return nccl_check(&g->nccl, result, error);
}

/* ---- what goes between members ---- */

/* An exchange that was looked at: all in bytes. */
typedef struct Exchange {
	tsr_group *g;
	Dtype dtype;
	size_t element, n,
		part; /* of an element; elements of the array, of a member's part of it */
	const char *from;
	char *to, *workspace;
	CUstream stream;
	int root; /* of a broadcast */
} Exchange;

static size_t part_of(const tsr_group *g, size_t n)
{
	return n / (size_t)g->ranks + (n % (size_t)g->ranks != 0);
}

static int begin(tsr_group *g, const tsr_exchange *what, Exchange *x, tsr_error *error)
{
	int code = session_check_pointer(g, "group", error);
	if (code == TSR_OK)
		code = session_check_pointer(what, "exchange", error);
	if (code == TSR_OK)
		code = session_check_pointer(what->dtype, "dtype", error);
	if (code != TSR_OK)
		return code;
	Dtype dtype = dtype_from_name(what->dtype, strlen(what->dtype));
	if (dtype == DTYPE_NONE || dtype_is_packed(dtype))
		return session_fail(error, TSR_FAIL_TYPE, "no array of '%s' goes between GPUs",
				    what->dtype);
	*x = (Exchange){.g = g,
			.dtype = dtype,
			.element = dtype_bytes(dtype),
			.n = what->n,
			.part = part_of(g, what->n),
			.from = what->from,
			.to = what->to,
			.workspace = what->workspace,
			.stream = what->stream};
	if (what->n > SIZE_MAX / 2 / x->element / (size_t)g->ranks)
		return session_fail(error, TSR_BAD_DIM, "%zu elements of each member are too many",
				    what->n);
	if (what->n && !what->to)
		return session_fail(error, TSR_BAD_POINTER, "`to` is NULL");
	return TSR_OK;
}

/* Where a member's part begins, and its bytes. */
static size_t part_from(const Exchange *x, int rank)
{
	size_t at = x->part * (size_t)rank;
	return (at < x->n ? at : x->n) * x->element;
}

static size_t part_bytes(const Exchange *x, int rank)
{
	return part_from(x, rank + 1) - part_from(x, rank);
}

/* Parts of `from` go to their members, and this one's part of all others comes to `to`, `apart` bytes from each other;
 * apart 0: this one's part goes to all others, and theirs come to their places. */
static int exchange_parts(const Exchange *x, const char *from, char *to, size_t apart,
			  tsr_error *error)
{
	const Nccl *nccl = &x->g->nccl;
	size_t own = part_bytes(x, x->g->rank);
	NcclResult result = nccl->ncclGroupStart();
	for (int r = 0; r < x->g->ranks && result == NCCL_SUCCESS; r++) {
		size_t sent = apart ? part_bytes(x, r) : own, got = apart ? own : part_bytes(x, r);
		const char *here = from + part_from(x, apart ? r : x->g->rank);
		char *there = to + (apart ? apart * (size_t)r : part_from(x, r));
		if (r != x->g->rank && sent)
			result = nccl->ncclSend(here, sent, NCCL_UINT8, r, x->g->comm, x->stream);
		if (r != x->g->rank && got && result == NCCL_SUCCESS)
			result = nccl->ncclRecv(there, got, NCCL_UINT8, r, x->g->comm, x->stream);
	}
	NcclResult end = nccl->ncclGroupEnd();
	return nccl_check(nccl, result != NCCL_SUCCESS ? result : end, error);
}

static int add_parts(const Exchange *x, tsr_error *error)
{
	const Driver *d = &x->g->driver;
	size_t own = part_from(x, x->g->rank), n = part_bytes(x, x->g->rank) / x->element;
	AddParameters p = {.own = (uintptr_t)(x->from + own),
			   .parts = (uintptr_t)x->workspace,
			   .to = (uintptr_t)(x->to + own),
			   .n = n,
			   .stride = x->part,
			   .rank = (unsigned)x->g->rank,
			   .ranks = (unsigned)x->g->ranks};
	void *args[] = {&p.own, &p.parts, &p.to, &p.n, &p.stride, &p.rank, &p.ranks};
	CUfunction f = NULL;
	size_t blocks = (n + THREADS - 1) / THREADS;
	if (n == 0)
		return TSR_OK;
	const char *name = add_kernel(x->dtype);
	CUresult result = d->cuModuleGetFunction(&f, x->g->module, name);
	if (result == CUDA_SUCCESS)
		result = d->cuLaunchKernel(f,
					   (unsigned)(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST),
					   1, 1, THREADS, 1, 1, 0, x->stream, args, NULL);
	return driver_check(x->g, result, name, error);
}

/* The exchange in the group's context, which the thread has meanwhile. */
static int in_context(const Exchange *x, int (*exchange)(const Exchange *, tsr_error *),
		      tsr_error *error)
{
	const Driver *d = &x->g->driver;
	CUcontext before = NULL;
	int code = driver_check(x->g, d->cuCtxGetCurrent(&before), "the context", error);
	if (code == TSR_OK)
		code = driver_check(x->g, d->cuCtxSetCurrent(x->g->context), "the context", error);
	if (code != TSR_OK)
		return code;
	code = exchange(x, error);
	CUresult result = d->cuCtxSetCurrent(before);
	return code == TSR_OK ? driver_check(x->g, result, "the context", error) : code;
}

static int sum(const Exchange *x, tsr_error *error)
{
	int code = exchange_parts(x, x->from, x->workspace, x->part * x->element, error);
	if (code == TSR_OK)
		code = add_parts(x, error);
	return code == TSR_OK ? exchange_parts(x, x->to, x->to, 0, error) : code;
}

static int gather(const Exchange *x, tsr_error *error)
{
	return nccl_check(&x->g->nccl,
			  x->g->nccl.ncclAllGather(x->from, x->to, x->n * x->element, NCCL_UINT8,
						   x->g->comm, x->stream),
			  error);
}

static int broadcast(const Exchange *x, tsr_error *error)
{
	return nccl_check(&x->g->nccl,
			  x->g->nccl.ncclBroadcast(x->from ? x->from : x->to, x->to,
						   x->n * x->element, NCCL_UINT8, x->root,
						   x->g->comm, x->stream),
			  error);
}

size_t tsr_group_sum_workspace(const tsr_group *g, const char *dtype, size_t n)
{
	Dtype d = dtype ? dtype_from_name(dtype, strlen(dtype)) : DTYPE_NONE;
	bool none = !g || d == DTYPE_NONE || !add_kernel(d) || g->ranks == 1;
	return none ? 0 : part_of(g, n) * (size_t)g->ranks * dtype_bytes(d);
}

int tsr_group_sum(tsr_group *g, const tsr_exchange *what, tsr_error *error)
{
	Exchange x;
	int code = begin(g, what, &x, error);
	if (code != TSR_OK)
		return code;
	if (!add_kernel(x.dtype))
		return session_fail(error, TSR_FAIL_TYPE, "no sums of '%s' go between GPUs",
				    what->dtype);
	if (x.n && (!x.from || (!x.workspace && g->ranks > 1)))
		return session_fail(error, TSR_BAD_POINTER, "`%s` is NULL",
				    x.from ? "workspace" : "from");
	return in_context(&x, sum, error);
}

int tsr_group_gather(tsr_group *g, const tsr_exchange *what, tsr_error *error)
{
	Exchange x;
	int code = begin(g, what, &x, error);
	if (code != TSR_OK || x.n == 0)
		return code;
	if (!x.from)
		return session_fail(error, TSR_BAD_POINTER, "`from` is NULL");
	return in_context(&x, gather, error);
}

int tsr_group_broadcast(tsr_group *g, const tsr_exchange *what, int32_t root, tsr_error *error)
{
	Exchange x;
	int code = begin(g, what, &x, error);
	if (code != TSR_OK)
		return code;
	if (root < 0 || root >= g->ranks)
		return session_fail(error, TSR_FAIL_ARGUMENT, "there is no rank %d of %d",
				    (int)root, g->ranks);
	if (x.n == 0)
		return TSR_OK;
	if (!x.from && root == g->rank)
		return session_fail(error, TSR_BAD_POINTER, "`from` is NULL");
	x.root = root;
	return in_context(&x, broadcast, error);
}
