/* What libtsr uses of NCCL, between processes of one machine, over memory that they share: for tests without a GPU.
 *
 * A message goes through a box of its pair of ranks, a chunk at a time; what a group of sends and receives has goes chunk by
 * chunk, all sends first, so that no order of the ranks' calls waits for ever. Copies and waits are put into the stream, by
 * functions of the driver library (TSR_LIBCUDA), so that they are captured with what is around them; a host function waits.
 * A member that waits longer than TSR_NCCL_EMU_SECONDS (20) gives up, and so do all.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { OK, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
enum { RANKS_MOST = 8, CHUNK = 1 << 12, MESSAGES_MOST = 64, UINT8 = 1 };

typedef unsigned long long Device;
typedef struct UniqueId {
	char bytes[128];
} UniqueId;

typedef struct Box {
	atomic_int full;
	unsigned char bytes[CHUNK];
} Box;

/* What all members have mapped. */
typedef struct Shared {
	atomic_int joined, failed;
	Box boxes[RANKS_MOST][RANKS_MOST]; /* from, to */
} Shared;

/* Of a driver library. */
typedef struct Functions {
	int (*host_alloc)(void **at, size_t bytes, unsigned flags);
	int (*host_free)(void *at);
	int (*to_host)(void *to, Device from, size_t bytes, void *stream);
	int (*to_device)(Device to, const void *from, size_t bytes, void *stream);
	int (*on_device)(Device to, Device from, size_t bytes, void *stream);
	int (*call)(void *stream, void (*call)(void *), void *data);
} Functions;

/* What a host function does: a chunk out of the staging memory into a box, or the other way. */
typedef struct Step {
	struct Step *next; /* of the communicator, which frees it */
	struct Comm *comm;
	Box *box;
	unsigned char *staged;
	size_t bytes;
	bool sends;
} Step;

typedef struct Comm {
	Functions driver;
	Shared *shared;
	int rank, ranks;
	unsigned char *staged; /* pinned: a chunk to send and one to receive for each rank */
	Step *steps;
} Comm;

typedef struct Message {
	Comm *comm;
	const char *at;
	size_t bytes;
	int peer;
	bool sends;
	void *stream;
} Message;

/* The thread's group of calls. */
static _Thread_local struct {
	int depth, n;
	Message at[MESSAGES_MOST];
} group;

int ncclGetVersion(int *version) { return *version = 22809, OK; }

const char *ncclGetErrorString(int result)
{
	switch (result) {
	case OK: return "no error";
	case SYSTEM_ERROR: return "unhandled system error";
	case INVALID_ARGUMENT: return "invalid argument";
	case INVALID_USAGE: return "invalid usage";
	case REMOTE_ERROR: return "remote process exited or there was a network error";
	default: return "unknown result code";
	}
}

int ncclGetUniqueId(UniqueId *id)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(id, 0, sizeof *id);
	snprintf(id->bytes, sizeof id->bytes, "/tsr-nccl-%d-%ld-%ld", (int)getpid(),
		 (long)now.tv_sec, now.tv_nsec);
	return OK;
}

static bool timed_out(const struct timespec *since)
{
	const char *asked = getenv("TSR_NCCL_EMU_SECONDS");
	struct timespec now, pause = {0, 100000};
	clock_gettime(CLOCK_MONOTONIC, &now);
	nanosleep(&pause, NULL);
	return now.tv_sec - since->tv_sec > (asked ? atol(asked) : 20);
}

/* False: somebody has given up. */
static bool wait_until(Shared *shared, atomic_int *word, int least, int most)
{
	struct timespec since;
	clock_gettime(CLOCK_MONOTONIC, &since);
	for (int is = atomic_load(word); is < least || is > most; is = atomic_load(word))
		if (atomic_load(&shared->failed) || timed_out(&since)) {
			atomic_store(&shared->failed, 1);
			return false;
		}
	return true;
}

static bool look_up(Functions *f)
{
	const char *path = getenv("TSR_LIBCUDA");
	void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
	const char *const names[] = {"cuMemHostAlloc",	     "cuMemFreeHost",
				     "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2",
				     "cuMemcpyDtoDAsync_v2", "cuLaunchHostFunc"};
	for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
		void *symbol = dlsym(library, names[i]);
		if (!symbol)
			return false;
		memcpy((char *)f + i * sizeof symbol, &symbol, sizeof symbol);
	}
	return library != NULL;
}

