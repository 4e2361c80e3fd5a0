/* Open addressing with linear probing, at most half full. */
#include "base/pointer_map.h"

#include <string.h>

/* Pointers of an arena differ in few bits: the product with 2^64 over the golden ratio spreads them
 * over the upper ones. */
static PointerSlot *probe(const PointerMap *map, const void *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
	for (size_t i = hash >> 32;; i++) {
		PointerSlot *slot = &map->slots[i & (map->cap - 1)];
		if (slot->key == key || !slot->key)
			return slot;
	}
}

static void grow(PointerMap *map)
{
	PointerMap old = *map;
	map->cap = old.cap ? old.cap * 2 : 64;
	map->slots = ARENA_ARRAY(map->arena, PointerSlot, map->cap);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			*probe(map, old.slots[i].key) = old.slots[i];
}

uint64_t *pointer_map_at(PointerMap *map, const void *key)
{
	if (2 * (map->n + 1) > map->cap)
		grow(map);
	PointerSlot *slot = probe(map, key);
	if (!slot->key) {
		slot->key = key;
		slot->value = 0;
		map->n++;
	}
	return &slot->value;
}

void pointer_map_clear(PointerMap *map)
{
	if (map->n)
		memset(map->slots, 0, map->cap * sizeof *map->slots);
	map->n = 0;
}
