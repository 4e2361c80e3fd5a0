/* Bump allocation: a list of blocks, the newest first. Fresh blocks come zeroed from calloc; a
 * reset keeps the newest block and clears the part of it that was used, so that what arena_alloc
 * hands out is always zero. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trap.h"

enum { ALIGN = 16, FIRST_BLOCK = 64 << 10, LARGEST_BLOCK = 16 << 20 };

typedef struct Block Block;
struct Block {
	Block *next;
	size_t used, size; /* of bytes */
	_Alignas(ALIGN) unsigned char bytes[];
};

struct Arena {
	Held held_by;
	Block *blocks;
	size_t held, limit, next_size;
};

void arena_out_of_memory(const char *what) { trap_fail(FAILURE_MEMORY, "%s", what); }

static size_t round_up(size_t bytes)
{
	if (bytes > SIZE_MAX / 4)
		arena_out_of_memory(
			"out of memory: one object is larger than the address space allows");
	return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void add_block(Arena *arena, size_t bytes)
{
	size_t size = bytes > arena->next_size ? bytes : arena->next_size;
	if (arena->limit && arena->held + size > arena->limit) {
		size = bytes; /* what is asked for may still fit */
		if (arena->held > arena->limit || size > arena->limit - arena->held)
			arena_out_of_memory(
				"the program needs more memory than the compiler may use");
	}
	Block *block = calloc(1, sizeof *block + size);
	if (!block)
		arena_out_of_memory("out of memory");
	block->next = arena->blocks;
	block->size = size;
	arena->blocks = block;
	arena->held += size;
	if (arena->next_size < LARGEST_BLOCK)
		arena->next_size *= 2;
}

static void free_blocks(Block *block)
{
	while (block) {
		Block *next = block->next;
		free(block);
		block = next;
	}
}

static void end(Held *held)
{
	Arena *arena = (Arena *)held;
	free_blocks(arena->blocks);
	free(arena);
}

Arena *arena_new(void)
{
	Arena *arena = calloc(1, sizeof *arena);
	if (!arena)
		arena_out_of_memory("out of memory");
	arena->next_size = FIRST_BLOCK;
	held_list(&arena->held_by, end);
	return arena;
}

void arena_free(Arena *arena)
{
	if (!arena)
		return;
	held_unlist(&arena->held_by);
	end(&arena->held_by);
}

void arena_reset(Arena *arena)
{
	Block *keep = arena->blocks;
	if (!keep)
		return;
	free_blocks(keep->next);
	keep->next = NULL;
	memset(keep->bytes, 0, keep->used);
	keep->used = 0;
	arena->held = keep->size;
}

void arena_limit(Arena *arena, size_t bytes)
{
	arena->limit = bytes;
}

size_t arena_held(const Arena *arena) { return arena->held; }

void *arena_alloc(Arena *arena, size_t bytes)
{
	size_t size = round_up(bytes ? bytes : 1);
	if (!arena->blocks || arena->blocks->size - arena->blocks->used < size)
		add_block(arena, size);
	Block *block = arena->blocks;
	void *item = block->bytes + block->used;
	block->used += size;
	return item;
}

void *arena_alloc_n(Arena *arena, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		arena_out_of_memory(
			"out of memory: one array is larger than the address space allows");
	return arena_alloc(arena, bytes);
}

char *arena_strndup(Arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);
	if (len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_vprintf(Arena *arena, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	if (len < 0)
		len = 0;
	char *text = arena_alloc(arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}

char *arena_printf(Arena *arena, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *text = arena_vprintf(arena, fmt, args);
	va_end(args);
	return text;
}

/* An array that was the last thing allocated grows where it is. */
static int grow_in_place(Arena *arena, const void *items, size_t old, size_t bytes)
{
	Block *block = arena->blocks;
	if (!items || !block || round_up(old) > block->used)
		return 0;
	size_t start = block->used - round_up(old);
	if (block->bytes + start != (const unsigned char *)items ||
	    round_up(bytes) > block->size - start)
		return 0;
	block->used = start + round_up(bytes);
	return 1;
}

void *arena_grow(Arena *arena, void *items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return items;
	size_t wanted = *cap < 8 ? 8 : *cap * 2, bytes;
	if (__builtin_mul_overflow(wanted, size, &bytes))
		arena_out_of_memory(
			"out of memory: one array is larger than the address space allows");
	if (!grow_in_place(arena, items, *cap * size, bytes)) {
		void *moved = arena_alloc(arena, bytes);
		if (n)
			memcpy(moved, items, n * size);
		items = moved;
	}
	*cap = wanted;
	return items;
}