static Shared *map(const char *name)
{
	int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return NULL;
	void *at = ftruncate(fd, sizeof(Shared)) != 0
			   ? MAP_FAILED
			   : mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

int ncclCommDestroy(Comm *comm)
{
	for (Step *next; comm->steps; comm->steps = next) {
		next = comm->steps->next;
		free(comm->steps);
	}
	if (comm->staged)
		comm->driver.host_free(comm->staged);
	if (comm->shared)
		munmap(comm->shared, sizeof *comm->shared);
	free(comm);
	return OK;
}

int ncclCommAbort(Comm *comm)
{
	atomic_store(&comm->shared->failed, 1);
	return ncclCommDestroy(comm);
}

int ncclCommInitRank(Comm **to, int ranks, UniqueId id, int rank)
{
	Comm *comm = calloc(1, sizeof *comm);
	id.bytes[sizeof id.bytes - 1] = 0;
	if (!comm || ranks < 1 || ranks > RANKS_MOST || rank < 0 || rank >= ranks) {
		free(comm);
		return INVALID_ARGUMENT;
	}
	comm->rank = rank;
	comm->ranks = ranks;
	comm->shared = map(id.bytes);
	bool good = comm->shared && look_up(&comm->driver) &&
		    comm->driver.host_alloc((void **)&comm->staged, 2 * CHUNK * RANKS_MOST, 0) == 0;
	if (good) {
		atomic_fetch_add(&comm->shared->joined, 1);
		good = wait_until(comm->shared, &comm->shared->joined, ranks, ranks);
	}
	if (rank == 0)
		shm_unlink(id.bytes);
	if (good)
		return *to = comm, OK;
	ncclCommDestroy(comm);
	return SYSTEM_ERROR;
}

int ncclCommGetAsyncError(Comm *comm, int *result)
{
	*result = atomic_load(&comm->shared->failed) ? REMOTE_ERROR : OK;
	return OK;
}

/* ---- messages ---- */

static void pass(void *of)
{
	Step *s = of;
	int wanted = s->sends ? 0 : 1;
	if (!wait_until(s->comm->shared, &s->box->full, wanted, wanted))
		return;
	memcpy(s->sends ? s->box->bytes : s->staged, s->sends ? s->staged : s->box->bytes,
	       s->bytes);
	atomic_store(&s->box->full, !wanted);
}

/* The chunk of a message that begins there, if it has one. */
static int pass_chunk(const Message *m, size_t at)
{
	Comm *comm = m->comm;
	if (at >= m->bytes)
		return OK;
	Step *s = calloc(1, sizeof *s);
	if (!s)
		return SYSTEM_ERROR;
	*s = (Step){.next = comm->steps, .comm = comm, .sends = m->sends};
	comm->steps = s;
	s->bytes = m->bytes - at < CHUNK ? m->bytes - at : CHUNK;
	s->box = m->sends ? &comm->shared->boxes[comm->rank][m->peer]
			  : &comm->shared->boxes[m->peer][comm->rank];
	s->staged = comm->staged + CHUNK * (m->sends ? m->peer : RANKS_MOST + m->peer);
	Device place = (Device)(size_t)m->at + at;
	int code = m->sends ? comm->driver.to_host(s->staged, place, s->bytes, m->stream) : OK;
	if (code == OK)
		code = comm->driver.call(m->stream, pass, s);
	if (code == OK && !m->sends)
		code = comm->driver.to_device(place, s->staged, s->bytes, m->stream);
	return code == OK ? OK : SYSTEM_ERROR;
}

static int run_group(void)
{
	size_t most = 0;
	int code = OK;
	for (int i = 0; i < group.n; i++)
		most = group.at[i].bytes > most ? group.at[i].bytes : most;
	for (size_t at = 0; at < most && code == OK; at += CHUNK)
		for (int half = 0; half < 2; half++)
			for (int i = 0; i < group.n && code == OK; i++)
				if (group.at[i].sends == (half == 0))
					code = pass_chunk(&group.at[i], at);
	group.n = 0;
	return code;
}

int ncclGroupStart(void) { return group.depth++, OK; }

int ncclGroupEnd(void)
{
	if (group.depth == 0)
		return INVALID_USAGE;
	return --group.depth == 0 ? run_group() : OK;
}

static int add(const Message *m, int dtype)
{
	if (dtype != UINT8 || m->peer < 0 || m->peer >= m->comm->ranks ||
	    m->peer == m->comm->rank || group.n == MESSAGES_MOST)
		return INVALID_ARGUMENT;
	group.at[group.n++] = *m;
	return group.depth ? OK : run_group();
}

int ncclSend(const void *from, size_t n, int dtype, int peer, Comm *comm, void *stream)
{
	const Message m = {comm, from, n, peer, true, stream};
	return add(&m, dtype);
}

int ncclRecv(void *to, size_t n, int dtype, int peer, Comm *comm, void *stream)
{
	const Message m = {comm, to, n, peer, false, stream};
	return add(&m, dtype);
}

static int copy(Comm *comm, void *to, const void *from, size_t n, void *stream)
{
	if (to == from)
		return OK;
	return comm->driver.on_device((Device)(size_t)to, (Device)(size_t)from, n, stream) == 0
		       ? OK
		       : SYSTEM_ERROR;
}

int ncclAllGather(const void *from, void *to, size_t n, int dtype, Comm *comm, void *stream)
{
	int code = copy(comm, (char *)to + n * (size_t)comm->rank, from, n, stream);
	ncclGroupStart();
	for (int r = 0; r < comm->ranks && code == OK; r++) {
		if (r == comm->rank)
			continue;
		code = ncclSend(from, n, dtype, r, comm, stream);
		if (code == OK)
			code = ncclRecv((char *)to + n * (size_t)r, n, dtype, r, comm, stream);
	}
	int end = ncclGroupEnd();
	return code == OK ? end : code;
}

int ncclBroadcast(const void *from, void *to, size_t n, int dtype, int root, Comm *comm,
		  void *stream)
{
	if (root != comm->rank)
		return ncclRecv(to, n, dtype, root, comm, stream);
	int code = copy(comm, to, from, n, stream);
	ncclGroupStart();
	for (int r = 0; r < comm->ranks && code == OK; r++)
		if (r != root)
			code = ncclSend(from, n, dtype, r, comm, stream);
	int end = ncclGroupEnd();
	return code == OK ? end : code;
}
