/* A routine that waits for memory, beside what memory delivers:
 * beside THREADS BYTES MODULE ROUTINE [NAME=VALUE...]
 *
 * Memory serves other machines as well, and its rate doubles and halves within seconds. So the
 * routine and reads of as many bytes, in 1 to 8 streams with and without prefetching, take turns in
 * one process on the same threads, a call each. Of each the median counts, and of the ways to read
 * the fastest: prints both times as JSON. Inputs are zeros, parameters what initialisers make.
 * Compiled with -O2 -march=native. */
#define TOOL "beside"
#include <string.h>
#include <sys/mman.h>

#include "module.h"
#include "peer_timing.h"
#include "streams.h"

enum { TURNS = 25, NWAYS = 7, NTIMED = NWAYS + 1 };

static const Way ways[NWAYS] = {{1, false}, {2, false}, {4, false}, {8, false},
				{1, true},  {2, true},	{4, true}};

typedef struct Read {
	const Vec *x;
	size_t vectors; /* of a thread */
	Way way;
} Read;

/* In huge pages, as the state is */
static void *room(size_t bytes)
{
	size_t whole = (bytes / ROUNDED + 1) * ROUNDED;
	void *x = aligned_alloc(ROUNDED, whole);
	need(x != NULL);
	madvise(x, whole, MADV_HUGEPAGE);
	return memset(x, 0, whole);
}

/* `words`: the routine, its dims and scalars */
static tsr_session *prepared(const tsr_model *model, char **words)
{
	tsr_session *s = tsr_session_new(model, *words, &error);
	need(s != NULL);
	for (char **dims = words + 1; *dims; dims++) {
		const char *name = strtok(*dims, "="), *value = strtok(NULL, "=");
		need(value && (tsr_set_dim(s, name, atoll(value), &error) == TSR_OK ||
			       tsr_set_scalar(s, name, atof(value), &error) == TSR_OK));
	}
	need(tsr_resolve(s, &error) == TSR_OK);
	const tsr_routine *r = tsr_session_routine(s);
	for (int32_t i = 0; i < r->ninputs; i++) {
		tsr_array x;
		need(tsr_expected(s, r->inputs[i].name, &x, &error) == TSR_OK);
		x.data = room(x.bytes);
		need(tsr_set_input(s, r->inputs[i].name, &x, &error) == TSR_OK);
	}
	need(tsr_prepare(s, &error) == TSR_OK);
	return s;
}

static void read_share(void *arg, int32_t i)
{
	const Read *read = arg;
	read_way(read->x + read->vectors * (size_t)i, read->vectors, read->way);
}

/* The first turn warms up. */
static void take_turns(tsr_session *s, tsr_pool *pool, Read *read, double ns[NTIMED][TURNS])
{
	tsr_call call = {.abi = TSR_ABI};
	tsr_pool_call(pool, &call);
	for (int turn = -1; turn < TURNS; turn++)
		for (int k = 0; k < NTIMED; k++) {
			double start = now();
			if (k == NWAYS)
				need(tsr_execute(s, &error) == TSR_OK);
			else {
				read->way = ways[k];
				call.parallel(call.pool, tsr_pool_threads(pool), read_share, read);
			}
			ns[k][turn < 0 ? 0 : turn] = now() - start;
		}
}

int main(int argc, char **argv)
{
	static double ns[NTIMED][TURNS];
	int threads = argc > 4 ? atoi(argv[1]) : 0;
	if (threads < 1)
		return 2;
	size_t share = strtoull(argv[2], NULL, 10) / sizeof(Vec) / (size_t)threads;
	Read read = {.vectors = share / STREAMS_MAX * STREAMS_MAX};
	read.x = room(read.vectors * (size_t)threads * sizeof(Vec));
	tsr_pool *pool = tsr_pool_new(threads, &error);
	need(pool != NULL);
	tsr_model *model = tsr_open(argv[3], &error);
	need(model != NULL);
	tsr_session *s = prepared(model, argv + 4);
	tsr_set_pool(s, pool);
	take_turns(s, pool, &read, ns);
	double best = 0;
	for (int k = 0; k < NTIMED; k++) {
		qsort(ns[k], TURNS, sizeof **ns, by_value);
		if (k < NWAYS && (k == 0 || ns[k][TURNS / 2] < best))
			best = ns[k][TURNS / 2];
	}
	printf("{\"read_ns\": %.0f, \"routine_ns\": %.0f}\n", best, ns[NWAYS][TURNS / 2]);
	return 0;
}
