/* Allocations of a device, by address. */
#include "test/ptx/memory.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 4096, LEAST_ALIGN = 256, POISON = 0xff };

void ptx_memory_init(PtxMemory *memory, uint64_t limit)
{
	*memory = (PtxMemory){.next = PTX_GLOBAL_BASE, .limit = limit};
}

void ptx_memory_free(PtxMemory *memory)
{
	for (size_t i = 0; i < memory->n; i++)
		if (!memory->at[i].foreign)
			free(memory->at[i].at);
	free(memory->at);
	*memory = (PtxMemory){0};
}

/* The number of allocations that begin at or before the address. */
static size_t upto(const PtxMemory *memory, uint64_t address)
{
	size_t low = 0, high = memory->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (memory->at[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool insert(PtxMemory *memory, PtxAllocation new)
{
	if (memory->n == memory->cap) {
		size_t cap = memory->cap ? 2 * memory->cap : 16;
		PtxAllocation *at = realloc(memory->at, cap * sizeof *at);
		if (at == NULL)
			return false;
		memory->at = at;
		memory->cap = cap;
	}
	size_t i = upto(memory, new.base);
	memmove(memory->at + i + 1, memory->at + i, (memory->n - i) * sizeof *memory->at);
	memory->at[i] = new;
	memory->n++;
	return true;
}

/* An odd multiple of the alignment, so that no better one is met by chance. */
static uint64_t aligned(uint64_t address, uint64_t align)
{
	address = (address + align - 1) & ~(align - 1);
	return address & align ? address : address + align;
}

uint64_t ptx_memory_new(PtxMemory *memory, uint64_t bytes, uint64_t align)
{
	align = align < LEAST_ALIGN ? LEAST_ALIGN : align;
	if (bytes > memory->limit - memory->held || align > PTX_WINDOW_BYTES)
		return 0;
	unsigned char *at = malloc(bytes ? bytes : 1);
	if (at == NULL)
		return 0;
	PtxAllocation new = {aligned(memory->next, align), bytes, at, false, false};
	if (!insert(memory, new)) {
		free(at);
		return 0;
	}
	memset(at, POISON, bytes);
	memory->next = new.base + bytes + GAP;
	memory->held += bytes;
	return new.base;
}

bool ptx_memory_add(PtxMemory *memory, void *at, uint64_t bytes)
{
	return insert(memory, (PtxAllocation){(uint64_t)(uintptr_t)at, bytes, at, false, true});
}

bool ptx_memory_drop(PtxMemory *memory, uint64_t base)
{
	size_t i = upto(memory, base);
	if (i == 0 || memory->at[i - 1].base != base)
		return false;
	PtxAllocation *old = &memory->at[i - 1];
	if (!old->foreign) {
		memory->held -= old->bytes;
		free(old->at);
	}
	memmove(old, old + 1, (memory->n - i) * sizeof *old);
	memory->n--;
	return true;
}

const PtxAllocation *ptx_memory_before(const PtxMemory *memory, uint64_t address)
{
	size_t i = upto(memory, address);
	return i == 0 ? NULL : &memory->at[i - 1];
}

PtxAllocation *ptx_memory_find(const PtxMemory *memory, uint64_t address, uint64_t bytes)
{
	size_t i = upto(memory, address);
	if (i == 0)
		return NULL;
	PtxAllocation *found = &memory->at[i - 1];
	uint64_t at = address - found->base;
	return at <= found->bytes && bytes <= found->bytes - at ? found : NULL;
}

void *ptx_memory_at(const PtxMemory *memory, uint64_t address, uint64_t bytes)
{
	const PtxAllocation *found = ptx_memory_find(memory, address, bytes);
	return found == NULL ? NULL : found->at + (address - found->base);
}
