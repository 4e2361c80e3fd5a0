/* A pool of threads that runs the chunks of one parallel loop at a time.
 *
 * The caller publishes a job (task, arg, n), takes chunks itself beside the workers, and returns
 * when all n are done. Every thread has a share of neighbouring chunks, which read the same
 * operands: it begins with its own and goes on with what others have left. The `ticket` of a share
 * holds the job's number above and the next chunk below; a thread reads the ticket, then the job
 * beside it, then takes the chunk by compare-and-swap. A ticket is closed before the job's fields
 * change, and numbers do not come back, so a swap that succeeds has read the fields of that very
 * job: a worker that sleeps through a job costs nobody anything.
 *
 * A cache line goes from one CPU to another in about 0.1 us, as long as a small chunk takes. So a
 * worker finds all of a job in the line of its share, which it waits for, and a thread counts what
 * it has done once a job, in a sum that goes on from job to job.
 *
 * A call that finds the pool busy (a nested one, or another thread's) runs its chunks itself.
 *
 * Workers are pinned, each to a CPU that is not the caller's. The system may move the caller to a
 * worker's: the two would take turns there with a CPU idle, so that worker goes to the one that the
 * caller has left.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/session.h"

enum { THREADS_MAX = 1024, SPIN_NS = 50000, STACK_BYTES = 1 << 20 };
#define CLOSED UINT32_MAX /* as the next chunk: there is none */

typedef void (*Task)(void *arg, int32_t i);

/* A thread's: the caller's is the first. */
typedef struct Share {
	_Alignas(64) atomic_ullong ticket; /* number << 32 | next chunk */
	/* the job */
	_Atomic(Task) task;
	_Atomic(void *) arg;
	atomic_uint n;
	/* what does not change while a job runs */
	uint32_t k;
	tsr_pool *pool;
	int cpu; /* that the worker is pinned to */
	pthread_t thread;
} Share;

struct tsr_pool {
	Share *shares;
	uint32_t nshares;
	int32_t nworkers; /* started */
	bool spins;	  /* every thread has a CPU of its own */
	atomic_bool stop;
	/* the caller's */
	_Alignas(64) atomic_bool busy;
	int caller_cpu;		       /* no worker's */
	uint32_t others;	       /* chunks that workers have done in all jobs so far */
	_Alignas(64) atomic_uint done; /* the same as they count it; the caller sleeps on it */
	atomic_uint caller_sleeps;
	_Alignas(64) atomic_uint number; /* of the last job; workers sleep on it */
	atomic_uint sleepers;
};

/* ---- waiting ---- */

static void sleep_on(atomic_uint *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_cpu(void)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#endif
}

typedef bool (*Happened)(void *of);

/* Spins until it has happened (true), or for SPIN_NS. The clock is looked at last, as it takes as
 * long as two looks. */
static bool spin_until(const tsr_pool *pool, Happened happened, void *of)
{
	int64_t end = 0, now = 0;
	for (; pool->spins && now <= end; now = now_ns()) {
		for (int i = 0; i < 16; i++) {
			if (happened(of))
				return true;
			pause_cpu();
		}
		end = end ? end : now_ns() + SPIN_NS;
	}
	return happened(of);
}

/* ---- CPUs ---- */

static void pin(const Share *share)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(share->cpu, &one);
	pthread_setaffinity_np(share->thread, sizeof one, &one);
}

/* A worker on the CPU that the caller runs on now goes where the caller was. */
static void make_room(tsr_pool *pool)
{
	int here = pool->spins ? sched_getcpu() : -1;
	if (here < 0 || here == pool->caller_cpu)
		return;
	for (int32_t k = 1; k <= pool->nworkers; k++) {
		Share *share = &pool->shares[k];
		if (share->cpu != here)
			continue;
		share->cpu = pool->caller_cpu;
		pin(share);
	}
	pool->caller_cpu = here;
}

/* ---- the job ---- */

/* The first chunk of a share. */
static uint32_t share_start(const tsr_pool *pool, uint32_t k, uint32_t n)
{
	return (uint32_t)((uint64_t)n * k / pool->nshares);
}

