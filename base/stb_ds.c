/* The one instance of the hash tables of <stb/stb_ds.h>, which a trap frees; its arrays are not
 * for use, because arrfree frees what it does not own. The hash shifts bytes into the sign bit,
 * which is meant: the declarations keep the sanitizers from calling it a fault. */
#include <stddef.h>

#include "base/arena.h"
#include "base/held.h"

static void *grow(void *items, size_t bytes)
{
	void *more = held_realloc(items, bytes);
	if (!more)
		arena_out_of_memory("out of memory");
	return more;
}

__attribute__((no_sanitize("undefined"))) size_t stbds_hash_bytes(void *p, size_t len, size_t seed);
__attribute__((no_sanitize("undefined"))) static size_t stbds_siphash_bytes(void *p, size_t len,
                                                                            size_t seed);

/* Every new table changes the seed: each thread has its own. This is all of OpenMP that is used. */
static size_t stbds_hash_seed;
#pragma omp threadprivate(stbds_hash_seed)

#define STBDS_REALLOC(context, items, bytes) grow(items, bytes)
#define STBDS_FREE(context, items)           held_free(items)
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
