/* Reading memory in several streams at once, in the widest vectors: what a share of a thread takes.
 * Compiled with -O2 -march=native. */
#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __AVX512F__
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { STREAMS_MAX = 8, AHEAD = 128, ROUNDED = 2 << 20 };
typedef float Vec __attribute__((vector_size(LANES * 4)));

typedef struct Way {
	int streams; /* 0: copied */
	bool ahead;  /* prefetched */
} Way;

/* The streams are neighbouring parts of x. Inlined, so that `n` and `ahead` are known. */
static inline __attribute__((always_inline)) void read_streams(const Vec *x, size_t vectors,
							       size_t n, bool ahead)
{
	size_t part = vectors / n, run = STREAMS_MAX / n;
	Vec sums[STREAMS_MAX] = {0};
	for (size_t i = 0; i < part; i += run)
		for (size_t a = 0; a < STREAMS_MAX; a++) {
			const Vec *here = x + a / run * part + i + a % run;
			if (ahead)
				__builtin_prefetch(here + AHEAD);
			sums[a] += *here;
		}
	for (int a = 0; a < STREAMS_MAX; a++)
		__asm__ volatile("" : "+v"(sums[a])::"memory");
}

static inline __attribute__((always_inline)) void read_some(const Vec *x, size_t vectors,
							    int streams, bool ahead)
{
	switch (streams) {
	case 1: read_streams(x, vectors, 1, ahead); break;
	case 2: read_streams(x, vectors, 2, ahead); break;
	case 4: read_streams(x, vectors, 4, ahead); break;
	default: read_streams(x, vectors, 8, ahead); break;
	}
}

/* `vectors`: a multiple of STREAMS_MAX */
static inline void read_way(const Vec *x, size_t vectors, Way way)
{
	if (way.ahead)
		read_some(x, vectors, way.streams, true);
	else
		read_some(x, vectors, way.streams, false);
}

#endif