/* Takes a chunk of the open job from a share and runs it; false when there is none. */
static bool run_chunk(Share *share)
{
	unsigned long long ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
	for (;;) {
		uint32_t i = (uint32_t)ticket;
		Task task = atomic_load_explicit(&share->task, memory_order_acquire);
		void *arg = atomic_load_explicit(&share->arg, memory_order_acquire);
		uint32_t n = atomic_load_explicit(&share->n, memory_order_acquire);
		if (i == CLOSED || i >= share_start(share->pool, share->k + 1, n))
			return false;
		if (!atomic_compare_exchange_weak(&share->ticket, &ticket, ticket + 1))
			continue;
		task(arg, (int32_t)i);
		return true;
	}
}

/* All chunks that nobody has taken, the share's own first; returns how many. */
static uint32_t run_chunks(const Share *own)
{
	tsr_pool *pool = own->pool;
	uint32_t mine = 0;
	for (uint32_t step = 0; step < pool->nshares; step++)
		while (run_chunk(&pool->shares[(own->k + step) % pool->nshares]))
			mine++;
	return mine;
}

typedef struct LastJob {
	const Share *own;
	uint32_t number;
} LastJob;

/* Is there a job after the last one? It is the last one then. A ticket that is closed is about to
 * be opened. */
static bool goes_on(void *of)
{
	LastJob *last = of;
	unsigned long long ticket =
		atomic_load_explicit(&last->own->ticket, memory_order_acquire);
	if ((uint32_t)(ticket >> 32) == last->number || (uint32_t)ticket == CLOSED)
		return false;
	last->number = (uint32_t)(ticket >> 32);
	return true;
}

static void *worker(void *of)
{
	const Share *own = of;
	tsr_pool *pool = own->pool;
	LastJob last = {.own = own};
	while (!atomic_load(&pool->stop)) {
		if (!spin_until(pool, goes_on, &last)) {
			atomic_fetch_add(&pool->sleepers, 1);
			sleep_on(&pool->number, last.number);
			atomic_fetch_sub(&pool->sleepers, 1);
			continue;
		}
		uint32_t mine = run_chunks(own);
		if (mine == 0)
			continue;
		atomic_fetch_add(&pool->done, mine);
		if (atomic_load(&pool->caller_sleeps))
			wake(&pool->done, 1);
	}
	return NULL;
}

static void publish(tsr_pool *pool, uint32_t number, uint32_t n, Task task, void *arg)
{
	unsigned long long job = (unsigned long long)number << 32;
	for (uint32_t k = pool->nshares; k-- > 0;) {
		Share *share = &pool->shares[k];
		atomic_store_explicit(&share->ticket, job | CLOSED, memory_order_release);
		atomic_store_explicit(&share->task, task, memory_order_release);
		atomic_store_explicit(&share->arg, arg, memory_order_release);
		atomic_store_explicit(&share->n, n, memory_order_release);
		atomic_store_explicit(&share->ticket, job | share_start(pool, k, n),
				      memory_order_release);
	}
}

static void wake_workers(tsr_pool *pool, uint32_t number, int32_t chunks)
{
	atomic_store(&pool->number, number);
	uint32_t asleep = atomic_load(&pool->sleepers);
	if (asleep > 0)
		wake(&pool->number, chunks < (int32_t)asleep ? chunks : (int32_t)asleep);
}

static bool all_done(void *of)
{
	const tsr_pool *pool = of;
	return atomic_load_explicit(&pool->done, memory_order_acquire) == pool->others;
}

static void wait_for_all(tsr_pool *pool)
{
	while (!spin_until(pool, all_done, pool)) {
		atomic_store(&pool->caller_sleeps, 1);
		uint32_t done = atomic_load(&pool->done);
		if (done != pool->others)
			sleep_on(&pool->done, done);
		atomic_store(&pool->caller_sleeps, 0);
	}
}

