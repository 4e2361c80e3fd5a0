/* Compiled units on disk: assembly text by key. Every failure is a miss: the cache never makes a
 * compilation fail. */
#ifndef TSR_CODEGEN_CACHE_H
#define TSR_CODEGEN_CACHE_H

#include <stdbool.h>

#include "codegen/kernel_use.h"

typedef struct Cache {
	const char *dir; /* NULL: there is none */
	const char *refused; /* why the directory asked for is not used; NULL: it is, or none was */
	Arena *arena;
	bool stored; /* something was added */
	/* bytes of all entries: beyond `most` the oldest go until there are at most `low_water` */
	uint64_t most, low_water;
} Cache;

/* dir: NULL for none; it stays the caller's. It is made where it is missing, and used only where
 * nobody else may write. */
Cache cache_open(Arena *arena, const char *dir);
/* The entry's bytes as a file at `path`, and the entry is used from now on; false: there is no
 * sound entry. */
bool cache_get(const Cache *cache, Digest key, const char *path);
/* Adds the bytes of the file at `path`. */
void cache_put(Cache *cache, Digest key, const char *path);
/* Keeps the cache within its bounds where something was added: the entries that were used
 * longest ago go first. */
void cache_close(Cache *cache);
Digest digest_of(const void *bytes, size_t n);
/* A digest of the running program and of libgccjit: what they emit may change with every build.
 * Requires: jit_library_load returned NULL. */
Digest cache_version(void);

#endif
