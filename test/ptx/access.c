/* Addresses of all spaces to bytes of this process. */
#include "test/ptx/run.h"

#include <inttypes.h>

static const char *verb(PtxAccess access)
{
	return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "changes";
}

static void outside(PtxThread *t, uint64_t address, uint32_t bytes, PtxAccess access)
{
	const PtxAllocation *before = ptx_memory_before(t->block->run->memory, address);
	if (before == NULL)
		ptx_fault(t, FAULT_ADDRESS,
			  "%s %u bytes at address 0x%" PRIx64 ", which is in no memory",
			  verb(access), bytes, address);
	else
		ptx_fault(t, FAULT_ADDRESS,
			  "%s %u bytes at 0x%" PRIx64 ", %" PRIu64
			  " bytes from the start of %" PRIu64 " bytes of global memory",
			  verb(access), bytes, address, address - before->base, before->bytes);
}

static unsigned char *in_global(PtxThread *t, PtxInstr *in, uint64_t address, uint32_t bytes,
				PtxAccess access)
{
	PtxMemory *memory = t->block->run->memory;
	if (!t->follows) {
		ptx_fault(t, FAULT_SYNC, "%s global memory before it waits for the launch in front",
			  verb(access));
		return NULL;
	}
	const PtxAllocation *there = in->hint < memory->n ? &memory->at[in->hint] : NULL;
	if (there == NULL || address - there->base >= there->bytes ||
	    there->bytes - (address - there->base) < bytes) {
		there = ptx_memory_find(memory, address, bytes);
		if (there == NULL) {
			outside(t, address, bytes, access);
			return NULL;
		}
		in->hint = (uint32_t)(there - memory->at);
	}
	if (there->constant && access != ACCESS_READ) {
		ptx_fault(t, FAULT_ADDRESS, "writes %u bytes of constant memory", bytes);
		return NULL;
	}
	return there->at + (address - there->base);
}

static bool has_ended(const PtxBlock *block)
{
	for (uint32_t i = 0; i < block->nthreads; i++)
		if (block->threads[i].wait != WAIT_ENDED)
			return false;
	return true;
}

/* From bit 24 on an address has 1 + the rank of a block of the cluster, or 0 for the thread's own. */
static unsigned char *in_shared(PtxThread *t, uint64_t address, uint32_t bytes, PtxAccess access)
{
	PtxRun *run = t->block->run;
	uint64_t rank = address >> 24, offset = ptx_shared_place(address);
	if (rank > run->nblocks || offset > run->shared_bytes ||
	    run->shared_bytes - offset < bytes) {
		ptx_fault(t, FAULT_ADDRESS,
			  "%s %u bytes at place %" PRId64 " of %u bytes of shared memory",
			  verb(access), bytes, (int64_t)(address - PTX_SHARED_FIRST),
			  run->shared_bytes);
		return NULL;
	}
	PtxBlock *owner = rank == 0 ? t->block : &run->blocks[rank - 1];
	if (owner != t->block && has_ended(owner)) {
		ptx_fault(t, FAULT_ADDRESS,
			  "%s shared memory of a block of the cluster that has ended",
			  verb(access));
		return NULL;
	}
	if (owner->touched != NULL && owner == t->block && access == ACCESS_WRITE &&
	    !ptx_proxy_write(t, owner, offset, bytes))
		return NULL;
	if (owner->touched != NULL && !ptx_race(t, owner, offset, bytes, access))
		return NULL;
	return owner->shared + offset;
}

static unsigned char *in_local(PtxThread *t, uint64_t address, uint32_t bytes, PtxAccess access)
{
	uint32_t end = t->stack + t->function->local_bytes;
	if (address > end || end - address < bytes) {
		ptx_fault(t, FAULT_ADDRESS,
			  "%s %u bytes at place %" PRId64 " of %u bytes of local memory",
			  verb(access), bytes, (int64_t)address, end);
		return NULL;
	}
	return t->local + address;
}

static unsigned char *in_params(PtxThread *t, uint64_t address, uint32_t bytes, PtxAccess access)
{
	const PtxLaunch *launch = t->block->run->launch;
	uint32_t all = launch->kernel->param_bytes;
	if (access != ACCESS_READ || address > all || all - address < bytes) {
		ptx_fault(t, FAULT_ADDRESS,
			  "%s %u bytes at place %" PRId64 " of %u bytes of parameters",
			  verb(access), bytes, (int64_t)address, all);
		return NULL;
	}
	return (unsigned char *)launch->params + address;
}

unsigned char *ptx_touch(PtxThread *t, PtxInstr *in, PtxSpace space, uint64_t address,
			 uint32_t bytes, PtxAccess access)
{
	if (address & (bytes - 1) && (bytes & (bytes - 1)) == 0) {
		ptx_fault(t, FAULT_MISALIGNED,
			  "%s %u bytes at address 0x%" PRIx64 ", which is not aligned to them",
			  verb(access), bytes, address);
		return NULL;
	}
	if (space == SPACE_GENERIC && address >= PTX_SHARED_BASE) {
		space = address < PTX_LOCAL_BASE   ? SPACE_SHARED
			: address < PTX_PARAM_BASE ? SPACE_LOCAL
						   : SPACE_PARAM;
		address -= space == SPACE_SHARED  ? PTX_SHARED_BASE
			   : space == SPACE_LOCAL ? PTX_LOCAL_BASE
						  : PTX_PARAM_BASE;
	}
	switch (space) {
	case SPACE_SHARED: return in_shared(t, address, bytes, access);
	case SPACE_LOCAL: return in_local(t, address, bytes, access);
	case SPACE_PARAM: return in_params(t, address, bytes, access);
	default: return in_global(t, in, address, bytes, access);
	}
}