static void run_job(tsr_pool *pool, int32_t n, Task task, void *arg)
{
	make_room(pool);
	uint32_t number = atomic_load_explicit(&pool->number, memory_order_relaxed) + 1;
	publish(pool, number, (uint32_t)n, task, arg);
	wake_workers(pool, number, n - 1);
	pool->others += (uint32_t)n - run_chunks(&pool->shares[0]);
	wait_for_all(pool);
}

static void pool_run(void *of, int32_t n, Task task, void *arg)
{
	tsr_pool *pool = of;
	bool alone = n < 2 || pool->nworkers == 0 || atomic_exchange(&pool->busy, true);
	if (alone) {
		for (int32_t i = 0; i < n; i++)
			task(arg, i);
		return;
	}
	run_job(pool, n, task, arg);
	atomic_store_explicit(&pool->busy, false, memory_order_release);
}

/* ---- making one ---- */

/* Of all workers, the CPUs that follow the caller's in the mask. */
static void choose_cpus(tsr_pool *pool, const cpu_set_t *allowed)
{
	int cpu = pool->caller_cpu;
	for (uint32_t k = 1; k < pool->nshares; k++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, allowed));
		pool->shares[k].cpu = cpu;
	}
}

/* Signals for the process are handled by the program's own threads; those that a thread causes
 * itself stay with it. */
static void block_signals(sigset_t *before)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
	sigset_t blocked;
	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, before);
}

static bool start_workers(tsr_pool *pool, int32_t wanted)
{
	pthread_attr_t attr;
	sigset_t before;
	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	bool good = true;
	block_signals(&before);
	for (int32_t k = 0; good && k < wanted; k++) {
		Share *share = &pool->shares[k + 1];
		good = pthread_create(&share->thread, &attr, worker, share) == 0;
		pool->nworkers += good;
		if (good && pool->spins)
			pin(share);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return good;
}

tsr_pool *tsr_pool_new(int32_t threads, tsr_error *error)
{
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
		CPU_ZERO(&allowed);
		CPU_SET(0, &allowed);
	}
	int32_t ncpus = CPU_COUNT(&allowed);
	if (threads == 0)
		threads = ncpus;
	if (threads < 0 || threads > THREADS_MAX) {
		session_fail(error, TSR_FAIL_TYPE, "a pool has 1 to %d threads, not %d",
			     THREADS_MAX, threads);
		return NULL;
	}
	tsr_pool *pool = aligned_alloc(64, sizeof *pool);
	Share *shares = aligned_alloc(64, (size_t)threads * sizeof *shares);
	if (!pool || !shares) {
		free(pool);
		free(shares);
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
		return NULL;
	}
	memset(pool, 0, sizeof *pool);
	pool->shares = shares;
	pool->nshares = (uint32_t)threads;
	pool->spins = threads <= ncpus;
	pool->caller_cpu = sched_getcpu();
	for (uint32_t k = 0; k < pool->nshares; k++)
		shares[k] = (Share){.ticket = CLOSED, .pool = pool, .k = k};
	if (pool->spins)
		choose_cpus(pool, &allowed);
	if (start_workers(pool, threads - 1))
		return pool;
	session_fail(error, TSR_FAIL_MEMORY, "cannot start thread %d of %d", pool->nworkers + 2,
		     threads);
	tsr_pool_free(pool);
	return NULL;
}

void tsr_pool_free(tsr_pool *pool)
{
	if (!pool)
		return;
	atomic_store(&pool->stop, true);
	atomic_fetch_add(&pool->number, 1);
	wake(&pool->number, THREADS_MAX);
	for (int32_t k = 0; k < pool->nworkers; k++)
		pthread_join(pool->shares[k + 1].thread, NULL);
	free(pool->shares);
	free(pool);
}

int32_t tsr_pool_threads(const tsr_pool *pool) { return pool ? pool->nworkers + 1 : 1; }

void tsr_pool_call(tsr_pool *pool, tsr_call *call)
{
	if (!call)
		return;
	call->parallel = pool ? pool_run : NULL;
	call->pool = pool;
}

void tsr_set_pool(tsr_session *session, tsr_pool *pool)
{
	if (session)
		session->pool = pool;
}
