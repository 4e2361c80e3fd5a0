/* The memory of a device: allocations at addresses that are no addresses of this process.
 *
 * Every access lies in one allocation. Between two of them is a gap, and no address is given twice, so that what is read
 * beside an allocation, or behind its end of life, is found. New memory is full of bytes 255, which are NaN of every type.
 */
#ifndef TSR_PTX_MEMORY_H
#define TSR_PTX_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses of no space of their own: in global memory, or in a window of the thread's. */
#define PTX_GLOBAL_BASE (UINT64_C(1) << 48)
#define PTX_SHARED_BASE (UINT64_C(1) << 56) /* behind: addresses in shared memory */
#define PTX_LOCAL_BASE (UINT64_C(2) << 56)
#define PTX_PARAM_BASE (UINT64_C(3) << 56) /* ... of the kernel's parameters */
#define PTX_WINDOW_BYTES (UINT64_C(1) << 32)
/* Where shared memory begins; what lies below is the device's own. */
#define PTX_SHARED_FIRST UINT64_C(1024)
/* How far behind that an address is, whichever block of a cluster it names. */
static inline uint64_t ptx_shared_place(uint64_t address)
{
	return (address & 0xffffff) - PTX_SHARED_FIRST;
}

typedef struct PtxAllocation {
	uint64_t base, bytes;
	unsigned char *at;
	bool constant; /* kernels do not write there */
	bool foreign;  /* memory of the process, not freed here */
} PtxAllocation;

typedef struct PtxMemory {
	PtxAllocation *at; /* by base */
	size_t n, cap;
	uint64_t next, held, limit; /* limit: bytes that may be held */
} PtxMemory;

void ptx_memory_init(PtxMemory *memory, uint64_t limit);
void ptx_memory_free(PtxMemory *memory);
/* An address with this alignment (at least 256), or 0: there is not as much. Requires: align is a power of two. */
uint64_t ptx_memory_new(PtxMemory *memory, uint64_t bytes, uint64_t align);
/* Memory of the process, at its own address there. */
bool ptx_memory_add(PtxMemory *memory, void *at, uint64_t bytes);
/* False: nothing begins at this address. */
bool ptx_memory_drop(PtxMemory *memory, uint64_t base);
/* The allocation that has all these bytes, or NULL. */
PtxAllocation *ptx_memory_find(const PtxMemory *memory, uint64_t address, uint64_t bytes);
/* The last allocation that begins at or before the address, or NULL. */
const PtxAllocation *ptx_memory_before(const PtxMemory *memory, uint64_t address);
/* Where these bytes are, or NULL. */
void *ptx_memory_at(const PtxMemory *memory, uint64_t address, uint64_t bytes);

#endif
