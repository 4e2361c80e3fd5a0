/* A map from the address of a tree node to a word, for marking shared sub-trees. It is only ever
 * looked up, never walked: addresses do not reach any output. */
#ifndef TSR_BASE_POINTER_MAP_H
#define TSR_BASE_POINTER_MAP_H

#include <stdint.h>

#include "base/arena.h"

typedef struct PointerSlot {
	const void *key; /* NULL: free */
	uint64_t value;
} PointerSlot;

typedef struct PointerMap {
	Arena *arena;
	PointerSlot *slots;
	size_t n, cap; /* cap: 0 or a power of two, more than n */
} PointerMap;

/* The place of key's value, 0 at first. Valid until the next call. */
uint64_t *pointer_map_at(PointerMap *map, const void *key);
/* Forgets all, keeps the room. */
void pointer_map_clear(PointerMap *map);

#endif
